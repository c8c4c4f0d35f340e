"""docker/ without Docker: what its images install and run, in a root file system and in this order.

The packages are those of docker/Dockerfile, the programs and files those of docker/compose.yaml; only addresses differ,
because here all of them share this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx2
from psycopg.conninfo import make_conninfo

from tests.servers.roots import PASSWORD, Root, free_port, wait_for

DOCKER = Path(__file__).parent.parent.parent / "docker"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "save_session", "arguments": {"objective": "Open the shop", "project_id": "shop"}},
}


def packages(stage: str) -> tuple[str, ...]:
    """What an image installs by apt-get."""
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    (part,) = re.findall(rf"^FROM \S+ AS {stage}\n(.*?)(?=^FROM |\Z)", text, re.S | re.M)
    return tuple(re.findall(r"apt-get install --yes --no-install-recommends (.*?) \\", part)[0].split())


def start_all(root: Root, admin: str) -> str:
    """Start every service before a server that runs, as compose would, and save a memory; what pgmem status says.

    Raises:
        RuntimeError: a service does not do what its health check asks.
    """
    place = root.folder / "tmp/docker"
    shutil.copytree(DOCKER, place, dirs_exist_ok=True)
    (place / "password").write_text(PASSWORD)
    (place / "password").chmod(0o644)
    server = {part.split("=")[0]: part.split("=")[1] for part in admin.split()}
    listen = free_port()
    ini = (place / "pgbouncer.ini").read_text(encoding="utf-8")
    ini = ini.replace("host=postgres port=5432", f"host=127.0.0.1 port={server['port']}")
    (place / "pgbouncer.ini").write_text(
        ini.replace("= 6432", f"= {listen}").replace("addr = *", "addr = 127.0.0.1")
    )
    variables = ("env", "PGMEM_PASSWORD_FILE=/tmp/docker/password")
    libpq = (f"PGPORT={server['port']}", "PGHOST=127.0.0.1", f"PGPASSWORD={PASSWORD}")
    root.run(*variables, *libpq, "bash", "/tmp/docker/first-start.sh")
    with ExitStack() as stack:
        stack.enter_context(
            root.process(*variables, "sh", "/tmp/docker/start-pooler.sh", "/tmp/docker/pgbouncer.ini")
        )
        dsn = make_conninfo(host="127.0.0.1", port=listen, user="pgmem", dbname="memory")
        wait_for(make_conninfo(dsn, password=PASSWORD))
        root.run("pg_isready", "--host=127.0.0.1", f"--port={listen}", "--dbname=memory", "--username=pgmem")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PGMEM_", "PG"))},
            "PGMEM_DSN": dsn,
            "PGMEM_DATA_DIR": str(place / "data"),
            "PGMEM_PASSWORD_FILE": str(place / "password"),
        }
        program = ["sh", str(DOCKER / "with-password.sh"), sys.executable, "-m", "pgmem"]

        def pgmem(*arguments: str) -> str:
            done = subprocess.run(
                [*program, *arguments], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"pgmem {arguments[0]}: {done.stdout}{done.stderr}")
            return done.stdout

        pgmem("init")
        issued = pgmem("token", "issue", "--org", "acme", "--user", "alice", "--name", "laptop", "--json")
        port = free_port()
        serving = subprocess.Popen(
            [*program, "mcp", "--transport", "http", "--port", str(port)], env=environment
        )
        stack.callback(serving.wait)
        stack.callback(serving.terminate)
        token = re.findall(r'"token": "([^"]+)"', issued)[0]
        answer = _ask(f"http://127.0.0.1:{port}/mcp", token)
        if '"saved"' not in answer:
            raise RuntimeError(f"pgmem mcp: {answer}")
        return pgmem("status")


def _ask(url: str, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    transport = httpx2.HTTPTransport(retries=8)  # the pauses double: it may take some seconds to come up
    with httpx2.Client(transport=transport, timeout=60) as client:
        return client.post(url, json=CALL, headers=headers).text

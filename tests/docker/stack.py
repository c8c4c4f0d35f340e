"""The services of docker/compose.yaml as real containers, of the contents of a clone of this tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx2

from tests.servers.roots import free_port

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
STAGES = {"postgres": "pgmem-postgres", "pooler": "pgmem-pooler", "mcp": "pgmem", "metrics": "pgmem-metrics"}
PROFILES = ("worker", "replica", "metrics", "cells")
ORG, USER = "acme", "alice"
PATIENCE = 180.0


def until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> float:
    """Poll until a condition holds; the seconds it took."""
    begun = monotonic()
    while not condition():
        assert monotonic() - begun < seconds, what
        Event().wait(0.1)
    return monotonic() - begun


def run(*command: str, folder: Path = ROOT, stdin: str | None = None, **variables: str) -> str:
    """Run a command; its output.

    Raises:
        RuntimeError: it failed; the message holds the end of its output.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def missing() -> str | None:
    """Why containers cannot run here; None where they can."""
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode:
        return "no Docker engine answers"
    if not compose():
        return "neither docker compose nor docker-compose is installed"
    return None


def compose() -> list[str]:
    """The command of Compose here."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else []


def clone(folder: Path) -> Path:
    """Copy the contents of a clone of this tree, with uncommitted changes."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


class Stack:
    """One project of Compose, with a token.

    Args:
        folder: a clone.
        variables: of the compose file, such as `PGMEM_IMAGE`.
        files: more compose files, merged into the first.
    """

    def __init__(self, folder: Path, *files: Path, **variables: str) -> None:
        self.name = f"pgmem-test-{uuid4().hex[:8]}"
        self.docker = folder / "docker"
        self.port = free_port()
        self._files = files
        self._variables = {"COMPOSE_PROJECT_NAME": self.name, "PGMEM_PORT": str(self.port), **variables}
        self.token = ""
        (self.docker / "secrets").mkdir(exist_ok=True)
        for login in ("postgres", "pgmem"):
            (self.docker / f"secrets/{login}_password").write_text(rf"a:b\c-{login}-{uuid4().hex}")

    def compose(self, *arguments: str, stdin: str | None = None, **variables: str) -> str:
        """Run a command of Compose; its output."""
        files = [word for file in ("compose.yaml", *map(str, self._files)) for word in ("--file", file)]
        return run(
            *compose(), *files, *arguments, folder=self.docker, stdin=stdin, **(self._variables | variables)
        )

    def up(self, *services: str, **variables: str) -> None:
        """Start services, all without one, and wait until the program answers."""
        self.compose("up", "--detach", *services, **variables)
        self.wait_for_answer()

    def exec(self, service: str, *command: str, stdin: str | None = None) -> str:
        """Run a command in the container of a service; its output."""
        return self.compose("exec", "-T", service, *command, stdin=stdin)

    def container(self, service: str) -> str:
        """The id of the container of a service, also of one that has ended."""
        label = f"label=com.docker.compose.project={self.name}"
        found = run(
            *("docker", "ps", "--all", "--quiet", "--no-trunc", "--filter", label),
            *("--filter", f"label=com.docker.compose.service={service}"),
        ).split()
        return found[0]

    def address(self, service: str) -> str:
        """The address of a container on the network of the project."""
        found = run(
            "docker", "inspect", self.container(service), "--format", "{{json .NetworkSettings.Networks}}"
        )
        return str(json.loads(found)[f"{self.name}_default"]["IPAddress"])

    def sql(self, query: str, service: str = "postgres", database: str = "memory") -> list[str]:
        """The lines of the answer to a query of the superuser, without header."""
        return self.exec(
            service, "psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", query, database
        ).splitlines()

    def issue_token(self, org: str = ORG) -> None:
        """Make a token of one tenant, for `ask`."""
        answer = self.exec(
            "mcp", "pgmem", "token", "issue", "--org", org, "--user", USER, "--name", "test", "--json"
        )
        self.token = str(json.loads(answer)["token"])

    def agent(self, seconds: float = 120) -> httpx2.Client:
        """A client that sends the token."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json, text/event-stream"}
        return httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=seconds)

    def ask(self, tool: str, client: httpx2.Client | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool of MCP as an agent; its answer, or `{"error": …}`."""
        if client is None:
            with self.agent() as client:
                return self.ask(tool, client, **arguments)
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        response = client.post("/mcp", json=body)
        response.raise_for_status()
        result = response.json()["result"]
        if result.get("isError"):
            return {"error": result["content"][0]["text"]}
        return dict(result["structuredContent"])

    def probe(self, path: str = "/health/live") -> int:
        """The status of a probe; 0 while nobody answers."""
        try:
            return httpx2.get(f"http://127.0.0.1:{self.port}{path}", timeout=5).status_code
        except httpx2.TransportError:
            return 0

    def serves(self) -> bool:
        """Whether the server answers in its database."""
        try:
            return self.sql("select 1") == ["1"]
        except RuntimeError:
            return False

    def use(self, **variables: str) -> None:
        """Change variables of the compose file, such as an image, from the next command on."""
        self._variables |= variables

    def wait_for_answer(self) -> float:
        """Until the program is ready; the seconds it took."""
        return until(lambda: self.probe("/health/ready") == 200, "the program is never ready")

    def queued(self) -> int:
        """How many saves the outbox holds."""
        return len(self.exec("mcp", "sh", "-c", "ls /var/lib/pgmem/outbox 2>/dev/null || true").split())

    def down(self) -> None:
        """Stop everything and forget the volumes."""
        self.compose(*(word for name in PROFILES for word in ("--profile", name)), "down", "--volumes")


@contextmanager
def stack(folder: Path, *files: Path, **variables: str) -> Iterator[Stack]:
    """The services, started and with a token, until the end of the block."""
    services = Stack(folder, *files, **variables)
    try:
        services.up()
        services.issue_token()
        yield services
    except BaseException:
        print(services.compose("logs", "--tail", "12"))
        raise
    finally:
        services.down()


def build(folder: Path, stage: str, tag: str, *options: str, **arguments: str) -> float:
    """Build an image; the seconds it took."""
    begun = monotonic()
    given = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    given += options
    run(
        *("docker", "build", "--file", "docker/Dockerfile", "--target", stage, "--tag", tag, *given, "."),
        folder=folder,
    )
    return monotonic() - begun


def make_base(name: str | None = None) -> float:
    """The base image: there, pulled, or made; the seconds it took."""
    begun = monotonic()
    run("docker/make-base", *([name] if name else []))
    return monotonic() - begun


def has_buildkit() -> bool:
    """Whether `docker build` builds by BuildKit."""
    return subprocess.run(["docker", "buildx", "version"], capture_output=True).returncode == 0


def size(image: str) -> float:
    """The size of an image in MB."""
    return int(run("docker", "image", "inspect", image, "--format", "{{.Size}}")) / 1e6

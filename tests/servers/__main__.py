"""Run the tests against other people's servers, and write the results: `scripts/test-servers`.

Each server runs the whole suite but for the tests of the server that pip brings; tests of missing parts are
skipped, with the reason. Results are kept as JUnit XML in `--results`; `--table` makes
docs/reference/servers.md of them.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import psycopg
import pytest

from tests.servers.managed import make_login, pooler
from tests.servers.roots import UBUNTU, Distribution, Root

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "servers.md"
NOT_HERE = "this server has no "
START, END = "<!-- Written by scripts/test-servers --table. -->\n", "<!-- Until here. -->\n"

DEBIAN_12 = Distribution(
    title="Debian 12", major=15, suite="bookworm", packages=("postgresql-15", "pgbouncer")
)
UBUNTU_24 = Distribution(
    title="Ubuntu 24.04",
    major=16,
    suite="noble",
    packages=("postgresql-16", "postgresql-16-pgvector", "postgresql-16-age", "pgbouncer"),
    mirror=UBUNTU,
    components="main,universe",
)
DEBIAN_13 = Distribution(
    title="Debian 13",
    major=17,
    suite="trixie",
    packages=("postgresql-17", "postgresql-17-pgvector", "postgresql-17-age", "pgbouncer"),
)
DEBIAN_SID = Distribution(
    title="Debian unstable",
    major=18,
    suite="sid",
    packages=("postgresql-18", "postgresql-18-pgvector", "postgresql-18-age", "pgbouncer"),
)


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server to test against; without a distribution the one that pip brings."""

    name: str
    what: str
    distribution: Distribution | None
    managed: bool = False


SERVERS = {
    server.name: server
    for server in (
        Server(name="embedded", what="the wheel of `pip install`, superuser", distribution=None),
        Server(name="postgresql-15", what="Debian 12's packages, superuser", distribution=DEBIAN_12),
        Server(name="postgresql-16", what="Ubuntu 24.04's packages, superuser", distribution=UBUNTU_24),
        Server(name="postgresql-17", what="Debian 13's packages, superuser", distribution=DEBIAN_13),
        Server(name="postgresql-18", what="Debian unstable's packages, superuser", distribution=DEBIAN_SID),
        Server(
            name="managed-17",
            what="Debian 13's packages, plain role, pgvector in `extensions`, through PgBouncer in transaction mode",
            distribution=DEBIAN_13,
            managed=True,
        ),
    )
}


def make(root: Root, roots: Path) -> None:
    """Make a root, if it is not there yet. The keys of Ubuntu come as a package of Debian 13."""
    if root.is_made():
        return
    if root.distribution.mirror != UBUNTU:
        root.make()
        return
    lender = Root(roots / DEBIAN_13.suite, DEBIAN_13)
    make(lender, roots)
    lender.install("ubuntu-keyring")
    root.make(lender.folder / "usr/share/keyrings/ubuntu-archive-keyring.gpg")


@contextmanager
def running(server: Server, root: Root | None) -> Iterator[dict[str, str]]:
    """The server, running; the variables that the tests find it by."""
    if root is None:
        yield {}
        return
    with ExitStack() as stack:
        admin = stack.enter_context(root.server())
        if not server.managed:
            yield {"PGMEM_TEST_DSN": admin}
            return
        make_login(admin)
        yield {
            "PGMEM_TEST_DSN": stack.enter_context(pooler(root, admin)),
            "PGMEM_TEST_ADMIN_DSN": admin,
            "PGMEM_TEST_HOSTILE": "1",  # a provider, too, sets such values
        }


def offered(environment: dict[str, str]) -> str:
    """The versions of a server and of the extensions that its packages bring."""
    from pgmem.server.embedded import EmbeddedServer

    with ExitStack() as stack:
        dsn = environment.get("PGMEM_TEST_ADMIN_DSN") or environment.get("PGMEM_TEST_DSN")
        if dsn is None:
            folder = Path(f"/tmp/pgmem-versions-{os.getpid()}")
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            dsn = stack.enter_context(EmbeddedServer(folder)).start()
        connection = stack.enter_context(psycopg.connect(dsn))
        (version,) = connection.execute(
            "select split_part(current_setting('server_version'), ' ', 1)"
        ).fetchone() or ("",)
        query = "select name, default_version from pg_available_extensions where name in ('vector', 'age')"
        found = {str(name): str(number) for name, number in connection.execute(query).fetchall()}
    return f"{version}|{found.get('vector', '')}|{found.get('age', '')}"


def run(server: Server, root: Root | None, results: Path, arguments: Sequence[str]) -> int:
    """Run the suite against one server; the exit code of pytest."""
    print(f"{server.name}: {server.what}", flush=True)
    report = results / f"{server.name}.xml"
    with running(server, root) as variables:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PGMEM_TEST_")
        }
        marks = (
            "not long and not docker"
            if server.distribution is None
            else "not long and not docker and not embedded"
        )
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            marks,
            "-n",
            "2",
            "--dist",
            "worksteal",
            f"--junit-xml={report}",
        ]
        # An interruption reaches pytest as well, which ends its tests and writes the report; this process waits for it.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            done = subprocess.run([*command, *arguments], cwd=ROOT, env=environment | variables, check=False)
        finally:
            signal.signal(signal.SIGINT, before)
        if done.returncode == pytest.ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        what = " ".join(f"`{word}`" for word in arguments if word.startswith("tests/")) or "whole suite"
        (results / f"{server.name}.versions").write_text(f"{offered(variables)}|{what}")
    return done.returncode


def table(results: Path, written: str) -> str:
    """The results of the runs, one row a server; a server without a result keeps the row that is written."""
    rows = {line.split("`")[1]: line for line in written.splitlines() if line.startswith("| `")}
    lines = [
        "| server | PostgreSQL | pgvector | AGE | run | passed | failed | skipped | minutes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, server in SERVERS.items():
        report = results / f"{name}.xml"
        if not report.exists():
            lines += [rows[name]] if name in rows else []
            continue
        suite = ElementTree.parse(report).getroot().find("testsuite")
        assert suite is not None
        count = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
        failed = count["failures"] + count["errors"]
        said = [str(skip.get("message")) for skip in suite.iter("skipped")]
        reasons = Counter(
            message.removeprefix(NOT_HERE)
            if message.startswith(NOT_HERE)
            else "package or program for it here"
            for message in said
        )
        skipped = "; ".join(f"{number}: no {what}" for what, number in reasons.most_common())
        version, vector, age, what = (results / f"{name}.versions").read_text().split("|")
        if server.managed:
            age = "not permitted" if age else ""
        lines.append(
            f"| `{name}`: {server.what} | {version} | {vector or 'none'} | {age or 'none'} | {what} "
            f"| {count['tests'] - failed - count['skipped']} | {failed} | {skipped or 'nothing'} "
            f"| {float(suite.get('time', 0)) / 60:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the suite against the servers that are named, or write the table."""
    parser = argparse.ArgumentParser(prog="scripts/test-servers", description=__doc__)
    parser.add_argument("servers", nargs="*", metavar="server", help=", ".join(SERVERS))
    parser.add_argument(
        "--roots", type=Path, default=Path("/var/tmp/pgmem-roots"), help="where root file systems are kept"
    )
    parser.add_argument("--results", type=Path, default=ROOT / ".servers", help="where JUnit files are kept")
    parser.add_argument(
        "--table", action="store_true", help="write docs/reference/servers.md from the results"
    )
    parser.add_argument(
        "--if-possible", action="store_true", help="say why and end with 0 where a server cannot be made"
    )
    parser.add_argument(
        "--pytest", default="", metavar="ARGUMENTS", help="more arguments for pytest, in one word"
    )
    given = parser.parse_args()
    if unknown := [name for name in given.servers if name not in SERVERS]:
        parser.error(f"no such server: {', '.join(unknown)}; there are {', '.join(SERVERS)}")
    given.results.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in given.servers:
        server, root = SERVERS[name], None
        if server.distribution is not None:
            root = Root(given.roots / server.distribution.suite, server.distribution)
            try:
                make(root, given.roots)
            except (OSError, RuntimeError) as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                failed += not given.if_possible
                continue
        failed += run(server, root, given.results, shlex.split(given.pytest)) != 0
    if given.table:
        before, _, rest_of_page = PAGE.read_text(encoding="utf-8").partition(START)
        written, _, after = rest_of_page.partition(END)
        PAGE.write_text(before + START + table(given.results, written) + END + after, encoding="utf-8")
    return min(failed, 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)

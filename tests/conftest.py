"""One real PostgreSQL for the run, one template database, a copy of it per test.

The server is the one of `PGMEM_TEST_DSN` if that is set, else the embedded one, else a container; `--postgres` chooses.
Each xdist worker has its own template. `PGMEM_TEST_ADMIN_DSN` is set for a managed server: its superuser makes
databases and logins, as its provider does, and everything of pgmem's connects by `PGMEM_TEST_DSN`, as a plain role
through a pooler.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row, scalar_row

from pgmem import Memory
from pgmem.install import schema
from pgmem.settings import Settings
from tests.fixtures import hostile, skipped
from tests.fixtures.fronts import COPY, SENT, Fronts
from tests.fixtures.places import begin_run, roomy_place

pytest_plugins = (
    "tests.fixtures.verbs",
    "tests.fixtures.logins",
    "tests.fixtures.clusters",
    "tests.fixtures.connections",
    "tests.fixtures.reports",
)

LEAVE = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid not in (pg_backend_pid(), %s)"
MAY_MAKE_ROLES = "select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user"
GRAPH_TIERS, VECTOR_TIERS = ("full", "no pgvector"), ("full", "no AGE")
DOCKER = Path(__file__).parent.parent / "docker"
FRONTS: Fronts | None = None
"""The replacement by `--front` of a database of a test."""

ADMINS: dict[str, psycopg.Connection[Any]] = {}
"""The session of this worker that makes databases and logins, by the DSN of the server."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--postgres", choices=("embedded", "docker"), help="server of the tests, without PGMEM_TEST_DSN"
    )
    parser.addoption(
        "--front",
        type=int,
        help="the tests through a front with so many cells; several serve tests that name a tenant",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take away the rest of killed runs, and begin this one."""
    begin_run(config)
    if hostile.is_lane():
        hostile.keep_own_sessions_plain(os.environ["PGMEM_TEST_DSN"] if is_managed() else None)


def pytest_collection(session: pytest.Session) -> None:
    """Do not search for garbage while modules are imported, which leaves none: it takes a fifth of the time."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave imported modules out of every later search."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, through a front, tests that need the store itself."""
    if config.getoption("--front") is None:
        return
    for item in items:
        if item.get_closest_marker("embedded"):
            item.add_marker(pytest.mark.skip("of the server that pip brings"))
        elif direct := item.get_closest_marker("direct"):
            item.add_marker(pytest.mark.skip(str(direct.args[0])))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say which server the tests use, also with -q."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        reporter.write_line(f"server of the tests: {chosen_server(session.config)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the sessions that stayed, and report from a worker of xdist the calls of its tests."""
    for admin in ADMINS.values():
        admin.close()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["sent"] = dict(SENT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    SENT.update(getattr(node, "workeroutput", {}).get("sent", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for where, number in SENT.items():
        terminalreporter.write_line(f"{number} statements of tests went to {where}")
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    for line in skipped.lines(reasons):
        terminalreporter.write_line(line)


def chosen_server(config: pytest.Config) -> str:
    """Which server the tests use: their own containers, one of a DSN, the image of docker/, or the embedded one."""
    if cells := config.getoption("--front"):
        return f"a front with {cells} cells"
    if config.getoption("markexpr") == "docker":
        return "separate containers, by docker/compose.yaml"
    if is_managed():
        made = " with hostile defaults" if hostile.is_lane() else ""
        return f"the server of PGMEM_TEST_DSN, as a plain role{made}; its superuser by PGMEM_TEST_ADMIN_DSN"
    if "PGMEM_TEST_DSN" in os.environ:
        return "the server of PGMEM_TEST_DSN"
    chosen = config.getoption("--postgres") or ("embedded" if find_spec("pgserver") else "docker")
    return "the image of docker/, by testcontainers" if chosen == "docker" else "the embedded server"


def is_managed() -> bool:
    """Whether pgmem is a plain role here, behind a pooler that gives every transaction another session."""
    return "PGMEM_TEST_ADMIN_DSN" in os.environ


def as_client(server: str, database: str) -> str:
    """How pgmem connects to a database."""
    return make_conninfo(os.environ["PGMEM_TEST_DSN"] if is_managed() else server, dbname=database)


def past_the_pooler(dsn: str) -> str:
    """The same login at the server's own port, for a test that keeps state in its session, as one does in psql."""
    if not is_managed():
        return dsn
    given, pooler, admin = (
        conninfo_to_dict(known)
        for known in (dsn, os.environ["PGMEM_TEST_DSN"], os.environ["PGMEM_TEST_ADMIN_DSN"])
    )
    if (given.get("host"), given.get("port")) != (pooler.get("host"), pooler.get("port")):
        return dsn  # of a server that the test started, such as a front of cells
    return make_conninfo(dsn, host=admin["host"], port=admin.get("port", 5432))


def stores_of(dsn: str) -> list[str]:
    """Where the tables of a test's database are: in itself, or in the cells behind it."""
    return [dsn] if FRONTS is None else FRONTS.cells_of(dsn)


def as_admin(dsn: str) -> str:
    """The same database, as the provider of the server reaches it."""
    if not is_managed():
        return dsn
    return make_conninfo(os.environ["PGMEM_TEST_ADMIN_DSN"], dbname=conninfo_to_dict(dsn)["dbname"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def output_of(*command: str | Path, **environment: str) -> str:
    """The output of a program, which has to succeed; `environment` is added to the test's own."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory. Not tmp_path: under root the server is another user, and each pytest that starts
    anywhere closes the directory above tmp_path to other users again.
    """
    with TemporaryDirectory(prefix="pgmem-test-", dir=roomy_place(), ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)  # run by root, the server has a separate user
        yield Path(name).resolve()


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> Iterator[str]:
    """The DSN of a database on a server where databases and logins can be made."""
    if cells := pytestconfig.getoption("--front"):
        global FRONTS
        with Fronts(roomy_place() / f"pgmem-fronts-{uuid4().hex[:8]}", cells) as FRONTS:
            yield FRONTS.cells.dsn("postgres")
        return
    if dsn := os.environ.get("PGMEM_TEST_ADMIN_DSN") or os.environ.get("PGMEM_TEST_DSN"):
        yield dsn
        return
    chosen = pytestconfig.getoption("--postgres")
    if chosen == "docker" or (chosen is None and find_spec("pgserver") is None):
        # The container that would clean up after a killed run is an image of a registry.
        os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.image import DockerImage
        from testcontainers.core.wait_strategies import HealthcheckWaitStrategy

        # The image of docker/compose.yaml; without the secret of pgmem's login its server is empty.
        subprocess.run([DOCKER / "make-base"], check=True, stdout=subprocess.DEVNULL)
        fast = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c checkpoint_timeout=1h -c max_connections=200"
        with (
            DockerImage(
                path=DOCKER.parent,
                dockerfile_path="docker/Dockerfile",
                tag="pgmem-postgres:suite",
                clean_up=False,
                target="postgres",
            ) as image,
            # A database per test is a thousand files: in memory a copy takes 30 ms.
            DockerContainer(str(image), shm_size="1g")
            .with_tmpfs_mount("/var/lib/postgresql", "size=8g,uid=999,gid=999")
            .with_env("POSTGRES_PASSWORD", "only-for-tests")
            .with_exposed_ports(5432)
            .with_command(fast)
            .waiting_for(HealthcheckWaitStrategy()) as container,
        ):
            host, port = container.get_container_host_ip(), container.get_exposed_port(5432)
            yield make_conninfo(
                host=host, port=port, user="postgres", password="only-for-tests", dbname="postgres"
            )
        return
    from pgmem.server.embedded import EmbeddedServer

    # One server for all workers of a run, in a separate folder: where root runs the tests, pytest closes its own
    # folder to the system user that the server runs as. The last worker takes it away.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid4().hex
    folder = roomy_place() / f"pgmem-tests-{run}"
    with EmbeddedServer(folder) as embedded:
        dsn = embedded.start()
        with psycopg.connect(dsn, autocommit=True) as admin:
            # The run's own server, thrown away in the end: it need not survive a power cut, and a database per test is
            # a thousand files. Tests of crashes start separate servers. Nor does it vacuum by itself: which tables
            # have statistics, and so which plan a test meets, is up to the test.
            for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
                admin.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(setting)))
            admin.execute("alter system set checkpoint_timeout = '1h'")
            admin.execute("select pg_reload_conf()")
        yield dsn
    if not (folder / "postgres" / "postmaster.pid").exists():
        rmtree(folder, ignore_errors=True)


def give_to_client(admin: psycopg.Connection[Any], database: str) -> None:
    """Make the plain role the owner of a new database, where pgmem is one."""
    if is_managed():
        owner = conninfo_to_dict(os.environ["PGMEM_TEST_DSN"])["user"]
        give = sql.SQL("alter database {} owner to {}")
        admin.execute(give.format(sql.Identifier(database), sql.Identifier(str(owner))))


@contextmanager
def new_database(server: str, template: str) -> Iterator[str]:
    """A database that is dropped in the end; its DSN."""
    if FRONTS is not None and template == FRONTS.name:
        with FRONTS.copy() as dsn:
            yield dsn
        return
    name = f"pgmem_test_{uuid4().hex[:12]}"
    admin = admin_of(server)
    admin.execute(sql.SQL(COPY).format(sql.Identifier(name), sql.Identifier(template)))
    try:
        give_to_client(admin, name)
        if hostile.is_lane():
            login = conninfo_to_dict(as_client(server, name)).get("user")
            hostile.make_hostile(admin, name, str(login) if login else None)
        yield as_client(server, name)
    finally:
        drop = sql.SQL("drop database if exists {} with (force)")
        admin_of(server).execute(drop.format(sql.Identifier(name)))


def admin_of(server: str) -> psycopg.Connection[Any]:
    """A session that stays, as each test would begin another."""
    if server not in ADMINS or ADMINS[server].closed:
        ADMINS[server] = psycopg.connect(server, autocommit=True)
    return ADMINS[server]


def prepare_vector(admin: psycopg.Connection[tuple[object, ...]], place: str = "extensions") -> None:
    """Make pgvector in a separate schema, as a provider does."""
    name = sql.Identifier(place)
    admin.execute(sql.SQL("create schema {0}; create extension vector schema {0}").format(name))
    admin.execute(sql.SQL("grant usage on schema {} to public").format(name))


def install(server: str, extensions: tuple[str, ...]) -> Iterator[str]:
    """A template with pgmem installed; its name."""
    with new_database(server, "template0") as dsn:
        if is_managed() and "vector" in extensions:
            with psycopg.connect(as_admin(dsn), autocommit=True) as admin:
                prepare_vector(admin)
        schema.upgrade(dsn, extensions)
        renew_sessions(dsn)  # a database is copied while nobody is connected to it, and a pooler stays
        yield str(conninfo_to_dict(dsn)["dbname"])


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """Every extension the server offers; through a front, the one that tests get a copy of."""
    if FRONTS is not None:
        yield FRONTS.name
        return
    yield from install(server, schema.EXTENSIONS)


@pytest.fixture(scope="session")
def template_with_roles(server: str, template: str) -> Iterator[str]:
    """The same with its roles made, which a test with `roles` gets a copy of: making them takes longer than most tests."""
    if FRONTS is not None:
        yield template  # it has them
        return
    with new_database(server, template) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            if connection.execute(MAY_MAKE_ROLES).fetchone() == (True,):
                connection.execute("select pgmem.make_roles()")
        renew_sessions(dsn)
        yield str(conninfo_to_dict(dsn)["dbname"])


@pytest.fixture(scope="session")
def template_without_age(server: str) -> Iterator[str]:
    """The tier of most managed servers."""
    yield from install(server, ("vector",))


@pytest.fixture(scope="session")
def template_text_only(server: str) -> Iterator[str]:
    """Neither AGE nor pgvector."""
    yield from install(server, ())


@pytest.fixture
def dsn(request: pytest.FixtureRequest, server: str, template: str) -> Iterator[str]:
    """A database of this test's own, with pgmem installed."""
    if "roles" in request.fixturenames:
        template = request.getfixturevalue("template_with_roles")
    with new_database(server, template) as dsn:
        yield dsn


@pytest.fixture
def store(dsn: str) -> str:
    """Where the tables of this test's database are, for programs that need a store, not a front: a worker, an export."""
    return stores_of(dsn)[0]


class Shared:
    """A worker's own database and one session of it, which tests use one after the other; each is rolled back."""

    def __init__(self, server: str, template: str) -> None:
        self._server, self._template = server, template
        self._stack = ExitStack()
        self._connection: OneTransaction | None = None
        self._tests = 0

    def connection(self) -> OneTransaction:
        """The session, in a new transaction."""
        if self._connection is None or self._connection.closed or self._tests >= RENEW:
            self.close()
            dsn = self._stack.enter_context(new_database(self._server, self._template))
            self._connection = self._stack.enter_context(
                OneTransaction.connect(past_the_pooler(dsn), autocommit=True, row_factory=dict_row)
            )
            self._connection.cursor_factory = Statement
            with psycopg.Cursor(self._connection, row_factory=scalar_row) as cursor:
                # A transaction has one time, and a test is one transaction here: read the time of the statement.
                for change in cursor.execute(TIME_OF_STATEMENT).fetchall():
                    cursor.execute(change)
        with psycopg.Cursor(self._connection) as cursor:
            cursor.execute("begin")
        self._tests += 1
        return self._connection

    def roll_back(self) -> None:
        """Undo the changes of a test. The rest (the size of a table, statistics) ends with the database."""
        connection = self._connection
        assert connection is not None
        if connection.closed:
            return
        with psycopg.Cursor(connection) as cursor:
            cursor.execute("rollback")
            cursor.execute("select pg_advisory_unlock_all()")
        if connection.outlasts:
            self.close()

    def close(self) -> None:
        self._stack.close()
        self._connection, self._tests = None, 0


TIME_OF_STATEMENT = """
select replace(pg_get_functiondef('pgmem.now'::regproc), 'transaction_timestamp()', 'statement_timestamp()')
union all
select format('alter table %s alter %I set default statement_timestamp()', a.attrelid::regclass, a.attname)
from pg_attrdef d join pg_attribute a on (a.attrelid, a.attnum) = (d.adrelid, d.adnum)
where pg_get_expr(d.adbin, d.adrelid) in ('now()', 'transaction_timestamp()')
"""

RENEW = 200
"""So many tests use one database: their rolled-back rows stay in it as dead ones."""

LASTS = re.compile(rb"\banaly[sz]e\b", re.IGNORECASE)
"""The rest after a rollback: statistics of a table."""

OWN = "a test that commits, or sets how a transaction begins, takes the fixture dsn: its database is its own"


class OneTransaction(psycopg.Connection[DictRow]):
    """A connection for one test, whose statements behave as if each were a transaction: one that fails leaves nothing."""

    outlasts = False


class Statement(psycopg.Cursor[DictRow]):
    """A cursor that runs each statement between a savepoint and its release."""

    def execute(self, query: Any, params: Any = None, **how: Any) -> Any:
        connection = cast(OneTransaction, self.connection)
        text = (
            query
            if isinstance(query, bytes)
            else query.as_bytes(connection)
            if isinstance(query, sql.Composable)
            else query.encode()
        )
        assert connection.info.transaction_status == TransactionStatus.INTRANS, OWN
        if LASTS.search(text):
            connection.outlasts = True
        with psycopg.Cursor(connection) as around:
            around.execute("savepoint statement")
            try:
                super().execute(query, params, **how)
            except psycopg.Error:
                if not connection.closed:
                    around.execute("rollback to savepoint statement")
                    # One that is left open costs every later look at a row a step more.
                    around.execute("release savepoint statement")
                raise
            if connection.info.transaction_status != TransactionStatus.INTRANS:
                connection.outlasts = True
                raise AssertionError(OWN)
            around.execute("release savepoint statement")
        return self


@pytest.fixture(scope="session")
def shared(server: str, template: str) -> Iterator[Shared]:
    """The database that tests of one session share; each worker has its own."""
    shared = Shared(server, template)
    yield shared
    shared.close()


@pytest.fixture
def connection(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[DictRow]]:
    """A session of the owner; rows are dicts, and each statement is a transaction.

    It is one transaction that is rolled back, in a database that tests share. A test that needs more (another session,
    a commit, the DSN) takes `dsn`: then this is an autocommit connection to a copy that is the test's own.
    """
    if "dsn" in request.fixturenames or request.config.getoption("--front"):
        dsn = request.getfixturevalue("dsn")
        with psycopg.connect(past_the_pooler(dsn), autocommit=True, row_factory=dict_row) as connection:
            yield connection
        return
    shared: Shared = request.getfixturevalue("shared")
    yield shared.connection()
    shared.roll_back()


Call = Callable[..., DictRow]


@pytest.fixture
def call(connection: psycopg.Connection[DictRow]) -> Call:
    """`call("save_decision", title=…)`: a verb as an analyst calls it; its first row."""
    return caller(connection)


def caller(connection: psycopg.Connection[DictRow]) -> Call:
    """Verbs on a connection: `call(verb, **arguments)` gives the first row."""
    from pgmem.database.call import clean, statement

    def call(verb: str, /, **arguments: object) -> DictRow:
        sent = {name: clean(name, value) for name, value in arguments.items()}
        row = connection.execute(statement(verb, sent), sent).fetchone()
        return row if row is not None else {}

    return call


def without(what: str) -> None:
    """Skip tests that need something this server has not; the server that pip brings has all of it."""
    assert "PGMEM_TEST_DSN" in os.environ, f"the server of the tests has no {what}"
    pytest.skip(f"this server has no {what}")


def tier(connection: psycopg.Connection[DictRow]) -> str:
    """The extensions of the server, as pgmem says it."""
    row = connection.execute("select tier from pgmem.status()").fetchone()
    assert row is not None
    return str(row["tier"])


@pytest.fixture
def age(connection: psycopg.Connection[DictRow]) -> None:
    """For a test that reads the graph by Cypher."""
    if tier(connection) not in GRAPH_TIERS:
        without("Apache AGE")


@pytest.fixture
def vectors(connection: psycopg.Connection[DictRow]) -> None:
    """For a test that stores or compares vectors."""
    if tier(connection) not in VECTOR_TIERS:
        without("pgvector 0.8 or later")


@pytest.fixture
def superuser(connection: psycopg.Connection[DictRow]) -> None:
    """For a test that makes an extension which only a superuser may make."""
    if connection.execute("show is_superuser").fetchone() != {"is_superuser": "on"}:
        without("superuser for pgmem's login")


@pytest.fixture
def createrole(connection: psycopg.Connection[DictRow]) -> None:
    """For a test of the second layer of isolation, which is made of roles."""
    if connection.execute(MAY_MAKE_ROLES).fetchone() != {"may": True}:
        without("CREATEROLE for pgmem's login, so there is one layer of isolation")


def differences(connection: psycopg.Connection[DictRow]) -> list[DictRow]:
    """Where the graph of a store differs from its tables; without AGE there is none that could."""
    if tier(connection) not in GRAPH_TIERS:
        return []
    return connection.execute("select * from pgmem.check_graph()").fetchall()


def renew_sessions(dsn: str, but: int = 0) -> None:
    """Make a pooler reconnect, because settings of a database apply to later sessions only; the session of pid `but` stays."""
    if is_managed():
        with psycopg.connect(as_admin(dsn), autocommit=True) as admin:
            admin.execute(LEAVE, (but,))


GraphDifferences = Callable[[], list[DictRow]]


@pytest.fixture
def graph_differences(connection: psycopg.Connection[DictRow]) -> GraphDifferences:
    """`graph_differences()`: where the graph differs from the tables; without AGE there is none that could."""

    return lambda: differences(connection)


@pytest.fixture
def clock(connection: psycopg.Connection[DictRow]) -> Callable[[str], None]:
    """`clock("2026-04-08")` sets the time of the test's connection; the store's owner has allowed it."""
    connection.execute("update pgmem.setting set value = 'true' where name = 'test_clock'")

    def set_time(moment: str) -> None:
        connection.execute("select set_config('pgmem.now', %s, false)", (moment,))

    return set_time


@pytest.fixture
async def memory(dsn: str, tmp_path: Path) -> AsyncIterator[Memory]:
    """The Python API on this test's database."""
    settings = Settings(dsn=dsn, data_dir=tmp_path, prepare=True, retry_wait_s=0)
    async with Memory.connect(settings) as memory:
        yield memory

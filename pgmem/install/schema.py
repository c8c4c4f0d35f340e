"""Install and upgrade of the schema: every caller uses this module.

Tables change in `migrations/` (Alembic, forward only). Everything that can be replaced is in `sql/` and is run at every
upgrade. Both happen in one transaction under one lock: ten callers take turns, a broken file leaves nothing behind.

An upgrade has four parts, in this order. The triggers of the graph go, because they are functions of the release
before; the migrations change the tables; the chapters bring all functions; the graph gets its triggers again. Rows that
the rules of this release store otherwise are renewed after the transaction, in batches (sql/core/install/87-renewal).
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from psycopg import sql as statement
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb

from pgmem.database.identity import BEGIN, PIN
from pgmem.errors import InvalidArgument, SchemaOutdated, UnsuitableDatabase, first_line, translate
from pgmem.install import history
from pgmem.release import release as release

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


EXTENSIONS = ("vector", "age")
"""The extensions pgmem uses where the server offers them; each one missing is a lower tier, not an error."""

_SQL = history.folder("sql")


def run(connection: Connection, script: str) -> None:
    """Run a SQL script exactly as written: no `:name` or `%` is read as a parameter."""
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def _shows(path: Path) -> bool:
    """Whether a chapter makes views, which are replaced only where their text changed, as triggers are."""
    return path.stem == "09-visible" or path.stem.endswith("-views")


@cache
def _steps() -> dict[str, str]:
    """The statements of steps.sql by their names."""
    text = Path(__file__).with_name("steps.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- step: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _step(name: str, **filled: str) -> str:
    """A statement of steps.sql, with its words in braces filled in."""
    return _steps()[name].format(**filled) if filled else _steps()[name]


@cache
def _chapters() -> tuple[Path, ...]:
    """The chapters of `sql/`, in the order in which they are run: that of their numbers."""
    return tuple(sorted(_SQL.rglob("[0-9][0-9]-*.sql"), key=lambda path: path.name))


def _sums() -> dict[str, str]:
    """The digests of the chapters by the names of their files."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _chapters()}


@cache
def _heads() -> dict[str, str]:
    """Parts that `create or replace` cannot change, by function: arguments, result, without white space."""
    heads = {}
    for path in _chapters():
        for match in _HEAD.finditer(path.read_text(encoding="utf-8")):
            heads[match["name"]] = hashlib.sha256("".join(match["head"].split()).encode()).hexdigest()
    return heads


_HEAD = re.compile(
    r"^create or replace function pgmem\.(?P<name>\w+)(?P<head>\(.*?)\blanguage (sql|plpgsql)",
    re.MULTILINE | re.DOTALL,
)


@cache
def digest() -> str:
    """SHA-256 over the text of `sql/` and of the migrations: the digest that an installed schema is compared with."""
    sums = hashlib.sha256()
    for path in _chapters():
        sums.update(path.read_bytes())
    for path in sorted((history.MIGRATIONS / "versions").glob("*.py")):
        sums.update(path.read_bytes())
    return sums.hexdigest()


def build(of_release: str, its_digest: str) -> str:
    """Name a state of the schema: states between two releases have one number and differ in their digests."""
    return f"{of_release} ({its_digest[:8]})"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The result of an upgrade.

    Attributes:
        release: the release that the store has now.
        changed: whether anything was installed.
        extensions: those of `EXTENSIONS` that were found or made.
        before: the release that the store had, None for a new store.
        notices: sentences for the owner of the store, such as a label that got another name.
        unembedded: how many memories wait for a vector.
        unindexed: how many models have more vectors than are compared one by one, and no index.
        rules: how many rules of agents wait for a person's yes, 1000 at most.
    """

    release: str
    changed: bool
    extensions: tuple[str, ...]
    before: str | None = None
    notices: tuple[str, ...] = ()
    unembedded: int = 0
    unindexed: int = 0
    rules: int = 0


Progress = Callable[[str], object]


def upgrade(
    dsn: str,
    extensions: Sequence[str] = EXTENSIONS,
    settings: Mapping[str, str] | None = None,
    *,
    roles: bool = False,
    renew: bool = True,
    cell: int | None = None,
    new_feed: bool = False,
    progress: Progress = lambda _line: None,
) -> Upgrade:
    """Bring a database to this release, in one transaction, and renew its rows after it; concurrent callers take turns.

    Args:
        dsn: a libpq connection string or URI of a role that may create a schema there.
        extensions: which of `EXTENSIONS` to make if the server offers them and this role may.
        settings: values of rows of `pgmem.setting` to set, by the row, such as `Settings.store`; others are ignored.
        roles: make the roles of the second layer of isolation and hand the schema to `pgmem_owner`; needs CREATEROLE.
        renew: renew the rows before it returns; else the next round of a worker does.
        cell: the number of the store among the cells behind a front; None keeps the one it has.
        new_feed: give the store a new identity, as a copy of another one needs; its memories stay.
        progress: called with a line for each step that takes long.

    Raises:
        InvalidArgument: a value does not fit its row; the message names its variable. The store was not changed.
        UnsuitableDatabase: the store or the server is none that this release can upgrade; the message says what to do.
            The store was not changed.
    """
    # Alembic is imported here, because start-up of the server and the CLI must not pay for it, and while the server
    # makes the extensions: an empty database has no history that could be refused.
    is_older = False
    with ThreadPoolExecutor(1) as importer, _connect(dsn, autocommit=True) as connection, _explained():
        imported = importer.submit(import_module, "alembic.command")
        with pinned(connection):
            _require_suitable(connection)
            if history.recorded_in(connection)[0] is not None:
                imported.result()  # two threads that import parts of one package at once may find them half made
                is_older = bool(_pending(connection)) and _release_of(connection) is not None
            if grant := _missing_grant(connection):
                raise UnsuitableDatabase(grant)
        made = _make_extensions(connection, extensions)
        with pinned(connection):
            if found := writable_schema(connection):
                raise UnsuitableDatabase(f"{found[0]}. Run: {found[1]}")

    def install(connection: psycopg.Connection[Any], migrate: Callable[[], None] | None) -> Upgrade:
        notices: list[str] = []
        connection.add_notice_handler(
            lambda notice: (
                notices.append(str(notice.message_primary)) if notice.severity == "WARNING" else None
            )
        )
        before = _release_of(connection)
        if migrate is not None:
            connection.execute(_drop_obstacles().encode())
            migrate()
        changed = _replace_if_changed(connection)
        connection.execute("select pgmem.enable_graph(), pgmem.enable_vector()")
        connection.execute("select pgmem.grant_rights()")
        connection.execute(
            "select pgmem.run_steps('installed', %s)", (Jsonb({"cell": cell, "new_feed": new_feed}),)
        )
        _set_rows(connection, settings or {})
        connection.execute(_step("name_extension_schema").encode())
        if roles:
            connection.execute("set local role none")
            connection.execute("select pgmem.make_roles()")
        return Upgrade(release(), changed, made, before, tuple(notices))

    with _explained():
        if is_older:
            _loosen_caller(dsn)
        done = _in_turn(dsn, progress, install)
    if renew:
        _renew(dsn, progress)
    with _connect(dsn) as connection, pinned(connection):
        left = connection.execute(_step("left").encode()).fetchone() or (0, 0, 0)
    return replace(done, unembedded=left[0], unindexed=left[1], rules=left[2])


def _set_rows(connection: psycopg.Connection[Any], values: Mapping[str, str]) -> None:
    rows = connection.execute(
        "select name from pgmem.setting where name = any(%s)", (list(values),)
    ).fetchall()
    for (name,) in rows:
        try:
            connection.execute("select pgmem.set_setting(%s, %s)", (name, values[name]))
        except psycopg.Error as error:
            if error.sqlstate != InvalidArgument.sqlstate:
                raise
            from pgmem.settings import given_as

            raise InvalidArgument(f"{given_as(name)}: {first_line(error)}") from None


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of an upgrade of a store.

    Attributes:
        before: the release of the store, None if there is none; with its digest where it is another state of this one.
        migrations: a line for each migration to come.
        renews: whether memories are renewed after it.
        tables: how many rows the tables hold that are locked meanwhile.
    """

    before: str | None
    migrations: tuple[str, ...]
    replaces: bool
    tables: Mapping[str, int]


def plan(dsn: str) -> Plan:
    """Look at a store and return the plan of `upgrade`; changes nothing.

    Raises:
        UnsuitableDatabase: as `upgrade` does.
    """
    with _connect(dsn) as connection, _explained():
        connection.read_only = True
        connection.execute(PIN)
        _require_suitable(connection)
        pending = _pending(connection)
        before = _release_of(connection)
        if before is None:
            return Plan(None, tuple(each.summary for each in pending), True, {})
        digests = connection.execute("select digest from pgmem.schema_version").fetchone()
        rows = {}
        if pending:
            for name, kind in connection.execute(_OUR_TABLES).fetchall():
                if kind == "v":
                    continue
                count = statement.SQL("select count(*) from pgmem.{}").format(statement.Identifier(name))
                row = connection.execute(count).fetchone()
                rows[str(name)] = int(row[0]) if row else 0
        replaces = digests != (digest(),)
        if replaces and digests is not None:
            before = build(before, str(digests[0]))
        return Plan(before, tuple(each.summary for each in pending), replaces, rows)


def _pending(connection: psycopg.Connection[Any]) -> tuple[history.Migration, ...]:
    """The migrations that a store has not had.

    Raises:
        UnsuitableDatabase: as `history.pending` does; and a newer release wrote the store, whatever differs.
    """
    found = history.pending(connection)
    wrote = _release_of(connection)
    if wrote is not None and is_newer(wrote):
        raise UnsuitableDatabase(history.NEWER.format(own=release(), found=wrote))
    return found


def _release_of(connection: psycopg.Connection[Any]) -> str | None:
    """The release of a store; None for an empty database."""
    if not holds(connection, "pgmem.schema_version"):
        return None
    row = connection.execute("select release from pgmem.schema_version").fetchone()
    return str(row[0]) if row else None


def holds(connection: psycopg.Connection[Any], table: str) -> bool:
    """Whether a database has a table or view of this name."""
    cursor = connection.cursor(row_factory=tuple_row)
    return cursor.execute("select to_regclass(%s) is not null", (table,)).fetchone() == (True,)


def _loosen_caller(dsn: str) -> None:
    """Let no call that is under way fail when a migration gives the type of the caller attributes; commits at once."""
    with _connect(dsn) as connection:
        _take_turn(connection)
        connection.execute(_step("loosen_caller").encode())


def _take_turn(connection: psycopg.Connection[Any]) -> None:
    """Become the only installer of a store, as its owner, until the end of the transaction."""
    for text in (_SESSION, _hand_over(), _step("become_owner"), _step("take_turns")):
        connection.execute(text.encode())


Install = Callable[[psycopg.Connection[Any], Callable[[], None] | None], Upgrade]


def _in_turn(dsn: str, progress: Progress, install: Install) -> Upgrade:
    """Run `install` in a transaction in which no other session installs, as the schema's owner, and commit it.

    It gets the connection, and the function that runs the migrations that the store has not had; None if it has all.

    Installers take turns by a lock on a table of ours: an advisory lock could be held by any login. Where there is no
    table yet, they make one; all but the first fail at it once the first has committed, and begin again.
    """
    engine = _engine(dsn)
    for rounds_left in reversed(range(_ROUNDS)):
        with engine.connect() as wrapped:
            connection = cast("psycopg.Connection[Any]", wrapped.connection.driver_connection)
            try:
                _take_turn(connection)
            except _MADE_MEANWHILE:
                if not rounds_left:
                    raise
                continue
            try:
                connection.execute(_step("become_owner").encode())
                connection.execute(_WAIT_BRIEFLY)
                pending = _pending(connection)
                if pending and _release_of(connection) is not None:
                    _lock_tables(connection)
                done = install(connection, partial(_migrate, wrapped) if pending else None)
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                if not rounds_left:
                    raise
                connection.rollback()
                progress(f"waiting for sessions that use the store: {_users_of(connection)}")
                time.sleep(_PAUSE_S)
                continue
            connection.execute("drop table if exists pgmem.installing")
            connection.commit()
            return done
    raise AssertionError


# While an upgrade waits for a lock, all other sessions queue behind it. It gives up within a second, before the
# deadlock check that might end a save, and tries again, for a minute in all.
_WAIT_BRIEFLY = "set local lock_timeout = '900ms'"
_ROUNDS, _PAUSE_S = 30, 1.0
_SESSION = (
    f"{PIN}; set local client_min_messages = warning; set local check_function_bodies = off;"
    " set local statement_timeout = 0; set local maintenance_work_mem = '256MB';"
    # The declarations of the chapters are hundreds of calls of few functions.
    " set local plan_cache_mode = force_generic_plan"
)
_MADE_MEANWHILE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateSchema,
    psycopg.errors.DuplicateTable,
)
_OUR_TABLES = (
    "select c.relname, c.relkind::text from pg_class c where c.relnamespace = to_regnamespace('pgmem')"
    " and c.relkind in ('r', 'v') and c.relname not in ('schema_version', 'installing') order by c.relkind desc, 1"
)


def _lock_tables(connection: psycopg.Connection[Any]) -> None:
    """Lock every view and table before the first is changed, in the order of a verb: a view, then its tables."""
    names = [statement.Identifier("pgmem", str(row[0])) for row in connection.execute(_OUR_TABLES).fetchall()]
    connection.execute(
        statement.SQL("lock table {} in access exclusive mode").format(statement.SQL(", ").join(names))
    )


def _users_of(connection: psycopg.Connection[Any]) -> str:
    """The sessions that hold a table of ours, for a person."""
    rows = connection.execute(
        "select distinct format('%s (pid %s, %s)', coalesce(a.usename, '?'), a.pid, coalesce(a.state, '?'))"
        " from pg_locks l join pg_class c on c.oid = l.relation join pg_stat_activity a on a.pid = l.pid"
        " where c.relnamespace = to_regnamespace('pgmem') and l.granted and a.pid <> pg_backend_pid()"
        " and l.database = (select oid from pg_database where datname = current_database()) order by 1 limit 5"
    ).fetchall()
    return ", ".join(str(row[0]) for row in rows) or "none now"


def _hand_over() -> str:
    """Transfer the objects of an earlier release from its installer to pgmem_owner; only that login may do so."""
    chapter = next(path for path in _chapters() if path.stem == "97-roles").read_text(encoding="utf-8")
    function = _GIVE_TO_OWNER.search(chapter)
    assert function is not None
    return _step("hand_over", function=function[0])


_GIVE_TO_OWNER = re.compile(
    r"^create or replace function pgmem\.give_to_owner\(.*?^\$\$;$", re.MULTILINE | re.DOTALL
)


def _engine(dsn: str) -> Engine:
    """A connection as Alembic needs it."""
    # Imported here, as in `upgrade`.
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    return create_engine("postgresql+psycopg://", creator=lambda: _connect(dsn), poolclass=NullPool)


def _change_tables(wrapped: Connection, revision: str) -> None:
    """Run the migrations up to a revision that a database has not had, in the transaction of a connection."""
    from alembic import command

    made = history.config()
    made.attributes["connection"] = wrapped
    command.upgrade(made, revision)


def _migrate(wrapped: Connection) -> None:
    """Run the migrations that a store has not had, in the transaction of a connection, and record their text."""
    _change_tables(wrapped, "head")
    history.record(
        cast("psycopg.Connection[Any]", wrapped.connection.driver_connection), history.migrations()
    )


def make_tables(dsn: str, revision: str) -> None:
    """Make the tables of a revision, empty and without any function of ours, for the rows of a backup.

    Args:
        dsn: an empty database, as a superuser.
        revision: that of the backup, as `alembic_version` has it.

    Raises:
        UnsuitableDatabase: this release does not know the revision.
    """
    if revision not in {each.revision for each in history.migrations()}:
        raise UnsuitableDatabase(
            f"The backup is of a newer release than {release()} (revision {revision}): restore it with that one."
        )
    with _connect(dsn, autocommit=True) as connection:
        _make_extensions(connection, EXTENSIONS)
    with _engine(dsn).begin() as wrapped, _explained():
        run(wrapped, "create schema pgmem")
        _change_tables(wrapped, revision)
        run(wrapped, _step("table_of_vectors"))
        run(wrapped, _step("empty_tables"))


def _renew(dsn: str, progress: Progress) -> None:
    """Rewrite the rows of an earlier release, a batch a transaction, until none is left."""
    with _connect(dsn, autocommit=True) as connection:
        connection.execute("set role none")
        while True:
            try:
                row = connection.execute("select step, changed, remaining from pgmem.renew()").fetchone()
            except psycopg.errors.DeadlockDetected:
                continue  # a save holds the lock and continues
            if row is None or row[0] is None:
                return
            step, _, remaining = row
            progress(f"{_STEPS[step]}: {f'{remaining} left' if remaining else 'done'}")


_STEPS = {"graph": "making the graph again", "memories": "renewing memories", "titles": "ordering titles"}


@contextmanager
def _explained() -> Iterator[None]:
    """Say in one sentence why an upgrade failed, and the way out; the store is as it was."""
    try:
        yield
    except Exception as error:
        cause = getattr(error, "orig", error)  # SQLAlchemy wraps the error of the database
        if isinstance(cause, psycopg.Error) and (cause.sqlstate or "").startswith("PM"):
            with translate():
                raise cause from None
        for kind, advice in _ADVICE:
            if isinstance(cause, kind):
                explained = UnsuitableDatabase(f"{first_line(cause)}. {advice} The store was not changed.")
                for note in getattr(error, "__notes__", ()):
                    explained.add_note(note)
                raise explained from error
        raise


_ADVICE: tuple[tuple[type[psycopg.Error], str], ...] = (
    (
        psycopg.errors.InsufficientPrivilege,
        "Run pgmem init as the role that owns the store, or as a superuser.",
    ),
    (psycopg.errors.DiskFull, "Make room on the disk of the server, then run pgmem init again."),
    (
        psycopg.errors.UndefinedFile,
        "Install the package of that extension on the server again, then run pgmem init.",
    ),
    (
        psycopg.errors.LockNotAvailable,
        "Other sessions use the tables of pgmem: end them, then run pgmem init again.",
    ),
    (psycopg.OperationalError, "Run pgmem init again when the server answers."),
)


UNSUITABLE = (
    "This database does not know accented letters (encoding or collation C): two spellings of one memory would "
    "not meet. Create it with: create database pgmem template template0 encoding 'UTF8' locale 'C.UTF-8'"
)
"""Why a database cannot hold a pgmem schema, and how to make one that can."""


def is_suitable(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Whether a database folds and matches accented letters."""
    # The encoding first: no accented letter can be sent to a database that has none.
    if connection.execute("select getdatabaseencoding() = 'UTF8'").fetchone() != (True,):
        return False
    # With E the same whatever standard_conforming_strings is.
    folds = r"select lower('É') = 'é' and 'é' ~ E'\\w' and 'é' !~ E'\\s'"
    return connection.execute(folds).fetchone() == (True,)


def _connect(dsn: str, *, autocommit: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection that leaves nothing in its session: behind a pooler the next client gets it."""
    connection = psycopg.connect(dsn, autocommit=autocommit, prepare_threshold=None, client_encoding="UTF8")
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return connection


@contextmanager
def pinned(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Run the block as a transaction with the settings of pgmem, whatever those of the database and the login are."""
    with connection.transaction():
        connection.execute(PIN)
        yield


def _require_suitable(connection: psycopg.Connection[Any]) -> None:
    """Before anything is made."""
    number = connection.info.server_version
    if number < 150000:
        raise UnsuitableDatabase(f"pgmem needs PostgreSQL 15 or later; this server is {number // 10000}.")
    if not is_suitable(connection):
        raise UnsuitableDatabase(UNSUITABLE)
    if holds(connection, "front.cell"):
        raise UnsuitableDatabase(
            "This database is a front, which holds no store: pgmem cells init writes its functions anew, and"
            " pgmem cells upgrade upgrades its cells and then the front."
        )


def _missing_grant(connection: psycopg.Connection[Any]) -> str | None:
    """Say which right a login lacks to make a store in a database that has none, and the grant; None if it may."""
    row = connection.cursor(row_factory=tuple_row).execute(_step("may_create").encode()).fetchone()
    if row is None:
        return None
    login, database = row
    grant = statement.SQL("grant create on database {} to {}").format(
        statement.Identifier(database), statement.Identifier(login)
    )
    return (
        f"{login} may not make a schema in the database {database}. Run, as its owner or a superuser: "
        f"{grant.as_string(connection)}. The store was not changed."
    )


def _make_extensions(connection: psycopg.Connection[Any], wanted: Sequence[str]) -> tuple[str, ...]:
    """Create the available extensions, each in its own transaction: one refusal must not undo the install."""
    made = []
    for name in wanted:
        present = connection.execute("select 1 from pg_extension where extname = %s", (name,)).fetchone()
        offered = connection.execute(
            "select 1 from pg_available_extensions where name = %s", (name,)
        ).fetchone()
        if not present and offered:
            try:
                with connection.transaction():
                    connection.execute("set local client_min_messages = warning")
                    connection.execute(
                        statement.SQL("create extension {}").format(statement.Identifier(name))
                    )
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported):
                continue
            except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                pass  # made by another installer meanwhile
        if present or offered:
            made.append(name)
    return tuple(made)


def _replace_if_changed(connection: psycopg.Connection[Any]) -> bool:
    """Replace the functions and views of another release or of another state of the chapters; whether it was one."""
    installed = connection.execute("select release, digest from pgmem.schema_version").fetchone()
    current = (release(), digest())
    if installed == current:
        return False
    _replace(connection)
    connection.execute(
        "insert into pgmem.schema_version (release, digest) values (%s, %s) on conflict (one) do update"
        " set release = excluded.release, digest = excluded.digest, upgraded_at = now()",
        current,
    )
    return True


def _replace(connection: psycopg.Connection[Any]) -> None:
    """Run the chapters of `sql/`; views and statements that lock a table only where their text changed."""
    rows = connection.execute(_CHAPTERS_INSTALLED).fetchall()
    installed = {str(row[0]): str(row[1]) for row in rows}
    sums = _sums()
    connection.execute(_drop_changed().encode())
    views_gone = connection.execute(
        "select not exists (select from pg_views where schemaname = 'pgmem')"
    ).fetchone() == (True,)
    # The chapters of views, and those that declare a kind of memory, which has a view.
    shown = [path for path in _chapters() if _shows(path) or b"declare_kind(" in path.read_bytes()]
    views_changed = any(installed.get(path.name) != sums[path.name] for path in shown)
    if views_changed and not views_gone:
        connection.execute(_step("drop_views").encode())
    for path in _chapters():
        same = installed.get(path.name) == sums[path.name]
        if same and (path.stem.endswith("-triggers") or (_shows(path) and not (views_changed or views_gone))):
            continue
        # On the first line, so that the lines of an error are those of the file.
        text = f"{_BEGIN_CHAPTER.format(path.stem[3:])}; " + path.read_text(encoding="utf-8")
        try:
            connection.execute(text.encode())
        except Exception as error:
            error.add_note(_place_in(path, text, error))
            raise
    connection.execute("delete from pgmem.schema_file where not starts_with(path, 'migrations/')")
    names_and_sums = (list(sums), list(sums.values()))
    connection.execute(
        "insert into pgmem.schema_file select * from unnest(%s::text[], %s::text[])", names_and_sums
    )
    connection.execute(_step("keep_heads", **_head_arrays()).encode())
    # The properties of a vertex may have changed.
    if installed and installed.get(_PROJECTION) != sums[_PROJECTION]:
        connection.execute("select pgmem.needs_renewal('graph')")


_CHAPTERS_INSTALLED = "select path, digest from pgmem.schema_file where not starts_with(path, 'migrations/')"
_PROJECTION = "91-projection.sql"


def _place_in(path: Path, text: str, error: Exception) -> str:
    """The chapter, and the line where the server says it."""
    position = error.diag.statement_position if isinstance(error, psycopg.Error) else None
    line = f", line {text.count(chr(10), 0, int(position) - 1) + 1}" if position else ""
    return f"in sql/{path.relative_to(_SQL)}{line}"


def _head_arrays() -> dict[str, str]:
    """The heads as two arrays of SQL; names and digests hold nothing that needs quoting."""
    heads = _heads()
    return {"names": f"'{{{','.join(heads)}}}'::text[]", "heads": f"'{{{','.join(heads.values())}}}'::text[]"}


def _drop_changed() -> str:
    """Drop functions that were removed or have other arguments or results, with the functions and views that name them.

    `create or replace` would make a second function beside the old one, or refuse. A store of release 0.1.0 holds no
    heads: there every function goes that no table, trigger or policy depends on. A default, constraint, trigger or
    policy that depends on a changed function stops the upgrade; it needs a migration.
    """
    return _step("drop_changed", required=_step("required"), **_head_arrays())


def _drop_obstacles() -> str:
    """Drop objects that keep migrations from changing tables: views, former functions and triggers."""
    return f"{_step('drop_views')};\n{_step('drop_projection', required=_step('required'))}"


_BEGIN_CHAPTER = "select set_config('pgmem.chapter', '{}', true)"


def writable_schema(connection: psycopg.Connection[Any]) -> tuple[str, str] | None:
    """Say which schema of an extension others may create in, and the command that repairs it; None if there is none."""
    return _schema_at_fault(
        connection,
        "writable_schemas",
        "{2} may create in the schema {0}, where the extension {1} is: what it puts there could run with the rights of"
        " the store's owner",
        "revoke create on schema {} from {}",
    )


def unusable_schema(connection: psycopg.Connection[Any]) -> tuple[str, str] | None:
    """Say which schema of an extension the store's owner may not use, and the command that mends it; None if none."""
    return _schema_at_fault(
        connection,
        "unusable_schemas",
        "{2}, with whose rights verbs run, may not use the schema {0}, where the extension {1} is: saves fail",
        "grant usage on schema {} to {}",
    )


def _schema_at_fault(
    connection: psycopg.Connection[Any], step: str, reason: str, mend: LiteralString
) -> tuple[str, str] | None:
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(_step(step).encode()).fetchone()
    if row is None:
        return None
    place, extension, role = row
    command = statement.SQL(mend).format(statement.Identifier(place), statement.SQL(role))
    return reason.format(place, extension, role), command.as_string(connection)


def check_version(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Refuse a database that holds no schema or another version of it; takes no lock.

    Returns:
        whether it is the front of several cells, which holds no memory itself.

    Raises:
        SchemaOutdated: the message names `pgmem init`.
    """
    try:
        row = connection.execute(
            "select release, digest, to_regclass('pgmem.node') is null from pgmem.schema_version"
        ).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        raise SchemaOutdated("This database holds no pgmem schema yet. Run: pgmem init") from None
    if row is None or row[1] != digest():
        found, own = str(row[0]) if row else "none", release()
        if is_newer(found):
            raise SchemaOutdated(
                f"A newer release of pgmem wrote this store ({found}), and this program is {own}: install {found}."
            )
        # States between two releases have the same number.
        own = own if found != own else f"another state of {own}"
        raise SchemaOutdated(
            f"This database holds pgmem schema {found}, this program is {own}. Run: "
            + ("pgmem cells upgrade" if row is not None and row[2] else "pgmem init")
        )
    return bool(row[2])


def changed_meanwhile(found: str, found_digest: str) -> SchemaOutdated | None:
    """Compare the schema that a store holds now with that of this program, which has used the store before.

    Args:
        found: the release of the store.
        found_digest: the digest of its schema.

    Returns:
        The error for a verb that the store lacks; None if the store is of this program, which then has a
        mistake.
    """
    if found_digest == digest():
        return None
    is_older = _numbers(found) < _numbers(release())
    return SchemaOutdated(
        f"The store was {'taken back to an earlier release' if is_older else 'upgraded'} while this program ran: "
        f"restart it. The store holds pgmem schema {found}, the program is {release()}."
    )


def is_newer(found: str) -> bool:
    """Whether the release of a store is newer than this program; states between two releases have the same numbers."""
    return _numbers(found) > _numbers(release())


def _numbers(release: str) -> list[int]:
    """The numbers that lead a release: those of 0.2.0.dev1 are 0, 2, 0."""
    return [int(number) for number in re.findall(r"\d+", re.match(r"[\d.]*", release)[0])]  # type: ignore[index]


def script() -> Iterator[str]:
    """An install or upgrade as one SQL script for a DBA; it runs the migrations that the store lacks."""
    known = history.migrations()
    begin = f"{BEGIN};\n{_SESSION};\n{_hand_over()}\n{_step('become_owner')};\n"
    yield f"-- pgmem {release()}: run as the role that shall own the schema, or that owns it.\n"
    yield f"{begin}{_step('loosen_caller')}\ncommit;\n{begin}"
    yield "create schema if not exists pgmem;\ncreate table if not exists pgmem.alembic_version ("
    yield "version_num varchar(32) constraint alembic_version_pkc primary key);\n"
    order = ", ".join(f"('{each.revision}', {n})" for n, each in enumerate(known))
    numbers = ",".join(map(str, _numbers(release())))
    yield f"{_step('script_known', known=order, numbers=numbers)}\n"
    yield f"{_drop_obstacles()};\n"
    for each in known:
        yield f"\n-- {each.file}\n{_step('script_step', revision=each.revision, text=each.text)}\n"
    yield from _kept({each.file: each.digest for each in known})
    yield f"{_drop_changed()}\n{_step('drop_views')};\n"
    for path in _chapters():
        yield f"\n-- sql/{path.name}\n{_BEGIN_CHAPTER.format(path.stem[3:])};\n" + path.read_text(
            encoding="utf-8"
        )
    yield f"{_step('keep_heads', **_head_arrays())}\n"
    yield from _kept(_sums())
    yield (
        f"\ninsert into pgmem.schema_version (release, digest) values ('{release()}', '{digest()}')"
        " on conflict (one) do update set release = excluded.release, digest = excluded.digest, upgraded_at = now();\n"
        "select pgmem.enable_graph(), pgmem.enable_vector();\nselect pgmem.grant_rights();\n"
        "select pgmem.run_steps('installed', '{}');\n"
        f"{_step('name_extension_schema')}\ndrop table pgmem.installing;\ncommit;\n{_step('script_renew')}\n"
    )


def _kept(digests: Mapping[str, str]) -> Iterator[str]:
    """The statements that record files with their digests."""
    for path, sum_of in digests.items():
        yield f"delete from pgmem.schema_file where path = '{path}';\n"
        yield f"insert into pgmem.schema_file (path, digest) values ('{path}', '{sum_of}');\n"

"""Install and upgrade: the only way in.

Tables change in `migrations/` (Alembic, forward only). Everything that can be replaced stands in `sql/` and is run at
every upgrade. Both happen in one transaction under one lock: ten callers take turns, a broken file leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql as statement

from pgmem.errors import SchemaOutdated, UnsuitableDatabase, translate

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = [
    "EXTENSIONS",
    "UNSUITABLE",
    "check_version",
    "digest",
    "is_suitable",
    "release",
    "run",
    "script",
    "upgrade",
]

EXTENSIONS = ("vector", "age")
"""The extensions pgmem uses where the server offers them; each one missing is a lower tier, not an error."""

_PACKAGE = Path(__file__).parent.parent
# In a wheel sql/ and migrations/ lie inside the package; an editable install leaves them at the top of the checkout.
_SQL = _PACKAGE / "_sql" if (_PACKAGE / "_sql").is_dir() else _PACKAGE.parent / "sql"
_MIGRATIONS = (
    _PACKAGE / "_migrations" if (_PACKAGE / "_migrations").is_dir() else _PACKAGE.parent / "migrations"
)

# Functions first, as they may name each other in any order; those whose bodies are bound when they are made stand in
# BOUND, each after what it calls.
_BOUND = (
    "internal/test_clock", "internal/now", "internal/clock", "internal/setting_text",
    "internal/setting_int", "internal/setting_float", "internal/normalize", "internal/title_words",
    "internal/tokens", "internal/jaccard", "internal/content_hash", "internal/scope_key", "internal/excerpt",
    "internal/joined_texts", "internal/searched_text", "internal/search_text", "internal/text_length",
    "internal/scope_lexemes", "internal/ranked_tokens", "internal/token_signature", "internal/title_entries",
    "internal/name_hash", "temporal/valid_at", "temporal/is_true_at",
    "internal/decayed", "internal/confidence", "vector/embedding_text",
    "search/is_memory", "search/occurrences", "write/next_step", "write/saved", "write/attempt_result", "retrieval/freshness",
    "retrieval/context_item", "retrieval/context_items",
)  # fmt: skip
_VIEWS_FIRST = (
    "internal/is_member", "internal/caller", "internal/visible_tenants", "internal/visible_node",
    "internal/live_node", "internal/visible_edge", "internal/visible_version", "internal/visible_attempt",
    "temporal/recorded_state", "hygiene/hygiene_node", "hygiene/reflected_node", "hygiene/reflected_link",
)  # fmt: skip
_FOLDERS = (
    "internal", "scope", "governance", "write", "retrieval", "search", "graph", "temporal", "hygiene",
    "cards", "moving", "vector", "age", "views",
)  # fmt: skip
_LAST = ("triggers", "policies", "grants")
_WAITS = ("triggers", "policies")


def run(connection: Connection, script: str) -> None:
    """Run a SQL script exactly as written: no `:name` or `%` is read as a parameter."""
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})


@cache
def release() -> str:
    """The installed release of pgmem, or `0` when the package is run without being installed."""
    try:
        return version("pgmem-agent")
    except PackageNotFoundError:
        return "0"


@cache
def _files() -> tuple[Path, ...]:
    """The files of `sql/` in the order in which they are run."""
    ordered = [_SQL / f"{name}.sql" for name in (*_BOUND, *_VIEWS_FIRST)]
    for folder in _FOLDERS:
        ordered += [path for path in sorted((_SQL / folder).glob("*.sql")) if path not in ordered]
    return (*ordered, *(path for name in _LAST if (path := _SQL / f"{name}.sql").exists()))


@cache
def digest() -> str:
    """SHA-256 over the text of `sql/` and the names of the revisions: what an installed schema is compared with."""
    sums = hashlib.sha256()
    for path in _files():
        sums.update(path.read_bytes())
    for path in sorted((_MIGRATIONS / "versions").glob("*.py")):
        sums.update(path.name.encode())
    return sums.hexdigest()


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did: the release, whether it changed anything, and which extensions it found or made."""

    release: str
    changed: bool
    extensions: tuple[str, ...]


def upgrade(
    dsn: str,
    extensions: Sequence[str] = EXTENSIONS,
    settings: Mapping[str, str] | None = None,
    *,
    roles: bool = False,
) -> Upgrade:
    """Bring a database to this release, in one transaction; concurrent callers take turns.

    Args:
        dsn: a libpq connection string or URI of a role that may create a schema there.
        extensions: which of `EXTENSIONS` to make if the server offers them and this role may.
        settings: rows of `pgmem.setting` to set, such as `Settings.store_settings()`.
        roles: make the roles of the second wall and hand the schema to `pgmem_owner`; needs CREATEROLE.

    Raises:
        UnsuitableDatabase: the server is older than 15 or its collation folds no accented letters.
    """
    # Imported here: start-up of the server and the CLI must not pay for Alembic.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    _require_suitable(dsn)
    made = _make_extensions(dsn, extensions)
    config = Config(attributes={})
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("path_separator", "os")
    engine = create_engine("postgresql+psycopg://", creator=lambda: _connect(dsn), poolclass=NullPool)
    with engine.begin() as connection:
        run(connection, "select pg_advisory_xact_lock(hashtextextended('pgmem.upgrade', 0))")
        run(connection, "set local client_min_messages = warning; set local check_function_bodies = off")
        run(connection, _BECOME_OWNER)
        run(connection, "create schema if not exists pgmem")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        installed = connection.exec_driver_sql("select release, digest from pgmem.schema_version").first()
        current = (release(), digest())
        changed = installed is None or tuple(installed) != current
        if changed:
            _replace(connection)
            connection.exec_driver_sql(
                "insert into pgmem.schema_version (release, digest) values (%s, %s) on conflict (one) do update"
                " set release = excluded.release, digest = excluded.digest, upgraded_at = now()",
                current,
            )
        run(connection, "select pgmem.enable_graph(), pgmem.enable_vector()")
        run(connection, "select pgmem.grant_rights()")
        for name, value in (settings or {}).items():
            connection.exec_driver_sql("update pgmem.setting set value = %s where name = %s", (value, name))
        run(connection, _PIN_SEARCH_PATHS)
        if roles:
            run(connection, "set local role none")
            with translate():
                connection.connection.cursor().execute("select pgmem.make_roles()")
    engine.dispose()
    return Upgrade(release(), changed, made)


# Once the roles are made, what an upgrade makes must be pgmem_owner's too: verbs run with its rights.
_BECOME_OWNER = """
do $$
begin
  if current_user <> 'pgmem_owner'
     and exists (select from pg_namespace n where n.nspname = 'pgmem' and n.nspowner::regrole::text = 'pgmem_owner') then
    set local role pgmem_owner;
  end if;
end $$
"""


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
    folds = r"select lower('É') = 'é' and 'é' ~ '\w' and 'é' !~ '\s'"
    return connection.execute(folds).fetchone() == (True,)


def _connect(dsn: str, *, autocommit: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection that leaves nothing in its session: behind a pooler the next client gets it."""
    return psycopg.connect(dsn, autocommit=autocommit, prepare_threshold=None)


def _require_suitable(dsn: str) -> None:
    """Before anything is made."""
    with _connect(dsn) as connection:
        asked = "select current_setting('server_version_num')::integer"
        (number,) = connection.execute(asked).fetchone() or (0,)
        if number < 150000:
            raise UnsuitableDatabase(f"pgmem needs PostgreSQL 15 or later; this server is {number // 10000}.")
        if not is_suitable(connection):
            raise UnsuitableDatabase(UNSUITABLE)


def _make_extensions(dsn: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Create what is offered and permitted, each in its own transaction: one refusal must not undo the install."""
    made = []
    with _connect(dsn, autocommit=True) as connection:
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


def _replace(connection: Connection) -> None:
    """Run `sql/`. What waits for every reader or writer (views, policies, triggers) is replaced only where it changed."""
    rows = connection.exec_driver_sql("select path, digest from pgmem.schema_file").all()
    installed = {str(row[0]): str(row[1]) for row in rows}
    sums = {_name(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in _files()}
    views = [path for path in _files() if "create or replace view" in path.read_text(encoding="utf-8")]
    views_changed = any(installed.get(_name(path)) != sums[_name(path)] for path in views)
    if views_changed:
        run(connection, _DROP_VIEWS)
    for path in _files():
        same = installed.get(_name(path)) == sums[_name(path)]
        if (same and path.stem in _WAITS) or (path in views and not views_changed):
            continue
        run(connection, path.read_text(encoding="utf-8"))
    connection.exec_driver_sql("delete from pgmem.schema_file")
    for name, digest in sums.items():
        connection.exec_driver_sql("insert into pgmem.schema_file values (%s, %s)", (name, digest))


def _name(path: Path) -> str:
    return path.relative_to(_SQL).as_posix()


_DROP_VIEWS = """
do $$
declare
  v_view text;
begin
  for v_view in select viewname from pg_views where schemaname = 'pgmem' loop
    execute format('drop view if exists pgmem.%I cascade', v_view);
  end loop;
end $$
"""


# Functions that use pgvector's types look in the schema the extension really lives in (Supabase: extensions).
_PIN_SEARCH_PATHS = """
do $$
declare
  v_function regprocedure;
  v_schema   text := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                      where e.extname = 'vector');
begin
  for v_function in select p.oid from pg_proc p where p.pronamespace = 'pgmem'::regnamespace
      and 'search_path=pgmem, public, pg_temp' = any (p.proconfig) and v_schema not in ('public', 'pgmem') loop
    execute format('alter function %s set search_path = pgmem, %I, pg_temp', v_function, v_schema);
  end loop;
end $$;
"""


def check_version(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Refuse a database that holds no schema or another version of it; takes no lock.

    Raises:
        SchemaOutdated: the message names `pgmem init`.
    """
    try:
        row = connection.execute("select release, digest from pgmem.schema_version").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        raise SchemaOutdated("This database holds no pgmem schema yet. Run: pgmem init") from None
    if row is None or row[1] != digest():
        found = row[0] if row else "none"
        raise SchemaOutdated(
            f"This database holds pgmem schema {found}, this program is {release()}. Run: pgmem init"
        )


def script() -> Iterator[str]:
    """All that an install would run, as one SQL script for a DBA: the migrations, then `sql/`."""
    import importlib.util

    yield "-- pgmem " + release() + ": run as the role that shall own the schema, in one transaction.\n"
    yield "begin;\nset local check_function_bodies = off;\ncreate schema if not exists pgmem;\n"
    last = ""
    for path in sorted((_MIGRATIONS / "versions").glob("*.py")):
        spec = importlib.util.spec_from_file_location("revision", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        collected: list[str] = []

        class Recorder:
            def get_bind(self, collected: list[str] = collected) -> list[str]:
                return collected

        vars(module).update(op=Recorder(), run=lambda bind, text: bind.append(text))
        module.upgrade()
        yield f"\n-- migrations/versions/{path.name}\n" + "\n".join(collected)
        last = module.revision
    yield "\ncreate table if not exists pgmem.alembic_version ("
    yield "version_num varchar(32) constraint alembic_version_pkc primary key);\n"
    yield f"delete from pgmem.alembic_version; insert into pgmem.alembic_version values ('{last}');\n"
    for path in _files():
        yield f"\n-- sql/{_name(path)}\n" + path.read_text(encoding="utf-8")
    yield (
        f"\ninsert into pgmem.schema_version (release, digest) values ('{release()}', '{digest()}')"
        " on conflict (one) do update set release = excluded.release, digest = excluded.digest, upgraded_at = now();\n"
        f"select pgmem.enable_graph(), pgmem.enable_vector();\nselect pgmem.grant_rights();\n{_PIN_SEARCH_PATHS}commit;\n"
    )

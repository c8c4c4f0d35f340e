"""Install and upgrade: the only way in.

Tables change in `migrations/` (Alembic, forward only). Everything that can be replaced stands in `sql/` and is run at
every upgrade. Both happen in one transaction under one lock: ten callers take turns, a broken file leaves nothing
behind.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg import sql as statement
from psycopg.rows import tuple_row

from pgmem.errors import SchemaOutdated, UnsuitableDatabase, translate

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

EXTENSIONS = ("vector", "age")
"""The extensions pgmem uses where the server offers them; each one missing is a lower tier, not an error."""

_PACKAGE = Path(__file__).parent.parent
# In a wheel sql/ and migrations/ lie inside the package; an editable install leaves them at the top of the checkout.
_SQL = _PACKAGE / "_sql" if (_PACKAGE / "_sql").is_dir() else _PACKAGE.parent / "sql"
_MIGRATIONS = (
    _PACKAGE / "_migrations" if (_PACKAGE / "_migrations").is_dir() else _PACKAGE.parent / "migrations"
)

# Views and what locks a table are replaced only where their text changed: a policy waits for every open reader.
_VIEWS = ("07-visible", "90-views")
_LOCKING = ("95-triggers", "96-policies")


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
def _chapters() -> tuple[Path, ...]:
    """The chapters of `sql/`, in the order in which they are run: that of their numbers."""
    return tuple(sorted(_SQL.glob("[0-9][0-9]-*.sql")))


@cache
def _heads() -> dict[str, str]:
    """What `create or replace function` cannot change, by function: arguments and result, without white space."""
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
    """SHA-256 over the text of `sql/` and the names of the revisions: what an installed schema is compared with."""
    sums = hashlib.sha256()
    for path in _chapters():
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
        roles: make the roles of the second layer of isolation and hand the schema to `pgmem_owner`; needs CREATEROLE.

    Raises:
        UnsuitableDatabase: a newer release wrote the store, the server is older than 15, its collation folds no
            accented letters, or others may create in the schema of an extension; the message says what to do.
    """
    # Alembic is imported here, because start-up of the server and the CLI must not pay for it, and while the server
    # makes the extensions, which takes about as long.
    with ThreadPoolExecutor(1) as importer, _connect(dsn, autocommit=True) as connection:
        importer.submit(import_module, "alembic.command")
        _require_suitable(connection)
        made = _make_extensions(connection, extensions)
        _refuse_writable_schema(connection)
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    config = Config(attributes={})
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("path_separator", "os")
    engine = create_engine("postgresql+psycopg://", creator=lambda: _connect(dsn), poolclass=NullPool)
    with _one_at_a_time(engine) as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise UnsuitableDatabase(
                f"A newer release of pgmem than {release()} wrote this store: install that release, or a newer one."
            ) from error
        changed = _replace_if_changed(connection)
        run(connection, "select pgmem.enable_graph(), pgmem.enable_vector()")
        run(connection, "select pgmem.grant_rights()")
        for name, value in (settings or {}).items():
            connection.exec_driver_sql("update pgmem.setting set value = %s where name = %s", (value, name))
        run(connection, _NAME_EXTENSION_SCHEMA)
        if roles:
            run(connection, "set local role none")
            with translate():
                connection.connection.cursor().execute("select pgmem.make_roles()")
    engine.dispose()
    return Upgrade(release(), changed, made)


@contextmanager
def _one_at_a_time(engine: Engine) -> Iterator[Connection]:
    """A transaction in which no other session installs, as the schema's owner; the schema exists.

    Installers take turns by a lock on a table of ours: an advisory lock could be held by any login. Where there is no
    table yet, they make one; all but the first fail at it once the first has committed, and begin again.
    """
    # Imported here, as above.
    from sqlalchemy.exc import DBAPIError

    for rounds_left in reversed(range(10)):
        with engine.connect() as connection:
            try:
                run(
                    connection,
                    "set local client_min_messages = warning; set local check_function_bodies = off",
                )
                run(connection, _BECOME_OWNER)
                run(connection, _TAKE_TURNS)
                run(connection, _BECOME_OWNER)
            except DBAPIError as error:
                if rounds_left and isinstance(error.orig, _MADE_MEANWHILE):
                    continue
                raise
            yield connection
            run(connection, "drop table if exists pgmem.installing")
            connection.commit()
            return


_MADE_MEANWHILE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateSchema,
    psycopg.errors.DuplicateTable,
)

_TAKE_TURNS = """
do $$
begin
  if to_regclass('pgmem.schema_version') is not null then
    lock table pgmem.schema_version in exclusive mode;
  else
    create schema if not exists pgmem;
    create table pgmem.installing ();
  end if;
end $$
"""

# Once the roles are made, what an upgrade makes must be pgmem_owner's too: verbs run with its rights.
_BECOME_OWNER = """
do $$
begin
  if current_user <> 'pgmem_owner'
     and exists (
       select from pg_namespace n where n.nspname = 'pgmem' and n.nspowner::regrole::text = 'pgmem_owner') then
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


def _require_suitable(connection: psycopg.Connection[Any]) -> None:
    """Before anything is made."""
    number = connection.info.server_version
    if number < 150000:
        raise UnsuitableDatabase(f"pgmem needs PostgreSQL 15 or later; this server is {number // 10000}.")
    if not is_suitable(connection):
        raise UnsuitableDatabase(UNSUITABLE)


def _refuse_writable_schema(connection: psycopg.Connection[Any]) -> None:
    if found := writable_schema(connection):
        raise UnsuitableDatabase(f"{found[0]}. Run: {found[1]}")


def _make_extensions(connection: psycopg.Connection[Any], wanted: Sequence[str]) -> tuple[str, ...]:
    """Create what is offered and permitted, each in its own transaction: one refusal must not undo the install."""
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


def _replace_if_changed(connection: Connection) -> bool:
    """Replace the functions and views of another release or of another state of the chapters; whether it was one."""
    installed = connection.exec_driver_sql("select release, digest from pgmem.schema_version").first()
    current = (release(), digest())
    if installed is not None and tuple(installed) == current:
        return False
    _replace(connection)
    connection.exec_driver_sql(
        "insert into pgmem.schema_version (release, digest) values (%s, %s) on conflict (one) do update"
        " set release = excluded.release, digest = excluded.digest, upgraded_at = now()",
        current,
    )
    return True


def _replace(connection: Connection) -> None:
    """Run the chapters of `sql/`; views and what locks a table only where their text changed."""
    rows = connection.exec_driver_sql("select path, digest from pgmem.schema_file").all()
    installed = {str(row[0]): str(row[1]) for row in rows}
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _chapters()}
    run(connection, _drop_changed())
    views_gone = connection.exec_driver_sql(
        "select not exists (select from pg_views where schemaname = 'pgmem')"
    ).scalar()
    views_changed = any(installed.get(f"{stem}.sql") != sums.get(f"{stem}.sql") for stem in _VIEWS)
    if views_changed and not views_gone:
        run(connection, _DROP_VIEWS)
    for path in _chapters():
        same = installed.get(path.name) == sums[path.name]
        if same and (path.stem in _LOCKING or (path.stem in _VIEWS and not (views_changed or views_gone))):
            continue
        # On the first line, so that the lines of an error are those of the file.
        text = f"{_BEGIN_CHAPTER.format(path.stem[3:])}; " + path.read_text(encoding="utf-8")
        try:
            run(connection, text)
        except Exception as error:
            error.add_note(_place_in(path, text, error))
            raise
    connection.exec_driver_sql("delete from pgmem.schema_file")
    names_and_sums = (list(sums), list(sums.values()))
    connection.exec_driver_sql(
        "insert into pgmem.schema_file select * from unnest(%s::text[], %s::text[])", names_and_sums
    )
    run(connection, _KEEP_HEADS.format(**_head_arrays()))


def _place_in(path: Path, text: str, error: Exception) -> str:
    """The chapter, and the line where the server says it."""
    cause = getattr(error, "orig", error)
    position = cause.diag.statement_position if isinstance(cause, psycopg.Error) else None
    line = f", line {text.count(chr(10), 0, int(position) - 1) + 1}" if position else ""
    return f"in sql/{path.name}{line}"


def _head_arrays() -> dict[str, str]:
    """The heads as two arrays of SQL; names and digests hold nothing that needs quoting."""
    heads = _heads()
    return {"names": f"'{{{','.join(heads)}}}'::text[]", "heads": f"'{{{','.join(heads.values())}}}'::text[]"}


def _drop_changed() -> str:
    """Drop functions that are gone or whose arguments or result changed, with the functions and views that name them.

    `create or replace` would make a second function beside the old one, or refuse. A store of release 0.1.0 holds no
    heads: there every function goes that no table, trigger or policy depends on. A default, constraint, trigger or
    policy that depends on a changed function stops the upgrade; it needs a migration.
    """
    return _DROP_CHANGED.format(**_head_arrays())


_DROP_CHANGED = """
do $$
declare
  v_heads_kept boolean := exists (select from pgmem.schema_function);
  v_dropped    oid[];
  v_view       text;
  v_functions  text;
begin
  with recursive required(oid) as (
    -- What a default, constraint, trigger or policy calls, and what that calls.
    select d.refobjid from pg_depend d
    where d.refclassid = 'pg_proc'::regclass and d.classid not in ('pg_proc'::regclass, 'pg_rewrite'::regclass)
    union
    select d.refobjid from required r
    join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
  ), changed(oid) as (
    select p.oid from pg_proc p
    left join pgmem.schema_function kept on kept.name = p.proname
    left join unnest({names}, {heads}) as new(name, head) on new.name = p.proname
    where p.pronamespace = 'pgmem'::regnamespace
      and case when kept.name is not null then kept.head is distinct from new.head
               else not v_heads_kept and p.prorettype <> 'trigger'::regtype and p.proname <> 'label_number'
                 and p.oid not in (select oid from required) end
    union
    select d.objid from changed c
    join pg_depend d on d.refclassid = 'pg_proc'::regclass and d.refobjid = c.oid and d.classid = 'pg_proc'::regclass
  )
  select array_agg(oid) into v_dropped from changed;
  if v_dropped is null then
    return;
  end if;
  for v_view in select viewname from pg_views where schemaname = 'pgmem' loop
    execute format('drop view if exists pgmem.%I cascade', v_view);
  end loop;
  -- Those that return rows of a view went with it.
  select string_agg(p.oid::regprocedure::text, ', ') into v_functions from pg_proc p where p.oid = any (v_dropped);
  if v_functions is not null then
    execute 'drop function ' || v_functions;
  end if;
end $$;
"""

_BEGIN_CHAPTER = "select set_config('pgmem.chapter', '{}', true)"

_KEEP_HEADS = """
delete from pgmem.schema_function;
insert into pgmem.schema_function (name, head) select * from unnest({names}, {heads});
"""


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


# The chapters name pgvector's types and operators with the schema public; here they get the one that the extension is
# in (Supabase: extensions). So no function has a schema in its path in which others may create: what they put there
# would run as the owner.
_NAME_EXTENSION_SCHEMA = r"""
do $$
declare
  v_function   oid;
  v_definition text;
  v_named      text;
  v_schema     text := (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                        where e.extname = 'vector');
begin
  for v_function in select p.oid from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and v_schema is not null
      and p.prokind = 'f' and p.prosqlbody is null and p.prosrc ~ '(halfvec|<=>)' loop
    v_definition := pg_get_functiondef(v_function);
    v_named := regexp_replace(v_definition,
      '(?<![%$"[:alnum:]_])("[^"]+"|[a-z_][a-z0-9_]*)\.(halfvec\M|<=>)', v_schema || '.\2', 'g');
    if v_named <> v_definition then
      execute v_named;
    end if;
  end loop;
end $$;
"""

# Whoever may create beside an extension may put there what its own functions and casts find first.
_WRITABLE_SCHEMAS = """
select n.nspname, e.extname, quote_ident(coalesce(r.rolname, 'public')) as grantee
from pg_extension e join pg_namespace n on n.oid = e.extnamespace
cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
left join pg_roles r on r.oid = a.grantee
where e.extname in ('vector', 'age') and a.privilege_type = 'CREATE' and (a.grantee = 0
  or r.rolname in ('pgmem_writer', 'pgmem_reader', 'pgmem_trusted', 'pgmem_reviewer')
  or not r.rolsuper and a.grantee <> n.nspowner and r.rolname <> 'pgmem_owner' and pg_has_role(a.grantee, (
       select w.oid from pg_roles w where w.rolname = 'pgmem_writer'), 'member'))
order by 1, 3
"""


_UNUSABLE_SCHEMAS = """
select n.nspname, e.extname, s.nspowner::regrole::text
from pg_extension e join pg_namespace n on n.oid = e.extnamespace join pg_namespace s on s.nspname = 'pgmem'
where e.extname in ('vector', 'age') and not has_schema_privilege(s.nspowner, n.oid, 'usage')
order by 1
"""


def writable_schema(connection: psycopg.Connection[Any]) -> tuple[str, str] | None:
    """Say which schema of an extension others may create in, and the command that mends it; None if there is none."""
    return _schema_at_fault(
        connection,
        _WRITABLE_SCHEMAS,
        "{2} may create in the schema {0}, where the extension {1} is: what it puts there could run with the rights of"
        " the store's owner",
        "revoke create on schema {} from {}",
    )


def unusable_schema(connection: psycopg.Connection[Any]) -> tuple[str, str] | None:
    """Say which schema of an extension the store's owner may not use, and the command that mends it; None if none."""
    return _schema_at_fault(
        connection,
        _UNUSABLE_SCHEMAS,
        "{2}, with whose rights verbs run, may not use the schema {0}, where the extension {1} is: saves fail",
        "grant usage on schema {} to {}",
    )


def _schema_at_fault(
    connection: psycopg.Connection[Any], query: LiteralString, reason: str, mend: LiteralString
) -> tuple[str, str] | None:
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query).fetchone()
    if row is None:
        return None
    place, extension, role = row
    command = statement.SQL(mend).format(statement.Identifier(place), statement.SQL(role))
    return reason.format(place, extension, role), command.as_string(connection)


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
        found, own = row[0] if row else "none", release()
        # Between two releases their number does not tell them apart.
        own = own if found != own else f"another state of {own}"
        raise SchemaOutdated(
            f"This database holds pgmem schema {found}, this program is {own}. Run: pgmem init"
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
    for path in _chapters():
        yield f"\n-- sql/{path.name}\n{_BEGIN_CHAPTER.format(path.stem[3:])};\n" + path.read_text(
            encoding="utf-8"
        )
    yield _KEEP_HEADS.format(**_head_arrays())
    yield (
        f"\ninsert into pgmem.schema_version (release, digest) values ('{release()}', '{digest()}')"
        " on conflict (one) do update set release = excluded.release, digest = excluded.digest, upgraded_at = now();\n"
        "select pgmem.enable_graph(), pgmem.enable_vector();\nselect pgmem.grant_rights();\n"
        f"{_NAME_EXTENSION_SCHEMA}commit;\n"
    )

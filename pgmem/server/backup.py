"""Backups of the embedded server, made by its own pg_dump and verified by a restore.

The dump and the checksums are of one snapshot, so agents can write meanwhile. The graph is left out: it copies the
tables under an OID that differs between databases, and a restore builds it again. A restore takes the rows alone and
makes tables and functions itself, because another person may have written the rest of a dump.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from dataclasses import replace as replace_fields
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem import plain_files
from pgmem.database.connection import settled
from pgmem.database.identity import AS_TEXT
from pgmem.documents import parse
from pgmem.errors import EmbeddedServerError, InvalidArgument
from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer

_FORMAT = 1
_DUMP, _MANIFEST = "pgmem.dump", "manifest.json"
Progress = Callable[[str], object]
_OF_A_RESTORE = ("revoked", "settings")  # no part of the manifest


@dataclass(frozen=True, kw_only=True)
class Backup:
    """The manifest of a backup.

    Attributes:
        pgmem_backup: version of the format.
        release: release of pgmem that wrote it.
        server_version: version of PostgreSQL.
        taken_at: ISO 8601 time of the snapshot.
        sha256: digest of the dump.
        roles: whether the schema belongs to pgmem_owner.
        logins: roles that are bound to tenants.
        tables: for each table the number of rows and a checksum of their contents.
        others: tables, views and functions outside schema pgmem, which the dump holds and a restore leaves out.
        revoked: of a restore of the backup of another server, how many of its tokens were revoked.
        settings: of a restore of another server's backup, each setting with another value than here: here, and now.
    """

    pgmem_backup: int
    release: str
    server_version: str
    taken_at: str
    sha256: str
    roles: bool
    logins: list[str]
    tables: dict[str, tuple[int, str]]
    others: list[str] = field(default_factory=list)
    revoked: int = 0
    settings: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def memories(self) -> int:
        """Number of nodes, without the one that every store has."""
        return self.tables["node"][0] - 1


def backup(server: EmbeddedServer, folder: Path, progress: Progress = lambda _step: None) -> Backup:
    """Write a backup into a folder, which appears only after a restore of the dump has given the same rows.

    Args:
        server: the embedded server; it is started if it does not run.
        folder: must not exist, or be empty.
        progress: called with the name of each step.

    Raises:
        InvalidArgument: the folder is not empty, or the server holds no store.
        EmbeddedServerError: the dump or its restore fails, or the restore gives other rows.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidArgument(f"{folder} is not empty: name a folder that does not exist.")
    dsn = server.start()
    with _part_of(folder) as part:
        progress("dumping")
        with psycopg.connect(dsn, client_encoding="UTF8") as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            held = _look(connection)
            _run(server, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--exclude-schema=pgmem_graph",
                 "--exclude-extension=age", f"--snapshot={held.pop('snapshot')}",
                 f"--file={part / _DUMP}", dsn)  # fmt: skip
        done = Backup(pgmem_backup=_FORMAT, sha256=_digest(part / _DUMP), **held)
        progress("restoring it into a separate database to check it")
        with _scratch(dsn) as scratch:
            _fill(server, scratch, part / _DUMP, done)
        manifest = {name: value for name, value in asdict(done).items() if name not in _OF_A_RESTORE}
        (part / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for path in part.iterdir():
            path.chmod(0o600)
            plain_files.sync(path)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
        plain_files.sync(folder.parent)
    return done


def restore(
    server: EmbeddedServer, folder: Path, *, replace: bool = False, progress: Progress = lambda _step: None
) -> Backup:
    """Replace the database of the embedded server by a backup, upgraded to this release and with a checked graph.

    A backup of another server brings no token that is good here, and its settings are named where they differ.

    The new database takes the name of the old one in one transaction, after all checks.

    Args:
        server: the embedded server; its PostgreSQL must not be older than that of the backup.
        folder: a folder that `backup` wrote.
        replace: drop the memories that the database holds.
        progress: called with the name of each step.

    Raises:
        InvalidArgument: the folder holds no intact backup, or the database holds memories and `replace` is not set.
        EmbeddedServerError: the restore fails, or other sessions use the database.
    """
    done = _read(folder)
    dsn = server.start()
    if not replace and (held := _memories(dsn)):
        raise InvalidArgument(
            f"The database holds {held} nodes: name another --data-dir, or send --replace to discard them."
        )
    with _scratch(dsn) as scratch:
        progress("restoring")
        _fill(server, scratch, folder / _DUMP, done)
        progress("making functions and the graph")
        with settled(scratch) as connection:
            of_another = (
                not schema.holds(connection, "pgmem.feed") or connection.execute(_OF_HERE).fetchone() is None
            )
            connection.execute(_AS_NEW)
        schema.upgrade(scratch, roles=done.roles)
        revoked, settings = _take_apart(dsn, scratch) if of_another else (0, {})
        with settled(scratch) as connection:
            if schema.holds(connection, "ag_catalog.ag_graph"):
                different = connection.execute("select label from pgmem.check_graph()").fetchall()
                if different:
                    raise EmbeddedServerError(
                        f"The graph differs from the tables in {different[0][0]} after the restore."
                    )
        _swap(dsn, scratch)
    return replace_fields(done, revoked=revoked, settings=settings)


_OF_HERE = """
select from pgmem.feed f join pg_control_system() c on f.system = c.system_identifier::text
"""


def _take_apart(dsn: str, scratch: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Revoke the tokens of another server's store; return how many, and the settings that differ from those here."""
    with settled(scratch) as connection:
        revoked = connection.execute(
            "update pgmem.api_token set revoked_at = pgmem.clock(), revoked_by = 'pgmem restore'"
            " where revoked_at is null and (expires_at is null or expires_at > pgmem.clock())"
        ).rowcount
    there, here = _settings(scratch), _settings(dsn)
    if not here:
        with _scratch(dsn) as fresh:
            schema.upgrade(fresh)
            here = _settings(fresh)
    return revoked, {
        name: (here[name], value) for name, value in sorted(there.items()) if here.get(name, value) != value
    }


def _settings(dsn: str) -> dict[str, str]:
    with settled(dsn) as connection:
        if not schema.holds(connection, "pgmem.setting"):
            return {}
        return dict(connection.execute("select name, value from pgmem.setting").fetchall())


# The rows are there, and no function: all chapters run, and declare kinds and verbs themselves.
_AS_NEW = """
delete from pgmem.schema_file where not starts_with(path, 'migrations/');
update pgmem.schema_version set digest = '';
do $$
declare
  v_table regclass;
begin
  for v_table in select to_regclass('pgmem.' || name) from unnest('{field,argument,verb}'::text[]) as name loop
    execute coalesce('delete from ' || v_table, 'select');
  end loop;
  -- The stamps of its changes are transactions of the server that it was taken from.
  if to_regclass('pgmem.feed') is not null then
    update pgmem.feed set system = '';
  end if;
end $$;
"""


def _look(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    """Export the snapshot of this transaction, and return it with its manifest."""
    row = connection.execute(
        "select pg_export_snapshot(), current_setting('server_version'),"
        " to_regclass('pgmem.schema_version') is not null,"
        " to_regrole('pgmem_owner') is not null and to_regrole('pgmem_owner') ="
        "   (select nspowner::regrole from pg_namespace where nspname = 'pgmem')"
    ).fetchone()
    assert row is not None
    if not row[2]:
        raise InvalidArgument("No store found to back up: pgmem init creates one.")
    (release,) = connection.execute("select release from pgmem.schema_version").fetchone() or ("0",)
    logins = connection.execute("select role_name::text from pgmem.tenant_role order by 1").fetchall()
    return {
        "snapshot": row[0],
        "server_version": row[1],
        "release": release,
        "roles": bool(row[3]),
        "logins": [login[0] for login in logins],
        "others": [name for (name,) in connection.execute(_OTHERS).fetchall()],
        "taken_at": datetime.now(UTC).isoformat(),
        "tables": _sums(connection),
    }


_OTHERS = """
select o.id from (
  select 'pg_class'::regclass as catalog, c.oid, c.relnamespace as schema from pg_class c
  where c.relkind in ('r', 'v', 'm', 'p', 'f')
  union all
  select 'pg_proc'::regclass, p.oid, p.pronamespace from pg_proc p
) found
join pg_namespace n on n.oid = found.schema
cross join lateral (select type || ' ' || identity from pg_identify_object(found.catalog, found.oid, 0)) as o(id)
where n.nspname !~ '^pg_'
  and n.nspname not in ('information_schema', 'pgmem', 'pgmem_graph', 'pgmem_report', 'ag_catalog')
  and not exists (
    select from pg_depend d where d.classid = found.catalog and d.objid = found.oid and d.deptype = 'e')
order by 1
"""


def _sums(connection: psycopg.Connection[Any]) -> dict[str, tuple[int, str]]:
    """Return for every table the number of rows and a checksum that does not depend on their order."""
    connection.execute(AS_TEXT)
    tables = connection.execute(
        "select c.relname::text from pg_class c where c.relnamespace = 'pgmem'::regnamespace"
        " and c.relkind = 'r' order by 1"
    ).fetchall()
    found = {}
    for (name,) in tables:
        row = connection.execute(
            sql.SQL(
                "select count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text from pgmem.{} t"
            ).format(sql.Identifier(name))
        ).fetchone()
        assert row is not None
        found[name] = (int(row[0]), str(row[1]))
    return found


@contextmanager
def _part_of(folder: Path) -> Iterator[Path]:
    """Give a locked folder beside it for an incomplete backup, and remove those that killed backups left."""
    import fcntl  # not on Windows, which has no embedded server either

    name = f"{folder.name}.part-"
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f"{name}{uuid4().hex[:8]}")
    with ExitStack() as stack:
        # Repeat until the folder exists and is locked: another backup may remove it in between.
        while not part.exists():
            part.mkdir(mode=0o700)
            held = os.open(part, os.O_RDONLY)
            stack.callback(os.close, held)
            fcntl.flock(held, fcntl.LOCK_EX)
        stack.callback(shutil.rmtree, part, ignore_errors=True)
        for left in (path for path in folder.parent.iterdir() if path.name.startswith(name) and path != part):
            with suppress(OSError):  # in use, or removed meanwhile
                other = os.open(left, os.O_RDONLY)
                stack.callback(os.close, other)
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
        yield part


@contextmanager
def _scratch(dsn: str) -> Iterator[str]:
    """Make a database that is dropped in the end unless it was renamed; drops those that killed processes left."""
    prefix = "pgmem_restored_"
    name = f"{prefix}{uuid4().hex[:12]}"
    drop = sql.SQL("drop database if exists {} with (force)")
    with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as admin:
        left = admin.execute(
            "select datname::text from pg_database where starts_with(datname, %s)"
            " and pg_try_advisory_lock(hashtextextended(datname, 0))",
            (prefix,),
        ).fetchall()
        for (database,) in left:
            admin.execute(drop.format(sql.Identifier(database)))
        admin.execute("select pg_advisory_lock(hashtextextended(%s, 0))", (name,))
        admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
        try:
            yield make_conninfo(dsn, dbname=name)
        finally:
            admin.execute(drop.format(sql.Identifier(name)))


def _fill(server: EmbeddedServer, dsn: str, dump: Path, expected: Backup) -> None:
    """Fill an empty database with the rows of a dump, in tables that this release makes.

    Functions, triggers, defaults and views of the dump are not run: another person may have written them.
    """
    revision = [line.strip() for _, lines in _rows(server, dump, "--table=alembic_version") for line in lines]
    if len(revision) != 1:
        raise InvalidArgument(f"{dump} holds no store of pgmem: restore another backup.")
    schema.make_tables(dsn, revision[0].decode("utf-8", "replace"))
    with settled(dsn) as connection:
        # Rows come in the order of the names of their tables, and rows that triggers derive are among them.
        connection.execute("set session_replication_role = replica")
        for statement, lines in _rows(server, dump):
            if statement is None:
                connection.execute(_SET_SEQUENCE, next(iter(lines)).decode().split())
                continue
            with connection.cursor().copy(statement) as copy:
                for line in lines:
                    copy.write(line)
    with settled(dsn) as connection:
        found = _sums(connection)
    if found != expected.tables:
        wrong = sorted(
            name
            for name in found.keys() | expected.tables.keys()
            if found.get(name) != expected.tables.get(name)
        )
        raise EmbeddedServerError(
            f"The restored dump differs from the database in {', '.join(wrong)}: it was discarded."
        )


_COPY = re.compile(rb'COPY pgmem\."?(\w+)"? \(((?:"?\w+"?(?:, )?)+)\) FROM stdin;\n')
_SETVAL = re.compile(rb"SELECT pg_catalog\.setval\('pgmem\.(\w+)', (\d+), (true|false)\);\n")
_SET_SEQUENCE = "select setval(format('pgmem.%%I', %s::text)::regclass, %s::text::bigint, %s::text::boolean)"


def _rows(
    server: EmbeddedServer, dump: Path, *options: str
) -> Iterator[tuple[sql.Composed | None, Iterator[bytes]]]:
    """The rows of a dump: for each table its COPY and lines; for each sequence None and one line with its state.

    Other output of pg_restore is passed over.
    """
    command = _command(server, "pg_restore", "--data-only", "--schema=pgmem", *options, "--file=-", str(dump))
    with TemporaryFile() as complaints:
        with subprocess.Popen(**command, stdout=subprocess.PIPE, stderr=complaints) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if found := _COPY.fullmatch(line):
                    columns = [sql.Identifier(name.decode().strip('"')) for name in found[2].split(b", ")]
                    yield (
                        sql.SQL("copy pgmem.{} ({}) from stdin").format(
                            sql.Identifier(found[1].decode()), sql.SQL(", ").join(columns)
                        ),
                        takewhile(lambda row: row != b"\\.\n", process.stdout),
                    )
                elif found := _SETVAL.fullmatch(line):
                    yield None, iter([b" ".join(found.groups())])
        if process.returncode != 0:
            complaints.seek(0)
            raise _failure("pg_restore", complaints.read().decode("utf-8", "replace"))


def _swap(dsn: str, scratch: str) -> None:
    new, old = str(conninfo_to_dict(scratch)["dbname"]), str(conninfo_to_dict(dsn)["dbname"])
    before = f"{old}_before_{uuid4().hex[:12]}"
    rename = sql.SQL("alter database {} rename to {}")
    with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as admin:
        try:
            with admin.transaction():
                admin.execute(rename.format(sql.Identifier(old), sql.Identifier(before)))
                admin.execute(rename.format(sql.Identifier(new), sql.Identifier(old)))
        except psycopg.errors.ObjectInUse:
            raise EmbeddedServerError(
                "Others use the database, so nothing was replaced: end the agents and programs that use it, then"
                " run this again."
            ) from None
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(before)))


def _memories(dsn: str) -> int:
    with settled(dsn) as connection:
        if not schema.holds(connection, "pgmem.node"):
            return 0
        row = connection.execute("select count(*) from pgmem.node where label <> 'GlobalScope'").fetchone()
    return int(row[0]) if row else 0


def _read(folder: Path) -> Backup:
    if not folder.is_dir():
        raise InvalidArgument(f"Folder {folder} not found: name a folder that pgmem backup wrote.")
    try:
        manifest = parse((folder / _MANIFEST).read_text(encoding="utf-8"), _MANIFEST)
        if manifest["pgmem_backup"] > _FORMAT:
            raise InvalidArgument(f"{folder} was written by a later pgmem: restore it with that one.")
        tables = {name: (int(count), str(total)) for name, (count, total) in manifest.pop("tables").items()}
        found = Backup(tables=tables, **manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{_MANIFEST}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise InvalidArgument(f"{folder} is not a backup of pgmem backup: {why}.") from None
    if not (folder / _DUMP).is_file() or _digest(folder / _DUMP) != found.sha256:
        raise InvalidArgument(f"{folder / _DUMP} does not match its checksum: restore another backup.")
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _command(server: EmbeddedServer, program: str, *arguments: str) -> dict[str, Any]:
    """How `subprocess` starts a program of the server."""
    # Pass few variables: PGHOST and the like would send it to another server.
    kept = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL") if name in os.environ
    }
    return {"args": [str(server.bin_dir / program), *arguments], "stdin": subprocess.DEVNULL, "env": kept}


def _run(server: EmbeddedServer, program: str, *arguments: str) -> None:
    """Run a program of the server; if it fails, raise with its first error line."""
    done = subprocess.run(
        **_command(server, program, *arguments), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise _failure(program, done.stderr)


def _failure(program: str, complaints: str) -> EmbeddedServerError:
    lines = complaints.splitlines()
    first = next((line for line in lines if "error:" in line), lines[0] if lines else "?")
    return EmbeddedServerError(f"{program} failed: {first.removeprefix(f'{program}: error: ')}")

"""Backups of the embedded server, made by its own pg_dump and verified by a restore.

The dump and the checksums are of one snapshot, so agents can write meanwhile. The graph is left out: it copies the
tables under an OID that differs between databases, and a restore builds it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem.documents import parse
from pgmem.errors import EmbeddedServerError, InvalidArgument
from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer

_FORMAT = 1
_DUMP, _MANIFEST = "pgmem.dump", "manifest.json"
Progress = Callable[[str], object]


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
    """

    pgmem_backup: int
    release: str
    server_version: str
    taken_at: str
    sha256: str
    roles: bool
    logins: list[str]
    tables: dict[str, tuple[int, str]]

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
        with psycopg.connect(dsn) as connection:
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
        (part / _MANIFEST).write_text(json.dumps(asdict(done), indent=2) + "\n", encoding="utf-8")
        for path in part.iterdir():
            path.chmod(0o600)
            _sync(path)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
        _sync(folder.parent)
    return done


def restore(
    server: EmbeddedServer, folder: Path, *, replace: bool = False, progress: Progress = lambda _step: None
) -> Backup:
    """Replace the database of the embedded server by a backup, upgraded to this release and with a checked graph.

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
        progress("making the graph")
        schema.upgrade(scratch, roles=done.roles)
        with psycopg.connect(scratch) as connection:
            if connection.execute("select to_regclass('ag_catalog.ag_graph') is not null").fetchone() == (
                True,
            ):
                different = connection.execute("select label from pgmem.check_graph()").fetchall()
                if different:
                    raise EmbeddedServerError(
                        f"The graph differs from the tables in {different[0][0]} after the restore."
                    )
        _swap(dsn, scratch)
    return done


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
        "taken_at": datetime.now(UTC).isoformat(),
        "tables": _sums(connection),
    }


def _sums(connection: psycopg.Connection[Any]) -> dict[str, tuple[int, str]]:
    """Return for every table the number of rows and a checksum that does not depend on their order."""
    connection.execute(
        "set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';"
        " set local extra_float_digits = 1; set local bytea_output = 'hex'"
    )
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
    _run(
        server, "pg_restore", "--exit-on-error", "--no-owner", "--no-privileges", f"--dbname={dsn}", str(dump)
    )
    with psycopg.connect(dsn) as connection:
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
    with psycopg.connect(dsn) as connection:
        if connection.execute("select to_regclass('pgmem.node') is not null").fetchone() != (True,):
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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _run(server: EmbeddedServer, program: str, *arguments: str) -> None:
    """Run a program of the server; if it fails, raise with its first error line."""
    # Pass few variables: PGHOST and the like would send it to another server.
    kept = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL") if name in os.environ
    }
    done = subprocess.run(
        [str(server.bin_dir / program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=kept,
        check=False,
    )
    if done.returncode != 0:
        lines = (
            [line for line in done.stderr.splitlines() if "error:" in line]
            or done.stderr.splitlines()
            or ["?"]
        )
        raise EmbeddedServerError(f"{program} failed: {lines[0].removeprefix(f'{program}: error: ')}")

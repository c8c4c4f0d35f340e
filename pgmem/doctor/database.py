"""Checks of a server and a database for `pgmem doctor`; they need neither the schema nor a pool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgmem.database.connection import settled
from pgmem.errors import SchemaOutdated, first_line
from pgmem.install.schema import (
    UNSUITABLE,
    check_version,
    holds,
    is_suitable,
    pinned,
    release,
    unusable_schema,
    writable_schema,
)
from pgmem.server.embedded import shared_memory_is_small


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check.

    Attributes:
        check: its name.
        level: ok; hint, if it could be better; look, if something is wrong.
        message: the result in words.
        remedy: the way to mend it.
    """

    check: str
    level: Literal["ok", "hint", "look"]
    message: str
    remedy: str | None = None


def ok(check: str, message: str) -> Finding:
    """A check that found nothing."""
    return Finding(check=check, level="ok", message=message)


def hint(check: str, message: str, remedy: str) -> Finding:
    """A check that found a possible improvement."""
    return Finding(check=check, level="hint", message=message, remedy=remedy)


def look(check: str, message: str, remedy: str) -> Finding:
    """A check that found something wrong."""
    return Finding(check=check, level="look", message=message, remedy=remedy)


_ASKED = """
select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
       getdatabaseencoding() as encoding, current_database() as database, current_setting('jit') = 'on' as jit,
       (select setting::bigint * 8192 from pg_settings where name = 'shared_buffers') as shared_buffers,
       current_setting('dynamic_shared_memory_type') as shared_memory
"""
_EXTENSIONS = """
select w.name, a.default_version as offered, e.extversion as installed,
       (select coalesce('parallel_workers=0' = any (c.reloptions), false)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'pgmem' and c.relname = 'embedding') as built_alone
from (values ('vector'), ('age')) as w(name) left join pg_available_extensions a on a.name = w.name
left join pg_extension e on e.extname = w.name order by w.name desc
"""
_HAS_ROLES = """
select pg_get_userbyid(n.nspowner) = 'pgmem_owner' as has_roles from pg_namespace n where n.nspname = 'pgmem'
"""
# The lock table is the server's: who may connect to another database can fill it there.
_OPEN_DATABASES = """
select quote_ident(d.datname) as name from pg_database d
where d.datname <> current_database() and d.datallowconn
  and exists (select from aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
              where a.grantee = 0 and a.privilege_type = 'CONNECT')
order by d.datname
"""
_MEANS = {
    "vector": ("pgvector", "search is by full text only"),
    "age": ("Apache AGE", "everything but Cypher works"),
}
_PATCHED = {15: 18, 16: 14, 17: 10, 18: 4}
"""The first minor release of each major without CVE-2026-6473, by which any login may write outside its memory."""
_LEAST_BUFFERS = 128 * 1024 * 1024


def examine_server(dsn: str, timeout_s: float) -> list[Finding]:
    """Check the server, then the database, then the schema; ends with the first check that prevents the next."""
    try:
        limited = make_conninfo(dsn, connect_timeout=max(2, round(timeout_s)))
        with (
            psycopg.connect(
                limited, row_factory=dict_row, autocommit=True, client_encoding="UTF8"
            ) as connection,
            pinned(connection),
        ):
            row = connection.execute(_ASKED).fetchone() or {}
            extensions = connection.execute(_EXTENSIONS).fetchall()
            found = list(_server(row))
            if found[-1].level == "look":
                return found
            if holds(connection, "front.cell"):
                message = "this database is the front of several cells: pgmem doctor --cells examines them"
                return [*found, ok("front", message), _schema(dsn)]
            found += [_extension(each) for each in extensions]
            for wrong in filter(None, (writable_schema(connection), unusable_schema(connection))):
                message, remedy = wrong
                found.append(look("extension_schema", message, remedy))
            found += _settings(row, is_local=connection.info.host.startswith("/"))
            found.append(_schema(dsn))
            if found[-1].level == "ok":
                found += _locks(connection)
            return found
    except psycopg.Error as error:
        return [
            look(
                "server",
                f"the server does not answer: {first_line(error)}",
                "start it, or correct host, port, database and login of PGMEM_DSN; saves wait in the outbox",
            )
        ]


def _server(row: dict[str, Any]) -> Iterator[Finding]:
    if row["number"] < 150000:
        message = f"PostgreSQL {row['version']} is too old"
        yield look("server", message, "upgrade it to 15 or later")
        return
    yield ok("server", f"PostgreSQL {row['version']} answers")
    major, minor = divmod(row["number"], 10000)
    if minor < (patched := _PATCHED.get(major, 0)):
        yield hint(
            "server_release",
            f"PostgreSQL {major}.{minor} has CVE-2026-6473: any login may write outside its memory",
            f"upgrade the server's packages to {major}.{patched} or later and restart it",
        )


def _schema(dsn: str) -> Finding:
    with settled(dsn) as connection:
        try:
            if not is_suitable(connection):
                message, _, remedy = UNSUITABLE.partition(" Create it with: ")
                return look("collation", message, f"move to a new one: {remedy}")
            check_version(connection)
        except SchemaOutdated as error:
            message = str(error).partition(" Run: ")[0]
            return look("schema", message, "pgmem init")
        except psycopg.errors.InsufficientPrivilege:
            message = "this login may not use the schema pgmem"
            return look("schema", message, "grant it pgmem_writer or pgmem_reader")
    return ok("schema", f"schema {release()} is this program's")


def _locks(connection: psycopg.Connection[dict[str, Any]]) -> Iterator[Finding]:
    """Whether a login can fill the lock table of the server; nothing to say where pgmem has no logins of tenants."""
    if (connection.execute(_HAS_ROLES).fetchone() or {}).get("has_roles") is not True:
        return
    left = [
        row["statement"] for row in connection.execute("select o as statement from pgmem.open_to_all() o")
    ]
    others = [row["name"] for row in connection.execute(_OPEN_DATABASES)]
    if others:
        left.append(f"revoke connect on database {', '.join(others)} from public")
    if not left:
        yield ok("lock_table", "no login can fill the server's lock table")
        return
    yield hint(
        "lock_table",
        "a login of a tenant can fill the server's lock table, which stops every tenant",
        "if no other program needs these rights, let the owner of the database or a superuser run: "
        + "; ".join(left),
    )


def _extension(row: dict[str, Any]) -> Finding:
    name, without = _MEANS[row["name"]]
    if row["installed"] is not None:
        if row["name"] == "vector" and (finding := _pgvector(row["installed"], row["built_alone"])):
            return finding
        return ok(row["name"], f"{name} {row['installed']}")
    if row["offered"] is not None:
        return hint(
            row["name"],
            f"{name} {row['offered']} is offered and not installed: {without}",
            f"create extension {row['name']} (a superuser may have to), then pgmem init",
        )
    return hint(
        row["name"],
        f"the server has no {name}: {without}",
        "install its package on the server, then pgmem init; a managed server offers it or does not",
    )


def _pgvector(version: str, built_alone: bool | None) -> Finding | None:
    """The known fault of a release of pgvector; `built_alone`: pgmem's index is built without workers."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if numbers >= (0, 8, 4) or numbers < (0, 8):
        return None
    remedy = "install pgvector 0.8.4 or later on the server, then run: alter extension vector update"
    if numbers >= (0, 8, 2):
        message = f"pgvector {version} can damage an HNSW index at vacuum; 0.8.4 does not"
        return hint("vector", message, remedy)
    message = (
        f"pgvector {version} has CVE-2026-3172: a parallel build of an HNSW index writes outside its memory"
    )
    if built_alone is False:
        return look(
            "vector", message, f"run pgmem init, after which pgmem's index is built without workers; {remedy}"
        )
    return hint("vector", f"{message}; pgmem builds its own without workers", remedy)


def _settings(row: dict[str, Any], *, is_local: bool) -> Iterator[Finding]:
    if row["jit"]:
        yield hint(
            "jit",
            "jit is on: to compile a statement takes longer than any statement of ours runs",
            f'alter database "{row["database"]}" set jit = off',
        )
    else:
        yield ok("jit", "jit is off")
    size = row["shared_buffers"] // (1024 * 1024)
    if row["shared_buffers"] < _LEAST_BUFFERS:
        yield hint(
            "shared_buffers",
            f"shared_buffers is {size} MB: indexes are read from the file system again and again",
            "alter system set shared_buffers = '256MB' (a quarter of the memory, where it is the server's "
            "alone), and restart it",
        )
    else:
        yield ok("shared_buffers", f"shared_buffers is {size} MB")
    if is_local and row["shared_memory"] == "posix" and shared_memory_is_small():
        yield hint(
            "shared_memory",
            "/dev/shm is smaller than 256 MB: a parallel index build over vectors fails there",
            "give the container more (--shm-size=256m), or set dynamic_shared_memory_type = mmap",
        )

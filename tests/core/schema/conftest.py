"""Fixtures of the tests of install and upgrade: empty databases, PostgreSQL's own programs, a picture of a schema."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgmem.errors import EmbeddedServerError
from pgmem.install import schema
from pgmem.server.embedded import EmbeddedServer
from tests.conftest import as_admin, as_client, give_to_client, new_database, without

MakeDatabase = Callable[..., str]
MakeRole = Callable[..., str]
Program = Callable[..., str]

ROOT = Path(schema.__file__).parent.parent.parent


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """A database in which nothing is installed."""
    with new_database(server, "template0") as dsn:
        yield dsn


@pytest.fixture
def database(server: str) -> Iterator[MakeDatabase]:
    """`database("locale 'C'")`: an empty database made with these options; `database(template="…")`: a copy."""
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(server, autocommit=True))

        def database(options: str = "", template: str = "template0") -> str:
            name = f"pgmem_test_{uuid4().hex[:12]}"
            query = sql.SQL("create database {} template {} strategy file_copy ").format(
                sql.Identifier(name), sql.Identifier(template)
            )
            admin.execute(sql.Composed([query]).as_bytes(admin) + options.encode())
            give_to_client(admin, name)
            drop = sql.SQL("drop database {} with (force)").format(sql.Identifier(name))
            stack.callback(admin.execute, drop)
            return as_client(server, name)

        yield database


@pytest.fixture
def role(server: str) -> Iterator[MakeRole]:
    """`role(dsn)`: that database as seen by a login that owns it and is not a superuser."""
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(server, autocommit=True))

        def role(dsn: str, attributes: str = "") -> str:
            name, password = f"pgmem_test_{uuid4().hex[:12]}", uuid4().hex
            made = sql.SQL("create role {} login password {} ").format(
                sql.Identifier(name), sql.Literal(password)
            )
            admin.execute(made.as_bytes(admin) + attributes.encode())
            stack.callback(admin.execute, sql.SQL("drop role {}").format(sql.Identifier(name)))
            dbname = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
            owner = sql.SQL("alter database {} owner to {}")
            admin.execute(owner.format(sql.Identifier(str(dbname)), sql.Identifier(name)))
            stack.callback(_give_back, dsn, admin, name, str(dbname))
            return make_conninfo(dsn, user=name, password=password)

        yield role


def _give_back(dsn: str, admin: psycopg.Connection[tuple[object, ...]], name: str, dbname: str) -> None:
    admin.execute(sql.SQL("alter database {} owner to current_user").format(sql.Identifier(dbname)))
    with psycopg.connect(as_admin(dsn), autocommit=True) as connection:
        connection.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(name)))


@pytest.fixture
def program(server: str) -> Program:
    """`program("psql", …)`: run one of PostgreSQL's programs, those of the wheel first; its output.

    A dump is restored by programs of the server's own major: pg_restore of 17 sends a setting that 16 does not know.
    """
    with psycopg.connect(server) as connection:
        major = connection.info.server_version // 10000
    try:
        folder = EmbeddedServer(Path("/nonexistent")).bin_dir
    except EmbeddedServerError:
        folder = Path("/nonexistent")
    if major < 17:
        folder = Path(f"/usr/lib/postgresql/{major}/bin")
        if not folder.is_dir():
            without(f"pg_dump of PostgreSQL {major} on this machine")

    def program(name: str, *arguments: str, stdin: str = "") -> str:
        path = folder / name if (folder / name).exists() else shutil.which(name)
        assert path is not None, f"{name} is needed: install the PostgreSQL client programs"
        done = subprocess.run(
            [str(path), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning", "PGCLIENTENCODING": "UTF8"},
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return program


def by_psql(program: Program, file: Path, dsn: str, script: str) -> None:
    """Run a script in a database, as a DBA does with a file."""
    file.write_text(script, encoding="utf-8")
    program("psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", str(file), dsn)


@pytest.fixture
def sql_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `sql/` that installs in place of the real one, to be changed by the test."""
    copy = tmp_path / "sql"
    shutil.copytree(schema._SQL, copy)
    monkeypatch.setattr(schema, "_SQL", copy)
    forget(monkeypatch)
    return copy


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the list of files and their digest be made anew, and again as they were after the test."""
    for name in ("_chapters", "_heads", "digest"):
        monkeypatch.setattr(schema, name, getattr(schema, name).__wrapped__)


# The graph numbers its labels in the order in which it got them, so one that a later release adds has another number in
# a new store; the functions that hold these numbers are compared without them.
_RIGHTS = """
create function pg_temp.rights(aclitem[]) returns text language sql
return (select coalesce(string_agg(a::text, ' ' order by a::text collate "C"), '') from unnest($1) a)
"""
_PICTURE = """
select 'function ' || p.oid::regprocedure,
  md5(case when p.proname ~ '^(label_number|project_(node|edge)_(insert|update|delete))$'
    then regexp_replace(pg_get_functiondef(p.oid), '\\m\\d+\\M', 'N', 'g') else pg_get_functiondef(p.oid) end) from pg_proc p
where p.pronamespace = 'pgmem'::regnamespace and p.prokind = 'f'
union all select 'comment on ' || p.oid::regprocedure, obj_description(p.oid, 'pg_proc') from pg_proc p
where p.pronamespace = 'pgmem'::regnamespace
union all select 'view ' || viewname, md5(definition) from pg_views where schemaname = 'pgmem'
union all select 'column ' || attrelid::regclass || '.' || attname,
  format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
from pg_attribute join pg_class c on c.oid = attrelid left join pg_attrdef d on (d.adrelid, d.adnum) = (attrelid, attnum)
where c.relnamespace = 'pgmem'::regnamespace and attnum > 0 and not attisdropped and c.relkind in ('r', 'v', 'c')
union all select 'constraint ' || case when contypid <> 0 then contypid::regtype::text else conrelid::regclass::text end || '.' || conname, pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'pgmem'::regnamespace
union all select 'index ' || indexname, indexdef from pg_indexes where schemaname = 'pgmem'
union all select 'trigger ' || tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) from pg_trigger t
where not tgisinternal and exists (select from pg_class c where c.oid = tgrelid and c.relnamespace = 'pgmem'::regnamespace)
union all select 'policy ' || tablename || '.' || policyname, coalesce(qual, '') || coalesce(with_check, '') from pg_policies
where schemaname = 'pgmem'
union all select 'owner of schema ' || nspname, nspowner::regrole || ' ' || pg_temp.rights(coalesce(nspacl, acldefault('n', nspowner))) from pg_namespace
where nspname in ('pgmem', 'pgmem_graph')
union all select 'owner of ' || c.oid::regclass, relowner::regrole || ' ' || pg_temp.rights(coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))) from pg_class c
where relnamespace in ('pgmem'::regnamespace, to_regnamespace('pgmem_graph')) and relkind in ('r', 'v', 'S', 'c')
  -- The graph makes a sequence for each label, and the one of an identity column goes with its table.
  and not (relkind = 'S' and (relnamespace = to_regnamespace('pgmem_graph') or exists (
    select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')))
union all select 'rights on column ' || attrelid::regclass || '.' || attname, pg_temp.rights(attacl)
from pg_attribute join pg_class c on c.oid = attrelid where relnamespace = 'pgmem'::regnamespace and attacl is not null
union all select 'owner of ' || oid::regprocedure, proowner::regrole || ' ' || pg_temp.rights(coalesce(proacl, acldefault('f', proowner))) from pg_proc
where pronamespace = 'pgmem'::regnamespace
union all select 'owner of type ' || oid::regtype, typowner::regrole || ' ' || pg_temp.rights(coalesce(typacl, acldefault('T', typowner))) from pg_type t
where typnamespace = 'pgmem'::regnamespace and typtype in ('c', 'd', 'e') and typrelid = 0
union all select 'default rights ' || defaclrole::regrole::text || ' ' || defaclobjtype::text, pg_temp.rights(defaclacl) from pg_default_acl
union all select 'row security ' || oid::regclass, relrowsecurity || ' ' || relforcerowsecurity from pg_class
where relnamespace = 'pgmem'::regnamespace and relkind = 'r'
union all select 'comment on relation ' || c.oid::regclass || coalesce('.' || a.attname, ''), d.description
from pg_description d join pg_class c on (d.classoid, d.objoid) = ('pg_class'::regclass, c.oid)
left join pg_attribute a on (a.attrelid, a.attnum) = (c.oid, d.objsubid) and a.attnum > 0
where c.relnamespace = 'pgmem'::regnamespace
union all select 'comment on type ' || oid::regtype, obj_description(oid, 'pg_type') from pg_type
where typnamespace = 'pgmem'::regnamespace and typtype = 'd'
union all select 'label ' || name, l::text from pgmem.label l
union all select 'relation ' || name, r::text from pgmem.relation r
union all select 'setting ' || name, s::text from pgmem.setting s
"""


def schema_of(dsn: str) -> dict[str, str]:
    """Every object of the installed schema with its definition, its owner and who has which rights."""
    with psycopg.connect(dsn) as connection:
        connection.execute(_RIGHTS)
        found = connection.execute(_PICTURE.encode()).fetchall()
        connection.rollback()  # a pooler keeps the session
    return {str(name): str(what) for name, what in found}


def released_schema_of(dsn: str) -> dict[str, str]:
    """As schema_of, without the one function that an upgrade changes before it begins, so that no call fails meanwhile."""
    found = schema_of(dsn)
    del found["function pgmem.caller()"]
    return found

"""A store that release 0.1.0 filled becomes one of this release: whatever it holds, wherever it is, by every way.

The stores are those of `released/`, the facts about them are the old release's own.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unicodedata import normalize
from uuid import uuid4

import anyio
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from pgmem import Memory
from pgmem.install import schema
from pgmem.server import backup
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings
from tests.conftest import is_managed, without
from tests.core.schema import stores
from tests.core.schema.conftest import Program, schema_of
from tests.fixtures.clusters import CopyTo
from tests.waiting import until

RELEASE = Path(__file__).parent / "released" / "0.1.0"
TIERS = {"full": ("vector", "age"), "vectors": ("vector",), "none": ()}
Rows = stores.Rows
T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A way by which a store comes to this release.

    Attributes:
        store: which of the old release's.
        tier: which extensions it has afterwards.
        login: superuser; plain: the owner of the database; roles: a superuser who makes roles; granted: a plain login that
            may make roles, as Docker's; pooler: the same behind PgBouncer in transaction mode.
        way: in place; dumped: by pg_dump and pg_restore; restored: of `pgmem backup`; imported: of `pgmem export`.
    """

    store: str
    tier: str
    login: str
    way: str

    @property
    def roles(self) -> bool:
        return self.login in ("roles", "granted", "pooler")

    @property
    def extensions(self) -> tuple[str, ...]:
        return TIERS[self.tier]


# Two of them run in every run of the tests: those that found most.
_ALWAYS = ("tenants-full-granted-in place", "bare-none-plain-in place")
_CASES = (
    Case("one", "full", "superuser", "in place"),
    Case("one", "full", "plain", "in place"),
    Case("one", "full", "roles", "in place"),
    Case("one", "full", "granted", "in place"),
    Case("one", "full", "pooler", "in place"),
    Case("vectors", "vectors", "superuser", "in place"),
    Case("vectors", "vectors", "pooler", "in place"),
    Case("vectors", "full", "superuser", "in place"),
    Case("bare", "none", "plain", "in place"),
    Case("bare", "none", "superuser", "in place"),
    Case("bare", "vectors", "superuser", "in place"),
    Case("bare", "full", "superuser", "in place"),
    Case("tenants", "full", "roles", "in place"),
    Case("tenants", "full", "granted", "in place"),
    Case("tenants", "full", "pooler", "in place"),
    Case("one", "full", "superuser", "dumped"),
    Case("one", "full", "plain", "dumped"),
    Case("tenants", "full", "roles", "dumped"),
    Case("vectors", "vectors", "superuser", "dumped"),
    Case("bare", "none", "plain", "dumped"),
    Case("one", "full", "superuser", "restored"),
    Case("tenants", "full", "roles", "restored"),
    Case("one", "full", "superuser", "imported"),
    Case("one", "vectors", "superuser", "imported"),
    Case("one", "none", "plain", "imported"),
    Case("bare", "full", "superuser", "imported"),
    Case("tenants", "full", "roles", "imported"),
)  # fmt: skip


def _named(case: Case) -> str:
    return f"{case.store}-{case.tier}-{case.login}-{case.way}"


CASES = [
    pytest.param(case, id=_named(case), marks=() if _named(case) in _ALWAYS else pytest.mark.long)
    for case in _CASES
]


class Machines:
    """Where stores of a test are: a server with its superuser, databases that go in the end, logins, a pooler."""

    def __init__(self, admin: str, cluster: CopyTo, stack: ExitStack) -> None:
        self.admin, self.cluster, self.stack = admin, cluster, stack
        self.connection = stack.enter_context(psycopg.connect(admin, autocommit=True))
        self.connection.execute(stores.ROLES)

    def offers(self, extension: str) -> bool:
        asked = "select from pg_available_extensions where name = %s"
        return self.connection.execute(asked, (extension,)).fetchone() is not None

    def database(self) -> str:
        """A new empty database, as the superuser reaches it."""
        name = f"pgmem_test_{uuid4().hex[:12]}"
        made = sql.SQL("create database {} template template0").format(sql.Identifier(name))
        self.connection.execute(made)
        drop = sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
        self.stack.callback(self.connection.execute, drop)
        return make_conninfo(self.admin, dbname=name)

    def login(self, case: Case) -> str | None:
        """The login that installs and upgrades; None: the superuser."""
        if case.login in ("superuser", "roles"):
            return None
        name = f"pgmem_test_{uuid4().hex[:12]}"
        rights = "login" if case.login == "plain" else "login createrole"
        made = sql.SQL("create role {} {} password 'test'").format(sql.Identifier(name), sql.SQL(rights))
        self.connection.execute(made)
        if case.roles:  # as it would be if this login had made the role
            self.connection.execute(sql.SQL("grant pgmem_owner to {}").format(sql.Identifier(name)))
        self.stack.callback(self.connection.execute, sql.SQL("drop role {}").format(sql.Identifier(name)))
        return name

    def as_login(self, dsn: str, login: str | None) -> str:
        return make_conninfo(dsn, user=login, password="test") if login else dsn

    def give(self, dsn: str, login: str, case: Case) -> None:
        """Make a login the owner of a database, with the grants of a provider and of docker/first-start."""
        name = sql.Identifier(login)
        database = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
        self.connection.execute(sql.SQL("alter database {} owner to {}").format(database, name))
        with psycopg.connect(dsn, autocommit=True) as connection:
            self.stack.callback(_drop_owned, dsn, login)
            for extension in case.extensions:
                connection.execute(
                    sql.SQL("create extension if not exists {}").format(sql.Identifier(extension))
                )
            if "age" in case.extensions:
                option = sql.SQL("with grant option" if case.roles else "")
                connection.execute(sql.SQL("grant usage on schema ag_catalog to {} {}").format(name, option))
                connection.execute(
                    sql.SQL("grant all on all tables in schema ag_catalog to {} {}").format(name, option)
                )


def _drop_owned(dsn: str, login: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("alter database {} owner to current_user").format(
                sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
            )
        )
        connection.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(login)))


@pytest.fixture
def data_dir(place: Path) -> Path:
    """Where an embedded server and the outbox of a client live."""
    return place / "data"


@pytest.fixture
def machines(server: str, cluster: CopyTo) -> Iterator[Machines]:
    """The server of the tests with the databases of this test."""
    with ExitStack() as stack:
        yield Machines(server, cluster, stack)


@pytest.fixture(scope="module")
def pooler(server: str) -> Iterator[Callable[[str], str]]:
    """`pooler(dsn)`: the same login and database through PgBouncer in transaction mode."""
    if is_managed():
        known = conninfo_to_dict(os.environ["PGMEM_TEST_DSN"])
        yield lambda dsn: make_conninfo(dsn, host=known["host"], port=known["port"])
        return
    given = conninfo_to_dict(server)
    binary = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(binary).exists() or not str(given["host"]).startswith("/"):
        yield lambda _dsn: pytest.skip("PgBouncer is not installed, or the server has no socket for it")
        return
    with TemporaryDirectory(prefix="pgmem-pooler-", dir="/tmp") as name:
        folder = Path(name)
        owner = Path(str(given["host"])).stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={given['host']} port={given.get('port', 5432)}\n[pgbouncer]\nlisten_port = 6432\n"
            f"unix_socket_dir = {folder}\npool_mode = transaction\nserver_round_robin = 1\nauth_type = trust\n"
            f"auth_file = {folder}/users\nauth_user = {given['user']}\nautodb_idle_timeout = 1\nserver_idle_timeout = 1\n"
            f"auth_query = select $1::text, ''::text\nignore_startup_parameters = extra_float_digits\n"
        )
        (folder / "users").write_text(f'"{given["user"]}" ""\n')
        with subprocess.Popen(
            [binary, "--quiet", str(folder / "pgbouncer.ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=owner.st_uid if os.getuid() == 0 else None,
            group=owner.st_gid if os.getuid() == 0 else None,
        ) as process:
            try:
                through = make_conninfo(server, host=str(folder), port=6432)
                with psycopg.connect(server, autocommit=True) as admin:
                    until(lambda: _answers(through), admin, "PgBouncer answers")
                yield lambda dsn: make_conninfo(dsn, host=str(folder), port=6432)
            finally:
                process.terminate()


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@dataclass(frozen=True)
class Store:
    """A store that has come to this release.

    Attributes:
        admin: how the superuser reaches it.
        dsn: how the login that upgraded it does.
        login: that login; None: the superuser.
        before: its rows as the old release left them.
    """

    admin: str
    dsn: str
    login: str | None
    before: dict[str, Rows]


def facts_of(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RELEASE / f"{case.store}.facts.json").read_text(encoding="utf-8"))
    return found


Come = Callable[[Case], Store]


@pytest.fixture
def come(
    machines: Machines, pooler: Callable[[str], str], program: Program, tmp_path: Path, data_dir: Path
) -> Come:
    """`come(case)`: a store of the old release that has come to this one."""

    def come(case: Case) -> Store:
        for extension in {*facts_of(case)["extensions"], *case.extensions}:
            if not machines.offers(extension):
                without(extension)
        login = machines.login(case)
        admin = machines.database()
        stores.load(admin, RELEASE / f"{case.store}.dump.gz", program, login, graph=case.way != "dumped")
        with psycopg.connect(admin, autocommit=True) as connection:
            assert stores.digests(connection) == {
                name: facts_of(case)[name] for name in ("nodes", "versions", "edges")
            }
            before = stores.rows(connection)
        match case.way:
            case "restored":
                admin = restored(case, data_dir, machines)
            case "dumped":
                program("pg_dump", "--format=custom", f"--file={tmp_path / 'dump'}", admin)
                admin = machines.database()
                program("pg_restore", "--exit-on-error", f"--dbname={admin}", str(tmp_path / "dump"))
            case "imported":
                admin = machines.database()
        if login:
            machines.give(admin, login, case)
        dsn = machines.as_login(admin, login)
        if case.login == "pooler":
            dsn = pooler(dsn)
        if case.way != "restored":
            assert schema.upgrade(dsn, case.extensions, roles=case.roles).changed
        if case.way == "dumped" and "age" in case.extensions:
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("select pgmem.rebuild_graph()")
        if case.way == "imported":
            use(dsn, data_dir, partial(take, case=case))
        return Store(admin, dsn, login, before)

    return come


def restored(case: Case, data_dir: Path, machines: Machines) -> str:
    """The store in an embedded server, out of the old release's backup; the server ends with the test."""
    machines.cluster(data_dir)
    server = machines.stack.enter_context(EmbeddedServer(data_dir))
    dsn = server.start()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(stores.ROLES)
    backup.restore(server, RELEASE / f"{case.store}.backup")
    return dsn


def use(dsn: str, data_dir: Path, what: Callable[[Memory], Awaitable[T]]) -> T:
    """Open the store by the Python API."""

    async def used() -> T:
        async with Memory.connect(Settings(dsn=dsn, data_dir=data_dir, embedding_provider="none")) as memory:
            return await what(memory)

    return anyio.run(used)


async def take(memory: Memory, case: Case) -> None:
    """Import the export of the old release."""
    text = gzip.decompress((RELEASE / f"{case.store}.export.jsonl.gz").read_bytes()).decode()
    await memory.import_lines(text.splitlines(keepends=True), own=True, all_tenants=case.store == "tenants")
    await memory.refresh_statistics(everything=True)
    # An export leaves the server's own settings to the administrator of the store.
    for name, value in own_settings(case).items():
        await memory.set_setting(name, value)
    if case.store == "tenants":
        await memory.bind_role("release_anna", "acme", "anna")
        await memory.bind_role("release_cara", "globex", "cara")


# Settings that an owner of a store has changed; a fresh install is given the same.
OWN_WORDS = (
    'select pgmem.init_schema(p_labels => \'[{"name": "Recipe", "key_field": "name", "text_fields": ["notes"]}]\','
    ' p_relations => \'[{"name": "TASTES_LIKE"}]\')'
)
OWN_SETTINGS = {
    "tenants": {"freshness_recent_days": "10", "project_limit": "9"},
    "other": {
        "freshness_recent_days": "10", "project_limit": "12", "hygiene_decision_days": "200",
        "decay_max_age_days": "60", "decay_rate": "0.02",
    },
}  # fmt: skip


def own_settings(case: Case) -> dict[str, str]:
    return OWN_SETTINGS.get(case.store, OWN_SETTINGS["other"])


def fresh_install(machines: Machines, case: Case, pooler: Callable[[str], str]) -> dict[str, str]:
    """The result of an install of this release, by a login of the same kind, with the owner's words and settings."""
    login = machines.login(case)
    admin = machines.database()
    if login:
        machines.give(admin, login, case)
    dsn = machines.as_login(admin, login)
    schema.upgrade(
        pooler(dsn) if case.login == "pooler" else dsn, case.extensions, own_settings(case), roles=case.roles
    )
    if case.store != "tenants":
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(OWN_WORDS.encode())
    return picture(admin, login)


def picture(admin: str, login: str | None) -> dict[str, str]:
    """As schema_of; the installer's name is the same in all pictures."""
    found = schema_of(admin)
    with psycopg.connect(admin) as connection:
        name = login or connection.info.user
    return {key: re.sub(rf"\b{re.escape(name)}\b", "INSTALLER", what) for key, what in found.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_store_of_release_0_1_0_comes_whole_and_works(
    case: Case, come: Come, machines: Machines, pooler: Callable[[str], str], data_dir: Path
) -> None:
    store = come(case)
    if case.way != "restored":  # on a separate server
        assert differing(picture(store.admin, store.login), fresh_install(machines, case, pooler)) == {}
    with psycopg.connect(store.admin, autocommit=True) as connection:
        after = stores.rows(connection)
        unexpected = [
            *lost(store.before, after, case),
            *(uncounted(connection, case) if case.way != "imported" else ()),
            *answered_otherwise(connection, case, store.before["nodes"].keys() - after["nodes"].keys()),
        ]
        assert not unexpected, "\n".join(unexpected)
        if "age" in case.extensions:
            assert connection.execute("select * from pgmem.check_graph()").fetchall() == []
            assert connection.execute(UNWATCHED).fetchall() == []
        unknown = not_known_again(connection)
        assert not unknown, "\n".join(unknown)
        # Nothing is left to do.
        before = picture(store.admin, store.login)
        assert schema.upgrade(store.dsn, case.extensions, roles=case.roles).changed is False
        assert picture(store.admin, store.login) == before
        assert stores.rows(connection) == after
    wrong = use(store.dsn, data_dir, Memory.examine)
    assert {finding.check for finding in wrong if finding.level == "look"} <= LEFT


# Findings that doctor may have: texts that wait for a vector, and the saves that were not made in the old release.
LEFT = {"embeddings", "saves"}

# AGE 1.8 answers paths from a cache that these triggers empty.
UNWATCHED = """
select c.relname from pg_class c
where c.relnamespace = 'pgmem_graph'::regnamespace and c.relkind = 'r' and to_regproc('ag_catalog.age_invalidate_graph_cache') is not null
  and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = '_age_cache_invalidate')
"""


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    return {
        name: (one.get(name), other.get(name))
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    }


# Columns that an upgrade changes, and why; a column that is not named is unchanged.
RENEWED = {
    "content_hash": "the rules of this release fold more",
    "title": "texts are stored composed (NFC)",
    "key": "texts are stored composed (NFC)",
    "props": "texts are stored composed (NFC)",
}
# A memory whose name becomes composed gets a version.
RENAMED = {"version", "recorded_at", "updated_at"}


def lost(before: Mapping[str, Rows], after: Mapping[str, Rows], case: Case) -> list[str]:
    """Rows that were lost, added or changed, beyond the declared changes."""
    differences = []
    left_out = missing(before, after) if case.way == "imported" else set()
    for what in ("nodes", "versions", "edges"):
        gone = (key for key in before[what].keys() - after[what].keys() if not left_out & set(key.split()))
        differences += [f"{what}: gone {key} {before[what][key]}" for key in gone]
    differences += [f"nodes: new {key}" for key in after["nodes"].keys() - before["nodes"].keys()]
    differences += [f"edges: new {key}" for key in after["edges"].keys() - before["edges"].keys()]
    renamed = {
        key for key, row in before["nodes"].items() if row["key"] != after["nodes"].get(key, row)["key"]
    }
    versions = {key.split()[0] for key in after["versions"].keys() - before["versions"].keys()}
    differences += [f"versions: new of {key}" for key in versions - renamed]
    for key, row in before["nodes"].items():
        new = after["nodes"].get(key, row)
        for column, value in row.items():
            if new[column] == value:
                continue
            composed = column in ("title", "key", "props") and as_composed(value) == as_composed(new[column])
            if not (composed or column == "content_hash" or (column in RENAMED and key in renamed)):
                differences.append(
                    f"{row['label']} {row['title'][:40]}: {column} {value!r} -> {new[column]!r}"
                )
    for key, row in before["versions"].items():
        new = after["versions"].get(key, row)
        differences += [
            f"version {key}: {column} {value!r} -> {new[column]!r}"
            for column, value in row.items()
            if new[column] != value
        ]
    return differences


def missing(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> set[str]:
    """The memories that no import takes: approvals, and one of two that differ in how letters are composed alone."""
    rows = before["nodes"]
    taken = {
        (rows[key]["label"], rows[key]["project"], as_composed(rows[key]["title"]))
        for key in rows.keys() & after["nodes"].keys()
    }
    return {
        key
        for key in rows.keys() - after["nodes"].keys()
        if rows[key]["label"] == "GovernanceToken"
        or (rows[key]["label"], rows[key]["project"], as_composed(rows[key]["title"])) in taken
    }


def as_composed(value: Any) -> str:
    return normalize("NFC", json.dumps(value, ensure_ascii=False, sort_keys=True))


# Tables whose number of rows an upgrade may change, and why.
MOVING = {
    "label": "words that this release brings",
    "relation": "words that this release brings",
    "setting": "settings that this release brings",
    "schema_file": "its chapters",
    "upkeep": "its tasks",
    "embedding": "one vector a memory, and none of a hidden one",
    "embedding_queue": "texts that changed wait for their vectors",
    "dedup_token": "title words are cut by the rules of this release",
    "token_frequency": "title words are cut by the rules of this release",
    "lexeme_stat": "counted anew",
    "text_stat": "counted anew",
    "node_version": "one for each memory whose name became composed",
}


def uncounted(connection: psycopg.Connection[Any], case: Case) -> list[str]:
    """Counts that are not those of the old release, beyond the declared changes."""
    before, now = facts_of(case)["counts"], stores.counts(connection)
    differences = []
    for part in ("memories", "relations", "saves", "tables"):
        for name, count in before[part].items():
            if now[part].get(name, 0) != count and not (part == "tables" and name in MOVING):
                differences.append(f"{part} {name}: {count} -> {now[part].get(name, 0)}")
    return differences


def answered_otherwise(connection: psycopg.Connection[Any], case: Case, gone: Set[str]) -> list[str]:
    """Questions of the old release that get another answer, beyond the improvements of this release."""
    differences = []
    for question in facts_of(case)["questions"]:
        before, now = question["answer"], stores.answer(connection, question)
        if isinstance(before, list) and before and isinstance(before[0], str):
            before = [each for each in before if each not in gone]
        same = now == before
        if not same and isinstance(before, list) and isinstance(now, list):
            if question["verb"] == "search_memory":
                same = (
                    not before or before[0] in now[:3]
                )  # ranking has changed, the best answer is among the best
            elif question["verb"] == "retrieve_context":
                same = set(before) <= set(now)  # instructions come besides
            elif question["verb"] == "memory_history":
                same = as_composed(before) == as_composed(
                    now[: len(before)]
                )  # a name that became composed got a version
            elif question["verb"] == "get_node" and question["arguments"].get("as_of"):
                # A fact holds until the next one: the state that was true then is found, where the present one was.
                same = [row[0] for row in now] == [row[0] for row in before] and now[0][3] < before[0][3]
        if not same:
            differences.append(
                f"{ {name: value for name, value in question.items() if name != 'answer'} }: {before} -> {now}"
            )
    return differences


def not_known_again(connection: psycopg.Connection[Any]) -> list[str]:
    """Memories that are saved again, as they are, and are not met as the same; nothing stays written."""
    differences = []
    # A memory without a tenant cannot be saved again by anybody in a store that has tenants.
    live = connection.execute(
        "select id::text, label, key, title, props, project, focus, scope, org_id, user_id from pgmem.node n"
        " where status in ('active', 'approved') and scope = 'project'"
        " and label in ('Decision', 'Pattern', 'EntityFact', 'Technology')"
        " and (org_id <> '' or user_id <> '' or not exists (select from pgmem.node where org_id <> '')) order by seq"
    ).fetchall()
    # Two that differ in how letters are composed are the same.
    alike: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for node_id, label, _key, title, _props, project, _focus, _scope, org_id, user_id in live:
        alike[label, project, normalize("NFC", title), org_id, user_id].add(node_id)
    for _id, label, key, title, props, project, focus, _scope, org_id, user_id in live:
        with connection.transaction(force_rollback=True):
            connection.execute(
                "select set_config('pgmem.org_id', %s, true), set_config('pgmem.user_id', %s, true)",
                (org_id, user_id),
            )
            place = {"project_id": project, **({"focus": focus} if focus else {})}
            match label:
                case "Decision":
                    call, given = "save_decision", {"title": title, "rationale": props["rationale"], **place}
                case "Pattern":
                    call, given = (
                        "save_pattern",
                        {"trigger": props["trigger"], "repeatable_steps": props["repeatable_steps"], **place},
                    )
                case "EntityFact":
                    call, given = "upsert_entity", {"entity_name": key, "fact": props["fact"], **place}
                case _:
                    call, given = (
                        "remember",
                        {"label": label, "properties": Jsonb(props), "project_id": project},
                    )
            named = sql.SQL(", ").join(
                sql.SQL("p_{} => {}").format(sql.SQL(n), sql.Placeholder(n)) for n in given
            )
            cursor = connection.execute(
                sql.SQL("select to_jsonb(v) from pgmem.{}({}) v").format(sql.Identifier(call), named), given
            )
            saved: dict[str, Any] = (cursor.fetchone() or ({},))[0]
            same = alike[label, project, normalize("NFC", title), org_id, user_id]
            known = (
                str(saved.get("artifact_id", saved.get("id"))) in same and saved.get("created") is not True
            )
            if label in ("Decision", "Pattern"):  # a named memory is saved again as a new state of it
                known = known and saved["dedup_outcome"] == "duplicate_skip"
            if not known:
                differences.append(f"{label} {title[:50]}: {saved}")
    return differences


# Columns in which an imported memory may differ from the same one upgraded in place, and why.
APART = {
    "seq": "numbered as it came",
    "project_seq": "a number of that kind",
    "focus_seq": "a number of that kind",
    "place": "made of them",
    "scope_key": "made of them, with the secret of the store",
    "tsv": "holds them too: compared without",
    "version": "a name that became composed got a version in place, an import composes it at once",
    "recorded_at": "the time of the import",
}


@pytest.mark.long
@pytest.mark.parametrize("store", ["one", "tenants", "bare"])
def test_an_imported_store_is_the_upgraded_one_column_by_column(
    store: str, come: Come, data_dir: Path
) -> None:
    roles = "roles" if store == "tenants" else "superuser"
    tier = "none" if store == "bare" else "full"
    found = []
    for way in ("in place", "imported"):
        came = come(Case(store, tier, roles, way))
        with psycopg.connect(came.admin, autocommit=True) as connection:
            connection.execute("set timezone = 'UTC'")
            found.append((columns(connection), came.before, stores.rows(connection)))
    (upgraded, before, _), (imported, _, rows) = found
    left_out = missing(before, rows)
    assert upgraded.keys() - imported.keys() == left_out
    assert imported.keys() - upgraded.keys() == set()
    differences = []
    for key in imported:
        for column, value in upgraded[key].items():
            other = imported[key][column]
            # One of two that differ in how letters are composed keeps its letters in place, and has composed ones imported.
            if column not in APART and as_composed(other) != as_composed(value):
                differences.append(
                    f"{upgraded[key]['label']} {upgraded[key]['title'][:40]}: {column} {value!r} -> {other!r}"
                )
    assert not differences, "\n".join(differences)


def columns(connection: psycopg.Connection[Any]) -> Rows:
    """Every column of every memory; of the words that are searched those that hold no number of the store."""
    asked = (
        "select n.id::text, to_jsonb(n) || jsonb_build_object('words', (select jsonb_agg(w order by w) from unnest(tsvector_to_array("
        " ts_delete(n.tsv, pgmem.scope_lexemes(n.tenant, n.project_seq)))) w))"
        " from pgmem.node n where n.label <> 'GlobalScope'"
    )
    return dict(connection.execute(asked.encode()).fetchall())

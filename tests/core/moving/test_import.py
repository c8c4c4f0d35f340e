"""Imports into a store that is not empty, of a file that is not whole, and of other people's memories."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import anyio
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.errors import IdentityRequired, InvalidArgument, NotPermitted
from pgmem.models import MemoryScope
from tests.conftest import GRAPH_TIERS, Call, GraphDifferences, differences, tier
from tests.core.moving.conftest import NewStore, exported, imported, opened, settings
from tests.fixtures.logins import PASSWORD
from tests.fixtures.verbs import ActAs, Rows
from tests.waiting import until_the_server_says

ALICE = MemoryScope(org_id="acme", user_id="alice")
BOB = MemoryScope(org_id="acme", user_id="bob")
MOMENT = "2026-01-01T00:00:00+00:00"


def node(label: str = "Context", **more: object) -> str:
    """A line of a node, as little as it takes."""
    fields = {
        "type": "node", "id": str(uuid4()), "label": label, "title": "t", "props": {"content": "c"}, "status": "active",
        "source": "sdk", "trust_level": 0.8, "initial_confidence": 1, "text_config": "english", "version": 1,
        "created_at": MOMENT, "updated_at": MOMENT, "recorded_at": MOMENT, "begins_at": MOMENT,
    }  # fmt: skip
    return json.dumps({**fields, **more}) + "\n"


def project(name: str = "shop", **more: object) -> str:
    return node("Project", key=name, title=name, props={"name": name}, **more)


def file_of(*lines: str, **header: object) -> list[str]:
    first = {"type": "header", "pgmem_export": 1, "nodes": len(lines), "edges": 0, "saves": 0, **header}
    return [json.dumps(first) + "\n", *lines, json.dumps({"type": "end", "lines": len(lines)}) + "\n"]


def many(count: int) -> list[str]:
    """A project with memories, as a file."""
    home = str(uuid4())
    inside = {"scope": "project", "project": "shop", "project_id": home}
    return file_of(project(id=home), *(node(title=f"note {n}", **inside) for n in range(count)))


def test_the_same_file_again_changes_nothing(dsn: str, new_store: NewStore, call: Call, shop: str) -> None:
    call("save_decision", title="Sell tea", rationale="r", project_id=shop)
    call("upsert_entity", entity_name="Stripe", fact="a", project_id=shop)
    call("upsert_entity", entity_name="Stripe", fact="b", project_id=shop)
    lines = exported(dsn)
    away = new_store()
    first, second = imported(away, lines), imported(away, lines)
    assert first.taken == len(lines) - 2
    assert (second.taken, second.present, second.merged) == (0, len(lines) - 2, 0)
    assert exported(away)[1:] == lines[1:]
    assert imported(dsn, lines).taken == 0  # nor at home


def test_what_has_changed_since_is_left_as_it_is(
    dsn: str, new_store: NewStore, call: Call, shop: str
) -> None:
    call("upsert_entity", entity_name="Stripe", fact="stored at home", project_id=shop)
    lines, away = exported(dsn), new_store()
    imported(away, lines)
    with opened(away) as (_, there):
        there("upsert_entity", entity_name="Stripe", fact="learned there", project_id=shop)
        assert imported(away, lines).taken == 0
        assert there("get_node", label="EntityFact", key="Stripe", project_id=shop)["version"] == 2


def test_an_existing_name_or_content_is_kept_and_related_memories_join_it(
    dsn: str, new_store: NewStore, call: Call, shop: str
) -> None:
    call("save_decision", title="Sell tea", rationale="r", project_id=shop)
    call(
        "remember",
        label="Tool",
        properties={"name": "kettle"},
        relations={"USES": ["water"]},
        project_id=shop,
    )
    lines, away = exported(dsn), new_store()
    with opened(away) as (connection, there):
        there("save_session", objective="open here too", project_id=shop)
        there("save_decision", title="Sell tea", rationale="r", project_id=shop)
        there("remember", label="Tool", properties={"name": "kettle", "notes": "from here"}, project_id=shop)
        done = imported(away, lines)
        assert done.merged == 3  # the project, the decision, the tool
        counts = connection.execute(
            "select label, count(*) from pgmem.node where label <> 'GlobalScope' group by 1 order by 1"
        ).fetchall()
        assert [tuple(row.values()) for row in counts] == [
            ("Concept", 1),
            ("Decision", 1),
            ("Project", 1),
            ("Session", 2),
            ("Tool", 1),
        ]
        kettle = there("get_node", label="Tool", key="kettle", project_id=shop)
        assert kettle["properties"]["notes"] == "from here"
        assert there("neighbours", label="Tool", key="kettle", project_id=shop)["title"] == "water"
        assert differences(connection) == []
        again = imported(away, lines)
        assert (again.taken, again.merged) == (0, 0)


def test_imported_memories_are_found_retrieved_and_met_by_new_saves(
    new_store: NewStore, dsn: str, call: Call, shop: str
) -> None:
    call("save_decision", title="Keep the orders in PostgreSQL 17", rationale="One system", project_id=shop)
    lines, away = exported(dsn), new_store()
    imported(away, lines)
    with opened(away) as (connection, there):
        assert there("search_memory", query="orders")["title"] == "Keep the orders in PostgreSQL 17"
        assert [
            i["title"]
            for i in there("retrieve_context", project_id=shop, scope="project", categories=["Decision"])[
                "items"
            ]
        ] == ["Keep the orders in PostgreSQL 17"]
        again = there(
            "save_decision", title="Keep the orders in PostgreSQL 17", rationale="One system", project_id=shop
        )
        assert again["dedup_outcome"] == "duplicate_skip"
        newer = there(
            "save_decision",
            title="Keep all the orders in PostgreSQL 17",
            rationale="One system",
            project_id=shop,
        )
        assert newer["dedup_outcome"] == "supersede"
        if tier(connection) in GRAPH_TIERS:
            graph = there(
                "run_cypher",
                query="MATCH (d:Decision)-[:BELONGS_TO]->(p:Project) RETURN p.title AS project, count(d) AS n",
            )
            assert graph["run_cypher"] == {"project": "shop", "n": 2}


def test_a_save_that_waits_for_a_person_waits_on_and_a_repeated_one_finds_its_result(
    new_store: NewStore, dsn: str, call: Call, shop: str
) -> None:
    call("save_decision", title="a b c", rationale="r", project_id=shop)
    waits = call("save_decision", title="a b d", rationale="r", project_id=shop)
    assert waits["dedup_outcome"] == "manual_review"
    saved = call("save_context", content="once", project_id=shop, save_id=(mark := uuid4()))
    lines, away = exported(dsn), new_store()
    imported(away, lines)
    with opened(away) as (_, there):
        assert (
            there("save_context", content="once", project_id=shop, save_id=mark)["artifact_id"]
            == saved["artifact_id"]
        )
        assert there("list_reviews")["title"] == "a b d"
        assert (
            there("resolve_review", save_id=waits["save_id"], outcome="supersede", by="ada")["status"]
            == "saved"
        )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "Line 1 is not a JSON object"),
        (["[]\n"], "Line 1 is not a JSON object"),
        (['{"engrama_export": 1}\n'], "Line 1 is not a header of an export"),
        (file_of(pgmem_export=2), "The file has format 2 and this pgmem reads formats up to 1"),
        (file_of(all_tenants=True), "import it with --all-tenants"),
        (many(3)[:-1], "The file ends after line 5 without its last line"),
        (many(3)[:2] + many(3)[-1:], "without its last line"),
    ],
    ids=["empty", "list", "other", "newer", "tenants", "cut", "gap"],
)  # fmt: skip
def test_a_file_that_is_no_export_or_has_no_end_is_refused(dsn: str, lines: list[str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        imported(dsn, lines)


BROKEN = (
        (file_of(project(), "{\n"), "line 3 of the file: it is not a JSON object"),
        (file_of(project(), node(label="Nonsense")), "line 3 of the file: Unknown label 'Nonsense'"),
        (file_of(project(), node(title="")), "line 3 of the file: .*title_length"),
        (file_of(project(), node(status="odd")), "line 3 of the file: .*status_known"),
        (file_of(project(), node(trust_level=7)), "line 3 of the file: .*proportion_in_range"),
        (file_of(node(created_at="soon")), "line 2 of the file: .*timestamp"),
        (file_of(node(label="GovernanceToken", key="k")), "line 2 of the file: A GovernanceToken is made by the store"),
        (file_of(node(project="x", project_id=str(uuid4()))), "line 2 of the file: its project 'x' does not exist"),
        (file_of(json.dumps({"type": "edge", "src": str(uuid4()), "rel": "USES", "dst": str(uuid4())}) + "\n"), "line 2 of the file: one of its ends"),
        (file_of('{"type": "poem"}\n'), "line 2 of the file: its type 'poem' is not known to this release"),
        (file_of(project(), node(title="half \ud83d")), "line 3 of the file: .*half of a surrogate pair"),
        (file_of(project(), node(title="zero \0")), "line 3 of the file: .*the character NUL"),
        (file_of(project(), node(title="W\udcf6rter").replace("\\udcf6", "\udcf6")), "line 3 of the file: it is not UTF-8 text"),
        (file_of(project(), "[" * 150 + "]" * 150 + "\n"), "line 3 of the file: it is nested more than 100 levels deep"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "reason"), BROKEN, ids=lambda value: "" if isinstance(value, list) else value[:40]
)
def test_a_line_that_cannot_be_taken_leaves_out_itself_alone_and_is_named(
    dsn: str, rows: Rows, lines: list[str], reason: str
) -> None:
    others = many(300)[1:-1]
    file = [
        lines[0],
        *lines[1:-1],
        *others,
        json.dumps({"type": "end", "lines": len(lines) - 2 + len(others)}),
    ]
    done = imported(dsn, file)
    assert (done.taken + done.merged, len(done.left_out)) == (len(file) - 3, 1)
    assert re.match(reason, next(iter(done.left_out)))
    assert rows("select count(*) as n from pgmem.node where label = 'Context'") == [{"n": 300}]


def test_lines_that_need_a_broken_one_are_named_too_and_the_repaired_file_brings_them(dsn: str) -> None:
    file = many(3)
    broken = [file[0], file[1][:-20] + "\n", *file[2:]]
    done = imported(dsn, broken)
    assert (done.taken, sum(done.left_out.values())) == (0, 4)
    assert imported(dsn, file).taken == 4


def test_an_import_that_is_killed_goes_on_and_doubles_nothing(dsn: str, rows: Rows, tmp_path: Path) -> None:
    file = tmp_path / "store.jsonl"
    file.write_text("".join(many(1500)), encoding="utf-8")
    variables = {
        **os.environ,
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path),
        "EMBEDDING_PROVIDER": "none",
    }
    command = [sys.executable, "-m", "pgmem", "import", str(file)]
    counted = "select count(*) as n from pgmem.node where label = 'Context'"
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) as importer:
        while not (taken := rows(counted)[0]["n"]):
            assert importer.poll() is None
        importer.send_signal(signal.SIGKILL)
    until_the_server_says(
        "not exists (select from pg_stat_activity where datname = current_database()"
        " and pid <> pg_backend_pid() and state <> 'idle')",
        dsn,
        {},
        "the batch that was sent before the kill does not end",
    )
    assert taken < 1500
    before = rows(counted)[0]["n"]
    assert 0 < before < 1500
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == f"{1500 - before} imported, {before + 1} already present.\n"
    assert [
        row["title"] for row in rows("select title from pgmem.node where label = 'Context' order by seq")
    ] == [f"note {n}" for n in range(1500)]
    assert "".join(exported(dsn)[1:]) == "".join(sorted_keys(line) for line in many_again(file))


def many_again(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines(keepends=True)[1:]


def sorted_keys(line: str) -> str:
    """A line with its keys as jsonb orders them."""
    row = json.loads(line)
    if row["type"] == "end":
        return line
    row = {"org_id": "", "user_id": "", **row}
    return (
        json.dumps({key: row[key] for key in sorted(row, key=lambda k: (len(k), k))}, ensure_ascii=False)
        + "\n"
    )


# Tenants


@pytest.fixture
def town(dsn: str, call: Call, act_as: ActAs) -> str:
    """A store with memories of alice, of bob, of acme, and public ones."""
    call("save_session", objective="everybody's", project_id="square")
    for user in ("alice", "bob"):
        act_as("acme", user)
        call("save_session", objective=f"open for {user}", project_id=f"house of {user}")
        call("save_decision", title=f"secret of {user}", rationale="r", project_id=f"house of {user}")
        call("save_context", content=f"{user} entered", topic=f"note of {user}", project_id="square")
    call("save_session", objective="the board", project_id="office", share="org")
    act_as()
    return dsn


def titles(dsn: str, tenant: str | None = None) -> set[str]:
    with opened(dsn) as (connection, _):
        found = connection.execute(
            "select title, org_id || '/' || user_id as tenant from pgmem.node where label <> 'GlobalScope'"
        ).fetchall()
    return {row["title"] for row in found if tenant in (None, row["tenant"])}


def test_an_export_holds_what_its_caller_sees_and_no_more(town: str) -> None:
    text = "".join(exported(town, user=ALICE))
    for seen in ("secret of alice", "the board", "everybody's"):
        assert seen in text
    assert "bob" not in text
    assert "alice" not in "".join(exported(town))
    everything = "".join(exported(town, all_tenants=True))
    assert "secret of alice" in everything
    assert "secret of bob" in everything


def test_an_import_makes_all_of_it_the_callers_and_leaves_others_alone(
    town: str, new_store: NewStore
) -> None:
    away = new_store()
    with opened(away) as (connection, there):
        connection.execute(
            "select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', 'bob', false)"
        )
        there("save_session", objective="open", project_id="house of alice")
    before = exported(away, user=BOB)
    carol = MemoryScope(org_id="globex", user_id="carol")
    imported(away, exported(town, user=ALICE), user=carol)
    assert exported(away, user=BOB)[1:] == before[1:]
    assert "secret of alice" in titles(away, "globex/carol")
    assert titles(away, "globex/") == {"office", "the board"}
    assert titles(away) == titles(away, "globex/carol") | titles(away, "globex/") | titles(away, "acme/bob")


def test_ids_that_somebody_else_holds_are_not_touched(town: str, graph_differences: GraphDifferences) -> None:
    before = exported(town, user=ALICE)
    done = imported(town, exported(town, user=ALICE), user=BOB)
    assert done.taken > 0
    assert exported(town, user=ALICE)[1:] == before[1:]
    assert "secret of alice" in titles(town, "acme/bob")
    again = imported(town, exported(town, user=ALICE), user=BOB)
    assert (again.taken, again.merged) == (0, 0)
    assert graph_differences() == []


def test_one_users_store_moves_to_a_server_with_tenants_and_back(
    new_store: NewStore, dsn: str, call: Call, shop: str
) -> None:
    call("save_decision", title="Sell tea", rationale="r", project_id=shop)
    lines, server, laptop = exported(dsn), new_store(), new_store()
    with opened(server) as (_, there):
        there("issue_token", org_id="acme", user_id="alice")
    with pytest.raises(IdentityRequired):
        imported(server, lines)
    imported(server, lines, user=ALICE)
    assert titles(server, "acme/alice") == {"shop", "open the shop", "Sell tea"}
    imported(laptop, exported(server, user=ALICE))
    assert exported(laptop)[1:] == lines[1:]


def test_who_keeps_no_store_imports_nothing_and_exports_no_tenants(
    town: str, login: Callable[..., psycopg.Connection[DictRow]]
) -> None:
    writer = login("pgmem_trusted", "pgmem_reader")
    dsn = make_conninfo(writer.info.dsn, password=PASSWORD)
    assert "secret of alice" in "".join(exported(dsn, user=ALICE))
    with pytest.raises(NotPermitted, match="To export all tenants is for people who keep the store"):
        exported(dsn, all_tenants=True)
    with pytest.raises(Exception, match="permission denied for function import_records"):
        imported(dsn, file_of(project()), user=ALICE)


# Vectors


@pytest.mark.usefixtures("vectors")
def test_vectors_move_on_request_and_else_wait_for_the_worker(
    dsn: str, new_store: NewStore, template_text_only: str, server: str
) -> None:
    import anyio

    from pgmem import Memory
    from tests.conftest import new_database
    from tests.core.moving.conftest import settings

    async def fill() -> None:
        async with Memory.connect(settings(dsn, EMBEDDING_PROVIDER="static")) as memory:
            await memory.save_session("open the shop", "shop")
            await memory.save_decision("Sell tea", "r", "shop")

    anyio.run(fill)
    lines, away, bare = exported(dsn, vectors=True), new_store(), new_store()
    assert sum('"vectors": [' in line for line in lines) == 2
    imported(away, lines)
    assert exported(away, vectors=True)[1:] == lines[1:]
    waiting = "select count(*) as n from pgmem.embedding_queue"
    with opened(away) as (connection, _):
        assert connection.execute(waiting).fetchall() == [{"n": 0}]
    imported(bare, lines, vectors=False, provider="static")
    with opened(bare) as (connection, _):
        assert connection.execute(waiting).fetchall() == [{"n": 2}]
        assert connection.execute("select from pgmem.embedding").fetchall() == []
    with new_database(server, template_text_only) as plain:
        imported(plain, lines)
        assert exported(plain)[1:] == exported(dsn)[1:]


def test_a_rule_that_a_person_declined_is_not_asked_again_after_an_import(
    dsn: str, new_store: NewStore, call: Call, connection: psycopg.Connection[DictRow]
) -> None:
    connection.execute("select set_config('pgmem.source', 'mcp', false)")
    call("save_session", objective="open", project_id="shop")
    for text in ("Never ask the person.", "Always run the tests first."):
        call("save_context", content=text, topic=text[:5], project_id="shop")
    connection.execute("select set_config('pgmem.source', 'cli', false)")
    rules = connection.execute("select id, version, title from pgmem.list_rules()").fetchall()
    (never,) = (rule for rule in rules if rule["title"] == "Never")
    call("decide_rule", id=never["id"], version=never["version"], yes=False, by="ann")
    away = new_store()

    async def run() -> None:
        async with Memory.connect(settings(away, EMBEDDING_PROVIDER="none"), source="cli") as memory:
            await memory.import_lines(exported_lines, own=True)

    exported_lines = exported(dsn)
    anyio.run(run)
    with psycopg.connect(away) as there:
        assert there.execute("select title from pgmem.list_rules()").fetchall() == [("Alway",)]
        assert there.execute("select declined_by from pgmem.declined_rule").fetchall() == [("ann",)]

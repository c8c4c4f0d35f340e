"""An export that release 0.1.0 wrote: today's names and hashes, so that a repeated save is known again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.core.moving.conftest import NewStore, exported, imported, opened
from tests.fixtures.verbs import Rows

EXPORT = Path(__file__).parent.parent / "schema" / "released" / "0.1.0" / "export.jsonl"
NFC, NFD = "Caf\u00e9", "Cafe\u0301"


def lines() -> list[str]:
    """The export, written by tests/core/schema/released/program_0_1_0.py."""
    return EXPORT.read_text(encoding="utf-8").splitlines(keepends=True)


def nodes(label: str) -> list[dict[str, Any]]:
    """The memories of a label as the file has them."""
    records = [json.loads(line) for line in lines()]
    return [record for record in records if record.get("label") == label]


@pytest.fixture
def store(dsn: str) -> str:
    """A store that has taken the file."""
    done = imported(dsn, lines())
    assert (done.taken, done.merged) == (len(lines()) - 2, 0)
    return dsn


@pytest.mark.parametrize("decision", nodes("Decision"), ids=lambda each: each["title"][:20])
def test_a_decision_that_is_saved_again_after_the_import_is_a_repeat(
    store: str, call: Call, decision: dict[str, Any]
) -> None:
    saved = call(
        "save_decision",
        title=decision["title"],
        rationale=decision["props"]["rationale"],
        project_id=decision["project"],
    )
    assert (saved["dedup_outcome"], str(saved["artifact_id"])) == ("duplicate_skip", decision["id"])


def test_what_else_is_saved_again_after_the_import_is_known_too(store: str, call: Call, rows: Rows) -> None:
    for pattern in nodes("Pattern"):
        props = pattern["props"]
        saved = call(
            "save_pattern",
            trigger=props["trigger"],
            repeatable_steps=props["repeatable_steps"],
            project_id="shop",
        )
        assert (saved["dedup_outcome"], str(saved["artifact_id"])) == ("duplicate_skip", pattern["id"])
    batch = call(
        "store_session_with_learnings",
        session={"objective": "again"},
        project_id="shop",
        decisions=[{"title": d["title"], "rationale": d["props"]["rationale"]} for d in nodes("Decision")],
        patterns=[{k: p["props"][k] for k in ("trigger", "repeatable_steps")} for p in nodes("Pattern")],
    )
    outcomes = {part["dedup_outcome"] for part in [*batch["decisions"], *batch["patterns"]]}
    assert outcomes == {"duplicate_skip"}
    (card,) = nodes("Card")
    statement = {"record_type": "risk_note", "statement": card["props"]["statement"], "project_id": "shop"}
    with pytest.raises(psycopg.Error, match=card["id"]):
        call("record_candidate", **statement, subject_path=card["props"]["path"])
    read = "select key, title, props from pgmem.node where key is not null order by seq"
    before = rows(read)
    for fact in nodes("EntityFact"):
        call("upsert_entity", entity_name=fact["key"], fact=fact["props"]["fact"], project_id="shop")
    (thing,) = nodes("Technology")
    call("remember", label="Technology", properties=thing["props"], project_id="shop")
    # A save under a name that now equals another one's is about that one.
    assert [old["key"] for old, new in zip(before, rows(read), strict=True) if old != new] == [NFC]


def test_names_that_the_older_release_kept_apart_lose_nothing(
    store: str, connection: psycopg.Connection[DictRow]
) -> None:
    found = connection.execute(
        "select key, props from pgmem.node where label = 'EntityFact' order by seq"
    ).fetchall()
    assert [row["key"] for row in found] == ["Bank", "bank", NFC, NFD]
    assert [row["props"]["entity_name"] for row in found] == ["Bank", "bank", NFC, NFD]
    assert found[3]["props"]["fact"] == f"known as {NFC} today"


def test_each_column_that_follows_from_a_text_is_what_a_save_would_have_stored(
    store: str, rows: Rows
) -> None:
    differing = rows(
        "select n.label, n.title from pgmem.node n"
        " cross join lateral pgmem.composed(n.label, n.key, n.title, n.props, n.content_hash) c"
        " cross join lateral pgmem.derived(n.label, c.title, c.props, n.tenant, n.project_seq, n.session_id, n.text_config) d"
        " where n.label <> 'GlobalScope' and n.key is distinct from 'Cafe\u0301' and"
        " (n.key, n.title, n.props, n.content_hash, n.title_tokens, n.tsv, n.text_length, n.asks, n.instructs)"
        " is distinct from (c.key, c.title, c.props, c.content_hash, d.title_tokens, d.tsv, d.text_length, d.asks, d.instructs)"
    )
    assert differing == []
    unhashed = "select title from pgmem.node where label in ('Decision', 'Pattern') and content_hash is null"
    assert rows(unhashed) == []


@pytest.mark.usefixtures("vectors")
def test_only_texts_that_are_composed_otherwise_wait_for_a_new_vector(store: str, rows: Rows) -> None:
    waiting = {
        row["title"]
        for row in rows("select n.title from pgmem.embedding_queue q join pgmem.node n on n.seq = q.node_seq")
    }
    untitled = {
        row["title"]
        for row in rows("select n.title from pgmem.node n where not n.titled and n.scope is not null")
    }
    assert {title for title in untitled & waiting if NFC not in title} == set()
    assert {"Sell tea in the morning", "订单保存在数据库中"} <= waiting  # a title is a separate field now
    assert f"Drink in the {NFC} bar" in waiting
    with_vector = rows("select count(*) as n from pgmem.embedding")[0]["n"]
    assert with_vector == sum('"vectors"' in line for line in lines() if '"type": "node"' in line)


def test_an_import_of_the_same_file_again_and_a_move_on_change_nothing(
    store: str, new_store: NewStore
) -> None:
    assert imported(store, lines()).taken == 0
    moved = new_store()
    there = exported(store, vectors=True)
    imported(moved, there)
    assert exported(moved, vectors=True)[1:] == there[1:]
    with opened(moved) as (connection, _):
        assert connection.execute("select count(*) as n from pgmem.node where key ~ 'Caf'").fetchall() == [
            {"n": 2}
        ]

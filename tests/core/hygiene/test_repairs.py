"""merge_entities and supersede: repairs by hand, one transaction each, undone through history."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Picture, Rows


@pytest.fixture
def redis(call: Call, shop: str) -> tuple[str, str]:
    """Two names of one entity: the ids of their facts."""
    old = call("upsert_entity", entity_name="Redis", fact="a cache", project_id=shop)["artifact_id"]
    new = call(
        "upsert_entity", entity_name="redis", fact="in memory", project_id=shop, scope="focus", focus="db"
    )
    return str(old), str(new["artifact_id"])


@pytest.fixture
def teas(call: Call, shop: str) -> tuple[str, str]:
    """Two decisions of which the second should hold."""
    made = [
        str(call("save_decision", title=title, rationale="r", project_id=shop)["artifact_id"])
        for title in ("Sell black tea", "Only green leaves from now on")
    ]
    return made[0], made[1]


def test_a_merged_entity_leaves_the_context_and_keeps_its_history(
    call: Call, rows: Rows, shop: str, redis: tuple[str, str]
) -> None:
    call(
        "upsert_entity",
        entity_name="redis",
        fact="in memory, fast",
        project_id=shop,
        scope="focus",
        focus="db",
    )
    done = call(
        "merge_entities", entity=redis[1], into=redis[0], project_id=shop, fact="a cache in memory", by="ada"
    )
    assert (done["status"], done["rel_type"], str(done["into_id"])) == ("merged", "MERGES_INTO", redis[0])
    facts = rows("select entity_name, fact, status from pgmem.entity_fact order by entity_name")
    assert [tuple(row.values()) for row in facts] == [
        ("Redis", "a cache in memory", "active"),
        ("redis", "in memory, fast", "merged"),
    ]
    versions = rows(
        "select properties ->> 'fact' as fact from pgmem.memory_history('EntityFact', %s)", redis[1]
    )
    assert [row["fact"] for row in versions] == ["in memory", "in memory, fast", "in memory, fast"]
    context = call("retrieve_context", project_id=shop, scope="focus", focus="db", categories=["EntityFact"])
    assert [item["title"] for item in context["items"]] == ["Redis"]
    assert call("run_hygiene", project_id=shop)["total"] == 0
    edges = rows("select props from pgmem.edge where rel = 'MERGES_INTO'")
    assert edges == [{"props": {"by": "ada"}}]


def test_a_merge_without_a_fact_keeps_the_fact_of_the_kept_entity(
    call: Call, rows: Rows, redis: tuple[str, str]
) -> None:
    done = call("merge_entities", entity=redis[1], into=redis[0])
    assert done["into_version"] == 1
    assert rows("select fact from pgmem.entity_fact where status = 'active'") == [{"fact": "a cache"}]


def test_a_merge_is_undone_through_history(call: Call, rows: Rows, shop: str, redis: tuple[str, str]) -> None:
    done = call("merge_entities", entity=redis[1], into=redis[0], fact="both")
    call("revert", label="EntityFact", key=redis[1], version=done["version"] - 1)
    call("revert", label="EntityFact", key=redis[0], version=done["into_version"] - 1)
    facts = rows("select fact, status from pgmem.entity_fact order by entity_name")
    assert [tuple(row.values()) for row in facts] == [("a cache", "active"), ("in memory", "active")]


def test_what_is_made_of_two_facts_is_trusted_as_the_less_trusted(
    call: Call, rows: Rows, redis: tuple[str, str]
) -> None:
    rows("select set_config('pgmem.source', 'cli', false)")
    call("merge_entities", entity=redis[1], into=redis[0], fact="both")
    assert rows("select trust_level from pgmem.entity_fact where status = 'active'") == [{"trust_level": 0.5}]


def test_two_entities_of_two_projects_are_not_merged(
    call: Call, picture: Picture, redis: tuple[str, str]
) -> None:
    call("save_session", objective="x", project_id="other")
    foreign = call("upsert_entity", entity_name="Redis", fact="f", project_id="other")["artifact_id"]
    before = picture()
    for ends in ({"entity": redis[0], "into": str(foreign)}, {"entity": redis[0], "into": redis[0]}):
        with pytest.raises(psycopg.Error) as caught:
            call("merge_entities", **ends)
        assert caught.value.sqlstate == "PM011"
    assert picture() == before


def test_a_shared_fact_is_not_merged_into_a_private_one(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="x", project_id="shop", share="org")
    shared = call("upsert_entity", entity_name="Redis", fact="f", project_id="shop", share="org")[
        "artifact_id"
    ]
    mine = call("upsert_entity", entity_name="redis", fact="f", project_id="shop")["artifact_id"]
    with pytest.raises(psycopg.Error, match="other users would lose it"):
        call("merge_entities", entity=str(shared), into=str(mine))
    assert call("merge_entities", entity=str(mine), into=str(shared))["status"] == "merged"


def test_what_is_not_ones_own_is_not_repaired(
    call: Call, act_as: ActAs, redis: tuple[str, str], teas: tuple[str, str]
) -> None:
    act_as("acme", "alice")
    for verb, ends in (
        ("merge_entities", {"entity": redis[1], "into": redis[0]}),
        ("supersede", {"old": teas[0], "new": teas[1]}),
    ):
        with pytest.raises(psycopg.Error) as caught:
            call(verb, **ends)
        assert caught.value.sqlstate == "PM004"


def test_a_decision_takes_the_place_of_another_by_hand(
    call: Call, rows: Rows, shop: str, teas: tuple[str, str]
) -> None:
    done = call("supersede", old="Sell black tea", new=teas[1], project_id=shop, by="ada")
    assert (str(done["id"]), done["status"], done["rel_type"]) == (teas[0], "superseded", "SUPERSEDES")
    lineage = rows("select title, age, status from pgmem.lineage order by age")
    assert [tuple(row.values()) for row in lineage] == [
        ("Only green leaves from now on", 0, "active"),
        ("Sell black tea", 1, "superseded"),
    ]
    old = rows("select superseded_by, valid_to from pgmem.decision where status = 'superseded'")[0]
    assert str(old["superseded_by"]) == teas[1]
    assert old["valid_to"] is not None
    call("revert", label="Decision", key=teas[0], version=done["version"] - 1)
    assert rows("select count(*) from pgmem.decision where status = 'active' and valid_to is null") == [
        {"count": 2}
    ]


def test_a_line_of_decisions_does_not_run_in_a_circle(call: Call, teas: tuple[str, str]) -> None:
    done = call("supersede", old=teas[0], new=teas[1])
    call("revert", label="Decision", key=teas[0], version=done["version"] - 1)
    with pytest.raises(psycopg.Error, match="in a circle"):
        call("supersede", old=teas[1], new=teas[0])


@pytest.mark.parametrize("ends", [(0, 0), (1, 0)])
def test_only_decisions_that_hold_take_part(
    call: Call, picture: Picture, teas: tuple[str, str], ends: Any
) -> None:
    call("supersede", old=teas[0], new=teas[1])
    before = picture()
    with pytest.raises(psycopg.Error) as caught:
        call("supersede", old=teas[ends[0]], new=teas[ends[1]])
    assert caught.value.sqlstate in ("PM001", "PM011")
    assert picture() == before

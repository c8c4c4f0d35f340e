"""Two honest stores in step: a change by an agent in one has the trust of the agent in the other, whoever syncs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from pgmem import Memory
from tests.features.feed.conftest import Pair
from tests.features.feed.test_sync import content, equal, in_step

pytestmark = pytest.mark.anyio


def agent_of(memory: Memory) -> Memory:
    return memory.acting_as(source="mcp")


async def apply(memory: Memory, *records: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The outcome of records that an agent sends to a store."""
    rows = await agent_of(memory).apply_changes(list(records))
    return [(row.outcome, row.reason) for row in rows]


async def fact(memory: Memory, name: str = "Payroll account") -> tuple[Any, ...]:
    (row,) = [each for each in content(memory.dsn)["nodes"] if each["key"] == name]
    return row["props"]["fact"], row["trust_level"], row["source"]


def records(memory: Memory, label: str) -> list[dict[str, Any]]:
    with psycopg.connect(memory.dsn, row_factory=dict_row) as connection:
        rows = connection.execute(
            "select pgmem.node_record(n, false) as record from pgmem.node n where n.label = %s order by n.seq",
            (label,),
        ).fetchall()
    return [row["record"] for row in rows]


@pytest.mark.parametrize("person_first", [True, False])
async def test_the_fact_of_an_agent_there_does_not_take_the_place_of_a_persons_here(
    pair: Pair, person_first: bool
) -> None:
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    said = [
        (laptop, "DE12"),
        (agent_of(server), "DE00 of the agent"),
    ]
    for memory, value in said if person_first else said[::-1]:
        await memory.upsert_entity("Payroll account", value, project_id="shop")
    done = await in_step(pair)
    if person_first:
        (refused,) = [arrival for side, arrival in done.shown if side == "here"]
        assert refused.outcome == "refused"
        assert refused.reason is not None
        assert "a person decides" in refused.reason
    for memory in pair:
        assert await fact(memory) == ("DE12", 1.0, "cli")
    done = await in_step(pair)
    assert done.here["refused"] + done.there["refused"] == 0
    equal(pair)
    # It is on record, and never held.
    (row,) = [each for each in content(laptop.dsn)["nodes"] if each["key"] == "Payroll account"]
    assert [version[3]["fact"] for version in row["versions"]] == ["DE00 of the agent"]
    assert [version[5] for version in row["versions"]] == [0.5]


async def test_a_later_fact_of_a_person_there_is_taken_although_an_agent_said_another_before(
    pair: Pair,
) -> None:
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    await laptop.upsert_entity("Payroll account", "DE12", project_id="shop")
    await agent_of(server).upsert_entity("Payroll account", "DE00 of the agent", project_id="shop")
    await server.upsert_entity("Payroll account", "DE13", project_id="shop")
    for _ in range(2):
        await in_step(pair)
    equal(pair)
    for memory in pair:
        assert await fact(memory) == ("DE13", 1.0, "cli")


async def test_the_purge_of_an_agent_for_an_id_it_does_not_have_takes_nothing_from_a_person(
    pair: Pair,
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    saved = await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    tombstone = {
        "type": "purge", "id": str(saved.artifact_id), "label": "Decision", "trust_level": 1.0,
        "content_hash": "x", "purged_by": "ann", "source": "cli", "purged_at": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    assert await apply(server, tombstone) == [("purged", None)]
    done = await in_step(pair)
    assert [arrival.outcome for side, arrival in done.shown if side == "here"] == ["refused"]
    assert done.there["purged"] == 0
    for memory in pair:
        assert [row["title"] for row in content(memory.dsn)["nodes"] if row["label"] == "Decision"] == [
            "Pay by invoice"
        ]


async def test_a_memory_that_an_agent_plants_under_the_id_of_a_persons_does_not_become_current(
    pair: Pair,
) -> None:
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    (true,) = records(laptop, "Decision")
    (theirs,) = records(server, "Project")
    planted = {
        **true,
        "title": "Pay nobody",
        "content_hash": None,
        "project_id": theirs["id"],
        "trust_level": 1.0,
    }
    # With the true state as its past too, as a store that knows all states may put them in order.
    later = (datetime.fromisoformat(true["recorded_at"]) + timedelta(milliseconds=1)).isoformat()
    past = {**true, "ingested_at": true["recorded_at"], "replaced_at": later}
    for forged in (planted, {**planted, "version": 2, "recorded_at": later, "versions": [past]}):
        assert (await apply(server, forged))[0][0] in ("taken", "updated")
    await in_step(pair)
    await in_step(pair)
    for memory in pair:
        (row,) = [each for each in content(memory.dsn)["nodes"] if each["label"] == "Decision"]
        assert (row["title"], row["trust_level"], row["source"]) == ("Pay by invoice", 1.0, "cli")


async def test_a_true_state_that_an_agent_sends_back_keeps_its_trust(pair: Pair) -> None:
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    (true,) = records(laptop, "Decision")
    (theirs,) = records(server, "Project")
    past = {
        **true, "title": "Pay by card", "recorded_at": None, "ingested_at": "2020-01-01T00:00:00+00:00",
        "replaced_at": true["recorded_at"],
    }  # fmt: skip
    sent = {**true, "version": 2, "project_id": theirs["id"], "versions": [past]}
    assert await apply(server, sent) == [("taken", None)]
    await in_step(pair)
    (row,) = [each for each in content(laptop.dsn)["nodes"] if each["label"] == "Decision"]
    assert (row["title"], row["trust_level"], row["source"]) == ("Pay by invoice", 1.0, "cli")


async def test_the_relation_of_an_agent_there_does_not_say_that_a_persons_decision_is_replaced(
    pair: Pair,
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    persons = await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await in_step(pair)
    with psycopg.connect(
        server.dsn
    ) as connection:  # as a store has it that was in step by the token of an agent
        connection.execute("update pgmem.node set trust_level = 0.5 where id = %s", (persons.artifact_id,))
    rival = await agent_of(server).save_decision("Serve tea at noon", "It is nice.", "shop")
    edge = {
        "type": "edge",
        "src": str(rival.artifact_id),
        "rel": "SUPERSEDES",
        "dst": str(persons.artifact_id),
    }
    assert await apply(server, edge) == [("taken", None)]
    done = await in_step(pair)
    edges = [
        arrival.outcome for side, arrival in done.shown if (side, arrival.title) == ("here", "SUPERSEDES")
    ]
    assert edges == ["refused"]
    assert [edge[0] for edge in content(laptop.dsn)["edges"]] == []


async def test_what_is_in_a_project_arrives_although_a_person_made_the_project_there(pair: Pair) -> None:
    laptop, server = pair
    await server.save_session("open", "shop")
    await agent_of(laptop).save_session("open", "shop")
    await agent_of(laptop).upsert_entity("Port", "5432", project_id="shop")
    rows = [
        (await apply(server, record))[0]
        for label in ("Project", "EntityFact")
        for record in records(laptop, label)
    ]
    assert [outcome for outcome, _ in rows] == ["merged", "taken"]
    (project,) = [row for row in content(server.dsn)["nodes"] if row["label"] == "Project"]
    assert project["trust_level"] == 1.0


async def test_a_rule_that_a_person_takes_back_in_one_store_is_asked_about_in_the_other(pair: Pair) -> None:
    """Both said the same, so the other store kept it as an order, and nobody was asked."""
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await agent_of(laptop).save_context("Always wrap parcels twice.", "shop")
    (rule,) = await laptop.list_rules("shop")
    await laptop.decide_rule(rule.id, rule.version, True, "ann")
    await in_step(pair)
    await laptop.revert("Context", str(rule.id), 1)
    done = await in_step(pair)
    (refused,) = [arrival for _, arrival in done.shown if arrival.outcome == "refused"]
    assert "was taken back there, to 0.5 (mcp): a person decides, and reverts it here too" in str(
        refused.reason
    )
    standing = [(await memory.retrieve_context("shop")).standing for memory in pair]
    assert [len(each) for each in standing] == [0, 1]
    await server.revert("Context", str(rule.id), 1)
    done = await in_step(pair)
    assert done.here["refused"] + done.there["refused"] == 0
    assert [(await memory.retrieve_context("shop")).standing for memory in pair] == [[], []]
    assert await server.list_outstanding() == []


async def test_a_state_that_was_outranked_once_is_so_when_more_of_its_memory_arrives(pair: Pair) -> None:
    """The agent's store has not heard of the person's fact yet when it says another one."""
    server, laptop = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    await server.upsert_entity("Payroll account", "DE12", project_id="shop")
    past = datetime(2025, 1, 1, tzinfo=UTC)
    await agent_of(laptop).upsert_entity("Payroll account", "DE00", project_id="shop", valid_from=past)
    for label in ("Project", "EntityFact"):
        await server.acting_as(source="sync").apply_changes(records(laptop, label))
    assert (await fact(server))[:2] == ("DE12", 1)
    await agent_of(laptop).upsert_entity("Payroll account", "DE01", project_id="shop", valid_from=past)
    for runner in (pair, pair[::-1]):
        await in_step(runner)
    assert (await fact(server))[:2] == (await fact(laptop))[:2] == ("DE12", 1)

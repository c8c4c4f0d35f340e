"""The lines of the page Time are the truth of each day, whatever was edited since."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from pgmem.features.ui import drawing
from pgmem.memory import Memory
from tests.conftest import Call

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)
ROOMS = "kitchen cellar attic hall garage garden porch study".split()


def lived(call: Call, clock: Callable[[str], None], seed: int) -> None:
    """Eighty days of a project: decisions saved, begun later, edited, replaced, forgotten and put back at random."""
    chance = random.Random(seed)
    saved: dict[str, Any] = {}
    call("save_session", objective="Begin", project_id="house")
    for step in range(60):
        clock((BEGIN + timedelta(days=step * 4 / 3)).isoformat())
        act = chance.choice(["save", "save", "edit", "edit", "replace", "forget", "revert"])
        if act in ("save", "replace") or not saved:
            title = f"Paint the {chance.choice(ROOMS)} in shade {step}"
            given: dict[str, Any] = {"rationale": "It is dark.", "project_id": "house"}
            live = [one for one in saved.values() if call("find_memory", id=one)["status"] == "active"]
            if act == "replace" and live:
                given["supersedes"] = str(chance.choice(live))
            if chance.random() < 0.2:
                given["valid_from"] = BEGIN + timedelta(days=step * 4 / 3 + chance.randint(-9, 9))
            done = call("save_decision", title=title, **given)
            if done["artifact_id"]:
                saved[title] = done["artifact_id"]
            continue
        node = call("find_memory", id=chance.choice([*saved.values()]))
        if act == "edit" and node["status"] == "active":
            call("edit_memory", id=node["id"], version=node["version"], by="ada",
                 properties=Jsonb({"rationale": f"Because of {step}."}))  # fmt: skip
        elif act == "forget" and node["status"] == "active":
            call("forget", label="Decision", key=str(node["id"]))
        elif act == "revert" and node["version"] > 1:
            call(
                "revert",
                label="Decision",
                key=str(node["id"]),
                version=chance.randint(1, node["version"] - 1),
            )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_lines_hold_on_each_day_what_memory_at_has(
    call: Call, clock: Callable[[str], None], connection: psycopg.Connection[DictRow], seed: int
) -> None:
    lived(call, clock, seed)
    clock((BEGIN + timedelta(days=90)).isoformat())
    lines = connection.execute("select * from pgmem.list_lines('house', 1000)").fetchall()
    drawn = {row["id"] for row in lines}
    assert len(drawn) > 12
    days = random.Random(seed).sample(range(-12, 90), 40)
    for day in days:
        moment = (BEGIN + timedelta(days=day)).replace(hour=23, minute=59, second=59)
        true = connection.execute(
            "select id from pgmem.memory_at(%s::date) where label = 'Decision'", (moment,)
        )
        held = {
            row["id"]
            for row in lines
            for period in row["held"]
            if (period["since"] is None or datetime.fromisoformat(period["since"]) <= moment)
            and (period["until"] is None or moment < datetime.fromisoformat(period["until"]))
        }
        assert held == {row["id"] for row in true} & drawn, day


@pytest.mark.anyio
async def test_an_edit_leaves_the_bar_of_a_decision_where_it_began(memory: Memory) -> None:
    await memory.save_session("Begin", "house")
    begins = datetime.now(UTC) - timedelta(days=60)
    made = await memory.save_decision("Heat with wood", "It is there.", "house", valid_from=begins)
    assert made.artifact_id
    await memory.edit_memory(made.artifact_id, 1, {"rationale": "It is there and dry."}, "ada")
    (entry,) = await memory.memory_lineage(made.artifact_id)
    ((bar,),) = drawing.lines([[entry]]).lines
    ((start, width),) = bar.held
    assert (start, round(width)) == (0.0, 100)
    assert abs(drawing.begun(entry) - begins) < timedelta(seconds=1)

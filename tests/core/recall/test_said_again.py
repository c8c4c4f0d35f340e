"""To forget a memory, or to name it wrong, shows the others that say the same, and takes them in the same call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.settings import load
from tests.conftest import Call

PAIRS = json.loads((Path(__file__).parents[3] / "benchmarks" / "said_again.json").read_text("utf-8"))
PORT = "The billing service listens on port 8443."


Speaks = Callable[[str], object]


@pytest.fixture
def speaks(connection: psycopg.Connection[DictRow]) -> Speaks:
    """`speaks("cli")`: by which way the calls come from now on."""
    return lambda source: connection.execute("select set_config('pgmem.source', %s, false)", (source,))


@pytest.fixture
def said(call: Call, speaks: Speaks) -> dict[str, Any]:
    """Three memories about a port in two projects, one of a person, and one about another service."""
    for project in ("shop", "till"):
        call("save_session", objective="Open", project_id=project)
    speaks("mcp")
    ids = {
        "first": call("save_context", content=PORT, project_id="shop")["artifact_id"],
        "copy": call("save_context", content=PORT, project_id="till")["artifact_id"],
        "other": call("save_context", content="The mail service listens on port 8025.", project_id="shop")[
            "artifact_id"
        ],
    }
    speaks("cli")
    ids["person"] = call(
        "save_context", content="The port of the billing service, which listens, is 8443.", project_id="shop"
    )["artifact_id"]
    speaks("mcp")
    return ids


def shown(answer: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: one["status"] for one in answer["same"]}


def test_forget_shows_what_says_the_same_and_what_rests_on_it(call: Call, said: dict[str, Any]) -> None:
    cites = call(
        "save_context",
        content="So the proxy forwards to it.",
        citation=[str(said["first"])],
        project_id="shop",
    )["artifact_id"]
    listed = call("list_said_again", id=str(said["first"]))
    gone = call("forget", label="Context", key=str(said["first"]))
    assert shown(listed) == shown(gone) == {str(said[name]): "active" for name in ("copy", "person")}
    assert {one["project"] for one in gone["same"]} == {"shop", "till"}
    assert [(one["id"], one["how"]) for one in gone["rests"]] == [(str(cites), "cites")]
    assert "also" in gone["next_step"]


def test_an_agent_takes_what_its_trust_may_and_a_person_all(
    call: Call, speaks: Speaks, said: dict[str, Any]
) -> None:
    others = [str(said["copy"]), str(said["person"])]
    done = call("forget", label="Context", key=str(said["first"]), also=others)
    assert shown(done) == {str(said["copy"]): "archived", str(said["person"]): "failed"}
    assert "also" not in (done["next_step"] or "")
    waiting = call("get_save_status", project_id="shop")
    assert waiting["count"] == 1
    call("revert", label="Context", key=str(said["first"]), version=1)
    speaks("cli")
    done = call("forget", label="Context", key=str(said["first"]), also=others[1:])
    assert shown(done) == {str(said["person"]): "archived"}


def test_a_wrong_memory_shows_the_others_and_judges_them_alike(call: Call, said: dict[str, Any]) -> None:
    first = str(said["first"])
    used = call("feedback", id=first, verdict="used")
    assert (used["same"], used["rests"]) == ([], [])
    wrong = call("feedback", id=first, verdict="wrong")
    assert set(shown(wrong)) == {str(said["copy"]), str(said["person"])}
    call("feedback", id=first, verdict="wrong", also=[str(said["copy"])])
    assert call("feedback", id=str(said["copy"]), verdict="wrong")["wrong"] == 1


@pytest.mark.parametrize(("kind", "most"), [("same", 3), ("other", 0)])
@pytest.mark.anyio
async def test_half_of_the_pairs_that_chose_no_bound(dsn: str, tmp_path: Path, kind: str, most: int) -> None:
    """At most three of 16 that say the same are missed; none of 16 others is shown."""
    settings = load(dsn=dsn, data_dir=tmp_path)
    async with Memory.connect(settings, source="sdk") as memory:
        await memory.save_session("Begin", "p")
        failed = []
        for number, (one, other) in enumerate(PAIRS[kind][1::2]):
            await memory.save_session("Begin", f"p{number}")
            first = await memory.save_context(one, f"p{number}")
            second = await memory.save_context(other, f"p{number}")
            found = await memory.list_said_again(str(first.artifact_id))
            if (second.artifact_id in {each.id for each in found.same}) != (kind == "same"):
                failed.append((one, other))
        assert len(failed) <= most, failed

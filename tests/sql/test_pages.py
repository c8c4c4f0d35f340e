"""The verbs of the pages: what they refuse, and what they leave as it was."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.conftest import Call


@pytest.fixture
def kept(call: Call) -> dict[str, Any]:
    call("save_session", objective="Begin", project_id="shop")
    saved = call("save_decision", title="Use PostgreSQL", rationale="One system.", project_id="shop")
    return call("find_memory", id=saved["artifact_id"])


def edit(call: Call, node: dict[str, Any], **given: Any) -> dict[str, Any]:
    arguments = {"version": node["version"], "properties": {}, "by": "ada", **given}
    arguments["properties"] = psycopg.types.json.Jsonb(arguments["properties"])
    return call("edit_memory", id=node["id"], **arguments)


def test_an_edit_changes_what_was_sent_and_is_found_by_its_new_words(
    call: Call, kept: dict[str, Any]
) -> None:
    done = edit(call, kept, properties={"rationale": "Zebras like it."}, title="Use PostgreSQL 18")
    assert (done["title"], done["version"]) == ("Use PostgreSQL 18", 2)
    assert call("search_memory", query="zebras")["id"] == kept["id"]
    again = call("save_decision", title="Use PostgreSQL 18", rationale="Zebras like it.", project_id="shop")
    assert again["dedup_outcome"] == "duplicate_skip"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"version": 7}, "has changed since it was shown: it is at version 1"),
        ({"by": " "}, "by must not be empty"),
        (
            {"properties": {"colour": "red"}},
            "'colour' of this Decision cannot be edited so; edit its texts: date, rationale.",
        ),
        ({"properties": {"rationale": ["a"]}}, "'rationale' of this Decision cannot be edited so"),
        ({"properties": {"rationale": " "}}, "rationale must not be empty"),
        ({"title": "x" * 501}, "500"),
        ({"properties": []}, "properties must be an object"),
    ],
)
def test_a_bad_edit_is_one_sentence_and_changes_nothing(
    call: Call, kept: dict[str, Any], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(psycopg.Error) as refused:
        edit(call, kept, **given)
    assert said in str(refused.value)
    assert call("find_memory", id=kept["id"])["version"] == 1


def test_what_is_named_keeps_its_name(call: Call, kept: dict[str, Any]) -> None:
    saved = call("upsert_entity", entity_name="Redis", fact="A cache.", project_id="shop")
    node = call("find_memory", id=saved["artifact_id"])
    with pytest.raises(psycopg.Error, match="keeps its name"):
        edit(call, node, properties={"entity_name": "Valkey"})
    assert edit(call, node, properties={"fact": "A queue."})["version"] == 2


def test_an_unknown_memory_and_an_unknown_save_are_said(call: Call) -> None:
    for verb, argument in (("find_memory", "id"), ("get_review", "save_id")):
        with pytest.raises(psycopg.Error, match="here"):
            call(verb, **{argument: uuid4()})


def test_a_list_goes_on_after_the_last_of_the_page_before(call: Call, kept: dict[str, Any]) -> None:
    for number in range(5):
        call("save_context", content=f"note {number}", topic=f"Note {number}", project_id="shop")
    first = call("list_memories", limit=1)
    assert first["title"] == "Note 4"
    assert call("list_memories", limit=1, after=first["id"])["title"] == "Note 3"

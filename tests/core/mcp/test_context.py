"""The context an agent gets: every place has its share of the tokens, and most of the answer is text of memories."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from mcp.client.client import Client

from pgmem import Memory
from pgmem.settings import Settings
from tests.core.mcp.conftest import Answer, text_of

pytestmark = pytest.mark.anyio

WORDS = "the crane by the third quay lifts what the tide brings in and keeps its chain dry "


async def filled(answer: Answer, characters: int) -> None:
    """Ten notes in the focus, ten in the project, five for all projects, each of so many characters."""
    await answer("save_session", objective="x", project_id="quay")
    for number in range(25):
        text = f"{number} {WORDS * 30}"[:characters].strip()
        place: dict[str, object] = {"scope": "focus", "focus": "crane"} if number < 10 else {}
        if number >= 20:
            approved = await answer("request_global_write_approval", content_preview=f"note {number}: {text}")
            place = {"scope": "global", "governance_token": approved["token"]}
        saved = await answer("save_context", content=text, project_id="quay", topic=f"note {number}", **place)
        assert saved["status"] == "saved", saved


@pytest.mark.parametrize("characters", [100, 200, 400, 1600])
async def test_no_place_is_empty_and_most_of_the_answer_is_text(
    answer: Answer, client: Client, settings: Settings, characters: int
) -> None:
    await filled(answer, characters)
    found = await client.call_tool("retrieve_context", {"project_id": "quay", "focus": "crane"})
    assert found.structured_content is not None
    items = found.structured_content["items"]
    shown = Counter(item.get("scope", "project") for item in items)
    size = len(text_of(found))
    texts = sum(len(item["content"]) + len(item.get("title", "")) for item in items)
    print(f"{characters}: {dict(shown)}, {size / 4:.0f} tokens, {texts / size:.0%} text")
    assert set(shown) == {"focus", "project", "global"}
    assert min(shown["focus"], shown["project"]) >= shown["global"]
    assert size / 4 <= 2000
    assert texts / size >= (0.62 if characters == 100 else 0.7), (
        "an id of 8 digits is a tenth of a short note"
    )
    async with Memory.connect(settings) as memory:
        whole = await memory.retrieve_context("quay", focus="crane")
        cut = await memory.retrieve_context("quay", focus="crane", max_tokens=5000)
    assert Counter(item.scope for item in whole.items) == {"focus": 10, "project": 10, "global": 5}
    assert {item.scope for item in cut.items} == {"focus", "project", "global"}


async def test_a_pattern_shows_the_day_of_its_validation_where_that_is_another(
    answer: Answer, settings: Settings
) -> None:
    await answer("save_session", objective="x", project_id="quay")
    async with Memory.connect(settings) as memory:
        for trigger, validated in (
            ("A rope frays", None),
            ("The tide turns", datetime(2026, 1, 5, 10, tzinfo=UTC)),
        ):
            await memory.save_pattern(trigger, ["Look"], "quay", last_validated_at=validated)
    found = await answer("retrieve_context", project_id="quay", categories=["Pattern"])
    assert {item["title"]: item.get("last_validated_at") for item in found["items"]} == {
        "A rope frays": None,
        "The tide turns": "2026-01-05",
    }

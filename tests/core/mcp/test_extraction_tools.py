"""The two tools of extraction, as the model of a client has them."""

from __future__ import annotations

import pytest
from mcp.client.client import Client

from tests.conftest import Call
from tests.core.mcp.conftest import Answer, text_of

pytestmark = pytest.mark.anyio

SAID = "Let us put <b>Redis 7</b> before the cart, because the database is slow."


async def test_a_model_reads_turns_and_keeps_what_they_say(
    client: Client, answer: Answer, call: Call
) -> None:
    turns = [{"id": "1", "role": "user", "content": SAID}]
    call("capture_turns", client="codex", session_id="s", project_id="shop", turns=turns)
    (message,) = (await client.get_prompt("extract_memories", {"project_id": "shop"})).messages
    assert "begin_extraction" in getattr(message.content, "text", "")
    begun = await answer("begin_extraction", project_id="shop")
    (shown,) = begun["turns"]
    # A turn can close no tag around it; text copied from it is read back as it was said.
    assert "&lt;b>Redis 7&lt;/b>" in shown["content"]
    kept = {
        "kind": "decision",
        "title": "Redis 7 before the cart",
        "turn": shown["turn"],
        "quote": shown["content"],
    }
    added = [
        {**kept, "text": "the database is slow"},
        {**kept, "title": "Kafka", "text": "put Kafka before the cart"},
    ]
    for _ in range(2):
        applied = await answer(
            "apply_extraction", extraction_id=begun["extraction_id"], answer={"add": added}
        )
        assert [result["outcome"] for result in applied["results"]] == ["new", "rejected"], applied
    found = await answer("retrieve_context", project_id="shop")
    assert [(item["title"], item["trust_level"]) for item in found["items"]] == [
        ("Redis 7 before the cart", 0.3)
    ]
    assert (await answer("begin_extraction", session_id=""))["turns"] == []


async def test_an_answer_of_another_shape_gets_an_error_that_says_what_to_send(client: Client) -> None:
    wrong = {"extraction_id": "00000000-0000-4000-8000-000000000000", "answer": {"add": [{"kind": "guess"}]}}
    result = await client.call_tool("apply_extraction", wrong)
    assert result.is_error
    assert "answer.add[0].kind must be one of decision, fact, note" in text_of(result)

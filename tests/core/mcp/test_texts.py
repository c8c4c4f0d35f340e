"""The parts of an answer: texts of memories for the most part, and within the tokens that were asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client.client import Client

from tests.core.mcp.conftest import Answer, text_of

pytestmark = pytest.mark.anyio
DECISIONS = (
    ("Serve product pages from a cache for five minutes", "The catalogue changes twice a day, and the database was at its limit on Mondays."),
    ("Store money as whole cents", "Floats lost a cent on every third invoice, and the accountant found it in the audit."),
    ("Page lists by keyset, never by offset", "Offsets skipped rows while orders came in, so that two parcels were never packed."),
    ("Take payments through Mollie", "It supports iDEAL and settles daily; card numbers never touch our servers."),
    ("Hash passwords with argon2id", "bcrypt cuts passwords at 72 bytes, and two customers have longer ones."),
    ("Send mail from the worker alone", "A request must not wait for a mail server; the retry is in the queue already."),
    ("Deploy from tags, never from branches", "The tag shows support what runs, and a rollback is the tag before it."),
    ("Log as JSON lines with the request id", "The search of logs filters by field, and one request is read from start to end."),
    ("Calculate VAT by the country of delivery", "The rule of the EU since 2021; the rates come from a table that is read nightly."),
    ("Keep photos under their content hash", "Equal photos are kept once, links never change, and the cache needs no purge."),
    ("Run the tests against a real PostgreSQL", "Mocks of the database hid two broken migrations that failed in production."),
    ("Answer errors of the API as problem+json", "RFC 9457: partners parse one form, and the message names what to send instead."),
)  # fmt: skip


@pytest.fixture
async def shop(answer: Answer) -> str:
    await answer("save_session", objective="Open the shop", project_id="shop")
    for title, rationale in DECISIONS:
        await answer("save_decision", title=title, rationale=f"{rationale} {rationale}", project_id="shop")
    return "shop"


def texts(value: Any, name: str = "") -> Iterator[str]:
    """The texts that somebody wrote, without the fields around them."""
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from texts(item, inner)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item, name)
    elif name in ("title", "rationale", "passage", "objective", "content", "owner"):
        yield str(value)


@pytest.mark.parametrize(
    ("tool", "arguments", "items"),
    [
        ("retrieve_context", {"project_id": "shop"}, "items"),
        ("search_memory", {"project_id": "shop", "query": "cache money lists payments passwords mail deploy logs VAT photos tests errors", "limit": 10, "min_relevance": 0}, "results"),
    ],
)  # fmt: skip
async def test_an_answer_is_mostly_text_of_memories(
    tool: str, arguments: dict[str, Any], items: str, client: Client, shop: str
) -> None:
    found = await client.call_tool(tool, arguments)
    assert found.structured_content is not None
    shown = found.structured_content[items]
    assert len(shown) >= 8
    whole = len(text_of(found))
    share = sum(map(len, texts(shown))) / whole
    most = max(
        len(json.dumps(item, ensure_ascii=False, separators=(",", ":"))) - sum(map(len, texts(item)))
        for item in shown
    )
    print(
        f"{tool}: {len(shown)} items, {whole} characters, share of text {share:.0%}, {most / 4:.0f} tokens beside it"
    )
    assert share >= 0.6
    assert most / 4 <= 45


@pytest.mark.parametrize("most", [100, 200, 300, 600, 1000])
@pytest.mark.parametrize("tool", ["retrieve_context", "search_memory"])
async def test_an_answer_holds_no_more_tokens_than_were_asked_for(
    tool: str, most: int, client: Client, shop: str
) -> None:
    query = {"query": "orders, payments, photos and pages of the shop"} if tool == "search_memory" else {}
    found = await client.call_tool(tool, {"project_id": shop, "max_tokens": most, **query})
    size = len(text_of(found)) / 4
    print(f"{tool}: {most} asked for, {size:.0f} sent")
    assert size <= most


async def test_a_memory_of_no_project_is_found_by_a_search_that_names_none(
    answer: Answer, client: Client
) -> None:
    """The tool failed on the project that neither of the two has."""
    await answer("remember", label="Tool", properties={"name": "sextant", "summary": "measures angles"})
    found = await client.call_tool("search_memory", {"query": "sextant"})
    assert not found.is_error
    assert "sextant" in text_of(found)

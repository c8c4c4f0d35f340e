"""Extraction by a model of the operator's: its input, the stored part of its answers, and where it stops."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from pgmem import InvalidArgument, Memory
from pgmem.cli import app
from pgmem.settings import load
from pgmem.worker.extractor import ChatModel, Extracted, Extractor
from tests.conftest import Call
from tests.core.embeddings.server import Answer, EmbeddingServer
from tests.core.extraction.conftest import PORT, QUEUE, SAID
from tests.fixtures.verbs import Rows

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat() -> Iterator[EmbeddingServer]:
    """A server on a separate port; a test scripts each answer."""
    with EmbeddingServer() as chat:
        yield chat


@pytest.fixture
async def memory(dsn: str) -> AsyncIterator[Memory]:
    async with Memory.connect(load(dsn=dsn, embedding_provider="none"), source="cli") as memory:
        yield memory


@pytest.fixture
def turns(call: Call) -> None:
    """A conversation of project shop that no extraction has looked at."""
    call("save_session", objective="Open the shop", project_id="shop")
    kept = [{"id": f"t{n}", "role": role, "content": content} for n, (role, content) in enumerate(SAID)]
    call("capture_turns", turns=kept, client="codex", session_id="s-1", project_id="shop")


def says(text: str | dict[str, Any], tokens: int | None = 700) -> Answer:
    """An answer as OpenAI's protocol has it."""
    content = text if isinstance(text, str) else json.dumps(text)
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    if tokens is not None:
        body["usage"] = {"total_tokens": tokens}
    return Answer(raw=json.dumps(body).encode())


async def no_wait(_: float) -> None:
    """The pause between attempts."""


def extractor(chat: EmbeddingServer) -> Extractor:
    return Extractor(ChatModel(model="small", url=f"{chat.url}/v1", key=SecretStr("k-1"), sleep=no_wait))


Budget = Callable[[int], None]


@pytest.fixture
def budget(rows: Rows) -> Budget:
    """`budget(5_000)`: the tokens of a day."""

    def budget(tokens: int) -> None:
        rows(f"select pgmem.set_setting('extraction_tokens', '{tokens}')")

    return budget


async def titles(memory: Memory) -> list[str]:
    found = await memory.retrieve_context("shop", "project")
    return sorted(item.title for item in found.items if item.label != "Session")


@pytest.mark.usefixtures("turns")
async def test_items_that_their_quotes_support_are_stored_once_and_the_rest_refused(
    chat: EmbeddingServer, memory: Memory
) -> None:
    invented = {**QUEUE, "title": "Kafka for events", "quote": "Then let us use Kafka 9 for all events."}
    chat.script.append(says({"add": [QUEUE, PORT, invented], "thoughts": ["none"]}))
    asked = extractor(chat)
    done = await asked.round(memory)
    assert done == Extracted(calls=1, tokens=700, spent=700, budget=50_000, stored=2, rejected=1)
    assert await titles(memory) == ["RabbitMQ for the order queue", "payment gateway"]
    assert await asked.round(memory) == Extracted(spent=700, budget=50_000)
    assert await titles(memory) == ["RabbitMQ for the order queue", "payment gateway"]
    (request,) = chat.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", "Bearer k-1")
    assert request.body["model"] == "small"
    shown = json.loads(request.body["messages"][1]["content"])
    assert [turn["content"] for turn in shown["turns"]] == [content for _, content in SAID]


@pytest.mark.usefixtures("turns")
async def test_a_question_that_could_exceed_the_budget_is_not_asked(
    chat: EmbeddingServer, memory: Memory, budget: Budget
) -> None:
    budget(2_100)
    done = await extractor(chat).round(memory)
    assert done == Extracted(
        budget=2_100, stopped="the tokens of the day do not suffice for the next question"
    )
    assert chat.requests == []
    budget(50_000)
    chat.script.append(says({}))
    assert (await extractor(chat).round(memory)).calls == 1


@pytest.mark.usefixtures("turns")
async def test_the_budget_stops_a_round_of_any_worker_and_the_next_day_goes_on(
    chat: EmbeddingServer, memory: Memory, call: Call, budget: Budget, rows: Rows
) -> None:
    call("capture_turns", turns=[{"id": "u", "role": "user", "content": "We ship on Friday."}],
         client="codex", session_id="s-2", project_id="shop")  # fmt: skip
    budget(5_000)
    chat.script.extend([says({}, 4_000), says({}, 300)])
    first = await extractor(chat).round(memory)
    spent_up = "the tokens of the day do not suffice for the next question"
    assert (first.calls, first.spent, first.stopped) == (1, 4_000, spent_up)
    again = await extractor(chat).round(memory)
    assert again == Extracted(spent=4_000, budget=5_000, stopped=spent_up)
    rows("update pgmem.extraction_day set day = day - 1 returning day")
    assert await extractor(chat).round(memory) == Extracted(calls=1, tokens=300, spent=300, budget=5_000)


async def test_processes_at_once_share_the_tokens_of_their_tenant_and_no_other_s(
    dsn: str, budget: Budget
) -> None:
    """Each of two processes, with a separate tenant and a common one, reserves until it is refused."""
    budget(10_000)
    code = (
        "import sys, anyio\n"
        "from pgmem import Memory, MemoryScope\n"
        "from pgmem.settings import load\n"
        "async def main():\n"
        "    async with Memory.connect(load(dsn=sys.argv[1], embedding_provider='none')) as memory:\n"
        "        for user in sys.argv[2:]:\n"
        "            own, granted = memory.acting_as(MemoryScope(user_id=user)), 0\n"
        "            while (await own.spend_extraction_tokens(400)).granted:\n"
        "                granted += 1\n"
        "            print(user, granted)\n"
        "anyio.run(main)\n"
    )
    processes = [
        await anyio.open_process([sys.executable, "-c", code, dsn, *users], stderr=None)
        for users in (("both", "ada"), ("both", "bob"))
    ]
    granted = Counter[str]()
    for process in processes:
        assert process.stdout is not None
        text = b"".join([part async for part in process.stdout]).decode()
        assert await process.wait() == 0
        for line in text.splitlines():
            user, count = line.split()
            granted[user] += int(count)
    assert granted == {"both": 25, "ada": 25, "bob": 25}


async def test_what_a_question_cost_takes_the_place_of_what_was_reserved(
    memory: Memory, budget: Budget
) -> None:
    budget(1_000)
    first = await memory.spend_extraction_tokens(900)
    assert (first.granted, first.spent, first.budget) == (True, 900, 1_000)
    assert not (await memory.spend_extraction_tokens(101)).granted
    assert (await memory.spend_extraction_tokens(300, 900, first.day)).spent == 300
    # The server counted more than the question could cost: it is spent, and nothing is left.
    second = await memory.spend_extraction_tokens(700)
    assert (await memory.spend_extraction_tokens(1_200, 700, second.day)).spent == 1_500
    assert not (await memory.spend_extraction_tokens(1)).granted
    for wrong in ((-1, 0, None), (5, 5, None), (5, 0, first.day)):
        with pytest.raises(InvalidArgument, match="Send tokens from 0 on"):
            await memory.spend_extraction_tokens(*wrong)


@pytest.mark.usefixtures("turns")
async def test_a_server_that_is_away_loses_no_turn_and_begins_nothing_anew(
    chat: EmbeddingServer, memory: Memory, dsn: str, call: Call
) -> None:
    chat.script.extend([Answer(status=503)] * 6)
    asked = extractor(chat)
    for _ in range(2):
        done = await asked.round(memory)
        assert done.stopped is not None
        assert "503" in done.stopped
        assert (done.calls, done.spent) == (0, 0)  # nothing stays reserved
    chat.script.append(says({"add": [QUEUE]}))
    assert (await asked.round(memory)).stored == 1
    assert await titles(memory) == ["RabbitMQ for the order queue"]
    assert call("begin_extraction", session_id="codex:s-1")["extraction_id"] is None


@pytest.mark.usefixtures("turns")
async def test_an_unreadable_answer_is_asked_for_once_more_and_then_passed_over(
    chat: EmbeddingServer, memory: Memory
) -> None:
    chat.script.extend([says("Sure! Here it is:"), says('["add"]')])
    asked = extractor(chat)
    done = await asked.round(memory)
    assert done == Extracted(calls=2, tokens=1_400, spent=1_400, budget=50_000, unreadable=1)
    assert await asked.round(memory) == Extracted(spent=1_400, budget=50_000)
    assert len(chat.requests) == 2


@pytest.mark.usefixtures("turns")
async def test_an_answer_of_too_many_items_is_passed_over(chat: EmbeddingServer, memory: Memory) -> None:
    chat.script.append(says({"add": [QUEUE] * 20_000}))
    done = await extractor(chat).round(memory)
    assert (done.unreadable, done.stored) == (1, 0)


@pytest.mark.usefixtures("turns")
async def test_a_server_that_counts_no_tokens_is_charged_by_length(
    chat: EmbeddingServer, memory: Memory
) -> None:
    chat.script.append(says({}, None))
    done = await extractor(chat).round(memory)
    assert done.tokens > 500


@pytest.mark.usefixtures("turns")
def test_a_worker_asks_the_model_of_its_settings_and_logs_the_tokens(chat: EmbeddingServer, dsn: str) -> None:
    variables = {"PGMEM_DSN": dsn, "EMBEDDING_PROVIDER": "none"}
    plain = CliRunner().invoke(app, ["worker", "--once"], env=variables)
    assert (plain.exit_code, "extraction" in plain.stdout, chat.requests) == (0, False, [])
    chat.script.append(says({"add": [QUEUE]}))
    variables |= {"PGMEM_EXTRACTION_MODEL": "small", "PGMEM_EXTRACTION_URL": f"{chat.url}/v1"}
    done = CliRunner().invoke(app, ["worker", "--once"], env=variables)
    assert done.exit_code == 0, done.stderr
    assert "extraction tokens 700, extraction stored 1, extraction for review 0" in done.stdout

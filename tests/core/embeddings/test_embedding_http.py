"""Ollama and OpenAI-compatible servers: the right requests, and every way an answer can be wrong."""

from __future__ import annotations

import logging
import math
import random
import socket
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from pgmem.embeddings import EmbeddingError
from pgmem.embeddings import http as http_module
from pgmem.embeddings.http import HttpProvider
from pgmem.embeddings.ollama import OllamaProvider
from pgmem.embeddings.openai import OpenAIProvider

from .conftest import Waits
from .server import DIMENSIONS, Answer, EmbeddingServer, direction

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret"
TEXT = "the text that nobody may see"

Make = Callable[..., HttpProvider]


@pytest.fixture(params=["ollama", "openai"])
def make(request: pytest.FixtureRequest, server: EmbeddingServer, waits: Waits) -> Make:
    """A function that builds a provider of the protocol under test, for the server under test."""

    def build(**arguments: Any) -> HttpProvider:
        arguments = {"sleep": waits, "timeout": 10.0, **arguments}
        if request.param == "ollama":
            return OllamaProvider("nomic", DIMENSIONS, **{"url": server.url, **arguments})
        url = f"{server.url}/v1"
        return OpenAIProvider("small", DIMENSIONS, **{"url": url, "key": SecretStr(KEY), **arguments})

    return build


def unit(text: str) -> list[float]:
    vector = direction(text)
    return [x / math.hypot(*vector) for x in vector]


def spoil(change: Callable[[list[list[Any]]], object]) -> Answer:
    """An answer of either protocol whose list of vectors was changed in place."""

    def changed(content: dict[str, Any]) -> None:
        if "embeddings" in content:
            change(content["embeddings"])
            return
        vectors = [each["embedding"] for each in content["data"]]
        change(vectors)
        content["data"] = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]

    return Answer(change=changed)


def put(value: object) -> Answer:
    """An answer whose first vector holds `value` as its fourth number."""
    return spoil(lambda vectors: vectors[0].__setitem__(3, value))


async def test_each_text_gets_its_own_vector_of_length_one(make: Make) -> None:
    async with make() as provider:
        assert await provider.embed("a") == pytest.approx(unit("a"))
        one, two = await provider.embed_batch(["a", "b"])
    assert one == pytest.approx(unit("a"))
    assert two == pytest.approx(unit("b"))
    assert math.hypot(*one) == pytest.approx(1)


async def test_many_texts_go_in_batches_of_64_and_come_back_in_order(
    make: Make, server: EmbeddingServer
) -> None:
    texts = [f"text {n}" for n in range(150)]
    async with make() as provider:
        vectors = await provider.embed_batch(texts)
    assert server.sizes == [64, 64, 22]
    assert vectors[149] == pytest.approx(unit("text 149"))
    assert vectors[64] == pytest.approx(unit("text 64"))


async def test_blank_texts_are_not_sent_and_have_no_vector(make: Make, server: EmbeddingServer) -> None:
    async with make() as provider:
        assert await provider.embed(" \n") == []
        assert await provider.embed_batch([]) == []
        assert server.requests == []
        vectors = await provider.embed_batch(["", "a", "  ", "b"])
    assert server.sizes == [2]
    assert [len(vector) for vector in vectors] == [0, DIMENSIONS, 0, DIMENSIONS]
    assert vectors[3] == pytest.approx(unit("b"))


async def test_ollama_is_asked_in_its_protocol(server: EmbeddingServer) -> None:
    async with OllamaProvider("nomic", DIMENSIONS, url=f"{server.url}/") as provider:
        await provider.embed("a")
    assert server.requests[0].path == "/api/embed"
    assert server.requests[0].body == {"model": "nomic", "input": ["a"]}
    assert "authorization" not in server.requests[0].headers


async def test_openai_is_asked_in_its_protocol(server: EmbeddingServer) -> None:
    key = SecretStr(f" {KEY}\n")
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1/", key=key) as provider:
        await provider.embed("a")
    assert server.requests[0].path == "/v1/embeddings"
    assert server.requests[0].body == {"model": "small", "input": ["a"]}
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_openai_is_asked_for_fewer_dimensions_where_the_model_can_be_shortened(
    server: EmbeddingServer,
) -> None:
    async with OpenAIProvider("text-embedding-3-small", 512, url=f"{server.url}/v1") as provider:
        assert len(await provider.embed("a")) == 512
    assert server.requests[0].body["dimensions"] == 512
    assert provider.model == "openai:text-embedding-3-small@512"


async def test_a_compatible_server_needs_no_key(server: EmbeddingServer) -> None:
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1") as provider:
        assert await provider.embed("a") == pytest.approx(unit("a"))
    assert "authorization" not in server.requests[0].headers


async def test_a_password_in_the_address_is_sent_and_never_shown(server: EmbeddingServer) -> None:
    url = f"http://user:pass%40word@{server.address}"
    async with OllamaProvider("nomic", DIMENSIONS, url=url) as provider:
        await provider.embed("a")
    assert server.requests[0].headers["authorization"] == "Basic dXNlcjpwYXNzQHdvcmQ="
    assert provider.endpoint == server.url
    assert "pass" not in repr(vars(provider)["_url"])


async def test_openai_vectors_are_put_in_the_order_of_their_index(server: EmbeddingServer) -> None:
    server.script.append(Answer(change=lambda content: random.Random(3).shuffle(content["data"])))
    texts = [f"text {n}" for n in range(20)]
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1") as provider:
        vectors = await provider.embed_batch(texts)
    assert vectors == [pytest.approx(unit(text)) for text in texts]


async def test_openai_vectors_without_any_index_are_taken_as_they_come(server: EmbeddingServer) -> None:
    def strip(content: dict[str, Any]) -> None:
        for each in content["data"]:
            del each["index"]

    server.script.append(Answer(change=strip))
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1") as provider:
        assert (await provider.embed_batch(["a", "b"]))[1] == pytest.approx(unit("b"))


@pytest.mark.parametrize("index", [0, 7, -1, "1", None, [1], True])
async def test_an_openai_index_that_names_no_text_is_refused(server: EmbeddingServer, index: object) -> None:
    server.script.append(Answer(change=lambda content: content["data"][1].update(index=index)))
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1") as provider:
        with pytest.raises(EmbeddingError, match="which vector is whose"):
            await provider.embed_batch(["a", "b"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (spoil(lambda vectors: vectors[1].append(0.5)), "vector 2 of 2 has 9 dimensions, not 8"),
        (spoil(lambda vectors: vectors[1].clear()), "vector 2 of 2 has 0 dimensions, not 8"),
        (spoil(lambda vectors: vectors.pop()), "1 vectors came for 2 texts"),
        (spoil(lambda vectors: vectors.clear()), "0 vectors came for 2 texts"),
        (spoil(lambda vectors: vectors.append([1.0] * 8)), "3 vectors came for 2 texts"),
        (spoil(lambda vectors: vectors[0].__setitem__(slice(None), [0.0] * 8)), "vector 1 of 2 is zero"),
        (put(math.nan), "vector 1 of 2 holds a number that is not finite"),
        (put(math.inf), "vector 1 of 2 holds a number that is not finite"),
        (put(10**400), "vector 1 of 2 holds a number that is not finite"),
        (put("1"), "vector 1 of 2 is not a list of numbers"),
        (put(None), "vector 1 of 2 is not a list of numbers"),
        (put(True), "vector 1 of 2 is not a list of numbers"),
        (Answer(change=lambda _: {"something": "else"}), "no list of vectors"),
        (Answer(change=lambda _: {"data": {}, "embeddings": {}}), "no list of vectors"),
        (Answer(change=lambda _: []), "no list of vectors"),
        (Answer(raw=b"<html>a login page</html>"), "did not answer with JSON"),
        (Answer(raw=b"\xff\xfe"), "did not answer with JSON"),
        (Answer(raw=b""), "did not answer with JSON"),
        (Answer(raw=b"{}", headers={"content-encoding": "gzip"}), "sent an invalid answer"),
        (Answer(status=499), "answered 499"),
    ],
)
async def test_a_wrong_answer_is_refused_once_with_a_message_that_says_what_is_wrong(
    make: Make, server: EmbeddingServer, answer: Answer, message: str
) -> None:
    server.script.append(answer)
    async with make() as provider:
        with pytest.raises(EmbeddingError, match=message) as caught:
            await provider.embed_batch(["a", "b"])
        assert not caught.value.transient
        assert len(server.requests) == 1
        assert await provider.embed("a") == pytest.approx(unit("a"))


async def test_a_server_error_is_tried_again(make: Make, server: EmbeddingServer, waits: Waits) -> None:
    server.script += [Answer(status=500), Answer(status=503)]
    async with make() as provider:
        assert await provider.embed("a") == pytest.approx(unit("a"))
    assert len(server.requests) == 3
    assert 0.25 <= waits[0] <= 0.5 < waits[1] <= 0.75


async def test_a_server_that_keeps_failing_is_asked_three_times(
    make: Make, server: EmbeddingServer, waits: Waits
) -> None:
    server.script += [Answer(status=500)] * 3
    async with make() as provider:
        with pytest.raises(EmbeddingError, match="500 Internal Server Error") as caught:
            await provider.embed("a")
    assert caught.value.transient
    assert (len(server.requests), len(waits)) == (3, 2)


async def test_retry_after_is_obeyed(make: Make, server: EmbeddingServer, waits: Waits) -> None:
    server.script.append(Answer(status=429, headers={"retry-after": "7"}))
    async with make() as provider:
        assert await provider.embed("a") == pytest.approx(unit("a"))
    assert waits == [7.0]


async def test_retry_after_may_be_a_date(make: Make, server: EmbeddingServer, waits: Waits) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    server.script.append(Answer(status=503, headers={"retry-after": past}))
    async with make() as provider:
        await provider.embed("a")
    assert waits == [0.0]


async def test_retry_after_that_makes_no_sense_falls_back_to_backoff(
    make: Make, server: EmbeddingServer, waits: Waits
) -> None:
    server.script.append(Answer(status=429, headers={"retry-after": "soon"}))
    async with make() as provider:
        await provider.embed("a")
    assert 0.25 <= waits[0] <= 0.5


async def test_a_long_retry_after_is_reported_and_not_waited_for(
    make: Make, server: EmbeddingServer, waits: Waits
) -> None:
    server.script.append(Answer(status=429, headers={"retry-after": "3600"}))
    async with make() as provider:
        with pytest.raises(EmbeddingError, match="429 Too Many Requests") as caught:
            await provider.embed("a")
    assert caught.value.transient
    assert caught.value.retry_after == 3600
    assert waits == []


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
async def test_any_other_refusal_is_final(make: Make, server: EmbeddingServer, status: int) -> None:
    server.script.append(Answer(status=status, headers={"location": f"{server.url}/elsewhere"}))
    async with make() as provider:
        with pytest.raises(EmbeddingError, match=str(status)) as caught:
            await provider.embed("a")
    assert not caught.value.transient
    assert len(server.requests) == 1


async def test_a_refusal_says_what_the_user_can_do(server: EmbeddingServer) -> None:
    server.script += [Answer(status=404), Answer(status=401)]
    async with OllamaProvider("nomic", DIMENSIONS, url=server.url) as ollama:
        with pytest.raises(EmbeddingError, match="ollama pull"):
            await ollama.embed("a")
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1") as openai:
        with pytest.raises(EmbeddingError, match="check OPENAI_API_KEY"):
            await openai.embed("a")


async def test_a_server_that_does_not_answer_in_time_is_tried_again_and_given_up(
    make: Make, server: EmbeddingServer
) -> None:
    server.script += [Answer(hang=True)] * 3
    async with make(timeout=0.05) as provider:
        with anyio.fail_after(5), pytest.raises(EmbeddingError, match="did not answer in time") as caught:
            await provider.embed("a")
    assert caught.value.transient
    assert len(server.requests) == 3


async def test_a_connection_that_breaks_is_tried_again(make: Make, server: EmbeddingServer) -> None:
    server.script += [Answer(hang_up=True)] * 2
    async with make() as provider:
        assert await provider.embed("a") == pytest.approx(unit("a"))
    assert len(server.requests) == 3


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_server_that_is_not_there_is_reported_as_unreachable(make: Make, waits: Waits) -> None:
    async with make(url=f"http://127.0.0.1:{closed_port()}") as provider:
        with pytest.raises(EmbeddingError, match="cannot be reached") as caught:
            await provider.embed("a")
    assert caught.value.transient
    assert len(waits) == 2


async def test_an_unreachable_server_is_left_alone_for_a_while_and_then_asked_again(
    make: Make, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(http_module, "monotonic", lambda: now)
    server.script += [Answer(hang_up=True)] * 3
    async with make() as provider:
        for _ in range(3):
            with pytest.raises(EmbeddingError, match="cannot be reached"):
                await provider.embed("a")
        assert len(server.requests) == 3
        now += http_module.PAUSE
        assert await provider.embed("a") == pytest.approx(unit("a"))


async def test_a_health_check_ends_the_pause(make: Make, server: EmbeddingServer) -> None:
    server.models.append("nomic:latest")
    server.script += [Answer(hang_up=True)] * 3
    async with make() as provider:
        with pytest.raises(EmbeddingError):
            await provider.embed("a")
        assert await provider.health_check()
        assert await provider.embed("a") == pytest.approx(unit("a"))


async def test_a_call_can_be_cut_short_by_its_caller(make: Make, server: EmbeddingServer) -> None:
    server.script.append(Answer(hang=True))
    async with make() as provider:
        with anyio.move_on_after(0.05) as scope:
            await provider.embed("a")
        assert scope.cancelled_caught
        assert await provider.embed("a") == pytest.approx(unit("a"))


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=401, raw=f'{{"error": "Incorrect API key provided: {KEY}, {TEXT}"}}'.encode()),
        Answer(status=500, raw=f"{KEY} {TEXT}".encode()),
        Answer(raw=f"not json {KEY} {TEXT}".encode()),
        Answer(change=lambda _: {"data": [{"embedding": KEY}], "embeddings": [TEXT]}),
        Answer(hang_up=True),
    ],
)
async def test_errors_and_logs_hold_neither_key_nor_text_nor_the_answer(
    make: Make, server: EmbeddingServer, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "httpx2")  # a test of the logs of a server may have raised it
    server.script += [answer] * 3
    async with make() as provider:
        with pytest.raises(EmbeddingError) as caught:
            await provider.embed(TEXT)
        shown = [str(caught.value), repr(caught.value), repr(provider), caplog.text]
        shown += traceback.format_exception(caught.value)
    assert server.url in caplog.text or server.address in caplog.text
    for secret in (KEY, TEXT):
        assert not any(secret in each for each in shown)


async def test_logs_do_not_hold_the_password_of_an_address(
    server: EmbeddingServer, waits: Waits, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script.append(Answer(status=500))
    url = f"http://user:{KEY}@{server.address}"
    async with OllamaProvider("nomic", DIMENSIONS, url=url, sleep=waits) as provider:
        await provider.embed("a")
    assert "500 Internal Server Error; tried 1 of 3" in caplog.text
    assert KEY not in caplog.text


async def test_text_that_is_not_unicode_is_refused_without_being_sent(
    make: Make, server: EmbeddingServer
) -> None:
    async with make() as provider:
        with pytest.raises(EmbeddingError, match="not valid Unicode") as caught:
            await provider.embed("half \ud83d of a pair")
    assert not caught.value.transient
    assert server.requests == []


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://user:{KEY}@127.0.0.1:{closed_port()}")
    async with make() as provider:
        assert await provider.embed("a") == pytest.approx(unit("a"))


async def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"gopher://user:{KEY}@127.0.0.1:1")
    async with make() as provider:
        with pytest.raises(EmbeddingError, match="proxy") as caught:
            await provider.embed("a")
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_ollama_is_healthy_when_it_has_the_model(server: EmbeddingServer) -> None:
    async with OllamaProvider(url=server.url) as provider:
        assert await provider.health_check()
        server.models = ["llama:latest"]
        assert not await provider.health_check()
        server.script.append(Answer(status=500))
        assert not await provider.health_check()
        server.script.append(Answer(change=lambda _: ["nonsense"]))
        assert not await provider.health_check()
    assert {request.path for request in server.requests} == {"/api/tags"}


async def test_openai_is_healthy_when_it_gives_a_vector(server: EmbeddingServer, waits: Waits) -> None:
    async with OpenAIProvider("small", DIMENSIONS, url=f"{server.url}/v1", sleep=waits) as provider:
        assert await provider.health_check()
        server.script.append(Answer(status=500))
        assert not await provider.health_check()
        server.script.append(Answer(raw=b"{}"))
        assert not await provider.health_check()
    assert waits == []


def test_a_provider_works_in_one_event_loop_after_another(server: EmbeddingServer) -> None:
    provider = OllamaProvider("nomic", DIMENSIONS, url=server.url)

    async def once() -> list[float]:
        try:
            return await provider.embed("a")
        finally:
            await provider.aclose()

    for _ in range(2):
        assert anyio.run(once) == pytest.approx(unit("a"))


def test_connections_lost_with_a_finished_loop_do_not_break_the_next(server: EmbeddingServer) -> None:
    provider = OllamaProvider("nomic", DIMENSIONS, url=server.url)

    async def use_and_lose() -> None:
        await provider.embed("a")
        assert provider._client is not None
        await provider._client.aclose()  # lost behind the provider's back

    async def again() -> list[float]:
        async with provider:
            return await provider.embed("a")

    anyio.run(use_and_lose)
    assert anyio.run(again) == pytest.approx(unit("a"))

"""The attacker has prepared the folder of changes, or runs the server, that a store is kept in step with."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pgmem import Memory
from pgmem.errors import InvalidArgument
from pgmem.features.feed import peers
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.peers import Folder, HttpPeer
from pgmem.settings import Settings

pytestmark = pytest.mark.anyio

NAME = "0123456789ab-00000001.jsonl"
HEADER = {"pgmem_changes": 1, "release": "0", "feed": "0123456789ab", "at": "2026-01-01T00:00:00+00:00"}


def whole(**header: Any) -> str:
    return f"{json.dumps(HEADER | header)}\n{json.dumps({'end': 0})}\n"


def test_a_pipe_or_a_link_in_the_folder_of_changes_is_not_opened(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "changes"
    outside.write_text(whole())
    folder.mkdir()
    path = folder / NAME
    os.mkfifo(path)
    with pytest.raises(InvalidArgument, match=r"cannot be read: .*; remove it"):
        Folder(folder).read(path)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(InvalidArgument, match=r"cannot be read: .*; remove it"):
        Folder(folder).read(path)
    path.unlink()
    path.write_text(whole())
    assert Folder(folder).read(path)[1] == []


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, whole(at="soon"), whole(at="2026-01-01T00:00:00"), whole(at=1), "[]\n[]\n", "\x00", ""],
    ids=["deep", "no time", "no time zone", "number", "lists", "zero", "empty"],
)
def test_a_file_of_changes_that_no_store_writes_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / NAME
    path.write_text(text)
    with pytest.raises(InvalidArgument, match="is not whole"):
        Folder(tmp_path).read(path)


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 100_000,
        "{",
        "[]",
        "{}",
        "7",
        '{"at": "soon"}',
        '{"changes": [7], "cursor": "b", "more": false, "held": false}',
    ],
    ids=["deep", "cut off", "list", "object", "number", "no time", "no changes"],
)
async def test_an_answer_that_no_server_of_pgmem_gives_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    peer = answering(monkeypatch, answer)
    for ask in (peer.state(), peer.changes("a")):
        with pytest.raises(InvalidArgument, match="answered what no server of pgmem answers"):
            await ask
    await peer.aclose()


@pytest.mark.parametrize(
    "differs",
    [{"feed": "folder"}, {"feed": 7}, {"release": 5}, {"models": [[]]}, {"models": "ab"}, {"models": 7},
     {"at": "2026-01-01T00:00:00"}, {"pulled": 7}, {"pushed": ["a"]}],
    ids=str,
)  # fmt: skip
async def test_a_state_with_a_value_of_another_form_is_refused(
    monkeypatch: pytest.MonkeyPatch, differs: dict[str, Any]
) -> None:
    """A server whose feed is called folder would overwrite how far the folder was read."""
    good = {"feed": "0123456789ab", "release": "0.2.0", "at": "2026-01-01T00:00:00+00:00", "pulled": None,
            "pushed": None, "models": ["m"]}  # fmt: skip
    peer = answering(monkeypatch, json.dumps(good))
    assert (await peer.state()).feed == "0123456789ab"
    await peer.aclose()
    peer = answering(monkeypatch, json.dumps(good | differs))
    with pytest.raises(InvalidArgument, match="answered what no server of pgmem answers"):
        await peer.state()
    await peer.aclose()


async def test_a_page_that_leads_to_itself_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = answering(monkeypatch, '{"changes": [], "cursor": "a", "more": true, "held": false}')
    assert (await peer.changes("b"))["more"]
    with pytest.raises(InvalidArgument, match="answered what no server of pgmem answers"):
        await peer.changes("a")
    await peer.aclose()


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> HttpPeer:
    """A server that answers every request with this text."""

    return sending(monkeypatch, answer.encode(), {})


def sending(monkeypatch: pytest.MonkeyPatch, body: bytes, headers: dict[str, str]) -> HttpPeer:
    """A server that sends every client these bytes."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        sent = {"content-type": "application/json", **headers}
        return httpx2.Response(200, headers=sent, stream=httpx2.ByteStream(body))

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    with monkeypatch.context() as patched:
        patched.setattr(httpx2, "AsyncClient", lambda **_: client)
        return HttpPeer("http://peer.example", "token")


async def test_a_small_answer_that_unfolds_is_read_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.3 MB of gzip unfolded to 919 MB in the client."""
    monkeypatch.setattr(peers, "_ANSWER_BYTES", 2**20)
    page = b'{"changes": [], "cursor": "' + b" " * 2**25 + b'", "more": false, "held": false}'
    peer = sending(monkeypatch, gzip.compress(page), {"content-encoding": "gzip"})
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgument, match="answered with more than 1 MiB"):
            await peer.changes("a")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    await peer.aclose()


async def test_an_empty_name_of_the_other_store_is_refused(dsn: str, tmp_path: Path) -> None:
    """It was the current folder, into which the whole store was written."""
    async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path, embedding_provider="none")) as memory:
        for name in ("", "  "):
            with pytest.raises(InvalidArgument, match="Name the other store"):
                await exchange(memory, name)

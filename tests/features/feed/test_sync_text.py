"""Texts that other programs cannot read, or no store can keep, on their way between stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pgmem import documents
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.peers import StorePeer
from tests.features.feed.conftest import Pair
from tests.features.feed.test_sync import content, equal, through

pytestmark = pytest.mark.anyio

ENDS = "until quarter\u2028end, then\u2029monthly\x85."


def changed(path: Path, **texts: str) -> None:
    """Replace texts in a file as an attacker or a fault would, byte by byte."""
    found = path.read_bytes()
    for old, new in texts.items():
        assert old.encode() in found
        found = found.replace(old.encode(), new.encode())
    path.write_bytes(found)


@pytest.mark.parametrize("raw", [False, True], ids=["of this release", "of an earlier one"])
async def test_what_other_programs_take_for_the_end_of_a_line_is_text_in_a_folder(
    pair: Pair, tmp_path: Path, raw: bool
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.save_context(ENDS, topic="contract", project_id="shop")
    await exchange(laptop, str(tmp_path))
    (file,) = tmp_path.iterdir()
    text = file.read_text("utf-8")
    assert len(text.splitlines()) == text.count("\n"), "a reader that splits elsewhere gets through too"
    if raw:
        file.write_text("\n".join(
            json.dumps(json.loads(line), ensure_ascii=False) for line in text.split("\n") if line) + "\n", "utf-8")  # fmt: skip
        assert "\u2028" in file.read_text("utf-8")
    await exchange(server, str(tmp_path))
    assert [row["props"]["content"] for row in content(server.dsn)["nodes"] if row["label"] == "Context"] == [
        ENDS
    ]
    await exchange(server, str(tmp_path))
    equal(pair)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("half \\\\ud83d here", "half of a surrogate pair"),
        ("zero \\\\u0000 here", "the character NUL"),
        ('no " JSON', "it is not JSON"),
    ],
    ids=["surrogate", "zero", "no JSON"],
)
async def test_a_record_that_cannot_be_read_stops_itself_alone_and_is_named(
    pair: Pair, tmp_path: Path, broken: str, said: str
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    for name in ("BROKEN", "whole"):
        await laptop.save_context(f"{name} text", topic=name, project_id="shop")
    await exchange(laptop, str(tmp_path))
    (file,) = tmp_path.iterdir()
    changed(file, **{"BROKEN text": broken.replace("\\\\", "\\")})
    done = await exchange(server, str(tmp_path))
    number = next(
        n for n, line in enumerate(file.read_text("utf-8").split("\n"), 1) if broken.split()[0] + " " in line
    )
    (shown,) = [arrival for side, arrival in done.shown if side == "here"]
    assert shown.outcome == "refused"
    assert f"line {number} of {file.name}" in str(shown.reason)
    assert said in str(shown.reason)
    assert done.here["taken"] >= 2
    later = await laptop.save_context("later", topic="later", project_id="shop")
    assert later.status == "saved"
    await through(tmp_path, pair)
    topics = {row["props"].get("topic") for row in content(server.dsn)["nodes"] if row["label"] == "Context"}
    assert topics == {"whole", "later"}


async def test_what_no_store_can_keep_is_refused_by_itself_in_a_page(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    page = [
        row["record"] for part in ("project", "memory") for row in await StorePeer(laptop).records(part, None)
    ]
    broken: dict[str, Any] = {**page[1], "id": "7b0f5b1e-0000-4000-8000-000000000000", "title": "a\0b"}
    arrived = await StorePeer(server).apply([*page, broken])
    assert [each.outcome for each in arrived] == ["taken"] * len(page) + ["refused"]
    assert "NUL" in str(arrived[-1].reason)


def test_lines_of_json_end_at_a_newline_alone() -> None:
    values = [{"text": ENDS}, "\u2028", 7]
    text = "".join(map(documents.json_line, values))
    assert len(text.splitlines()) == len(values)
    assert [value for _, value, _ in documents.json_lines(text, "a file")] == values
    raw = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
    assert [(number, value) for number, value, _ in documents.json_lines(raw, "a file")] == list(
        enumerate(values, 1)
    )
    ((_, _, reason),) = documents.json_lines("[" * 100_000, "a file")
    assert reason == "line 1 of a file: it is nested more than 100 levels deep"

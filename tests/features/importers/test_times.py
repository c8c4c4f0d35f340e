"""Times of other programs: a moment, or none, never now; a guess says that it is one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pgmem.features.importers import mem0, transcripts
from pgmem.features.importers.records import Vocabulary
from pgmem.foreign import moment

AT = datetime(2026, 1, 6, 23, 53, 45, tzinfo=UTC)
KNOWN = Vocabulary(frozenset({"Concept"}), frozenset({"RELATED_TO"}))


@pytest.mark.parametrize(
    "value",
    [
        1767743625, 1767743625.0, 1767743625_000, 1767743625_000_000, 1767743625_000_000_000, "1767743625", "1767743625000",
        "2026-01-06T23:53:45Z", "2026-01-06T23:53:45+00:00", "2026-01-06 23:53:45", "2026-01-06T23:53:45", "2026-01-07T00:53:45+01:00",
        "20260106T235345Z", "2026-01-06 23:53:45 UTC", "Tue, 06 Jan 2026 23:53:45 GMT", "Tue, 06 Jan 2026 23:53:45",
        datetime(2026, 1, 6, 23, 53, 45), datetime(2026, 1, 7, 1, 53, 45, tzinfo=timezone(timedelta(hours=2))),
    ],
)  # fmt: skip
def test_seconds_thousandths_and_zones_are_distinguished_and_no_zone_means_utc(value: Any) -> None:
    assert moment(value) == (AT, None)


@pytest.mark.parametrize(
    "value",
    [
        "2026-13-45",
        "yesterday",
        "0",
        0,
        5,
        -1,
        1e300,
        float("nan"),
        float("inf"),
        2**200,
        [],
        {},
        "2026",
        "٢٠٢٦",
    ],
)
def test_what_is_no_time_is_none_and_the_claim_is_kept(value: Any) -> None:
    found = moment(value)
    assert found.at is None
    assert found.claimed == str(value)


@pytest.mark.parametrize("value", [None, "", True, False])
def test_no_time_claims_nothing(value: Any) -> None:
    assert moment(value) == (None, None)


def test_a_leap_second_is_the_second_behind_it_and_says_so() -> None:
    assert moment("2016-12-31T23:59:60Z") == (datetime(2017, 1, 1, tzinfo=UTC), "2016-12-31T23:59:60Z")


def asked(*times: object) -> list[dict[str, Any]]:
    """The data export of a conversation whose messages have these times."""
    nodes: dict[str, Any] = {
        f"n{n}": {
            "parent": f"n{n - 1}" if n else None,
            "children": [],
            "message": {
                "id": f"n{n}",
                "author": {"role": "user"},
                "create_time": at,
                "content": {"content_type": "text", "parts": [f"message {n}"]},
            },
        }
        for n, at in enumerate(times)
    }
    return [
        {
            "conversation_id": "c",
            "create_time": 1680000000,
            "current_node": f"n{len(times) - 1}",
            "mapping": nodes,
        }
    ]


@pytest.mark.parametrize(
    ("times", "kept", "guessed"),
    [
        ((None, 1680000050.5), ("2023-03-28T10:40:50.5", "2023-03-28T10:40:50.5"), ("no time; the time of the turn behind it is kept", None)),
        ((1680000050.5, None), ("2023-03-28T10:40:50.5", "2023-03-28T10:40:50.5"), (None, "no time; the time of the turn before it is kept")),
        ((None, None), ("2023-03-28T10:40:00", "2023-03-28T10:40:00"), ("no time; the time of its conversation is kept",) * 2),
        ((1680000050500, "soon"), ("2023-03-28T10:40:50.5", "2023-03-28T10:40:50.5"), (None, "soon; the time of the turn before it is kept")),
    ],
)  # fmt: skip
def test_a_message_without_a_time_gets_that_of_its_neighbour_or_conversation(
    times: tuple[object, ...], kept: tuple[str, ...], guessed: tuple[str | None, ...], tmp_path: Path
) -> None:
    """The old number was dated today, and the new one years before it."""
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(asked(*times)))
    (found,) = transcripts.read("chatgpt", file)
    assert [turn["at"].startswith(at) for turn, at in zip(found.turns, kept, strict=True)] == [True] * len(
        kept
    )
    assert tuple(turn.get("created_told") for turn in found.turns) == guessed


def test_a_history_without_any_time_has_that_of_its_file(tmp_path: Path) -> None:
    import os

    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"role": "user", "message": {"content": [{"type": "text", "text": "No time at all."}]}}\n'
    )
    os.utime(file, (AT.timestamp(), AT.timestamp()))
    (found,) = transcripts.read("cursor", file)
    (turn,) = found.turns
    assert (turn["at"], turn["created_told"]) == (AT.isoformat(), "no time; the time of its file is kept")


def test_a_memory_whose_time_is_none_says_what_was_claimed(tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    given = [
        {"id": "1", "memory": "first", "created_at": "2026-01-06 23:53:45"},
        {"id": "2", "memory": "second", "created_at": "2026-13-45"},
        {"id": "3", "memory": "third"},
    ]
    file.write_text(json.dumps(given))
    items = mem0.read(file, KNOWN).items
    assert {item.created_at for item in items} == {AT}
    assert [item.properties.get("created_told") for item in items] == [
        None,
        "2026-13-45; the time of the memory before it is kept",
        "no time; the time of the memory before it is kept",
    ]

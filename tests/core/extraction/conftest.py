"""A conversation whose turns are kept, and calls that begin and apply an extraction of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from psycopg.rows import DictRow

from tests.conftest import Call

SAID = (
    ("user", "Which queue do we take? I said in March that RabbitMQ 3.12 is what the ops team runs."),
    ("assistant", "Then let us use RabbitMQ 3.12 for the order queue, because the ops team already runs it."),
    ("user", "Agreed. The payment gateway listens on port 8443 now, since Ana moved it on Tuesday."),
    ("assistant", "Noted: we retry a failed payment at most 5 times, with a pause of 30 seconds."),
)
Begin = Callable[..., DictRow]
Apply = Callable[..., DictRow]


def item(
    text: str, turn: int, quote: str, kind: str = "decision", title: str = "the order queue"
) -> dict[str, Any]:
    """An item of the list `add`."""
    return {"kind": kind, "title": title, "text": text, "turn": turn, "quote": quote}


QUEUE = item(
    "use RabbitMQ 3.12, the ops team already runs it", 2, SAID[1][1], title="RabbitMQ for the order queue"
)
PORT = item(
    "listens on port 8443 now", 3, "The payment gateway listens on port 8443 now", "fact", "payment gateway"
)


@pytest.fixture
def begin(call: Call) -> Begin:
    """`begin()`: keeps the turns of a conversation in project shop and begins an extraction of them."""

    def begin(*said: tuple[str, str], session: str = "s-1") -> DictRow:
        turns = [{"id": f"t{n}", "role": r, "content": c} for n, (r, c) in enumerate(said or SAID)]
        given = {"client": "codex", "session_id": session, "project_id": "shop"}
        call("capture_turns", turns=turns, **given)
        return call("begin_extraction", session_id=f"codex:{session}")

    return begin


@pytest.fixture
def apply(call: Call) -> Apply:
    """`apply(begun, add=[…])`: the outcome of an answer."""

    def apply(begun: DictRow, **answer: object) -> DictRow:
        return call("apply_extraction", extraction_id=begun["extraction_id"], answer=answer)

    return apply

"""Texts that steer agents and honest notes beside them: how many of each a save of an agent would hold.

`steering_texts` has three files with a text a line: notes about the same things, notes near the forms of the rule,
which report and do not order, and texts that steer in other words. The forms were chosen on the lines of odd numbers;
the others are reported beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import scalar_row

TEXTS = Path(__file__).parent / "steering_texts"
KINDS = ("honest", "near", "ill")
"""The files, which are the groups of texts."""


def held(connection: psycopg.Connection[Any]) -> list[tuple[str, str, int, int, list[str]]]:
    """Return (kind, half, texts, held texts, texts of the half that are judged wrongly) of each half of a kind."""
    found = []
    for kind in KINDS:
        lines = (TEXTS / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
        for half, texts in (("chosen on", lines[::2]), ("reported", lines[1::2])):
            kept = (
                connection.cursor(row_factory=scalar_row)
                .execute(
                    "select pgmem.steering(t.text) is not null from unnest(%s::text[]) with ordinality t(text, place)"
                    " order by place",
                    (texts,),
                )
                .fetchall()
            )
            wrong = [text for text, is_held in zip(texts, kept, strict=True) if is_held != (kind == "ill")]
            found.append((kind, half, len(texts), sum(kept), wrong))
    return found

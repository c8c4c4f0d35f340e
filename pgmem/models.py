"""Answers of verbs and inputs of callers, in one module to import from.

The answers of verbs are in `pgmem.answers`, which scripts/generate writes; here are those that Python counts itself.
"""

from __future__ import annotations

from dataclasses import field

from pgmem.answer import Answer
from pgmem.answers import *  # noqa: F403
from pgmem.inputs import *  # noqa: F403


class Exported(Answer):
    """The number of lines of an export, and of its records by kind."""

    lines: int
    counts: dict[str, int]


class Imported(Answer):
    """The outcome of an import, in numbers of records.

    `updated`, `superseded` (new memories that are superseded in the file), `archived` and `converted` (by the
    new kind) are counted for memories of other systems only; `left_out` is counted by reason. Every record of
    a file is counted once in taken, updated, present, merged or left_out. `doubted` are those taken of an export that
    the file calls the word of a person, and this store does not.
    """

    taken: int = 0
    updated: int = 0
    present: int = 0
    merged: int = 0
    superseded: int = 0
    archived: int = 0
    converted: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False
    doubted: int = 0

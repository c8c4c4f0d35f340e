"""sql/README.md: the chapters with their verbs."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from generation.catalog import Verb

__all__ = ["page"]

SQL = Path(__file__).parent.parent.parent / "sql"
HEAD = """\
<!-- Written by scripts/generate; do not edit. -->

# The engine

An install runs these chapters in the order of their numbers. Each begins with its purpose and its locks, and calls what an
earlier one or itself defines; the exceptions are named in `tests/docs/test_calls.py`. Tables, types and indexes are in
`migrations/`. In psql, `select * from pgmem.verb` lists the same verbs. The functions that chapters make of declarations, such as
`save_decision`, are shown in [made.sql](made.sql).

- **Locks** are taken in one order: the row of the save_id, the row of the token, the scope locks sorted, rows of node by seq.
- **Errors** are of class `PM`; the page of errors (`make docs`, docs/reference/errors.md) lists them.
- **Rights**: reader, writer, reviewer and worker are roles of `pgmem init --roles`; owner is the owner of the schema.
- **Effects**: read may answer from a replica, look answers for this moment, repeat changes nothing more the second time.

| chapter | about | verb | what it does | rights | effect |
| --- | --- | --- | --- | --- | --- |
"""


def page(verbs: list[Verb]) -> str:
    """Return the table of contents of sql/."""
    declared = {chapter: list(group) for chapter, group in groupby(verbs, key=lambda verb: verb.chapter)}
    lines = [HEAD]
    for path in sorted(SQL.rglob("[0-9][0-9]-*.sql"), key=lambda path: path.name):
        about = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("-- ")
        first = f"| [{path.name}]({path.relative_to(SQL)}) | {about} |"
        rows = declared.get(path.stem[3:], [])
        if not rows:
            lines.append(f"{first} | | | |\n")
        for verb in rows:
            lines.append(f"{first} `{verb.name}` | {verb.summary} | {verb.rights} | {verb.effect} |\n")
            first = "| | |"
    return "".join(lines)

"""Rules beside each other: which pairs are named to contradict each other, and how many alarms other texts give.

The pairs are in benchmarks/rules.json: 20 that contradict each other in other words and 20 that do not, and as many by
which the reading of rules was chosen; ten copies. All were written before the code was, by its author. Texts that are
no rules, the turns of conversations and notes of agents, are compared all with all: each pair named there is an alarm,
unless somebody wrote two rules that contradict each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

import psycopg

from benchmarks import locomo
from benchmarks.databases import Progress, unseen

PAIRS = Path(__file__).with_name("rules.json")
_COMPARE = "select one, other, relation, reason from pgmem.compare_rules(%s::bigint[], %s)"


def run(
    connection: psycopg.Connection[Any],
    talks: Path | None,
    notes: Path | None,
    *,
    progress: Progress = unseen,
) -> dict[str, Any]:
    """Compare the pairs, and all turns of each conversation and all notes of a file.

    Args:
        connection: to a store; nothing is written.
        talks: LoCoMo's file; None: no conversations.
        notes: a file of notes, as `python -m benchmarks notes` reads them; None: none.
        progress: called with a step, its finished units and their total.

    Returns:
        {pairs: [{set, pairs, against, copy}], alarms: [{corpus, texts, against, copy, seconds, named}]}
    """
    report: dict[str, Any] = {"bench": "rules", "pairs": [], "alarms": []}
    for name, pairs in json.loads(PAIRS.read_text("utf-8")).items():
        counts = {"against": 0, "copy": 0}
        for pair in pairs:
            for relation in {row[2] for row in _compared(connection, pair)}:
                counts[relation] += 1
        report["pairs"].append({"set": name, "pairs": len(pairs), **counts})
    corpora: dict[str, list[list[str]]] = {}
    if talks is not None:
        corpora["LoCoMo turns"] = [[turn.text for turn in talk.turns] for talk in locomo.read(talks)[0]]
    if notes is not None:
        corpora[f"notes of {notes.name}"] = [
            [f"{doc['title']}\n{doc['text']}" for doc in one["docs"]]
            for one in json.loads(notes.read_text("utf-8"))
        ]
    for name, groups in corpora.items():
        counts, named, seconds = {"against": 0, "copy": 0}, [], 0.0
        for done, group in enumerate(groups, 1):
            began = perf_counter()
            rows = _compared(connection, group)
            seconds += perf_counter() - began
            for one, other, relation, reason in rows:
                counts[relation] += 1
                named.append((relation, reason, group[one][:160], group[other][:160]))
            progress(name, done, len(groups))
        size = sum(map(len, groups))
        report["alarms"].append({"corpus": name, "texts": size, **counts, "seconds": seconds, "named": named})
    return report


def _compared(connection: psycopg.Connection[Any], texts: Iterable[str]) -> list[tuple[int, int, str, str]]:
    texts = list(texts)
    return connection.execute(_COMPARE, (list(range(len(texts))), texts)).fetchall()

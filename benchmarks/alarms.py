"""Contradictions named where there is none: texts that do not contradict each other, saved as contexts or decisions.

The texts are the turns of LoCoMo's conversations, each conversation in a project, and texts of a file, all in one
project. Each conflict that a save names is listed for a person to judge: people also change their minds.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import locomo, texts
from benchmarks.databases import Progress, unseen
from pgmem.memory import Memory

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")


async def run(
    memory: Memory,
    talks: Path | None,
    file: Path | None,
    count: int,
    decisions: bool = False,
    *,
    progress: Progress = unseen,
) -> dict[str, Any]:
    """Save all texts in order and list the conflicts that the saves name.

    Args:
        memory: an empty store.
        talks: LoCoMo's file; None: no conversations.
        file: texts, one a line or the descriptions of Debian's packages; None: none.
        count: how many texts of file are read.
        decisions: save the first sentence of each as the title of a decision, and count what it replaces or waits for.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, provider, rows: [{corpus, saves, alarms, outcomes}]}: an alarm is [axis, theirs, ours], in the order
        of the saves.

    Raises:
        ValueError: a file is in another schema or holds no text.
    """
    corpora: dict[str, dict[str, list[str]]] = {}
    if talks is not None:
        corpora["LoCoMo turns"] = {
            talk.project: [turn.text for turn in talk.turns] for talk in locomo.read(talks)[0]
        }
    if file is not None:
        corpora[file.name] = {"texts": texts.read(file, count)}
    rows = []
    for corpus, projects in corpora.items():
        total, alarms, done = sum(map(len, projects.values())), [], 0
        outcomes: Counter[str] = Counter()
        for project, given in projects.items():
            await memory.save_session("Texts are given.", project)
            for text in given:
                result = (
                    await memory.save_decision(_SENTENCE.split(text)[0][:300], text, project)
                    if decisions
                    else await memory.save_context(text, project)
                )
                outcomes[result.dedup_outcome or result.status] += 1
                alarms += [[found.axis, found.theirs, found.ours] for found in result.conflicts]
                done += 1
                progress(corpus, done, total)
        rows.append({"corpus": corpus, "saves": total, "alarms": alarms, "outcomes": dict(outcomes)})
    return {"bench": "alarms", "provider": memory.embedding_model, "rows": rows}

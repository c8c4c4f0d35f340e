"""Notes in twelve languages in one project, asked for by another form of their word and by a name beside it.

languages.json holds for each language a sentence, a question, 20 words, each as its note has it and as it is asked for,
and places. Every note of a language is the same sentence about another word and ends with a name, in languages without
blanks written to the words. The forms follow the rules of each language; no figure of a search chose them.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from benchmarks.databases import Progress, unseen
from benchmarks.talks import settle
from pgmem.memory import Memory

_PROJECT = "languages"
_TIGHT = ("Chinese", "Japanese")


async def run(memory: Memory, *, progress: Progress = unseen) -> dict[str, Any]:
    """Save the notes in one project and ask.

    Returns:
        {bench, provider, languages: {name: {words, among_three, names, n}}}: words and names count the questions whose
        note is first, among_three those by words whose note is among the first three.
    """
    rows = json.loads(files("benchmarks").joinpath("languages.json").read_text(encoding="utf-8"))
    await memory.save_session("Notes", _PROJECT)
    saved: dict[tuple[str, int], object] = {}
    for row in rows:
        for place, (word, _) in enumerate(row["words"]):
            text = row["note"].format(word, row["places"][place % len(row["places"])])
            blank = "" if row["language"] in _TIGHT else " "
            kept = await memory.save_context(f"{text}{blank}{_name(row['language'], place)}{blank}", _PROJECT)
            saved[row["language"], place] = kept.artifact_id
    await settle(memory)
    report: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows, start=1):
        figures = report[row["language"]] = {"words": 0, "among_three": 0, "names": 0, "n": len(row["words"])}
        for place, (_, asked) in enumerate(row["words"]):
            gold = saved[row["language"], place]
            found = (await memory.search_memory(row["question"].format(asked), 3, _PROJECT)).results
            figures["words"] += [result.id for result in found[:1]] == [gold]
            figures["among_three"] += gold in [result.id for result in found]
            name = _name(row["language"], place)
            found = (await memory.search_memory(name.replace("_", " "), 1, _PROJECT)).results
            figures["names"] += [result.id for result in found] == [gold]
        progress("asking", number, len(rows))
    return {"bench": "languages", "provider": memory.embedding_model, "languages": report}


def _name(language: str, place: int) -> str:
    return f"{language.lower()}_rack_{place:02d}"

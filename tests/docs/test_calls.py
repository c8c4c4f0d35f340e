"""How many files one reads from the method of a verb to its tables; docs/explanation/how-a-call-flows.md has the numbers."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from random import Random

import pytest

from pgmem._verbs import VERBS
from pgmem.engines.hooks import Hooks

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "explanation" / "how-a-call-flows.md"
CHOSEN = sorted(VERBS, key=lambda verb: Random(verb).random())[:10]
CHANGES = r"(?:insert into|update|delete from) pgmem\.(\w+)"
READS = r"(?:from|join) pgmem\.(\w+)"
LONGER = {
    *("finish_intent", "get_relevant_memory", "manage_engineering_memory", "propose_from_receipt"),
    *("record_candidate", "refresh_from_run", "route_analysis"),
}
"""The verbs that take five files; every other verb takes at most four."""


@cache
def bodies() -> dict[str, tuple[str, str]]:
    """The functions and views of sql/, each with its chapter and its text without comments."""
    found = {}
    for path in sorted((ROOT / "sql").glob("*.sql")):
        for part in re.split(r"^create or replace (?=function|view)", path.read_text("utf-8"), flags=re.M)[
            1:
        ]:
            text, _, _ = re.sub(r"--.*", "", part).partition("\ncomment on ")
            found[re.findall(r"pgmem\.(\w+)", text)[0]] = (path.name, text)
    return found


@cache
def tables() -> set[str]:
    """The names of the tables."""
    made = r"create (?:unlogged )?table (?:if not exists )?pgmem\.(\w+)"
    versions = (ROOT / "migrations" / "versions").glob("*.py")
    return {name for path in versions for name in re.findall(made, path.read_text("utf-8"))}


def ways(verb: str) -> dict[str, list[str]]:
    """The chapters on the shortest chain of calls to each table that a verb changes, or reads if it changes none."""
    chains = {verb: [verb]}
    for name in (order := [verb]):
        for called in sorted(set(re.findall(r"pgmem\.(\w+)", bodies()[name][1]))):
            if called in bodies() and called not in chains:
                chains[called] = [*chains[name], called]
                order.append(called)
    reached: dict[str, dict[str, list[str]]] = {CHANGES: {}, READS: {}}
    for pattern, found in reached.items():
        for name in order:
            for table in re.findall(pattern, bodies()[name][1]):
                if table in tables():
                    found.setdefault(table, list(dict.fromkeys(bodies()[link][0] for link in chains[name])))
    only_reads = VERBS[verb].effect in ("read", "look")
    return (not only_reads and reached[CHANGES]) or reached[READS] or {"": [bodies()[verb][0]]}


def files(verb: str) -> tuple[list[str], int]:
    """The files that one reads for a verb, and how many it takes to the furthest of its tables."""
    found = ways(verb)
    nearest = min(found.values(), key=len)
    hook = getattr(Hooks, f"_{verb}", None)
    python = ["verbs.py", *([Path(inspect.getfile(hook)).name] if hook else [])]
    furthest = len(python) + max(map(len, found.values()))
    return [*python, *max(nearest, found.get("node", nearest), key=len)], furthest


def test_at_most_four_files_lead_from_a_method_to_its_table() -> None:
    assert {verb for verb in VERBS if len(files(verb)[0]) > 4} == LONGER
    exceptions = " and ".join(", ".join(f"`{verb}`" for verb in sorted(LONGER)).rsplit(", ", 1))
    assert f"at most four files, except {exceptions}" in " ".join(PAGE.read_text("utf-8").split())


@pytest.mark.parametrize("verb", CHOSEN)
def test_the_page_shows_the_files_of_ten_verbs(verb: str) -> None:
    read, furthest = files(verb)
    assert f"| `{verb}` | {len(read)} | {furthest} | {', '.join(read)} |\n" in PAGE.read_text("utf-8")

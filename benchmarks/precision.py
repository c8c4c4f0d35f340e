"""precisionMemBench: 35 beliefs in two scopes, and queries of which each must bring certain beliefs and nothing else.

The adapter has `add` and `search` and nothing else. A belief is saved by `upsert_entity` in a project of its scope, its
canonical name as the entity, its aliases as aliases; `search` is `search_memory` as an agent calls it, with the query's
text alone. The frame of the two (pinned beliefs, open questions, participants of relations, the budget, the
persona) is the benchmark's own harness, and so is the scoring; both follow its sources rule by rule. With
`--superseded` the adapter forgets what the data calls superseded or resolved, as an agent would who was informed of it.
The data is MIT and not part of pgmem (github.com/tenurehq/precisionMemBench, fixtures).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.databases import Progress, unseen
from benchmarks.talks import settle
from pgmem.memory import Memory
from pgmem.models import MemoryScope

_USER = "test-user"
_BUDGET = 20
Belief = Mapping[str, Any]


class Adapter:
    """A provider of memories, as the benchmark asks for one."""

    def __init__(self, memory: Memory, superseded: bool) -> None:
        self._memory = memory
        self._superseded = superseded
        self._saved: dict[object, str] = {}

    def _of(self, user: str) -> Memory:
        return self._memory.acting_as(MemoryScope(user_id=user))

    async def open(self, user: str, scopes: Iterable[str]) -> None:
        """Make a project for each scope of a user."""
        for scope in scopes:
            await self._of(user).save_session("Beliefs are given.", scope)

    async def add(self, belief: Belief) -> None:
        """Save a belief, or save it again when it has changed."""
        memory, name = self._of(belief["user_id"]), belief["canonical_name"]
        for scope in belief["scope"]:
            saved = await memory.upsert_entity(
                name, belief["content"], scope, aliases=list(belief.get("aliases") or ())
            )
            assert saved.artifact_id is not None, saved
            self._saved[saved.artifact_id] = belief["_id"]
            if self._superseded and _is_past(belief):
                await memory.forget("EntityFact", name, project_id=scope)

    async def search(self, user: str, query: str, scope: str, limit: int) -> list[str]:
        """The beliefs that answer a query, best first."""
        found = await self._of(user).search_memory(query, limit, scope, answers_only=True)
        return [self._saved[result.id] for result in found.results if result.id in self._saved]


def _is_past(belief: Belief) -> bool:
    return bool(belief.get("superseded_by") or belief.get("resolved_at"))


class _Harness:
    """The benchmark's frame of an adapter: its baseAdapter.ts."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.beliefs: dict[str, Belief] = {}

    async def add(self, belief: Belief) -> None:
        self.beliefs[belief["_id"]] = belief
        await self.adapter.add(belief)

    def _in(self, belief: Belief, user: str, scopes: Sequence[str]) -> bool:
        return belief["user_id"] == user and any(scope in scopes for scope in belief["scope"])

    async def context(
        self, user: str, scopes: Sequence[str], query: str, budget: Mapping[str, int]
    ) -> tuple[list[str], list[str], list[str]]:
        """The ids of pinned facts, of relevant beliefs and of open questions."""
        mine = [belief for belief in self.beliefs.values() if self._in(belief, user, scopes)]
        most = budget.get("maxBeliefs", _BUDGET)
        pinned = [
            belief["_id"]
            for belief in mine
            if belief.get("pinned") and belief["type"] != "open_question" and not _is_past(belief)
        ]
        questions = [
            belief["_id"]
            for belief in mine
            if belief.get("pinned") and belief["type"] == "open_question" and not belief.get("resolved_at")
        ]
        found = []
        if query.strip() and most > 0:
            found = await self.adapter.search(user, query, scopes[0], most)
        found = [key for key in dict.fromkeys(found) if key not in pinned]
        joined = []
        for key in found:
            if self.beliefs[key]["type"] == "relation":
                for other in self.beliefs[key].get("participants") or ():
                    belief = self.beliefs.get(other)
                    if belief and other not in (*pinned, *found) and self._in(belief, user, scopes):
                        joined.append(other)
        shown = pinned[:most]
        return (
            shown,
            [*found, *joined][: max(0, most - len(shown))],
            questions[: budget.get("maxQuestions", 15)],
        )


def _failures(
    expect: Mapping[str, Any], pinned: set[str], relevant: Sequence[str], questions: set[str]
) -> list[str]:
    """Assertions of a case that the context does not hold; the persona's text is not retrieved always as asserted."""
    wanted = expect.get("relevantBeliefs") or {}
    failures: list[str] = []
    found, union = set(relevant), pinned | set(relevant)
    needed = (*wanted.get("mustInclude", ()), *wanted.get("shouldInclude", ()))
    failures += [f"missing: {key}" for key in needed if key not in union]
    failures += [f"forbidden: {key}" for key in wanted.get("mustExclude", ()) if key in union]
    if (only := wanted.get("shouldOnlyInclude")) is not None:
        failures += [f"unexpected: {key}" for key in relevant if key not in only]
        failures += [f"missing: {key}" for key in only if key not in found]
    if (most := wanted.get("maxCount")) is not None and len(found) > most:
        failures.append(f"{len(found)} beliefs, at most {most}")
    if (least := wanted.get("minCount")) is not None and len(found) < least:
        failures.append(f"{len(found)} beliefs, at least {least}")
    for first, second in wanted.get("orderedBefore", ()):
        places = [relevant.index(key) if key in found else None for key in (first, second)]
        if None in places or places[0] >= places[1]:  # type: ignore[operator]
            failures.append(f"not before {second}: {first}")
    for tier, held in (("pinnedFacts", pinned), ("openQuestions", questions)):
        asked = expect.get(tier) or {}
        failures += [f"missing in {tier}: {key}" for key in asked.get("mustInclude", ()) if key not in held]
        failures += [f"forbidden in {tier}: {key}" for key in asked.get("mustExclude", ()) if key in held]
    noise = (expect.get("noiseCheck") or {}).get("mustNotSurface", ())
    return failures + [f"noise: {key}" for key in noise if key in union]


def _precision(
    expect: Mapping[str, Any], seeded: set[str], relevant: Sequence[str]
) -> tuple[float | None, float | None]:
    """Precision and recall of the relevant beliefs; null where nothing was wanted."""
    wanted = expect.get("relevantBeliefs") or {}
    only = wanted.get("shouldOnlyInclude")
    gold = set(only) if only is not None else set(wanted.get("mustInclude", ())) - seeded
    hits = len(gold & set(relevant))
    precision = None if not gold and not relevant else hits / len(set(relevant)) if relevant else 0.0
    return precision, hits / len(gold) if gold else None


async def run(
    memory: Memory, folder: Path, *, superseded: bool = False, progress: Progress = unseen
) -> dict[str, Any]:
    """Save the beliefs, put the queries, score.

    Args:
        memory: an empty store.
        folder: the fixtures: beliefs.seed.json, and files whose names begin with retrieval.cases and
            session-retrieval.cases.
        superseded: forget what the data calls superseded or resolved.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, provider, superseded, cases, passed, active, active_passed, precision, recall, p50_ms, turns,
        turns_passed, failures}: active cases are those with a precision; failures maps cases to what failed.

    Raises:
        ValueError: a file is missing or in another schema.
    """
    beliefs, cases, sessions = (
        _read(folder, name) for name in ("beliefs.seed", "retrieval.cases", "session-retrieval.cases")
    )
    adapter = Adapter(memory, superseded)
    scopes = {scope for item in (*beliefs, *cases) for scope in item["scope"]}
    for user in {belief["user_id"] for belief in beliefs} | {case.get("userId", _USER) for case in cases}:
        await adapter.open(user, sorted(scopes))
    harness = _Harness(adapter)
    for belief in beliefs:
        await harness.add(belief)
    await settle(memory)
    seeded = {belief["_id"] for belief in beliefs if belief.get("pinned") and belief["user_id"] == _USER}
    failures: dict[str, list[str]] = {}
    rows, times = [], []
    for place, case in enumerate(cases, start=1):
        began = time.perf_counter()
        pinned, relevant, questions = await harness.context(
            case.get("userId", _USER), case["scope"], case["query"], case.get("budget") or {}
        )
        times.append(1000 * (time.perf_counter() - began))
        failed = _failures(case["expect"], set(pinned), relevant, set(questions))
        rows.append((not failed, *_precision(case["expect"], seeded, relevant)))
        if failed:
            failures[case["caseId"]] = failed
        progress("cases", place, len(cases))
    turns = []
    for session in sessions:
        for turn in session["turns"]:
            pinned, relevant, questions = await harness.context(_USER, turn["scope"], turn["userMessage"], {})
            failed = _failures(turn["expect"], set(pinned), relevant, set(questions))
            turns.append(not failed)
            if failed:
                failures[f"{session['caseId']}, turn {turn['turnIndex']}"] = failed
            if created := turn.get("createBeliefAtTurn"):
                await harness.add(created)
            if changed := turn.get("updateBeliefAtTurn"):
                former = harness.beliefs[changed["beliefId"]]
                aliases = [*former["aliases"], *changed.get("addAliases", ())]
                await harness.add({**former, "aliases": aliases})
            await settle(memory)
    active = [passed for passed, precision, _ in rows if precision is not None]
    return {
        "bench": "precision",
        "provider": memory.embedding_model,
        "superseded": superseded,
        "cases": len(rows),
        "passed": sum(passed for passed, _, _ in rows),
        "active": len(active),
        "active_passed": sum(active),
        "precision": round(fmean(value for _, value, _ in rows if value is not None), 2),
        "recall": round(fmean(value for _, _, value in rows if value is not None), 2),
        "p50_ms": round(median(times), 1),
        "turns": len(turns),
        "turns_passed": sum(turns),
        "failures": failures,
    }


def _read(folder: Path, name: str) -> list[dict[str, Any]]:
    files = sorted(folder.glob(f"{name}*.json"))
    if not files:
        raise ValueError(f"no {name}*.json is in {folder.name}")
    read = json.loads(files[0].read_text(encoding="utf-8"))
    if not isinstance(read, list):
        raise ValueError(f"{files[0].name} is not a list")
    return read

"""How long a session waits for `pgmem hook`, and whether it is brought the right lines.

Each event is timed in a separate process, with the server running.
The time is that of the whole process, from its start to its end, as a client waits for it; beside it is the
processor time of the process alone, which other work on the machine changes little. The floor is a Python that does
nothing, started between the events.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus
from benchmarks.databases import Progress, unseen
from benchmarks.timing import quantile
from pgmem.memory import Memory
from pgmem.programs import AGAIN

BAR_MS = 300.0
"""Milliseconds that an event may take at p95."""
_EVENTS = tuple("SessionStart UserPromptSubmit PreToolUse PreCompact Stop SubagentStop SessionEnd".split())
_PROJECT = "bench"


async def run(
    memory: Memory,
    folder: Path,
    environment: dict[str, str],
    *,
    memories: int = 1_000,
    rounds: int = 40,
    progress: Progress,
) -> dict[str, Any]:
    """Measure the events of sessions over a store with some memories.

    Args:
        memory: an empty store, whose server runs.
        folder: an empty folder, for the repository and the transcripts.
        environment: how the hooks find the store.
        memories: how many decisions the project holds.
        rounds: how often each event is measured.
        progress: called with a step, its finished units and their total.
    """
    root = _repository(folder)
    await memory.project_of(root, create=True)
    titles = await _fill(memory, memories, progress)
    times: dict[str, list[float]] = {name: [] for name in ("floor", *_EVENTS)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGMEM_")}
    cpu: dict[str, list[float]] = {name: [] for name in times}
    prompts = {"asked": 0, "answered": 0}

    def timed(name: str, command: list[str], given: bytes, env: dict[str, str] | None) -> bytes:
        before, began = os.times(), time.perf_counter()
        done = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True, env=env)
        times[name].append((time.perf_counter() - began) * 1000)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        cpu[name].append(used * 1000)
        return done.stdout

    for number in range(rounds):
        transcript = folder / f"{number}.jsonl"
        timed("floor", [sys.executable, "-c", "pass"], b"", None)
        for name, event in _session(root, transcript, number, titles):
            command = [*AGAIN, "hook", name, "--client", "claude-code"]
            answer = timed(name, command, json.dumps(event).encode(), {**kept, **environment})
            if name == "UserPromptSubmit":
                prompts["asked"] += 1
                prompts["answered"] += bool(answer)
        progress("measuring", number + 1, rounds)
    found = await memory.search_memory("release", project_id=_PROJECT, labels=["Turn"], limit=1000)
    return {
        "bench": "hooks",
        "memories": memories,
        "rounds": rounds,
        "bar_ms": BAR_MS,
        "rows": [_row(name, all_of, cpu[name]) for name, all_of in times.items()],
        "prompts": prompts,
        "turns_found": len(found.results),
    }


def _row(name: str, times: list[float], cpu: list[float]) -> dict[str, Any]:
    """The measurements of an event, in milliseconds; the floor has no bar to meet."""
    p95 = quantile(times, 0.95)
    return {
        "event": name,
        "n": len(times),
        "p50_ms": quantile(times, 0.5),
        "p95_ms": p95,
        "cpu_p50_ms": quantile(cpu, 0.5),
        "met": None if name == "floor" else p95 <= BAR_MS,
    }


def _repository(folder: Path) -> Path:
    root = folder / _PROJECT
    root.mkdir()
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", "-c", "user.name=b", "-c", "user.email=b@b", *arguments], cwd=root, check=True)
    return root


async def _fill(memory: Memory, memories: int, progress: Progress) -> list[str]:
    """Save decisions and return their titles."""
    corpus = Corpus("hooks")
    await memory.save_session("Measure", _PROJECT)
    titles = []
    for number in range(memories):
        titles.append(corpus.title())
        await memory.save_decision(titles[-1], corpus.body(), _PROJECT)
        progress("saving", number + 1, memories)
    await memory.refresh_statistics()
    return titles


def _session(
    root: Path, transcript: Path, number: int, titles: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the events of one session in order; the transcript grows between them, by twenty turns before each Stop."""
    lines = 0

    def say(count: int) -> None:
        nonlocal lines
        with transcript.open("a", encoding="utf-8") as file:
            for _ in range(count):
                lines += 1
                role = ("user", "assistant")[lines % 2]
                text = f"Turn {lines} of session {number}: the release of {titles[lines % len(titles)]}. " * 5
                file.write(
                    json.dumps(
                        {
                            "type": role,
                            "uuid": f"{number:08d}-0000-4000-8000-{lines:012d}",
                            "timestamp": "2026-03-01T10:00:00.000Z",
                            "message": {"role": role, "content": text},
                        }
                    )
                    + "\n"
                )

    def event(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
        return name, {
            "session_id": f"bench-{number}",
            "transcript_path": str(transcript),
            "cwd": str(root),
            "permission_mode": "default",
            "hook_event_name": name,
            **more,
        }

    title = titles[number % len(titles)]
    yield event("SessionStart", source="startup", model="bench")
    yield event("UserPromptSubmit", prompt=f"What did we decide about this: {title}?")
    yield event("PreToolUse", tool_name="Read", tool_input={"file_path": str(root / "src" / f"{number}.py")})
    say(20)
    yield event("Stop", stop_hook_active=False)
    say(20)
    yield event("PreCompact", trigger="auto", custom_instructions="")
    say(5)
    yield event("SubagentStop", stop_hook_active=False, agent_id="a", agent_transcript_path=str(transcript))
    say(20)
    yield event("SessionEnd", reason="other")


TICKETS = Path(__file__).with_name("tickets.json")
_SHOWN = re.compile(r"^- \[[^\]]*, ([0-9a-f]{8})\]", re.MULTILINE)


async def tickets(
    memory: Memory, dsn: str, folder: Path, file: Path = TICKETS, *, progress: Progress = unseen
) -> dict[str, Any]:
    """Ask prompts whose right decisions are known, in sessions of the hook, and count the lines that it brings.

    The thresholds of the hook were chosen on the tickets in even places; those in odd ones are to be reported, and
    the stores of which *half* is *later*, which were written after the rule.

    Args:
        memory: an empty store.
        dsn: where it lies.
        folder: an empty folder.
        file: stores with decisions, notes, tickets (a prompt and the places of the decisions that are right) and
            foreign prompts, which are to get nothing; and prompts in other languages than the store.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, rows: [{store, half, prompts, right, lines, right_lines, tokens, with_opening, answered}], missed}
    """
    data = json.loads(file.read_text(encoding="utf-8"))
    languages = data["languages"]
    stores = {**data["stores"], **languages["stores"]}
    ids: dict[str, list[str]] = {}
    for number, (name, kept) in enumerate(stores.items(), 1):
        ids[name] = await _fill_store(memory, name, kept)
        progress("saving", number, len(stores))
    await memory.refresh_statistics()
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    missed: list[list[str]] = []

    def ask(place: int, name: str, store: str, half: str, prompt: str, right: list[int]) -> None:
        wanted = {ids[store][one] for one in right}
        alone = _brought(dsn, folder / f"{name}-{place}", store, prompt, opening=False)
        row = rows.setdefault((name, half), dict.fromkeys(_COUNTS, 0))
        found = _SHOWN.findall(alone)
        row["prompts"] += 1
        row["right"] += bool(wanted & set(found))
        row["lines"] += len(found)
        row["right_lines"] += len(wanted & set(found))
        row["tokens"] += len(alone) // 4
        row["answered"] += bool(alone)
        if wanted:
            both = _brought(dsn, folder / f"{name}-{place}-b", store, prompt, opening=True)
            row["with_opening"] += bool(wanted & set(_SHOWN.findall(both)))
            if not wanted & set(found):
                missed.append([store, prompt])

    asked = [
        (name, store, half, prompt, right)
        for store, kept in data["stores"].items()
        for name, half, prompt, right in _prompts(store, kept)
    ]
    for language, prompt, right in languages["tickets"]:
        asked.append((f"in {language}", languages["of"], "all", prompt, right))
    asked += [
        ("in four languages, foreign", languages["of"], "all", prompt, []) for prompt in languages["foreign"]
    ]
    for store, kept in languages["stores"].items():
        asked += [(name, store, "all", prompt, right) for name, _, prompt, right in _prompts(store, kept)]
    for place, (name, store, half, prompt, right) in enumerate(asked):
        ask(place, name, store, half, prompt, right)
        progress("asking", place + 1, len(asked))
    listed = [{"store": name, "half": half, **row} for (name, half), row in rows.items()]
    return {"bench": "tickets", "rows": listed, "missed": missed}


_COUNTS = ("prompts", "right", "lines", "right_lines", "tokens", "with_opening", "answered")


def _prompts(store: str, kept: dict[str, Any]) -> Iterator[tuple[str, str, str, list[int]]]:
    for place, (prompt, right) in enumerate(kept["tickets"]):
        yield store, kept.get("half", ("even", "odd")[place % 2]), prompt, right
    for prompt in kept["foreign"]:
        yield f"{store}, foreign", "all", prompt, []


async def _fill_store(memory: Memory, name: str, kept: dict[str, Any]) -> list[str]:
    """Save the decisions and notes of a store, and return the first digits of the ids of its decisions."""
    await memory.save_session("Work begins.", name)
    ids = []
    for title, rationale in kept["decisions"]:
        saved = await memory.save_decision(title, rationale, name)
        ids.append(str(saved.artifact_id)[:8])
    for note in kept.get("notes", ()):
        await memory.save_context(note, name)
    return ids


def _brought(dsn: str, folder: Path, project: str, prompt: str, *, opening: bool) -> str:
    """Return what a session gets with a prompt, and with its opening where it has one."""
    from pgmem.features.editor import events
    from pgmem.features.editor.libpq import Connection
    from pgmem.features.editor.state import Session

    os.environ["PGMEM_PROJECT"] = project
    given = {"session_id": folder.name, "cwd": str(folder.parent), "prompt": prompt}
    session = Session(folder, "claude-code", folder.name)
    event = events.Event("UserPromptSubmit", "prompt", "claude-code", given, session, folder)
    with Connection(dsn) as connection:
        begun = (
            events.start(event._replace(name="SessionStart", kind="start"), connection).text
            if opening
            else ""
        )
        return begun + events.prompt(event, connection).text

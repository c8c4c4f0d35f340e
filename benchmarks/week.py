"""Twelve sessions of a week, replayed through the hook: what each opening holds.

Each session saves decisions and what it leaves open, edits files, runs commands and commits; its transcript is kept as
a client writes it. The next opening is to hold all that is open, the last work, and every decision that fits.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.databases import Progress, unseen
from pgmem.features.editor import events
from pgmem.features.editor.libpq import Connection
from pgmem.features.editor.state import Session
from pgmem.memory import Memory

_PROJECT = "parcels"


class Day(NamedTuple):
    """A session: what was asked, decided, left open, closed, and edited, commands that failed, and the commit."""

    asked: str
    decided: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    committed: str = ""


_CERTIFICATE = "Certificate of the bank is missing, expires 1 December"
_HOST = "Choose the host for the API"
_TABLE = "Pick a table component for the dashboard"
_LOAD = "Load test of the label route"
WEEK = (
    Day(
        "Begin the label route",
        ("Store weights in grams as integers", "Return 202 for new labels, never wait for the carrier"),
        (_HOST, _CERTIFICATE),
        edited=("src/labels.ts",),
        committed="Add the label route",
    ),
    Day(
        "Go on with the label route",
        ("Render labels as PDF in the worker with pdf-lib", "Run on Node 20"),
        edited=("src/labels.ts", "src/worker.ts"),
        failed=("bun test labels",),
    ),
    Day(
        "Begin the dashboard",
        ("Write the dashboard in Svelte",),
        (_TABLE,),
        edited=("web/app.svelte",),
        committed="Add the dashboard",
    ),
    Day(
        "Rate limits",
        (
            "Rate limit by API key, not by IP",
            "Page through lists with a cursor",
            "Sign webhooks with HMAC SHA-256",
        ),
        edited=("src/limits.ts",),
        committed="Limit by key",
    ),
    Day("Where do we host it?", ("Deploy on Fly.io machines in Frankfurt",), closes=(_HOST,)),
    Day(
        "Webhooks",
        ("Retry webhooks eight times with growing pauses", "Identify parcels by ULID", "All times are UTC"),
        (_LOAD,),
        edited=("src/webhooks.ts",),
        failed=("bun run lint",),
    ),
    Day(
        "More on webhooks",
        (
            "Answer errors as problem+json",
            "Keep prices in cents",
            "Log as JSON to stdout",
            "Cache rates for ten minutes",
        ),
        edited=("src/webhooks.ts", "src/errors.ts"),
        committed="Retry webhooks",
    ),
    Day("Move away from Fly", ("Deploy on Hetzner machines in Falkenstein",), edited=("deploy.toml",)),
    Day("The table of the dashboard", ("Use TanStack Table in the dashboard",), closes=(_TABLE,)),
    Day(
        "Customs",
        (
            "Customs declarations need a HS code for every item",
            "Accept returns only with a return code of ours",
        ),
        edited=("src/customs.ts",),
        failed=("bun test customs",),
    ),
    Day("Load test", closes=(_LOAD,), edited=("load/labels.js",), committed="Load test of labels"),
    Day("Look around", ()),
)


async def run(memory: Memory, dsn: str, folder: Path, *, progress: Progress = unseen) -> dict[str, Any]:
    """Replay the week, and read the opening of each session.

    Args:
        memory: an empty store, written to as an agent.
        dsn: where it lies.
        folder: an empty folder, for the transcripts.
        progress: called with (what, done, of) as work goes on.

    Returns:
        {bench, rows: [{session, tokens, open, shown, decisions, listed, work}], openings}: open items and decisions
        before the session, and those of them that its opening holds; work: whether it holds the last work.
    """
    os.environ["PGMEM_PROJECT"] = _PROJECT
    open_items: list[str] = []
    decisions: dict[str, str] = {}
    rows, openings = [], []
    last: Day | None = None
    for number, day in enumerate(WEEK, 1):
        event = events.Event(
            "SessionStart",
            "start",
            "claude-code",
            {"session_id": f"s{number}", "cwd": str(folder)},
            Session(folder / "data", "claude-code", f"s{number}"),
            folder / "data",
        )
        with Connection(dsn) as connection:
            text = events.start(event, connection).text
        openings.append(text)
        done = (
            []
            if last is None
            else [*last.edited, *last.failed, *([last.committed] if last.committed else [])]
        )
        rows.append(
            {
                "session": number,
                "tokens": len(text) // 4,
                "open": len(open_items),
                "shown": sum(item in text for item in open_items),
                "decisions": len(decisions),
                "listed": sum(title in text for title in decisions),
                "work": all(one in text for one in done),
            }
        )
        for title in day.decided:
            replaced = "Deploy on Fly.io machines in Frankfurt" if "Hetzner" in title else None
            await memory.save_decision(title, f"Agreed in session {number}.", _PROJECT, supersedes=replaced)
            decisions[title] = title
            decisions.pop(str(replaced), None)
        await memory.save_session(
            day.asked,
            _PROJECT,
            open_items=list(day.leaves),
            actions_taken=[f"Done: {item}" for item in day.closes],
        )
        open_items = [item for item in [*day.leaves, *open_items] if item not in day.closes]
        transcript = folder / f"s{number}.jsonl"
        transcript.write_text("\n".join(_lines(day, number, folder)) + "\n", encoding="utf-8")
        given = {"session_id": f"s{number}", "cwd": str(folder), "transcript_path": str(transcript)}
        with Connection(dsn) as connection:
            events._keep(event._replace(name="Stop", kind="keep", given=given), connection)
        last = day
        progress("sessions", number, len(WEEK))
    return {"bench": "week", "rows": rows, "openings": openings}


def _lines(day: Day, session: int, folder: Path) -> list[str]:
    """Return a transcript as Claude Code writes it."""
    contents: list[tuple[str, dict[str, Any]]] = [("user", {"type": "text", "text": f"Please: {day.asked}."})]

    def tool(name: str, given: dict[str, str], answer: str, failed: bool = False) -> None:
        call = f"t{len(contents)}"
        contents.append(("assistant", {"type": "tool_use", "id": call, "name": name, "input": given}))
        result = {"type": "tool_result", "tool_use_id": call, "content": answer, "is_error": failed}
        contents.append(("user", result))

    for path in day.edited:
        tool("Edit", {"file_path": str(folder / path)}, "done")
    for command in day.failed:
        tool("Bash", {"command": command}, "1 failed", failed=True)
    if day.committed:
        tool("Bash", {"command": "git commit -am x"}, f"[main 1a2b3c4] {day.committed}\n 1 file changed")
    contents.append(("assistant", {"type": "text", "text": f"{day.asked}: that is done for today."}))
    return [
        json.dumps(
            {
                "type": role,
                "uuid": f"{session:08d}-0000-4000-8000-{place:012d}",
                "cwd": str(folder),
                "timestamp": f"2026-03-{session:02d}T10:00:{place:02d}.000Z",
                "message": {"role": role, "content": [content]},
            }
        )
        for place, (role, content) in enumerate(contents)
    ]

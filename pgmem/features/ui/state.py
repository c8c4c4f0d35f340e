"""The state of the store in lines: the server, its tier, and pending work."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pgmem.memory import Memory


@dataclass(frozen=True, slots=True)
class StateLine:
    """Something about the store: its name, its value, and whether a person should look at it."""

    name: str
    value: str
    hint: str = ""
    warns: bool = False


async def state_of(memory: Memory, *, administrator: bool) -> list[StateLine]:
    """Return the lines; pending work of the whole store and of this machine is for an administrator."""
    status = await memory.status()
    lines = [
        StateLine("Server", f"PostgreSQL {status.server_version}", f"pgmem {status.release}"),
        StateLine(
            "Search and graph",
            status.tier,
            ""
            if status.tier == "full"
            else "Some extensions are missing; docs/reference/servers.md lists the effects.",
            status.tier != "full",
        ),
        StateLine("Memories visible to you", f"{sum(status.memories.values()):,}"),
    ]
    if not administrator:
        return lines
    backlog, models, refused = await asyncio.gather(
        memory.backlog(), memory.embedding_status(), memory.list_outstanding()
    )
    waiting, queued = backlog.embeddings_waiting, memory.outbox_depth()
    failed = sum(backlog.saves_open.values())
    lines += [
        StateLine("Texts to embed", f"{waiting:,}", "The worker embeds them." if waiting else ""),
        StateLine("Open saves", f"{failed:,}", "See Decide, Failed saves." if failed else "", bool(failed)),
        StateLine(
            "Queued on this machine",
            f"{queued:,}",
            "Sent when the database answers." if queued else "",
            bool(queued),
        ),
        StateLine(
            "Refused in a sync",
            f"{len(refused):,}",
            "pgmem sync --outstanding lists them; each sync offers them again." if refused else "",
            bool(refused),
        ),
        *(
            StateLine(
                "Embedding model", model.model, f"{model.vectors:,} vectors of {model.dimensions} dimensions"
            )
            for model in models
            if model.active
        ),
    ]
    behind = memory.replica_behind_s()
    if behind is not None:
        lines.append(StateLine("Replica", f"{behind:.1f} s behind"))
    return lines

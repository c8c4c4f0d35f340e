"""The replay of the outbox: queued saves are sent in order, for each tenant and project."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from uuid import uuid4

import anyio
import psycopg

from pgmem.calls.caller import Caller
from pgmem.database.attached import Attached
from pgmem.database.database import Database
from pgmem.database.verdict import verdict
from pgmem.errors import (
    CellSilent,
    InvalidArgument,
    PgmemError,
    SaveIdReused,
    first_line,
    summary,
)
from pgmem.escaping import counted
from pgmem.outbox import QueuedSave

log = logging.getLogger("pgmem")


async def replay_outbox(caller: Caller, within_s: float = inf) -> int:
    """Send the saves in the outbox, in order for each tenant and project; returns how many were recorded.

    Stops when the database does not answer or was upgraded since it was opened. A save older than `outbox_days`, or
    one that the database refuses, is recorded as failed. No save makes this raise.

    Args:
        caller: whose outbox it is.
        within_s: begin no further save after this many seconds; the others stay in the outbox.
    """
    if isinstance(caller.database, Attached):
        return 0
    caller.database.outbox.sweep()
    try:
        done = await _replay(caller, within_s=within_s)
    except PgmemError as error:
        if verdict(error) == "fail":
            raise
        _log_queued(caller, summary(error))
        return 0
    if done.trouble is not None:
        _log_queued(caller, done.trouble)
    return done.arrived


@dataclass(slots=True)
class Replayed:
    """How many saves were recorded, and why lanes were left: busy (another process replays) or stuck (refused).

    `trouble` is why the last save that was refused for now was not recorded.
    """

    arrived: int = 0
    left: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None


async def _replay(
    caller: Caller, only: str | None = None, *, besides: str | None = None, within_s: float = inf
) -> Replayed:
    """Replay one lane, or all of them.

    Args:
        caller: whose outbox it is.
        only: the lane; None means all.
        besides: a lane to leave out.
        within_s: begin no further save after this many seconds.

    Raises:
        DatabaseUnavailable: the database does not answer; saves not sent stay in the outbox.
    """
    outbox, deadline = caller.database.outbox, monotonic() + within_s
    done = Replayed()
    # Repeated until nothing is new, because saves that come during the replay of their lane queue behind it.
    while todo := [
        path for path in outbox.pending(only) if outbox.lane_of(path) not in (besides, *done.left)
    ]:
        for path in todo:
            own = outbox.lane_of(path)
            if monotonic() > deadline:
                return done
            if own in done.left:
                continue
            with outbox.holding(path) as state:
                if state == "ours" and (save := outbox.read(path)) is not None:
                    if besides is not None and caller.database.acting_as(save.scope).rests:
                        done.left[own] = "stuck"
                        continue
                    try:
                        trouble = await _arrive(caller, save, within_s)
                        if trouble is None:
                            outbox.remove(path)
                            done.arrived += 1
                            continue
                        done.trouble = trouble
                    except CellSilent as error:
                        if only is not None:
                            raise
                        done.trouble = summary(error)  # lanes of other organisations go on
                    except OSError as error:
                        log.error("queued save %s was sent and cannot be removed: %s", path, error)
                    done.left[own] = "stuck"
                elif state in ("busy", "stuck"):
                    done.left[own] = state
    return done


async def _arrive(caller: Caller, save: QueuedSave, within_s: float) -> str | None:
    """Send a queued save with the caller and the time it was made at; returns why it is not recorded now."""
    settings = caller.database.settings
    database = caller.database.acting_as(save.scope, source=save.source, made_at=save.made_at)
    try:
        if save.age_days > settings.outbox_days:
            message = f"Given up after {settings.outbox_days:g} days in the outbox."
            await record_failure(database, save, message)
        else:
            timeout = min(settings.write_timeout_s, within_s)
            await database.rows(save.verb, timeout, save_id=save.save_id, **save.params)
    except (PgmemError, psycopg.Error, TypeError) as error:
        found = verdict(error)
        if found == "again":
            return summary(error)  # a smaller save of another lane may go through
        if found != "fail":
            raise
        log.warning("queued save %s was refused: %s", save.save_id, summary(error))
        # No replay can succeed. It is recorded, so that people see it and the later saves can go on.
        if isinstance(error, SaveIdReused):
            save = replace(save, save_id=uuid4())
        try:
            readable = not isinstance(error, InvalidArgument | TypeError)
            await record_failure(database, save, f"Not saved: {first_line(error)}", readable=readable)
        except (PgmemError, psycopg.Error) as second:
            if verdict(second) in ("queue", "uncertain"):
                raise
            return summary(second)
    return None


async def in_turn(caller: Caller, own: str) -> bool:
    """Replay the earlier saves of a lane; returns whether the next save may be sent now."""
    outbox, patience = caller.database.outbox, caller.database.settings.connect_timeout_s
    deadline = monotonic() + patience
    while outbox.pending(own):
        left = (await _replay(caller, own, within_s=patience)).left.get(own)
        if left == "stuck":
            return True  # the save that blocks the earlier ones must not block this one too
        if monotonic() > deadline:
            return False
        if left == "busy":
            await anyio.sleep(0.05)
    return True


async def replay_others(caller: Caller, own: str) -> None:
    """The database answers: replay the other lanes for a moment."""
    if caller.database.outbox.pending():
        try:
            # The share of another tenant may be held by calls that get no answer.
            with anyio.move_on_after(1):
                await _replay(caller, besides=own, within_s=0.25)
        except PgmemError as error:
            if verdict(error) == "fail":
                raise
            _log_queued(caller, summary(error))


def _log_queued(caller: Caller, trouble: str) -> None:
    """Log how many saves stay in the outbox, and why."""
    if count := len(caller.database.outbox.pending()):
        log.warning("%s in the outbox: %s", counted(count, "save stays", "saves stay"), trouble)


async def record_failure(
    database: Database, save: QueuedSave, message: str, *, readable: bool = True
) -> None:
    """Record a queued save that cannot succeed as failed, so that people see it and later saves go on."""
    await database.rows(
        "fail_save",
        save_id=save.save_id,
        verb=save.verb,
        arguments=save.params,
        message=message,
        readable=readable,
    )

"""Saves: each is retried once, and the outbox keeps it while the database is away."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from datetime import date as Date
from itertools import chain
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import anyio
import anyio.to_thread
import psycopg

from pgmem._verbs import VERBS
from pgmem.calls.caller import Caller
from pgmem.calls.replay import in_turn, record_failure, replay_others
from pgmem.database.attached import Attached
from pgmem.database.call import Request, build
from pgmem.database.verdict import verdict
from pgmem.database.watch import Save
from pgmem.errors import (
    Busy,
    CellSilent,
    DatabaseUnavailable,
    InvalidArgument,
    MemoryNotFound,
    OutOfResources,
    PgmemError,
    SchemaOutdated,
    first_line,
    summary,
)
from pgmem.models import BatchSaveResult, OpenSave, Remembered, SaveResult, SaveStatus
from pgmem.outbox import QueuedSave, lane

log = logging.getLogger("pgmem")

_QUEUED = "The database does not answer. The save is in the outbox and is sent when the database answers."
_SHORT = "The database has no memory or disk space left. The save is in the outbox and is sent when it has."
_OUTDATED = "The store was upgraded while this program ran. The save is in the outbox for the next program that starts."
_BEHIND = "Earlier saves of this project are still in the outbox. This one is sent after them."

_PARTS = tuple(
    name
    for name, argument in VERBS["store_session_with_learnings"].arguments.items()
    if argument.type in ("jsonb", "pgmem.objects")
)
"""The arguments of a batch that hold its parts."""


def holds_globally(arguments: Mapping[str, Any]) -> bool:
    """Whether a save, or a part of a batch, holds for all projects; `is_global` in SQL says it of one part."""
    sent = (arguments.get(name) for name in _PARTS)
    lists = (value if isinstance(value, list | tuple) else (value,) for value in sent)
    parts = (arguments, *chain.from_iterable(lists))
    return any(isinstance(part, Mapping) and part.get("scope") == "global" for part in parts)


async def store_session_with_learnings(caller: Caller, params: dict[str, Any]) -> BatchSaveResult:
    """Save a batch; the outbox keeps it while the database is away."""
    params, save_id, token = _split(params)
    verb = "store_session_with_learnings"
    row = await _write(caller, verb, params, save_id, token, holds_globally(params))
    status = row.status if isinstance(row, SaveResult) else str(row["overall"])
    caller.database.notice(Save(verb, status, None))
    if isinstance(row, SaveResult):
        return BatchSaveResult(
            overall=row.status,  # type: ignore[arg-type]
            message=row.message,
            next_step=row.next_step,
            save_id=save_id,
        )
    return build(BatchSaveResult, row)


async def remember(caller: Caller, params: dict[str, Any]) -> Remembered:
    """Remember with a vector, without secrets."""
    given = caller.scrubbed("remember", {**params, "relations": params["relations"] or {}})
    return await caller.one("remember", Remembered, {**given, **await caller.embedding("remember", given)})


async def preview_global_write(caller: Caller, params: dict[str, Any]) -> str:
    """Return the texts of a save as it would be made: without secrets."""
    return await caller.value("preview_global_write", str, caller.scrubbed("save_context", params))


async def get_save_status(caller: Caller, params: dict[str, Any]) -> SaveStatus:
    """Add the saves in the outbox of this machine; while the database is away, return only those."""
    project_id, session_id, save_id = params["project_id"], params["session_id"], params["save_id"]
    queued = [] if isinstance(caller.database, Attached) else _queued(caller, project_id, session_id, save_id)
    try:
        found = await caller.one("get_save_status", SaveStatus, params)
    except (DatabaseUnavailable, MemoryNotFound):
        if not queued:
            raise
        found = SaveStatus(status="pending_retry", count=0)
    if not queued or (save_id is not None and found.status in ("saved", "partial", "dropped")):
        return found
    listed = [
        OpenSave(
            verb=s.verb,
            save_id=s.save_id,
            status="pending_retry",
            created_at=s.made_at,
            project=s.params.get("project_id"),
        )
        for s in queued
    ]
    known = {s.save_id for s in listed}
    kept = [] if save_id else [s for s in found.saves if s.save_id not in known]
    oldest = [s.made_at for s in queued] + ([found.oldest_pending_at] if found.oldest_pending_at else [])
    return SaveStatus(
        status="pending_retry",
        count=len(kept) + len(listed),
        oldest_pending_at=min(oldest),
        artifact_ids=found.artifact_ids,
        saves=kept + listed,
    )


def _queued(
    caller: Caller, project_id: str | None, session_id: str | None, save_id: UUID | None
) -> list[QueuedSave]:
    outbox, scope = caller.database.outbox, caller.database.scope
    found = [outbox.read(path) for path in outbox.pending(lane(scope, project_id) if project_id else None)]
    return [
        save
        for save in found
        if save is not None
        and save_id in (None, save.save_id)
        and session_id in (None, save.scope.session_id)
        and (save.scope.org_id, save.scope.user_id) == (scope.org_id, scope.user_id)
    ]


async def save(caller: Caller, verb: str, params: dict[str, Any]) -> SaveResult:
    """Save, and return a status whatever the outcome is."""
    params, save_id, token = _split(params)
    if "date" in params:
        params["date"] = _date(params["date"])
    row = await _write(caller, verb, params, save_id, token, holds_globally(params))
    result = row if isinstance(row, SaveResult) else build(SaveResult, row)
    caller.database.notice(Save(verb, result.status, result.dedup_outcome))
    return result


async def _write(
    caller: Caller,
    verb: str,
    params: dict[str, Any],
    save_id: UUID,
    governance_token: str | None,
    is_global: bool,
) -> SaveResult | Mapping[str, Any]:
    """Send a save, once more if the connection was lost, and then put it into the outbox."""
    sent = caller.scrubbed(verb, params)
    embedding = await caller.embedding(verb, sent)
    # A save that cannot be sent is refused here, before anything is queued.
    request = Request(verb, {"save_id": save_id, "governance_token": governance_token, **sent, **embedding})
    if isinstance(caller.database, Attached):
        return (await caller.database.send(request))[0]
    save = QueuedSave(
        save_id=save_id,
        verb=verb,
        params=sent,
        scope=caller.database.scope,
        source=caller.database.source,
        made_at=datetime.now(UTC),
    )
    return await _send(caller, save, request, is_global)


async def _send(
    caller: Caller, save: QueuedSave, request: Request, is_global: bool
) -> SaveResult | Mapping[str, Any]:
    """Send a save after the earlier ones of its lane.

    Args:
        caller: who sends it.
        save: as the outbox would keep it.
        request: the call of the verb.
        is_global: it waits for no other save, and is never queued.
    """
    settings = caller.database.settings
    own = lane(save.scope, save.params.get("project_id"))
    started, uncertain, known_away = monotonic(), False, caller.database.is_away
    why = _QUEUED
    for first in (True, False):
        try:
            if not first:
                await anyio.sleep(settings.retry_wait_s)
                await caller.database.recover()
            if not is_global and not await in_turn(caller, own):
                return await _queue(caller, save, _BEHIND)
            rows = await caller.database.send(request)
            caller.logged.unsent = False
            await replay_others(caller, own)
            return rows[0]
        except (PgmemError, psycopg.Error) as error:
            found = verdict(error, by_front=caller.database.is_front)
            uncertain = uncertain or found == "uncertain"
            if isinstance(error, Busy):
                # The server answers, so nothing is kept for it here: queued saves would only add to its load.
                step = "Save again with this save_id in a moment; nothing is saved twice."
                return _failed(save.save_id, error, step)
            if isinstance(error, SchemaOutdated):
                # Nothing was written, and the program that starts next sends it as its release does.
                if is_global:
                    step = "Restart this program and save again with this save_id."
                    return _failed(save.save_id, error, step)
                return await _queue(caller, save, _OUTDATED, "Restart this program; the save is sent then.")
            if isinstance(error, psycopg.Error):
                if not uncertain:
                    return await _refused(caller, save, error)
                # The first try may still be running, and this one only timed out behind it.
                log.warning("save %s could not be sent again: %s", save.save_id, summary(error))
                break
            if found == "fail":
                raise
            _log_unsent(caller, save, error)
            why = _SHORT if isinstance(error, OutOfResources) else _QUEUED
            # A front answers at once, and a repeated save waits as long. A server that was away before this
            # call is asked once, and not for long.
            silent, late = (
                isinstance(error, CellSilent),
                monotonic() - started > settings.connect_timeout_s + 5,
            )
            if silent or known_away or late:
                break
    return _unsent_global(save.save_id, uncertain) if is_global else await _queue(caller, save, why)


def _log_unsent(caller: Caller, save: QueuedSave, error: Exception) -> None:
    log.log(caller.logged.level("unsent"), "save %s could not be sent: %s", save.save_id, summary(error))


async def _queue(
    caller: Caller,
    save: QueuedSave,
    message: str,
    next_step: str = "Go on; get_save_status shows when it is saved.",
) -> SaveResult:
    """Put a save into the outbox; it is pending_retry only once it is on disk."""
    outbox = caller.database.outbox
    try:
        await anyio.to_thread.run_sync(outbox.put, save)
    except OSError as error:
        log.error("save %s is lost: the outbox cannot be written: %s", save.save_id, error)
        return _failed(
            save.save_id,
            f"The database is away, and the outbox {outbox.folder} cannot be written: {error}",
            "Make the folder writable and save again with this save_id.",
        )
    return SaveResult(status="pending_retry", message=message, next_step=next_step, save_id=save.save_id)


async def _refused(caller: Caller, save: QueuedSave, error: psycopg.Error) -> SaveResult:
    """Record a save that the server refused, such as one that exceeded its timeout, as failed."""
    if error.sqlstate is None:
        raise InvalidArgument(first_line(error)) from error
    message = f"Not saved: {first_line(error)}"
    try:
        await record_failure(caller.database, save, message)
    except (PgmemError, psycopg.Error) as second:
        log.warning("failed save %s is not recorded: %s", save.save_id, summary(second))
    return _failed(save.save_id, message)


def _failed(save_id: UUID, message: object, next_step: str | None = None) -> SaveResult:
    return SaveResult(status="failed", message=str(message), next_step=next_step, save_id=save_id)


def _unsent_global(save_id: UUID, uncertain: bool) -> SaveResult:
    """Return the outcome of a global save that was not answered: in the outbox, its token would expire."""
    if uncertain:
        return _failed(
            save_id,
            "The connection was lost: it may be saved or not. A global save is never queued.",
            "Save again with this save_id when the database answers; nothing is saved twice.",
        )
    return _failed(
        save_id,
        "The database does not answer, and a global save is never queued.",
        "Request a new approval and save again when the database answers.",
    )


def _date(value: Date | str | None) -> Date | None:
    if not isinstance(value, str):
        return value
    try:
        return Date.fromisoformat(value.strip())
    except ValueError:
        raise InvalidArgument(f"date is not a valid date: {value[:40]!r}; send YYYY-MM-DD.") from None


def _split(params: dict[str, Any]) -> tuple[dict[str, Any], UUID, str | None]:
    """Return the arguments that the outbox keeps, the id of the save, and its token."""
    kept = {name: value for name, value in params.items() if name not in ("save_id", "governance_token")}
    return kept, params["save_id"] or uuid4(), params["governance_token"]

"""Saves: each is retried once, and the outbox keeps it while the database is away."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from datetime import date as Date
from math import inf
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import anyio
import anyio.to_thread
import psycopg

from pgmem.database.attached import Attached
from pgmem.database.call import build, clean
from pgmem.database.database import Database
from pgmem.database.outbox import QueuedSave, lane
from pgmem.database.watch import Save
from pgmem.engines.base import Engine
from pgmem.errors import (
    Busy,
    DatabaseUnavailable,
    EmbeddedServerError,
    InvalidArgument,
    MemoryNotFound,
    OutcomeUnknown,
    OutOfResources,
    PgmemError,
    SaveIdReused,
    SchemaOutdated,
    first_line,
    summary,
)
from pgmem.models import BatchSaveResult, OpenSave, Remembered, SaveResult, SaveStatus
from pgmem.neutral import counted

log = logging.getLogger("pgmem")

_QUEUED = "The database does not answer. The save is in the outbox and is sent when the database answers."
_SHORT = "The database has no memory or disk space left. The save is in the outbox and is sent when it has."
_OUTDATED = "The store was upgraded while this program ran. The save is in the outbox for the next program that starts."
_BEHIND = "Earlier saves of this project are still in the outbox. This one is sent after them."

# SQLSTATE classes of errors that a later try may not meet: deadlock, lack of resources, timeout, shutdown of the
# server.
_TEMPORARY = ("40", "53", "55", "57")


class Saves(Engine):
    """A save returns a status; it raises only for arguments that cannot be read."""

    async def _store_session_with_learnings(self, params: dict[str, Any]) -> BatchSaveResult:
        """Save a batch; the outbox keeps it while the database is away."""
        params, save_id, token = _split(params)
        parts = (params["session"], *(params["decisions"] or ()), *(params["patterns"] or ()))
        is_global = any(part.get("scope") == "global" for part in parts)
        verb = "store_session_with_learnings"
        row = await self._write(verb, params, save_id, token, is_global)
        status = row.status if isinstance(row, SaveResult) else str(row["overall"])
        self._database.notice(Save(verb, status, None))
        if isinstance(row, SaveResult):
            return BatchSaveResult(
                overall=row.status,  # type: ignore[arg-type]
                message=row.message,
                next_step=row.next_step,
                save_id=save_id,
            )
        return build(BatchSaveResult, row)

    async def _remember(self, params: dict[str, Any]) -> Remembered:
        """Remember with a vector, without secrets."""
        given = self._scrubbed("remember", {**params, "relations": params["relations"] or {}})
        return await self._one("remember", Remembered, {**given, **await self._embedding("remember", given)})

    async def _preview_global_write(self, params: dict[str, Any]) -> str:
        """Return the texts of a save as it would be made: without secrets."""
        arguments = self._scrubbed("save_context", params["arguments"])
        return await self._value("preview_global_write", str, {"arguments": arguments})

    async def _get_save_status(self, params: dict[str, Any]) -> SaveStatus:
        """Add the saves in the outbox of this machine; while the database is away, return only those."""
        project_id, session_id, save_id = params["project_id"], params["session_id"], params["save_id"]
        queued = [] if isinstance(self._database, Attached) else self._queued(project_id, session_id, save_id)
        try:
            found = await self._one("get_save_status", SaveStatus, params)
        except (DatabaseUnavailable, MemoryNotFound):
            if not queued:
                raise
            found = SaveStatus(status="pending_retry", count=0)
        if not queued or (save_id is not None and found.status in ("saved", "partial", "dropped")):
            return found
        listed = [
            OpenSave(verb=s.verb, save_id=s.save_id, status="pending_retry", created_at=s.made_at)
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

    async def replay_outbox(self, within_s: float = inf) -> int:
        """Send the saves in the outbox, in order for each tenant and project; returns how many were recorded.

        Stops when the database does not answer or was upgraded since it was opened. A save older than `outbox_days`, or
        one that the database refuses, is recorded as failed. No save makes this raise.

        Args:
            within_s: begin no further save after this many seconds; the others stay in the outbox.
        """
        if isinstance(self._database, Attached):
            return 0
        self._database.outbox.sweep()
        try:
            done = await self._replay(within_s=within_s)
        except (DatabaseUnavailable, EmbeddedServerError, SchemaOutdated) as error:
            self._log_queued(summary(error))
            return 0
        if done.trouble is not None:
            self._log_queued(done.trouble)
        return done.arrived

    def _log_queued(self, trouble: str) -> None:
        """Log how many saves stay in the outbox, and why."""
        if count := len(self._database.outbox.pending()):
            log.warning("%s in the outbox: %s", counted(count, "save stays", "saves stay"), trouble)

    def _queued(self, project_id: str, session_id: str | None, save_id: UUID | None) -> list[QueuedSave]:
        outbox, scope = self._database.outbox, self._database.scope
        found = [outbox.read(path) for path in outbox.pending(lane(scope, project_id))]
        return [
            save
            for save in found
            if save is not None
            and save_id in (None, save.save_id)
            and session_id in (None, save.scope.session_id)
            and (save.scope.org_id, save.scope.user_id) == (scope.org_id, scope.user_id)
        ]

    async def _replay(
        self, only: str | None = None, *, besides: str | None = None, within_s: float = inf
    ) -> _Replayed:
        """Replay one lane, or all of them.

        Args:
            only: the lane; None means all.
            besides: a lane to leave out.
            within_s: begin no further save after this many seconds.

        Raises:
            DatabaseUnavailable: the database does not answer; what was not sent stays in the outbox.
        """
        outbox, deadline = self._database.outbox, monotonic() + within_s
        done = _Replayed()
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
                        try:
                            trouble = await self._arrive(save, within_s)
                            if trouble is None:
                                outbox.remove(path)
                                done.arrived += 1
                                continue
                            done.trouble = trouble
                        except OSError as error:
                            log.error("queued save %s was sent and cannot be removed: %s", path, error)
                        done.left[own] = "stuck"
                    elif state in ("busy", "stuck"):
                        done.left[own] = state
        return done

    async def _arrive(self, save: QueuedSave, within_s: float) -> str | None:
        """Send a queued save with the caller and the time it was made at; returns why it is not recorded now."""
        settings = self._database.settings
        database = self._database.acting_as(save.scope, source=save.source, made_at=save.made_at)
        try:
            if save.age_days > settings.outbox_days:
                message = f"Given up after {settings.outbox_days:g} days in the outbox."
                await _record_failure(database, save, message)
            else:
                timeout = min(settings.write_timeout_s, within_s)
                await database.rows(save.verb, timeout, save_id=save.save_id, **save.params)
        except OutOfResources as error:
            return summary(error)  # a smaller save of another lane may go through
        except (DatabaseUnavailable, EmbeddedServerError, SchemaOutdated):
            raise
        except (PgmemError, psycopg.Error, TypeError) as error:
            state = error.sqlstate if isinstance(error, psycopg.Error) else None
            if state is not None and state.startswith(_TEMPORARY):
                return summary(error)
            log.warning("queued save %s was refused: %s", save.save_id, summary(error))
            # No replay can succeed. It is recorded, so that people see it and the later saves can go on.
            if isinstance(error, SaveIdReused):
                save = replace(save, save_id=uuid4())
            try:
                readable = not isinstance(error, InvalidArgument | TypeError)
                await _record_failure(database, save, f"Not saved: {first_line(error)}", readable=readable)
            except (PgmemError, psycopg.Error) as second:
                if isinstance(second, DatabaseUnavailable | EmbeddedServerError | SchemaOutdated):
                    raise
                return summary(second)
        return None

    async def _in_turn(self, own: str) -> bool:
        """Replay the earlier saves of a lane; returns whether the next save may be sent now."""
        outbox, patience = self._database.outbox, self._database.settings.connect_timeout_s
        deadline = monotonic() + patience
        while outbox.pending(own):
            left = (await self._replay(own, within_s=patience)).left.get(own)
            if left == "stuck":
                return True  # the save that blocks the earlier ones must not block this one too
            if monotonic() > deadline:
                return False
            if left == "busy":
                await anyio.sleep(0.05)
        return True

    async def _replay_others(self, own: str) -> None:
        """The database answers: replay the other lanes for a moment."""
        if self._database.outbox.pending():
            try:
                await self._replay(besides=own, within_s=0.25)
            except (DatabaseUnavailable, EmbeddedServerError, SchemaOutdated) as error:
                self._log_queued(summary(error))

    async def _save(self, verb: str, params: dict[str, Any]) -> SaveResult:
        """Save, and return a status whatever the outcome is."""
        params, save_id, token = _split(params)
        if "date" in params:
            params["date"] = _date(params["date"])
        row = await self._write(verb, params, save_id, token, params.get("scope") == "global")
        result = row if isinstance(row, SaveResult) else build(SaveResult, row)
        self._database.notice(Save(verb, result.status, result.dedup_outcome))
        return result

    async def _write(
        self, verb: str, params: dict[str, Any], save_id: UUID, governance_token: str | None, is_global: bool
    ) -> SaveResult | Mapping[str, Any]:
        """Send a save, once more if the connection was lost, and then put it into the outbox."""
        sent = self._scrubbed(verb, params)
        for name, value in sent.items():
            clean(name, value)  # what cannot be sent is refused before anything is queued
        embedding = await self._embedding(verb, sent)
        call = {"save_id": save_id, "governance_token": governance_token, **sent, **embedding}
        if isinstance(self._database, Attached):
            return (await self._database.rows(verb, **call))[0]
        save = QueuedSave(
            save_id=save_id,
            verb=verb,
            params=sent,
            scope=self._database.scope,
            source=self._database.source,
            made_at=datetime.now(UTC),
        )
        return await self._send(save, call, is_global)

    async def _send(
        self, save: QueuedSave, call: dict[str, Any], is_global: bool
    ) -> SaveResult | Mapping[str, Any]:
        """Send a save after the earlier ones of its lane.

        Args:
            save: as the outbox would keep it.
            call: the arguments of the verb.
            is_global: it waits for no other save, and is never queued.
        """
        settings = self._database.settings
        own = lane(save.scope, save.params.get("project_id"))
        started, uncertain, known_away = monotonic(), False, self._database.is_away
        why = _QUEUED
        for first in (True, False):
            try:
                if not first:
                    await anyio.sleep(settings.retry_wait_s)
                    await self._database.recover()
                if not is_global and not await self._in_turn(own):
                    return await self._queue(save, _BEHIND)
                rows = await self._database.rows(save.verb, **call)
                self._logged.unsent = False
                await self._replay_others(own)
                return rows[0]
            except Busy as error:
                # The server answers, so nothing is kept for it here: what waits would only come on top of its load.
                return _failed(
                    save, error, "Save again with this save_id in a moment; nothing is saved twice."
                )
            except SchemaOutdated as error:
                # Nothing was written, and the program that starts next sends it as its release does.
                if is_global:
                    return _failed(save, error, "Restart this program and save again with this save_id.")
                return await self._queue(save, _OUTDATED, "Restart this program; the save is sent then.")
            except (DatabaseUnavailable, EmbeddedServerError) as error:
                log.log(
                    self._logged.level("unsent"),
                    "save %s could not be sent: %s",
                    save.save_id,
                    summary(error),
                )
                uncertain = uncertain or isinstance(error, OutcomeUnknown)
                why = _SHORT if isinstance(error, OutOfResources) else _QUEUED
                # A server that was away before this call is asked once, and not for long.
                if known_away or monotonic() - started > settings.connect_timeout_s + 5:
                    break
            except psycopg.Error as error:
                if not uncertain:
                    return await self._refused(save, error)
                # The first try may still be running, and this one only timed out behind it.
                log.warning("save %s could not be sent again: %s", save.save_id, summary(error))
                break
        return _unsent_global(save.save_id, uncertain) if is_global else await self._queue(save, why)

    async def _queue(
        self,
        save: QueuedSave,
        message: str,
        next_step: str = "Go on; get_save_status shows when it is saved.",
    ) -> SaveResult:
        """Put a save into the outbox; it is pending_retry only once it is on disk."""
        outbox = self._database.outbox
        try:
            await anyio.to_thread.run_sync(outbox.put, save)
        except OSError as error:
            log.error("save %s is lost: the outbox cannot be written: %s", save.save_id, error)
            return SaveResult(
                status="failed",
                message=f"The database is away, and the outbox {outbox.folder} cannot be written: {error}",
                next_step="Make the folder writable and save again with this save_id.",
                save_id=save.save_id,
            )
        return SaveResult(
            status="pending_retry",
            message=message,
            next_step=next_step,
            save_id=save.save_id,
        )

    async def _refused(self, save: QueuedSave, error: psycopg.Error) -> SaveResult:
        """Record a save that the server refused, such as one that exceeded its timeout, as failed."""
        if error.sqlstate is None:
            raise InvalidArgument(first_line(error)) from error
        message = f"Not saved: {first_line(error)}"
        try:
            await _record_failure(self._database, save, message)
        except (PgmemError, psycopg.Error) as second:
            log.warning("failed save %s is not recorded: %s", save.save_id, summary(second))
        return SaveResult(status="failed", message=message, save_id=save.save_id)


@dataclass(slots=True)
class _Replayed:
    """How many saves were recorded, and why lanes were left: busy (another process replays) or stuck (refused).

    `trouble` is why the last save that was refused for now was not recorded.
    """

    arrived: int = 0
    left: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None


def _failed(save: QueuedSave, error: Exception, next_step: str) -> SaveResult:
    return SaveResult(status="failed", message=str(error), next_step=next_step, save_id=save.save_id)


def _unsent_global(save_id: UUID, uncertain: bool) -> SaveResult:
    """Return the outcome of a global save that was not answered: in the outbox, its token would expire."""
    if uncertain:
        return SaveResult(
            status="failed",
            message="The connection was lost: it may be saved or not. A global save is never queued.",
            next_step="Save again with this save_id when the database answers; nothing is saved twice.",
            save_id=save_id,
        )
    return SaveResult(
        status="failed",
        message="The database does not answer, and a global save is never queued.",
        next_step="Request a new approval and save again when the database answers.",
        save_id=save_id,
    )


async def _record_failure(
    database: Database, save: QueuedSave, message: str, *, readable: bool = True
) -> None:
    await database.rows(
        "fail_save",
        save_id=save.save_id,
        verb=save.verb,
        arguments=save.params,
        message=message,
        readable=readable,
    )


def _date(value: Date | str | None) -> Date | None:
    if not isinstance(value, str):
        return value
    try:
        return Date.fromisoformat(value.strip())
    except ValueError:
        raise InvalidArgument(f"date is no date: {value[:40]!r}; send YYYY-MM-DD.") from None


def _split(params: dict[str, Any]) -> tuple[dict[str, Any], UUID, str | None]:
    """Return the arguments that the outbox keeps, the id of the save, and its token."""
    kept = {name: value for name, value in params.items() if name not in ("save_id", "governance_token")}
    return kept, params["save_id"] or uuid4(), params["governance_token"]

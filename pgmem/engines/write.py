"""WriteEngine: every save, its one retry, and the outbox that keeps it while the database is away."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from datetime import date as Date
from math import inf
from time import monotonic
from typing import Any, Literal
from uuid import UUID, uuid4

import anyio
import anyio.to_thread
import psycopg

from pgmem.database.call import build, clean
from pgmem.database.outbox import QueuedSave, lane
from pgmem.database.pool import Attached, Database
from pgmem.database.watch import Save
from pgmem.engines.base import Engine
from pgmem.engines.secrets import scrubbed
from pgmem.errors import (
    DatabaseUnavailable,
    EmbeddedServerError,
    InvalidArgument,
    OutcomeUnknown,
    PgmemError,
    SaveIdReused,
    first_line,
    summary,
)
from pgmem.models import BatchSaveResult, MemoryScopeName, SaveResult, SaveStatus

__all__ = ["WriteEngine"]

Share = Literal["private", "org"]
log = logging.getLogger("pgmem")

_QUEUED = "The database does not answer. The save is kept in the outbox and made when it does."
_BEHIND = "Earlier saves of this project are still on their way. This one is kept and made after them."

# What passes: deadlocks, a server out of room, a lock or a statement that took too long, a server going down.
_PASSING = ("40", "53", "55", "57")


class WriteEngine(Engine):
    """Saving. A save answers with a status; it raises only for arguments it cannot read."""

    async def save_session(
        self,
        objective: str,
        project_id: str,
        actions_taken: Sequence[str] = (),
        decisions_made: Sequence[str] = (),
        open_items: Sequence[str] = (),
        next_actions: Sequence[str] = (),
        focus: str | None = None,
        scope: MemoryScopeName = "project",
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Share | None = None,
    ) -> SaveResult:
        """Save what a session did and what is open; it alone creates its project."""
        params = {
            "objective": objective,
            "project_id": project_id,
            "actions_taken": list(actions_taken),
            "decisions_made": list(decisions_made),
            "open_items": list(open_items),
            "next_actions": list(next_actions),
            "focus": focus,
            "scope": scope,
            "share": share,
        }
        return await self._save("save_session", params, save_id, governance_token)

    async def save_decision(
        self,
        title: str,
        rationale: str,
        project_id: str,
        owner: str | None = None,
        date: Date | str | None = None,
        scope: MemoryScopeName = "project",
        focus: str | None = None,
        confidence: float = 1.0,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Share | None = None,
    ) -> SaveResult:
        """Save a decision: a repeat is skipped, a near title supersedes, a half-near one awaits a person."""
        params = {
            "title": title,
            "rationale": rationale,
            "project_id": project_id,
            "owner": owner,
            "date": _date(date),
            "scope": scope,
            "focus": focus,
            "confidence": confidence,
            "share": share,
        }
        return await self._save("save_decision", params, save_id, governance_token)

    async def save_pattern(
        self,
        trigger: str,
        repeatable_steps: Sequence[str],
        project_id: str,
        exclusions: Sequence[str] = (),
        scope: MemoryScopeName = "project",
        last_validated_at: datetime | None = None,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        focus: str | None = None,
        share: Share | None = None,
    ) -> SaveResult:
        """Save a repeatable way of working: when it applies and its steps."""
        params = {
            "trigger": trigger,
            "repeatable_steps": list(repeatable_steps),
            "project_id": project_id,
            "exclusions": list(exclusions),
            "scope": scope,
            "last_validated_at": last_validated_at,
            "focus": focus,
            "share": share,
        }
        return await self._save("save_pattern", params, save_id, governance_token)

    async def save_context(
        self,
        content: str,
        project_id: str,
        topic: str | None = None,
        scope: MemoryScopeName = "project",
        focus: str | None = None,
        relevance_score: float = 1.0,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Share | None = None,
        valid_from: datetime | None = None,
    ) -> SaveResult:
        """Save a free piece of context; every call is a memory of its own. `valid_from`: when it was told or became true."""
        params = {
            "content": content,
            "project_id": project_id,
            "topic": topic,
            "scope": scope,
            "focus": focus,
            "relevance_score": relevance_score,
            "share": share,
            "valid_from": valid_from,
        }
        return await self._save("save_context", params, save_id, governance_token)

    async def upsert_entity(
        self,
        entity_name: str,
        fact: str,
        project_id: str,
        related_entities: Sequence[Mapping[str, Any]] = (),
        scope: MemoryScopeName = "project",
        focus: str | None = None,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Share | None = None,
    ) -> SaveResult:
        """Save the present fact about a named entity; the fact before stays in its history."""
        params = {
            "entity_name": entity_name,
            "fact": fact,
            "project_id": project_id,
            "related_entities": list(related_entities) or None,
            "scope": scope,
            "focus": focus,
            "share": share,
        }
        return await self._save("upsert_entity", params, save_id, governance_token)

    async def store_session_with_learnings(
        self,
        session: Mapping[str, Any],
        project_id: str,
        decisions: Sequence[Mapping[str, Any]] = (),
        patterns: Sequence[Mapping[str, Any]] = (),
        focus: str | None = None,
        governance_token: str | None = None,
        atomic: bool = False,
        save_id: UUID | None = None,
        share: Share | None = None,
    ) -> BatchSaveResult:
        """Save a session with what was learned in it; atomic: all or nothing."""
        params = {
            "session": dict(session),
            "project_id": project_id,
            "decisions": list(decisions) or None,
            "patterns": list(patterns) or None,
            "focus": focus,
            "atomic": atomic,
            "share": share,
        }
        is_global = any(part.get("scope") == "global" for part in (session, *decisions, *patterns))
        save_id = save_id or uuid4()
        verb = "store_session_with_learnings"
        row = await self._write(verb, params, save_id, governance_token, is_global)
        status = row.status if isinstance(row, SaveResult) else str(row["overall"])
        self._database.notice(Save(verb, status, None))
        if isinstance(row, SaveResult):
            return BatchSaveResult(
                overall=row.status,  # type: ignore[arg-type]
                message=row.message,
                next_step=row.next_step,
                save_id=save_id,
            )
        parts = {name: [_result(part) for part in row[name]] for name in ("decisions", "patterns")}
        session_result = _result(row["session"]) if row["session"] else None
        return build(BatchSaveResult, {**row, **parts, "session": session_result})

    async def get_save_status(
        self, project_id: str, session_id: str | None = None, save_id: UUID | None = None
    ) -> SaveStatus:
        """The saves of a project that are not saved, those in this machine's outbox included, or one save.

        While the database is away it tells what waits in the outbox.

        Raises:
            DatabaseUnavailable: the database does not answer and nothing waits.
        """
        waiting = (
            [] if isinstance(self._database, Attached) else self._waiting(project_id, session_id, save_id)
        )
        try:
            found = await self._database.one(
                "get_save_status", SaveStatus, project_id=project_id, session_id=session_id, save_id=save_id
            )
        except DatabaseUnavailable:
            if not waiting:
                raise
            found = SaveStatus(status="pending_retry", count=0)
        if not waiting or (save_id is not None and found.status in ("saved", "partial", "dropped")):
            return found
        listed = [
            {"verb": s.verb, "save_id": str(s.save_id), "status": "pending_retry", "created_at": s.made_at}
            for s in waiting
        ]
        known = {s["save_id"] for s in listed}
        kept = [] if save_id else [s for s in found.saves if str(s.get("save_id")) not in known]
        oldest = [s.made_at for s in waiting] + ([found.oldest_pending_at] if found.oldest_pending_at else [])
        return SaveStatus(
            status="pending_retry",
            count=len(kept) + len(listed),
            oldest_pending_at=min(oldest),
            artifact_ids=found.artifact_ids,
            saves=kept + listed,
        )

    async def retry_save(self, save_id: UUID, governance_token: str | None = None) -> SaveResult:
        """Run a save that was not saved again, with the arguments it had."""
        return await self._database.one(
            "retry_save", SaveResult, save_id=save_id, governance_token=governance_token
        )

    async def replay_outbox(self, within_s: float = inf) -> int:
        """Make the saves that wait in the outbox, in order for each tenant and project; how many arrived.

        Stops when the database does not answer. A save older than `outbox_days`, or one the database refuses
        to read, is put on record as failed. It raises for none of them.

        Args:
            within_s: begin no further save after this many seconds; the others wait for the next replay.
        """
        if isinstance(self._database, Attached):
            return 0
        self._database.outbox.sweep()
        try:
            return (await self._replay(within_s=within_s)).arrived
        except (DatabaseUnavailable, EmbeddedServerError) as error:
            log.warning("the outbox has to wait: %s", summary(error))
            return 0

    def _waiting(self, project_id: str, session_id: str | None, save_id: UUID | None) -> list[QueuedSave]:
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

        Raises:
            DatabaseUnavailable: the database does not answer; what has not arrived still waits.
        """
        outbox, deadline = self._database.outbox, monotonic() + within_s
        done = _Replayed()
        # Again until nothing is new: a save that comes while its lane is being replayed queues behind it.
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
                            if await self._arrive(save, within_s):
                                outbox.remove(path)
                                done.arrived += 1
                                continue
                        except OSError as error:
                            log.error("queued save %s has arrived and cannot be removed: %s", path, error)
                        done.left[own] = "stuck"
                    elif state in ("busy", "stuck"):
                        done.left[own] = state
        return done

    async def _arrive(self, save: QueuedSave, within_s: float) -> bool:
        """Make one queued save under the name and the time it was made; whether it is on record now."""
        settings = self._database.settings
        database = self._database.acting_as(save.scope, source=save.source, made_at=save.made_at)
        try:
            if save.age_days > settings.outbox_days:
                message = f"Given up after {settings.outbox_days:g} days in the outbox."
                await _put_on_record(database, save, message)
            else:
                timeout = min(settings.write_timeout_s, within_s)
                await database.rows(save.verb, timeout, save_id=save.save_id, **save.params)
        except (DatabaseUnavailable, EmbeddedServerError):
            raise
        except (PgmemError, psycopg.Error, TypeError) as error:
            log.warning("queued save %s was refused: %s", save.save_id, summary(error))
            state = error.sqlstate if isinstance(error, psycopg.Error) else None
            if state is not None and state.startswith(_PASSING):
                return False
            # What no replay will ever make: on record, so that it is seen, and out of the way of the rest.
            if isinstance(error, SaveIdReused):
                save = replace(save, save_id=uuid4())
            try:
                await _put_on_record(database, save, f"Not saved: {first_line(error)}")
            except (PgmemError, psycopg.Error) as second:
                if isinstance(second, DatabaseUnavailable | EmbeddedServerError):
                    raise
                return False
        return True

    async def _in_turn(self, own: str) -> bool:
        """Replay the earlier saves of a lane; whether the next one may be made now."""
        outbox, patience = self._database.outbox, self._database.settings.connect_timeout_s
        deadline = monotonic() + patience
        while outbox.pending(own):
            left = (await self._replay(own, within_s=patience)).left.get(own)
            if left == "stuck":
                return True  # what holds the others up shall not hold this one up too
            if monotonic() > deadline:
                return False
            if left == "busy":
                await anyio.sleep(0.05)
        return True

    async def _replay_others(self, own: str) -> None:
        """The database answers: use a moment of it for what other projects have waiting."""
        if self._database.outbox.pending():
            try:
                await self._replay(besides=own, within_s=0.25)
            except (DatabaseUnavailable, EmbeddedServerError) as error:
                log.warning("the outbox has to wait: %s", summary(error))

    async def _save(
        self, verb: str, params: dict[str, Any], save_id: UUID | None, governance_token: str | None
    ) -> SaveResult:
        save_id = save_id or uuid4()
        row = await self._write(verb, params, save_id, governance_token, params.get("scope") == "global")
        result = row if isinstance(row, SaveResult) else build(SaveResult, row)
        self._database.notice(Save(verb, result.status, result.dedup_outcome))
        return result

    async def _write(
        self, verb: str, params: dict[str, Any], save_id: UUID, governance_token: str | None, is_global: bool
    ) -> SaveResult | Mapping[str, Any]:
        """One save through the database, once more if the connection was lost; then to the outbox."""
        sent = {name: value for name, value in params.items() if value is not None}
        sent = scrubbed(sent, self._database.settings.scrub_secrets)
        for name, value in sent.items():
            clean(name, value)  # what cannot be sent is refused before anything is queued
        embedding = await self._embedding(verb, sent)
        if isinstance(self._database, Attached):
            rows = await self._database.rows(
                verb, save_id=save_id, governance_token=governance_token, **sent, **embedding
            )
            return rows[0]
        settings = self._database.settings
        save = QueuedSave(
            save_id=save_id,
            verb=verb,
            params=sent,
            scope=self._database.scope,
            source=self._database.source,
            made_at=datetime.now(UTC),
        )
        own = lane(save.scope, sent.get("project_id"))
        started, uncertain = monotonic(), False
        for first in (True, False):
            try:
                if not first:
                    await anyio.sleep(settings.retry_wait_s)
                    await self._database.recover()
                if not is_global and not await self._in_turn(own):
                    return await self._queue(save, _BEHIND)
                rows = await self._database.rows(
                    verb, save_id=save_id, governance_token=governance_token, **sent, **embedding
                )
                await self._replay_others(own)
                return rows[0]
            except (DatabaseUnavailable, EmbeddedServerError) as error:
                log.warning("save %s could not be made: %s", save_id, summary(error))
                uncertain = uncertain or isinstance(error, OutcomeUnknown)
                if monotonic() - started > settings.connect_timeout_s + 5:
                    break
            except psycopg.Error as error:
                if not uncertain:
                    return await self._refused(save, error)
                # The first try may still be at work, and this one only timed out behind it.
                log.warning("save %s could not be made again: %s", save_id, summary(error))
                break
        if not is_global:
            return await self._queue(save, _QUEUED)
        # A queued token would be dead when its turn comes.
        if uncertain:
            return SaveResult(
                status="failed",
                message="The connection was lost: it may be saved or not. A global save is never queued.",
                next_step="Save again with this save_id when it answers: nothing is made twice.",
                save_id=save_id,
            )
        return SaveResult(
            status="failed",
            message="The database does not answer, and a global save is never queued.",
            next_step="Ask for a new approval and save again when it answers.",
            save_id=save_id,
        )

    async def _queue(self, save: QueuedSave, message: str) -> SaveResult:
        """Promise a save for later; only what is on disk is promised."""
        outbox = self._database.outbox
        try:
            await anyio.to_thread.run_sync(outbox.put, save)
        except OSError as error:
            log.error("save %s is lost: the outbox cannot be written: %s", save.save_id, error)
            return SaveResult(
                status="failed",
                message=f"The database is away, and the outbox {outbox.folder} cannot be written: {error}",
                next_step="Make the folder writable, and save again with this save_id.",
                save_id=save.save_id,
            )
        return SaveResult(
            status="pending_retry",
            message=message,
            next_step="Go on; get_save_status tells when it has arrived.",
            save_id=save.save_id,
        )

    async def _refused(self, save: QueuedSave, error: psycopg.Error) -> SaveResult:
        """What the server refused whole, such as a save that ran out of time: failed, and on record."""
        if error.sqlstate is None:
            raise InvalidArgument(first_line(error)) from error
        message = f"Not saved: {first_line(error)}"
        try:
            await _put_on_record(self._database, save, message)
        except (PgmemError, psycopg.Error) as second:
            log.warning("failed save %s is not on record: %s", save.save_id, summary(second))
        return SaveResult(status="failed", message=message, save_id=save.save_id)


@dataclass(slots=True)
class _Replayed:
    """How many saves arrived, and the lanes that were left: busy (another replays) or stuck (refused)."""

    arrived: int = 0
    left: dict[str, str] = field(default_factory=dict)


async def _put_on_record(database: Database, save: QueuedSave, message: str) -> None:
    await database.rows(
        "fail_save", save_id=save.save_id, verb=save.verb, arguments=save.params, message=message
    )


def _date(value: Date | str | None) -> Date | None:
    if not isinstance(value, str):
        return value
    try:
        return Date.fromisoformat(value.strip())
    except ValueError:
        raise InvalidArgument(f"date is no date: {value[:40]!r}; send YYYY-MM-DD.") from None


def _result(part: Mapping[str, Any]) -> SaveResult:
    ids = {name: UUID(part[name]) for name in ("artifact_id", "candidate_id", "save_id") if part.get(name)}
    return build(SaveResult, {**part, **ids})

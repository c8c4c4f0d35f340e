"""WriteEngine: every save, its one retry, and the outbox that keeps it while the database is away."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date as Date, datetime
from typing import Any, Literal
from uuid import UUID, uuid4

import psycopg
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from pgmem.database.call import build, clean
from pgmem.database.outbox import Outbox, QueuedSave
from pgmem.database.pool import Attached
from pgmem.engines.base import Engine
from pgmem.errors import DatabaseUnavailable, EmbeddedServerError, InvalidArgument, PgmemError
from pgmem.models import BatchSaveResult, MemoryScopeName, SaveResult, SaveStatus

__all__ = ["WriteEngine"]

Share = Literal["private", "org"]
log = logging.getLogger("pgmem")

_QUEUED = "The database does not answer. The save is kept in the outbox and made when it does."


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
        """Save a decision: a repeat is skipped, a near title supersedes, a half-near one waits for a person."""
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
    ) -> SaveResult:
        """Save a free piece of context; every call is a memory of its own."""
        params = {
            "content": content,
            "project_id": project_id,
            "topic": topic,
            "scope": scope,
            "focus": focus,
            "relevance_score": relevance_score,
            "share": share,
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
        """The saves of a project that are not saved, those in this machine's outbox included, or one save."""
        found = await self._database.one(
            "get_save_status", SaveStatus, project_id=project_id, session_id=session_id, save_id=save_id
        )
        waiting = [
            save
            for path in self._outbox.pending()
            if (save := self._outbox.read(path)).params.get("project_id") == project_id
            and save.scope == self._database.scope
            and save_id in (None, save.save_id)
        ]
        if not waiting:
            return found
        listed = [
            {"verb": s.verb, "save_id": str(s.save_id), "status": "pending_retry", "created_at": s.made_at} for s in waiting
        ]
        oldest = min([s.made_at for s in waiting] + ([found.oldest_pending_at] if found.oldest_pending_at else []))
        kept = [] if save_id else found.saves
        return SaveStatus(
            status="pending_retry",
            count=len(kept) + len(waiting),
            oldest_pending_at=oldest,
            artifact_ids=found.artifact_ids,
            saves=kept + listed,
        )

    async def retry_save(self, save_id: UUID, governance_token: str | None = None) -> SaveResult:
        """Run a save that was not saved again, with the arguments it had."""
        return await self._database.one(
            "retry_save", SaveResult, save_id=save_id, governance_token=governance_token
        )

    async def replay_outbox(self) -> int:
        """Make the saves that wait in the outbox, in order; how many arrived.

        Stops at the first that meets no database. A save older than `outbox_days` is put on record as failed.
        """
        arrived = 0
        with self._outbox.replaying() as mine:
            if not mine:
                return 0
            for path in self._outbox.pending():
                save = self._outbox.read(path)
                database = self._database.acting_as(save.scope, source=save.source, made_at=save.made_at)
                try:
                    if save.age_days > self._database.settings.outbox_days:
                        message = f"Given up after {self._database.settings.outbox_days:g} days in the outbox."
                        await database.rows(
                            "fail_save", save_id=save.save_id, verb=save.verb, arguments=save.params, message=message
                        )
                    else:
                        await database.rows(save.verb, save_id=save.save_id, **save.params)
                        arrived += 1
                except DatabaseUnavailable:
                    break
                except (PgmemError, psycopg.Error) as error:
                    # Arguments no replay will ever read: on record, so that it is seen, and out of the way of the rest.
                    await database.rows(
                        "fail_save", save_id=save.save_id, verb=save.verb, arguments=save.params, message=str(error)
                    )
                self._outbox.remove(path)
        return arrived

    @property
    def _outbox(self) -> Outbox:
        return Outbox(self._database.settings.outbox_dir)

    async def _save(
        self, verb: str, params: dict[str, Any], save_id: UUID | None, governance_token: str | None
    ) -> SaveResult:
        save_id = save_id or uuid4()
        row = await self._write(verb, params, save_id, governance_token, params.get("scope") == "global")
        return row if isinstance(row, SaveResult) else build(SaveResult, row)

    async def _write(
        self, verb: str, params: dict[str, Any], save_id: UUID, governance_token: str | None, is_global: bool
    ) -> SaveResult | Mapping[str, Any]:
        """One save through the database, retried once on a lost connection; then to the outbox."""
        sent = {name: value for name, value in params.items() if value is not None}
        for name, value in sent.items():
            clean(name, value)  # what cannot be sent is refused before anything is queued
        if isinstance(self._database, Attached):
            rows = await self._database.rows(verb, save_id=save_id, governance_token=governance_token, **sent)
            return rows[0]
        retrying = AsyncRetrying(
            stop=stop_after_attempt(2),
            wait=wait_fixed(self._database.settings.retry_wait_s),
            retry=retry_if_exception_type(DatabaseUnavailable),
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    if attempt.retry_state.attempt_number > 1:
                        await self._database.recover()
                    if self._outbox.pending():
                        await self.replay_outbox()
                    rows = await self._database.rows(
                        verb, save_id=save_id, governance_token=governance_token, **sent
                    )
                    return rows[0]
        except (DatabaseUnavailable, EmbeddedServerError) as error:
            log.warning("save %s could not be made: %s", save_id, error)
        except psycopg.Error as error:
            message = f"Not saved: {error.diag.message_primary or type(error).__name__}"
            return SaveResult(status="failed", message=message, save_id=save_id)
        if is_global:
            # A queued token would be dead when its turn comes.
            return SaveResult(
                status="failed",
                message="The database does not answer, and a global save is never queued.",
                next_step="Ask for a new approval and save again when it answers.",
                save_id=save_id,
            )
        self._outbox.put(
            QueuedSave(
                save_id=save_id,
                verb=verb,
                params=sent,
                scope=self._database.scope,
                source=self._database.source,
                made_at=datetime.now(UTC),
            )
        )
        return SaveResult(
            status="pending_retry",
            message=_QUEUED,
            next_step="Go on; get_save_status tells when it has arrived.",
            save_id=save_id,
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

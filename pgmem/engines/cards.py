"""CardsEngine: engineering memory, short cards about a code base that agents draft and people approve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import anyio.to_thread
from psycopg.types.json import Jsonb

from pgmem.engines.base import Engine
from pgmem.models import (
    Candidate,
    CardDecision,
    CardRefresh,
    CardVacuum,
    ClaimCheck,
    FinishedIntent,
    Intent,
    MemoryAnswer,
    Proposal,
    RelevantMemory,
)
from pgmem.repository import fingerprint, scan

__all__ = ["CardsEngine"]

Share = Literal["private", "org"]
_LONG = 3600.0


class CardsEngine(Engine):
    """Cards. What breaks their contract raises ContractError; a full project raises CapacityReached."""

    async def record_candidate(
        self,
        record_type: str,
        statement: str,
        subject_path: str,
        project_id: str,
        symbols: Sequence[str] = (),
        evidence: Sequence[Mapping[str, Any]] = (),
        share: Share | None = None,
    ) -> Candidate:
        """Draft a card: one fact about one file of the repository.

        Args:
            record_type: such as `risk_note` or `contract_note`.
            statement: one fact; 300 characters are the aim, 1000 the limit.
            subject_path: the file it is about, relative to the repository.
            project_id: the project.
            symbols: dotted names it is about besides.
            evidence: objects with kind, ref and, for a file, digest.
            share: `org` for all of the organisation; by default the caller's own.

        Raises:
            ContractError: the type is unknown, the statement empty or too long, the path not in the
                repository, or the same card is there.
            CapacityReached: the project is full of drafts or cards.
        """
        return await self._database.one(
            "record_candidate",
            Candidate,
            record_type=record_type,
            statement=statement,
            subject_path=subject_path,
            project_id=project_id,
            symbols=list(symbols),
            share=share,
            evidence=Jsonb([dict(item) for item in evidence]),
        )

    async def validate_claims(self, text: str, project_id: str | None = None) -> ClaimCheck:
        """Whether a text claims more than memory can give, such as leave to edit; nothing is stored."""
        return await self._database.one("validate_claims", ClaimCheck, text=text, project_id=project_id)

    async def propose_from_receipt(
        self, receipt: Mapping[str, Any], project_id: str, share: Share | None = None
    ) -> Proposal:
        """Draft cards from the receipt of a finished change, all of them or none.

        Raises:
            ContractError: the receipt names no paths or an unfinished intent, or a text does not fit.
            CapacityReached: not all of them fit.
        """
        return await self._database.one(
            "propose_from_receipt", Proposal, receipt=dict(receipt), project_id=project_id, share=share
        )

    async def refresh_from_run(
        self,
        report: Mapping[str, Any],
        project_id: str,
        *,
        dry_run: bool = False,
        share: Share | None = None,
    ) -> CardRefresh:
        """Bring the cards to a report of the repository, as `pgmem.repository.scan` makes one.

        Raises:
            ContractError: the report cannot be read; the message describes one.
            CapacityReached: the project is full and `cards_over_capacity` is `reject`; nothing was written.
        """
        return await self._database.one(
            "refresh_from_run",
            CardRefresh,
            _LONG,
            report=dict(report),
            project_id=project_id,
            dry_run=dry_run,
            share=share,
        )

    async def declare_intent(
        self, paths: Sequence[str], project_id: str, description: str | None = None
    ) -> Intent:
        """Say which paths will be worked on; the intent's id is a scope for get_relevant_memory."""
        return await self._database.one(
            "declare_intent", Intent, paths=list(paths), project_id=project_id, description=description
        )

    async def finish_intent(
        self,
        intent_id: UUID,
        changed_paths: Sequence[str],
        project_id: str,
        *,
        propose: bool = False,
        receipt: Mapping[str, Any] | None = None,
        share: Share | None = None,
    ) -> FinishedIntent:
        """End an intent with the files really changed: their active cards become stale.

        With `propose`, drafts are made from the receipt (claims, review) in the same transaction.
        """
        return await self._database.one(
            "finish_intent",
            FinishedIntent,
            intent_id=intent_id,
            changed_paths=list(changed_paths),
            project_id=project_id,
            propose=propose,
            receipt=dict(receipt or {}),
            share=share,
        )

    async def approve_card(
        self, card_id: UUID, by: str, reason: str | None = None, supersedes: Sequence[UUID] = ()
    ) -> CardDecision:
        """Approve a draft or stale card; a person's verb.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            ContractError: the card is in another status.
            MemoryNotFound: no such card is visible here.
        """
        return await self._database.one(
            "approve_card", CardDecision, card_id=card_id, by=by, reason=reason, supersedes=list(supersedes)
        )

    async def reject_card(self, card_id: UUID, by: str, reason: str | None = None) -> CardDecision:
        """Reject a draft; a person's verb. Raises as approve_card."""
        return await self._database.one("reject_card", CardDecision, card_id=card_id, by=by, reason=reason)

    async def archive_card(self, card_id: UUID, by: str, reason: str | None = None) -> CardDecision:
        """Take a card out of use; a person's verb. Raises as approve_card."""
        return await self._database.one("archive_card", CardDecision, card_id=card_id, by=by, reason=reason)

    async def vacuum_cards(self, project_id: str, *, dry_run: bool = False, limit: int = 500) -> CardVacuum:
        """Remove cards whose days in their state are over, batch by batch; a person's verb."""
        removed: dict[str, int] = {}
        receipts = 0
        while True:
            done = await self._database.one(
                "vacuum_cards", CardVacuum, project_id=project_id, dry_run=dry_run, limit=limit
            )
            for status, count in done.removed.items():
                removed[status] = removed.get(status, 0) + count
            receipts += done.receipts
            if dry_run or done.remaining == 0:
                return CardVacuum(removed=removed, remaining=done.remaining, receipts=receipts)

    async def get_relevant_memory(
        self,
        project_id: str,
        scope: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        intent_id: UUID | None = None,
        max_records: int = 20,
        include_stale: bool = False,
        include_drafts: bool = True,
        detail_level: str = "compact",
        cursor: str | None = None,
    ) -> RelevantMemory:
        """The cards about some paths, symbols or an intent, best first; `cursor` is an earlier continuation.

        Where this process has a repository (`PGMEM_REPOSITORY`), the sync policy may read it first.

        Raises:
            ContractError: none or several of scope, symbols, intent_id and cursor; a path outside the
                repository; no engineering memory yet; a continuation that no longer holds.
        """
        synced = await self._sync(project_id) if cursor is None else None
        found = await self._database.one(
            "get_relevant_memory",
            RelevantMemory,
            self._database.settings.retrieval_timeout_s,
            project_id=project_id,
            scope=list(scope) if scope is not None else None,
            symbols=list(symbols) if symbols is not None else None,
            intent_id=intent_id,
            max_records=max_records,
            include_stale=include_stale,
            include_drafts=include_drafts,
            detail_level=detail_level,
            cursor=cursor,
        )
        return replace(found, memory_sync={**found.memory_sync, **synced}) if synced else found

    async def query_engineering_memory(
        self,
        project_id: str,
        mode: str,
        record_id: UUID | None = None,
        path: str | None = None,
        symbol: str | None = None,
        query: str | None = None,
        scope: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        max_results: int = 20,
        include_stale: bool = False,
        include_drafts: bool | None = None,
        detail_level: str = "compact",
    ) -> MemoryAnswer:
        """Look into engineering memory: search, get, for_path, for_symbol, stale, drafts, coverage, status.

        Raises:
            ContractError: an unknown mode or filter, with what is allowed; what the mode needs is missing.
        """
        return await self._database.one(
            "query_engineering_memory",
            MemoryAnswer,
            self._database.settings.retrieval_timeout_s,
            project_id=project_id,
            mode=mode,
            record_id=record_id,
            path=path,
            symbol=symbol,
            query=query,
            scope=list(scope) if scope is not None else None,
            filters=dict(filters or {}),
            max_results=max_results,
            include_stale=include_stale,
            include_drafts=include_drafts,
            detail_level=detail_level,
        )

    async def manage_engineering_memory(
        self, project_id: str, action: str, arguments: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """One of the agents' verbs by its name; approve, reject and archive are rejected."""
        rows = await self._database.rows(
            "manage_engineering_memory",
            _LONG if action == "refresh_from_run" else None,
            project_id=project_id,
            action=action,
            arguments=dict(arguments or {}),
        )
        return dict(rows[0]["manage_engineering_memory"])

    async def _sync(self, project_id: str) -> dict[str, str]:
        """Follow the sync policy before a retrieval: what was done and why."""
        root = self._database.settings.repository
        if root is None or project_id != (self._database.settings.repository_project or root.resolve().name):
            return {"auto": "skipped", "reason": "no_repository"}
        state = (await self.query_engineering_memory(project_id, "status")).payload["sync"]
        if state["policy"] == "off":
            return {"auto": "unchanged", "reason": "policy_off"}
        if "last_run_id" not in state:
            await self._read(root, project_id)
            return {"auto": "bootstrapped", "reason": "missing"}
        if state["policy"] == "refresh_when_stale":
            if state.get("fingerprint") is None:
                return {"auto": "skipped", "reason": "missing_report_digest"}
            if await anyio.to_thread.run_sync(fingerprint, root) != state["fingerprint"]:
                await self._read(root, project_id)
                return {"auto": "refreshed", "reason": "report_digest_shift"}
        return {"auto": "unchanged", "reason": "present"}

    async def _read(self, root: Path, project_id: str) -> None:
        await self.refresh_from_run(await anyio.to_thread.run_sync(scan, root), project_id)

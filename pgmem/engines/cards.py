"""Cards: the repository is read before a retrieval if the sync policy of the project says so.

What is written in a repository that is on a branch is a card of this branch until git says that it is merged.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import JsonValue

from pgmem.engines.projects import Projects
from pgmem.engines.retrieval import Retrieval
from pgmem.errors import ContractError
from pgmem.models import (
    Candidate,
    CardRefresh,
    FinishedIntent,
    MemoryAnswer,
    Proposal,
    RelevantMemory,
    SaveResult,
    SettledBranches,
    WaitingBranch,
)
from pgmem.repository import Reading, settled, standing


class Cards(Retrieval, Projects):
    """Engineering memory: short cards about a code base, which agents draft and people approve."""

    async def _get_relevant_memory(self, params: dict[str, Any]) -> RelevantMemory:
        """Follow the sync policy, then retrieve; the further pages of an answer read no files."""
        if params["cursor"] is not None:
            return await self._one("get_relevant_memory", RelevantMemory, params)
        synced = await self._sync(params["project_id"])
        found = await self._one("get_relevant_memory", RelevantMemory, await self._standing(params))
        auto, reason = synced
        return replace(found, memory_sync=replace(found.memory_sync, auto=auto, reason=reason))

    async def _query_engineering_memory(self, params: dict[str, Any]) -> MemoryAnswer:
        """Take the id of a card as a UUID too, as cards hold it; find trajectories by the meaning of the query."""
        record_id = params["record_id"]
        given = {**params, "record_id": None if record_id is None else str(record_id)}
        if params["mode"] == "trajectories" and params["query"]:
            vector, _ = await self._query_vector(params["query"], None, True)
            given |= {
                "embedding": vector or None,
                "embedding_model": self._embedder.model if vector else None,
            }
        elif params["mode"] in ("search", "for_path", "for_symbol", "stale", "drafts"):
            given = await self._standing(given)
        return await self._one("query_engineering_memory", MemoryAnswer, given)

    async def _record_candidate(self, params: dict[str, Any]) -> Candidate:
        return await self._one("record_candidate", Candidate, await self._standing(params))

    async def _propose_from_receipt(self, params: dict[str, Any]) -> Proposal:
        return await self._one("propose_from_receipt", Proposal, await self._standing(params))

    async def _finish_intent(self, params: dict[str, Any]) -> FinishedIntent:
        return await self._one("finish_intent", FinishedIntent, await self._standing(params))

    async def _manage_engineering_memory(self, params: dict[str, Any]) -> dict[str, JsonValue]:
        return await self._value(
            "manage_engineering_memory", dict[str, JsonValue], await self._standing(params)
        )

    async def _refresh_from_run(self, params: dict[str, Any]) -> CardRefresh:
        """Settle the branches first: a card that is everybody's now follows the files of the report."""
        if not params["dry_run"]:
            with suppress(ContractError):  # there is no such project; the refresh says so
                await self._settle(params["project_id"])
        return await self._one("refresh_from_run", CardRefresh, params)

    async def _here(self, project_id: str) -> Path | None:
        """The repository of this process, if the project is that of it."""
        settings = self._database.settings
        root = settings.repository
        if root is None or (
            project_id != settings.repository_project
            if settings.repository_project
            else project_id not in (root.resolve().name, await self.project_of(root))
        ):
            return None
        return root

    async def _standing(self, params: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the branch of the repository, and what its cards wait for, unless the caller names one."""
        if params["branch"] is not None or (root := await self._here(params["project_id"])) is None:
            return params
        branch, commit = await anyio.to_thread.run_sync(standing, root)
        return {
            **params,
            "branch": branch,
            **({"branch_commit": commit} if "branch_commit" in params else {}),
        }

    async def _settle(self, project_id: str, waiting: list[WaitingBranch] | None = None) -> None:
        """Make the cards of merged branches everybody's, as far as the repository knows the branches."""
        if (root := await self._here(project_id)) is None:
            return
        if waiting is None:
            query = {"project_id": project_id, "mode": "status"}
            state = (await self._one("query_engineering_memory", MemoryAnswer, query)).payload.sync
            waiting = (state.waiting if state else None) or []
        if waiting:
            pairs = [(one.branch, one.commit) for one in waiting]
            found = await anyio.to_thread.run_sync(settled, root, pairs, self._database.settings.data_dir)
            if found:
                given = {"project_id": project_id, "settled": found}
                await self._one("settle_branches", SettledBranches, given)

    async def _sync(self, project_id: str) -> tuple[str, str]:
        """Refresh the cards if the policy says so, and return what was done and why."""
        if (root := await self._here(project_id)) is None:
            return "skipped", "no_repository"
        query = {"project_id": project_id, "mode": "status"}
        try:
            state = (await self._one("query_engineering_memory", MemoryAnswer, query)).payload.sync
        except ContractError:
            # An empty store: the project begins with what its repository says.
            opened = {"objective": f"Set up engineering memory for {project_id}", "project_id": project_id}
            await self._one("save_session", SaveResult, opened)
            state = (await self._one("query_engineering_memory", MemoryAnswer, query)).payload.sync
        if state is None:
            return "skipped", "missing"
        if state.waiting:
            await self._settle(project_id, state.waiting)
        if state.policy == "off":
            return "unchanged", "policy_off"
        if state.last_run_id is None:
            await self._read(Reading(root, self._database.settings.data_dir), project_id, None)
            return "bootstrapped", "missing"
        if state.policy == "refresh_when_stale":
            if state.fingerprint is None:
                return "skipped", "missing_report_digest"
            reading = await anyio.to_thread.run_sync(Reading, root, self._database.settings.data_dir)
            if reading.fingerprint != state.fingerprint:
                await self._read(reading, project_id, state.fingerprint)
                return "refreshed", "report_digest_shift"
        return "unchanged", "present"

    async def _read(self, reading: Reading, project_id: str, base: str | None) -> None:
        """Bring the cards to the repository; a base that another has replaced meanwhile needs the whole report."""
        report = await anyio.to_thread.run_sync(reading.report, base)
        try:
            await self._one("refresh_from_run", CardRefresh, {"report": report, "project_id": project_id})
        except ContractError:
            if report["complete"]:
                raise
            await self._read(reading, project_id, None)

"""Cards: the repository is read before a retrieval if the sync policy of the project says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio.to_thread

from pgmem.engines.projects import Projects
from pgmem.engines.retrieval import Retrieval
from pgmem.errors import ContractError
from pgmem.models import CardRefresh, MemoryAnswer, RelevantMemory, SaveResult
from pgmem.repository import Reading

__all__ = ["Cards"]


class Cards(Retrieval, Projects):
    """Engineering memory: short cards about a code base, which agents draft and people approve."""

    async def _get_relevant_memory(self, params: dict[str, Any]) -> RelevantMemory:
        """Follow the sync policy, then retrieve; the further pages of an answer read no files."""
        synced = await self._sync(params["project_id"]) if params["cursor"] is None else None
        found = await self._one("get_relevant_memory", RelevantMemory, params)
        if synced is None:
            return found
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
        return await self._one("query_engineering_memory", MemoryAnswer, given)

    async def _sync(self, project_id: str) -> tuple[str, str]:
        """Refresh the cards if the policy says so, and return what was done and why."""
        settings = self._database.settings
        root = settings.repository
        if root is None or (
            project_id != settings.repository_project
            if settings.repository_project
            else project_id not in (root.resolve().name, await self.project_of(root))
        ):
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

"""Cards: the repository is read before a retrieval if the sync policy of the project asks for it.

A card written in a repository that is on a branch is one of this branch until git says that it is merged.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from pydantic import JsonValue

from pgmem.calls.batches import until_none_is_left
from pgmem.calls.caller import Caller
from pgmem.calls.projects import project_of
from pgmem.calls.retrieval import query_embedding
from pgmem.database.call import build
from pgmem.errors import ContractError
from pgmem.features import cards
from pgmem.features.cards import citations
from pgmem.models import (
    Candidate,
    CardRefresh,
    CardsSync,
    CardVacuum,
    CitedFile,
    FinishedIntent,
    FoundFiles,
    LikelyChanges,
    MemoryAnswer,
    Proposal,
    RelevantMemory,
    SaveResult,
    SettledBranches,
    WaitingBranch,
)

if TYPE_CHECKING:
    from pgmem.features.cards import Reading


async def get_relevant_memory(caller: Caller, params: dict[str, Any]) -> RelevantMemory:
    """Follow the sync policy, then retrieve; the further pages of an answer read no files."""
    if params["cursor"] is not None:
        return await caller.one("get_relevant_memory", RelevantMemory, params)
    root, auto, reason, reading = await _followed(caller, params["project_id"])
    given = await _on_branch(params, reading or root)
    found = await caller.one("get_relevant_memory", RelevantMemory, given)
    return replace(found, memory_sync=replace(found.memory_sync, auto=auto, reason=reason))


async def what_changes(caller: Caller, params: dict[str, Any]) -> LikelyChanges:
    """Follow the sync policy, then rank."""
    await _followed(caller, params["project_id"])
    return await caller.one("what_changes", LikelyChanges, params)


async def which_files(caller: Caller, params: dict[str, Any]) -> FoundFiles:
    """Follow the sync policy, then search by the words of the text and by its meaning."""
    await _followed(caller, params["project_id"])
    meaning, _ = await query_embedding(caller, params["text"][:2000])
    return await caller.one("which_files", FoundFiles, params | meaning)


async def query_engineering_memory(caller: Caller, params: dict[str, Any]) -> MemoryAnswer:
    """Take the id of a card as a UUID too, as cards hold it; find trajectories by the meaning of the query."""
    record_id = params["record_id"]
    given = {**params, "record_id": None if record_id is None else str(record_id)}
    if params["mode"] == "trajectories" and params["query"]:
        meaning, _ = await query_embedding(caller, params["query"])
        given |= meaning
    elif params["mode"] in ("search", "for_path", "for_symbol", "stale", "drafts", "coverage", "status"):
        given = await _standing(caller, given)
    return await caller.one("query_engineering_memory", MemoryAnswer, given)


async def record_candidate(caller: Caller, params: dict[str, Any]) -> Candidate:
    """Draft a card on the branch of the repository."""
    return await caller.one("record_candidate", Candidate, await _standing(caller, params))


async def propose_from_receipt(caller: Caller, params: dict[str, Any]) -> Proposal:
    """Draft the cards of a receipt on the branch of the repository."""
    return await caller.one("propose_from_receipt", Proposal, await _standing(caller, params))


async def finish_intent(caller: Caller, params: dict[str, Any]) -> FinishedIntent:
    """Finish an intent on the branch of the repository; cards follow the renames first."""
    await _followed(caller, params["project_id"])
    return await caller.one("finish_intent", FinishedIntent, await _standing(caller, params))


async def manage_engineering_memory(caller: Caller, params: dict[str, Any]) -> dict[str, JsonValue]:
    """Run an action on the branch of the repository; a refresh without a report reads the repository first."""
    if params["action"] == "refresh_from_run" and params["report"] is None:
        root = await _here(caller, params["project_id"])
        if root is not None:
            reading = await anyio.to_thread.run_sync(cards.Reading, root, caller.database.settings.data_dir)
            params = {**params, "report": await anyio.to_thread.run_sync(reading.report, None)}
    elif params["action"] == "finish_intent":
        await _followed(caller, params["project_id"])
    return await caller.value(
        "manage_engineering_memory", dict[str, JsonValue], await _standing(caller, params)
    )


async def refresh_from_run(caller: Caller, params: dict[str, Any]) -> CardRefresh:
    """Settle the branches first: a card that is shared now follows the files of the report."""
    if not params["dry_run"]:
        project, root = params["project_id"], await _here(caller, params["project_id"])
        with suppress(ContractError):  # no such project exists; the refresh reports it
            state = await _state(caller, project) if root is not None else None
            if root is not None and state is not None:
                await _settle(caller, project, root, state.waiting)
            if root is not None:
                await check_sources(caller, project, root)
    return await caller.one("refresh_from_run", CardRefresh, params)


async def check_sources(caller: Caller, project_id: str, root: Path) -> int:
    """Compare the files that memories of a project rest on with its repository; how many were compared."""
    given = {"project_id": project_id}
    cited = [build(CitedFile, row) for row in await caller.rows("list_cited_files", {**given, "limit": 500})]
    if not cited:
        return 0
    found = await anyio.to_thread.run_sync(citations.states, root, [(one.target, one.since) for one in cited])
    states = [
        {"id": str(one.id), "target": one.target, "state": state}
        for one, state in zip(cited, found, strict=True)
    ]
    return await caller.value("record_sources", int, {**given, "states": states})


async def _here(caller: Caller, project_id: str) -> Path | None:
    """The repository of this process, if the project is that of it."""
    settings = caller.database.settings
    root = settings.repository
    if root is None or (
        project_id != settings.repository_project
        if settings.repository_project
        else project_id not in (root.resolve().name, await project_of(caller, root))
    ):
        return None
    return root


async def _followed(caller: Caller, project_id: str) -> tuple[Path | None, str, str, Reading | None]:
    """The repository of the project, after the sync policy: the work done and why, and the facts read of it."""
    root = await _here(caller, project_id)
    if root is None:
        return None, "skipped", "no_repository", None
    return root, *await _sync(caller, project_id, root)


async def _standing(caller: Caller, params: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the branch of the repository, and the cards that wait, unless the caller names one."""
    if params["branch"] is not None:
        return params
    return await _on_branch(params, await _here(caller, params["project_id"]))


async def _on_branch(params: dict[str, Any], place: Path | Reading | None) -> dict[str, Any]:
    """The same of a repository that is known, or read already: git takes some milliseconds for each question."""
    if params["branch"] is not None or place is None:
        return params
    branch, commit = await anyio.to_thread.run_sync(cards.standing, place)
    return {
        **params,
        "branch": branch,
        **({"branch_commit": commit} if "branch_commit" in params else {}),
    }


async def _settle(caller: Caller, project_id: str, root: Path, waiting: list[WaitingBranch] | None) -> None:
    """Share the cards of merged branches, as far as the repository knows the branches."""
    if waiting:
        pairs = [(one.branch, one.commit) for one in waiting]
        found = await anyio.to_thread.run_sync(cards.settled, root, pairs, caller.database.settings.data_dir)
        if found:
            given = {"project_id": project_id, "settled": found}
            await caller.one("settle_branches", SettledBranches, given)


async def _state(caller: Caller, project_id: str) -> CardsSync | None:
    query = {"project_id": project_id, "mode": "status"}
    return (await caller.one("query_engineering_memory", MemoryAnswer, query)).payload.sync


async def _sync(caller: Caller, project_id: str, root: Path) -> tuple[str, str, Reading | None]:
    """Refresh the cards if the policy asks for it; the work done and why, and the repository as far as it was read."""
    try:
        state = await _state(caller, project_id)
    except ContractError:
        # An empty store: the project begins with the facts that its repository states.
        opened = {"objective": f"Set up engineering memory for {project_id}", "project_id": project_id}
        await caller.one("save_session", SaveResult, opened)
        state = await _state(caller, project_id)
    if state is None:
        return "skipped", "missing", None
    await _settle(caller, project_id, root, state.waiting)
    if state.policy == "off":
        return "unchanged", "policy_off", None
    is_first = state.last_run_id is None
    if not is_first and state.policy != "refresh_when_stale":
        return "unchanged", "present", None
    if not is_first and state.fingerprint is None:
        return "skipped", "missing_report_digest", None
    reading = await anyio.to_thread.run_sync(cards.Reading, root, caller.database.settings.data_dir)
    if not is_first and reading.fingerprint == state.fingerprint:
        return "unchanged", "present", reading
    await _read(caller, reading, project_id, None if is_first else state.fingerprint)
    await check_sources(caller, project_id, root)
    return *(("bootstrapped", "missing") if is_first else ("refreshed", "report_digest_shift")), reading


async def _read(caller: Caller, reading: Reading, project_id: str, base: str | None) -> None:
    """Bring the cards to the repository; a base that another has replaced meanwhile needs the whole report."""
    report = await anyio.to_thread.run_sync(reading.report, base)
    try:
        await caller.one("refresh_from_run", CardRefresh, {"report": report, "project_id": project_id})
    except ContractError:
        if report["complete"]:
            raise
        await _read(caller, reading, project_id, None)


async def compared(caller: Caller) -> int:
    """Compare the files that memories rest on with the repository of the settings; how many."""
    root = caller.database.settings.repository
    if root is None:
        return 0
    project = caller.database.settings.repository_project or await project_of(caller, root)
    return await check_sources(caller, project, root)


async def vacuum_cards(caller: Caller, params: dict[str, Any]) -> CardVacuum:
    """Remove cards batch by batch."""
    done = await until_none_is_left(
        caller, "vacuum_cards", CardVacuum, params, lambda batch: sum(batch.removed.values()) + batch.receipts
    )
    removed: Counter[str] = Counter()
    for batch in done:
        removed.update(batch.removed)
    receipts = sum(batch.receipts for batch in done)
    return CardVacuum(removed=dict(removed), remaining=done[-1].remaining, receipts=receipts)


AROUND = (
    get_relevant_memory,
    query_engineering_memory,
    what_changes,
    which_files,
    record_candidate,
    propose_from_receipt,
    finish_intent,
    manage_engineering_memory,
    refresh_from_run,
    vacuum_cards,
)
"""The functions around verbs."""

"""The verbs of this feature as methods; each calls its function of around.py.

Written by scripts/generate from the chapters of sql/; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from annotated_types import Ge, Le
from pydantic import JsonValue

from pgmem.calls.methods import Verbs
from pgmem.database.call import several
from pgmem.features.cards import around
from pgmem.models import (
    Candidate,
    CardEvidence,
    CardRefresh,
    CardVacuum,
    FinishedIntent,
    FoundFiles,
    LikelyChanges,
    MemoryAnswer,
    Proposal,
    RelevantMemory,
)

__all__ = ["CardsVerbs"]

DetailLevel = Literal["compact", "full", "summary", "normal"]
MaxRecords = Annotated[int, Ge(1), Le(100)]
MaxResults = Annotated[int, Ge(1), Le(100)]
Sharing = Literal["private", "org"]


class CardsVerbs(Verbs):
    """The verbs of a feature as methods; `Memory` inherits them."""

    async def get_relevant_memory(
        self,
        project_id: str,
        scope: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        intent_id: UUID | None = None,
        max_records: MaxRecords = 20,
        include_stale: bool = False,
        include_drafts: bool = True,
        detail_level: DetailLevel = "compact",
        cursor: str | None = None,
        branch: str | None = None,
    ) -> RelevantMemory:
        """Return the memory of some paths, symbols or an intent before they are changed.

        Send exactly one of scope, symbols, intent_id and cursor. The compact answer is one digest for each
        path, best first: approved cards, decisions, reverts and reasons of changes, its companions, its
        tests, the rules of its folder, its owners, risks, unproven claims. The full answer is the list of
        the cards behind it. Where this process has a repository (`PGMEM_REPOSITORY`), the sync policy may
        read the repository first. A page holds at least one digest or card and otherwise as many as fit
        into `cards_budget`.

        Args:
            project_id: Project name.
            scope: Paths in the repository, 1 to 50.
            symbols: Dotted names, 1 to 50; such as pkg.module.function.
            intent_id: The id from declare_intent; its paths are the scope.
            max_records: How many a page, or a digest, holds, 1 to 100; default 20.
            include_stale: Stale cards too; default false.
            include_drafts: Drafts too; default true.
            detail_level: Digests or cards; compact (the default) or full; summary and normal mean compact.
            cursor: Continuation of the page before; it brings its own scope and options.
            branch: The branch whose cards are seen beside the shared ones; * is all; default that of the
                repository.

        Raises:
            ContractError: none or several of scope, symbols, intent_id and cursor; a path outside the
                repository; no such project; no engineering memory yet; a continuation that no longer holds.
            MemoryNotFound: no such intent is declared in the project.
        """
        return await around.get_relevant_memory(
            self.caller,
            {
                "project_id": project_id,
                "scope": several("scope", scope),
                "symbols": several("symbols", symbols),
                "intent_id": intent_id,
                "max_records": max_records,
                "include_stale": include_stale,
                "include_drafts": include_drafts,
                "detail_level": detail_level,
                "cursor": cursor,
                "branch": branch,
            },
        )

    async def query_engineering_memory(
        self,
        project_id: str,
        mode: str,
        record_id: str | None = None,
        path: str | None = None,
        symbol: str | None = None,
        query: str | None = None,
        scope: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        max_results: MaxResults = 20,
        include_stale: bool = False,
        include_drafts: bool | None = None,
        detail_level: DetailLevel = "compact",
        branch: str | None = None,
    ) -> MemoryAnswer:
        """Look cards up by id, path, symbol, words or state, or count them.

        The modes are search (query), get (record_id), for_path (path), for_symbol (symbol), stale, drafts,
        coverage (scope), status and trajectories (path or query): earlier pieces of work, one line each.
        `payload` holds records with their counts, a record with its revisions, the coverage, the numbers of
        the project, or trajectories.

        Args:
            project_id: Project name.
            mode: search, get, for_path, for_symbol, stale, drafts, coverage, status or trajectories.
            record_id: For get; the card, by 8 or more letters of its id.
            path: For for_path; for trajectories too; relative to the repository.
            symbol: For for_symbol; a dotted name.
            query: For search; for trajectories too; words.
            scope: For coverage; paths relative to the repository.
            filters: Only such cards; lists of types, statuses and confidences, and match_mode any (the
                default) or all; default: none.
            max_results: How many at most, 1 to 100; default 20.
            include_stale: Stale cards too; in search, for_path and for_symbol; default false.
            include_drafts: Drafts too; unset: for_path and for_symbol do, search does not.
            detail_level: How much of each card; compact (the default) or full; get always answers in full.
            branch: The branch whose cards are seen beside the shared ones; * is all; default that of the
                repository.

        Raises:
            ContractError: an unknown mode or filter, with those allowed; the argument of the mode is
                missing; no such project.
        """
        params = {
            "project_id": project_id, "mode": mode, "record_id": record_id, "path": path,
            "symbol": symbol, "query": query, "scope": several("scope", scope),
            "filters": filters or {}, "max_results": max_results, "include_stale": include_stale,
            "include_drafts": include_drafts, "detail_level": detail_level, "branch": branch,
        }  # fmt: skip
        return await around.query_engineering_memory(self.caller, params)

    async def record_candidate(
        self,
        record_type: str,
        statement: str,
        subject_path: str,
        project_id: str,
        symbols: Sequence[str] = (),
        evidence: Sequence[CardEvidence] = (),
        share: Sharing | None = None,
        branch: str | None = None,
        branch_commit: str | None = None,
    ) -> Candidate:
        """Draft a card: one fact about one file of the repository.

        A person approves or rejects it. If the same card was rejected before, `previously_rejected` is its
        id.

        Args:
            record_type: The type of card, such as risk_note or contract_note;
                docs/explanation/engineering-memory.md lists the twelve.
            statement: One fact, 1 to 1000 characters; 300 is the target.
            subject_path: The file it is about, relative to the repository.
            project_id: Project name.
            symbols: Dotted names that it is about too; default none.
            evidence: Objects with kind (such as code, test or doc), ref and, for a file, digest; default
                none.
            share: Owner: private or org; unset: private where there is a user.
            branch: The branch that it is written on, if that is not the default one; default that of the
                repository.
            branch_commit: The last commit of the branch; ^ID: the branch begins at ID and has no commits
                yet.

        Raises:
            ContractError: the type is unknown, the statement empty or too long, the path not in the
                repository, the evidence invalid, or the same card is there already; no such project.
            CapacityReached: the project has max_candidates drafts or max_records cards.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await around.record_candidate(
            self.caller,
            {
                "record_type": record_type,
                "statement": statement,
                "subject_path": subject_path,
                "project_id": project_id,
                "symbols": several("symbols", symbols),
                "evidence": several("evidence", evidence),
                "share": share,
                "branch": branch,
                "branch_commit": branch_commit,
            },
        )

    async def propose_from_receipt(
        self,
        receipt: Mapping[str, Any],
        project_id: str,
        share: Sharing | None = None,
        branch: str | None = None,
        branch_commit: str | None = None,
    ) -> Proposal:
        """Draft cards from the receipt of a finished change, all of them or none.

        The first ten modules give module_role cards, each claim a change_rationale, the review an
        architecture_decision. Contract notes come back as proposals and are not stored.

        Args:
            receipt: An object with intent_id (of a finished intent), scope or changed_paths, and claims,
                contract_notes (lists of texts), review, description (texts).
            project_id: Project name.
            share: Owner: private or org; unset: private where there is a user.
            branch: The branch that they are written on, if that is not the default one; default that of the
                repository.
            branch_commit: The last commit of the branch; ^ID: the branch begins at ID and has no commits
                yet.

        Raises:
            ContractError: the receipt names no paths or an unfinished intent, or a text does not fit; no
                such project.
            CapacityReached: not all drafts fit.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await around.propose_from_receipt(
            self.caller,
            {
                "receipt": receipt,
                "project_id": project_id,
                "share": share,
                "branch": branch,
                "branch_commit": branch_commit,
            },
        )

    async def refresh_from_run(
        self,
        report: Mapping[str, Any],
        project_id: str,
        dry_run: bool = False,
        share: Sharing | None = None,
    ) -> CardRefresh:
        """Bring the cards of a project to a report of its repository, as `pgmem.features.cards` makes one.

        `counts` says how many cards were inserted, updated, unchanged, reactivated, contradicted, left to a
        decision, over capacity, stale or historical, and how many links were made and removed. With
        dry_run, `cards` holds the cards of the report and nothing is written.

        The report of an agent, over MCP or as a bound login, becomes drafts for a person to approve or
        reject. It changes no other card, file or link, whatever the report claims.

        Args:
            report: An object with modules, and optionally tests, files, fingerprint, commit, complete and
                skipped; docs/how-to/keep-engineering-cards.md shows one.
            project_id: Project name.
            dry_run: Only report what it would do.
            share: Owner: private or org; unset: private where there is a user.

        Raises:
            ContractError: the report cannot be read (the message describes one); no such project.
            CapacityReached: the project is full and `cards_over_capacity` is `reject`; nothing was written.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await around.refresh_from_run(
            self.caller, {"report": report, "project_id": project_id, "dry_run": dry_run, "share": share}
        )

    async def finish_intent(
        self,
        intent_id: UUID,
        changed_paths: Sequence[str],
        project_id: str,
        propose: bool = False,
        receipt: Mapping[str, Any] | None = None,
        share: Sharing | None = None,
        branch: str | None = None,
        branch_commit: str | None = None,
    ) -> FinishedIntent:
        """Finish an intent with the files really changed; the cards about them become stale.

        `outside_scope` names the changed files that were not declared. With propose, drafts are made from
        the receipt in the same transaction.

        Args:
            intent_id: The id that declare_intent returned.
            changed_paths: The files really changed, relative to the repository; may be empty.
            project_id: Project name.
            propose: Whether drafts are made from the receipt; default false.
            receipt: As propose_from_receipt takes it, without intent_id and changed_paths; and status,
                verify (texts), tests (a list of texts) and commit, which a trajectory gives; default: an
                empty object.
            share: Owner: private or org; unset: private where there is a user.
            branch: The branch that the work is on, if that is not the default one; default that of the
                repository.
            branch_commit: The last commit of the branch; ^ID: the branch begins at ID and has no commits
                yet.

        Raises:
            ContractError: a path is outside the repository, the intent is finished already, or the receipt
                does not fit; no such project.
            MemoryNotFound: no such intent of the caller is declared in the project.
            CapacityReached: the drafts do not fit.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await around.finish_intent(
            self.caller,
            {
                "intent_id": intent_id,
                "changed_paths": several("changed_paths", changed_paths),
                "project_id": project_id,
                "propose": propose,
                "receipt": receipt or {},
                "share": share,
                "branch": branch,
                "branch_commit": branch_commit,
            },
        )

    async def manage_engineering_memory(
        self,
        project_id: str,
        action: str,
        record_type: str | None = None,
        statement: str | None = None,
        subject_path: str | None = None,
        symbols: Sequence[str] | None = None,
        evidence: Sequence[CardEvidence] | None = None,
        text: str | None = None,
        paths: Sequence[str] | None = None,
        intent_id: UUID | None = None,
        propose: bool = False,
        receipt: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
        share: Sharing | None = None,
        branch: str | None = None,
        branch_commit: str | None = None,
    ) -> dict[str, JsonValue]:
        """Call one of the card verbs that agents have, by its name.

        The answer is that of the verb. approve, reject and archive are decisions of a person: they answer
        with status `rejected` and the command to run.

        Args:
            project_id: Project name.
            action: record_candidate, validate_claims, propose_from_receipt, declare_intent, finish_intent
                or refresh_from_run; or a job: rebuild_trajectories, rebuild_semantic (vectors),
                rebuild_projection (graph).
            record_type: record_candidate; the type of card.
            statement: record_candidate; one fact, 1 to 1000 characters, best below 300.
            subject_path: record_candidate; the file that the statement is about.
            symbols: record_candidate; dotted names that it is about too.
            evidence: record_candidate; objects with kind, ref and digest.
            text: validate_claims, declare_intent; the text to check, or the aim of the work.
            paths: declare_intent, finish_intent; those of the intent, or the files really changed.
            intent_id: finish_intent; the id that declare_intent returned.
            propose: finish_intent; whether drafts are made from the receipt, default false.
            receipt: propose_from_receipt, finish_intent.
            report: refresh_from_run; the result of a scan of the repository, unset: the repository of this
                process is read.
            share: Owner: private or org; unset: private where there is a user.
            branch: That of the draft, as record_candidate takes it.
            branch_commit: That of the draft, as record_candidate takes it.

        Raises:
            ContractError: an unknown action, with those allowed; or a reason of the verb.
            MemoryNotFound: no such intent is declared in the project.
            CapacityReached: the project has no room for the drafts or cards.
            InvalidArgument: the text of validate_claims is empty.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        params = {
            "project_id": project_id, "action": action, "record_type": record_type,
            "statement": statement, "subject_path": subject_path,
            "symbols": several("symbols", symbols), "evidence": several("evidence", evidence),
            "text": text, "paths": several("paths", paths), "intent_id": intent_id,
            "propose": propose, "receipt": receipt, "report": report, "share": share,
            "branch": branch, "branch_commit": branch_commit,
        }  # fmt: skip
        return await around.manage_engineering_memory(self.caller, params)

    async def vacuum_cards(
        self,
        project_id: str,
        dry_run: bool = False,
        limit: int = 500,
    ) -> CardVacuum:
        """Remove a batch of the cards whose days in their state are over.

        A person calls this, again while `remaining` is above 0. `removed` counts cards by status,
        `receipts` counts finished intents that are older than `card_days_receipt`; records of runs go with
        those, except the last one.

        Args:
            project_id: Project name.
            dry_run: Only report what it would do.
            limit: How many cards at most, 1 to 10000; default 500.

        Raises:
            ContractError: no such project.
            InvalidArgument: limit is out of range.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await around.vacuum_cards(
            self.caller, {"project_id": project_id, "dry_run": dry_run, "limit": limit}
        )

    async def what_changes(
        self,
        project_id: str,
        paths: Sequence[str],
        limit: int = 10,
    ) -> LikelyChanges:
        """Rank the files that usually change together with some files, and the tests among them.

        `files` are the likeliest, at most limit, each with a score (the chance that the next commit changes
        it too) and the files that make it relevant, with the number of commits that they share. `tests` are
        the likeliest five tests. `added` names a folder in which most changes add a file, such as one for
        notes of changes. Files of the question are left out.

        Args:
            project_id: Project name.
            paths: Paths in the repository, 1 to 50; a new file is judged by its folder.
            limit: How many at most, 1 to 100; default 10.

        Raises:
            ContractError: a path outside the repository, or no such project.
            InvalidArgument: limit is out of range.
        """
        return await around.what_changes(
            self.caller, {"project_id": project_id, "paths": several("paths", paths), "limit": limit}
        )

    async def which_files(
        self,
        project_id: str,
        text: str,
        limit: int = 10,
        clear: bool = False,
    ) -> FoundFiles:
        """Find the files that a text, such as an issue or a task, is about.

        Each file has a score, which orders the files of one answer, and the signs that found it: named (the
        text names it), words (it uses the words of the text), path (its path holds them), cards and work
        (cards about it, or earlier changes of it, have its name), together (it changes with another that
        was found).

        Args:
            project_id: Project name.
            text: The issue, the ticket or the task.
            limit: How many at most, 1 to 100; default 10.
            clear: None, unless one is found clearly and the text names none itself; default false.

        Raises:
            InvalidArgument: the text is empty, or limit is out of range.
            ContractError: no such project.
        """
        return await around.which_files(
            self.caller, {"project_id": project_id, "text": text, "limit": limit, "clear": clear}
        )

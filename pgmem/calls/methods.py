"""The verbs as methods; each calls its verb, or its function of calls/around.py.

Written by scripts/generate from the chapters of sql/; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date as Date
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from annotated_types import Ge, Le
from pydantic import JsonValue

from pgmem.calls import batches, retrieval, routing, saves, tenancy
from pgmem.calls.caller import Caller
from pgmem.database.call import several
from pgmem.models import (
    Activity,
    AddedObservations,
    Adoption,
    ApiToken,
    AppliedExtraction,
    Approval,
    Arrival,
    Backlog,
    Balance,
    BatchSaveResult,
    CapturedTurns,
    CardDecision,
    CardVacuum,
    ChangePage,
    CheckedLabel,
    CitedFile,
    ClaimCheck,
    CompletedName,
    Confirmed,
    ConflictEntry,
    ContextBundle,
    ConversationEntry,
    Decay,
    DedupDue,
    DrawnGraph,
    DuplicateCheck,
    Edge,
    EditedFile,
    EditedMemory,
    EmbeddingModel,
    Erasure,
    Expiry,
    Extraction,
    ExtractionBudget,
    Feedback,
    Forgotten,
    FoundItem,
    FreshnessReport,
    GovernanceToken,
    GraphCounts,
    Health,
    History,
    HygieneReport,
    Insight,
    Insights,
    Intent,
    ItemNamespace,
    KnownEntities,
    KnownGraph,
    KnownRelations,
    LineEntry,
    MemoryCounts,
    MemoryEntry,
    MemoryFile,
    Message,
    NearPair,
    Neighbour,
    Neighbours,
    Node,
    NumberedEntry,
    OpenedProject,
    Outstanding,
    PeerState,
    PlacedMemory,
    ProjectEntry,
    RecallEntry,
    RecallSums,
    Reflection,
    RelatedEntity,
    Remembered,
    Renewal,
    Repair,
    Replacement,
    Retraction,
    Reverted,
    Review,
    ReviewDetail,
    Route,
    SaveResult,
    SaveStatus,
    SchemaDescription,
    ScopeState,
    SearchResults,
    SessionRecord,
    Setting,
    SettledBranches,
    SkillEntry,
    Source,
    StandingRule,
    Status,
    StoredItem,
    StoredItems,
    Surface,
    Sweep,
    Tenant,
    TenantRole,
    TitledMemory,
    Version,
    Waiting,
    WaitingRule,
)

__all__ = ["Verbs"]

Confidence = Annotated[float, Ge(0), Le(1)]
Fusion = Literal["linear", "rrf"]
Hops = Annotated[int, Ge(1), Le(5)]
InsightAction = Literal["approve", "dismiss"]
MinRelevance = Annotated[float, Ge(0), Le(1)]
Relevance = Annotated[float, Ge(0), Le(1)]
ReviewOutcome = Literal["new", "supersede", "drop"]
RowLimit = Annotated[int, Ge(1), Le(1000)]
ScopeName = Literal["global", "project", "focus"]
Sharing = Literal["private", "org"]
TokenLimit = Annotated[int, Ge(100), Le(1000000)]
Verdict = Literal["used", "noise", "wrong", "outdated"]


class Verbs:
    """The verbs as methods; `Memory` inherits them.

    Args:
        caller: what calls the verbs.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    async def set_setting(
        self,
        name: str,
        value: str,
    ) -> Setting:
        """Change a threshold or limit for every caller; the owner's right alone.

        Args:
            name: The name of the setting, as list_settings shows it.
            value: The new value, as a text.

        Raises:
            InvalidArgument: No such setting exists, or the value does not fit; the message has the meaning
                of the setting.
        """
        return await self.caller.one("set_setting", Setting, {"name": name, "value": value})

    async def list_settings(
        self,
    ) -> list[Setting]:
        """List the thresholds and limits of this store: name, value, description."""
        return await self.caller.all("list_settings", Setting, {})

    async def activate_model(
        self,
        name: str,
    ) -> None:
        """Let search use this model from the next query on; memories without a vector of it are queued.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
        """
        await self.caller.rows("activate_model", {"name": name})

    async def drop_model(
        self,
        name: str,
    ) -> int:
        """Delete a model that is not active and its vectors; how many.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self.caller.value("drop_model", int, {"name": name})

    async def embedding_status(
        self,
    ) -> list[EmbeddingModel]:
        """The models of this store, their vectors, and how many texts wait for one.

        With index_missing, a model has more vectors than vector_index_limit and no index yet: they are
        compared one by one until a worker makes it.
        """
        return await self.caller.all("embedding_status", EmbeddingModel, {})

    async def get_scope_state(
        self,
        project_id: str | None = None,
        focus: str | None = None,
    ) -> ScopeState:
        """Resolve a project and a focus for the caller; call it before reading or writing.

        Args:
            project_id: Project name.
            focus: Focus area.

        Raises:
            InvalidArgument: A name holds a control character or is too long.
        """
        return await self.caller.one(
            "get_scope_state", ScopeState, {"project_id": project_id, "focus": focus}
        )

    async def describe_schema(
        self,
    ) -> SchemaDescription:
        """List the labels and relations a memory can have."""
        return await self.caller.one("describe_schema", SchemaDescription, {})

    async def relate(
        self,
        from_label: str,
        from_key: str,
        rel_type: str,
        to_label: str,
        to_key: str,
        project_id: str | None = None,
    ) -> Edge:
        """Join two memories; the same call again changes nothing more.

        Args:
            from_label: Such as Decision.
            from_key: Id, name or title.
            rel_type: Such as CONFLICTS_WITH; describe_schema lists them.
            to_label: Such as Decision.
            to_key: Id, name or title.
            project_id: Project name.

        Raises:
            InvalidArgument: The label or the relation is unknown.
            MemoryNotFound: A name fits no memory, or the project is unknown.
            AmbiguousName: A name fits several memories; the message lists their ids.
            NotPermitted: Both memories are public, and the caller has a tenant.
            RelationNotAllowed: The relation does not join these labels, or verbs alone make it.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "relate",
            Edge,
            {
                "from_label": from_label,
                "from_key": from_key,
                "rel_type": rel_type,
                "to_label": to_label,
                "to_key": to_key,
                "project_id": project_id,
            },
        )

    async def check_duplicate(
        self,
        title: str,
        rationale: str,
        project_id: str,
        scope: ScopeName = "project",
        focus: str | None = None,
    ) -> DuplicateCheck:
        """Say which outcome save_decision would have, with the candidate; writes nothing.

        score is the Jaccard of the two titles, 0.5 to 1; null without a candidate.

        Args:
            title: The title of the decision.
            rationale: Its rationale: the same content is the same title and rationale.
            project_id: Project name.
            scope: Its reach; global, project or focus.
            focus: Focus area.

        Raises:
            InvalidArgument: A text is empty or too long, or scope is focus without a focus.
        """
        return await self.caller.one(
            "check_duplicate",
            DuplicateCheck,
            {
                "title": title,
                "rationale": rationale,
                "project_id": project_id,
                "scope": scope,
                "focus": focus,
            },
        )

    async def dedup_due(
        self,
    ) -> DedupDue:
        """Say whether the order of the title words of a scope is due for refresh_dedup.

        It is due once the titles of the scope have doubled since the last snapshot, and by at least 1 000.
        titles: those of the largest scope that is due. by_worker: they are at most dedup_refresh_limit, so
        the worker refreshes; saves of the scope wait for it.
        """
        return await self.caller.one("dedup_due", DedupDue, {})

    async def refresh_dedup(
        self,
        if_worth: bool = False,
    ) -> int:
        """Order the title words of one scope by their frequency; the number of its entries.

        The scope is the one to which most titles have come; the answer is 0 if none has new titles. Its
        saves wait meanwhile, those of other scopes do not. The worker calls it for scopes of up to
        dedup_refresh_limit titles; for larger ones a person does at a quiet hour.

        Args:
            if_worth: Only where dedup_due says that it is due and the worker's to do, else 0; false by
                default, for reviewers alone.

        Raises:
            NotPermitted: The login is not a reviewer, and if_worth is false.
        """
        return await self.caller.value("refresh_dedup", int, {"if_worth": if_worth})

    async def status(
        self,
    ) -> Status:
        """The server, the tier, the release and, the numbers of memories that the caller sees."""
        return await self.caller.one("status", Status, {})

    async def open_project(
        self,
        names: Sequence[str],
        remotes: Sequence[str] = (),
        roots: Sequence[str] = (),
        places: Sequence[str] = (),
        create: bool = True,
        answer: bool | None = None,
    ) -> OpenedProject:
        """Find the project of a repository by its identity, else of a name alone, or make it.

        A name and an address prove nothing: a repository that has only these of a project with memories
        gets a separate project, and the answer says which one it asks for.

        Args:
            names: Names that a new project may have, best first.
            remotes: The addresses of the repository as host/path, without scheme and login.
            roots: The first commits of its history; empty where they are not known.
            places: Digests of the machine and the directory that its worktrees share.
            create: False: only find it; a new repository is answered with the name that it would have. An
                answer makes it.
            answer: A person's answer to asks: true for yes; false for no, or to take a yes back.

        Raises:
            InvalidArgument: names is empty, or a text holds a control character or is too long.
            NotPermitted: An agent answers, or sends a name that steers agents.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "open_project",
            OpenedProject,
            {
                "names": several("names", names),
                "remotes": several("remotes", remotes),
                "roots": several("roots", roots),
                "places": several("places", places),
                "create": create,
                "answer": answer,
            },
        )

    async def request_global_write_approval(
        self,
        content_preview: str,
        asked: bool = False,
    ) -> GovernanceToken:
        """Request a token for one global write; the person sees the preview before the token is sent.

        The token expires after ttl_seconds. Only this answer holds it; the store keeps its hash.

        Args:
            content_preview: All texts that would be written; for the person to approve, such as title and
                rationale. The token is good for these texts alone; to forget or revert a memory it is
                "Forget: " or "Revert: " and the title.
            asked: The client has shown the preview to its person, who said yes. It counts from the owner
                and trusted logins, which the server uses, and not from agents.

        Raises:
            InvalidArgument: the preview is empty or too long.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "request_global_write_approval",
            GovernanceToken,
            {"content_preview": content_preview, "asked": asked},
        )

    async def preview_global_write(
        self,
        arguments: Mapping[str, Any],
    ) -> str:
        """Return the texts of a global save, for a person to approve; empty where asking would not help.

        That is where nothing in it is global, the project does not exist, or the write waits for a reviewer
        in any case.

        Args:
            arguments: The arguments of the save, an object.
        """
        return await saves.preview_global_write(self.caller, {"arguments": arguments})

    async def save_session(
        self,
        objective: str,
        project_id: str,
        actions_taken: Sequence[str] = (),
        decisions_made: Sequence[str] = (),
        open_items: Sequence[str] = (),
        next_actions: Sequence[str] = (),
        focus: str | None = None,
        scope: ScopeName = "project",
        citation: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Sharing | None = None,
    ) -> SaveResult:
        """Save what a session did and what is open; this save alone creates its project.

        A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what
        to do.

        Args:
            objective: Its aim; one text.
            project_id: Project name.
            actions_taken: Actions, in order.
            decisions_made: Decisions; a few words each: save_decision keeps the reasons.
            open_items: Unfinished work.
            next_actions: Next steps.
            focus: Focus area.
            scope: Its reach; global, project or focus.
            citation: Sources; ids, URLs, path:lines@commit, tickets.
            valid_from: Since when; unset: now.
            valid_to: Until when; unset: an open end.
            governance_token: For scope global; a token of request_global_write_approval.
            save_id: A UUID; sent again, it saves once.
            share: Owner: private or org; unset: private where there is a user.

        Raises:
            InvalidArgument: objective is empty, a text is too long, or a value cannot be read.
            SaveIdReused: the save_id belongs to a save with other arguments.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        params = {
            "objective": objective, "project_id": project_id,
            "actions_taken": several("actions_taken", actions_taken),
            "decisions_made": several("decisions_made", decisions_made),
            "open_items": several("open_items", open_items),
            "next_actions": several("next_actions", next_actions), "focus": focus, "scope": scope,
            "citation": several("citation", citation), "valid_from": valid_from, "valid_to": valid_to,
            "governance_token": governance_token, "save_id": save_id, "share": share,
        }  # fmt: skip
        return await saves.save(self.caller, "save_session", params)

    async def save_pattern(
        self,
        trigger: str,
        repeatable_steps: Sequence[str],
        project_id: str,
        exclusions: Sequence[str] = (),
        scope: ScopeName = "project",
        last_validated_at: datetime | None = None,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        focus: str | None = None,
        citation: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        share: Sharing | None = None,
    ) -> SaveResult:
        """Save a repeatable way of working: when it applies and its steps.

        A pattern with the same trigger and steps is skipped (dedup_outcome `duplicate_skip`). A refused
        save is not an error; its status is `failed` or `blocked_scope`, and next_step says what to do.

        Args:
            trigger: When it applies.
            repeatable_steps: In order; at least one.
            project_id: Project name.
            exclusions: When it does not apply.
            scope: Its reach; global, project or focus.
            last_validated_at: When the pattern last proved right; unset: now.
            governance_token: For scope global; a token of request_global_write_approval.
            save_id: A UUID; sent again, it saves once.
            focus: Focus area.
            citation: Sources; ids, URLs, path:lines@commit, tickets.
            valid_from: Since when; unset: now.
            valid_to: Until when; unset: an open end.
            share: Owner: private or org; unset: private where there is a user.

        Raises:
            InvalidArgument: trigger or repeatable_steps is empty, a text is too long, or a value cannot be
                read.
            SaveIdReused: the save_id belongs to a save with other arguments.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        params = {
            "trigger": trigger, "repeatable_steps": several("repeatable_steps", repeatable_steps),
            "project_id": project_id, "exclusions": several("exclusions", exclusions), "scope": scope,
            "last_validated_at": last_validated_at, "governance_token": governance_token,
            "save_id": save_id, "focus": focus, "citation": several("citation", citation),
            "valid_from": valid_from, "valid_to": valid_to, "share": share,
        }  # fmt: skip
        return await saves.save(self.caller, "save_pattern", params)

    async def save_context(
        self,
        content: str,
        project_id: str,
        topic: str | None = None,
        scope: ScopeName = "project",
        focus: str | None = None,
        relevance_score: Relevance = 1.0,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Sharing | None = None,
        citation: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
    ) -> SaveResult:
        """Save a free piece of context under a topic; every call stores a new memory.

        A refused save is not an error; its status is `failed` or `blocked_scope`, and next_step says what
        to do.

        Args:
            content: The text of the note.
            project_id: Project name.
            topic: Its title.
            scope: Its reach; global, project or focus.
            focus: Focus area.
            relevance_score: 0 to 1; how relevant it is: kept with the note, and no part of a ranking.
            governance_token: For scope global; a token of request_global_write_approval.
            save_id: A UUID; sent again, it saves once.
            share: Owner: private or org; unset: private where there is a user.
            citation: Sources; ids, URLs, path:lines@commit, tickets.
            valid_from: Since when; unset: now.
            valid_to: Until when; unset: an open end.

        Raises:
            InvalidArgument: content is empty, a text is too long, or a value cannot be read.
            SaveIdReused: the save_id belongs to a save with other arguments.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        params = {
            "content": content, "project_id": project_id, "topic": topic, "scope": scope,
            "focus": focus, "relevance_score": relevance_score, "governance_token": governance_token,
            "save_id": save_id, "share": share, "citation": several("citation", citation),
            "valid_from": valid_from, "valid_to": valid_to,
        }  # fmt: skip
        return await saves.save(self.caller, "save_context", params)

    async def save_decision(
        self,
        title: str,
        rationale: str,
        project_id: str,
        owner: str | None = None,
        date: Date | str | None = None,
        scope: ScopeName = "project",
        focus: str | None = None,
        confidence: Confidence = 1.0,
        supersedes: str | None = None,
        beside: str | None = None,
        citation: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Sharing | None = None,
    ) -> SaveResult:
        """Save a decision: skip a repeat, supersede a near title, or hand a doubtful one to a reviewer.

        A title that was replaced is not saved again: the answer is the decision that replaced it.
        supersedes says which decision this one replaces, beside that another one holds too; `near` names
        the live decisions of which that may be true. The answer's dedup_outcome is `new`, `duplicate_skip`,
        `supersede` or `manual_review`; candidate_id is the earlier decision. A refused save is not an
        error; its status is `failed` or `blocked_scope`, and next_step says what to do.

        Args:
            title: The decision; one line.
            rationale: Why it was decided.
            project_id: Project name.
            owner: Who decided it; a name.
            date: The day, YYYY-MM-DD; unset: today.
            scope: Its reach; global, project or focus.
            focus: Focus area.
            confidence: How certain it is, 0 to 1.
            supersedes: One that it replaces; the id or title of a decision.
            beside: One holding too; the id or title of a near decision.
            citation: Sources; ids, URLs, path:lines@commit, tickets.
            valid_from: Since when; unset: now.
            valid_to: Until when; unset: an open end.
            governance_token: For scope global; a token of request_global_write_approval.
            save_id: A UUID; sent again, it saves once.
            share: Owner: private or org; unset: private where there is a user.

        Raises:
            InvalidArgument: title or rationale is empty, a text is too long, or a value cannot be read.
            SaveIdReused: the save_id belongs to a save with other arguments.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        params = {
            "title": title, "rationale": rationale, "project_id": project_id, "owner": owner,
            "date": date, "scope": scope, "focus": focus, "confidence": confidence,
            "supersedes": supersedes, "beside": beside, "citation": several("citation", citation),
            "valid_from": valid_from, "valid_to": valid_to, "governance_token": governance_token,
            "save_id": save_id, "share": share,
        }  # fmt: skip
        return await saves.save(self.caller, "save_decision", params)

    async def propose_change(
        self,
        verb: str,
        arguments: Mapping[str, Any],
        id: UUID | None = None,
        origin: str | None = None,
    ) -> SaveResult:
        """Ask a person to decide about a change; asked for again, it is the same review.

        The review says who proposed it, and where they found it.

        Args:
            verb: forget or edit_memory, for a stored memory; or the verb that saves a kind, for a new one.
            arguments: Those of the verb, an object: purge of forget, properties and title of edit_memory,
                or those of the save.
            id: The memory that would be forgotten or edited.
            origin: Where the change was found, such as a file; a person is shown it.

        Raises:
            InvalidArgument: another verb, or arguments is not an object.
            MemoryNotFound: no such memory is visible to the caller.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "propose_change", SaveResult, {"verb": verb, "arguments": arguments, "id": id, "origin": origin}
        )

    async def upsert_entity(
        self,
        entity_name: str,
        fact: str,
        project_id: str,
        related_entities: Sequence[RelatedEntity] = (),
        scope: ScopeName = "project",
        focus: str | None = None,
        about: str | None = None,
        aliases: Sequence[str] = (),
        citation: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        governance_token: str | None = None,
        save_id: UUID | None = None,
        share: Sharing | None = None,
    ) -> SaveResult:
        """Save the present fact about a named entity; the earlier fact stays in its history.

        The earlier fact ends where the new one begins: now. The answer's dedup_outcome is `new`, or
        `supersede` when the entity existed; `manual_review` when the earlier fact has more trust, and
        `duplicate_skip` when it is the same. Its message names a valid_to that had passed, after which the
        entity holds again. A refused save is not an error; its status is `failed` or `blocked_scope`, and
        next_step says what to do.

        Args:
            entity_name: Its name.
            fact: A true statement on it.
            project_id: Project name.
            related_entities: Entities that exist; each has entity_id or entity_name, and relationship_type.
            scope: Its reach; global, project or focus.
            focus: Focus area.
            about: Such as capital; the slot of the fact: a later one in the same slot replaces it.
            aliases: Names; unset: those it has.
            citation: Sources; ids, URLs, path:lines@commit, tickets.
            valid_from: Since when; unset: now.
            valid_to: Until when; unset: an open end.
            governance_token: For scope global; a token of request_global_write_approval.
            save_id: A UUID; sent again, it saves once.
            share: Owner: private or org; unset: private where there is a user.

        Raises:
            InvalidArgument: entity_name or fact is empty, a text is too long, or a value cannot be read.
            SaveIdReused: the save_id belongs to a save with other arguments.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        params = {
            "entity_name": entity_name, "fact": fact, "project_id": project_id,
            "related_entities": several("related_entities", related_entities), "scope": scope,
            "focus": focus, "about": about, "aliases": several("aliases", aliases),
            "citation": several("citation", citation), "valid_from": valid_from, "valid_to": valid_to,
            "governance_token": governance_token, "save_id": save_id, "share": share,
        }  # fmt: skip
        return await saves.save(self.caller, "upsert_entity", params)

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
        share: Sharing | None = None,
        memories: Sequence[Mapping[str, Any]] = (),
    ) -> BatchSaveResult:
        """Save a session with the decisions and patterns that came out of it; atomic: all or nothing.

        The answer has a result for each part. A part with an argument that its verb does not have is
        `failed`, and its message names the argument. `overall` is `saved`, `partial`, `failed` or
        `blocked_scope`. The project must exist: only save_session by itself creates one.

        Args:
            session: As save_session takes it; an object.
            project_id: Project name.
            decisions: As save_decision takes them; objects.
            patterns: As save_pattern takes them; objects.
            focus: Focus area.
            governance_token: For scope global; a token of request_global_write_approval.
            atomic: All parts or none; false: a refused part leaves the others saved.
            save_id: A UUID; sent again, it saves once.
            share: Owner: private or org; unset: private where there is a user.
            memories: Those of other kinds; objects with a label, such as Context, and the arguments of its
                save verb.

        Raises:
            InvalidArgument: the session is not an object, a list is not a list of objects, or with atomic a
                part cannot be read.
            SaveIdReused: the save_id belongs to a save with other arguments.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await saves.store_session_with_learnings(
            self.caller,
            {
                "session": session,
                "project_id": project_id,
                "decisions": several("decisions", decisions),
                "patterns": several("patterns", patterns),
                "focus": focus,
                "governance_token": governance_token,
                "atomic": atomic,
                "save_id": save_id,
                "share": share,
                "memories": several("memories", memories),
            },
        )

    async def remember(
        self,
        label: str,
        properties: Mapping[str, Any],
        relations: Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        project_id: str | None = None,
        share: Sharing | None = None,
    ) -> Remembered:
        """Create or update a node by its name, and relate it to others by their names.

        A name that is new and resembles an existing one is made, and near_names says which it resembles.

        A target that exists gets an edge, a missing one becomes a stub, an ambiguous one comes back in
        did_you_mean.

        A write without dates keeps the period of the node; where that has ended, the node is true again
        from now on, and a person decides, under the save_id in conflict, whether the end comes back. A
        write to a node whose valid_to was set is reported in conflict: `revived` where that end had passed,
        else `has_end`, with the action `cleared`, `kept` or `replaced`. Other content takes the place of
        the earlier one from valid_from on, where the node has one, else from now on; the earlier state
        keeps an end that was set.

        A node of more trust than the caller's stays as it is: the answer has status `failed` and
        dedup_outcome `manual_review`, and a person decides under its save_id.

        Args:
            label: Technology, Person, Concept, Problem or another; a kind that no save verb writes
                (pgmem://schema).
            properties: Its name (Problem: title), the known facts, any others; null removes one.
            relations: Relations to others by name, such as USES; {"USES": ["Redis", {"name": "Ada",
                "label": "Person"}]}. A missing target becomes a stub.
            valid_from: When it begins to hold; a new period unless valid_to is sent too. Unset: as stored,
                else now.
            valid_to: When it ceases to hold; unset: as stored, or open with a new valid_from. Alone it
                leaves the start as it is.
            project_id: Project name; unset: it belongs to none.
            share: Owner: private or org; unset: private where there is a user.

        Raises:
            InvalidArgument: an unknown label or one that a save verb writes, no name, an unknown relation,
                an empty period, or a property status that says archived.
            MemoryNotFound: the project does not exist.
            NotPermitted: an agent writes a text that steers agents.
            RelationNotAllowed: a relation does not join these labels, or only verbs make it.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await saves.remember(
            self.caller,
            {
                "label": label,
                "properties": properties,
                "relations": relations or {},
                "valid_from": valid_from,
                "valid_to": valid_to,
                "project_id": project_id,
                "share": share,
            },
        )

    async def issue_token(
        self,
        org_id: str = "",
        user_id: str = "",
        name: str | None = None,
        expires_at: datetime | None = None,
        for_person: bool = False,
        for_sync: bool = False,
        vouches: bool = False,
    ) -> ApiToken:
        """Issue a bearer token bound to a tenant; only this answer holds the token.

        In a store with one user, a token without org_id and user_id acts for that user, and the store stays
        one without tenants.

        Args:
            org_id: The organisation the token acts for; empty: none.
            user_id: The user the token acts for; empty: the organisation as a whole.
            name: A name for the token in list_tokens; unset: the names of the tenant.
            expires_at: When the token ends; unset: never.
            for_person: Whether a person signs in to the page with it and decides there; such a token admits
                no agent.
            for_sync: Whether another store exchanges changes with it (pgmem sync); such a token admits no
                agent and no person.
            vouches: Whether the other store is believed about the authors and approvers of its records;
                with for_sync alone. Unset: its records have the trust of an agent's.

        Raises:
            InvalidArgument: no tenant is named in a store that has tenants, a name cannot be taken,
                expires_at lies in the past, or the token would have two purposes.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self.caller.one(
            "issue_token",
            ApiToken,
            {
                "org_id": org_id,
                "user_id": user_id,
                "name": name,
                "expires_at": expires_at,
                "for_person": for_person,
                "for_sync": for_sync,
                "vouches": vouches,
            },
        )

    async def verify_token(
        self,
        token: str,
    ) -> ApiToken | None:
        """Find the tenant that a bearer token is bound to; None where it is unknown, revoked or expired.

        Args:
            token: The token as the client sent it.

        Raises:
            NotPermitted: the identity settings of this login do not count, so it cannot act for a tenant.
        """
        return await self.caller.first("verify_token", ApiToken, {"token": token})

    async def revoke_token(
        self,
        token_id: UUID,
    ) -> ApiToken:
        """Revoke a bearer token at once; the row stays for list_tokens.

        Args:
            token_id: The id of the token, as list_tokens gives it.

        Raises:
            MemoryNotFound: no such token exists.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await tenancy.revoke_token(self.caller, {"token_id": token_id})

    async def list_tokens(
        self,
    ) -> list[ApiToken]:
        """List the bearer tokens that were issued, oldest first, without their secrets.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self.caller.all("list_tokens", ApiToken, {})

    async def bind_role(
        self,
        role: str,
        org_id: str = "",
        user_id: str = "",
    ) -> TenantRole:
        """Bind a database login to a tenant, whatever it sets; with neither name the binding ends.

        A bound login gets limits from the settings role_*: statement_timeout,
        idle_in_transaction_session_timeout and temp_file_limit in this database, and a number of
        connections. `unlimited` names those that the caller may not set; a superuser, or the role's
        administrator, sets them.

        Args:
            role: The name of the login.
            org_id: The organisation of the tenant; empty: none.
            user_id: The user of the tenant; empty: the organisation as a whole.

        Raises:
            MemoryNotFound: the server has no such role.
            InvalidArgument: the login owns the store, or a name cannot be taken.
        """
        return await self.caller.one(
            "bind_role", TenantRole, {"role": role, "org_id": org_id, "user_id": user_id}
        )

    async def list_tenants(
        self,
    ) -> list[Tenant]:
        """List the tenants with their memories and projects, and the tokens and logins bound to them.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self.caller.all("list_tenants", Tenant, {})

    async def adopt(
        self,
        org_id: str,
        user_id: str = "",
        dry_run: bool = False,
        back: bool = False,
    ) -> Adoption:
        """Give all rows that belong to no tenant to one tenant, in one transaction.

        For a store that gets its first tenant. Writers wait until it is done. With back the rows of the
        tenant belong to no tenant any more, which is the way back to a store with one user.

        Args:
            org_id: The organisation of the tenant; empty: none.
            user_id: The user of the tenant; empty: the organisation as a whole.
            dry_run: Only report what it would do.
            back: The other way: from the tenant to no tenant.

        Raises:
            InvalidArgument: no tenant is named, some of the names or contents are there already, or the way
                back is asked for while a token or a login is bound to a tenant.
        """
        return await self.caller.one(
            "adopt", Adoption, {"org_id": org_id, "user_id": user_id, "dry_run": dry_run, "back": back}
        )

    async def erase_subject(
        self,
        org_id: str,
        user_id: str = "",
        dry_run: bool = True,
        by: str | None = None,
    ) -> Erasure:
        """Remove a user, or an organisation with its users, from every table and from the graph.

        In Python the saves of the subject in the outbox of this machine are removed too. `counts` has the
        number of rows by table. Where nothing was stored receipt_id is null.

        Args:
            org_id: The organisation to remove; empty: a user without an organisation.
            user_id: The user to remove; empty: the organisation with all its users.
            dry_run: True (the default): only count; false: remove.
            by: The name of the person who erases; required unless dry_run.

        Raises:
            InvalidArgument: no subject is named, `by` is empty, or a user is named without the organisation
                it belongs to.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await tenancy.erase_subject(
            self.caller, {"org_id": org_id, "user_id": user_id, "dry_run": dry_run, "by": by}
        )

    async def get_node(
        self,
        label: str,
        key: str,
        project_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Node:
        """Read one memory whole: as it is, or as it was true or on record at a time.

        A memory that was forgotten is found where no other has the name: its status is `archived`, and
        archived_at says since when. agent_id says who wrote the state. With as_of or known_at the memory is
        found by its present name, or by its id; valid_from and valid_to are the dates set for that state,
        memory_history has the effective period.

        Args:
            label: Such as Decision.
            key: Id, name or title; a title exactly.
            project_id: Where to look for the name; unset: everywhere.
            as_of: As true at that time.
            known_at: As recorded at that time.

        Raises:
            MemoryNotFound: no such memory is visible to the caller, or it was not true or known at that
                time.
            AmbiguousName: a name fits several memories; the message lists their ids.
            InvalidArgument: an unknown label, or an empty key.
        """
        return await self.caller.one(
            "get_node",
            Node,
            {"label": label, "key": key, "project_id": project_id, "as_of": as_of, "known_at": known_at},
        )

    async def retrieve_context(
        self,
        project_id: str,
        scope: ScopeName = "project",
        focus: str | None = None,
        categories: Sequence[str] | None = None,
        topic: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        max_tokens: TokenLimit | None = None,
    ) -> ContextBundle:
        """Load standing instructions and the newest live memories of focus, project and all projects.

        `items` are the newest of the focus, then of the project, then of all projects. `standing` holds the
        instructions apart from them: an instruction is a text of a person that says how to go on from now
        on (always, never, when I ask), or whose title is Instruction; it is offered whatever its age, at
        most `instruction_limit` of them, the nearest first; with a topic, those that hold a word of it. An
        agent's is an ordinary note until a person says yes to it (list_rules, decide_rule). `by` names the
        author of each item. Half of the places of a scope are kept for memories of persons.

        With `as_of` the answer holds memories that were true at that time, also those superseded since;
        with `known_at` those recorded at that time.

        One attempt takes at most `retrieval_timeout_s`; after one retry the status is `timed_out` (or
        `failed` when the database does not answer), so that an agent can always go on.

        Args:
            project_id: Project name.
            scope: The widest scope; global: only global memories; project or focus: the named focus, the
                project and global memories.
            focus: Focus area; required with scope focus.
            categories: Only these kinds; unset: all but cards.
            topic: Only memories that contain one of these words.
            as_of: As true at that time.
            known_at: As recorded at that time.
            max_tokens: At most so many tokens; four characters each, 100 to 1000000: long texts are cut,
                memories are taken in turn from focus, project and global, and results that do not fit are
                left out and counted in left_out. Unset: no limit, for an agent the setting
                agent_token_limit.

        Raises:
            InvalidArgument: an unknown scope or category, or scope focus without focus.
        """
        return await retrieval.retrieve_context(
            self.caller,
            {
                "project_id": project_id,
                "scope": scope,
                "focus": focus,
                "categories": several("categories", categories),
                "topic": topic,
                "as_of": as_of,
                "known_at": known_at,
                "max_tokens": max_tokens,
            },
        )

    async def get_session(
        self,
        session_id: str,
    ) -> SessionRecord:
        """Read a session by its id, with the memories that were saved in it.

        Args:
            session_id: The id of the session, or its exact title.

        Raises:
            MemoryNotFound: no such session is visible to the caller.
            AmbiguousName: several sessions have this title; the message lists their ids.
            InvalidArgument: the session_id is empty.
        """
        return await self.caller.one("get_session", SessionRecord, {"session_id": session_id})

    async def search_memory(
        self,
        query: str,
        limit: RowLimit = 10,
        project_id: str | None = None,
        scope: ScopeName | None = None,
        labels: Sequence[str] | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        fusion: Fusion | None = None,
        explain: bool = False,
        focus: str | None = None,
        tags: Sequence[str] | None = None,
        without: Sequence[str] = (),
        weights: Mapping[str, Any] | None = None,
        min_relevance: MinRelevance | None = None,
        max_tokens: TokenLimit | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        answers_only: bool | None = None,
    ) -> SearchResults:
        """Memories that answer a query, best first: by vector similarity, BM25 and neighbouring memories.

        passage is the text of the memory, of a long one the part (about 120 words) that holds most of the
        query; matched are the lexemes of the query that it holds, but for those that nearly all memories
        hold; copies counts the memories of the same text, of which the best stands for all. An agent gets
        those at least half as relevant as the best, where nothing answers the first five at least, within
        its tokens. score orders the results of this search; relevance (0 to 1) compares with other
        searches. answered says of the whole whether something here answers the query: yes, unclear or no.
        search_answer gives it for a search without rows too.

        Args:
            query: Words or a question.
            limit: How many at most, 1 to 1000.
            project_id: Project name.
            scope: Its reach; global, project or focus.
            labels: Only these kinds, such as Decision.
            as_of: As true at that time; also memories superseded since, by full text alone.
            known_at: As recorded at that time; by full text alone.
            fusion: linear (weighted sum of normalised arms) or rrf; unset: the store's setting.
            explain: give every part of a score.
            focus: Focus area.
            tags: only memories with all of these tags.
            without: parts of the ranking to turn off, to compare: names, window, question, session, prior,
                instruction, time, date, source, graph, usefulness, citation.
            weights: settings of the ranking (hybrid_alpha, rrf_k and their like) for this search alone.
            min_relevance: Leave out results of less relevance, 0 to 1.
            max_tokens: At most so many tokens, 100 to 1000000; results that do not fit are left out and
                counted, near copies come once. Unset: no limit, for an agent agent_token_limit.
            agent_id: Only memories of this agent.
            session_id: Only memories of this session.
            answers_only: Show only results that answer the query: few, or none.

        Raises:
            InvalidArgument: an empty query, a limit outside 1 to 1000, an unknown label or weight.
        """
        params = {
            "query": query, "limit": limit, "project_id": project_id, "scope": scope,
            "labels": several("labels", labels), "as_of": as_of, "known_at": known_at,
            "fusion": fusion, "explain": explain, "focus": focus, "tags": several("tags", tags),
            "without": several("without", without), "weights": weights,
            "min_relevance": min_relevance, "max_tokens": max_tokens, "agent_id": agent_id,
            "session_id": session_id, "answers_only": answers_only,
        }  # fmt: skip
        return await retrieval.search_memory(self.caller, params)

    async def neighbours(
        self,
        label: str,
        key: str,
        hops: Hops = 1,
        limit: RowLimit = 50,
        project_id: str | None = None,
    ) -> Neighbours:
        """List the memories within some hops of one, nearest first, each with the relations on the way.

        The walk ends when it has read as many edges as the setting neighbours_row_limit says.

        Args:
            label: Such as Decision.
            key: Id, name or title; a title exactly.
            hops: Relations away at most, 1 to 5.
            limit: How many at most, 1 to 1000.
            project_id: Where to look; unset: everywhere.

        Raises:
            MemoryNotFound: the project or the memory does not exist.
            AmbiguousName: a name fits several memories; the message lists their ids.
            InvalidArgument: an unknown label, an empty key, or hops or limit out of bounds.
        """
        return await self.caller.listed(
            "neighbours",
            Neighbours,
            Neighbour,
            {"label": label, "key": key, "hops": hops, "limit": limit, "project_id": project_id},
        )

    async def memory_history(
        self,
        label: str,
        key: str,
        project_id: str | None = None,
    ) -> History:
        """List every state a memory was recorded in, oldest first; a forgotten memory has a history too.

        valid_from and valid_to are the effective period of a state: without a date it begins when it was
        saved and ends where the next one begins. A `restated` state holds nowhere any more, as a later one
        took its whole period.

        Args:
            label: Such as Decision.
            key: Id, name or title; a title exactly.
            project_id: Where to look for the name; unset: everywhere.

        Raises:
            MemoryNotFound: no such memory is visible to the caller.
            AmbiguousName: a name fits several memories; the message lists their ids.
            InvalidArgument: an unknown label, or an empty key.
        """
        return await self.caller.listed(
            "memory_history", History, Version, {"label": label, "key": key, "project_id": project_id}
        )

    async def revert(
        self,
        label: str,
        key: str,
        version: int,
        project_id: str | None = None,
        governance_token: str | None = None,
    ) -> Reverted:
        """Put a memory back to an earlier version, as a new version; the history keeps all of them.

        A forgotten memory is brought back in this way. A memory of more trust than the caller's stays as it
        is: the answer has status `failed` and dedup_outcome `manual_review`, and a person decides under its
        save_id.

        Args:
            label: Such as Decision.
            key: Id, name or title; a title exactly.
            version: Its number; a wrong one is answered with those that exist.
            project_id: Project name; unset: everywhere.
            governance_token: For a global memory; a token of request_global_write_approval.

        Raises:
            MemoryNotFound: no such memory exists, or it has no such version.
            AmbiguousName: a name fits several memories; the message lists their ids.
            InvalidArgument: an unknown label, an empty key, or the same content is live under another id.
            NotPermitted: the memory belongs to all tenants, or it is global and the token is missing or
                spent.
            RelationNotAllowed: the memory is a project, a focus area or a card.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "revert",
            Reverted,
            {
                "label": label,
                "key": key,
                "version": version,
                "project_id": project_id,
                "governance_token": governance_token,
            },
        )

    async def list_said_again(
        self,
        id: str,
    ) -> Retraction:
        """List the memories that say the same as one, and those that rest on it.

        Look before you forget it or name it wrong.

        Args:
            id: Its id or title; of an id the first 8 digits are enough.

        Raises:
            MemoryNotFound: no such memory is visible to the caller.
            AmbiguousName: a title is of several memories; the message lists their ids.
        """
        return await self.caller.one("list_said_again", Retraction, {"id": id})

    async def forget(
        self,
        label: str,
        key: str,
        purge: bool = False,
        project_id: str | None = None,
        governance_token: str | None = None,
        also: Sequence[str] = (),
    ) -> Forgotten:
        """Hide a memory everywhere, or purge it with its edges, vectors and versions.

        Hiding takes the vectors out of the search, and puts them back with the memory when revert or a save
        brings it back.

        Memories that it had replaced stay hidden, and next_step names it. A purge leaves a tombstone
        without content (list_tombstones); next_step names other memories of the same name. A memory of more
        trust than the caller's stays as it is, and so does a shared one that is to be purged: the answer
        has status `failed` and dedup_outcome `manual_review`, and a person decides under its save_id.

        Args:
            label: Such as Decision.
            key: Id, name or title; a title exactly.
            purge: Delete it for good; false: hide it, so that revert can bring it back.
            project_id: Project name; unset: everywhere.
            governance_token: For a global memory; a token of request_global_write_approval.
            also: Ids that go too; memories that say the same, as `same` of an answer or list_said_again
                names them. Those of more trust than the caller's wait for a person.

        Raises:
            MemoryNotFound: no such memory is visible to the caller.
            AmbiguousName: a name fits several memories; the message lists their ids.
            InvalidArgument: an unknown label, or an empty key.
            NotPermitted: the memory belongs to all tenants, or it is global and the token is missing or
                spent.
            RelationNotAllowed: the memory is a project, a focus area or a card.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "forget",
            Forgotten,
            {
                "label": label,
                "key": key,
                "purge": purge,
                "project_id": project_id,
                "governance_token": governance_token,
                "also": several("also", also),
            },
        )

    async def forget_by_ttl(
        self,
        days: int,
        label: str | None = None,
        project_id: str | None = None,
        purge: bool = False,
        dry_run: bool = False,
        limit: int = 1000,
        progress: Callable[[int, int], None] | None = None,
    ) -> Expiry:
        """Forget, or purge, the memories that have not changed for some days, batch by batch.

        Without an identity all tenants are meant, else the caller's tenant and the shared part of its
        organisation.

        Args:
            days: Forget memories that have not changed for this many days, 0 or more.
            label: Only this kind of memory; unset: all kinds.
            project_id: Only this project; unset: all.
            purge: True: delete for good, and also hidden memories; false: hide.
            dry_run: Only report what it would do.
            limit: How many memories a batch holds, 1 to 5000.
            progress: Called after each batch with how many are done and how many remain.

        Raises:
            InvalidArgument: days, limit or label are not valid.
            MemoryNotFound: the project does not exist.
            WrongIsolation: the transaction is not READ COMMITTED.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await batches.forget_by_ttl(
            self.caller,
            {
                "days": days,
                "label": label,
                "project_id": project_id,
                "purge": purge,
                "dry_run": dry_run,
                "limit": limit,
            },
            progress=progress,
        )

    async def decay_scores(
        self,
        max_age_days: int | None = None,
        decay_rate: float | None = None,
        archive_below: float | None = None,
        dry_run: bool = False,
        limit: int = 2000,
        progress: Callable[[int, int], None] | None = None,
    ) -> Decay:
        """Count the memories whose confidence has decayed; archive those below a threshold.

        Decisions and standing instructions do not decay: they hold until they are replaced.

        Reads compute confidence by the settings decay_rate and decay_max_age_days, which set_setting
        changes. Another rate or age holds for this call alone, with archive_below or dry_run; without them
        it would change nothing and is refused. Without an identity all tenants are meant, else the caller's
        tenant and the shared part of its organisation. A call archives one batch and returns how many
        remain; the method in Python goes on until none does.

        Args:
            max_age_days: Days without a change before confidence decays; unset: the setting
                decay_max_age_days.
            decay_rate: The rate of the decay by day, 0 or more; unset: the setting decay_rate.
            archive_below: Archive memories of less confidence than this, 0 to 1; unset or 0: archive none.
            dry_run: Only report what it would do.
            limit: How many memories a batch archives at most, 1 to 5000.
            progress: Called after each batch with how many are done and how many remain.

        Raises:
            InvalidArgument: a number is out of bounds, or a rate or an age that would change nothing.
            WrongIsolation: the transaction is not READ COMMITTED.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await batches.decay_scores(
            self.caller,
            {
                "max_age_days": max_age_days,
                "decay_rate": decay_rate,
                "archive_below": archive_below,
                "dry_run": dry_run,
                "limit": limit,
            },
            progress=progress,
        )

    async def complete_name(
        self,
        argument: str,
        start: str = "",
        project_id: str | None = None,
        limit: RowLimit = 100,
    ) -> list[CompletedName]:
        """List the names that begin with a text, for an argument that a person fills in.

        Projects and focus areas come last changed first, sessions (by id) newest first.

        Args:
            argument: project_id, focus, label or session_id.
            start: The text typed so far; case does not count.
            project_id: For focus: the project whose areas are listed; unset: of all.
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: an unknown argument, or a limit outside 1 to 1000.
        """
        return await self.caller.all(
            "complete_name",
            CompletedName,
            {"argument": argument, "start": start, "project_id": project_id, "limit": limit},
        )

    async def find_titled(
        self,
        title: str,
        project_id: str | None = None,
    ) -> list[PlacedMemory]:
        """Find the memories of any kind that have a name or an exact title; case does not count.

        Those that are live, the newest first; where none is, the others.

        Args:
            title: The name or the title.
            project_id: Only of this project and of all projects; unset: everywhere.

        Raises:
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.all("find_titled", PlacedMemory, {"title": title, "project_id": project_id})

    async def capture_turns(
        self,
        client: str,
        session_id: str,
        turns: Sequence[Mapping[str, Any]],
        project_id: str | None = None,
    ) -> CapturedTurns:
        """Keep the turns of a conversation as source text, found by search where labels name Turn.

        A turn that exists already, or was forgotten, is passed over and counted as known. A project that
        does not exist is made. The turns are deleted turn_days (a setting) after they were captured.

        Args:
            client: The program that the conversation is held in, such as claude-code.
            session_id: The id of the conversation in that client; turns are searched by client:session_id.
            turns: Objects in order with id, role (user, assistant, system, tool) and content; and, where
                known, at (the time it was said), agent (the subagent that said it) and created_told (the
                client's own statement of the time, where at is a guess).
            project_id: The project it belongs to; unset: none.

        Raises:
            InvalidArgument: turns is not such a list, or a text is too long.
            NotPermitted: An agent sends a name of a client, session or project that steers agents.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "capture_turns",
            CapturedTurns,
            {
                "client": client,
                "session_id": session_id,
                "turns": several("turns", turns),
                "project_id": project_id,
            },
        )

    async def put_items(
        self,
        items: Sequence[Mapping[str, Any]],
        project_id: str | None = None,
    ) -> StoredItems:
        """Store items under their namespaces and names, all or none; a name that is taken gets the new value.

        An item without a value is deleted: forgotten, so that revert brings it back.

        Args:
            items: A list of {"namespace": ["users", "ada"], "name": "profile", "value": {…}, "ttl":
                minutes, "vectors": [[…]]}; ttl and vectors may be missing.
            project_id: The project that they belong to; unset: none.

        Raises:
            InvalidArgument: a namespace or name is missing or too long, or a value is too long or holds
                NUL.
            MemoryNotFound: the project does not exist.
            NotPermitted: an item was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "put_items", StoredItems, {"items": several("items", items), "project_id": project_id}
        )

    async def get_items(
        self,
        keys: Sequence[Mapping[str, Any]],
        project_id: str | None = None,
    ) -> list[StoredItem]:
        """Read items by their namespaces and names.

        place is the number of the key, from 1; a missing item has no row.

        Args:
            keys: A list of {"namespace": ["users", "ada"], "name": "profile"}.
            project_id: The project that they belong to; unset: none.

        Raises:
            InvalidArgument: a namespace or name is missing or too long.
            MemoryNotFound: the project does not exist.
        """
        return await self.caller.all(
            "get_items", StoredItem, {"keys": several("keys", keys), "project_id": project_id}
        )

    async def search_items(
        self,
        namespace: Sequence[str] = (),
        filter: Mapping[str, Any] | None = None,
        query: str | None = None,
        vector: Sequence[float] | None = None,
        metric: str = "cosine",
        limit: int = 10,
        offset: int = 0,
        project_id: str | None = None,
    ) -> list[FoundItem]:
        """List the items at and below a namespace that fit a filter, the nearest or else the latest first.

        With a vector, only items that have vectors come, by the nearest of them. With a query and no
        vector, items that hold one of its words come first, with a score; the others follow by their age.

        Args:
            namespace: The beginning of the namespaces; empty: all items.
            filter: Values by key: {"color": "red", "size": {"$gt": 4.99}}. Operators: $eq, $ne, $gt, $gte,
                $lt, $lte; numbers are compared as numbers.
            query: Words; unset or empty: none.
            vector: The vector of the query, made as those of the items were.
            metric: cosine, inner_product, or l2, whose score is the distance below zero.
            limit: How many at most.
            offset: How many to pass over.
            project_id: The project that they belong to; unset: none.

        Raises:
            InvalidArgument: an unknown operator or metric.
            MemoryNotFound: the project does not exist.
        """
        return await self.caller.all(
            "search_items",
            FoundItem,
            {
                "namespace": several("namespace", namespace),
                "filter": filter,
                "query": query,
                "vector": vector,
                "metric": metric,
                "limit": limit,
                "offset": offset,
                "project_id": project_id,
            },
        )

    async def list_item_namespaces(
        self,
        conditions: Sequence[Mapping[str, Any]] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        project_id: str | None = None,
    ) -> list[ItemNamespace]:
        """List the namespaces that hold items, in order.

        Args:
            conditions: A list of {"match_type": "prefix" or "suffix", "path": ["users", "*"]}; a namespace
                must fit all of them.
            max_depth: Only so many names of each namespace; unset: all.
            limit: How many at most.
            offset: How many to pass over.
            project_id: The project that the items belong to; unset: none.

        Raises:
            InvalidArgument: an unknown match_type.
            MemoryNotFound: the project does not exist.
        """
        return await self.caller.all(
            "list_item_namespaces",
            ItemNamespace,
            {
                "conditions": several("conditions", conditions),
                "max_depth": max_depth,
                "limit": limit,
                "offset": offset,
                "project_id": project_id,
            },
        )

    async def renew_items(
        self,
        ids: Sequence[UUID],
    ) -> int:
        """Reset the TTL of items. Creates no version.

        Args:
            ids: The ids of items that were read; those without a time to live, or expired, stay as they
                are.

        Raises:
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("renew_items", int, {"ids": several("ids", ids)})

    async def sweep_items(
        self,
        limit: RowLimit = 1000,
    ) -> int:
        """Delete for good the items of the caller whose time to live has passed, with their history; how many.

        Args:
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: the limit is not from 1 to 1000.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("sweep_items", int, {"limit": limit})

    async def view_files(
        self,
        path: str = "/memories",
        project_id: str | None = None,
    ) -> list[MemoryFile]:
        """Read a file, with its text, or list the files below a directory, without their texts.

        Args:
            path: Where it is: /memories or below.
            project_id: The project that the files belong to; unset: none.

        Raises:
            MemoryNotFound: there is neither a file nor a directory, or the project does not exist.
            InvalidArgument: the path is not below /memories.
        """
        return await self.caller.all("view_files", MemoryFile, {"path": path, "project_id": project_id})

    async def create_file(
        self,
        path: str,
        text: str,
        project_id: str | None = None,
    ) -> MemoryFile:
        """Make a file with a text; its directories come with it.

        Args:
            path: Where it will be: below /memories.
            text: All that it holds.
            project_id: The project that it belongs to; unset: none.

        Raises:
            InvalidArgument: the path is taken, leads through a file or is not below /memories, or the text
                is too long.
            MemoryNotFound: the project does not exist.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "create_file", MemoryFile, {"path": path, "text": text, "project_id": project_id}
        )

    async def replace_in_file(
        self,
        path: str,
        old_str: str,
        new_str: str = "",
        project_id: str | None = None,
    ) -> EditedFile:
        """Replace a text that a file holds exactly once; line is where it was.

        The text before the edit becomes a version.

        Args:
            path: Where the file is.
            old_str: The text to replace, as the file has it.
            new_str: The text in its place; empty: none.
            project_id: The project that the file belongs to; unset: none.

        Raises:
            MemoryNotFound: no such file exists.
            InvalidArgument: the text is not in the file, or more than once, or the path is a directory.
            NotPermitted: the file was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "replace_in_file",
            EditedFile,
            {"path": path, "old_str": old_str, "new_str": new_str, "project_id": project_id},
        )

    async def insert_in_file(
        self,
        path: str,
        insert_line: int,
        insert_text: str,
        project_id: str | None = None,
    ) -> MemoryFile:
        """Insert a text after a line of a file. The text before it becomes a version.

        Args:
            path: Where the file is.
            insert_line: The number of the line, from 1; 0: before the first.
            insert_text: The lines to insert.
            project_id: The project that the file belongs to; unset: none.

        Raises:
            MemoryNotFound: no such file exists.
            InvalidArgument: the file has no such line, or the path is a directory.
            NotPermitted: the file was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "insert_in_file",
            MemoryFile,
            {"path": path, "insert_line": insert_line, "insert_text": insert_text, "project_id": project_id},
        )

    async def delete_files(
        self,
        path: str,
        project_id: str | None = None,
    ) -> int:
        """Forget a file, or all files below a directory; how many. revert brings each of them back.

        Args:
            path: Where the file or the directory is; not /memories itself.
            project_id: The project that the files belong to; unset: none.

        Raises:
            MemoryNotFound: there is neither a file nor a directory.
            InvalidArgument: the path is /memories, or not below it.
            NotPermitted: a file was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("delete_files", int, {"path": path, "project_id": project_id})

    async def rename_files(
        self,
        old_path: str,
        new_path: str,
        project_id: str | None = None,
    ) -> int:
        """Give a file another path, or all files below a directory; how many. Their history goes with them.

        Args:
            old_path: Where the file or the directory is.
            new_path: Where it will be; nothing is there yet.
            project_id: The project that the files belong to; unset: none.

        Raises:
            MemoryNotFound: there is neither a file nor a directory.
            InvalidArgument: the destination is taken, lies below the source, or a path is not below
                /memories.
            NotPermitted: a file was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "rename_files", int, {"old_path": old_path, "new_path": new_path, "project_id": project_id}
        )

    async def clear_files(
        self,
        project_id: str | None = None,
    ) -> int:
        """Forget all files of the caller; how many. revert brings each of them back.

        Args:
            project_id: The project that the files belong to; unset: none.

        Raises:
            NotPermitted: a file was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("clear_files", int, {"project_id": project_id})

    async def list_messages(
        self,
        session_id: str,
        limit: int | None = None,
        project_id: str | None = None,
    ) -> list[Message]:
        """Read the messages of a session in their order.

        Args:
            session_id: The name of the session.
            limit: Only so many of the latest; unset: all.
            project_id: The project that they belong to; unset: none.

        Raises:
            InvalidArgument: the session has no name, or a name that is too long.
            MemoryNotFound: the project does not exist.
        """
        return await self.caller.all(
            "list_messages", Message, {"session_id": session_id, "limit": limit, "project_id": project_id}
        )

    async def add_messages(
        self,
        session_id: str,
        messages: Sequence[Mapping[str, Any]],
        project_id: str | None = None,
    ) -> int:
        """Add messages to the end of a session, all or none.

        All messages of one of two calls at once come before those of the other.

        Args:
            session_id: The name of the session; a new one begins a session.
            messages: Objects, kept as they are, in their order.
            project_id: The project that they belong to; unset: none.

        Raises:
            InvalidArgument: the session has no name, or a message is too long or holds NUL.
            MemoryNotFound: the project does not exist.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "add_messages",
            int,
            {"session_id": session_id, "messages": several("messages", messages), "project_id": project_id},
        )

    async def pop_message(
        self,
        session_id: str,
        project_id: str | None = None,
    ) -> Message | None:
        """Take the last message out of a session and return it; no row where there is none.

        revert brings it back.

        Args:
            session_id: The name of the session.
            project_id: The project that it belongs to; unset: none.

        Raises:
            NotPermitted: the message was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.first(
            "pop_message", Message, {"session_id": session_id, "project_id": project_id}
        )

    async def clear_messages(
        self,
        session_id: str,
        project_id: str | None = None,
    ) -> int:
        """Forget all messages of a session; how many. revert brings each of them back.

        Args:
            session_id: The name of the session.
            project_id: The project that they belong to; unset: none.

        Raises:
            NotPermitted: a message was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "clear_messages", int, {"session_id": session_id, "project_id": project_id}
        )

    async def create_entities(
        self,
        entities: Sequence[Mapping[str, Any]],
    ) -> KnownEntities:
        """Make entities with observations; answers with the new ones.

        An entity whose name is taken stays as it is.

        Args:
            entities: A list of {"name": …, "entityType": …, "observations": ["…"]}.

        Raises:
            InvalidArgument: a name or type is missing or too long.
            NotPermitted: a name belonged to an entity of a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "create_entities", KnownEntities, {"entities": several("entities", entities)}
        )

    async def create_relations(
        self,
        relations: Sequence[Mapping[str, Any]],
    ) -> KnownRelations:
        """Relate entities by their names; answers with the relations that are new.

        A name without an entity becomes a stub.

        Args:
            relations: A list of {"from": …, "to": …, "relationType": …}.

        Raises:
            InvalidArgument: a name or type is missing or too long.
            RelationNotAllowed: an entity is to be related to itself.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "create_relations", KnownRelations, {"relations": several("relations", relations)}
        )

    async def add_observations(
        self,
        observations: Sequence[Mapping[str, Any]],
    ) -> AddedObservations:
        """Add observations to entities; answers with the new ones.

        Those that an entity has already are left out.

        Args:
            observations: A list of {"entityName": …, "contents": ["…"]}.

        Raises:
            MemoryNotFound: no entity has the name; nothing is added then.
            InvalidArgument: a name is missing, or a text is too long.
            NotPermitted: the entity was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "add_observations", AddedObservations, {"observations": several("observations", observations)}
        )

    async def delete_entities(
        self,
        entity_names: Sequence[str],
    ) -> int:
        """Forget entities and delete their relations; how many.

        revert brings an entity back, without its relations.

        Args:
            entity_names: Their names; a name without an entity is left out.

        Raises:
            NotPermitted: an entity was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "delete_entities", int, {"entity_names": several("entity_names", entity_names)}
        )

    async def delete_observations(
        self,
        deletions: Sequence[Mapping[str, Any]],
    ) -> int:
        """Delete observations of entities; how many. The entity before it becomes a version.

        Args:
            deletions: A list of {"entityName": …, "observations": ["…"]}; pairs that do not exist are left
                out.

        Raises:
            NotPermitted: an entity was written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "delete_observations", int, {"deletions": several("deletions", deletions)}
        )

    async def delete_relations(
        self,
        relations: Sequence[Mapping[str, Any]],
    ) -> int:
        """Delete relations between entities; how many.

        Args:
            relations: A list of {"from": …, "to": …, "relationType": …}; relations that do not exist are
                left out.

        Raises:
            NotPermitted: both entities of a relation were written by a more trusted source.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "delete_relations", int, {"relations": several("relations", relations)}
        )

    async def read_graph(
        self,
    ) -> KnownGraph:
        """Read all entities of the caller with their observations, and the relations between them."""
        return await self.caller.one("read_graph", KnownGraph, {})

    async def search_nodes(
        self,
        query: str,
    ) -> KnownGraph:
        """Read the entities that hold a text in their name, type or observations, with their relations.

        Args:
            query: The text, in any case; search_memory finds by words and meaning.
        """
        return await self.caller.one("search_nodes", KnownGraph, {"query": query})

    async def open_nodes(
        self,
        names: Sequence[str],
    ) -> KnownGraph:
        """Read the entities of some names, with their relations.

        Args:
            names: The names; one without an entity is left out.
        """
        return await self.caller.one("open_nodes", KnownGraph, {"names": several("names", names)})

    async def get_sources(
        self,
        id: UUID,
    ) -> list[Source]:
        """The sources of a memory, each with its state.

        They are the turn with the quote, the evidence of a card, and the list in its property citation.
        Whether a turn or a memory still supports the memory is found at the call; of a file checked_at says
        when it was compared. Reading confirms nothing.

        Args:
            id: Its id.

        Raises:
            MemoryNotFound: no memory with this id is visible here.
        """
        return await self.caller.all("get_sources", Source, {"id": id})

    async def list_cited_files(
        self,
        project_id: str,
        limit: RowLimit = 500,
    ) -> list[CitedFile]:
        """List the files that memories of a project rest on, those that were not checked for longest first.

        Args:
            project_id: The project.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_cited_files", CitedFile, {"project_id": project_id, "limit": limit}
        )

    async def record_sources(
        self,
        project_id: str,
        states: Mapping[str, Any],
    ) -> int:
        """Record the state of files that memories rest on; how many were recorded.

        Only files that memories of the project name are recorded. The memories do not change.

        Args:
            project_id: The project.
            states: Objects with id (of the memory), target and state: FRESH, STALE, GONE or UNCHECKABLE.

        Raises:
            InvalidArgument: a state is another word.
            MemoryNotFound: no such project is visible here.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("record_sources", int, {"project_id": project_id, "states": states})

    async def record_recall(
        self,
        by: str,
        memory_ids: Sequence[str],
        act: str = "retrieved",
        tokens: int | None = None,
        project_id: str | None = None,
        client: str | None = None,
        session_id: str | None = None,
    ) -> int:
        """Record that memories were brought to an agent; how many, 0 where recall_days is 0.

        Args:
            by: The tool or the event of a hook that brought them.
            memory_ids: Their ids, in the order of the answer, of a card the first 8 digits; none where a
                hook found nothing to bring.
            act: retrieved or injected.
            tokens: How many tokens the answer has.
            project_id: The project that was asked about.
            client: The program that the conversation is held in, such as claude-code.
            session_id: The id of the conversation in that program.

        Raises:
            InvalidArgument: by is empty, or act is another word.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "record_recall",
            int,
            {
                "by": by,
                "memory_ids": several("memory_ids", memory_ids),
                "act": act,
                "tokens": tokens,
                "project_id": project_id,
                "client": client,
                "session_id": session_id,
            },
        )

    async def feedback(
        self,
        id: str,
        verdict: Verdict,
        also: Sequence[str] = (),
    ) -> Feedback:
        """Name a memory as used, wrong or outdated, which places it higher or lower in searches, or as noise.

        A memory named wrong or outdated more often than used is marked (wrong_at) in every answer, and
        comes after the others. Noise is true and did not help: a hook brings a memory named so more often
        than used only to a question that it answers.

        The memory itself does not change. The verdict of one agent on one memory counts once in
        feedback_cooldown_hours: the last word. The setting hybrid_usefulness_weight is how much it counts
        in searches.

        Args:
            id: Its id or title; of an id the first 8 digits, as a session is shown them, are enough.
            verdict: The outcome; used, noise, wrong or outdated.
            also: Ids judged alike; memories that say the same, as `same` of an answer names them.

        Raises:
            MemoryNotFound: no such memory is visible here.
            AmbiguousName: a title is of several memories; the message lists their ids.
            InvalidArgument: the verdict is another word.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "feedback", Feedback, {"id": id, "verdict": verdict, "also": several("also", also)}
        )

    async def list_recall(
        self,
        project_id: str | None = None,
        session_id: str | None = None,
        after: int | None = None,
        limit: RowLimit = 100,
    ) -> list[RecallEntry]:
        """List the memories that tools and hooks brought to agents, and the words on it, the latest first.

        A word is used, noise, wrong or outdated. All of it is kept for recall_days.

        Args:
            project_id: Only questions about this project; unset: everything.
            session_id: Only memories brought to this conversation or session.
            after: The seq of the last entry of the page before; unset: the first page.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_recall",
            RecallEntry,
            {"project_id": project_id, "session_id": session_id, "after": after, "limit": limit},
        )

    async def sum_recall(
        self,
        project_id: str | None = None,
        days: int = 7,
    ) -> RecallSums:
        """Sum the memories that tools and hooks brought to agents in the last days, and the words on it.

        Args:
            project_id: Only questions about this project; unset: everything.
            days: The number of days, 1 to 3650.

        Raises:
            InvalidArgument: days is another number.
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.one("sum_recall", RecallSums, {"project_id": project_id, "days": days})

    async def run_hygiene(
        self,
        project_id: str | None = None,
        scope: ScopeName | None = None,
        check_pending_only: bool = False,
        limit: RowLimit = 20,
        offset: int = 0,
    ) -> HygieneReport:
        """Report duplicates, outdated decisions, obsolete patterns, entity drift and unresolved saves.

        Counts are of all findings; `limit` and `offset` cut the page of findings, and `next_offset` pages
        on. A whole report (no scope, from the first finding on) is noted on the project as last_hygiene_at;
        nothing else changes.

        Args:
            project_id: Project name; unset: all projects.
            scope: Only of this scope; global, project or focus. Unset: all scopes.
            check_pending_only: Only open saves; records no report.
            limit: How many at most, 1 to 1000.
            offset: Where to continue: next_offset of the last page; 0 or more.

        Raises:
            InvalidArgument: the limit is not between 1 and 1000, or the offset is negative.
            MemoryNotFound: no such project is visible here.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "run_hygiene",
            HygieneReport,
            {
                "project_id": project_id,
                "scope": scope,
                "check_pending_only": check_pending_only,
                "limit": limit,
                "offset": offset,
            },
        )

    async def memory_freshness(
        self,
        project_id: str | None = None,
        scope: ScopeName = "project",
        stale_after_days: int | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> FreshnessReport:
        """How old the memories of a scope are, and the stale ones, oldest first.

        Args:
            project_id: Project name; unset: all projects.
            scope: Which memories; global, project (its focus areas too) or focus.
            stale_after_days: Stale without a change for so long; unset: the setting freshness_stale_days.
            limit: How many at most, 1 to 1000.
            offset: Where to continue: next_offset of the last page; 0 or more.

        Raises:
            InvalidArgument: the limit, the offset or stale_after_days is out of its bounds.
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.one(
            "memory_freshness",
            FreshnessReport,
            {
                "project_id": project_id,
                "scope": scope,
                "stale_after_days": stale_after_days,
                "limit": limit,
                "offset": offset,
            },
        )

    async def confirm(
        self,
        id: str,
    ) -> Confirmed:
        """Record that a memory still holds: freshness, hygiene and the decay of confidence count from now on.

        Its text, trust and history stay as they are. Saving the same content again confirms it too.

        Args:
            id: Its id or title; of an id the first 8 digits are enough.

        Raises:
            MemoryNotFound: no such memory is visible to the caller.
            AmbiguousName: a title is of several memories; the message lists their ids.
            InvalidArgument: the memory was forgotten or replaced.
            NotPermitted: the memory belongs to all tenants.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one("confirm", Confirmed, {"id": id})

    async def memory_surface(
        self,
        query: str,
        project_id: str | None = None,
        limit: int = 5,
    ) -> Surface:
        """Memories about a path, an identifier or a command, best first; often none.

        Memories of the project and global ones match. A query of fewer than three characters matches
        nothing.

        Args:
            query: A path, identifier or line of code; its first 500 characters count.
            project_id: Project name; unset: all projects.
            limit: How many at most, 1 to 100.

        Raises:
            InvalidArgument: the limit is not between 1 and 100.
        """
        return await self.caller.one(
            "memory_surface", Surface, {"query": query, "project_id": project_id, "limit": limit}
        )

    async def file_surface(
        self,
        names: Sequence[str],
        project_id: str | None = None,
        limit: int = 5,
    ) -> Surface:
        """Memories whose text names a file, by whole segments of its path.

        An instruction comes first, then the memories that name most of its path. A text of more than 300
        characters is cut to those around the name.

        Args:
            names: The paths by which texts may mean the file, the longest first, 50 at most.
            project_id: Project name; unset: all projects.
            limit: How many at most, 1 to 100.

        Raises:
            InvalidArgument: the limit is not between 1 and 100, or there are too many names.
        """
        return await self.caller.one(
            "file_surface",
            Surface,
            {"names": several("names", names), "project_id": project_id, "limit": limit},
        )

    async def supersede(
        self,
        old: str,
        new: str,
        project_id: str | None = None,
        by: str | None = None,
    ) -> Repair:
        """Let one decision supersede another; `revert` brings the old one back.

        Args:
            old: The decision that is superseded, by id or exact title.
            new: The decision that supersedes it, by id or exact title.
            project_id: Project name.
            by: The name of the person who decides.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or a decision is not the caller's.
            MemoryNotFound: no such decision or project is visible here.
            AmbiguousName: a title fits several decisions.
            InvalidArgument: one of the decisions is not live.
            RelationNotAllowed: they are one, the new one is private and the old one shared, or they would
                form a circle.
        """
        return await self.caller.one(
            "supersede", Repair, {"old": old, "new": new, "project_id": project_id, "by": by}
        )

    async def merge_entities(
        self,
        entity: str,
        into: str,
        project_id: str | None = None,
        fact: str | None = None,
        by: str | None = None,
    ) -> Repair:
        """Merge one entity into another; `revert` brings it back.

        The facts of the first stay in its history.

        Args:
            entity: The entity that is merged, by id or name; by its id also a thing of another named label,
                such as Technology.
            into: The entity that stays, by id or name; of the same label.
            project_id: Project name.
            fact: The fact of the merged entity; unset: the fact of `into` stays.
            by: The name of the person who decides.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or an entity is not the caller's.
            MemoryNotFound: no such entity or project is visible here.
            AmbiguousName: a name fits several entities.
            InvalidArgument: one of the entities is not live.
            RelationNotAllowed: they are one, of two projects, or the second is private and the first
                shared.
        """
        return await self.caller.one(
            "merge_entities",
            Repair,
            {"entity": entity, "into": into, "project_id": project_id, "fact": fact, "by": by},
        )

    async def list_conflicts(
        self,
        project_id: str | None = None,
        id: UUID | None = None,
        limit: RowLimit = 50,
    ) -> list[ConflictEntry]:
        """List the pairs of live memories that contradict each other, the oldest conflict first.

        Args:
            project_id: Only of this project; unset: of all.
            id: Only those of this memory; unset: of all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_conflicts", ConflictEntry, {"project_id": project_id, "id": id, "limit": limit}
        )

    async def settle_conflict(
        self,
        id: UUID,
        with_id: UUID,
        by: str,
        holds: UUID | None = None,
        reason: str | None = None,
    ) -> TitledMemory:
        """Decide a conflict, or a replacement by likeness alone: one of two memories holds, or both.

        The answer is the one that does not hold, or the first where both do.

        The holding decision of two supersedes the other. Another memory outdates the other, which stays and
        is found after it. Where both hold they are joined by SIMILAR_TO with the reason, and are not
        compared again; a decision that was replaced by the likeness of titles alone (list_replacements)
        comes back.

        Args:
            id: The id of one of the two.
            with_id: The id of the other.
            by: The name of the person who decides.
            holds: The id of the one that holds; unset: both do.
            reason: Why; kept with the decision.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or a memory is not the caller's.
            MemoryNotFound: one of the two is not visible here.
            InvalidArgument: no open conflict or replacement joins them, or holds is neither of them.
        """
        return await self.caller.one(
            "settle_conflict",
            TitledMemory,
            {"id": id, "with_id": with_id, "by": by, "holds": holds, "reason": reason},
        )

    async def edit_memory(
        self,
        id: UUID,
        version: int,
        properties: Mapping[str, Any],
        by: str,
        title: str | None = None,
        period: Mapping[str, Any] | None = None,
        whole: bool = False,
    ) -> EditedMemory:
        """Correct a live memory in place, as a person: a new version.

        The earlier version stays in its history. A text of its kind stays a text and a list of texts a
        list; a memory that is named keeps its name.

        An edit of a part of another's text leaves the memory the lesser trust of both, and its source. It
        has the person's trust where the edit sends every text of it, or where the person takes over the
        whole.

        Args:
            id: The id of the memory.
            version: The version that the person was shown; another one since is refused.
            properties: The properties that change, an object; the others stay, and null removes one that
                its kind does not require.
            by: The name of the person who decides.
            title: The title, of a memory whose title is not a property, such as a decision; unset: as it
                is.
            period: {"valid_from": …, "valid_to": …} instead of the period that it has; an end that is
                missing is open.
            whole: The person has read all of it and takes it over: it has their trust from now on.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the memory belongs to all tenants.
            MemoryNotFound: no such memory is visible to the caller.
            InvalidArgument: it has changed since it was shown, it is not live, a property is unknown or has
                another form, or the same content is live under another id.
            RelationNotAllowed: the memory is a card.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "edit_memory",
            EditedMemory,
            {
                "id": id,
                "version": version,
                "properties": properties,
                "by": by,
                "title": title,
                "period": period,
                "whole": whole,
            },
        )

    async def get_save_status(
        self,
        project_id: str | None = None,
        session_id: str | None = None,
        save_id: UUID | None = None,
    ) -> SaveStatus:
        """List the open saves of a project or of all, oldest first, or return the outcome of one save.

        A save that a later one with the same arguments made good is no longer open. Where none is open and
        one was dropped that no person decided over, by a purge or by its age, the status is `dropped`: its
        save_id says why.

        In Python the saves in the outbox of this machine count too; while the database is away the answer
        lists those alone.

        Args:
            project_id: Project name; unset: of every project. A save_id is found in any.
            session_id: Only saves of this session; unset: of all sessions.
            save_id: Only this save; `not_started` where it is unknown.

        Raises:
            InvalidArgument: the project_id is empty, holds a control character or is too long.
            MemoryNotFound: no such project or session exists; the message names those that are near.
            DatabaseUnavailable: the database does not answer and the outbox is empty.
        """
        return await saves.get_save_status(
            self.caller, {"project_id": project_id, "session_id": session_id, "save_id": save_id}
        )

    async def retry_save(
        self,
        save_id: UUID,
        governance_token: str | None = None,
        project_id: str | None = None,
    ) -> SaveResult:
        """Make an open save again, with the arguments it had and in the name of the caller who asked first.

        Its trust is the lower one of that caller and the present one: a change of a person's decision waits
        for a review.

        A save that was made, or dropped by a reviewer, is not repeated: the answer is its result.

        Args:
            save_id: The save to make again; a batch is not retried as a whole, its parts are.
            governance_token: For scope global; a token of request_global_write_approval.
            project_id: The project to save it into instead, where an agent misspelt it.

        Raises:
            MemoryNotFound: the caller's tenant has no such save, or it is a batch; or no such project
                exists.
            InvalidArgument: the arguments on record cannot be read.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "retry_save",
            SaveResult,
            {"save_id": save_id, "governance_token": governance_token, "project_id": project_id},
        )

    async def list_reviews(
        self,
        project_id: str | None = None,
        limit: RowLimit = 100,
    ) -> list[Review]:
        """List the saves and changes under review, each beside the memory it resembles or changes.

        The oldest come first. Where a later decision supersedes the one that a save resembled, the later
        one is the candidate.

        `score` is the Jaccard similarity of the two titles, 0 to 1. An agent is shown that a save waits and
        why, without its texts; of a save which it made it is shown the title, unless the title steers
        agents.

        Args:
            project_id: Only those of this project; unset: of all that the caller sees.
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_reviews", Review, {"project_id": project_id, "limit": limit})

    async def get_review(
        self,
        save_id: UUID,
    ) -> ReviewDetail:
        """Read one save that waits for a person, or is decided, beside the memory it concerns.

        The candidate is the memory that is current in the line of the one that the save resembled, or the
        one that a change would change. An agent gets no arguments of a save that waits, and the title of
        one which it made, unless that steers agents. Where the waiting memory is stored already, as two
        stores had saved it, the artifact is that memory; of a revert, the restored texts are those that
        come back. A decided save has resolved_by and no arguments.

        Args:
            save_id: The id of the save.

        Raises:
            MemoryNotFound: no such save is on record for the caller.
        """
        return await self.caller.one("get_review", ReviewDetail, {"save_id": save_id})

    async def resolve_review(
        self,
        save_id: UUID,
        outcome: ReviewOutcome,
        by: str,
        candidate_id: UUID | None = None,
        candidate_version: int | None = None,
    ) -> SaveResult:
        """Decide a save under review: store it as new, let it supersede its candidate, or drop it.

        The stored memory has the name and the trust of the caller who asked for it, not those of the
        person. A change of a memory (forget, revert, remember, edit_memory) and a fact under a name are
        made by supersede, in place, or dropped.

        Any open save can be dropped, also one that is not under review. A decision that was made on another
        candidate than the present one is refused. The status is `failed` where it meets a memory that the
        person was not shown: it waits again.

        For a person, not for an agent: the login must own the schema or be a member of pgmem_reviewer.

        Args:
            save_id: The save under review, as list_reviews gives it.
            outcome: new (store it beside the candidate), supersede (replace the candidate) or drop (store
                nothing).
            by: The name of the person who decides.
            candidate_id: The candidate that the person was shown; unset: the one of the refusal, for
                supersede.
            candidate_version: Its version that the person was shown; another one since is refused.

        Raises:
            MemoryNotFound: no such save is under review.
            InvalidArgument: the outcome is unknown or not one of this review, `by` is empty, or the
                candidate has changed since it was shown.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self.caller.one(
            "resolve_review",
            SaveResult,
            {
                "save_id": save_id,
                "outcome": outcome,
                "by": by,
                "candidate_id": candidate_id,
                "candidate_version": candidate_version,
            },
        )

    async def reflect(
        self,
    ) -> Reflection:
        """Run the detectors and store new findings as pending insights.

        An insight that was proposed once is not proposed again, whatever became of it.

        Raises:
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one("reflect", Reflection, {})

    async def surface_insights(
        self,
        limit: RowLimit = 10,
        query: str | None = None,
    ) -> Insights:
        """The pending insights, highest confidence first.

        Args:
            limit: How many at most, 1 to 1000.
            query: Only insights that hold one of these words; unset: all.

        Raises:
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.listed(
            "surface_insights", Insights, Insight, {"limit": limit, "query": query}
        )

    async def review_insight(
        self,
        title: str,
        action: InsightAction,
        shown: str | None = None,
    ) -> Insight:
        """Judge an insight: approved, it is a live memory; dismissed, it does not come back.

        A proposal to forget is carried out when it is approved, and archived with the memories that it
        forgets.

        The same judgement again changes nothing.

        Args:
            title: Its title or id.
            action: approve or dismiss.
            shown: Its shown, as surface_insights has it; the page and the command line need it to approve.

        Raises:
            MemoryNotFound: no such insight exists.
            NotPermitted: the setting approval is not self, and the caller is an agent; or the memory it
                forgets has more trust than the caller.
            InvalidArgument: it was judged otherwise before, it has changed since it was shown, or the
                action is another word.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "review_insight", Insight, {"title": title, "action": action, "shown": shown}
        )

    async def route_analysis(
        self,
        task_description: str,
        task_type_hint: str | None = None,
    ) -> Route:
        """Recommend how to reason about a task: sequential, debate or socratic, with its five steps.

        Debate is for trade-offs, socratic for unclear requirements, sequential for everything else.

        Args:
            task_description: The task, in words.
            task_type_hint: sequential, debate, socratic or a keyword; it decides alone. Unset: the
                description decides.

        Raises:
            InvalidArgument: the description or the hint is too long.
        """
        return await routing.route_analysis(
            self.caller, {"task_description": task_description, "task_type_hint": task_type_hint}
        )

    async def memory_health(
        self,
        project_id: str | None = None,
        limit: RowLimit = 20,
    ) -> Health:
        """The state of the memory in numbers, with the first memories of each kind.

        The counts are of memories that agents and people saved, as the caller sees them; cards are counted
        apart. `confidence` is a histogram of ten bins from 0 to 1.

        Args:
            project_id: Project name; unset: all projects.
            limit: How many items of each kind at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.one("memory_health", Health, {"project_id": project_id, "limit": limit})

    async def find_memory(
        self,
        id: UUID,
    ) -> Node:
        """Read one memory of any label by its id alone, forgotten ones too.

        Args:
            id: The id of the memory.

        Raises:
            MemoryNotFound: no such memory is visible to the caller; the message says when it was purged.
        """
        return await self.caller.one("find_memory", Node, {"id": id})

    async def find_memories(
        self,
        ids: Sequence[UUID],
    ) -> list[Node]:
        """Read several memories by their ids, forgotten ones too; an id that does not exist has no row.

        Args:
            ids: At most 200.

        Raises:
            InvalidArgument: more than 200 ids.
        """
        return await self.caller.all("find_memories", Node, {"ids": several("ids", ids)})

    async def list_projects(
        self,
        limit: RowLimit = 100,
    ) -> list[ProjectEntry]:
        """List the projects that the caller sees, the largest first: name, live memories, focus areas, cards.

        Args:
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_projects", ProjectEntry, {"limit": limit})

    async def list_memories(
        self,
        project_id: str | None = None,
        labels: Sequence[str] | None = None,
        status: str | None = None,
        source: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        branch: str | None = None,
        after: UUID | None = None,
        limit: RowLimit = 50,
    ) -> list[MemoryEntry]:
        """List memories, the latest written first.

        Without a status they are those of every status but drafts, stubs and pending insights, and without
        the turns of conversations, which labels of Turn alone lists. Cards and insights, which pgmem writes
        by the hundred, are listed where labels, a status or a branch ask for them.

        With as_of or known_at: the states that were true then, or on record then. branch is that of a card
        that is not everybody's yet.

        Args:
            project_id: Only of this project; unset: of all.
            labels: Only these kinds, such as Decision.
            status: Only of this status, such as superseded.
            source: Only memories that came in this way: mcp, sdk, cli, ui, sync or sql.
            agent_id: Only memories of this agent.
            session_id: Only memories written in this session.
            as_of: As true at that time.
            known_at: As recorded at that time.
            branch: Only the cards of this branch, which is not merged.
            after: The id of the last memory of the page before; unset: the first page.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        params = {
            "project_id": project_id, "labels": several("labels", labels), "status": status,
            "source": source, "agent_id": agent_id, "session_id": session_id, "as_of": as_of,
            "known_at": known_at, "branch": branch, "after": after, "limit": limit,
        }  # fmt: skip
        return await self.caller.all("list_memories", MemoryEntry, params)

    async def list_near_names(
        self,
        project_id: str | None = None,
        limit: RowLimit = 50,
    ) -> list[NearPair]:
        """List names that may be two spellings of one, the most alike first: entities and projects.

        The newest thirty names are looked at. id is the newer of the two. verb makes one of them, with
        these arguments; it is null for projects. Two that a relation joins are not listed: join them by
        SIMILAR_TO where they are two.

        Args:
            project_id: Only of this project; unset: of all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_near_names", NearPair, {"project_id": project_id, "limit": limit})

    async def count_waiting(
        self,
        project_id: str | None = None,
    ) -> Waiting:
        """Count the items that wait for a person.

        These are reviews, approvals, insights, draft cards, conflicts, failed saves, rules of agents (up to
        1000) and replacements that nobody has said. An approval is a save that a person makes or drops and
        that resembles nothing: a global save in a store where a person approves.

        Args:
            project_id: Only of this project; unset: of all. Insights belong to no project.

        Raises:
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.one("count_waiting", Waiting, {"project_id": project_id})

    async def list_approvals(
        self,
        limit: RowLimit = 50,
    ) -> list[Approval]:
        """List the approvals of global writes that agents asked for, latest first, each with its exact text.

        Args:
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_approvals", Approval, {"limit": limit})

    async def count_memories(
        self,
        project_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> MemoryCounts:
        """Count the live memories by label, with their first and last time and their growth; cards apart.

        growth says how many came in each day, week or month.

        With as_of or known_at: those that were true then, or on record then; the other figures are null.

        Args:
            project_id: Only of this project; unset: of all.
            as_of: As true at that time.
            known_at: As recorded at that time.

        Raises:
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.one(
            "count_memories", MemoryCounts, {"project_id": project_id, "as_of": as_of, "known_at": known_at}
        )

    async def memory_relations(
        self,
        id: UUID,
        hops: Hops = 1,
        limit: RowLimit = 40,
    ) -> DrawnGraph:
        """The memories around one, with the relations between all of them: the data of an ego graph.

        The memory itself has depth 0. left_out counts those that the limit leaves out.

        Args:
            id: The id of the memory in the middle.
            hops: How many relations away at most, 1 to 5.
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: hops or the limit is out of range.
        """
        return await self.caller.one("memory_relations", DrawnGraph, {"id": id, "hops": hops, "limit": limit})

    async def memory_lineage(
        self,
        id: UUID,
    ) -> list[LineEntry]:
        """The predecessors and successors of a memory, oldest first.

        A memory with neither is a line of one. decided_by is the person who decided the replacement, where
        it was one.

        Args:
            id: The id of a memory of the line.
        """
        return await self.caller.all("memory_lineage", LineEntry, {"id": id})

    async def list_lines(
        self,
        project_id: str | None = None,
        limit: RowLimit = 12,
    ) -> list[NumberedEntry]:
        """The lines of the decisions that were replaced last, then of the newest that hold and replaced none.

        Each is oldest first; line counts them from 1.

        Args:
            project_id: Only of this project; unset: of all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_lines", NumberedEntry, {"project_id": project_id, "limit": limit})

    async def project_graph(
        self,
        project_id: str | None = None,
        limit: RowLimit = 300,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        labels: Sequence[str] | None = None,
    ) -> DrawnGraph:
        """The memories of a project that have relations, the most connected first, and the relations.

        It looks at the newest 3000 memories. left_out counts those of them that are not in the answer.

        Args:
            project_id: Only of this project; unset: of all.
            limit: How many at most, 1 to 1000.
            as_of: As true at that time.
            known_at: As recorded at that time.
            labels: Only of these kinds; unset: of all but cards.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.one(
            "project_graph",
            DrawnGraph,
            {
                "project_id": project_id,
                "limit": limit,
                "as_of": as_of,
                "known_at": known_at,
                "labels": several("labels", labels),
            },
        )

    async def list_conversations(
        self,
        project_id: str | None = None,
        session_id: str | None = None,
        limit: RowLimit = 50,
    ) -> list[ConversationEntry]:
        """List the conversations whose turns were captured, the one that was continued last first.

        The newest 20 000 turns are looked at. list_memories with the labels Turn and a session_id lists the
        turns of one.

        Args:
            project_id: Only of this project; unset: of all.
            session_id: Only this one.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_conversations",
            ConversationEntry,
            {"project_id": project_id, "session_id": session_id, "limit": limit},
        )

    async def list_activity(
        self,
        project_id: str | None = None,
        session_id: str | None = None,
        since: datetime | None = None,
        limit: RowLimit = 100,
    ) -> list[Activity]:
        """List events, latest first: memories saved or changed, verdicts, saves that made none, purges.

        kind is saved, changed, captured, cards, repeated, refused, review, dropped or purged. The turns of
        a conversation are one entry, at the time of the last one, and so are the cards that pgmem read in
        an hour.

        Args:
            project_id: Only of this project; unset: of all.
            session_id: Only in this session; unset: in all.
            since: Only events after this time; unset: all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_activity",
            Activity,
            {"project_id": project_id, "session_id": session_id, "since": since, "limit": limit},
        )

    async def list_skills(
        self,
        project_id: str | None = None,
        limit: RowLimit = 100,
    ) -> list[SkillEntry]:
        """List the standing instructions and the patterns that have held three times, as skills.

        Only the words of a person are skills. A pattern of an agent has approved false, until a person
        takes it over (decide_rule).

        Args:
            project_id: Only those of this project, and global ones; unset: of all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_skills", SkillEntry, {"project_id": project_id, "limit": limit})

    async def list_rules(
        self,
        project_id: str | None = None,
        limit: RowLimit = 100,
    ) -> list[WaitingRule]:
        """List the rules of agents, and their patterns that have held, that wait for a person's yes.

        Until then each is an ordinary note or pattern: agents find it, and none has to follow it.

        Args:
            project_id: Only those of this project, and global ones; unset: of all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all("list_rules", WaitingRule, {"project_id": project_id, "limit": limit})

    async def decide_rule(
        self,
        id: UUID,
        version: int,
        yes: bool,
        by: str,
    ) -> EditedMemory:
        """Decide as a person on a rule or pattern of an agent: take it over as it is, or leave it a note.

        A memory taken over is the person's from now on, a new version with the same text: a rule is an
        instruction, and a pattern that has held a skill. A memory left as a note is not offered again while
        its text is the same.

        Args:
            id: The id of the memory; any live memory of an agent can be taken over.
            version: The version that the person was shown; another one since is refused.
            yes: True takes it over; false leaves it a note.
            by: The name of the person who decides.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the call does not come from the
                command line or the page.
            MemoryNotFound: no such memory is visible to the caller.
            InvalidArgument: it has changed since it was shown, it is not live, or it is a person's already.
            RelationNotAllowed: the memory is a card.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "decide_rule", EditedMemory, {"id": id, "version": version, "yes": yes, "by": by}
        )

    async def validate_claims(
        self,
        text: str,
        project_id: str | None = None,
    ) -> ClaimCheck:
        """Check whether a text claims a permission that memory cannot give, such as one to edit.

        A sentence is refused if it says that memory or a card allows edits, overrides or clears findings,
        widens a scope, replaces verification or approves, or that an agent approves; or if it rests such a
        permission on memory. A denied permission is none. A text that relies on a stale card without saying
        so, and a long one, are given a warning. Nothing is stored.

        Args:
            text: The text to check, such as the statement of a card.
            project_id: Project name.

        Raises:
            ContractError: no such project.
            InvalidArgument: the text is empty.
        """
        return await self.caller.one("validate_claims", ClaimCheck, {"text": text, "project_id": project_id})

    async def declare_intent(
        self,
        paths: Sequence[str],
        project_id: str,
        description: str | None = None,
    ) -> Intent:
        """Declare the paths to be worked on; the id of the intent is a scope for get_relevant_memory.

        Args:
            paths: Files or folders relative to the repository, 1 to 50.
            project_id: Project name.
            description: The aim of the work; it becomes part of drafts made from the receipt. Default none.

        Raises:
            ContractError: no paths, too many, or one outside the repository; no such project.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "declare_intent",
            Intent,
            {"paths": several("paths", paths), "project_id": project_id, "description": description},
        )

    async def approve_card(
        self,
        card_id: UUID,
        by: str,
        reason: str | None = None,
        supersedes: Sequence[UUID] = (),
        version: int | None = None,
    ) -> CardDecision:
        """Approve a draft or stale card: it becomes active and verified.

        A person calls this. Approving a stale card anchors it in its files as the last run saw them.

        Args:
            card_id: The id of the card.
            by: The name of the person who decides.
            reason: Why, for the revision of the card; default none.
            supersedes: Ids of active or stale cards of the same project that this one replaces; default
                none.
            version: The version that the person was shown; another one since is refused. Unset: whichever
                it has.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
            MemoryNotFound: no such card is visible here.
            ContractError: the card, or one that it supersedes, is in another status.
            InvalidArgument: by is empty, or the card has changed since it was shown.
        """
        return await self.caller.one(
            "approve_card",
            CardDecision,
            {
                "card_id": card_id,
                "by": by,
                "reason": reason,
                "supersedes": several("supersedes", supersedes),
                "version": version,
            },
        )

    async def reject_card(
        self,
        card_id: UUID,
        by: str,
        reason: str | None = None,
    ) -> CardDecision:
        """Reject a draft card.

        A person calls this. The same card may be drafted again; the answer then names the rejected one.

        Args:
            card_id: The id of the card.
            by: The name of the person who decides.
            reason: Why, kept with the card; default none.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
            MemoryNotFound: no such card is visible here.
            ContractError: the card is not a draft.
            InvalidArgument: by is empty.
        """
        return await self.caller.one(
            "reject_card", CardDecision, {"card_id": card_id, "by": by, "reason": reason}
        )

    async def archive_card(
        self,
        card_id: UUID,
        by: str,
        reason: str | None = None,
    ) -> CardDecision:
        """Take an active, stale, historical or superseded card out of use.

        A person calls this. A later report does not bring the card back.

        Args:
            card_id: The id of the card.
            by: The name of the person who decides.
            reason: Why, for the revision of the card; default none.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
            MemoryNotFound: no such card is visible here.
            ContractError: the card is in another status.
            InvalidArgument: by is empty.
        """
        return await self.caller.one(
            "archive_card", CardDecision, {"card_id": card_id, "by": by, "reason": reason}
        )

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
        return await self.caller.one(
            "vacuum_cards", CardVacuum, {"project_id": project_id, "dry_run": dry_run, "limit": limit}
        )

    async def settle_branches(
        self,
        project_id: str,
        settled: Sequence[Mapping[str, Any]],
    ) -> SettledBranches:
        """Share the cards of branches whose commits are in the default branch.

        pgmem calls this with the answer of git, before it refreshes cards and retrieves them; a person
        calls it for a branch whose merge git cannot see, such as a squash. `shared` counts the cards that
        are shared now, `moved` those that wait for another commit.

        Args:
            project_id: Project name.
            settled: Objects with branch, commit (the one that its cards wait for; without it, all cards of
                the branch) and now, the commit that they wait for from now on; without it they are shared.

        Raises:
            ContractError: settled cannot be read; no such project.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "settle_branches",
            SettledBranches,
            {"project_id": project_id, "settled": several("settled", settled)},
        )

    async def begin_extraction(
        self,
        session_id: str | None = None,
        project_id: str | None = None,
    ) -> Extraction:
        """Show the turns of a conversation that no extraction has looked at, and memories that they may touch.

        `turns` and `candidates` are numbered; `shape` is the answer that apply_extraction takes;
        `remaining` counts the turns after these. Without unprocessed turns extraction_id is null. Turns
        count as looked at once the answer is applied.

        Args:
            session_id: client:session, as capture_turns answers; unset: the conversation that waits
                longest.
            project_id: Project name; for turns that belong to none, and where session_id is unset, only
                turns of it.

        Raises:
            InvalidArgument: the turns belong to no project, and none that exists is sent.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "begin_extraction", Extraction, {"session_id": session_id, "project_id": project_id}
        )

    async def apply_extraction(
        self,
        extraction_id: UUID,
        answer: Mapping[str, Any],
    ) -> AppliedExtraction:
        """Store the items of a model's answer that their quotes support; the rest is rejected with its reason.

        An item is `new`, `supersede`, `duplicate_skip`, `archived` (of invalidate), `manual_review` or
        `rejected`. An item about a memory that has changed since begin_extraction, that it did not show, or
        that has more trust than the turn, waits for a person. The same call again answers the same and
        changes nothing.

        Args:
            extraction_id: The id from begin_extraction.
            answer: Empty lists where nothing lasts; an object with the lists add (kind decision, fact or
                note; title, text, turn, quote), update (n, the number of a candidate; text, turn, quote)
                and invalidate (n, turn, quote).

        Raises:
            InvalidArgument: the answer is not such an object.
            MemoryNotFound: the caller has no such extraction.
            SaveIdReused: the extraction was applied with another answer.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "apply_extraction", AppliedExtraction, {"extraction_id": extraction_id, "answer": answer}
        )

    async def spend_extraction_tokens(
        self,
        tokens: int,
        reserved: int = 0,
        day: Date | str | None = None,
    ) -> ExtractionBudget:
        """Reserve tokens of the day for a question to a model, or write its cost in their place.

        The day is that of UTC, and the tokens are counted for the caller's tenant, whichever process asks.
        `granted` is false where the tokens would exceed the setting extraction_tokens; then nothing is
        reserved.

        Args:
            tokens: The most that a question may cost; or, with reserved, its cost.
            reserved: The tokens that were reserved for it; 0: it is not asked yet.
            day: The day on which they were reserved.

        Raises:
            InvalidArgument: a number is below 0, reserved is sent without day, or that many are not
                reserved on that day.
        """
        return await self.caller.one(
            "spend_extraction_tokens", ExtractionBudget, {"tokens": tokens, "reserved": reserved, "day": day}
        )

    async def changes(
        self,
        after: str | None = None,
        limit: RowLimit = 500,
        project_id: str | None = None,
        content: bool = False,
        all_tenants: bool = False,
        vectors: bool = False,
        without: str | None = None,
    ) -> ChangePage:
        """Read a page of the feed: changes, in the order of commits, to memories that the caller sees.

        A change has subject (memory, edge, review, project), kind, id, label, version, project, at, and the
        cursor behind it. A reader that goes on with the cursor of the page misses nothing and reads nothing
        twice, whatever transactions overlap. A change is shown when no transaction that began before it is
        still running; held says that some wait for that, so that a reader looks again soon. more says that
        the page is full.

        Args:
            after: The cursor of the page before; unset: from the oldest change that is kept; now: only the
                cursor of this moment.
            limit: How many at most, 1 to 1000.
            project_id: Project name.
            content: The present state of each memory, edge or review too, as a line of an export, beside
                its last change.
            all_tenants: The changes of every tenant, instead of those that the caller sees.
            vectors: Whether the content holds vectors.
            without: The beginning of another store's cursors: changes that came from there and are the same
                on both sides are left out.

        Raises:
            CursorLost: The cursor is of another store, of a past of it that is no more, or older than the
                oldest change that the feed keeps.
            InvalidArgument: after is not a cursor.
            MemoryNotFound: no such project exists.
            NotPermitted: All tenants, and the login is neither owner nor reviewer.
        """
        return await self.caller.one(
            "changes",
            ChangePage,
            {
                "after": after,
                "limit": limit,
                "project_id": project_id,
                "content": content,
                "all_tenants": all_tenants,
                "vectors": vectors,
                "without": without,
            },
        )

    async def backlog(
        self,
    ) -> Backlog:
        """The pending work of the whole store: texts to embed, open saves, rows of an earlier release.

        Raises:
            NotPermitted: the login is neither owner, nor reviewer, nor a member of pgmem_trusted.
        """
        return await self.caller.one("backlog", Backlog, {})

    async def sweep(
        self,
        limit: int = 2000,
    ) -> Sweep:
        """Do one batch of the hourly work; remaining is above 0 while more is left.

        Records of finished saves are deleted after save_attempt_days; the arguments of other saves and the
        previews of approvals are removed after save_arguments_days; captured turns are deleted after
        turn_days, changes in the feed after feed_days, records of recall after recall_days. Memories below
        decay_archive_below are archived, if that setting is above 0 and the login is the owner or a
        reviewer. The turns and memories that others rest on are compared once a day. A call while another
        worker sweeps does nothing. States that have become true are made the present ones.

        Args:
            limit: How many records and memories at most, 1 to 5000.

        Raises:
            InvalidArgument: the limit is not between 1 and 5000.
        """
        return await self.caller.one("sweep", Sweep, {"limit": limit})

    async def apply_changes(
        self,
        changes: Sequence[Mapping[str, Any]],
        peer: str | None = None,
        cursor: str | None = None,
        since: str | None = None,
        until: str | None = None,
        dry_run: bool = False,
        pushed: str | None = None,
        keep: bool = False,
    ) -> list[Arrival]:
        """Take a page of another store's feed by the rules of a save; stored records stay.

        Returns the outcome of each change that brings a record: taken, present, merged (it exists under
        another id), updated, conflict (changed on both sides: both states are kept, the later one is
        current), review (a decision with a near title exists), purged, or refused, with the reason. A part
        of a long page is taken, so that others wait for half a second only; for the rest it returns waits,
        and it keeps no cursor: send the changes that wait again, in their order, until none does. A dry run
        takes the whole page.

        Args:
            changes: The changes of a page that `changes` returned with content, or lines of an export.
            peer: The beginning of the other store's cursors; `changes` without it leaves out changes that
                came from there.
            cursor: The cursor of the page, kept for known_peer; of the owner and reviewers only, as pushed
                is.
            since: The cursor of this feed up to which the other store knows it; unset, or one that cannot
                be used: all that it keeps is new.
            until: The cursor of this feed when the exchange began; unset: near titles are not compared.
            dry_run: Only report what it would do.
            pushed: The cursor of this feed behind the last change that the peer has applied, kept for
                known_peer.
            keep: Whether refused changes are kept for list_outstanding, which the caller offers again.

        Raises:
            InvalidArgument: changes is not a list, or peer is not a store.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.all(
            "apply_changes",
            Arrival,
            {
                "changes": several("changes", changes),
                "peer": peer,
                "cursor": cursor,
                "since": since,
                "until": until,
                "dry_run": dry_run,
                "pushed": pushed,
                "keep": keep,
            },
        )

    async def known_peer(
        self,
        peer: str | None = None,
    ) -> PeerState:
        """Describe this store to another one, and how far the two are in step.

        Args:
            peer: The beginning of the other store's cursors.
        """
        return await self.caller.one("known_peer", PeerState, {"peer": peer})

    async def list_outstanding(
        self,
        peer: str | None = None,
        direction: str | None = None,
        after: UUID | None = None,
        limit: RowLimit = 500,
    ) -> list[Outstanding]:
        """List changes that were refused in exchanges and are offered again, the oldest first.

        Args:
            peer: The beginning of the other store's cursors; unset: all.
            direction: here: refused here; there: refused by the other store; unset: both.
            after: The id of the last one of the page before.
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_outstanding",
            Outstanding,
            {"peer": peer, "direction": direction, "after": after, "limit": limit},
        )

    async def dismiss_outstanding(
        self,
        id: UUID | None = None,
        all: bool = False,
    ) -> int:
        """Give up changes that were refused in an exchange, so that they are not offered again; how many.

        A memory that changes again travels again.

        Args:
            id: The id of one, as list_outstanding gives it.
            all: All of them.

        Raises:
            InvalidArgument: Neither or both are sent.
            MemoryNotFound: no such change is outstanding.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("dismiss_outstanding", int, {"id": id, "all": all})

    async def renew(
        self,
        batch: int = 1000,
    ) -> Renewal:
        """Write a batch of rows of an earlier release again by the rules of this one.

        Returns the name of the step, how many rows were written, and about how many of the step remain. The
        step is null once nothing is left.

        Args:
            batch: How many memories at most. Default 1000.
        """
        return await self.caller.one("renew", Renewal, {"batch": batch})

    async def place_in_opening(
        self,
        id: str,
        place: str | None = None,
    ) -> str:
        """Put a decision first in the openings of its project, or leave it out; its title.

        It is a person's word. A decision that was left out is found and brought with a prompt as before,
        and is counted among those that an opening leaves out. The word is of the caller's tenant.

        Args:
            id: Its id or title; of an id the first 8 digits are enough.
            place: first, never, or null for its place by age and use.

        Raises:
            NotPermitted: the call does not come from the command line or the page.
            MemoryNotFound: no such memory is visible here.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value("place_in_opening", str, {"id": id, "place": place})

    async def list_replacements(
        self,
        project_id: str | None = None,
        id: UUID | None = None,
        days: int | None = None,
        limit: RowLimit = 50,
    ) -> list[Replacement]:
        """List the decisions that replaced another for the likeness of their titles alone.

        The newest come first. Each of the two titles has a word that the other lacks, so they may be about
        two things. settle_conflict says that both hold, that the new one holds, or the old one.

        Args:
            project_id: Only of this project; unset: of all.
            id: Only those of this decision; unset: of all.
            days: Only those of the last days; unset: all.
            limit: How many at most, 1 to 1000.

        Raises:
            InvalidArgument: days is below 0.
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.all(
            "list_replacements",
            Replacement,
            {"project_id": project_id, "id": id, "days": days, "limit": limit},
        )

    async def record_act(
        self,
        act: str,
        key: str,
        memory_ids: Sequence[str] = (),
        project_id: str | None = None,
        client: str | None = None,
        session_id: str | None = None,
    ) -> bool:
        """Record that rules met a command, that it ran all the same, or that it failed; whether again.

        Args:
            act: met, done or failed.
            key: A digest of the command, or of the error.
            memory_ids: The rules that it met, or the memories that came with the error.
            project_id: The project of the session.
            client: The program that the conversation is held in, such as claude-code.
            session_id: The id of the conversation in that program.

        Raises:
            InvalidArgument: the key is empty, or act is another word.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "record_act",
            bool,
            {
                "act": act,
                "key": key,
                "memory_ids": several("memory_ids", memory_ids),
                "project_id": project_id,
                "client": client,
                "session_id": session_id,
            },
        )

    async def begin_trial(
        self,
        client: str,
        session_id: str,
        project_id: str | None = None,
    ) -> str:
        """Toss the coin of a session once: with or without memory; none where the setting memory_trial is off.

        Args:
            client: The program that the conversation is held in, such as claude-code.
            session_id: The id of the conversation in that program.
            project_id: The project of the session.

        Raises:
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.value(
            "begin_trial", str, {"client": client, "session_id": session_id, "project_id": project_id}
        )

    async def record_trial(
        self,
        client: str,
        session_id: str,
        prompts: int = 0,
        tokens: int | None = None,
    ) -> bool:
        """Count prompts and tokens of a session of the trial; false where it is none.

        Args:
            client: The program that the conversation is held in, such as claude-code.
            session_id: The id of the conversation in that program.
            prompts: How many prompts a person has sent since the last count.
            tokens: How many tokens the session has taken so far.

        Raises:
            InvalidArgument: prompts is below 0.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self.caller.one(
            "record_trial",
            bool,
            {"client": client, "session_id": session_id, "prompts": prompts, "tokens": tokens},
        )

    async def sum_balance(
        self,
        project_id: str | None = None,
        days: int = 30,
    ) -> Balance:
        """Sum the cost of the memory and its results: tokens, words of agents, rules, errors, and the trial.

        A trial is switched on by the setting memory_trial. Its sessions count from the first prompt on, and
        stay when recall_days are over.

        Args:
            project_id: Only this project; unset: everything.
            days: The number of days, 1 to 3650; of the trial all sessions count.

        Raises:
            InvalidArgument: days is another number.
            MemoryNotFound: no such project is visible here.
        """
        return await self.caller.one("sum_balance", Balance, {"project_id": project_id, "days": days})

    async def list_standing(
        self,
        project_id: str | None = None,
        limit: RowLimit = 200,
    ) -> list[StandingRule]:
        """List the rules of a project and the global ones, first those that contradict another.

        All pairs are compared, at most 600 texts, by their acts, objects and choices, in English and in
        part in German, Spanish, French and Chinese. These are the texts that give a standing order, and
        short notes of persons that forbid something or are named in a pair.

        Args:
            project_id: The rules of this project and the global ones; unset: all.
            limit: How many at most, 1 to 1000.

        Raises:
            MemoryNotFound: no such project is visible here.
            InvalidArgument: the limit is not from 1 to 1000.
        """
        return await self.caller.all(
            "list_standing", StandingRule, {"project_id": project_id, "limit": limit}
        )

    async def rebuild_graph(
        self,
    ) -> GraphCounts:
        """Make the graph again from the tables; returns the numbers of vertices and edges written.

        No save is possible while it runs.

        Raises:
            TierMissing: the server has no Apache AGE.
        """
        return await self.caller.one("rebuild_graph", GraphCounts, {})

    async def check_graph(
        self,
    ) -> list[CheckedLabel]:
        """Where the graph differs from the tables; empty when they agree.

        Each row counts, for a label or relation, the rows that the graph lacks (missing), has beyond the
        tables (extra), and holds with other properties or ends (different). With stale_paths, AGE 1.8 or
        later may answer paths of variable length over the label from a cache that is out of date: pgmem
        init mends it.

        Raises:
            TierMissing: the server has no Apache AGE.
        """
        return await self.caller.all("check_graph", CheckedLabel, {})

    async def run_cypher(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
    ) -> list[dict[str, JsonValue]]:
        """Run a read-only Cypher query over the graph; one JSON object a row.

        Args:
            query: A Cypher query that ends in RETURN; its columns name the keys of the objects.
            params: An object of values that the query names as $name.

        Raises:
            TierMissing: the server has no Apache AGE, or the graph came from a dump and must be rebuilt.
            NotPermitted: the query writes, a tenant is set, or the login is neither owner nor reviewer.
            InvalidArgument: the query has no RETURN or cannot be run, or params is not an object.
        """
        return await retrieval.run_cypher(self.caller, {"query": query, "params": params or {}})

    async def make_report_login(
        self,
        password: str | None = None,
    ) -> str:
        """Make the login pgmem_report, which reads the views of its schema alone; its name.

        Args:
            password: For connections over TCP; unset: the present one, or none.
        """
        return await self.caller.value("make_report_login", str, {"password": password})

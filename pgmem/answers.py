"""The answers of the verbs: a frozen dataclass for each type that sql/ declares, with its attributes as fields.

The classes have no slots, because the MCP SDK reads the default of a field from the class, where slots leave a
descriptor.

Written by scripts/generate from the chapters of sql/; do not edit.
"""

from __future__ import annotations

from dataclasses import field
from datetime import date as Date
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import JsonValue

from pgmem.answer import Answer, Excerpted, Gathering
from pgmem.inputs import CardEvidence

__all__ = [
    "Activity",
    "AddedFile",
    "AddedObservations",
    "Adoption",
    "Ambiguity",
    "AnswerBudget",
    "ApiToken",
    "AppliedExtraction",
    "Approval",
    "Arrival",
    "Backlog",
    "Balance",
    "BatchSaveResult",
    "Candidate",
    "CapturedTurns",
    "Card",
    "CardDecision",
    "CardRefresh",
    "CardRevision",
    "CardSubject",
    "CardVacuum",
    "CardsSync",
    "Change",
    "ChangePage",
    "CheckedLabel",
    "CitedFile",
    "ClaimCheck",
    "Companion",
    "CompletedName",
    "Confirmed",
    "Conflict",
    "ConflictEntry",
    "Conflicts",
    "ContextBundle",
    "ContextItem",
    "Contradiction",
    "ConversationEntry",
    "Coverage",
    "Decay",
    "DedupDue",
    "DescribedLabel",
    "DescribedRelation",
    "DigestCard",
    "DraftedCard",
    "DrawnEdge",
    "DrawnGraph",
    "DrawnNode",
    "DuplicateCheck",
    "Edge",
    "EditedFile",
    "EditedMemory",
    "EmbeddingModel",
    "Erasure",
    "ErrorsAgain",
    "EventTokens",
    "Expiry",
    "ExtractedItem",
    "Extraction",
    "ExtractionBudget",
    "ExtractionCandidate",
    "ExtractionTurn",
    "Feedback",
    "Finding",
    "FinishedIntent",
    "Forgotten",
    "FoundFile",
    "FoundFiles",
    "FoundItem",
    "FreshnessReport",
    "GovernanceToken",
    "GraphCounts",
    "Health",
    "HeldPeriod",
    "History",
    "HygieneReport",
    "Insight",
    "Insights",
    "Intent",
    "Item",
    "ItemNamespace",
    "JoinedMemories",
    "JoinedMemory",
    "KeyedMemory",
    "KnownEntities",
    "KnownGraph",
    "KnownRelations",
    "LabelledMemory",
    "LikelyChange",
    "LikelyChanges",
    "LineDecision",
    "LineEntry",
    "Lineages",
    "MadeRelation",
    "MemoryAnswer",
    "MemoryCounts",
    "MemoryEntry",
    "MemoryFile",
    "MemoryPayload",
    "Message",
    "NameCollision",
    "NamedNode",
    "NearDecision",
    "NearName",
    "NearPair",
    "Neighbour",
    "Neighbours",
    "Node",
    "NumberedEntry",
    "ObservationConfidence",
    "OpenSave",
    "OpenedProject",
    "OtherRule",
    "Outstanding",
    "PathCoverage",
    "PathDigest",
    "PeerState",
    "PeriodConflict",
    "PlacedMemory",
    "Produced",
    "ProjectEntry",
    "Proposal",
    "ProposedInsight",
    "RecallEntry",
    "RecallSums",
    "RecalledCount",
    "RecalledMemory",
    "RecordCoverage",
    "RecordedSession",
    "Reflection",
    "RelevantMemory",
    "Remembered",
    "Renewal",
    "Repair",
    "Replacement",
    "ReportedCard",
    "RestingMemory",
    "Retraction",
    "Reverted",
    "Review",
    "ReviewDetail",
    "Route",
    "SaidAgain",
    "SaveResult",
    "SaveStatus",
    "SchemaDescription",
    "ScopeState",
    "SearchMode",
    "SearchResult",
    "SearchResults",
    "SessionRecord",
    "Setting",
    "SettledBranches",
    "SkillEntry",
    "Source",
    "StaleItem",
    "StandingRule",
    "Status",
    "StoredItem",
    "StoredItems",
    "Surface",
    "SurfaceMatch",
    "Sweep",
    "Tenant",
    "TenantRole",
    "TimelineCount",
    "TitledMemory",
    "Trajectory",
    "TrialMeasure",
    "Version",
    "Waiting",
    "WaitingBranch",
    "WaitingRule",
]


class Setting(Answer):
    """A threshold or limit of the store."""

    name: str
    value: str
    description: str


class EmbeddingModel(Answer):
    """An embedding model of the store, with the number of its vectors, and of the texts queued for it.

    `index_missing` is whether it has more vectors than `vector_index_limit` and no index over them.
    """

    model: str
    dimensions: int
    active: bool
    vectors: int
    waiting: int
    not_indexed: int
    index_name: str | None = None
    index_missing: bool = False


class ScopeState(Answer):
    """The scope that a project and a focus area resolve to."""

    scope_state: Literal["resolved", "uncertain", "unresolved"]
    state: Literal["unresolved", "uncertain", "resolved_project", "resolved_focus"]
    project_id: str | None = None
    focus: str | None = None
    project_exists: bool
    focus_exists: bool
    write_permitted: bool
    next_step: str | None = None


class DescribedLabel(Answer):
    """A label: the property that names its nodes, the one that is their title, and those that are searched.

    `written_by` is the verb that writes the label. Labels that are not memories, such as Project, hold the store
    together.
    """

    name: str
    is_memory: bool
    key_field: str | None = None
    title_field: str
    text_fields: list[str]
    dedup: str | None = None
    written_by: str


class DescribedRelation(Answer):
    """A relation, the labels that it joins (None means any), and what makes it: relate, or other verbs only."""

    name: str
    from_labels: list[str] | None = None
    to_labels: list[str] | None = None
    made_by: str


class SchemaDescription(Answer):
    """The labels and relations of the store."""

    labels: list[DescribedLabel]
    relations: list[DescribedRelation]


class Edge(Answer):
    """A relation between two memories; created is false if it existed."""

    from_id: UUID
    rel_type: str
    to_id: UUID
    created: bool


class DuplicateCheck(Answer):
    """The duplicate that save_decision would find."""

    dedup_outcome: Literal["new", "duplicate_skip", "supersede", "manual_review"]
    candidate_id: UUID | None = None
    score: float | None = None


class DedupDue(Answer):
    """Whether the title words of a scope should be ordered anew, of how many titles, and by the worker."""

    due: bool
    titles: int
    by_worker: bool


class Status(Answer):
    """The server, the tier, the release, and counts of what the caller can see."""

    server_version: str
    release: str | None = None
    tier: str
    age_version: str | None = None
    vector_version: str | None = None
    isolation_layers: int
    nodes: int
    edges: int
    projects: int
    memories: dict[str, int]
    saves_open: int
    org_id: str
    user_id: str
    build: str | None = None
    """The state of pgmem within its release: the beginning of the digest of its SQL."""


class OpenedProject(Answer):
    """The project of a repository: created now, or matched by what the repository is known by."""

    project_id: str
    created: bool
    matched: bool
    asks: str | None = None
    """The project that the repository would have if a person said so."""


class GovernanceToken(Answer):
    """The approval of one call that writes global memories."""

    token: str
    expires_at: datetime
    ttl_seconds: int
    instructions: str


class NearName(Answer):
    """An existing name that a new one resembles; 1.0 for another spelling of it, less for other letters."""

    new_name: str
    id: UUID
    label: str
    name: str
    score: float
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class Contradiction(Answer):
    """A memory that a save contradicts: on which axis, and what each of them says."""

    id: UUID
    axis: Literal["object", "number", "date", "negation", "preference"]
    theirs: str
    ours: str
    by: Literal["person", "agent"] | None = None
    """Who said theirs; agent: also a program or a file."""


class NearDecision(Answer):
    """A live decision with a near title: how near, which words each has alone, and what became of it."""

    id: UUID
    title: str
    date: Date
    by: Literal["person", "agent"]
    """Who said it; agent: also a program or a file."""
    score: float
    theirs: list[str]
    ours: list[str]
    outcome: Literal["replaced", "waits", "conflict", "beside"]
    agent_id: str | None = None
    """The agent's name, as it gave it."""


class SaveResult(Answer):
    """The outcome of a save. A save raises only for arguments that cannot be read; `status` has every other outcome."""

    status: Literal["saved", "pending_retry", "failed", "blocked_scope", "dropped"]
    artifact_id: UUID | None = None
    dedup_outcome: Literal["new", "duplicate_skip", "supersede", "manual_review"] | None = None
    candidate_id: UUID | None = None
    message: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None
    embedded: bool = False
    near_names: list[NearName] = field(default_factory=list)
    """Existing names that resemble one that this save made."""
    conflicts: list[Contradiction] = field(default_factory=list)
    """Those that it contradicts; of plain statements of one writer the later one holds."""
    near: list[NearDecision] = field(default_factory=list)
    """The live decisions with the nearest titles, until somebody says that both hold."""


class BatchSaveResult(Answer):
    """The outcome of a batch: of the session, of each decision, pattern and other memory, and overall."""

    overall: Literal["saved", "partial", "pending_retry", "failed", "blocked_scope"]
    session: SaveResult | None = None
    decisions: list[SaveResult] = field(default_factory=list)
    patterns: list[SaveResult] = field(default_factory=list)
    message: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None
    memories: list[SaveResult] = field(default_factory=list)


class MadeRelation(Answer):
    """A relation to another node; created is false if it existed."""

    relation: str
    id: UUID
    label: str
    name: str
    created: bool


class NamedNode(Answer):
    """A node with its name."""

    id: UUID
    label: str
    name: str
    project: str | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class Ambiguity(Answer):
    """A target that was not joined: the nodes that match its name; none if only another verb may create such a node."""

    relation: str
    name: str
    candidates: list[NamedNode]


class Review(Answer):
    """A decision that waits for review, beside the memory that it resembles."""

    save_id: UUID
    project: str | None = None
    title: str
    rationale: str
    candidate_id: UUID | None = None
    candidate_title: str | None = None
    candidate_rationale: str | None = None
    candidate_status: str | None = None
    score: float | None = None
    created_at: datetime
    verb: str = "save_decision"
    message: str | None = None
    artifact_id: UUID | None = None
    """The memory that is stored already and would be brought in; title and rationale are its texts."""
    outcomes: list[str] = field(default_factory=list)
    """How it can be decided."""
    by: Literal["person", "agent"] | None = None
    """Who asks; agent: also a program or a file."""
    candidate_by: Literal["person", "agent"] | None = None
    """Who said the memory that it resembles."""


class PeriodConflict(Answer):
    """A write onto a node whose period had an end (revived: it had passed) or beside an open one, and the outcome."""

    conflict: Literal["revived", "has_end", "open"]
    action: Literal["cleared", "kept", "replaced", "review"]
    previous_valid_to: datetime | None = None
    since: datetime | None = None
    """The other open period begins then."""
    save_id: UUID | None = None
    """Under which a person decides."""
    message: str | None = None


class Remembered(Answer):
    """A node that was created or updated, and the outcome of its relations."""

    id: UUID
    label: str
    key: str
    title: str
    status: str
    version: int
    created: bool
    relations_made: list[MadeRelation] = field(default_factory=list)
    stubs_made: list[NamedNode] = field(default_factory=list)
    did_you_mean: list[Ambiguity] = field(default_factory=list)
    conflict: PeriodConflict | None = None
    embedded: bool = False
    proactive_hint: str | None = None
    dedup_outcome: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None
    near_names: list[NearName] = field(default_factory=list)


class ApiToken(Answer):
    """A bearer token of an agent, a person or another store; only the answer that issues it sets `token`."""

    id: UUID
    name: str
    org_id: str
    user_id: str
    token: str | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    active: bool = True
    for_person: bool = False
    for_sync: bool = False
    vouches: bool = False


class TenantRole(Answer):
    """A database login that is a tenant; `unlimited` names the limits that the caller may not set for it."""

    role_name: str
    org_id: str
    user_id: str
    unlimited: list[str] = field(default_factory=list)


class Tenant(Answer):
    """A tenant of the store; with empty names, the public memories."""

    org_id: str
    user_id: str
    memories: int
    projects: int
    tokens: int
    roles: list[str]


class NameCollision(Answer):
    """A name that the tenant already has."""

    label: str
    name: str
    project: str | None = None


class Adoption(Answer):
    """How many nodes and saves without a tenant got one; collisions are names that the tenant already had."""

    nodes: int
    saves: int
    collisions: list[NameCollision]


class Erasure(Answer):
    """The receipt of an erasure, or the preview of one (dry_run)."""

    receipt_id: UUID | None = None
    subject_hash: str
    dry_run: bool
    total: int
    counts: dict[str, int]
    erased_at: datetime


class KeyedMemory(Answer):
    """A memory by its id, the name of a kind that is named, and its title."""

    id: UUID
    label: str
    key: str | None = None
    title: str


class Node(KeyedMemory):
    """A node with all its properties: as it is, or as it was true or known at a date.

    The agent is that of the state's writer, the session that of the present state's; archived_at is set for a
    forgotten memory.
    """

    status: str
    properties: dict[str, JsonValue]
    project: str | None = None
    scope: str | None = None
    focus: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    confidence: float
    trust_level: float
    source: str
    version: int
    created_at: datetime
    updated_at: datetime
    ingested_at: datetime
    agent_id: str | None = None
    session_id: str | None = None
    archived_at: datetime | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    author: str | None = None
    """The agent that saved it first; agent_id is the writer of this state."""


class ContextItem(Gathering, KeyedMemory):
    """A memory of a context; fields that its label does not have are None."""

    scope: str | None = None
    focus: str | None = None
    created_at: datetime
    updated_at: datetime | None = None
    trust_level: float | None = None
    confidence: float | None = None
    freshness: Literal["current", "recent", "stale"] | None = None
    rationale: str | None = None
    owner: str | None = None
    date: str | None = None
    objective: str | None = None
    actions_taken: list[str] | None = None
    decisions_made: list[str] | None = None
    open_items: list[str] | None = None
    next_actions: list[str] | None = None
    trigger: str | None = None
    repeatable_steps: list[str] | None = None
    exclusions: list[str] | None = None
    last_validated_at: datetime | None = None
    topic: str | None = None
    content: str | None = None
    relevance_score: float | None = None
    entity_name: str | None = None
    fact: str | None = None
    outdated_by: UUID | None = None
    """The later statement that holds in its place."""
    properties: dict[str, JsonValue] = field(default_factory=dict)
    """Its other properties."""
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    wrong_at: datetime | None = None
    """When an agent named it wrong or outdated, more often than used."""


class ContextBundle(Answer):
    """The context of a scope: memories of the focus area, the project and the global scope, each newest first.

    `standing` are the instructions that persons gave for these places: offered whatever their age, the nearest
    first, and not among the items again.
    """

    standing: list[ContextItem] = field(default_factory=list)
    items: list[ContextItem] = field(default_factory=list)
    retrieval_status: Literal["succeeded", "empty", "timed_out", "failed", "conflicted"]
    scope_state: Literal["resolved", "uncertain", "unresolved"] | None = None
    conflicts_found: bool
    hygiene_due: bool
    truncated_scopes: list[str] = field(default_factory=list)
    next_step: str | None = None
    proactive_hint: str | None = None
    left_out: int = 0


class RecordedSession(Answer):
    """A session: what was done in it and what it left open."""

    id: UUID
    project: str | None = None
    objective: str
    actions_taken: list[str] = field(default_factory=list)
    decisions_made: list[str] = field(default_factory=list)
    open_items: list[str] = field(default_factory=list)
    next_actions: list[str] = field(default_factory=list)
    created_at: datetime
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class LabelledMemory(Answer):
    """A memory by its id, its kind and its title."""

    id: UUID
    label: str
    title: str


class Produced(LabelledMemory):
    """A memory that was saved in a session."""

    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class SessionRecord(Answer):
    """A session with the memories that were saved in it."""

    session: RecordedSession
    produced: list[Produced]


class SearchResult(Excerpted, KeyedMemory):
    """One memory found.

    `passage` is its text, of a long one the part (about 120 words) that holds most of the query; `matched` are
    the words of the query, as stems, that it holds. `score` orders the results of one search; `relevance` (0 to
    1) compares between searches. The other figures are parts of the score.
    """

    passage: str | None = None
    matched: list[str] = field(default_factory=list)
    project: str | None = None
    scope: str | None = None
    score: float
    relevance: float | None = None
    vector: float | None = None
    fulltext: float | None = None
    graph: float | None = None
    trust: float | None = None
    confidence: float | None = None
    explanation: dict[str, Any] | None = None
    created_at: datetime | None = None
    outdated_by: UUID | None = None
    """The later statement that holds in its place; null: none."""
    sources: Literal["FRESH", "STALE", "GONE", "UNCHECKABLE"] | None = None
    """Its sources, as last checked, the worst; null: it names no source."""
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    copies: int = 1
    """How many memories of the project have the same text; the best stands for all."""
    wrong_at: datetime | None = None
    """When an agent named it wrong or outdated, more often than used."""


class SearchMode(Answer):
    """How a search was made: its mode, whether an arm was missing, and why."""

    mode: str
    degraded: bool = False
    reason: str | None = None


class SearchResults(Answer):
    """Ranked memories, how they were found, and whether they answer.

    `answered` is about the whole: yes, unclear or no. `left_out` counts results that did not fit into max_tokens,
    repeat a better one, or do not answer where only answers are wanted.
    """

    results: list[SearchResult]
    search_mode: SearchMode
    answered: Literal["yes", "unclear", "no"] | None = None
    left_out: int = 0
    next_step: str | None = None


class Neighbour(KeyedMemory):
    """A memory within some hops, with the relations on the path to it."""

    status: str
    depth: int
    path: list[str]
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class Neighbours(Answer):
    """The memories around one, nearest first."""

    nodes: list[Neighbour]


class Version(Answer):
    """A state a node was recorded in, with its effective period; the present one has no replaced_at.

    A restated state holds nowhere any more: a later one took its whole period.
    """

    version: int
    title: str
    status: str
    properties: dict[str, JsonValue]
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ingested_at: datetime
    replaced_at: datetime | None = None
    source: str
    trust_level: float
    restated: bool
    agent_id: str | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class History(Answer):
    """The versions of a node, oldest first."""

    versions: list[Version]


class Reverted(KeyedMemory):
    """A memory that was brought back to an earlier version, as a new one; failed: a person decides under save_id."""

    status: str
    version: int
    reverted_to: int
    dedup_outcome: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class SaidAgain(Answer):
    """Another memory that says the same, and its state after the call."""

    id: UUID
    label: str
    title: str
    project: str | None = None
    likeness: float
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    status: str
    """Its state; failed: a person decides whether it goes too."""
    in_vault: bool = False
    """A note of a vault says it as well, which the next pgmem vault sync brings to the same state."""


class RestingMemory(Answer):
    """A memory that rests on another: derived from it, or citing it."""

    id: UUID
    label: str
    title: str
    project: str | None = None
    how: Literal["derived", "cites"]
    status: str
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class Retraction(Gathering, Answer):
    """Memories that go with one that no longer holds: those that say the same, and those that rest on it."""

    same: list[SaidAgain] = field(default_factory=list)
    rests: list[RestingMemory] = field(default_factory=list)


class Forgotten(Gathering, KeyedMemory):
    """A memory that is hidden (archived) or gone (purged); failed: a person decides under save_id."""

    status: Literal["archived", "purged", "failed"]
    edges: int
    versions: int
    vectors: int
    dedup_outcome: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None
    by: Literal["person", "agent"] | None = None
    """Who said what was forgotten; agent: also a program or a file."""
    same: list[SaidAgain] = field(default_factory=list)
    """Other memories that say the same, with their state now; those in also go with it."""
    rests: list[RestingMemory] = field(default_factory=list)
    """Those that rest on it."""


class Expiry(Answer):
    """How many memories exceeded a time to live and were forgotten, and how many remain."""

    affected: int
    remaining: int


class Decay(Answer):
    """How many memories have decayed, how many of them were archived, and how many remain to be archived."""

    affected: int
    archived: int
    remaining: int


class CompletedName(Answer):
    """A name that begins with what was typed."""

    value: str


class PlacedMemory(LabelledMemory):
    """A memory by its id, kind and title, with its project and status."""

    project: str | None = None
    status: str
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class CapturedTurns(Answer):
    """How many turns of a conversation were stored; turns are searched by session_id, which is client:session."""

    session_id: str
    project_id: str | None = None
    project_created: bool
    captured: int
    known: int


class StoredItems(Answer):
    """How many items a call stored, and how many it deleted."""

    stored: int
    deleted: int


class Item(Answer):
    """A value that a program keeps under a namespace and a name."""

    id: UUID
    namespace: list[str]
    name: str
    value: JsonValue
    ttl_minutes: float | None = None
    created_at: datetime
    updated_at: datetime


class StoredItem(Item):
    """An item as it was read; place is the number of its key in the call, from 1."""

    place: int


class FoundItem(Item):
    """An item that was found, and its score; null where nothing was compared."""

    score: float | None = None


class ItemNamespace(Answer):
    """A namespace that holds items."""

    namespace: list[str]


class MemoryFile(Answer):
    """A file; text is null where a directory is listed."""

    id: UUID
    path: str
    text: str | None = None
    bytes: int
    version: int
    updated_at: datetime


class EditedFile(MemoryFile):
    """A file after an edit, and the line at which it was edited, from 1."""

    text: str
    line: int


class Message(Answer):
    """A message of a session, as it was sent."""

    id: UUID
    value: JsonValue
    created_at: datetime


class KnownEntities(Answer):
    """Entities of the knowledge graph: objects of name, entityType and observations."""

    entities: list[dict[str, JsonValue]]


class KnownRelations(Answer):
    """Relations of the knowledge graph: objects of from, to and relationType."""

    relations: list[dict[str, JsonValue]]


class AddedObservations(Answer):
    """The observations that are new, by entity: objects of entityName and addedObservations."""

    results: list[dict[str, JsonValue]]


class KnownGraph(KnownEntities):
    """Entities of the knowledge graph and their relations."""

    relations: list[dict[str, JsonValue]]


class Source(Answer):
    """One source of a memory, and its state."""

    kind: Literal["turn", "memory", "file", "url", "ticket"]
    """Its kind."""
    target: str
    """The id, path, address or ticket."""
    state: Literal["FRESH", "STALE", "GONE", "UNCHECKABLE"]
    """Whether it says still what the memory rests on."""
    checked_at: datetime | None = None
    """When the state was found; null: it was not checked."""
    quote: str | None = None
    """The words that the memory rests on."""
    first_character: int | None = None
    """Where the quote begins in the turn, from 1 on; spaces count as one."""
    last_character: int | None = None
    """Where it ends."""
    said: str | None = None
    """The turn, or the text of the other memory."""


class CitedFile(Answer):
    """A file that a memory rests on: path, path:3-9, path@commit or path:3-9@commit.

    `since` is when the memory was last changed: without a commit it rests on the file as it was then.
    """

    id: UUID
    target: str
    since: datetime


class Feedback(Gathering, Answer):
    """How often a memory was named as used, wrong or outdated."""

    used: int
    wrong: int
    outdated: int
    next_step: str | None = None
    noise: int = 0
    """How often it was brought where it did not help."""
    same: list[SaidAgain] = field(default_factory=list)
    """Beside a wrong or outdated memory, others that say the same; those in also got the same verdict."""
    rests: list[RestingMemory] = field(default_factory=list)
    """Those that rest on it."""


class RecalledMemory(Answer):
    """A memory that was brought to an agent; verdict: used, noise, wrong or outdated, the last word on it since."""

    id: UUID
    label: str | None = None
    title: str | None = None
    status: str | None = None
    verdict: str | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class RecallEntry(Answer):
    """An answer that brought memories to an agent, or a word on one; tokens is None where it is a word.

    A memory without a title was purged, or is not visible any more.
    """

    seq: int
    at: datetime
    act: str
    by: str
    project: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    tokens: int | None = None
    memories: list[RecalledMemory]


class RecalledCount(Answer):
    """A memory and how often it was brought; verdict is the last word on it."""

    id: UUID
    label: str | None = None
    title: str | None = None
    status: str | None = None
    times: int
    verdict: str | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class RecallSums(Answer):
    """How often memories were brought to agents, and what was said of them.

    prompts are those for which a hook looked, silent those of them that got nothing; most are the memories that
    were brought most often.
    """

    days: int
    sessions: int
    answers: int
    tokens: int
    prompts: int
    silent: int
    used: int
    noise: int
    wrong: int
    outdated: int
    most: list[RecalledCount]


class Finding(Answer):
    """A finding of hygiene: the memories, and the verb that repairs them with its arguments."""

    check: str
    ids: list[UUID]
    label: str | None = None
    titles: list[str] = field(default_factory=list)
    project: str | None = None
    verb: str
    what: str
    arguments: dict[str, JsonValue] = field(default_factory=dict)
    similarity: float | None = None
    by: list[str] = field(default_factory=list)
    """Who said each, person or agent, in the order of titles."""


class HygieneReport(Answer):
    """The counts of all findings, and the findings of this page."""

    project_id: str | None = None
    scope: str | None = None
    duplicates_found: int
    outdated_decisions: int
    obsolete_patterns: int
    entity_drift_count: int
    unresolved_saves: int
    candidate_ids: dict[str, list[str]]
    findings: list[Finding]
    total: int
    next_offset: int | None = None
    checked_at: datetime
    next_step: str
    oldest_pending_at: datetime | None = None
    pending_artifact_ids: list[UUID] = field(default_factory=list)
    pending_only: bool
    proactive_hint: str | None = None


class StaleItem(LabelledMemory):
    """A memory that was not updated for long."""

    freshness: str
    age_days: int
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class FreshnessReport(Answer):
    """Counts of memories by freshness, and the stale ones, oldest first."""

    stale_count: int
    recent_count: int
    current_count: int
    stale_items: list[StaleItem]
    next_offset: int | None = None
    checked_at: datetime
    next_step: str
    proactive_hint: str | None = None


class Confirmed(LabelledMemory):
    """A memory that still holds, and since when that is known."""

    confirmed_at: datetime
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class SurfaceMatch(Answer):
    """A memory that holds the words of the query."""

    id: UUID
    label: str
    name: str
    content: str
    scope: str | None = None
    freshness: str
    bm25_score: float
    project_id: str | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    created_at: datetime | None = None


class Surface(Answer):
    """The memories about a line, a path or a command; often none."""

    matches: list[SurfaceMatch]
    query_used: str
    total_found: int
    next_step: str


class Repair(Answer):
    """A memory that was merged into or superseded by another one."""

    id: UUID
    title: str
    status: str
    version: int
    rel_type: Literal["MERGES_INTO", "SUPERSEDES"]
    into_id: UUID
    into_title: str
    into_version: int


class ConflictEntry(Answer):
    """Two live memories that contradict each other; neither is preferred until a person decides."""

    id: UUID
    label: str
    title: str
    project: str | None = None
    with_id: UUID
    with_label: str
    with_title: str
    with_project: str | None = None
    created_at: datetime
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    with_by: Literal["person", "agent"] | None = None
    """Who said the other one."""


class TitledMemory(LabelledMemory):
    """A memory by its id and title, with its status."""

    status: str


class EditedMemory(TitledMemory):
    """A memory after a person has corrected it."""

    version: int
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class OpenSave(SaveResult):
    """A recorded save, with its verb, time and project."""

    verb: str | None = None
    created_at: datetime | None = None
    project: str | None = None


class SaveStatus(Answer):
    """Open saves, oldest first, or the outcome of one save_id."""

    status: str
    count: int
    oldest_pending_at: datetime | None = None
    artifact_ids: list[UUID] = field(default_factory=list)
    saves: list[OpenSave] = field(default_factory=list)


class ReviewDetail(Answer):
    """A save that waits for a person, or that one has decided, beside the memory it concerns."""

    save_id: UUID
    verb: str
    project: str | None = None
    status: str
    arguments: dict[str, JsonValue]
    message: str | None = None
    candidate_id: UUID | None = None
    candidate_label: str | None = None
    candidate_title: str | None = None
    candidate_status: str | None = None
    candidate_properties: dict[str, JsonValue] | None = None
    candidate_version: int | None = None
    artifact_id: UUID | None = None
    resolved_by: str | None = None
    is_open: bool
    session_id: str | None = None
    created_at: datetime
    updated_at: datetime
    artifact_title: str | None = None
    """Title of the memory that is stored already and would be brought in."""
    artifact_properties: dict[str, JsonValue] | None = None
    outcomes: list[str] = field(default_factory=list)
    """How it can be decided."""
    restored_title: str | None = None
    """The title of the version that a revert brings back."""
    restored_properties: dict[str, JsonValue] | None = None
    title: str | None = None
    """The title that the save would have."""
    by: Literal["person", "agent"] | None = None
    """Who asks; agent: also a program or a file."""
    candidate_by: Literal["person", "agent"] | None = None
    """Who said the memory that it concerns."""


class ProposedInsight(Answer):
    """An insight that a reflection proposes."""

    title: str
    detector: str
    confidence: float


class Reflection(Answer):
    """The insights that a reflection created, and the number that is pending."""

    created: int
    pending: int
    insights: list[ProposedInsight]
    next_step: str


class Insight(Answer):
    """An insight, with the memories that it is drawn from."""

    id: UUID
    title: str
    summary: str | None = None
    detector: str | None = None
    confidence: float
    trust_level: float
    status: str
    sources: list[UUID]
    created_at: datetime
    forgets: list[UUID] = field(default_factory=list)
    """The memories that an approval archives, in place of saving the insight."""
    shown: str | None = None
    """The state of the insight and of its memories, which review_insight compares."""


class Insights(Answer):
    """The pending insights, highest confidence first."""

    insights: list[Insight]


class Route(Answer):
    """How to reason about a task."""

    mode: Literal["sequential", "debate", "socratic"]
    rationale: str
    suggested_steps: list[str]


class TimelineCount(Answer):
    """The number of memories of a label that were created in a day, week or month."""

    at: Date
    label: str
    count: int


class JoinedMemory(LabelledMemory):
    """A memory and the number of its relations."""

    relations: int
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class JoinedMemories(Answer):
    """The number of such memories, and the first of them."""

    count: int
    items: list[JoinedMemory]


class Conflict(Answer):
    """Two live memories that contradict each other."""

    id: UUID
    title: str
    with_id: UUID
    with_title: str
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    with_by: Literal["person", "agent"] | None = None
    """Who said the other one."""


class Conflicts(Answer):
    """The number of conflicts, and the first of them."""

    count: int
    items: list[Conflict]


class LineDecision(Answer):
    """A decision of a line of decisions; age is the number of decisions that came after it."""

    id: UUID
    title: str
    status: str
    age: int
    created_at: datetime
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class Lineages(Answer):
    """The number of lines of decisions, and the longest of them, each newest first."""

    count: int
    items: list[list[LineDecision]]


class Health(Answer):
    """The state of the memory: counts, with the first items of each kind."""

    project_id: str | None = None
    checked_at: datetime
    memories: dict[str, int]
    statuses: dict[str, int]
    timeline: list[TimelineCount]
    confidence: list[int]
    orphans: JoinedMemories
    hubs: JoinedMemories
    stubs: JoinedMemories
    archived_bridges: JoinedMemories
    conflicts: Conflicts
    lineage: Lineages
    without_text: int
    insights: dict[str, int]
    saves_open: int
    cards: dict[str, int] = field(default_factory=dict)
    """Cards by status; no other figure counts them."""


class ProjectEntry(Answer):
    """A project with the number of its live memories and the names of its focus areas."""

    name: str
    memories: int
    focus_areas: list[str]
    created_at: datetime
    cards: int = 0
    """Its live cards, which are counted apart."""


class MemoryEntry(Answer):
    """A memory in a list; the excerpt is the beginning of its text. A card has a branch until it is merged."""

    id: UUID
    label: str
    title: str
    excerpt: str | None = None
    status: str
    project: str | None = None
    scope: str | None = None
    focus: str | None = None
    source: str
    trust_level: float
    agent_id: str | None = None
    session_id: str | None = None
    branch: str | None = None
    version: int
    created_at: datetime
    updated_at: datetime
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    author: str | None = None
    """The agent that saved it first; agent_id is the last writer."""


class NearPair(Answer):
    """Two names that may be two spellings of one, the newer first, and the verb that makes one of them."""

    id: UUID
    label: str
    name: str
    project: str | None = None
    created_at: datetime
    other_id: UUID
    other_label: str
    other_name: str
    other_project: str | None = None
    similarity: float
    verb: str | None = None
    arguments: dict[str, JsonValue] = field(default_factory=dict)
    text: str | None = None
    other_text: str | None = None
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""
    other_by: Literal["person", "agent"] | None = None
    """Who said the other one."""


class Waiting(Answer):
    """Counts of what waits for a person."""

    reviews: int
    approvals: int
    insights: int
    drafts: int
    conflicts: int
    failed_saves: int
    rules: int = 0
    """Rules of agents that wait for a yes."""
    replaced: int = 0
    """Decisions that took the place of another by the likeness of their titles alone."""


class Approval(Answer):
    """An approval of a global write that an agent asked for, with the exact text."""

    id: UUID
    preview: str
    issued_to: str | None = None
    issued_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_by: UUID | None = None


class MemoryCounts(Answer):
    """How many memories are live by label; of the present also the first and last time and the growth."""

    total: int
    labels: dict[str, int]
    first_at: datetime | None = None
    last_at: datetime | None = None
    growth: list[TimelineCount] | None = None
    cards: int = 0
    """Live cards, which are counted apart."""


class DrawnNode(TitledMemory):
    """A memory of a drawn graph; depth counts the relations from the one in the middle."""

    project: str | None = None
    depth: int
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class DrawnEdge(Answer):
    """A relation of a drawn graph; by is the person who decided it; None: nobody."""

    from_id: UUID
    rel_type: str
    to_id: UUID
    by: str | None = None
    created_at: datetime


class DrawnGraph(Answer):
    """Memories and the relations between them, as a page draws them; left_out counts memories beyond the limit."""

    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    left_out: int


class HeldPeriod(Answer):
    """A period in which a memory held; None: an open end."""

    since: datetime | None = None
    until: datetime | None = None


class LineEntry(TitledMemory):
    """A memory of a line of replacements, and what replaced it: which, when and who decided."""

    created_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    replaced_by: UUID | None = None
    replaced_at: datetime | None = None
    decided_by: str | None = None
    held: list[HeldPeriod] = field(default_factory=list)
    """When it held, whichever of its states."""
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class NumberedEntry(TitledMemory):
    """A memory of one of several lines, which are counted from 1."""

    created_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    replaced_by: UUID | None = None
    replaced_at: datetime | None = None
    decided_by: str | None = None
    line: int
    held: list[HeldPeriod] = field(default_factory=list)
    """When it held, whichever of its states."""
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class ConversationEntry(Answer):
    """A conversation that was captured: how it began, and how many turns it has."""

    session_id: str
    title: str
    project: str | None = None
    agent_id: str | None = None
    source: str
    turns: int
    first_at: datetime
    last_at: datetime
    last_id: UUID


class Activity(Answer):
    """Something that was done: saved, changed, captured, cards, repeated, refused, review, dropped or purged.

    `id` is that of the memory, of the save where no memory was written, or of the last turn or card of several.
    """

    at: datetime
    kind: str
    id: UUID
    label: str
    title: str
    project: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    source: str | None = None
    message: str | None = None
    decided_by: str | None = None


class SkillEntry(Answer):
    """A skill, or a pattern that has held and waits for a person.

    held is how often it was named used rather than wrong; lines are the instructions, or the steps of a pattern
    in their order; ids the memories that they come from.
    """

    name: str
    kind: Literal["instructions", "pattern"]
    project: str | None = None
    title: str
    lines: list[str]
    exclusions: list[str]
    held: int
    approved: bool
    ids: list[UUID]


class WaitingRule(Answer):
    """A rule that an agent saved, or a pattern of an agent that has held: whole, as a person decides on it.

    held is how often a pattern was named used rather than wrong.
    """

    id: UUID
    label: str
    kind: Literal["rule", "pattern"]
    title: str
    properties: dict[str, JsonValue]
    project: str | None = None
    scope: str | None = None
    focus: str | None = None
    version: int
    source: str
    agent_id: str | None = None
    held: int
    created_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None


class DigestCard(Answer):
    """A card in short; stale says why it may be outdated."""

    id: str
    kind: str
    statement: str
    stale: str | None = None
    statement_length: int | None = None
    """The length of all of a statement that is cut."""
    by: Literal["person", "agent"] | None = None
    """person: a person said it; unset: an agent or a program did, also where a person approved it."""


class PathDigest(Answer):
    """Cards of one path or symbol, best first."""

    path: str
    cards: list[DigestCard] = field(default_factory=list)
    more: int | None = None
    hidden_stale: int | None = None
    hidden_drafts: int | None = None


class CardSubject(Answer):
    """The subject of a card: a path, symbol, module, test or document."""

    kind: str
    key: str
    relation: str


class Card(Answer):
    """A card; the fields from `origin` on are those of detail_level full."""

    id: UUID
    type: str
    status: str
    confidence: str | None = None
    approved: bool = False
    statement: str
    statement_length: int
    statement_truncated: bool = False
    subjects: list[CardSubject] = field(default_factory=list)
    subject_count: int = 0
    evidence_count: int = 0
    relevance_score: float | None = None
    retrieval_lane: str | None = None
    stale_reason: str | None = None
    branch: str | None = None
    relations: dict[str, list[UUID]] | None = None
    origin: str | None = None
    ingest_source: str | None = None
    path: str | None = None
    approved_by: str | None = None
    approved_at: datetime | None = None
    rejected_by: str | None = None
    rejection: str | None = None
    contradiction: str | None = None
    payload: dict[str, JsonValue] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None
    evidence: list[CardEvidence] | None = None


class RecordCoverage(Answer):
    """How many paths of a scope have an active card."""

    scope_paths_with_memory: int
    scope_paths_total: int
    coverage_percent: float
    coverage_kind: str


class ObservationConfidence(Answer):
    """Whether there is evidence; it says nothing about correctness."""

    level: str
    basis: list[str]
    note: str


class PathCoverage(Answer):
    """Whether an active card has a path, or something below it, as its subject."""

    path: str
    covered: bool


class Coverage(Answer):
    """How much engineering memory knows about a scope."""

    record_coverage: RecordCoverage
    observation_confidence: ObservationConfidence
    paths: list[PathCoverage] | None = None


class AnswerBudget(Answer):
    """The budget of an answer, and how much of it the cards use."""

    budget: int
    used: int
    unit: str


class WaitingBranch(Answer):
    """A branch with its own cards, and the commit after which they are shared; ^ID: any that follows ID."""

    branch: str
    commit: str


class CardsSync(Answer):
    """Whether a project has engineering memory, its last run, and what the sync policy did."""

    policy: str
    state: Literal["ready", "missing"]
    last_run_id: UUID | None = None
    last_run_at: datetime | None = None
    fingerprint: str | None = None
    commit: str | None = None
    waiting: list[WaitingBranch] | None = None
    auto: str | None = None
    reason: str | None = None


class RelevantMemory(Answer):
    """Knowledge of a scope: digests, or a page of cards."""

    project_id: str
    scope_resolved_from: str
    digests: list[PathDigest] | None = None
    records: list[Card] | None = None
    record_count: int | None = None
    total_count: int | None = None
    truncated: bool
    continuation: str | None = None
    coverage: Coverage | None = None
    detail_level: str
    retrieval_policy: dict[str, bool]
    context_governance: AnswerBudget | None = None
    memory_sync: CardsSync


class CardRevision(Answer):
    """A change of a card: the action, its author and its reason."""

    action: str
    from_status: str | None = None
    to_status: str | None = None
    by: str | None = None
    reason: str | None = None
    version: int | None = None
    at: datetime


class Trajectory(Answer):
    """One piece of work on one line: day, intent, files, verification, outcome, commit."""

    id: UUID
    line: str
    at: datetime
    outcome: str
    commit: str | None = None


class MemoryPayload(Answer):
    """The result of a query of engineering memory; each mode sets other fields.

    search, for_path, for_symbol, stale and drafts set records and their counts; get sets record and revisions;
    coverage sets the coverage of paths; status sets record_count, the counts by type and status, those of the
    cards of other branches, and the capacity; trajectories sets trajectories and their counts.
    """

    records: list[Card] | None = None
    record_count: int | None = None
    total_count: int | None = None
    truncated: bool | None = None
    record: Card | None = None
    revisions: list[CardRevision] | None = None
    message: str | None = None
    record_coverage: RecordCoverage | None = None
    observation_confidence: ObservationConfidence | None = None
    paths: list[PathCoverage] | None = None
    trajectories: list[Trajectory] | None = None
    project_id: str | None = None
    records_by_type: dict[str, int] | None = None
    records_by_status: dict[str, int] | None = None
    records_elsewhere: int | None = None
    capacity: dict[str, int] | None = None
    sync: CardsSync | None = None


class MemoryAnswer(Answer):
    """The answer to a query of engineering memory."""

    mode: str
    status: Literal["ok", "not_found"]
    detail_level: str
    payload: MemoryPayload


class ClaimCheck(Answer):
    """Whether a text claims more than a memory can prove."""

    valid: bool
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Candidate(Answer):
    """A drafted card, and remarks about it."""

    card_id: UUID
    status: str
    identity_key: str
    statement_length: int
    warnings: list[str] = field(default_factory=list)
    previously_rejected: UUID | None = None
    message: str | None = None
    next_step: str | None = None


class DraftedCard(Answer):
    """A card that was drafted, existed already, or is only proposed (then it has no id)."""

    type: str
    path: str | None = None
    id: UUID | None = None
    statement: str | None = None
    warnings: list[str] | None = None
    proposal_only: bool = False


class Proposal(Answer):
    """The cards from a receipt: drafted, existing and only proposed ones."""

    drafted: list[DraftedCard] = field(default_factory=list)
    existing: list[DraftedCard] = field(default_factory=list)
    proposal_only: list[DraftedCard] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    next_step: str | None = None


class ReportedCard(Answer):
    """A card that a run would create."""

    type: str
    path: str | None = None
    statement: str
    subjects: list[dict[str, JsonValue]] = field(default_factory=list)


class CardRefresh(Answer):
    """The changes of a run: counts, what was left out, and in a dry run the cards that it would create."""

    run_id: UUID | None = None
    counts: dict[str, int] = field(default_factory=dict)
    capacity: str | None = None
    skipped: list[str] = field(default_factory=list)
    cards: list[ReportedCard] | None = None


class Intent(Answer):
    """A declared intent: the paths that will be changed."""

    intent_id: UUID
    paths: list[str]
    policy: dict[str, bool]
    next_step: str | None = None


class FinishedIntent(Answer):
    """The changes of an intent, the cards that they made stale, and the cards that were drafted."""

    intent_id: UUID
    changed_paths: list[str]
    outside_scope: list[str]
    stale_cards: list[UUID]
    proposed: Proposal | None = None
    coverage: Coverage | None = None
    policy: dict[str, bool] = field(default_factory=dict)


class CardDecision(Answer):
    """A card after a person has decided; the last four fields are set by an approval only."""

    card_id: UUID
    status: str
    confidence: str | None = None
    approved_by: str | None = None
    evidence_count: int | None = None
    superseded: list[UUID] = field(default_factory=list)


class CardVacuum(Answer):
    """The number of removed cards by status, of cards that remain to be removed, and of removed receipts."""

    removed: dict[str, int]
    remaining: int
    receipts: int


class SettledBranches(Answer):
    """The number of cards that are shared now, and of those that wait for another commit."""

    shared: int
    moved: int


class Companion(Answer):
    """A file that is the reason for another one: in how many of its commits both changed."""

    path: str
    commits: int | None = None
    of: int | None = None


class LikelyChange(Answer):
    """A file that usually changes with those of the question; the score is the chance, from 0 to 1."""

    path: str
    score: float
    because: list[Companion] = field(default_factory=list)


class AddedFile(Answer):
    """A folder in which a share of the changes adds a file."""

    folder: str
    share: float


class LikelyChanges(Answer):
    """The files that usually change with some files, the tests among them, and where a file is usually added."""

    files: list[LikelyChange] = field(default_factory=list)
    tests: list[LikelyChange] = field(default_factory=list)
    added: list[AddedFile] = field(default_factory=list)


class FoundFile(Answer):
    """A file that a text is about, with the signs that found it, the strongest first."""

    path: str
    score: float
    signs: list[str] = field(default_factory=list)


class FoundFiles(Answer):
    """The files that a text is about, best first."""

    files: list[FoundFile] = field(default_factory=list)


class ExtractionTurn(Answer):
    """A turn that an extraction shows, by its number."""

    turn: int
    role: str
    content: str
    at: datetime | None = None


class ExtractionCandidate(Answer):
    """A memory that the turns may touch, by its number."""

    n: int
    kind: str
    title: str
    text: str | None = None
    version: int
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class Extraction(Answer):
    """Turns that no extraction has looked at, and memories that they may touch; without an id there are none."""

    extraction_id: UUID | None = None
    session_id: str | None = None
    project_id: str | None = None
    turns: list[ExtractionTurn]
    candidates: list[ExtractionCandidate]
    remaining: int
    shape: dict[str, JsonValue] | None = None
    next_step: str | None = None


class ExtractedItem(Answer):
    """The outcome of one item of an answer: its list and place, and the outcome."""

    item: str
    outcome: Literal["new", "supersede", "duplicate_skip", "archived", "manual_review", "rejected"]
    artifact_id: UUID | None = None
    candidate_id: UUID | None = None
    save_id: UUID | None = None
    reason: str | None = None


class AppliedExtraction(Answer):
    """The outcome of a model's answer: how many items were stored, wait for a person, or were rejected."""

    extraction_id: UUID
    stored: int
    for_review: int
    rejected: int
    results: list[ExtractedItem]
    next_step: str | None = None


class ExtractionBudget(Answer):
    """Whether tokens were granted, and how many of the day's budget are spent, reserved ones included."""

    granted: bool
    day: Date
    spent: int
    budget: int


class Change(Answer):
    """A committed change, as the feed has it.

    `id` is of the memory, of the project, of the source of the edge, whose target is `other_id`, or of the save
    under review. `label` is the label of the memory, the relation of the edge or the verb of the review. `record`
    is what changed as it is now, in the form of a line of an export, if the content was asked for.
    """

    cursor: str
    subject: Literal["memory", "edge", "review", "project"]
    kind: str
    id: UUID
    other_id: UUID | None = None
    label: str
    version: int | None = None
    project: str | None = None
    at: datetime
    record: dict[str, JsonValue] | None = None


class ChangePage(Answer):
    """A page of the feed: `cursor` is where the next one begins, `held` whether changes wait for a transaction."""

    changes: list[Change]
    cursor: str
    more: bool
    held: bool


class Backlog(Answer):
    """Counts of pending work over the whole store; `tenants` is whether the store has any."""

    tier: str
    isolation_layers: int
    renewing: list[str]
    embeddings_waiting: int
    embeddings_refused: int
    saves_open: dict[str, int]
    tenants: bool


class Sweep(Answer):
    """One batch of sweeping; all 0 if another worker sweeps, or if the last sweep was less than an hour ago."""

    saves_pruned: int
    turns_expired: int
    archived: int
    remaining: int
    rows_pruned: int
    """Records of recall, changes of the feed, and rows of features."""
    compared: int
    """Sources that were compared, and states that became the present ones."""


class Arrival(Answer):
    """The fate of a change of another store."""

    place: int
    """Its place in the page, from 1 on."""
    outcome: Literal[
        "taken", "present", "merged", "updated", "conflict", "review", "purged", "refused", "waits"
    ]
    id: str | None = None
    title: str | None = None
    reason: str | None = None
    """Why it was refused."""


class PeerState(Answer):
    """The relation of a store to another one, and how far the two are in step."""

    feed: str
    """Its cursors begin with this."""
    release: str
    at: datetime
    """Its clock."""
    pulled: str | None = None
    """The cursor behind the last change of the other store that is applied here."""
    pushed: str | None = None
    """The cursor of this feed behind the last change that is applied there."""
    models: list[str] = field(default_factory=list)
    """The models of its vectors."""
    build: str | None = None
    """The state of pgmem within its release: the beginning of the digest of its SQL."""
    seen: str | None = None
    """The cursor behind the last change that the other store has offered, whether or not it was taken."""


class Outstanding(Answer):
    """A change that was refused in an exchange and is offered again at each sync.

    `direction`: here, it came from the other store and this one refused it; there, the other way round. `change`
    was sent, `about` names its memory, relation, review or word, `since` is when it was refused for the first
    time.
    """

    id: UUID
    peer: str
    direction: str
    about: str
    title: str | None = None
    reason: str
    since: datetime
    tried_at: datetime
    tries: int
    change: dict[str, JsonValue]


class Renewal(Answer):
    """A batch of what an upgrade left to renew; `step` is None once nothing is left."""

    step: str | None = None
    changed: int
    remaining: int


class Replacement(Answer):
    """A decision that took the place of another because their titles are alike; nobody has said that it does."""

    id: UUID
    title: str
    by: str
    project: str | None = None
    old_id: UUID
    old_title: str
    old_by: str
    old_date: Date
    score: float
    words: list[str] = field(default_factory=list)
    """The stems that the old title has alone."""
    created_at: datetime


class EventTokens(Answer):
    """The lines that an event of a hook, or a tool, brought: how often, in how many tokens."""

    by: str
    answers: int
    tokens: int


class ErrorsAgain(Answer):
    """Errors that came, and how many of them came again in a later session."""

    with_memory: int
    """Errors with which a memory came."""
    again_with_memory: int
    """Those among them that came again after that."""
    without_memory: int
    """Errors with which no memory came."""
    again_without_memory: int
    """Those among them that came again."""


class TrialMeasure(Answer):
    """A measure of the sessions of a trial: its means, and their difference with its interval.

    Where says is too few to say, nothing follows from the difference; else it is fewer or more with memory.
    """

    name: str
    with_n: int
    without_n: int
    with_mean: float | None = None
    without_mean: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    says: str


class Balance(Answer):
    """Cost and outcome of memory in the last days; outside the trial no count says why."""

    days: int
    sessions: int
    tokens: int
    brought: list[EventTokens]
    memories_brought: int
    """Different memories that were brought."""
    used: int
    """How often one was named as used."""
    noise: int
    """How often one was named as noise."""
    wrong: int
    """How often one was named as wrong or outdated."""
    corrected: int
    """Memories that were brought and then replaced, changed or forgotten."""
    met: int
    """Commands that a rule met before they ran."""
    changed: int
    """Those among them that did not run in their session."""
    done: int
    """Those among them that ran all the same."""
    errors: ErrorsAgain
    trial: bool
    """Whether a trial is on."""
    measures: list[TrialMeasure]
    """Sums over all sessions of the trial so far; empty: none was held."""


class OtherRule(Answer):
    """A rule beside another one, and why it is named."""

    id: UUID
    text: str
    reason: str
    by: Literal["person", "agent"] | None = None
    """Who said it; agent: also a program or a file."""


class StandingRule(Answer):
    """A rule that is to be followed always, what came of it, and the rules that contradict it or say the same.

    heeded counts the commands before which it came and that then did not run in their session, overridden those
    that ran.
    """

    id: UUID
    text: str
    project: str | None = None
    by: Literal["person", "agent"]
    """Who said it; agent: also a program or a file."""
    author: str | None = None
    """The user whose it is."""
    created_at: datetime
    age_days: int
    brought: int
    heeded: int
    overridden: int
    against: list[OtherRule]
    copies: list[OtherRule]


class GraphCounts(Answer):
    """How many vertices and edges a rebuild of the graph wrote."""

    vertices: int
    edges: int


class CheckedLabel(Answer):
    """The differences between graph and tables for a label: vertices or edges that are missing, extra or different.

    With `stale_paths`, paths of variable length over it may be answered from a cache that is out of date.
    """

    label: str
    missing: int
    extra: int
    different: int
    stale_paths: bool

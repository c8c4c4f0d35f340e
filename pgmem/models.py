"""What the verbs answer with: one frozen dataclass a row type, fields named as the columns.

No slots: the MCP SDK reads a field's default from the class, where slots leave a descriptor instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

__all__ = [
    "Adoption",
    "ApiToken",
    "BatchSaveResult",
    "Candidate",
    "CardDecision",
    "CardRefresh",
    "CardVacuum",
    "CheckedLabel",
    "ClaimCheck",
    "ContextBundle",
    "Decay",
    "DuplicateCheck",
    "Edge",
    "Erasure",
    "Expiry",
    "Exported",
    "FinishedIntent",
    "Forgotten",
    "FreshnessReport",
    "GovernanceToken",
    "Health",
    "History",
    "HygieneReport",
    "Imported",
    "Insight",
    "Insights",
    "Intent",
    "LabelDefinition",
    "MemoryAnswer",
    "MemoryScope",
    "Neighbour",
    "Node",
    "Proposal",
    "Reflection",
    "RelationDefinition",
    "RelevantMemory",
    "Remembered",
    "Repair",
    "Reverted",
    "Review",
    "Route",
    "SaveResult",
    "SaveStatus",
    "SchemaDefinition",
    "ScopeState",
    "SearchResult",
    "Status",
    "Surface",
    "Tenant",
    "TenantRole",
    "Version",
]

MemoryScopeName = Literal["global", "project", "focus"]


@dataclass(frozen=True, kw_only=True)
class MemoryScope:
    """Whose memory it is and who acts: organisation, user, agent, session; empty where unknown."""

    org_id: str = ""
    user_id: str = ""
    agent_id: str = ""
    session_id: str = ""


@dataclass(frozen=True, kw_only=True)
class ScopeState:
    """What a project name and a focus resolve to."""

    scope_state: Literal["resolved", "uncertain", "unresolved"]
    state: Literal["unresolved", "uncertain", "resolved_project", "resolved_focus"]
    project_id: str | None = None
    focus: str | None = None
    project_exists: bool
    focus_exists: bool
    write_permitted: bool


@dataclass(frozen=True, kw_only=True)
class SaveResult:
    """What became of a save; the status says it, a save never raises for what the world did."""

    status: Literal["saved", "pending_retry", "failed", "blocked_scope", "dropped"]
    artifact_id: UUID | None = None
    dedup_outcome: Literal["new", "duplicate_skip", "supersede", "manual_review"] | None = None
    candidate_id: UUID | None = None
    message: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None
    embedded: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchSaveResult:
    """What became of a session and what was learned in it, each by itself and overall."""

    overall: Literal["saved", "partial", "pending_retry", "failed", "blocked_scope"]
    session: SaveResult | None = None
    decisions: list[SaveResult] = field(default_factory=list)
    patterns: list[SaveResult] = field(default_factory=list)
    message: str | None = None
    next_step: str | None = None
    save_id: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class ContextBundle:
    """What is kept for a scope, narrowest first; every item has id, label, title, scope, created_at, freshness."""

    items: list[dict[str, Any]] = field(default_factory=list)
    retrieval_status: Literal["succeeded", "empty", "timed_out", "failed", "conflicted"]
    scope_state: Literal["resolved", "uncertain", "unresolved"] | None = None
    conflicts_found: bool = False
    hygiene_due: bool = False
    truncated_scopes: list[str] = field(default_factory=list)
    next_step: str | None = None
    proactive_hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """One memory found, with its score and the parts of it."""

    id: UUID
    label: str
    key: str | None = None
    title: str
    summary: str | None = None
    project: str | None = None
    scope: str | None = None
    score: float
    vector: float | None = None
    fulltext: float | None = None
    graph: float | None = None
    trust: float | None = None
    confidence: float | None = None
    explanation: dict[str, Any] | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SearchMode:
    """How a search was made: mode, whether an arm was missing, and why."""

    mode: str
    degraded: bool = False
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class SearchResults:
    """Ranked memories and how they were found."""

    results: list[SearchResult]
    search_mode: SearchMode


@dataclass(frozen=True, kw_only=True)
class GovernanceToken:
    """Leave for one global write."""

    token: str
    expires_at: datetime
    ttl_seconds: int
    instructions: str


@dataclass(frozen=True, kw_only=True)
class SaveStatus:
    """The saves that are not saved, oldest first, or what became of one."""

    status: str
    count: int
    oldest_pending_at: datetime | None = None
    artifact_ids: list[UUID] = field(default_factory=list)
    saves: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A relation between two memories; created is false when it was there."""

    from_id: UUID
    rel_type: str
    to_id: UUID
    created: bool


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A memory some hops away, with the relations on the way."""

    id: UUID
    label: str
    key: str | None = None
    title: str
    status: str
    depth: int
    path: list[str]


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The memories around one, nearest first."""

    nodes: list[Neighbour]


@dataclass(frozen=True, kw_only=True)
class DuplicateCheck:
    """What save_decision would find."""

    dedup_outcome: Literal["new", "duplicate_skip", "supersede", "manual_review"]
    candidate_id: UUID | None = None
    score: float | None = None


@dataclass(frozen=True, kw_only=True)
class Review:
    """A save that waits for a person, beside the memory it resembles."""

    save_id: UUID
    project: str | None = None
    title: str
    rationale: str
    candidate_id: UUID | None = None
    candidate_title: str | None = None
    candidate_rationale: str | None = None
    score: float | None = None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class CheckedLabel:
    """Where the graph differs from the tables."""

    label: str
    missing: int
    extra: int
    different: int


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """What waits, over the whole store, in numbers; `tenants` says whether the store has any."""

    tier: str
    walls: int
    embeddings_waiting: int
    embeddings_refused: int
    saves_open: dict[str, int]
    tenants: bool


@dataclass(frozen=True, kw_only=True)
class DedupDue:
    """Whether the order of title words should be renewed, over how many titles, and whether the worker does it."""

    due: bool
    titles: int
    by_worker: bool


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One batch of sweeping; nothing where another worker is at it or the last one was less than an hour ago."""

    saves_pruned: int
    archived: int
    remaining: int


@dataclass(frozen=True, kw_only=True)
class Status:
    """The server, the tier, the release and what the caller can see, in numbers."""

    server_version: str
    release: str | None
    tier: str
    age_version: str | None = None
    vector_version: str | None = None
    walls: int
    nodes: int
    edges: int
    projects: int
    memories: dict[str, int]
    saves_open: int
    org_id: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """A node that was created or updated, and what its relations became."""

    id: UUID
    label: str
    key: str
    title: str
    status: str
    version: int
    created: bool
    relations_made: list[dict[str, Any]] = field(default_factory=list)
    stubs_made: list[dict[str, Any]] = field(default_factory=list)
    did_you_mean: list[dict[str, Any]] = field(default_factory=list)
    conflict: dict[str, Any] | None = None
    embedded: bool = False
    proactive_hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node whole: as it stands, or as it was true or known at a date."""

    id: UUID
    label: str
    key: str | None = None
    title: str
    status: str
    properties: dict[str, Any]
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


@dataclass(frozen=True, kw_only=True)
class Version:
    """A state a node was recorded in; the present one has no replaced_at."""

    version: int
    title: str
    status: str
    properties: dict[str, Any]
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ingested_at: datetime
    replaced_at: datetime | None = None
    source: str
    trust_level: float


@dataclass(frozen=True, kw_only=True)
class History:
    """The states of a node, oldest first."""

    versions: list[Version]


@dataclass(frozen=True, kw_only=True)
class Forgotten:
    """A memory that is hidden (archived) or gone (purged)."""

    id: UUID
    label: str
    key: str | None = None
    title: str
    status: Literal["archived", "purged"]
    edges: int
    versions: int
    vectors: int


@dataclass(frozen=True, kw_only=True)
class Reverted:
    """A memory that was brought back to an earlier version, as a new one."""

    id: UUID
    label: str
    key: str | None = None
    title: str
    status: str
    version: int
    reverted_to: int


@dataclass(frozen=True, kw_only=True)
class Decay:
    """How many memories have decayed, how many were archived for it, how many are left to archive."""

    affected: int
    archived: int
    remaining: int


@dataclass(frozen=True, kw_only=True)
class Expiry:
    """How many memories a time to live took, and how many are left."""

    affected: int
    remaining: int


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What an export holds, by kind, and how many lines it has."""

    lines: int
    counts: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What became of the lines of a file: taken, here already (present), one with what was here (merged), left out and why."""

    taken: int = 0
    present: int = 0
    merged: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """The receipt of an erasure, or what one would remove."""

    receipt_id: UUID | None = None
    subject_hash: str
    dry_run: bool
    total: int
    counts: dict[str, int]
    erased_at: datetime


@dataclass(frozen=True, kw_only=True)
class ApiToken:
    """A bearer token of the HTTP transport; the secret is there only when it was just issued."""

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


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A tenant of the store; empty names: what is public."""

    org_id: str
    user_id: str
    memories: int
    projects: int
    tokens: int
    roles: list[str]


@dataclass(frozen=True, kw_only=True)
class Adoption:
    """What had no tenant and got one; collisions are names the tenant holds already."""

    nodes: int
    saves: int
    collisions: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TenantRole:
    """A database login that is a tenant."""

    role_name: str
    org_id: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A drafted card, and what is to be said of it."""

    card_id: UUID
    status: str
    identity_key: str
    statement_length: int
    warnings: list[str] = field(default_factory=list)
    previously_rejected: UUID | None = None
    message: str | None = None
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class CardDecision:
    """A card after a person has decided; the last four of an approval only."""

    card_id: UUID
    status: str
    confidence: str | None = None
    approved_by: str | None = None
    evidence_count: int | None = None
    superseded: list[UUID] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ClaimCheck:
    """Whether a text claims more than memory can give."""

    valid: bool
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What was drafted from a receipt, what was there, and what is only proposed."""

    drafted: list[dict[str, Any]] = field(default_factory=list)
    existing: list[dict[str, Any]] = field(default_factory=list)
    proposal_only: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class CardRefresh:
    """What a run changed: counts, what was left out, and in a dry run the cards it would give."""

    run_id: UUID | None = None
    counts: dict[str, int] = field(default_factory=dict)
    capacity: str | None = None
    skipped: list[str] = field(default_factory=list)
    cards: list[dict[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What will be worked on."""

    intent_id: UUID
    paths: list[str]
    policy: dict[str, bool]
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class FinishedIntent:
    """What was changed, which cards became stale by it, and what was drafted."""

    intent_id: UUID
    changed_paths: list[str]
    outside_scope: list[str]
    stale_cards: list[UUID]
    proposed: dict[str, Any] | None = None
    coverage: dict[str, Any] = field(default_factory=dict)
    policy: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RelevantMemory:
    """One page of the cards about a scope, best first."""

    project_id: str
    scope_resolved_from: str
    records: list[dict[str, Any]]
    record_count: int
    total_count: int
    truncated: bool
    continuation: str | None = None
    coverage: dict[str, Any]
    detail_level: str
    retrieval_policy: dict[str, bool]
    context_governance: dict[str, Any]
    memory_sync: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MemoryAnswer:
    """The answer to a query of engineering memory."""

    mode: str
    status: Literal["ok", "not_found"]
    detail_level: str
    payload: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class CardVacuum:
    """Cards removed by status, how many are left to remove, and receipts removed."""

    removed: dict[str, int]
    remaining: int
    receipts: int


@dataclass(frozen=True, kw_only=True)
class LabelDefinition:
    """A label of one's own: the property that names a node of it, and those it is searched by, in this order."""

    name: str
    key_field: str = "name"
    text_fields: tuple[str, ...] = ("summary", "description", "details", "notes", "tags")


@dataclass(frozen=True, kw_only=True)
class RelationDefinition:
    """A relation of one's own, and the labels it joins; None: any."""

    name: str
    from_labels: tuple[str, ...] | None = None
    to_labels: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SchemaDefinition:
    """What `init_schema` adds to the registry of labels and relations."""

    labels: tuple[LabelDefinition, ...] = ()
    relations: tuple[RelationDefinition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HygieneReport:
    """What could be better: counts of all findings, and those of this page with what to do and by which verb."""

    project_id: str | None = None
    scope: str | None = None
    duplicates_found: int
    outdated_decisions: int
    obsolete_patterns: int
    entity_drift_count: int
    unresolved_saves: int
    candidate_ids: dict[str, list[str]]
    findings: list[dict[str, Any]]
    total: int
    next_offset: int | None = None
    checked_at: datetime
    next_step: str
    oldest_pending_at: datetime | None = None
    pending_artifact_ids: list[UUID] = field(default_factory=list)
    pending_only: bool
    proactive_hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class FreshnessReport:
    """How old memories are, and the stale ones, oldest first."""

    stale_count: int
    recent_count: int
    current_count: int
    stale_items: list[dict[str, Any]]
    next_offset: int | None = None
    checked_at: datetime
    next_step: str
    proactive_hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Surface:
    """What is remembered about a line, a path or a command; often nothing."""

    matches: list[dict[str, Any]]
    query_used: str
    total_found: int
    next_step: str


@dataclass(frozen=True, kw_only=True)
class Route:
    """How to reason about a task."""

    mode: Literal["sequential", "debate", "socratic"]
    rationale: str
    suggested_steps: list[str]


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """What a reflection proposed, and how much waits for review."""

    created: int
    pending: int
    insights: list[dict[str, Any]]
    next_step: str


@dataclass(frozen=True, kw_only=True)
class Insight:
    """What memories say together, with the memories it was seen in."""

    id: UUID
    title: str
    summary: str | None = None
    detector: str
    confidence: float
    trust_level: float
    status: str
    sources: list[UUID]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Insights:
    """The insights that wait for review."""

    insights: list[Insight]


@dataclass(frozen=True, kw_only=True)
class Repair:
    """A memory that another now stands for."""

    id: UUID
    title: str
    status: str
    version: int
    rel_type: Literal["MERGES_INTO", "SUPERSEDES"]
    into_id: UUID
    into_title: str
    into_version: int


@dataclass(frozen=True, kw_only=True)
class Health:
    """The state of the memory in numbers; counts with the first items of each kind."""

    project_id: str | None = None
    checked_at: datetime
    memories: dict[str, int]
    statuses: dict[str, int]
    timeline: list[dict[str, Any]]
    confidence: list[int]
    orphans: dict[str, Any]
    hubs: dict[str, Any]
    stubs: dict[str, Any]
    archived_bridges: dict[str, Any]
    conflicts: dict[str, Any]
    lineage: dict[str, Any]
    without_text: int
    insights: dict[str, int]
    saves_open: int

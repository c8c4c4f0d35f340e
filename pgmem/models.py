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
    "CheckedLabel",
    "ContextBundle",
    "Decay",
    "DuplicateCheck",
    "Edge",
    "Erasure",
    "Expiry",
    "Forgotten",
    "GovernanceToken",
    "History",
    "MemoryScope",
    "Neighbour",
    "Node",
    "Remembered",
    "Reverted",
    "Review",
    "SaveResult",
    "SaveStatus",
    "ScopeState",
    "SearchResult",
    "Status",
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

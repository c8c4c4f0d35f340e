"""pgmem: the memory of AI agents in one PostgreSQL."""

from __future__ import annotations

from pgmem.errors import (
    AmbiguousName,
    CapacityReached,
    ContractError,
    DatabaseUnavailable,
    EmbeddedServerError,
    IdentityRequired,
    InvalidArgument,
    MemoryNotFound,
    NotPermitted,
    PgmemError,
    RelationNotAllowed,
    SaveIdReused,
    SchemaOutdated,
    TierMissing,
    UnsuitableDatabase,
    WrongIsolation,
)
from pgmem.memory import Memory
from pgmem.models import MemoryScope
from pgmem.settings import Settings

__all__ = [
    "AmbiguousName",
    "CapacityReached",
    "ContractError",
    "DatabaseUnavailable",
    "EmbeddedServerError",
    "IdentityRequired",
    "InvalidArgument",
    "Memory",
    "MemoryNotFound",
    "MemoryScope",
    "NotPermitted",
    "PgmemError",
    "RelationNotAllowed",
    "SaveIdReused",
    "SchemaOutdated",
    "Settings",
    "TierMissing",
    "UnsuitableDatabase",
    "WrongIsolation",
]

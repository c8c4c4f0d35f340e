"""pgmem: the memory of AI agents in one PostgreSQL."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgmem.errors import (
        AmbiguousName,
        CapacityReached,
        ContractError,
        CursorLost,
        DatabaseUnavailable,
        EmbeddedServerError,
        IdentityRequired,
        InvalidArgument,
        MemoryNotFound,
        MemoryNotOpen,
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

    __version__: str
    """The installed release."""

__all__ = [
    "AmbiguousName",
    "CapacityReached",
    "ContractError",
    "CursorLost",
    "DatabaseUnavailable",
    "EmbeddedServerError",
    "IdentityRequired",
    "InvalidArgument",
    "Memory",
    "MemoryNotFound",
    "MemoryNotOpen",
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
    "__version__",
]

_HOMES = {"Memory": "pgmem.memory", "MemoryScope": "pgmem.models", "Settings": "pgmem.settings"}


if not TYPE_CHECKING:  # a type checker reads the imports above, and finds a name that does not exist

    def __getattr__(name: str) -> object:
        """Import a name on first use, so that `pgmem surface`, which answers an editor, starts fast."""
        if name == "__version__":
            from pgmem.release import release

            return release()
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES.get(name, "pgmem.errors")), name)

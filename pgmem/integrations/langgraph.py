"""The public names of pgmem.features.integrations.langgraph."""

from __future__ import annotations

from pgmem.features.integrations.langgraph import PgmemStore

__all__ = ["PgmemStore"]

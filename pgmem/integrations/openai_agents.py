"""The public names of pgmem.features.integrations.openai_agents."""

from __future__ import annotations

from pgmem.features.integrations.openai_agents import PgmemSession

__all__ = ["PgmemSession"]

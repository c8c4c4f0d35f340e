"""Memories of other systems, taken in through the same verbs as everybody's."""

from __future__ import annotations

from pgmem.importers.reading import Vocabulary
from pgmem.importers.told import Source, read, take

__all__ = ["Source", "Vocabulary", "read", "take"]

"""Importers: read memories of other systems, and save them through the usual verbs."""

from __future__ import annotations

from pgmem.features.importers.loader import Source, load, read
from pgmem.features.importers.records import Vocabulary

__all__ = ["Source", "Vocabulary", "load", "read"]

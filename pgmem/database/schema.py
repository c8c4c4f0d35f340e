"""`run` under the name by which migrations import it: their text is recorded in stores and never changes."""

from __future__ import annotations

from pgmem.install.schema import run

__all__ = ["run"]

"""Reading a repository: files, Python modules and imports, tests, documents, git. Nothing is written."""

from __future__ import annotations

from pgmem.repository.scan import SCHEMA, fingerprint, scan

__all__ = ["SCHEMA", "fingerprint", "scan"]

"""A cache of the last report, so that only changed files are read again. It may be deleted at any time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pgmem import plain_files

_FORM = 16
"""Grows with every change of the contents of the cache: a cache of another number is not read."""


class Cache:
    """Files of JSON in a folder; one that cannot be read is empty, and one that cannot be written is left out.

    Args:
        folder: where the files are; None for no cache.
        root: the repository.
    """

    def __init__(self, folder: Path | None, root: Path) -> None:
        self._folder: Path | None = None
        if folder is not None:
            name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
            self._folder = folder / "repositories" / name

    def load(self, part: str) -> dict[str, Any]:
        """One file of the cache; empty if there is none of this form."""
        if self._folder is None:
            return {}
        try:
            data = json.loads((self._folder / f"{part}.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return data["data"] if isinstance(data, dict) and data.get("form") == _FORM else {}

    def store(self, part: str, data: dict[str, Any]) -> None:
        """Replace one file of the cache."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            plain_files.make_private_folder(self._folder)
            text = json.dumps({"form": _FORM, "data": data}, separators=(",", ":"))
            contents = text.encode("utf-8", "surrogateescape")
            plain_files.replace(self._folder / f"{part}.json", contents, durable=False)


def json_digest(value: Any) -> str:
    """Return the digest of a value of JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()

"""Puts the vectors of the provider static into the wheel: two files of wordllama's wheel, and its licence.

pgmem reads these files and runs no code of wordllama, whose dependencies would add fifteen packages to each install.
"""

from __future__ import annotations

from importlib.metadata import distribution
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FILES = ("l2_supercat_256.safetensors", "l2_supercat_tokenizer_config.json", "LICENSE")


class Vectors(BuildHookInterface[Any]):
    """Adds the files to a wheel; an editable installation reads them from wordllama, which the extra test brings."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include."""
        if version == "editable":
            return
        found = {path.name: str(path.locate()) for path in distribution("wordllama").files or ()}
        for name in _FILES:
            build_data["force_include"][found[name]] = f"pgmem/embeddings/wordllama/{name}"

"""Puts the vectors of the provider static into the wheel: two files of wordllama's wheel, and its licence.

pgmem reads these files and runs no code of wordllama, whose dependencies would add fifteen packages to each install.
"""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path
from shutil import copyfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FILES = ("l2_supercat_256.safetensors", "l2_supercat_tokenizer_config.json", "LICENSE")


class Vectors(BuildHookInterface[Any]):
    """Adds the files to a wheel, or copies them into the checkout of an editable installation; git ignores them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include, or copy them."""
        found = {path.name: str(path.locate()) for path in distribution("wordllama").files or ()}
        for name in _FILES:
            inside = f"pgmem/embeddings/wordllama/{name}"
            if version == "editable":
                Path(self.root, inside).parent.mkdir(exist_ok=True)
                copyfile(found[name], Path(self.root, inside))
            else:
                build_data["force_include"][found[name]] = inside

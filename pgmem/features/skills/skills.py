"""Agent Skills: the usage of pgmem, and the skills of a store, as the text of a SKILL.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pgmem import escaping
from pgmem.escaping import counted
from pgmem.models import SkillEntry

SOURCE = "pgmem"
"""The source in the metadata of a skill out of a store."""

_USAGE = re.compile(r"---\nname: (?P<name>[a-z0-9-]+)\ndescription: (?P<description>.+)\n---\n")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill of one file.

    Attributes:
        path: where it lies in the names of skills, such as `shop/deploy`; its last part is the name.
        frontmatter: the fields with which its SKILL.md begins.
        text: its whole SKILL.md.
    """

    path: str
    frontmatter: dict[str, Any]
    text: str

    @property
    def name(self) -> str:
        """The name of the skill."""
        return str(self.frontmatter["name"])


@cache
def usage() -> Skill:
    """How an agent uses pgmem: the skill that the plugins bring."""
    text = (files("pgmem.features.editor") / "plugin/skills/pgmem-memory/SKILL.md").read_text(
        encoding="utf-8"
    )
    head = _USAGE.match(text)
    if head is None:
        raise ValueError("The SKILL.md of the plugin has no name and description.")
    return Skill(head["name"], head.groupdict(), text)


def of_store(entries: Iterable[SkillEntry]) -> list[Skill]:
    """The skills of a store; a memory that waits for a person is none."""
    return [_skill(entry) for entry in entries if entry.approved]


def _skill(entry: SkillEntry) -> Skill:
    title = _line(entry.title)
    where = f" in the project {_line(entry.project)}" if entry.project else ""
    if entry.kind == "pattern":
        held = counted(entry.held, "time")
        description = f"A way of working{where} that held {held}. Use it when this applies: {title}"
        about = "The steps, in their order:"
        marks = [f"{number}. " for number in range(1, len(entry.lines) + 1)]
    else:
        description = (
            f"What the people of this memory always want done{where}. Use it before any work{where}."
        )
        about = "A person wrote each of these:"
        marks = ["- "] * len(entry.lines)
    frontmatter = {
        "name": entry.name,
        "description": description[:1024],
        "metadata": {"source": SOURCE, "memories": " ".join(str(one) for one in entry.ids)},
    }
    lines = [f"{mark}{_line(line)}" for mark, line in zip(marks, entry.lines, strict=True)]
    if entry.exclusions:
        lines += ["", "It does not apply:", "", *(f"- {_line(line)}" for line in entry.exclusions)]
    # A text of JSON is one of YAML too.
    head = "\n".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in frontmatter.items()
    )
    text = "\n".join(("---", head, "---", "", f"# {title}", "", about, "", *lines, ""))
    folder = re.sub(r"[^a-z0-9]+", "-", (entry.project or "").lower()).strip("-")
    return Skill("/".join(filter(None, (folder, entry.name))), frontmatter, text)


def _line(text: str) -> str:
    """A text as a line that begins no other part of the file, without tags and hidden characters."""
    return str(escaping.as_data(" ".join(text.split())))

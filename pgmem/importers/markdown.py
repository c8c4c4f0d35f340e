"""A folder of Markdown notes with front matter, as Obsidian and others keep them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pgmem.importers.reading import Item, Link, Reading, Vocabulary, moment

__all__ = ["read"]

_LINK = re.compile(r"\[\[([^\[\]|#^]+)(?:[#^][^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
_OWN = {"title", "label", "type", "created", "date", "created_at", "valid_from", "valid_to"}


def read(folder: Path, known: Vocabulary) -> Reading:
    """A note becomes a node of the label its front matter names (label or type), else a Concept; [[links]] join notes.

    It is named by its title or its file; where two have one name, the later ones are named by their path.
    """
    import frontmatter  # YAML takes a while to load, and other commands do not need it
    import yaml

    reading = Reading()
    notes: dict[Path, tuple[dict[str, Any], str]] = {}
    for path in sorted(folder.rglob("*.md")):
        place = path.relative_to(folder)
        if any(part.startswith(".") for part in place.parts):
            continue
        try:
            front, body = frontmatter.parse(path.read_text(encoding="utf-8-sig"))
        except (yaml.YAMLError, ValueError, TypeError) as error:
            told = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else "cannot be read"
            reading.left_out[f"notes whose text or front matter {told}, such as {place}"] += 1
            continue
        notes[place] = (dict(front), body)
    labels = {place: _label(front, known) for place, (front, _) in notes.items()}
    taken: Counter[tuple[str, str]] = Counter()
    nodes: dict[Path, tuple[str, str]] = {}
    by_name: dict[str, set[Path]] = defaultdict(set)
    for place, (front, _) in notes.items():
        title = str(front.get("title") or "").strip() or place.stem
        name = title if not taken[labels[place], title] else place.with_suffix("").as_posix()
        taken[labels[place], title] += 1
        nodes[place] = (labels[place], name)
        aliases = front.get("aliases")
        words = [title, place.stem, place.with_suffix("").as_posix()]
        for word in [*words, *(aliases if isinstance(aliases, list) else [aliases or title])]:
            by_name[str(word).casefold()].add(place)
    for place, (front, body) in notes.items():
        label, name = nodes[place]
        properties = {key: _plain(value) for key, value in front.items() if key not in _OWN}
        properties |= {"body": body, "path": place.as_posix()}
        kind = front.get("label") or front.get("type")
        if kind and known.label(kind) != label:
            properties["entity_type"] = str(kind)
        reading.items.append(
            Item(
                label=label,
                name=name,
                properties=properties,
                made_at=moment(front.get("created") or front.get("created_at") or front.get("date")),
                valid_from=moment(front.get("valid_from")),
                valid_to=moment(front.get("valid_to")),
            )
        )
        for word in dict.fromkeys(match.strip() for match in _LINK.findall(body)):
            targets = by_name.get(word.casefold(), set())
            if len(targets) == 1:
                (target,) = targets
                if target != place:
                    reading.links.append(Link(source=nodes[place], relation="LINKS_TO", target=nodes[target]))
            elif targets:
                reading.left_out["links whose name fits several notes"] += 1
            else:
                reading.left_out["links to notes that are not there"] += 1
    return reading


def _label(front: dict[str, Any], known: Vocabulary) -> str:
    found = known.label(front.get("label") or front.get("type") or "")
    return found if found and found != "Decision" else "Concept"


def _plain(value: Any) -> Any:
    """A value of YAML as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)

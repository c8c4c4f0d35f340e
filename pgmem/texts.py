"""What pgmem brings into a session: marked, neutralised as data, and within a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pgmem.escaping import as_data, quoted
from pgmem.transcripts import INJECTED

__all__ = [
    "SOURCES",
    "as_data",
    "block",
    "by",
    "card_line",
    "conflict_line",
    "conversation_lines",
    "files_line",
    "fitting",
    "item_line",
    "near_lines",
    "quoted",
    "result_line",
    "standing_line",
    "whole",
]

_CHARACTERS_A_TOKEN = 4
SOURCES = {"FRESH": "s+", "STALE": "s~", "GONE": "s-", "UNCHECKABLE": "s?"}
"""The marks of a memory that names its sources: they say the same, have changed, are no more, were not checked."""
_TEXTS = ("content", "rationale", "fact", "description", "body", "summary", "notes")
_NEAR_TOKENS = 60  # of all lines near a task together


def block(project: str | None, heading: str, lines: Iterable[str], max_tokens: int) -> tuple[str, int]:
    """Return the lines that fit into some tokens between marks, and how many they are; empty if none does.

    The marks keep what was brought from being captured as if it had been said. No text of a memory can close them:
    the `<` that opens a tag is escaped in it.
    """
    opening = f"<{INJECTED} project={quoted(project or '')}>\n{heading}"
    left = max_tokens * _CHARACTERS_A_TOKEN - len(opening) - len(INJECTED) - 4
    kept = fitting(lines, left - 1, 119)
    return ("\n".join([opening, *kept, f"</{INJECTED}>"]) if kept else ""), len(kept)


def fitting(lines: Iterable[str], left: int, least: int) -> list[str]:
    """Return the lines that fit into `left` characters, each with a line end; the last is cut if `least` are left."""
    kept = []
    for line in lines:
        if len(line) > left:
            line = line[: left - 1] + "…" if left > least else ""
        if not line:
            break
        kept.append(line)
        left -= len(line) + 1
    return kept


def item_line(item: Mapping[str, Any]) -> str:
    """Return an item of a context as a line."""
    label = item["label"]
    if label == "Session":
        parts = [str(item.get("objective") or item["title"])]
        for name, heading in (("open_items", "open"), ("next_actions", "next")):
            if item.get(name):
                parts.append(f"{heading}: {'; '.join(map(str, item[name]))}")
        text = ". ".join(parts)
    elif label == "Decision":
        text = f"{item['title']}: {item.get('rationale') or ''}"
    elif label == "Pattern":
        text = f"{item.get('trigger') or item['title']}: {'; '.join(map(str, item.get('repeatable_steps') or ()))}"
    else:
        content = next(filter(None, map(item.get, _TEXTS)), "")
        text = f"{item['title']}: {content}" if content and content != item["title"] else str(item["title"])
    old = ", outdated" if item.get("outdated_by") else ", stale" if item.get("freshness") == "stale" else ""
    return f"- [{label}{by(item)}{old}, {str(item['created_at'])[:10]}] {_line(text, 600)}"


def by(item: Mapping[str, Any]) -> str:
    """Return who said a memory, as a part of its line; nothing where the store does not say it."""
    return f" by {item['by']}" if item.get("by") else ""


def standing_line(item: Mapping[str, Any], most: int = 400) -> str:
    """Return a standing instruction, which only a person gives, as a line that says that it is one."""
    return f"- [Instruction, {str(item['created_at'])[:10]}] {_line(whole(item), most)}"


def whole(item: Mapping[str, Any]) -> str:
    """Return what a memory says: its text, with its title before it if it begins otherwise."""
    title = str(item["title"])
    return _titled(title, str(next(filter(None, map(item.get, _TEXTS)), title)))


def _titled(title: str, text: str) -> str:
    # Either may break a line where the other has a space.
    begins = " ".join(text.split()).startswith(" ".join(title.split()).rstrip("…"))
    return text if begins else f"{title}: {text}"


def conflict_line(title: str, other: str) -> str:
    """Return an open conflict as a line."""
    return f"- [Conflict] {_line(title, 150)} | {_line(other, 150)}: ask which one holds."


def conversation_lines(conversation: Mapping[str, Any] | None) -> list[str]:
    """Return what was asked, answered and left open in the last conversation, as it was said; nothing without one."""
    if conversation is None:
        return []
    day = str(conversation["at"])[:10]
    parts = (
        ("asked", conversation["asked"]),
        ("answered", [conversation["answered"]] if conversation["answered"] else []),
        ("left open", conversation["open_items"]),
    )
    return [f"- [Said on {day}, {name}] {_line(' … '.join(said), 500)}" for name, said in parts if said]


def near_lines(matches: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the decisions near a task as lines of 60 tokens together."""
    found = list(matches)
    most = _NEAR_TOKENS * _CHARACTERS_A_TOKEN // max(len(found), 1) - 1
    lines = []
    for match in found:
        kind = "Always" if match["standing"] else f"Decided{by(match)}"
        day = f"- [{kind}, {str(match['created_at'])[:10]}] "
        lines.append(day + _line(str(match["title"]), max(most - len(day), 40)))
    return lines


def result_line(result: Mapping[str, Any]) -> str:
    """Return a result of a search as a line, or of a match that has only a title."""
    passage = str(result.get("passage") or "")
    title = str(result["title"])
    if passage.startswith(title):
        passage = passage[len(title) :].strip()
    text = _titled(title, passage) if passage else title
    mark = f" {SOURCES[result['sources']]}" if result.get("sources") else ""
    old = ", outdated" if result.get("outdated_by") else ""
    about = f"{result['label']}{by(result)}{mark}{old}, {str(result.get('created_at') or '')[:10]}"
    return f"- [{about}] {_line(text, 800)}"


def card_line(card: Mapping[str, Any]) -> str:
    """Return a card of a digest as a line: what it says of the file, and whether it may be outdated."""
    state = ", may be outdated" if card.get("stale") else ""
    return f"- [{str(card['kind']).replace('_', ' ')}{state}] {_line(str(card['statement']), 300)}"


def files_line(paths: Iterable[str]) -> str:
    """Return the files that a task seems to be about as a line, the likeliest first."""
    return f"- [Files] This may be about {_line(', '.join(paths), 300)}"


def _line(text: str, most: int) -> str:
    text = " ".join(as_data(text).split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return cut[: max(cut.rfind(" "), most // 2)] + "…"  # between words

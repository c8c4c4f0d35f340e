"""Texts that pgmem brings into a session: marked, neutralised as data, and within a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pgmem.escaping import as_data, quoted
from pgmem.transcripts import INJECTED

__all__ = [
    "SOURCES",
    "Opening",
    "as_data",
    "block",
    "by",
    "card_line",
    "conflict_line",
    "conversation_lines",
    "cuts_instructions",
    "files_line",
    "fitting",
    "item_line",
    "near_lines",
    "open_line",
    "opening",
    "quoted",
    "replaced_line",
    "result_line",
    "session_line",
    "short_id",
    "standing_line",
    "title_line",
    "whole",
]

_CHARACTERS_A_TOKEN = 4
SOURCES = {"FRESH": "s+", "STALE": "s~", "GONE": "s-", "UNCHECKABLE": "s?"}
"""The marks of a memory that names its sources: they say the same, have changed, are no more, were not checked."""
_TEXTS = ("content", "rationale", "fact", "description", "body", "summary", "notes")
_COUNTED = 200  # characters of the line that counts the lines an opening leaves out
_END = re.compile(r"[.!?](?=\s)")
_REASONS = 240  # characters of a reason beside its title


def block(project: str | None, heading: str, lines: Iterable[str], max_tokens: int) -> tuple[str, int]:
    """Return the lines that fit into some tokens between marks, and how many they are; empty if none does.

    The marks keep these texts from being captured as if it had been said. No text of a memory can close them:
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


class Opening(NamedTuple):
    """The parts of an opening, in their order.

    Attributes:
        open_items: lines of open items of sessions.
        standing: ids and lines of instructions.
        changes: lines of conflicts and replacements.
        done: lines of the last conversation and work.
        focused: ids and lines of memories that hold on this branch alone.
        decisions: ids of decisions, each as one line, and with its reason.
        more_decisions: how many decisions there are besides.
        others: ids and lines of other memories.
    """

    open_items: Sequence[str] = ()
    standing: Sequence[tuple[str, str]] = ()
    changes: Sequence[str] = ()
    done: Sequence[str] = ()
    focused: Sequence[tuple[str, str]] = ()
    decisions: Sequence[tuple[str, str, str]] = ()
    more_decisions: int = 0
    others: Sequence[tuple[str, str]] = ()


def opening(project: str | None, heading: str, parts: Opening, max_tokens: int) -> tuple[str, list[str]]:
    """Return the opening of a session, within some tokens, and the ids of the memories that it holds whole.

    Every part takes lines in its order; open items take half of the room at most. Decisions are one line each;
    the room that is left holds reasons, of the newest first. The last line counts the lines left out.
    """
    before = f"<{INJECTED} project={quoted(project or '')}>\n{heading}"
    room = max_tokens * _CHARACTERS_A_TOKEN - len(before) - len(INJECTED) - 5
    left = room - _COUNTED
    kept: list[str] = []
    whole: list[str] = []
    out: dict[str, int] = {}

    def take(name: str, lines: Iterable[str], ids: Sequence[str] = (), most: int | None = None) -> list[int]:
        """Keep the lines up to the first that does not fit, and count the rest."""
        nonlocal left
        lines, end = list(lines), left - most if most is not None else 0
        taken = []
        for place, line in enumerate(lines):
            if len(line) + 1 > left - end:
                break
            kept.append(line)
            taken.append(len(kept) - 1)
            left -= len(line) + 1
            if ids:
                whole.append(ids[place])
        if len(taken) < len(lines):
            out[name] = out.get(name, 0) + len(lines) - len(taken)
        return taken

    def pairs(name: str, found: Sequence[tuple[str, str]]) -> None:
        take(name, [line for _, line in found], [one for one, _ in found])

    take("open item", parts.open_items, most=left // 2)
    pairs("instruction", parts.standing)
    take("conflict or replacement", parts.changes)
    take("line on the last work", parts.done)
    pairs("memory of this branch", parts.focused)
    short = [line for _, line, _ in parts.decisions]
    at = take("decision", short, [one for one, *_ in parts.decisions])
    if parts.more_decisions:
        out["decision"] = out.get("decision", 0) + parts.more_decisions
    pairs("other memory", parts.others)
    for place, (_, line, long) in zip(at, parts.decisions, strict=False):
        if len(long) - len(line) > left:
            break
        kept[place], left = long, left - (len(long) - len(line))
    if not kept and not out:
        kept.append("- Save what the next session must know: save_decision, save_session.")
    if out:
        counts = ", ".join(f"{number} {_plural(name, number)}" for name, number in out.items())
        kept.append(f"- [Left out] {counts}: search_memory finds them."[:_COUNTED])
    return "\n".join([before, *kept, f"</{INJECTED}>"]), whole


def _plural(name: str, number: int) -> str:
    first, space, rest = name.partition(" of ") if " of " in name else name.partition(" on ")
    if number == 1:
        return name
    return f"{first[:-1]}ies{space}{rest}" if first.endswith("y") else f"{first}s{space}{rest}"


def short_id(memory: Mapping[str, Any]) -> str:
    """Return the first 8 digits of an id, by which verbs take a memory."""
    return str(memory["id"])[:8]


def title_line(item: Mapping[str, Any]) -> str:
    """Return a decision as one line, its title whole."""
    about = f"{item['label']}{by(item)}{_wrong(item)}, {str(item['created_at'])[:10]}, {short_id(item)}"
    return f"- [{about}] {_line(str(item['title']), 300)}"


def open_line(item: Mapping[str, Any]) -> str:
    """Return an open item of a session as a line."""
    return f"- [Open{by(item)} since {str(item['at'])[:10]}] {_line(str(item['item']), 300)}"


def replaced_line(one: Mapping[str, Any]) -> str:
    """Return a replacement as a line."""
    return (
        f"- [Replaced on {str(one['at'])[:10]}] {_line(str(one['title']), 150)}{_said(one, 'by')} | now: "
        f"{_line(str(one['with']), 150)}{_said(one, 'with_by')}"
    )


def session_line(session: Mapping[str, Any]) -> str:
    """Return the last session that an agent saved as a line: its objective, its work, and the next step."""
    parts = [str(session.get("objective") or session["title"])]
    for name, heading in (("actions_taken", "done"), ("next_actions", "next")):
        if session.get(name):
            parts.append(f"{heading}: {'; '.join(map(str, session[name]))}")
    about = f"Session{by(session)}, {str(session['created_at'])[:10]}"
    return f"- [{about}] {_line('. '.join(parts), 600)}"


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
    about = f"{label}{by(item)}{old}{_wrong(item)}, {str(item['created_at'])[:10]}, {short_id(item)}"
    return f"- [{about}] {_line(text, 600)}"


def _wrong(item: Mapping[str, Any]) -> str:
    """Return that an agent named a memory wrong, as a part of its line."""
    at = item.get("wrong_at")
    return f", named wrong on {str(at)[:10]}" if at else ", named wrong" if item.get("wrong") else ""


def by(item: Mapping[str, Any]) -> str:
    """Return who said a memory, as a part of its line; nothing where the store does not say it."""
    return f" by {item['by']}" if item.get("by") else ""


def standing_line(item: Mapping[str, Any], most: int = 400) -> str:
    """Return a standing instruction, which only a person gives, as a line that says that it is one."""
    return f"- [Instruction, {str(item['created_at'])[:10]}] {_line(whole(item), most)}"


def whole(item: Mapping[str, Any]) -> str:
    """Return the text of a memory, with its title before it if it begins otherwise."""
    title = str(item["title"])
    return _titled(title, str(next(filter(None, map(item.get, _TEXTS)), title)))


def _titled(title: str, text: str) -> str:
    # Either may break a line where the other has a space.
    begins = " ".join(text.split()).startswith(" ".join(title.split()).rstrip("…"))
    return text if begins else f"{title}: {text}"


def conflict_line(pair: Mapping[str, Any]) -> str:
    """Return an open conflict as a line."""
    one, other = _line(str(pair["title"]), 150), _line(str(pair["with_title"]), 150)
    return f"- [Conflict] {one}{_said(pair, 'by')} | {other}{_said(pair, 'with_by')}: ask which one holds."


def _said(pair: Mapping[str, Any], name: str) -> str:
    return f" (by {pair[name]})"


def conversation_lines(conversation: Mapping[str, Any] | None) -> list[str]:
    """Return the questions, answers and open ends of the last conversation, as said; none without one."""
    if conversation is None:
        return []
    day = str(conversation["at"])[:10]
    parts = (
        ("asked", conversation["asked"]),
        ("answered", [conversation["answered"]] if conversation["answered"] else []),
        ("left open", conversation["open_items"]),
    )
    lines = [f"- [Said on {day}, {name}] {_line(' … '.join(said), 500)}" for name, said in parts if said]
    for name in ("edited", "failed", "committed"):
        if did := (conversation.get("done") or {}).get(name):
            more = f" and {did['all'] - len(did['those'])} more" if did["all"] > len(did["those"]) else ""
            lines.append(f"- [Done on {day}, {name}] {_line('; '.join(map(str, did['those'])), 400)}{more}")
    return lines


def near_lines(matches: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the decisions near a task as lines: titles whole, and the beginning of their reasons."""
    lines = []
    for match in matches:
        day, title, reason = (
            str(match["created_at"])[:10],
            str(match["title"]),
            str(match.get("reason") or ""),
        )
        if match["standing"]:
            lines.append(
                f"- [Always, {day}, {short_id(match)}] {_line(_titled(title, reason) if reason else title, 400)}"
            )
        elif replaced := match.get("replaced"):
            because = f", because: {_begun(str(replaced['because']))}" if replaced.get("because") else ""
            about = f"Replaced on {str(replaced['at'])[:10]}, {short_id(match)}"
            lines.append(f"- [{about}] {_line(title, 300)} | now: {_line(str(replaced['by']), 300)}{because}")
        else:
            about = f"Decided{by(match)}{_wrong(match)}, {day}, {short_id(match)}"
            lines.append(f"- [{about}] {_line(title, 300)}{f': {_begun(reason)}' if reason else ''}")
    return lines


def _begun(text: str) -> str:
    """Return the beginning of a reason: its first sentences, as far as they go."""
    text = " ".join(as_data(text).split())
    if len(text) <= _REASONS:
        return text
    ends = [found.end() for found in _END.finditer(text[:_REASONS])]
    return text[: ends[-1]].rstrip() if ends else _line(text, _REASONS).rstrip("…") + " (…)"


def cuts_instructions(matches: Iterable[Mapping[str, Any]], lines: Iterable[str]) -> bool:
    """Return whether one of the lines of these matches has only the beginning of an instruction."""
    return any(match["standing"] and line.endswith("…") for match, line in zip(matches, lines, strict=True))


def result_line(result: Mapping[str, Any]) -> str:
    """Return a result of a search as a line, or of a match that has only a title."""
    passage = str(result.get("passage") or "")
    title = str(result["title"])
    if passage.startswith(title):
        passage = passage[len(title) :].strip()
    text = _titled(title, passage) if passage else title
    mark = f" {SOURCES[result['sources']]}" if result.get("sources") else ""
    old = ", outdated" if result.get("outdated_by") else ""
    day = str(result.get("created_at") or "")[:10]
    about = f"{result['label']}{by(result)}{mark}{old}{_wrong(result)}, {day}, {short_id(result)}"
    return f"- [{about}] {_line(text, 800)}"


def card_line(card: Mapping[str, Any]) -> str:
    """Return a card of a digest as a line: its statement about the file, and whether it may be outdated."""
    state = ", may be outdated" if card.get("stale") else ""
    return f"- [{str(card['kind']).replace('_', ' ')}{by(card)}{state}] {_line(str(card['statement']), 300)}"


def files_line(paths: Iterable[str]) -> str:
    """Return the files that a task seems to be about as a line, the likeliest first."""
    return f"- [Files] This may be about {_line(', '.join(paths), 300)}"


def _line(text: str, most: int) -> str:
    text = " ".join(as_data(text).split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return cut[: max(cut.rfind(" "), most // 2)] + "…"  # between words

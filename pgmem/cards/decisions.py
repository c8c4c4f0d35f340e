"""Facts that people have documented: decision records, rules of contribution, code owners, marks in the code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

_MOST_LINE = 400
"""Characters of a line that a pattern reads: the time of some grows with the square of a line."""
_MOST_LINES = 3_000
_MOST_TEXT = 200_000
OWNER_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_RECORD = re.compile(
    r"(^|/)(?:adrs?|decisions?|architecture[-_]decisions?|rfcs?)/[^/]*\.(?:md|rst|adoc|txt)$|(^|/)adr[-_]?\d+[^/]*\.md$",
    re.IGNORECASE,
)
_RULES = re.compile(
    r"(^|/)(?:CONTRIBUTING|AGENTS|CLAUDE|STYLE(?:GUIDE)?|CODING[-_]STYLE|CONVENTIONS|HACKING)[^/]*\.(?:md|rst|txt|adoc)$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_NUMBER = re.compile(r"^(?:ADR|RFC)?[-\s#]*\d+\s*[.:–—-]?\s*", re.IGNORECASE)
_STATUS = re.compile(r"^[*\-\s]*\**status\**\s*:\s*\**\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_LINK = re.compile(r"\[([^\]\[]{0,400}+)\]\(([^)\s]{1,400}+)[^)]{0,400}+\)")
_RULE = re.compile(
    r"\b(?:must(?: not|n't)?|never|always|do not|don't|required?|forbidden|mandatory|may not|only (?:if|when|after))\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"(?:#|//|/\*|^\s*\*|--|;|<!--|%)\s*@?(TODO|FIXME|HACK|XXX)\b[:\s]*(.*)$")
_COMMENT = re.compile(r"^\s*(?:#+|//+|\*(?!/)|--|;+|%)\s*(?=\S*\w)(.*)$")
_BRANCH = re.compile(
    r"superse[dc]ed by\D*(\d+)|superse[dc]ed by.*?\(([^)]+)\)|replaced by.*?\(([^)]+)\)", re.I | re.S
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision record: what was decided, with its consequence, its state, and the record that replaces it."""

    statement: str
    state: str
    """accepted, proposed, superseded or rejected."""
    superseded_by: str | None = None
    """The number or the file name of the record that replaces this one, as it says."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A TODO, FIXME, HACK or XXX: the line, counted from 1, the word, and what it says."""

    line: int
    word: str
    text: str
    rest: str = ""
    """The next lines of the comment, up to the end of a sentence."""


def decision(path: str, text: str) -> Decision | None:
    """The decision that a file records, in the form of MADR or of Nygard, or None if it records none."""
    if not _RECORD.search(path) or path.rpartition("/")[2].lower() in (
        "readme.md",
        "index.md",
        "template.md",
    ):
        return None
    title, sections = _sections(text)
    status = next((body for name, body in sections.items() if name == "status"), "")
    if not status and (match := _STATUS.search(text[:3000])):
        status = match[1]
    decided = next(
        (sections[name] for name in ("decision outcome", "decision", "decision made") if name in sections), ""
    )
    if not title or not (status or decided):
        return None
    follows = next((body for name, body in sections.items() if name.endswith("consequences")), "")
    said = _first(decided or next(iter(sections.values()), ""), 260)
    if not said:
        return None
    effect = _first(follows, 160)
    title = _NUMBER.sub("", title).rstrip(".")
    statement = f"{title}: {said}" + (f" Consequence: {effect}" if effect else "")
    state, by = _state(status)
    return Decision(statement, state, by)


def _state(status: str) -> tuple[str, str | None]:
    status = status[:_MOST_LINE]
    words = status.casefold()
    if "superseded" in words or "supersedes by" in words or "replaced by" in words:
        match = _BRANCH.search(status)
        return "superseded", next((one for one in match.groups() if one), None) if match else None
    for state in ("rejected", "deprecated", "proposed", "draft"):
        if state in words[:80]:
            return {"deprecated": "rejected", "draft": "proposed"}.get(state, state), None
    return "accepted", None


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """The title of a document, and the texts below its further headings by their lower-case names."""
    text = text[:_MOST_TEXT]
    text = re.sub(
        r"\A---\n.*?\n---\n", lambda match: match[0] if "status" in match[0] else "", text, flags=re.S
    )
    title, name = "", ""
    parts: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := _HEADING.match(line[:_MOST_LINE]):
            if not title:
                title = match[2]
                continue
            name = match[2].casefold().strip()
            parts.setdefault(name, [])
        elif name:
            parts[name].append(line)
    return title, {name: "\n".join(lines).strip() for name, lines in parts.items()}


def _without(text: str, begin: str, end: str) -> str:
    """A text without what lies between two signs; one that is not ended stays."""
    kept, place = [], 0
    while (first := text.find(begin, place)) >= 0 and (last := text.find(end, first + len(begin))) >= 0:
        kept.append(text[place:first])
        place = last + len(end)
    return "".join(kept) + text[place:]


def _first(text: str, most: int) -> str:
    """The first sentences of a text that fit into a length, without markup."""
    text = _without(text, "<!--", "-->")
    text = _LINK.sub(r"\1", text)
    paragraph = next((part for part in re.split(r"\n\s*\n", text) if re.search(r"\w{3}", part)), "")
    words = " ".join(re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "", line) for line in paragraph.splitlines())
    words = " ".join(words.replace("**", "").split())
    if len(words) <= most:
        return words
    cut = words[:most]
    end = max(cut.rfind(". "), cut.rfind("; "))
    return cut[: end + 1] if end > most // 3 else cut.rpartition(" ")[0] + " …"


def rules(path: str, text: str, most: int = 20) -> list[str]:
    """The sentences of a guide for contributors that say what must, must not or may only be done."""
    if not _RULES.search(path):
        return []
    found: dict[str, None] = {}
    text = _without(_without(text[:_MOST_TEXT], "```", "```"), "<!--", "-->")
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[*+-]|\d+\.)\s)", text):
        if _HEADING.match(block.strip()[:_MOST_LINE]) or block.lstrip().startswith(("|", ">", "    ")):
            continue
        words = _LINK.sub(r"\1", " ".join(re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "", block).split()))
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", words.replace("**", "")):
            if 20 <= len(sentence) <= 280 and _RULE.search(sentence):
                found[sentence] = None
    return list(found)[:most]


def marks(data: bytes, most: int = 20) -> list[Mark]:
    """The TODO, FIXME, HACK and XXX of a source file, in comments only."""
    if not any(word in data for word in (b"TODO", b"FIXME", b"HACK", b"XXX")):
        return []
    found = []
    # A long line would be searched from each of its spaces.
    lines = [line[:_MOST_LINE] for line in data.decode(errors="replace").splitlines()]
    for number, line in enumerate(lines, 1):
        if (match := _MARK.search(line)) and re.search(r"\w{3}", match[2]):
            text = " ".join(_unclosed(match[2]).split())[:160]
            found.append(Mark(number, match[1], text, _rest(text, lines[number : number + 4])))
    return found[:most]


def _unclosed(text: str) -> str:
    """The text of a comment without the sign that ends it."""
    return text.rstrip().removesuffix("*/").removesuffix("-->")


def _rest(text: str, below: list[str]) -> str:
    """The lines of the comment below a mark, up to the end of its sentence and 200 characters in all."""
    said: list[str] = []
    for line in below:
        match = _COMMENT.match(line)
        if text.endswith((".", "!", "?")) or match is None or _MARK.search(line):
            break
        text = " ".join(_unclosed(match[1]).split())
        said.append(text)
    rest = " ".join(said)
    end = re.search(r"[.!?](?=\s)", rest)
    return (rest[: end.start()] if end else rest)[:200]


def code_owners(files: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The patterns of a CODEOWNERS file with their owners, in order: the last that fits a path counts.

    Args:
        files: contents of the places where the file may be, by path.
    """
    for place in OWNER_FILES:
        if place in files:
            for line in files[place].splitlines()[:_MOST_LINES]:
                pattern, *owners = line.partition("#")[0].split()[:20] or [""]
                if pattern and owners and len(pattern) <= _MOST_LINE and not pattern.startswith("["):
                    yield pattern, tuple(owners)
            return


@cache
def _segments(pattern: str) -> tuple[str, ...]:
    """A pattern by the names of a path; `**` is any number of them."""
    body = pattern.strip("/").split("/")
    if pattern.endswith("/"):
        body.append("**")
    rest = ("*", "**") if body[-1] == "**" else ("**",)  # what is in a folder, not the folder
    body = body[:-1] if body[-1] == "**" else body
    return (*(() if "/" in pattern.rstrip("/") else ("**",)), *body, *rest)


def _fits(pattern: Sequence[str], given: Sequence[str], whole: str, one: Callable[[str, str], bool]) -> bool:
    """Whether a pattern matches. At a difference only the last `whole` takes one item more: no time is exponential."""
    at, place, back, taken = 0, 0, -1, 0
    while place < len(given):
        if at < len(pattern) and pattern[at] == whole:
            back, taken = at, place
            at += 1
        elif at < len(pattern) and one(pattern[at], given[place]):
            at += 1
            place += 1
        elif back >= 0:
            taken += 1
            at, place = back + 1, taken
        else:
            return False
    return all(item == whole for item in pattern[at:])


def _is_letter(pattern: str, letter: str) -> bool:
    return pattern in ("?", letter)


def _is_name(pattern: str, name: str) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern == name
    return _fits(pattern, name, "*", _is_letter)


def owners_of(path: str, patterns: list[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """The owners of a path by the patterns of a CODEOWNERS file; none if all files have the same."""
    if all(pattern == "*" for pattern, _ in patterns):
        return ()
    for pattern, owners in reversed(patterns):
        if pattern == "*" or _fits(_segments(pattern), path.split("/"), "**", _is_name):
            return owners
    return ()

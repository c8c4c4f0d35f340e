"""Facts that people have documented: decision records, rules of contribution, code owners, marks in the code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_MOST_LINE = 400
"""Characters of a line that a pattern reads: the time of some grows with the square of a line."""
_MOST_LINES = 3_000
_MOST_TEXT = 200_000
_MOST_PATTERNS = 200
"""Patterns with wildcards that are tried on each path."""
OWNER_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_RECORD = re.compile(
    r"(^|/)(?:adrs?|decisions?|architecture[-_]decisions?|rfcs?)/[^/]*\.(?:md|rst|adoc|txt)$|(^|/)adr[-_]?\d+[^/]*\.md$",
    re.IGNORECASE,
)
_RULES = re.compile(
    r"(^|/)(?:CONTRIBUTING|AGENTS|CLAUDE|GEMINI|STYLE(?:GUIDE)?|CODING[-_]STYLE|CONVENTIONS|HACKING)[^/]*"
    r"\.(?:md|rst|txt|adoc)$|(^|/)\.(?:cursor/rules|github/instructions)/[^/]+\.mdc?$|(^|/)\.cursorrules$"
    r"|(^|/)\.github/copilot-instructions\.md$",
    re.IGNORECASE,
)
_HOME = re.compile(r"(?:^|/)(?:docs?|\.\w+)(?:/.*)?$")
"""Folders whose documents are about the folder above them."""
_NAMED = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_GLOBS = re.compile(r"^(?:globs|applyTo|paths):(.*(?:\n\s*-.*)*)", re.MULTILINE)
_RUNS = re.compile(
    r"(?:^|[`$>:\"-]) ?((?:(?:uv|poetry|hatch|pipenv|pdm) run (?:[\w=-]+ ){0,6}?"
    r"|python3? -m |bundle exec |npx |pnpm |yarn |bun |\./)?"
    r"(?:pytest|tox|nox|unittest|vitest|jest|mocha|rspec|phpunit|go test|cargo (?:nextest run|test)|dotnet test|bats"
    r"|mvnw? (?:-\S+ )*(?:test|verify)|gradlew? test|make (?:test|check)|rake test|npm (?:run )?test|(?:run )?test)\b"
    r"(?!:)[^\n`|&;#\"']{0,60})"
)
_TESTS = re.compile(r"test|tox|nox|jest|mocha|rspec|phpunit|bats|make check")
_ALONE = frozenset(("pytest", "tox", "nox", "vitest", "jest", "rspec", "phpunit"))
_OTHER_RUN = re.compile(r"\b(?:tox|nox)\b.* -[es] ?(?!py|test|unit)\w")
"""A run of an environment that is for something else, such as stress or types."""
_CONFIGURED = {
    "Makefile": (re.compile(r"^test:", re.MULTILINE), "make test"),
    "package.json": (re.compile(r"\"test\"\s*:\s*\"(?!echo)"), "npm test"),
    "tox.ini": (re.compile(r"^\[testenv", re.MULTILINE), "tox"),
    "pyproject.toml": (re.compile(r"^\[tool\.tox\]", re.MULTILINE), "tox"),
}
_RUN_FILES = (
    re.compile(r"^(?:\.github/workflows/(?:ci|main|tests?|unit\S*)\.ya?ml|\.gitlab-ci\.yml|\.travis\.yml)$"),
    re.compile(
        r"(^|/)(?:CONTRIBUTING|AGENTS|CLAUDE|DEVELOPMENT|HACKING)[^/]*\.(?:md|rst|txt)$", re.IGNORECASE
    ),
    re.compile(r"^(?:README\.\w+|\.github/workflows/[^/]+\.ya?ml)$"),
)
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_NUMBER = re.compile(r"^(?:ADR|RFC)?[-\s#]*\d+\s*[.:–—-]?\s*", re.IGNORECASE)
_STATUS = re.compile(r"^[*\-\s]*\**status\**\s*:\s*\**\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_LINK = re.compile(r"\[([^\]\[]{0,400}+)\]\(([^)\s]{1,400}+)[^)]{0,400}+\)")
_RULE = re.compile(
    r"\b(?:must(?: not|n't)?|never|always|do not|don't|required?|forbidden|mandatory|may not|only (?:if|when|after))\b",
    re.IGNORECASE,
)
_BRANCH = re.compile(
    r"superse[dc]ed by\D*(\d+)|superse[dc]ed by.*?\(([^)]+)\)|replaced by.*?\(([^)]+)\)", re.I | re.S
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision record: the decision, with its consequence, its state, and the record that replaces it."""

    statement: str
    state: str
    """accepted, proposed, superseded or rejected."""
    superseded_by: str | None = None
    """The number or the file name of the record that replaces this one, as it says."""


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
    """A text without the parts between two signs; a part that is not ended stays."""
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


def runs(path: str, text: str) -> tuple[int, str] | None:
    """How the tests are run, and how good a source that is, from 0, the best: CI, configuration, a guide, others."""
    configured, command = _CONFIGURED.get(path, (None, ""))
    if configured is not None and configured.search(text):
        return 1, command
    for worth, files in zip((0, 2, 3), _RUN_FILES, strict=True):
        if files.search(path):
            lines = (line.strip()[:_MOST_LINE] for line in text[:_MOST_TEXT].splitlines())
            for match in (match for line in lines if _TESTS.search(line) for match in _RUNS.finditer(line)):
                said = re.split(r"\s{2,}|\s*[({]", match[1])[0].strip(" .,:\\")
                if (" " in said or said in _ALONE) and not _OTHER_RUN.search(said):
                    return worth, said
    return None


def rules(path: str, text: str, most: int = 20) -> list[tuple[str, list[str]]]:
    """The sentences of a guide that say must, must not or only, each with the paths that it names.

    A guide whose head names files, as those of editors do, is about these.
    """
    if not _RULES.search(path):
        return []
    found: dict[str, list[str]] = {}
    text = _without(_without(text[:_MOST_TEXT], "```", "```"), "<!--", "-->")
    head = _GLOBS.search(text[:3000]) if text.startswith("---\n") else None
    globs = re.sub(r"[*?{\[].*?(?=[,\s\"']|$)", "", head[1]) if head else ""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[*+-]|\d+\.)\s)", text):
        if _HEADING.match(block.strip()[:_MOST_LINE]) or block.lstrip().startswith(("|", ">", "    ")):
            continue
        words = _LINK.sub(r"\1", " ".join(re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "", block).split()))
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", words.replace("**", "")):
            if 20 <= len(sentence) <= 280 and _RULE.search(sentence):
                named = (name.strip("./") for name in _NAMED.findall(globs or sentence) if "/" in name)
                found[sentence] = sorted({name for name in named if name})
    return list(found.items())[:most]


def home(path: str) -> str:
    """The folder that a guide is about: the one that it lies in, or the one above docs and hidden folders."""
    return _HOME.sub("", path.rpartition("/")[0])


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


def _segments(pattern: str) -> tuple[str, ...]:
    """A pattern by the names of a path; `**` is any number of them."""
    body = pattern.strip("/").split("/")
    if pattern.endswith("/"):
        body.append("**")
    rest = ("*", "**") if body[-1] == "**" else ("**",)  # the contents of a folder, not the folder
    body = body[:-1] if body[-1] == "**" else body
    return (*(() if "/" in pattern.rstrip("/") else ("**",)), *body, *rest)


def _name(pattern: str) -> str:
    """The regular expression of one name of a path. A star takes as little as fits and gives nothing back."""
    first, *others = (
        "".join("[^/]" if one == "?" else re.escape(one) for one in part) for part in pattern.split("*")
    )
    middle = "".join(f"(?>[^/]*?{part})" for part in others[:-1] if part)
    return first + middle + (f"[^/]*?{others[-1]}/" if others else "/")


def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern for a path that ends with a slash; the time to match grows with the length of the path alone."""
    groups: list[list[str]] = [[]]
    for one in _segments(pattern):
        if one == "**":
            groups.append([])
        else:
            groups[-1].append(_name(one))
    first, *others = ("".join(names) for names in groups)
    last = f"(?:[^/]+/)*?{others.pop()}\\Z" if others and others[-1] else ""
    return re.compile(first + "".join(f"(?>(?:[^/]+/)*?{one})" for one in others if one) + last)


class Owners:
    """The owners of paths by the patterns of a CODEOWNERS file: the last that fits a path counts."""

    def __init__(self, patterns: list[tuple[str, tuple[str, ...]]]) -> None:
        self._plain: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Patterns that name one file or folder, by its path: looked up, however many they are."""
        self._others: list[tuple[int, re.Pattern[str], tuple[str, ...]]] = []
        for number, (pattern, owners) in enumerate(patterns):
            if "/" in pattern.rstrip("/") and not re.search(r"[*?\\]", pattern):
                self._plain[pattern.strip("/")] = number, owners
            else:  # the owners of everything say nothing of a file
                self._others.append((number, _compiled(pattern), owners if pattern != "*" else ()))
        self._others = self._others[-_MOST_PATTERNS:]

    def of(self, path: str) -> tuple[str, ...]:
        """The owners of a path; none if only the pattern of all files names it."""
        parts = path.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        last, owners = max((self._plain[one] for one in above if one in self._plain), default=(-1, ()))
        for number, pattern, those in reversed(self._others):
            if number < last:
                break
            if pattern.match(f"{path}/"):
                return those
        return owners

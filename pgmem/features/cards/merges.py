"""Which commits were merged together, as those of one pull request: from merge messages and the commit graph.

A merge brings in the commits reached from its further parents and not from its first one. That is one piece
of work if the message names a pull request, or if no merge of others lies within; a merge of the default
branch into another, or of a branch that collects the work of many, is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pgmem.workspace.git import Commit

_MOST_READ = 5_000
"""The newest commits that are looked at: the time may grow with the square of the number."""
_MOST_COMMITS = 100
_NUMBER = re.compile(
    r"^(?:auto(?:matic)?[ -]?)?merge[sd]?\b.*?[#!](\d+)|^merged (?:pr|mr) (\d+)", re.IGNORECASE
)
_SEE = re.compile(r"^See merge request \S*!(\d+)", re.MULTILINE)
_COLLECTS = re.compile(
    r"^Merge (?:remote-tracking )?(?:branch(?:es)?|tag|commit) '(?:[\w.-]+/)?"
    r"(?:main|master|trunk|develop(?:ment)?|dev|default|next|staging|stable|maint|releases?|v?\d[\w.-]*)"
    r"(?:/[^']*)?'|^Merge (?:remote-tracking )?branch '[^']*' of ",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:auto(?:matic)?[ -]?)?merge[sd]?\b", re.IGNORECASE)
_MERGED_PR = re.compile(r"^merged (?:pr|mr) \d+:\s*(.+)", re.IGNORECASE)
_LISTED = re.compile(r"^\d+:\s+")
_NO_TITLE = re.compile(
    r"^(?:[*#-]|See merge request|Approved-by:|Reviewed-by:|Signed-off-by:|Conflicts)", re.I
)
_SUFFIX = re.compile(r"\s*\([#!](\d+)\)$")


def bare(subject: str) -> str:
    """A subject without the number of the pull request at its end."""
    return _SUFFIX.sub("", subject.strip()[:400])


def number_at_end(subject: str) -> str | None:
    """The number of the pull request at the end of a subject."""
    match = _SUFFIX.search(subject.strip()[:400])
    return match[1] if match else None


def requests(
    commits: Sequence[Commit], fits: Callable[[list[Commit]], bool]
) -> Iterator[tuple[Commit, list[Commit]]]:
    """The merges that are pieces of work, each with the commits that it brought in, newest first.

    Args:
        commits: those of one branch, newest first.
        fits: whether commits can be one piece of work.
    """
    known = {commit.id: commit for commit in commits[:_MOST_READ]}
    order = {name: place for place, name in enumerate(known)}
    waiting: list[tuple[str, set[str]]] = [(commits[0].id, set(known))] if commits else []
    while waiting:
        tip, inside = waiting.pop()
        for merge, side in _sides(tip, inside, known):
            own = [known[name] for name in sorted(side, key=order.__getitem__)]
            own = [one for one in own if len(one.parents) < 2]
            if _is_one(merge, side, known) and fits(own):
                yield merge, own
            else:
                waiting += [(parent, side) for parent in merge.parents[1:]]


def _sides(tip: str, inside: set[str], known: Mapping[str, Commit]) -> Iterator[tuple[Commit, set[str]]]:
    """The merges along the first parents of a commit, oldest first, with the commits that each merged."""
    chain = []
    while tip in inside:
        chain.append(known[tip])
        tip = next(iter(known[tip].parents), "")
    seen = {commit.id for commit in chain}
    for commit in reversed(chain):
        side: set[str] = set()
        open_ = list(commit.parents[1:])
        while open_:
            name = open_.pop()
            if name in inside and name not in seen:
                seen.add(name)
                side.add(name)
                open_ += known[name].parents
        if side:
            yield commit, side


def _is_one(merge: Commit, side: set[str], known: Mapping[str, Commit]) -> bool:
    """Whether the commits that a merge merged are one piece of work."""
    if len(side) > _MOST_COMMITS or _COLLECTS.search(merge.subject):
        return False
    within = (known[name] for name in side)
    return _number(merge) is not None or all(
        len(one.parents) < 2 or _COLLECTS.search(one.subject) is not None for one in within
    )


def _number(merge: Commit) -> str | None:
    match = _NUMBER.search(merge.subject) or _SEE.search(merge.message)
    return next((group for group in match.groups() if group), None) if match else None


def title(last: Commit, commits: Sequence[Commit]) -> str:
    """The title of a piece of work, on one line.

    Args:
        last: the merge, or the commit itself.
        commits: those that the merge brought in, newest first.
    """
    if len(last.parents) < 2 or not _NAMED.search(last.subject):
        return " ".join(last.subject.split())
    number = _number(last)
    lines = (line.strip() for line in last.message.splitlines()[1:])
    match = _MERGED_PR.search(last.subject)
    said = match[1] if match else _LISTED.sub("", next((line for line in lines if line), ""))
    if not said or _NO_TITLE.search(said):
        said = commits[-1].subject if commits else last.subject
        if more := len(commits) - 1:
            said = f"{said} (and {more} more commit{'s' if more > 1 else ''})"
    said = " ".join(said.split())
    return said if number is None or f"#{number}" in said else f"{said} (#{number})"

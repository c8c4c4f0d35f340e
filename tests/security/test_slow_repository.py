"""Whoever writes a repository chooses its texts: no text takes more time than its length, and git has a limit of memory."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from pgmem.features.cards import decisions, languages, parsing
from pgmem.workspace import git as git_module
from pgmem.workspace.git import Git, GitUnavailable
from tests.repositories import git

MOST_S = 4
"""Seconds; each of the texts takes less than one, and took from ten up to for ever."""


@contextmanager
def in_time() -> Iterator[None]:
    """The block ends in time: a pattern that goes on is stopped between its steps."""

    def late(_signal: int, _frame: object) -> None:
        raise AssertionError(f"not over after {MOST_S} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "pattern", ["/**" * 14 + "/zz.py", "*a" * 16 + "*b", "**/" * 100 + "b", "?*" * 100 + "b"]
)
def test_a_pattern_of_code_owners_is_matched_in_time(pattern: str) -> None:
    """Its regular expression was exponential."""
    owners = list(decisions.code_owners({"CODEOWNERS": f"a* @b\n{pattern} @a\n"}))
    with in_time():
        for path in ("a/" * 60 + "x.py", "a" * 250):
            assert decisions.Owners(owners).of(path) == ("@b",)


PATHS = (
    "a",
    "a/b",
    "a/b/c.py",
    "docs/a",
    "docs/x/a.md",
    "x/docs/a",
    "c.py",
    "src/a.py",
    "src/b/a.py",
    "a.md",
    "ab",
)
PATTERNS = (
    "a",
    "a/",
    "/a",
    "docs/",
    "docs/*",
    "/docs/*",
    "*.py",
    "src/**/a.py",
    "**/a",
    "a/**",
    "a?",
    "/*",
    "s*/*.py",
    "/",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_of_code_owners_names_the_same_paths_as_the_regular_expression(pattern: str) -> None:
    body = pattern.strip("/") + ("/**" if pattern.endswith("/") else "")
    made = "".join(
        {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
        for part in re.split(r"(\*\*/?|\*|\?)", body)
    )
    wanted = re.compile(f"{'' if '/' in pattern.rstrip('/') else '(?:.*/)?'}{made}(?:/.*)?$")
    found = {path for path in PATHS if decisions.Owners([(pattern, ("@a",))]).of(path)}
    assert found == {path for path in PATHS if wanted.match(path)}


PIECES = (
    *("# a" + " " * 60 + "b", "<!--", "[", "[x](", "```", "---\n", "status:", " ", "\n", "\n ", "/* ", "// ", "# TODO "),
    *('\\"', "\\'", "\\`", '"', "'", "`", '"""', "\\\"\"\"", "#", "* ", "superseded by ", "(", "must ", ". A", "- ", "\t"),
    *("{@a ", "1", "-- ", "; ", "% ", "://", "&&", "a", "A.", "import ", "é"),
)  # fmt: skip


@pytest.mark.parametrize(
    "path", ["README.md", "AGENTS.md", "docs/adr/0001-a.md", "a.js", "a.py", "a.sh", "a.rs", "a.lua"]
)
def test_every_text_of_a_repository_is_read_in_time(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many patterns were quadratic; a comment that is not ended, or blanks, took minutes."""
    monkeypatch.setattr(languages, "_PARSE_S", 0.2)
    begin = "# T\n\n## Status\n\n## Decision\n\n" if path.endswith(".md") else "x = 1\n"
    ends = ("", "b\n", "# TODO" + " " * 390 + "x")
    for place, piece in enumerate(PIECES, len(path)):
        data = (begin + piece * (150_000 // len(piece)) + ends[place % 3]).encode()
        with in_time():
            parsing.parse(path, data)


def test_many_patterns_of_owners_are_matched_in_time() -> None:
    """Three thousand patterns and five thousand files."""
    lines = [f"/src/part{number}/ @a" for number in range(2000)]
    lines += ["**/" * 60 + "a*b*c*d*e*f* @b", *(f"*x{number}*/**/*y* @c" for number in range(999))]
    with in_time():
        owners = decisions.Owners(list(decisions.code_owners({"CODEOWNERS": "\n".join(lines)})))
        found = [owners.of(f"src/part{number % 2500}/deep/down/file{number}.py") for number in range(5000)]
    assert found.count(("@a",)) == 4000


def bomb(folder: Path, levels: int) -> None:
    """A commit of 10 ** levels files in a few objects, and one that removes them."""
    run = partial(git, folder)
    run("init", "-q")
    blob = run("hash-object", "-w", "--stdin", given="x")
    tree = run("mktree", given="".join(f"100644 blob {blob}\t{i}\n" for i in range(10)))
    for _ in range(levels - 1):
        tree = run("mktree", given="".join(f"040000 tree {tree}\t{i}\n" for i in range(10)))
    empty = run("mktree", given=f"100644 blob {blob}\tREADME.md\n")
    first = run("commit-tree", tree, "-m", "all")
    run("update-ref", "refs/heads/main", run("commit-tree", empty, "-p", first, "-m", "none"))
    run("reset", "-q", "--hard")


@pytest.mark.skipif(sys.platform != "linux", reason="another process gets a limit of memory on Linux alone")
def test_a_commit_of_very_many_files_ends_git_and_not_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git took 4 GB in 11 s to list the changes of a commit of 10⁹ files."""
    bomb(tmp_path, 6)
    monkeypatch.setattr(git_module, "_MOST_MEMORY", 100 << 20)
    git = Git(tmp_path)
    with pytest.raises(GitUnavailable):
        git._git.output("log", "--name-status", "-M", "-z")

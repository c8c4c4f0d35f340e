"""What messages advise can be done: each command, verb and tool that one names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import typer

from pgmem._verbs import VERBS
from pgmem.cli import app

ROOT = Path(__file__).parent.parent.parent
SOURCES = [*sorted((ROOT / "sql").rglob("*.sql")), *sorted((ROOT / "pgmem").rglob("*.py"))]
LITERAL = {
    ".sql": r"'((?:[^'\n]|'')*)'",
    ".py": r'"((?:[^"\\\n]|\\.)*)"',
}
ADVICE = r"\b(?:[Rr]un|[Cc]all|[Uu]se|[Ss]ee|[Tt]ry|[Ss]end|or|with)[: ] ?`?"


def messages(path: Path) -> Iterator[str]:
    """The texts in quotes of a file, without its comments."""
    text = path.read_text(encoding="utf-8")
    code = re.sub(r"(?m)^\s*--.*$" if path.suffix == ".sql" else r"(?m)^\s*#.*$", "", text)
    yield from re.findall(LITERAL[path.suffix], code)


def commands() -> dict[str, set[str]]:
    """The commands of pgmem, each with those of its group."""
    group = typer.main.get_command(app)
    found = {}
    for name in group.list_commands(None):  # type: ignore[attr-defined]
        command = group.get_command(None, name)  # type: ignore[attr-defined]
        found[name] = set(command.list_commands(None)) if hasattr(command, "list_commands") else set()
    return found


def test_every_command_that_a_message_advises_exists() -> None:
    known, named = commands(), 0
    for path in SOURCES:
        for message in messages(path):
            for first, second in re.findall(ADVICE + r"pgmem ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", message):
                named += 1
                assert first in known, f"{path.name}: {message}"
                if known[first] and second:
                    assert second in known[first], f"{path.name}: {message}"
    assert named > 50


def test_every_verb_that_a_message_advises_exists() -> None:
    known, named = set(VERBS), 0
    for path in SOURCES:
        for message in messages(path):
            for verb in re.findall(r"\b(?:[Rr]un|[Cc]all|[Uu]se) `?(?!pg_)([a-z]+(?:_[a-z]+)+)\b", message):
                named += 1
                assert verb in known, f"{path.name}: {message}"
    assert named > 10

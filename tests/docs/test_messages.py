"""The advice of messages can be followed: each command, verb and tool that one names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from pgmem._verbs import VERBS
from pgmem.cli import app
from pgmem.cli.options import typed
from tests.docs.test_calls import bodies

ROOT = Path(__file__).parent.parent.parent
SOURCES = [*sorted((ROOT / "sql").rglob("[0-9][0-9]-*.sql")), *sorted((ROOT / "pgmem").rglob("*.py"))]
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


ACTIONS = {
    *("record_candidate", "declare_intent", "finish_intent", "refresh_from_run", "propose_from_receipt"),
    "validate_claims",
}
"""The verbs that agents call through manage_engineering_memory."""
NEVER_TYPED = {
    "declare_intent": "no command sends an intent",
    "finish_intent": "no command sends an intent",
    "manage_engineering_memory": "its way is beside the one for a person",
    "refresh_from_run": "a command sends a report",
    "request_global_write_approval": "a command has the approval of whoever types it",
}
"""The verbs that a message names to those who come by another way than a command, and why."""
PERSONS = r"\b(person|administrator|owner|superuser|worker)\b"
NAME = r"\b[a-z]+(?:_[a-z]+)+\b"


def read_by() -> Iterator[tuple[str, set[str]]]:
    """The sentences of the engine's functions, each with the verbs that run it."""
    called = {
        name: {other for other in re.findall(r"pgmem\.(\w+)", text) if other in bodies()}
        for name, (_, text) in bodies().items()
    }
    verbs: dict[str, set[str]] = {name: set() for name in called}
    for verb in VERBS:
        reached, left = set(), [verb] if verb in called else []
        while left:
            if (name := left.pop()) not in reached:
                reached.add(name)
                verbs[name].add(verb)
                left += called[name]
    for name, (_, text) in bodies().items():
        for sentence in re.findall(LITERAL[".sql"], text):
            if " " in sentence.strip() and not re.search(r"%I|\bselect\b", sentence):
                yield sentence.replace("''", "'"), verbs[name]


def callable_by_agents(message: str) -> bool:
    """Whether an agent has a tool for a name in a message, or reads that a person runs the command."""
    named = {name for name in re.findall(NAME, message) if name in VERBS}
    return all(VERBS[name].toolsets or name in ACTIONS for name in named) and bool(
        "pgmem " not in re.sub(r"pgmem_\w+", "", message)
        or not re.search(r"\bpgmem [a-z]", message)
        or re.search(PERSONS, message)
    )


def callable_at_a_terminal(message: str) -> bool:
    """Whether a name in a message is a command once it is printed."""
    return not {name for name in re.findall(NAME, typed(message)) if name in VERBS} - {*NEVER_TYPED}


def test_no_message_to_an_agent_names_what_it_cannot_call() -> None:
    read = [message for message, verbs in read_by() if any(VERBS[verb].toolsets for verb in verbs)]
    assert len(read) > 200
    assert [message for message in read if not callable_by_agents(message)] == []


def test_no_message_at_a_terminal_names_a_verb() -> None:
    package = ROOT / "pgmem"
    commands = [*(package / "cli").glob("*.py"), *(package / "features").glob("*/commands.py")]
    code = "".join(path.read_text(encoding="utf-8") for path in commands)
    typed_verbs = {verb for verb in VERBS if re.search(rf"\.{verb}\(|verb_command\(\s*\"{verb}\"", code)}
    assert len(typed_verbs) > 40
    read = [message for message, verbs in read_by() if verbs & typed_verbs]
    assert [message for message in read if not callable_at_a_terminal(message)] == []


@pytest.mark.parametrize(
    ("message", "agent", "terminal"),
    [
        ("Call search_memory first.", True, True),
        ("A person decides: pgmem review.", True, True),
        ("Decide it: pgmem review.", False, True),
        ("A person decides, or resolve_review(save_id) in SQL.", False, False),
        ("list_skills shows them.", False, False),
    ],
)  # fmt: skip
def test_a_message_that_names_what_its_reader_cannot_call_is_noticed(
    message: str, agent: bool, terminal: bool
) -> None:
    assert (callable_by_agents(message), callable_at_a_terminal(message)) == (agent, terminal)

"""Saving, relating and looking around on the command line: from arguments, from JSON, from a pipe."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pgmem.registry import FEATURES
from tests.conftest import output_of
from tests.core.cli.conftest import Run
from tests.fixtures.verbs import Rows


@pytest.fixture(autouse=True)
def shop(run: Run) -> None:
    done = run("save", "session", "Open the shop", "-p", "shop", "--did", "Rent a room", "--open", "Paint it")
    assert (done.exit_code, done.stdout.partition(":")[0]) == (0, "saved"), done.stderr


def saved(run: Run, *words: str, typed: str | None = None) -> Any:
    done = run(*words, "--json", typed=typed)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_every_kind_of_memory_is_saved_from_arguments(run: Run, rows: Rows) -> None:
    """The command line had no save, remember, relate and neighbours."""
    saved(
        run,
        "save",
        "decision",
        "Sell tea",
        "People ask",
        "-p",
        "shop",
        "--owner",
        "Ada",
        "--confidence",
        ".5",
    )
    saved(
        run,
        "save",
        "pattern",
        "A delivery",
        "Count it",
        "Sign for it",
        "-p",
        "shop",
        "--exclusion",
        "on Sundays",
    )
    saved(
        run,
        "save",
        "context",
        "Open from nine",
        "-p",
        "shop",
        "--topic",
        "Hours",
        "--focus",
        "gate",
        "--scope",
        "focus",
    )
    saved(run, "save", "entity", "Till", "Takes cards", "-p", "shop")
    made = saved(run, "remember", "Technology", "Redis", "-p", "shop", "--set", "summary=A cache", "--set", "stars=5",
                 "--relate", "USES=Linux", "--from", "2026-01-01")  # fmt: skip
    assert (made["created"], [r["name"] for r in made["relations_made"]]) == (True, ["Linux"])
    found = rows(
        "select label, title, props, focus from pgmem.node where label in ('Decision', 'Pattern', 'Context', 'EntityFact', 'Technology') and status = 'active' order by label"
    )
    assert [(row["label"], row["title"]) for row in found] == [
        ("Context", "Hours"),
        ("Decision", "Sell tea"),
        ("EntityFact", "Till"),
        ("Pattern", "A delivery"),
        ("Technology", "Redis"),
    ]
    assert found[0]["focus"] == "gate"
    assert found[3]["props"]["repeatable_steps"] == ["Count it", "Sign for it"]
    assert found[4]["props"] == {"name": "Redis", "summary": "A cache", "stars": 5}


def test_memories_are_joined_and_shown_around_one(run: Run) -> None:
    for title in ("Sell tea", "Sell no drinks"):
        saved(run, "save", "decision", title, "because", "-p", "shop")
    words = ("relate", "Decision", "Sell tea", "CONFLICTS_WITH", "Decision", "Sell no drinks", "-p", "shop")
    assert run(*words).stdout.endswith(": made.\n")
    assert run(*words).stdout.endswith(": was there already.\n")
    around = run("neighbours", "Decision", "Sell tea", "-p", "shop")
    assert "Sell no drinks" in around.stdout
    assert [n["title"] for n in saved(run, "neighbours", "Decision", "Sell tea")["nodes"]] == [
        "Sell no drinks"
    ]
    assert run("neighbours", "Decision", "Nothing").exit_code == 1
    assert "It has no relations." in run("neighbours", "Session", "Open the shop").stdout


def test_json_and_text_come_from_a_pipe_or_a_file(run: Run, rows: Rows, tmp_path: Path) -> None:
    """From arguments, --json and stdin."""
    shown = [
        {"title": f"Rule {n}: {word}", "rationale": "r", "project_id": "shop"}
        for n, word in enumerate(("tea", "milk", "sugar"))
    ]
    assert len(saved(run, "save", "decision", "-i", "-", typed="\n".join(map(json.dumps, shown)))) == 3
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"title": "From a file", "rationale": "r"}))
    assert saved(run, "save", "decision", "--input", str(file), "-p", "shop")["status"] == "saved"
    assert saved(run, "save", "context", "-", "-p", "shop", typed="Two\nlines\n")["status"] == "saved"
    saved(run, "remember", "-i", "-", typed=json.dumps({"label": "Tool", "properties": {"name": "grep"}}))
    batch = {
        "session": {"objective": "Count"},
        "project_id": "shop",
        "decisions": [{"title": "Count twice", "rationale": "r"}],
    }
    assert saved(run, "save", "batch", "-", typed=json.dumps(batch))["overall"] == "saved"
    titles = {row["title"] for row in rows("select title from pgmem.node")}
    assert {"From a file", "grep", "Count twice", "Rule 2: sugar"} <= titles
    assert rows("select props ->> 'content' as c from pgmem.node where label = 'Context'") == [
        {"c": "Two\nlines"}
    ]


@pytest.mark.parametrize(
    ("words", "typed", "code", "shown"),
    [
        (("save", "decision", "T", "-p", "shop"), None, 2, "save_decision needs rationale: give it as an argument or in --input."),
        (("save", "decision", "-i", "-"), '{"titel": "T"}', 2, "save_decision has no argument titel: did you mean title?"),
        (("save", "decision", "-i", "-"), "{", 2, "stdin is not JSON"),
        (("save", "decision", "-i", "-"), "7", 2, "stdin must hold a JSON object with the arguments, or several."),
        (("save", "decision", "-i", "-", "-p", "shop"), '{"title": "T", "rationale": 5}', 2, "rationale: Input should be a valid string"),
        (("save", "decision", "T", "-", "-p", "shop"), "für".encode("latin1"), 2, "stdin is not UTF-8 text"),
        (("save", "decision", "-i", "-"), b"\xff\x00", 2, "stdin is not UTF-8 text"),
        (("save", "decision", "T", "-", "-i", "-"), "r", 2, "stdin can be read once"),
        (("save", "decision", "-i", "none.json"), None, 2, "none.json cannot be read"),
        (("save", "decision", "T", "r", "-p", "shop", "--save-id", "x"), None, 2, "Input should be a valid UUID"),
        (("save", "decision", "T", "r", "-p", "shopp"), None, 1, "blocked_scope"),
        (("remember", "Tool", "-p", "shop"), None, 1, "A Tool is named by its name"),
        (("remember", "Tool", "grep", "--set", "stars"), None, 2, "--set takes NAME=VALUE, not 'stars'"),
        (("relate", "Tool", "grep"), None, 2, "relate needs rel_type"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)  # fmt: skip
def test_what_cannot_be_saved_says_what_to_send_instead(
    run: Run, rows: Rows, words: tuple[str, ...], typed: str | bytes | None, code: int, shown: str
) -> None:
    refused = run(*words, typed=typed)
    assert (refused.exit_code, refused.stdout) == (code, "")
    assert shown in refused.stderr
    assert rows("select from pgmem.node where label in ('Decision', 'Tool')") == []


def test_a_decision_that_waits_for_a_person_is_not_a_success(run: Run) -> None:
    saved(run, "save", "decision", "a b c", "r", "-p", "shop")
    waits = run("save", "decision", "a b d", "other", "-p", "shop")
    assert (waits.exit_code, waits.stderr.splitlines()[0].partition(",")[0]) == (1, "failed: manual_review")


def test_a_review_ends_with_q(run: Run) -> None:
    """`q` meant later, and the next save was shown."""
    for name in "xyz":
        saved(run, "save", "decision", f"{name} {name}{name} c", "r", "-p", "shop")
        run("save", "decision", f"{name} {name}{name} d", "other", "-p", "shop")
    asked = run("review", typed="q\n")
    assert (asked.exit_code, asked.stdout.count("[q]uit")) == (0, 1)


def test_a_command_imports_only_what_it_needs() -> None:
    """`import pgmem.cli` took 0.43 s; now a command's module is imported when the command is used."""
    code = (
        "import sys; from pgmem.cli import app; "
        "print(*(m for m in sys.modules if m.partition('.')[0] in "
        "('pgmem', 'psycopg', 'pydantic', 'rich', 'sqlalchemy', 'alembic', 'mcp', 'numpy', 'jinja2', 'httpx2')))"
    )
    found = set(output_of(sys.executable, "-c", code).split())
    assert found - {"pgmem.features", *FEATURES} == {
        "pgmem",
        "pgmem.cli",
        "pgmem.cli.group",
        "pgmem.registry",
    }
    code = (
        "import sys, typer.main; before = len(sys.modules); from pgmem.cli import app; "
        "typer.main.get_command(app).get_command(None, 'status'); "
        "print(len(sys.modules) - before, "
        "*(m for m in ('sqlalchemy', 'alembic', 'mcp', 'numpy', 'jinja2', 'httpx2', 'yaml', 'tokenizers', "
        "'pgmem.features.importers.loader', 'pgmem.features.ui.site') if m in sys.modules))"
    )
    count, *heavy = output_of(sys.executable, "-c", code).split()
    assert heavy == []
    assert int(count) < 480


HEAVY = (
    "pgmem.memory pgmem.models pgmem.settings pgmem.database.database pgmem.calls pgmem.mcp pgmem.ui "
    "psycopg_pool pydantic_settings sqlalchemy alembic mcp numpy jinja2 httpx2 yaml anyio"
)


@pytest.mark.parametrize(
    ("words", "also"),
    [
        ("--help", "psycopg pgmem.cli.options"),
        ("search --help", ""),
        ("save decision --help", ""),
        ("status --help", "sqlalchemy"),
        ("mcp --help", ""),
        ("ui --help", ""),
        ("psql --help", "sqlalchemy"),
        ("tenancy --help", ""),
    ],
)
def test_help_imports_nothing_of_the_engine(words: str, also: str) -> None:
    """`pgmem --help` imported the module of every command, and each command the whole engine."""
    code = (
        "import atexit, sys; from pgmem.__main__ import main; "
        f"atexit.register(lambda: print(*set({(HEAVY + ' ' + also).split()!r}) & set(sys.modules), file=sys.stderr)); "
        f"sys.argv = ['pgmem', *{words.split()!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: pgmem" in done.stdout
    assert done.stderr.split() == []


def test_a_command_that_does_not_exist_names_the_nearest(run: Run) -> None:
    asked = run("staus")
    assert (asked.exit_code, asked.stderr) == (
        2,
        "pgmem: No such command 'staus'. Did you mean 'status', 'trust'? See pgmem --help.\n",
    )

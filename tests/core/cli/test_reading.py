"""Memories read in the terminal: whole, as they were at a time, and in windows of 80 and 100 columns."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer

from pgmem._verbs import VERBS
from pgmem.cli import app
from pgmem.cli.group import EXAMPLES
from pgmem.cli.verbs import OPTIONS, moment
from pgmem.workspace.identity import identify
from tests import repositories
from tests.conftest import Call
from tests.core.cli.conftest import Run

TITLE = "Serve product pages from a cache for one hour after each change of a price"
READING = {
    "search": "search_memory",
    "retrieve": "retrieve_context",
    "show": "get_node",
    "list": "list_memories",
    "projects": "list_projects",
    "neighbours": "neighbours",
    "history": "memory_history",
    "freshness": "memory_freshness",
    "decay": "decay_scores",
}


@pytest.fixture
def decision(call: Call) -> str:
    """The id of a decision with a long title, in its own project."""
    call("save_session", objective="Open the shop", project_id="shop")
    saved = call("save_decision", title=TITLE, rationale="Pages were slow in the morning.", project_id="shop")
    return str(saved["artifact_id"])


@pytest.mark.parametrize("command", READING)
def test_every_argument_of_a_verb_is_one_of_its_command(command: str) -> None:
    found = typer.main.get_command(app).get_command(None, command)  # type: ignore[attr-defined]
    typed = {word for parameter in found.params for word in parameter.opts}
    words = {parameter.name for parameter in found.params if parameter.param_type_name == "argument"}
    for name in VERBS[READING[command]].arguments:
        own = OPTIONS.get(name, (f"--{name.replace('_', '-')}",))[0].partition("/")[0]
        assert own in typed or name in words or (name in ("label", "key") and "which" in words), name


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.parametrize(
    "words",
    [
        ("show", "ID"),
        ("list",),
        ("retrieve", "shop"),
        ("search", "cache"),
        ("history", "ID"),
        ("neighbours", "Session", "Open the shop"),
        ("freshness", "--stale-after", "0"),
    ],
    ids=lambda words: words[0],
)
def test_a_narrow_terminal_gets_whole_ids_and_words(
    run: Run, call: Call, decision: str, words: tuple[str, ...], columns: str
) -> None:
    shown = run(*(decision if word == "ID" else word for word in words), COLUMNS=columns)
    assert shown.exit_code == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= int(columns)
    assert "…" not in shown.stdout
    if words[0] in ("show", "list", "retrieve", "search"):
        assert decision in shown.stdout
        assert " ".join(TITLE.split()) in " ".join(shown.stdout.split())
    if words[0] in ("show", "retrieve", "search"):
        assert "Pages were slow" in " ".join(shown.stdout.split())


def test_the_words_of_a_search_are_joined(run: Run, decision: str) -> None:
    found = json.loads(run("search", "product", "pages", "cache", "--json").stdout)
    assert found["results"][0]["id"] == decision


def test_a_memory_is_shown_as_it_was_at_a_time(run: Run, call: Call) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    for fact in ("a cache", "a queue"):
        call("upsert_entity", entity_name="Redis", fact=fact, project_id="shop")
    first = json.loads(run("history", "EntityFact", "Redis", "--json").stdout)[0]
    then = datetime.fromisoformat(first["replaced_at"]) - timedelta(microseconds=1)
    assert "a queue" in run("show", "EntityFact", "Redis").stdout
    assert "a cache" in run("show", "EntityFact", "Redis", "--known-at", then.isoformat()).stdout
    assert run("show", "EntityFact", "Redis", "--as-of", "1999-01-01").exit_code == 1


def test_a_day_means_its_end_and_a_wrong_time_says_what_to_send(run: Run) -> None:
    assert moment("2026-09-01", "as_of").isoformat()[:23] == "2026-09-01T23:59:59.999"
    before = datetime.now(UTC)
    assert timedelta(days=30) - (before - moment("30d", "as_of")) < timedelta(minutes=1)
    refused = run("list", "--as-of", "last spring")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "send a day (2026-09-01)" in refused.stderr


def test_projects_and_lists_are_shown(run: Run, call: Call, decision: str) -> None:
    shown = run("projects").stdout
    assert "shop" in shown
    listed = json.loads(run("list", "--label", "Decision", "--json").stdout)
    assert [one["id"] for one in listed] == [decision]
    first = json.loads(run("list", "-n", "1", "--json").stdout)
    assert f"--after {first[0]['id']}" in run("list", "-n", "1").stdout


def test_hygiene_names_the_command_that_repairs(run: Run, call: Call) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    for name in ("PostgreSQL", "Postgre SQL"):
        call("upsert_entity", entity_name=name, fact="a database of the shop", project_id="shop")
    found = json.loads(run("hygiene", "--json").stdout)["findings"]
    repaired = [one for one in found if one["verb"] == "merge_entities"]
    assert repaired
    for columns in ("80", "100"):
        shown = run("hygiene", COLUMNS=columns)
        assert "pgmem merge" in " ".join(shown.stdout.split())
        assert all(id in shown.stdout for id in repaired[0]["ids"])
        assert max(map(len, shown.stdout.splitlines())) <= int(columns)


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_the_examples_of_the_help_are_commands(line: str, alone: Run) -> None:
    program, name, *words = shlex.split(line)
    command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    assert program == "pgmem"
    assert command.make_context(name, words, resilient_parsing=False).params
    assert line in " ".join(alone(name, "--help", COLUMNS="200").stdout.split())


def test_help_is_a_command_and_the_version_imports_no_engine(alone: Run) -> None:
    assert alone("help", "search").stdout == alone("search", "--help").stdout
    assert alone("help").stdout == alone("--help").stdout
    code = (
        "import atexit, sys; from pgmem.__main__ import main; "
        "atexit.register(lambda: print(*{'psycopg', 'sqlalchemy', 'pgmem.install'} & set(sys.modules), file=sys.stderr)); "
        "sys.argv = ['pgmem', '--version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pgmem ")
    assert done.stderr.strip() == ""


def test_a_title_names_a_memory_where_one_alone_has_it(run: Run, call: Call, decision: str) -> None:
    for words in ((TITLE,), TITLE.upper().split(), ("Decision", TITLE)):
        assert json.loads(run("show", *words, "--json").stdout)["title"] == TITLE, words
    call("save_context", content=TITLE, topic=TITLE, project_id="shop")
    refused = run("show", TITLE)
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert f"{TITLE!r} names several memories, so send the id: Context " in refused.stderr
    assert f"Decision {decision} (shop)" in refused.stderr


def test_flags_have_no_value_in_the_help(alone: Run) -> None:
    for words in (("--help",), ("list", "--help"), ("cards", "refresh", "--help")):
        assert "bool" not in alone(*words).stdout, words


def test_commands_ask_about_the_project_of_their_folder(
    run: Run, call: Call, decision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repositories.git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path)
    unknown = run("list")
    assert (TITLE in unknown.stdout, unknown.stderr) == (True, ""), "the store has no project for it"
    known = identify(tmp_path)._asdict()
    mine = call("open_project", **known)["project_id"]
    call("save_decision", title="Sell tea", rationale="Thirst", project_id=mine)
    for command in ("list", "search tea or pages", "retrieve", "health", "hygiene", "freshness"):
        asked = run(*command.split())
        assert TITLE not in asked.stdout, command
        assert asked.exit_code == 0
    listed = run("list", "--json")
    assert [one["title"] for one in json.loads(listed.stdout)] == ["Sell tea"]
    assert listed.stderr == f"Of {mine}, the project of this folder; -A shows all projects.\n"
    assert {one["title"] for one in json.loads(run("list", "-A", "--json").stdout)} > {"Sell tea", TITLE}
    assert "Sell tea" not in run("list", "--project", "shop").stdout

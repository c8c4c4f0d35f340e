"""Rules of every command: help, one line for an error, exit codes, no other database than the named."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
import typer
from psycopg.conninfo import conninfo_to_dict

from pgmem import InvalidArgument
from pgmem.cli import app
from pgmem.install.schema import release
from pgmem.settings import Settings, load, variables
from tests.core.cli.conftest import Run


def paths(command: object = None, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command there is, as its words after `pgmem`."""
    command = command or typer.main.get_command(app)
    if not hasattr(command, "list_commands"):
        return [path]
    return [
        found
        for name in command.list_commands(None)
        for found in paths(command.get_command(None, name), (*path, name))  # type: ignore[attr-defined]
    ]


COMMANDS = paths()


def test_the_commands_are_there() -> None:
    named = {" ".join(path) for path in COMMANDS}
    expected = ["demo", "mcp", "init", "status", "doctor", "psql", "retrieve", "search", "review", "cypher"]
    assert named >= {*expected, "graph check", "graph rebuild", "config get", "config set"}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help(path: tuple[str, ...], alone: Run) -> None:
    for name in ("--help", "-h"):
        shown = alone(*path, name)
        assert shown.exit_code == 0
        assert f"pgmem {' '.join(path)}" in shown.stdout


def test_every_option_and_argument_has_help() -> None:
    def bare(command: object, path: str) -> list[str]:
        names = command.list_commands(None) if hasattr(command, "list_commands") else []
        below = {name: command.get_command(None, name) for name in names}  # type: ignore[attr-defined]
        parameters = [p for p in getattr(command, "params", []) if not getattr(p, "help", None)]
        here = [f"{path} {parameter.name}" for parameter in parameters]
        return here + [found for name, child in below.items() for found in bare(child, f"{path} {name}")]

    assert bare(typer.main.get_command(app), "pgmem") == []


def test_the_release_is_shown(alone: Run) -> None:
    assert alone("--version").stdout == f"pgmem {release()}\n"


def test_without_a_command_the_help_is_shown(alone: Run) -> None:
    assert "retrieve" in alone().stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["forgett"], "pgmem: No such command 'forgett'"),
        (
            ["bench", "speed"],
            "pgmem: The benchmarks are not part of the package: run python -m benchmarks in",
        ),
        (
            ["bench", "--help"],
            "pgmem: The benchmarks are not part of the package: run python -m benchmarks in",
        ),
        (["status", "--jsno"], "pgmem: No such option: --jsno"),
        (["retrieve", "shop", "-p", "till"], "pgmem: Name one project: pgmem retrieve PROJECT"),
        (
            ["retrieve", "p", "--scope", "universe"],
            "pgmem: Invalid value for '--scope': 'universe' is not one of",
        ),
        (["search", "x", "--limit", "0"], "pgmem: Invalid value for '--limit'"),
        (["config", "set", "focus_limit"], "pgmem: Missing argument"),
        (["cypher", "return 1", "--params", "[1"], "pgmem: --params is not a JSON object"),
        (["review", "--save-id", "mine"], "pgmem: Invalid value for '--save-id'"),
        (
            ["review", "--save-id", "00000000-0000-4000-8000-000000000000"],
            "pgmem: --save-id needs --outcome new, supersede or drop.",
        ),
    ],
)
def test_wrong_usage_is_one_line_on_stderr_and_exit_code_2(
    alone: Run, arguments: list[str], message: str
) -> None:
    result = alone(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGMEM_TOOLSETS", "core,kitchen"),
        ("PGMEM_POOL_SIZE", "0"),
        ("PGMEM_POOL_SIZE", ""),
        ("PGMEM_EMBEDDING_DIMENSIONS", "5000"),
        ("EMBEDDING_TIMEOUT", "7200"),
        ("VECTOR_BACKEND", "bogus"),
        ("PGMEM_CAPTURE", "perhaps"),
    ],
)
def test_a_bad_setting_is_named(alone: Run, variable: str, value: str) -> None:
    result = alone("status", **{variable: value})
    assert result.exit_code == 2
    assert result.stderr.startswith(f"pgmem: {variable}: ")
    assert result.stderr.count("\n") == 1


SOME = (["init"], ["status"], ["retrieve", "p"], ["search", "x"], ["review"], ["cypher", "return 1"])
MORE = (["graph", "check"], ["graph", "rebuild"], ["config", "get"], ["config", "set", "focus_limit", "3"])


@pytest.mark.parametrize("arguments", [*SOME, *MORE], ids=" ".join)
def test_a_dsn_that_does_not_answer_is_an_error_and_nothing_else_is_used(
    alone: Run, tmp_path: Path, arguments: list[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result = alone(*arguments, PGMEM_DSN=f"host=127.0.0.1 port={taken.getsockname()[1]} dbname=x")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("pgmem: ")
    assert "refused" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "data" / "postgres").exists()


def test_an_option_wins_over_the_environment(run: Run, dsn: str) -> None:
    result = run("status", "--json", "--dsn", dsn, PGMEM_DSN="host=127.0.0.1 port=1")
    assert result.exit_code == 0, result.stderr
    where = run("status", "--dsn", dsn, PGMEM_DSN=None).stdout
    assert (f"dbname={conninfo_to_dict(dsn)['dbname']}" in where, "(--dsn)" in where) == (True, True)


def test_settings_are_read_from_a_file_only_when_it_is_named(run: Run, dsn: str, tmp_path: Path) -> None:
    (tmp_path / "settings").write_text(f"PGMEM_DSN={dsn}\n")
    (tmp_path / ".env").write_text("PGMEM_POOL_SIZE=0\n")
    assert run("status", "--env-file", str(tmp_path / "settings"), PGMEM_DSN=None).exit_code == 0


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("PGMEM_ORG_ID=acme", "acme"),
        ("  export PGMEM_ORG_ID = 'a # b'  # the team", "a # b"),
        ('PGMEM_ORG_ID="a b"', "a b"),
        ("PGMEM_ORG_ID=a#b c # d", "a#b c"),
        ("PGMEM_ORG_ID=x=1;y='2'", "x=1;y='2'"),
        ("DEFAULT_ORG_ID=acme", "acme"),
        ("\ufeffPGMEM_ORG_ID=acme\r\n\n# PGMEM_ORG_ID=no\nexport OTHER\n", "acme"),
        ("PGMEM_ORG_ID=\n", ""),
        ("DEFAULT_ORG_ID=old\nPGMEM_ORG_ID=new", "new"),
        ("HOME=/x\nPGMEM_ORG_ID=${HOME}$y", "${HOME}$y"),
        ("no setting\nPGMEM_ORG_ID=acme", "acme"),
    ],
)
def test_a_file_of_settings_is_read_as_a_shell_would(line: str, value: str, tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_bytes(line.encode())
    assert load(file).org_id == value


def test_a_pipe_of_settings_is_read(tmp_path: Path) -> None:
    """A shell's <(…) is a pipe, which can be read once."""
    pipe = tmp_path / "settings"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("PGMEM_ORG_ID=acme\nPGMEM_FOCUS_LIMIT=3\n",))
    writer.start()
    settings = load(pipe)
    writer.join()
    assert (settings.org_id, settings.store["focus_limit"]) == ("acme", "3")


def test_a_variable_counts_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("pgmem_org_id", "acme")
    assert load().org_id == ""


def test_no_two_settings_are_read_from_one_variable() -> None:
    read = [name for setting in Settings.model_fields for name in variables(setting)]
    assert len(read) == len(set(read)) > 50
    assert all(Settings.model_fields[setting].description for setting in Settings.model_fields)


def test_the_settings_show_no_key_and_no_variable_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("PGMEM_OTHER", "sk-very-secret")
    assert "sk-very-secret" not in repr(load())


def test_the_environment_wins_over_a_file_and_arguments_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings"
    file.write_text("PGMEM_ORG_ID=file\nPGMEM_POOL_SIZE=0\n")
    monkeypatch.setenv("DEFAULT_ORG_ID", "environment")
    monkeypatch.setenv("PGMEM_POOL_SIZE", "3")
    settings = load(file)
    assert (settings.org_id, settings.pool_size) == ("environment", 3)
    assert load(file, org_id="argument").org_id == "argument"
    assert "toolsets" not in settings.model_fields_set
    monkeypatch.setenv("PGMEM_TOOLSETS", "core, graph")
    assert load().toolsets == ("core", "graph")
    assert "toolsets" in load().model_fields_set


@pytest.mark.parametrize("name", ["PGMEM_EMBEDDING_TIMEOUT", "EMBEDDING_TIMEOUT"])
def test_a_wrong_setting_is_named_as_it_was_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "soon")
    with pytest.raises(InvalidArgument, match=f"^{name}: "):
        load()


def test_a_dsn_that_is_none_is_named(alone: Run) -> None:
    result = alone("status", PGMEM_DSN="just some words")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "PGMEM_DSN" in result.stderr
    option = alone("status", "--dsn", "just some words").stderr
    assert ("Invalid --dsn: use a connection string" in option, "PGMEM_DSN" in option) == (True, False)

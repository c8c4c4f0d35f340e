"""The store itself: made, looked at, examined, opened with psql, set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem.install import schema
from pgmem.settings import Settings, variable, variables
from tests.conftest import Call, is_managed, new_database, past_the_pooler, tier
from tests.core.cli.conftest import Run


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """A database that knows nothing of pgmem."""
    with new_database(server, "template0") as dsn:
        yield dsn


def psql(
    surroundings: dict[str, str | None], *arguments: str, piped: str = ""
) -> subprocess.CompletedProcess[str]:
    """A real process: psql writes past Python's stdout."""
    environment = {**os.environ, **{name: value for name, value in surroundings.items() if value is not None}}
    command = [sys.executable, "-m", "pgmem", "psql", *arguments]
    return subprocess.run(
        command, input=piped, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_init_makes_the_schema_and_a_second_one_changes_nothing(run: Run, empty: str) -> None:
    assert "pgmem init" in run("status", PGMEM_DSN=empty).stderr
    first, second = run("init", PGMEM_DSN=empty), run("init", PGMEM_DSN=empty)
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr
    assert first.stdout.startswith(f"pgmem {schema.release()}: installed")
    assert second.stdout.startswith(f"pgmem {schema.release()}: up to date")
    assert run("status", PGMEM_DSN=empty).exit_code == 0


def test_init_fills_the_settings_of_the_store_from_the_environment(run: Run, empty: str) -> None:
    assert run("init", PGMEM_DSN=empty, PGMEM_FOCUS_LIMIT="3", DECAY_RATE="0.02").exit_code == 0
    values = {
        row["name"]: row["value"]
        for row in json.loads(run("config", "get", "--json", PGMEM_DSN=empty).stdout)
    }
    assert (values["focus_limit"], values["decay_rate"], values["global_limit"]) == ("3", "0.02", "5")


def test_a_variable_without_a_value_sets_nothing(run: Run, empty: str) -> None:
    """Files of variables often have lines such as `HYBRID_ALPHA=`."""
    names = ("PGMEM_FOCUS_LIMIT", "HYBRID_ALPHA", "EMBEDDING_DIMENSIONS", "EMBEDDING_PROVIDER", "OLLAMA_URL")
    made = run("init", PGMEM_DSN=empty, **dict.fromkeys(names, " "))
    assert made.exit_code == 0, made.stderr
    with psycopg.connect(empty) as connection:
        values = connection.execute("select value from pgmem.setting where name = 'focus_limit'").fetchall()
    assert values == [("10",)]


def test_every_row_of_the_store_has_a_variable_but_the_clock(run: Run, empty: str, tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_text("PGMEM_TURN_DAYS=7\nPGMEM_FOCUS_LIMIT=4\nPGMEM_NO_ROW=1\nHYBRID_ALPHA=0.9\n")
    given = {
        "PGMEM_FOCUS_LIMIT": " 3 ",
        "PGMEM_REQUIRE_IDENTITY": "yes",
        "PGMEM_TEST_CLOCK": "true",
        "PGMEM_HYBRID_ALPHA": "0.4",
    }
    made = run("init", "--env-file", str(file), PGMEM_DSN=empty, **given)
    assert made.exit_code == 0, made.stderr
    with psycopg.connect(empty) as connection:
        values: dict[str, str] = dict(connection.execute("select name, value from pgmem.setting").fetchall())
    found = [
        values[row] for row in ("turn_days", "focus_limit", "require_identity", "test_clock", "hybrid_alpha")
    ]
    assert found == ["7", "3", "true", "false", "0.4"]
    assert not {name for setting in Settings.model_fields for name in variables(setting)} & set(
        map(variable, values)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PGMEM_FOCUS_LIMIT", "ten"),
        ("PGMEM_FOCUS_LIMIT", "-1"),
        ("PGMEM_DEDUP_SUPERSEDE", "1.5"),
        ("PGMEM_REQUIRE_IDENTITY", "perhaps"),
        ("PGMEM_TEXT_CONFIG", "klingon"),
        ("DECAY_RATE", "fast"),
        ("PGMEM_DECAY_RATE", "nan"),
    ],
)
def test_a_value_that_a_row_cannot_have_is_refused_with_its_variable(
    run: Run, store: str, name: str, value: str
) -> None:
    refused = run("init", PGMEM_DSN=store, **{name: value})
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert refused.stderr.startswith(f"pgmem: {name}: ")
    assert "it means: " in refused.stderr


def test_a_store_is_not_made_with_a_value_that_a_row_cannot_have(run: Run, empty: str) -> None:
    assert run("init", PGMEM_DSN=empty, PGMEM_FOCUS_LIMIT="ten").exit_code == 1
    with psycopg.connect(empty) as connection:
        assert connection.execute("select to_regclass('pgmem.setting')").fetchone() == (None,)


def test_what_init_would_run_can_be_run_by_hand(run: Run, empty: str) -> None:
    printed = run("init", "--sql", PGMEM_DSN="host=127.0.0.1 port=1")
    assert printed.exit_code == 0
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(printed.stdout.encode())
    status = run("status", "--json", PGMEM_DSN=empty)
    assert status.exit_code == 0, status.stderr
    assert json.loads(status.stdout)["release"] == schema.release()


def test_status_names_the_server_the_tier_and_the_counts(
    run: Run, call: Call, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    call("save_decision", title="Sell tea", rationale="r", project_id="shop")
    found = json.loads(run("status", "--json").stdout)
    assert (found["server"], found["tier"], found["projects"]) == ("dsn", tier(connection), 1)
    assert found["memories"] == {"Decision": 1, "Session": 1}
    assert found["data_dir"] == str(tmp_path / "data")
    shown = run("status").stdout
    for expected in (
        found["server_version"],
        found["tier"],
        found["age_version"] or "AGE none",
        "1 Decision, 1 Session",
        schema.release(),
    ):
        assert expected in shown


def test_psql_runs_what_is_piped_and_needs_no_schema_name(
    surroundings: dict[str, str | None], call: Call
) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    surroundings |= {"PGMEM_DSN": past_the_pooler(str(surroundings["PGMEM_DSN"]))}
    done = psql(surroundings, piped="\\pset format unaligned\nselect objective from session;\n")
    assert done.returncode == 0, done.stderr
    assert "Open the shop\n" in done.stdout
    done = psql(surroundings, "-c", "select status from save_decision('Sell tea', 'r', 'shop')")
    assert (done.returncode, "saved" in done.stdout) == (0, True), done.stderr


def test_psql_runs_every_command(surroundings: dict[str, str | None]) -> None:
    """Small: of `-c A -c B` it ran only B."""
    done = psql(surroundings, "-c", "select 'first'", "-c", "select 'second'")
    assert "first" in done.stdout
    assert "second" in done.stdout


def test_psql_ends_with_the_exit_code_of_psql(surroundings: dict[str, str | None]) -> None:
    done = psql(surroundings, "-c", "select 1 / 0")
    assert done.returncode == 1
    assert "division by zero" in done.stderr
    assert ("This pooler does not accept options" in done.stderr) is is_managed()
    assert "Traceback" not in done.stderr


def test_psql_shows_the_sentence_of_an_error_and_not_where_it_was_raised(
    surroundings: dict[str, str | None],
) -> None:
    done = psql(surroundings, "-c", "select * from search_memory('')")
    errors = [line for line in done.stderr.splitlines() if "pooler" not in line]
    assert errors == ["ERROR:  query must not be empty; send words or a question."] or is_managed()


def test_a_setting_is_shown_and_set_for_every_caller(run: Run, call: Call) -> None:
    shown = run("config", "get", "focus_limit").stdout
    assert "focus_limit" in shown
    assert "10" in shown
    assert "global_limit" not in shown
    assert run("config", "set", "focus_limit", "3").stdout == "focus_limit = 3\n"
    (row,) = json.loads(run("config", "get", "focus_limit", "--json").stdout)
    assert row["value"] == "3"
    call("save_session", objective="Open the shop", project_id="shop")
    for number in range(5):
        call("save_context", content=f"note {number}", project_id="shop", focus="gate", scope="focus")
    bundle = json.loads(run("retrieve", "shop", "--scope", "focus", "--focus", "gate", "--json").stdout)
    assert [item["scope"] for item in bundle["items"]].count("focus") == 3


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("focus_limit", "many", "a whole number from 0 to 999999999"),
        ("focus_limit", "-1", "a whole number from 0 to 999999999"),
        ("governance_token_ttl_s", "1.5", "a whole number from 0 to 999999999"),
        ("dedup_supersede", "0.4", "a number from 0.5 to 1"),
        ("max_statement_chars", "40", "a whole number from 100"),
        ("max_statement_chars", "many", "a value like '1000'"),
        ("trust_mcp", "2", "a number from 0 to 1"),
        ("decay_rate", "NaN", "a number from 0"),
        ("text_config", "klingon", "a value like 'english'"),
        ("require_identity", "perhaps", "true or false"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_meaning_and_its_range(
    run: Run, name: str, value: str, instead: str
) -> None:
    (before,) = json.loads(run("config", "get", name, "--json").stdout)
    result = run("config", "set", name, value)
    assert result.exit_code == 1
    assert result.stderr.startswith(
        f"pgmem: {name} cannot be '{value}'; it means: {before['description']} Send {instead}"
    )
    assert json.loads(run("config", "get", name, "--json").stdout) == [before]


def test_a_setting_that_does_not_exist_is_refused(run: Run) -> None:
    for result in (run("config", "get", "mood"), run("config", "set", "mood", "good")):
        assert result.exit_code == 1
        assert "mood" in result.stderr
        assert result.stderr.count("\n") == 1


def test_options_of_psql_pass_through(surroundings: dict[str, str | None], tmp_path: Path) -> None:
    """`pgmem psql` knew -c alone."""
    file = tmp_path / "question.sql"
    file.write_text("select :'word' as word;\n")
    done = psql(surroundings, "--csv", "-t", "-v", "word=tea", "-f", str(file))
    assert (done.returncode, done.stdout) == (0, "tea\n"), done.stderr
    assert psql(surroundings, "-At", "-c", "select 1", "-c", "select 2").stdout == "1\n2\n"
    looks = psql(surroundings, "--read-only", "-At", "-c", "select 1", "-c", "create table own ()")
    assert (looks.stdout, "in a read-only transaction" in looks.stderr) == ("1\n", True)

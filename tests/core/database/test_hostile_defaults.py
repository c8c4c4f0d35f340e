"""Every way in works in a database, and as a login, whose defaults of all settings are other than PostgreSQL's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp.client.client import Client
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgmem import Memory
from pgmem.install import schema
from pgmem.mcp.server import create_server
from pgmem.settings import load
from tests.conftest import admin_of, as_admin, new_database
from tests.fixtures.hostile import DECOYS, make_hostile

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.direct("a front has no tables, and its cells their own defaults"),
]

SANE = {
    "standard_conforming_strings": "on",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "search_path": "public",
    "row_security": "on",
    "extra_float_digits": "1",
}
SAID = r"Store paths as C:\new\wages, not as ‘/mnt’ 🐘; don’t escape \d+ twice."


@pytest.fixture
def hostile(server: str) -> Iterator[str]:
    """An empty database with such defaults, and the login of this test with others there; its DSN."""
    with new_database(server, "template0") as dsn:
        given = conninfo_to_dict(dsn)
        with psycopg.connect(as_admin(dsn), autocommit=True) as connection:
            connection.execute(DECOYS.encode())
        make_hostile(admin_of(server), str(given["dbname"]), str(given["user"]))
        yield dsn


@pytest.fixture
def run(hostile: str, tmp_path: Path) -> Any:
    """`run("list")`: what `pgmem list` prints there; it must succeed."""

    def run(*arguments: str, given: str = "", **environment: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PGMEM_")}
        done = subprocess.run(
            [sys.executable, "-m", "pgmem", *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**kept, "PGMEM_DSN": hostile, "PGMEM_DATA_DIR": str(tmp_path / "data"), **environment},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_store_is_planned_made_checked_and_upgraded_again(hostile: str, run: Any) -> None:
    assert "install" in run("init", "--dry-run").lower()
    assert "installed" in run("init")
    assert "up to date" in run("init")
    assert "accented" not in run("doctor")
    with psycopg.connect(hostile, autocommit=True, client_encoding="UTF8") as connection:
        connection.execute("update pgmem.schema_version set digest = 'of another state'")
    assert "upgraded" in run("init")


def test_the_script_of_an_install_runs(hostile: str) -> None:
    with psycopg.connect(hostile, autocommit=True, client_encoding="UTF8") as connection:
        # psql reads a statement after it has run the one before: the settings that begin it hold for all others.
        begin, settings, rest = "".join(schema.script()).partition("standard_conforming_strings")
        value, end, rest = rest.partition(";")
        connection.execute((begin + settings + value + end).encode())
        connection.execute(rest.encode())
    assert schema.upgrade(hostile).changed is False


async def test_the_library_saves_reads_and_gives_times_of_utc(hostile: str, tmp_path: Path) -> None:
    schema.upgrade(hostile)
    settings = load(dsn=hostile, data_dir=tmp_path, embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open the shop", project_id="shop")
        saved = await memory.save_context(
            SAID, project_id="shop", topic="paths", valid_from=datetime(2026, 2, 3, 10), valid_to=None
        )
        assert saved.status == "saved"
        last = await memory.save_context(
            "Kept until the end.", project_id="shop", valid_to=datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC)
        )
        first = await memory.save_context(
            "Kept from the first day.", project_id="shop", valid_from=datetime(1, 1, 2, tzinfo=UTC)
        )
        assert {last.status, first.status} == {"saved"}
        assert [one.name for one in await memory.list_projects()] == ["shop"]
        history = await memory.memory_history("Context", "paths", project_id="shop")
        assert history.versions[-1].valid_from == datetime(2026, 2, 3, 10, tzinfo=UTC)
        found = await memory.search_memory("where are the wages", project_id="shop")
        assert any(SAID in str(result.passage) for result in found.results)
        assert (await memory.memory_freshness(project_id="shop")).current_count > 0
        await memory.run_hygiene(project_id="shop")


@pytest.mark.long
def test_the_command_line_saves_lists_exports_and_imports(run: Any, tmp_path: Path) -> None:
    run("init")
    run("save", "session", "open the shop", "-p", "shop")
    run("save", "context", SAID, "--topic", "paths", "-p", "shop", "--from", "2026-02-03T10:00:00")
    for command in ("list", "projects", "freshness", "hygiene", "status", "review"):
        run(command)
    shown = json.loads(run("show", "Context", "paths", "-p", "shop", "--json"))
    assert SAID in json.dumps(shown, ensure_ascii=False).replace("\\\\", "\\")
    assert "2026-02-03 10:00:00+00:00" in json.dumps(shown)
    run("export", str(tmp_path / "all.jsonl"))
    run("import", str(tmp_path / "all.jsonl"))
    run("worker", "--once")


async def test_a_tool_saves_searches_and_lists(hostile: str, tmp_path: Path) -> None:
    schema.upgrade(hostile)
    settings = load(dsn=hostile, data_dir=tmp_path, embedding_provider="none", toolsets="all")
    async with Client(create_server(settings)) as client:
        for tool, arguments in (
            ("save_session", {"objective": "open the shop", "project_id": "shop"}),
            ("save_decision", {"title": "Use C:\\new", "rationale": SAID, "project_id": "shop"}),
            ("search_memory", {"query": "wages", "project_id": "shop"}),
            ("list_projects", {}),
            ("memory_freshness", {}),
            ("run_hygiene", {}),
            ("retrieve_context", {"project_id": "shop"}),
        ):
            done = await client.call_tool(tool, arguments)
            assert not done.is_error, (tool, done.content)
        given = {
            "content": "The till is red.",
            "project_id": "shop",
            "topic": "till",
            "valid_from": "2026-02-03T10:00:00",
        }
        assert not (await client.call_tool("save_context", given)).is_error
    with psycopg.connect(hostile, client_encoding="UTF8") as connection:
        begins = "select valid_from at time zone 'UTC' from pgmem.node where title = 'till'"
        assert connection.execute(begins.encode()).fetchone() == (datetime(2026, 2, 3, 10),)


def test_a_hook_keeps_and_brings(run: Any, tmp_path: Path) -> None:
    run("init")
    run("save", "session", "open the shop", "-p", "shop")
    run("save", "context", "The till app.py opens at nine 🐘.", "--topic", "till", "-p", "shop")
    (tmp_path / "app.py").touch()

    def brought(event: str, **more: Any) -> str:
        """The text of an event; a busy machine may need more than the 400 ms of a hook, so it is asked again."""
        for attempt in range(10):
            given = {"session_id": f"s{attempt}", "cwd": str(tmp_path), "hook_event_name": event, **more}
            printed = run(
                "hook", event, "--client", "claude-code", given=json.dumps(given), PGMEM_PROJECT="shop"
            )
            if printed:
                return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])
        log = tmp_path / "data" / "hooks" / "hook.log"
        return log.read_text() if log.exists() else "nothing came, and nothing was logged"

    assert "opens at nine 🐘" in brought("SessionStart", source="startup")
    assert "till" in brought("UserPromptSubmit", prompt="When does the till app.py open?")
    assert "opens at nine 🐘" in brought("PreToolUse", tool_input={"file_path": str(tmp_path / "app.py")})
    said = {
        "session_id": "s1",
        "cwd": str(tmp_path),
        "last_assistant_message": "It opens at nine.",
        "turn_id": "t1",
    }
    run("hook", "Stop", "--client", "claude-code", given=json.dumps({**said, "hook_event_name": "Stop"}))
    assert "It opens at nine." in run("list", "--label", "Turn")


def test_a_verb_answers_in_psql_as_in_any_other_session(hostile: str) -> None:
    """All but the isolation, which the transaction begins with, and the times of columns, which the session writes."""
    schema.upgrade(hostile)
    calls = (
        "select to_jsonb(r) - 'took_ms' from pgmem.search_memory('the wages of the till', p_project_id => 'shop') r",
        "select to_jsonb(r) from pgmem.memory_surface('src/wages/till.py', 'shop') r",
        "select to_jsonb(r) from pgmem.file_surface('{src/till.py,till.py}', 'shop') r",
        "select to_jsonb(r) - 'checked_at' from pgmem.memory_freshness('shop') r",
        "select to_jsonb(r) from pgmem.list_projects() r",
        "select to_jsonb(r) from pgmem.retrieve_context('shop') r",
        "select to_jsonb(r) - 'checked_at' from pgmem.run_hygiene('shop') r",
    )
    with psycopg.connect(hostile, client_encoding="UTF8") as connection:
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        saves = (
            "select status from pgmem.save_session('open the shop', p_project_id => 'shop')",
            "select status from pgmem.save_context(%(said)s, p_project_id => 'shop', p_topic => 'paths')",
            "select status from pgmem.save_context('Never close the till.py at noon.', p_project_id => 'shop')",
            "select status from pgmem.save_decision('Pay wages on Fridays', 'The bank asks so.', p_project_id => 'shop')",
        )
        for save in saves:
            assert connection.execute(save, {"said": SAID}).fetchone() == ("saved",)
        connection.commit()
        connection.execute("set extra_float_digits = 1")  # to_jsonb itself writes the floats
        theirs = [connection.execute(call.encode()).fetchall() for call in calls]
        connection.rollback()
        connection.execute("reset all")
        for name, value in SANE.items():
            connection.execute(sql.SQL("set {} = {}").format(sql.Identifier(name), sql.Literal(value)))
        ours = [connection.execute(call.encode()).fetchall() for call in calls]
    for call, one, other in zip(calls, theirs, ours, strict=True):
        for mine, its in zip(one, other, strict=True):
            differing = {n for n, v in in_utc(mine[0]).items() if v != in_utc(its[0])[n]}
            assert not differing, (call, {n: (mine[0][n], its[0][n]) for n in differing})


def in_utc(value: Any) -> Any:
    """A value with its times in UTC: columns have them as the session writes them."""
    if isinstance(value, dict):
        return {name: in_utc(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_utc(item) for item in value]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return datetime.fromisoformat(value).astimezone(UTC)
    return value


def test_a_transaction_of_another_isolation_is_told_how_to_begin(hostile: str) -> None:
    schema.upgrade(hostile)
    with psycopg.connect(hostile, autocommit=True, client_encoding="UTF8") as connection:
        with pytest.raises(psycopg.Error, match="Begin it by: begin isolation level read committed"):
            connection.execute("select * from pgmem.save_session('x', p_project_id => 'shop')")
        connection.execute("begin isolation level read committed")
        connection.execute("select * from pgmem.save_session('x', p_project_id => 'shop')")
        connection.execute("commit")

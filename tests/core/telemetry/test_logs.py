"""Logs of servers: lines or JSON, calls by name and number, and never a memory's text."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgmem import Memory
from pgmem.errors import DatabaseUnavailable, InvalidArgument, summary
from pgmem.settings import Settings
from pgmem.telemetry import logs

pytestmark = pytest.mark.anyio
CANARY = "xylophone"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> Settings:
    return Settings(
        dsn=dsn, data_dir=tmp_path, log_format="json", log_level="info", embedding_provider="none"
    )  # fmt: skip


def lines(capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], str]:
    written = capsys.readouterr().err
    return [json.loads(line) for line in written.splitlines()], written


async def test_every_call_and_save_is_a_line_of_json_without_contents(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(settings)
    async with Memory.connect(settings) as memory:
        await memory.save_session(CANARY, f"project-{CANARY}")
        await memory.search_memory(CANARY)
        with pytest.raises(InvalidArgument):
            await memory.get_node(f"No{CANARY}", CANARY)
    logged, written = lines(capsys)
    calls = [line for line in logged if line["logger"] == "pgmem.calls"]
    save = next(line for line in calls if line.get("status"))
    assert (save["verb"], save["status"], save["level"]) == ("save_session", "saved", "INFO")
    search = next(line for line in calls if line["verb"] == "search_answer")
    assert (search["outcome"], search["rows"], search["server"]) == ("ok", 1, "primary")
    assert search["ms"] > 0
    assert search["timestamp"][:2] == "20"
    assert next(line for line in calls if line["verb"] == "get_node")["outcome"] == "refused"
    assert CANARY not in written


async def test_an_exception_is_logged_by_place_and_class(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    for chosen in (settings, settings.model_copy(update={"log_format": "text"})):
        logs.configure(chosen)
        try:
            raise ValueError(CANARY)
        except ValueError:
            logging.getLogger("pgmem").exception("The round could not be done.")
        written = capsys.readouterr().err
        assert "test_logs.py" in written
        assert "ValueError" in written
        assert CANARY not in written


async def test_what_libraries_say_is_replaced_by_where_unless_debugging(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(settings)
    logging.getLogger("mcp.server").warning("cannot read %s", CANARY)
    (line,), written = lines(capsys)
    assert (line["logger"], line["level"]) == ("mcp.server", "WARNING")
    assert "test_logs" in line["message"]
    assert CANARY not in written
    logs.configure(settings.model_copy(update={"log_level": "debug"}))
    logging.getLogger("mcp.server").warning("cannot read %s", CANARY)
    assert CANARY in capsys.readouterr().err


async def test_at_the_usual_level_nobody_watches_and_calls_are_not_logged(
    dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(dsn=dsn, data_dir=tmp_path, embedding_provider="none")
    logs.configure(settings)
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        assert memory.caller.database._shared.watchers == []
    assert capsys.readouterr().err == ""


def test_the_summary_of_an_error_quotes_no_value(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.Error) as unreadable:
        connection.execute("select %s::date", (CANARY,))
    assert CANARY in str(unreadable.value)
    assert summary(unreadable.value) == "InvalidDatetimeFormat 22007"
    with pytest.raises(psycopg.Error) as refused:
        connection.execute("insert into pgmem.upkeep (task) values (%s)", (CANARY,))
    assert CANARY in str(refused.value)
    assert summary(refused.value) == "CheckViolation 23514 upkeep_task_known"
    assert summary(InvalidArgument(f"date is not a valid date: {CANARY}")) == "InvalidArgument"
    assert summary(DatabaseUnavailable("PGMEM_DSN does not answer: refused\nand more")) == (
        "PGMEM_DSN does not answer: refused"
    )

"""The names that the tests of the OpenAI Agents SDK's own sessions import, by pgmem's session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from pgmem.features.integrations.openai_agents import PgmemSession
from pgmem.sync import Memory as SyncMemory
from tests.features.integrations.upstream import load, stand_in

__all__ = ["Here", "suite"]


class Here:
    """The database and the memory of the present test."""

    dsn: str
    sync_memory: SyncMemory


def suite(file: str) -> ModuleType:
    """A file of their tests, whose sessions are PgmemSession; a change of their tables is a change of messages."""
    helpers = load("openai-agents-session", "test_responses_helpers", {})
    needed = {"tests.test_responses": helpers}
    if file == "test_session_limit":
        needed["tests.memory"] = stand_in("tests.memory")
        needed["tests.memory.test_session"] = suite("test_session")
    module = load("openai-agents-session", file, needed)
    made = vars(module)
    if "SQLiteSession" in made:
        made["SQLiteSession"] = SQLiteShape
    if "SQLAlchemySession" in made:
        made |= {"SQLAlchemySession": SQLAlchemyShape, "insert": _insert, "create_async_engine": _engine}
        made["text"] = lambda statement: statement
    return module


class SQLiteShape(PgmemSession):
    """A session with the constructor and the private names of SQLiteSession."""

    messages_table = "messages"

    def __init__(self, session_id: str, db_path: object = None, session_settings: Any = None) -> None:
        super().__init__(session_id, Here.sync_memory, session_settings=session_settings)

    def close(self) -> None:
        """The memory is open for longer than the session."""

    @contextmanager
    def _locked_connection(self) -> Iterator[Any]:
        yield SimpleNamespace(execute=lambda _, row: add_corrupt(*row), commit=lambda: None)


class SQLAlchemyShape(PgmemSession):
    """A session with the constructors and the private names of SQLAlchemySession."""

    _messages = None

    def __init__(
        self,
        session_id: str,
        *,
        engine: object = None,
        create_tables: bool = False,
        session_settings: Any = None,
    ) -> None:
        super().__init__(session_id, Here.sync_memory, session_settings=session_settings)

    @classmethod
    def from_url(cls, session_id: str, *, url: str, **options: Any) -> SQLAlchemyShape:
        return cls(session_id, **options)

    @property
    def engine(self) -> Any:
        return _engine("")

    async def _ensure_tables(self) -> None:
        """They are there."""

    @asynccontextmanager
    async def _session_factory(self) -> AsyncIterator[Any]:
        @asynccontextmanager
        async def begin() -> AsyncIterator[None]:
            yield

        yield SimpleNamespace(begin=begin, execute=_execute, commit=_nothing)


async def _execute(statement: Any, values: Mapping[str, str] | None = None) -> None:
    if isinstance(statement, str):
        assert values is not None
        assert "SET created_at" in statement
        run("update pgmem.node set created_at = %s where label = 'Message'", values["created_at"])
    else:
        for row in statement if isinstance(statement, list) else [statement]:
            add_corrupt(row["session_id"], row["message_data"])


def _insert(table: object) -> Any:
    return SimpleNamespace(values=lambda rows: rows)


def _engine(url: str) -> Any:
    return SimpleNamespace(dispose=_nothing)


async def _nothing() -> None:
    """Nothing is open."""


def add_corrupt(session_id: str, text: str) -> None:
    """A row that is not a message: a text instead of an object, which no verb takes."""
    run(
        "select pgmem.add_messages(%s, %s)",
        session_id,
        Jsonb([{"role": "user", "content": "is overwritten"}]),
    )
    run(
        "update pgmem.node set props = jsonb_set(props, '{value}', %s)"
        " where seq = (select max(seq) from pgmem.node where label = 'Message')",
        Jsonb(text),
    )


def run(statement: str, *values: object) -> None:
    with psycopg.connect(Here.dsn, autocommit=True) as connection:
        connection.execute(statement, values)

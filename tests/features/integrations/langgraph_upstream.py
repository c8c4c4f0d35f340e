"""The names that the tests of LangGraph's own PostgreSQL store import, by pgmem's store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from types import ModuleType, SimpleNamespace
from typing import Any

import psycopg

from pgmem.features.integrations.langgraph import PgmemStore
from pgmem.memory import Memory
from pgmem.sync import Memory as SyncMemory
from tests.features.integrations.upstream import load, stand_in

__all__ = ["AsyncShapes", "Here", "Shapes", "suite"]

TTL = {"default_ttl": 0.1, "refresh_on_read": True, "sweep_interval_minutes": 0.05}


class Here:
    """The database and the memories of the present test."""

    dsn: str
    sync_memory: SyncMemory
    memory: Memory


def suite(file: str) -> ModuleType:
    """A file of their tests; a change of their table is a change of the nodes of the items."""
    embeddings = load("langgraph-store", "embed_test_utils", {})
    common = {
        "DEFAULT_URI": "",
        "VECTOR_TYPES": ["vector"],
        "CharacterEmbeddings": embeddings.CharacterEmbeddings,
    }
    module = load(
        "langgraph-store",
        file,
        {
            "tests.conftest": stand_in("tests.conftest", **common),
            "langgraph.store.postgres": stand_in(
                "langgraph.store.postgres", PostgresStore=PgmemStore, AsyncPostgresStore=PgmemStore
            ),
            "langgraph.store.postgres.base": stand_in(
                "langgraph.store.postgres.base", _escape_like_literal=None, _namespace_match_pattern=None
            ),
            "langgraph.checkpoint.postgres": stand_in("langgraph.checkpoint.postgres", _ainternal=None),
        },
    )
    made = vars(module)
    if file == "test_store":
        made |= {"_expire_now": expire, "_row_exists": is_stored, "_stored_expires_at": expires_at}
        made |= {"_create_vector_store": vector_store, "time": SimpleNamespace(sleep=wait)}
    else:
        made |= {"_aexpire_now": later(expire), "_arow_exists": later(is_stored)}
        made |= {"_astored_expires_at": later(expires_at), "_create_vector_store": async_vector_store}
        made["asyncio"] = SimpleNamespace(**{**vars(asyncio), "sleep": later(wait)})
    return module


class Shapes(PgmemStore):
    """The names that their tests take from their own store besides those of BaseStore."""

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        yield SimpleNamespace(execute=set_updated)


class AsyncShapes(PgmemStore):
    """The same, to await."""

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[Any]:
        yield SimpleNamespace(execute=later(set_updated))

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:  # type: ignore[override]
        super().start_ttl_sweeper(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # type: ignore[override]
        return super().stop_ttl_sweeper(timeout)


def later(function: Any) -> Any:
    async def called(*args: Any) -> Any:
        return function(*args)

    return called


def index(distance: str, embeddings: Any, fields: list[str] | None) -> Any:
    return {"dims": embeddings.dims, "embed": embeddings, "distance_type": distance, "fields": fields}


@contextmanager
def vector_store(
    vector_type: str,
    distance_type: str,
    fake_embeddings: Any,
    text_fields: Any = None,
    enable_ttl: bool = True,
) -> Iterator[PgmemStore]:
    """Their type of column says nothing here: a vector is stored with all its digits."""
    yield Shapes(
        Here.sync_memory,
        index=index(distance_type, fake_embeddings, text_fields),
        ttl={"default_ttl": 2, "refresh_on_read": True} if enable_ttl else None,
    )


@asynccontextmanager
async def async_vector_store(
    vector_type: str, distance_type: str, fake_embeddings: Any, text_fields: Any = None
) -> AsyncIterator[PgmemStore]:
    yield AsyncShapes(Here.memory, index=index(distance_type, fake_embeddings, text_fields))


def run(statement: str, *values: object) -> Any:
    with psycopg.connect(Here.dsn, autocommit=True) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchone() if cursor.description else None


def wait(seconds: float) -> None:
    """Time passes: items expire so much earlier."""
    run("update pgmem.node set valid_to = valid_to - %s * interval '1 second' where label = 'Item'", seconds)


OF_ITEM = "label = 'Item' and key = pgmem.item_key(%s, %s)"


def expire(store: PgmemStore, namespace: tuple[str, ...], key: str) -> None:
    run(f"update pgmem.node set valid_to = now() - interval '1 minute' where {OF_ITEM}", list(namespace), key)


def is_stored(store: PgmemStore, namespace: tuple[str, ...], key: str) -> bool:
    return bool(run(f"select count(*) from pgmem.node where {OF_ITEM}", list(namespace), key)[0])


def expires_at(store: PgmemStore, namespace: tuple[str, ...], key: str) -> datetime:
    found: datetime = run(f"select valid_to from pgmem.node where {OF_ITEM}", list(namespace), key)[0]
    return found


def set_updated(statement: str, values: tuple[float, str, str]) -> None:
    seconds, namespace, key = values
    assert "UPDATE store SET updated_at" in statement
    run(
        f"update pgmem.node set updated_at = now() - %s * interval '1 second' where {OF_ITEM}",
        seconds,
        namespace.split("."),
        key,
    )

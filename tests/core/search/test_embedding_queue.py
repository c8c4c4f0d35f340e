"""A saved text is embedded once: with the save, or by a worker if the provider was away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from pgmem import InvalidArgument, Memory
from pgmem.database.database import Database
from pgmem.database.watch import Call
from pgmem.embeddings.static import StaticProvider
from pgmem.settings import load
from tests.conftest import output_of
from tests.core.embeddings.server import EmbeddingServer
from tests.core.search.conftest import Open, Table
from tests.fixtures.amounts import amount
from tests.servers.roots import PASSWORD
from tests.waiting import until

pytestmark = pytest.mark.anyio

TEXTS = [
    "plain words",
    "  outer blanks\t\n ",
    "inner   blanks\tand\n\nlines",
    "naïve café, Ünïcödé, ß and ﬁ",
    "e\u0301 beside é",
    "数据库 and emoji 👩‍💻🏳️‍🌈",
    "no-break\u00a0space, thin\u2009space, zero\u200bwidth",
    "\u2028line separator\u2029",
    "quotes ' \" \\ $tag$ {brace} %s",
    "lines that\r\nend as\r\non windows\r\n",
    "a bell\x07, an escape\x1b[31m, a delete\x7f",
    "x" * 5000,
]


@pytest.mark.usefixtures("vectors")
async def test_every_save_verb_is_embedded_with_the_save(with_provider: Open) -> None:
    memory = with_provider(StaticProvider())
    await memory.register_embedder()
    await memory.save_session("begin", "shop")
    for number, text in enumerate(TEXTS):
        short = f"{number} {text[:300]}"
        saved = {
            "session": await memory.save_session(short, "shop", [text, " "], [text], [], ["next " + text]),
            "decision": await memory.save_decision(
                f"{chr(97 + number) * 7} {short}", text, "shop", owner=text[:90]
            ),
            "pattern": await memory.save_pattern(short, [text, "", f" {text} "], "shop", [text]),
            "context": await memory.save_context(text, "shop"),
            "topic": await memory.save_context(text, "shop", topic=short),
            "entity": await memory.upsert_entity(f"entity {number}", text, "shop"),
        }
        kept = await memory.remember(
            "Problem" if number % 2 else "Concept",
            {
                "title" if number % 2 else "name": f" problem {number} ",
                "summary": text,
                "notes": f" {text}",
                "tags": ["one", text],
                "extra": text,
            },
            project_id="shop" if number % 3 else None,
        )
        assert kept.embedded, (number, text[:40])
        for kind, result in saved.items():
            assert (result.status, result.message) == ("saved", None), (kind, number)
            if result.dedup_outcome in (None, "new"):
                assert result.embedded, (kind, number, text[:40])
    (status,) = await memory.embedding_status()
    assert (status.waiting, status.active) == (0, True)


@pytest.mark.usefixtures("vectors")
async def test_a_label_with_its_own_text_fields_is_embedded_with_the_save(
    with_provider: Open, connection: psycopg.Connection[DictRow]
) -> None:
    memory = with_provider(Table({"bread": [1.0, 0.0]}))
    await memory.register_embedder()
    calls: list[str] = []
    memory.watch(lambda seen: calls.append(seen.verb) if isinstance(seen, Call) else None)
    # Made by another process, after this one has read the registry.
    labels = [
        {"name": "Recipe", "key_field": "title", "text_fields": ["steps", "minutes", "yield", "tags"]},
        {"name": "Motto", "key_field": "motto", "text_fields": ["why", "motto"]},
    ]
    connection.execute("select pgmem.init_schema(%s)", [Jsonb(labels)])
    saved = [
        await memory.remember("Recipe", properties)
        for properties in (
            {
                "title": " rye  bread ",
                "steps": ["mix", " bake\x07 ", ""],
                "minutes": 45,
                "summary": "not searched",
            },
            {
                "title": "white bread",
                "steps": " mix\tand bake\n",
                "minutes": 1e-7,
                "tags": [1.50, True, None, "é"],
            },
            {
                "title": "flat bread",
                "yield": {"loaves": 2, "gram": 1e22, "b": None, "to": ["a", 2.0]},
                "tags": [],
            },
            {"title": "no bread", "steps": "", "minutes": None, "yield": False},
        )
    ]
    saved.append(await memory.remember("Motto", {"motto": " Bread first ", "why": "hunger"}))
    assert [result.embedded for result in saved] == [True] * 5
    assert calls == ["describe_schema", *["remember"] * 5]


@pytest.mark.usefixtures("vectors")
async def test_a_save_on_a_connection_of_the_caller_reads_the_registry_once(
    with_provider: Open, dsn: str
) -> None:
    table = Table({"bread": [1.0, 0.0]})
    await with_provider(table).register_embedder()
    calls: list[str] = []
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        for name in ("Bread", "Butter"):
            memory = Memory.on(connection, embedder=table)
            memory.watch(lambda seen: calls.append(seen.verb) if isinstance(seen, Call) else None)
            assert (await memory.remember("Concept", {"name": name})).embedded
    assert calls == ["describe_schema", "remember", "remember"]


@pytest.mark.usefixtures("vectors")
async def test_a_provider_that_dies_among_saves_loses_none_and_reindex_completes_them(
    dsn: str, tmp_path: Path, provider_server: EmbeddingServer, connection: psycopg.Connection[DictRow]
) -> None:
    settings = load(
        dsn=dsn,
        data_dir=tmp_path,
        embedding_provider="openai",
        openai_base_url=f"{provider_server.url}/v1",
        embedding_model="test-model",
        embedding_dimensions=8,
        embedding_patience_s=2.0,
        prepare=True,
    )
    total, killed_at = amount(150, 500), amount(60, 200)
    embedded = 0
    async with Memory.connect(settings) as memory:
        await memory.save_session("begin", "shop")
        for number in range(total):
            if number == killed_at:
                provider_server.stop()
            result = await memory.save_context(f"memory number {number}", "shop", topic=f"n{number}")
            assert result.status == "saved"
            embedded += result.embedded
        assert embedded == killed_at
        found = await memory.search_memory(f"number {total - 1}", 1, "shop")
        assert [result.title for result in found.results] == [f"n{total - 1}"]
        assert found.search_mode.degraded
    # Another provider process takes over at another address; any worker completes the queue.
    with EmbeddingServer() as other:
        done = pgmem(dsn, tmp_path, other, "reindex", "--json")
        assert json.loads(done) == {"model": "openai:test-model", "embedded": total - killed_at, "waiting": 0}
        asked = Counter(text for request in other.requests for text in request.body["input"])
        assert set(asked.values()) == {1}
        assert json.loads(pgmem(dsn, tmp_path, other, "reindex", "--json"))["embedded"] == 0
    kept = connection.execute("select count(*) as n from pgmem.embedding").fetchone()
    assert kept == {"n": total + 1}  # and the session


def environment(dsn: str, folder: Path, server: EmbeddingServer) -> dict[str, str]:
    return {
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(folder),
        "EMBEDDING_PROVIDER": "openai",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "EMBEDDING_MODEL": "test-model",
        "EMBEDDING_DIMENSIONS": "8",
        "PGMEM_WORKER_INTERVAL_S": "0.05",
    }


def pgmem(dsn: str, folder: Path, server: EmbeddingServer, *arguments: str) -> str:
    return output_of(sys.executable, "-m", "pgmem", *arguments, **environment(dsn, folder, server))


@pytest.mark.usefixtures("vectors")
async def test_two_worker_processes_at_once_embed_each_text_once(
    store: str, tmp_path: Path, provider_server: EmbeddingServer, connection: psycopg.Connection[DictRow]
) -> None:
    total = 400
    connection.execute("select pgmem.register_model('openai:test-model', 8)")
    connection.execute("select pgmem.save_session(p_objective => 'begin', p_project_id => 'shop')")
    connection.execute(
        "select pgmem.save_context(p_content => 'text ' || i, p_project_id => 'shop')"
        " from generate_series(1, %s) i",
        (total,),
    )
    command = [sys.executable, "-m", "pgmem", "worker"]
    workers = [
        subprocess.Popen(
            command,
            env={**os.environ, **environment(store, tmp_path, provider_server)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for process in workers:  # both run, and know what SIGTERM asks of them
            assert process.stderr is not None
            assert process.stderr.readline().startswith("worker:")

        def all_stored() -> bool:
            assert [process.poll() for process in workers] == [None, None]
            row = connection.execute("select count(*) as n from pgmem.embedding").fetchone()
            return row is not None and row["n"] >= total + 1

        until(all_stored, connection, "the workers never finished")
    finally:
        for process in workers:
            process.send_signal(signal.SIGTERM)
        errors = [process.communicate(timeout=60)[1] for process in workers]
    assert [process.returncode for process in workers] == [0, 0], errors
    assert all("Traceback" not in text for text in errors), errors
    asked = Counter(text for request in provider_server.requests for text in request.body["input"])
    assert len(asked) == total + 1
    assert set(asked.values()) == {1}


@pytest.mark.usefixtures("vectors")
async def test_two_claims_share_no_text_and_a_dead_one_is_free_after_its_lease(
    connection: psycopg.Connection[DictRow], clock: Callable[[str], None], dsn: str
) -> None:
    clock("2026-01-01 12:00")
    connection.execute("select pgmem.register_model('test:two', 2)")
    connection.execute("select pgmem.save_session(p_objective => 'begin', p_project_id => 'shop')")
    connection.execute(
        "select pgmem.save_context(p_content => 'text ' || i, p_project_id => 'shop')"
        " from generate_series(1, 9) i"
    )
    claim = "select node_seq from pgmem.claim_embeddings('test:two', %s, 300)"

    def claimed(by: psycopg.Connection[Any], most: int) -> set[int]:
        return {row["node_seq"] for row in by.execute(claim, (most,)).fetchall()}

    from psycopg.rows import dict_row

    with psycopg.connect(dsn, row_factory=dict_row) as other:
        other.execute("select set_config('pgmem.now', '2026-01-01 12:00', false)")
        first = claimed(other, 4)  # its transaction is open: the rows are locked, not only leased
        second = claimed(connection, 100)
        assert (len(first), len(second)) == (4, 6)
        assert not first & second
        other.commit()
    assert claimed(connection, 100) == set()
    clock("2026-01-01 12:04:59")
    assert claimed(connection, 100) == set()
    clock("2026-01-01 12:05:01")
    assert claimed(connection, 100) == first | second


@pytest.mark.usefixtures("vectors")
async def test_a_text_that_changed_while_it_was_embedded_is_embedded_again(
    database: Database, connection: psycopg.Connection[DictRow]
) -> None:
    table = Table({"old fact": [1.0, 0.0], "new fact": [0.0, 1.0]})
    memory = Memory(database, table)
    await memory.register_embedder()
    await memory.save_session("begin", "shop")
    table.down = True
    await memory.upsert_entity("gateway", "old fact", "shop")
    table.down = False
    claimed = await database.rows("claim_embeddings", model=table.model)
    await memory.upsert_entity("gateway", "new fact", "shop")  # brings its own vector
    items = [
        {**{name: row[name] for name in ("node_seq", "text_hash")}, "vector": table.vector(row["text"])}
        for row in claimed
    ]
    assert await database.rows("store_vectors", model=table.model, items=items) == [{"store_vectors": 0}]
    await memory.embed_waiting()
    row = connection.execute(
        "select e.vector::text as vector from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq"
        " where n.label = 'EntityFact'"
    ).fetchone()
    assert row == {"vector": "[0,1]"}


@pytest.mark.usefixtures("superuser")
@pytest.mark.usefixtures("vectors")
async def test_a_worker_without_leave_for_all_tenants_is_given_the_texts_it_may_see(
    store: str, connection: psycopg.Connection[DictRow]
) -> None:
    connection.execute("select pgmem.register_model('test:two', 2)")
    for user in ("alice", "bob"):
        connection.execute(
            "select set_config('pgmem.org_id', 'acme', false), set_config('pgmem.user_id', %s, false)",
            (user,),
        )
        connection.execute(
            "select pgmem.save_session(p_objective => %s, p_project_id => 'shop')", (f"of {user}",)
        )
    name = "pgmem_test_bound_login"
    connection.execute(f"drop role if exists {name}".encode())
    connection.execute(f"create role {name} login password '{PASSWORD}'".encode())
    try:
        connection.execute(f"grant usage on schema pgmem to {name}".encode())
        connection.execute(f"grant execute on all functions in schema pgmem to {name}".encode())
        connection.execute("insert into pgmem.tenant_role values (%s, 'acme', 'bob')", (name,))
        with psycopg.connect(store, user=name, password=PASSWORD, autocommit=True) as bound:
            texts = [row[0] for row in bound.execute("select text from pgmem.claim_embeddings('test:two')")]
        assert texts == ["Session: of bob"]
    finally:
        connection.execute(f"drop owned by {name}".encode())
        connection.execute(f"drop role {name}".encode())


@pytest.mark.usefixtures("vectors")
async def test_models_are_kept_side_by_side_until_one_is_activated_and_the_other_dropped(
    with_provider: Open, connection: psycopg.Connection[DictRow]
) -> None:
    old = with_provider(Table({"stone": [1.0, 0.0]}, model="test:old"))
    await old.register_embedder()
    await old.save_session("begin", "shop")
    await old.save_context("stone", "shop", topic="stone")
    new = with_provider(Table({"stone": [0.0, 0.0, 1.0]}, model="test:new"))
    await new.register_embedder()
    assert await new.queue_embeddings() == 2
    assert await new.embed_waiting() == 2
    assert {row.model: (row.active, row.vectors) for row in await old.embedding_status()} == {
        "test:old": (True, 2),
        "test:new": (False, 2),
    }
    assert (await old.search_memory("stone")).search_mode.mode == "hybrid"
    assert (await new.search_memory("stone")).search_mode.degraded
    with pytest.raises(InvalidArgument, match="test:old is the active one; activate another first"):
        await old.drop_model("test:old")
    with pytest.raises(InvalidArgument, match=r"Unknown model 'test:none'\. Known: test:old, test:new"):
        await old.activate_model("test:none")
    await new.activate_model("test:new")
    assert (await new.search_memory("stone")).search_mode.mode == "hybrid"
    assert (await old.search_memory("stone")).search_mode.degraded
    assert await new.drop_model("test:old") == 2
    assert [row.model for row in await new.embedding_status()] == ["test:new"]
    saved = await new.save_context("another stone", "shop")
    assert saved.embedded


@pytest.mark.usefixtures("vectors")
async def test_many_tasks_that_embed_at_once_store_each_vector_once(
    with_provider: Open, connection: psycopg.Connection[DictRow]
) -> None:
    table = Table({"text": [1.0, 0.0]})
    memory = with_provider(table)
    await memory.register_embedder()
    connection.execute("select pgmem.save_session(p_objective => 'begin', p_project_id => 'shop')")
    connection.execute(
        "select pgmem.save_context(p_content => 'text ' || i, p_project_id => 'shop')"
        " from generate_series(1, 300) i"
    )
    stored: list[int] = []

    async def embed() -> None:
        stored.append(await memory.embed_waiting())

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(embed)
    assert sum(stored) == 301
    asked = [text for text in table.asked if text != "ok"]  # what register_embedder asks
    assert len(asked) == len(set(asked)) == 301


@pytest.mark.usefixtures("vectors")
async def test_a_batch_is_embedded_while_the_one_before_is_stored(
    dsn: str, plain: Memory, with_provider: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store of the first batch waits for a lock, which is let go when the second one is embedded."""
    monkeypatch.setattr("pgmem.worker.embedding._BATCH", 2)
    batches = 0

    class Watched(StaticProvider):
        async def _embed(self, texts: list[str]) -> list[list[float]]:
            nonlocal batches
            batches += 1
            if batches == 2:
                other.rollback()
            return await super()._embed(texts)

    await plain.save_session("begin", "shop")
    for number in range(3):
        await plain.save_context(f"Shelf {number} holds tea.", "shop")
    memory = with_provider(Watched())
    await memory.register_embedder()
    await memory.queue_embeddings()
    batches = 0
    with psycopg.connect(dsn) as other:
        other.execute("lock table pgmem.embedding in exclusive mode")
        with anyio.fail_after(20):
            stored = await memory.embed_waiting()
    (status,) = await memory.embedding_status()
    assert (stored, status.waiting) == (4, 0)

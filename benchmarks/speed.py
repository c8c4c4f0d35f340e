"""Speed, each figure beside a floor of the same run: the least that PostgreSQL needs for the task on this machine.

Floor and call alternate on one connection, so that other load affects both.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
from psycopg import sql

from benchmarks.cards import card_rows
from benchmarks.corpus import Corpus
from benchmarks.databases import PROJECT, Progress, connect_as, filled_database, unseen
from benchmarks.decay import decay_rows
from benchmarks.search import narrow_scope_rows, search_rows
from benchmarks.timing import Report, SpeedRow, interleaved, quantile, ratio_row
from pgmem.memory import Memory
from pgmem.programs import AGAIN
from pgmem.server.embedded import temporary_server
from pgmem.settings import load

_BULK_BATCH = 100
_BULK_AT_ONCE = 16
_RECENT = (
    "select id, label, key, title, props, scope, focus, created_at, updated_at, trust_level from pgmem.node"
    " where place = %s and tenant = %s and scope is not null and status in ('active', 'approved')"
    " and label <> 'Card'"
    " order by created_at desc, seq desc limit 25"
)
_WALK = (
    "with recursive walk(seq, depth) as ("
    "  select %s::bigint, 0"
    "  union all"
    "  select step.seq, w.depth + 1 from walk w cross join lateral ("
    "    select e.dst as seq from pgmem.edge e where e.src = w.seq"
    "    union all select e.src from pgmem.edge e where e.dst = w.seq) step"
    "  where w.depth < 2)"
    " select seq, min(depth) from walk group by seq"
)


@dataclass(frozen=True, kw_only=True)
class SpeedReport(Report[SpeedRow]):
    """The figures of a run, and the server that they are of."""

    tier: str
    server_version: str


async def run(
    dsn: str | None = None,
    *,
    sizes: Sequence[int] = (1_000, 100_000),
    quick: bool = False,
    progress: Progress = unseen,
) -> SpeedReport:
    """Run all speed benchmarks.

    Args:
        dsn: a server where databases can be created; None: an embedded one in a temporary directory.
        sizes: decisions in one project, for saving and retrieving; the last is compared with the first.
        quick: fewer rounds, a smaller graph and fewer tenants: a smoke test, not figures to quote.
        progress: called as the work advances.
    """
    rounds = 20 if quick else 400
    with temporary_server(dsn) as (dsn, folder):
        rows: list[SpeedRow] = []
        rows += await anyio.to_thread.run_sync(_saving_and_retrieving, dsn, sizes, rounds, progress)
        rows += await anyio.to_thread.run_sync(
            search_rows, dsn, (500,) if quick else (1_000, 10_000, 100_000), rounds, progress
        )
        tenants, each = (5, 100) if quick else (50, 2_000)
        rows += await anyio.to_thread.run_sync(narrow_scope_rows, dsn, tenants, each, rounds, progress)
        cards = (100, 1_000) if quick else (1_000, 100_000)
        rows += await anyio.to_thread.run_sync(card_rows, dsn, cards, rounds, progress)
        fades, batch = (100, 20) if quick else (20_000, 5_000)
        rows += await anyio.to_thread.run_sync(decay_rows, dsn, fades, batch, progress)
        found, tier, version = await anyio.to_thread.run_sync(
            _walking, dsn, 500 if quick else 20_000, rounds, progress
        )
        rows += found
        rows += await _bulk(dsn, folder, 200 if quick else 2_000, progress)
        rows += await _starts(folder / "start", 1 if quick else 3, progress)
    return SpeedReport(bench="speed", tier=tier, server_version=version, rows=rows)


class _Project:
    """One tenant's project in one database, and the calls that are timed."""

    def __init__(self, dsn: str, user: str = "") -> None:
        self.connection = connect_as(dsn, user)
        self._corpus = Corpus(f"measured {time.time_ns()}")
        found = self.connection.execute(
            "select seq::text, tenant from pgmem.node where label = 'Project' and key = %s and user_id = %s",
            (PROJECT, user),
        ).fetchone()
        assert found is not None
        self._place, self._tenant = found
        self._insert, self._row = self._floor_table()

    def __enter__(self) -> _Project:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def _floor_table(self) -> tuple[sql.Composed, list[object]]:
        """Create a table with the columns and the primary key of pgmem.node; an insert statement and its row."""
        self.connection.execute(
            "create table bench_floor (like pgmem.node including identity);"
            "alter table bench_floor add primary key (seq)"
        )
        columns = self.connection.execute(
            "select attname from pg_attribute where attrelid = 'bench_floor'::regclass and attnum > 1"
            " order by attnum"
        ).fetchall()
        names = sql.SQL(", ").join(sql.Identifier(str(name)) for (name,) in columns)
        as_text = sql.SQL(", ").join(
            sql.SQL("{}::text").format(sql.Identifier(str(name))) for (name,) in columns
        )
        row = self.connection.execute(
            sql.SQL("select {} from pgmem.node where label = 'Decision' limit 1").format(as_text)
        ).fetchone()
        assert row is not None
        values = sql.SQL(", ").join([sql.Placeholder()] * len(columns))
        return sql.SQL("insert into bench_floor ({}) values ({})").format(names, values), list(row)

    def insert_row(self) -> bool:
        self.connection.execute(self._insert, self._row)
        return True

    def save(self) -> bool:
        """A save; one that finds a near duplicate takes another path and is not counted."""
        answer = self.connection.execute(
            "select dedup_outcome from pgmem.save_decision(p_title => %s, p_rationale => %s,"
            " p_project_id => %s)",
            (self._corpus.title(), self._corpus.body(), PROJECT),
        ).fetchone()
        return answer == ("new",)

    def select_recent(self) -> bool:
        self.connection.execute(_RECENT, (self._place, self._tenant)).fetchall()
        return True

    def retrieve(self) -> bool:
        self.connection.execute("select * from pgmem.retrieve_context(%s, 'project')", (PROJECT,)).fetchall()
        return True


def _saving_and_retrieving(
    server: str, sizes: Sequence[int], rounds: int, progress: Progress
) -> list[SpeedRow]:
    with ExitStack() as stack:
        stores = [stack.enter_context(filled_database(server, size, progress=progress)) for size in sizes]
        projects = [stack.enter_context(_Project(dsn)) for dsn in stores]
        progress("saving and retrieving", 0, 2)
        reads = _by_size(sizes, projects, ("select_recent", "retrieve"), rounds)
        progress("saving and retrieving", 1, 2)
        writes = _by_size(sizes, projects, ("insert_row", "save"), rounds)
        progress("saving and retrieving", 2, 2)
    bars = [3, *[4] * (len(sizes) - 1)]
    return [
        *_rows(("save_decision", "one-row INSERT"), ("save", "insert_row"), sizes, writes, bars, 1.5),
        *_rows(
            ("retrieve_context", "SELECT of 25 rows"),
            ("retrieve", "select_recent"),
            sizes,
            reads,
            [3] * len(sizes),
            1.25,
        ),
    ]


def _rows(
    names: tuple[str, str],
    calls: tuple[str, str],
    sizes: Sequence[int],
    times: dict[str, list[float]],
    bars: Sequence[int],
    growth: float,
) -> list[SpeedRow]:
    """A call beside its floor at each size, and at the last size beside itself at the first."""
    (verb, floor), (call, least) = names, calls
    rows = [
        ratio_row(f"{verb} / {floor}", n, times[f"{call} {n}"], times[f"{least} {n}"], bar)
        for n, bar in zip(sizes, bars, strict=True)
    ]
    first, last = sizes[0], sizes[-1]
    if last != first:
        small, large = times[f"{call} {first}"], times[f"{call} {last}"]
        rows.append(ratio_row(f"{verb} / itself at {first}", last, large, small, growth))
    return rows


def _by_size(
    sizes: Sequence[int], projects: Sequence[_Project], calls: tuple[str, str], rounds: int
) -> dict[str, list[float]]:
    """The times of two methods on every project, by the name of the method and the size of the project."""
    return interleaved(
        {
            f"{name} {size}": getattr(project, name)
            for size, project in zip(sizes, projects, strict=True)
            for name in calls
        },
        rounds,
    )


def _walking(server: str, nodes: int, rounds: int, progress: Progress) -> tuple[list[SpeedRow], str, str]:
    with ExitStack() as stack:
        dsn = stack.enter_context(filled_database(server, nodes, edges=2 * nodes, progress=progress))
        connection = stack.enter_context(connect_as(dsn))
        found = connection.execute("select tier, server_version from pgmem.status()").fetchone()
        assert found is not None
        tier, version = (str(part) for part in found)
        starts = connection.execute(
            "select n.seq, n.id::text from pgmem.node n where n.label = 'Decision'"
            " and exists (select from pgmem.edge e where e.src = n.seq) order by n.seq limit 200"
        ).fetchall()
        turn = 0

        def walk() -> bool:
            connection.execute(_WALK, (starts[turn % len(starts)][0],)).fetchall()
            return True

        def neighbours() -> bool:
            nonlocal turn
            key = starts[turn % len(starts)][1]
            connection.execute("select * from pgmem.neighbours('Decision', %s, 2, 1000)", (key,)).fetchall()
            turn += 1
            return True

        progress("walking", 0, 2)
        times = interleaved({"walk": walk, "neighbours": neighbours}, rounds)
        rows = [
            ratio_row("neighbours, 2 hops / recursive CTE", nodes, times["neighbours"], times["walk"], 2.5)
        ]
        progress("walking", 1, 2)
        if "age" in _extensions(connection):
            cypher = _cypher(connection, str(starts[0][1]))
            rows.append(
                ratio_row(
                    "Cypher after a write, 2 hops / neighbours",
                    nodes,
                    cypher,
                    times["neighbours"],
                    at_least=100,
                )
            )
        progress("walking", 2, 2)
    return rows, tier, version


def _extensions(connection: psycopg.Connection[tuple[object, ...]]) -> set[str]:
    return {str(name) for (name,) in connection.execute("select extname from pg_extension").fetchall()}


def _cypher(connection: psycopg.Connection[tuple[object, ...]], start: str) -> list[float]:
    """Milliseconds of the walk in Cypher, each after a save: AGE reads the graph again after any write."""
    corpus = Corpus("cypher")
    times = []
    for _ in range(7):
        connection.execute(
            "select * from pgmem.save_decision(p_title => %s, p_rationale => %s, p_project_id => %s)",
            (corpus.title(), corpus.body(), PROJECT),
        )
        began = time.perf_counter()
        connection.execute(
            "select * from pgmem.run_cypher(%s)",
            (f"MATCH (a:Decision {{id: '{start}'}})-[:RELATED_TO*1..2]-(b) RETURN DISTINCT b.id AS id",),
        ).fetchall()
        times.append((time.perf_counter() - began) * 1000)
    return times[2:]


async def _bulk(server: str, folder: Path, facts: int, progress: Progress) -> list[SpeedRow]:
    """Facts per second of one process: many saves awaited at once, and one call for a hundred facts."""
    corpus = Corpus(f"bulk {time.time_ns()}")
    singly = [(corpus.title(), corpus.body()) for _ in range(facts)]
    batched = [{"title": corpus.title(), "rationale": corpus.body()} for _ in range(2 * facts)]
    rows = []
    with ExitStack() as stack:
        dsn = await anyio.to_thread.run_sync(
            stack.enter_context, filled_database(server, 1_000, progress=progress)
        )
        settings = load(dsn=dsn, data_dir=Path(folder), prepare=True, pool_size=8, EMBEDDING_PROVIDER="none")
        async with Memory.connect(settings) as memory:
            progress("bulk", 0, 3)
            times: list[float] = []
            waiting = iter(singly)

            async def save_some() -> None:
                for title, rationale in waiting:
                    began = time.perf_counter()
                    await memory.save_decision(title, rationale, PROJECT)
                    times.append((time.perf_counter() - began) * 1000)

            began = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                for _ in range(_BULK_AT_ONCE):
                    tasks.start_soon(save_some)
            rows.append(_bulk_row(f"save_decision, {_BULK_AT_ONCE} awaited at once", times, facts, began))
            progress("bulk", 1, 3)
            name = f"store_session_with_learnings, {_BULK_BATCH} decisions a call"
            began = time.perf_counter()
            rows.append(_bulk_row(name, await _by_the_hundred(memory, batched[:facts]), facts, began, 500))
            progress("bulk", 2, 3)
        settings = load(
            dsn=dsn, data_dir=Path(folder), prepare=True, pool_size=8, EMBEDDING_PROVIDER="static"
        )
        async with Memory.connect(settings) as memory:
            if await memory.register_embedder():
                began = time.perf_counter()
                times = await _by_the_hundred(memory, batched[facts:])
                await memory.embed_waiting()
                rows.append(_bulk_row("the same, and embedded with static", times, facts, began, 600))
            progress("bulk", 3, 3)
    return rows


async def _by_the_hundred(memory: Memory, decisions: Sequence[dict[str, str]]) -> list[float]:
    """Milliseconds of each call."""
    times = []
    for place in range(0, len(decisions), _BULK_BATCH):
        began = time.perf_counter()
        await memory.store_session_with_learnings(
            {"objective": "Write many."}, PROJECT, decisions=decisions[place : place + _BULK_BATCH]
        )
        times.append((time.perf_counter() - began) * 1000)
    return times


def _bulk_row(
    name: str, times: Sequence[float], facts: int, began: float, at_least: int | None = None
) -> SpeedRow:
    rate = round(facts / (time.perf_counter() - began), 1)
    return SpeedRow(
        name=name,
        n=facts,
        p50_ms=quantile(times, 0.5),
        p95_ms=quantile(times, 0.95),
        rate_per_s=rate,
        bar=f"≥ {at_least} a second" if at_least is not None else None,
        met=rate >= at_least if at_least is not None else None,
    )


async def _starts(folder: Path, repeats: int, progress: Progress) -> list[SpeedRow]:
    """Time from the start of `pgmem mcp` to its first answer: in an empty directory, then in the same one."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    environment = {name: value for name, value in os.environ.items() if not name.startswith("PGMEM_")}
    cold: list[float] = []
    warm: list[float] = []
    for number in range(repeats):
        given = {"PGMEM_DATA_DIR": str(folder / str(number)), "EMBEDDING_PROVIDER": "none"}
        parameters = StdioServerParameters(
            command=AGAIN[0], args=[*AGAIN[1:], "mcp"], env={**environment, **given}
        )
        for times in (cold, warm):
            progress("starting", 2 * number + (times is warm), 2 * repeats)
            began = time.perf_counter()
            async with Client(stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr)) as client:
                await client.call_tool("get_scope_state", {"project_id": PROJECT})
                times.append((time.perf_counter() - began) * 1000)
    progress("starting", 2 * repeats, 2 * repeats)
    return [
        SpeedRow(name=name, n=len(times), p50_ms=quantile(times, 0.5), p95_ms=quantile(times, 0.95))
        for name, times in (
            ("pgmem mcp, first answer in an empty directory", cold),
            ("pgmem mcp, first answer in the same again", warm),
        )
    ]

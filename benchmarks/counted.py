"""Function calls of a program, by function: they say what a call costs on a machine that does other things too.

Run as a file, so that the pgmem that PYTHONPATH names is counted: `counted.py library …` calls verbs and writes the
figures; `counted.py serve FILE` is `pgmem mcp`, which writes what it has counted at each SIGUSR1.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Call = Callable[[int], Awaitable[object]]

PROJECT = "counted"
WARM_CALLS = 10  # of one verb before it is counted: statements are prepared, files are read
_VERBS = (
    "save_decision",
    "upsert_entity",
    "store_session_with_learnings",
    "search_memory",
    "retrieve_context",
    "get_scope_state",
)
_PLACES = sorted(
    {sysconfig.get_path("purelib"), sysconfig.get_path("platstdlib"), sysconfig.get_path("stdlib")},
    key=len,
    reverse=True,
)


class Counts:
    """Counts the calls of Python functions, and those of functions in C apart from them."""

    def __init__(self) -> None:
        self.python: Counter[CodeType] = Counter()
        self.c = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Count an event of sys.setprofile."""
        if event == "call":
            self.python[frame.f_code] += 1
        elif event == "c_call":
            self.c += 1

    def by_name(self) -> dict[str, int]:
        """Return the calls by the names of the functions."""
        found: Counter[str] = Counter()
        for code, calls in self.python.items():
            found[_name(code)] += calls
        return dict(found)


def _name(code: CodeType) -> str:
    path = code.co_filename
    for place in (str(Path(sys.modules["pgmem"].__file__ or "").parent.parent), *_PLACES):
        if path.startswith(place):
            path = path[len(place) + 1 :]
            break
    return f"{path}:{code.co_qualname}"


def library(dsn: str, folder: str, rounds: int) -> dict[str, Any]:
    """Return the cost of calls of the library, each a call: functions of both sides, processor time of this thread."""
    import anyio

    return anyio.run(_library, dsn, folder, rounds)


async def _library(dsn: str, folder: str, rounds: int) -> dict[str, Any]:
    from pgmem.install import schema
    from pgmem.memory import Memory
    from pgmem.settings import load

    schema.upgrade(dsn)
    settings = load(dsn=dsn, data_dir=Path(folder), prepare=True, EMBEDDING_PROVIDER="static")
    async with Memory.connect(settings) as memory:
        await memory.register_embedder()
        await memory.save_session("Count.", PROJECT)
        for number in range(50):
            await memory.save_decision(*_decision("seed", number), PROJECT)
    found: dict[str, Any] = {}
    for verb in _VERBS:
        before = _functions(dsn)
        async with Memory.connect(settings) as memory:
            await memory.save_decision("Read what is long", "word " * 1_000, PROJECT)  # which loads the model
            found[verb] = await _counted(_calls(memory)[verb], rounds)
        # The server's counts are read when the connection has ended.
        calls = WARM_CALLS + 2 * rounds
        grown = {name: round((n - before.get(name, 0)) / calls, 2) for name, n in _functions(dsn).items()}
        found[verb] |= {
            "server": round(sum(grown.values()), 1),
            "sql_functions": {name: n for name, n in grown.items() if n >= 0.5},
        }
    return found


def _functions(dsn: str) -> dict[str, int]:
    """Calls of each function in the database since it was made."""
    import psycopg

    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select schemaname || '.' || funcname, sum(calls)::bigint from pg_stat_user_functions group by 1"
        ).fetchall()
    return {str(name): int(calls) for name, calls in rows}


def _decision(name: str, number: int) -> tuple[str, str]:
    words = "amber birch cedar delta ember fjord glade haven inlet jetty".split()
    title = f"{name} {words[number % 10]} {words[number // 10 % 10]} {number} keeps its queue in {words[number % 7]}"
    return title, f"It was measured: {title}, and {words[number % 3]} was slower by {number} percent."


def _calls(memory: Any) -> Mapping[str, Call]:
    async def batch(number: int) -> object:
        decisions = [
            dict(zip(("title", "rationale"), _decision(f"batch {number}", n), strict=True)) for n in range(10)
        ]
        return await memory.store_session_with_learnings(
            {"objective": f"Count {number}."}, PROJECT, decisions=decisions
        )

    return {
        "save_decision": lambda n: memory.save_decision(*_decision("counted", n), PROJECT),
        "upsert_entity": lambda n: memory.upsert_entity(f"thing {n}", f"It holds {n} of them.", PROJECT),
        "store_session_with_learnings": batch,
        "search_memory": lambda n: memory.search_memory(f"queue of amber {n % 10}", 10, PROJECT),
        "retrieve_context": lambda _: memory.retrieve_context(PROJECT),
        "get_scope_state": lambda _: memory.get_scope_state(PROJECT),
    }


async def _counted(call: Call, rounds: int) -> dict[str, Any]:
    for number in range(WARM_CALLS):
        await call(number)
    gc.collect()
    gc.disable()
    began = time.thread_time()
    for number in range(WARM_CALLS, WARM_CALLS + rounds):
        await call(number)
    cpu = time.thread_time() - began
    # The call with the fewest: how often a loop waits for an answer depends on the machine.
    fewest = Counts()
    for number in range(WARM_CALLS + rounds, WARM_CALLS + 2 * rounds):
        counts = Counts()
        sys.setprofile(counts)
        await call(number)
        sys.setprofile(None)
        if not fewest.python or counts.python.total() < fewest.python.total():
            fewest = counts
    gc.enable()
    return {
        "python": fewest.python.total(),
        "c": fewest.c,
        "cpu_ms": round(1000 * cpu / rounds, 3),
        "functions": fewest.by_name(),
    }


def serve(file: str) -> None:
    """Serve MCP over stdin and stdout; each SIGUSR1 writes the counts since the start to the file."""
    counts = Counts()

    def write(_number: int, _frame: FrameType | None) -> None:
        sys.setprofile(None)
        figures = {"python": counts.python.total(), "c": counts.c, "functions": counts.by_name()}
        draft = Path(f"{file}.draft")
        draft.write_text(json.dumps(figures), encoding="utf-8")
        draft.rename(file)
        sys.setprofile(counts)

    signal.signal(signal.SIGUSR1, write)
    from pgmem.__main__ import main

    sys.argv = ["pgmem", "mcp"]
    if os.environ.get("PGMEM_BENCH_COUNTS") != "off":
        threading.setprofile(counts)
        sys.setprofile(counts)
    main()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        _, _, dsn_, folder_, rounds_, out_ = sys.argv
        Path(out_).write_text(json.dumps(library(dsn_, folder_, int(rounds_))), encoding="utf-8")

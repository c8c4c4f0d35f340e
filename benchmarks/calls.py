"""The work of a call, in figures that load does not move: functions that client and server call.

Each tree of the code has a separate store, and a process in which nothing else runs. A recorded file holds the
figures of six verbs; more than 3 % more fails, with the names of the functions that grew.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from benchmarks.counted import PROJECT, WARM_CALLS
from benchmarks.databases import Progress, unseen
from benchmarks.other_trees import ROOT, exported
from benchmarks.served import request
from benchmarks.timing import Report

RECORDED = Path(__file__).with_name("calls.json")
MOST_GROWTH = 0.03
STEADY = ("save_decision", "upsert_entity", "search_memory")
"""Verbs whose calls in the client are compared: how often the others wait for an answer depends on the machine."""
_COUNTING = (sys.executable, "-P", str(Path(__file__).with_name("counted.py")))
_TOOLS = ("route_analysis", "save_decision", "search_memory")
"""Through the server: an answer without a database, which is the cost of the interface, a save and a search."""
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow:
    """The work of one call.

    Attributes:
        call: the verb, or the tool.
        interface: library or stdio.
        python: calls of Python functions in the process of pgmem.
        c: calls of functions in C from Python.
        cpu_ms: processor time of that process; moved a little by load.
        server: calls of functions in PostgreSQL; None over stdio.
        beside: share of the Python calls of the commit beside; None without one.
        beside_cpu: share of its processor time.
    """

    call: str
    interface: str
    python: float
    c: float
    cpu_ms: float
    server: float | None = None
    beside: float | None = None
    beside_cpu: float | None = None


def run(
    server: str, *, beside: str | None = None, rounds: int = 100, progress: Progress = unseen
) -> tuple[Report[WorkRow], dict[str, Any]]:
    """Count; returns the rows, and the figures of this tree as they are recorded.

    Args:
        server: the DSN of a server where databases can be created, as its superuser.
        beside: a commit to count as well.
        rounds: calls of each kind that are counted.
        progress: called as the work advances.
    """
    with tempfile.TemporaryDirectory(prefix="pgmem-bench-") as folder:
        trees = {"": ROOT}
        if beside is not None:
            trees[beside] = exported(beside, Path(folder) / "beside")
        found: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        for number, (name, tree) in enumerate(trees.items()):
            progress("counting", number, len(trees))
            found[name] = _of_tree(server, tree, Path(folder) / f"data{number}", rounds)
    rows = []
    for (interface, call), figures in found[""].items():
        other = found[beside].get((interface, call)) if beside is not None else None
        rows.append(
            WorkRow(
                call=call,
                interface=interface,
                python=figures["python"],
                c=figures["c"],
                cpu_ms=figures["cpu_ms"],
                server=figures.get("server"),
                beside=None if other is None else round(figures["python"] / other["python"], 2),
                beside_cpu=None if other is None else round(figures["cpu_ms"] / other["cpu_ms"], 2),
            )
        )
    kept = {call: figures for (interface, call), figures in found[""].items() if interface == "library"}
    return Report(bench="calls", rows=rows), {"python": _version(), "rounds": rounds, "verbs": kept}


def _version() -> str:
    return ".".join(platform.python_version_tuple()[:2])


def _of_tree(server: str, tree: Path, folder: Path, rounds: int) -> dict[tuple[str, str], dict[str, Any]]:
    folder.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PGMEM_")},
        "PYTHONPATH": str(tree),
    }
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with _database(server) as dsn:
        out = folder / "library.json"
        arguments = ["library", dsn, str(folder / "data"), str(rounds), str(out)]
        subprocess.run([*_COUNTING, *arguments], env=environment, check=True)
        figures: dict[str, Any]
        for verb, figures in json.loads(out.read_text(encoding="utf-8")).items():
            found["library", verb] = figures
        for tool, figures in _over_stdio(dsn, folder, environment, rounds).items():
            found["stdio", tool] = figures
    return found


@contextmanager
def _database(server: str) -> Iterator[str]:
    name = f"calls_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        connection.execute(
            sql.SQL("alter database {} set track_functions = 'all'").format(sql.Identifier(name))
        )
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _over_stdio(
    dsn: str, folder: Path, environment: Mapping[str, str], rounds: int
) -> dict[str, dict[str, Any]]:
    given = {
        **environment,
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(folder / "data"),
        "PGMEM_TOOLSETS": "all",
        "EMBEDDING_PROVIDER": "static",
        "PGMEM_WORKER_INTERVAL_S": "86400",  # a round of the worker would be counted with the calls
    }
    found: dict[str, dict[str, Any]] = {}
    for counts in ("off", "on"):
        file = folder / "stdio.json"
        with subprocess.Popen(
            [*_COUNTING, "serve", str(file)],
            env={**given, "PGMEM_BENCH_COUNTS": counts},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            pipe = _Pipe(process, file)
            pipe.begin()
            for tool in _TOOLS:
                for number in range(WARM_CALLS):
                    pipe.call(tool, f"{counts} warm {number}")
                before, cpu = pipe.counts(counts), pipe.cpu_s()
                for number in range(rounds):
                    pipe.call(tool, f"{counts} counted {number}")
                after = pipe.counts(counts)
                if counts == "off":
                    found[tool] = {"cpu_ms": round(1000 * (pipe.cpu_s() - cpu) / rounds, 3)}
                else:
                    found[tool] |= {
                        name: round((after[name] - before[name]) / rounds, 1) for name in ("python", "c")
                    }
            process.terminate()
    return found


class _Pipe:
    """A client over stdin and stdout of a server that counts."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self._process, self._file = process, file

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == message.get("id"):
                return answer
        raise RuntimeError("the server has ended")

    def begin(self) -> None:
        """Initialize the session."""
        given = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self._exchange({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": given})
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def call(self, tool: str, text: str) -> None:
        """Call a tool."""
        arguments = {
            "route_analysis": {"task_description": text},
            "save_decision": {"title": text, "rationale": f"Because of {text}.", "project_id": PROJECT},
            "search_memory": {"query": text, "project_id": PROJECT},
        }[tool]
        answer = self._exchange(request(tool, arguments))
        assert not answer["result"].get("isError"), answer

    def cpu_s(self) -> float:
        """Seconds of processor time that the server has used."""
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def counts(self, counting: str) -> dict[str, int]:
        """Return the function calls of the server until now; none of one that does not count."""
        if counting == "off":
            return {}
        self._file.unlink(missing_ok=True)
        self._process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + _PATIENCE_S
        while not self._file.exists() and time.monotonic() < until:
            time.sleep(0.02)
        figures: dict[str, int] = json.loads(self._file.read_text(encoding="utf-8"))
        return figures


def grown(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each verb whose work has grown by more than 3 %, with the functions that grew."""
    sentences = []
    for verb, figures in now["verbs"].items():
        recorded = then["verbs"].get(verb)
        if recorded is None:
            continue
        for side, total, by_name in (
            ("the client", "python", "functions"),
            ("the server", "server", "sql_functions"),
        ):
            before, after = recorded[total], figures[total]
            if after <= before * (1 + MOST_GROWTH) or (total == "python" and verb not in STEADY):
                continue
            more = {
                name: round(n - recorded[by_name].get(name, 0), 1) for name, n in figures[by_name].items()
            }
            names = sorted(filter(more.__getitem__, more), key=more.__getitem__, reverse=True)[:8]
            shown = ", ".join(f"{name} {more[name]:+g}" for name in names if more[name] > 0)
            sentences.append(
                f"{verb}: {before:g} function calls of {side} became {after:g}: {shown or 'each a little'}"
            )
    return sentences

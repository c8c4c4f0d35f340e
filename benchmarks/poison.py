"""OWASP Agent Memory Security Benchmark: writes that poison a memory and benign ones, read back in another session.

The scenarios, the harness and the score are those of the package agent-memory-guard (Apache 2.0,
github.com/OWASP/www-project-agent-memory-guard), which is not part of pgmem. The adapter saves a context under the key
as its topic, with the trust of an agent over MCP, and reads back what `retrieve_context` gives to another session of
the project. Each scenario has its own tenant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from benchmarks.databases import Progress, filled_database
from pgmem import Memory
from pgmem.errors import InvalidArgument
from pgmem.models import MemoryScope
from pgmem.server.embedded import temporary_server
from pgmem.settings import load


def measure(server: str | None, texts: Path | None, progress: Progress) -> dict[str, Any]:
    """Return {"attacks", "succeeded", "benign", "kept", "score", "grade", "runs", "texts", "alarms"}.

    A run is a scenario with its outcome; an alarm is [form, text] for a harmless text that would be held.

    Args:
        server: where databases can be created; None: a temporary embedded one.
        texts: harmless texts, one a line; None: none.
        progress: called as the work advances.

    Raises:
        InvalidArgument: agent-memory-guard is not installed.
    """
    with temporary_server(server) as (dsn, folder), filled_database(dsn, 10, progress=progress) as database:
        lines = texts.read_text(encoding="utf-8").splitlines() if texts is not None else []
        with psycopg.connect(database) as connection:
            kinds = connection.execute(
                "select pgmem.steering(t) from unnest(%s::text[]) t", (lines,)
            ).fetchall()
        alarms = [[kind, text] for (kind,), text in zip(kinds, lines, strict=True) if kind is not None]
        return {**graded(database, folder), "texts": len(lines), "alarms": alarms}


def graded(dsn: str, folder: Path) -> dict[str, Any]:
    """Return {"attacks", "succeeded", "benign", "kept", "score", "grade", "runs"} of the scenarios in a store.

    Raises:
        InvalidArgument: agent-memory-guard is not installed.
    """
    try:
        from agent_memory_guard.bench.harness import run_suite
        from agent_memory_guard.bench.scoring import score_report
    except ImportError:
        raise InvalidArgument(
            "The scenarios are of another project: pip install --no-deps agent-memory-guard"
        ) from None
    with asyncio.Runner() as runner:
        settings = load(dsn=dsn, data_dir=folder / "poison", embedding_provider="none")
        connecting = Memory.connect(settings, source="mcp")
        memory = runner.run(connecting.__aenter__())
        try:
            report = run_suite(lambda: _adapter(memory, runner.run))
        finally:
            runner.run(connecting.__aexit__(None, None, None))
    score = score_report(report)
    attacks = [run for run in report.runs if run.malicious]
    benign = [run for run in report.runs if not run.malicious]
    return {
        "attacks": len(attacks),
        "succeeded": sum(not run.passed for run in attacks),
        "benign": len(benign),
        "kept": sum(run.passed for run in benign),
        "score": score.score,
        "grade": score.grade.value,
        "runs": {run.scenario_id: f"{run.final_outcome}: {run.detail}" for run in report.runs},
    }


def _adapter(memory: Memory, wait: Callable[[Any], Any]) -> Any:
    from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome

    tenant = MemoryScope(user_id=uuid4().hex)

    class Adapter(MemorySystemAdapter):
        """pgmem as an agent over MCP uses it."""

        name = "pgmem"

        def __init__(self) -> None:
            self._memory = memory.acting_as(tenant)
            wait(self._memory.save_session("The first session", "shop"))

        def remember(self, key: str, value: Any, *, source_class: str = "external_tool") -> Any:  # noqa: ARG002
            """Save a context with the key as its topic."""
            saved = wait(self._memory.save_context(str(value), "shop", topic=key))
            outcomes = {"saved": RememberOutcome.STORED, "failed": RememberOutcome.QUARANTINED}
            return outcomes.get(saved.status, RememberOutcome.BLOCKED)

        def recall(self, key: str) -> str | None:
            """Everything that another session reads of the topic."""
            context = wait(self._memory.retrieve_context("shop"))
            found = [item for item in (*context.standing, *context.items) if item.title == key]
            nodes = [wait(self._memory.get_node("Context", str(item.id))) for item in found]
            return "\n".join(node.properties["content"] for node in nodes) or None

    return Adapter()

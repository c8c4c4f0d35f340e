"""A server that is away is found away once, and a call without need of a server asks none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic

import pytest

from pgmem import Memory
from pgmem.errors import DatabaseUnavailable
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import load
from tests.conftest import Call
from tests.fixtures.clusters import CopyTo
from tests.fixtures.places import roomy_place

pytestmark = [pytest.mark.anyio, pytest.mark.embedded]

_AT_ONCE_S = 1.5  # the probe takes half a second, and the machine may be busy


@pytest.fixture
def stopped(installed: CopyTo) -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """The DSN of a server of this test's own, how to stop it, and how to start it again."""
    folder = Path(mkdtemp(prefix="pgmem-away-", dir=roomy_place()))
    installed(folder)
    with EmbeddedServer(folder) as server:
        dsn = server.start()
        data = str(folder / "postgres")
        stop = partial(server._run, "pg_ctl", "stop", "-w", "-m", "immediate", "-D", data)
        yield dsn, stop, server.start
    rmtree(folder, ignore_errors=True)


async def test_a_stopped_server_is_found_away_once(
    stopped: tuple[str, Callable[[], object], Callable[[], object]], tmp_path: Path
) -> None:
    """Every call took five to ten seconds."""
    dsn, stop, start = stopped
    settings = load(dsn=dsn, data_dir=tmp_path, connect_timeout_s=3.0, embedding_provider="none")
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        stop()
        with pytest.raises(DatabaseUnavailable):
            await memory.get_scope_state("shop")
        began = monotonic()
        with pytest.raises(DatabaseUnavailable):
            await memory.get_scope_state("shop")
        assert monotonic() - began < _AT_ONCE_S
        began = monotonic()
        assert (await memory.save_context("kept", "shop")).status == "pending_retry"
        assert monotonic() - began < _AT_ONCE_S
        began = monotonic()
        assert (await memory.retrieve_context("shop", "project")).retrieval_status == "failed"
        assert monotonic() - began < _AT_ONCE_S
        began = monotonic()
        assert (await memory.route_analysis("Compare A versus B")).mode == "debate"
        assert monotonic() - began < _AT_ONCE_S
        start()
        state = await memory.get_scope_state("shop")  # the probe finds it
        assert state.project_exists


TASKS = [
    "Compare A versus B trade-off",
    "requirements are unclear",
    "Plan a strategic roadmap",
    "compare requirements",
    "advs rollout",
    "A vs. B",
    "the phased-out optional chooser",
    "What   do you\nmean by that?",
    "weigh the trade-offs",
    "ÜBERVS vsé",
    "a DECISION between\ttwo milestones",
    "",
]
HINTS = [None, "debate", "socratic", "sequential", "Strategic planning", "compare the unclear roadmap", "no"]


async def test_routing_without_a_server_is_the_routing_of_the_verb(memory: Memory, call: Call) -> None:
    """The rules are written in SQL, and Python answers the same."""
    for task in TASKS:
        for hint in HINTS:
            found = await memory.route_analysis(task, hint)
            verb = call("route_analysis", task_description=task, task_type_hint=hint)
            assert (found.mode, found.rationale, found.suggested_steps) == tuple(verb.values())

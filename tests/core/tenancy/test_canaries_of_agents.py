"""The attack of canaries.py where agents are: MCP and HTTP beside SQL and Python, on one store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Call
from tests.core.tenancy.canaries import AGENTS, TENANTS, attack

pytestmark = pytest.mark.anyio


async def test_no_canary_crosses_in_2800_calls_over_four_ways_in(
    dsn: str, tmp_path: Path, call: Call
) -> None:
    done = await attack(dsn, tmp_path, call, sql=90, python=45, mcp=90, http=90)
    assert done.calls == {"sql": 810, "python": 405, "mcp": 810, "http": 810}
    assert {(way, user) for way in ("sql", "python", "mcp", "http") for user in TENANTS} == done.saw_own
    by_agents = done.answered["mcp"] + done.answered["http"]
    assert {verb for verb in AGENTS if not by_agents[verb]} == set()

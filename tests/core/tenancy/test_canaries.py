"""The attack of canaries.py where people are: SQL and Python, with every verb that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Call
from tests.core.tenancy.canaries import PEOPLE, TENANTS, attack

NEVER_ANSWERED = {
    "apply_extraction",  # of an extraction that has begun, whose turns it quotes
    "manage_engineering_memory",  # its actions are verbs, which are asked by name
    *("get_review", "propose_change"),  # their answer is a save that waits for a person
    *("search_vectors", "store_node_vectors", "store_vectors"),  # this store has no model
}

pytestmark = pytest.mark.anyio


async def test_no_canary_crosses_in_two_thousand_calls_of_every_verb(
    dsn: str, tmp_path: Path, call: Call
) -> None:
    done = await attack(dsn, tmp_path, call, sql=200, python=40)
    assert done.calls == {"sql": 1_800, "python": 360}
    assert {(way, user) for way in ("sql", "python") for user in TENANTS} == done.saw_own
    # Whether a save waits when resolve_review is drawn, a card is there to archive, or two decisions are known is chance.
    assert len({verb for verb in PEOPLE if not done.answered["sql"][verb]}) <= 3


async def test_no_canary_crosses_by_any_other_verb_and_nothing_is_written_into_the_memory_of_others(
    dsn: str, tmp_path: Path, call: Call
) -> None:
    """Every verb that readers and writers have, with arguments that name rows of others; declared ones as well."""
    done = await attack(dsn, tmp_path, call, sql=80, every=200)
    assert done.calls == {"sql": 720, "every": 1800}
    unanswered = {verb for verb in done.declared if not done.answered["every"][verb]}
    # Who got which id first is chance, since all tenants call at once: a few verbs find nothing to answer with.
    assert len(unanswered - NEVER_ANSWERED) <= len(done.declared) // 10


@pytest.mark.long
async def test_no_canary_crosses_in_a_hundred_thousand_calls(dsn: str, tmp_path: Path, call: Call) -> None:
    done = await attack(dsn, tmp_path, call, sql=2900, python=290, mcp=90, http=55, rounds=10)
    assert done.calls.total() == 100_050

"""An exchange of a slow store, and one beside agents that go on saving: it sends nothing twice, and it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pgmem import Memory
from pgmem.features.feed import exchange as exchange_module
from pgmem.features.feed import peers
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.exchange import Exchange
from pgmem.features.feed.peers import StorePeer
from tests.features.feed.conftest import Pair
from tests.features.feed.test_sync import equal
from tests.features.feed.test_sync_past import executed, titles

pytestmark = pytest.mark.anyio


@pytest.mark.direct("it makes the tables of a store slow")
async def test_a_slow_store_is_sent_a_page_once(pair: Pair) -> None:
    """A change that waited for another transaction was sent and checked again each time, with all behind it."""
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, server.dsn)
    for number in range(200):
        await laptop.upsert_entity(f"Port {number}", str(number), project_id="shop")
    executed(
        server.dsn,
        "create function public.slowly() returns trigger language plpgsql as"
        " 'begin perform pg_sleep(0.011); return new; end'",
        "create trigger slowly before insert on pgmem.node for each row execute function public.slowly()",
    )
    sent: list[int] = []

    class Counting(StorePeer):
        def __init__(self, memory: Memory) -> None:
            super().__init__(memory)
            rows = memory.caller.database.rows

            async def counted(name: str, *given: Any, **options: Any) -> Any:
                if name == "apply_changes":
                    sent.append(len(json.loads(options["changes"])))
                return await rows(name, *given, **options)

            memory.caller.database.rows = counted  # type: ignore[method-assign, assignment]

    await Exchange(StorePeer(laptop)).with_store(Counting(server), "the server")
    assert 200 <= sum(sent) <= 300, sent
    equal(pair)


async def test_an_exchange_ends_while_agents_go_on_saving(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It followed them until they paused."""
    for module in (exchange_module, peers):
        monkeypatch.setattr(module, "PAGE", 3)
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, server.dsn)
    asked = 0

    class Busy(StorePeer):
        async def changes(self, after: str, without: str | None = None) -> dict[str, Any]:
            nonlocal asked
            asked += 1
            assert asked < 50, "the exchange does not end"
            for number in range(3):
                await laptop.save_context(f"note {asked} {number}", "shop")
            return await super().changes(after, without)

    for number in range(2):
        await laptop.save_decision(f"Choice{number} before it began", "It fits.", "shop")
        await Exchange(Busy(laptop)).with_store(StorePeer(server), "the server")
        assert f"Choice{number} before it began" in titles(server)
    for _ in range(2):
        await exchange(laptop, server.dsn)
    equal(pair)

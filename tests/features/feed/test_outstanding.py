"""A change refused in an exchange is kept, counted, and offered again until it is taken or a person dismisses it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem import InvalidArgument
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.exchange import Exchange
from pgmem.features.feed.peers import StorePeer
from pgmem.features.http.auth import http_app
from pgmem.models import Arrival
from pgmem.settings import Settings
from tests.core.cli.conftest import Run, run, surroundings
from tests.features.feed.conftest import Pair
from tests.features.feed.test_sync import equal
from tests.features.feed.test_sync_past import executed, titles
from tests.features.ui.serving import running
from tests.fixtures.verbs import Rows

__all__ = ["run", "surroundings"]

pytestmark = pytest.mark.anyio


class Refusing(StorePeer):
    """A store that refuses titles."""

    refused = "Pay by invoice"

    async def apply(self, changes: Sequence[dict[str, Any]], **options: Any) -> list[Arrival]:
        kept = [
            place
            for place, each in enumerate(changes, 1)
            if self.refused not in json.dumps(each, default=str)
        ]
        done = await super().apply([changes[place - 1] for place in kept], **options)
        arrivals = [Arrival(**{**vars_of(each), "place": kept[each.place - 1]}) for each in done]
        no = [Arrival(place=place, outcome="refused", id=None, title=None, reason="A person decides.")
              for place in range(1, len(changes) + 1) if place not in kept]  # fmt: skip
        return arrivals + no


def vars_of(arrival: Arrival) -> dict[str, Any]:
    return {name: getattr(arrival, name) for name in ("place", "outcome", "id", "title", "reason")}


async def test_what_the_other_store_refuses_is_offered_again_until_it_is_taken(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await laptop.save_decision("Ship on Monday", "It is quiet.", "shop")
    feeds = [(await memory.known_peer()).feed for memory in pair]
    for tries in (1, 2):
        done = await Exchange(StorePeer(laptop)).with_store(Refusing(server), "the server")
        (waiting,) = done.outstanding
        assert (waiting.direction, waiting.title, waiting.reason) == (
            "there",
            "Pay by invoice",
            "A person decides.",
        )
        assert waiting.tries >= tries
        assert [arrival.title for side, arrival in done.shown if side == "there"] == ["Pay by invoice"]
        assert (await server.known_peer(feeds[0])).pulled is None, "a cursor does not pass what was not done"
    assert titles(server) == {"Ship on Monday"}
    done = await exchange(laptop, server.dsn)
    assert done.outstanding == []
    assert str((await server.known_peer(feeds[0])).pulled).startswith(feeds[0])
    equal(pair)


async def test_what_comes_from_a_clock_that_is_ahead_waits_and_is_taken_in_time(pair: Pair) -> None:
    laptop, server = pair
    await server.save_session("open", "shop")
    await server.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    executed(
        server.dsn,
        "set session_replication_role = replica",
        "update pgmem.node set recorded_at = recorded_at + interval '1 day' where label in ('Project', 'Decision')",
    )
    done = await exchange(laptop, server.dsn)
    assert {"shop", "Pay by invoice"} <= {str(each.title) for each in done.outstanding}
    assert "still to come" in str([each.reason for each in done.outstanding])
    await server.save_decision("Ship on Monday", "It is quiet.", "shop")
    await exchange(laptop, server.dsn)
    assert titles(laptop) == set()
    # The day is over.
    executed(
        laptop.dsn,
        "update pgmem.outstanding o set change = jsonb_set(o.change, p.path, to_jsonb(now()))"
        " from (values ('{record,recorded_at}'::text[]), ('{recorded_at}')) p(path) where o.change #> p.path is not null",
    )
    done = await exchange(laptop, server.dsn)
    assert done.outstanding == []
    assert titles(laptop) == {"Pay by invoice", "Ship on Monday"}


def test_a_sync_ends_with_1_while_something_is_outstanding_and_a_person_dismisses_it(
    run: Run, rows: Rows, other_dsn: str, tmp_path: Path
) -> None:
    """A file of changes in which one line cannot be read."""
    assert run("save", "session", "open", "-p", "shop", "--dsn", other_dsn).exit_code == 0
    assert (
        run("save", "context", "BROKEN", "--topic", "notes", "-p", "shop", "--dsn", other_dsn).exit_code == 0
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run("sync", str(folder), "--dsn", other_dsn).exit_code == 0
    (file,) = folder.iterdir()
    file.write_text(file.read_text("utf-8").replace("BROKEN", "zero \\u0000"), "utf-8")
    for _ in range(2):
        done = run("sync", str(folder))
        assert done.exit_code == 1
        assert f"of {file.name}" in done.stdout
        assert (
            "1 change is outstanding and offered again at each sync: pgmem sync --outstanding" in done.stdout
        )
    listed = run("sync", "--outstanding")
    assert listed.exit_code == 0
    assert "refused here" in listed.stdout
    found = {
        row["check"]: row["message"]
        for row in json.loads(run("doctor", "--json").stdout)
        if "refused" in row["message"]
    }
    assert "1 change was refused" in found["sync"]
    assert run("sync", "--dismiss", "nothing").exit_code == 2
    (row,) = rows("select id::text from pgmem.outstanding")
    assert "1 change is not offered again" in run("sync", "--dismiss", row["id"]).stdout
    assert run("sync", str(folder)).exit_code == 0
    assert run("sync", "--dismiss", row["id"]).exit_code == 1
    assert run("sync").exit_code == 2


async def test_the_text_of_a_purged_memory_does_not_stay_in_what_is_outstanding(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.remember("Concept", {"name": "Pay by invoice", "notes": "secret"}, project_id="shop")
    await Exchange(StorePeer(laptop)).with_store(Refusing(server), "the server")
    assert "secret" in str(await laptop.list_outstanding())
    await laptop.forget("Concept", "Pay by invoice", purge=True)
    assert "secret" not in str(await laptop.list_outstanding())


def test_more_than_the_limit_ends_the_page_and_keeps_no_cursor(
    connection: psycopg.Connection[DictRow], shop: str
) -> None:
    connection.execute("update pgmem.setting set value = '3' where name = 'outstanding_limit'")
    page = json.dumps([{"type": "planet", "id": f"{number}"} for number in range(4)])
    with (
        pytest.raises(psycopg.Error, match="More than 3 changes .* are outstanding") as raised,
        connection.transaction(),
    ):
        connection.execute(
            "select * from pgmem.apply_changes(%s, '0123456789ab', p_cursor => 'x', p_keep => true)", (page,)
        )
    assert raised.value.sqlstate == InvalidArgument.sqlstate
    assert connection.execute("select count(*) as n from pgmem.peer").fetchone() == {"n": 0}


async def test_others_see_nothing_of_what_is_outstanding(pair: Pair) -> None:
    from pgmem.models import MemoryScope

    laptop, server = pair
    await laptop.save_session("Pay by invoice", "shop")
    await Exchange(StorePeer(laptop)).with_store(Refusing(server), "the server")
    assert await laptop.list_outstanding()
    bob = laptop.acting_as(MemoryScope(user_id="bob"))
    assert await bob.list_outstanding() == []
    assert await bob.dismiss_outstanding(all=True) == 0
    assert await laptop.list_outstanding()


def test_what_a_server_leaves_to_a_person_names_the_token_that_vouches(
    run: Run, other_dsn: str, tmp_path: Path
) -> None:
    with psycopg.connect(other_dsn, autocommit=True, row_factory=dict_row) as server:
        issued = server.execute(
            "select * from pgmem.issue_token('acme', 'ann', p_for_sync => true)"
        ).fetchone()
        assert issued is not None
        for name, value in (("org_id", "acme"), ("user_id", "ann"), ("source", "cli")):
            server.execute("select set_config(%s, %s, false)", (f"pgmem.{name}", value))
        server.execute("select pgmem.save_session('open', p_project_id => 'shop')")
        server.execute("select pgmem.upsert_entity('Payroll account', 'DE12', p_project_id => 'shop')")
    assert run("save", "session", "open", "-p", "shop").exit_code == 0
    assert run("save", "entity", "Payroll account", "DE00", "-p", "shop").exit_code == 0
    settings = Settings(dsn=other_dsn, data_dir=tmp_path, embedding_provider="none")
    with running(http_app(settings)) as address:
        done = run("sync", address, PGMEM_SYNC_TOKEN=str(issued["token"]))
    assert done.exit_code == 1, done.stderr
    assert "a person decides" in done.stdout
    assert "pgmem token issue --for sync --vouches" in done.stdout

"""A store that is restored, moved, set back, copied or late: all is compared, said in a line, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from typer.testing import Result

from pgmem import CursorLost, InvalidArgument, Memory
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.exchange import Exchange, Exchanged
from pgmem.features.feed.peers import StorePeer
from pgmem.models import MemoryScope
from tests.conftest import Call
from tests.core.cli.conftest import Run, alone
from tests.core.tenancy.test_http import token
from tests.features.feed.conftest import Pair
from tests.features.feed.test_sync import content, equal
from tests.fixtures.clusters import CopyTo
from tests.serving import serving

__all__ = ["alone", "token"]

pytestmark = pytest.mark.anyio
Sync = Callable[[], Awaitable[list[Exchanged]]]

COLUMNS = """
select c.relname as name, array_agg(a.attname order by a.attnum) as columns
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
  and a.attgenerated = '' group by 1
"""


class Snapshot:
    """The rows of a store at one moment, to which it is set back later as a restored disk is, identity and all."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        with psycopg.connect(dsn) as connection:
            self._tables = connection.execute(COLUMNS).fetchall()
            connection.execute("create schema before")
            for name, _ in self._tables:
                connection.execute(
                    sql.SQL("create table before.{0} as table pgmem.{0}").format(sql.Identifier(name))
                )

    def bring_back(self) -> None:
        with psycopg.connect(self._dsn) as connection:
            connection.execute("set session_replication_role = replica")
            for name, columns in self._tables:
                named = sql.SQL(", ").join(map(sql.Identifier, columns))
                connection.execute(sql.SQL("delete from pgmem.{}").format(sql.Identifier(name)))
                connection.execute(
                    sql.SQL(
                        "insert into pgmem.{0} ({1}) overriding system value select {1} from before.{0}"
                    ).format(sql.Identifier(name), named)
                )
            connection.execute(
                "select setval(pg_get_serial_sequence('pgmem.change', 'seq'), (select max(seq) from pgmem.change))"
            )


def executed(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def fault(kind: str, dsn: str) -> None:
    """Do an act of its operator or disk to a store."""
    match kind:
        case "restored":
            executed(dsn, "select pgmem.begin_feed()")
        case "dumped to another server":
            executed(dsn, "update pgmem.feed set system = 'another server'", "select pgmem.settle_feed()")
        case "pruned":
            executed(
                dsn,
                "update pgmem.setting set value = '0' where name = 'feed_rows'",
                "select pgmem.prune_feed(100000)",
                "update pgmem.setting set value = '1000000' where name = 'feed_rows'",
            )


def titles(memory: Memory, user: str = "") -> set[str]:
    return {row["title"] for row in content(memory.dsn, user)["nodes"] if row["label"] == "Decision"}


@pytest.fixture(params=["dsn", "http", "folder"])
async def way(
    request: pytest.FixtureRequest, pair: Pair, tmp_path: Path, token: Callable[..., str]
) -> AsyncIterator[tuple[Sync, Pair, str]]:
    """How two stores exchange, those who save in them, and the user of the first of them; `token` is of the first."""
    first, second = pair
    async with AsyncExitStack() as stack:
        if request.param == "http":
            address = await stack.enter_async_context(serving(first.dsn, tmp_path / "http"))
            secret = token("acme", "ann", for_sync=True)
            ann = first.acting_as(MemoryScope(org_id="acme", user_id="ann"), source="mcp")
            yield _runs((second, address, secret)), (ann, second), "ann"
        elif request.param == "dsn":
            yield _runs((second, first.dsn)), pair, ""
        else:
            place = tmp_path / "folder"
            place.mkdir()
            yield _runs(*((each, str(place)) for each in (second, first, second))), pair, ""


def _runs(*runs: tuple[Any, ...]) -> Sync:
    async def sync() -> list[Exchanged]:
        return [await exchange(*run) for run in runs]

    return sync


@pytest.mark.parametrize("kind", ["restored", "dumped to another server", "pruned", "set back"])
@pytest.mark.parametrize("place", [0, 1], ids=["there", "here"])
async def test_what_happens_to_a_store_costs_a_comparison_and_nothing_else(
    way: tuple[Sync, Pair, str], kind: str, place: int, tmp_path: Path
) -> None:
    sync, stores, user = way
    names = ("ours", "theirs")

    async def save(what: str) -> None:
        for memory, name in zip(stores, names, strict=True):
            await memory.save_decision(f"{what} {name}", "It is so.", "shop")

    for memory in stores:
        await memory.save_session("open", "shop")
    await save("Tea at breakfast of")
    await sync()
    struck = stores[place]
    snapshot = Snapshot(struck.dsn) if kind == "set back" else None
    await save("Invoices paid monthly by")
    await sync()
    await sync()
    if kind == "pruned":
        await save("Servers patched on Friday by")
    if snapshot is not None:
        snapshot.bring_back()
    else:
        fault(kind, struck.dsn)
    if kind != "pruned":
        await save("Servers patched on Friday by")
    try:
        done = await sync()
    except InvalidArgument as error:
        assert kind == "set back"
        assert "has the name of this store, which has not written it" in str(error)
        assert "pgmem init --new-feed" in str(error)
        executed(struck.dsn, "select pgmem.settle_feed(true)")
        done = await sync()
    reasons = [each.anew for each in done if each.anew]
    # A store with another identity is met for the first time, and so is one that its files in a folder know by it.
    if (kind in ("pruned", "set back") and not (tmp_path / "folder").exists()) or (
        place == 1 and kind != "set back"
    ):
        assert reasons, "said in a line"
    assert ": export" not in str(reasons)
    await sync()
    wanted = {
        f"{what} {name}"
        for what in ("Tea at breakfast of", "Invoices paid monthly by", "Servers patched on Friday by")
        for name in names
    }
    assert titles(stores[0], user) == titles(stores[1]) == wanted
    if not user:
        equal((stores[0], stores[1]))
    again = (await sync())[-1]
    assert again.anew is None
    assert set(+again.here) | set(+again.there) <= {"present"}


async def test_a_folder_then_a_store_and_back_again(pair: Pair, tmp_path: Path) -> None:
    laptop, server = pair
    for number, step in enumerate(("folder", "store", "folder", "store", "store")):
        for memory in pair:
            await memory.save_session(f"{number} {memory is laptop}", "shop")
        if step == "folder":
            for memory in (laptop, server, laptop):
                await exchange(memory, str(tmp_path))
        else:
            done = await exchange(laptop if number % 2 else server, (server if number % 2 else laptop).dsn)
            assert done.anew is None
        equal(pair)


async def test_what_a_folder_of_an_earlier_release_left_is_not_taken_for_a_cursor(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    feed = (await server.known_peer()).feed
    executed(
        laptop.dsn,
        "insert into pgmem.peer (tenant, name, pulled, synced_at)"
        f" select pgmem.tenant_of('', ''), '{feed}', '7', now()",
    )
    done = await exchange(laptop, server.dsn)
    assert done.anew == f"what is kept of {done_name(server)} is not a cursor of its feed"
    equal(pair)
    assert (await exchange(laptop, server.dsn)).anew is None


def done_name(memory: Memory) -> str:
    from pgmem.database.dsn import place

    return str(place(memory.dsn, "WITH") or "the other store")


async def test_a_store_that_an_earlier_release_left_stuck_goes_on(pair: Pair) -> None:
    """Cursors without a digest, and one of a feed that is no more, as a restore left them."""
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    await exchange(laptop, server.dsn)
    executed(
        laptop.dsn,
        "update pgmem.peer set pulled = regexp_replace(pulled, '[.][0-9a-f]{8}$', ''),"
        " pushed = '0123456789ab' || regexp_replace(substr(pushed, 13), '[.][0-9a-f]{8}$', '')",
    )
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await server.save_decision("Ship on Monday", "It is quiet.", "shop")
    done = await exchange(laptop, server.dsn)
    assert "of an earlier release" in str(done.anew)
    equal(pair)
    assert (await exchange(laptop, server.dsn)).anew is None


async def test_a_cursor_whose_number_was_given_to_another_change_is_lost(pair: Pair) -> None:
    laptop, _ = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, pair[1].dsn)
    cursor = (await laptop.known_peer((await pair[1].known_peer()).feed)).pushed
    await laptop.changes(cursor)
    executed(laptop.dsn, "update pgmem.change set id = gen_random_uuid()")
    with pytest.raises(CursorLost, match="another past of the store, which was set back"):
        await laptop.changes(cursor)


def test_what_others_erased_costs_a_reader_nothing(call: Call, connection: psycopg.Connection[Any]) -> None:
    call("save_session", objective="mine", project_id="shop")
    connection.execute("select set_config('pgmem.user_id', 'bob', true)")
    call("save_session", objective="of bob", project_id="shop")
    connection.execute("select set_config('pgmem.user_id', '', true)")
    cursor = call("changes", after="now")["cursor"]
    call("erase_subject", org_id="", user_id="bob", dry_run=False, by="ann")
    assert call("changes", after=cursor)["changes"] == []


async def test_what_arrives_with_an_old_time_is_kept_in_the_feed(
    pair: Pair, connection: psycopg.Connection[Any]
) -> None:
    """A memory of last year is a change of today."""
    laptop, server = pair
    await server.save_session("open", "shop")
    executed(
        server.dsn,
        "update pgmem.node set created_at = created_at - interval '1 year',"
        " recorded_at = recorded_at - interval '1 year', updated_at = updated_at - interval '1 year'"
        " where label <> 'GlobalScope'",
    )
    await exchange(server, laptop.dsn)
    assert connection.execute("select pgmem.prune_feed(1000)").fetchone() == {"prune_feed": 0}


async def test_two_stores_of_one_identity_are_named_with_the_way_out(pair: Pair) -> None:
    with pytest.raises(
        InvalidArgument, match=r"this store itself, or one of the two is a copy .* --new-feed"
    ):
        await exchange(pair[0], pair[0].dsn)


async def test_a_copy_in_a_folder_is_named_and_removes_nothing(pair: Pair, tmp_path: Path) -> None:
    """The same store in two data folders: the second has not written the files under its name."""
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, str(tmp_path))
    snapshot = Snapshot(laptop.dsn)
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await exchange(laptop, str(tmp_path))
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    snapshot.bring_back()
    await laptop.save_decision("Ship on Monday", "It is quiet.", "shop")
    with pytest.raises(
        InvalidArgument,
        match="the store was copied, or set back to an earlier state. Run pgmem init --new-feed",
    ):
        await exchange(laptop, str(tmp_path))
    executed(laptop.dsn, "select pgmem.settle_feed(true)")
    for memory in (laptop, server, laptop):
        await exchange(memory, str(tmp_path))
    equal(pair)
    assert titles(server) == {"Pay by invoice", "Ship on Monday"}
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


async def test_a_reader_of_a_folder_writes_only_what_did_not_come_from_it(pair: Pair, tmp_path: Path) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    for number in range(20):
        await laptop.upsert_entity(f"Port {number}", str(number), project_id="shop")
    await exchange(laptop, str(tmp_path))
    await server.save_session("there", "shop")
    await server.upsert_entity("Owner", "Ann", project_id="shop")
    await exchange(server, str(tmp_path))
    feed = (await server.known_peer()).feed
    (file,) = (path for path in tmp_path.iterdir() if path.name.startswith(feed))
    written = [json.loads(line) for line in file.read_text("utf-8").splitlines()[1:-1]]
    nodes = [each.get("record", each) for each in written if each.get("record", each)["type"] == "node"]
    assert not [each for each in nodes if str(each["title"]).startswith("Port")]
    await exchange(laptop, str(tmp_path))
    equal(pair)


@pytest.mark.embedded
def test_a_copy_of_a_data_folder_is_named_at_its_first_exchange_and_gets_an_identity(
    place: Path, installed: CopyTo, alone: Run
) -> None:
    """Neither was in the folder before, so no file there knows the one from the other."""
    first, second, folder = place / "first", place / "second", place / "exchanged"
    folder.mkdir()
    installed(first)

    def command(*arguments: str) -> Result:
        return alone(*arguments, PGMEM_DSN=None)

    saved = command("save", "session", "on the road", "-p", "shop", "--data-dir", str(first))
    assert saved.exit_code == 0, saved.stderr
    subprocess.run(["cp", "-a", str(first), str(second)], check=True)
    assert command("sync", str(folder), "--data-dir", str(first)).exit_code == 0
    refused = command("sync", str(folder), "--data-dir", str(second))
    assert refused.exit_code == 1
    assert "was copied from another data folder" in refused.stderr
    assert "pgmem init --new-feed" in refused.stderr
    assert command("init", "--new-feed", "--data-dir", str(second)).exit_code == 0
    saved = command("save", "context", "Said at the copy", "-p", "shop", "--data-dir", str(second))
    assert saved.exit_code == 0, saved.stderr
    for store in (second, first, second):
        done = command("sync", str(folder), "--data-dir", str(store))
        assert done.exit_code == 0, done.stderr
    assert len({path.name.partition("-")[0] for path in folder.glob("*.jsonl")}) == 2
    assert "Said at the copy" in command("list", "-p", "shop", "--data-dir", str(first)).stdout


@pytest.mark.parametrize("over", ["dsn", "http"])
async def test_a_store_that_was_set_back_while_something_is_outstanding_gets_back_what_it_lost(
    pair: Pair, tmp_path: Path, token: Callable[..., str], over: str
) -> None:
    """The other store keeps no cursor of refused changes, so that nothing showed the past that is no more."""
    server, laptop = pair  # the token is of the first
    async with AsyncExitStack() as stack:
        other, secret, user = server.dsn, None, ""
        if over == "http":
            other = await stack.enter_async_context(serving(server.dsn, tmp_path / "http"))
            secret, user = token("acme", "ann", for_sync=True), "ann"
        executed(server.dsn, *REFUSING)
        await laptop.save_session("open", "shop")
        await laptop.upsert_entity("Refused", "there", project_id="shop")
        done = await exchange(laptop, other, secret)
        assert {each.direction for each in done.outstanding} == {"there"}
        snapshot = Snapshot(laptop.dsn)
        await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
        await exchange(laptop, other, secret)
        assert titles(server, user) == {"Pay by invoice"}
        snapshot.bring_back()
        await laptop.save_decision("Ship on Monday", "It is quiet.", "shop")
        done = await exchange(laptop, other, secret)
        assert "set back" in str(done.anew)
        assert titles(server, user) == titles(laptop) == {"Pay by invoice", "Ship on Monday"}
        again = await exchange(laptop, other, secret)
        assert again.anew is None
        assert len(again.outstanding) == len(done.outstanding)


REFUSING = (
    "create function public.refuse() returns trigger language plpgsql as"
    " 'begin if new.title = ''Refused'' then raise exception using errcode = ''PM004'', message = ''A person decides.'';"
    " end if; return new; end'",
    "create trigger refuse before insert on pgmem.node for each row execute function public.refuse()",
)


async def test_a_store_that_lost_only_what_it_was_sent_is_sent_it_again(pair: Pair) -> None:
    """Its own changes are as old as the cursor that others keep of it."""
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, server.dsn)
    await exchange(laptop, server.dsn)
    snapshot = Snapshot(server.dsn)
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await exchange(laptop, server.dsn)
    assert titles(server) == {"Pay by invoice"}
    snapshot.bring_back()
    assert titles(server) == set()
    await exchange(laptop, server.dsn)
    assert titles(server) == {"Pay by invoice"}
    equal(pair)
    assert set(+(await exchange(laptop, server.dsn)).there) <= {"present"}


async def test_a_cursor_that_is_lost_while_it_is_used_is_said(pair: Pair) -> None:
    """The feed is pruned between the question whether the cursor holds and its use."""
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
    await exchange(laptop, server.dsn)
    await server.save_decision("Pay by invoice", "Firms ask for it.", "shop")

    class Pruned(StorePeer):
        async def reach(self, cursor: str) -> None:
            await super().reach(cursor)
            fault("pruned", server.dsn)

    done = await Exchange(StorePeer(laptop)).with_store(Pruned(server), "the server")
    assert "the changes of the server since the last exchange are kept no longer" in str(done.anew)
    assert titles(laptop) == {"Pay by invoice"}
    assert (await exchange(laptop, server.dsn)).anew is None

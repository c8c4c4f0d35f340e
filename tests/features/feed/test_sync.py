"""Two stores in step: changes of each side are on both, by the rules of a save."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import anyio.to_thread
import httpx2
import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem import InvalidArgument, Memory, NotPermitted
from pgmem.calls.methods import ReviewOutcome
from pgmem.features.feed.connecting import exchange
from pgmem.features.feed.exchange import Exchange, Exchanged
from pgmem.features.feed.peers import StorePeer
from pgmem.models import MemoryScope, PeerState
from pgmem.settings import Settings
from tests.conftest import Call, output_of
from tests.core.cli.conftest import surroundings
from tests.core.tenancy.test_http import token
from tests.features.feed.conftest import Pair
from tests.fixtures.verbs import unheld_changes
from tests.serving import Agent, serving

__all__ = ["surroundings", "token"]

pytestmark = pytest.mark.anyio


async def in_step(pair: Pair, **options: Any) -> Exchanged:
    return await exchange(pair[0], pair[1].dsn, **options)


async def through(folder: Path, pair: Pair) -> None:
    for memory in pair:
        await exchange(memory, str(folder))


CANONICAL = """
select n.label, n.key, n.title, n.props, n.status::text, n.scope::text, n.project, n.focus, n.trust_level,
       n.source, n.version, n.valid_from, n.valid_to, n.begins_at, n.created_at, n.updated_at, n.recorded_at,
       (select jsonb_agg(jsonb_build_array(v.version, v.title, v.key, v.props, v.status, v.trust_level, v.source,
          v.valid_from, v.valid_to, v.begins_at, v.ends_at, v.ingested_at, v.replaced_at, v.created_at) order by v.version)
        from pgmem.node_version v where v.node_seq = n.seq) as versions,
       least(n.id, (select min(i.id::text)::uuid from pgmem.imported i where i.node_seq = n.seq)) as id
from pgmem.node n where n.label not in ('GlobalScope', 'GovernanceToken') and n.user_id = %(user)s
"""
EDGES = """
with known as (select n.seq, least(n.id::text, (select min(i.id::text) from pgmem.imported i where i.node_seq = n.seq)) as id
               from pgmem.node n)
select e.rel, case when r.undirected then least(s.id, d.id) else s.id end as src,
       case when r.undirected then greatest(s.id, d.id) else d.id end as dst
from pgmem.edge e join pgmem.relation r on r.name = e.rel join known s on s.seq = e.src join known d on d.seq = e.dst
join pgmem.node n on n.seq = e.src
where n.user_id = %(user)s
order by 1, 2, 3
"""


def content(dsn: str, user: str = "") -> dict[str, Any]:
    """The contents of a store, with one id for each memory: the least of those that it is known by."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        rows = connection.execute(CANONICAL.encode(), {"user": user}).fetchall()
        return {
            "nodes": sorted(
                (json.loads(json.dumps(row, default=str)) for row in rows), key=lambda row: row["id"]
            ),
            "edges": [
                tuple(row.values()) for row in connection.execute(EDGES.encode(), {"user": user}).fetchall()
            ],
            "reviews": connection.execute(
                "select save_id::text, status::text from pgmem.save_attempt"
                " where dedup_outcome = 'manual_review' and user_id = %s order by 1",
                (user,),
            ).fetchall(),
        }


def equal(pair: Pair) -> None:
    here, there = (content(memory.dsn) for memory in pair)
    for part in here:
        assert here[part] == there[part], part


async def test_what_each_side_saved_is_on_both(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("on the road", "shop")
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await server.save_session("in the office", "shop")
    await server.remember("Concept", {"name": "Invoice", "notes": "Paper."}, project_id="shop")
    done = await in_step(pair)
    assert done.there["taken"] >= 2
    equal(pair)
    again = await in_step(pair)
    assert set(again.here) | set(again.there) <= {"present"}
    await server.relate("Concept", "Invoice", "RELATED_TO", "Decision", "Pay by invoice", project_id="shop")
    await laptop.forget("Concept", "Invoice")
    await in_step(pair)
    equal(pair)


async def test_states_that_are_reported_late_or_announced_hold_in_both_stores_when_they_hold(
    pair: Pair,
) -> None:
    laptop, server = pair

    async def pilots(memory: Memory) -> list[object]:
        days = (None, *(datetime(year, 1, 1, tzinfo=UTC) for year in (2005, 2020, 2091)))
        return [(await memory.get_node("Technology", "Pilot", as_of=day)).properties["notes"] for day in days]

    async def report(pilot: str, since: str, until: str | None = None) -> None:
        ends = datetime.fromisoformat(f"{until}T00:00Z") if until else None
        begins = datetime.fromisoformat(f"{since}T00:00Z")
        about = {"name": "Pilot", "notes": pilot}
        await laptop.remember("Technology", about, valid_from=begins, valid_to=ends)

    await report("Astrid", "2015-01-01")
    await in_step(pair)
    await report("Bjarne", "2001-01-01", "2009-12-31")
    await report("Cecilie", "2090-01-01")
    await in_step(pair)
    assert await pilots(server) == await pilots(laptop) == ["Astrid", "Bjarne", "Astrid", "Cecilie"]
    assert content(server.dsn) == content(laptop.dsn)


async def test_a_change_on_both_sides_keeps_both_states_and_the_later_stands(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.upsert_entity("Port", "5432", project_id="shop")
    await in_step(pair)
    await laptop.upsert_entity("Port", "5433", project_id="shop")
    await server.upsert_entity("Port", "5434", project_id="shop")
    done = await in_step(pair)
    assert done.here["conflict"] == 1
    assert [arrival.title for _, arrival in done.shown] == ["Port"]
    equal(pair)
    for memory in pair:
        found = content(memory.dsn)["nodes"]
        (port,) = [row for row in found if row["label"] == "EntityFact"]
        assert port["props"]["fact"] == "5434"
        assert [version[3]["fact"] for version in port["versions"]] == ["5432", "5433"]
    again = await in_step(pair)
    assert not again.shown


async def test_what_was_sent_is_not_read_back_but_what_others_made_of_it_is(pair: Pair, call: Call) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await laptop.upsert_entity("Port", "5432", project_id="shop")
    await laptop.relate("EntityFact", "Port", "RELATED_TO", "Decision", "Pay by invoice", project_id="shop")
    await in_step(pair)
    again = await in_step(pair)
    assert again.here + again.there == Counter()
    await laptop.upsert_entity("Port", "5433", project_id="shop")
    unheld_changes(call, after="now")  # what is still held would be sent by the next exchange

    class ChangedMeanwhile(StorePeer):
        async def changes(self, after: str, without: str | None = None) -> dict[str, Any]:
            page = await super().changes(after, without)
            if after != "now":
                await server.upsert_entity("Port", "5434", project_id="shop")
            return page

    done = await Exchange(StorePeer(laptop)).with_store(ChangedMeanwhile(server), "server")
    assert done.there["conflict"] == 1
    done = await in_step(pair)
    assert done.here["updated"] == 1
    equal(pair)
    again = await in_step(pair)
    assert again.here + again.there == Counter()


async def test_the_same_decision_on_both_sides_is_one_with_an_alias(pair: Pair) -> None:
    laptop, server = pair
    for memory in pair:
        await memory.save_session("open", "shop")
        await memory.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    await in_step(pair)
    equal(pair)
    for memory in pair:
        assert len([row for row in content(memory.dsn)["nodes"] if row["label"] == "Decision"]) == 1
    (mine,) = [row for row in content(laptop.dsn)["nodes"] if row["label"] == "Decision"]
    with psycopg.connect(server.dsn) as connection:
        known = connection.execute(
            "select 1 from pgmem.node where id = %s union select 1 from pgmem.imported where id = %s",
            (mine["id"], mine["id"]),
        ).fetchall()
    assert known


@pytest.mark.parametrize("outcome", ["supersede", "new", "drop"])
async def test_near_titles_of_two_sides_are_one_review_on_both_and_its_decision_holds_on_both(
    pair: Pair, outcome: ReviewOutcome
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await in_step(pair)
    await laptop.save_decision("Pay by invoice only", "Firms ask for it.", "shop")
    await server.save_decision("Pay by card only", "It is faster.", "shop")
    done = await in_step(pair)
    assert done.here["review"] == 1
    equal(pair)
    (review,) = await laptop.list_reviews()
    assert await server.list_reviews() == [review]
    assert (review.title, review.candidate_title) == ("Pay by card only", "Pay by invoice only")
    assert (await server.retry_save(review.save_id)).status == "failed", "an agent does not decide it"
    await server.admin.resolve_review(review.save_id, outcome, "ann")
    await in_step(pair)
    equal(pair)
    for memory in pair:
        assert await memory.list_reviews() == []
        found = content(memory.dsn)
        statuses = {row["title"]: row["status"] for row in found["nodes"] if row["label"] == "Decision"}
        earlier = "superseded" if outcome == "supersede" else "active"
        assert statuses == {"Pay by invoice only": earlier, "Pay by card only": "active"}
        joined = {"supersede": "SUPERSEDES", "new": "SIMILAR_TO", "drop": "CONFLICTS_WITH"}[outcome]
        assert joined in [edge[0] for edge in found["edges"]]


async def test_titles_of_two_sides_that_differ_in_a_number_conflict_and_those_of_two_things_do_not(
    pair: Pair,
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await in_step(pair)
    await laptop.save_decision("Use PostgreSQL 16 for storage", "It is installed.", "shop")
    await server.save_decision("Use PostgreSQL 17 for storage", "It is newer.", "shop")
    await laptop.save_decision("Keep invoices for ten years in the archive", "Law.", "shop")
    await server.save_decision("Keep receipts for ten years in the archive", "Law.", "shop")
    done = await in_step(pair)
    assert done.here["review"] == 1
    equal(pair)
    assert [edge[0] for edge in content(server.dsn)["edges"]] == ["CONFLICTS_WITH"]
    assert await server.list_reviews() == []


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("provider", ["static", "none"])
async def test_vectors_travel_where_both_stores_have_their_model(
    dsn: str, other_dsn: str, tmp_path: Path, provider: Literal["static", "none"]
) -> None:
    async with AsyncExitStack() as stack:
        opened = []
        for name, each, model in (("laptop", dsn, "static"), ("server", other_dsn, provider)):
            settings = Settings(dsn=each, data_dir=tmp_path / name, embedding_provider=model)
            opened.append(await stack.enter_async_context(Memory.connect(settings, source="cli")))
        laptop, server = opened
        await server.save_session("open", "shop")
        await laptop.save_session("open", "shop")
        await laptop.save_decision("Pay by invoice", "Firms ask for it.", "shop")
        await in_step((laptop, server))
    texts = "select text_hash, vector::text from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq where n.label = 'Decision'"
    with psycopg.connect(dsn) as here, psycopg.connect(other_dsn) as there:
        mine, theirs = (connection.execute(texts.encode()).fetchall() for connection in (here, there))
        assert len(mine) == 1
        assert theirs == (mine if provider == "static" else [])


async def test_a_purge_wins_over_a_later_change(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.remember("Concept", {"name": "Secret"}, project_id="shop")
    await in_step(pair)
    await server.forget("Concept", "Secret", purge=True)
    await laptop.remember("Concept", {"name": "Secret", "notes": "changed after it"}, project_id="shop")
    await in_step(pair)
    equal(pair)
    assert "Secret" not in str(content(laptop.dsn))
    assert "Secret" not in str(content(server.dsn))


async def test_a_review_and_its_decision_travel(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await laptop.save_decision("Pay by invoice only", "x", "shop")
    held = await laptop.save_decision("Pay by card only", "y", "shop")
    assert held.dedup_outcome == "manual_review"
    await in_step(pair)
    assert [review.save_id for review in await server.list_reviews()] == [held.save_id]
    assert held.save_id is not None
    await server.admin.resolve_review(held.save_id, "new", "ann")
    await in_step(pair)
    assert await laptop.list_reviews() == []
    equal(pair)


async def test_a_dry_run_changes_nothing(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    before = content(server.dsn)
    done = await in_step(pair, dry_run=True)
    assert done.there["taken"] >= 1
    assert content(server.dsn) == before
    await in_step(pair)
    equal(pair)


async def test_trust_is_not_raised_by_arrival(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    agent = laptop.acting_as(source="mcp")
    await agent.save_decision("Pay by invoice", "An agent proposes it.", "shop")
    await in_step(pair)
    (decision,) = [row for row in content(server.dsn)["nodes"] if row["label"] == "Decision"]
    assert (decision["trust_level"], decision["source"]) == (0.5, "mcp")


async def test_a_folder_that_another_program_copies_brings_two_stores_in_step(
    pair: Pair, tmp_path: Path
) -> None:
    laptop, server = pair
    folder = tmp_path / "shared"
    folder.mkdir()
    await laptop.save_session("open", "shop")
    await laptop.save_decision("Pay by invoice", "x", "shop")
    await server.save_session("open there", "shop")
    for _ in range(2):
        await through(folder, pair)
    equal(pair)
    files = len(list(folder.iterdir()))
    await through(folder, pair)
    assert len(list(folder.iterdir())) == files


async def test_stores_that_were_in_step_without_a_folder_go_on_with_one(pair: Pair, tmp_path: Path) -> None:
    await pair[0].save_session("open", "shop")
    await in_step(pair)
    await pair[0].save_session("closed", "shop")
    await through(tmp_path, pair)
    equal(pair)


async def test_a_file_that_is_not_whole_is_refused(pair: Pair, tmp_path: Path) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, str(tmp_path))
    (file,) = tmp_path.glob("*.jsonl")
    file.write_text("\n".join(file.read_text().splitlines()[:-1]))
    with pytest.raises(InvalidArgument, match="is not whole"):
        await exchange(server, str(tmp_path))


async def test_a_store_that_comes_too_late_to_a_folder_is_told_and_reads_all_of_it(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, server = pair
    monkeypatch.setattr("pgmem.features.feed.peers.SMALL_BYTES", 0)
    await laptop.save_session("open", "shop")
    await through(tmp_path, pair)
    equal(pair)
    for number in range(8):
        await laptop.upsert_entity("Port", f"a port of number {number} " + "x" * 2000, project_id="shop")
        await exchange(laptop, str(tmp_path))
    feed = (await laptop.known_peer()).feed
    written = [path for path in tmp_path.iterdir() if path.name.startswith(feed)]
    assert len(written) < 8, "earlier files are removed"
    await server.save_decision("Pay by invoice", "x", "shop")
    done = await exchange(server, str(tmp_path))
    assert done.anew
    await exchange(laptop, str(tmp_path))
    equal(pair)
    for memory in pair:
        assert not (await exchange(memory, str(tmp_path))).anew


async def test_a_file_that_is_missing_is_waited_for_and_written_again_if_it_was_removed(
    pair: Pair, tmp_path: Path
) -> None:
    laptop, server = pair
    folder = tmp_path / "shared"
    folder.mkdir()
    await laptop.save_session("open", "shop")
    await through(folder, pair)
    before = set(folder.iterdir())
    for number in range(2):
        await laptop.upsert_entity("Port", f"{number}", project_id="shop")
        await exchange(laptop, str(folder))
    missing = min(set(folder.iterdir()) - before)
    missing.rename(tmp_path / missing.name)
    with pytest.raises(InvalidArgument, match=r"00000002.jsonl is missing"):
        await exchange(server, str(folder))
    (tmp_path / missing.name).rename(missing)
    await exchange(server, str(folder))
    equal(pair)
    for path in folder.iterdir():
        path.unlink()
    await laptop.save_decision("Pay by invoice", "x", "shop")
    await through(folder, pair)
    equal(pair)


async def test_a_second_folder_gets_all_that_a_store_holds(pair: Pair, tmp_path: Path) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        await exchange(laptop, str(tmp_path / name))
        await laptop.upsert_entity("Port", name, project_id="shop")
    await exchange(laptop, str(tmp_path / "second"))
    await exchange(server, str(tmp_path / "second"))
    equal(pair)


async def test_a_server_over_http_with_a_token(
    pair: Pair, tmp_path: Path, connection: psycopg.Connection[DictRow], token: Callable[..., str]
) -> None:
    """Here `connection` and `token` are of the laptop's database, which serves."""
    laptop, other = pair
    secret = token("acme", "ann", for_sync=True)
    await other.save_session("open", "shop")
    await other.save_decision("Pay by invoice", "x" * 1000, "shop")
    async with serving(laptop.dsn, tmp_path / "http") as address:
        done = await exchange(other, address, secret)
        assert done.there["taken"] >= 3
        again = await exchange(other, address, secret)
        assert set(again.here) | set(again.there) <= {"present"}
        with pytest.raises(Exception, match="refuses the token"):
            await exchange(other, address, "pgmem_0")
    found = connection.execute(
        "select label, trust_level, user_id from pgmem.node where label = 'Decision'"
    ).fetchall()
    assert found == [{"label": "Decision", "trust_level": 0.5, "user_id": "ann"}]


async def test_a_review_of_near_titles_and_its_decision_leave_nothing_outstanding_over_http(
    pair: Pair, tmp_path: Path, token: Callable[..., str]
) -> None:
    served, other = pair
    ann = served.acting_as(MemoryScope(org_id="acme", user_id="ann"), source="mcp")
    secret = token("acme", "ann", for_sync=True)
    for memory, title in ((ann, "Pay by invoice only"), (other, "Pay by card only")):
        await memory.save_session("open", "shop")
        await memory.save_decision(title, "It is so.", "shop")
    async with serving(served.dsn, tmp_path / "http") as address:
        await exchange(other, address, secret)
        assert (await exchange(other, address, secret)).outstanding == []
        (review,) = await other.list_reviews()
        (same,) = await ann.list_reviews()
        assert (same.save_id, same.candidate_id, same.artifact_id) == (
            review.save_id,
            review.candidate_id,
            review.artifact_id,
        )
        await ann.admin.resolve_review(same.save_id, "new", "ann")
        await exchange(other, address, secret)
        assert await other.list_reviews() == []
        with psycopg.connect(other.dsn) as connection:
            connection.execute("delete from pgmem.peer")
        anew = await exchange(other, address, secret)
    assert (anew.outstanding, set(+anew.here) | set(+anew.there)) == ([], {"present"})


async def test_a_store_of_another_state_of_the_release_is_named_and_exchanges(pair: Pair) -> None:
    laptop, server = pair
    await laptop.save_session("on the road", "shop")
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("update pgmem.schema_version set digest = repeat('0', 64)")
        both = Exchange(StorePeer(laptop.acting_as(source="sync")))
        done = await both.with_store(StorePeer(server.acting_as(source="sync")), "the server")
    assert done.builds is not None
    assert "00000000" in done.builds
    assert done.there["taken"] >= 1


async def test_a_folder_of_another_state_of_the_release_is_named_and_read(pair: Pair, tmp_path: Path) -> None:
    laptop, server = pair
    await laptop.save_session("on the road", "shop")
    await exchange(laptop, str(tmp_path))
    (file,) = tmp_path.glob("*.jsonl")
    header, *lines = file.read_text().splitlines()
    assert json.loads(header)["build"] == (await laptop.status()).build
    file.write_text("\n".join([json.dumps({**json.loads(header), "build": "00000000"}), *lines]))
    done = await exchange(server, str(tmp_path))
    assert f"{file.name} is of another state of pgmem" in str(done.builds)
    assert done.here["taken"] >= 1


async def test_a_token_of_an_agent_or_a_person_exchanges_nothing(
    pair: Pair, tmp_path: Path, connection: psycopg.Connection[DictRow], token: Callable[..., str]
) -> None:
    """A token of an agent sent records past the rules of a save."""
    laptop, other = pair
    secret = token("acme", "ann")
    headers = {"authorization": f"Bearer {secret}", "accept": "application/json"}
    await other.save_session("open", "shop")
    async with (
        serving(laptop.dsn, tmp_path / "http") as address,
        httpx2.AsyncClient(base_url=address, headers=headers) as client,
    ):
        with pytest.raises(NotPermitted, match=r"separate kind of token.*pgmem token issue --for sync"):
            await exchange(other, address, secret)
        with pytest.raises(NotPermitted, match=r"refuses the token.*--for sync"):
            await exchange(other, address, token("acme", "ann", for_person=True))
        record = {"type": "node", "id": str(uuid4()), "label": "Context", "title": "Always obey"}
        assert (await client.post("/changes", json={"changes": [record]})).status_code == 403
        for query in ({"state": ""}, {"part": "memory"}):
            assert (await client.get("/changes", params=query)).status_code == 403
        assert (await client.get("/changes")).status_code == 200  # the feed is everybody's
    assert connection.execute("select from pgmem.node where label <> 'GlobalScope'").fetchall() == []


async def test_a_token_for_an_exchange_admits_neither_an_agent_nor_a_person(
    pair: Pair, tmp_path: Path, token: Callable[..., str]
) -> None:
    secret = token("acme", "ann", for_sync=True)
    async with (
        serving(pair[0].dsn, tmp_path / "http") as address,
        httpx2.AsyncClient(base_url=address) as client,
    ):
        answer = await Agent(address, secret).post("tools/list")
        assert (answer.status_code, "admits no agent" in answer.text) == (403, True)
        entered = await client.post("/ui/enter", data={"token": secret})
        assert entered.status_code != 303
        assert "set-cookie" not in entered.headers


@pytest.mark.parametrize(("vouches", "trust", "source"), [(False, 0.5, "mcp"), (True, 1.0, "cli")])
async def test_a_store_is_believed_about_who_wrote_as_far_as_its_token_vouches(
    pair: Pair,
    tmp_path: Path,
    connection: psycopg.Connection[DictRow],
    token: Callable[..., str],
    vouches: bool,
    trust: float,
    source: str,
) -> None:
    laptop, other = pair
    secret = token("acme", "ann", for_sync=True, vouches=vouches)
    person = other.acting_as(source="cli")
    await person.save_session("open", "shop")
    await person.save_decision("Pay by invoice", "Firms ask for it.", "shop")
    async with serving(laptop.dsn, tmp_path / "http") as address:
        await exchange(other, address, secret)
    found = connection.execute(
        "select trust_level, source from pgmem.node where label = 'Decision'"
    ).fetchall()
    assert found == [{"trust_level": trust, "source": source}]


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ({"release": "0.9.0"}, r"the server has pgmem 0\.9\.0 and this store .*: upgrade the older one"),
        ({"release": "0.0.1"}, r"the server has pgmem 0\.0\.1 and this store .*: upgrade the older one"),
        ({"hours": 1}, "The clock of the server is 60 minutes ahead of"),
        ({"hours": -1}, "The clock of the server is 60 minutes behind"),
    ],
    ids=["newer release", "older release", "clock ahead", "clock behind"],
)
async def test_a_peer_that_does_not_fit_is_refused_before_anything_is_changed(
    pair: Pair, differs: dict[str, Any], said: str
) -> None:
    laptop, server = pair

    class Unfit(StorePeer):
        async def state(self, peer: str | None = None) -> PeerState:
            found = await super().state(peer)
            at = found.at + timedelta(hours=differs.get("hours", 0))
            return replace(found, release=differs.get("release", found.release), at=at)

    await laptop.save_session("open", "shop")
    before = content(server.dsn)
    with pytest.raises(InvalidArgument, match=said):
        await Exchange(StorePeer(laptop)).with_store(Unfit(server), "the server")
    assert content(server.dsn) == before


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ({"pgmem_changes": 2, "release": "0.9.0"}, r"pgmem 0\.9\.0 in another format: upgrade the older"),
        ({"hours": 1}, "is 60 minutes ahead of the one here"),
    ],
    ids=["format", "clock"],
)
async def test_a_file_that_does_not_fit_is_refused(
    pair: Pair, tmp_path: Path, differs: dict[str, Any], said: str
) -> None:
    laptop, server = pair
    await laptop.save_session("open", "shop")
    await exchange(laptop, str(tmp_path))
    (file,) = tmp_path.glob("*.jsonl")
    header, *lines = file.read_text().splitlines()
    at = datetime.now(UTC) + timedelta(hours=differs.get("hours", 0))
    file.write_text("\n".join([json.dumps({**json.loads(header), "at": at.isoformat(), **differs}), *lines]))
    before = content(server.dsn)
    with pytest.raises(InvalidArgument, match=said):
        await exchange(server, str(tmp_path))
    assert content(server.dsn) == before


def test_a_record_of_the_future_or_of_another_release_is_refused_and_the_others_are_taken(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    call("save_session", objective="open", project_id="shop")
    call("remember", label="Concept", properties={"name": "Port"}, project_id="shop")
    record = json.loads(call("export_records", part="memory")["record"])
    late = {
        **record,
        "id": str(uuid4()),
        "key": "Late",
        "title": "Late",
        "recorded_at": "2999-01-01T00:00:00Z",
    }
    good = {**record, "id": str(uuid4()), "key": "Good", "title": "Good"}
    arrived = connection.execute(
        "select outcome, reason from pgmem.apply_changes(%s)",
        (json.dumps([{"type": "planet", "id": str(uuid4())}, late, good]),),
    ).fetchall()
    assert [each["outcome"] for each in arrived] == ["refused", "refused", "taken"]
    assert arrived[0]["reason"] == "Its type planet is not known to this release: upgrade pgmem."
    assert "still to come: set the clock right" in arrived[1]["reason"]


async def test_a_store_is_not_brought_in_step_with_itself(pair: Pair) -> None:
    with pytest.raises(InvalidArgument, match="this store itself"):
        await exchange(pair[0], pair[0].dsn)
    with pytest.raises(InvalidArgument, match="is not a folder"):
        await exchange(pair[0], "/no/such/folder")


async def test_the_worker_keeps_the_store_of_the_settings_in_step(
    pair: Pair, other_dsn: str, surroundings: dict[str, str | None]
) -> None:
    await pair[0].save_session("on the laptop", "shop")
    given = {name: value for name, value in surroundings.items() if value is not None}

    def worked() -> dict[str, int]:
        done = json.loads(output_of(sys.executable, "-m", "pgmem", "worker", "--once", "--json",
                                    **given, PGMEM_SYNC_WITH=other_dsn))  # fmt: skip
        return {name: count for name, count in done.items() if name.startswith("sync_")}

    assert (await anyio.to_thread.run_sync(worked))["sync_there_taken"] >= 2
    equal(pair)
    assert await anyio.to_thread.run_sync(worked) == {}

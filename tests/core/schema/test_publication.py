"""Tables under a publication, as a warehouse or a migration service makes one: verbs that delete and update rows go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from pgmem.server.embedded import EmbeddedServer
from tests.conftest import Call, caller
from tests.fixtures.clusters import CopyTo

WITHOUT_KEY = """
select c.oid::regclass::text as name from pg_class c
where c.relnamespace = any (array[to_regnamespace('pgmem'), to_regnamespace('pgmem_graph'), to_regnamespace('front')]::oid[])
  and c.relkind in ('r', 'p')
  and not exists (select from pg_index i where i.indrelid = c.oid
                  and case when c.relreplident = 'i' then i.indisreplident else i.indisprimary end
                  and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attgenerated <> ''
                                  and a.attnum = any (i.indkey::int2[])))
order by 1
"""
"""The tables whose rows a publication could not name: it leaves generated columns out."""


def test_every_table_has_a_key_by_which_a_publication_knows_its_rows(
    connection: psycopg.Connection[DictRow],
) -> None:
    made = connection.execute(
        "select count(*) as number from pg_class where relkind = 'r' and relnamespace = 'pgmem'::regnamespace"
    ).fetchone()
    assert made is not None
    assert made["number"] > 30
    assert connection.execute(WITHOUT_KEY).fetchall() == []


def test_an_edge_of_the_graph_that_has_no_key_gets_it_with_the_next_start(
    connection: psycopg.Connection[DictRow],
    age: None,
) -> None:
    connection.execute('alter table pgmem_graph."SUPERSEDES" replica identity default')
    assert [row["name"] for row in connection.execute(WITHOUT_KEY).fetchall()] == ['pgmem_graph."SUPERSEDES"']
    connection.execute("select pgmem.enable_graph()")
    assert connection.execute(WITHOUT_KEY).fetchall() == []


@pytest.fixture
def replicated(place: Path, installed: CopyTo) -> Iterator[psycopg.Connection[DictRow]]:
    """A store on a server with `wal_level = logical`."""
    installed(place)
    with EmbeddedServer(place) as server, psycopg.connect(server.start(), autocommit=True) as admin:
        admin.execute("alter system set wal_level = logical")
    with (
        EmbeddedServer(place) as server,
        psycopg.connect(server.start(), autocommit=True, row_factory=dict_row) as connection,
    ):
        assert connection.execute("show wal_level").fetchone() == {"wal_level": "logical"}
        yield connection


def forget(call: Call) -> None:
    saved = call("save_decision", title="The queue holds 30 messages", rationale="Law.", project_id="shop")
    assert call("forget", label="Decision", key=str(saved["artifact_id"]), project_id="shop")["title"]


def purge(call: Call) -> None:
    saved = call("save_decision", title="Invoices are kept ten years", rationale="Law.", project_id="shop")
    call("forget", label="Decision", key=str(saved["artifact_id"]), project_id="shop", purge=True)
    call("remember", label="Concept", properties={"name": "invoice"}, project_id="shop")
    call("forget", label="Concept", key="invoice", project_id="shop", purge=True)


def supersede(call: Call) -> None:
    arguments = {"project_id": "shop", "rationale": "Measured."}
    call("save_decision", title="Search uses the index of hashes for all texts", **arguments)
    again = call("save_decision", title="Search uses the index of hashes for all the texts", **arguments)
    assert (again["status"], again["dedup_outcome"]) == ("saved", "supersede")


def relate(call: Call) -> None:
    for name in ("cart", "till"):
        call("remember", label="Concept", properties={"name": name}, project_id="shop")
    ends = {"from_label": "Concept", "from_key": "cart", "to_label": "Concept", "to_key": "till"}
    call("relate", rel_type="RELATED_TO", project_id="shop", **ends)
    call("forget", label="Concept", key="till", project_id="shop", purge=True)


@pytest.mark.embedded
@pytest.mark.parametrize("tables", ["all tables", "tables in schema pgmem"])
def test_memories_are_forgotten_purged_and_superseded_under_a_publication(
    replicated: psycopg.Connection[DictRow], tables: str
) -> None:
    replicated.execute(f"create publication warehouse for {tables}".encode())
    call = caller(replicated)
    call("save_session", objective="Open the shop", project_id="shop")
    acts: list[Callable[[Call], None]] = [forget, purge, supersede, relate]
    for act in acts:
        act(call)

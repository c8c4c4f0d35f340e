"""A writer, bound to a tenant or to none, uses up or spoils the shared parts of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from pgmem import Memory
from pgmem.settings import Settings
from tests.conftest import Call
from tests.fixtures.amounts import amount
from tests.fixtures.verbs import Rows
from tests.security.conftest import Session, refused, value

IDENTITIES = "select last_value from pg_sequences where sequencename like 'embedding_model%'"


@pytest.mark.usefixtures("vectors")
def test_thirty_three_thousand_registrations_use_up_no_id(
    connection: Session, call: Call, nobody: Session
) -> None:
    """Every call of register_model used up one of 32 767 ids."""
    call("register_model", name="test:model", dimensions=3)
    before = value(connection, IDENTITIES)
    known = (
        "do $$ begin for i in 1 .. 33000 loop perform pgmem.register_model('test:model', 3); end loop; end $$"
    )
    nobody.execute(known.encode())
    with refused("PM006"):
        nobody.execute("select pgmem.register_model('squat:' || i, 1) from generate_series(1, 33000) i")
    assert value(connection, IDENTITIES) == before


@pytest.mark.usefixtures("vectors")
def test_a_tenant_cannot_take_the_name_of_a_model(
    connection: Session, call: Call, alice: Session, nobody: Session
) -> None:
    """Whoever registered a name first, with other dimensions, kept everybody else's vectors out."""
    for attacker, states in ((alice, ("PM004",)), (nobody, ("PM006",))):
        with refused(*states):
            attacker.execute("select pgmem.register_model('openai:text-embedding-4', 2)")
    assert call("register_model", name="openai:text-embedding-4", dimensions=1536)["dimensions"] == 1536


@pytest.mark.usefixtures("vectors")
def test_a_wrong_number_of_dimensions_uses_up_no_id(connection: Session, call: Call, rows: Rows) -> None:
    """A refused registration burned an id, too."""
    call("register_model", name="test:model", dimensions=3)
    before = value(connection, IDENTITIES)
    for dimensions in (2, 0, 4001, -1):
        with refused("PM001"):
            call("register_model", name="test:model", dimensions=dimensions)
        with refused("PM001"):
            call("register_model", name=" ", dimensions=dimensions)
    assert value(connection, IDENTITIES) == before


@pytest.mark.anyio
@pytest.mark.usefixtures("vectors")
async def test_starts_use_up_no_id(
    connection: Session, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each `pgmem status` used up an id."""
    monkeypatch.setenv("EMBEDDING_PROVIDER", "static")
    async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path, prepare=True)) as memory:
        assert await memory.register_embedder()
        before = value(connection, IDENTITIES)
        for _ in range(amount(100, 1000)):
            assert await memory.register_embedder()
    assert value(connection, IDENTITIES) == before


# Work is bounded by what is given


def buffers(connection: Session, query: str, *parameters: object) -> int:
    """How many buffers a statement touches."""
    plan = connection.execute(
        f"explain (analyze, buffers, format json) {query}".encode(), parameters
    ).fetchone()
    assert plan is not None
    top = plan["QUERY PLAN"][0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"] + top["Temp Written Blocks"])


def test_a_pattern_costs_no_more_than_its_steps(connection: Session, shop: str) -> None:
    """The cost of save_pattern grew faster than its arguments."""
    query = (
        "select * from pgmem.save_pattern('when ' || %s::text,"
        " array(select format('step %%s of %%s', i, %s::text) from generate_series(1, %s) i), 'shop')"
    )
    buffers(connection, query, "warm", "warm", 10)
    # One save in 64 counts words, too: the least of two saves is one that does not.
    few, many = (
        min(buffers(connection, query, f"{count} {turn}", f"{count} {turn}", count) for turn in "ab")
        for count in (500, 2000)
    )
    assert many < 6 * few


def test_remember_costs_no_more_than_its_relations(connection: Session, call: Call, shop: str) -> None:
    """1 000, 2 000 and 4 000 relations took 0.7, 1.8 and 6.0 s."""
    query = (
        "select * from pgmem.remember('Technology', jsonb_build_object('name', 'tool ' || %s), jsonb_build_object('USES',"
        " (select jsonb_agg('part ' || i || ' of ' || %s) from generate_series(1, %s) i)), p_project_id => 'shop')"
    )
    buffers(connection, query, "warm", "warm", amount(200, 800))  # the indexes have their depth
    few, many = (
        buffers(connection, query, count, count, count) for count in (amount(50, 200), amount(200, 800))
    )
    assert many < 6 * few


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        (
            "save_pattern",
            {"trigger": "t", "repeatable_steps": ["s"] * 2001},
            "repeatable_steps has 2001 items; send at most 2000",
        ),
        (
            "save_session",
            {"objective": "o", "open_items": ["s"] * 2001},
            "open_items has 2001 items; send at most 2000",
        ),
        (
            "upsert_entity",
            {"entity_name": "e", "fact": "f", "related_entities": [{"entity_name": "x"}] * 1001},
            "related_entities has 1001 items; send at most 1000",
        ),
        (
            "remember",
            {"label": "Technology", "properties": {"name": "n"}, "relations": {"USES": ["x"] * 1001}},
            "relations has 1001 items; send at most 1000",
        ),
        (
            "store_session_with_learnings",
            {"session": {"objective": "o"}, "decisions": [{"title": "t", "rationale": "r"}] * 2001},
            "A batch has 2001 items; send at most 2000",
        ),
        (
            "remember",
            {"label": "Technology", "properties": {"name": "n"} | {f"p{i}": "x" * 50_000 for i in range(90)}},
            "characters together; send at most 4000000",
        ),
        (
            "save_pattern",
            {"trigger": "t", "repeatable_steps": ["x" * 50_000] * 90},
            "characters together; send at most 4000000",
        ),
    ],
)
def test_what_is_too_much_is_refused_by_name(
    connection: Session, call: Call, shop: str, verb: str, arguments: dict[str, object], message: str
) -> None:
    """Arrays, texts and relations had no limit but the size of a request."""
    with pytest.raises(psycopg.Error, match=message) as caught:
        call(verb, project_id=shop, **arguments)
    assert caught.value.sqlstate == "PM001"


# The graph


def test_the_graph_around_a_memory_is_walked_once(connection: Session, call: Call, shop: str) -> None:
    """80 nodes and 1 600 edges at 5 hops were cancelled after 20 s, and wrote gigabytes of temporary files."""
    for number in range(80):
        call("remember", label="Concept", properties={"name": f"c{number}"}, project_id=shop)
    connection.execute(
        b"with c as (select n.seq, row_number() over (order by n.seq) as place from pgmem.node n where n.label = 'Concept')"
        b" insert into pgmem.edge (src, rel, dst, created_at)"
        b" select a.seq, 'RELATED_TO', b.seq, now() from c a, c b where (b.place - a.place + 80) % 80 between 1 and 20"
    )
    assert value(connection, "select count(*) from pgmem.edge") == 1600
    found = connection.execute("select * from pgmem.neighbours('Concept', 'c0', 5, 1000)").fetchall()
    assert len(found) == 79
    touched = [
        buffers(connection, "select * from pgmem.neighbours('Concept', 'c0', %s, 1000)", hops)
        for hops in (2, 3, 4, 5)
    ]
    # Each node once, with its edges: the walk is over after a few hops, and a further one costs nothing.
    assert touched[-1] < 2 * touched[0] + 10_000
    took = []
    for _ in range(5):
        began = perf_counter()
        connection.execute("select count(*) from pgmem.neighbours('Concept', 'c0', 5, 1000)")
        took.append(perf_counter() - began)
    print(f"neighbours of 80 nodes and 1 600 edges, 5 hops: {1000 * min(took):.0f} ms")
    assert min(took) < 1  # 15 ms on a quiet machine; it was more than 20 s


def test_a_walk_reads_no_more_edges_than_its_budget(
    connection: Session, call: Call, rows: Rows, shop: str
) -> None:
    """A call of neighbours has a budget of rows."""
    names = [f"leaf {i}" for i in range(300)]
    call(
        "remember",
        label="Concept",
        properties={"name": "hub"},
        relations={"RELATED_TO": names},
        project_id=shop,
    )
    rows("select * from pgmem.set_setting('neighbours_row_limit', '100')")
    assert len(rows("select * from pgmem.neighbours('Concept', 'hub', 5, 1000)")) == 100


# Limits of a bound login


def test_a_bound_login_has_limits(connection: Session, alice: Session, rows: Rows) -> None:
    """Statement_timeout was 0 and temp_file_limit -1 for a bound login."""
    for name, limit in (
        ("statement_timeout", "1min"),
        ("idle_in_transaction_session_timeout", "1min"),
        ("temp_file_limit", "1GB"),
    ):
        assert value(alice, f"show {name}") == limit
    with refused("42501"):
        alice.execute("set temp_file_limit = -1")
    role = alice.info.user
    limit = "select rolconnlimit from pg_roles where rolname = %s"
    assert value(connection, limit, role) == 20
    with refused("42501"):
        alice.execute(f"alter role {role} connection limit -1".encode())
    assert rows("select unlimited from pgmem.bind_role(%s)", role) == [{"unlimited": []}]
    assert value(connection, limit, role) == -1


# Vectors and statistics


@pytest.fixture
def vectors_of(connection: Session, call: Call, vectors: None) -> Callable[[str], DictRow]:
    """`vectors_of("carol")`: a queued text of a tenant, under the model test:two."""
    call("register_model", name="test:two", dimensions=2)

    def queue(user: str) -> DictRow:
        row = connection.execute(
            "insert into pgmem.embedding_queue (node_seq, model_id) select n.seq, m.id from pgmem.node n,"
            " pgmem.embedding_model m where n.label = 'Decision' and n.user_id = %s"
            " on conflict (model_id, node_seq) do update set node_seq = excluded.node_seq returning node_seq",
            (user,),
        ).fetchone()
        assert row is not None
        text = connection.execute(
            "select n.seq as node_seq, n.id, encode(sha256(convert_to(pgmem.embedding_text(n.label, n.title, n.props),"
            " 'UTF8')), 'hex') as text_hash from pgmem.node n where n.seq = %s",
            (row["node_seq"],),
        ).fetchone()
        assert text is not None
        return text

    return queue


def test_a_vector_of_others_is_not_overwritten(
    connection: Session, call: Call, alice: Session, nobody: Session, vectors_of: Callable[[str], DictRow]
) -> None:
    """Alice overwrote the vector of a public memory, and nobody1 could too."""
    carols = vectors_of("carol")
    public = connection.execute(
        "insert into pgmem.node (label, key, title, props, source, trust_level, scope_key, tsv, text_config,"
        " created_at, updated_at, recorded_at) values ('Concept', 'p', 'p', '{}', 'sql', 0.5, 1, '', 'english',"
        " now(), now(), now()) returning seq as node_seq, encode(sha256(convert_to(pgmem.embedding_text('Concept',"
        " 'p', '{}'), 'UTF8')), 'hex') as text_hash"
    ).fetchone()
    assert public is not None
    for victim in (carols, public):
        items = Jsonb([{"node_seq": victim["node_seq"], "text_hash": victim["text_hash"], "vector": [1, 1]}])
        assert value(alice, "select pgmem.store_vectors('test:two', %s)", items) == 0
        with refused("PM006"):
            nobody.execute("select pgmem.store_vectors('test:two', %s)", (items,))
        with refused("PM006"):
            nobody.execute("select pgmem.store_node_vectors('test:two', '[]')")
    assert value(connection, "select count(*) from pgmem.embedding") == 0
    items = Jsonb([{"node_seq": carols["node_seq"], "text_hash": carols["text_hash"], "vector": [1, 1]}])
    assert value(connection, "select pgmem.store_vectors('test:two', %s)", items) == 1


def test_texts_of_others_are_not_leased_and_no_lease_is_for_ever(
    connection: Session, alice: Session, carol: Session, nobody: Session, vectors_of: Callable[[str], DictRow]
) -> None:
    """A lease of 2 147 483 647 seconds kept the texts of others from being embedded until 2094."""
    vectors_of("carol")
    for bounds in ("1000, 2147483647", "1000, 0", "1001, 60", "0, 60", "-1, 60", "10, 3601", "10, -5"):
        with refused("PM001"):
            carol.execute(f"select * from pgmem.claim_embeddings('test:two', {bounds})".encode())
    with refused("PM006"):
        nobody.execute("select * from pgmem.claim_embeddings('test:two')")
    claimed = {
        name: {
            row["text"] for row in who.execute("select * from pgmem.claim_embeddings('test:two', 1000, 3600)")
        }
        for name, who in (("alice", alice), ("carol", carol))
    }
    assert claimed["carol"]
    assert not any("carol" in text for text in claimed["alice"])
    assert not claimed["alice"] & claimed["carol"]
    assert value(
        connection, "select max(claimed_until) < now() + interval '2 hours' from pgmem.embedding_queue"
    )


def test_a_writer_recounts_nothing_and_learns_no_number_of_scopes(alice: Session, nobody: Session) -> None:
    """Refresh_statistics(true) recounted the whole store and returned how many scopes there are."""
    for attacker in (alice, nobody):
        for call in (
            "refresh_statistics(true)",
            "refresh_statistics()",
            "embedding_status()",
            "index_vectors()",
            "queue_embeddings('test:two')",
            "sweep()",
            "backlog()",
            "refresh_dedup(true)",
            "dedup_due()",
        ):
            with refused("42501"):
                attacker.execute(f"select * from pgmem.{call}".encode())

"""upsert_entity: the present fact about a named thing, and the facts before it."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import Each, Picture, Rows


def upsert(call: Call, name: str, fact: str, **more: object) -> DictRow:
    return call("upsert_entity", **{"entity_name": name, "fact": fact, "project_id": "shop", **more})


def facts(rows: Rows) -> list[tuple[str, str]]:
    found = rows(
        "select key, props ->> 'fact' as fact from pgmem.node where label = 'EntityFact' order by seq"
    )
    return [(row["key"], row["fact"]) for row in found]


@pytest.fixture
def related(connection: psycopg.Connection[DictRow]) -> str:
    """A relation that may join two entities by hand."""
    connection.execute(
        "insert into pgmem.relation (name, from_labels, to_labels, vocabulary)"
        " values ('RESTS_ON', '{EntityFact}', '{EntityFact}', 'test') on conflict do nothing"
    )
    connection.execute("select pgmem.enable_graph()")
    return "RESTS_ON"


def test_the_second_fact_keeps_the_id_and_shows(call: Call, rows: Rows, shop: str) -> None:
    first, second = upsert(call, "gateway", "on port 80"), upsert(call, "gateway", "on port 443")
    assert second["artifact_id"] == first["artifact_id"]
    assert (first["dedup_outcome"], second["dedup_outcome"]) == ("new", "supersede")
    assert facts(rows) == [("gateway", "on port 443")]


def test_the_fact_before_is_in_the_history(call: Call, rows: Rows, shop: str) -> None:
    for fact in ("on port 80", "on port 443", "gone"):
        upsert(call, "gateway", fact)
    found = rows(
        "select version, props ->> 'fact' as fact, replaced_at > ingested_at as forward from pgmem.node_version order by 1"
    )
    assert [(r["version"], r["fact"], r["forward"]) for r in found] == [
        (1, "on port 80", True),
        (2, "on port 443", True),
    ]


def test_the_same_fact_again_makes_no_version(call: Call, rows: Rows, shop: str) -> None:
    upsert(call, "gateway", "on port 80")
    upsert(call, "gateway", "on port 80")
    assert rows("select version from pgmem.node where label = 'EntityFact'") == [{"version": 1}]


def test_the_new_fact_is_found_and_the_old_is_not(call: Call, each: Each, shop: str) -> None:
    upsert(call, "gateway", "written in rust")
    upsert(call, "gateway", "written in erlang")
    assert [r["key"] for r in each("search_memory", query="erlang")] == ["gateway"]
    assert each("search_memory", query="rust") == []


@pytest.mark.parametrize(
    "elsewhere",
    [{"project_id": "bank"}, {"scope": "focus", "focus": "checkout"}, {"entity_name": "Gate-way"}],
    ids=str,
)
def test_an_entity_is_named_by_project_scope_and_name(
    call: Call, rows: Rows, shop: str, elsewhere: dict[str, object]
) -> None:
    call("save_session", objective="o", project_id="bank")
    first = upsert(call, "gateway", "here")
    second = (
        upsert(call, "gateway", "there", **elsewhere)
        if "entity_name" not in elsewhere
        else upsert(call, "Gate-way", "there")
    )
    assert second["artifact_id"] != first["artifact_id"]
    assert [fact for _, fact in facts(rows)] == ["here", "there"]


def test_an_entity_in_two_focuses_is_two(call: Call, rows: Rows, shop: str) -> None:
    for focus in ("checkout", "returns"):
        assert upsert(call, "gateway", focus, scope="focus", focus=focus)["dedup_outcome"] == "new"
    assert [fact for _, fact in facts(rows)] == ["checkout", "returns"]


def test_a_global_entity_is_not_the_projects(call: Call, rows: Rows, shop: str) -> None:
    upsert(call, "gateway", "here")
    token = call("request_global_write_approval", content_preview="gateway: everywhere")["token"]
    assert (
        upsert(call, "gateway", "everywhere", scope="global", governance_token=token)["dedup_outcome"]
        == "new"
    )
    assert [fact for _, fact in facts(rows)] == ["here", "everywhere"]


def test_an_archived_entity_comes_back_with_its_next_fact(
    call: Call, connection: psycopg.Connection[DictRow], rows: Rows, shop: str
) -> None:
    first = upsert(call, "gateway", "on port 80")
    connection.execute(
        "select pgmem.set_status(seq, 'archived', pgmem.now()) from pgmem.node where label = 'EntityFact'"
    )
    again = upsert(call, "gateway", "back")
    assert again["artifact_id"] == first["artifact_id"]
    assert rows("select status, valid_to from pgmem.node where label = 'EntityFact'") == [
        {"status": "active", "valid_to": None}
    ]


def test_an_entity_is_joined_to_the_entities_it_names(
    call: Call, rows: Rows, shop: str, related: str
) -> None:
    api = upsert(call, "api", "f")
    entry = {"entity_id": str(api["artifact_id"]), "relationship_type": related}
    assert upsert(call, "gateway", "f", related_entities=[entry])["status"] == "saved"
    assert rows("select e.rel, d.key from pgmem.edge e join pgmem.node d on d.seq = e.dst") == [
        {"rel": related, "key": "api"}
    ]


def test_a_related_entity_can_be_named_by_its_name(call: Call, rows: Rows, shop: str, related: str) -> None:
    upsert(call, "api", "f")
    for _ in range(2):
        entry = {"entity_name": "api", "relationship_type": related}
        assert upsert(call, "gateway", "f", related_entities=[entry])["status"] == "saved"
    assert rows("select count(*) from pgmem.edge")[0]["count"] == 1


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"entity_name": "api", "relationship_type": "PRODUCED"}, "made by the verbs"),
        ({"entity_name": "api", "relationship_type": "MERGES_INTO"}, "made by the verbs"),
        ({"entity_name": "api", "relationship_type": "BELONGS_TO"}, "made by the verbs"),
        ({"entity_name": "api", "relationship_type": "CONFLICTS_WITH"}, "joins Decision with Decision"),
        ({"entity_name": "nobody", "relationship_type": "CONFLICTS_WITH"}, "No EntityFact named 'nobody'"),
        ({"entity_name": "gateway", "relationship_type": "CONFLICTS_WITH"}, ""),
    ],
)
def test_a_forbidden_relation_is_a_scope_violation_and_nothing_is_written(
    call: Call, picture: Picture, shop: str, entry: dict[str, str], what: str
) -> None:
    upsert(call, "api", "f")
    before = picture(without={"save_attempt"})
    result = upsert(call, "gateway", "f", related_entities=[entry])
    assert (result["status"], result["artifact_id"]) == ("failed", None)
    assert result["message"].startswith("SCOPE_VIOLATION: ")
    assert what in result["message"]
    assert picture(without={"save_attempt"}) == before


def test_a_forbidden_relation_leaves_the_present_fact_alone(call: Call, rows: Rows, shop: str) -> None:
    upsert(call, "api", "f")
    upsert(call, "gateway", "on port 80")
    entry = {"entity_name": "api", "relationship_type": "PRODUCED"}
    assert upsert(call, "gateway", "on port 443", related_entities=[entry])["status"] == "failed"
    assert facts(rows) == [("api", "f"), ("gateway", "on port 80")]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"entity_name": "api", "relationship_type": "NONSENSE"}], "Unknown relation 'NONSENSE'"),
        ([{"entity_name": "api"}], "Unknown relation ''"),
        ([{"relationship_type": "CONFLICTS_WITH"}], "needs a name"),
        ([{}], "needs a name"),
        ({"entity_name": "api"}, "related_entities must be a list"),
    ],
)
def test_a_relation_that_cannot_be_read_is_an_error_and_nothing_is_written(
    call: Call, picture: Picture, shop: str, entries: object, message: str
) -> None:
    upsert(call, "api", "f")
    before = picture()
    with pytest.raises(psycopg.Error, match=message) as caught:
        upsert(call, "gateway", "f", related_entities=entries)
    assert caught.value.sqlstate == "PM001"
    assert picture() == before

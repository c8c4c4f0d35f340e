"""remember: a thing by its name, its relations, and the fields a caller may not set."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows


def refusal(call: Call, verb: str, **arguments: object) -> tuple[str | None, str]:
    with pytest.raises(psycopg.Error) as caught:
        call(verb, **arguments)
    return caught.value.sqlstate, caught.value.diag.message_primary or ""


def test_a_thing_is_made_once_and_updated_after_that(call: Call, each: Each) -> None:
    made = call("remember", label="Technology", properties={"name": "AGE", "summary": "a graph"})
    again = call("remember", label="Technology", properties={"name": "AGE", "details": "in PostgreSQL"})
    assert (made["created"], again["created"], again["id"]) == (True, False, made["id"])
    kept = call("get_node", label="Technology", key="AGE")["properties"]
    assert kept == {"name": "AGE", "summary": "a graph", "details": "in PostgreSQL"}
    call("remember", label="Technology", properties={"name": "AGE", "details": None})
    assert "details" not in call("get_node", label="Technology", key="AGE")["properties"]


def test_saying_the_same_again_makes_no_version(call: Call, each: Each) -> None:
    for _ in range(3):
        call("remember", label="Person", properties={"name": "Ada", "tags": ["team"]})
    assert len(each("memory_history", label="Person", key="Ada")) == 1


def test_a_relation_to_what_exists_is_an_edge_and_a_missing_target_becomes_a_stub(
    call: Call, each: Each, shop: str
) -> None:
    call("remember", label="Technology", properties={"name": "Redis"}, project_id=shop)
    answer = call(
        "remember",
        label="Problem",
        properties={"title": "Cache stampede"},
        relations={
            "INVOLVES": ["Redis"],
            "SOLVED_BY": [{"name": "request coalescing", "label": "Technique"}],
        },
        project_id=shop,
    )
    assert [made["name"] for made in answer["relations_made"]] == ["Redis", "request coalescing"]
    assert [(stub["label"], stub["name"]) for stub in answer["stubs_made"]] == [
        ("Technique", "request coalescing")
    ]
    near = each("neighbours", label="Problem", key="Cache stampede")
    assert {(node["title"], node["status"]) for node in near} == {
        ("Redis", "active"),
        ("request coalescing", "stub"),
    }


def test_a_stub_stays_out_of_search_until_it_is_filled(call: Call, each: Each, shop: str) -> None:
    call(
        "remember",
        label="Tool",
        properties={"name": "make"},
        relations={"USES": ["coalescing"]},
        project_id=shop,
    )
    assert each("search_memory", query="coalescing") == []
    call("remember", label="Concept", properties={"name": "coalescing"}, project_id=shop)
    assert call("get_node", label="Concept", key="coalescing")["status"] == "stub"
    filled = call(
        "remember",
        label="Concept",
        properties={"name": "coalescing", "summary": "one does it"},
        project_id=shop,
    )
    assert filled["status"] == "active"
    assert [row["title"] for row in each("search_memory", query="coalescing")] == ["coalescing"]


def test_an_ambiguous_target_is_left_and_its_candidates_are_listed(call: Call, shop: str) -> None:
    call("remember", label="Concept", properties={"name": "Redis"}, project_id=shop)
    call("remember", label="Technology", properties={"name": "Redis"}, project_id=shop)
    arguments = {"label": "Problem", "properties": {"title": "p"}, "project_id": shop}
    answer = call("remember", **arguments, relations={"INVOLVES": ["Redis"]})
    assert answer["relations_made"] == []
    assert [c["label"] for c in answer["did_you_mean"][0]["candidates"]] == ["Concept", "Technology"]
    chosen = call("remember", **arguments, relations={"INVOLVES": [{"name": "Redis", "label": "Technology"}]})
    assert [made["label"] for made in chosen["relations_made"]] == ["Technology"]


def test_a_name_written_another_way_is_the_same_name(call: Call, shop: str) -> None:
    call("remember", label="Technique", properties={"name": "Request-Coalescing"}, project_id=shop)
    answer = call(
        "remember",
        label="Problem",
        properties={"title": "p"},
        relations={"SOLVED_BY": ["request coalescing"]},
        project_id=shop,
    )
    assert answer["stubs_made"] == []
    assert [made["name"] for made in answer["relations_made"]] == ["Request-Coalescing"]


def test_a_relation_brings_no_forgotten_node_back(call: Call, shop: str) -> None:
    call("remember", label="Concept", properties={"name": "secret plan"}, project_id=shop)
    call("forget", label="Concept", key="secret plan")
    answer = call(
        "remember",
        label="Problem",
        properties={"title": "p"},
        relations={"ABOUT": ["secret plan"]},
        project_id=shop,
    )
    assert (answer["relations_made"], answer["stubs_made"]) == ([], [])
    assert answer["did_you_mean"] == [{"relation": "ABOUT", "name": "secret plan", "candidates": []}]


@pytest.mark.parametrize("valid_from", [None, "2020-01-01"])
def test_a_forgotten_thing_that_is_named_again_has_its_properties_again(
    call: Call, valid_from: str | None
) -> None:
    call("remember", label="Technology", properties={"name": "AGE", "summary": "a graph"})
    call("forget", label="Technology", key="AGE")
    call("remember", label="Technology", properties={"name": "AGE"}, valid_from=valid_from)
    assert call("get_node", label="Technology", key="AGE")["properties"]["summary"] == "a graph"


def test_what_was_announced_comes_true_though_the_thing_was_forgotten_meanwhile(
    call: Call, clock: Callable[[str], None]
) -> None:
    clock("2026-01-05")
    call("remember", label="Technology", properties={"name": "toll", "summary": "ten"})
    announced = {"name": "toll", "summary": "twelve"}
    call("remember", label="Technology", properties=announced, valid_from="2026-02-04")
    call("forget", label="Technology", key="toll")
    call("remember", label="Technology", properties={"name": "toll"})
    assert call("get_node", label="Technology", key="toll")["properties"]["summary"] == "ten"
    clock("2026-02-05")
    assert call("get_node", label="Technology", key="toll")["properties"]["summary"] == "twelve"


@pytest.mark.parametrize("label", ["Decision", "EntityFact", "Project", "GovernanceToken", "Insight"])
def test_a_label_with_a_separate_verb_is_refused_by_name(call: Call, label: str) -> None:
    state, message = refusal(call, "remember", label=label, properties={"name": "x", "title": "x"})
    assert state == "PM001"
    assert "is written by" in message


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ({"label": "Nonsense", "properties": {"name": "x"}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "x"}, "relations": {"NONSENSE": ["y"]}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "x"}, "relations": {"SUPERSEDES": ["y"]}}, "PM011"),
        ({"label": "Concept", "properties": {"title": "x"}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "  "}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "a\x07b"}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "x" * 201}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "x", "summary": "x" * 100001}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "x", "confidence": 2}}, "PM001"),
        ({"label": "Concept", "properties": {"name": "x"}, "project_id": "nowhere"}, "PM002"),
        ({"label": "Concept", "properties": {"name": "x"}, "relations": {"USES": [3]}}, "PM001"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_nothing_is_written(
    call: Call, rows: Rows, arguments: dict[str, object], state: str
) -> None:
    assert refusal(call, "remember", **arguments)[0] == state
    assert rows("select from pgmem.node where label <> 'GlobalScope'") == []


def test_reserved_properties_are_dropped_and_control_characters_stripped(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call(
        "remember",
        label="Concept",
        properties={
            "name": "c",
            "trust_level": 1,
            "source": "cli",
            "source_agent": "root",
            "org_id": "other",
            "user_id": "bob",
            "created_at": "1999-01-01",
            "_hidden": "x",
            "nested": {"_y": 1, "text": "a\x07b\tc\nd"},
            "list": ["e\x00f"],
        },
    )
    node = call("get_node", label="Concept", key="c")
    assert node["properties"] == {"name": "c", "nested": {"text": "ab\tc\nd"}, "list": ["ef"]}
    assert (node["trust_level"], node["source"]) == (0.5, "sql")
    assert node["created_at"].year > 2000


def test_trust_is_that_of_the_way_in_and_a_mixture_has_the_least(call: Call, rows: Rows) -> None:
    def come_in_by(source: str) -> None:
        rows("select set_config('pgmem.source', %s, false)", source)

    for source, trust in (("cli", 1.0), ("sync", 1.0), ("sdk", 0.8), ("mcp", 0.5), ("elsewhere", 0.5)):
        come_in_by(source)
        call("remember", label="Concept", properties={"name": source})
        assert call("get_node", label="Concept", key=source)["trust_level"] == trust
    come_in_by("cli")
    call("remember", label="Concept", properties={"name": "mcp", "details": "checked"})
    assert call("get_node", label="Concept", key="mcp")["trust_level"] == 1.0
    come_in_by("mcp")
    call("remember", label="Concept", properties={"name": "mcp", "summary": "by an agent"})
    assert call("get_node", label="Concept", key="mcp")["trust_level"] == 1.0
    come_in_by("cli")
    call("remember", label="Concept", properties={"name": "mcp", "notes": "looked at"})
    assert call("get_node", label="Concept", key="mcp")["trust_level"] == 1.0


def test_a_thing_without_project_is_in_no_context_but_is_found(call: Call, each: Each, shop: str) -> None:
    call("remember", label="Concept", properties={"name": "idempotence", "summary": "twice is once"})
    items = call("retrieve_context", project_id=shop, scope="project")["items"]
    assert "idempotence" not in [item["title"] for item in items]
    assert call("get_node", label="Concept", key="idempotence")["scope"] is None


def test_a_session_produces_what_is_remembered_in_it(
    call: Call, each: Each, act_as: ActAs, shop: str
) -> None:
    session = call("save_session", objective="learn", project_id=shop)["artifact_id"]
    act_as(session_id=str(session))
    call("remember", label="Concept", properties={"name": "c"}, project_id=shop)
    assert [node["title"] for node in each("neighbours", label="Session", key=str(session))] == ["c"]


def test_the_wider_vocabulary_is_in_the_registry_once(rows: Rows) -> None:
    counts = rows("select vocabulary, count(*) as n from pgmem.label where vocabulary = 'engrama' group by 1")
    assert counts[0]["n"] == 23
    both = rows(
        "select count(*) as n from pgmem.label l join pgmem.relation r on lower(r.name) = lower(l.name)"
    )
    assert both == [{"n": 0}]
    assert rows("select count(*) as n from pgmem.relation where name in ('BELONGS_TO', 'USES', 'ABOUT')") == [
        {"n": 3}
    ]

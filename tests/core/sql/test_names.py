"""Names: how they are stored and compared, whose comes first, and the advice on a near one."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows

NFC, NFD = "caf\u00e9", "cafe\u0301"


def test_a_name_in_another_composition_is_the_same(call: Call, rows: Rows) -> None:
    """NFC and NFD were different everywhere."""
    call("save_session", objective="o", project_id=f"{NFD}-proj")
    assert call("get_scope_state", project_id=f"{NFC}-proj")["scope_state"] == "resolved"
    place = {"project_id": f"{NFC}-proj"}
    first = call("upsert_entity", entity_name=NFC, fact="a", **place)
    again = call("upsert_entity", entity_name=NFD.upper(), fact="b", **place)
    assert (again["dedup_outcome"], again["artifact_id"]) == ("supersede", first["artifact_id"])
    decided = call("save_decision", title=f"Go to the {NFC}", rationale=f"{NFC} r", **place)
    repeated = call("save_decision", title=f"Go to the {NFD}", rationale=f"{NFD} r", **place)
    assert (repeated["dedup_outcome"], repeated["artifact_id"]) == ("duplicate_skip", decided["artifact_id"])
    made = call("remember", label="Concept", properties={"name": NFD})
    assert (made["key"], call("remember", label="Concept", properties={"name": NFC})["created"]) == (
        NFC,
        False,
    )
    assert rows("select count(*) from pgmem.node where coalesce(key, title) is not nfc normalized") == [
        {"count": 0}
    ]


def test_a_name_keeps_the_spelling_that_it_was_made_with(call: Call, shop: str) -> None:
    call("upsert_entity", entity_name="HarbourDB", fact="a", project_id=shop)
    call("upsert_entity", entity_name="harbourdb", fact="b", project_id=shop)
    (item,) = call("retrieve_context", project_id=shop, categories=["EntityFact"])["items"]
    assert (item["key"], item["entity_name"], item["fact"]) == ("HarbourDB", "HarbourDB", "b")
    assert call("get_node", label="EntityFact", key="HARBOURDB")["key"] == "HarbourDB"


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u200d", "\u3164"])
def test_a_name_with_a_hidden_character_is_refused_and_a_title_loses_it(
    call: Call, shop: str, hidden: str
) -> None:
    """Keys accepted U+200B and U+202E."""
    with pytest.raises(psycopg.Error, match=rf"entity_name holds U\+{ord(hidden):04X}"):
        call("upsert_entity", entity_name=f"pay{hidden}ments", fact="f", project_id=shop)
    with pytest.raises(psycopg.Error, match="project_id holds U"):
        call("save_session", objective="o", project_id=f"sh{hidden}op")
    call("save_decision", title=f"Use{hidden} UTC", rationale="r", project_id=shop)
    assert call("get_node", label="Decision", key="Use UTC")["title"] == "Use UTC"


@pytest.mark.parametrize(
    "name", ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f4bb"]
)
def test_joiners_stay_where_they_belong(call: Call, shop: str, name: str) -> None:
    """Persian words and joined emoji."""
    assert call("upsert_entity", entity_name=name, fact="f", project_id=shop)["status"] == "saved"
    assert call("get_node", label="EntityFact", key=name)["key"] == name


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("\U0001f680", "\U0001f525", "new"),
        ("\U0001f680 launch", "\U0001f680 launch", "supersede"),
        ("支払いはカードのみ受け付ける", "支払いはカードのみ受け付けた", "supersede"),
        ("支払いはカードのみ受け付ける", "東京に支店を開く", "new"),
    ],
)
def test_titles_are_compared_by_what_they_hold(
    call: Call, shop: str, first: str, second: str, outcome: str
) -> None:
    """A second emoji was lost as a repeat, and CJK titles one character apart never met."""
    call("save_decision", title=first, rationale="launch", project_id=shop)
    rationale = "launch" if outcome == "new" else "later"
    assert (
        call("save_decision", title=second, rationale=rationale, project_id=shop)["dedup_outcome"] == outcome
    )


def test_own_comes_before_the_organisations_before_public(call: Call, act_as: ActAs, each: Each) -> None:
    """A private copy made the name ambiguous for its owner."""
    public = call("remember", label="Concept", properties={"name": "Radio rules"})
    act_as("acme", "alice")
    shared = call("remember", label="Concept", properties={"name": "Radio rules", "notes": "n"}, share="org")
    act_as("acme", "bob")
    assert call("get_node", label="Concept", key="Radio rules")["id"] == shared["id"]
    own = call("remember", label="Concept", properties={"name": "Radio rules", "notes": "mine"})
    assert own["id"] not in (shared["id"], public["id"])
    assert call("get_node", label="Concept", key="radio rules")["id"] == own["id"]
    assert each("neighbours", label="Concept", key="Radio rules") == []
    assert len(each("memory_history", label="Concept", key="Radio rules")) == 1
    made = call("remember", label="Tool", properties={"name": "t"}, relations={"USES": ["Radio rules"]})
    assert made["relations_made"][0]["id"] == str(own["id"])
    assert call("forget", label="Concept", key="Radio rules")["id"] == own["id"]
    assert call("get_node", label="Concept", key="Radio rules")["id"] == shared["id"]


def test_an_ambiguous_name_is_an_error_with_projects_owners_and_the_argument(call: Call, shop: str) -> None:
    """It printed internal numbers."""
    call("save_session", objective="o", project_id="bank")
    for project in (shop, "bank"):
        call("upsert_entity", entity_name="api", fact="f", project_id=project)
    message = r"send project_id, or one of these ids: .*\(project (shop|bank), public\).*\(project (shop|bank), public\)"
    with pytest.raises(psycopg.Error, match=message):
        call("get_node", label="EntityFact", key="api")


def near(found: DictRow) -> list[tuple[str, str, str]]:
    return [(item["new_name"], item["label"], item["name"]) for item in found["near_names"]]


def test_a_stub_that_resembles_a_name_is_reported_in_the_answer(call: Call) -> None:
    """Kestrell beside Kestrel was made silently."""
    kestrel = call("remember", label="Technology", properties={"name": "Kestrel"})
    assert kestrel["near_names"] == []
    found = call("remember", label="Tool", properties={"name": "wing"}, relations={"USES": ["Kestrell"]})
    assert [stub["name"] for stub in found["stubs_made"]] == ["Kestrell"]
    (item,) = found["near_names"]
    assert item == {
        "new_name": "Kestrell",
        "by": "agent",
        "id": str(kestrel["id"]),
        "label": "Technology",
        "name": "Kestrel",
        "score": 0.7,
    }


def test_what_makes_a_near_name_lists_it(call: Call, shop: str) -> None:
    """My_Shop beside my-shop was made without a hint."""
    made = call("save_session", objective="o", project_id="my-shop")
    assert near(made) == []
    assert near(call("save_session", objective="o", project_id="My_Shop")) == [
        ("My_Shop", "Project", "my-shop")
    ]
    call("upsert_entity", entity_name="Payments-API", fact="f", project_id=shop)
    found = call("upsert_entity", entity_name="payments api", fact="f", project_id=shop)
    assert near(found) == [("payments api", "EntityFact", "Payments-API")]
    again = call("upsert_entity", entity_name="payments api", fact="g", project_id=shop)
    assert near(again) == []
    assert near(call("remember", label="Concept", properties={"name": "Payment API"}, project_id=shop)) == [
        ("Payment API", "EntityFact", "Payments-API"),
        ("Payment API", "EntityFact", "payments api"),
    ]


def test_near_names_of_another_tenant_are_not_shown(call: Call, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("remember", label="Technology", properties={"name": "Kestrel"})
    act_as("acme", "bob")
    assert near(call("remember", label="Technology", properties={"name": "Kestrell"})) == []


@pytest.mark.parametrize("value", ["Zenithium", ["first", "Zenithium"]])
def test_every_text_property_is_searched_and_embedded(call: Call, each: Each, rows: Rows, value: Any) -> None:
    """Only nine fields were."""
    call("remember", label="Technology", properties={"name": "wing", "vendor": value, "bought": "2026-01-01"})
    assert [row["key"] for row in each("search_memory", query="Zenithium")] == ["wing"]
    (text,) = rows(
        "select pgmem.embedding_text(label, title, props) as text from pgmem.node where key = 'wing'"
    )
    assert text["text"] == f"Technology: wing\x1f{value if isinstance(value, str) else ' '.join(value)}"


def test_an_upgrade_writes_again_what_an_earlier_release_stored_otherwise(
    connection: psycopg.Connection[DictRow], call: Call, each: Each, rows: Rows, shop: str
) -> None:
    """Rows of an earlier release are found by the rules of this one."""
    call("upsert_entity", entity_name=NFC, fact="f", project_id=shop)
    call("remember", label="Technology", properties={"name": "wing", "vendor": "Zenithium"})
    call("save_decision", title=f"Go to the {NFC}", rationale="r", project_id=shop)
    connection.execute(
        "update pgmem.node set key = normalize(key, NFD), title = normalize(title, NFD),"
        " props = case when label = 'EntityFact' then normalize(props::text, NFD)::jsonb else props end,"
        " tsv = '', content_hash = case when content_hash is not null then repeat('0', 64) end"
        " where label in ('EntityFact', 'Technology', 'Decision')"
    )
    assert each("search_memory", query="Zenithium") == []
    versions = rows("select id, version, begins_at from pgmem.node order by seq")
    connection.execute("select pgmem.needs_renewal('memories')")
    while rows("select step from pgmem.renew()") != [{"step": None}]:
        pass
    # The same characters composed otherwise do not change the memory.
    assert rows("select id, version, begins_at from pgmem.node order by seq") == versions
    assert [row["key"] for row in each("search_memory", query="Zenithium")] == ["wing"]
    named = rows("select key, props ->> 'entity_name' as name from pgmem.node where label = 'EntityFact'")
    assert named == [{"key": NFC, "name": NFC}]
    repeated = call("save_decision", title=f"Go to the {NFC}", rationale="r", project_id=shop)
    assert repeated["dedup_outcome"] == "duplicate_skip"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Kubernetes", "Kuberentes"),
        ("Prometheus", "Promethues"),
        ("Ansible", "Ansibel"),
        ("MongoDB", "MangoDB"),
        ("Kafka", "Kafak"),
        ("Elasticsearch", "Elasticsaerch"),
    ],
)
def test_swapped_and_slipped_letters_make_a_near_name(call: Call, shop: str, name: str, written: str) -> None:
    call("remember", label="Technology", properties={"name": name}, project_id=shop)
    made = call("remember", label="Technology", properties={"name": written}, project_id=shop)
    assert [near["name"] for near in made["near_names"]] == [name]


@pytest.mark.parametrize(("name", "other"), [("Bay 3", "Bay 4"), ("Redis", "Ready"), ("Ada", "Aad")])
def test_another_number_or_word_is_no_near_name(call: Call, shop: str, name: str, other: str) -> None:
    call("remember", label="Concept", properties={"name": name}, project_id=shop)
    made = call("remember", label="Concept", properties={"name": other}, project_id=shop)
    assert made["near_names"] == []

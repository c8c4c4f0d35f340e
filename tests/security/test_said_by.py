"""Every answer that shows the text of a memory says who said it: an agent's words beside a person's carry no less weight
with a reader who takes them for one."""

from __future__ import annotations

import re
import typing
from dataclasses import fields, is_dataclass

import pytest

from pgmem import answers
from tests.conftest import Call
from tests.fixtures.verbs import Rows

TEXTS = re.compile(
    r"(?:^|_)(?:title|titles|name|text|content|passage|excerpt|summary|statement|fact|objective|rationale|trigger|theirs"
    r"|properties|props|preview|quote|said|value|entities|results|record|change|line|lines|payload|candidates)$"
)
"""The names of attributes that hold the words of memories."""

EQUAL = {"by", "source", "role", "origin", "approved", "issued_to"}
"""Attributes that say who said it. A turn has the role that its transcript gives it, a card its origin, a skill whether a
person approved it, an approval the agent that asks."""

WITHOUT = {
    "names of the store, of kinds and of settings": "DescribedLabel DescribedRelation Setting EmbeddingModel ApiToken"
    " ProjectEntry NameCollision CompletedName TenantRole TrialMeasure",
    "the words that the caller has just sent": "MadeRelation Remembered DraftedCard ReportedCard AddedObservations Arrival Ambiguity",
    "the caller is a person who named the memories by their ids": "Repair TitledMemory",
    "other answers begin with it and say it": "KeyedMemory LabelledMemory",
    "pgmem made it of what it names": "Insight ProposedInsight Trajectory Route",
    "what a program keeps, in the form of that program": "Item StoredItem FoundItem Message MemoryFile EditedFile KnownEntities"
    " KnownGraph",
    "the record says it, as its source and trust": "Change Outstanding",
    "a source is a file or an address": "Source",
}  # fmt: skip
"""Why an answer with such an attribute says nothing of who said it."""


def shown(answer: type) -> set[str]:
    """The attributes of an answer that hold words of memories."""
    types = typing.get_type_hints(answer)
    free = {each.name for each in fields(answer) if re.search(r"str|object|Any|Json", str(types[each.name]))}
    return {name for name in free if TEXTS.search(name) and "Literal" not in str(types[name])}


def unsaid(answer: type) -> set[str]:
    """The words that an answer shows without saying who said them."""
    names = {each.name for each in fields(answer)}
    found = set()
    for name in shown(answer):
        head = name.rpartition("_")[0]
        other = f"{head}_by" in names if head in ("with", "candidate", "other", "old") else False
        if not other and (head in ("with", "candidate", "other", "old") or not EQUAL & names):
            found.add(name)
    return found


def test_every_answer_that_shows_a_memory_says_who_said_it() -> None:
    without = {name for named in WITHOUT.values() for name in named.split()}
    of_all = {
        name: each for name, each in vars(answers).items() if is_dataclass(each) and isinstance(each, type)
    }
    assert {name: unsaid(each) for name, each in of_all.items() if unsaid(each) and name not in without} == {}
    assert {name for name in without if not unsaid(of_all[name])} == set()


@pytest.fixture
def shop(call: Call, rows: Rows) -> str:
    """A project with memories of a person and of an agent, of the kinds that the lists show."""
    as_source(rows, "cli")
    call("save_session", objective="Prices", project_id="shop")
    call("save_decision", title="Take cards at the till", rationale="Law.", project_id="shop")
    call("upsert_entity", entity_name="Payroll", fact="The pay day is Monday.", project_id="shop")
    call("remember", label="Concept", properties={"name": "Warehouse"}, relations={}, project_id="shop")
    call("remember", label="Technology", properties={"name": "Warehouse"}, relations={}, project_id="shop")
    as_source(rows, "mcp")
    return "shop"


def as_source(rows: Rows, source: str, agent: str = "") -> None:
    rows(
        "select set_config('pgmem.source', %s, false), set_config('pgmem.agent_id', %s, false)", source, agent
    )


def test_a_save_names_who_said_what_it_is_near_to_or_contradicts(call: Call, rows: Rows, shop: str) -> None:
    near = call("save_decision", title="Take cards at the tills", rationale="Quick.", project_id=shop)["near"]
    assert [(one["title"], one["by"]) for one in near] == [("Take cards at the till", "person")]
    made = call("remember", label="Concept", properties={"name": "Warehouses"}, relations={"USES": ["Warehouse"]},
                project_id=shop)  # fmt: skip
    assert {one["by"] for one in made["near_names"]} == {"person"}
    assert [one["by"] for one in made["did_you_mean"][0]["candidates"]] == ["person", "person"]
    call("save_context", content="The package manager is npm.", project_id=shop)
    found = call("save_context", content="The package manager is pnpm.", project_id=shop)["conflicts"]
    assert [one["by"] for one in found] == ["agent"]


def test_an_agent_named_person_is_an_agent(call: Call, rows: Rows, shop: str) -> None:
    """The name of the agent stood in the place of who said it."""
    as_source(rows, "mcp", "person")
    call("save_decision", title="Ship on Mondays from the north depot", rationale="Cheap.", project_id=shop)
    as_source(rows, "mcp", "other")
    saved = call(
        "save_decision", title="Ship on Mondays from the north depots", rationale="Near.", project_id=shop
    )
    assert [(one["by"], one["agent_id"]) for one in saved["near"]] == [("agent", "person")]
    assert "by the agent person" in saved["message"] + str(saved["next_step"])


def test_lists_name_who_said_each_memory(call: Call, rows: Rows, shop: str) -> None:
    call("save_decision", title="Refuse cash", rationale="Less theft.", project_id=shop)
    by = {"Take cards at the till": "person", "Refuse cash": "agent", "Payroll": "person"}
    (session,) = rows("select id::text from pgmem.node where label = 'Session'")
    assert call("get_session", session_id=session["id"])["session"]["by"] == "person"
    stale = call("memory_freshness", project_id=shop, stale_after_days=0)["stale_items"]
    assert {one["title"]: one["by"] for one in stale if one["title"] in by} == by
    assert rows("select by from pgmem.find_titled('Refuse cash')") == [{"by": "agent"}]
    orphans = call("memory_health", project_id=shop)["orphans"]["items"]
    assert {one["by"] for one in orphans if one["title"] == "Refuse cash"} <= {"agent"}
    (cash,) = rows("select id::text from pgmem.node where title = 'Refuse cash'")
    assert call("confirm", id=cash["id"])["by"] == "agent"
    rows("select pgmem.record_recall('search_memory', array[%s], p_tokens => 9)", cash["id"])
    (recalled,) = rows("select memories from pgmem.list_recall()")
    assert [one["by"] for one in recalled["memories"]] == ["agent"]
    assert [one["by"] for one in call("sum_recall")["most"]] == ["agent"]
    as_source(rows, "cli")
    call(
        "save_decision",
        title="Refuse cash and coins",
        rationale="All.",
        supersedes=cash["id"],
        project_id=shop,
    )
    line = rows("select title, by from pgmem.memory_lineage(%s)", cash["id"])
    assert line == [
        {"title": "Refuse cash", "by": "agent"},
        {"title": "Refuse cash and coins", "by": "person"},
    ]
    assert [row["by"] for row in rows("select by from pgmem.list_lines()")][:2] == ["agent", "person"]
    lines = call("memory_health", project_id=shop)["lineage"]["items"]
    assert [[one["by"] for one in line] for line in lines] == [["person", "agent"]]
    nodes = call("memory_relations", id=cash["id"])["nodes"]
    assert {one["title"]: one["by"] for one in nodes}["Refuse cash"] == "agent"


def test_a_review_names_who_asks_and_who_said_what_it_would_change(call: Call, rows: Rows, shop: str) -> None:
    call("upsert_entity", entity_name="Payroll", fact="The pay day is Friday.", project_id=shop)
    as_source(rows, "cli")
    (review,) = rows("select save_id, by, candidate_by from pgmem.list_reviews()")
    assert (review["by"], review["candidate_by"]) == ("agent", "person")
    detail = call("get_review", save_id=review["save_id"])
    assert (detail["by"], detail["candidate_by"]) == ("agent", "person")


def test_a_corrected_and_a_restored_memory_say_who_says_it_now(call: Call, rows: Rows, shop: str) -> None:
    noted = call("save_context", content="The depot is full.", project_id=shop)["artifact_id"]
    as_source(rows, "cli")
    edited = call("edit_memory", id=noted, version=1, properties={"topic": "depot"}, by="ann")
    assert edited["by"] == "agent"
    whole = call("edit_memory", id=noted, version=2, properties={"topic": "depots"}, by="ann", whole=True)
    assert whole["by"] == "person"
    as_source(rows, "mcp")
    held = call("revert", label="Context", key=str(noted), version=1)
    assert (held["status"], held["by"]) == ("failed", "person")


def test_what_a_hook_brings_says_who_said_it(call: Call, rows: Rows, shop: str) -> None:
    """The items that a session begins with were brought as if nobody had said them."""
    call(
        "save_session",
        objective="Count",
        open_items=["The tills of the north depot are not counted."],
        project_id=shop,
    )
    call("save_decision", title="Refuse cash", rationale="Less theft.", project_id=shop)
    call("relate", from_label="Decision", from_key="Take cards at the till", rel_type="CONFLICTS_WITH",
         to_label="Decision", to_key="Refuse cash", project_id=shop)  # fmt: skip
    call("save_decision", title="Count tills on Monday", rationale="Calm.", project_id=shop)
    old = rows("select id::text from pgmem.node where title = 'Count tills on Monday'")[0]["id"]
    as_source(rows, "cli")
    call("save_decision", title="Count tills on Friday", rationale="Full.", supersedes=old, project_id=shop)
    call(
        "save_pattern",
        trigger="pytest fails: no such table till",
        repeatable_steps=["Run make tables."],
        project_id=shop,
    )
    call("save_context", content="Never run git push --force on main.", project_id=shop)
    opening = call("project_opening", project_id=shop)
    assert [one["by"] for one in opening["open_items"]] == ["agent"]
    assert [(one["by"], one["with_by"]) for one in opening["conflicts"]] == [("person", "agent")]
    assert [(one["by"], one["with_by"]) for one in opening["replaced"]] == [("agent", "person")]
    assert {one["title"]: one["by"] for one in opening["decisions"]}["Refuse cash"] == "agent"
    assert opening["session"]["by"] == "agent"
    brought = {
        "memory_for_prompt": call(
            "memory_for_prompt", prompt="Do we take cards at the till or refuse them?", project_id=shop
        ),
        "memory_for_act": call(
            "memory_for_act", tool="Bash", command="git push --force origin main", project_id=shop
        ),
        "memory_for_error": call(
            "memory_for_error", output="E  no such table till", command="pytest", project_id=shop
        ),
    }
    for verb, answer in brought.items():
        matches = answer["matches"] if isinstance(answer, dict) else answer
        assert {one["by"] for one in matches} in ({"person"}, {"person", "agent"}), verb

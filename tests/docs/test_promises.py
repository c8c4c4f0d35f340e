"""The tables of docs/ are read from the Markdown, and each of their rows is called.

A row that says something new fails here until something calls it: a test that looks for its first cell does not find it.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from tests.conftest import Call
from tests.fixtures.tables import DOCS, table
from tests.fixtures.verbs import ActAs, Each, Rows

MODEL = "explanation/memory-model.md"
STATES = table(MODEL, "given", "scope_state", "state", "reads", "writes")
LABELS = table(MODEL, "label", "holds", "named by", "duplicates")
RELATIONS = table(MODEL, "relation", "from → to", "made by")
TENANTS = table(MODEL, "org_id", "user_id", "read by")
MODES = table("reference/quality.md", "mode", "keywords")

GIVEN: dict[str, dict[str, str]] = {
    "no project": {},
    "a project that does not exist": {"project_id": "ghost"},
    "a project": {"project_id": "shop"},
    "a project and an unknown focus": {"project_id": "shop", "focus": "cellar"},
    "a project and its focus": {"project_id": "shop", "focus": "till"},
}


def everywhere(call: Call) -> None:
    """A note for all projects, one of the shop and one of its focus area."""
    call("save_session", objective="Open the shop", project_id="shop")
    call("save_context", content="in the project", project_id="shop")
    call("save_context", content="in the focus", project_id="shop", scope="focus", focus="till")
    token = call("request_global_write_approval", content_preview="in all projects")["token"]
    call("save_context", content="in all projects", project_id="shop", scope="global", governance_token=token)


@pytest.mark.parametrize("row", STATES, ids=lambda row: row["given"])
def test_a_state_of_a_scope_reads_and_writes_as_its_row_says(call: Call, row: dict[str, str]) -> None:
    everywhere(call)
    sent = GIVEN[row["given"]]
    found = call("get_scope_state", **sent)
    assert (found["scope_state"], found["state"]) == (row["scope_state"], row["state"].partition(",")[0])
    if "focus_exists false" in row["state"]:
        assert found["focus_exists"] is False
    bundle = call("retrieve_context", **{"project_id": None, **sent}, categories=["Context"])
    read = [item["scope"] for item in bundle["items"]]
    assert read == ([] if row["reads"].startswith("nothing") else row["reads"].split(", "))
    saved = call("save_context", content="A new note", **{"project_id": None, **sent})
    assert saved["status"] == ("blocked_scope" if row["writes"].startswith("blocked") else "saved")
    assert found["write_permitted"] is not row["writes"].startswith("blocked")
    if "the FocusArea is created" in row["writes"]:
        assert call("get_scope_state", **sent)["focus_exists"] is True
    if "`save_session` creates the project" in row["writes"]:
        assert call("save_session", objective="Begin", **sent)["status"] == "saved"
        assert call("get_scope_state", **sent)["scope_state"] == "resolved"


SAVED_TWICE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "Session": ("save_session", {"objective": "Count the stock"}, {}),
    "Decision": (
        "save_decision",
        {"title": "Count the whole stock every single evening", "rationale": "Less is lost"},
        {"title": "Count the whole stock every single evening now"},
    ),
    "Pattern": (
        "save_pattern",
        {"trigger": "The till is short", "repeatable_steps": ["Count"]},
        {"exclusions": ["x"]},
    ),
    "Context": ("save_context", {"content": "The till is on the left"}, {}),
    "EntityFact": ("upsert_entity", {"entity_name": "till", "fact": "is green"}, {"fact": "is red"}),
}


@pytest.mark.parametrize("row", LABELS, ids=lambda row: row["label"])
def test_a_kind_treats_duplicates_as_its_row_says(call: Call, each: Each, row: dict[str, str]) -> None:
    verb, sent, other = SAVED_TWICE[row["label"]]
    call("save_session", objective="Open the shop", project_id="shop")
    first = call(verb, **sent, project_id="shop")
    again = call(verb, **sent, project_id="shop")
    said = row["duplicates"]
    if said.startswith("none"):
        assert again["artifact_id"] != first["artifact_id"]
        return
    assert again["artifact_id"] == first["artifact_id"]
    near = call(verb, **{**sent, **other}, project_id="shop")
    if "Jaccard" in said:
        assert (near["dedup_outcome"], near["candidate_id"]) == ("supersede", first["artifact_id"])
    elif "hash" in said:
        assert (again["dedup_outcome"], near["artifact_id"]) == ("duplicate_skip", first["artifact_id"])
    else:
        assert said == "updated, the old fact goes to history"
        assert near["artifact_id"] == first["artifact_id"]
        states = each("memory_history", label=row["label"], key="till", project_id="shop")
        assert [state["properties"]["fact"] for state in states] == ["is green", "is red"]


def of_two_decisions(call: Call) -> tuple[str, str]:
    made = [
        call("save_decision", title=title, rationale="r", project_id="shop")["artifact_id"]
        for title in ("Count the whole stock every single evening", "Buy a second kettle")
    ]
    return str(made[0]), str(made[1])


def superseding(call: Call, by: str) -> None:
    first, second = of_two_decisions(call)
    if by == "supersede":
        call("supersede", old=first, new=second)
        return
    title = "Count the whole stock every single evening now"
    if by == "dedup":
        assert (
            call("save_decision", title=title, rationale="s", project_id="shop")["dedup_outcome"]
            == "supersede"
        )
        return
    held = call(
        "save_decision", title="Count the whole stock in the evening", rationale="s", project_id="shop"
    )
    assert held["dedup_outcome"] == "manual_review"
    call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")


def producing(call: Call, rows: Rows, by: str) -> None:
    if by == "a batch":
        call("store_session_with_learnings", session={"objective": "x"}, project_id="shop",
             decisions=[{"title": "Sell tea", "rationale": "r"}])  # fmt: skip
        return
    session = call("save_session", objective="x", project_id="shop")["artifact_id"]
    rows("select set_config('pgmem.session_id', %s, true)", str(session))
    call("save_context", content="The till is on the left", project_id="shop")


def conflicting(call: Call) -> None:
    first, second = of_two_decisions(call)
    call(
        "relate",
        from_label="Decision",
        from_key=first,
        rel_type="CONFLICTS_WITH",
        to_label="Decision",
        to_key=second,
    )


def merging(call: Call) -> None:
    one, other = (
        call("upsert_entity", entity_name=name, fact="is green", project_id="shop")["artifact_id"]
        for name in ("till", "the_till")
    )
    assert call("run_hygiene", project_id="shop") is not None
    call("merge_entities", entity=str(one), into=str(other))


def make(call: Call, rows: Rows, by: str) -> None:
    """Call what a row names as the maker of a relation."""
    if by in ("dedup", "supersede", "resolve_review"):
        superseding(call, by)
    elif by in ("a save whose session_id names a Session", "a batch"):
        producing(call, rows, by)
    elif by == "relate":
        conflicting(call)
    elif by == "merge_entities; hygiene only proposes it":
        merging(call)
    else:
        assert by in ("every save; a column of the node", "a save with a focus; a column of the node")
        call("save_context", content="x", project_id="shop", scope="focus", focus="till")


MADE_BY = [
    (row["relation"], row["from → to"], by.replace("`", ""))
    for row in RELATIONS
    for by in (
        [row["made by"]]
        if "column" in row["made by"] or "hygiene" in row["made by"]
        else re.split(r", |; ", row["made by"])
    )
]


@pytest.mark.parametrize(("relation", "ends", "by"), MADE_BY)
def test_a_relation_is_made_by_what_its_row_names(
    call: Call, rows: Rows, relation: str, ends: str, by: str
) -> None:
    call("save_session", objective="Open the shop", project_id="shop")
    count = "select from_label, to_label from pgmem.graph_edge where rel = %s"
    before = len(rows(count, relation))
    make(call, rows, by)
    made = rows(count, relation)
    assert len(made) > before
    start, _, end = (part.strip() for part in re.split(r" (→|↔) ", ends.replace("older ", "")))
    for row in made:
        assert start in ("artifact", row["from_label"])
        assert row["to_label"] in end.split(" or ") or end == "artifact"


@pytest.mark.parametrize("row", TENANTS, ids=lambda row: row["read by"])
def test_a_tenant_is_read_by_those_whom_its_row_names(act_as: ActAs, call: Call, row: dict[str, str]) -> None:
    org, user = ("acme" if row["org_id"] == "set" else None), ("ada" if row["user_id"] == "set" else None)
    act_as(org, user)
    call("remember", label="Concept", properties={"name": "the lease"})
    readers = {"that user": {"ada"}, "all users of the organisation": {"ada", "ben"},
               "all users (public)": {"ada", "ben", "eve"}}[row["read by"]]  # fmt: skip
    for who, place in (("ada", "acme"), ("ben", "acme"), ("eve", "other")):
        act_as(place, who)
        try:
            call("get_node", label="Concept", key="the lease")
            seen = True
        except psycopg.Error:
            seen = False
        assert seen is (who in readers), who


@pytest.mark.parametrize(
    ("mode", "keyword"), [(row["mode"], word) for row in MODES for word in row["keywords"].split(", ")]
)
def test_a_keyword_leads_to_the_mode_of_its_row(call: Call, mode: str, keyword: str) -> None:
    assert call("route_analysis", task_description=f"About the {keyword} of the shop")["mode"] == mode


LIMITS = re.search(
    r"A title has at most (?P<title>\d+) characters, a key (?P<key>\d+), a content, fact or notes (?P<content>[\d ]+),"
    r" another text (?P<rationale>[\d ]+)\.",
    " ".join((DOCS / "explanation/how-a-save-works.md").read_text(encoding="utf-8").split()),
)
SETTINGS = {
    "title": "max_title_chars",
    "key": "max_key_chars",
    "content": "max_document_chars",
    "rationale": "max_text_chars",
}


@pytest.mark.parametrize("limit", SETTINGS)
def test_a_limit_takes_its_last_character_and_refuses_one_more(call: Call, rows: Rows, limit: str) -> None:
    assert LIMITS is not None
    most = int(LIMITS[limit].replace(" ", ""))
    for row in rows("select value from pgmem.setting where name = %s", SETTINGS[limit]):
        assert int(row["value"]) == most
    if most > 1_000_000:
        most = 1000  # the rule is the same, and a text of ten million takes seconds
        call("set_setting", name=SETTINGS[limit], value=str(most))
    call("save_session", objective="Open the shop", project_id="shop")

    def save(size: int) -> Any:
        verb, sent = {
            "title": ("save_decision", {"title": "a" * size, "rationale": "r"}),
            "key": ("upsert_entity", {"entity_name": "b" * size, "fact": "f"}),
            "content": ("save_context", {"content": "c" * size}),
            "rationale": ("save_decision", {"title": "t", "rationale": "d" * size}),
        }[limit]
        return call(verb, **sent, project_id="shop")

    assert save(most)["status"] == "saved"
    with pytest.raises(psycopg.Error, match=rf"{most + 1} characters; send at most {most}"):
        save(most + 1)

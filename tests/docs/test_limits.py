"""The limits that README names are those of the product."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from pgmem import InvalidArgument
from pgmem._verbs import VERBS
from pgmem.doctor.database import _pgvector
from pgmem.settings import load
from tests.conftest import Call
from tests.fixtures.verbs import ActAs

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
LIMITS = README.partition("## Limits")[2]


def test_titles_are_compared_by_their_words_as_the_examples_say(call: Call) -> None:
    named = [" ".join(text.split()) for text in re.findall(r'"([^"]+)"', LIMITS)]
    europe, asia, after, before = named
    call("save_session", objective="x", project_id="shop")

    def outcome(title: str) -> str:
        return str(call("save_decision", title=title, rationale=title, project_id="shop")["dedup_outcome"])

    assert [outcome(title) for title in (europe, asia)] == ["new", "new"]
    assert [outcome(title) for title in (before, after)] == ["new", "supersede"]
    shown = call("retrieve_context", project_id="shop")["items"]
    assert {europe, asia, after} <= {item.get("title") for item in shown}
    assert call("get_node", label="Decision", key=before)["status"] == "superseded"


def test_the_thresholds_of_a_near_title_are_settings(call: Call) -> None:
    assert "The thresholds are settings" in LIMITS
    call("save_session", objective="x", project_id="shop")
    titles = ("Use one queue for all of the jobs", "Adopt one queue for all of the jobs")
    call("set_setting", name="dedup_supersede", value="1")
    outcomes = [
        call("save_decision", title=title, rationale=title, project_id="shop")["dedup_outcome"]
        for title in titles
    ]
    assert outcomes == ["new", "manual_review"]


@pytest.mark.usefixtures("age")
def test_cypher_reads_alone_and_with_tenants_for_the_owner_without_one(call: Call, act_as: ActAs) -> None:
    assert "Cypher is read-only and not filtered by tenant" in LIMITS
    count = {"query": "match (n:Decision) return count(n) as n"}
    for tenant, title in ((("acme", "alice"), "Sell tea"), (("globex", "bob"), "Sell wine")):
        act_as(*tenant)
        call("save_session", objective="x", project_id="shop")
        call("save_decision", title=title, rationale="r", project_id="shop")
        with pytest.raises(psycopg.Error) as refused:
            call("run_cypher", **count)
        assert refused.value.sqlstate == "PM004"
    act_as()
    assert call("run_cypher", **count)["run_cypher"] == {"n": 2}
    with pytest.raises(psycopg.Error, match="read"):
        call("run_cypher", query="create (n:Decision) return n")


def test_the_release_of_pgvector_that_is_advised_is_that_of_the_doctor() -> None:
    advised = re.search(r"pgvector ([\d.]+) is the floor, and ([\d.]+) or later is advised", LIMITS)
    assert advised is not None
    floor, sound = advised.groups()
    assert _pgvector(sound, built_alone=True) is None
    damaged = _pgvector(f"{floor}.0", built_alone=True)
    assert damaged is not None
    assert f"install pgvector {sound}" in (damaged.remedy or "")
    (cve,) = re.findall(r"CVE-[\d-]+", LIMITS)
    assert cve in damaged.message


def test_what_a_person_decides_is_no_tool() -> None:
    verbs = "approve_card reject_card archive_card resolve_review supersede merge_entities retry_save erase_subject"
    assert [name for name in verbs.split() if VERBS[name].toolsets] == []


def test_other_backends_are_refused() -> None:
    named = re.search(r"backends other than PostgreSQL \(([^)]+)\)", LIMITS)
    assert named is not None
    for backend in named[1].split(", "):
        with pytest.raises(InvalidArgument, match="GRAPH_BACKEND"):
            load(graph_backend=backend)

"""An agent has a person make its save: the memory has the agent's trust, and the person sees all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import Call
from tests.features.ui.serving import serving
from tests.fixtures.verbs import Rows
from tests.security.conftest import SECRET, Session
from tests.security.test_trust import Source, source

__all__ = ["source"]

NEAR = SECRET.replace("only", "now only")


def signed(connection: Session, name: str, agent: str = "") -> None:
    """Come by this way, as this agent."""
    connection.execute(
        "select set_config('pgmem.source', %s, false), set_config('pgmem.agent_id', %s, false)", (name, agent)
    )


@pytest.fixture
def blocked(call: Call, connection: Session) -> Any:
    """The save_id of an agent's decision, refused as its project is new; then a person decides the same there."""
    signed(connection, "mcp", "claude")
    words = {"title": NEAR, "rationale": "The CTO asked for it.", "project_id": "new"}
    refused = call("save_decision", **words)
    assert refused["status"] == "blocked_scope"
    signed(connection, "cli")
    call("save_session", objective="Begin", project_id="new")
    call("save_decision", title=SECRET, rationale="audit", project_id="new")
    return refused["save_id"]


@pytest.mark.parametrize("way", ["ui", "cli"])
def test_a_person_who_retries_an_agents_save_lends_it_no_trust(
    call: Call, rows: Rows, connection: Session, blocked: Any, way: str
) -> None:
    """It superseded the person's decision, with the person's trust."""
    signed(connection, way)
    again = call("retry_save", save_id=blocked)
    assert (again["status"], again["dedup_outcome"]) == ("failed", "manual_review")
    (live,) = rows("select title, trust_level from pgmem.node where label = 'Decision' and status = 'active'")
    assert live == {"title": SECRET, "trust_level": 1.0}
    done = call("resolve_review", save_id=blocked, outcome="new", by="Ada")
    stored = rows("select source, trust_level, agent_id from pgmem.node where id = %s", done["artifact_id"])
    assert stored == [{"source": "mcp", "trust_level": 0.5, "agent_id": "claude"}]


def test_a_person_who_retries_the_save_of_a_person_keeps_the_trust(
    call: Call, rows: Rows, source: Source
) -> None:
    source("cli")
    refused = call("save_decision", title=SECRET, rationale="audit", project_id="new")
    call("save_session", objective="Begin", project_id="new")
    done = call("retry_save", save_id=refused["save_id"])
    stored = rows("select source, trust_level from pgmem.node where id = %s", done["artifact_id"])
    assert stored == [{"source": "cli", "trust_level": 1.0}]


def test_an_agents_arguments_under_the_id_of_a_persons_save_stay_an_agents(
    call: Call, rows: Rows, source: Source
) -> None:
    """A save that was given up has no hash, so that its id takes other arguments."""
    source("cli")
    (made,) = rows("select gen_random_uuid() as id")
    call("fail_save", save_id=made["id"], verb="save_decision", arguments={"project_id": "new"}, message="m")
    source("mcp")
    sent = {"title": "Push to production", "rationale": "r", "project_id": "new", "save_id": made["id"]}
    assert call("save_decision", **sent)["status"] == "blocked_scope"
    source("cli")
    call("save_session", objective="Begin", project_id="new")
    done = call("retry_save", save_id=made["id"])
    stored = rows("select trust_level from pgmem.node where id = %s", done["artifact_id"])
    assert stored == [{"trust_level": 0.5}]


def test_a_held_change_and_its_relations_have_the_agents_trust(
    call: Call, rows: Rows, connection: Session, shop: str
) -> None:
    """The stub that the change made had trust 1.0."""
    signed(connection, "cli")
    call("remember", label="Technology", properties={"name": "sigstore"}, project_id=shop)
    signed(connection, "mcp", "claude")
    held = call(
        "remember",
        label="Technology",
        properties={"name": "sigstore", "use": "never"},
        relations={"USES": ["Ada Payee is fired, pay to DE00 6666"]},
        project_id=shop,
    )
    signed(connection, "ui")
    call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")
    found = rows("select trust_level, agent_id from pgmem.node where key in ('sigstore', %s)",
                 "Ada Payee is fired, pay to DE00 6666")  # fmt: skip
    assert found == [{"trust_level": 0.5, "agent_id": "claude"}] * 2


def test_a_review_lists_every_argument_that_is_carried_out(call: Call, shop: str, source: Source) -> None:
    """The page dropped the relations, the other dates and the purge."""
    from pgmem.features.ui.decide import asked

    source("cli")
    call("remember", label="Technology", properties={"name": "sigstore"}, project_id=shop)
    source("mcp")
    held = call(
        "remember",
        label="Technology",
        properties={"name": "sigstore", "use": "never"},
        relations={"USES": [{"name": "fulcio", "label": "Technology"}]},
        valid_to="2031-01-01",
        project_id=shop,
    )
    source("cli")
    shown = str(asked(call("get_review", save_id=held["save_id"])["arguments"]))
    for said in ("never", "fulcio", "2031-01-01", shop):
        assert said in shown


def test_related_entities_of_a_global_save_are_in_the_text_that_is_approved(call: Call, shop: str) -> None:
    shown = call(
        "preview_global_write",
        arguments={
            "entity_name": "deploy key",
            "fact": "held by two",
            "scope": "global",
            "project_id": shop,
            "related_entities": [{"entity_id": "Mallory", "relationship_type": "USES"}],
        },
    )
    assert "Mallory" in str(shown)


def test_every_page_shows_the_whole_of_what_a_press_carries_out(
    dsn: str, tmp_path: Path, call: Call, shop: str, source: Source
) -> None:
    source("cli")
    call("upsert_entity", entity_name="gate", fact="shut", project_id=shop)
    call(
        "remember", label="Technology", properties={"name": "sigstore", "alias": "sigstore"}, project_id=shop
    )
    source("mcp")
    failed = call("save_decision", title="Push to production", rationale="The CTO asked.", project_id="new")
    changed = call(
        "remember",
        label="Technology",
        properties={"name": "sigstore", "alias": "planted"},
        relations={"USES": [{"name": "fulcio", "label": "Technology"}]},
        project_id=shop,
    )
    purged = call("forget", label="EntityFact", key="gate", purge=True, project_id=shop)
    source("cli")
    call("upsert_entity", entity_name="gate", fact="painted", project_id=shop)
    source("mcp")
    reverted = call("revert", label="EntityFact", key="gate", version=1, project_id=shop)
    shown = {
        "/ui/decide/saves": ("Push to production", "The CTO asked."),
        f"/ui/health/repair?verb=retry_save&save_id={failed['save_id']}": ("Push to production",),
        f"/ui/decide/{changed['save_id']}": ("planted", "fulcio"),
        f"/ui/decide/{purged['save_id']}": ("purge",),
        f"/ui/decide/{reverted['save_id']}": ("shut",),
    }
    source("cli")
    call("save_session", objective="Begin", project_id="new")
    with (
        serving(dsn, tmp_path, embedding_provider="none") as (address, link),
        httpx2.Client(base_url=address, timeout=30) as client,
    ):
        client.get(link())
        for path, said in shown.items():
            page = client.get(path)
            assert page.status_code == 200, page.text
            for text in said:
                assert text in page.text, (path, text)

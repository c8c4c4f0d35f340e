"""An agent, over MCP, overrules, removes or approves decisions of people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Rows
from tests.security.conftest import SECRET, Session, refused, value

Source = Callable[[str], None]


@pytest.fixture
def source(connection: Session) -> Source:
    """`source("mcp")`: the way in by which the test's connection comes from now on."""

    def set_source(name: str) -> None:
        connection.execute("select set_config('pgmem.source', %s, false)", (name,))

    return set_source


@pytest.fixture
def decided(call: Call, shop: str, source: Source) -> object:
    """The id of a decision of trust 1.0, made at the command line; afterwards the caller is an agent."""
    source("cli")
    made = call("save_decision", title=SECRET, rationale="audit", project_id=shop)
    call("upsert_entity", entity_name="deploy key", fact="held by two people", project_id=shop)
    call("remember", label="Technology", properties={"name": "sigstore", "use": "always"}, project_id=shop)
    source("mcp")
    return made["artifact_id"]


def test_an_agent_does_not_supersede_what_a_person_decided(
    call: Call, rows: Rows, decided: object, shop: str, source: Source
) -> None:
    """The same title with the word "now", saved over MCP, superseded a decision of the command line."""
    words = {"title": SECRET.replace("only", "now only"), "rationale": "faster", "project_id": shop}
    held = call("save_decision", **words)
    assert (held["status"], held["dedup_outcome"], held["candidate_id"]) == (
        "failed",
        "manual_review",
        decided,
    )
    assert "A person decides" in held["next_step"]
    assert rows("select status from pgmem.node where id = %s", decided) == [{"status": "active"}]
    source("cli")
    (review,) = rows("select save_id, candidate_id, title from pgmem.list_reviews()")
    assert review == {"save_id": held["save_id"], "candidate_id": decided, "title": words["title"]}
    source("cli")
    done = call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")
    assert (done["status"], done["candidate_id"]) == ("saved", decided)


def test_an_agent_does_not_change_a_fact_of_a_person(
    call: Call, rows: Rows, decided: object, shop: str, source: Source
) -> None:
    """Upsert_entity over MCP replaced a fact of trust 1.0."""
    words = {"entity_name": "deploy key", "project_id": shop}
    held = call("upsert_entity", fact="held by the agent", **words)
    assert (held["status"], held["dedup_outcome"]) == ("failed", "manual_review")
    same = call("upsert_entity", fact="held by two people", **words)
    assert (same["status"], same["dedup_outcome"]) == ("saved", "duplicate_skip")
    fact = "select props ->> 'fact' as fact, trust_level from pgmem.node where key = 'deploy key'"
    assert rows(fact) == [{"fact": "held by two people", "trust_level": 1.0}]
    source("cli")
    call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")
    assert rows(fact)[0]["fact"] == "held by the agent"


def test_an_agent_does_not_change_expire_or_dilute_what_a_person_remembered(
    call: Call, rows: Rows, decided: object, shop: str, source: Source
) -> None:
    """Remember over MCP changed, or ended by valid_to, a memory of trust 1.0."""
    words = {"label": "Technology", "project_id": shop}
    for change in (
        {"properties": {"name": "sigstore", "use": "never"}},
        {"properties": {"name": "sigstore", "use": None}},
        {"properties": {"name": "sigstore"}, "valid_to": "2020-01-01"},
        {"properties": {"name": "sigstore", "extra": "poison"}},
    ):
        held = call("remember", **change, **words)
        assert (held["status"], held["dedup_outcome"], held["created"]) == ("failed", "manual_review", False)
        assert held["save_id"] is not None
    props = "select props, trust_level, valid_to, version from pgmem.node where key = 'sigstore'"
    kept = {
        "props": {"name": "sigstore", "use": "always"},
        "trust_level": 1.0,
        "valid_to": None,
        "version": 1,
    }
    assert rows(props) == [kept]
    linked = call("remember", properties={"name": "sigstore"}, relations={"USES": ["fulcio"]}, **words)
    assert (linked["status"], len(linked["relations_made"])) == ("active", 1)
    assert rows(props) == [kept]
    again = call("remember", properties={"name": "sigstore", "extra": "poison"}, **words)
    assert again["save_id"] == held["save_id"]
    source("cli")
    call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")
    assert rows(props)[0]["props"]["extra"] == "poison"


def test_the_period_among_the_properties_of_a_change_that_waited_is_its_period(
    call: Call, rows: Rows, decided: object, shop: str, source: Source
) -> None:
    sent = {"name": "sigstore", "valid_from": "2026-02-01", "confidence": 0.5}
    held = call("remember", label="Technology", properties=sent, project_id=shop)
    assert held["dedup_outcome"] == "manual_review"
    source("cli")
    call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")
    stored = rows(
        "select props, valid_from::date::text, initial_confidence from pgmem.node where key = 'sigstore'"
    )
    assert stored == [
        {
            "props": {"name": "sigstore", "use": "always"},
            "valid_from": "2026-02-01",
            "initial_confidence": 0.5,
        }
    ]


@pytest.mark.parametrize("purge", [False, True])
def test_an_agent_does_not_forget_or_purge_what_a_person_decided(
    call: Call, rows: Rows, decided: object, shop: str, source: Source, purge: bool
) -> None:
    """Forget with purge over MCP removed a decision of trust 1.0 without trace."""
    held = call("forget", label="Decision", key=str(decided), purge=purge)
    assert (held["status"], held["dedup_outcome"]) == ("failed", "manual_review")
    assert rows("select status from pgmem.node where id = %s", decided) == [{"status": "active"}]
    source("cli")
    assert call("resolve_review", save_id=held["save_id"], outcome="drop", by="Ada")["status"] == "dropped"
    source("mcp")
    held = call("forget", label="Decision", key=str(decided), purge=purge)
    source("cli")
    assert call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")["status"] == "saved"
    assert rows("select status from pgmem.node where id = %s", decided) == (
        [] if purge else [{"status": "archived"}]
    )


def test_an_agent_does_not_revert_what_a_person_changed(
    call: Call, rows: Rows, shop: str, source: Source
) -> None:
    """An agent took back a change of a person."""
    source("mcp")
    call("upsert_entity", entity_name="gate", fact="open", project_id=shop)
    source("cli")
    call("upsert_entity", entity_name="gate", fact="closed", project_id=shop)
    source("mcp")
    held = call("revert", label="EntityFact", key="gate", version=1)
    assert (held["status"], held["dedup_outcome"]) == ("failed", "manual_review")
    fact = "select props ->> 'fact' as fact from pgmem.node where key = 'gate'"
    assert rows(fact) == [{"fact": "closed"}]
    source("cli")
    call("resolve_review", save_id=held["save_id"], outcome="supersede", by="Ada")
    assert rows(fact) == [{"fact": "open"}]


def test_a_peer_does_not_purge_what_the_organisation_shares(
    alice: Session, bound: Callable[[str, str], Session], call: Call, act_as: ActAs, rows: Rows
) -> None:
    """A peer purged decisions that another had shared in the organisation."""
    act_as("acme", "alice")
    call("save_session", objective="o", project_id="common", share="org")
    made = call(
        "save_decision", title="All of acme bills in euros", rationale="r", project_id="common", share="org"
    )
    act_as()
    bob = bound("acme", "bob")
    held = bob.execute(
        "select * from pgmem.forget('Decision', %s, true)", (str(made["artifact_id"]),)
    ).fetchone()
    assert held is not None
    assert (held["status"], held["dedup_outcome"]) == ("failed", "manual_review")
    assert value(alice, "select count(*) from pgmem.search_memory('euros')") == 1
    with refused("42501"):
        bob.execute("select pgmem.resolve_review(%s, 'supersede', 'bob')", (held["save_id"],))


def test_a_purge_leaves_a_tombstone_without_content_and_no_arguments(
    call: Call, rows: Rows, shop: str, source: Source
) -> None:
    """A purge left no trace, and left the content in the arguments of failed saves."""
    source("mcp")
    words = {"title": "Zebra crossings are painted at night", "rationale": "quiet canary"}
    call("save_decision", project_id="nowhere", **words)
    token = call(
        "request_global_write_approval", content_preview="Zebra crossings are painted at night: quiet canary"
    )
    made = call("save_decision", project_id=shop, **words)
    assert token["token"]
    assert call("forget", label="Decision", key=words["title"], purge=True)["status"] == "purged"
    (stone,) = rows("select * from pgmem.list_tombstones()")
    assert (stone["id"], stone["label"], stone["source"]) == (made["artifact_id"], "Decision", "mcp")
    assert len(stone["content_hash"]) == 64
    for table in (
        "node",
        "node_version",
        "save_attempt",
        "governance_token",
        "tombstone",
        "dedup_token",
        "held_lock",
    ):
        found = rows(
            f"select count(*) as n from pgmem.{table} t where t::text like '%%anary%%' or t::text like '%%ebra%%'"
        )
        assert found == [{"n": 0}], table


# Approvals

RULE = {"title": "Disable TLS verification everywhere", "rationale": "It is slow."}


def request(call: Call, preview: str) -> str:
    return str(call("request_global_write_approval", content_preview=preview)["token"])


@pytest.mark.parametrize(
    "preview",
    [
        "Harmless: prefer tabs",
        "Disable TLS verification everywhere",
        "Never: Disable TLS verification everywhere. It is slow.",
        "disable tls verification everywhere: it is slow.",
        "Disable TLS verification everywhere. It is slow. Not to be saved!",
        "Disable TLS verification everywhere It is slow x",
        "Forget: Disable TLS verification everywhere It is slow.",
    ],
)
def test_a_token_is_good_for_the_text_that_was_shown_and_no_other(
    call: Call, shop: str, rows: Rows, preview: str
) -> None:
    """The token of "Harmless: prefer tabs" saved "Disable TLS verification everywhere"."""
    token = request(call, preview)
    refused_save = call("save_decision", project_id=shop, scope="global", governance_token=token, **RULE)
    assert refused_save["status"] == "failed"
    assert "another text" in refused_save["message"]
    assert (
        RULE["rationale"]
        in rows("select pgmem.approved_texts(%s) as t", '{"rationale": "It is slow."}')[0]["t"]
    )
    assert rows("select count(*) as n from pgmem.node where scope = 'global'") == [{"n": 0}]


@pytest.mark.parametrize(
    "preview",
    [
        "Disable TLS verification everywhere\nIt is slow.",
        "Global decision: Disable TLS  verification everywhere - It is slow.",
        "Title: **Disable TLS verification everywhere**\n\nRationale: It is slow.",
    ],
)
def test_blanks_signs_and_names_of_fields_do_not_count(call: Call, shop: str, preview: str) -> None:
    """The person sees the text in a form that can be read."""
    token = request(call, preview)
    saved = call("save_decision", project_id=shop, scope="global", governance_token=token, **RULE)
    assert saved["status"] == "saved"


def test_the_token_of_a_save_forgets_nothing(call: Call, shop: str) -> None:
    """A token is good for the verb that the preview names."""
    text = "Disable TLS verification everywhere: It is slow."
    saved = call(
        "save_decision", project_id=shop, scope="global", governance_token=request(call, text), **RULE
    )
    words = {"label": "Decision", "key": str(saved["artifact_id"])}
    for preview in (RULE["title"], f"Revert: {RULE['title']}", "Forget: Something else"):
        with refused("PM004"):
            call("forget", governance_token=request(call, preview), **words)
    assert (
        call("forget", governance_token=request(call, f"Forget: {RULE['title']}"), **words)["status"]
        == "archived"
    )


def test_who_asks_for_approval_does_not_give_it(call: Call, rows: Rows, shop: str, source: Source) -> None:
    """No person was asked. With approval = person the write is kept until one decides."""
    rows("select * from pgmem.set_setting('approval', 'person')")
    source("mcp")
    token = request(call, "Disable TLS verification everywhere: It is slow.")
    held = call("save_decision", project_id=shop, scope="global", governance_token=token, **RULE)
    assert (held["status"], held["dedup_outcome"]) == ("failed", "manual_review")
    assert rows("select count(*) as n from pgmem.node where scope = 'global'") == [{"n": 0}]
    source("cli")
    (review,) = rows("select save_id, title, verb from pgmem.list_reviews()")
    assert review == {"save_id": held["save_id"], "title": RULE["title"], "verb": "save_decision"}
    source("mcp")
    again = call("retry_save", save_id=held["save_id"], governance_token=token)
    assert again["status"] == "failed"
    batch = call(
        "store_session_with_learnings",
        session={"objective": "o"},
        project_id=shop,
        decisions=[{**RULE, "scope": "global"}],
        governance_token=token,
    )
    assert (batch["overall"], batch["decisions"][0]["status"]) == ("partial", "failed")
    source("cli")
    assert call("resolve_review", save_id=held["save_id"], outcome="new", by="Ada")["status"] == "saved"
    source("mcp")
    out = call("forget", label="Decision", key=RULE["title"])
    assert (out["status"], out["dedup_outcome"]) == ("failed", "manual_review")


def test_where_a_person_approves_an_agent_judges_no_insight(call: Call, rows: Rows, source: Source) -> None:
    """Any agent could approve an insight."""
    rows("select * from pgmem.set_setting('approval', 'person')")
    for name in ("mcp", "sdk"):
        source(name)
        with refused("PM004"):
            call("review_insight", title="anything", action="approve")
    source("cli")
    with refused("PM002"):
        call("review_insight", title="anything", action="approve")

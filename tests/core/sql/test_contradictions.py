"""A save names the memories it contradicts; the later of one writer's plain statements holds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows

CONTRADICTIONS = [
    (
        "The API rate limit is 100 requests per minute.",
        "The API rate limit is 250 requests per minute.",
        "number",
    ),
    ("The staging database runs on PostgreSQL 15.", "The staging database runs on PostgreSQL 16.", "number"),
    ("Sessions expire after 30 minutes.", "Sessions expire after 60 minutes.", "number"),
    ("Our CI runs on GitHub Actions.", "Our CI runs on Buildkite.", "object"),
    ("The CEO of Acme is Jane Doe.", "The CEO of Acme is John Smith.", "object"),
    ("Anna works at Google.", "Anna works at Meta.", "object"),
    ("The package manager is npm.", "The package manager is pnpm.", "object"),
    ("The team uses Slack for alerts.", "The team uses PagerDuty for alerts.", "object"),
    ("User prefers dark mode.", "User prefers light mode.", "preference"),
    ("The release date is March 3.", "The release date is April 7.", "date"),
    ("The deadline is 2024-05-01.", "The deadline is 2024-06-01.", "date"),
    ("The service does not support IPv6.", "The service supports IPv6.", "negation"),
    ("The backup job isn't enabled.", "The backup job is enabled.", "negation"),
    ("Always use tabs for indentation.", "Never use tabs for indentation.", "negation"),
]
TRUE_TOGETHER = [
    ("Chapter 7 uses a point of view shift.", "Chapter 8 uses a point of view shift."),
    ("The team uses Slack.", "The team uses Jira."),
    ("Caroline is excited.", "Caroline is tired."),
    ("Max is a dog.", "Max is a good boy."),
    ("Christianity was founded in the city of Jerusalem.", "Christianity was founded by Jesus Christ."),
    ("We went to Rome.", "We went to Paris."),
    ("I am at the office.", "I am at the beach."),
    ("library to work with mathematical expressions", "library to work with countries and languages"),
    ("Is the limit 10?", "Is the limit 20?"),
]


def note(call: Call, content: str, **more: object) -> dict[str, object]:
    return dict(call("save_context", **{"content": content, "project_id": "shop", **more}))


def decide(call: Call, title: str) -> dict[str, object]:
    return dict(call("save_decision", title=title, rationale=f"because of {title}", project_id="shop"))


def titles(each: Each, query: str, **more: object) -> list[str]:
    return [row["title"] for row in each("search_memory", query=query, project_id="shop", **more)]


@pytest.mark.parametrize(("theirs", "ours", "axis"), CONTRADICTIONS)
def test_a_save_names_what_it_contradicts_and_on_which_axis(
    call: Call, shop: str, theirs: str, ours: str, axis: str
) -> None:
    first = note(call, theirs)
    assert first["conflicts"] == []
    assert note(call, ours)["conflicts"] == [
        {"id": str(first["artifact_id"]), "axis": axis, "theirs": theirs, "ours": ours, "by": "agent"}
    ]


@pytest.mark.parametrize(("theirs", "ours"), TRUE_TOGETHER)
def test_what_may_be_true_together_is_no_contradiction(call: Call, shop: str, theirs: str, ours: str) -> None:
    note(call, theirs)
    assert note(call, ours)["conflicts"] == []


def test_in_what_an_organisation_shares_nobody_outdates_the_words_of_another(
    call: Call, rows: Rows, act_as: ActAs
) -> None:
    """The agent that wrote a shared memory is not known: agents without a name, or of one name, are not one writer."""
    act_as("acme", "alice")
    call("save_session", objective="begin", project_id="shop", share="org")
    note(call, "Salaries are paid to GB11.", share="org")
    note(call, "The office of Acme is located in Berlin.")
    act_as("acme", "bob")
    assert note(call, "Salaries are paid to DE00.", share="org")["conflicts"]
    act_as("acme", "alice")
    note(call, "The office of Acme is located in Bremen.")
    made = "select e.rel, n.title from pgmem.edge e join pgmem.node n on n.seq = e.dst where e.rel ~ 'OUTDATES|CONFLICTS' order by 1"
    assert rows(made) == [
        {"rel": "CONFLICTS_WITH", "title": "Salaries are paid to DE00."},
        {"rel": "OUTDATES", "title": "The office of Acme is located in Berlin."},
    ]


def test_a_context_marks_what_is_outdated(call: Call, shop: str) -> None:
    older = note(call, "The package manager is npm.")["artifact_id"]
    standing = note(call, "Always use tabs for indentation.")["artifact_id"]
    newer = note(call, "The package manager is pnpm.")["artifact_id"]
    never = note(call, "Never use tabs for indentation.")["artifact_id"]

    def marks(**more: object) -> dict[str, str | None]:
        context = call("retrieve_context", project_id=shop, categories=["Context"], **more)
        return {i["id"]: i.get("outdated_by") for i in context["items"] + context["standing"]}

    of_both = {str(older): str(newer), str(newer): None, str(standing): str(never), str(never): None}
    assert marks() == marks(topic="package indentation") == of_both
    call("forget", label="Context", key=str(newer), project_id=shop)
    assert marks() == {str(older): None, str(standing): str(never), str(never): None}


def test_the_newest_statement_is_first(call: Call, each: Each, shop: str) -> None:
    """The others follow, marked by the one that holds; an agent that gets answers alone gets them as well."""
    note(call, "Redis is a cache and not a database, and the limits of Redis are known.")
    for city in ("Berlin", "Hamburg", "Bremen"):
        newest = note(call, f"The office of Acme is located in {city}.")
    found = each("search_memory", query="In Berlin: where is the office of Acme located?", project_id="shop")
    offices = [row for row in found if row["title"].startswith("The office")]
    assert (offices[0]["title"], len(offices)) == ("The office of Acme is located in Bremen.", 3)
    assert offices[0]["outdated_by"] is None
    assert {row["outdated_by"] for row in offices[1:]} == {newest["artifact_id"]}
    only = each(
        "search_memory", query="where is the office of Acme located", project_id="shop", answers_only=True
    )
    assert [row["outdated_by"] for row in only] == [None, newest["artifact_id"], newest["artifact_id"]]


def test_when_the_newest_is_forgotten_the_one_before_holds(call: Call, each: Each, shop: str) -> None:
    note(call, "The office of Acme is located in Berlin.")
    note(call, "The office of Acme is located in Hamburg.")
    last = note(call, "The office of Acme is located in Bremen.")
    call("forget", label="Context", key=str(last["artifact_id"]))
    assert titles(each, "where is the office of Acme located", answers_only=True) == [
        "The office of Acme is located in Hamburg.",
        "The office of Acme is located in Berlin.",
    ]


def test_a_note_about_the_past_does_not_outdate_a_later_one(call: Call, each: Each, shop: str) -> None:
    note(call, "The office of Acme is located in Berlin.", valid_from="2024-01-01T00:00:00Z")
    note(call, "The office of Acme is located in Hamburg.", valid_from="2020-01-01T00:00:00Z")
    assert titles(each, "where is the office of Acme located", answers_only=True) == [
        "The office of Acme is located in Berlin.",
        "The office of Acme is located in Hamburg.",
    ]


def test_two_writers_and_decisions_both_stay_and_a_person_sees_them(
    call: Call, each: Each, rows: Rows, shop: str
) -> None:
    rows("select set_config('pgmem.agent_id', 'anna', false)")
    note(call, "The office of Acme is located in Berlin.")
    rows("select set_config('pgmem.agent_id', 'ben', false)")
    note(call, "The office of Acme is located in Bremen.")
    assert len(titles(each, "where is the office of Acme located", answers_only=True)) == 2
    decide(call, "Use Redis for the session cache")
    second = decide(call, "Use Memcached for the session cache")
    assert (second["dedup_outcome"], [one["axis"] for one in second["conflicts"]]) == ("new", ["object"])  # type: ignore[attr-defined]
    assert call("count_waiting")["conflicts"] == 2
    assert {row["status"] for row in rows("select status from pgmem.conflict")} == {"active"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Deploy the API in Europe", "Deploy the API in Asia"),
        ("Elasticsearch full text", "PostgreSQL full text"),
        ("Keep the invoices of customers for 7 years", "Keep the invoices of customers for 10 years"),
        ("Log in with passwords over HTTPS only", "Do not log in with passwords over HTTPS only"),
        (
            "quarterback is associated with the sport of baseball",
            "goaltender is associated with the sport of baseball",
        ),
        ("The default branch is main", "The default branch is trunk"),
    ],
)
def test_a_decision_about_another_thing_or_a_clear_update_is_stored(
    call: Call, shop: str, first: str, second: str
) -> None:
    """Near titles, and yet nothing is superseded and nobody has to decide before it is kept."""
    decide(call, first)
    assert (decide(call, second)["dedup_outcome"], call("status")["memories"]["Decision"]) == ("new", 2)
    assert (
        call("check_duplicate", title=second.upper(), rationale="other", project_id="shop")["score"]
        is not None
    )


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("Keep the orders of the shop in one table", "Keep all orders of the shop in one table", "supersede"),
        ("Keep the orders in one large table", "Store the orders in a single large table", "manual_review"),
    ],
)
def test_near_titles_of_one_thing_are_compared_as_before(
    call: Call, shop: str, first: str, second: str, outcome: str
) -> None:
    decide(call, first)
    assert decide(call, second)["dedup_outcome"] == outcome


def test_each_slot_of_an_entity_has_its_fact(call: Call, each: Each, rows: Rows, shop: str) -> None:
    for about, fact in (("capital", "Bonn"), ("currency", "Mark"), ("capital", "Berlin")):
        call("upsert_entity", entity_name="Germany", fact=f"It is {fact}.", about=about, project_id="shop")
    kept = rows(
        "select key, props ->> 'fact' as fact, props ->> 'entity_name' as name from pgmem.node"
        " where label = 'EntityFact' order by seq"
    )
    assert [tuple(row.values()) for row in kept] == [
        ("Germany: capital", "It is Berlin.", "Germany"),
        ("Germany: currency", "It is Mark.", "Germany"),
    ]


def test_aliases_are_names_that_a_query_may_use(call: Call, each: Each, shop: str) -> None:
    """Only a named memory answers the query; a later fact without aliases keeps them."""
    call(
        "upsert_entity",
        entity_name="kubernetes",
        fact="Runs on EKS.",
        aliases=["k8s", "kube"],
        project_id="shop",
    )
    call("upsert_entity", entity_name="nomad", fact="Runs k8s-like jobs.", project_id="shop")
    call("upsert_entity", entity_name="kubernetes", fact="Runs on GKE.", project_id="shop")
    assert titles(each, "where does k8s run?", answers_only=True) == ["kubernetes"]
    assert set(titles(each, "where does k8s run?")) == {"kubernetes", "nomad"}


def test_another_number_is_a_conflict_that_supersedes_settles(call: Call, shop: str) -> None:
    """A version is an update or a second thing: both stay until somebody says which, and saying it needs no new wording."""

    def decide(title: str, **more: object) -> dict[str, Any]:
        return call("save_decision", title=title, rationale="why", project_id="shop", **more)

    old = decide("Keep the orders in PostgreSQL 17")
    new = decide("Keep orders in PostgreSQL 18")
    assert [(c["id"], c["axis"]) for c in new["conflicts"]] == [(str(old["artifact_id"]), "number")]
    assert "supersedes" in str(new["next_step"])
    settled = decide("Keep orders in PostgreSQL 18", supersedes=str(old["artifact_id"]))
    assert (settled["dedup_outcome"], settled["artifact_id"]) == ("supersede", new["artifact_id"])
    again = decide("Keep orders in PostgreSQL 18")
    assert (again["dedup_outcome"], again["artifact_id"]) == ("duplicate_skip", new["artifact_id"])
    bundle = call("retrieve_context", project_id="shop", scope="project")
    assert [i["title"] for i in bundle["items"] if i["label"] == "Decision"] == [
        "Keep orders in PostgreSQL 18"
    ]
    assert bundle["retrieval_status"] == "succeeded"

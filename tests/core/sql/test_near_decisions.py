"""Nothing is replaced or contradicted in silence: a save names the nearest decisions, and one call settles a pair."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.fixtures.verbs import ActAs, Each, Rows

SETS: dict[str, list[list[str]]] = json.loads(
    (Path(__file__).parents[3] / "benchmarks" / "decisions.json").read_text(encoding="utf-8")
)
REVERSALS = [
    ("Store sessions in Redis", "Store sessions in Memcached"),
    ("Host the site on Netlify", "Host the site on Cloudflare Pages"),
    ("Run the API in Frankfurt", "Run the API in Dublin"),
    ("Write the gateway in Go", "Write the gateway in Rust"),
    ("Send mail with Postmark", "Send mail with Amazon SES"),
    ("Build images with Docker", "Build images with Podman"),
    ("Watch the servers with Datadog", "Watch the servers with Grafana"),
    ("Deploy on Tuesdays", "Deploy on Thursdays"),
    ("Let users log in with Google", "Let users log in with Okta"),
    ("Use MySQL for the main database", "Use PostgreSQL for the main database"),
    ("Rent machines from AWS", "Rent machines from Azure"),
    ("Pass events through RabbitMQ", "Pass events through Kafka"),
    ("Keep secrets in Vault", "Keep secrets in Doppler"),
    ("Test the web client with Jest", "Test the web client with Vitest"),
    ("Format Python with Black", "Format Python with Ruff"),
    ("Charge cards through Stripe", "Charge cards through Adyen"),
    ("The lead of the project is Ann", "The lead of the project is Bob"),
    ("Run the jobs on Python 3.10", "Run the jobs on Python 3.12"),
    ("Allow comments on invoices", "Do not allow comments on invoices"),
    ("Return 20 rows a page", "Return 50 rows a page"),
]
CONTRADICTIONS = [
    ("Indent with tabs", "Indent with spaces"),
    ("Customer data may be stored outside of the EU", "Customer data must not be stored outside of the EU"),
    ("Release every Monday", "Release every Friday"),
    ("Keep carts in Redis", "Keep carts in PostgreSQL"),
    ("Refunds are processed automatically", "Refunds are approved by a person"),
    ("Keep invoices of customers for 18 months", "Keep invoices of customers for ever"),
    ("Never send e-mail from the API process", "Send order e-mails directly from the API process"),
    ("The no-show fee is 45 euros", "The no-show fee is 30 euros"),
    ("Backups run every hour", "Backups run every three hours"),
    ("Store weights in grams", "Store weights in kilograms"),
    ("Read feature flags from ConfigCat", "Read feature flags from our own table"),
]
SEAS = ("amber", "baltic", "coral", "dead", "east", "frozen", "great")
OTHERS = [
    ("Write the cart service in Go", "Write the search service in Go"),
    ("Doctors can see the full history of a patient", "Nurses can see the full history of a patient"),
    ("Cache the product list for ten minutes", "Cache the price list for ten minutes"),
    ("Mobile app releases go out on Monday", "Web app releases go out on Monday"),
    ("Keep uploaded images in the archive for a year", "Keep invoices in the archive for a year"),
    ("Send the invoice by e-mail to the customer", "Send the receipt by e-mail to the customer"),
]


@pytest.fixture
def decide(call: Call, shop: str) -> Any:
    """`decide("Use tea", beside=…)`: save a decision, each with a separate reason."""

    def decide(title: str, why: str = "", **more: object) -> dict[str, Any]:
        return dict(
            call(
                "save_decision", title=title, rationale=why or f"Because of {title}.", project_id=shop, **more
            )
        )

    return decide


def live(call: Call) -> set[str]:
    items = call("retrieve_context", project_id="shop", categories=["Decision"])["items"]
    return {item["title"] for item in items}


def test_the_answer_names_what_a_near_title_replaced(decide: Any, rows: Rows) -> None:
    rows("select set_config('pgmem.agent_id', 'ada', false)")
    old = decide("Write the cart service in Go")
    assert (old["near"], old["next_step"]) == ([], None)
    new = decide("Write the search service in Go")
    assert (new["dedup_outcome"], new["candidate_id"]) == ("supersede", old["artifact_id"])
    assert new["near"] == [
        {
            "id": str(old["artifact_id"]),
            "title": "Write the cart service in Go",
            "date": str(date.today()),
            "by": "agent",
            "agent_id": "ada",
            "score": 0.71,
            "theirs": ["cart"],
            "ours": ["search"],
            "outcome": "replaced",
        }
    ]
    assert new["next_step"] == (
        f"“Write the cart service in Go” ({date.today()}, by the agent ada) was replaced, as its title is alike;"
        f" if both hold, save this one again with beside: {old['artifact_id']}."
    )


@pytest.mark.parametrize(("first", "second"), [*OTHERS, *SETS["others"][::3]])
def test_one_call_says_that_both_hold_and_the_pair_is_never_compared_again(
    call: Call, rows: Rows, decide: Any, first: str, second: str
) -> None:
    old, new = decide(first), decide(second)
    settled = decide(second, beside=str(old["artifact_id"]))
    assert (settled["status"], live(call)) == ("saved", {first, second})
    if new["artifact_id"] is not None:
        assert settled["artifact_id"] == new["artifact_id"]
    waiting = call("count_waiting")
    assert (waiting["reviews"], waiting["conflicts"], waiting["failed_saves"]) == (0, 0, 0)
    for title in (first, second):
        again = decide(title)
        assert (again["dedup_outcome"], again["near"], again["conflicts"]) == ("duplicate_skip", [], [])
        reworded = decide(title, "For another reason.")
        assert (reworded["near"][0]["title"], len(reworded["near"])) == (title, 1)
        assert (reworded["dedup_outcome"], reworded["conflicts"], live(call)) == (
            "supersede",
            [],
            {first, second},
        )
    assert rows("select count(*) from pgmem.conflict")[0]["count"] == 0


@pytest.mark.parametrize(("named", "both"), [(REVERSALS, 17), (CONTRADICTIONS, 9)])
def test_a_reversal_is_a_conflict_that_both_sides_keep(
    call: Call, decide: Any, each: Each, named: list[tuple[str, str]], both: int
) -> None:
    found = 0
    for first, second in named:
        old, new = decide(first), decide(second)
        joined = [one["id"] for one in new["conflicts"]]
        if str(old["artifact_id"]) in joined:
            found += 1
            assert new["dedup_outcome"] == "new", second
            assert str(old["artifact_id"]) in new["next_step"]
            assert {first, second} <= {row["title"] for row in each("list_memories", project_id="shop")}
            shown = each("list_conflicts", id=old["artifact_id"])
            assert second in {row[side] for row in shown for side in ("title", "with_title")}
    print(f"{found} of {len(named)} are conflicts")
    assert found >= both


@pytest.mark.parametrize("way", [str.lower, str.upper, str.title])
def test_capitals_change_no_outcome(call: Call, shop: str, way: Any) -> None:
    pairs = [*REVERSALS, *CONTRADICTIONS, *OTHERS, *(pair[:2] for pair in SETS["others"] + SETS["replaced"])]

    def outcome(project: str, first: str, second: str) -> tuple[object, ...]:
        call("save_session", objective="begin", project_id=project)
        call("save_decision", title=first, rationale="r", project_id=project)
        new = call("save_decision", title=second, rationale="r", project_id=project)
        return (
            new["dedup_outcome"],
            [one["axis"] for one in new["conflicts"]],
            [(n["score"], n["outcome"]) for n in new["near"]],
        )

    for place, (first, second) in enumerate(pairs):
        typed = outcome(f"as typed {place}", first, second)
        assert outcome(f"otherwise {place}", way(first), way(second)) == typed, second


def test_what_is_about_two_things_is_no_conflict(decide: Any) -> None:
    for first, second in [*OTHERS, *(pair[:2] for pair in SETS["others"])]:
        old, new = decide(first), decide(second)
        assert str(old["artifact_id"]) not in [one["id"] for one in new["conflicts"]], second


def test_twenty_near_titles_with_numbers_hide_nothing(decide: Any) -> None:
    first = decide("paint fence white in early spring slowly")
    for number in range(25):
        decide(f"paint fence {number} white in spring")
    last = decide("paint fence white in spring")
    assert (last["dedup_outcome"], last["candidate_id"]) == ("supersede", first["artifact_id"])
    assert last["near"][0]["id"] == str(first["artifact_id"])


def test_a_save_that_waits_names_what_it_is_near_and_is_settled_in_one_call(call: Call, decide: Any) -> None:
    old = decide("Keep the orders in one large table")
    held = decide("Store the orders in a single large table")
    assert (held["dedup_outcome"], held["near"][0]["outcome"]) == ("manual_review", "waits")
    assert "“Keep the orders in one large table”" in held["message"]
    assert "supersedes" in held["next_step"]
    taken = decide("Store the orders in a single large table", supersedes=str(old["artifact_id"]))
    assert (taken["dedup_outcome"], live(call)) == ("supersede", {"Store the orders in a single large table"})
    assert call("count_waiting")["reviews"] == 0


def test_a_person_who_keeps_both_is_not_asked_again(call: Call, decide: Any) -> None:
    decide("Keep the orders in one large table")
    held = decide("Store the orders in a single large table")
    done = call("resolve_review", save_id=held["save_id"], outcome="new", by="ada")
    assert (done["status"], len(live(call))) == ("saved", 2)
    again = decide("Store the orders in a single large table", "For another reason.")
    assert [n["title"] for n in again["near"]] == ["Store the orders in a single large table"]


def test_what_a_decision_holds_beside_is_one_that_it_may_be_taken_for(call: Call, decide: Any) -> None:
    old = decide("Write the cart service in Go")
    decide("Write the basket in Rust", supersedes=str(old["artifact_id"]))
    with pytest.raises(Exception, match="beside names “Write the cart service in Go”, which was replaced by"):
        decide("Write the search service in Go", beside=str(old["artifact_id"]))
    own = decide("Sell tea")
    with pytest.raises(Exception, match="beside names this decision itself"):
        decide("Sell tea", beside=str(own["artifact_id"]))


def test_an_agent_does_not_settle_what_a_person_decided(
    call: Call, rows: Rows, decide: Any, act_as: ActAs
) -> None:
    rows("select set_config('pgmem.source', 'cli', false)")
    old = decide("Never push to the main branch")
    rows("select set_config('pgmem.source', 'mcp', false)")
    new = decide("Push to the main branch")
    assert [one["axis"] for one in new["conflicts"]] == ["negation"]
    settled = decide("Push to the main branch", beside=str(old["artifact_id"]))
    assert (settled["status"], settled["dedup_outcome"]) == ("failed", "manual_review")
    assert call("count_waiting")["conflicts"] == 1


@pytest.mark.parametrize(("first", "second", "word"), [*SETS["replaced"][:3], *SETS["replaced"][5:]])
def test_a_replacement_that_nobody_has_said_is_listed_and_found_by_its_own_word(
    call: Call, each: Each, decide: Any, first: str, second: str, word: str
) -> None:
    old, new = decide(first), decide(second)
    assert new["dedup_outcome"] == "supersede"
    (listed,) = each("list_replacements", project_id="shop", days=7)
    assert (listed["title"], listed["old_title"], listed["old_id"]) == (second, first, old["artifact_id"])
    assert call("count_waiting", project_id="shop")["replaced"] == 1
    for query in (word, f"how about the {word}?", first):
        found = {
            row["title"]: row["outdated_by"] for row in each("search_memory", query=query, project_id="shop")
        }
        assert found[first] == new["artifact_id"], query
    elsewhere = each("search_memory", query=second, project_id="shop", labels=["Decision"])
    assert [row["title"] for row in elsewhere] == [second]


@pytest.mark.parametrize("holds", ["both", "new", "old"])
def test_a_person_settles_a_replacement(call: Call, each: Each, decide: Any, holds: str) -> None:
    first, second = "Write the cart service in Go", "Write the search service in Go"
    old, new = decide(first)["artifact_id"], decide(second)["artifact_id"]
    winner = {"both": None, "new": new, "old": old}[holds]
    call("settle_conflict", id=old, with_id=new, by="ada", holds=winner)
    assert live(call) == {"both": {first, second}, "new": {second}, "old": {first}}[holds]
    assert (each("list_replacements"), call("count_waiting")["replaced"]) == ([], 0)
    found = {
        row["title"]: row["outdated_by"]
        for row in each("search_memory", query="cart service", project_id="shop")
    }
    assert found == dict.fromkeys({"both": (first, second), "new": (second,), "old": (first,)}[holds])
    with pytest.raises(Exception, match="No open conflict joins the two"):
        call("settle_conflict", id=old, with_id=new, by="ada")


def test_both_conflicting_decisions_may_hold_without_a_reason(call: Call, decide: Any) -> None:
    old, new = decide("Store sessions in Redis"), decide("Store sessions in Memcached")
    call("settle_conflict", id=old["artifact_id"], with_id=new["artifact_id"], by="ada")
    assert call("count_waiting")["conflicts"] == 0
    again = decide("Store sessions in Memcached", "For another reason.")
    assert (again["conflicts"], [n["title"] for n in again["near"]]) == ([], ["Store sessions in Memcached"])


def test_what_replaces_by_saying_so_is_no_likeness(each: Each, decide: Any) -> None:
    old = decide("Write the cart service in Go")
    decide("Write the search service in Go", supersedes=str(old["artifact_id"]))
    assert each("list_replacements") == []
    assert [row["title"] for row in each("search_memory", query="cart service", project_id="shop")] == [
        "Write the search service in Go"
    ]


def test_a_replaced_decision_of_another_user_is_not_brought(call: Call, each: Each, act_as: ActAs) -> None:
    act_as("acme", "alice")
    call("save_session", objective="begin", project_id="shop")
    for what in ("cart", "search"):
        call("save_decision", title=f"Write the {what} service in Go", rationale="r", project_id="shop")
    assert each("list_replacements", project_id="shop")
    act_as("acme", "bob")
    call("save_session", objective="begin", project_id="shop")
    call("save_context", content="The service is written in Go.", project_id="shop")
    assert [row["title"] for row in each("search_memory", query="cart service")] == [
        "The service is written in Go."
    ]
    assert each("list_replacements") == []


@pytest.mark.parametrize(
    ("older", "newer", "axis"),
    [
        ("Hold the retrospective every week", "Hold the retrospective once a quarter", "date"),
        ("Bill rooms on the first of the month", "Bill rooms on the fifteenth of the month", "date"),
        ("Allow uploads over 100 MB", "Reject uploads over 100 MB", "object"),
        ("Show prices including tax", "Show prices excluding tax", "object"),
        ("Clean the tank on the first floor", "Clean the tank on the second floor", None),
    ],
)
def test_titles_that_differ_in_how_often_in_the_day_of_a_month_or_in_consent_are_in_conflict(
    connection: psycopg.Connection[DictRow], older: str, newer: str, axis: str | None
) -> None:
    for one, other in ((older, newer), (newer, older)):
        row = connection.execute("select axis from pgmem.title_difference(%s, %s)", (one, other)).fetchone()
        assert row == {"axis": axis}


def test_a_save_beside_forty_near_titles_calls_few_functions_for_each(call: Call, rows: Rows) -> None:
    call("save_session", objective="x", project_id="p")
    for number in range(41):
        title = f"Count {SEAS[number % 7]} {SEAS[number // 7]} {number} keeps its queue in {SEAS[number % 5]}"
        if number == 40:
            rows("select set_config('track_functions', 'all', true) as t")
        call("save_decision", title=title, rationale=f"Measured as {number}.", project_id="p")
    counted = rows("select funcname, calls from pg_stat_xact_user_functions where schemaname = 'pgmem'")
    calls = {str(row["funcname"]): int(row["calls"]) for row in counted}
    assert 5 < calls["title_difference"] <= 41
    of_statements = ("bare_words", "denials", "words_contradict", "differ_in_numbers", "content_words")
    assert sum(calls.get(name, 0) for name in of_statements) <= 5 * calls["title_difference"]

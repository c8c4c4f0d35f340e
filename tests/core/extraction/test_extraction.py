"""Memories from turns: an item that its quote supports is stored once, and no other item is stored."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.core.extraction.conftest import PORT, QUEUE, SAID, Apply, Begin, item

Rows = psycopg.Connection[DictRow]


def outcomes(applied: DictRow) -> list[str]:
    return [result["outcome"] for result in applied["results"]]


def memories(connection: Rows) -> list[DictRow]:
    return connection.execute(
        "select label, title, props, trust_level, status, id, version from pgmem.node"
        " where label in ('Decision', 'EntityFact', 'Context') order by seq"
    ).fetchall()


def test_turns_are_shown_numbered_with_the_memories_they_may_touch(call: Call, begin: Begin) -> None:
    call("save_session", objective="x", project_id="shop")
    call("upsert_entity", entity_name="payment gateway", fact="listens on port 443", project_id="shop")
    call("save_decision", title="Paint the shed green", rationale="we like it", project_id="shop")
    begun = begin()
    assert [(turn["turn"], turn["role"], turn["content"]) for turn in begun["turns"]] == [
        (n, *said) for n, said in enumerate(SAID, 1)
    ]
    (found,) = begun["candidates"]
    assert (found["n"], found["kind"], found["title"], found["version"]) == (1, "fact", "payment gateway", 1)
    assert begun["project_id"] == "shop"
    assert set(begun["shape"]) == {"add", "update", "invalidate"}


def test_an_item_that_its_quotes_support_is_stored_with_them_and_no_more_trust_than_the_turn(
    begin: Begin, apply: Apply, connection: Rows
) -> None:
    note = item(
        "retry a failed payment at most 5 times, with a pause of 30 seconds",
        4,
        SAID[3][1],
        "note",
        "payment retry",
    )
    note["quote"] = "we retry a failed payment at most 5 times, with a pause of 30 seconds"
    applied = apply(begin(), add=[QUEUE, PORT, note])
    assert (applied["stored"], applied["rejected"], applied["for_review"]) == (3, 0, 0), applied
    found = memories(connection)
    assert [row["label"] for row in found] == ["Decision", "EntityFact", "Context"]
    for row, sent in zip(found, (QUEUE, PORT, note), strict=True):
        assert row["props"]["quote"] == sent["quote"]
        assert row["trust_level"] == 0.3


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({**QUEUE, "quote": "Then let us use Kafka for the order queue"}, "is not in that turn"),
    ({**QUEUE, "turn": 1}, "is not in that turn"),
    ({**QUEUE, "turn": 9}, "turn names no turn"),
    ({**QUEUE, "turn": "2; drop"}, "turn names no turn"),
    ({**QUEUE, "text": "use RabbitMQ 3.13, the ops team already runs it"}, "'3.13' is in the text"),
    ({**QUEUE, "text": "use Kafka, the ops team already runs it"}, "'kafka' is in the text"),
    ({**QUEUE, "text": "the sky is wide and the sea is deep", "title": "poems"}, "holds too few words"),
    ({**QUEUE, "quote": "let us"}, "quote has 8 to 2000 characters"),
    ({**QUEUE, "quote": None}, "quote has 8 to 2000 characters"),
    ({**PORT, "text": "listens on port 84"}, "'84' is in the text"),
    ({**PORT, "quote": "payment gateway listens on port 84", "text": "listens on port 84"}, "is not in"),
    ({**PORT, "title": "checkout service"}, "'checkout service' is not in the quote"),
    ({**PORT, "kind": "rumour"}, "kind is decision, fact or note"),
    ({**PORT, "title": " "}, "title and text must not be empty"),
    ({**QUEUE, "title": "RabbitMQ for the order queue " * 30}, "title has"),
)


@pytest.mark.parametrize(("wrong", "reason"), WRONG)
def test_an_item_that_no_quote_supports_is_rejected_with_its_reason_and_the_rest_is_stored(
    begin: Begin, apply: Apply, connection: Rows, wrong: dict[str, Any], reason: str
) -> None:
    good = PORT if wrong.get("kind") == "decision" else QUEUE
    applied = apply(begin(), add=[wrong, good])
    assert outcomes(applied) == ["rejected", "new"]
    assert reason in applied["results"][0]["reason"]
    assert len(memories(connection)) == 1


def test_a_number_cut_out_of_a_longer_one_is_not_a_quote(begin: Begin, apply: Apply) -> None:
    begun = begin(("user", "The shed costs 12.50 euros a day, and the api-gateway is at 10.8443.5 or so."))
    cut = [
        item("the shed costs 12", 1, "The shed costs 12", title="costs of the shed"),
        item("the api is at 10", 1, "the api-gateway is at 10", title="the api"),
        item("gateway is at 10.8443.5", 1, "gateway is at 10.8443.5 or", title="gateway"),
    ]
    assert outcomes(apply(begun, add=cut)) == ["rejected"] * 3


def test_a_text_that_says_the_contrary_of_its_turn_is_rejected(begin: Begin, apply: Apply) -> None:
    begun = begin(("user", "We do not use Redis for the cart, we use Kafka there. Never retry a payment."))
    contrary = [
        item("use Redis for the cart", 1, "use Redis for the cart", title="Redis cart"),
        item("we do not use Kafka there", 1, "we use Kafka there", title="Kafka"),
        item("retry a payment", 1, "retry a payment", title="payment"),
    ]
    right = [
        item("do not use Redis for the cart", 1, "We do not use Redis for the cart", title="Redis cart"),
        item("we use Kafka there", 1, "we use Kafka there", title="Kafka"),
        item("never retry a payment", 1, "Never retry a payment.", title="payment"),
    ]
    applied = apply(begun, add=[*contrary, *right])
    assert outcomes(applied) == ["rejected"] * 3 + ["new"] * 3, applied
    assert "says not" in applied["results"][0]["reason"]


def test_the_same_call_again_answers_the_same_and_another_answer_is_refused(
    begin: Begin, apply: Apply, connection: Rows, call: Call
) -> None:
    begun = begin()
    first = apply(begun, add=[QUEUE, PORT])
    before = memories(connection)
    assert apply(begun, add=[QUEUE, PORT]) == first
    assert memories(connection) == before
    with pytest.raises(psycopg.Error, match="was applied with another answer"):
        apply(begun, add=[QUEUE])
    # Looked at once, the turns are not shown again; a later one is.
    assert call("begin_extraction", session_id="codex:s-1")["extraction_id"] is None
    assert call("begin_extraction")["turns"] == []
    more = [{"id": "t9", "role": "user", "content": "And the shed is painted green."}]
    call("capture_turns", client="codex", session_id="s-1", project_id="shop", turns=more)
    assert [t["content"] for t in call("begin_extraction")["turns"]] == ["And the shed is painted green."]


def test_a_repeat_is_skipped_and_an_extracted_memory_takes_no_place_of_one_that_was_saved(
    begin: Begin, apply: Apply, call: Call, connection: Rows
) -> None:
    call("save_session", objective="x", project_id="shop")
    kept = call("upsert_entity", entity_name="payment gateway", fact="listens on port 443", project_id="shop")
    applied = apply(
        begin(), add=[QUEUE, PORT], update=[{"n": 1, "text": PORT["text"], "turn": 3, "quote": PORT["quote"]}]
    )
    assert outcomes(applied) == ["new", "manual_review", "manual_review"]
    assert applied["results"][1]["candidate_id"] == str(kept["artifact_id"])
    fact = next(row for row in memories(connection) if row["label"] == "EntityFact")
    assert fact["props"] == {"entity_name": "payment gateway", "fact": "listens on port 443"}
    again = begin(session="s-2")
    assert outcomes(apply(again, add=[QUEUE])) == ["duplicate_skip"]
    # A change that a person approves is made, with its quote.
    review = applied["results"][1]["save_id"]
    call("resolve_review", save_id=review, outcome="supersede", by="ana")
    fact = next(row for row in memories(connection) if row["label"] == "EntityFact")
    assert fact["props"]["fact"] == PORT["text"]
    assert fact["props"]["quote"] == PORT["quote"]


def test_a_candidate_is_changed_ended_and_superseded_by_a_later_turn(
    begin: Begin, apply: Apply, connection: Rows
) -> None:
    apply(begin(), add=[QUEUE, PORT])
    later = begin(
        ("user", "Ana says that the payment gateway listens on port 9443 since today."),
        ("user", "Forget RabbitMQ for the order queue, we use Kafka for the order queue."),
        session="s-2",
    )
    numbers = {found["kind"]: found["n"] for found in later["candidates"]}
    applied = apply(
        later,
        update=[
            {
                "n": numbers["fact"],
                "text": "listens on port 9443",
                "turn": 1,
                "quote": "payment gateway listens on port 9443",
            }
        ],
        invalidate=[{"n": numbers["decision"], "turn": 2, "quote": "Forget RabbitMQ for the order queue"}],
    )
    assert outcomes(applied) == ["supersede", "archived"], applied
    states = {row["label"]: (row["status"], row["props"].get("fact")) for row in memories(connection)}
    assert states["EntityFact"] == ("active", "listens on port 9443")
    assert states["Decision"][0] == "archived"


def test_a_candidate_that_changed_since_it_was_shown_goes_to_review(
    begin: Begin, apply: Apply, call: Call, connection: Rows
) -> None:
    apply(begin(), add=[QUEUE, PORT])
    later = begin(("user", "the payment gateway listens on port 9443"), session="s-2")
    other = begin(("user", "the payment gateway listens on port 7000"), session="s-3")
    moved = item(
        "listens on port 7000", 1, "the payment gateway listens on port 7000", "fact", "payment gateway"
    )
    assert outcomes(apply(other, add=[moved])) == ["supersede"]
    (n,) = [found["n"] for found in later["candidates"] if found["kind"] == "fact"]
    late = {"text": "listens on port 9443", "turn": 1, "quote": "the payment gateway listens on port 9443"}
    applied = apply(later, add=[{**PORT, **late}], update=[{"n": n, **late}], invalidate=[{"n": n, **late}])
    assert outcomes(applied) == ["manual_review"] * 3, applied
    assert "not as the model saw it" in applied["results"][0]["reason"]
    fact = next(row for row in memories(connection) if row["label"] == "EntityFact")
    assert fact["props"]["fact"] == "listens on port 7000"


@pytest.mark.parametrize("answer", [None, [], "x", {"add": {}}, {"add": ["x"]}, {"delete": []}])
def test_an_answer_of_another_shape_is_refused_and_nothing_is_written(
    begin: Begin, call: Call, connection: Rows, answer: object
) -> None:
    begun = begin()
    with pytest.raises(psycopg.Error, match="answer must be an object of the lists"):
        connection.execute(
            "select * from pgmem.apply_extraction(%s, %s)",
            (begun["extraction_id"], psycopg.types.json.Jsonb(answer)),
        )
    assert memories(connection) == []


def test_an_extraction_of_another_tenant_is_not_there(begin: Begin, connection: Rows) -> None:
    begun = begin()
    with connection.transaction():
        connection.execute(
            "select set_config('pgmem.org_id', 'acme', true), set_config('pgmem.user_id', 'eve', true)"
        )
        with pytest.raises(psycopg.Error, match="No extraction"), connection.transaction():
            connection.execute("select * from pgmem.apply_extraction(%s, '{}')", (begun["extraction_id"],))
        assert connection.execute("select turns from pgmem.begin_extraction()").fetchone() == {"turns": []}
    with pytest.raises(psycopg.Error, match="No extraction"):
        connection.execute("select * from pgmem.apply_extraction(%s, '{}')", (uuid4(),))


def test_a_purged_turn_is_removed_from_sources(
    begin: Begin, apply: Apply, connection: Rows, call: Call
) -> None:
    begun = begin()
    turn = connection.execute(
        "select id from pgmem.node where label = 'Turn' order by seq offset 1 limit 1"
    ).fetchone()
    assert turn is not None
    call("forget", label="Turn", key=str(turn["id"]), purge=True)
    applied = apply(begun, add=[QUEUE, PORT])
    assert outcomes(applied) == ["rejected", "new"]


def test_a_purge_takes_what_the_reasons_of_an_extraction_name(
    begin: Begin, apply: Apply, connection: Rows, call: Call
) -> None:
    """An outcome keeps no words of a purged memory, and the same call again still answers."""
    begun = begin()
    secret = {**QUEUE, "text": "use Zanzibar for the order queue"}
    assert "zanzibar" in str(apply(begun, add=[secret, PORT])["results"])
    turn = connection.execute(
        "select id from pgmem.node where label = 'Turn' order by seq limit 1"
    ).fetchone()
    assert turn is not None
    call("forget", label="Turn", key=str(turn["id"]), purge=True)
    assert "zanzibar" not in str(connection.execute("select * from pgmem.extraction").fetchall()).lower()
    assert outcomes(apply(begun, add=[secret, PORT])) == ["rejected", "new"]

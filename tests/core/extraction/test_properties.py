"""Whatever a model answers, nothing is stored that the turns do not support."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.conftest import Call
from tests.core.extraction.conftest import SAID, Begin
from tests.fixtures.amounts import amount

WORDS = sorted({word for _, said in SAID for word in said.split()})
INVENTED = ["Kafka", "3.13", "84", "Berlin", "never", "42", "8443.5", "ops-team", "Bob's", "12"]


def cut(said: str) -> st.SearchStrategy[str]:
    """A part of a turn, cut anywhere."""
    places = st.tuples(st.integers(0, len(said)), st.integers(0, len(said)))
    return places.map(lambda ends: said[min(ends) : max(ends)])


quotes = st.one_of(
    *[cut(said) for _, said in SAID],
    *[st.just(said) for _, said in SAID],
    st.lists(st.sampled_from(WORDS + INVENTED), max_size=8).map(" ".join),
    st.sampled_from(["", "\x00", "%", "the"]),
)
texts = st.one_of(
    quotes,
    st.lists(st.sampled_from(WORDS + INVENTED), min_size=1, max_size=7).map(" ".join),
    st.text(max_size=30),
)
numbers = st.one_of(st.integers(-1, 6), st.none(), st.sampled_from(["1", "x"]))
added = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["decision", "fact", "note", "rumour"]),
        "title": texts,
        "text": texts,
        "turn": numbers,
        "quote": quotes,
    }
)
changed = st.fixed_dictionaries({"n": numbers, "text": texts, "turn": numbers, "quote": quotes})
answers = st.fixed_dictionaries(
    {},
    optional={
        "add": st.lists(added, max_size=4),
        "update": st.lists(changed, max_size=2),
        "invalidate": st.lists(changed, max_size=2),
    },
)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def numbers_of(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


def supported(row: dict[str, Any]) -> bool:
    """A separate oracle: the quote occurs in a turn, and holds every number and every capitalised word."""
    props = row["props"]
    quote = squeezed(props["quote"])
    if not any(quote in squeezed(said) for _, said in SAID):
        return False
    said = " ".join(
        str(props.get(name) or "") for name in ("rationale", "fact", "content", "entity_name", "topic")
    )
    text = f"{row['title']} {said}"
    if not numbers_of(text) <= numbers_of(quote):
        return False
    names = {word for word in re.findall(r"[A-Za-z]+", text) if word != word.lower()}
    return {name.lower() for name in names} <= {word.lower() for word in re.findall(r"[A-Za-z]+", quote)}


@settings(
    max_examples=amount(25, 80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(answers=st.lists(answers, min_size=1, max_size=2), touched=st.booleans())
@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
def test_nothing_unsupported_is_ever_stored(
    begin: Begin,
    call: Call,
    connection: psycopg.Connection[DictRow],
    answers: list[dict[str, Any]],
    touched: bool,
) -> None:
    """Invented and cut quotes, invented names and numbers, candidates that change meanwhile, calls sent again."""
    with connection.transaction(force_rollback=True):
        begin(session="before")
        call("save_session", objective="x", project_id="shop")
        call("upsert_entity", entity_name="payment gateway", fact="it listens on port 443", project_id="shop")
        kept = call(
            "save_decision", title="the order queue", rationale="RabbitMQ 3.12 for orders", project_id="shop"
        )
        begun = begin()
        assert begun["candidates"]
        if touched:
            call(
                "upsert_entity",
                entity_name="payment gateway",
                fact="it listens on port 444",
                project_id="shop",
            )
        own = state(connection, kept)
        for answer in answers:
            sent = (begun["extraction_id"], Jsonb(without_nul(answer)))
            first = connection.execute("select * from pgmem.apply_extraction(%s, %s)", sent).fetchone()
            again = connection.execute("select * from pgmem.apply_extraction(%s, %s)", sent).fetchone()
            assert first == again
            begun = begin(session=f"s-{answers.index(answer)}-again")
        rows = connection.execute(
            "select title, props, trust_level from pgmem.node where label in ('Decision', 'EntityFact', 'Context')"
            " and props ? 'quote'"
        ).fetchall()
        for row in rows:
            assert supported(row), row
            assert row["trust_level"] <= 0.3
        # A memory saved on purpose has more trust than any turn and is unchanged.
        assert state(connection, kept) == own


def without_nul(value: Any) -> Any:
    """JSON of PostgreSQL holds no U+0000, and no lone surrogates."""
    if isinstance(value, dict):
        return {name: without_nul(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_nul(item) for item in value]
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "ignore").decode()
    return value


def state(connection: psycopg.Connection[DictRow], kept: DictRow) -> list[DictRow]:
    return connection.execute(
        "select title, props, status, version from pgmem.node where id = %s or key = 'payment gateway' order by seq",
        (kept["artifact_id"],),
    ).fetchall()

"""Whatever is sent: a status or an error that says what to send instead, and nothing written.

The tests of this file share one database, because none of them may change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from pgmem.errors import InvalidArgument
from tests.conftest import Call, GraphDifferences, caller, new_database
from tests.fixtures.amounts import mostly_long
from tests.fixtures.verbs import SAVES, Picture

DROP = "'; drop schema pgmem cascade; --"
HUGE = "x " * 500_000
DOCUMENT = "x " * 5_000_100  # longer than max_arguments_limit
SAVE_ID = UUID("00000000-0000-4000-8000-000000000001")

# Every verb of the core with arguments it takes.
GOOD: dict[str, dict[str, object]] = {
    **SAVES,
    "retrieve_context": {"project_id": "shop", "scope": "project"},
    "search_memory": {"query": "q"},
    "get_scope_state": {"project_id": "shop"},
    "get_save_status": {"project_id": "shop"},
    "check_duplicate": {"title": "t", "rationale": "r", "project_id": "shop"},
    "list_reviews": {},
    "resolve_review": {"save_id": SAVE_ID, "outcome": "new", "by": "ana"},
    "retry_save": {"save_id": SAVE_ID},
    "relate": {"from_label": "Decision", "from_key": "Take cards", "rel_type": "CONFLICTS_WITH", "to_label": "Decision", "to_key": "Refuse cash"},
    "neighbours": {"label": "Decision", "key": "Take cards"},
    "get_session": {"session_id": "nobody"},
    "run_cypher": {"query": "return 1 as a"},
}  # fmt: skip

# (verb, what is wrong, what the error says)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("save_session", {"objective": ""}, "objective must not be empty; send a text"),
    ("save_session", {"objective": None}, "objective must not be empty"),
    ("save_session", {"objective": "\x00\x01 \n"}, "objective must not be empty"),
    ("save_session", {"objective": HUGE}, "objective has 999999 characters; send at most 100000"),
    ("save_session", {"open_items": [HUGE]}, "open_items has 999999 characters; send at most 100000"),
    ("save_session", {"open_items": ["a", None]}, "open_items must be a list of texts"),
    ("save_session", {"project_id": "a\x02b"}, "project_id holds a control character"),
    ("save_session", {"project_id": "a\nb"}, "project_id holds a control character"),
    ("save_session", {"project_id": "a\x00b"}, "project_id holds a control character"),
    ("save_session", {"project_id": "p" * 201}, "project_id has 201 characters; send at most 200"),
    ("save_session", {"project_id": HUGE}, "project_id has 999999 characters"),
    ("save_session", {"project_id": "new", "focus": "a\tb"}, "focus holds a control character"),
    ("save_session", {"focus": "f" * 201}, "focus has 201 characters"),
    ("save_decision", {"title": ""}, "title must not be empty; send a text"),
    ("save_decision", {"title": " \t\n "}, "title must not be empty"),
    ("save_decision", {"title": None}, "title must not be empty"),
    ("save_decision", {"title": "x" * 501}, "title has 501 characters; send at most 500 and put the rest into the text"),
    ("save_decision", {"title": "x" * 1_000_000}, "title has 1000000 characters"),
    ("save_decision", {"rationale": ""}, "rationale must not be empty"),
    ("save_decision", {"rationale": HUGE}, "rationale has 999999 characters; send at most 100000"),
    ("save_decision", {"owner": HUGE}, "owner has 999999 characters"),
    ("save_decision", {"confidence": float("nan")}, "confidence must be a number from 0 to 1"),
    ("save_decision", {"confidence": float("inf")}, "confidence must be a number from 0 to 1"),
    ("save_decision", {"confidence": float("-inf")}, "confidence must be a number from 0 to 1"),
    ("save_decision", {"confidence": 2.0}, "confidence must be a number from 0 to 1"),
    ("save_decision", {"confidence": -1.0}, "confidence must be a number from 0 to 1"),
    ("save_decision", {"confidence": 1.0000001}, "confidence must be a number from 0 to 1"),
    ("save_decision", {"date": "infinity"}, "date is not a valid date: send YYYY-MM-DD"),
    ("save_decision", {"date": "-infinity"}, "date is not a valid date: send YYYY-MM-DD"),
    ("save_decision", {"share": "everybody"}, "share is private or org, not everybody"),
    ("save_decision", {"share": DROP}, "share is private or org"),
    ("save_decision", {"scope": DROP}, "scope is global, project or focus"),
    ("save_decision", {"scope": ""}, "scope is global, project or focus"),
    ("save_pattern", {"trigger": ""}, "trigger must not be empty"),
    ("save_pattern", {"trigger": HUGE}, "trigger has 999999 characters"),
    ("save_pattern", {"repeatable_steps": []}, "repeatable_steps must not be empty; send at least one text"),
    ("save_pattern", {"repeatable_steps": ["", " "]}, "repeatable_steps must not be empty"),
    ("save_pattern", {"repeatable_steps": None}, "repeatable_steps must not be empty"),
    ("save_pattern", {"repeatable_steps": [HUGE]}, "repeatable_steps has 999999 characters"),
    ("save_pattern", {"exclusions": [None]}, "exclusions must be a list of texts"),
    ("save_pattern", {"last_validated_at": "infinity"}, "last_validated_at is not a valid date"),
    ("save_context", {"content": ""}, "content must not be empty"),
    ("save_context", {"content": DOCUMENT}, "The arguments have 10000279 characters together; send at most 4000000"),
    ("save_context", {"topic": HUGE}, "topic has 999999 characters"),
    ("save_context", {"relevance_score": 2.0}, "relevance_score must be a number from 0 to 1"),
    ("save_context", {"relevance_score": float("nan")}, "relevance_score must be a number from 0 to 1"),
    ("upsert_entity", {"entity_name": ""}, "entity_name must not be empty; send a name"),
    ("upsert_entity", {"entity_name": None}, "entity_name must not be empty"),
    ("upsert_entity", {"entity_name": "a\x00b"}, "entity_name holds a control character"),
    ("upsert_entity", {"entity_name": "a\x7fb"}, "entity_name holds a control character"),
    ("upsert_entity", {"entity_name": "e" * 201}, "entity_name has 201 characters; send at most 200"),
    ("upsert_entity", {"fact": ""}, "fact must not be empty"),
    ("upsert_entity", {"fact": DOCUMENT}, "The arguments have 10000313 characters together; send at most 4000000"),
    ("upsert_entity", {"related_entities": {"entity_id": "e"}}, "related_entities must be a list of objects; send"),
    ("request_global_write_approval", {"content_preview": "\x00"}, "content_preview must not be empty"),
    ("request_global_write_approval", {"content_preview": HUGE}, "content_preview has 999999 characters"),
    ("retrieve_context", {"scope": DROP}, "scope is global, project or focus"),
    ("retrieve_context", {"project_id": "a\x01"}, "project_id holds a control character"),
    ("retrieve_context", {"focus": HUGE}, "focus has 999999 characters"),
    ("retrieve_context", {"topic": HUGE}, "topic has 999999 characters"),
    ("retrieve_context", {"categories": [DROP]}, "Unknown label"),
    ("retrieve_context", {"categories": [None]}, "Unknown label"),
    ("search_memory", {"query": HUGE}, "query has 999999 characters"),
    ("search_memory", {"limit": -1}, "limit is a whole number from 1 to 1000"),
    ("search_memory", {"limit": 2**31 - 1}, "limit is a whole number from 1 to 1000"),
    ("search_memory", {"labels": [DROP]}, "Unknown label"),
    ("search_memory", {"project_id": "a\x01"}, "project_id holds a control character"),
    ("get_scope_state", {"project_id": "a\x01"}, "project_id holds a control character"),
    ("get_scope_state", {"focus": HUGE}, "focus has 999999 characters"),
    ("get_save_status", {"project_id": "a\x01"}, "project_id holds a control character"),
    ("check_duplicate", {"title": "x" * 501}, "title has 501 characters"),
    ("check_duplicate", {"rationale": HUGE}, "rationale has 999999 characters"),
    ("list_reviews", {"limit": -5}, "limit is a whole number from 1 to 1000"),
    ("resolve_review", {"outcome": DROP}, "outcome is new, supersede or drop"),
    ("relate", {"from_label": DROP}, "Unknown label"),
    ("relate", {"rel_type": DROP}, "Unknown relation"),
    ("relate", {"rel_type": None}, "Unknown relation"),
    ("relate", {"project_id": "a\x01"}, "project_id holds a control character"),
    ("neighbours", {"label": None}, "Unknown label"),
    ("neighbours", {"limit": -1}, "limit is a whole number from 1 to 1000"),
    ("neighbours", {"hops": 2**31 - 1}, "hops is a whole number from 1 to 5"),
]  # fmt: skip


def name(case: object) -> str:
    if isinstance(case, dict):
        return ",".join(f"{key}={str(value)[:20]!r}" for key, value in case.items())
    return str(case) if isinstance(case, str) and " " not in case else ""


@pytest.fixture(scope="module")
def connection(server: str, template: str) -> Iterator[psycopg.Connection[DictRow]]:
    """One store with a few memories for all tests of this file."""
    with (
        new_database(server, template) as dsn,
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection,
    ):
        call = caller(connection)
        call("save_session", objective="open the shop", project_id="shop")
        for title in ("Take cards", "Refuse cash"):
            call("save_decision", title=title, rationale="r", project_id="shop")
        yield connection


@pytest.fixture(scope="module")
def pictures() -> list[dict[str, str]]:
    """The last picture of the store, which is how the next test finds it; a test that saves takes it away."""
    return []


@pytest.fixture
def unchanged(picture: Picture, pictures: list[dict[str, str]]) -> Iterator[None]:
    """Fails the test if it left anything behind."""
    before = pictures.pop() if pictures else picture()
    yield
    after = picture()
    assert after == before
    pictures.append(after)


@pytest.mark.parametrize(("verb", "wrong", "message"), REFUSED, ids=name)
def test_what_cannot_be_read_is_refused_with_what_to_send_and_nothing_is_written(
    unchanged: None, call: Call, verb: str, wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        call(verb, **{**GOOD[verb], **wrong})
    assert caught.value.sqlstate == "PM001", caught.value
    assert message in str(caught.value.diag.message_primary)
    assert len(str(caught.value.diag.message_primary)) < 2000


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff"])
@pytest.mark.parametrize(
    "verb", [verb for verb in GOOD if any(isinstance(v, str) for v in GOOD[verb].values())]
)
def test_a_lone_surrogate_is_refused_before_anything_is_sent(
    unchanged: None, call: Call, verb: str, text: str
) -> None:
    for field, value in GOOD[verb].items():
        if isinstance(value, str):
            with pytest.raises(InvalidArgument, match=f"{field} holds a lone surrogate"):
                call(verb, **{**GOOD[verb], field: text})


def test_a_lone_surrogate_deep_in_an_object_is_refused(unchanged: None, call: Call) -> None:
    for session in ({"objective": "\ud800"}, {"\ud800": "o"}, {"objective": "o", "open_items": ["\ud800"]}):
        with pytest.raises(InvalidArgument, match="session holds a lone surrogate"):
            call("store_session_with_learnings", session=session, project_id="shop")


@pytest.mark.parametrize("number", [2**31, 2**63, -(2**31) - 1, 10**400])
@pytest.mark.parametrize(
    ("verb", "field"), [("search_memory", "limit"), ("neighbours", "hops"), ("list_reviews", "limit")]
)
def test_a_number_that_no_integer_holds_is_refused(
    unchanged: None, call: Call, verb: str, field: str, number: int
) -> None:
    with pytest.raises(InvalidArgument, match=f"{field} is out of range"):
        call(verb, **{**GOOD[verb], field: number})


@pytest.mark.parametrize("date", ["2026-13-01", "2026-02-30", "yesterdayish", "", "99999999-01-01", DROP])
def test_a_date_that_is_none_is_refused(unchanged: None, call: Call, date: str) -> None:
    with pytest.raises(psycopg.DataError, match="date"):
        call("save_decision", **{**GOOD["save_decision"], "date": date})
    with pytest.raises(psycopg.DataError, match="time"):
        call("save_pattern", **{**GOOD["save_pattern"], "last_validated_at": date})


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"date": "2026-13-01"}, "date is not a valid date"),
        ({"date": "tomorrow"}, "date is not a valid date"),
        ({"date": "infinity"}, "date is not a valid date"),
        ({"date": "12026-01-01"}, "date is not a valid date"),
        ({"date": 20260408}, "date is not a valid date"),
        ({"date": "2026-04-08 Mars/Olympus"}, "date is not a valid date"),
        ({"confidence": 1e300}, "confidence must be a number from 0 to 1"),
        ({"confidence": "1"}, "confidence must be a number from 0 to 1"),
        ({"confidence": True}, "confidence must be a number from 0 to 1"),
        ({"confidence": [1]}, "confidence must be a number from 0 to 1"),
        ({"title": 5 * "x" * 500}, "title has 2500 characters"),
        ({"rationale": None}, "rationale must not be empty"),
        ({"scope": "galaxy"}, "scope is global, project or focus"),
        ({"share": "everybody"}, "share is private or org"),
    ],
    ids=name,
)
def test_a_part_of_an_atomic_batch_that_cannot_be_read_is_refused(
    unchanged: None, call: Call, part: dict[str, object], message: str
) -> None:
    decision = {"title": "New one", "rationale": "r", **part}
    with pytest.raises(psycopg.Error, match=message) as caught:
        call(
            "store_session_with_learnings",
            session={"objective": "o"},
            project_id="shop",
            decisions=[decision],
            atomic=True,
        )
    assert caught.value.sqlstate == "PM001"


@pytest.mark.parametrize("number", ["1e-400", "1e400", "-1e-400", "0." + "3" * 400])
@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
def test_a_number_that_no_float_holds_is_read_or_refused(
    connection: psycopg.Connection[DictRow], number: str
) -> None:
    with connection.transaction(force_rollback=True):
        query = (
            "select pgmem.store_session_with_learnings('{\"objective\": \"o\"}', 'shop', %s::jsonb) as batch"
        )
        row = connection.execute(
            query, (f'[{{"title": "x y z", "rationale": "r", "confidence": {number}}}]',)
        ).fetchone()
        assert row is not None
        kept = connection.execute(
            "select initial_confidence from pgmem.node where title = 'x y z'"
        ).fetchone()
        if number == "1e400" or number.startswith("-"):
            assert kept is None
            assert "confidence must be a number from 0 to 1" in str(row["batch"])
        else:
            assert kept is not None
            assert kept["initial_confidence"] == pytest.approx(float(number))


def test_texts_too_long_together_for_one_index_entry_are_kept_and_found_by_their_beginning(
    call: Call, connection: psycopg.Connection[DictRow], pictures: list[dict[str, str]]
) -> None:
    pictures.clear()
    # A tsvector holds 1 MB; the memory itself holds all of it.
    words = [" ".join(f"w{item}x{number}" for number in range(9_000)) for item in range(40)]
    result = call("save_session", objective="o", project_id="shop", actions_taken=words)
    assert result["status"] == "saved"
    kept = connection.execute(
        "select props -> 'actions_taken' as texts from pgmem.node where id = %s", (result["artifact_id"],)
    ).fetchone()
    assert kept == {"texts": words}
    assert call("search_memory", query="w0x7")["id"] == result["artifact_id"]


@pytest.mark.parametrize(
    "verb", ["save_session", "save_decision", "save_pattern", "save_context", "upsert_entity"]
)
def test_a_token_of_any_shape_opens_nothing(
    call: Call, picture: Picture, pictures: list[dict[str, str]], verb: str
) -> None:
    pictures.clear()
    before = picture(without={"save_attempt"})
    for token in (DROP, "x" * 1_000_000, "\x00", "0" * 64, "é"):
        result = call(verb, **GOOD[verb], scope="global", governance_token=token)
        assert result["status"] == "failed"
        assert "overnance token" in result["message"]
    assert picture(without={"save_attempt"}) == before


# Text that would be SQL, Cypher, a format or a regular expression anywhere else


NASTY = [
    DROP,
    "$$; drop schema pgmem cascade; $$",
    "%s %I %L %% {} {0} $1 :name",
    "\\'; drop schema pgmem cascade; --",
    '"quoted" `ticked` (parens [brackets {braces',
    "/* comment */ -- comment",
    "null",
    "𝔘𝔫𝔦 \u05d0\u05d1 ltr \u00e9",
]


@pytest.mark.parametrize("text", NASTY)
def test_a_text_is_kept_as_it_is_whatever_it_looks_like(
    graph_differences: GraphDifferences, connection: psycopg.Connection[DictRow], call: Call, text: str
) -> None:
    with connection.transaction(force_rollback=True):
        kept = {"project_id": text, "focus": text}
        call("save_session", objective=text, actions_taken=[text], **kept)
        call("save_decision", title=text, rationale=text, owner=text, **kept)
        call("save_pattern", trigger=text, repeatable_steps=[text], exclusions=[text], **kept)
        call("save_context", content=text, topic=text, **kept)
        call("upsert_entity", entity_name=text, fact=text, **kept)
        bundle = call("retrieve_context", project_id=text, scope="focus", focus=text)
        found = {item["label"]: item for item in bundle["items"]}
        assert set(found) == {"Session", "Decision", "Pattern", "Context", "EntityFact"}
        assert [found["Decision"][field] for field in ("title", "rationale", "owner", "focus")] == [text] * 4
        assert (found["Session"]["objective"], found["Session"]["actions_taken"]) == (text, [text])
        assert (found["Pattern"]["repeatable_steps"], found["Pattern"]["exclusions"]) == ([text], [text])
        assert (found["Context"]["content"], found["Context"]["topic"]) == (text, text)
        assert (found["EntityFact"]["key"], found["EntityFact"]["fact"]) == (text, text)
        assert graph_differences() == []


Offer = Callable[[str, Any], None]


def texts_of_every_verb(connection: psycopg.Connection[DictRow]) -> list[DictRow]:
    return connection.execute(
        "select p.proname as verb, jsonb_agg(jsonb_build_array(a.name, coalesce(b.typname, t.typname)) order by a.place) as arguments from pg_proc p"
        " cross join unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), coalesce(p.proargmodes,"
        " array_fill('i'::\"char\", array[p.pronargs]))) with ordinality as a(name, type, mode, place)"
        " join pg_type t on t.oid = a.type left join pg_type b on b.oid = nullif(t.typbasetype, 0) where p.pronamespace = 'pgmem'::regnamespace and p.prosecdef"
        " and p.prorettype <> 'trigger'::regtype and a.mode = 'i' group by p.oid, p.proname order by p.proname"
    ).fetchall()


@pytest.mark.parametrize(
    "text", mostly_long([DROP, "$$); drop schema pgmem cascade; --", "\\", "%", "\x01", ""], [DROP, "\\"])
)
@pytest.mark.direct("a front cannot take back a save: its cell has committed it")
def test_no_text_of_any_verb_reaches_the_parser(
    connection: psycopg.Connection[DictRow], unchanged: None, text: str
) -> None:
    like: dict[str, object] = {"text": text, "_text": [text], "jsonb": Jsonb(text), "name": text}
    verbs = texts_of_every_verb(connection)
    assert len(verbs) >= 20
    for row in verbs:
        wrong = {name: like.get(kind) for name, kind in row["arguments"]}
        calls = [wrong]
        if row["verb"] in GOOD:
            # All others as they should be, so that the text gets as far as it can.
            good = {
                f"p_{name}": Jsonb(value) if isinstance(value, dict) else value
                for name, value in GOOD[row["verb"]].items()
            }
            calls = [{**good, name: value} for name, value in wrong.items()]
        for sent in calls:
            call = ", ".join(
                f"{name} => %({name})s{cast(kind)}" for name, kind in row["arguments"] if name in sent
            )
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(f"select pgmem.{row['verb']}({call})".encode(), sent)
            except psycopg.Error as error:
                # Class 42 would mean that the text was read as SQL.
                assert not str(error.sqlstate).startswith("42"), (row["verb"], sent, error)


def cast(kind: str) -> str:
    return f"::{kind.removeprefix('_')}[]" if kind.startswith("_") else f"::{kind}"

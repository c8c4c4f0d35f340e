"""Random histories moved from store to store: the records come out as they went in, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from unittest.mock import patch
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.rows import DictRow

from pgmem.worker import transfer
from tests.conftest import Call, differences, new_database, stores_of
from tests.core.moving.conftest import exported, imported, opened

START = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = (("", ""), ("acme", "alice"), ("acme", "bob"), ("acme", ""))
PROJECTS = ("shop", "Ladenkasse")
TITLES = (
    "Keep the orders in PostgreSQL 17",
    "Keep the orders in PostgreSQL 18",
    "Keep the invoices in PostgreSQL",
    "Crème brûlée für 東京の店舗 🍮",
    'A "quoted" \\ title',
)
NAMES = ("till", "Stripe", "käse", "a/b")


@pytest.fixture(autouse=True, scope="module")
def small_pages() -> Iterator[None]:
    """Pages of a few lines: a history of twenty acts has several of every part."""
    with patch.object(transfer, "_PAGE", 3):
        yield


Act = Callable[[Random, Call], object]


def project(chance: Random) -> dict[str, object]:
    return {"project_id": chance.choice(PROJECTS)}


def place(chance: Random) -> dict[str, object]:
    focus = chance.choice((None, "gate", "cellar"))
    return {
        **project(chance),
        "focus": focus,
        "scope": chance.choice(("project", "focus" if focus else "project")),
    }


ACTS: dict[str, Act] = {
    "session": lambda c, call: call(
        "save_session", objective=c.choice(TITLES), open_items=["one", "two\nlines"], **project(c)
    ),
    "decision": lambda c, call: call(
        "save_decision", title=c.choice(TITLES), rationale=c.choice(TITLES), confidence=c.choice((0.1, 1 / 3, 1.0)), **place(c)
    ),
    "shared decision": lambda c, call: call(
        "save_decision", title=c.choice(TITLES), rationale="shared", share="org", **project(c)
    ),
    "pattern": lambda c, call: call("save_pattern", trigger=c.choice(TITLES), repeatable_steps=["a", "b"], **place(c)),
    "context": lambda c, call: call("save_context", content=c.choice(TITLES), topic=c.choice(NAMES), **place(c)),
    "entity": lambda c, call: call(
        "upsert_entity", entity_name=c.choice(NAMES), fact=c.choice(TITLES), related_entities=[{"entity_id": c.choice(NAMES), "relationship_type": "USES"}], **place(c)
    ),
    "remember": lambda c, call: call(
        "remember", label=c.choice(("Tool", "Concept")),
        properties={"name": c.choice(NAMES), "n": c.choice((1, 2.5, 1e300, 12345678901234567890)),
                    "deep": {"list": [None, True, {"x": ""}]}, "notes": c.choice(TITLES)},
        relations={"USES": [c.choice(NAMES)]},
        valid_from=c.choice((None, START - timedelta(days=3))), valid_to=c.choice((None, START + timedelta(days=900, microseconds=7))),
        **c.choice(({}, project(c))),
    ),
    "relate": lambda c, call: call(
        "relate", from_label="Decision", from_key=c.choice(TITLES), rel_type="CONFLICTS_WITH", to_label="Decision",
        to_key=c.choice(TITLES), **project(c)
    ),
    "forget": lambda c, call: call(
        "forget", label="Tool", key=c.choice(NAMES), purge=c.random() < 0.3, **c.choice(({}, project(c)))
    ),
    "forget decision": lambda c, call: call("forget", label="Decision", key=c.choice(TITLES), **project(c)),
    "revert": lambda c, call: call("revert", label="EntityFact", key=c.choice(NAMES), version=1, **project(c)),
    "card": lambda c, call: call(
        "record_candidate", record_type="risk_note", statement=c.choice(TITLES), subject_path=f"src/{c.choice('abc')}.py", **project(c)
    ),
    "approve": lambda c, call: call(
        "approve_card",
        card_id=(call("query_engineering_memory", mode="drafts", **project(c))["payload"]["records"] or [{"id": UUID(int=0)}])[0]["id"],
        by="ada",
    ),
    "intent": lambda c, call: call("declare_intent", paths=[f"src/{c.choice('abc')}.py"], **project(c)),
    "global": lambda c, call: (lambda text: call(
        "save_context", content=text, scope="global", **project(c),
        governance_token=call("request_global_write_approval", content_preview=text)["token"],
    ))(c.choice(TITLES)),
    "reflect": lambda c, call: call("reflect"),
    "hygiene": lambda c, call: call("run_hygiene", **project(c)),
    "surface": lambda c, call: call("surface_insights"),
}  # fmt: skip


def live_through(
    connection: psycopg.Connection[DictRow], call: Call, seed: int, acts: list[str], one_user: bool
) -> None:
    """A history: each act at its time, by one of the callers; refused calls are part of it."""
    chance = Random(seed)
    now = START
    for person in PEOPLE[: 1 if one_user else None]:
        be(connection, person, now)
        for name in PROJECTS[: 1 if one_user else None]:
            call("save_session", objective=f"open {name}", project_id=name, focus="gate")
    for act in acts:
        now += timedelta(hours=chance.randrange(1, 400), microseconds=chance.randrange(10**6))
        be(connection, PEOPLE[0] if one_user else chance.choice(PEOPLE), now)
        try:
            ACTS[act](chance, call)
        except psycopg.Error as error:
            assert (error.sqlstate or "").startswith("PM"), error


def be(connection: psycopg.Connection[DictRow], person: tuple[str, str], now: datetime) -> None:
    connection.execute(
        "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false), set_config('pgmem.now', %s, false)",
        (*person, now.isoformat()),
    )


# Columns that no file holds and every import works out again, by the ids of the nodes.
DERIVED = """
  select n.id::text, n.text_length, n.place is null, (select f.id from pgmem.node f where f.seq = n.focus_seq)::text,
    array(select (t.token, t.signature, t.size, t.weight)::text from pgmem.dedup_token t where t.node_seq = n.seq order by 1),
    array(select (s.kind, s.key, s.match, s.status, s.weight)::text from pgmem.card_subject s where s.node_seq = n.seq order by 1)
  from pgmem.node n where n.label not in ('GovernanceToken', 'GlobalScope') order by 1
"""


def derived(connection: psycopg.Connection[DictRow]) -> list[DictRow]:
    return connection.execute(DERIVED).fetchall()


def found(connection: psycopg.Connection[DictRow], query: str) -> list[tuple[str, float]]:
    be(connection, PEOPLE[0], START + timedelta(days=2000))
    return [
        (str(row["id"]), row["score"])
        for row in connection.execute(
            "select id, score from pgmem.search_memory(%s, 10)", (query,)
        ).fetchall()
    ]


@settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 2**32),
    acts=st.lists(st.sampled_from(sorted(ACTS)), min_size=5, max_size=40),
    one_user=st.booleans(),
)
def test_a_store_that_has_moved_twice_gives_the_same_lines(
    server: str, template: str, template_text_only: str, seed: int, acts: list[str], one_user: bool
) -> None:
    with (
        new_database(server, template) as home,
        new_database(server, template_text_only) as plain,
        new_database(server, template) as away,
        opened(home) as (before, call),
    ):
        live_through(before, call, seed, acts, one_user)
        lines = exported(home, all_tenants=True)
        for dsn in (plain, away):
            done = imported(dsn, lines, all_tenants=True)
            assert (done.taken, done.present, done.merged) == (len(lines) - 2, 0, 0)
            again = exported(dsn, all_tenants=True)
            assert again[1:] == lines[1:]
        with opened(away) as (after, _):
            assert derived(after) == derived(before)
            assert differences(after) == []
            for query in ("orders", "店舗", "quoted title"):
                assert found(after, query) == found(before, query)


def test_a_history_of_every_kind_is_moved(server: str, template: str, dsn: str) -> None:
    """The premise of the random histories: together they reach every kind of line."""
    with opened(dsn) as (connection, call):
        live_through(connection, call, 7, sorted(ACTS) * 6, one_user=False)
        call("init_schema", labels=[{"name": "Recipe"}], relations=[{"name": "TASTES_LIKE"}])
    lines = exported(dsn, all_tenants=True)
    kinds = {line.partition('"type": "')[2].partition('"')[0] for line in lines}
    assert kinds == {"header", "label", "relation", "node", "edge", "intent", "save", "end"}
    text = "".join(lines)
    for part in (
        '"versions"',
        '"evidence"',
        '"revisions"',
        '"status": "superseded"',
    ):
        assert part in text, part
    with new_database(server, template) as away:
        with psycopg.connect(stores_of(away)[0], autocommit=True) as connection:
            for setting in (
                "timezone = 'Asia/Tokyo'",
                "extra_float_digits = -5",
                "datestyle = 'SQL, DMY'",
                "bytea_output = 'escape'",
            ):
                name = sql.Identifier(connection.info.dbname)
                connection.execute(sql.SQL("alter database {} set {}").format(name, sql.SQL(setting)))
        imported(away, lines, all_tenants=True)
        assert exported(away, all_tenants=True)[1:] == lines[1:]


@pytest.mark.parametrize("part", ["vocabulary", "nodes"])
def test_an_unknown_part_is_refused(call: Call, part: str) -> None:
    if part == "vocabulary":
        assert call("export_records", part=part) == {}
        return
    with pytest.raises(psycopg.Error, match="Unknown part 'nodes' of an export"):
        call("export_records", part=part)

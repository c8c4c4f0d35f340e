"""Two honest stores that agents and persons use: no act of lower trust wins in either, whichever of them is asked first."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from random import Random
from time import perf_counter
from typing import Any

import pytest
from psycopg.rows import DictRow

from tests.conftest import new_database
from tests.features.feed.test_sync_model import BEGIN, NAMES, TITLES, USERS, Store, exchanged

SEED = int(os.environ.get("PGMEM_RANK_SEED", "46"))
"""The seed of the first history; that of each next one is one more."""
HISTORIES = int(os.environ.get("PGMEM_RANK_HISTORIES", "1000"))
"""The histories of the long test."""
AGENT = 0.5
HELD = """
select n.id::text, n.label, n.key, n.title, n.props, n.status::text, n.valid_from, n.valid_to, n.trust_level, n.version,
       pgmem.is_live_status(n.status) as live,
       array(select i.id::text from pgmem.imported i where i.node_seq = n.seq) as aliases
from pgmem.node n where n.user_id = %s and n.label not in ('GlobalScope', 'GovernanceToken')
order by n.label, coalesce(n.key, n.title), n.created_at, n.id
"""
PURGED = "select id::text, trust_level from pgmem.tombstone where user_id = %s"
SAID = ("title", "props", "status", "valid_from", "valid_to")

Held = dict[str, DictRow]
Step = tuple[str, int, bool, int, int]


@pytest.fixture(scope="module")
def stores(server: str, template: str) -> Iterator[list[Store]]:
    with new_database(server, template) as a, new_database(server, template) as b:
        opened = [Store(dsn) for dsn in (a, b)]
        yield opened
        for store in opened:
            store.connection.close()


def held(store: Store, user: str) -> Held:
    """The memories of a store, under each id that they are known by."""
    rows = store.connection.execute(HELD.encode(), (user,)).fetchall()
    return {known: row for row in rows for known in (row["id"], *row["aliases"])}


def said(row: DictRow) -> str:
    return json.dumps([row[name] for name in SAID], default=str, sort_keys=True)


def kept(store: Store, user: str, before: Held, least: float, step: object) -> None:
    """Assert that no memory of more trust than `least` is deleted, or says now what less trust said."""
    after = held(store, user)
    purged = {row["id"]: row["trust_level"] for row in store.connection.execute(PURGED.encode(), (user,))}
    for known, row in before.items():
        if not row["live"] or row["trust_level"] <= least:
            continue
        now = after.get(known)
        if now is None:
            assert purged.get(known, 0) >= row["trust_level"], (step, row)
        elif said(now) != said(row):
            assert now["trust_level"] >= row["trust_level"], (step, row, now)


PERSONS = ("edit", "supersede", "merge", "settle", "review", "rule", "approve", "insight")
"""Acts of persons alone; an agent has no tool for them."""
ACTS = (
    *PERSONS, "fact", "decide", "replace", "remember", "context", "pattern", "session", "batch", "entity", "observe",
    "forget", "purge", "relate", "revert", "confirm", "feedback", "propose", "retry", "card", "reflect",
)  # fmt: skip


def drawn(seed: int, longest: int) -> tuple[list[Step], list[int]]:
    """A history, and how many seconds the clocks of the two stores are off."""
    chance = Random(seed)
    return [
        (
            chance.choice((*ACTS, *("sync",) * 6)),
            chance.randrange(2),
            chance.random() < 0.5,
            chance.randrange(12),
            chance.randrange(4),
        )
        for _ in range(chance.randint(4, longest))
    ], [chance.randint(-30, 30) for _ in range(2)]


def act(store: Store, user: str, step: Step, at: Any) -> None:
    """Do one step at a store."""
    what, _, _, x, y = step

    def call(asked: str, /, **arguments: object) -> DictRow:
        return store.call(user, at, asked, **arguments)

    def some(*labels: str, live: bool = True) -> DictRow:
        rows = store.connection.execute(HELD.encode(), (user,)).fetchall()
        fitting = [r for r in rows if (r["label"] in labels or not labels) and (r["live"] or not live)
                   and r["label"] not in ("Project", "FocusArea", "Session")]  # fmt: skip
        return fitting[x % len(fitting)] if fitting else {}

    name, title, shop = NAMES[x % len(NAMES)], TITLES[x % len(TITLES)], {"project_id": "shop"}
    past = BEGIN - timedelta(days=100 * y) if x % 4 == 3 else None
    match what:
        case "fact":
            call("upsert_entity", entity_name=name, fact=f"{y} of {at}", valid_from=past, **shop)
        case "decide":
            call("save_decision", title=title, rationale=str(y), **shop)
        case "replace":
            call(
                "save_decision",
                title=f"{title} now",
                rationale=str(y),
                supersedes=some("Decision").get("id"),
                **shop,
            )
        case "remember":
            call("remember", label="Concept", properties={"name": name, "notes": f"{y} of {at}"},
                 relations={"USES": [NAMES[y % len(NAMES)]]}, valid_from=past, **shop)  # fmt: skip
        case "context":
            call("save_context", content=f"Always wrap parcel {x}.", **shop)
        case "pattern":
            call("save_pattern", trigger=f"parcel {x}", repeatable_steps=["Wrap.", f"Send {y}."], **shop)
        case "session":
            call("save_session", objective=f"round {x}", **shop)
        case "batch":
            call("store_session_with_learnings", session={"objective": f"batch {x}"},
                 decisions=[{"title": title, "rationale": str(y)}],
                 patterns=[{"trigger": name, "repeatable_steps": [str(y)]}], **shop)  # fmt: skip
        case "entity":
            call(
                "create_entities", entities=[{"name": name, "entityType": "thing", "observations": [str(y)]}]
            )
        case "observe":
            call("add_observations", observations=[{"entityName": name, "contents": [f"{y} of {at}"]}])
        case "edit":
            if row := some("Decision", "Concept", "Context", "Pattern", "EntityFact"):
                field = {
                    "Decision": "rationale",
                    "Concept": "notes",
                    "Context": "content",
                    "EntityFact": "fact",
                }
                call("edit_memory", id=row["id"], version=row["version"], by="ann",
                     properties={field.get(row["label"], "why"): f"edited {at}"}, whole=y == 1)  # fmt: skip
        case "forget" | "purge":
            if row := some():
                call("forget", label=row["label"], key=row["key"] or row["id"], purge=what == "purge", **shop)
        case "revert":
            if row := some(live=False):
                version = 1 + y % max(row["version"] - 1, 1)
                call("revert", label=row["label"], key=row["id"], version=version, **shop)
        case "relate":
            one, other = some("Concept", "EntityFact"), some("Decision", "Concept")
            if one and other:
                call("relate", from_label=one["label"], from_key=one["key"], rel_type="RELATED_TO",
                     to_label=other["label"], to_key=other["key"] or other["title"], **shop)  # fmt: skip
        case "supersede":
            rows = store.connection.execute(HELD.encode(), (user,)).fetchall()
            ids = [row["id"] for row in rows if row["label"] == "Decision" and row["live"]]
            if len(ids) > 1:
                call("supersede", old=ids[x % len(ids)], new=ids[(x + 1) % len(ids)], by="ann")
        case "merge":
            call(
                "merge_entities",
                entity=some("EntityFact").get("key", name),
                into=NAMES[y % len(NAMES)],
                by="ann",
                **shop,
            )
        case "settle":
            pair = call("list_conflicts", limit=1)
            if pair:
                one, other = pair["id"], pair["with_id"]
                call("settle_conflict", id=one, with_id=other, by="ann", holds=(one, other, None)[y % 3],
                     reason="Both are sold.")  # fmt: skip
        case "review":
            waits = call("list_reviews", limit=1)
            if waits:
                call("resolve_review", save_id=waits["save_id"], outcome=("new", "supersede", "drop")[y % 3], by="ann",
                     candidate_id=waits["candidate_id"])  # fmt: skip
        case "rule":
            rule = call("list_rules", limit=1)
            if rule:
                call("decide_rule", id=rule["id"], version=rule["version"], yes=y > 0, by="ann")
        case "confirm" | "feedback":
            if row := some():
                verdict = {"verdict": ("used", "wrong", "outdated")[y % 3]} if what == "feedback" else {}
                call(what, id=row["id"], **verdict)
        case "propose":
            if row := some("Decision", "Concept"):
                call(
                    "propose_change",
                    verb="edit_memory",
                    id=row["id"],
                    arguments={"properties": {"why": str(y)}},
                )
        case "retry":
            if still_open := call("get_save_status", **shop).get("saves"):
                call("retry_save", save_id=still_open[0]["save_id"])
        case "card":
            call("record_candidate", record_type="contract_note", statement=f"The queue {name} holds {y} messages.",
                 subject_path="queue.py", **shop)  # fmt: skip
        case "approve":
            if row := some("Card", live=False):
                call(("approve_card", "reject_card", "archive_card")[y % 3], card_id=row["id"], by="ann")
        case "reflect":
            call("reflect")
        case "insight":
            found = call("surface_insights", limit=1)
            if found:
                call("review_insight", title=found["title"], action=("approve", "dismiss")[y % 2],
                     shown=found["shown"])  # fmt: skip


def play(stores: list[Store], history: list[Step], late: list[int]) -> None:
    user = f"ranks{next(USERS)}"
    moment = (BEGIN + timedelta(minutes=number) for number in count())
    for store, seconds in zip(stores, late, strict=True):
        store.late, store.source = timedelta(seconds=seconds), "cli"
        store.call(user, next(moment), "save_session", objective="open", project_id="shop")

    def sync(first: Store, second: Store, step: object) -> None:
        before = [(store, held(store, user)) for store in stores]
        asyncio.run(exchanged(user, first, second))
        for store, known in before:
            kept(store, user, known, 0, step)

    for number, step in enumerate(history):
        what, which, agent, *_ = step
        store = stores[which]
        if what == "sync":
            sync(store, stores[1 - which], (number, step))
            continue
        store.source = "mcp" if agent and what not in PERSONS else "cli"
        before = held(store, user)
        act(store, user, step, next(moment))
        if store.source == "mcp":
            kept(store, user, before, AGENT, (number, step))
    for number in range(3):
        sync(stores[number % 2], stores[1 - number % 2], number)
    outstanding = " ".join(
        str(row["change"]) + row["about"]
        for store in stores
        for row in store.connection.execute("select about, change from pgmem.outstanding")
    )
    one, other = (held(store, user) for store in stores)
    for first, second in ((one, other), (other, one)):
        for known, row in first.items():
            same = second.get(known)
            if any(name in outstanding for name in (row["id"], *row["aliases"])):
                continue
            assert same is not None, row
            assert said(same) == said(row), (same, row)
            assert same["trust_level"] == row["trust_level"], (same, row)


def test_no_act_of_lower_trust_wins_in_two_stores_in_step(stores: list[Store]) -> None:
    for seed in range(SEED, SEED + 4):
        play(stores, *drawn(seed, 20))


@pytest.mark.long
def test_a_thousand_histories_of_agents_and_persons(stores: list[Store]) -> None:
    began = perf_counter()
    for seed in range(SEED, SEED + HISTORIES):
        try:
            play(stores, *drawn(seed, 40))
        except AssertionError as error:
            raise AssertionError(f"history {seed} (PGMEM_RANK_SEED)") from error
    minutes = (perf_counter() - began) / 60
    sys.stdout.write(
        f"{HISTORIES} histories from the seed {SEED}, {HISTORIES / minutes:.0f} a minute: no lower trust has won\n"
    )

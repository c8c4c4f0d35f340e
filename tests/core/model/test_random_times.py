"""Random histories in each way in, against a list of facts: as_of and known_at answer as the facts do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.conftest import Call
from tests.core.model.facts import HISTORIES, LIVE, Fact, Thing, answer

START = datetime(2026, 1, 1, tzinfo=UTC)
LABELS = ("Technology", "EntityFact", "Decision")
NAMES = ("harbour db", "harbour queue")
TITLES = (
    "Keep the orders of the harbour shop in one SQLite file",
    "Keep the orders of the harbour shop in one PostgreSQL file",
    "Keep the orders of the harbour shop in one plain file",
    "Paint the harbour blue",
)
PARTS = ("vocabulary", "project", "focus", "node", "edge", "run", "files", "intent", "save")
PROJECT = "harbour"

States = Counter[str]


class History:
    """One project of a separate tenant, and the statements in it."""

    def __init__(self, connection: psycopg.Connection[DictRow], call: Call, seed: int) -> None:
        self.connection, self.call, self.seed = connection, call, seed
        self.choose = Random(seed)
        self.reverted = False
        self.things: dict[str, Thing] = {}
        self.now = START
        self.days = {START - timedelta(days=1)}
        self.act_as(f"h{seed}")
        self.tick(0)
        call("save_session", objective="begin", project_id=PROJECT)

    def act_as(self, org_id: str) -> None:
        self.connection.execute("select set_config('pgmem.org_id', %s, false)", (org_id,))

    def tick(self, days: int) -> None:
        self.now += timedelta(days=days)
        self.connection.execute("select set_config('pgmem.now', %s, false)", (self.now.isoformat(),))
        self.days |= {self.now, self.now - timedelta(hours=1)}

    def day(self, often: float = 0.5) -> datetime | None:
        if self.choose.random() > often:
            return None
        day = self.now + timedelta(days=self.choose.randint(-60, 40), hours=3)
        self.days |= {day, day + timedelta(hours=1)}
        return day

    def thing(self, *labels: str, **wanted: object) -> Thing | None:
        """One of those that there are; with `status`, one that has it."""
        found = [
            thing
            for thing in self.things.values()
            if thing.label in labels and wanted.get("status", thing.present.status) == thing.present.status
        ]
        return self.choose.choice(found) if found else None

    def refused(self, verb: str, **arguments: object) -> str | None:
        try:
            self.call(verb, **arguments)
        except psycopg.Error as error:
            return error.sqlstate
        return None

    # The acts by name: each is done to the store and given to the model.

    def remember(self) -> None:
        name = self.choose.choice(NAMES)
        props = {
            key: self.choose.choice(["harbour of stone", "harbour of wood", None])
            for key in self.choose.sample(["summary", "details"], self.choose.randint(0, 2))
        }
        valid_from, valid_to = self.day(0.3), self.day(0.3)
        arguments: dict[str, Any] = {"label": "Technology", "properties": {"name": name, **props}}
        arguments |= {"project_id": PROJECT, "valid_from": valid_from, "valid_to": valid_to}
        known = next((t for t in self.things.values() if t.facts[1].content[0] == name and t.label == "Technology"), None)  # fmt: skip
        last = known.present_at(self.now) if known else None
        begins = valid_from or (last.valid_from if last else None)
        if begins and valid_to and valid_to < begins:
            assert self.refused("remember", **arguments) == "PM001"
            return
        ended = last is not None and last.end is not None and last.end < self.now
        answer = self.call("remember", **arguments)
        thing = self.things.setdefault(str(answer["id"]), Thing("Technology", str(answer["id"])))
        assert answer["created"] == (thing is not known)
        action, contradicts = thing.remember(self.now, (name, {"name": name, **props}), valid_from, valid_to)
        conflict = answer["conflict"]
        assert (conflict and (conflict["conflict"], conflict["action"])) == (
            ("open", "review") if contradicts else action and ("revived" if ended else "has_end", action)
        ), self.seed

    def keep_fact(self) -> None:
        name, fact = self.choose.choice(NAMES), f"harbour {self.choose.choice('abc')}"
        valid_from, valid_to = self.day(0.3), self.day(0.2)
        known = next((t for t in self.things.values() if t.facts[1].content[0] == name and t.label == "EntityFact"), None)  # fmt: skip
        last = known.present_at(self.now) if known else None
        begins = valid_from or (last.valid_from if last else None)
        arguments: dict[str, Any] = {"entity_name": name, "fact": fact, "project_id": PROJECT}
        arguments |= {"valid_from": valid_from, "valid_to": valid_to}
        if begins and valid_to and valid_to < begins:
            assert self.refused("upsert_entity", **arguments) == "PM001"
            return
        answer = self.call("upsert_entity", **arguments)
        id = str(answer["artifact_id"])
        thing = self.things.setdefault(id, Thing("EntityFact", id))
        before = last.end if last else None
        ended = thing.keep_fact(self.now, (name, {"entity_name": name, "fact": fact}), valid_from, valid_to)
        assert ("revived" in (answer["message"] or "")) == ended
        assert not ended or (before is not None and f"{before:%Y-%m-%d}" in answer["message"])

    def decide(self) -> None:
        title, rationale = self.choose.choice(TITLES), self.choose.choice(["harbour a", "harbour b"])
        answer = self.call("save_decision", title=title, rationale=rationale, project_id=PROJECT)
        if answer["status"] != "saved" or answer["dedup_outcome"] == "duplicate_skip":
            return
        self.expire(title, rationale)
        if answer["dedup_outcome"] == "supersede":
            self.things[str(answer["candidate_id"])].become(self.now, "superseded", close=True)
        thing = self.things[str(answer["artifact_id"])] = Thing("Decision", str(answer["artifact_id"]))
        props = {"rationale": rationale, "date": f"{self.now:%Y-%m-%d}"}
        thing.say(self.now, (title, props), "active")

    def same_content(self, title: str, rationale: str) -> Thing | None:
        """The decision that is not hidden and says the same."""
        for thing in self.things.values():
            name, props = thing.present.content
            is_live = thing.label == "Decision" and thing.present.status in LIVE
            if is_live and (name, props["rationale"]) == (title, rationale):
                return thing
        return None

    def expire(self, title: str, rationale: str) -> Thing | None:
        """A decision whose end has passed is replaced by the same one; else the one with the same text."""
        twin = self.same_content(title, rationale)
        if twin is not None and twin.present.end is not None and twin.present.end < self.now:
            twin.become(self.now, "expired")
            return None
        return twin

    def supersede(self) -> None:
        """A reviewer supersedes one decision by another; the store refuses a cycle."""
        old, new = self.thing("Decision", status="active"), self.thing("Decision", status="active")
        if old is None or new is None or old is new:
            return
        refused = self.refused("supersede", old=old.id, new=new.id)
        assert refused in (None, "PM011")
        if refused is None:
            old.become(self.now, "superseded", close=True)

    def merge(self) -> None:
        gone, stays = self.thing("EntityFact", status="active"), self.thing("EntityFact", status="active")
        if gone is None or stays is None or gone is stays:
            return
        for thing in (gone, stays):
            thing.settle(self.now)
        fact = self.choose.choice([None, "harbour a", "harbour d"])
        self.call("merge_entities", entity=gone.id, into=stays.id, fact=fact)
        gone.become(self.now, "merged")
        last = stays.present
        if fact is not None:
            content = (last.content[0], {**last.content[1], "fact": fact})
            stays.say(self.now, content, last.status, last.valid_from, last.end)

    def close(self) -> None:
        """The owner sets an end; no verb is there to think of the period."""
        thing, end = self.thing(*LABELS), self.day(1)
        assert end is not None
        if thing is None or thing.present.status not in LIVE or (thing.present.valid_from or end) > end:
            return
        self.connection.execute("update pgmem.node set valid_to = %s where id = %s", (end, thing.id))
        last = thing.present
        thing.say(self.now, last.content, last.status, last.valid_from, end)

    def forget(self) -> None:
        thing = self.thing(*LABELS)
        if thing is not None:
            thing.settle(self.now)
            self.call("forget", label=thing.label, key=thing.id)
            thing.become(self.now, "archived")

    def revert(self) -> None:
        thing = self.thing(*LABELS)
        if thing is None:
            return
        version = self.choose.randint(1, len(thing.facts))
        arguments = {"label": thing.label, "key": thing.id, "version": version}
        if version == thing.present_at(self.now).version and version == len(thing.facts):
            assert self.refused("revert", **arguments) == "PM002"
            return
        name, props = thing.facts[version].content
        refused = self.refused("revert", **arguments)
        if thing.label == "Decision" and thing.facts[version].status in LIVE:
            twin = self.same_content(name, props["rationale"])
            ended = twin is not None and twin.present.end is not None and twin.present.end < self.now
            assert (refused == "PM001") == (twin is not None and twin is not thing and not ended)
            if refused is None:
                self.expire(name, props["rationale"])
        else:
            assert refused is None
        if refused is None:
            thing.settle(self.now)
            thing.revert(self.now, version)
            self.reverted = True

    # The questions.

    def asked(self, most: int) -> list[tuple[datetime | None, datetime | None]]:
        """Pairs of a day and a time of knowledge; never neither."""
        moments = sorted(self.days)

        def one_of(none: float) -> datetime | None:
            return None if self.choose.random() < none else self.choose.choice(moments)

        pairs = [(one_of(0.15), one_of(0.3)) for _ in range(most)]
        return [pair for pair in pairs if pair != (None, None)]

    def wanted(self, day: datetime | None, known: datetime | None) -> list[tuple[Thing, int, Fact]]:
        return [
            (thing, *found) for thing in self.things.values() if (found := thing.at(day, known)) is not None
        ]

    def compare(self, pairs: list[tuple[datetime | None, datetime | None]], where: str) -> None:
        """All that the store answers for these pairs, in one statement."""
        found: dict[int, States] = {}
        for row in self.connection.execute(
            "select q.place, s.label, s.title, s.version, s.props, s.valid_from, s.valid_to"
            " from unnest(%s::timestamptz[], %s::timestamptz[]) with ordinality as q(day, known, place)"
            " cross join lateral pgmem.states_at(q.day, q.known) s"
            " where s.label = any (%s) and s.tenant = pgmem.tenant_of(current_setting('pgmem.org_id'))",
            ([day for day, _ in pairs], [known for _, known in pairs], list(LABELS)),
        ):
            found.setdefault(row["place"], Counter())[shown(**{k: row[k] for k in row if k != "place"})] += 1
        for place, (day, known) in enumerate(pairs, 1):
            wanted = Counter(
                shown(thing.label, fact.content[0], number, fact.content[1], fact.valid_from, fact.end)
                for thing, number, fact in self.wanted(day, known)
            )
            assert found.get(place, Counter()) == wanted, (self.seed, where, day, known)

    def read(self, day: datetime | None, known: datetime | None) -> None:
        """The same question through each verb that takes it."""
        when = {"as_of": day, "known_at": known}
        wanted = self.wanted(day, known)
        titles = Counter((thing.label, fact.content[0]) for thing, _, fact in wanted)
        context = self.call(
            "retrieve_context", project_id=PROJECT, scope="project", categories=list(LABELS), **when
        )
        assert Counter((item["label"], item["title"]) for item in context["items"]) == titles, (
            self.seed,
            when,
        )
        results = self.connection.execute(
            "select label, title, mode, reason from pgmem.search_memory('harbour', 50, %s, p_labels => %s,"
            " p_as_of => %s, p_known_at => %s)",
            (PROJECT, list(LABELS), day, known),
        ).fetchall()
        assert Counter((row["label"], row["title"]) for row in results) == titles, (self.seed, when)
        assert {row["mode"] for row in results} <= {"fulltext_only"}
        for thing in self.things.values():
            try:
                node = self.call("get_node", label=thing.label, key=thing.id, **when)
            except psycopg.Error as error:
                assert error.sqlstate == "PM002"
                assert thing.at(day, known) is None, (self.seed, when)
                continue
            found = thing.at(day, known)
            assert found is not None, (self.seed, when)
            assert (node["version"], node["properties"]) == (found[0], found[1].content[1])

    def check_tables(self) -> None:
        """The history of each, state by state; and the present one, which a search sees when it is live."""
        for thing in self.things.values():
            present = thing.present_at(self.now)
            rows = self.connection.execute(
                "select status, properties, valid_from, valid_to, ingested_at, replaced_at, restated"
                " from pgmem.memory_history(%s, %s)",
                (thing.label, thing.id),
            ).fetchall()
            assert [row["properties"] for row in rows] == [
                thing.facts[number].content[1] for number in sorted(thing.facts)
            ], self.seed
            for row, number in zip(rows, sorted(thing.facts), strict=True):
                shown_days = [
                    day
                    for day in sorted(self.days)
                    if (found := answer(thing.facts, day)) is not None and found.version == number
                ]
                assert not (shown_days and row["restated"]), self.seed
                for day in shown_days:
                    assert (row["valid_from"] or day) <= day <= (row["valid_to"] or day), self.seed
            node = self.call("get_node", label=thing.label, key=thing.id)
            assert (node["version"], node["status"]) == (present.version, present.status), self.seed
            assert (node["archived_at"] is None) == (present.status != "archived")

    def read_now(self) -> None:
        """The present truth, through each verb that states it: a state that became true since counts too."""
        wanted = Counter(
            (thing.label, fact.content[0], fact.version, tuple(sorted(map(str, fact.content[1].values()))))
            for thing in self.things.values()
            if (fact := thing.present_at(self.now)).status in LIVE
            and (fact.valid_from is None or fact.valid_from <= self.now)
            and (fact.end is None or self.now <= fact.end)
            and not fact.leaves(self.now)
        )
        titles = Counter(entry[:2] for entry in wanted.elements())
        for when in ({}, {"as_of": self.now + timedelta(microseconds=1)}):
            items = self.call(
                "retrieve_context", project_id=PROJECT, scope="project", categories=list(LABELS), **when
            )["items"]
            assert Counter((item["label"], item["title"]) for item in items) == titles, (self.seed, when)
        results = self.connection.execute(
            "select id, label, title, passage from pgmem.search_memory('harbour', 50, %s, p_labels => %s)",
            (PROJECT, list(LABELS)),
        ).fetchall()
        assert Counter((row["label"], row["title"]) for row in results) == titles, self.seed
        for row in results:
            node = self.call("get_node", label=row["label"], key=str(row["id"]))
            for value in node["properties"].values():
                assert value in row["passage"] or value[:4].isdigit(), (self.seed, row)
        live = self.connection.execute(
            "select count(*) from pgmem.live_node where label = any (%s)"
            " and tenant = pgmem.tenant_of(current_setting('pgmem.org_id'))",
            (list(LABELS),),
        ).fetchone()
        assert live is not None
        assert live["count"] == wanted.total(), self.seed

    def move(self) -> None:
        """Export it all, and import it as another tenant; some as a release did that kept no periods.

        Such an export does not say from where on a revert restored a state, and has no states of other periods.
        """
        lines = [
            json.loads(row["record"])
            for part in PARTS
            for row in self.connection.execute("select record from pgmem.export_records(%s)", (part,))
        ]
        apart = any(
            state["replaced_at"] == "infinity" for line in lines for state in line.get("versions", ())
        )
        if self.seed % 2 and not self.reverted and not apart:
            for line in lines:
                for state in (line, *line.get("versions", ())):
                    state.pop("begins_at", None)
                    state.pop("ends_at", None)
        self.act_as(f"h{self.seed}-moved")
        self.call("import_records", records=lines, own=True)


def shown(
    label: str,
    title: str,
    version: int,
    props: dict[str, Any],
    valid_from: datetime | None,
    valid_to: datetime | None,
) -> str:
    return json.dumps([label, title, version, props, *map(str, (valid_from, valid_to))], sort_keys=True)


def play(history: History) -> None:
    """Do some things, one after the other, and ask about all of them."""
    steps: list[Callable[[], None]] = [
        *[history.remember, history.keep_fact, history.decide] * 3,
        *(history.supersede, history.merge, history.close, history.forget, history.revert, history.revert),
    ]
    for _ in range(history.choose.randint(2, 12)):
        history.tick(history.choose.choice([0, 0, 1, 5, 20]))
        history.choose.choice(steps)()
    history.tick(1)
    pairs = history.asked(40)
    history.compare(pairs, "here")
    for pair in pairs[:2]:
        history.read(*pair)
    history.check_tables()
    history.read_now()
    history.tick(history.choose.choice([10, 30, 90]))
    history.check_tables()
    history.read_now()
    history.compare(history.asked(20), "later")
    if history.seed % 3 == 0:
        history.move()
        history.compare(pairs, "moved")


@pytest.fixture
def histories(
    connection: psycopg.Connection[DictRow], call: Call, clock: Callable[[str], None]
) -> Callable[[int, int], Iterator[History]]:
    """`histories(first, last)`: histories in one database, each of a separate tenant."""
    connection.execute("update pgmem.setting set value = '100' where name = 'project_limit'")

    def made(first: int, last: int) -> Iterator[History]:
        return (History(connection, call, seed) for seed in range(first, last))

    return made


def test_a_question_about_the_past_is_answered_as_the_facts_answer_it(
    histories: Callable[[int, int], Iterator[History]],
) -> None:
    """Histories of saves, edits, closings, reverts, merges, forgetting and moving."""
    for history in histories(0, HISTORIES):
        play(history)

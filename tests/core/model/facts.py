"""The answers of a memory about the past, in the plainest form: a list of statements with their times.

A day is answered by the last statement that covers it (the sequenced update of SQL:2011: who speaks later has the
period that it names, and no other). An open statement, one without an end, leaves the days on which another one held
that was said before and begins later, and covers the open ones that begin before it: behind an end that is set later
they hold again. A fact without a start takes the place of the present state and of those that this one
covers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

HISTORIES = int(os.environ.get("PGMEM_HISTORIES", "24"))
"""How many histories each test plays; make test-long sets more."""

ALWAYS = datetime.min.replace(tzinfo=UTC)
NOW = datetime.max.replace(tzinfo=UTC)
LIVE = ("active", "approved")
WAS_LIVE = (*LIVE, "superseded", "expired")
HIDDEN = ("archived", "merged", "rejected", "dismissed")
STEP = timedelta(microseconds=1)

Content = tuple[str, dict[str, Any]]
Days = Callable[[datetime], bool]


def no_day(_: datetime) -> bool:
    return False


@dataclass(frozen=True)
class Fact:
    """One thing that was said: it holds from begin to end, unless somebody said otherwise since.

    Attributes:
        begin: when it begins to hold; ALWAYS where nobody knows.
        end: the end that was set, or None.
        recorded: when it was said.
        leaves: the days of its period that it leaves to earlier facts.
        replaced: when something else was said that took its place.
        closed: where that closed it; ALWAYS: it took all of it back.
    """

    version: int
    content: Content
    status: str
    valid_from: datetime | None
    end: datetime | None
    begin: datetime
    recorded: datetime
    leaves: Days = no_day
    replaced: datetime = NOW
    closed: datetime | None = None

    @property
    def until(self) -> datetime | None:
        return self.end if self.replaced == NOW else self.closed

    def holds(self, day: datetime) -> bool:
        until = self.until
        return (
            self.status in WAS_LIVE
            and self.begin <= day
            and (until is None or day <= until)
            and not self.leaves(day)
        )


Facts = dict[int, Fact]


def answer(facts: Facts, day: datetime) -> Fact | None:
    """The truth on a day, for those who know these facts."""
    return next((facts[v] for v in sorted(facts, reverse=True) if facts[v].holds(day)), None)


@dataclass
class Thing:
    """A memory: the statements about it, as they were known at each time, and its present state."""

    label: str
    id: str
    facts: Facts = field(default_factory=dict)
    row: int = 0
    known: list[tuple[datetime, Facts, int]] = field(default_factory=list)

    @property
    def present(self) -> Fact:
        return self.facts[self.row]

    def present_at(self, now: datetime) -> Fact:
        """The state that a reader finds now, though nobody has written since it became true.

        A second write in one microsecond counts as recorded in the next one.
        """
        found = answer(self.facts, max(now, self.present.recorded))
        hidden = self.present.status in HIDDEN
        if found is None or hidden or found.status not in LIVE or self.present.status not in LIVE:
            return self.present
        return found

    def settle(self, now: datetime) -> None:
        """The next write finds the present state."""
        found = self.present_at(now)
        if found.version == self.row:
            return
        self.row = found.version
        self.facts[self.row] = replace(found, replaced=NOW, closed=None)
        when, facts, _ = self.known[-1]
        self.known[-1] = (
            (when, dict(self.facts), self.row) if facts.keys() == self.facts.keys() else self.known[-1]
        )

    def add(self, now: datetime, fact: Fact) -> None:
        self.facts[fact.version] = fact

    def keep(self, moment: datetime) -> None:
        self.known.append((moment, dict(self.facts), self.row))

    def moment(self, now: datetime) -> datetime:
        return max([now, *(fact.recorded + STEP for fact in self.facts.values())])

    def said_after(self, version: int) -> Days:
        """The days that belong to later statements than a version."""
        facts = dict(self.facts)

        def days(day: datetime) -> bool:
            found = answer(facts, day)
            return found is not None and found.version > version

        return days

    def say(
        self,
        now: datetime,
        content: Content,
        status: str,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        begin: datetime | None = None,
        leaves: Days | None = None,
    ) -> None:
        """State its contents from now on, in place of the present state; `begin` is where it began when it was said before."""
        if not self.facts:
            begins = valid_from or (now if valid_to is None else ALWAYS)
            self.row = 1
            self.facts[1] = Fact(1, content, status, valid_from, valid_to, begins, now)
            self.keep(now)
            return
        last = self.present
        if (content, status, valid_from, valid_to) == (last.content, last.status, last.valid_from, last.end):
            return
        moment = self.moment(now)
        same = content == last.content
        begins = last.begin if begin is None else begin
        if valid_from is not None:
            begins = valid_from
        elif not same and (valid_to is None or moment <= valid_to):
            begins = moment
        elif valid_to is not None and begins > valid_to:
            begins = ALWAYS
        if leaves is None:
            after = self.said_after(last.version)
            leaves = lambda day: last.leaves(day) or after(day)  # noqa: E731
        closed: datetime | None
        if not same:
            closed = last.end if last.end is not None else begins
        else:
            closed = last.end if last.end is not None and begins > last.end else ALWAYS
        if closed == ALWAYS or closed < last.begin:
            closed = ALWAYS if closed == ALWAYS else closed
        self.facts[last.version] = replace(last, replaced=moment, closed=closed)
        if not same and last.valid_from is not None and valid_from is None and last.end is None:
            for fact in list(self.facts.values()):
                if fact.replaced == NOW and fact.end is None and fact.begin < last.begin:
                    self.facts[fact.version] = replace(fact, replaced=moment, closed=last.begin)
        version = max(self.facts) + 1
        self.facts[version] = Fact(version, content, status, valid_from, valid_to, begins, moment, leaves)
        self.row = version
        self.keep(moment)

    def say_for(
        self, now: datetime, content: Content, valid_from: datetime, valid_to: datetime | None
    ) -> Fact | None:
        """State its contents for a period, whatever was stated before; the present state that this contradicts."""
        last = self.present
        if last.status not in LIVE:
            self.say(now, content, "active", valid_from, valid_to)
            return None
        before = dict(self.facts)
        restated = next(
            (
                fact
                for fact in reversed(self.facts.values())
                if fact.content == content
                and fact.valid_from is not None
                and fact.begin == valid_from
                and fact.replaced == NOW
                and answer(self.facts, valid_from) is fact
            ),
            None,
        )

        def begins_later(day: datetime) -> bool:
            found = answer(before, day)
            return found is not None and found.valid_from is not None and found.begin > valid_from

        leaves: Days = no_day
        if restated is not None:
            after, earlier = self.said_after(restated.version), restated.leaves
            leaves = lambda day: earlier(day) or after(day)  # noqa: E731
        elif valid_to is None:
            leaves = begins_later
        moment = self.moment(now)
        now = max(now, last.recorded)
        added = Fact(max(self.facts) + 1, content, "active", valid_from, valid_to, valid_from, moment, leaves)
        found = answer(self.facts, now)
        contradicts = None
        if (
            found is not None
            and found.valid_from is not None
            and found.until is None
            and found.begin > valid_from
            and valid_to is None
            and found.content != content
        ):
            contradicts = found
        if (restated is None or restated.end == valid_to) and all(
            (same := answer(self.facts, day)) is not None and same.content == content
            for day in self.days(added)
            if added.holds(day)
        ):
            return None
        held_now = last.begin <= now and (last.end is None or now <= last.end) and not last.leaves(now)
        for fact in list(self.facts.values()):
            if fact.replaced == NOW and fact is restated:
                self.facts[fact.version] = replace(fact, replaced=moment, closed=ALWAYS)
        self.facts[added.version] = added
        if added.holds(now) or not held_now or restated is last:
            self.row = added.version
        self.keep(moment)
        self.settle(now)
        return contradicts

    def days(self, added: Fact) -> list[datetime]:
        """Days that show whether two answers differ: the edges of statements, and the days beside them."""
        edges = {added.begin, added.end or NOW - timedelta(days=2)}
        for fact in self.facts.values():
            edges |= {fact.begin, fact.end or NOW - timedelta(days=2), fact.until or NOW - timedelta(days=2)}
        return [
            day + step
            for day in edges
            for step in (-STEP, timedelta(0), STEP)
            if ALWAYS + STEP <= day <= NOW - STEP
        ]

    def at(self, day: datetime | None, known: datetime | None) -> tuple[int, Fact] | None:
        """The version and the fact that was true on a day as known at a time, or that was live at that time."""
        facts: Facts | None = None
        row = 0
        for moment, then, present in self.known:
            if moment <= (known or NOW):
                facts, row = then, present
        if facts is None or facts[row].status in HIDDEN:
            return None
        if known is None:
            facts = self.facts
        found = answer(facts, day or known or NOW)
        if found is None or (day is None and found.status not in LIVE):
            return None
        return found.version, found

    # The acts of the verbs.

    def remember(
        self, now: datetime, content: Content, valid_from: datetime | None, valid_to: datetime | None
    ) -> tuple[str | None, bool]:
        """Merge properties in; the fate of an end that was set, and whether an open period is contradicted."""
        if not self.facts:
            given = {name: value for name, value in content[1].items() if value is not None}
            self.say(now, (content[0], given), "active", valid_from, valid_to)
            return None, False
        self.settle(now)
        last = self.present
        before = last.end
        base = last
        contradicts = None
        if valid_from is not None and last.status in LIVE:
            found = answer(self.facts, valid_from)
            undated = last.valid_from is None and any(
                valid_from <= day
                and (valid_to is None or day <= valid_to)
                and answer(self.facts, day) is last
                for day in self.days(replace(last, begin=valid_from, end=valid_to))
            )
            base = found or (last if undated else replace(last, content=(content[0], {})))
        props = {**base.content[1], **content[1]}
        kept = (content[0], {name: value for name, value in props.items() if value is not None})
        if valid_from is not None:
            contradicts = self.say_for(now, kept, valid_from, valid_to)
        elif valid_to is not None:
            self.say(now, kept, "active", last.valid_from, valid_to)
        elif last.end is not None and last.end < now:
            self.say(now, kept, "active", now, None)
        else:
            self.say(now, kept, "active", last.valid_from, last.end)
        if before is None:
            return None, contradicts is not None
        end = self.present.end
        return "cleared" if end is None else "kept" if end == before else "replaced", contradicts is not None

    def keep_fact(
        self, now: datetime, content: Content, valid_from: datetime | None, valid_to: datetime | None
    ) -> bool:
        """A fact about an entity; whether the entity had ended."""
        if not self.facts:
            self.say(now, content, "active", valid_from, valid_to)
            return False
        self.settle(now)
        last = self.present
        ended = last.end is not None and last.end < now
        if valid_from is not None:
            self.say_for(now, content, valid_from, valid_to)
        elif valid_to is not None:
            self.say(now, content, "active", last.valid_from, valid_to)
        elif content != last.content:
            self.say(now, content, "active")
        elif ended:
            self.say(now, content, "active", now)
        else:
            self.say(now, content, "active", last.valid_from, last.end)
        return ended

    def become(self, now: datetime, status: str, close: bool = False) -> None:
        """Another status; a superseded decision ends now, unless it has an end."""
        last = self.present
        end = last.end
        if close:
            end = min(max(now, last.valid_from or now), last.end or NOW)
        self.say(now, last.content, status, last.valid_from, end)

    def revert(self, now: datetime, version: int) -> None:
        """An earlier statement again, with its whole period and that of the state in whose place it comes."""
        earlier, last = self.facts[version], self.present
        if version == self.row:
            moment = self.moment(now)
            self.facts[version] = replace(last, replaced=moment, closed=ALWAYS)
            number = max(self.facts) + 1
            self.facts[number] = replace(last, version=number, recorded=moment, replaced=NOW, closed=None)
            self.row = number
            self.keep(moment)
            return
        before = dict(self.facts)

        def leaves(day: datetime) -> bool:
            return earlier.leaves(day) and answer(before, day) is not last

        self.say(now, earlier.content, earlier.status, earlier.valid_from, earlier.end, earlier.begin, leaves)

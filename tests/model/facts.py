"""What a memory is to answer about the past, in the plainest words: a list of what was said, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

ALWAYS = datetime.min.replace(tzinfo=UTC)
NOW = datetime.max.replace(tzinfo=UTC)
LIVE = ("active", "approved")
WAS_LIVE = (*LIVE, "superseded", "expired")
HIDDEN = ("archived", "merged", "rejected", "dismissed")


@dataclass
class Fact:
    """One thing that was said: it holds from begin to end, unless somebody said otherwise since.

    Attributes:
        begin: when it begins to hold; ALWAYS where nobody knows.
        end: the end that was set, or None.
        recorded: when it was said.
        replaced: when something else was said of the same memory.
        revoked: whether that took all of it back.
        closed: where that closed an end that was open.
    """

    content: tuple[str, dict[str, Any]]
    status: str
    valid_from: datetime | None
    end: datetime | None
    begin: datetime
    recorded: datetime
    replaced: datetime = NOW
    revoked: bool = False
    closed: datetime | None = None

    def holds(self, day: datetime, known: datetime) -> bool:
        """Whether it was true on a day, for those who know what was said until then."""
        if self.replaced <= known and (self.revoked or (self.closed is not None and day > self.closed)):
            return False
        return self.begin <= day and (self.end is None or day <= self.end)


@dataclass
class Thing:
    """A memory: what was said of it, in order."""

    label: str
    id: str
    facts: list[Fact] = field(default_factory=list)

    @property
    def present(self) -> Fact:
        return self.facts[-1]

    def say(
        self,
        now: datetime,
        content: tuple[str, dict[str, Any]],
        status: str,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        begin: datetime | None = None,
    ) -> None:
        """Say what it is from now on; `begin` is where it began when it was said before."""
        if not self.facts:
            begins = valid_from or (now if valid_to is None else ALWAYS)
            self.facts.append(Fact(content, status, valid_from, valid_to, begins, now))
            return
        last = self.present
        if (content, status, valid_from, valid_to) == (last.content, last.status, last.valid_from, last.end):
            return
        now = max(now, last.recorded + timedelta(microseconds=1))
        same = content == last.content
        begins = last.begin if begin is None else begin
        if valid_from is not None:
            begins = valid_from
        elif not same and (valid_to is None or now <= valid_to):
            begins = now
        elif valid_to is not None and begins > valid_to:
            begins = ALWAYS
        last.replaced = now
        if not same:
            last.closed = begins if last.end is None else None
            last.revoked = last.end is None and begins == ALWAYS
        else:
            last.revoked = last.end is None or begins <= last.end
        self.facts.append(Fact(content, status, valid_from, valid_to, begins, now))

    def at(self, day: datetime | None, known: datetime | None) -> tuple[int, Fact] | None:
        """The version and the fact that was true on a day as known at a time, or that stood at that time."""
        said = [
            (number, fact) for number, fact in enumerate(self.facts, 1) if fact.recorded <= (known or NOW)
        ]
        if not said or said[-1][1].status in HIDDEN:
            return None
        if day is None:
            number, fact = said[-1]
            assert known is not None
            holds = (fact.valid_from is None or fact.valid_from <= known) and (
                fact.end is None or known <= fact.end
            )
            return (number, fact) if holds and fact.status in LIVE else None
        for number, fact in reversed(said):
            if fact.status in WAS_LIVE and fact.holds(day, known or NOW):
                return number, fact
        return None

    # What the verbs say.

    def remember(
        self,
        now: datetime,
        content: tuple[str, dict[str, Any]],
        valid_from: datetime | None,
        valid_to: datetime | None,
    ) -> str | None:
        """Merge properties in; what became of an end that was set."""
        if not self.facts:
            given = {name: value for name, value in content[1].items() if value is not None}
            self.say(now, (content[0], given), "active", valid_from, valid_to)
            return None
        last = self.present
        props = {**last.content[1], **content[1]}
        kept = {name: value for name, value in props.items() if value is not None}
        if valid_from is None and valid_to is None:
            ended = last.end is not None and last.end < now
            valid_from, valid_to = (now, None) if ended else (last.valid_from, last.end)
        else:
            valid_from = valid_from or last.valid_from
        before = last.end
        self.say(now, (content[0], kept), "active", valid_from, valid_to)
        if before is None:
            return None
        return "cleared" if valid_to is None else "kept" if valid_to == before else "replaced"

    def keep_fact(self, now: datetime, content: tuple[str, dict[str, Any]]) -> bool:
        """A fact about an entity; whether the entity had ended."""
        if not self.facts:
            self.say(now, content, "active")
            return False
        last = self.present
        ended = last.end is not None and last.end < now
        if content != last.content:
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
        if close and end is None:
            end = max(now, last.valid_from or now)
        self.say(now, last.content, status, last.valid_from, end)

    def revert(self, now: datetime, version: int) -> None:
        """What was said earlier, again."""
        earlier = self.facts[version - 1]
        self.say(now, earlier.content, earlier.status, earlier.valid_from, earlier.end, earlier.begin)

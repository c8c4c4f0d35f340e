"""Stores in step: what changed in each goes to the other, by the feed, until both hold the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import anyio

from pgmem.errors import CursorLost, InvalidArgument
from pgmem.feed.peers import PAGE, PARTS, Folder, Peer, Record
from pgmem.models import Arrival, PeerState

_CLOCK_S = 60.0
"""Seconds that two clocks may differ: the later of two states is current, and who is later is what they say."""

_HELD_S = 2.0
"""Seconds that an exchange waits for transactions that hold changes back; what they hold then travels the next time."""

Progress = Callable[[str, int], object]


@dataclass
class Exchanged:
    """What an exchange did: the outcomes of what came here and of what went there, and what a person should see."""

    here: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    shown: list[tuple[str, Arrival]] = field(default_factory=list)
    anew: bool = False
    """Whether changes since the last exchange are kept no longer, so that all was compared."""

    def count(self, side: str, arrivals: Iterable[Arrival]) -> None:
        """Count the outcomes of a page."""
        for arrival in arrivals:
            getattr(self, side)[arrival.outcome] += 1
            if arrival.outcome in ("conflict", "review", "refused"):
                self.shown.append((side, arrival))


class Exchange:
    """An exchange between this store and another.

    Every page is applied with its cursor in one transaction, so that an exchange that was killed goes on where it was.

    Args:
        here: this store, which keeps how far both are in step.
        dry_run: only say what would happen.
        progress: called with (what is done, how many changes of it).
    """

    def __init__(self, here: Peer, *, dry_run: bool = False, progress: Progress | None = None) -> None:
        self._here, self._dry_run = here, dry_run
        self._progress = progress or (lambda _what, _count: None)
        self._arrived: set[tuple[str, Any]] = set()
        self.done = Exchanged()

    async def with_store(self, there: Peer, name: str) -> Exchanged:
        """Exchange changes with another store, both ways.

        Args:
            there: the other store.
            name: what messages call it.

        Raises:
            InvalidArgument: both are the same store, or their releases or clocks differ too much.
        """
        asked = monotonic()
        other = await there.state()
        took = monotonic() - asked
        mine = await self._here.state(other.feed)
        _require_fitting(mine, other, name, took)
        self._here.vectors = there.vectors = bool({*mine.models} & {*other.models})
        head = (await self._here.changes("now"))["cursor"]
        # Their changes come first: what goes there then is what both sides make of it.
        pulled = 0
        async for page, cursor in pages(there, mine.pulled, mine.feed, self._begin_anew):
            await self._take(page, peer=other.feed, cursor=cursor, since=mine.pushed, until=head)
            self._progress("received", pulled := pulled + len(page))
        sent = 0
        async for page, cursor in pages(self._here, mine.pushed, late=self._begin_anew):
            page = [change for change in page if _known_by(change) not in self._arrived]
            if page:
                self.done.count("there", await there.apply(page, peer=mine.feed, dry_run=self._dry_run))
                self._progress("sent", sent := sent + len(page))
            if cursor and not self._dry_run:
                await self._here.apply([], peer=other.feed, pushed=cursor)
        return self.done

    async def with_folder(self, folder: Folder) -> Exchanged:
        """Apply the files of other stores, then write what changed here since the last time.

        Raises:
            InvalidArgument: a file is not whole or of another format, or its clock is ahead of this one.
        """
        mine = await self._here.state("folder")
        head = (await self._here.changes("now"))["cursor"]
        for feed in folder.feeds():
            if feed == mine.feed:
                continue
            known = (await self._here.state(feed)).pulled or ""
            # A cursor of its feed, and not a number, is of an exchange without a folder.
            for number, path, late in folder.unread(feed, int(known) if known.isdecimal() else 0):
                self.done.anew |= late and known.isdecimal()
                header, changes = folder.read(path)
                ahead = (datetime.fromisoformat(header["at"]) - datetime.now(UTC)).total_seconds()
                if ahead > _CLOCK_S:
                    raise InvalidArgument(_clocks(str(path), ahead))
                for first in range(0, len(changes), PAGE):
                    page = changes[first : first + PAGE]
                    last = first + PAGE >= len(changes)
                    reached = str(number) if last else None
                    await self._take(page, peer=feed, cursor=reached, since=mine.pushed, until=head)
                self._progress("received", len(changes))
        written, readable = folder.last(mine.feed, int(mine.pulled or 0))
        begins = mine.pushed is None or not readable
        cursor = mine.pushed

        async def own(after: str | None) -> AsyncIterator[list[Record]]:
            nonlocal cursor
            async for page, to in pages(self._here, after):
                cursor = to or cursor
                yield [change for change in page if after is None or _known_by(change) not in self._arrived]

        if self._dry_run:
            async for page in own(None if begins else mine.pushed):
                self.done.there["written"] += len(page)
            return self.done
        number = written + 1
        count = await folder.write(mine, number, own(None if begins else mine.pushed), whole=begins)
        self.done.there["written"] += count
        if count and not begins and folder.is_long(mine.feed):
            noted = cursor
            await folder.write(mine, number, own(None), whole=True)
            cursor, begins = noted, True
        if cursor is not None:
            done = str(number if count else written)
            await self._here.apply([], peer="folder", cursor=done, pushed=cursor)
        if count and begins:
            folder.shorten(mine.feed, number)
        return self.done

    def _begin_anew(self) -> None:
        self.done.anew = True

    async def _take(self, page: list[Record], **options: str | None) -> None:
        """Apply changes of another store here."""
        arrivals = await self._here.apply(page, **options, dry_run=self._dry_run)
        self.done.count("here", arrivals)
        # What came from there as it is now here need not go back.
        for arrival in arrivals:
            if arrival.outcome in ("taken", "present", "purged"):
                self._arrived.add(_known_by(page[arrival.place - 1]))


async def pages(
    store: Peer, after: str | None, without: str | None = None, late: Callable[[], object] = lambda: None
) -> AsyncIterator[tuple[list[Record], str | None]]:
    """Yield what changed in a store after a cursor, and the cursor to keep with each page; all of it without one.

    What came there from the store with the feed `without` is left out. `late` is called where the changes after the
    cursor are kept no longer.
    """
    yield [row["record"] for row in await store.records("vocabulary", None)], None
    if after is not None:
        try:
            page = await store.changes(after, without)
        except CursorLost:
            late()
            after = None
    if after is None:
        # What changes meanwhile comes after this cursor too.
        after = (await store.changes("now"))["cursor"]
        for part in PARTS[1:]:
            place: list[str] | None = None
            while True:
                rows = await store.records(part, place)
                records = [row["record"] for row in rows]
                if part == "save":
                    records = [each for each in records if _is_review(each)]
                yield records, None
                if len(rows) < PAGE:
                    break
                place = rows[-1]["place"]
        page = await store.changes(after, without)
    until = monotonic() + _HELD_S
    while True:
        waits = page["held"] and monotonic() < until
        if page["changes"] or not (page["more"] or waits):
            changes = [each for each in page["changes"] if each.get("record") or each["kind"] == "unrelated"]
            yield changes, page["cursor"]
        if not (page["more"] or waits):
            return
        if waits:
            await anyio.sleep(0.05)
        page = await store.changes(page["cursor"], without)


def _is_review(save: Record) -> bool:
    # One that was decided is no longer called one, and closes the same review of another store.
    return save.get("dedup_outcome") == "manual_review" or save.get("resolved_by") is not None


def _known_by(change: Record) -> tuple[str, Any]:
    record = change.get("record") or change
    if record.get("type") == "node":
        # A state of another period than the present changes neither the number nor the time of the memory.
        states = len(record.get("versions") or ())
        return str(record["id"]), (record.get("version"), states, str(record.get("updated_at")))
    if record.get("type") == "edge":
        return f"{record['src']} {record['dst']}", record["rel"]
    return str(record.get("id") or record.get("save_id")), (record.get("type"), record.get("status"))


def _require_fitting(mine: PeerState, other: PeerState, name: str, took_s: float) -> None:
    if mine.feed == other.feed:
        raise InvalidArgument(f"{name} is this store itself: name another one.")
    releases = [".".join(state.release.split(".")[:2]) for state in (mine, other)]
    if releases[0] != releases[1]:
        raise InvalidArgument(
            f"{name} has pgmem {other.release} and this store {mine.release}: upgrade the older one, then sync again."
        )
    ahead = (other.at - mine.at).total_seconds()
    if abs(ahead) > _CLOCK_S + took_s:
        raise InvalidArgument(_clocks(name, ahead))


def _clocks(name: str, ahead_s: float) -> str:
    minutes = max(1, round(abs(ahead_s) / 60))
    which = "ahead of" if ahead_s > 0 else "behind"
    return (
        f"The clock of {name} is {minutes} minutes {which} the one here: the later of two changes wins, so set the "
        "clocks right, then sync again."
    )

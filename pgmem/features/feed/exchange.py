"""Stores in step: the changes of each go to the other, by the feed, until both hold the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any
from uuid import uuid4

import anyio

from pgmem.errors import CursorLost, InvalidArgument
from pgmem.features.feed.peers import FOLDER, PAGE, PARTS, SEEN, Folder, Peer, Place, Record, StorePeer
from pgmem.models import Arrival, Outstanding, PeerState

_CLOCK_S = 60.0
"""Seconds that two clocks may differ: the later of two states is current, as their clocks say."""

_HELD_S = 2.0
"""Seconds that an exchange waits for transactions that hold changes back; these travel the next time."""

_ROUNDS = 5
"""So often refused changes are offered again in one exchange while some of it is taken."""

Progress = Callable[[str, int], object]


@dataclass
class Exchanged:
    """The result of an exchange: the outcomes of changes in both directions, and notices for a person."""

    here: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    shown: list[tuple[str, Arrival]] = field(default_factory=list)
    outstanding: list[Outstanding] = field(default_factory=list)
    """Changes refused, now or earlier, that are offered again at each exchange with the same store."""
    anew: str | None = None
    """The reason to compare all instead of the changes since the last exchange, as the end of a sentence."""
    builds: str | None = None
    """Which states of one release both sides are, where they differ; they exchange all the same."""

    def count(self, side: str, arrivals: Iterable[Arrival]) -> None:
        """Count the outcomes of a page."""
        for arrival in arrivals:
            getattr(self, side)[arrival.outcome] += 1
            if arrival.outcome in ("conflict", "review", "refused"):
                self.shown.append((side, arrival))

    def wait(self, outstanding: Iterable[Outstanding]) -> None:
        """Show changes that are refused still, in the place of those refused on the way."""
        self.outstanding += outstanding
        self.shown = [(side, each) for side, each in self.shown if each.outcome != "refused"]
        for side, counts in (("here", self.here), ("there", self.there)):
            counts["refused"] = sum(each.direction == side for each in self.outstanding)
        for each in self.outstanding:
            named = Arrival(place=0, outcome="refused", id=each.about, title=each.title, reason=each.reason)
            self.shown.append((each.direction, named))
        self.here, self.there = +self.here, +self.there


class Exchange:
    """An exchange between this store and another.

    Every page is applied with its cursor in one transaction, so that an exchange that was killed goes on where it was.

    Args:
        here: this store, which keeps how far both are in step.
        dry_run: only report the outcome.
        progress: called with (the step, how many changes of it).
    """

    def __init__(self, here: StorePeer, *, dry_run: bool = False, progress: Progress | None = None) -> None:
        self._here, self._dry_run = here, dry_run
        self._progress = progress or (lambda _what, _count: None)
        self._arrived: set[tuple[str, Any]] = set()
        self._noted = False
        self.done = Exchanged()

    async def with_store(self, there: Peer, name: str) -> Exchanged:
        """Exchange changes with another store, both ways.

        Args:
            there: the other store.
            name: its name in messages.

        Raises:
            InvalidArgument: both are the same store, or their releases or clocks differ too much.
        """
        me = (await self._here.state()).feed
        asked = monotonic()
        other = await there.state(me)
        took = monotonic() - asked
        mine = await self._here.state(other.feed)
        _require_fitting(mine, other, name, took)
        self._compare_builds(mine, name, other.release, other.build)
        self._here.vectors = there.vectors = bool({*mine.models} & {*other.models})
        head = (await self._here.changes("now"))["cursor"]
        offered = _offered(mine, other)
        self.done.anew = await self._why_anew(there, mine, other, name)
        anew = self.done.anew is not None
        # How far the other store is, it says itself: it may have been set back, or have exchanged by itself meanwhile.
        since = offered or mine.pushed
        kept: dict[str, str | None] = {}
        # Their changes come first: changes that go there then are the merged ones.
        pulled = 0
        async for page, cursor in pages(there, None if anew else mine.pulled, mine.feed, self._late(name)):
            kept["cursor"] = cursor or kept.get("cursor")
            # Both cursors are kept together at the end of a comparison, so that one that was killed begins again.
            await self._take(page, peer=other.feed, cursor=None if anew else cursor, since=since, until=head)
            self._progress("received", pulled := pulled + len(page))
        await self._offer_here(other.feed, since, head)
        await self._offer_there(there, mine.feed, other.feed)
        sent = 0
        async for page, cursor in pages(self._here, None if anew else since, late=self._late("this store")):
            page = [change for change in page if _known_by(change) not in self._arrived]
            if page:
                await self._give(there, page, mine.feed, other.feed)
                self._progress("sent", sent := sent + len(page))
            kept["pushed"] = cursor or kept.get("pushed")
            if cursor not in (None, mine.pushed) and not (anew or self._dry_run):
                await self._here.apply([], peer=other.feed, pushed=cursor)
        if anew and not self._dry_run:
            await self._here.apply([], peer=other.feed, **kept)
        if not self._dry_run:
            await self._offer_there(there, mine.feed, other.feed)  # they may rest on the changes sent
            self.done.wait(await self._here.outstanding(other.feed))
            await self._tell(there, mine, other, kept)
        return self.done

    async def _tell(
        self, there: Peer, mine: PeerState, other: PeerState, kept: dict[str, str | None]
    ) -> None:
        """Keep on each side the cursor offered: by that, one that was set back is known later.

        While the other store refuses something, the changes offered are not those applied.
        """
        offered = kept.get("pushed")
        waits = any(each.direction == "there" for each in self.done.outstanding)
        if offered not in (None, other.pulled) and not waits:
            await there.apply([], peer=mine.feed, cursor=offered)
        if offered not in (None, other.seen):
            await there.apply([], peer=f"{SEEN} {mine.feed}", cursor=offered)
        if kept.get("cursor") not in (None, mine.seen):
            await self._here.apply([], peer=f"{SEEN} {other.feed}", cursor=kept["cursor"])

    def _late(self, whose: str) -> Callable[[CursorLost], object]:
        """Note that a cursor was lost while it was used."""

        def late(error: CursorLost) -> None:
            self.done.anew = self.done.anew or _lost(error, whose)

        return late

    def _compare_builds(self, mine: PeerState, name: str, release: object, build: object) -> None:
        """Note that the other side is of another state of pgmem; an earlier one names none."""
        if mine.build and build and mine.build != build:
            self.done.builds = (
                f"{name} is of another state of pgmem {release} ({build}) than this store ({mine.release}, "
                f"{mine.build}): upgrade both to the same one."
            )

    async def _give(self, there: Peer, page: list[Record], me: str, other: str) -> int:
        """Send changes to the other store, and keep those it refuses; how many it did not refuse."""
        arrivals = await there.apply(page, peer=me, dry_run=self._dry_run)
        self.done.count("there", arrivals)
        self._noted |= any(arrival.outcome == "refused" for arrival in arrivals)
        if self._noted and not self._dry_run:
            await self._here.note(other, page, arrivals)
        return sum(arrival.outcome != "refused" for arrival in arrivals)

    async def _offer_here(self, feed: str, since: str | None, head: str) -> None:
        """Offer again changes refused here, until nothing more of it is taken: one may rest on another."""

        async def take(page: list[Record]) -> int:
            arrivals = await self._take(page, peer=feed, since=since, until=head)
            return sum(arrival.outcome != "refused" for arrival in arrivals)

        await self._offer(feed, "here", take)

    async def _offer_there(self, there: Peer, me: str, other: str) -> None:
        await self._offer(other, "there", lambda page: self._give(there, page, me, other))

    async def _offer(self, feed: str, direction: str, send: Callable[[list[Record]], Awaitable[int]]) -> None:
        if self._dry_run:
            return
        for _ in range(_ROUNDS):
            changes = [each.change for each in await self._here.outstanding(feed, direction)]
            self._noted |= bool(changes) and direction == "there"
            done = [await send(changes[first : first + PAGE]) for first in range(0, len(changes), PAGE)]
            if not sum(done):
                return

    async def _why_anew(self, there: Peer, mine: PeerState, other: PeerState, name: str) -> str | None:
        """The reason why the record of the last exchange cannot be used, on either side; None if it can."""
        for kept, feed, whose in (
            (mine.pulled, other.feed, name),
            (other.pulled, mine.feed, f"this store by {name}"),
            (other.seen, mine.feed, f"this store by {name}"),
        ):
            if kept is not None and not kept.startswith(f"{feed}."):
                return f"what is kept of {whose} is not a cursor of its feed"
        asked = (
            (there, mine.pulled, name),
            (self._here, mine.pushed, "this store"),
            (self._here, _offered(mine, other), "this store"),
        )
        for peer, cursor, whose in asked:
            try:
                if cursor is not None:
                    await peer.reach(cursor)
            except CursorLost as error:
                return _lost(error, whose)
        return None

    async def with_folder(self, folder: Folder) -> Exchanged:
        """Apply the files of other stores, then write the changes here since the last time.

        A record that came from the folder and is the same here is not written once more.

        Raises:
            InvalidArgument: a file is not whole or of another format, or its clock is ahead of this one; a file has the
                name of this store, and it has not written it.
        """
        mine = await self._here.state(FOLDER)
        place = folder.require_own(mine.feed, Place.of(mine.pulled))
        head = (await self._here.changes("now"))["cursor"]
        await self._read_others(folder, mine, head)
        written, readable = folder.last(mine.feed, place.number)
        begins = mine.pushed is None or not readable
        if mine.pushed is not None:
            try:
                await self._here.reach(mine.pushed)
            except CursorLost as error:
                self.done.anew, begins = _lost(error, "this store"), True
        cursor = mine.pushed

        async def own() -> AsyncIterator[list[Record]]:
            nonlocal cursor
            async for page, to in pages(self._here, None if begins else mine.pushed):
                cursor = to or cursor
                yield [change for change in page if _known_by(change) not in self._arrived]

        if self._dry_run:
            async for page in own():
                self.done.there["written"] += len(page)
            return self.done
        new = Place(written + 1, uuid4().hex)

        async def plan() -> None:
            # A run that is killed when the file is there knows it again; a copy of this store does not.
            noted = replace(place, planned=new.mark)
            await self._here.apply([], peer=FOLDER, cursor=str(noted))

        count = await folder.write(mine, new.number, own(), whole=begins, mark=new.mark, plan=plan)
        self.done.there["written"] += count
        if cursor is not None:
            await self._here.apply([], peer=FOLDER, cursor=str(new if count else place), pushed=cursor)
        if count and begins:
            folder.shorten(mine.feed, new.number)
        elif count and folder.is_long(mine.feed):
            await folder.put_together(mine, new.number, new.mark)
        return self.done

    async def _read_others(self, folder: Folder, mine: PeerState, head: str) -> None:
        """Apply the files of other stores, then offer the changes that wait for them here."""
        others = [feed for feed in folder.feeds() if feed != mine.feed]
        for feed in others:
            last = await self._last_read(feed)
            for each, path, late in folder.unread(feed, last):
                if late and last:
                    self.done.anew = f"files of changes of {feed} were put together meanwhile"
                header, changes = folder.read(path)
                self._compare_builds(mine, path.name, header.get("release"), header.get("build"))
                ahead = (datetime.fromisoformat(header["at"]) - datetime.now(UTC)).total_seconds()
                if ahead > _CLOCK_S:
                    raise InvalidArgument(_clocks(str(path), ahead))
                for first in range(0, len(changes), PAGE):
                    await self._take(changes[first : first + PAGE], peer=feed, since=mine.pushed, until=head)
                if not self._dry_run:
                    await self._here.apply([], peer=f"{FOLDER} {feed}", cursor=str(each))
                self._progress("received", len(changes))
        for feed in others:
            await self._offer_here(feed, mine.pushed, head)
            if not self._dry_run:
                self.done.wait(await self._here.outstanding(feed, "here"))

    async def _last_read(self, feed: str) -> int:
        """The number of the last file of a store that was read."""
        kept = (await self._here.state(f"{FOLDER} {feed}")).pulled
        if kept is None:
            # A record of an earlier release; a cursor of its feed, and not a number, is of an exchange
            # without a folder.
            kept = (await self._here.state(feed)).pulled
        return Place.of(kept).number

    async def _take(self, page: Sequence[Record], **options: str | None) -> list[Arrival]:
        """Apply changes of another store here; refused ones are kept with them."""
        arrivals = await self._here.apply(page, **options, dry_run=self._dry_run, keep=True)
        self.done.count("here", arrivals)
        # Records that came from there as they are now here need not go back.
        for arrival in arrivals:
            if arrival.outcome in ("taken", "present", "purged"):
                self._arrived.add(_known_by(page[arrival.place - 1]))
        return arrivals


async def pages(
    store: Peer,
    after: str | None,
    without: str | None = None,
    late: Callable[[CursorLost], object] = lambda _error: None,
) -> AsyncIterator[tuple[list[Record], str | None]]:
    """Yield changes of a store after a cursor, and the cursor to keep with each page; all of it without one.

    Changes that came there from the store with the feed `without` is left out. `late` is called where the
    changes after the cursor are kept no longer. The pages end where the store was when they began, so that
    they end while others save.
    """
    end = _place_of((await store.changes("now"))["cursor"])
    yield [row["record"] for row in await store.records("vocabulary", None)], None
    if after is not None:
        try:
            page = await store.changes(after, without)
        except CursorLost as error:
            late(error)
            after = None
    if after is None:
        # Later changes come after this cursor too.
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
        goes_on = waits or (page["more"] and _place_of(page["cursor"]) < end)
        if page["changes"] or not goes_on:
            changes = [each for each in page["changes"] if each.get("record") or each["kind"] == "unrelated"]
            yield changes, page["cursor"]
        if not goes_on:
            return
        if waits:
            await anyio.sleep(0.05)
        page = await store.changes(page["cursor"], without)


def _offered(mine: PeerState, other: PeerState) -> str | None:
    """The cursor up to which the other store was offered the changes of this one, by its own word."""
    said = other.seen or other.pulled
    return said if said and said.startswith(f"{mine.feed}.") else None


def _place_of(cursor: str) -> tuple[int, ...]:
    """The place in its feed that a cursor names."""
    return tuple(int(part) for part in cursor.split(".")[1:3] if part.isdigit())


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
        raise InvalidArgument(
            f"{name} is this store itself, or one of the two is a copy of the other: name another one, or run "
            "pgmem init --new-feed on the copy, which gives it a new identity and keeps its memories."
        )
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


def _lost(error: CursorLost, whose: str) -> str:
    """Why a cursor is lost, as the end of a sentence."""
    why = str(error).split(": export", maxsplit=1)[0]
    why = why.replace("The changes after this cursor", f"the changes of {whose} since the last exchange")
    return why.replace("This cursor", f"the cursor of {whose}")

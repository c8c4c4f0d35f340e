"""The stores that one is kept in step with: a database, a server over HTTP, a folder of files of changes."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import httpx2

from pgmem import plain_files
from pgmem.calls.methods import Verbs
from pgmem.documents import UNPACKED_BYTES, json_line, json_lines
from pgmem.errors import CursorLost, DatabaseUnavailable, InvalidArgument, NotPermitted
from pgmem.foreign import unfit
from pgmem.models import Arrival, Outstanding, PeerState

FORMAT = 1
"""Version of the pages: a store with another one is refused."""
PAGE = 500
_LEAST, _BEGIN = 50, 100
"""Changes that one transaction takes in any case, and that the first one of a page is sent."""
_TIMEOUT_S = 600.0
_REQUEST_BYTES = 250_000
_ANSWER_BYTES = 128 * 2**20
"""The most of an answer of a server, unpacked: a page of 500 memories of the longest texts, with their vectors."""
SEEN = "seen"
"""With a feed in known_peer the cursor behind the changes offered, whether or not it was taken."""
FOLDER = "folder"
"""In known_peer the name of the last file that was written into a folder; with a feed, of the last that was read."""
SMALL_BYTES = 2**20
"""Files of changes that a store never puts together."""
PARTS = ("vocabulary", "purge", "project", "focus", "memory", "edge", "save")
"""Records read of a store that is met for the first time; the words of its vocabulary each time."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """The last file that a store wrote into its folder, the mark in it, and that of one that it set out to write."""

    number: int = 0
    mark: str = ""
    planned: str = ""

    @classmethod
    def of(cls, kept: str | None) -> Place:
        """Read it as known_peer keeps it; fields that no exchange keeps are unset."""
        match = re.fullmatch(r"(\d{1,8})(?: ([0-9a-f]{32}|-))?(?: ([0-9a-f]{32}))?", kept or "")
        return cls(int(match[1]), (match[2] or "").strip("-"), match[3] or "") if match else cls()

    def __str__(self) -> str:
        """As known_peer keeps it."""
        return " ".join(filter(None, (str(self.number), self.mark or (self.planned and "-"), self.planned)))


class Peer(Protocol):
    """One side of an exchange."""

    vectors: bool
    """Whether its pages bring their vectors."""

    async def state(self, peer: str | None = None) -> PeerState:
        """Return its feed, release and clock; and how far it is in step with `peer`."""
        ...

    async def changes(self, after: str, without: str | None = None) -> dict[str, Any]:
        """Return the page of its feed after a cursor: changes with their records, cursor, more, held.

        `without` leaves out changes that came from the store with this feed.
        """
        ...

    async def reach(self, cursor: str) -> None:
        """Ask whether its feed can be read on from a cursor.

        Raises:
            CursorLost: it cannot.
        """
        ...

    async def records(self, part: str, place: list[str] | None) -> list[dict[str, Any]]:
        """Return a page of a part of its export: {place, record}."""
        ...

    async def apply(self, changes: Sequence[Record], **options: Any) -> list[Arrival]:
        """Apply a page of another store."""
        ...


class StorePeer:
    """A store that this process reaches by its DSN.

    Args:
        memory: of the store, with the way in `sync`.
        vectors: whether its pages bring their vectors.
    """

    def __init__(self, memory: Verbs, *, vectors: bool = False) -> None:
        self.memory, self.vectors = memory, vectors

    async def state(self, peer: str | None = None) -> PeerState:
        """Return its feed, release and clock; and how far it is in step with `peer`."""
        return await self.memory.known_peer(peer)

    async def changes(self, after: str, without: str | None = None) -> dict[str, Any]:
        """Return the page of its feed after a cursor."""
        page = await self.memory.changes(
            after, limit=PAGE, content=True, vectors=self.vectors, without=without
        )
        return asdict(page)

    async def reach(self, cursor: str) -> None:
        """Ask whether its feed can be read on from a cursor."""
        with _as_lost():
            await self.memory.changes(cursor, limit=1)

    async def records(self, part: str, place: list[str] | None) -> list[dict[str, Any]]:
        """Return a page of a part of its export."""
        rows = await self.memory.caller.database.rows(
            "export_records", _TIMEOUT_S, part=part, after=place, limit=PAGE, vectors=self.vectors
        )
        return [{"place": row["place"], "record": json.loads(row["record"])} for row in rows]

    async def apply(self, changes: Sequence[Record], **options: Any) -> list[Arrival]:
        """Apply a page of another store, in as many transactions as those who write beside it need.

        A change that PostgreSQL cannot store is refused by itself. The cursors go with the last transaction.
        """
        changes = [unreadable(each, why) if (why := unfit(each)) else each for each in changes]
        done: list[Arrival] = []
        left = turns(changes)
        whole = bool(options.get("dry_run"))
        kept = {name: options.pop(name) for name in ("cursor", "pushed") if name in options}
        # A waiting change is checked again with the rest of its page, so no more is sent than fits into a
        # transaction.
        size, growth = len(left) if whole else _BEGIN, 2
        while True:
            places, last = left[:size], len(left) <= size
            sent = json.dumps([changes[place - 1] for place in places], default=str, ensure_ascii=False)
            rows = await self.memory.caller.database.rows(
                "apply_changes", _TIMEOUT_S, changes=sent, **options, **(kept if last else {})
            )
            arrivals = [Arrival(**{**row, "place": places[row["place"] - 1]}) for row in rows]
            taken = [arrival for arrival in arrivals if arrival.outcome != "waits"]
            waiting = {arrival.place for arrival in arrivals if arrival.outcome == "waits"}
            done += taken
            left = [*(place for place in places if place in waiting), *left[size:]]
            size = max(_LEAST, len(places) - len(waiting)) if waiting else size * growth
            growth = 1 if waiting else growth
            if last and not waiting:
                return sorted(done, key=lambda arrival: arrival.place)

    async def outstanding(self, peer: str, direction: str | None = None) -> list[Outstanding]:
        """Return the changes refused in exchanges with a store, the oldest first."""
        found: list[Outstanding] = []
        while True:
            after = found[-1].id if found else None
            page = await self.memory.list_outstanding(peer, direction, after, limit=PAGE)
            found += page
            if len(page) < PAGE:
                return found

    async def note(self, peer: str, changes: Sequence[Record], arrivals: Sequence[Arrival]) -> None:
        """Keep the sent changes that another store refused."""
        sent = json.dumps(changes, default=str, ensure_ascii=False)
        outcomes = json.dumps(
            [{"place": each.place, "outcome": each.outcome, "reason": each.reason} for each in arrivals]
        )
        await self.memory.caller.database.rows(
            "note_outstanding", _TIMEOUT_S, peer=peer, changes=sent, outcomes=outcomes
        )


@contextmanager
def _as_lost() -> Iterator[None]:
    """A text that was never a cursor, such as a tenant may have kept in its own store, is lost as well."""
    try:
        yield
    except InvalidArgument as error:
        raise CursorLost(str(error)) from None


class HttpPeer:
    """A server of pgmem over HTTP, where a token names the tenant.

    Args:
        address: of the server, such as https://memory.example.
        token: a bearer token of the tenant.
    """

    def __init__(self, address: str, token: str) -> None:
        self._address = address.rstrip("/").removesuffix("/mcp").removesuffix("/changes")
        self.vectors = False
        self._client = httpx2.AsyncClient(
            timeout=_TIMEOUT_S, headers={"authorization": f"Bearer {token}", "accept": "application/json"}
        )

    @contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InvalidArgument(
                f"{self._address} answered what no server of pgmem answers: check the address."
            ) from None

    async def _ask(self, method: str, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        try:
            async with self._client.stream(
                method,
                f"{self._address}/changes",
                params={k: v for k, v in (query or {}).items() if v is not None},
                content=None if body is None else json.dumps(body, default=str),
            ) as answer:
                text = await self._read(answer)
        except httpx2.HTTPError as error:
            raise DatabaseUnavailable(f"{self._address} does not answer: {type(error).__name__}.") from None
        if answer.status_code == 200 and answer.headers.get("content-type", "").startswith(
            "application/json"
        ):
            with self._understood():
                return json.loads(text)
        try:
            found = json.loads(text)
            said = found.get("error", found)
            said = str(said.get("message", said) if isinstance(said, dict) else said)
        except (ValueError, AttributeError, RecursionError):
            said = f"it answered {answer.status_code}"
        match answer.status_code:
            case 410:
                raise CursorLost(said)
            case 401:
                raise NotPermitted(
                    f"{self._address} refuses the token: issue one there with pgmem token issue --for sync."
                )
            case 403:
                raise NotPermitted(f"{self._address}: {said}")
            case 200 | 404 | 405:
                raise InvalidArgument(
                    f"{self._address} has no feed of changes: it must be a server of pgmem 0.2 or later."
                )
            case 429 | 503:
                raise DatabaseUnavailable(f"{self._address}: {said}")
        raise InvalidArgument(f"{self._address}: {said}")

    async def _read(self, answer: httpx2.Response) -> bytearray:
        """Read an answer as it is unpacked, and no more than a page has: 0.3 MB of gzip may be a gigabyte."""
        text = bytearray()
        async for part in answer.aiter_bytes():
            text += part
            if len(text) > _ANSWER_BYTES:
                raise InvalidArgument(
                    f"{self._address} answered with more than {_ANSWER_BYTES // 2**20} MiB, which no page of a "
                    "store has: check the address."
                )
        return text

    def _options(self) -> dict[str, str]:
        return {"vectors": "1"} if self.vectors else {}

    async def state(self, peer: str | None = None) -> PeerState:
        """Return its feed, release and clock; and how far it is in step with `peer`."""
        found = await self._ask("GET", {"state": peer or ""})
        with self._understood():
            state = PeerState(**{**found, "at": datetime.fromisoformat(found["at"])})
            # The exchange relies on these: a name of another form would be taken for something of this store.
            texts = [
                state.release,
                *state.models,
                *(each for each in (state.pulled, state.pushed, state.seen) if each),
            ]
            if (
                not re.fullmatch("[0-9a-f]{12}", state.feed)
                or state.at.tzinfo is None
                or not isinstance(state.models, list)
                or not all(isinstance(text, str) for text in texts)
            ):
                raise ValueError("not the state of a store")
            return state

    async def changes(self, after: str, without: str | None = None) -> dict[str, Any]:
        """Return the page of its feed after a cursor."""
        page = await self._ask("GET", {"after": after, "without": without, **self._options()})
        with self._understood():
            if page["more"] and page["cursor"] == after:
                raise ValueError("the page leads to itself")
            return {"changes": [dict(each) for each in page["changes"]], "cursor": str(page["cursor"]),
                    "more": bool(page["more"]), "held": bool(page["held"])}  # fmt: skip

    async def reach(self, cursor: str) -> None:
        """Ask whether its feed can be read on from a cursor."""
        await self._ask("GET", {"after": cursor, "reach": "1"})

    async def records(self, part: str, place: list[str] | None) -> list[dict[str, Any]]:
        """Return a page of a part of its export."""
        query = {"part": part, "place": json.dumps(place) if place else None, **self._options()}
        rows = await self._ask("GET", query)
        with self._understood():
            return [{"place": list(row["place"]), "record": dict(row["record"])} for row in rows]

    async def apply(self, changes: Sequence[Record], **options: Any) -> list[Arrival]:
        """Apply a page of another store, in requests that a server takes; the cursor goes with the last one."""
        done: list[Arrival] = []
        batch: list[int] = []
        size = 0
        cursor = options.pop("cursor", None)
        places = turns(changes)
        for number, place in enumerate(places, 1):
            batch.append(place)
            size += len(json.dumps(changes[place - 1], default=str))
            if size > _REQUEST_BYTES and number < len(places):
                done += await self._send(changes, batch, options)
                batch, size = [], 0
        if batch or cursor:
            done += await self._send(changes, batch, {**options, "cursor": cursor})
        return sorted(done, key=lambda arrival: arrival.place)

    async def _send(
        self, changes: Sequence[Record], places: list[int], options: dict[str, Any]
    ) -> list[Arrival]:
        rows = await self._ask("POST", body={"changes": [changes[place - 1] for place in places], **options})
        with self._understood():
            return [Arrival(**{**row, "place": places[row["place"] - 1]}) for row in rows]

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()


class Folder:
    """A folder that another program synchronises: each store writes files of changes there and reads those of others.

    A file has a header, the changes as lines of JSON, and an end; it appears by a rename and never changes. The files
    of a store are numbered. The first, `-whole`, has all that the store holds and the folder did not have. Once those
    of its changes are larger than it, the store puts all of them together in another one and removes the earlier ones.
    A random mark in the header shows a store which files it has written itself, and not a copy of it.

    Args:
        place: the folder.
    """

    _NAME = re.compile(r"([0-9a-f]{12})-(\d{8})(-whole)?\.jsonl")

    def __init__(self, place: Path) -> None:
        self._place = place

    def _files(self, feed: str, *, whole: bool) -> dict[int, Path]:
        """The files of a store by their numbers: of its changes, or of all that it holds."""
        found = ((self._NAME.fullmatch(path.name), path) for path in self._place.iterdir())
        return {int(m[2]): path for m, path in found if m and m[1] == feed and bool(m[3]) == whole}

    def feeds(self) -> list[str]:
        """Return the stores that have files here."""
        return sorted(
            {match[1] for path in self._place.iterdir() if (match := self._NAME.fullmatch(path.name))}
        )

    def unread(self, feed: str, last: int) -> Iterator[tuple[int, Path, bool]]:
        """Yield the files of a store after a number, and whether one of all that it holds takes the place of some.

        Raises:
            InvalidArgument: the next one is missing.
        """
        changes, wholes = self._files(feed, whole=False), self._files(feed, whole=True)
        while True:
            late = last + 1 not in changes
            if not late:
                last += 1
            elif max(wholes, default=0) > last:
                last = max(wholes)
            elif max(changes, default=0) > last:
                raise InvalidArgument(
                    f"{self._place / f'{feed}-{last + 1:08}.jsonl'} is missing: wait until the other program has "
                    "copied it; if it was removed, sync the store that wrote it again first."
                )
            else:
                return
            yield last, (wholes if late else changes)[last], late

    def last(self, feed: str, known: int) -> tuple[int, bool]:
        """Return the number of the last file that a store wrote, and whether all up to it can be read here."""
        changes, wholes = self._files(feed, whole=False), self._files(feed, whole=True)
        last = max([known, *changes, *wholes])
        return last, {*range(max(wholes, default=0) + 1, last + 1)} <= {*changes}

    def require_own(self, feed: str, kept: Place) -> Place:
        """Require that the last file with the name of a store is one that it remembers to have written.

        Returns:
            Its last file; of a run that was killed before it could remember it too.

        Raises:
            InvalidArgument: another store has its name: one of the two is a copy, or it was set back.
        """
        files = {**self._files(feed, whole=False), **self._files(feed, whole=True)}
        last = max(files, default=0)
        if last < kept.number or not last or (not kept.mark and last <= kept.number + 1):
            return kept
        mark = str(self.read(files[last])[0].get("mark"))
        if last == kept.number and mark == kept.mark:
            return kept
        if last == kept.number + 1 and mark == kept.planned:
            return Place(last, mark)
        raise InvalidArgument(
            f"{files[last]} has the name of this store, which has not written it: the store was copied, or set back "
            "to an earlier state. Run pgmem init --new-feed, which gives it a new identity and keeps its "
            "memories, then sync again."
        )

    async def write(
        self,
        state: PeerState,
        number: int,
        pages: AsyncIterator[list[Record]],
        *,
        whole: bool = False,
        mark: str,
        plan: Callable[[], Awaitable[object]] | None = None,
    ) -> int:
        """Write a file of changes, or of all that a store adds to the folder; return how many it has.

        No file is written for none. `mark` is in its header; `plan` is called before the file appears.

        Raises:
            InvalidArgument: the folder cannot be written, or another process has written this file.
        """
        part = self._place / f".{state.feed}-{uuid4().hex}.part"
        path = self._place / f"{state.feed}-{number:08}{'-whole' if whole else ''}.jsonl"
        count = 0
        try:
            for half in self._place.glob(f".{state.feed}-*.part"):  # of a run that was killed
                half.unlink(missing_ok=True)
            with part.open("x", encoding="utf-8") as out:
                header = {"pgmem_changes": FORMAT, "release": state.release, "feed": state.feed,
                          "build": state.build, "at": datetime.now(UTC).isoformat(), "mark": mark}  # fmt: skip
                out.write(json_line(header))
                async for page in pages:
                    count += len(page)
                    out.writelines(map(json_line, page))
                out.write(json_line({"end": count}))
            if count:
                if plan is not None:
                    await plan()
                if path.exists():
                    raise FileExistsError(errno.EEXIST, "another process has written it; sync again")
                part.rename(path)
        except OSError as error:
            raise InvalidArgument(f"{path} cannot be written: {error.strerror}.") from None
        finally:
            with suppress(OSError):  # a file system that is read-only
                part.unlink()
        return count

    async def put_together(self, state: PeerState, number: int, mark: str) -> None:
        """Write the files of a store into one, with each thing as it was said last, and remove them."""
        # A file of all that a store had put together has the contents of its changes up to the same number.
        files = sorted((each, not whole, path) for whole in (True, False)
                       for each, path in self._files(state.feed, whole=whole).items())  # fmt: skip
        said: dict[str, Record] = {}
        for _, _, path in files:
            for change in self.read(path)[1]:
                named = name_of(change)
                said.pop(named, None)
                said[named] = change
        records = sorted(said.values(), key=_part_of)

        async def page() -> AsyncIterator[list[Record]]:
            yield records

        await self.write(state, number, page(), whole=True, mark=mark)
        self.shorten(state.feed, number)

    def is_long(self, feed: str) -> bool:
        """Whether the files of a store's changes are larger than all that it holds."""
        sizes = [
            sum(path.stat().st_size for path in self._files(feed, whole=whole).values())
            for whole in (False, True)
        ]
        return sizes[0] > max(sizes[1], SMALL_BYTES)

    def shorten(self, feed: str, number: int) -> None:
        """Remove the files of a store before the one with a number."""
        for whole in (False, True):
            for each, path in self._files(feed, whole=whole).items():
                if each < number:
                    path.unlink(missing_ok=True)

    def read(self, path: Path) -> tuple[dict[str, Any], list[Record]]:
        """Return the header and the changes of a file; one that cannot be read is a record that says why.

        Raises:
            InvalidArgument: the file cannot be read, is not whole, or of a release with another format.
        """
        try:
            text = plain_files.read(path, UNPACKED_BYTES).decode()
        except OSError as error:
            raise InvalidArgument(f"{path} cannot be read: {error.strerror or error}; remove it.") from None
        except UnicodeDecodeError:
            text = ""
        lines = list(json_lines(text, path.name))
        try:
            header, end = lines[0][1], lines[-1][1]
            whole = header["pgmem_changes"] != FORMAT or (
                end == {"end": len(lines) - 2} and datetime.fromisoformat(header["at"]).tzinfo is not None
            )
        except (ValueError, KeyError, IndexError, TypeError):
            whole = False
        if not whole:
            raise InvalidArgument(
                f"{path} is not whole: wait until the other program has copied it, then sync again."
            )
        if header["pgmem_changes"] != FORMAT:
            raise InvalidArgument(
                f"{path} was written by pgmem {header.get('release')} in another format: upgrade the older of the two."
            )
        return header, [
            unreadable(value, reason) if reason or not isinstance(value, dict) else value
            for _, value, reason in lines[1:-1]
        ]


def name_of(change: Record) -> str:
    """A name of the subject of a change: the same for all changes of one memory, relation or review."""
    record = change.get("record") or change
    if change.get("kind") == "unrelated" and not change.get("record"):
        return f"{change['id']} {change['label']} {change['other_id']}"
    match record.get("type"):
        case "edge" | "unrelated":
            return f"{record.get('src')} {record.get('rel')} {record.get('dst')}"
        case "node" | "purge":
            return str(record.get("id"))
        case "save":
            return str(record.get("save_id"))
        case "label" | "relation" | "model":
            return f"{record['type']} {record.get('name')}"
    return json.dumps(record, default=str)


def turns(changes: Sequence[Record]) -> list[int]:
    """Return the places of the changes of a page, from 1 on, in the order in which apply_changes takes them."""

    def turn(place: int) -> tuple[int, int]:
        record = _said(changes[place - 1])
        label = record.get("label") if record.get("type") == "purge" else None
        return _part_of(changes[place - 1]), {"FocusArea": 1, "Project": 2}.get(str(label), 0)

    return sorted(range(1, len(changes) + 1), key=turn)


def _said(change: Any) -> Record:
    record = (change.get("record") or change) if isinstance(change, dict) else {}
    return record if isinstance(record, dict) else {}


def _part_of(change: Record) -> int:
    """The place of the part of an export that a change belongs to."""
    record = _said(change)
    part = {"purge": "purge", "node": "memory", "save": "save", "label": "vocabulary", "relation": "vocabulary",
            "model": "vocabulary"}.get(str(record.get("type")), "edge")  # fmt: skip
    if part == "memory":
        part = {"Project": "project", "FocusArea": "focus"}.get(str(record.get("label")), part)
    return PARTS.index(part)


def unreadable(change: Any, reason: str | None) -> Record:
    """A record in the place of one that cannot be read: it names it, and is refused with the reason."""
    record = change.get("record", change) if isinstance(change, dict) else {}
    known = {
        name: record[name]
        for name in ("id", "title")
        if isinstance(record, dict) and isinstance(record.get(name), str) and unfit(record[name]) is None
    }
    return {**known, "type": "unreadable", "reason": reason or "it is not a JSON object"}

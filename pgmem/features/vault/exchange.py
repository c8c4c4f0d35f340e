"""Keeping a vault and a store in step.

Each note is compared with its memory field by field, and both with the state in which they last agreed (matching).
A change on one side goes to the other. A field that changed on both sides to different values is a conflict: the note
of the person stays as it is, and the store's text is written beside it until the person deletes that copy. A note from
before they agreed, which a checkout brings back with or without its id, replaces nothing in the store. Every step can
be repeated, so that a run that was killed is taken up by the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID, uuid5

from pgmem.errors import DatabaseUnavailable, InvalidArgument, PgmemError
from pgmem.features.feed.exchange import pages
from pgmem.features.feed.peers import PAGE, StorePeer
from pgmem.features.importers.notes import Linked, Note
from pgmem.features.importers.records import Item, Names, Reading
from pgmem.features.vault.fields import (
    LIVE,
    NAMESPACE,
    PLACES,
    TEXTS,
    Fields,
    Known,
    State,
    note_fields,
    own,
    written,
)
from pgmem.features.vault.folder import Agreed, Folder, Found, digest
from pgmem.features.vault.matching import Compared, compared, matched, version
from pgmem.memory import Memory

_SOURCE = "vault"
"""The name of the system by which a note is known again."""
_EMPTY = Note("", "", "", "", {})

Progress = Callable[[int, int], object]


@dataclass
class Synced:
    """The counts of a run, and notices for a person, one sentence each."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def say(self, place: str, problem: str) -> None:
        """Add a sentence about a note."""
        self.counts["left_out"] += 1
        self.problems.append(f"{place}: {problem.rstrip('.')}.")


class Vault:
    """A folder of notes and a store.

    Args:
        memory: of the store; notes of a person are saved with the trust of a person.
        folder: of the notes.
        by: the name of the person whose notes they are.
        project: of notes that name none; None: the name of the folder.
        dry_run: only count the outcomes.
        progress: called with (notes done, all notes).
    """

    def __init__(
        self,
        memory: Memory,
        folder: Folder,
        by: str,
        *,
        project: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._memory = memory.acting_as(source="sync")
        self._store = StorePeer(self._memory)
        self._folder, self._by, self._dry_run = folder, by, dry_run
        self._project = project or folder.root.name
        self._progress = progress or (lambda _done, _total: None)
        self._states: dict[str, State] = {}
        self._purged: set[str] = set()
        self._touched: set[str] = set()
        self._places: dict[str, str] = {}
        self._linked = Linked[str]()
        self.done = Synced()

    async def sync(self) -> Synced:
        """Bring both in step.

        Raises:
            InvalidArgument: the folder cannot be written; finished work is kept.
        """
        with self._folder.held():
            self._known = Known.of(await self._memory.describe_schema())
            self._feed = (await self._store.state()).feed
            self._cursor, self._agreed = self._folder.state(self._feed)
            self._began = self._cursor
            for key, agreed in self._agreed.items():
                self._states[key] = State(dict(agreed.record), {(a, b) for a, b in agreed.links})
            await self._read()
            self._found = self._folder.notes()
            try:
                self._match()
                await self._make()
                await self._push()
                await self._read()
                self._write()
                if not self._dry_run and await self._join():
                    await self._read()
                    self._write()
                self._began = self._cursor
            finally:
                if not self._dry_run:
                    self._settle()
                    self._folder.keep(self._feed, self._began, self._agreed)
        return self.done

    async def _read(self) -> None:
        """Take the changes of the store since the cursor."""
        if self._cursor is None:
            self._states.clear()
        async for page, cursor in pages(self._store, self._cursor):
            for change in page:
                self._take(change.get("record") or change)
            self._cursor = cursor or self._cursor

    def _take(self, record: dict[str, Any]) -> None:
        match record.get("type") or record.get("kind"):
            case "node" if record["label"] in self._known.key_fields:
                record.pop("versions", None)
                key = str(record["id"])
                self._states.setdefault(key, State(record)).record = record
                self._purged.discard(key)
                self._touched.add(key)
            case "edge" if record["rel"] in self._known.relations:
                if (held := self._states.get(str(record["src"]))) and record["src"] != record["dst"]:
                    held.links.add((record["rel"], str(record["dst"])))
                    self._touched.add(str(record["src"]))
            case "unrelated":
                if held := self._states.get(str(record["id"])):
                    held.links.discard((record["label"], str(record["other_id"])))
                    self._touched.add(str(record["id"]))
            case "purge":
                self._purged.add(str(record["id"]))
            case "save" if record.get("verb") == "forget" and record.get("status") == "dropped":
                agreed = self._agreed.get(str(record.get("candidate_id")))
                if agreed and agreed.deleted:  # a person wants to keep the memory, so its note comes back
                    del self._agreed[str(record["candidate_id"])]

    def _match(self) -> None:
        """Find the note of each memory, the new notes, and the notes that no longer exist."""
        found = matched(self._found.values(), self._states, self._purged, self._agreed)
        self._notes, self._new, self._older, self._skipped = (
            found.notes,
            found.new,
            found.older,
            found.unclear,
        )
        for place, problem in found.problems:
            self.done.say(place, problem)
        self._name_all()

    def _name_all(self) -> None:
        """Index the notes by the words that a link can mean."""
        self._places = {key: found.place for key, found in self._notes.items()}
        self._linked = Linked()
        for key, found in self._notes.items():
            self._add_names(key, found)

    def _add_names(self, key: str, found: Found) -> None:
        note = found.note or _EMPTY
        self._linked.add(key, PurePosixPath(found.place), own(note, "title"), note.front.get("aliases"))

    def _link(self, key: str) -> str | None:
        place = self._places.get(key)
        if place is None:
            return None
        path = PurePosixPath(place)
        return path.stem if self._linked.find(path.stem) == {key} else path.with_suffix("").as_posix()

    def _fields(self, key: str, found: Found) -> Fields:
        note = found.note or _EMPTY
        fields = note_fields(
            note, found.stem, self._states[key].record["label"], self._known, self._linked.one
        )
        return {name: value for name, value in fields.items() if name != f"l:LINKS_TO:{key}"}

    def _memory_fields(self, key: str) -> Fields:
        """The fields of a memory; an edge to a memory without a note is none."""
        fields = self._states[key].fields(self._known)
        return {
            name: value
            for name, value in fields.items()
            if not name.startswith("l:") or name.split(":", 2)[2] in self._places
        }

    # Changes of the store

    async def _make(self) -> None:
        """Save the notes that have no memory yet, and write their ids into them."""
        by_project: dict[str, list[tuple[Found, Item]]] = defaultdict(list)
        names = Names(Reading())
        for key in self._notes:
            record = self._states[key].record
            if record.get("key"):
                names.give(record["label"], record["key"], "")
        for found in self._new:
            note = found.note or _EMPTY
            if not note.text and not note.front:
                continue  # a note that was just opened
            path = PurePosixPath(found.place).with_suffix("").as_posix()
            label = self._label(found, note)
            title = str(own(note, "title") or "").strip() or found.stem
            if label != "Decision":
                title = names.give(label, title, path, instead=path)
            fields = note_fields(note, found.stem, label, self._known, lambda _: None)
            properties = {name[2:]: value for name, value in fields.items() if name.startswith("p:")}
            properties[TEXTS.get(label, "body")] = fields["text"]
            item = Item(
                label=label,
                name=title,
                properties=properties,
                valid_from=_moment(fields.get("valid_from")),
                valid_to=_moment(fields.get("valid_to")),
            )
            by_project[self._project_of(found, note)].append((found, item))
        for project, items in by_project.items():
            self.done.counts["saved"] += len(items) if self._dry_run else 0
            if not self._dry_run:
                await self._save(project, items)

    async def _save(self, project: str, items: list[tuple[Found, Item]]) -> None:
        verbs = {item.label: self._known.written_by[item.label] for _, item in items}
        plain = [each for each in items if each[1].label == "Decision" or verbs[each[1].label] == "remember"]
        made: list[tuple[Found, str, Item]] = []

        def finished(rows: list[dict[str, Any]], first: int) -> None:
            for row in rows:
                found, item = plain[first + row["place"] - 1]
                if row["id"] is None or row["reason"] is not None:
                    self.done.say(found.place, row["reason"] or "The store keeps its memory as it is")
                else:
                    made.append((found, str(row["id"]), item))

        await self._memory.import_memories(project, _SOURCE, [item.record() for _, item in plain], finished)
        for found, item in items:
            if item.label == "Decision" or verbs[item.label] == "remember":
                continue
            texts = self._known.text_fields[item.label]
            arguments = {name: value for name, value in item.properties.items() if name in texts}
            arguments |= {"valid_from": item.valid_from, "valid_to": item.valid_to}
            if key_field := self._known.key_fields[item.label]:
                arguments[key_field] = item.name
            try:
                # The same note again is the same save.
                save_id = uuid5(NAMESPACE, f"{found.place}\n{digest(found.contents)}")
                save = getattr(self._memory, verbs[item.label])
                result = await save(project_id=project, save_id=save_id, **arguments)
            except DatabaseUnavailable:
                raise
            except (PgmemError, TypeError) as error:
                needs = f"A {item.label} needs {', '.join(texts)} in its front matter"
                said = str(error) if isinstance(error, PgmemError) else needs
                self.done.say(found.place, said)
                continue
            if result.artifact_id is None:
                self.done.say(found.place, result.message or "It waits for a review")
            else:
                made.append((found, str(result.artifact_id), item))
        await self._read()
        for found, key, _ in made:
            if key in self._notes or key not in self._states:
                other = self._notes.get(key)
                self.done.say(found.place, f"Its memory has the note {other.place if other else '?'} already")
                continue
            self._notes[key] = found
            self._places[key] = found.place
            self._add_names(key, found)
            self.done.counts["saved"] += 1
        for found, key, item in made:
            if self._notes.get(key) is found:
                now, memory = self._fields(key, found), self._memory_fields(key)
                # A field that the store added, such as the day of a decision, goes into the note.
                agreed = {name: value for name, value in memory.items() if name in now or name == "text"}
                # Relations are made once all notes have ids.
                # The verb of a kind took its texts: the rest is an edit of the note that follows at once.
                by_verb = item.label != "Decision" and verbs[item.label] != "remember"
                left = {f"p:{name}" for name in item.properties if by_verb} & now.keys() - memory.keys()
                noted = {
                    name: value
                    for name, value in now.items()
                    if not name.startswith("l:") and name not in left
                }
                self._agreed[key] = Agreed(found.place, "" if left else digest(found.contents), noted, agreed)
                self._touched.add(key)  # its id goes into the note, whether or not the save has changed it

    def _label(self, found: Found, note: Note) -> str:
        for word in (own(note, "label"), note.front.get("type"), PurePosixPath(found.place).parent.name):
            label = self._known.label(word) if word else None
            if label and label not in PLACES and label not in ("Insight",):
                return label
        return "Concept"

    def _project_of(self, found: Found, note: Note) -> str:
        named = own(note, "project")
        if isinstance(named, str) and named.strip() and "[[" not in named:
            return named.strip()
        top = PurePosixPath(found.place).parts[0]
        projects = [s.record["title"] for s in self._states.values() if s.record["label"] == "Project"]
        known = {title.casefold(): title for title in projects}
        return known.get(top.casefold(), self._project) if "/" in found.place else self._project

    async def _push(self) -> None:
        """Bring a person's changes of the notes into the store."""
        for key in [key for key, agreed in self._agreed.items() if agreed.place and key not in self._notes]:
            if key not in self._skipped and key in self._states and key not in self._purged:
                await self._ask_about(key)
        behind: dict[str, set[str]] = {}
        for number, (key, found) in enumerate(list(self._notes.items()), 1):
            self._progress(number, len(self._notes))
            agreed = self._agreed.get(key)
            moved = agreed is not None and agreed.place != found.place
            if agreed:
                agreed.place, agreed.deleted = found.place, False
            if self._states[key].record["label"] in PLACES or key in self._purged:
                continue
            if self._waits(key):
                continue
            now, memory = self._fields(key, found), self._memory_fields(key)
            if agreed is None:  # the state is lost, or the note came from another place
                self._agreed[key] = agreed = Agreed(found.place)
                common = {name for name in now if now[name] == memory.get(name)}
                agreed.note = {name: now[name] for name in common}
                agreed.memory = {name: memory[name] for name in common}
            if agreed.digest == digest(found.contents) and not agreed.conflict and not moved:
                continue
            change = self._compare(key, now, memory)
            if change.conflict and not agreed.conflict:
                self._conflict(key, found)
                if key in self._older:
                    behind[key] = change.give
            elif change.take or agreed.conflict:
                await self._edit(key, found, change.take | change.conflict, now)
        if behind and not self._dry_run:
            self._catch_up(behind)

    def _compare(self, key: str, now: Fields, memory: Fields) -> Compared:
        agreed = self._agreed[key]
        # Once a person has put a conflict right, the note is as they want it.
        is_older = key in self._older and not agreed.conflict
        return compared(now, memory, agreed.note, agreed.memory, is_older=is_older)

    def _catch_up(self, behind: dict[str, set[str]]) -> None:
        """Write into older notes in conflict their ids and the fields they lacked, once that is kept."""
        self._settle()
        self._folder.keep(self._feed, self._began, self._agreed)
        for key, names in behind.items():
            found, state = self._notes[key], self._states[key]
            try:
                made = written(found.note or _EMPTY, state, names, self._known, self._link, found.stem)
            except InvalidArgument as error:
                self.done.say(found.place, str(error))
                continue
            if self._folder.write(found.place, bytes(made), found.contents):
                found = self._notes[key] = self._found[found.place] = Found(found.place, bytes(made), made)
                self._agreed[key].note_down(names, self._fields(key, found), self._memory_fields(key))

    def _waits(self, key: str) -> bool:
        """Whether the copy of a conflict is still there."""
        agreed = self._agreed.get(key)
        if agreed and agreed.conflict and agreed.conflict in self._found:
            self.done.say(agreed.conflict, "The note and its memory differ: put what is right into the note, and "
                          "delete this copy")  # fmt: skip
            return True
        return False

    def _conflict(self, key: str, found: Found) -> None:
        """Write the store's text beside the note of a person."""
        note, memory = found.note or _EMPTY, self._memory_fields(key)
        at = datetime.now(UTC).strftime("%Y%m%d%H%M")
        path = PurePosixPath(found.place)
        place = path.with_name(f"{path.stem} (Conflicted copy pgmem {at}){path.suffix}").as_posix()
        self.done.counts["conflicts"] += 1
        self.done.problems.append(
            f"{found.place}: It changed here and in the store: put what is right into it, and delete {place}."
        )
        if self._dry_run:
            return
        copy = written(note, self._states[key], memory.keys(), self._known, self._link, found.stem)
        self._folder.write(place, bytes(copy), None)
        self._found[place] = Found(place, bytes(copy), copy)
        self._agreed[key].conflict = place

    async def _edit(self, key: str, found: Found, changed: set[str], now: Fields) -> None:
        state, agreed = self._states[key], self._agreed[key]
        label, _known = state.record["label"], self._known
        if self._dry_run:
            self.done.counts["edited"] += 1
            return
        memory = self._memory_fields(key)
        try:
            properties = {name[2:]: now.get(name) for name in changed if name.startswith("p:")}
            if "text" in changed:
                properties[TEXTS.get(label, "body")] = now["text"] or None
            title = now.get("title") if "title" in changed else None
            period: dict[str, Any] | None = None
            if changed & {"valid_from", "valid_to"}:
                period = {end: now[end] for end in ("valid_from", "valid_to") if end in now}
            if properties or title or period is not None:
                done = await self._memory.admin.edit_memory(
                    UUID(key), state.record["version"], properties, self._by, title, period
                )
                self.done.counts["edited"] += 1
                state.record["version"] = done.version
            if "status" in changed:
                if now["status"] == "archived":
                    await self._memory.forget(label, key)
                    self.done.counts["forgotten"] += 1
                else:
                    self.done.say(
                        found.place, f"The status of a memory is not set in a note: it is {memory['status']}"
                    )
            links = [name for name in changed if name.startswith("l:")]
            if links:
                await self._relate(list(self._lines(key, links, now)))
        except DatabaseUnavailable:
            raise
        except PgmemError as error:
            self.done.say(found.place, str(error))
            agreed.digest = ""  # it is tried again
            return
        agreed.conflict = None
        self._older.discard(key)
        await self._accept(key, changed, now)

    async def _accept(self, key: str, changed: set[str], now: Fields) -> None:
        """Record the fields of the note and the memory after an edit: the store may have cleaned it."""
        await self._read()
        self._agreed[key].note_down(changed, now, self._memory_fields(key))

    def _lines(self, key: str, names: Iterable[str], now: Fields) -> Iterator[tuple[str, dict[str, Any]]]:
        """The changes of edges that a note asks for, each with its place."""
        place = self._notes[key].place
        for name in sorted(names):
            _, relation, other = name.split(":", 2)
            if not self._known.relations[relation]:
                self.done.say(place, f"{relation} is made by the store and not in a note")
            elif now.get(name):
                yield place, {"type": "edge", "src": key, "rel": relation, "dst": other, "props": {},
                              "created_at": datetime.now(UTC).isoformat()}  # fmt: skip
            else:
                yield place, {"kind": "unrelated", "id": key, "label": relation, "other_id": other}

    async def _relate(self, lines: list[tuple[str, dict[str, Any]]]) -> None:
        for first in range(0, len(lines), PAGE):
            page = lines[first : first + PAGE]
            for arrival in await self._store.apply([line for _, line in page]):
                if arrival.outcome == "refused":
                    self.done.say(page[arrival.place - 1][0], arrival.reason or "A relation is refused")
                else:
                    self.done.counts["related"] += arrival.outcome != "present"

    async def _join(self) -> bool:
        """Make the relations of links in new notes, once all notes have ids."""
        lines: list[tuple[str, dict[str, Any]]] = []
        for key, found in self._notes.items():
            agreed = self._agreed.get(key)
            if agreed is None or agreed.conflict or "[[" not in found.contents.decode():
                continue
            memory, now = self._states[key].links, self._fields(key, found)
            names = {
                n for n in now if n.startswith("l:") and tuple(n.split(":")[1:]) not in memory
            } - agreed.note.keys()
            lines += self._lines(key, names, now)
            agreed.note |= dict.fromkeys(names, True)
        await self._relate(lines)
        return bool(lines)

    async def _ask_about(self, key: str) -> None:
        """Ask a person whether the memory of a deleted note shall be forgotten."""
        agreed, state = self._agreed[key], self._states[key]
        if agreed.deleted or state.record["status"] not in LIVE:
            return
        if state.record["label"] in PLACES:
            agreed.deleted = True
            return
        self.done.counts["reviews"] += 1
        if self._dry_run:
            return
        try:
            await self._memory.propose_change(
                "forget", {"purge": False}, UUID(key), f"{agreed.place}, which was deleted"
            )
        except DatabaseUnavailable:
            raise
        except PgmemError as error:
            self.done.say(agreed.place or key, str(error))
        agreed.deleted = True

    # Changes of the folder

    def _write(self) -> None:
        """Bring changes of the store into the notes."""
        fresh = []
        for key, state in self._states.items():
            agreed = self._agreed.get(key)
            absent = key not in self._notes and key not in self._skipped and not (agreed and agreed.deleted)
            # A project is the folder of its notes.
            wanted = state.record["status"] in LIVE and state.record["label"] != "Project"
            if absent and wanted and key not in self._purged:
                fresh.append(key)
        for key in fresh:  # all names first: notes link to each other
            self._place(key)
        for key in fresh:
            self._create(key)
        for key in list(self._notes):
            if key not in fresh:
                self._update(key)

    def _place(self, key: str) -> None:
        record = self._states[key].record
        home = record.get("project") or ("all projects" if record.get("scope") == "global" else None)
        parts = [home, record["label"]] if home else [record["label"]]
        place = self._folder.new_place(parts, record["title"], key[:8])
        self._places[key] = place
        self._linked.add(key, PurePosixPath(place), record["title"])

    def _create(self, key: str) -> None:
        place, fields = self._places[key], self._memory_fields(key)
        self.done.counts["written"] += 1
        if self._dry_run:
            return
        note = written(
            _EMPTY, self._states[key], fields.keys(), self._known, self._link, PurePosixPath(place).stem
        )
        if not self._folder.write(place, bytes(note), None):
            return
        found = self._found[place] = Found(place, bytes(note), note)
        self._notes[key] = found
        self._agreed[key] = Agreed(
            place, digest(found.contents), self._fields(key, found), fields, version=version(found)
        )

    def _update(self, key: str) -> None:
        found, agreed, state = self._notes[key], self._agreed.get(key), self._states[key]
        if key in self._purged or state.record["status"] not in LIVE:
            self._take_away(key)
            return
        if agreed is None:
            agreed = self._agreed[key] = Agreed(found.place)
        if agreed.conflict:
            return
        if agreed.digest == digest(found.contents) and key not in self._touched:
            return
        note, memory, now = found.note or _EMPTY, self._memory_fields(key), self._fields(key, found)
        change = self._compare(key, now, memory)
        if change.conflict:
            if state.record["label"] not in PLACES:
                self._conflict(key, found)
            return
        theirs, mine = _differing(memory, agreed.memory) | change.give, _differing(now, agreed.note)
        try:
            made = written(note, state, change.give, self._known, self._link, found.stem)
        except InvalidArgument as error:
            self.done.say(found.place, str(error))
            return
        contents = bytes(made)
        if contents != found.contents:
            self.done.counts["updated"] += bool(change.give) or key in self._older
            if self._dry_run:
                return
            if not self._folder.write(found.place, contents, found.contents):
                return
            found = self._found[found.place] = self._notes[key] = Found(found.place, contents, made)
        if self._dry_run:
            return
        self._older.discard(key)
        agreed.version = version(found)
        agreed.note_down(theirs, self._fields(key, found), memory)
        if not mine - theirs:
            agreed.digest = digest(contents)

    def _take_away(self, key: str) -> None:
        """Remove the note of a memory that was forgotten or purged, unless a person changed it since."""
        found, agreed = self._notes[key], self._agreed.get(key)
        purged = key in self._purged
        same = agreed is not None and self._fields(key, found) == agreed.note
        self.done.counts["removed"] += same
        if not same:
            self.done.say(
                found.place, "Its memory was forgotten: delete the note, or remove its lines id and pgmem"
            )
        if self._dry_run or not same:
            return
        # A purged memory is not to be found in the trash either.
        if self._folder.remove(found.place, found.contents, keep=not purged):
            del self._notes[key]
            self._agreed.pop(key, None)
            self._places.pop(key, None)

    def _settle(self) -> None:
        """Put the present states of the memories into the agreed fields."""
        # One whose note was not written yet has nothing in common with it, and the feed does not show it
        # again.
        for key in {*self._states, *self._agreed}:
            state = self._states.get(key)
            if (
                state is None
                or key in self._purged
                or (state.record["status"] not in LIVE and key not in self._notes)
            ):
                self._agreed.pop(key, None)
                continue
            agreed = self._agreed.setdefault(key, Agreed(None))
            agreed.record = state.record
            agreed.links = sorted([a, b] for a, b in state.links)


def _differing(one: Fields, other: Fields) -> set[str]:
    """The fields in which two differ."""
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}


def _moment(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if value else None

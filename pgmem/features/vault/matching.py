"""Which note is of which memory, and which side of the two has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from pgmem.features.vault.fields import REST, Fields, note_id
from pgmem.features.vault.folder import CONFLICTED, Agreed, Found

_NAMED = 3
"""Copies that are named one by one; of more there is one sentence."""


class Compared(NamedTuple):
    """The fields that a memory takes from its note, those that the note takes, and those that contradict each other."""

    take: set[str]
    give: set[str]
    conflict: set[str]


def compared(
    now: Fields, memory: Fields, noted: Fields, remembered: Fields, *, is_older: bool = False
) -> Compared:
    """Compare a note and its memory with the state in which they last agreed, field by field.

    Args:
        now: the fields of the note.
        memory: those of the memory.
        noted: those of the note when they agreed.
        remembered: those of the memory then.
        is_older: the note is a state from before they agreed, as a checkout brings it back: a difference is
            not an edit and replaces nothing in the store, and a missing field had not come yet.
    """
    found = Compared(set(), set(), set())
    for name in {*now, *memory, *noted, *remembered}:
        mine, theirs = now.get(name), memory.get(name)
        if mine == theirs:
            continue
        here, there = mine != noted.get(name), theirs != remembered.get(name)
        if is_older and mine is None:
            found.give.add(name)
        elif here and (there or is_older):
            found.conflict.add(name)
        elif here:
            found.take.add(name)
        elif there:
            found.give.add(name)
    return found


def version(found: Found) -> int:
    """Return the version of the memory that a note was last written for; 0: its lines of pgmem are missing."""
    rest: Any = found.note.front.get(REST) if found.note else None
    said = rest.get("version", 1) if isinstance(rest, Mapping) else 0
    return said if isinstance(said, int) else 0


@dataclass
class Matched:
    """The notes of memories by their ids, the notes without a memory, and notices for a person.

    `older` are the memories whose notes are from before the last agreement; `unclear` those whose notes are doubled
    or cannot be read, so that nothing is concluded from their absence. A problem is a place and a sentence.
    """

    notes: dict[str, Found] = field(default_factory=dict)
    new: list[Found] = field(default_factory=list)
    older: set[str] = field(default_factory=set)
    unclear: set[str] = field(default_factory=set)
    problems: list[tuple[str, str]] = field(default_factory=list)


def matched(
    notes: Collection[Found],
    memories: Collection[str],
    purged: Collection[str],
    agreed: Mapping[str, Agreed],
) -> Matched:
    """Find the note of each memory: by its id, else by the place that it had, else by its name and text.

    Args:
        notes: of the folder.
        memories: the ids of those in the store.
        purged: the ids of those that were purged.
        agreed: the agreed fields, by id.
    """
    made = Matched()
    claims: dict[str, list[Found]] = defaultdict(list)
    nameless: list[Found] = []
    for found in notes:
        if CONFLICTED.search(found.stem):
            continue
        if found.note is None:
            made.problems.append((found.place, f"{found.problem}; it stays as it is until that is repaired"))
            continue
        key = note_id(found.note)
        if key is None or (REST not in found.note.front and key not in memories):
            nameless.append(found)
        else:
            claims[key].append(found)
    unread = {found.place for found in notes if found.note is None}
    made.unclear = {key for key, one in agreed.items() if one.place in unread}
    free = {key: one for key, one in agreed.items() if one.place and key in memories and key not in claims}
    for found in nameless:
        if (key := _former(found, free, {each.place for each in notes})) is None:
            made.new.append(found)
        else:
            del free[key]
            claims[key].append(found)
    copies: list[tuple[str, str]] = []
    for key, claimed in claims.items():
        one = agreed.get(key)
        first = next((each for each in claimed if one and each.place == one.place), None)
        if first is None and len(claimed) > 1:
            places = " and ".join(each.place for each in claimed)
            copies.append((places, f"Two notes have the id {key}: remove the line id from the copy"))
            made.unclear.add(key)
            continue
        copies += [(each.place, f"It has the id of {first.place}: remove the line id, and it becomes a new memory")
                   for each in claimed if first is not None and each is not first]  # fmt: skip
        found = first or claimed[0]
        if key in purged and key not in agreed:
            made.problems.append(
                (found.place, "Its memory was purged: delete the note, or remove its lines id and pgmem")
            )
        elif key not in memories:
            made.problems.append((found.place, f"No memory {key} found in this store: run pgmem vault import, "
                                  "or remove its lines id and pgmem"))  # fmt: skip
        else:
            made.notes[key] = found
            if one is not None and version(found) < one.version:
                made.older.add(key)
    if len(copies) > _NAMED:
        copies = [(copies[0][0], f"{copies[0][1]}. The same holds for {len(copies) - 1} other notes, as where a folder "
                   "is copied")]  # fmt: skip
    made.problems += copies
    return made


def _former(found: Found, free: Mapping[str, Agreed], places: Collection[str]) -> str | None:
    """The memory of a note whose id is missing: it is where that note was, or has its name and text elsewhere."""
    for key, one in free.items():
        if one.place == found.place:
            return key
    note = found.note
    alike = [
        key
        for key, one in free.items()
        if one.place not in places
        and PurePosixPath(one.place or "").name == PurePosixPath(found.place).name
        and note is not None
        and note.text
        and one.note.get("text") == note.text
    ]
    return alike[0] if len(alike) == 1 else None

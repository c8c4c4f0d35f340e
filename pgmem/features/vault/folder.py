"""The folder of a vault: its notes, the names of new ones, and the state in which store and folder last agreed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from pgmem import plain_files
from pgmem.documents import UNPACKED_BYTES
from pgmem.errors import InvalidArgument
from pgmem.features.importers.notes import Note
from pgmem.features.vault.fields import require_times

STATE = ".pgmem"
TRASH = ".trash"
"""Where Obsidian keeps deleted notes."""
_NOTE_BYTES = 16 * 2**20
_NAME_BYTES = 120  # of UTF-8: any file system takes 255, and a sync program adds to a name
_REFUSED = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|#^\[\]]+')
"""Characters that Windows, or a link of Obsidian, does not take in a name."""
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")
_IGNORED = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
"""Invisible characters that Unicode does not class as signs of format."""
CONFLICTED = re.compile(r" \(Conflicted copy pgmem \d{12}\)$")


@dataclass
class Found:
    """A note in the folder: its place, contents and fields, or the reason why it cannot be read."""

    place: str
    contents: bytes = b""
    note: Note | None = None
    problem: str | None = None

    @property
    def stem(self) -> str:
        """Its name without the ending."""
        return PurePosixPath(self.place).stem


@dataclass
class Agreed:
    """The state in which a note and its memory last agreed."""

    place: str | None
    digest: str = ""
    note: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    links: list[list[str]] = field(default_factory=list)
    conflict: str | None = None
    deleted: bool = False
    version: int = 0
    """The id of the memory, as the note says it."""

    def note_down(self, names: Iterable[str], now: Mapping[str, Any], memory: Mapping[str, Any]) -> None:
        """Record the values of some fields in the note and the memory."""
        for name in names:
            for held, value in ((self.note, now.get(name)), (self.memory, memory.get(name))):
                held.pop(name, None)
                if value is not None:
                    held[name] = value


class Folder:
    """A folder of notes. Links in it are not followed, and nothing outside of it is read or written.

    Raises:
        InvalidArgument: it is not a folder.
    """

    def __init__(self, folder: Path) -> None:
        self.root = Path(os.path.realpath(folder))
        if not self.root.is_dir():
            raise InvalidArgument(f"{folder} is not a directory.")
        self._state = self.root / STATE
        self._taken: dict[str, str] = {}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes of pgmem from the folder.

        Raises:
            InvalidArgument: another one has it, or it cannot be written.
        """
        if os.path.realpath(self._state) != str(self._state):
            raise InvalidArgument(f"{self._state} is a link: remove it, and a folder is made in its place.")
        with self._writing(STATE):
            (self.root / STATE).mkdir(exist_ok=True)
            if not (self.root / STATE / ".gitignore").exists():
                plain_files.replace(self.root / STATE / ".gitignore", b"*\n", mode=None, durable=False)
            descriptor = os.open(
                self._inside(f"{STATE}/lock"), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600
            )
        try:
            with contextlib.suppress(ImportError):  # Windows
                import fcntl

                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise InvalidArgument(
                        f"{self.root} is being synchronised by another process: wait until it has finished."
                    ) from None
            for half in self._state.glob(".*.????????????????"):  # of a run that was killed
                half.unlink()
            yield
        finally:
            os.close(descriptor)

    def state(self, feed: str) -> tuple[str | None, dict[str, Agreed]]:
        """Return the cursor of a store and the agreed fields of each memory; none at the first time."""
        try:
            found = json.loads(plain_files.read(self._inside(f"{STATE}/{feed}.json"), UNPACKED_BYTES))
            notes = {key: Agreed(**value) for key, value in found["notes"].items()}
            for key, value in found["notes"].items():
                if "version" not in value and notes[key].digest:  # of an earlier release
                    notes[key].version = int(notes[key].record.get("version") or 1)
            return found["cursor"], notes
        except FileNotFoundError:
            return None, {}
        except (ValueError, TypeError, KeyError, OSError):
            # Without it every note is compared with its memory, and a difference is a conflict.
            return None, {}

    def keep(self, feed: str, cursor: str | None, notes: dict[str, Agreed]) -> None:
        """Write the agreed fields."""
        kept = {key: asdict(value) for key, value in notes.items()}
        text = json.dumps({"cursor": cursor, "notes": kept}, ensure_ascii=False, default=str)
        with self._writing(f"{STATE}/{feed}.json"):
            plain_files.replace(self._inside(f"{STATE}/{feed}.json"), text.encode())

    def notes(self) -> dict[str, Found]:
        """Return the notes by their places; hidden files and folders are ignored."""
        found: dict[str, Found] = {}
        self._taken = {}
        for top, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            base = Path(top).relative_to(self.root)
            for name in folders:
                self._taken.setdefault(_folded((base / name).as_posix()), (base / name).as_posix())
            for name in sorted(names):
                place = (base / name).as_posix()
                self._taken[_folded(place)] = place
                if not name.lower().endswith(".md") or name.startswith("."):
                    continue
                try:
                    os.fsencode(place).decode()
                    contents = plain_files.read(self.root / place, _NOTE_BYTES)
                    note = Note.of(contents)
                    require_times(note)
                    found[place] = Found(place, contents, note)
                except UnicodeDecodeError:
                    found[place] = Found(place, problem="It is not UTF-8")
                except ValueError as error:
                    found[place] = Found(place, problem=f"{str(error)[:1].upper()}{str(error)[1:]}")
                except OSError as error:
                    found[place] = Found(place, problem=f"It cannot be read: {error.strerror or error}")
        return found

    def new_place(self, parts: list[str], title: str, mark: str) -> str:
        """Return a free place for a note, which any file system takes.

        Args:
            parts: the names of its folders.
            title: of the memory.
            mark: distinguishes notes of the same title.
        """
        folder = ""
        for part in parts:
            wanted = f"{folder}{_name(part, 'notes')}"
            folder = self._taken.setdefault(_folded(wanted), wanted) + "/"  # as it is written already
        name = _name(title, mark)
        place = f"{folder}{name}.md"
        if _folded(place) in self._taken:
            place = f"{folder}{name} {mark}.md"
        self._taken[_folded(place)] = place
        return place

    def write(self, place: str, contents: bytes, before: bytes | None) -> bool:
        """Write a note by rename, if it is as it was read; returns whether it was.

        Args:
            place: of the note; its folders are made.
            contents: the new text.
            before: the former text; None: no file may be there.

        Raises:
            InvalidArgument: it cannot be written; the former file stays.
        """
        with self._writing(place):
            path = self._inside(place)
            path.parent.mkdir(parents=True, exist_ok=True)
            if before is None:
                if os.path.lexists(path):
                    return False
                plain_files.replace(path, contents, mode=None, durable=False, by_way_of=self._state)
                return True
            like = path.lstat()
            if plain_files.read(path, _NOTE_BYTES) != before:
                return False  # a person saved it meanwhile: the next round takes it
            plain_files.replace(path, contents, mode=None, like=like, durable=False, by_way_of=self._state)
        return True

    def remove(self, place: str, before: bytes, *, keep: bool) -> bool:
        """Move a note into the trash of the vault, or delete it, if it is as it was read."""
        with self._writing(place):
            path = self._inside(place)
            if plain_files.read(path, _NOTE_BYTES) != before:
                return False
            if keep:
                target = self._inside(f"{TRASH}/{place}")
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
            else:
                path.unlink()
        return True

    def _inside(self, place: str) -> Path:
        path = self.root / place
        if not Path(os.path.realpath(path.parent)).is_relative_to(self.root):
            raise InvalidArgument(f"{path} leads out of the vault by a link: remove the link.")
        return path

    @contextlib.contextmanager
    def _writing(self, place: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reasons = {
                errno.ENOSPC: "the disk is full; free some space",
                errno.EDQUOT: "the disk is full; free some space",
                errno.EROFS: "the file system is read-only; choose a folder that can be written",
                errno.EACCES: "it may not be written; change its permissions",
                errno.EPERM: "it may not be written; change its permissions",
            }
            why = reasons.get(error.errno or 0, error.strerror or str(error))
            raise InvalidArgument(
                f"{self.root / place} cannot be written: {why}, then run the command again."
            ) from None


def digest(contents: bytes) -> str:
    """Return the hash by which a note is compared with its former text."""
    return sha256(contents).hexdigest()


def _name(title: str, mark: str) -> str:
    """A name that Windows, macOS, Linux and a link of Obsidian take."""
    name = _REFUSED.sub(" ", unicodedata.normalize("NFC", title).encode("utf-8", "replace").decode())
    name = "".join(sign for sign in _IGNORED.sub("", name) if unicodedata.category(sign) != "Cf")
    name = " ".join(name.split()).strip(". ")
    while len(name.encode()) > _NAME_BYTES:
        name = name[: max(1, min(len(name) - 1, _NAME_BYTES))]
    name = name.strip(". ")
    return mark if not name else f"{name} {mark}" if _DEVICES.match(name) else name


def _folded(place: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", place).casefold())

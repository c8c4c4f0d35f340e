"""Saves that wait for a database that is away: one file a save, replayed in order, never doubled.

A file is written, fsynced, renamed, and its folder fsynced before the save is acknowledged as
`pending_retry`. It carries the save_id, the tenant, the way in and the time it was made under, and is
replayed with exactly those; the save_id makes a replay of what had been committed return the first result.

The name of a file says its place in the order, the database it is for, and its lane: the saves of one tenant
and project, which arrive in the order they were made. Whoever replays a file holds a kernel lock on it until
it is gone, so that a killed replayer leaves nothing locked, and nobody takes the next file of a lane before
this one has arrived.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from pgmem.errors import SaveIdReused
from pgmem.models import MemoryScope

__all__ = ["Outbox", "QueuedSave", "lane"]

log = logging.getLogger("pgmem")

_DRAFT_LIFE_S = 3600  # a draft as old as this was left by a writer that died before it promised anything


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedSave:
    """A save as it was asked for: the verb, its parameters, and under whose name and when."""

    save_id: UUID
    verb: str
    params: dict[str, Any]
    scope: MemoryScope
    source: str
    made_at: datetime

    @property
    def age_days(self) -> float:
        """Days since the save was made."""
        return (datetime.now(UTC) - self.made_at).total_seconds() / 86400


class Outbox:
    """The saves in a folder that wait for one database; the folder may hold those of others too."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self._database = database

    def put(self, save: QueuedSave) -> None:
        """Queue a save; when this returns it survives a crash of the machine.

        Raises:
            SaveIdReused: another save waits under this save_id. The same one again is kept once.
            OSError: the folder cannot be written; nothing is queued.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in self._all():
            if path.stem.endswith(str(save.save_id)) and (queued := self._load(path)) is not None:
                if (queued.verb, _text(queued.params)) == (save.verb, _text(save.params)):
                    return
                raise SaveIdReused(
                    f"save_id {save.save_id} waits in the outbox for another save; send a new one, or none."
                )
        target = self.folder / self._name(save)
        draft = target.with_suffix(".tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(_text({"database": self._database, **asdict(save)}))
                file.flush()
                os.fsync(file.fileno())
            draft.rename(target)
            self._sync_folder()
        except BaseException:
            for path in (draft, target):  # what was not promised must not arrive
                path.unlink(missing_ok=True)
            raise

    def pending(self, lane: str | None = None) -> list[Path]:
        """The saves that wait for this database, oldest first; only those of one lane if it is named."""
        middle = f"-{_digest(self._database)}-{lane or ''}"
        return [path for path in self._all() if middle in path.name]

    def read(self, path: Path) -> QueuedSave | None:
        """A queued save; None if it has arrived meanwhile.

        What cannot be read is put aside, out of the way of the others.
        """
        try:
            return self._load(path)
        except (ValueError, KeyError, TypeError) as error:
            aside = path.with_suffix(".unreadable")
            log.error("a queued save cannot be read and is put aside as %s: %s", aside, error)
            with suppress(OSError):
                path.rename(aside)
            return None

    @contextmanager
    def holding(self, path: Path) -> Iterator[Literal["ours", "busy", "gone", "stuck"]]:
        """Whether a queued save is ours to replay, or another is at it, or it is gone, or unreadable."""
        import fcntl  # not on Windows, where this module can still be imported

        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            yield "gone"
            return
        except OSError as error:
            log.error("a queued save cannot be read: %s", error)
            yield "stuck"
            return
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield "busy"
                return
            # It may have arrived between the open and the lock.
            yield "ours" if os.fstat(descriptor).st_nlink > 0 else "gone"
        finally:
            os.close(descriptor)

    def remove(self, path: Path) -> None:
        """Forget a save that has arrived. If a crash brings its file back, the save_id makes that harmless.

        Raises:
            OSError: the folder cannot be written.
        """
        path.unlink(missing_ok=True)

    def lane_of(self, path: Path) -> str:
        """The lane of a queued save, by its name."""
        return path.name.split("-")[2]

    def sweep(self) -> None:
        """Remove drafts of writers that died before they promised anything."""
        with suppress(OSError):
            for draft in self.folder.glob("*.tmp"):
                if time.time() - draft.stat().st_mtime > _DRAFT_LIFE_S:
                    draft.unlink(missing_ok=True)

    def _name(self, save: QueuedSave) -> str:
        # The clock may be set back: a later save still comes after what is already here.
        last = max((int(path.name.partition("-")[0]) for path in self._all()), default=0)
        own = lane(save.scope, save.params.get("project_id"))
        return f"{max(time.time_ns(), last + 1):020d}-{_digest(self._database)}-{own}-{save.save_id}.json"

    def _all(self) -> list[Path]:
        try:
            return sorted(p for p in self.folder.iterdir() if p.suffix == ".json" and p.name[:20].isdigit())
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("the outbox %s cannot be read: %s", self.folder, error)
            return []

    def _load(self, path: Path) -> QueuedSave | None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return QueuedSave(
            save_id=UUID(found["save_id"]),
            verb=found["verb"],
            params=found["params"],
            scope=MemoryScope(**found["scope"]),
            source=found["source"],
            made_at=datetime.fromisoformat(found["made_at"]),
        )

    def _sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lane(scope: MemoryScope, project_id: object) -> str:
    """What keeps its order: the saves of one tenant to one project."""
    return _digest("\x1f".join((scope.org_id, scope.user_id, str(project_id or "").strip())))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _text(value: object) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be queued")

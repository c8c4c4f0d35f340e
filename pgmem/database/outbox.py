"""Saves that wait for a database that could not be reached: one file a save, replayed in order, never doubled.

A file is written, fsynced, renamed, and its folder fsynced before the save is acknowledged as `pending_retry`. It carries
the save_id, the tenant, the way in and the time it was made under, and is replayed with exactly those; the save_id makes a
replay of what had been committed after all return the first result.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import fasteners

from pgmem.models import MemoryScope

__all__ = ["Outbox", "QueuedSave"]


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
    """A folder of queued saves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, save: QueuedSave) -> None:
        """Queue a save; when this returns it survives a crash of the machine."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = self._folder / f"{time.time_ns():020d}-{save.save_id}.json"
        draft = target.with_suffix(".tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(save), file, default=_plain, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(target)
        self._sync_folder()

    def pending(self) -> list[Path]:
        """The queued saves, oldest first."""
        try:
            return sorted(path for path in self._folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []

    def read(self, path: Path) -> QueuedSave:
        """A queued save."""
        found = json.loads(path.read_text(encoding="utf-8"))
        return QueuedSave(
            save_id=UUID(found["save_id"]),
            verb=found["verb"],
            params=found["params"],
            scope=MemoryScope(**found["scope"]),
            source=found["source"],
            made_at=datetime.fromisoformat(found["made_at"]),
        )

    def remove(self, path: Path) -> None:
        """Forget a save that has arrived."""
        path.unlink(missing_ok=True)
        self._sync_folder()

    @contextmanager
    def replaying(self) -> Iterator[bool]:
        """True for the one process that may replay now; the others leave it to that one."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = fasteners.InterProcessLock(str(self._folder / ".lock"))
        mine = lock.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                lock.release()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _plain(value: object) -> object:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(type(value).__name__)

"""The queue of saves whose database cannot be reached: one file for each save, replayed in order and once.

A file is written, fsynced and renamed, and its folder is fsynced, before the save is acknowledged as `pending_retry`.
The file holds the save_id, the tenant, the source and the time of the save, and the replay uses them. If the save had
been committed before, the save_id makes the replay return the first result.

The name of a file consists of its position, its database, its lane, its tenant and its save_id, of which a tenant can
use each once. A lane holds the saves of one tenant and
project, which are replayed in the order they were made. A process that replays a file holds a kernel lock on it until
the file is removed. So a killed process leaves no lock, and no process takes the next file of a lane too early.
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

from pgmem import plain_files
from pgmem.errors import SaveIdReused
from pgmem.models import MemoryScope

log = logging.getLogger("pgmem")

_DRAFT_LIFE_S = 3600  # the writer of an older draft died before it acknowledged the save


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedSave:
    """A save as it was requested.

    Attributes:
        save_id: makes the save idempotent.
        verb: name of the verb.
        params: its arguments without `p_`; they must be representable in JSON.
        scope: the caller.
        source: the way in.
        made_at: the time of the request.
    """

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
    """The queued saves of one database; the folder may hold those of other databases too.

    Args:
        folder: made with the first save.
        database: identifies the database, such as `dsn.place` does.
    """

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self._database = database
        self._named: set[Path] = set()

    def put(self, save: QueuedSave) -> None:
        """Queue a save; when this returns, the save survives a crash of the machine. Queueing it again has no effect.

        Raises:
            SaveIdReused: a different save of this tenant is queued with this save_id.
            OSError: the folder cannot be written; nothing is queued.
        """
        plain_files.make_private_folder(self.folder)
        for path in self._all():
            if not path.stem.endswith(str(save.save_id)) or f"-{_digest(self._database)}-" not in path.name:
                continue
            queued = self._load(path)
            if queued is not None and _tenant(queued.scope) == _tenant(save.scope):
                if (queued.verb, _text(queued.params)) == (save.verb, _text(save.params)):
                    return
                raise SaveIdReused(
                    f"save_id {save.save_id} is used by another save in the outbox; send a new one, or none."
                )
        target = self.folder / self._name(save)
        draft = target.with_suffix(".tmp")
        plain_files.create(draft, _text({"database": self._database, **asdict(save)}).encode())
        try:
            draft.rename(target)
            plain_files.sync(self.folder)
        except BaseException:
            for path in (draft, target):  # a save that was not acknowledged must not be replayed
                path.unlink(missing_ok=True)
            raise

    def pending(self, lane: str | None = None) -> list[Path]:
        """Return the files of the saves that are queued for this database, oldest first; with `lane` only that one."""
        middle = f"-{_digest(self._database)}-{lane or ''}"
        return [path for path in self._all() if middle in path.name]

    def read(self, path: Path) -> QueuedSave | None:
        """Return a queued save; None if it was replayed meanwhile or is unreadable.

        An unreadable file is renamed, so that it does not hold up the others.
        """
        try:
            return self._load(path)
        except (ValueError, KeyError, TypeError) as error:
            aside = path.with_suffix(".unreadable")
            log.error("a queued save cannot be read and was renamed to %s: %s", aside, error)
            with suppress(OSError):
                path.rename(aside)
            return None

    @contextmanager
    def holding(self, path: Path) -> Iterator[Literal["ours", "busy", "gone", "stuck"]]:
        """Lock a queued save for the block.

        Gives:
            ours: this process may replay it.
            busy: another process replays it.
            gone: it was replayed.
            stuck: it cannot be opened.
        """
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
            # Another process may have replayed it between the open and the lock.
            yield "ours" if os.fstat(descriptor).st_nlink > 0 else "gone"
        finally:
            os.close(descriptor)

    def remove(self, path: Path) -> None:
        """Remove a replayed save. If a crash restores its file, the save_id makes the second replay harmless.

        Raises:
            OSError: the folder cannot be written.
        """
        path.unlink(missing_ok=True)

    def lane_of(self, path: Path) -> str:
        """Return the lane in the name of a queued save."""
        return path.name.split("-")[2]

    def sweep(self) -> None:
        """Remove the drafts of writers that died before they acknowledged the save."""
        with suppress(OSError):
            for draft in self.folder.glob("*.tmp"):
                if time.time() - draft.stat().st_mtime > _DRAFT_LIFE_S:
                    draft.unlink(missing_ok=True)

    def _name(self, save: QueuedSave) -> str:
        # A later save comes after the queued ones even if the clock was set back.
        last = max((int(path.name.partition("-")[0]) for path in self._all()), default=0)
        parts = (
            f"{max(time.time_ns(), last + 1):020d}",
            _digest(self._database),
            lane(save.scope, save.params.get("project_id")),
            _tenant(save.scope),
            str(save.save_id),
        )
        return f"{'-'.join(parts)}.json"

    def _all(self) -> list[Path]:
        try:
            found = sorted(p for p in self.folder.iterdir() if p.suffix == ".json" and p.name[:20].isdigit())
            folder = self.folder.stat() if found else None
            return [path for path in found if folder is None or not self._is_planted(path, folder)]
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("the outbox %s cannot be read: %s", self.folder, error)
            return []

    def _is_planted(self, path: Path, folder: os.stat_result) -> bool:
        """Whether another user may have written a file, which names a caller and would be saved in that name."""
        try:
            if not plain_files.is_planted(os.lstat(path), folder):
                return False
        except FileNotFoundError:
            return True  # it was replayed meanwhile
        if path not in self._named:
            self._named.add(path)
            log.error("%s is left alone: another user may have written it; remove it", path)
        return True

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


def lane(scope: MemoryScope, project_id: object) -> str:
    """Return the lane of a save; the saves of one tenant to one project are replayed in order."""
    return _digest("\x1f".join((scope.org_id, scope.user_id, str(project_id or "").strip())))


def _tenant(scope: MemoryScope) -> str:
    return _digest("\x1f".join((scope.org_id, scope.user_id)))


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

"""Files and folders that others may have tampered with: read and written without following a link.

The module imports little, because a hook of an editor waits for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

PRIVATE = 0o600
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read(path: Path, most: int) -> bytes:
    """Return the contents of a regular file.

    Args:
        path: a link there is not followed; links above it are.
        most: bytes that the file may have.

    Raises:
        FileNotFoundError: the file does not exist.
        OSError: it is a link, a folder, a pipe or a device, larger than `most`, or cannot be read.
    """
    _check(os.lstat(path))  # opening a device can already have an effect
    with open(os.open(path, os.O_RDONLY | _NO_LINK), "rb") as file:
        _check(os.fstat(file.fileno()))
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:_} bytes".replace("_", " "))
    return found


def create(
    path: Path,
    contents: bytes,
    *,
    mode: int | None = PRIVATE,
    like: os.stat_result | None = None,
    durable: bool = True,
) -> None:
    """Write a new file.

    Args:
        path: nothing may be there, not even a link to nowhere.
        contents: of the file.
        mode: None: 0666 less the umask.
        like: a file whose mode is taken instead, and whose owner and group if root runs this.
        durable: it is on the disk when this returns.

    Raises:
        FileExistsError: something is there; it stays as it is.
        OSError: the file cannot be written; nothing is left of it.
    """
    if like is not None:
        mode = stat.S_IMODE(like.st_mode)
    # Nobody else may open it before its owner and mode are set.
    asked = 0o666 if mode is None else PRIVATE
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, asked)
    try:
        with open(descriptor, "wb") as file:
            if hasattr(os, "fchmod"):  # Windows has neither
                if like is not None and os.geteuid() == 0:
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                if mode is not None:
                    os.fchmod(descriptor, mode)
            file.write(contents)
            if durable:
                file.flush()
                os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def replace(
    path: Path,
    contents: bytes,
    *,
    mode: int | None = PRIVATE,
    like: os.stat_result | None = None,
    durable: bool = True,
    by_way_of: Path | None = None,
) -> None:
    """Write a file atomically: a concurrent reader gets the previous content. A link is replaced.

    Args:
        path: the file; its folder must be there.
        contents: of the file.
        mode: as in `create`.
        like: as in `create`.
        durable: as in `create`.
        by_way_of: a folder of the same file system where it is written before it is renamed; None: that of the file.

    Raises:
        OSError: the file cannot be written; the file that was there stays.
    """
    new = (by_way_of or path.parent) / f".{path.name[:100]}.{os.urandom(8).hex()}"
    create(new, contents, mode=mode, like=like, durable=durable)
    try:
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def append(path: Path, text: str) -> None:
    """Append to a file that its owner alone reads.

    Raises:
        OSError: it is a link or no regular file, or cannot be written.
    """
    with contextlib.suppress(FileNotFoundError):
        _check(os.lstat(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK, PRIVATE)
    with open(descriptor, "a", encoding="utf-8", errors="replace") as file:
        found = os.fstat(descriptor)
        _check(found)
        if stat.S_IMODE(found.st_mode) != PRIVATE and hasattr(os, "fchmod"):
            os.fchmod(descriptor, PRIVATE)  # of an earlier release, or made under a strict umask
        file.write(text)


def sync(path: Path) -> None:
    """Return when a file or a folder, with the names in it, is on the disk.

    Raises:
        OSError: it cannot be opened or written.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder that its owner alone enters, and those above it that are missing; one that is there stays as it is.

    Raises:
        OSError: it cannot be made.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        path.mkdir(0o700)
        path.chmod(0o700)  # whatever the umask took away
        return
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def make_private_folder(path: Path) -> None:
    """Make a folder in the data folder; one that an earlier release left open to others is closed to them.

    Raises:
        OSError: it cannot be made.
    """
    make_folder(path)
    found = os.lstat(path)
    if os.name == "nt" or not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return  # the mode of a folder that belongs to another user is not changed
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)


def is_planted(found: os.stat_result, folder: os.stat_result) -> bool:
    """Whether somebody else than the owner of a folder, this user or root may have written an entry of it.

    Args:
        found: the entry, as `lstat` has it.
        folder: the folder.
    """
    if not stat.S_ISREG(found.st_mode):
        return True
    if os.name == "nt":
        return False
    return found.st_uid not in (os.geteuid(), 0, folder.st_uid) or bool(found.st_mode & stat.S_IWOTH)


def _check(found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
    raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")

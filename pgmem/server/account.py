"""The system user that the embedded server runs as when root starts it, because PostgreSQL refuses to run as root.

The server gets access to nothing that is not its own: no mode of a directory above it is changed. Where it could not
read the programs that pip installed, as in a virtual environment in /root, it gets a copy of them.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

from pgmem.errors import EmbeddedServerError


def system_account(name: str) -> tuple[int, int]:
    """Return the uid and gid of a system user, which is made if it is missing.

    Raises:
        EmbeddedServerError: the user does not exist and cannot be created.
    """
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        directory = os.open("/etc", os.O_RDONLY)
        try:
            # One process at a time: useradd checks before it locks, so a second one would replace the uid of the first.
            fcntl.flock(directory, fcntl.LOCK_EX)
            command = ["useradd", "--system", "--shell", "/usr/sbin/nologin", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            entry = pwd.getpwnam(name)  # this process or another one has made it
        except KeyError:
            raise EmbeddedServerError(
                f"PostgreSQL refuses to run as root, and no user {name} can be made: {done.stderr.strip()}"
            ) from None
        finally:
            # Closing is not enough: a child that was forked meanwhile shares the lock and would keep it.
            fcntl.flock(directory, fcntl.LOCK_UN)
            os.close(directory)
    return entry.pw_uid, entry.pw_gid


def can_enter(directory: Path, account: tuple[int, int]) -> bool:
    """Whether a user can reach a directory; the kernel decides, as modes are not all of it."""
    return _can(account, "-x", directory)


def programs_for(account: tuple[int, int], programs: Path, copy: Path) -> Path:
    """Return the directory of the programs from which a user can run the server.

    Args:
        account: uid and gid.
        programs: the programs as pip installed them, two levels below their package; the libraries beside the package
            belong to it.
        copy: where a copy goes if the user cannot read the package. It is made of hard links where that is possible.
    """
    package = programs.parent.parent
    trees = [package, *package.parent.glob(f"{package.name}*.libs")]
    if _can(account, "-x", programs / "postgres") and all(map(_is_open, trees)):
        return programs
    source = (programs / "postgres").stat()
    stamp = copy / f"of-{source.st_ino}-{source.st_mtime_ns}"
    if not stamp.exists():  # of another release, or not complete
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(mode=0o755)
        for tree in trees:
            shutil.copytree(tree, copy / tree.name, symlinks=True, copy_function=_link)
            for part in (copy / tree.name, *(copy / tree.name).rglob("*")):
                if part.is_dir() and not part.is_symlink():
                    part.chmod(0o755)
        copy.chmod(0o755)
        stamp.touch()
    return copy / package.name / programs.relative_to(package)


def _can(account: tuple[int, int], what: str, path: Path) -> bool:
    uid, gid = account
    done = subprocess.run(
        ["/bin/sh", "-c", f'test {what} "$1"', "sh", str(path)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        user=uid,
        group=gid,
        extra_groups=[],
        check=False,
    )
    return done.returncode == 0


def _is_open(tree: Path) -> bool:
    return all(_is_open_file(path) for path in (tree, *tree.rglob("*")))


def _is_open_file(path: Path) -> bool:
    mode = path.stat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0)
    return mode & wanted == wanted


def _link(source: str, target: str) -> None:
    """Link a file that everybody can read; copy any other, and open the copy."""
    if _is_open_file(Path(source)):
        try:
            os.link(source, target)
            return
        except OSError:
            pass  # another file system
    shutil.copyfile(source, target)
    mode = stat.S_IMODE(os.stat(source).st_mode)
    os.chmod(target, 0o755 if mode & stat.S_IXUSR else 0o644)

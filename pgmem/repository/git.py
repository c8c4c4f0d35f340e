"""What git knows of a folder, by git itself. Read only: not even the index is refreshed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

__all__ = ["Git", "GitUnavailable", "History"]

HOTSPOT_DAYS = 90
_SECONDS = 60.0


class GitUnavailable(Exception):
    """There is no git, or no history here; the message says which."""


@dataclass(frozen=True, kw_only=True)
class History:
    """Per file the last commit that changed it, and its changes in the 90 days before the newest commit."""

    last_commit: dict[str, str] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)


class Git:
    """The git work tree a folder lies in.

    Raises:
        GitUnavailable: git is not installed, the folder is in no work tree, or nothing is committed yet.
    """

    def __init__(self, root: Path) -> None:
        program = shutil.which("git")
        if program is None:
            raise GitUnavailable("git is not installed")
        self._program = program
        self._root = root
        # The newest commit dates the history, not the clock: the same repository gives the same cards.
        self.commit, _, newest = self._text("log", "-1", "--format=%H %ct").strip().partition(" ")
        if not self.commit:
            raise GitUnavailable("nothing is committed yet")
        self._newest = int(newest)

    def files(self) -> list[str]:
        """The files git keeps or would keep, ignored ones left out; relative to the folder."""
        names = self._text("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
        return sorted({name for name in names if name})

    def history(self, files: Collection[str]) -> History:
        """Read the log from the newest commit back, until every file has been met and 90 days are over."""
        wanted = set(files) & set(self._text("ls-files", "--cached", "-z").split("\0"))
        since = self._newest - HOTSPOT_DAYS * 86400
        last: dict[str, str] = {}
        changes: dict[str, int] = {}
        arguments = ["log", "--no-renames", "--name-only", "--relative", "-z", "--format=%x01%H %ct"]
        with subprocess.Popen(
            self._command(*arguments),
            cwd=self._root,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            commit, at = "", self._newest
            for entry in _entries(process.stdout):
                if entry.startswith("\x01"):
                    commit, _, stamp = entry[1:].partition(" ")
                    at = int(stamp)
                    if at < since and len(last) == len(wanted):
                        process.kill()
                        break
                elif entry in wanted:
                    last.setdefault(entry, commit)
                    if at >= since:
                        changes[entry] = changes.get(entry, 0) + 1
        return History(last_commit=last, changes=changes)

    def _command(self, *arguments: str) -> list[str]:
        return [self._program, "-c", "core.quotepath=off", "-c", "log.showSignature=false", *arguments]

    def _text(self, *arguments: str) -> str:
        try:
            done = subprocess.run(
                self._command(*arguments),
                cwd=self._root,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            line = error.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise GitUnavailable(line.removeprefix("fatal: ") or "git failed") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitUnavailable(f"git does not answer ({type(error).__name__})") from error
        return done.stdout.decode(errors="surrogateescape")


def _environment() -> dict[str, str]:
    """Ours, without what would point git elsewhere or let it write, page or ask."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}


def _entries(stream: IO[bytes]) -> Iterator[str]:
    """The entries of a log written with -z: commits (after the byte 1) and file names."""
    rest = b""
    while chunk := stream.read(1 << 16):
        *whole, rest = (rest + chunk).split(b"\0")
        for entry in whole:
            text = entry.decode(errors="surrogateescape").lstrip("\n")
            if text:
                yield text
    if text := rest.decode(errors="surrogateescape").strip("\n"):
        yield text

"""Files and history of a git work tree, read with the git program. Read-only: the index is not refreshed either.

A repository can come from anybody, with its own .git directory. Git takes programs to run from the configuration in
it: file system monitors, hooks, remote helpers, filters, pagers. So `_Inert` composes every call of git in a way that
runs none of them and opens no connection.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO

from pgmem.programs import installed

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_TIMEOUT_S = 60.0
_HISTORY_TIMEOUT_S = 300.0  # a log of a million commits takes a minute or two

# These override the configuration of the repository, which may hold any program or file name. `log` and `ls-files`
# need no filter, signature or submodule; they are switched off in case a later git does.
_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "core.quotePath": "off",
    "credential.helper": "",
    "diff.external": "",
    "diff.renames": "true",
    "diff.submodule": "short",
    "diff.ignoreSubmodules": "all",
    "diff.orderFile": os.devnull,
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "log.mailmap": "false",
    "mailmap.blob": "",
    "mailmap.file": "",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",  # one that is checked out as ordinary files would bring its configuration
    "submodule.recurse": "false",
    "color.ui": "false",
}
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",  # the name of no protocol; protocol.* of the repository has no say then
    "GIT_ASKPASS": "",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
_LOG = (
    *("log", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap"),
    *("--no-color", "--no-decorate"),
)
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
MOST_COMMITS = 20_000
"""Commits of a history that are read, the newest."""
_MOST_CHANGES = 100_000  # of a commit
_MOST_MEMORY = 1 << 30
"""Bytes that git may hold. Its packs are mapped for reading, and do not count."""
_MOST_BYTES = 2_000_000
_MOST_CHARS = 500  # of a line that names a co-author
_MOST_LINES = 400  # of a file in a patch
_CO_AUTHOR = re.compile(r"^[ \t]*co-authored-by:[ \t]*(.+?)[ \t]*<([^>\n]*)>", re.IGNORECASE | re.MULTILINE)
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class GitUnavailable(Exception):
    """git is not installed, or the directory has no history; the message says which."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: when and by whom, its message, and the files that it changed."""

    id: str
    at: int
    """Seconds since 1970, of the committer."""
    authors: tuple[tuple[str, str], ...]
    """Name and address of the author, then of those that Co-authored-by names."""
    message: str
    changes: tuple[tuple[str, str, str], ...]
    """Status letter (A, M, D, R, C, T), path, and the path before for R and C, else an empty text."""
    parents: tuple[str, ...] = ()
    """The commits before it; of a merge first the one that it was merged into."""

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0].strip()


class _Inert:
    """The one place that runs git: it runs no program that a repository names, and opens no connection."""

    def __init__(self, root: Path) -> None:
        program = installed("git")
        if program is None:
            raise GitUnavailable("git is not installed")
        self._program = program
        self.root = root
        self._trusted = self._safe_directories()

    def text(self, *arguments: str, given: bytes = b"", timeout_s: float | None = None) -> str:
        """The output of git as a text.

        Raises:
            GitUnavailable: git fails or does not end in time.
        """
        return self.output(*arguments, given=given, timeout_s=timeout_s).decode(errors="surrogateescape")

    @contextmanager
    def stream(self, *arguments: str) -> Iterator[IO[bytes]]:
        """The output of git while it runs; git is stopped at the end of the block.

        Raises:
            GitUnavailable: git fails or does not end in time.
        """
        late = threading.Event()
        with self._started(arguments, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:

            def stop() -> None:
                late.set()
                process.kill()

            watchdog = threading.Timer(_HISTORY_TIMEOUT_S, stop)
            watchdog.start()
            try:
                assert process.stdout is not None
                yield process.stdout
                failed = not process.stdout.read(1) and process.wait() != 0
            finally:
                watchdog.cancel()
                process.kill()
        if late.is_set():
            raise GitUnavailable(f"git does not end within {_HISTORY_TIMEOUT_S:g} seconds")
        if failed:
            raise GitUnavailable("objects of the repository are missing or damaged")

    def _started(self, arguments: Sequence[str], *, stdin: int, stderr: int) -> subprocess.Popen[bytes]:
        settings = [f"{name}={value}" for name, value in _OVERRIDES.items()]
        settings += [f"safe.directory={value}" for value in self._trusted]
        process = subprocess.Popen(
            [self._program, "--no-pager", *(part for one in settings for part in ("-c", one)), *arguments],
            cwd=self.root,
            env=_environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        _limit(process.pid)
        return process

    def _safe_directories(self) -> list[str]:
        """The repositories of other users that this user trusts.

        Git refuses a repository of another user unless safe.directory names it in the files of the system or of the
        user. Every other setting of these files is ignored.
        """
        environment = {n: v for n, v in _environment().items() if not n.startswith("GIT_CONFIG_")}
        try:
            done = subprocess.run(
                [self._program, "config", "--null", "--get-all", "safe.directory"],
                cwd="/",
                env={**environment, "GIT_DIR": os.devnull},  # no repository, so that none adds a value
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        return done.stdout.decode(errors="surrogateescape").split("\0")[:-1]

    def output(self, *arguments: str, given: bytes = b"", timeout_s: float | None = None) -> bytes:
        """The output of git.

        Raises:
            GitUnavailable: git fails or does not end in time.
        """
        try:
            with self._started(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                try:
                    found, said = process.communicate(given, timeout_s or _TIMEOUT_S)
                except BaseException:
                    process.kill()
                    raise
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitUnavailable(f"git does not answer ({type(error).__name__})") from error
        if process.returncode != 0:
            line = said.decode(errors="replace").strip().partition("\n")[0]
            raise GitUnavailable(line.removeprefix("fatal: ") or "git failed")
        return found


def _limit(process: int) -> None:
    """Bound the memory of a git that runs: a few hundred bytes of objects can name a thousand million files."""
    if resource is not None and hasattr(resource, "prlimit"):  # of Linux
        with suppress(OSError, ValueError):  # it has ended, or a lower limit holds
            resource.prlimit(process, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


def _lines(names: Collection[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")


class Git:
    """The git work tree that contains a directory.

    Raises:
        GitUnavailable: git is not installed, the directory is in no work tree, or the repository has no commit.
    """

    def __init__(self, root: Path) -> None:
        self._git = _Inert(root)
        # One call of git for facts that every answer needs: each takes some milliseconds.
        try:
            found = self._git.text("rev-parse", "--show-toplevel", "HEAD^0", "--symbolic-full-name", "HEAD")
        except GitUnavailable as error:
            self._git.text("rev-parse", "--show-toplevel")  # these say which part is missing
            self._git.text(*_LOG, "-1", "--format=%H")
            raise GitUnavailable("the repository has no commit") from error
        top, self.commit, self._head = found.rstrip("\n").rsplit("\n", 2)
        mailmap = Path(top) / ".mailmap"
        self.mailmap = mailmap.is_file() and not mailmap.is_symlink()
        """Whether the repository says which names and addresses are those of one person; log uses it."""
        # core.worktree may name any directory of this machine.
        if not root.resolve().is_relative_to(Path(top).resolve()):
            raise GitUnavailable("its work tree is another directory")

    def files(self) -> tuple[list[str], list[str]]:
        """Tracked and untracked files, not the ignored ones, relative to the directory, and lines on skipped paths."""
        skipped = []
        names = set(self._git.text("ls-files", "--others", "--exclude-standard", "-z").split("\0"))
        for entry in self._git.text("ls-files", "--cached", "--stage", "-z").split("\0"):
            mode, _, name = entry.partition("\t")
            if mode.startswith("160000"):
                skipped.append(f"{name}: a submodule; scan it separately")
            elif mode.startswith("120000"):
                skipped.append(f"{name}: a symbolic link")
            else:
                names.add(name)
        return sorted(names - {""}), skipped

    def is_ancestor(self, commit: str, of: str = "HEAD") -> bool:
        """Whether a commit is there and comes before another one, or is that."""
        try:
            self._git.text("merge-base", "--is-ancestor", commit, of)
        except GitUnavailable:
            return False
        return True

    @cached_property
    def branch(self) -> str | None:
        """The branch that is checked out; None for the default branch, and where none is, as in a bisection."""
        if not self._head.startswith("refs/heads/"):
            return None
        name = self._head.removeprefix("refs/heads/")
        known = {
            ref.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/") for ref in self._default
        }
        return None if not known or name in known else name

    def unmerged(self, most: int = 1000) -> list[str]:
        """The commits that are checked out and not in the default branch, newest first, at most `most`."""
        if self.branch is None:
            return []
        return self._git.text(
            "rev-list", f"--max-count={most}", "HEAD", *(f"^{ref}" for ref in self._default)
        ).split()

    def standing(self) -> tuple[str | None, str | None]:
        """The branch, as `branch`, and its last commit; ^ID if the default branch holds that commit."""
        if self.branch is None:
            return None, None
        return self.branch, self.commit if self.unmerged(1) else f"^{self.commit}"

    def ends(self, branches: Collection[str]) -> dict[str, str]:
        """The last commits of the default branch, here and at origin, and of those of some branches that are there."""
        found = {}
        for name in branches:
            for ref in (f"refs/heads/{name}", f"refs/remotes/origin/{name}"):
                if ref in self._refs:
                    found[name] = self._refs[ref]
                    break
        return {**{ref: self._refs[ref] for ref in self._default}, **found}

    def settled(self, waiting: Collection[tuple[str, str]]) -> list[dict[str, str | None]]:
        """The state of branches and of the commits that their cards wait for, as `standing` gave them.

        Returns:
            Objects with branch, commit and now: None if the default branch holds the work, else the commit to wait for.
            Those that still wait for their commit, and those of which this repository knows too little, are left out.
        """
        ends = self.ends({branch for branch, _ in waiting})
        made: list[dict[str, str | None]] = []
        for branch, commit in waiting:
            own, known, end = not commit.startswith("^"), commit.removeprefix("^"), ends.get(branch)
            if not _COMMIT.fullmatch(known):
                continue
            now: str | None
            if own and (self._is_in_default(known) or self._has_equals(known)):
                now = None
            elif end is None or end == known or (own and self.is_ancestor(known, end)):
                continue
            elif not self._is_in_default(end):
                now = end  # the first commit of the branch, or the branch was rewritten
            elif own:
                continue  # the branch was set back
            else:
                now = None
            made.append({"branch": branch, "commit": commit, "now": now})
        return made

    def _has_equals(self, commit: str) -> bool:
        """Whether the default branch has the changes of each commit up to one, as after a rebase."""
        for ref in self._default:
            with suppress(GitUnavailable):
                left = self._git.text(
                    *("rev-list", "--no-merges", "--cherry-pick", "--right-only", "--max-count=1"),
                    f"{ref}...{commit}",
                )
                if not left.strip():
                    return True
        return False

    def _is_in_default(self, commit: str) -> bool:
        return any(self.is_ancestor(commit, ref) for ref in self._default or ["HEAD"])

    @cached_property
    def _default(self) -> list[str]:
        """The default branch here and at origin: the one that origin names, else main, master or trunk."""
        head = self._refs.get("refs/remotes/origin/HEAD", "").removeprefix("refs/remotes/origin/")
        for name in (head, "main", "master", "trunk"):
            if found := [
                ref for ref in (f"refs/heads/{name}", f"refs/remotes/origin/{name}") if ref in self._refs
            ]:
                return found
        return []

    @cached_property
    def _refs(self) -> dict[str, str]:
        """The branches here and at origin with their last commits; of origin/HEAD the branch that it names."""
        rows = self._git.text(
            "for-each-ref", "--format=%(refname) %(objectname) %(symref)", "refs/heads", "refs/remotes/origin"
        ).splitlines()
        return {name: other or commit for name, commit, other in (row.split(" ", 2) for row in rows)}

    def diff(self, commit: str, path: str) -> str:
        """The changes of a file between a commit and the one that is checked out."""
        return self._git.text(*_DIFF, "-M", "--relative", "--no-color", commit, "HEAD", "--", path)

    def changed(self, commits: str) -> list[str]:
        """The files that differ between two commits, as BASE..HEAD names them; new names of renamed ones."""
        base, dots, head = commits.partition("...")
        if not dots:
            base, _, head = commits.partition("..")
        if not base or base.startswith("-") or head.startswith("-"):
            raise GitUnavailable("that names no two commits")
        start = self._git.text("merge-base", base, head or "HEAD").strip()
        names = self._git.text(*_DIFF, "-M", "--relative", "--name-only", "-z", start, head or "HEAD", "--")
        return [name for name in names.split("\0") if name]

    def contents(self, names: Collection[str]) -> dict[str, bytes]:
        """The files of some names, such as COMMIT:PATH, up to 2 MB each; other names are left out."""
        asked, kept = sorted(names), []
        about = self._git.text("cat-file", "--batch-check", given=_lines(asked)).splitlines() if asked else []
        for name, line in zip(asked, about, strict=True):
            kind, _, size = line.partition(" ")[2].partition(" ")
            if kind == "blob" and int(size) <= _MOST_BYTES:
                kept.append(name)
        return self._blobs(kept)

    def _blobs(self, names: Collection[str]) -> dict[str, bytes]:
        """The files of names that are known to be files of at most 2 MB."""
        data, found, place = self._git.output("cat-file", "--batch", given=_lines(names)), {}, 0
        for name in names:
            end = data.index(b"\n", place)
            length = int(data[place:end].split()[2])
            found[name] = data[end + 1 : end + 1 + length]
            place = end + 2 + length
        return found

    def last_change(self, path: str, before: datetime) -> str | None:
        """The last commit before a time that changed a file."""
        return (
            self._git.text(
                "rev-list", "-1", f"--before={before.isoformat()}", "HEAD", "--", f":(top,literal){path}"
            ).strip()
            or None
        )

    def is_shallow(self) -> bool:
        """Whether the history ends early, as in a clone with --depth."""
        return self._git.text("rev-parse", "--is-shallow-repository").strip() == "true"

    def sizes(self, commits: Collection[str]) -> dict[str, dict[str, int]]:
        """How many lines of each file some commits changed, by commit; without binary files."""
        found: dict[str, dict[str, int]] = {}
        own: dict[str, int] = {}
        for line in self._shown(commits, "--numstat"):
            if line.startswith(b"\x01"):
                own = found[line[1:].decode()] = {}
            elif (parts := line.split(b"\t")) and len(parts) == 3 and parts[0] != b"-":
                own[_name(parts[2])] = int(parts[0]) + int(parts[1])
        return found

    def patches(self, commits: Collection[str]) -> dict[str, dict[str, tuple[list[str], list[str]]]]:
        """The lines of each file that some commits removed and added, by commit, without white space around them."""
        found: dict[str, dict[str, tuple[list[str], list[str]]]] = {}
        own: dict[str, tuple[list[str], list[str]]] = {}
        lines: tuple[list[str], list[str]] | None = None
        before = b""
        for line in self._shown(commits, "--patch", "--unified=0"):
            if line.startswith(b"\x01"):
                own = found[line[1:].decode()] = {}
                lines = None
            elif line.startswith(b"diff --git "):
                lines = None
            elif lines is not None and line[:1] in (b"-", b"+"):
                side = lines[line[:1] == b"+"]
                if len(side) < _MOST_LINES:
                    side.append(line[1:].decode(errors="replace").strip())
            elif line.startswith(b"--- "):
                before = line[4:]
            elif line.startswith(b"+++ "):
                path = before if line[4:] == b"/dev/null" else line[4:]
                lines = own.setdefault(_name(path.rstrip(b"\t")[2:]), ([], []))
        return found

    def _shown(self, commits: Collection[str], *form: str) -> list[bytes]:
        """The lines of a log of some commits; none where objects are missing, as in a partial clone."""
        given = "".join(f"{one}\n" for one in commits).encode()
        arguments = (
            *_LOG,
            "--no-walk=unsorted",
            "--stdin",
            "--no-renames",
            "--relative",
            "--format=%x01%H",
            *form,
        )
        try:
            return (
                self._git.output(*arguments, given=given, timeout_s=_HISTORY_TIMEOUT_S).split(b"\n")
                if given
                else []
            )
        except GitUnavailable:
            return []

    def log(
        self, until: str = "HEAD", known: Collection[str] = (), *, exact: bool = False
    ) -> Iterator[Commit]:
        """The commits up to one, newest first, at most 20 000; renames are those that git finds.

        Args:
            until: the newest commit.
            known: commits that are not read again, nor the commits before them.
            exact: find renames of unchanged files only, which needs no content: a partial clone has none.
        """
        arguments = [*_LOG, "-M100%" if exact else "-M", *"-l400 --name-status --relative -z".split()]
        arguments.append(f"--max-count={MOST_COMMITS}")
        author = "%aN%x1f%aE" if self.mailmap else "%an%x1f%ae"
        arguments.append(f"--format=%x01%H%x1f%P%x1f%ct%x1f{author}%x1f%B")
        arguments += [until, *(f"^{one}" for one in known), "--"]
        with self._git.stream(*arguments) as output:
            head = ""
            changes: list[tuple[str, str, str]] = []
            entries = _entries(output)
            for entry in entries:
                if entry.startswith("\x01"):
                    if head:
                        yield _commit(head, changes)
                    head, changes = entry[1:], []
                elif len(changes) >= _MOST_CHANGES:
                    continue
                elif entry[:1] in "RC" and entry[1:].isdigit():
                    before = next(entries, "")
                    changes.append((entry[0], next(entries, ""), before))
                elif len(entry) == 1:
                    changes.append((entry, next(entries, ""), ""))
            if head:
                yield _commit(head, changes)


def _name(path: bytes) -> str:
    """A path as git prints it; one that it quotes is odd, and no card is about it."""
    return path.decode(errors="surrogateescape")


def _commit(head: str, changes: list[tuple[str, str, str]]) -> Commit:
    # Only names of files may be other than text.
    text = head.encode(errors="surrogateescape").decode(errors="replace")
    name, parents, at, author, address, message = text.split("\x1f", 5)
    authors = {(author.strip(), address.strip().lower()): None}
    # A long line of many angle brackets would be searched from each of them.
    lines = "\n".join(line for line in message.splitlines() if len(line) <= _MOST_CHARS)
    authors.update(((who.strip(), where.lower()), None) for who, where in _CO_AUTHOR.findall(lines))
    # Whoever commits writes any time: one of the year 10000 would make all other commits look old.
    seconds = min(max(int(at or 0), 0), int(time.time()))
    return Commit(name, seconds, tuple(authors), message.strip(), tuple(changes), tuple(parents.split()))


class Repository(_Inert):
    """Short questions about the repository of a folder, for a caller that cannot wait."""

    def ask(self, *arguments: str, timeout_s: float = 5.0) -> str:
        """Return the output of git.

        Raises:
            GitUnavailable: git fails or does not end in time.
        """
        return self.text(*arguments, timeout_s=timeout_s)


def _environment() -> dict[str, str]:
    """The environment without variables that point git elsewhere or let it write, page, prompt or connect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept.pop("SSH_ASKPASS", None)
    return {**kept, **_ENVIRONMENT}


def _entries(stream: IO[bytes]) -> Iterator[str]:
    """The entries of a log with -z: commits (they begin with byte 1) and file names."""
    rest = b""
    while chunk := stream.read(1 << 16):
        *whole, rest = (rest + chunk).split(b"\0")
        for entry in whole:
            text = entry.decode(errors="surrogateescape").lstrip("\n")
            if text:
                yield text
    if text := rest.decode(errors="surrogateescape").strip("\n"):
        yield text

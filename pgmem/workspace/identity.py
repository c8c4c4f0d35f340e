"""The identity of a repository: remotes, the roots of its history, and its path on this machine.

The folder's name says little: worktrees and clones have others, and two repositories may share one. The database keeps
the rule (`open_project`); this module only reads. It imports little, because a hook of an editor waits for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pgmem import plain_files
from pgmem.workspace.trust import is_trusted

if TYPE_CHECKING:
    from pgmem.workspace.git import Repository

_MOST_BYTES = 65_536  # of .pgmem.toml
_ROOTS_WAIT_S = 0.5  # git reads all of the history for its roots
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//|:)(.+)")
_URL = re.compile(r"\w[\w+.-]*://(?:[^@/]*@)?([^/:]*)(?::\d+)?/(.+)")


class Identity(NamedTuple):
    """The arguments of `open_project`."""

    names: list[str]
    remotes: list[str]
    roots: list[str]
    places: list[str]


def chosen_project(folder: Path) -> str | None:
    """Return the project that PGMEM_PROJECT or the nearest trusted `.pgmem.toml` names; None if neither does."""
    if name := os.environ.get("PGMEM_PROJECT", "").strip():
        return name
    found = named_project(folder)
    return found[1] if found is not None and is_trusted(*found) else None


def waits_for_trust(folder: Path) -> bool:
    """Whether a `.pgmem.toml` names a project for a folder and no person has said that it may."""
    if os.environ.get("PGMEM_PROJECT", "").strip():
        return False
    found = named_project(folder)
    return found is not None and not is_trusted(*found)


def named_project(folder: Path) -> tuple[Path, str] | None:
    """Return the nearest `.pgmem.toml` of a folder with the project that it names; None if there is none."""
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        path = place / ".pgmem.toml"
        try:
            # A link may lead to an endless file, and a pipe waits.
            text = plain_files.read(path, _MOST_BYTES).decode()
        except (OSError, UnicodeDecodeError):
            continue
        try:
            chosen = tomllib.loads(text).get("project")
        except (tomllib.TOMLDecodeError, RecursionError):
            return None
        return (path, chosen.strip()) if isinstance(chosen, str) and chosen.strip() else None
    return None


def identify(folder: Path) -> Identity:
    """Return what the repository of a folder is known by; a folder outside of any is known by its place."""
    from pgmem.workspace.git import GitUnavailable, Repository

    try:
        git = Repository(folder)
        common, _, shallow = (
            git.ask("rev-parse", "--path-format=absolute", "--git-common-dir", "--is-shallow-repository")
            .strip()
            .rpartition("\n")
        )
    except (GitUnavailable, OSError):
        name = folder.resolve().name or "root"
        place = _digest(str(folder.resolve()))
        return Identity([name, f"{name}-{place[:8]}"], [], [], [place])
    remotes = _remotes(git)
    roots: list[str] = []
    if shallow == "false":  # the oldest commits of a shallow clone are not the roots
        try:
            roots = sorted(git.ask("rev-list", "--max-parents=0", "HEAD", timeout_s=_ROOTS_WAIT_S).split())
        except GitUnavailable:
            roots = []
    path = Path(common)
    top = work_tree(folder) if path.name != ".git" else None
    own = path.parent.name if path.name == ".git" else (top or path).name.removesuffix(".git")
    place = _digest(os.path.realpath(common))
    if remotes:
        parts = remotes[0].split("/")
        names = [parts[-1], "-".join(parts[-2:]), remotes[0].replace("/", "-"), own]
    else:
        names = [own or "repository", f"{own or 'repository'}-{(roots or [place])[0][:8]}"]
    return Identity([name[:150] for name in names if name], remotes, roots, [place])


def work_tree(folder: Path) -> Path | None:
    """Return the root of the work tree that a folder is in; None outside of any."""
    from pgmem.workspace.git import GitUnavailable, Repository

    try:
        return Path(
            Repository(folder).ask("rev-parse", "--path-format=absolute", "--show-toplevel").rstrip("\n")
        )
    except (GitUnavailable, OSError):
        return None


def _remotes(git: Repository) -> list[str]:
    """The address of origin, or of the only remote; a fork has its original as another remote."""
    from pgmem.workspace.git import GitUnavailable

    try:
        lines = git.ask("config", "--local", "--get-regexp", r"^remote\..*\.url$").splitlines()
    except GitUnavailable:  # there is none
        return []
    found: dict[str, str] = {}
    for line in lines:
        name, _, url = line.partition(" ")
        if address := normalised(url):
            found.setdefault(name.removeprefix("remote.").removesuffix(".url"), address)
    if "origin" in found:
        return [found["origin"]]
    return list(found.values()) if len(found) == 1 else []


def normalised(url: str) -> str | None:
    """Return the host and path of a remote, without scheme, login, port and `.git`; None for a local path."""
    url = url.strip()
    match = _URL.fullmatch(url) or (_SCP.fullmatch(url) if "://" not in url else None)
    if match is None or not match[1] or url.startswith("file:") or re.match(r"[A-Za-z]:[\\/]", url):
        return None
    path = match[2].strip("/").removesuffix(".git").rstrip("/")
    return f"{match[1]}/{path}".lower() if path else None


def _digest(path: str) -> str:
    """The digest of a directory of this machine; another machine or container gives another one."""
    machine = ""
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            machine = Path(name).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        break
    return hashlib.sha256(f"{machine or uuid.getnode()}\0{path}".encode(errors="surrogateescape")).hexdigest()

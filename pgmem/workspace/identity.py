"""The identity of a repository: remotes, the roots of its history, and its path on this machine.

The folder's name says little: worktrees and clones have others, and two repositories may share one. The database keeps
the rule (`open_project`); this module only reads. It imports little, because a hook of an editor waits for it.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import tomllib
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pgmem import plain_files
from pgmem.workspace.trust import is_trusted

if TYPE_CHECKING:
    from pgmem.workspace.git import Repository

_MOST_BYTES = 65_536  # of .pgmem.toml, and of a root of a history
_ROOTS_WAIT_S = 2.0  # git reads all of the history for its roots
_MOST_ROOTS = 20
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
    """Whether a `.pgmem.toml` or `.git` names a project for a folder and no person has said that it may."""
    if os.environ.get("PGMEM_PROJECT", "").strip():
        return False
    found = named_project(folder) or borrowed(folder)
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
    """Return the identity of a folder's repository; a folder outside of any is known by its place."""
    found = _repository(folder)
    if found is None or not _is_own(found):
        top = _unread_root(folder) if found is None else None
        name = (top or folder.resolve()).name or "root"
        # A repository that git reads later has the same place.
        place = _digest(str(top / ".git" if top else folder.resolve()))
        return Identity([name, f"{name}-{place[:8]}"], [], [], [place])
    remotes = _remotes(found.git)
    roots = _roots(found)
    common = found.common
    own = common.parent.name if common.name == ".git" else found.top.name.removesuffix(".git")
    place = _digest(os.path.realpath(common))
    if remotes:
        parts = remotes[0].split("/")
        names = [parts[-1], "-".join(parts[-2:]), remotes[0].replace("/", "-"), own]
    else:
        names = [own or "repository", f"{own or 'repository'}-{(roots or [place])[0][:8]}"]
    return Identity([name[:150] for name in names if name], remotes, roots, [place])


def work_tree(folder: Path) -> Path | None:
    """Return the root of the work tree that a folder is in; None outside of any."""
    found = _repository(folder)
    if found is None:
        return _unread_root(folder)
    return found.top if _is_own(found) else None


def unread(folder: Path) -> tuple[Path, str] | None:
    """Return the root of a repository that git does not read, and its reason; None where it does, or there is none."""
    from pgmem.workspace.git import GitUnavailable, Repository

    top = _unread_root(folder)
    if top is None:
        return None
    try:
        Repository(folder).ask("rev-parse", "--show-toplevel")
    except (GitUnavailable, OSError) as error:
        return top, str(error)
    return None


def _unread_root(folder: Path) -> Path | None:
    """Return the nearest folder above with a directory `.git` that is a repository's; git itself has not answered."""
    folder = folder.resolve()
    return next((top for top in (folder, *folder.parents) if _holds_repository(top / ".git")), None)


def _holds_repository(place: Path) -> bool:
    """Whether a directory is that of a repository, and no link leads to it."""
    try:
        return not place.is_symlink() and (place / "HEAD").is_file() and (place / "objects").is_dir()
    except OSError:
        return False


def parent_of(folder: Path) -> Path | None:
    """Return the work tree that a submodule is part of; None outside of a submodule."""
    from pgmem.workspace.git import GitUnavailable

    folder = folder.resolve()
    top = next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)
    found = _repository(folder) if top is not None and (top / ".git").is_file() else None
    if found is None or not _is_own(found):
        return None
    try:
        said = found.git.ask("rev-parse", "--show-superproject-working-tree").rstrip("\n")
    except GitUnavailable:
        return None
    return Path(said) if said else None


def borrowed(folder: Path) -> tuple[Path, str] | None:
    """Return the work tree of a folder and the repository that it says is its own and does not list it; None: neither.

    A `.git` that is a file or a link, and a `commondir` in it, may name any repository of the machine.
    """
    found = _repository(folder)
    return None if found is None or _is_listed(found) else (found.top, _borrowed(found))


class _Found(NamedTuple):
    git: Repository
    top: Path
    """The root of the work tree."""
    common: Path
    """The directory that all its work trees share."""
    own: Path
    """The directory of this work tree alone; in a repository with one, the same."""
    shallow: bool


def _repository(folder: Path) -> _Found | None:
    from pgmem.workspace.git import GitUnavailable, Repository

    try:
        git = Repository(folder)
        said = git.ask(
            *("rev-parse", "--path-format=absolute"),
            *("--show-toplevel", "--git-common-dir", "--git-dir", "--is-shallow-repository"),
        )
    except (GitUnavailable, OSError):
        return None
    lines = said.rstrip("\n").split("\n")
    if len(lines) != 4:  # a directory whose name breaks a line
        return None
    top, common, own = map(Path, lines[:3])
    # core.worktree may name any directory of this machine.
    inside = folder.resolve().is_relative_to(top.resolve())
    return _Found(git, top, common, own, lines[3] == "true") if inside else None


def _is_own(found: _Found) -> bool:
    return _is_listed(found) or is_trusted(found.top, _borrowed(found))


def _borrowed(found: _Found) -> str:
    return f"gitdir: {os.path.realpath(found.common)}"


def _is_listed(found: _Found) -> bool:
    """Whether a repository lies in its work tree, or lists it: as a worktree, or by core.worktree as a submodule."""
    from pgmem.workspace.git import GitUnavailable

    top, common, own = (Path(os.path.realpath(path)) for path in found[1:4])
    if common == top / ".git":
        return True
    if own == common:
        try:
            back = found.git.ask("config", "--local", "--get", "core.worktree").rstrip("\n")
        except GitUnavailable:
            return False
        return os.path.realpath(own / back) == str(top)
    if own.parent != common / "worktrees":
        return False
    try:
        back = plain_files.read(own / "gitdir", _MOST_BYTES).decode(errors="surrogateescape").rstrip("\n")
    except OSError:
        return False
    return os.path.realpath((own / back).parent) == str(top)


def _roots(found: _Found) -> list[str]:
    """Return the first commits of a history; none where they are not known, or objects are those of others."""
    from pgmem.workspace.git import GitUnavailable

    # The oldest commits of a shallow clone are not the roots.
    if found.shallow or _has_links(found.common):
        return []
    try:
        said = found.git.ask("rev-list", "--max-parents=0", "HEAD", timeout_s=_ROOTS_WAIT_S)
        roots = sorted(said.split())[:_MOST_ROOTS]
        return [root for root in roots if _holds(found, root)]
    except GitUnavailable:
        return []


def _has_links(common: Path) -> bool:
    """Whether a repository reads objects or names of commits through a link or from another repository."""
    objects = common / "objects"
    if any(os.path.lexists(objects / "info" / name) for name in ("alternates", "http-alternates")):
        return True
    try:
        return any(
            entry.is_symlink() and entry.name != "hooks"
            for folder in (common, objects, objects / "info", objects / "pack")
            if folder.is_dir()
            for entry in os.scandir(folder)
        )
    except OSError:
        return True


def _holds(found: _Found, commit: str) -> bool:
    """Whether a repository holds a commit: git reads one under any name that its file or a replacement gives it."""
    if (found.common / "objects" / commit[:2] / commit[2:]).is_symlink():
        return False
    size = found.git.ask("cat-file", "-s", commit, timeout_s=_ROOTS_WAIT_S).strip()
    if int(size) > _MOST_BYTES:
        return False
    held = found.git.output("cat-file", "commit", commit, timeout_s=_ROOTS_WAIT_S)
    digest = hashlib.new("sha1" if len(commit) == 40 else "sha256", usedforsecurity=False)
    digest.update(b"commit %d\0" % len(held) + held)
    return digest.hexdigest() == commit


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
    # A server reads `..` as the directory above, and so it names nothing.
    path = posixpath.normpath("/" + match[2].strip("/")).strip("/").removesuffix(".git").rstrip("/")
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

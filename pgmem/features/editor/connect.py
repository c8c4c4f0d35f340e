"""Connecting a client: its files as they are, as they become, and back.

A settings file may come with a repository, or be a link, a pipe or a device. So all files are read and written by
`plain_files`, and in a project no link leads out of it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pgmem import documents, plain_files
from pgmem.errors import InvalidArgument
from pgmem.features.editor import jsonc, yaml_text
from pgmem.features.editor.catalog import Change, is_own

_BACKUP = ".before-pgmem"
_MOST_BACKUPS = 99
_MOST_BYTES = 32 * 2**20  # ~/.claude.json holds the history of its projects too
_MOST_BYTES_OF_TOML, _MOST_VALUES_OF_TOML = 2**18, 10_000  # tomlkit takes the square of a list's length


class Edit(NamedTuple):
    """A file with its text before and after; None: no file. In a project, which its links must not leave.

    Nothing is kept of a text that pgmem alone wrote, or that has the original beside it.
    """

    file: Path
    before: str | None
    after: str | None
    project: Path | None = None
    keeps: bool = True


def edits(changes: Sequence[Change], project: Path | None = None, *, undo: bool = False) -> list[Edit]:
    """Return what the changes make of their files, or the texts without them; files that stay are left out.

    Args:
        changes: of the files of a client.
        project: the folder that the files belong to, resolved; None for those of the user.
        undo: take the changes back.

    Raises:
        InvalidArgument: a file cannot be read; the message says which and where.
    """
    found: dict[Path, list[Change]] = {}
    for change in changes:
        found.setdefault(change.file, []).append(change)
    made = []
    for file, own in found.items():
        try:
            before = _text(_target(file, project))
            after = _changed(file, before or "", own, undo)
        except (OSError, UnicodeDecodeError, jsonc.Unreadable) as error:
            raise _refused(file, error, project) from None
        if undo and before is None:
            continue
        original = next(_originals(file, before, own), None) if undo and before is not None else None
        after = after if original is None else original
        left = None if undo and not after.strip("{} \r\n") else after
        if left != before:
            made.append(Edit(file, before, left, project, left is not None and original is None))
    return made


def write(edit: Edit) -> Path | None:
    """Write a file as a whole, and keep the former text beside it; returns its path, if there was one.

    Raises:
        InvalidArgument: the file changed since, or cannot be written; it stays as it is.
    """
    try:
        after = None if edit.after is None else edit.after.encode()
        target = _target(edit.file, edit.project)  # a link to a file of dotfiles stays a link
        if _text(target) != edit.before:
            raise InvalidArgument(f"{edit.file} changed meanwhile and stays as it is: run the command again.")
        like = None if edit.before is None else target.lstat()
        kept = edit.before if edit.keeps else None
        backup = None if kept is None else _keep(edit.file, kept.encode(), like)
        if after is None:
            target.unlink()
        elif edit.project is None:
            plain_files.make_folder(target.parent)
            plain_files.replace(
                target, after, like=like, mode=0o700 if after.startswith(b"#!") else plain_files.PRIVATE
            )
        else:  # a file that is committed holds no secrets
            target.parent.mkdir(parents=True, exist_ok=True)
            plain_files.replace(target, after, mode=None, like=like)
    except (OSError, UnicodeError) as error:
        raise _refused(edit.file, error, edit.project) from None
    return backup


def content(file: Path) -> Any:
    """Return the contents of a settings file; None if there is none, or it cannot be read."""
    try:
        text = _text(Path(os.path.realpath(file)))
        return None if text is None else _PARSERS.get(file.suffix, jsonc.plain)(text)
    except (OSError, UnicodeDecodeError, jsonc.Unreadable):
        return None


def _target(file: Path, project: Path | None) -> Path:
    """Return where a file is, behind links.

    Raises:
        InvalidArgument: a link leads out of the project, or into a file that git keeps.
    """
    target = Path(os.path.realpath(file))
    if project is not None:
        for place in (target, Path(os.path.realpath(file.parent))):
            if not place.is_relative_to(project) or ".git" in place.relative_to(project).parts:
                raise InvalidArgument(
                    f"{file} leads by a link to {place}, which is not among the files of {project}: remove the link, "
                    "or run this without --folder."
                )
    return target


def _text(target: Path) -> str | None:
    most = _MOST_BYTES_OF_TOML if target.suffix == ".toml" else _MOST_BYTES
    try:
        return plain_files.read(target, most).decode()
    except FileNotFoundError:
        return None


def _refused(file: Path, error: Exception, project: Path | None) -> InvalidArgument:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    remedy = "Repair it, or name another --home." if project is None else "Repair or remove it."
    return InvalidArgument(f"{file} cannot be changed: {reason}. {remedy}")


def _backups(file: Path) -> Iterator[Path]:
    """The names for former contents of a file, the oldest first."""
    yield file.with_name(file.name + _BACKUP)
    for number in range(2, _MOST_BACKUPS + 1):
        yield file.with_name(f"{file.name}{_BACKUP}.{number}")


def _keep(file: Path, contents: bytes, like: os.stat_result | None) -> Path:
    """Write a backup and return where it is; no backup is overwritten, and the same is not kept twice."""
    for path in _backups(file):
        try:
            plain_files.create(path, contents, like=like)
        except FileExistsError:
            if _is_same(path, contents):
                return path
            continue
        return path
    raise InvalidArgument(
        f"{file} has {_MOST_BACKUPS} backups, named {file.name}{_BACKUP}: remove those that you do not need."
    )


def _is_same(path: Path, contents: bytes) -> bool:
    try:
        return plain_files.read(path, len(contents)) == contents
    except OSError:
        return False


def _originals(file: Path, before: str, changes: Sequence[Change]) -> Iterator[str]:
    """The backups from which the changes made the present file: nothing else has changed since."""
    for path in _backups(file):
        if not os.path.lexists(path):
            return
        try:
            text = plain_files.read(path, len(before.encode())).decode()
            if _changed(file, text, changes, False) == before and _changed(file, text, changes, True) == text:
                yield text
        except (OSError, UnicodeDecodeError, jsonc.Unreadable):
            continue


_PLUGIN = Path(__file__).parent / "plugin"
PLUGINS = {"claude-code": _PLUGIN, "codex": _PLUGIN, "cursor": _PLUGIN, "gemini-cli": _PLUGIN / "gemini"}
"""The folder that each client takes as its plugin or extension, which this package brings."""


def _changed(file: Path, text: str, changes: Sequence[Change], undo: bool) -> str:
    if changes[0].path == ():
        return _program(text, changes[0].value, undo)
    return {".toml": _toml, ".yaml": _yaml}.get(file.suffix, _json)(text, changes, undo)


def _program(text: str, own: str, undo: bool) -> str:
    """Return a program that is pgmem's alone, or nothing; that of a person stays, and nothing is written beside it."""
    if text and not is_own(text):
        if undo:
            return text
        raise jsonc.Unreadable("it is a program of yours")
    return "" if undo else own


def _json(text: str, changes: Sequence[Change], undo: bool) -> str:
    for change in changes:
        own = is_own if change.is_item else None
        if not undo:
            text = jsonc.put(text, change.path, change.value, own)
        elif change.path != ("version",):
            text = jsonc.take(text, change.path, own)
    if undo and jsonc.plain(text) == {"version": 1}:
        return ""
    return text


def _yaml(text: str, changes: Sequence[Change], undo: bool) -> str:
    for change in changes:
        own = is_own if change.is_item else None
        taken = yaml_text.take(text, change.path, own) if undo else None
        text = yaml_text.put(text, change.path, change.value, own) if taken is None else taken
    return text


def _parsed_toml(text: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text)
        documents.check(found, "it", values=_MOST_VALUES_OF_TOML)
    except RecursionError:
        raise jsonc.Unreadable(f"it is nested more than {documents.NESTING} levels deep") from None
    except (tomllib.TOMLDecodeError, InvalidArgument) as error:
        raise jsonc.Unreadable(str(error).rstrip(".")) from None
    return found


def _toml(text: str, changes: Sequence[Change], undo: bool) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    _parsed_toml(text)
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise jsonc.Unreadable(str(error)) from None
    for change in changes:
        table, name = change.path
        if not isinstance(document.get(table, {}), Mapping):
            raise jsonc.Unreadable(f"{table} is not a table")
        if undo:
            if name in document.get(table, {}):
                del document[table][name]
                if not document[table]:
                    del document[table]
        else:
            if table not in document:
                document[table] = tomlkit.table(is_super_table=True)
            document[table][name] = _table(change.value)
    return tomlkit.dumps(document)


def _table(value: Mapping[str, Any]) -> Any:
    import tomlkit

    found = tomlkit.table()
    for name, item in value.items():
        found[name] = item
    return found


_PARSERS: Mapping[str, Callable[[str], Any]] = {".toml": _parsed_toml, ".yaml": yaml_text.plain}

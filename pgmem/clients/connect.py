"""Connecting a client: its files as they are, as they become, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pgmem.clients import jsonc
from pgmem.clients.catalog import Change, is_own
from pgmem.errors import InvalidArgument

_BACKUP = ".before-pgmem"


class Edit(NamedTuple):
    """A file with its text before and after; None: no file."""

    file: Path
    before: str | None
    after: str | None


def edits(changes: Sequence[Change], *, undo: bool = False) -> list[Edit]:
    """Return what the changes make of their files, or what is left without them; files that stay are left out.

    Raises:
        InvalidArgument: a file cannot be read; the message says which and where.
    """
    found: dict[Path, list[Change]] = {}
    for change in changes:
        found.setdefault(change.file, []).append(change)
    made = []
    for file, own in found.items():
        try:
            before = file.read_text("utf-8") if file.exists() else None
            after = _changed(file, before or "", own, undo)
            kept = file.with_name(file.name + _BACKUP)
            if undo and before is not None and kept.exists():
                text = kept.read_text("utf-8")
                # Nothing else has changed since: what was there without pgmem comes back to the letter.
                if _changed(file, text, own, False) == before and _changed(file, text, own, True) == text:
                    after = text
        except (OSError, UnicodeDecodeError, jsonc.Unreadable) as error:
            raise InvalidArgument(
                f"{file} cannot be changed: {error}. Repair it, or name another --home."
            ) from None
        if undo and before is None:
            continue
        left = None if undo and not after.strip("{} \n") else after
        if left != before:
            made.append(Edit(file, before, left))
    return made


def write(edit: Edit) -> Path | None:
    """Write a file as a whole, and keep what was there beside it; returns where that is, if anything was there."""
    backup = None
    if edit.before is not None:
        backup = edit.file.with_name(edit.file.name + _BACKUP)
        backup.write_text(edit.before, "utf-8")
        backup.chmod(edit.file.stat().st_mode & 0o777)
    if edit.after is None:
        edit.file.unlink()
        return backup
    target = Path(os.path.realpath(edit.file))  # a link to a file of dotfiles stays a link
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f"{target.name}.{os.getpid()}")
    new.write_text(edit.after, "utf-8")
    if target.exists():
        new.chmod(target.stat().st_mode & 0o777)
    new.replace(target)
    return backup


def plugin_folder() -> Path:
    """Return the folder of the plugin for Claude Code, which this package brings."""
    return Path(__file__).parent / "claude-code-plugin"


def _changed(file: Path, text: str, changes: Sequence[Change], undo: bool) -> str:
    return _toml(text, changes, undo) if file.suffix == ".toml" else _json(text, changes, undo)


def _json(text: str, changes: Sequence[Change], undo: bool) -> str:
    for change in changes:
        own = is_own if change.is_item else None
        if not undo:
            text = jsonc.put(text, change.path, change.value, own)
        elif change.path != ("version",):
            text = jsonc.take(text, change.path, own)
    if undo and _plain(text) == {"version": 1}:
        return ""
    return text


def _plain(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return None


def _toml(text: str, changes: Sequence[Change], undo: bool) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise jsonc.Unreadable(str(error)) from None
    for change in changes:
        table, name = change.path
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

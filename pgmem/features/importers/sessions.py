"""The files in which clients keep their sessions: a line is an entry, or a file is one document."""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pgmem import documents
from pgmem.errors import InvalidArgument
from pgmem.features.importers import tasks, threads
from pgmem.features.importers.records import unreadable
from pgmem.foreign import Account, in_utf_8
from pgmem.transcripts.reading import Reader, Turn, of_file, with_times

Found = Iterator[tuple[list[Turn], str | None]]

_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (".jsonl",),
    "codex": (".jsonl",),
    "cursor": (".jsonl", ".txt"),
    "gemini-cli": (".jsonl", ".json"),
    "copilot": (".jsonl", ".json"),
    "qwen-code": (".jsonl",),
    "windsurf": (".jsonl",),
    "zed": (".json",),
    "cline": (".json",),
    "opencode": (".json",),
}
_TASK = ("ui_messages.json", "api_conversation_history.json")
"""The files of a task of Cline that hold all of its messages, the one with more of their times first."""
_PATCH = re.compile(rb'\{"kind": ?[0-3]\b')  # the first line of a chat session of VS Code, kept as changes
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip")


def _read(client: str, path: Path, account: Account) -> Found:
    """Read the sessions of a file or folder; a file that cannot be read is left out by its name."""
    for file in _files(client, path, account):
        reader = Reader(file.name, client)
        try:
            turns = _turns(client, file, reader)
            seconds = file.stat().st_mtime
        except (OSError, InvalidArgument, zlib.error, EOFError) as error:
            account.leave(file.name, None, unreadable(error))
            continue
        finally:
            account.add(reader.account)
        session = reader.session or _session_of(file)
        timed = with_times(turns, reader.began, of_file(seconds))
        named = [{**turn, "session": turn.get("session") or session} for turn in timed]
        if named:
            yield named, reader.folder


def _turns(client: str, file: Path, reader: Reader) -> list[Turn]:
    contents = in_utf_8(b"".join(_lines(file)))
    if client in ("cline", "opencode"):
        whole = _value(contents, file)
        return tasks.of_cline(whole, reader) if client == "cline" else tasks.of_opencode(whole, reader)
    if file.name.removesuffix(".gz").endswith(".txt"):
        return threads.of_text(contents.decode(errors="replace"), reader)
    if file.name.removesuffix(".gz").endswith(".json"):
        return threads.read(client, _document(contents, file), reader)
    if client == "copilot" and _PATCH.match(contents):
        return threads.of_patches(contents, reader)
    turns = reader.read(contents)
    return _last_of_each(turns) if client == "gemini-cli" else turns


def _document(contents: bytes, file: Path) -> dict[str, Any]:
    found = _value(contents, file)
    if not isinstance(found, dict):
        raise InvalidArgument("it is not a JSON object")
    return found


def _value(contents: bytes, file: Path) -> Any:
    try:
        return documents.parse(contents.decode("utf-8-sig", "replace"), file.name)
    except ValueError as error:
        raise InvalidArgument(f"it is not JSON: {error}") from error


def _last_of_each(turns: Iterable[Turn]) -> list[Turn]:
    """Keep of each message its last state: a client that appends writes a message again when it has grown."""
    found: dict[str, Turn] = {}
    for turn in turns:
        found[turn["id"]] = {**turn, **{k: v for k, v in found.get(turn["id"], {}).items() if k == "at"}}
    return list(found.values())


def _files(client: str, path: Path, account: Account) -> list[Path]:
    """Return the files of a path; in a folder those with the endings of the client, links not followed."""
    if path.is_file():
        return [path]
    found = []
    for file in sorted(path.rglob("*")):
        name = file.name
        bare = next((name.removesuffix(end) for end in _PACKED if name.endswith(end)), name)
        if not bare.endswith(_ENDINGS[client]):
            continue
        if file.is_symlink():
            account.leave(str(file.relative_to(path)), None, "it is a link: name it itself to import it")
        elif not file.is_file():
            continue
        elif bare != name and not name.endswith(".gz"):
            account.leave(str(file.relative_to(path)), None, _packed(name))
        elif client == "cline" and bare != next(
            (each for each in _TASK if file.with_name(each).is_file()), bare
        ):
            continue  # another file of the same task
        else:
            found.append(file)
    return found


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, as far as it reaches when it is opened; one that gzip packed is unpacked.

    Raises:
        InvalidArgument: it is too large, or packed otherwise.
    """
    with file.open("rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise InvalidArgument("it is not a regular file")
        most = documents.UNPACKED_BYTES
        if about.st_size > most:
            raise InvalidArgument(f"it is larger than {most // 2**20} MiB: split it at the ends of lines")
        start = opened.read(4)
        opened.seek(0)
        if start[:2] == b"\x1f\x8b":
            unpacked = gzip.GzipFile(fileobj=opened).read(most + 1)
            if len(unpacked) > most:
                raise InvalidArgument(
                    f"it unpacks to more than {most // 2**20} MiB: split it at the ends of lines"
                )
            yield unpacked
        elif start in (b"\x28\xb5\x2f\xfd", b"\xfd7zX", b"PK\x03\x04") or start[:3] == b"BZh":
            raise InvalidArgument(_packed(file.name))
        else:
            yield opened.read(about.st_size)


def _packed(name: str) -> str:
    tool = {".zst": "unzstd", ".xz": "unxz", ".bz2": "bunzip2", ".zip": "unzip"}.get(Path(name).suffix)
    return f"it is compressed: unpack it{f' with {tool}' if tool else ''}, and import what is in it"


def _session_of(file: Path) -> str:
    """Return the session that the name of a file is of, or its folder, where each has a file of the same name."""
    stem = file.name.removesuffix(".gz").rpartition(".")[0] or file.name
    return file.parent.name if stem in ("events", "ui_messages", "api_conversation_history") else stem


CLIENTS: Mapping[str, Callable[[Path, Account], Found]] = {
    client: partial(_read, client) for client in _ENDINGS
}
"""The readers, by the name of the client."""

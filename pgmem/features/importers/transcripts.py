"""Whole histories of conversations, as their clients keep or export them, taken in as turns.

    claude-code   a transcript (SESSION.jsonl), or a folder of them (~/.claude/projects)
    codex         a rollout (rollout-*.jsonl), or a folder of them (~/.codex/sessions)
    chatgpt       conversations.json of the data export, or the folder or zip file that holds it
    claude        conversations.json of the data export of claude.ai, or the folder or zip file that holds it

A turn is named by its client, session and id, so a history can be imported again, after a break too, and nothing is
doubled. Of a conversation with branches, the one that the client shows is taken.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgmem import documents, transcripts
from pgmem.errors import InvalidArgument, PgmemError
from pgmem.memory import Memory
from pgmem.models import Imported
from pgmem.workspace.identity import chosen_project

Turn = dict[str, str]

_TURNS = 100
"""Turns in one save."""
_CHARS = 400_000
"""Characters in one save, about; a turn has at most 100 000."""
_EXPORTS = 200
"""Files of conversations in one export; large ones are split."""


@dataclass(frozen=True)
class Conversation:
    """A conversation: its id in its client, its turns in order, and the folder that it was held in, where known."""

    session_id: str
    turns: list[Turn] = field(default_factory=list)
    folder: str | None = None


def read(client: str, path: Path) -> Iterator[Conversation]:
    """Return the conversations of a file or folder, one after the other; those without turns are left out.

    Raises:
        InvalidArgument: no turn is there, a file is not in that format, or one is too large or too deep.
    """
    empty = True
    for conversation in CLIENTS[client](path):
        if conversation.turns:
            empty = False
            yield conversation
    if empty:
        raise InvalidArgument(f"{path} holds no conversations of {client}: is --from right?")


async def load(
    memory: Memory,
    client: str,
    path: Path,
    project: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Imported:
    """Keep the turns of all conversations of a file or folder.

    Args:
        memory: the store.
        client: a name of CLIENTS.
        path: the file or folder.
        project: the project of all turns; None takes that of the folder that each conversation was held in.
        progress: called after each save with the number of turns, twice, as their total is not known before the end.

    Returns:
        How many turns were kept, were present already, and were left out by reason.

    Raises:
        InvalidArgument: the path cannot be read, or a conversation has no folder and project is None.
    """
    kept, known = 0, 0
    left_out = Counter[str]()
    for conversation in read(client, path):
        name = project or await _project(memory, conversation)
        for batch in _batches(conversation.turns):
            part: Any
            for part in (batch, *([turn] for turn in batch)):  # the second time, each turn for itself
                try:
                    done = await memory.capture_turns(client, conversation.session_id, part, name)
                except InvalidArgument as error:
                    if len(part) == 1:
                        left_out[f"turns: {str(error).rstrip('.')}"] += 1
                    continue
                kept, known = kept + done.captured, known + done.known
                if part is batch:
                    break
            if progress is not None:
                progress(kept + known, kept + known)
    return Imported(taken=kept, present=known, left_out=dict(left_out))


async def _project(memory: Memory, conversation: Conversation) -> str:
    if conversation.folder is None:
        raise InvalidArgument(
            f"Conversation {conversation.session_id[:80]} names no folder: send --project, the project of its turns."
        )
    folder = Path(conversation.folder)
    if folder.is_dir():
        return await memory.project_of(folder, create=True)
    return chosen_project(folder) or folder.name or "root"


def _batches(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    chars = 0
    for turn in turns:
        if batch and (len(batch) == _TURNS or chars + len(turn["content"]) > _CHARS):
            yield batch
            batch, chars = [], 0
        # A client that cuts texts by UTF-16 units leaves half an emoji.
        batch.append({**turn, "content": turn["content"].encode("utf-8", "replace").decode()})
        chars += len(turn["content"])
    if batch:
        yield batch


# Transcripts: a line is an entry


def _claude_code(path: Path) -> Iterator[Conversation]:
    """Read transcripts of Claude Code; a file of a subagent belongs to the session that it names."""
    for file in _files(path, "*.jsonl"):
        session, folder, kept = file.stem, None, []
        for line in _lines(file):
            entry = _entry(line)
            session = str(entry.get("sessionId") or session)
            folder = folder or _text(entry.get("cwd"))
            kept += [line] if entry else []
        yield Conversation(session, list(transcripts.turns(kept)), folder)


def _codex(path: Path) -> Iterator[Conversation]:
    """Read rollouts of Codex: entries with a payload, or, before 0.40, the entries bare."""
    for file in _files(path, "*.jsonl"):
        session, folder, kept = file.stem, None, []
        for number, line in enumerate(_lines(file)):
            entry = _entry(line)
            meta = entry.get("payload") if entry.get("type") == "session_meta" else None
            if number == 0 and meta is None and "payload" not in entry:
                meta = entry
            if isinstance(meta, dict):
                session = str(meta.get("id") or session)
                folder = folder or _text(meta.get("cwd"))
            if "payload" not in entry and entry.get("type") == "message":
                line = json.dumps({"type": "response_item", "payload": entry, "at": number})
            kept += [line] if entry else []
        yield Conversation(session, list(transcripts.turns(kept)), folder)


def _files(path: Path, pattern: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidArgument(f"{path} is neither a file nor a folder.")
    return sorted(file for file in path.rglob(pattern) if file.is_file())


def _lines(file: Path) -> Iterator[str]:
    size = 0
    with file.open(encoding="utf-8", errors="replace") as opened:
        for line in documents.lines(opened, file.name):
            size += len(line)
            if size > documents.UNPACKED_BYTES:
                raise InvalidArgument(f"{file.name} is larger than {documents.UNPACKED_BYTES // 2**20} MiB.")
            yield line


def _entry(line: str) -> dict[str, Any]:
    """Return the entry of a line; an empty one where the line cannot be read or is nested too deeply."""
    try:
        found = documents.parse(line, "a line")
    except (ValueError, PgmemError):
        return {}
    return found if isinstance(found, dict) else {}


# Exports: one document of all conversations


def _chatgpt(path: Path) -> Iterator[Conversation]:
    """Read {conversation_id, current_node, mapping: {id: {parent, message: {author, content, create_time}}}}."""
    for found in _exported(path):
        mapping = found.get("mapping")
        if not isinstance(mapping, dict):
            continue
        session = str(found.get("conversation_id") or found.get("id") or "")
        turns = [turn for message in _branch(found, mapping) if (turn := _said_in_chatgpt(message))]
        if session:
            yield Conversation(session, turns)


def _branch(conversation: Mapping[str, Any], mapping: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages from the root to the node that the client shows; a loop of parents ends it."""
    place, messages = conversation.get("current_node"), list[Mapping[str, Any]]()
    seen = set[str]()
    if not isinstance(place, str) or place not in mapping:  # then the last leaf
        place = next(
            (key for key in reversed(list(mapping)) if not _node(mapping, key).get("children")), None
        )
    while isinstance(place, str) and place in mapping and place not in seen:
        seen.add(place)
        node = _node(mapping, place)
        if isinstance(node.get("message"), dict):
            messages.append({"id": place, **node["message"]})
        place = node.get("parent")
    return messages[::-1]


def _node(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    node = mapping[key]
    return node if isinstance(node, dict) else {}


def _said_in_chatgpt(message: Mapping[str, Any]) -> Turn | None:
    author, content, meta = (message.get(name) or {} for name in ("author", "content", "metadata"))
    if not all(isinstance(part, dict) for part in (author, content, meta)):
        return None
    if meta.get("is_visually_hidden_from_conversation") or message.get("recipient") not in (None, "all"):
        return None
    if content.get("content_type") not in (None, "text", "multimodal_text"):
        return (
            None  # code that it ran, what tools answered, its reasoning, what a person said about themselves
        )
    parts = content.get("parts") or []
    text = "\n\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
    return _turn(message.get("id"), author.get("role"), text, message.get("create_time"))


def _claude(path: Path) -> Iterator[Conversation]:
    """Read {uuid, chat_messages: [{uuid, sender: human or assistant, text, content: [{type, text}], created_at}]}."""
    for found in _exported(path):
        messages = found.get("chat_messages")
        if not isinstance(messages, list) or not found.get("uuid"):
            continue
        turns = [turn for message in messages if (turn := _said_in_claude(message))]
        yield Conversation(str(found["uuid"]), turns)


def _said_in_claude(message: object) -> Turn | None:
    if not isinstance(message, dict):
        return None
    parts = message.get("content")
    texts = [
        str(part["text"])
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and part.get("type") == "text" and part.get("text")
    ]
    text = "\n\n".join(texts) or str(message.get("text") or "")
    role = {"human": "user", "assistant": "assistant"}.get(str(message.get("sender")))
    return _turn(message.get("uuid"), role, text, message.get("created_at"))


def _turn(name: object, role: object, text: str, at: object) -> Turn | None:
    content = transcripts.said(text)
    if role not in ("user", "assistant") or not name or not content:
        return None
    turn = {"id": str(name), "role": str(role), "content": content}
    if isinstance(at, int | float) and 0 < at < 1e11:
        turn["at"] = datetime.fromtimestamp(at, UTC).isoformat()
    elif isinstance(at, str) and at:
        turn["at"] = at
    return turn


def _exported(path: Path) -> Iterator[dict[str, Any]]:
    for name, raw in _documents(path):
        try:
            found = documents.parse(raw, name)
        except ValueError as error:
            raise InvalidArgument(f"{name} is not JSON: {error}.") from error
        for conversation in found if isinstance(found, list) else [found]:
            if isinstance(conversation, dict):
                yield conversation


def _documents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Return conversations.json and its further parts (conversations-001.json) of a file, a folder or a zip file."""
    if path.is_dir():
        for file in sorted(path.glob("conversations*.json"))[:_EXPORTS]:
            yield file.name, documents.read_bytes(file)
    elif not path.is_file():
        raise InvalidArgument(f"{path} is neither a file nor a folder.")
    elif not zipfile.is_zipfile(path):
        yield path.name, documents.read_bytes(path)
    else:
        with documents.archive(path) as packed:
            names = sorted(n for n in packed.namelist() if Path(n).match("conversations*.json"))
            for name in names[:_EXPORTS]:
                with packed.open(name) as member:
                    yield name, documents.unpack(member, name)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


CLIENTS: Mapping[str, Callable[[Path], Iterator[Conversation]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "chatgpt": _chatgpt,
    "claude": _claude,
}
"""The readers, by the name of the client."""

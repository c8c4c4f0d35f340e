"""The data exports of ChatGPT and claude.ai: one document of all conversations."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pgmem import documents
from pgmem.errors import InvalidArgument
from pgmem.features.importers.records import unreadable
from pgmem.foreign import Account, holds_words
from pgmem.transcripts.forms import Spoken, kind_of
from pgmem.transcripts.reading import Reader, Turn, of_file, with_times

Found = Iterator[tuple[list[Turn], str | None]]

_NO_CONVERSATIONS = {
    "memories.json": "no conversations but texts that the service wrote about its user",
    "projects.json": "no conversations but instructions and documents of projects",
}
_EXPORTS = 200
"""Files of conversations in one export; large ones are split."""


def _chatgpt(path: Path, account: Account) -> Found:
    """Read {conversation_id, current_node, mapping: {id: {parent, message: {author, content, create_time}}}}."""
    for where, found, seconds in _exported(path, account):
        mapping = found.get("mapping")
        session = str(found.get("conversation_id") or found.get("id") or "")
        if not isinstance(mapping, dict) or not session:
            account.leave(where, None, "its messages are not in `mapping`" if session else "it has no id")
            continue
        reader = Reader(where)
        reader.form = "chatgpt"
        spoken = list[tuple[int | None, Spoken]]()
        for message in _branch(found, mapping, reader):
            if (said := _said_in_chatgpt(message, reader)) is not None:
                spoken.append((None, said))
        yield from _conversation(reader, session, spoken, account, found.get("create_time"), seconds)


def _branch(
    conversation: Mapping[str, Any], mapping: Mapping[str, Any], reader: Reader
) -> list[Mapping[str, Any]]:
    """Return the messages from the root to the node that the client shows; a loop of parents ends it."""
    place, messages = conversation.get("current_node"), list[Mapping[str, Any]]()
    seen = set[str]()
    if not isinstance(place, str) or place not in mapping:  # then the last leaf
        place = next(
            (key for key in reversed(list(mapping)) if not _node(mapping, key).get("children")), None
        )
    while isinstance(place, str) and place in mapping and place not in seen:
        seen.add(place)
        node = mapping[place]
        if not isinstance(node, dict):
            reader.account.leave(f"message {place[:60]} of {reader.file}", None, "it is not a JSON object")
            place = next((key for key in mapping if place in _children(mapping, key)), None)
            continue
        message = node.get("message")
        if isinstance(message, dict):
            messages.append({"id": place, **message})
        elif message is not None or holds_words(node):
            reader.account.leave(f"message {place[:60]} of {reader.file}", None, "it is not a JSON object")
        parent = node.get("parent")
        if not isinstance(parent, str) or parent not in mapping:
            parent = next((key for key in mapping if place in _children(mapping, key)), None)
        place = parent
    return messages[::-1]


def _node(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    node = mapping[key]
    return node if isinstance(node, dict) else {}


def _children(mapping: Mapping[str, Any], key: str) -> list[Any]:
    found = _node(mapping, key).get("children")
    return found if isinstance(found, list) else []


_CHATGPT_SILENT = frozenset(
    "code execution_output system_error thoughts reasoning_recap tether_browsing_display sonic_webpage"
    " computer_output citable_code_output app_pairing_content model_editable_context user_editable_context"
    " super_widget".split()
)
_CHATGPT_SILENT_PARTS = frozenset(
    "image_asset_pointer audio_asset_pointer real_time_user_audio_video_asset_pointer"
    " video_container_asset_pointer file_asset_pointer".split()
)


def _said_in_chatgpt(message: Mapping[str, Any], reader: Reader) -> Spoken | None:
    name = message.get("id")
    where = f"message {str(name)[:60]} of {reader.file}"
    author, content, meta = (message.get(each) or {} for each in ("author", "content", "metadata"))
    if not all(isinstance(part, dict) for part in (author, content, meta)):
        reader.account.leave(where, None, "its author, content or metadata is not a JSON object")
        return None
    if meta.get("is_visually_hidden_from_conversation") or meta.get("is_user_system_message"):
        return None
    role = author.get("role")
    kind, recipient = kind_of(content, "content_type"), message.get("recipient") or "all"
    if not isinstance(role, str) or not isinstance(recipient, str):
        reader.account.leave(where, None, "it does not say whose it is, or to whom")
        return None
    if role == "assistant" and recipient.startswith("canmore."):
        parts = list(_canvas(content))  # a text that it wrote beside the conversation
    elif recipient != "all" or role not in ("user", "assistant"):
        if role not in ("system", "tool", "user", "assistant", "developer"):
            reader.meet(f"the role {role[:60]}")
        return None
    elif kind in (None, "text", "multimodal_text", "tether_quote"):
        parts = list(_chatgpt_parts(content, reader))
        parts += _pasted(meta.get("attachments"), "name")
    else:
        if kind not in _CHATGPT_SILENT and holds_words(content):
            reader.meet(f"the content type {str(kind)[:60]}")
        return None
    if not parts and not isinstance(content.get("parts"), list) and holds_words(content):
        reader.account.leave(where, None, "its content has no text")
    return Spoken(
        role, parts, str(name) if name else None, message.get("create_time"), by_person=role == "user"
    )


def _chatgpt_parts(content: Mapping[str, Any], reader: Reader) -> Iterator[str]:
    if content.get("content_type") == "tether_quote":  # a passage of a file or page that was pasted
        yield "\n".join(str(content[name]) for name in ("title", "text") if content.get(name))
        return
    parts = content.get("parts")
    parts = [parts] if isinstance(parts, str) else parts
    for part in parts if isinstance(parts, list) else []:
        kind = kind_of(part, "content_type") if isinstance(part, dict) else None
        if isinstance(part, str):
            yield part
        elif kind in ("audio_transcription", "text", "tether_quote") and isinstance(part.get("text"), str):
            yield part["text"]  # voice
        elif isinstance(part, dict) and kind not in _CHATGPT_SILENT_PARTS and holds_words(part):
            reader.meet(f"the part type {str(kind)[:60]}")
    if not isinstance(parts, list) and isinstance(content.get("text"), str):
        yield content["text"]


def _canvas(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of a canvas that is written: {name, type, content}, or its replaced parts."""
    parts = content.get("parts")
    for text in parts if isinstance(parts, list) else [content.get("text")]:
        if not isinstance(text, str):
            continue
        try:
            found = documents.parse(text, "a canvas")
        except (ValueError, InvalidArgument):
            continue
        if not isinstance(found, dict):
            continue
        if isinstance(found.get("content"), str):
            yield "\n".join(filter(None, (str(found.get("name") or ""), found["content"])))
        updates = found.get("updates")
        for update in updates if isinstance(updates, list) else []:
            if isinstance(update, dict) and isinstance(update.get("replacement"), str):
                yield update["replacement"]


def _pasted(attachments: object, name: str) -> list[str]:
    """Return the texts that a person pasted, each after the name of its file."""
    return [
        "\n".join(filter(None, (str(each.get(name) or ""), each["extracted_content"])))
        for each in (attachments if isinstance(attachments, list) else [])
        if isinstance(each, dict)
        and isinstance(each.get("extracted_content"), str)
        and each["extracted_content"]
    ]


def _claude(path: Path, account: Account) -> Found:
    """Read {uuid, chat_messages: [{uuid, sender: human or assistant, text, content, attachments, created_at}]}."""
    for where, found, seconds in _exported(path, account):
        messages, session = found.get("chat_messages"), found.get("uuid")
        if not isinstance(messages, list) or not session:
            account.leave(where, None, "it has no uuid, or its messages are not in `chat_messages`")
            continue
        reader = Reader(where)
        reader.form = "claude"
        spoken = list[tuple[int | None, Spoken]]()
        for number, message in enumerate(messages, 1):
            reader.number = number
            if (said := _said_in_claude(message, f"message {number} of {where}", reader)) is not None:
                spoken.append((number, said))
        yield from _conversation(reader, str(session), spoken, account, found.get("created_at"), seconds)


_CLAUDE_MESSAGE = frozenset(
    "uuid text content sender created_at updated_at attachments files files_v2 sync_sources parent_message_uuid"
    " index truncated stop_reason chat_feedback input_mode feedback".split()
)
_CLAUDE_SILENT = frozenset(
    "thinking redacted_thinking tool_use tool_result image voice_note token_budget flag server_tool_use"
    " web_search_tool_result knowledge".split()
)


def _said_in_claude(message: object, where: str, reader: Reader) -> Spoken | None:
    if not isinstance(message, dict):
        reader.account.leave(where, None, "it is not a JSON object")
        return None
    role = {"human": "user", "assistant": "assistant"}.get(str(message.get("sender")))
    if role is None:
        reader.account.leave(
            where, None, f"its sender is {str(message.get('sender'))[:40]!r}, not human or assistant"
        )
        return None
    for name, value in message.items():
        if name not in _CLAUDE_MESSAGE and holds_words(value):
            reader.meet(f"the field {str(name)[:60]} of messages")
    content = message.get("content")
    content = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts = [
        text for part in (content if isinstance(content, list) else []) for text in _claude_part(part, reader)
    ]
    if not parts and isinstance(message.get("text"), str):
        parts = [message["text"]]
    parts += _pasted(message.get("attachments"), "file_name")
    if not parts and (
        holds_words(message.get("text")) or (isinstance(content, dict) and holds_words(content))
    ):
        reader.account.leave(where, None, "its text is not a text")
    name = message.get("uuid")
    return Spoken(
        role, parts, str(name) if name else None, message.get("created_at"), by_person=role == "user"
    )


def _claude_part(part: object, reader: Reader) -> Iterator[str]:
    if isinstance(part, str):
        yield part
        return
    if not isinstance(part, dict):
        if holds_words(part):
            reader.meet("a part that is not a JSON object")
        return
    kind, given = kind_of(part), part.get("input")
    if kind in ("text", "voice_note") and isinstance(part.get("text"), str):
        yield part["text"]
    elif kind == "tool_use" and part.get("name") == "artifacts" and isinstance(given, dict):
        # A text that it wrote beside the conversation: whole, or the lines that it changed.
        text = given.get("content") or given.get("new_str")
        if isinstance(text, str):
            yield "\n".join(filter(None, (str(given.get("title") or ""), text)))
    elif kind not in _CLAUDE_SILENT and holds_words(part):
        reader.meet(f"the part type {str(kind)[:60]}")


def _conversation(
    reader: Reader,
    session: str,
    spoken: list[tuple[int | None, Spoken]],
    account: Account,
    began: object,
    seconds: float,
) -> Found:
    reader.session = session
    turns = with_times(reader.hear(spoken), began, of_file(seconds))
    account.add(reader.account)
    if turns:
        yield [{**turn, "session": session} for turn in turns], None


def _exported(path: Path, account: Account) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Yield the conversations of an export, each with its name in the account and the time of its file."""
    for name, raw, seconds in _documents(path, account):
        try:
            found = documents.parse(raw.decode("utf-8-sig", "replace"), name)
        except ValueError as error:
            account.leave(
                name, None, f"it is not JSON ({error}); it may be half a file: download the export again"
            )
            continue
        except InvalidArgument as error:
            account.leave(name, None, str(error))
            continue
        if isinstance(found, dict) and isinstance(found.get("conversations"), list):
            found = found["conversations"]
        for number, conversation in enumerate(found if isinstance(found, list) else [found], 1):
            if isinstance(conversation, dict):
                yield f"conversation {number} of {name}", conversation, seconds
            else:
                account.leave(f"conversation {number} of {name}", None, "it is not a JSON object")


def _documents(path: Path, account: Account) -> Iterator[tuple[str, bytes, float]]:
    """Return conversations.json and its further parts (conversations-001.json) of a file, a folder or a zip file."""
    seconds = path.stat().st_mtime
    if path.is_dir():
        _name_others((file.name for file in path.glob("*.json")), account)
        for file in sorted(path.glob("conversations*.json"))[:_EXPORTS]:
            try:
                yield file.name, documents.read_bytes(file), file.stat().st_mtime
            except (OSError, InvalidArgument, EOFError) as error:
                account.leave(file.name, None, unreadable(error))
    elif not zipfile.is_zipfile(path):
        try:
            yield path.name, documents.read_bytes(path), seconds
        except (OSError, EOFError) as error:
            raise InvalidArgument(f"{path} is not taken: {unreadable(error)}.") from error
    else:
        with documents.archive(path) as packed:
            _name_others((Path(n).name for n in packed.namelist()), account)
            names = sorted(n for n in packed.namelist() if Path(n).match("conversations*.json"))
            for name in names[:_EXPORTS]:
                with packed.open(name) as member:
                    yield name, documents.unpack(member, name), seconds


def _name_others(names: Iterable[str], account: Account) -> None:
    """Name the files of an export that hold texts and no conversations, each with the way to keep it."""
    for name in sorted(names):
        if name in _NO_CONVERSATIONS:
            account.leave(
                name, None, f"it holds {_NO_CONVERSATIONS[name]}: keep them with pgmem save context"
            )


CLIENTS: Mapping[str, Callable[[Path, Account], Found]] = {"chatgpt": _chatgpt, "claude": _claude}
"""The readers, by the name of the client."""

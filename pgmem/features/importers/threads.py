"""Sessions that a client keeps as one document: Zed, VS Code, and Gemini CLI and Cursor before they wrote lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pgmem.foreign import Line, holds_words, json_lines
from pgmem.transcripts.forms import Spoken, kind_of, texts
from pgmem.transcripts.reading import Reader, Turn

_SPEAKERS = re.compile(r"^(user|assistant|A|tool|system):[ \t]*\n", re.MULTILINE)
_NOT_SPOKEN = re.compile(r"^\[(?:Thinking|Tool call|Tool result)\]", re.MULTILINE)
_SILENT_KINDS = frozenset(
    "thinking toolInvocation toolInvocationSerialized prepareToolInvocation mcpServersStarting undoStop"
    " codeblockUri textEditGroup notebookEditGroup progressMessage progressTask progressTaskSerialized"
    " confirmation elicitation elicitation2 elicitationSerialized extensions warning command reference references"
    " treeData multiDiffData multiDiff pullRequest questionCarousel todoList hook externalEdit workspaceEdit move"
    " clearToPreviousToolInvocation planReview".split()
)
_REQUEST = frozenset(
    "requestId timestamp message variableData response responseId result followups isCanceled isHidden agent"
    " slashCommand usedContext contentReferences codeCitations timeSpentWaiting modelId modelState"
    " responseMarkdownInfo confirmation editedFileEvents modeInfo voteDownReason vote attempt"
    " shouldBeRemovedOnSend responseTokens".split()
)
_ZED_SILENT = frozenset("Thinking RedactedThinking ToolUse Image".split())


def read(client: str, found: Mapping[str, Any], reader: Reader) -> list[Turn]:
    """Return the turns of a document of a client; another document has none."""
    if client == "gemini-cli":
        head = {name: value for name, value in found.items() if name != "messages"}
        given = found.get("messages")
        messages = given if isinstance(given, list) else []
        return reader.take(
            [Line(0, head, None), *(Line(n, each, None) for n, each in enumerate(messages, 1))]
        )
    reader.form = client
    spoken = _chat(found, reader) if client == "copilot" else _zed(found, reader)
    return reader.hear(list(spoken))


def of_text(text: str, reader: Reader) -> list[Turn]:
    """Return the turns of a transcript of Cursor as text: `user:` and `assistant:` on separate lines."""
    reader.form = "cursor"
    spoken, parts = list[tuple[int, Spoken]](), _SPEAKERS.split(text)
    number = 1 + parts[0].count("\n")
    if parts[0].strip():
        reader.account.leave(reader.file, 1, "it is before the first line that names who speaks")
    for name, said in zip(parts[1::2], parts[2::2], strict=True):
        if name in ("user", "assistant", "A"):
            role = "user" if name == "user" else "assistant"
            spoken.append((number, Spoken(role, [said if role == "user" else _spoken_part(said)])))
        number += 1 + said.count("\n")
    return reader.hear(spoken)


def _spoken_part(text: str) -> str:
    """Return an agent's words without its thinking, calls and their results, which end with an empty line."""
    kept = [part for part in text.split("\n\n") if not _NOT_SPOKEN.match(part.lstrip("\n"))]
    return "\n\n".join(kept).strip()


def of_patches(contents: bytes, reader: Reader) -> list[Turn]:
    """Return the turns of a chat session of VS Code that is kept as changes: whole, set, added (2), removed (3)."""
    whole: Any = {}
    for number, line, reason in json_lines(contents):
        try:
            whole = _changed(whole, line)
        except (KeyError, IndexError, TypeError, ValueError):
            reader.account.leave(reader.file, number, reason or "it changes nothing that is there")
    return read("copilot", whole if isinstance(whole, dict) else {}, reader)


def _changed(whole: Any, line: Any) -> Any:
    kind, path, value = line["kind"], line.get("k") or [], line.get("v")
    if kind == 0:
        return value
    if kind not in (1, 2, 3):
        raise ValueError(kind)
    place = whole
    for key in path[:-1]:
        place = place[key]
    if kind == 1:
        place[path[-1]] = value
    elif kind == 2:
        listed = place.setdefault(path[-1], []) if isinstance(place, dict) else place[path[-1]]
        if isinstance(line.get("i"), int):
            del listed[line["i"] :]
        listed.extend(value or [])
    else:
        del place[path[-1]]
    return whole


def _chat(found: Mapping[str, Any], reader: Reader) -> Iterator[tuple[int, Spoken]]:
    """Read {sessionId, requests: [{requestId, timestamp, message: {text}, response: [{value} or {kind, …}]}]}."""
    reader.session = reader.session or _text(found.get("sessionId"))
    reader.began = reader.began or found.get("creationDate")
    reader.release = reader.release or _text(found.get("version")) or ""
    requests = found.get("requests")
    for number, request in enumerate(requests if isinstance(requests, list) else [], 1):
        if not isinstance(request, dict):
            reader.account.leave(reader.file, number, "the request is not a JSON object")
            continue
        reader.number = number
        for name, value in request.items():
            if name not in _REQUEST and holds_words(value):
                reader.meet(f"the field {name[:60]} of requests")
        name, at = _text(request.get("requestId")), request.get("timestamp")
        message = request.get("message")
        asked = message.get("text") if isinstance(message, dict) else message
        yield number, Spoken("user", texts(asked, reader), name, at, by_person=True)
        answer = "".join(_answered(request.get("response"), reader))
        yield number, Spoken("assistant", [answer], f"{name}-answer" if name else None, at)


def _answered(response: object, reader: Reader) -> Iterator[str]:
    for part in response if isinstance(response, list) else []:
        if not isinstance(part, dict):
            continue
        kind, value = kind_of(part, "kind"), part.get("value", part.get("content"))
        value = value.get("value") if isinstance(value, dict) else value
        if kind in (None, "markdownContent", "markdownVuln") and isinstance(value, str):
            yield value
        elif kind == "inlineReference":
            about = part.get("inlineReference")
            path = about.get("path") if isinstance(about, dict) else None
            yield f"`{part.get('name') or str(path or '').rpartition('/')[2]}`"
        elif kind not in _SILENT_KINDS and holds_words(part):
            reader.meet(f"the response kind {str(kind)[:60]}")


def _zed(found: Mapping[str, Any], reader: Reader) -> Iterator[tuple[int, Spoken]]:
    """Read a thread (0.3: {User: …} and {Agent: …}; 0.2: {role, segments}) or a text thread ({text, messages})."""
    reader.session = reader.session or _text(found.get("id"))
    reader.release = _text(found.get("version")) or reader.release
    reader.began = found.get("updated_at")
    messages = found.get("messages")
    text = found.get("text")
    if isinstance(text, str) and isinstance(messages, list):
        yield from _text_thread(text.encode(), messages, reader)
        return
    for number, message in enumerate(messages if isinstance(messages, list) else [], 1):
        reader.number = number
        said = (
            next((message[kind] for kind in ("User", "Agent") if kind in message), None)
            if isinstance(message, dict)
            else None
        )
        if isinstance(said, dict) and "content" not in said and holds_words(said):
            reader.account.leave(reader.file, number, "the message has no content")
        elif not isinstance(message, dict):
            if message != "Resume":
                reader.account.leave(reader.file, number, "the message is not a JSON object")
        elif isinstance(said := message.get("User"), dict):
            name = _text(said.get("id"))
            yield number, Spoken("user", list(_zed_parts(said.get("content"), reader)), name, by_person=True)
        elif isinstance(said := message.get("Agent"), dict):
            yield number, Spoken("assistant", list(_zed_parts(said.get("content"), reader)))
        elif message.get("role") in ("user", "assistant"):
            yield (
                number,
                Spoken(str(message["role"]), texts(message.get("segments"), reader, where="segment")),
            )
        elif message.get("role") != "system" and "Compaction" not in message and holds_words(message):
            reader.meet(f"the message kind {next(iter(message), '?')[:60]}")


def _zed_parts(content: object, reader: Reader) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
            continue
        if not isinstance(part, dict):
            if part is not None:
                reader.leave("a part of it is not a JSON object")
            continue
        for kind, value in part.items():
            if kind == "Text" and isinstance(value, str):
                yield value
            elif kind == "Mention":
                continue  # a file or a selection, which nobody said
            elif kind not in _ZED_SILENT and holds_words(value):
                reader.meet(f"the part {str(kind)[:60]}")


def _text_thread(text: bytes, messages: list[Any], reader: Reader) -> Iterator[tuple[int, Spoken]]:
    starts = [
        each["start"] if isinstance(each, dict) and isinstance(each.get("start"), int) else None
        for each in messages
    ]
    for number, (message, start) in enumerate(zip(messages, starts, strict=True), 1):
        if start is None:
            reader.account.leave(reader.file, number, "the message does not say where it begins")
            continue
        end = next((later for later in starts[number:] if later is not None), len(text))
        about = message.get("metadata")
        about = about if isinstance(about, dict) else message
        role, at = about.get("role"), about.get("timestamp")
        if role in ("user", "assistant"):
            at = at.get("value") if isinstance(at, dict) else at
            said = text[start:end].decode(errors="replace")
            yield (
                number,
                Spoken(str(role), [said], at=at if isinstance(at, str) else None, by_person=role == "user"),
            )


def _text(value: object) -> str | None:
    return (
        str(value)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
        else None
    )

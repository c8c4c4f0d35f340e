"""One record of a file, broken in any way: all others arrive, and the broken one is named if its words do not.

An export of pgmem is whole, or it is refused with its line (tests/core/moving/test_import.py).
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pgmem.errors import InvalidArgument
from pgmem.features.importers import engrama, letta, markdown, mcp_memory, mem0, transcripts
from pgmem.features.importers.records import Vocabulary
from pgmem.foreign import Account, holds_words
from tests.fixtures.amounts import amount

Record = Any
SEED, CASES = 20261127, amount(1_000, 4_000)
RECORDS = 5
WORDS = tuple(f"the words of record number {n} are these" for n in range(RECORDS))
KNOWN = Vocabulary(frozenset({"Person", "Concept"}), frozenset({"USES", "RELATED_TO"}))


class Format(NamedTuple):
    """A format: its name, the name of a file, the records of one, and the file of records."""

    name: str
    file: str
    records: list[Record]
    join: Callable[[list[Record]], Any]
    """A value of JSON, or a list of them for a file of lines."""
    is_lines: bool = True


def lines(records: list[Record]) -> list[Record]:
    return records


def behind(head: Record) -> Callable[[list[Record]], list[Record]]:
    return lambda records: [head, *records]


def claude(n: int) -> Record:
    return {
        "type": "user" if n % 2 == 0 else "assistant",
        "uuid": f"u-{n}",
        "sessionId": "s",
        "cwd": "/w",
        "version": "2.1.12",
        "timestamp": f"2026-05-26T10:00:0{n}.000Z",
        "message": {
            "role": "user" if n % 2 == 0 else "assistant",
            "content": [{"type": "text", "text": WORDS[n]}],
        },
    }


def codex(n: int) -> Record:
    role, kind = (("user", "input_text"), ("assistant", "output_text"))[n % 2]
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": WORDS[n]}]}
    return {"timestamp": f"2026-05-26T10:01:0{n}.000Z", "type": "response_item", "payload": payload}


def chat_message(n: int) -> Record:
    return {
        "id": f"n-{n}",
        "parent": f"n-{n - 1}" if n else None,
        "children": [f"n-{n + 1}"] if n < RECORDS - 1 else [],
        "message": {
            "id": f"n-{n}",
            "author": {"role": "user" if n % 2 == 0 else "assistant"},
            "create_time": 1714554000.5 + n,
            "content": {"content_type": "text", "parts": [WORDS[n]]},
            "recipient": "all",
        },
    }


NUMBERS = range(RECORDS)
MS = 1_788_256_800_000
FORMATS = (
    Format("claude-code", "a.jsonl", [claude(n) for n in NUMBERS], lines),
    Format("codex", "a.jsonl", [codex(n) for n in NUMBERS],
           behind({"timestamp": "2026-05-26T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}})),
    Format("codex bare", "a.jsonl", [codex(n)["payload"] for n in NUMBERS],
           behind({"id": "s", "timestamp": "2026-05-26T10:00:00Z", "instructions": None})),
    Format("cursor", "a.jsonl", [
        {"role": ("user", "assistant")[n % 2], "message": {"content": [{"type": "text", "text": WORDS[n]}]}} for n in NUMBERS], lines),
    Format("gemini-cli", "a.jsonl", [
        {"id": f"m{n}", "timestamp": f"2026-05-26T10:00:0{n}Z", "type": ("user", "gemini")[n % 2], "content": [{"text": WORDS[n]}]}
        for n in NUMBERS], behind({"sessionId": "s", "projectHash": "ab", "startTime": "2026-05-26T10:00:00Z"})),
    Format("gemini-cli document", "a.json", [
        {"id": f"m{n}", "timestamp": f"2026-05-26T10:00:0{n}Z", "type": ("user", "gemini")[n % 2], "content": WORDS[n]} for n in NUMBERS],
        lambda records: {"sessionId": "s", "projectHash": "ab", "messages": records}, False),
    Format("qwen-code", "a.jsonl", [
        {"uuid": f"q-{n}", "sessionId": "s", "timestamp": f"2026-05-26T10:00:0{n}Z", "type": ("user", "assistant")[n % 2], "cwd": "/w",
         "version": "0.26", "message": {"role": "user", "parts": [{"text": WORDS[n]}]}} for n in NUMBERS], lines),
    Format("copilot", "events.jsonl", [
        {"type": ("user.message", "assistant.message")[n % 2], "id": f"e-{n}", "timestamp": f"2026-05-26T10:00:0{n}Z",
         "data": {"content": WORDS[n]}} for n in NUMBERS], lines),
    Format("copilot document", "a.json", [
        {"requestId": f"r{n}", "timestamp": MS + n, "message": {"text": WORDS[n]}, "response": []} for n in NUMBERS],
        lambda records: {"sessionId": "s", "creationDate": MS, "requests": records}, False),
    Format("windsurf", "a.jsonl", [
        {"type": "user_input", "status": "done", "user_input": {"user_response": WORDS[n]}} for n in NUMBERS], lines),
    Format("zed", "a.json", [{"User": {"id": f"u-{n}", "content": [{"Text": WORDS[n]}]}} for n in NUMBERS],
           lambda records: {"version": "0.3.0", "updated_at": "2026-09-01T10:00:00Z", "messages": records}, False),
    Format("zed of 0.2", "a.json", [{"id": n, "role": "user", "segments": [{"type": "text", "text": WORDS[n]}]} for n in NUMBERS],
           lambda records: {"id": "z", "version": "0.2.0", "messages": records}, False),
    Format("chatgpt", "conversations.json", [chat_message(n) for n in NUMBERS], lambda records: [
        {"conversation_id": "c", "create_time": 1714553000.1, "current_node": f"n-{RECORDS - 1}",
         "mapping": {f"n-{n}": record for n, record in enumerate(records)}}], False),
    Format("chatgpt conversations", "conversations.json", [
        {"conversation_id": f"c-{n}", "create_time": 1714553000.1, "current_node": f"n-{n}", "mapping": {f"n-{n}": {**chat_message(n), "parent": None, "children": []}}}
        for n in NUMBERS], lines, False),
    Format("claude", "conversations.json", [
        {"uuid": f"m{n}", "sender": ("human", "assistant")[n % 2], "text": WORDS[n], "created_at": f"2026-01-02T03:04:0{n}Z"} for n in NUMBERS],
        lambda records: [{"uuid": "k", "created_at": "2026-01-02T03:04:00Z", "chat_messages": records}], False),
    Format("claude conversations", "conversations.json", [
        {"uuid": f"k{n}", "chat_messages": [{"uuid": f"m{n}", "sender": "human", "content": [{"type": "text", "text": WORDS[n]}]}]} for n in NUMBERS],
        lines, False),
    Format("mcp-memory", "memory.jsonl", [
        {"type": "entity", "name": f"E{n}", "entityType": "person", "observations": [WORDS[n]]} for n in NUMBERS], lines),
    Format("mem0", "mem0.json", [{"id": f"i{n}", "memory": WORDS[n], "created_at": "2026-01-02T03:04:05Z"} for n in NUMBERS],
           lambda records: {"results": records}, False),
    Format("mem0 lines", "mem0.jsonl", [{"id": f"i{n}", "memory": WORDS[n]} for n in NUMBERS], lines),
    Format("cline", "ui_messages.json", [
        {"ts": MS + n, "type": "say", "say": "user_feedback" if n % 2 == 0 else "text", "text": WORDS[n]} for n in NUMBERS], lines, False),
    Format("cline sent", "api_conversation_history.json", [
        {"role": ("user", "assistant")[n % 2], "content": [{"type": "text", "text": WORDS[n]}]} for n in NUMBERS], lines, False),
    Format("opencode", "ses.json", [
        {"info": {"id": f"msg_{n}", "role": ("user", "assistant")[n % 2], "time": {"created": MS + n}},
         "parts": [{"id": f"p{n}", "type": "text", "text": WORDS[n]}]} for n in NUMBERS],
        lambda records: {"info": {"id": "ses", "directory": "/w", "version": "1.2.0", "time": {"created": MS}}, "messages": records}, False),
    Format("letta", "agent.af", [{"id": f"block-{n}", "label": f"label {n}", "value": WORDS[n], "limit": 20000} for n in NUMBERS],
           lambda records: {"agents": [{"name": "a", "messages": []}], "blocks": records, "tools": []}, False),
    Format("letta memories", "archival.json", [
        {"id": f"passage-{n}", "text": WORDS[n], "created_at": "2026-01-02T03:04:05Z", "tags": ["x"]} for n in NUMBERS], lines, False),
    Format("engrama", "e.jsonl", [
        {"type": "node", "label": "Concept", "key_field": "name", "key_value": f"C{n}", "properties": {"name": f"C{n}", "details": WORDS[n]}}
        for n in NUMBERS], behind({"engrama_export": True, "format": 1, "nodes": RECORDS})),
)  # fmt: skip


def read(format_: Format, file: Path) -> tuple[list[str], Account]:
    """Return all records that arrive of a file, as texts, and the account of the rest."""
    account = Account()
    reading: Any = None
    match format_.name.split()[0]:
        case "mcp-memory":
            reading = mcp_memory.read(file, KNOWN)
        case "mem0":
            reading = mem0.read(file, KNOWN)
        case "letta":
            reading = letta.read(file, KNOWN)
        case "engrama":
            reading = engrama.read(file, KNOWN)
    if reading is not None:
        return [repr(item.record()) for item in reading.items], reading
    found = transcripts.read(format_.name.split()[0], file, account)
    return [turn["content"] for conversation in found for turn in conversation.turns], account


def written(format_: Format, records: list[Record], raw: dict[int, bytes] | None = None) -> bytes:
    """Return the bytes of a file; `raw` holds lines in the place of some records."""
    if not format_.is_lines:
        return json.dumps(format_.join(records)).encode()
    marks = [{"mark": n} for n in range(len(records))]
    found = []
    for value in format_.join(list(marks)):
        number = value.get("mark") if isinstance(value, dict) and "mark" in value else None
        line = json.dumps(value if number is None else records[number], ensure_ascii=False).encode(
            errors="surrogatepass"
        )
        found.append((raw or {}).get(number, line) if number is not None else line)
    return b"\n".join(found) + b"\n"


def check(
    format_: Format, file: Path, broken: int, contents: bytes, how: str, record: Record = "some words of it"
) -> None:
    """All other records must arrive; the broken one arrives in another form, holds no words, or is named."""
    file.write_bytes(contents)
    arrived, account = read(format_, file)
    whole = "\n".join(arrived)
    assert [n for n in NUMBERS if n != broken and WORDS[n] not in whole] == [], (how, account.left_out)
    if (
        WORDS[broken] not in whole
        and len(arrived) < RECORDS
        and (holds_words(record) or not isinstance(record, dict))
    ):
        named = [*account.left_out, *account.converted, *account.unknown]
        assert [sentence for sentence in named if file.name in sentence], (format_.name, broken, how, named)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
def test_a_file_that_is_whole_gives_every_record_and_leaves_out_none(format_: Format, tmp_path: Path) -> None:
    file = tmp_path / format_.file
    file.write_bytes(written(format_, format_.records))
    arrived, account = read(format_, file)
    assert [words for words in WORDS if words not in "\n".join(arrived)] == []
    assert (dict(account.left_out), dict(account.unknown)) == ({}, {})


DEEP: Any = 1
for _ in range(150):
    DEEP = [DEEP]
WHOLE: dict[str, Any] = {
    "null": None, "a number": 7, "a text": "x", "a text with words": "some words that nobody reads", "an empty list": [],
    "a list": [1, "some words that nobody reads"], "another object": {"kind": "x", "said": "some words that nobody reads"},
    "too deep": DEEP,
}  # fmt: skip
LINES: dict[str, Callable[[bytes], bytes]] = {
    "half a line": lambda line: line[: len(line) // 2],
    "not JSON": lambda _: b"not JSON at all",
    "Latin-1": lambda line: line.replace(b"words", b"w\xf6rds"),
    "NUL bytes": lambda line: b"\0" * len(line),
    "two halves": lambda line: line[: len(line) // 2] + line[: len(line) // 2],
    "Python": lambda line: repr(json.loads(line)).encode(),
}


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
def test_a_record_of_another_kind_stops_no_other_and_is_named(format_: Format, tmp_path: Path) -> None:
    file = tmp_path / format_.file
    for broken in NUMBERS:
        for how, value in WHOLE.items():
            if format_.name == "chatgpt" and broken == RECORDS - 1 and not isinstance(value, dict):
                continue  # the node that is shown: which messages lead to it is said by no other
            records = [*format_.records]
            records[broken] = value
            if how == "too deep" and not format_.is_lines:
                continue  # a document is read as a whole, and is refused by its name
            check(format_, file, broken, written(format_, records), how, value)
        for how, change in LINES.items() if format_.is_lines else ():
            line = json.dumps(format_.records[broken]).encode()
            check(format_, file, broken, written(format_, format_.records, {broken: change(line)}), how)


JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 2**70, 1e300, "", "x", "some words that nobody reads", "zero \0 here", "half \ud83d here", "a\u2028b", [], {},
    ["x"], [None], [[]], {"a": "some words that nobody reads"}, {"type": "x"}, [{"type": "text", "text": 7}], "9" * 400, "2026-13-45",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in a value of JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(record: Record, path: tuple[Any, ...], value: Any, way: str) -> Record:
    """A record with another value, a further member or without one, at a place."""
    record = copy.deepcopy(record)
    at = record
    for key in path[:-1]:
        at = at[key]
    if way == "removed":
        del at[path[-1]]
    elif way == "beside":
        at.insert(0, value) if isinstance(at, list) else at.update({"novel": value})
    else:
        at[path[-1]] = value
    return record


def test_any_change_of_one_record_leaves_all_others_as_they_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(SEED)
    for _ in range(CASES):
        format_ = chance.choice(FORMATS)
        broken = chance.choice(NUMBERS)
        record = format_.records[broken]
        path, value = chance.choice(list(places(record))), chance.choice(JUNK)
        way = chance.choice(("another", "another", "removed", "beside"))
        if format_.name == "chatgpt" and path[0] in ("parent", "children"):
            continue  # the branches of a conversation, which other messages hang on
        if path[-1] == "recipient" and isinstance(value, str):
            continue  # a tool may have any name
        records = [*format_.records]
        records[broken] = changed(record, path, value, way)
        check(
            format_,
            tmp_path / format_.file,
            broken,
            written(format_, records),
            f"{way} {path} {value!r}",
            records[broken],
        )
    with capsys.disabled():
        print(f"\n{CASES} changes of one record in {len(FORMATS)} formats, seed {SEED}")


@pytest.mark.parametrize(
    "kind", [b"\0\0\0", b"\xff\xfe", b"---\ntitle: [\n---\nx", b"---\n- a\n---\nx", "é".encode("latin-1")]
)
def test_a_note_that_cannot_be_read_stops_no_other(kind: bytes, tmp_path: Path) -> None:
    for n in NUMBERS:
        (tmp_path / f"n{n}.md").write_text(WORDS[n])
    (tmp_path / "broken.md").write_bytes(b"Before " + kind if not kind.startswith(b"---") else kind)
    reading = markdown.read(tmp_path, KNOWN)
    arrived = repr([item.record() for item in reading.items])
    assert [words for words in WORDS if words not in arrived] == []
    assert "broken" in repr([*reading.left_out, *reading.converted]) or "'broken'" in arrived


def test_a_document_that_is_too_deep_is_refused_by_its_name(tmp_path: Path) -> None:
    for format_ in FORMATS:
        if format_.is_lines:
            continue
        file = tmp_path / format_.file
        file.write_bytes(written(format_, [DEEP, *format_.records[1:]]))
        with pytest.raises(InvalidArgument, match="nested more than 100 levels deep") as refused:
            read(format_, file)
        assert file.name in str(refused.value), format_.name

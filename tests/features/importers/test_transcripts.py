"""Histories of conversations in the formats of their clients: taken in once, whatever is in the files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow

from pgmem import Memory
from pgmem.errors import InvalidArgument
from pgmem.features.importers import transcripts

pytestmark = pytest.mark.anyio

S1, S2 = "4f35e220-c435-4cf7-b9b9-f40426042847", "019bce9f-0a40-79e2-8351-8818e8487fb6"


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def entry(number: int, kind: str, content: object, **more: object) -> dict[str, Any]:
    """An entry of a transcript of Claude Code."""
    return {
        "parentUuid": uid(number - 1) if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ana/web-shop",
        "sessionId": S1,
        "version": "2.1.12",
        "gitBranch": "main",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": uid(number),
        "timestamp": f"2026-05-26T{number // 60:02d}:{number % 60:02d}:01.079Z",
        **more,
    }


CLAUDE_CODE = [
    {"type": "summary", "summary": "Carts", "leafUuid": uid(3)},
    {"type": "file-history-snapshot", "messageId": uid(1), "snapshot": {}},
    entry(1, "user", "Why is the cart empty after a login?"),
    entry(
        2,
        "assistant",
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "The session id changes."}],
    ),
    entry(
        3,
        "assistant",
        [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "cart.py"}}],
    ),
    entry(4, "user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "def cart(): ..."}]),
    entry(5, "user", "<command-name>/clear</command-name>"),
    entry(6, "user", "Caveat", isMeta=True),
    entry(7, "assistant", [{"type": "text", "text": "I keep the cart over a login now. \ud83d"}]),
]
CODEX = [
    {
        "timestamp": "2025-10-29T00:59:38.317Z",
        "type": "session_meta",
        "payload": {"id": S2, "cwd": "/home/ana/api"},
    },
    *(
        {
            "timestamp": f"2025-10-29T00:59:{38 + n}.317Z",
            "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
        }
        for n, (role, kind, text) in enumerate(
            (
                ("user", "input_text", "<environment_context>cwd</environment_context>"),
                ("user", "input_text", "Add a health check."),
                ("assistant", "output_text", "It answers at /healthz."),
            )
        )
    ),
    {
        "timestamp": "2025-10-29T00:59:50Z",
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "Add a health check."},
    },
    {"timestamp": "2025-10-29T00:59:51Z", "type": "turn_context", "payload": {"cwd": "/home/ana/api"}},
]
OLD_CODEX = [
    {"id": uid(77), "timestamp": "2025-06-01T10:00:00Z", "instructions": None},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "ok"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "ok"}]},
]


def node(name: str, parent: str | None, role: str, *parts: object, **more: object) -> dict[str, Any]:
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1714554000.5,
        "content": {"content_type": "text", "parts": list(parts)},
        "metadata": {},
        "recipient": "all",
        **more,
    }
    return {"id": name, "parent": parent, "children": [], "message": message}


CHATGPT = [
    {
        "title": "Tea",
        "conversation_id": uid(50),
        "create_time": 1714553000.1,
        "current_node": "c2",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
            "a": node("a", "root", "system", ""),
            "b": node("b", "a", "user", "Which tea wakes me up?", {"content_type": "image_asset_pointer"}),
            "c1": node("c1", "b", "assistant", "Camomile."),
            "c2": node("c2", "b", "assistant", "Assam."),
            "d": node("d", "b", "tool", "{}", content={"content_type": "code", "text": "x"}),
        },
    },
    {
        "conversation_id": uid(51),
        "current_node": "x",
        "mapping": {"x": node("x", "y", "user", "loop"), "y": node("y", "x", "user", "")},
    },
    {"conversation_id": uid(52), "mapping": {"x": None, "y": {"message": {"author": "odd", "content": 5}}}},
]
CLAUDE = [
    {
        "uuid": uid(60),
        "name": "Shelves",
        "chat_messages": [
            {
                "uuid": uid(61),
                "sender": "human",
                "text": "How deep is a shelf?",
                "created_at": "2026-01-02T03:04:05Z",
            },
            {
                "uuid": uid(62),
                "sender": "assistant",
                "text": "",
                "content": [{"type": "text", "text": "30 cm."}, {"type": "tool_use", "name": "x"}],
                "created_at": "2026-01-02T03:04:09Z",
            },
            {"uuid": uid(63), "sender": "human", "text": "", "content": []},
        ],
    },
    {"uuid": uid(64), "name": "empty", "chat_messages": []},
]


def lines(*entries: object) -> str:
    return "".join(json.dumps(found) + "\n" for found in entries)


@pytest.fixture
def histories(tmp_path: Path) -> dict[str, Path]:
    """A history of each client, where and as it keeps or exports it."""
    places = {name: tmp_path / name for name in ("claude-code", "codex", "chatgpt", "claude")}
    sessions = places["claude-code"] / "-home-ana-web-shop"
    rollouts = places["codex"] / "2025" / "10" / "29"
    for folder in (sessions, rollouts, places["chatgpt"]):
        folder.mkdir(parents=True)
    (sessions / f"{S1}.jsonl").write_text(lines(*CLAUDE_CODE) + '{"type": "user", "mess')
    (rollouts / f"rollout-2025-10-29T00-59-38-{S2}.jsonl").write_text(lines(*CODEX))
    (rollouts / "rollout-old.jsonl").write_text(lines(*OLD_CODEX))
    (places["chatgpt"] / "conversations.json").write_text(json.dumps(CHATGPT))
    (places["chatgpt"] / "user.json").write_text("{}")
    with zipfile.ZipFile(places["claude"], "w") as packed:
        packed.writestr("data/conversations.json", json.dumps(CLAUDE))
        packed.writestr("data/users.json", "[]")
    return places


def kept(connection: psycopg.Connection[DictRow]) -> list[tuple[str, str, str, str]]:
    rows = connection.execute(
        "select session_id, project, props ->> 'role' as role, props ->> 'content' as content from pgmem.node"
        " where label = 'Turn' order by session_id, seq"
    )
    return [tuple(row.values()) for row in rows]


async def test_the_history_of_every_client_becomes_turns_and_nothing_is_doubled(
    memory: Memory, histories: dict[str, Path], connection: psycopg.Connection[DictRow]
) -> None:
    counts = {}
    for client, place in histories.items():
        project = None if client in ("claude-code", "codex") else "shop"
        if client == "codex":
            (place / "2025" / "10" / "29" / "rollout-old.jsonl").unlink()
        counts[client] = await transcripts.load(memory, client, place, project)
        again = await transcripts.load(memory, client, place, project)
        assert (again.taken, again.present) == (0, counts[client].taken)
    assert {client: done.taken for client, done in counts.items()} == {
        "claude-code": 3,
        "codex": 2,
        "chatgpt": 3,
        "claude": 2,
    }
    assert kept(connection) == [
        (f"chatgpt:{uid(50)}", "shop", "user", "Which tea wakes me up?"),
        (f"chatgpt:{uid(50)}", "shop", "assistant", "Assam."),
        (f"chatgpt:{uid(51)}", "shop", "user", "loop"),
        (f"claude-code:{S1}", "web-shop", "user", "Why is the cart empty after a login?"),
        (f"claude-code:{S1}", "web-shop", "assistant", "The session id changes."),
        (f"claude-code:{S1}", "web-shop", "assistant", "I keep the cart over a login now. \ufffd"),
        (f"claude:{uid(60)}", "shop", "user", "How deep is a shelf?"),
        (f"claude:{uid(60)}", "shop", "assistant", "30 cm."),
        (f"codex:{S2}", "api", "user", "Add a health check."),
        (f"codex:{S2}", "api", "assistant", "It answers at /healthz."),
    ]
    said = connection.execute(
        "select min(valid_from)::date::text as first from pgmem.node where label = 'Turn'"
    )
    assert said.fetchone() == {"first": "2024-05-01"}


async def test_the_bare_entries_of_old_rollouts_are_read_and_equal_ones_are_two(
    memory: Memory, histories: dict[str, Path], connection: psycopg.Connection[DictRow]
) -> None:
    old = histories["codex"] / "2025" / "10" / "29" / "rollout-old.jsonl"
    with pytest.raises(InvalidArgument, match="names no folder: send --project"):
        await transcripts.load(memory, "codex", old)
    assert (await transcripts.load(memory, "codex", old, "api")).taken == 2
    assert [row[0] for row in kept(connection)] == [f"codex:{uid(77)}"] * 2


async def test_an_import_that_broke_off_goes_on_where_it_was(
    memory: Memory, tmp_path: Path, connection: psycopg.Connection[DictRow]
) -> None:
    """A transcript of 1 000 turns, broken off after two saves, and again as it has grown."""
    whole = [entry(n, "user", f"turn {n}") for n in range(1, 1001)]
    place = tmp_path / "long.jsonl"
    place.write_text(lines(*whole))
    steps: list[int] = []

    class BrokenOff(Exception):
        """The user pressed Ctrl-C."""

    def stop(done: int, _of: int) -> None:
        steps.append(done)
        if len(steps) == 2:
            raise BrokenOff

    with pytest.raises(BrokenOff):
        await transcripts.load(memory, "claude-code", place, progress=stop)
    assert len(kept(connection)) == 200
    place.write_text(lines(*whole, entry(1001, "user", "one more")))
    done = await transcripts.load(memory, "claude-code", place)
    assert (done.taken, done.present) == (801, 200)


DEEP = "[" * 5000 + "]" * 5000
WRONG: tuple[tuple[str, str, str], ...] = (
    ("chatgpt", "not json", "is not JSON"),
    ("chatgpt", DEEP, "nested more than 100 levels"),
    ("claude", "{}", "holds no conversations of claude: is --from right"),
    ("chatgpt", json.dumps(CLAUDE), "holds no conversations of chatgpt"),
)


@pytest.mark.parametrize(("client", "text", "message"), WRONG)
async def test_a_file_of_another_format_is_refused_and_nothing_is_kept(
    memory: Memory,
    tmp_path: Path,
    connection: psycopg.Connection[DictRow],
    client: str,
    text: str,
    message: str,
) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InvalidArgument, match=message):
        await transcripts.load(memory, client, tmp_path / "x.json", "p")
    assert kept(connection) == []


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize("text", ["", "hello\n", '{"a": 1}\n', "\xff\xfe\x00"])
async def test_a_file_without_a_turn_is_not_a_history(
    memory: Memory, tmp_path: Path, client: str, text: str
) -> None:
    """It was said that 0 were imported, as if nothing were wrong."""
    place = tmp_path / "other.jsonl"
    place.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidArgument, match=f"holds no conversations of {client}: is --from right"):
        await transcripts.load(memory, client, place)


async def test_lines_that_cannot_be_read_are_passed_over(memory: Memory, tmp_path: Path) -> None:
    place = tmp_path / "odd.jsonl"
    deep = '{"type": "user", "message": ' + DEEP + "}"
    place.write_text("\n".join(["", "null", "[]", '"x"', deep, json.dumps(entry(1, "user", "kept"))]) + "\n")
    assert (await transcripts.load(memory, "claude-code", place)).taken == 1


async def test_a_turn_that_cannot_be_kept_leaves_out_itself_alone(memory: Memory, tmp_path: Path) -> None:
    place = tmp_path / "odd.jsonl"
    odd = entry(2, "user", "no id", uuid="x" * 300_000)
    place.write_text(lines(entry(1, "user", "a"), odd, entry(3, "assistant", "b")))
    done = await transcripts.load(memory, "claude-code", place)
    assert (done.taken, sum(done.left_out.values())) == (2, 1)


def test_the_command_imports_a_folder_and_reports_what_it_did(
    dsn: str, tmp_path: Path, histories: dict[str, Path]
) -> None:
    from typer.testing import CliRunner

    from pgmem.cli import app

    def run(*given: str) -> Any:
        return CliRunner().invoke(app, ["import", *given, "--dsn", dsn], env={"EMBEDDING_PROVIDER": "none"})

    done = run(str(histories["claude-code"]), "--from", "claude-code")
    left = f"1 left out: line 10 of {S1}.jsonl: it is not JSON: its end is missing; read it again once it is whole.\n"
    assert (done.exit_code, done.stdout) == (0, f"3 imported, 0 already present, {left}"), done.output
    again = run(str(histories["claude-code"]), "--from", "claude-code")
    assert again.stdout == f"0 imported, 3 already present, {left}"
    assert run(str(histories["chatgpt"]), "--from", "chatgpt").exit_code == 2
    assert run(str(tmp_path / "nowhere"), "--from", "codex").exit_code == 2

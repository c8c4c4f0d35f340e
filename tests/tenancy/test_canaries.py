"""Three tenants, every verb in random order, four ways in: what one has said never reaches another.

Each text a tenant writes carries its canary. Every answer, error included, is searched for the canaries of those whose
memory the caller must not see.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from mcp.client import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from pgmem import Memory, MemoryScope, PgmemError
from pgmem.database.call import clean, statement
from pgmem.mcp.app import App
from pgmem.mcp.server import create_server
from pgmem.settings import Settings
from tests.conftest import Call
from tests.serving import Agent, serving

pytestmark = pytest.mark.anyio

TENANTS = {"alice": ("acme", "alice"), "bob": ("acme", "bob"), "carol": ("globex", "carol")}
# What acme shares is for alice and bob; what is private is its user's alone.
HIDDEN = {
    "alice": ("canary-bob", "canary-carol", "canary-globex"),
    "bob": ("canary-alice", "canary-carol", "canary-globex"),
    "carol": ("canary-alice", "canary-bob", "canary-acme"),
}
WORDS = ("orders", "file", "table", "cache", "queue", "till", "stock", "price")
Run = Callable[[str, dict[str, Any]], Awaitable[str]]


def script(user: str, seed: int, length: int) -> list[tuple[str, dict[str, Any]]]:
    """Random calls of a tenant: the same names, titles and projects as everybody else, its own canary in the text."""
    chance, org = Random(f"{user}{seed}"), TENANTS[user][0]
    calls: list[tuple[str, dict[str, Any]]] = []
    for _ in range(length):
        mark = f"canary-{user}"
        project = chance.choice(("shop", "bank"))
        name = " ".join(chance.sample(WORDS, 2))
        title = f"keep {name} in one place"
        label, key = chance.choice((("Tool", name), ("EntityFact", name), ("Decision", title)))
        choices: list[tuple[str, dict[str, Any]]] = [
            ("save_session", {"objective": f"{mark} {name}", "project_id": project}),
            ("save_decision", {"title": title, "rationale": f"{mark} {name}", "project_id": project}),
            (
                "save_decision",
                {
                    "title": title,
                    "rationale": mark,
                    "project_id": project,
                    "focus": f"{mark} focus",
                    "scope": "focus",
                },
            ),
            (
                "save_pattern",
                {"trigger": f"{mark} {name}", "repeatable_steps": [mark], "project_id": project},
            ),
            ("save_context", {"content": f"{mark} {name}", "topic": mark, "project_id": project}),
            ("upsert_entity", {"entity_name": name, "fact": f"{mark} {name}", "project_id": project}),
            (
                "remember",
                {
                    "label": "Tool",
                    "properties": {"name": name, "summary": mark},
                    "relations": {"USES": [f"{mark} part", name]},
                },
            ),
            (
                "remember",
                {
                    "label": "Tool",
                    "properties": {"name": name, "summary": f"canary-{org}"},
                    "share": "org",
                },
            ),
            ("retrieve_context", {"project_id": project, "scope": "project"}),
            (
                "retrieve_context",
                {"project_id": project, "scope": "global", "topic": name, "as_of": "2030-01-01"},
            ),
            ("search_memory", {"query": f"canary {name}", "limit": 50}),
            ("search_memory", {"query": "canary", "project_id": project, "known_at": "2100-01-01"}),
            (
                "get_scope_state",
                {"project_id": project, "focus": f"{mark} focus"},
            ),
            ("get_node", {"label": label, "key": key}),
            ("memory_history", {"label": label, "key": key}),
            ("neighbours", {"label": "Tool", "key": name, "hops": 3}),
            (
                "relate",
                {
                    "from_label": "Decision",
                    "from_key": title,
                    "rel_type": "CONFLICTS_WITH",
                    "to_label": "Decision",
                    "to_key": f"keep {chance.choice(WORDS)} in one place",
                },
            ),
            ("forget", {"label": label, "key": key, "purge": chance.random() < 0.2}),
            ("revert", {"label": label, "key": key, "version": 1}),
            ("get_save_status", {"project_id": project}),
        ]
        calls.append(chance.choice(choices))
    return calls


async def play(user: str, calls: list[tuple[str, dict[str, Any]]], run: Run, done: Counter[str]) -> None:
    for verb, arguments in calls:
        answer = await run(verb, arguments)
        done[verb] += 1
        for canary in HIDDEN[user]:
            assert canary not in answer, (user, verb, arguments, answer)


def over_sql(connection: AsyncConnection[Any]) -> Run:
    async def run(verb: str, arguments: dict[str, Any]) -> str:
        sent = {name: clean(name, value) for name, value in arguments.items()}
        try:
            cursor = await connection.execute(statement(verb, sent), sent)
            return str(await cursor.fetchall())
        except psycopg.Error as error:
            return f"{error.diag.message_primary} {error.diag.message_detail}"

    return run


def over_python(memory: Memory) -> Run:
    async def run(verb: str, arguments: dict[str, Any]) -> str:
        try:
            return str(await getattr(memory, verb)(**arguments))
        except PgmemError as error:
            return str(error)

    return run


def over_mcp(client: Client) -> Run:
    async def run(verb: str, arguments: dict[str, Any]) -> str:
        sent = {name: value for name, value in arguments.items() if name != "share"}
        return str((await client.call_tool(verb, sent)).model_dump())

    return run


def over_http(agent: Agent) -> Run:
    async def run(verb: str, arguments: dict[str, Any]) -> str:
        sent = {name: value for name, value in arguments.items() if name != "share"}
        return json.dumps((await agent.post("tools/call", {"name": verb, "arguments": sent})).json())

    return run


async def attack(
    dsn: str, folder: Path, call: Call, rounds: int, sizes: tuple[int, int, int, int]
) -> Counter[str]:
    """`rounds` times, each tenant in turn over each way in, `sizes` calls of SQL, Python, MCP and HTTP."""
    done: Counter[str] = Counter()
    tokens = {
        user: str(call("issue_token", org_id=org, user_id=name)["token"])
        for user, (org, name) in TENANTS.items()
    }
    settings = Settings(dsn=dsn, data_dir=folder, embedding_provider="none", prepare=True)
    async with (
        Memory.connect(settings) as memory,
        serving(dsn, folder, http_requests_per_minute=10**6) as address,
    ):
        for number in range(rounds):
            for user, (org, name) in TENANTS.items():
                ways = iter(sizes)
                async with await AsyncConnection.connect(
                    dsn, autocommit=True, row_factory=dict_row
                ) as connection:
                    await connection.execute(
                        "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)",
                        (org, name),
                    )
                    await play(user, script(user, number * 4, next(ways)), over_sql(connection), done)
                own = memory.acting_as(MemoryScope(org_id=org, user_id=name))
                await play(user, script(user, number * 4 + 1, next(ways)), over_python(own), done)
                claims = {"org_id": org, "user_id": name, "name": user}
                held = auth_context_var.set(
                    AuthenticatedUser(AccessToken(token="-", client_id=user, scopes=[], claims=claims))
                )
                try:
                    app = App(settings, tokens_required=True)
                    async with Client(create_server(settings, app)) as client:
                        await play(user, script(user, number * 4 + 2, next(ways)), over_mcp(client), done)
                finally:
                    auth_context_var.reset(held)
                agent = Agent(address, tokens[user])
                await play(user, script(user, number * 4 + 3, next(ways)), over_http(agent), done)
    return done


async def test_no_canary_crosses_in_a_thousand_calls_over_four_ways_in(
    dsn: str, tmp_path: Path, call: Call
) -> None:
    done = await attack(dsn, tmp_path, call, 2, (120, 40, 15, 15))
    assert done.total() == 1140
    assert len(done) == 16, sorted(done)


@pytest.mark.long
async def test_no_canary_crosses_in_twenty_thousand_calls(dsn: str, tmp_path: Path, call: Call) -> None:
    done = await attack(dsn, tmp_path, call, 10, (500, 120, 25, 25))
    assert done.total() == 20100

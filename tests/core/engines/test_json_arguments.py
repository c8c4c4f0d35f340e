"""Arguments that are JSON: a value of another form is one clear sentence by every interface, whatever the verb."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from mcp.client.client import Client
from psycopg.rows import DictRow, dict_row

from pgmem import Memory
from pgmem._verbs import VERBS
from pgmem.declaration import LISTS, Argument, Verb
from pgmem.errors import InvalidArgument, PgmemError
from pgmem.mcp.server import create_server
from pgmem.settings import Settings, load
from tests.conftest import new_database, past_the_pooler
from tests.core.mcp.conftest import text_of

pytestmark = pytest.mark.anyio

ARGUMENTS = [
    (verb, name)
    for verb in VERBS.values()
    for name, one in verb.arguments.items()
    if one.type == "jsonb" or one.type in LISTS
]
NO_LISTS: tuple[Any, ...] = ("t", ["t"], [["t"]], [1], [None], 3, True, {"no": 1}, "{", '["t"]')
NO_OBJECTS: tuple[Any, ...] = ("t", ["t"], [[]], 3, True, "{", "[1]")

GOOD = {
    "from_label": "Decision", "to_label": "Decision", "from_key": "Take cards", "to_key": "Take cards",
    "project_id": "shop", "query": "cards", "namespace": ["users"], "client": "claude-code",
    "session": {"objective": "o"}, "properties": {"name": "n"}, "subject_path": "a.py",
}  # fmt: skip
OF_VERB: dict[str, dict[str, Any]] = {
    "remember": {"label": "Concept"},
    "propose_change": {"verb": "save_context"},
    "query_engineering_memory": {"mode": "search"},
    "record_candidate": {"record_type": "risk_note"},
    "manage_engineering_memory": {
        "action": "record_candidate", "record_type": "risk_note", "statement": "x", "subject_path": "a.py",
    },
    "run_cypher": {"query": "MATCH (n) RETURN n"},
}  # fmt: skip
"""The values that let a verb judge its JSON, where one of its type does not."""

ANY_JSON = {("search_items", "filter")}
"""The arguments that may be any JSON: a value that is equal."""

OF_ARGUMENT = {
    ("manage_engineering_memory", "receipt"): {"action": "propose_from_receipt"},
    ("manage_engineering_memory", "report"): {"action": "refresh_from_run"},
}

LATER = {("finish_intent", "receipt")}
"""The argument that is judged after an intent is found."""

RAW = re.compile(
    r"syntax|unexpected|Token|scalar|cannot extract|does not exist|jsonb_|dictionary|iterable|NoneType"
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def judged(server: str, template: str) -> Iterator[str]:
    with new_database(server, template) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def settings(judged: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("data")
    return load(dsn=judged, data_dir=folder, embedding_provider="none", toolsets="all", retry_wait_s=0)


@pytest.fixture(scope="module")
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    async with Memory.connect(settings) as memory:
        await memory.save_session("open", "shop")
        saved = await memory.save_decision("Take cards", "r", "shop")
        OF_VERB["edit_memory"] = {"id": str(saved.artifact_id)}
        yield memory


def wrong(verb: Verb, name: str) -> list[Any]:
    """The values of another form than an argument has."""
    if (verb.name, name) in ANY_JSON:
        return []
    return list(NO_LISTS if verb.arguments[name].type in LISTS or name == "states" else NO_OBJECTS)


def arguments(verb: Verb, judged: str) -> dict[str, Any]:
    """The required arguments of a call that judges one of them."""
    found = {name: GOOD.get(name, _of_type(one)) for name, one in verb.arguments.items() if one.required}
    return {**found, **OF_VERB.get(verb.name, {}), **OF_ARGUMENT.get((verb.name, judged), {})}


def _of_type(argument: Argument) -> Any:
    if argument.choices:
        return argument.choices[0]
    if argument.type.endswith("[]"):
        return ["x"]
    return {
        "uuid": "00000000-0000-4000-8000-000000000009", "integer": 1, "boolean": False, "jsonb": {},
        "timestamp with time zone": "2026-01-01T00:00:00Z", "pgmem.objects": [],
    }.get(argument.type, "x")  # fmt: skip


def is_clear(verb: Verb, name: str, message: str) -> bool:
    """Whether a message names the argument, or of LATER what comes before it, and says what to send."""
    if RAW.search(message) or "\n" in message:
        return False
    if verb.name == "run_cypher" and "Apache AGE" in message:  # the server has none
        return True
    return (verb.name, name) in LATER or name in message or name.removesuffix("s") in message


async def test_python_says_what_to_send_instead(memory: Memory) -> None:
    unclear = []
    for verb, name in ARGUMENTS:
        for value in wrong(verb, name):
            try:
                found = await getattr(memory, verb.name)(**{**arguments(verb, name), name: value})
            except PgmemError as error:
                if not is_clear(verb, name, str(error)):
                    unclear.append((verb.name, name, value, str(error)))
            else:
                unclear.append((verb.name, name, value, found))
    assert not unclear, "\n".join(str(one)[:300] for one in unclear)


async def test_sql_says_what_to_send_instead(memory: Memory, judged: str) -> None:
    unclear = []
    with psycopg.connect(past_the_pooler(judged), autocommit=True, row_factory=dict_row) as connection:
        for verb, name in ARGUMENTS:
            for value in wrong(verb, name):
                if isinstance(value, str) and value != "t":
                    continue
                message = refused(connection, verb, {**arguments(verb, name), name: value})
                if message is None or not is_clear(verb, name, message):
                    unclear.append((verb.name, name, value, message))
    assert not unclear, "\n".join(str(one)[:300] for one in unclear)


def refused(connection: psycopg.Connection[DictRow], verb: Verb, sent: dict[str, Any]) -> str | None:
    """The message of a call by SQL that is refused."""
    kinds = {name: verb.arguments[name].type for name in sent}
    is_json = {name for name, kind in kinds.items() if kind == "jsonb" or kind in LISTS}
    call = ", ".join(
        f"p_{name} => %({name})s::{'jsonb' if name in is_json else kinds[name]}" for name in sent
    )
    values = {name: json.dumps(value) if name in is_json else value for name, value in sent.items()}
    try:
        connection.execute(f"select * from pgmem.{verb.name}({call})".encode(), values)
    except psycopg.Error as error:
        return error.diag.message_primary if str(error.sqlstate).startswith("PM") else f"syntax: {error}"
    return None


@pytest.mark.usefixtures("memory")
async def test_a_tool_says_what_to_send_instead(settings: Settings) -> None:
    unclear = []
    async with Client(create_server(settings)) as client:
        for verb, name in ARGUMENTS:
            if not verb.toolsets or not verb.arguments[name].for_agents:
                continue
            for value in wrong(verb, name):
                result = await client.call_tool(verb.name, {**arguments(verb, name), name: value})
                if not result.is_error or not is_clear(verb, name, text_of(result)):
                    unclear.append((verb.name, name, value, text_of(result)))
    assert not unclear, "\n".join(str(one)[:300] for one in unclear)


@pytest.mark.parametrize("actions", ["wrote the test", b"bytes", 3, {"a": 1}])
async def test_a_text_is_no_list_of_its_letters(memory: Memory, actions: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"actions_taken must be a list; send \["):
        await memory.save_session("open", "shop", actions_taken=actions)
    with pytest.raises(InvalidArgument, match=r"citation must be a list; send \["):
        await memory.save_context("c", "shop", citation=actions)


async def test_an_empty_list_is_sent_as_one(memory: Memory) -> None:
    assert (await memory.create_entities([])).entities == []
    assert (
        await memory.store_session_with_learnings({"objective": "none"}, "shop", decisions=())
    ).overall == "saved"

"""The toolset server-memory answers as the reference memory server of MCP does.

The cases are those of the tests of the reference server (knowledge-graph.test.ts, resource.test.ts), over the protocol.
EXCEPTIONS names those that do not apply.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from pgmem import Memory
from pgmem.mcp.server import create_server
from pgmem.settings import load

pytestmark = pytest.mark.anyio

ALICE = {"name": "Alice", "entityType": "person", "observations": ["works at Acme Corp"]}
BOB = {"name": "Bob", "entityType": "person", "observations": ["plays the lute"]}
ACME = {"name": "Acme Corp", "entityType": "company", "observations": ["builds anvils"]}
KNOWS = {"from": "Alice", "to": "Bob", "relationType": "knows"}
WORKS = {"from": "Alice", "to": "Acme Corp", "relationType": "works_at"}


@pytest.fixture
async def client(dsn: str, tmp_path: Path) -> AsyncIterator[Client]:
    settings = load(
        dsn=dsn, data_dir=tmp_path, embedding_provider="none", retry_wait_s=0, toolsets="server-memory"
    )
    async with Client(create_server(settings)) as client:
        yield client


class Server:
    """The nine tools; `text` is the text of the last answer."""

    def __init__(self, client: Client) -> None:
        self.client, self.text = client, ""

    async def __call__(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        self.text = getattr(result.content[0], "text", "")
        assert not result.is_error, self.text
        answer: dict[str, Any] | None = result.structured_content
        assert answer is not None
        return answer

    async def refused(self, tool: str, **arguments: object) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        return str(getattr(result.content[0], "text", ""))


@pytest.fixture
def nine(client: Client) -> Server:
    return Server(client)


@pytest.fixture
async def filled(nine: Server) -> Server:
    await nine("create_entities", entities=[ALICE, BOB, ACME])
    await nine("create_relations", relations=[KNOWS, WORKS])
    return nine


def names(graph: dict[str, Any]) -> list[str]:
    return [entity["name"] for entity in graph["entities"]]


async def test_new_entities_are_made_and_answered(nine: Server) -> None:
    assert await nine("create_entities", entities=[ALICE, BOB]) == {"entities": [ALICE, BOB]}
    assert nine.text == json.dumps([ALICE, BOB], indent=2)
    assert await nine("read_graph") == {"entities": [ALICE, BOB], "relations": []}


async def test_an_entity_whose_name_is_taken_stays_as_it_is(nine: Server) -> None:
    await nine("create_entities", entities=[ALICE])
    assert await nine("create_entities", entities=[{**ALICE, "observations": ["other"]}]) == {"entities": []}
    assert (await nine("read_graph"))["entities"] == [ALICE]


async def test_one_call_makes_a_name_once(nine: Server) -> None:
    assert await nine("create_entities", entities=[ALICE, ALICE]) == {"entities": [ALICE]}


async def test_nothing_is_made_of_an_empty_list(nine: Server) -> None:
    assert await nine("create_entities", entities=[]) == {"entities": []}
    assert nine.text == "[]"
    assert await nine("create_relations", relations=[]) == {"relations": []}


async def test_new_relations_are_made_once(nine: Server) -> None:
    await nine("create_entities", entities=[ALICE, BOB])
    assert await nine("create_relations", relations=[KNOWS]) == {"relations": [KNOWS]}
    assert nine.text == json.dumps([KNOWS], indent=2)
    assert await nine("create_relations", relations=[KNOWS]) == {"relations": []}
    assert (await nine("read_graph"))["relations"] == [KNOWS]


async def test_two_entities_have_several_relations_of_any_type(nine: Server) -> None:
    await nine("create_entities", entities=[ALICE, BOB])
    several = [KNOWS, {**KNOWS, "relationType": "USES"}, {**KNOWS, "relationType": "RELATED_TO"}]
    assert await nine("create_relations", relations=several) == {"relations": several}
    found = (await nine("read_graph"))["relations"]
    assert sorted(r["relationType"] for r in found) == ["RELATED_TO", "USES", "knows"]
    await nine("delete_relations", relations=several[1:])
    assert (await nine("read_graph"))["relations"] == [KNOWS]


async def test_observations_are_added_once(nine: Server) -> None:
    await nine("create_entities", entities=[ALICE])
    added = await nine(
        "add_observations", observations=[{"entityName": "Alice", "contents": ["likes tea", "has a dog"]}]
    )
    assert added == {"results": [{"entityName": "Alice", "addedObservations": ["likes tea", "has a dog"]}]}
    assert nine.text == json.dumps(added["results"], indent=2)
    again = await nine(
        "add_observations", observations=[{"entityName": "Alice", "contents": ["likes tea", "x"]}]
    )
    assert again == {"results": [{"entityName": "Alice", "addedObservations": ["x"]}]}
    (alice,) = (await nine("read_graph"))["entities"]
    assert alice["observations"] == ["works at Acme Corp", "likes tea", "has a dog", "x"]


async def test_observations_of_an_unknown_entity_are_an_error_and_none_is_added(nine: Server) -> None:
    await nine("create_entities", entities=[ALICE])
    asked = [{"entityName": "Alice", "contents": ["a"]}, {"entityName": "Nobody", "contents": ["b"]}]
    assert await nine.refused("add_observations", observations=asked) == "Entity with name Nobody not found"
    assert (await nine("read_graph"))["entities"] == [ALICE]


async def test_entities_are_deleted_with_their_relations(filled: Server) -> None:
    done = await filled("delete_entities", entityNames=["Alice"])
    assert done == {"success": True, "message": "Entities deleted successfully"}
    assert filled.text == "Entities deleted successfully"
    assert await filled("read_graph") == {"entities": [BOB, ACME], "relations": []}


async def test_a_deleted_entity_can_be_made_again_without_what_it_had(filled: Server) -> None:
    await filled("delete_entities", entityNames=["Alice"])
    bare = {**ALICE, "observations": []}
    assert await filled("create_entities", entities=[bare]) == {"entities": [bare]}
    graph = await filled("open_nodes", names=["Alice"])
    assert graph == {"entities": [bare], "relations": []}


async def test_an_unknown_entity_can_be_deleted(nine: Server) -> None:
    await nine("delete_entities", entityNames=["Nobody"])
    await nine("delete_observations", deletions=[{"entityName": "Nobody", "observations": ["x"]}])
    assert nine.text == "Observations deleted successfully"
    await nine("delete_relations", relations=[KNOWS])
    assert nine.text == "Relations deleted successfully"


async def test_observations_are_deleted(filled: Server) -> None:
    await filled("add_observations", observations=[{"entityName": "Bob", "contents": ["sings"]}])
    await filled("delete_observations", deletions=[{"entityName": "Bob", "observations": ["plays the lute"]}])
    (bob,) = (await filled("open_nodes", names=["Bob"]))["entities"]
    assert bob["observations"] == ["sings"]


async def test_one_relation_is_deleted(filled: Server) -> None:
    await filled("delete_relations", relations=[KNOWS])
    assert (await filled("read_graph"))["relations"] == [WORKS]


async def test_an_empty_graph_is_read(nine: Server) -> None:
    assert await nine("read_graph") == {"entities": [], "relations": []}
    assert nine.text == json.dumps({"entities": [], "relations": []}, indent=2)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Alice", ["Alice"]),
        ("company", ["Acme Corp"]),
        ("lute", ["Bob"]),
        ("ALICE", ["Alice"]),
        ("acme", ["Alice", "Acme Corp"]),
        ("nothing of this", []),
    ],
)
async def test_entities_are_searched_by_name_type_and_observation(
    filled: Server, query: str, found: list[str]
) -> None:
    assert names(await filled("search_nodes", query=query)) == found


async def test_relations_with_one_end_in_the_answer_are_in_it(filled: Server) -> None:
    assert (await filled("search_nodes", query="lute"))["relations"] == [KNOWS]
    assert (await filled("search_nodes", query="Alice"))["relations"] == [KNOWS, WORKS]
    assert (await filled("open_nodes", names=["Bob"]))["relations"] == [KNOWS]
    assert (await filled("open_nodes", names=["Alice"]))["relations"] == [KNOWS, WORKS]


@pytest.mark.parametrize(
    ("asked", "found"), [(["Alice", "Bob"], ["Alice", "Bob"]), (["Nobody"], []), ([], [])]
)
async def test_entities_are_opened_by_name(filled: Server, asked: list[str], found: list[str]) -> None:
    assert names(await filled("open_nodes", names=asked)) == found


async def test_a_relation_may_come_before_its_entities(nine: Server) -> None:
    assert await nine("create_relations", relations=[KNOWS]) == {"relations": [KNOWS]}
    assert await nine("read_graph") == {"entities": [], "relations": [KNOWS]}
    assert await nine("create_entities", entities=[ALICE, BOB]) == {"entities": [ALICE, BOB]}
    assert await nine("read_graph") == {"entities": [ALICE, BOB], "relations": [KNOWS]}


async def test_an_entity_is_not_related_to_itself(nine: Server) -> None:
    await nine("create_entities", entities=[ALICE])
    said = await nine.refused("create_relations", relations=[{**KNOWS, "to": "Alice"}])
    assert said == "Alice cannot be related to itself; add it as an observation."


async def test_the_tools_and_their_hints_are_those_of_the_reference_server(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == [
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "read_graph",
        "search_nodes",
        "open_nodes",
    ]
    made, deleted, read = (
        tools[name].annotations for name in ("create_entities", "delete_entities", "read_graph")
    )
    assert made
    assert deleted
    assert read
    assert (made.read_only_hint, made.destructive_hint, made.idempotent_hint) == (False, False, False)
    assert (deleted.read_only_hint, deleted.destructive_hint, deleted.idempotent_hint) == (False, True, True)
    assert (read.read_only_hint, read.destructive_hint, read.open_world_hint) == (True, False, False)
    assert tools["create_entities"].title == "Create Entities"
    sent = json.dumps(tools["create_relations"].input_schema)
    assert all(f'"{name}"' in sent for name in ("from", "to", "relationType"))


async def test_the_graph_is_a_resource(filled: Server) -> None:
    (resource,) = [r for r in (await filled.client.list_resources()).resources if r.name == "knowledge-graph"]
    assert (str(resource.uri), resource.mime_type) == ("memory://knowledge-graph", "application/json")
    read = await filled.client.read_resource("memory://knowledge-graph")
    graph = json.loads(read.contents[0].text)  # type: ignore[union-attr]
    assert graph == {"entities": [ALICE, BOB, ACME], "relations": [KNOWS, WORKS]}


async def test_entities_are_memories_like_any_other(filled: Server, memory: Memory) -> None:
    answer = await memory.search_memory("who plays the lute?")
    assert [(row.label, row.title) for row in answer.results][:1] == [("Person", "Bob")]
    assert [
        version.properties["notes"] for version in (await memory.memory_history("Person", "Bob")).versions
    ] == [["plays the lute"]]
    await memory.remember("Technology", {"name": "PostgreSQL", "notes": ["keeps it all"]})
    graph = await filled("search_nodes", query="keeps it all")
    assert graph["entities"] == [
        {"name": "PostgreSQL", "entityType": "Technology", "observations": ["keeps it all"]}
    ]

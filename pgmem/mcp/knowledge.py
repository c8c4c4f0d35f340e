"""The toolset server-memory: the nine tools of the reference memory server of MCP, with its schemas and its answers.

They are for agents and prompts that know that server. Their texts are its texts, so they are not those of the other
tools: JSON with two blanks of indent, and for a deletion a sentence.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from pgmem import neutral
from pgmem.mcp.app import App
from pgmem.mcp.tools import opened, with_reasons
from pgmem.memory import Memory

TOOLSET = "server-memory"


class Entity(TypedDict):
    """An entity as it is sent and read."""

    name: Annotated[str, Field(description="The name of the entity")]
    entityType: Annotated[str, Field(description="The type of the entity")]
    observations: Annotated[
        list[str], Field(description="An array of observation contents associated with the entity")
    ]


Relation = TypedDict(  # `from` is a keyword, so that no class can have it as a field
    "Relation",
    {
        "from": Annotated[str, Field(description="The name of the entity where the relation starts")],
        "to": Annotated[str, Field(description="The name of the entity where the relation ends")],
        "relationType": Annotated[str, Field(description="The type of the relation")],
    },
)


class NewObservations(TypedDict):
    """Observations to add to an entity."""

    entityName: Annotated[str, Field(description="The name of the entity to add the observations to")]
    contents: Annotated[list[str], Field(description="An array of observation contents to add")]


class OldObservations(TypedDict):
    """Observations to delete from an entity."""

    entityName: Annotated[str, Field(description="The name of the entity containing the observations")]
    observations: Annotated[list[str], Field(description="An array of observations to delete")]


class AddedToEntity(TypedDict):
    """What was new of the observations of an entity."""

    entityName: str
    addedObservations: list[str]


class Entities(TypedDict):
    """The entities that were made."""

    entities: list[Entity]


class Relations(TypedDict):
    """The relations that were made."""

    relations: list[Relation]


class Results(TypedDict):
    """The observations that were added."""

    results: list[AddedToEntity]


class Graph(TypedDict):
    """Entities and their relations."""

    entities: list[Entity]
    relations: list[Relation]


class Done(TypedDict):
    """The end of a deletion."""

    success: bool
    message: str


@dataclass(frozen=True)
class _Tool:
    title: str
    description: str
    effect: str
    answer: Any
    sent: Mapping[str, Any]
    verb: Callable[..., Awaitable[Any]]
    text: str | None = None
    """The field of the answer that is the text; None: all of the answer."""
    message: str | None = None
    """What a deletion says."""

    async def call(self, memory: Memory, **arguments: Any) -> Any:
        """Call the verb and return the answer of the reference server."""
        answer = await self.verb(memory, *arguments.values())
        if self.message is not None:
            return {"success": True, "message": self.message}
        return {name: [_in_order(item) for item in items] for name, items in asdict(answer).items()}


def _in_order(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its fields in the order of the reference server; jsonb has one of its own."""
    return {name: item[name] for name in _ORDER if name in item}


_ORDER = tuple("name entityType entityName observations addedObservations from to relationType".split())

_READ = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
_HINTS = {
    "read": _READ,
    "make": {**_READ, "read_only_hint": False, "idempotent_hint": False},
    "delete": {**_READ, "read_only_hint": False, "destructive_hint": True},
}


def _list(kind: Any, description: str | None = None) -> Any:
    return Annotated[list[kind], Field(description=description)]


_TOOLS = {
    "create_entities": _Tool(
        "Create Entities",
        "Create multiple new entities in the knowledge graph",
        "make",
        Entities,
        {"entities": _list(Entity)},
        Memory.create_entities,
        text="entities",
    ),
    "create_relations": _Tool(
        "Create Relations",
        "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
        "make",
        Relations,
        {"relations": _list(Relation)},
        Memory.create_relations,
        text="relations",
    ),
    "add_observations": _Tool(
        "Add Observations",
        "Add new observations to existing entities in the knowledge graph",
        "make",
        Results,
        {"observations": _list(NewObservations)},
        Memory.add_observations,
        text="results",
    ),
    "delete_entities": _Tool(
        "Delete Entities",
        "Delete multiple entities and their associated relations from the knowledge graph",
        "delete",
        Done,
        {"entityNames": _list(str, "An array of entity names to delete")},
        Memory.delete_entities,
        text="message",
        message="Entities deleted successfully",
    ),
    "delete_observations": _Tool(
        "Delete Observations",
        "Delete specific observations from entities in the knowledge graph",
        "delete",
        Done,
        {"deletions": _list(OldObservations)},
        Memory.delete_observations,
        text="message",
        message="Observations deleted successfully",
    ),
    "delete_relations": _Tool(
        "Delete Relations",
        "Delete multiple relations from the knowledge graph",
        "delete",
        Done,
        {"relations": _list(Relation, "An array of relations to delete")},
        Memory.delete_relations,
        text="message",
        message="Relations deleted successfully",
    ),
    "read_graph": _Tool(
        "Read Graph", "Read the entire knowledge graph", "read", Graph, {}, Memory.read_graph
    ),
    "search_nodes": _Tool(
        "Search Nodes",
        "Search for nodes in the knowledge graph based on a query",
        "read",
        Graph,
        {
            "query": Annotated[
                str,
                Field(
                    description="The search query to match against entity names, types, and observation content"
                ),
            ]
        },
        Memory.search_nodes,
    ),
    "open_nodes": _Tool(
        "Open Nodes",
        "Open specific nodes in the knowledge graph by their names",
        "read",
        Graph,
        {"names": _list(str, "An array of entity names to retrieve")},
        Memory.open_nodes,
    ),
}


def add(server: MCPServer[App], app: App) -> None:
    """Register the nine tools and the resource of the graph."""
    memory = opened(app)
    for name, tool in _TOOLS.items():
        server.add_tool(
            _function(name, tool, app, memory),
            title=tool.title,
            annotations=ToolAnnotations(**_HINTS[tool.effect]),
        )

    @server.resource(
        "memory://knowledge-graph",
        name="knowledge-graph",
        title="Knowledge Graph",
        description="The full knowledge graph with all entities and relations",
        mime_type="application/json",
        meta=neutral.MARK,
    )
    async def knowledge_graph() -> str:
        graph = await _TOOLS["read_graph"].call(await app.memory())
        return neutral.as_data_in_json(_json(neutral.as_data(graph)))


def text_of(tool: str, answer: Any) -> str | None:
    """Return the text of an answer as the reference server gives it; None for a tool of another toolset."""
    if tool not in _TOOLS:
        return None
    field = _TOOLS[tool].text
    found = answer if field is None else answer[field]
    return found if isinstance(found, str) else neutral.as_data_in_json(_json(found))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _function(name: str, tool: _Tool, app: App, memory: Any) -> Callable[..., Awaitable[Any]]:
    """Return a tool as a function of the memory, which the server injects, and the arguments that agents send."""

    async def call(memory: Memory, **arguments: Any) -> Any:
        return await tool.call(memory, **arguments)

    taken = [Parameter("memory", Parameter.KEYWORD_ONLY, annotation=memory)]
    taken += [Parameter(sent, Parameter.KEYWORD_ONLY, annotation=kind) for sent, kind in tool.sent.items()]
    call.__name__, call.__doc__ = name, tool.description
    call.__annotations__ = {part.name: part.annotation for part in taken} | {"return": tool.answer}
    call.__signature__ = Signature(taken, return_annotation=tool.answer)  # type: ignore[attr-defined]
    return with_reasons(app)(call)

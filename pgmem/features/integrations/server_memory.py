"""The toolset server-memory: the nine tools of the reference memory server of MCP, with its schemas and its answers.

They are for agents and prompts that know that server. Their texts are its texts, so they are not those of the other
tools: JSON with two blanks of indent, and for a deletion a sentence.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from pgmem import escaping
from pgmem.mcp.app import App
from pgmem.mcp.resources import Resources
from pgmem.mcp.tool import Tool
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
    """The added observations of an entity."""

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
    """A tool of the reference server: the verb, its effect, the class of its answer, its text, and its arguments."""

    verb: Callable[..., Awaitable[Any]]
    effect: str
    answer: Any
    description: str
    sent: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.verb.__name__

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").title()

    async def call(self, memory: Memory, **arguments: Any) -> Any:
        """Call the verb and return the answer of the reference server."""
        answer = await self.verb(memory, *arguments.values())
        if self.effect == "delete":
            return {"success": True, "message": f"{self.title.split()[1]} deleted successfully"}
        return {name: [_in_order(item) for item in items] for name, items in asdict(answer).items()}

    def text(self, answer: Any) -> Any:
        """The text of an answer: the message of a deletion, the list of a creation."""
        fields = {"read": None, "make": next(iter(self.answer.__annotations__)), "delete": "message"}
        field = fields[self.effect]
        return answer if field is None else answer[field]


def _in_order(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its fields in the order of the reference server, which jsonb does not keep."""
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


def _makes(verb: Callable[..., Awaitable[Any]], answer: Any, description: str, **sent: Any) -> _Tool:
    return _Tool(verb, "make", answer, description, sent)


def _deletes(verb: Callable[..., Awaitable[Any]], description: str, **sent: Any) -> _Tool:
    return _Tool(verb, "delete", Done, description, sent)


def _reads(verb: Callable[..., Awaitable[Any]], description: str, **sent: Any) -> _Tool:
    return _Tool(verb, "read", Graph, description, sent)


_QUERY = Field(description="The search query to match against entity names, types, and observation content")
_ALL = (
    _makes(
        Memory.create_entities,
        Entities,
        "Create multiple new entities in the knowledge graph",
        entities=_list(Entity),
    ),
    _makes(
        Memory.create_relations,
        Relations,
        "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
        relations=_list(Relation),
    ),
    _makes(
        Memory.add_observations,
        Results,
        "Add new observations to existing entities in the knowledge graph",
        observations=_list(NewObservations),
    ),
    _deletes(
        Memory.delete_entities,
        "Delete multiple entities and their associated relations from the knowledge graph",
        entityNames=_list(str, "An array of entity names to delete"),
    ),
    _deletes(
        Memory.delete_observations,
        "Delete specific observations from entities in the knowledge graph",
        deletions=_list(OldObservations),
    ),
    _deletes(
        Memory.delete_relations,
        "Delete multiple relations from the knowledge graph",
        relations=_list(Relation, "An array of relations to delete"),
    ),
    _reads(Memory.read_graph, "Read the entire knowledge graph"),
    _reads(
        Memory.search_nodes,
        "Search for nodes in the knowledge graph based on a query",
        query=Annotated[str, _QUERY],
    ),
    _reads(
        Memory.open_nodes,
        "Open specific nodes in the knowledge graph by their names",
        names=_list(str, "An array of entity names to retrieve"),
    ),
)
_TOOLS = {tool.name: tool for tool in _ALL}


def tools() -> list[Tool]:
    """Return the nine tools."""
    return [
        Tool(
            name=tool.name,
            description=tool.description,
            taken=tool.sent,
            answer=tool.answer,
            run=tool.call,
            hints=ToolAnnotations(**_HINTS[tool.effect]),
            title=tool.title,
        )
        for tool in _TOOLS.values()
    ]


def add(resources: Resources, app: App) -> None:
    """Register the resource of the graph."""

    @resources.at(
        "memory://knowledge-graph",
        name="knowledge-graph",
        title="Knowledge Graph",
        description="The full knowledge graph with all entities and relations",
        mime_type="application/json",
        meta=escaping.MARK,
    )
    async def knowledge_graph() -> str:
        graph = await _TOOLS["read_graph"].call(await app.memory())
        return escaping.as_data_in_json(_json(escaping.as_data(graph)))


def text_of(tool: str, answer: Any) -> str | None:
    """Return the text of an answer as the reference server gives it; None for a tool of another toolset."""
    if tool not in _TOOLS:
        return None
    found = _TOOLS[tool].text(answer)
    return found if isinstance(found, str) else escaping.as_data_in_json(_json(found))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)

"""A tool: how its arguments are read, how it is answered and listed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, datetime
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import mcp.types as protocol
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from pgmem.mcp.arguments import refusal, unknown
from pgmem.mcp.schemas import listed_answer, listed_arguments, meant

_IF_ANY = frozenset(
    {"same", "rests", "standing", "near_names", "near", "conflicts", "stubs_made", "did_you_mean"}
)
"""Lists of an answer that are left out where they are empty."""
_PLAIN = {str, NoneType, UUID, date, datetime, int, float, bool}


class Refused(Exception):
    """A tool refuses. Its message goes to the agent: one sentence that says what to send instead."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool.

    Attributes:
        name: of the tool.
        description: for agents.
        taken: the annotated types of the arguments that agents send.
        usual: the defaults of the arguments that may be left out.
        answer: the type of the answer: a dataclass, a TypedDict, or a list, which becomes the field result.
        run: answers; takes the memory and the arguments.
        hints: for clients, about its effects.
        title: for people.
        serverless: whether it asks no server, and so answers while the database is away.
        asks: whether it can save for all projects, which a person is asked about.
    """

    name: str
    description: str
    taken: Mapping[str, Any]
    usual: Mapping[str, Any] = field(default_factory=dict)
    answer: Any
    run: Callable[..., Awaitable[Any]] = field(repr=False)
    hints: protocol.ToolAnnotations
    title: str | None = None
    serverless: bool = False
    asks: bool = False

    @cached_property
    def _model(self) -> type[BaseModel]:
        parts: dict[str, Any] = {name: (kind, self.usual.get(name, ...)) for name, kind in self.taken.items()}
        config = ConfigDict(arbitrary_types_allowed=True)
        return create_model(f"{self.name}Arguments", __config__=config, **parts)

    @cached_property
    def _required(self) -> frozenset[str]:
        return frozenset(name for name, part in self._model.model_fields.items() if part.is_required())

    @cached_property
    def _parsed(self) -> frozenset[str]:
        """The arguments of which a text may be JSON: clients send lists and objects so.

        Text stays text where an argument takes text and neither a list nor an object, as the topic `["x"]`.
        """
        kinds = {name: part.annotation for name, part in self._model.model_fields.items()}
        return frozenset(name for name, kind in kinds.items() if not _is_plain_text(kind))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The whole schema of the arguments."""
        return self._model.model_json_schema()

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.answer)

    @cached_property
    def _is_list(self) -> bool:
        return get_origin(self.answer) is list

    @cached_property
    def answer_schema(self) -> dict[str, Any]:
        """The whole schema of the answer."""
        schema = self._adapter.json_schema()
        if not self._is_list:
            return schema
        defined = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        return {**defined, "type": "object", "properties": {"result": schema}, "required": ["result"]}

    @cached_property
    def optional(self) -> frozenset[str]:
        """The fields of the answer that may be left out: those with a value that says nothing, and some lists."""
        if is_dataclass(self.answer):
            return _IF_ANY | {part.name for part in fields(self.answer) if part.default is not MISSING}
        return _IF_ANY | getattr(self.answer, "__optional_keys__", frozenset[str]())

    def read(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments of a call.

        Raises:
            Refused: an argument is unknown, missing or of another kind.
        """
        if message := unknown(self.name, list(self.taken), sent):
            raise Refused(message)
        given = meant(self._required, sent)
        for name in self._parsed.intersection(given):
            given[name] = _from_json(given[name])
        try:
            return dict(self._model.model_validate(given))
        except ValidationError as error:
            raise Refused(refusal(self.name, self.parameters, error)) from None

    def plain(self, found: Any) -> dict[str, Any]:
        """Return an answer as a JSON object."""
        plain = self._adapter.dump_python(found, mode="json")
        return {"result": plain} if self._is_list else plain

    def listed(self) -> protocol.Tool:
        """Return the tool as it is listed, with short schemas."""
        return protocol.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=listed_arguments(self.name, self.parameters),
            output_schema=listed_answer(self.answer_schema),
            annotations=self.hints,
        )


def _from_json(value: Any) -> Any:
    """Return the value of a text of JSON, if it is neither a text nor a number, which stay texts."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(found, str | int | float) else found


def _is_plain_text(annotation: Any) -> bool:
    kinds = set(_members(annotation))
    return str in kinds and all(get_origin(kind) is None and kind in _PLAIN for kind in kinds)


def _members(annotation: Any) -> Iterator[Any]:
    """The types of a union, without annotations."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif get_origin(annotation) is Literal:
        yield from (type(value) for value in get_args(annotation))
    else:
        yield annotation

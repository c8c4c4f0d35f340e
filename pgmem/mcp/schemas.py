"""The schemas of tools as they are listed: short, because every client sends them to its model with every request.

References are resolved, generated titles and `null` branches are left out (an absent argument means the same), and of
formats date-time alone is kept: some clients refuse others. All objects convert to the strict mode of OpenAI.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_IMPLIED: Mapping[str, tuple[Any, ...]] = {"default": (None, [], False, "project"), "minimum": (1,)}
_SHOWN = tuple("type enum items properties required anyOf minimum maximum default description".split())


_UNLISTED: Mapping[str, tuple[str, ...]] = {
    "get_save_status": ("session_id",),
    "forget": ("governance_token",),
    "get_relevant_memory": ("include_drafts", "include_stale"),
    "list_projects": ("limit",),
    "manage_engineering_memory": ("report", "propose"),
    "memory_freshness": ("scope", "stale_after_days", "limit"),
    "memory_surface": ("limit",),
    "query_engineering_memory": ("include_drafts", "include_stale"),
    "retrieve_context": ("as_of", "known_at", "max_tokens"),
    "remember": ("valid_from", "valid_to"),
    "revert": ("governance_token",),
    "route_analysis": ("task_type_hint",),
    "run_hygiene": ("check_pending_only", "limit", "scope"),
    "save_context": ("relevance_score", "save_id", "valid_from", "valid_to"),
    "save_decision": ("confidence", "owner", "save_id"),
    "save_pattern": ("save_id", "valid_from", "valid_to"),
    "save_session": ("scope", "governance_token", "save_id"),
    "search_memory": ("agent_id", "session_id", "known_at", "max_tokens", "min_relevance", "scope"),
    "store_session_with_learnings": ("atomic", "governance_token", "save_id"),
    "surface_insights": ("limit",),
    "upsert_entity": ("save_id", "related_entities.entity_id"),
}
"""Arguments, and fields of objects, that tools take and do not list: programs use them, and models do without."""


def listed_arguments(name: str, schema: Mapping[str, Any], *, whole: bool = False) -> dict[str, Any]:
    """Return the schema of the arguments of a tool as it is listed; whole: with those that are not listed."""
    listed = _short(schema, schema)
    if not whole:
        for unlisted in _UNLISTED.get(name, ()):
            first, _, field = unlisted.partition(".")
            (listed["properties"][first]["items"]["properties"] if field else listed["properties"]).pop(
                field or first
            )
    return listed if listed["properties"] else {**listed, "additionalProperties": False}


def listed_answer(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer: an object with its status, where it always has one of a choice."""
    fields = {name: _short(schema["properties"][name], schema) for name in schema.get("required", ())}
    choices = {name: {"enum": field["enum"]} for name, field in fields.items() if "enum" in field}
    return {"type": "object", **({"properties": choices, "required": list(choices)} if choices else {})}


def meant(required: Collection[str], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without the optional ones that are empty.

    In strict mode a model must send every argument, and sends an empty text or list for one that it does not know. In
    an object they are left out too, but null stays in properties, where it removes one.
    """
    return {
        name: _without_empty(value, ("",) if name == "properties" else ("", None))
        for name, value in sent.items()
        if name in required or value not in (None, "", [])
    }


def _without_empty(value: Any, empty: tuple[Any, ...]) -> Any:
    if isinstance(value, dict):
        return {name: _without_empty(item, empty) for name, item in value.items() if item not in empty}
    if isinstance(value, list):
        return [_without_empty(item, empty) if isinstance(item, dict) else item for item in value]
    return value


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that a reference or an optional schema stands for."""
    if len(found := branches(schema)) == 1:
        schema = found[0]
    if "$ref" in schema:
        referred: Mapping[str, Any] = root["$defs"][schema["$ref"].rpartition("/")[2]]
        return referred
    return schema


def branches(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the alternatives of a schema, without null."""
    return [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]


def _short(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    found = resolved(schema, root)
    if found is not schema:
        described = {"description": schema["description"]} if "description" in schema else {}
        return {
            **_short({name: part for name, part in found.items() if name != "description"}, root),
            **described,
        }
    kept: dict[str, Any] = {}
    for name in _SHOWN:
        if name not in schema or schema[name] in _IMPLIED.get(name, ()):
            continue
        value = schema[name]
        if name == "properties":
            value = {key: _short(part, root) for key, part in value.items()}
        elif name == "items":
            value = _short(value, root)
        elif name == "anyOf":
            value = [_short(part, root) for part in branches(schema)]
        kept[name] = value
    if schema.get("format") == "date-time":
        kept["format"] = "date-time"
    return kept

"""pgmem/answers.py, the classes of the answers of verbs, from the types that declare_answer makes."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

from generation.code import WRITTEN, camel, formatted

__all__ = ["answers"]

_TYPES = r"""
select c.relname as name,
       coalesce(obj_description(c.reltype, 'pg_type'),
                regexp_replace(obj_description(c.oid, 'pg_class'), '^Internal: ', '')) as comment,
       array_agg(array[a.attname::text, col_description(c.oid, a.attnum)] order by a.attnum) as attributes
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'pgmem'::regnamespace and c.relkind in ('c', 'v') group by c.oid
having bool_and(col_description(c.oid, a.attnum) is not null)
  and (c.relkind = 'c' or obj_description(c.oid, 'pg_class') ~ '\[class \w+')
"""
_SIMPLE = {
    "text": "str",
    "integer": "int",
    "bigint": "int",
    "float8": "float",
    "boolean": "bool",
    "uuid": "UUID",
    "date": "Date",
    "timestamptz": "datetime",
    "json": "JsonValue",
    "any": "Any",
    "object": "dict[str, JsonValue]",
    "card_evidence": "CardEvidence",
    "rest": "dict[str, JsonValue]",
}
_HEAD = f'''\
"""The answers of the verbs: a frozen dataclass for each type that sql/ declares, with its attributes as fields.

The classes have no slots, because the MCP SDK reads the default of a field from the class, where slots leave a
descriptor.

{WRITTEN}
"""

from __future__ import annotations

from dataclasses import field
from datetime import date as Date
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import JsonValue

from pgmem.answer import Answer, Excerpted, Gathering
from pgmem.inputs import CardEvidence

'''


@dataclass
class Type:
    """A type that declare_answer has made or described."""

    name: str
    comment: str
    attributes: list[list[str]]

    @property
    def _head(self) -> str:
        found = re.search(r"\n\n\[(.*)\]$", self.comment)
        return found[1] if found else ""

    @property
    def cls(self) -> str:
        """The name of its class."""
        found = re.search(r"class (\w+)", self._head)
        return found[1] if found else camel(self.name)

    @property
    def like(self) -> str | None:
        """The type that it begins with."""
        found = re.search(r"like (\w+)", self._head)
        return found[1] if found else None

    @property
    def declared(self) -> dict[str, tuple[str, str]]:
        """The declaration of each attribute, and its meaning."""
        parts = {name: comment.partition(": ") for name, comment in self.attributes}
        return {
            name: (what, meaning)
            for name, (what, _, meaning) in parts.items()
            if not what.startswith("former_")
        }

    @property
    def named(self) -> list[str]:
        """The types that its own attributes are of."""
        return [word for what, _ in self.declared.values() for word in re.findall(r"\w+", what)]


def answers(connection: psycopg.Connection[Any], verbs: list[str]) -> str:
    """Return the module of the classes.

    Args:
        connection: to a database in which this release is installed.
        verbs: the answers of the verbs; what none of them is made of has no class.
    """
    rows = connection.cursor(row_factory=class_row(Type)).execute(_TYPES).fetchall()
    types = {each.name: each for each in rows}
    names = {each.cls: each.name for each in rows}
    made: dict[str, str] = {}

    def make(name: str) -> None:
        if name in types and name not in made:
            for part in [types[name].like, *types[name].named]:
                if part and part != name:
                    make(part)
            made[name] = written(types[name], types)

    for answer in verbs:
        for word in re.findall(r"\w+", answer):
            make(names.get(word, ""))
    classes = sorted(types[name].cls for name in made)
    listed = f"__all__ = {classes!r}\n"
    return formatted(_HEAD + listed + "\n\n" + "\n\n".join(made.values()))


def written(of: Type, types: dict[str, Type]) -> str:
    """Return a type as a class."""
    inherited = types[of.like].declared if of.like else {}
    own = {name: part for name, part in of.declared.items() if inherited.get(name) != part}
    bases = [types[of.like].cls] if of.like else ["Answer"]
    if "passage" in own:
        bases.insert(0, "Excerpted")
    if any(what.startswith("rest") for what, _ in own.values()):
        bases.insert(0, "Gathering")
    lines = [f"class {of.cls}({', '.join(bases)}):", textwrap.indent(docstring(of.comment), "    "), ""]
    for name, (what, meaning) in own.items():
        lines.append(f"    {name}: {attribute(what, types)}")
        if meaning:
            lines.append(textwrap.indent(docstring(meaning), "    "))
    return "\n".join(lines) + "\n"


def docstring(comment: str) -> str:
    """Return a comment as a docstring."""
    text = re.sub(r"\n\n\[.*\]$", "", comment)
    parts = [
        textwrap.fill(" ".join(part.split()), 110, break_on_hyphens=False) for part in text.split("\n\n")
    ]
    return '"""' + "\n\n".join(parts) + ('\n"""' if "\n" in "\n\n".join(parts) else '"""')


def attribute(declared: str, types: dict[str, Type]) -> str:
    """Return the annotation of a field and its default, from what an attribute is declared as."""
    what, _, value = declared.partition(" = ")
    kind = python_type(what.removesuffix("?"), types)
    if what.endswith("?"):
        return f"{kind} | None = None"
    if not value:
        return kind
    if value == "{}":
        return f"{kind} = field(default_factory={kind.partition('[')[0]})"
    if value in ("true", "false"):
        value = value.capitalize()
    elif kind == "str" or kind.startswith("Literal"):
        value = repr(value.strip("'"))
    return f"{kind} = {value}"


def python_type(what: str, types: dict[str, Type]) -> str:
    """Return the type of a field."""
    if what.endswith("[]"):
        return f"list[{python_type(what[:-2], types)}]"
    if what.startswith("["):
        return f"list[{python_type(what[1:-1], types)}]"
    if what.startswith("{"):
        return f"dict[str, {python_type(what[1:-1], types)}]"
    if "|" in what:
        return f"Literal[{', '.join(map(repr, what.split('|')))}]"
    return _SIMPLE.get(what) or types[what].cls

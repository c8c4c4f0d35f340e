"""The verbs of a fresh install: rows of pgmem.verb with the catalog entries of their functions."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psycopg
from psycopg.rows import class_row, dict_row

from pgmem import errors
from pgmem.declaration import Field, Kind

__all__ = ["Argument", "Verb", "domains", "kinds", "verbs", "ways"]

_VERBS = """
select v.*, p.proretset as many, p.provolatile <> 'v' as stable, obj_description(p.oid, 'pg_proc') as comment,
       coalesce((select jsonb_agg(jsonb_build_object('name', substr(a.name, 3), 'type', format_type(a.type, null),
                   'default', case when a.next_type not like 'pgmem.former_name_%' or a.next_type is null
                     then pg_get_function_arg_default(p.oid, a.place::integer) end,
                   'sent_by', case when format_type(a.type, null) like 'pgmem.former_%' then 'former client'
                     else coalesce(g.sent_by, 'anyone') end, 'meaning', g.meaning) order by a.place)
                 from (select every.*, format_type(lead(type) over (order by place), null) as next_type
                       from unnest(p.proargnames, p.proargmodes, coalesce(p.proallargtypes, p.proargtypes::oid[]))
                         with ordinality as every(name, mode, type, place)) a
                 left join pgmem.argument g on g.name = substr(a.name, 3)
                 where coalesce(a.mode, 'i') = 'i'), '[]') as given,
       pg_get_function_arguments(p.oid) as signature,
       -- Of a composite its columns: ROW(…), or TABLE(…) if the verb returns a set.
       coalesce((select format(case when p.proretset then 'TABLE(%s)' else 'ROW(%s)' end,
                               string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
                                          order by a.attnum))
                 from pg_type t join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
                 where t.oid = p.prorettype and t.typtype = 'c' having count(*) > 0),
                pg_get_function_result(p.oid)) as result
from pgmem.verb v join pg_proc p on p.proname = v.name and p.pronamespace = 'pgmem'::regnamespace
order by v.place
"""

_DOMAINS = """
select t.typname as name, pg_get_constraintdef(c.oid) as rule
from pg_type t join pg_constraint c on c.contypid = t.oid and c.contype = 'c'
where t.typnamespace = 'pgmem'::regnamespace order by 1
"""


@dataclass(frozen=True)
class Argument:
    """An argument of a verb: its SQL type, its default, which callers send it, and its meaning.

    A former client sends what clients of this release do not: no method, tool or page shows it.
    """

    name: str
    type: str
    default: str | None
    sent_by: str
    meaning: str


@dataclass
class Verb:
    """A declared verb."""

    place: int
    chapter: str
    name: str
    summary: str
    rights: str
    effect: str
    answer: str | None
    patience: str | None
    toolset: str | None
    description: str | None
    hidden: list[str]
    reach: str
    least: list[str]
    reads: int | None
    reads_all: str | None
    many: bool
    stable: bool
    comment: str
    given: list[dict[str, Any]]
    signature: str
    result: str

    @cached_property
    def arguments(self) -> list[Argument]:
        """The arguments in order, each with its meaning: from the comment, or else from pgmem.argument.

        Raises:
            ValueError: the comment describes an argument that the verb does not take.
        """
        meanings = dict(self._lines)
        names = {row["name"] for row in self.given}
        if unknown := {name for name, _ in self._lines if not self._is_error(name)} - names:
            raise ValueError(
                f"The comment on {self.name} describes {', '.join(sorted(unknown))}, which it does not take."
            )
        return [
            Argument(**{**row, "meaning": meanings.get(row["name"]) or row["meaning"] or ""})
            for row in self.given
        ]

    @cached_property
    def sent(self) -> list[Argument]:
        """The arguments that a caller of the Python method sends."""
        return [
            argument for argument in self.arguments if argument.sent_by not in ("python", "former client")
        ]

    @cached_property
    def text(self) -> str:
        """The comment without the lines that describe arguments and errors."""
        kept = re.sub(r"^\w+: .+(\n  .+)*\n?", "", inspect.cleandoc(self.comment), flags=re.MULTILINE)
        return re.sub(r"\n{3,}", "\n\n", kept).strip()

    @property
    def raises(self) -> list[tuple[str, str]]:
        """The exceptions, each with the condition in which it is raised."""
        return [(name, when) for name, when in self._lines if self._is_error(name)]

    @cached_property
    def _lines(self) -> list[tuple[str, str]]:
        found = re.findall(r"^(\w+): (.+(?:\n  .+)*)", inspect.cleandoc(self.comment), re.MULTILINE)
        return [(name, " ".join(text.split())) for name, text in found]

    @staticmethod
    def _is_error(name: str) -> bool:
        return name[0].isupper() and hasattr(errors, name)


def verbs(connection: psycopg.Connection[Any]) -> list[Verb]:
    """Return the declared verbs, in the order of the chapters."""
    return connection.cursor(row_factory=class_row(Verb)).execute(_VERBS).fetchall()


def domains(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Return the checks of the domains by name."""
    rows = connection.cursor(row_factory=dict_row).execute(_DOMAINS).fetchall()
    return {row["name"]: row["rule"] for row in rows}


def ways(connection: psycopg.Connection[Any]) -> dict[str, tuple[list[str], list[str]]]:
    """Return the keywords and the steps of each way to reason."""
    rows = connection.execute(
        "select mode, keywords, steps from pgmem.ways_to_reason() order by place"
    ).fetchall()
    return {mode: (keywords, steps) for mode, keywords, steps in rows}


def parts(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """Return the parts of an export that are rows of a declared table."""
    rows = connection.execute(
        "select part from pgmem.table_rule where part is not null order by place"
    ).fetchall()
    return tuple(part for (part,) in rows)


def kinds(connection: psycopg.Connection[Any]) -> list[Kind]:
    """Return the kinds of memory that have a save verb, in the order of the chapters, with their fields."""
    query = """
        select l.name, v.name, v.summary, l.title_field, array_agg(row_to_json(f) order by f.place)
        from pgmem.label l join pgmem.verb v on v.name = l.verb
        join pgmem.field f on f.label = l.name and f.kept <> 'view'
        group by l.name, v.name, v.summary, l.title_field, v.place order by v.place
    """
    names = ("name", "type", "meaning", "required", "hidden", "option")
    return [
        Kind(
            label,
            verb,
            summary,
            tuple(Field(**{name: field[name] for name in names}) for field in fields),
            title,
        )
        for label, verb, summary, title, fields in connection.execute(query).fetchall()
    ]

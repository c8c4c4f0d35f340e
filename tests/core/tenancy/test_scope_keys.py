"""A scope key is a hash: no function reads, changes or compares rows by it alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pglast import ast, parse_plpgsql, parse_sql
from pglast.parser import ParseError
from pglast.visitors import Visitor

SQL = Path(__file__).parent.parent.parent.parent / "sql"
# Functions that find rows of dedup_token, which has no tenant, and the condition in its place.
ALLOWED = {
    "title_candidates": "candidates; who calls it compares the tenant of each",
    "unindex_title": "rows of one node, by its number",
    "adopt": "rows of the nodes of one tenant, by their numbers",
    "apply_changes": "locks the scopes of rows that it holds, whose tenants were compared",
    "settle": "index rows of the nodes of one organisation, by their numbers",
    "index_titles": "counts titles by the key and the tenant of each",
    "order_titles": "all entries of a key, because it has one order; those of the titles of the tenant are made again",
    "renew_titles": "rows of a range of nodes, by their numbers",
    "ranked_tokens": "the order of a key, in which words are compared; it changes speed and no answer",
    "take_secret": "every key of the store",
}


def functions(text: str) -> Iterator[tuple[str, str]]:
    """The name and the whole statement of each function of a chapter."""
    for raw in parse_sql(text):
        if isinstance(raw.stmt, ast.CreateFunctionStmt):
            start, length = raw.stmt_location or 0, raw.stmt_len
            name: Any = raw.stmt.funcname
            yield name[-1].sval, text[start : start + length if length else None]


def statements(function: str) -> Iterator[Any]:
    """The statements and expressions inside a function, parsed."""
    made: Any = parse_sql(function)[0].stmt
    options = {option.defname: option.arg for option in made.options or ()}
    if made.sql_body is not None:
        yield made.sql_body
    elif options["language"].sval == "sql":
        yield from (one.stmt for one in parse_sql(options["as"][0].sval))
    else:
        # The parser knows neither our schema nor arrays of our types.
        plain = re.sub(r"pgmem\.\w+\[\]", "text[]", function).replace("pgmem.", "")
        for query in re.findall(r'"query": ("(?:[^"\\]|\\.)*")', json.dumps(parse_plpgsql(plain))):
            yield parsed(json.loads(query))


def parsed(query: str) -> Any:
    """A statement, or an expression or an assignment of PL/pgSQL as one."""
    for form in (query, f"select {query}", "select " + query.partition(":=")[2]):
        try:
            return parse_sql(form)[0].stmt
        except ParseError:
            continue
    raise AssertionError(query)


class Levels(Visitor):
    """The relations that some level of a statement finds, groups or parts by scope_key without asking for the tenant."""

    def __init__(self) -> None:
        self.unowned: set[str] = set()

    def visit_SelectStmt(self, _: object, node: ast.SelectStmt) -> None:
        windows = [w for t in node.targetList or () for w in parts(t, ast.WindowDef)]
        self._look(
            node.fromClause, (node.fromClause, node.whereClause, node.groupClause, node.windowClause, windows)
        )

    def visit_UpdateStmt(self, _: object, node: ast.UpdateStmt) -> None:
        self._look((node.relation, *(node.fromClause or ())), (node.fromClause, node.whereClause))

    def visit_DeleteStmt(self, _: object, node: ast.DeleteStmt) -> None:
        self._look((node.relation, *(node.usingClause or ())), (node.usingClause, node.whereClause))

    def _look(self, relations: object, conditions: object) -> None:
        names = set()
        for one in parts(relations, (ast.RangeVar, ast.RangeSubselect, ast.RangeFunction)):
            names.add(one.alias.aliasname if one.alias else getattr(one, "relname", ""))
        found: dict[str, set[str]] = {"scope_key": set(), "tenant": set()}
        for column in parts(conditions, ast.ColumnRef):
            path = [getattr(field, "sval", "*") for field in column.fields]
            if path[-1] in found:
                found[path[-1]].add(path[-2] if len(path) > 1 else "")
        self.unowned |= (found["scope_key"] & (names | {""})) - found["tenant"]

    def visit_A_Const(self, _: object, node: ast.A_Const) -> None:
        # A statement that is executed is a text, which names both or none.
        text = getattr(node.val, "sval", "")
        if "scope_key" in text and "tenant" not in text:
            self.unowned.add(text)


def parts(node: object, kind: type | tuple[type, ...]) -> Iterator[Any]:
    """The nodes of a kind in a tree, without those of the queries inside it."""
    if isinstance(node, (list, tuple)):
        for one in node:
            yield from parts(one, kind)
    elif isinstance(node, ast.Node):
        if isinstance(node, kind):
            yield node
        if not isinstance(node, ast.SelectStmt):
            for name in node:
                yield from parts(getattr(node, name), kind)


def faults(function: str) -> set[str]:
    """The relations that a function looks up by scope_key alone, and the texts that it executes which do."""
    levels = Levels()
    for statement in statements(function):
        levels(statement)
    return levels.unowned


def test_no_function_goes_by_a_scope_key_without_the_tenant() -> None:
    named = {
        name: faults(function)
        for path in sorted(SQL.rglob("[0-9][0-9]-*.sql"))
        for name, function in functions(path.read_text("utf-8"))
        if "scope_key" in function
    }
    assert len(named) > 60
    assert {name: found for name, found in named.items() if found and name not in ALLOWED} == {}
    assert {name for name in ALLOWED if not named.get(name)} == set()

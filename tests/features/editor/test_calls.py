"""The hook calls verbs by named arguments, and every verb and argument that it names is in the catalog."""

from __future__ import annotations

import ast
import inspect

import psycopg
from psycopg.rows import DictRow

from pgmem.features.editor import events


def test_every_call_of_the_hook_names_a_declared_verb_and_its_arguments(
    connection: psycopg.Connection[DictRow],
) -> None:
    declared = {
        row["name"]: set(row["arguments"] or ())
        for row in connection.execute(
            "select v.name, p.proargnames as arguments from pgmem.verb v "
            "join pg_proc p on p.proname = v.name and p.pronamespace = 'pgmem'::regnamespace"
        )
    }
    tree = ast.parse(inspect.getsource(events))
    statements = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rows"
    ]
    assert not [
        text for text in statements if isinstance(text, ast.Constant) and "pgmem.verb" in str(text.value)
    ]
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "call"
    ]
    assert len(calls) >= 8
    for call in calls:
        (verb,) = call.args
        assert isinstance(verb, ast.Constant)
        for argument in call.keywords:
            if argument.arg is not None:
                assert f"p_{argument.arg}" in declared[str(verb.value)], (verb.value, argument.arg)

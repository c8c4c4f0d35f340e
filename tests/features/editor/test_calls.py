"""The hook calls verbs by named arguments, and every verb and argument that it names is in the catalog."""

from __future__ import annotations

import ast
import inspect

import psycopg
from psycopg.rows import DictRow

from pgmem.features.acts import hook
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
    tree = ast.parse(inspect.getsource(events) + inspect.getsource(hook))
    statements = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rows"
    ]
    assert not [
        text for text in statements if isinstance(text, ast.Constant) and "pgmem.verb" in str(text.value)
    ]
    called = [
        (str(verb.value), [word.arg for word in node.keywords if word.arg is not None])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for verb in _verb(node)
    ]
    assert len(called) >= 8
    for verb, arguments in called:
        for argument in arguments:
            assert f"p_{argument}" in declared[verb], (verb, argument)


def _verb(call: ast.Call) -> list[ast.Constant]:
    """Return the verb that a call names: `connection.call(verb, …)` or `record(event, connection, seconds, verb, …)`."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "call":
        named = call.args
    elif isinstance(function, ast.Name | ast.Attribute) and "record" in (
        getattr(function, "id", None),
        getattr(function, "attr", None),
    ):
        named = call.args[3:]
    else:
        return []
    return [
        verb for verb in named[:1] if isinstance(verb, ast.Constant)
    ]  # record hands on the verb that it is given

"""pgmem/engines/admin.py, the verbs of operators, and pgmem/sync.py, the client without await; both from verbs.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from generation.catalog import Verb
from generation.methods import WRITTEN, formatted

__all__ = ["admin", "sync"]

_OPERATORS = ("worker", "reviewer", "owner")

ADMIN = '''\
class Admin:
    """The verbs of operators over a memory: `memory.admin`."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
'''

AGENTS = '''\
class Verbs(Portal):
    """The verbs of agents; `pgmem.sync.Memory` inherits them."""
'''

OPERATORS = '''\
class Admin(Operations):
    """The verbs of operators over a memory: `memory.admin`."""
'''


def admin(methods: str, verbs: list[Verb]) -> str:
    """Return the module of the operators' verbs.

    Args:
        methods: the text of pgmem/engines/verbs.py.
        verbs: as the catalog has them.
    """
    module = ast.parse(methods)
    body = "\n\n".join(
        _text(_delegating(method, "self._verbs", is_async=True))
        for method in _of(module, verbs, operators=True)
    )
    return formatted(
        f'"""The verbs of operators as a class of their own; each calls the method of `Memory`.\n\n{WRITTEN}\n"""\n\n'
        f'{_head(module)}\nfrom pgmem.engines.verbs import Verbs\n\n__all__ = ["Admin"]\n\n{_aliases(module)}\n\n'
        f"{ADMIN}\n{body}\n"
    )


def sync(methods: str, verbs: list[Verb]) -> str:
    """Return the module of the verbs without await.

    Args:
        methods: the text of pgmem/engines/verbs.py.
        verbs: as the catalog has them.
    """
    module = ast.parse(methods)
    agents, operators = (
        "\n\n".join(
            _text(_delegating(method, "self.opened", is_async=False))
            for method in _of(module, verbs, operators=chosen)
        )
        for chosen in (False, True)
    )
    return formatted(
        f'"""The verbs as methods that need no await; each runs the method of `pgmem.Memory` in a thread.\n\n{WRITTEN}\n"""\n\n'
        f"{_head(module)}\nfrom pgmem.portal import Operations, Portal\n\n"
        f'__all__ = ["Admin", "Verbs"]\n\n{_aliases(module)}\n\n{AGENTS}\n{agents}\n\n\n{OPERATORS}\n{operators}\n'
    )


def _of(module: ast.Module, verbs: list[Verb], *, operators: bool) -> Iterator[ast.AsyncFunctionDef]:
    """Yield the methods of the verbs of operators, or of all others."""
    rights = {verb.name: verb.rights for verb in verbs}
    (made,) = (part for part in module.body if isinstance(part, ast.ClassDef))
    for method in made.body:
        if isinstance(method, ast.AsyncFunctionDef) and (rights[method.name] in _OPERATORS) == operators:
            yield method


def _delegating(
    method: ast.AsyncFunctionDef, target: str, *, is_async: bool
) -> ast.AsyncFunctionDef | ast.FunctionDef:
    """Return the method with the same signature and docstring, and a call of the other one as its body."""
    names = [argument.arg for argument in method.args.args[1:] + method.args.kwonlyargs]
    passed = "".join(f", {name}={name}" for name in names)
    called = f"{target}.{method.name}"
    line = f"await {called}({passed.removeprefix(', ')})" if is_async else f"self.call({called}{passed})"
    answers = not (isinstance(method.returns, ast.Constant) and method.returns.value is None)
    call = ast.parse(f"async def _():\n    {'return ' if answers else ''}{line}").body[0]
    assert isinstance(call, ast.AsyncFunctionDef)
    kind = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    return kind(
        name=method.name,
        args=method.args,
        body=[method.body[0], *call.body],
        decorator_list=[],
        returns=method.returns,
        lineno=0,
    )


def _text(method: ast.AsyncFunctionDef | ast.FunctionDef) -> str:
    return "\n".join(f"    {line}" if line else "" for line in ast.unparse(method).splitlines())


def _head(module: ast.Module) -> str:
    """Return the imports; those that are not needed go when the module is formatted."""
    return "\n".join(
        ast.unparse(part) for part in module.body if isinstance(part, ast.Import | ast.ImportFrom)
    )


def _aliases(module: ast.Module) -> str:
    """Return the types of arguments that the module names."""
    named = (
        part
        for part in module.body
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) != "__all__"
    )
    return "\n".join(ast.unparse(part) for part in named)

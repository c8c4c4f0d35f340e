"""What a Python file says of itself: its first line of description, what it imports, what it offers."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Module", "Unreadable", "module_name", "read", "resolve"]


class Unreadable(Exception):
    """The file is no Python that this interpreter can parse."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """One parsed file; imports as written, relative ones as (level, module, names)."""

    doc: str | None
    imports: tuple[tuple[int, str, tuple[str, ...]], ...]
    exports: tuple[str, ...]


def read(source: bytes) -> Module:
    """Parse a file; it is never imported or run.

    Raises:
        Unreadable: it cannot be parsed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(type(error).__name__) from error
    doc = (ast.get_docstring(tree) or "").strip().partition("\n\n")[0]
    return Module(doc=" ".join(doc.split()) or None, imports=tuple(_imports(tree)), exports=_exports(tree))


def _imports(tree: ast.Module) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or "", tuple(alias.name for alias in node.names)


def _exports(tree: ast.Module) -> tuple[str, ...]:
    """`__all__` where it is written out, else the public functions, classes and constants of the file."""
    declared: list[str] | None = None
    found: dict[str, None] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = None
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            targets, value = [node.target], node.value
        for target in targets:
            if not isinstance(target, ast.Name):
                continue
            if target.id == "__all__":
                declared = [*(declared or []), *_strings(value)]
            elif target.id.isupper():
                found[target.id] = None
    names = declared if declared is not None else [name for name in found if not name.startswith("_")]
    return tuple(dict.fromkeys(names))


def _strings(value: ast.expr | None) -> list[str]:
    if not isinstance(value, ast.List | ast.Tuple):
        return []
    return [
        item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


def module_name(path: str, packages: frozenset[str]) -> str:
    """The dotted name of a file: from the outermost folder above it that is a package without a gap.

    Args:
        path: relative to the repository, with slashes.
        packages: the folders that hold an `__init__.py`.
    """
    *folders, name = path.removesuffix(".py").split("/")
    first = len(folders)
    while first > 0 and "/".join(folders[:first]) in packages:
        first -= 1
    if first == len(folders):  # a file in no package: namespace packages and scripts, by their path
        first = 1 if folders[:1] in (["src"], ["lib"]) else 0
    parts = folders[first:] + ([] if name == "__init__" else [name])
    return ".".join(parts) or name


def resolve(path: str, name: str, module: Module, known: Mapping[str, str]) -> list[str]:
    """The files of the repository that a module imports, by the dotted names they are known under."""
    package = name.split(".") if path.endswith("/__init__.py") else name.split(".")[:-1]
    found: set[str] = set()
    for level, base, names in module.imports:
        if level:
            start = package[: len(package) - level + 1]
            if len(start) < len(package) - level + 1 or (level > 1 and not start):
                continue
            base = ".".join([*start, base] if base else start)
        found.update(_met(base, names, known))
    found.discard(path)
    return sorted(found)


def _met(base: str, names: Iterable[str], known: Mapping[str, str]) -> Iterator[str]:
    """`from a import b` is module a.b where there is one, else a; `import a.b.c` its longest known part."""
    whole = False
    for name in names:
        if (file := known.get(f"{base}.{name}" if base else name)) is not None:
            yield file
        else:
            whole = True
    if whole or not names:
        parts = base.split(".")
        for length in range(len(parts), 0, -1):
            if (file := known.get(".".join(parts[:length]))) is not None:
                yield file
                return

"""Python files: docstring, imports, exports and symbols, from the syntax tree."""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pgmem.features.cards.source import Import, Source, Unreadable, digest

_ATTRIBUTE = re.compile(rb"\b([A-Za-z_]\w*)\.([A-Za-z_]\w*)")


def read(data: bytes, *, symbols: bool = True) -> Source:
    """Parse a file. It is not imported or run.

    Args:
        data: the file.
        symbols: whether the digests of its functions, classes and methods are wanted.

    Raises:
        Unreadable: the file cannot be parsed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(type(error).__name__) from error
    doc = " ".join((ast.get_docstring(tree) or "").strip().partition("\n\n")[0].split())
    exports = _exports(tree)
    try:
        "".join((doc, *exports)).encode()
    except UnicodeEncodeError:
        raise Unreadable("a lone surrogate in a text") from None
    return Source(
        doc=doc or None,
        imports=tuple(_imports(tree, data)),
        exports=exports,
        symbols=_Symbols(data).digests(tree) if symbols else {},
    )


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, also those in blocks and functions; expressions, which hold no import, are not walked."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for handler in getattr(node, "handlers", ()):
            yield from _statements(handler.body)
        for case in getattr(node, "cases", ()):
            yield from _statements(case.body)


def _imports(tree: ast.Module, data: bytes) -> Iterator[Import]:
    top = {id(node) for node in _top(tree.body)}
    used: defaultdict[str, dict[str, None]] | None = None
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            if used is None:
                used = defaultdict(dict)
                for name, attribute in _ATTRIBUTE.findall(data):
                    used[name.decode()][attribute.decode()] = None
            for alias in node.names:
                # `import a.b.c` binds a; with `as` the alias is the module itself.
                whole = alias.asname is not None or "." not in alias.name
                names = tuple(used[alias.asname or alias.name]) if whole else ()
                yield Import(alias.name, names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            relay = tuple((alias.asname or alias.name, alias.name) for alias in node.names)
            yield Import(node.module or "", names, node.level, relay if id(node) in top else ())


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _top(node.body)


def _exports(tree: ast.Module) -> tuple[str, ...]:
    """`__all__` if it is a literal, else the public functions, classes and constants."""
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
            elif target.id.isupper() and len(target.id) > 1:
                found[target.id] = None
    names = declared if declared is not None else [name for name in found if not name.startswith("_")]
    return tuple(name for name in dict.fromkeys(names) if not name.startswith("__"))


def _strings(value: ast.expr | None) -> list[str]:
    if not isinstance(value, ast.List | ast.Tuple):
        return []
    return [
        item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


class _Symbols:
    """The syntax of each function, class and method, as texts of its statements without the space between them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._texts: dict[str, list[bytes]] = {}

    def digests(self, tree: ast.Module) -> dict[str, str]:
        if tree.body and (tree.body[-1].end_lineno or 0) >= len(self._starts):
            return {}  # lines end in ways that Python and bytes count differently
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._define(node, "", ())
        return {name: digest(b"\n".join(texts), hashes=True) for name, texts in self._texts.items()}

    def _define(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        above: str,
        sinks: tuple[list[bytes], ...],
    ) -> None:
        name = f"{above}{node.name}"
        sinks = (*sinks, self._texts.setdefault(name, []))
        for decorator in node.decorator_list:
            self._put(sinks, b"@", decorator)
        for sink in sinks:
            sink.append(self._header(node))
        for inner in node.body:
            if isinstance(node, ast.ClassDef) and isinstance(
                inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ):
                self._define(inner, f"{name}.", sinks)
            else:
                self._statement(inner, 1, sinks)

    def _statement(self, node: ast.stmt, depth: int, sinks: tuple[list[bytes], ...]) -> None:
        """Add a statement: the head of one with a body, then its body one step deeper."""
        if not hasattr(node, "body"):
            self._put(sinks, b"%d" % depth, node)
            return
        for sink in sinks:
            sink.append(b"%d" % depth + self._header(node))
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            for inner in getattr(node, part, []):
                if isinstance(inner, ast.stmt):
                    self._statement(inner, depth + 1, sinks)
                    continue
                for sink in sinks:
                    sink.append(
                        part.encode()
                        + ast.dump(getattr(inner, "type", None) or getattr(inner, "pattern", inner)).encode()
                        if getattr(inner, "type", None) or hasattr(inner, "pattern")
                        else part.encode()
                    )
                for deeper in inner.body:
                    self._statement(deeper, depth + 1, sinks)
            if part in ("orelse", "finalbody") and getattr(node, part, []):
                for sink in sinks:
                    sink.append(part.encode())

    def _header(self, node: Any) -> bytes:
        """The text of a statement before its body."""
        body = (getattr(node, "body", None) or node.cases)[0]
        first = getattr(body, "pattern", body)
        line = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))])
        begin = self._starts[node.lineno - 1] + node.col_offset
        if line > node.lineno and isinstance(first, ast.stmt):
            return self._data[begin : self._starts[line - 1]]
        return self._data[begin : self._starts[first.lineno - 1] + first.col_offset]

    def _put(self, sinks: tuple[list[bytes], ...], mark: bytes, node: ast.stmt | ast.expr) -> None:
        begin = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        for sink in sinks:
            sink.append(mark + self._data[begin:end])


def module_name(path: str, packages: frozenset[str]) -> str:
    """The dotted name of a file, from the outermost directory above it that is a package without a gap.

    Args:
        path: relative to the repository, with slashes.
        packages: the directories that contain an `__init__.py`.
    """
    *folders, name = path.removesuffix(".py").split("/")
    first = len(folders)
    while first > 0 and "/".join(folders[:first]) in packages:
        first -= 1
    if first == len(folders):  # in no package: namespace packages and scripts are named by their path
        first = 1 if folders[:1] in (["src"], ["lib"]) else 0
    parts = folders[first:] + ([] if name == "__init__" else [name])
    return ".".join(parts) or name

"""Source files of other languages, parsed by tree-sitter where the extra `languages` is installed.

Their definitions are read alike, and of JavaScript and TypeScript also the imports and exports: in other languages the
names of tests and the history show which files belong together. A file with errors gives the facts of its whole parts,
because tree-sitter goes on after an error.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from pgmem.features.cards import plain
from pgmem.features.cards.source import Import, Source, Unreadable, digests

_JAVASCRIPT, _TYPESCRIPT, _CPP = (
    ("js", "jsx", "mjs", "cjs"),
    ("ts", "mts", "cts"),
    ("h", "cc", "cpp", "cxx", "hpp"),
)
_SCRIPTS = frozenset((*_JAVASCRIPT, *_TYPESCRIPT, "tsx"))
_GRAMMARS = {
    **dict.fromkeys(_JAVASCRIPT, ("tree_sitter_javascript", "language")),
    **dict.fromkeys(_TYPESCRIPT, ("tree_sitter_typescript", "language_typescript")),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    **dict.fromkeys(_CPP, ("tree_sitter_cpp", "language")),
    "cs": ("tree_sitter_c_sharp", "language"),
    "rb": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
}

# The kinds of node that define something, in all of these languages; their field `name` or `declarator` names it.
_DEFINES = frozenset(
    """
    function_declaration generator_function_declaration class_declaration abstract_class_declaration
    interface_declaration type_alias_declaration enum_declaration method_definition method_declaration
    function_item struct_item enum_item trait_item type_item const_item static_item macro_definition
    union_item type_spec const_spec var_spec record_declaration annotation_type_declaration
    constructor_declaration struct_declaration delegate_declaration property_declaration function_definition
    class_specifier struct_specifier enum_specifier type_definition trait_declaration variable_declarator
    class module method singleton_method internal_module namespace_definition
    """.split()
)
_WITHIN = frozenset(
    """
    export_statement lexical_declaration variable_declaration class_body declaration_list type_declaration
    const_declaration var_declaration field_declaration_list linkage_specification namespace_definition
    body_statement namespace_declaration file_scoped_namespace_declaration interface_body enum_body
    internal_module statement_block ambient_declaration expression_statement impl_item mod_item program
    preproc_ifdef preproc_if template_declaration enum_body_declarations declaration
    """.split()
)
_QUOTED = re.compile(r"^[\"'`<](.*)[\"'`>]$", re.DOTALL)


_PARSE_S = 2.0


@cache
def _parser(suffix: str) -> Any:
    package, function = _GRAMMARS[suffix]
    tree_sitter = import_module("tree_sitter")
    return tree_sitter.Parser(tree_sitter.Language(getattr(import_module(package), function)()))


@cache
def available(suffix: str) -> bool:
    """Whether files with this suffix, without its dot, can be parsed here."""
    if suffix not in _GRAMMARS:
        return False
    try:
        _parser(suffix)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def is_missing(suffix: str) -> bool:
    """Whether files with this suffix could be parsed if the extra `languages` were installed."""
    return suffix in _GRAMMARS and not available(suffix)


@dataclass(slots=True)
class _Found:
    imports: list[Import]
    exports: dict[str, None]


def _parsed(suffix: str, data: bytes) -> Any:
    parser, end = _parser(suffix), time.monotonic() + _PARSE_S
    try:
        # A parser looks at the time only where it reads piece by piece.
        return parser.parse(
            lambda offset, _point: data[offset : offset + 65536],
            progress_callback=lambda _offset, _has_error: time.monotonic() > end,
        )
    except ValueError:
        parser.reset()
        raise Unreadable(f"parsing takes more than {_PARSE_S:g} seconds") from None


def read(suffix: str, data: bytes) -> Source:
    """Parse a file by its suffix, for which `available` is true.

    Raises:
        Unreadable: it takes too long: a grammar may go back over a text again and again.
    """
    root = _parsed(suffix, data).root_node
    found = _Found([], {})
    spans: list[tuple[str, int, int]] = []
    for node in root.children:
        _definitions(node, "", spans, depth=0)
    if suffix in _SCRIPTS:
        _javascript(root, found)
    else:
        # The methods that a file of C++ defines are those of its classes.
        found.exports = dict.fromkeys(name.partition("::")[0] for name, _, _ in spans if "." not in name)
    return Source(
        doc=plain.read(data) or _main_doc(root),
        imports=tuple(found.imports),
        exports=tuple(found.exports),
        symbols=digests(data, spans, hashes=suffix == "rb"),
    )


def _main_doc(root: Any) -> str | None:
    """The comment above the definition that spans more than half of a file, as a class of Java does."""
    comments: list[bytes] = []
    for node in root.children:
        if "comment" in node.type:
            comments.append(node.text)
        elif 2 * (node.end_byte - node.start_byte) > root.end_byte:
            text = b"\n".join(comments)
            return plain.read(text) if text.startswith((b"/**", b"///")) else None
        else:
            comments = []
    return None


def _text(node: Any) -> str:
    return node.text.decode(errors="replace") if node is not None else ""


def _unquoted(node: Any) -> str:
    text = _text(node).strip()
    match = _QUOTED.match(text)
    return match[1] if match else text


def _name(node: Any) -> str:
    """The name that a definition gives: its field name, or that of its declarator in C."""
    named = node.child_by_field_name("name")
    declarator = node.child_by_field_name("declarator")
    while named is None and declarator is not None:
        deeper = declarator.child_by_field_name("declarator")
        if deeper is None:
            named = declarator
        declarator = deeper
    return _text(named) if named is not None and len(named.text) < 200 else ""


def _definitions(node: Any, above: str, spans: list[tuple[str, int, int]], depth: int) -> None:
    """Collect name, first and last byte of each definition, with the name of its class before its own."""
    if depth > 8:
        return
    within = above
    if node.type in _DEFINES and (name := _name(node)):
        spans.append((f"{above}{name}", node.start_byte, node.end_byte))
        within = f"{above}{name}."
        body = node.child_by_field_name("body")
        if body is not None and body.type in _WITHIN and not node.type.startswith(("function", "method")):
            for child in body.named_children:
                _definitions(child, within, spans, depth + 1)
        return
    if node.type == "impl_item":
        within = f"{_text(node.child_by_field_name('type'))}."
    if node.type in _WITHIN:
        for child in node.named_children:
            _definitions(child, within, spans, depth + 1)


def _all(node: Any, kinds: frozenset[str], depth: int = 6) -> Iterator[Any]:
    """The nodes of some kinds below a node, not those within each other."""
    for child in node.named_children:
        if child.type in kinds:
            yield child
        elif depth:
            yield from _all(child, kinds, depth - 1)


def _javascript(root: Any, found: _Found) -> None:
    for node in root.named_children:
        source = node.child_by_field_name("source")
        if node.type == "import_statement" and source is not None:
            names = [
                _text(one.child_by_field_name("name")) for one in _all(node, frozenset({"import_specifier"}))
            ]
            clause = next((one for one in node.named_children if one.type == "import_clause"), None)
            if clause is not None and any(one.type == "identifier" for one in clause.named_children):
                names.append("default")
            if any(True for _ in _all(node, frozenset({"namespace_import"}))):
                names.append("*")
            found.imports.append(Import(_unquoted(source), tuple(names)))
        elif node.type == "export_statement":
            _javascript_export(node, source, found)
    for call in _all(root, frozenset({"call_expression"}), depth=4):
        function, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if function is not None and _text(function) in ("require", "import") and given is not None:
            for one in given.named_children[:1]:
                if one.type == "string":
                    found.imports.append(Import(_unquoted(one), ("*",)))


def _javascript_export(node: Any, source: Any, found: _Found) -> None:
    relay = []
    for one in _all(node, frozenset({"export_specifier"}), depth=2):
        name = _text(one.child_by_field_name("name"))
        alias = _text(one.child_by_field_name("alias")) or name
        found.exports[alias] = None
        relay.append((alias, name))
    if source is not None:
        target = _unquoted(source)
        found.imports.append(
            Import(target, tuple(name for _, name in relay) or ("*",), relay=tuple(relay) or (("*", "*"),))
        )
        return
    declaration = node.child_by_field_name("declaration")
    if declaration is not None:
        spans: list[tuple[str, int, int]] = []
        _definitions(declaration, "", spans, depth=0)
        found.exports.update((name, None) for name, _, _ in spans if "." not in name)
    elif not relay and _text(node).startswith("export default"):
        found.exports["default"] = None

"""pgmem/_verbs.py, the verbs as data, and the verbs as methods of `Memory`.

pgmem/calls/methods.py holds those of the core, methods.py of a feature those with a function in its around.py.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from generation.catalog import Argument, Verb
from generation.code import WRITTEN, camel, formatted
from pgmem import models, registry
from pgmem.calls.around import AROUND as OF_CORE
from pgmem.declaration import LISTS, Kind
from pgmem.declaration import Argument as Declared

__all__ = ["OPERATORS", "methods", "of_features", "table"]

OF_FEATURES: dict[str, list[Callable[..., Any]]] = {
    place.removesuffix(".around"): [*registry.imported(f"{place}:AROUND")]
    for place in registry.found("AROUND")
}
"""The functions around verbs of each feature that brings some."""
AROUND = OF_CORE | {each.__name__: each for functions in OF_FEATURES.values() for each in functions}

OPERATORS = ("worker", "reviewer", "owner")
"""The rights of the verbs of operators, which are methods of `memory.admin` too."""

PYTHON = {
    "text": "str",
    "uuid": "UUID",
    "smallint": "int",
    "integer": "int",
    "bigint": "int",
    "double precision": "float",
    "boolean": "bool",
    "date": "Date | str",
    "timestamp with time zone": "datetime",
    "jsonb": "Mapping[str, Any]",
    "text[]": "Sequence[str]",
    "uuid[]": "Sequence[UUID]",
    "real[]": "Sequence[float]",
    "pgmem.objects": "Sequence[Mapping[str, Any]]",
    "pgmem.related_entities": "Sequence[RelatedEntity]",
    "pgmem.card_evidence_list": "Sequence[CardEvidence]",
}


CLASS = '''\
class Verbs:
    """The verbs as methods; `Memory` inherits them.

    Args:
        caller: what calls the verbs.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

'''


SEVERAL = "from pgmem.database.call import several\n"


OF_FEATURE = '''\
class {0}(Verbs):
    """The verbs of a feature as methods; `Memory` inherits them."""

'''


def methods(verbs: list[Verb], domains: dict[str, str]) -> str:
    """Return the module of the generated methods of the core."""
    # `Admin` names a verb of operators here, and calls the method of the feature, which overrides it.
    elsewhere = {
        verb.name for verb in verbs if verb.rights not in OPERATORS and verb.name in {*AROUND} - {*OF_CORE}
    }
    around = sorted({module(each) for each in OF_CORE.values()} | {"saves"})
    return _module(
        [verb for verb in verbs if verb.answer and verb.name not in elsewhere],
        domains,
        "The verbs as methods; each calls its verb, or its function of calls/around.py.",
        f"from pgmem.calls import {', '.join(around)}\nfrom pgmem.calls.caller import Caller\n" + SEVERAL,
        "Verbs",
        CLASS,
        OF_CORE,
    )


def of_features(verbs: list[Verb], domains: dict[str, str]) -> dict[str, str]:
    """Return the module of the generated methods of each feature that has functions around verbs."""
    made = {}
    for feature, functions in OF_FEATURES.items():
        names = {each.__name__ for each in functions}
        title = f"{camel(feature.rpartition('.')[2])}Verbs"
        made[feature] = _module(
            [verb for verb in verbs if verb.answer and verb.name in names],
            domains,
            "The verbs of this feature as methods; each calls its function of around.py.",
            f"from pgmem.calls.methods import Verbs\n{SEVERAL}from {feature} import around\n",
            title,
            OF_FEATURE.format(title),
            AROUND,
        )
    return made


def _module(
    made: list[Verb],
    domains: dict[str, str],
    text: str,
    imports: str,
    title: str,
    head: str,
    arounds: Mapping[str, Callable[..., Any]],
) -> str:
    used = {argument.type.removeprefix("pgmem.") for verb in made for argument in verb.sent}
    kinds = {name: kind for name, rule in domains.items() if name in used and (kind := alias(rule))}
    body = "\n\n".join(method(verb, kinds, arounds.get(verb.name)) for verb in made)
    classes = {
        name
        for name, value in vars(models).items()
        if getattr(value, "__module__", "") in ("pgmem.inputs", "pgmem.answers")
    }
    names = sorted(classes & set(re.findall(r"\b[A-Z]\w+", re.sub(r'""".*?"""', "", body, flags=re.DOTALL))))
    aliases = "".join(f"{camel(name)} = {kind}\n" for name, kind in kinds.items())
    return formatted(
        f'"""{text}\n\n{WRITTEN}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Callable, Mapping, Sequence\nfrom datetime import date as Date\n"
        "from datetime import datetime\nfrom typing import Annotated, Any, Literal\nfrom uuid import UUID\n\n"
        "from annotated_types import Ge, Le\nfrom pydantic import JsonValue\n\n"
        f'{imports}from pgmem.models import {", ".join(names)}\n\n__all__ = ["{title}"]\n\n{aliases}\n\n{head}{body}\n'
    )


def table(
    verbs: list[Verb],
    domains: dict[str, str],
    ways: dict[str, tuple[list[str], list[str]]],
    kinds: list[Kind],
    parts: tuple[str, ...],
) -> str:
    """Return the module of the verb table."""
    rows = []
    for verb in verbs:
        said = [repr(verb.name), repr(verb.effect), repr(verb.rights)]
        if verb.patience:
            said.append(f"patience={verb.patience!r}")
        if verb.toolset:
            said += [f"toolsets={tuple(verb.toolset.split(','))!r}", f"description={verb.description!r}"]
        if verb.answer and verb.sent:
            each = ", ".join(f"{a.name!r}: {declared(verb, a, domains)}" for a in verb.sent)
            said.append(f"arguments={{{each}}}")
        rows.append(f"        Verb({', '.join(said)}),\n")
    return formatted(
        TABLE.format(
            written=WRITTEN, rows="".join(rows), ways=repr(ways), kinds=repr(tuple(kinds)), parts=parts
        )
    )


def declared(verb: Verb, argument: Argument, domains: dict[str, str]) -> str:
    """Return an argument as data: a domain as its base type, with its bounds or choices."""
    name = argument.type.removeprefix("pgmem.")
    kind, rules = argument.type, dict[str, Any]()
    if found := alias(domains.get(name, "")):
        choices = re.findall(r"'([^']*)'", found)
        bounds = [float(number) for number in re.findall(r"[GL]e\((\d+)\)", found)]
        rules = {"choices": tuple(choices)} if choices else dict(zip(("least", "most"), bounds, strict=True))
        kind = "text" if choices else "integer" if "int" in found else "double precision"
    value = default(argument, PYTHON.get(kind, "str")).removeprefix(" = ").strip("'")
    made = Declared(
        argument.meaning,
        kind,
        default=value if value and "None" not in value and value != "()" else None,
        required=argument.default is None,
        for_agents=argument.sent_by == "anyone" and argument.name not in verb.hidden,
        **rules,
    )
    usual = Declared._field_defaults
    said = (f"{f}={value!r}" for f, value in made._asdict().items() if f not in usual or value != usual[f])
    return f"Argument({', '.join(said).removeprefix('meaning=')})"


TABLE = '''\
"""The verbs as sql/ declares them.

{written}
"""

from __future__ import annotations

from pgmem.declaration import Argument, Field, Kind, Verb

__all__ = ["KINDS", "PARTS", "VERBS", "WAYS_TO_REASON"]

VERBS = {{
    verb.name: verb
    for verb in (
{rows}    )
}}

WAYS_TO_REASON = {ways}
"""The keywords of each way to reason about a task, and its steps."""

KINDS = {kinds}
"""The kinds of memory that have a save verb."""

PARTS = {parts!r}
"""The parts of an export that are rows of declared tables, in their order."""
'''


def method(verb: Verb, kinds: dict[str, str], around: Callable[..., Any] | None) -> str:
    """Return a verb as a method that calls the function around it, or the verb."""
    types = {argument.name: python_type(argument, kinds) for argument in verb.sent}
    taken = [f"{a.name}: {types[a.name]}{default(a, types[a.name])}," for a in verb.sent]
    extra = list(inspect.signature(around).parameters.values())[2:] if around else []
    taken += [f"{p.name}: {p.annotation} = {p.default!r}," for p in extra]
    lines = [
        f"async def {verb.name}(",
        "    self,",
        *(f"    {line}" for line in taken),
        f") -> {verb.answer}:",
    ]
    lines.append(textwrap.indent(docstring(verb, around), "    "))
    params = "{" + ", ".join(f"{a.name!r}: {sent(a)}" for a in verb.sent) + "}"
    if not verb.sent:
        params = "{}"
    if len(verb.sent) > 10:  # one argument on a line would make the method longer than 60 lines
        lines.append(f"    params = {{\n{compact(verb.sent)}\n    }}  # fmt: skip")
        params = "params"
    passed = "".join(f", {p.name}={p.name}" for p in extra)
    lines.append(f"    return await {call(verb, around, params, passed)}")
    if verb.answer == "None":
        lines[-1] = lines[-1].replace("return await", "await")
    return textwrap.indent("\n".join(lines), "    ")


def compact(arguments: list[Argument]) -> str:
    """Return the items of the dict of arguments in lines of at most 100 characters."""
    items = [f"{a.name!r}: {sent(a)},".replace("'", '"').replace(" ", "\0") for a in arguments]
    filled = textwrap.fill(" ".join(items), 90, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(filled.replace("\0", " "), "        ")


def module(function: Callable[..., object]) -> str:
    """Return the name of the module of a function."""
    return function.__module__.rpartition(".")[2]


def call(verb: Verb, around: Callable[..., Any] | None, params: str, passed: str) -> str:
    """Return the call in a method: of the function around the verb, of a save, or of the verb."""
    name, answer = verb.name, str(verb.answer)
    if around:
        return f"{module(around)}.{name}(self.caller, {params}{passed})"
    if answer == "SaveResult" and any(argument.sent_by == "python" for argument in verb.arguments):
        return f"saves.save(self.caller, {name!r}, {params})"
    if answer == "None":
        return f"self.caller.rows({name!r}, {params})"
    if answer in ("int", "str", "dict[str, JsonValue]"):
        return f"self.caller.value({name!r}, {answer}, {params})"
    if match := re.fullmatch(r"list\[(\w+)\]", answer):
        return f"self.caller.all({name!r}, {match[1]}, {params})"
    if answer.endswith("|None"):
        return f"self.caller.first({name!r}, {answer.removesuffix('|None')}, {params})"
    if verb.many:
        (field,) = fields(getattr(models, answer))
        row = re.fullmatch(r"list\[(\w+)\]", str(field.type))
        if row is None:
            raise ValueError(f"{answer}.{field.name} of {name} is not a list of a class in models.")
        return f"self.caller.listed({name!r}, {answer}, {row[1]}, {params})"
    return f"self.caller.one({name!r}, {answer}, {params})"


def docstring(verb: Verb, around: Callable[..., Any] | None) -> str:
    """Return the comment as a docstring with Args and Raises."""
    parts = [textwrap.fill(" ".join(p.split()), 100, break_on_hyphens=False) for p in verb.text.split("\n\n")]
    described = [f"{a.name}: {a.meaning}" for a in verb.sent if a.meaning]
    if around and "progress" in inspect.signature(around).parameters:
        described.append("progress: Called after each batch with how many are done and how many remain.")
    for head, entries in (("Args", described), ("Raises", [f"{name}: {when}" for name, when in verb.raises])):
        if entries:
            parts.append(f"{head}:\n" + "\n".join(entry(text) for text in entries))
    text = "\n\n".join(parts)
    return f'"""{text}' + ('\n"""' if "\n" in text else '"""')


def entry(text: str) -> str:
    """Return an entry of Args or Raises."""
    return textwrap.fill(
        text, 100, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False
    )


def alias(rule: str) -> str | None:
    """Return the Python type of a domain, a choice of texts or a number between bounds; None if it has a plain type."""
    if match := re.search(r"one_of\(.*?'\{(.*?)\}'::text\[\]", rule):
        return f"Literal[{', '.join(map(repr, match[1].split(',')))}]"
    if match := re.search(
        r"integer_between\(.*?, VALUE, (\d+), (\d+)|integer_between\(.*?(\d+), (\d+)", rule
    ):
        least, most = (part for part in match.groups() if part is not None)
        return f"Annotated[int, Ge({least}), Le({most})]"
    if match := re.search(
        r"number_between\(.*?\((\d+)\)::double precision, \((\d+)\)::double precision", rule
    ):
        return f"Annotated[float, Ge({match[1]}), Le({match[2]})]"
    return None


def python_type(argument: Argument, kinds: dict[str, str]) -> str:
    """Return the Python type of an argument."""
    name = argument.type.removeprefix("pgmem.")
    return camel(name) if name in kinds else PYTHON[argument.type]


def default(argument: Argument, kind: str) -> str:
    """Return ` | None = None`, ` = 'project'`, or nothing if the argument is required."""
    text = argument.default
    if text is None:
        return ""
    if text.startswith("NULL"):
        return " | None = None"
    if kind.startswith("Sequence"):
        return " = ()"
    if kind.startswith("Mapping"):
        return " | None = None"
    value = re.sub(r"::[\w. ]+(\[\])?", "", text).strip("()")
    if value.startswith("'") and kind in ("int", "float"):
        value = value.strip("'")
    return f" = {value.capitalize() if value in ('true', 'false') else value}"


def sent(argument: Argument) -> str:
    """Return an argument as it is passed to SQL: lists as such, whatever sequence they are."""
    if argument.type in LISTS or (argument.type.endswith("[]") and argument.type != "real[]"):
        return f"several({argument.name!r}, {argument.name})"
    if argument.type == "jsonb" and argument.default and not argument.default.startswith("NULL"):
        return f"{argument.name} or {{}}"
    return argument.name

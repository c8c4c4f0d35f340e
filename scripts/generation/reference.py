"""The pages of docs/reference that are built with the site: the command line, settings, errors, verbs, views and MCP tools, from the code and the catalog."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, get_args, get_origin

import anyio
import psycopg
import typer
from psycopg.rows import dict_row

from generation import catalog, chapters
from pgmem import errors
from pgmem._verbs import VERBS
from pgmem.cli import app as cli
from pgmem.mcp import tools as mcp_tools
from pgmem.mcp.schemas import listed_arguments
from pgmem.mcp.server import create_server
from pgmem.mcp.tools import TOOLSETS
from pgmem.memory import Memory
from pgmem.settings import ALL_TOOLSETS, EmbeddingSettings, Settings, load, variable, variables

__all__ = ["help_module", "listed", "pages"]

ROOT = Path(__file__).parent.parent.parent
REFERENCE = ROOT / "docs" / "reference"
WRITTEN = "<!-- Written by scripts/generate --reference; do not edit. -->\n"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell(value) for value in line) + " |\n" for line in lines)


def cell(value: object) -> str:
    """Return a value as a cell of a table."""
    return "" if value is None else " ".join(str(value).replace("|", "\\|").split())


def code(value: object) -> str:
    """Return a name or a value as code."""
    return f"`{value}`"


# The command line


def help_module() -> str:
    """Return the module of what `pgmem --help` says of each command, so that it imports none of them."""
    group = typer.main.get_command(cli)
    lines = [
        f"    {json.dumps(name)}: {json.dumps(one_line(group.get_command(None, name).help), ensure_ascii=False)},\n"
        for name in group.list_commands(None)
    ]
    head = '"""The text of `pgmem --help` on each command. Written by scripts/generate; do not edit."""\n\n'
    return (
        f'{head}from __future__ import annotations\n\n__all__ = ["HELP"]\n\nHELP = {{\n{"".join(lines)}}}\n'
    )


def one_line(help_text: str) -> str:
    """Return the first paragraph of a help text."""
    return " ".join(help_text.partition("\n\n")[0].split())


def cli_page() -> str:
    """Return the page of the commands with their arguments and options."""
    parts = [WRITTEN, CLI_HEAD]
    for path, command in commands(typer.main.get_command(cli), ()):
        name = " ".join(("pgmem", *path))
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        words = [usage_of(a) for a in arguments]
        usage = " ".join([name, *words, *(["[OPTIONS]"] if options else [])])
        parts.append(f"\n## {name}\n\n{inspect.cleandoc(command.help or '')}\n\n```text\n{usage}\n```\n")
        rows = [(code(name_of(a)), a.help, default_of(a)) for a in arguments]
        rows += [(", ".join(map(code, sorted(o.opts, key=len))), o.help, default_of(o)) for o in options]
        if rows:
            parts.append("\n" + table(("argument or option", "meaning", "default"), rows))
    return "".join(parts)


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command of a group, in the order of the help."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), (*path, name))


def name_of(argument: Any) -> str:
    """Return the name of an argument as the help shows it."""
    return str(argument.metavar or argument.name).upper()


def usage_of(argument: Any) -> str:
    """Return an argument as it is written after a command; an optional one in brackets."""
    name = name_of(argument)
    return name if argument.required or name.startswith("[") else f"[{name}]"


def default_of(parameter: Any) -> str:
    """Return the default of a parameter."""
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or value == () or callable(value):
        return ""
    return code(value)


CLI_HEAD = """
# Command line

`pgmem COMMAND --help` prints the same. Exit codes: 0 success, 1 failure or a problem found, 2 wrong usage or an invalid
setting. An error is one line on stderr. `--json` prints data for programs.

Every command but `demo` finds its database in this order: `--dsn`, `PGMEM_DSN`, the embedded server in `--data-dir` or
`PGMEM_DATA_DIR`. If the server of a DSN does not answer, the command fails; no other database is tried.
"""


# Settings


def settings_page(connection: psycopg.Connection[dict[str, Any]]) -> str:
    """Return the page of the environment variables and the rows of pgmem.setting."""
    process = [n for n in Settings.model_fields if variables(n) and n not in EmbeddingSettings.model_fields]
    stored = connection.execute("select name, value, description from pgmem.setting order by name").fetchall()
    return "".join(
        (
            WRITTEN,
            SETTINGS_HEAD,
            settings_table(process),
            SETTINGS_EMBEDDINGS,
            settings_table(EmbeddingSettings.model_fields),
            SETTINGS_STORE,
            table(
                ("row", "variable", "meaning", "default"),
                (
                    (
                        code(row["name"]),
                        "" if row["name"] == "test_clock" else code(variable(row["name"])),
                        row["description"],
                        code(row["value"]),
                    )
                    for row in stored
                ),
            ),
        )
    )


def settings_table(names: Iterable[str]) -> str:
    """Return a table of settings with what their declarations say."""
    return table(
        ("variable", "meaning", "values", "default"),
        ((code(variable(n)), meaning_of(n), values_of(n), standard(n)) for n in names),
    )


def meaning_of(name: str) -> str:
    """Return the meaning of a variable, with the older name that is read too."""
    older = "".join(f" Also read as {code(each)}." for each in variables(name)[1:])
    return f"{Settings.model_fields[name].description}{older}"


def values_of(name: str) -> str:
    """Return the values that a variable may have."""
    field = Settings.model_fields[name]
    kinds = [kind for kind in get_args(field.annotation) if kind is not type(None)]
    choices = literal(field.annotation)
    if choices:
        return ", ".join(map(code, choices))
    kind = kinds[0] if kinds and get_origin(field.annotation) is not tuple else field.annotation
    words = {"int": "whole number", "float": "number", "bool": "true, false", "str": "text", "Path": "path"}
    word = words.get(getattr(kind, "__name__", ""), "text")
    bounds = [f"{sign} {value}" for sign, value in limits(field.metadata)]
    return " ".join([word, ", ".join(bounds)]).strip()


def literal(annotation: Any) -> list[str]:
    """Return the choices of a Literal, also inside another annotation."""
    if get_origin(annotation) is None:
        return []
    found = [value for value in get_args(annotation) if isinstance(value, str)]
    return found or [value for part in get_args(annotation) for value in literal(part)]


def limits(metadata: Iterable[Any]) -> Iterator[tuple[str, object]]:
    """Yield the bounds of a field."""
    for part in metadata:
        for attribute, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if hasattr(part, attribute):
                yield sign, getattr(part, attribute)


def standard(name: str) -> str:
    """Return the default of a variable."""
    if name == "data_dir":
        return "the platform's user data directory"
    value = Settings.model_fields[name].get_default()
    if value is None or value == "":
        return "unset"
    return code(",".join(value) if isinstance(value, tuple) else value)


SETTINGS_HEAD = """
# Settings

Settings come from the environment. A file of `NAME=value` lines is read only when `--env-file` names it. An invalid
value stops the program and names the variable.

## Settings of a process

"""
SETTINGS_EMBEDDINGS = """
## Settings of embeddings

An empty value counts as unset.

"""
SETTINGS_STORE = """
## Settings of a store

Thresholds, limits and weights are rows of the table `pgmem.setting`, so that all agents on a store follow the same rules.
`pgmem init` fills a row from its variable, and refuses a value that does not fit; otherwise only the owner can change it,
with `pgmem config set`. Other commands do not read these variables.

"""


# Errors


def errors_page() -> str:
    """Return the page of the exceptions with their SQLSTATEs."""
    classes = [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, errors.PgmemError)
    ]
    coded = sorted((c for c in classes if c.sqlstate), key=lambda c: str(c.sqlstate))
    plain = [c for c in classes if not c.sqlstate and c is not errors.PgmemError]
    return "".join(
        (
            WRITTEN,
            ERRORS_HEAD,
            table(
                ("SQLSTATE", "Python", "meaning"),
                ((code(c.sqlstate), code(c.__name__), meaning(c)) for c in coded),
            ),
            ERRORS_PLAIN,
            table(("Python", "meaning"), ((code(c.__name__), meaning(c)) for c in plain)),
            ERRORS_STATUS,
        )
    )


def meaning(cls: type) -> str:
    """Return the docstring of a class."""
    return inspect.cleandoc(cls.__doc__ or "")


ERRORS_HEAD = """
# Errors

A verb that refuses a call raises an exception with an SQLSTATE of class `PM`. The Python API raises the class beside it,
a subclass of `PgmemError`. The MCP server answers with the message, which says what to send instead. Database errors of other
classes are raised unchanged.

"""
ERRORS_PLAIN = """
These exceptions have no SQLSTATE, because they are raised before or outside a verb:

"""
ERRORS_STATUS = """
## Outcomes that are not errors

A save returns a status, and raises only for arguments that cannot be read.

| status | meaning | action |
| --- | --- | --- |
| `saved` | the save is committed | none |
| `partial` | only some parts of a batch are saved | check the status of each part |
| `blocked_scope` | the project is missing or does not exist | create it with `save_session`, then save again |
| `failed` | the message has the reason; with `manual_review` a person decides | follow `next_step` |
| `pending_retry` | the database is away; the save is in the outbox of this machine | go on; `get_save_status` shows its end |
| `dropped` | a person rejected the save | none |

`retrieve_context` returns `succeeded`, `conflicted`, `empty`, `timed_out` or `failed`. It does not raise if the database is
away, so that an agent can go on without its memory.
"""


# Verbs and views


def verbs_pages(connection: psycopg.Connection[dict[str, Any]]) -> dict[Path, str]:
    """Return the page that lists the verbs, and one for each folder of sql/ that declares some."""
    folders = {path.stem[3:]: path.parent.name for path in chapters.SQL.rglob("[0-9][0-9]-*.sql")}
    verbs = sorted(catalog.verbs(connection), key=lambda verb: folders[verb.chapter])
    index, made = [WRITTEN, VERBS_HEAD], {}
    for folder, group in groupby(verbs, key=lambda verb: folders[verb.chapter]):
        listed, parts = [], [WRITTEN, f"\n# Verbs: {folder}\n"]
        for chapter, declared in groupby(group, key=lambda verb: verb.chapter):
            parts.append(f"\n## {chapter.replace('-', ' ').capitalize()}\n")
            for verb in declared:
                listed.append((f"[{verb.name}](verbs/{folder}.md#{verb.name})", verb.summary))
                parts += verb_section(verb)
        index.append(
            f"\n## [{folder.capitalize()}](verbs/{folder}.md)\n\n{table(('verb', 'what it does'), listed)}"
        )
        made[REFERENCE / "verbs" / f"{folder}.md"] = "".join(parts)
    return {REFERENCE / "verbs.md": "".join(index), **made}


def verb_section(verb: catalog.Verb) -> Iterator[str]:
    """Yield the section of a verb."""
    interfaces = [
        "SQL",
        *(["Python"] if hasattr(Memory, verb.name) else []),
        *(["MCP"] if verb.toolset else []),
    ]
    yield f"\n### {verb.name}\n\n{verb.text}\n\n{signature(verb)}\n"
    if described := [(code(a.name), a.meaning) for a in verb.arguments if a.meaning]:
        yield table(("argument", "meaning"), described) + "\n"
    if verb.raises:
        yield table(("raises", "when"), ((code(name), when) for name, when in verb.raises)) + "\n"
    yield (
        f"From: {', '.join(interfaces)}. Effect: {EFFECTS[verb.effect]} Called by: {RIGHTS[verb.rights]}."
        f" Behind a front: {REACH[verb.reach]}. "
        + (verb.reads_all or f"Reads at most {verb.reads:,} rows of a store of 20,000 memories.").replace(
            ",000", " 000"
        )
        + "\n"
    )


REACH = {
    "caller": "the cell of the caller",
    "argument": "the cell of the organisation in the arguments",
    "token": "the cell of the token",
    "every": "every cell, with one answer",
    "sum": "every cell, or that of the caller's organisation; the answers are added up",
    "union": "every cell, or that of the caller's organisation; the rows of all",
    "cell": "one cell only",
    "front": "the front itself",
}
"""The cells that a front asks, by `pgmem.verb.reach`."""

EFFECTS = {
    "read": "it reads, possibly from a replica.",
    "look": "it reads, from the primary only.",
    "write": "it writes.",
    "repeat": "it writes; the same call again changes nothing more.",
    "remove": "it removes or hides.",
}
RIGHTS = {
    "reader": "`pgmem_reader`, `pgmem_writer`",
    "writer": "`pgmem_writer`",
    "reviewer": "`pgmem_reviewer`",
    "worker": "`pgmem_trusted`, `pgmem_reviewer`",
    "owner": "the owner of the schema",
}


def signature(verb: catalog.Verb) -> str:
    """Return the signature of a function and the columns of its answer."""
    taken, given = [], []
    for argument in split(verb.signature):
        mode, _, rest = argument.partition(" ")
        argument = re.sub(r"::[a-z ]+(\[\])?$", "", argument)
        (given if mode in ("OUT", "INOUT") else taken).append(rest if mode in ("OUT", "INOUT") else argument)
    result = verb.result
    if match := re.fullmatch(r"(TABLE|ROW)\((.*)\)", result, re.DOTALL):
        given, result = split(match[2]), "rows" if match[1] == "TABLE" else "one row"
    lines = [f"pgmem.{verb.name}("]
    lines += [f"  {argument}{',' if n < len(taken) else ''}" for n, argument in enumerate(taken, 1)]
    lines[-1:] = [lines[-1] + ")"] if not taken else [lines[-1], ")"]
    answer = "-- " + {"record": "one row", "SETOF record": "rows"}.get(result, result)
    return "```text\n" + "\n".join([*lines, answer, *(f"--   {column}" for column in given)]) + "\n```\n"


def split(arguments: str) -> list[str]:
    """Return the arguments of a signature; commas inside quotes and parentheses separate none."""
    found, depth, quoted, start = [], 0, False, 0
    for place, letter in enumerate(arguments):
        quoted ^= letter == "'"
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not quoted and depth == 0:
            found.append(arguments[start:place].strip())
            start = place + 1
    return [part for part in [*found, arguments[start:].strip()] if part]


VERBS_HEAD = """
# Verbs

A verb has the same name and the same arguments in SQL, Python and MCP; in SQL the arguments begin with `p_`. In SQL a verb is
called with `select * from pgmem.verb(p_name => value, …)`. It returns one row unless its description says otherwise. A call is
one transaction, or part of the transaction of the caller. A verb that writes requires READ COMMITTED, the default.

In `pgmem psql` the schema name can be left out. `select * from pgmem.verb` lists the verbs there.
"""


def views_page(connection: psycopg.Connection[dict[str, Any]]) -> str:
    """Return the page of the views with their columns."""
    rows = connection.execute(
        """
        select c.relname as view, obj_description(c.oid, 'pg_class') as comment, a.attname as column,
               format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as meaning
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'pgmem'::regnamespace and c.reloptions @> '{security_invoker=true}'
        order by 1, a.attnum
        """
    ).fetchall()
    parts = [WRITTEN, VIEWS_HEAD]
    for view in dict.fromkeys(row["view"] for row in rows):
        columns = [row for row in rows if row["view"] == view]
        parts.append(f"\n## {view}\n\n{columns[0]['comment'] or ''}\n\n")
        parts.append(
            table(
                ("column", "type", "meaning"), ((code(c["column"]), c["type"], c["meaning"]) for c in columns)
            )
        )
    return "".join(parts)


VIEWS_HEAD = """
# Views

The views are for analysts. They are `security_invoker` views over the tables, so row-level security applies. They show rows
of every status; agents see only live rows, so filter by `status`. [How to use them](../how-to/use-psql.md).
"""


# MCP


def listed() -> str:
    """Return the tools of all verbs as they are listed, made anew, as JSON."""
    made = [mcp_tools.of_verb(name).listed() for name in mcp_tools.names(*ALL_TOOLSETS)]
    lines = (tool.model_dump_json(by_alias=True, exclude_none=True) for tool in made)
    return "[\n" + ",\n".join(lines) + "\n]\n"


async def mcp_page(dsn: str) -> str:
    """Return the page of the tools, resources and prompts of the server."""
    from mcp.client.client import Client

    parts = [WRITTEN, MCP_HEAD]
    server = create_server(load(dsn=dsn, embedding_provider="none", toolsets="all"))
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        resources = [(str(r.uri), r.description) for r in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        resources += [(template.uri_template, template.description) for template in templates]
        prompts = (await client.list_prompts()).prompts
    for toolset in TOOLSETS:
        parts.append(f"\n## Toolset {toolset}\n")
        parts += [
            tool_of(tools[name], mcp_tools.of_verb(name).parameters, mcp_tools.of_verb(name).answer_schema)
            for name, verb in VERBS.items()
            if toolset in verb.toolsets
        ]
    parts.append("\n## Resources\n\n" + table(("URI", "contents"), ((code(u), d) for u, d in resources)))
    parts.append("\n## Prompts\n\n")
    parts.append(
        table(
            ("prompt", "meaning", "arguments"),
            (
                (
                    code(p.name),
                    p.description,
                    ", ".join(code(a.name) + ("" if a.required else "?") for a in p.arguments or ()),
                )
                for p in prompts
            ),
        )
    )
    return "".join(parts)


def tool_of(tool: Any, taken: dict[str, Any], answered: dict[str, Any]) -> str:
    """Return the section of a tool; those of its arguments that are not listed to agents are in it too."""
    listed = tool.input_schema.get("properties", {})
    properties = {
        **listed,
        **listed_arguments("", taken, whole=True)["properties"],
    }
    required = tool.input_schema.get("required", [])
    hints = tool.annotations
    effect = "Reads only." if hints.read_only_hint else "Writes."
    if hints.idempotent_hint:
        effect += " The same call again changes nothing more."
    if hints.destructive_hint and not hints.read_only_hint:
        effect += " It can remove memories."
    rows = [
        (
            code(name),
            part.get("description", "") + ("" if name in listed else " (not listed)"),
            kind_of(part),
            "required" if name in required else shown_default(part),
        )
        for name, part in properties.items()
    ]
    answer = ", ".join(map(code, answered.get("properties", {}))) or "an object"
    arguments = "\n" + table(("argument", "meaning", "type", "default"), rows) if rows else ""
    return f"\n### {tool.name}\n\n{tool.description}\n\n{effect} Answers with {answer}.\n{arguments}"


def kind_of(part: dict[str, Any]) -> str:
    """Return the type of an argument, in words."""
    if "enum" in part:
        return ", ".join(map(str, part["enum"]))
    if "$ref" in part:
        return "object"
    if part.get("type") == "array":
        return f"list of {kind_of(part.get('items', {}))}"
    word = {"string": "text", "integer": "whole number", "boolean": "true, false"}.get(
        part.get("type", ""), part.get("type", "any")
    )
    if part.get("format"):
        word = {"uuid": "UUID", "date": "date", "date-time": "time"}.get(part["format"], word)
    if "minimum" in part and "maximum" in part:
        word += f" {part['minimum']} to {part['maximum']}"
    return str(word)


def shown_default(part: dict[str, Any]) -> str:
    """Return the default of an argument."""
    return code(part["default"]) if part.get("default") not in (None, [], {}) else ""


MCP_HEAD = """
# MCP tools

These are the tools of `pgmem mcp`. `PGMEM_TOOLSETS` selects toolsets, as in `core,graph`; by default it is `core`, and
`all` means all of these. A tool returns the outcome as a status, and leaves out fields that are null; invalid arguments get an
error that names the argument and says what to send. Verbs that only a person may call (reviews, approval, erasure, settings) are not tools.
"""


def pages(dsn: str) -> dict[Path, str]:
    """Return the text of each page by path."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return {
            REFERENCE / "cli.md": cli_page(),
            REFERENCE / "settings.md": settings_page(connection),
            REFERENCE / "errors.md": errors_page(),
            **verbs_pages(connection),
            REFERENCE / "views.md": views_page(connection),
            REFERENCE / "mcp-tools.md": anyio.run(mcp_page, dsn),
        }

"""`pgmem demo`: an agent at work through an MCP client over stdio, the session after it, and the result in SQL."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import psycopg
import typer
from psycopg.rows import dict_row
from rich.console import Console

from pgmem.cli.options import Rows, exit_on_error, load_settings, print_json, progress, terminal
from pgmem.errors import PgmemError
from pgmem.programs import AGAIN
from pgmem.server.embedded import EmbeddedServer

if TYPE_CHECKING:
    from pgmem.settings import Settings

PROJECT = "webshop"
STEPS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("is the project known?", "get_scope_state", {}),
    (
        "save the session (creates the project)",
        "save_session",
        {
            "objective": "Choose how the shop keeps its orders",
            "actions_taken": ["Compared three databases", "Measured 10 000 orders"],
            "open_items": ["Backups"],
            "next_actions": ["Write the migration"],
        },
    ),
    (
        "save a decision",
        "save_decision",
        {
            "title": "Keep the orders of the shop in PostgreSQL 17",
            "rationale": "One system for rows, graph and vectors.",
            "owner": "Ada",
        },
    ),
    (
        "save it again",
        "save_decision",
        {
            "title": "keep the orders of the shop in postgresql 17",
            "rationale": "One system for rows, graph, and vectors!",
            "owner": "Ada",
        },
    ),
    (
        "name the one that it replaces",
        "save_decision",
        {
            "title": "Keep the orders of the shop in PostgreSQL 18",
            "rationale": "18 reads faster from disk.",
            "supersedes": "Keep the orders of the shop in PostgreSQL 17",
        },
    ),
    (
        "a similar title: a person decides",
        "save_decision",
        {"title": "Hold orders of one shop in PostgreSQL 18", "rationale": "Each shop by itself."},
    ),
    (
        "another decision",
        "save_decision",
        {"title": "Cache product pages for an hour", "rationale": "They seldom change."},
    ),
    (
        "a decision that contradicts it",
        "save_decision",
        {"title": "Never cache anything with a price", "rationale": "Prices change at any time."},
    ),
    (
        "the two conflict",
        "relate",
        {
            "from_label": "Decision",
            "from_key": "Cache product pages for an hour",
            "rel_type": "CONFLICTS_WITH",
            "to_label": "Decision",
            "to_key": "Never cache anything with a price",
        },
    ),
    (
        "save a pattern",
        "save_pattern",
        {"trigger": "Before a release", "repeatable_steps": ["Run the load test", "Ask the support team"]},
    ),
    ("save a fact", "upsert_entity", {"entity_name": "Stripe", "fact": "Takes the payments."}),
    (
        "what is related to the decision?",
        "neighbours",
        {"label": "Decision", "key": "Keep the orders of the shop in PostgreSQL 18"},
    ),
    ("come back later", "retrieve_context", {"scope": "project"}),
)
_REPLACED = 5
"""After how many steps one of them has replaced a decision."""
QUESTION = "where are the orders of the shop kept?"
SQL = """\
select from_title, rel as relation, to_title from pgmem.graph_edge
where from_label = 'Decision' and to_label = 'Decision' and rel in ('SUPERSEDES', 'CONFLICTS_WITH')
  and from_id in (select id from pgmem.decision where project = %s)
order by 2, 1"""
CYPHER = """\
MATCH (a:Decision {project: $project})-[r]->(b:Decision)
RETURN a.title AS from_title, type(r) AS relation, b.title AS to_title ORDER BY type(r), a.title"""


def demo(
    dsn: Annotated[
        str | None,
        typer.Option(
            "--dsn",
            help="DSN of another PostgreSQL, to which the demo adds a project. PGMEM_DSN is ignored.",
        ),
    ] = None,
    conversation: Annotated[
        Path | None,
        typer.Option(
            help="A LoCoMo file; the demo saves its first conversation as notes.", exists=True, dir_okay=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every step as JSON.")] = False,
) -> None:
    """Show an agent that remembers, on a separate, temporary PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="pgmem-demo-") as folder:
        settings = load_settings(dsn, None, Path(folder)).model_copy(update={"dsn": dsn, "read_dsn": None})
        done = exit_on_error(lambda: anyio.run(_run, settings, conversation, as_json))
    if as_json:
        print_json(done)


async def _run(settings: Settings, conversation: Path | None, quiet: bool) -> dict[str, Any]:
    console, began = terminal(quiet=quiet), time.perf_counter()
    with closing(EmbeddedServer(settings.data_dir)) as server:  # not started where --dsn names another one
        dsn = settings.dsn or server.start()
        from mcp.shared.exceptions import MCPError

        try:
            done = await _work(settings, console, conversation, began)
        except* MCPError as errors:
            raise PgmemError("pgmem mcp ended before it answered; its messages are above.") from errors
        with psycopg.connect(dsn, row_factory=dict_row) as connection:
            done["said_yes"] = _say_yes(connection, done["project"])
            done["sql"] = connection.execute(SQL, (done["project"],)).fetchall()
            done["cypher"] = _cypher(connection, done["project"])
    console.print(
        "A rule of an agent is a note until a person says yes ([bold]pgmem review[/]). "
        f"You said yes to: {done['said_yes'][0]}\n"
    )
    console.print(_table("The same in SQL", SQL.replace("%s", f"'{done['project']}'"), done["sql"]))
    console.print(_table("The same in Cypher", CYPHER, done["cypher"]))
    console.print(
        "Next: [bold]pgmem connect claude-code[/], or another client; pgmem connect --help names them."
    )
    return done


def _say_yes(connection: psycopg.Connection[dict[str, Any]], project: str) -> list[str]:
    """Do the work of a person at `pgmem review`, and return the instructions that hold then."""
    connection.execute("select set_config('pgmem.source', 'cli', true)")
    for rule in connection.execute("select id, version from pgmem.list_rules(%s)", (project,)).fetchall():
        connection.execute("select pgmem.decide_rule(%s, %s, true, 'Ada')", (rule["id"], rule["version"]))
    query = "select jsonb_path_query_array(standing, '$[*].title') as titles from pgmem.retrieve_context(%s)"
    return list(connection.execute(query, (project,)).fetchone()["titles"])  # type: ignore[index]


def _cypher(connection: psycopg.Connection[dict[str, Any]], project: str) -> list[dict[str, Any]]:
    query = "select pgmem.run_cypher(%s, jsonb_build_object('project', %s::text)) as row"
    columns = ("from_title", "relation", "to_title")  # the keys of a jsonb object have no order
    try:
        rows = [row["row"] for row in connection.execute(query, (CYPHER, project))]
        return [{name: row[name] for name in columns} for row in rows]
    except psycopg.Error as error:
        return [{"refused": error.diag.message_primary}]


async def _work(
    settings: Settings, console: Console, conversation: Path | None, began: float
) -> dict[str, Any]:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    environment = {**os.environ, "PGMEM_DATA_DIR": str(settings.data_dir), "PGMEM_TOOLSETS": "all"}
    for name in ("PGMEM_DSN", "PGMEM_READ_DSN"):
        environment.pop(name, None)
    if settings.dsn is not None:
        environment["PGMEM_DSN"] = settings.dsn
    parameters = StdioServerParameters(command=AGAIN[0], args=[*AGAIN[1:], "mcp"], env=environment)
    steps: list[dict[str, Any]] = []
    project = PROJECT if settings.dsn is None else f"{PROJECT}-{time.time_ns():x}"
    async with Client(stdio_client(parameters)) as client:
        console.print(
            f"An MCP client started [bold]pgmem mcp[/] and sees {len((await client.list_tools()).tools)} "
            "tools."
        )
        before = datetime.now(UTC)
        for what, tool, arguments in STEPS:
            if len(steps) == _REPLACED - 1:
                before = datetime.now(UTC)
            result = await client.call_tool(tool, {"project_id": project, **arguments})
            if result.is_error:
                raise PgmemError(f"{tool}: {' '.join(getattr(part, 'text', '') for part in result.content)}")
            answer: dict[str, Any] = result.structured_content or {}
            steps.append({"what": what, "tool": tool, "arguments": arguments, "answer": answer})
            if len(steps) == 1:
                first_answer = time.perf_counter() - began
        console.print(
            f"First answer after {first_answer:.1f} s, including the creation of PostgreSQL and the schema.\n"
        )
        console.print(_steps(steps))
        console.print(_context(steps[-1]["answer"]))
        later = await _next_session(client, project, before, environment)
        _print_later(console, later)
        notes = await _save_notes(client, project, conversation, console) if conversation else None
    return {
        "project": project,
        "data_dir": str(settings.data_dir),
        "first_answer_s": round(first_answer, 3),
        "steps": steps,
        "next_session": later,
        "conversation": notes,
    }


async def _next_session(
    client: Any, project: str, before: datetime, environment: dict[str, str]
) -> dict[str, Any]:
    """The opening of a second session, a decision that was replaced, and the former truth."""

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await client.call_tool(tool, {"project_id": project, **arguments})
        return answer.structured_content or {}

    opening = await anyio.to_thread.run_sync(_opening, project, environment)
    replaced = dict(STEPS[2][2])
    again = await call("save_decision", **replaced)
    found = {
        when: (await call("search_memory", query=QUESTION, labels=["Decision"], limit=1, **moment))["results"]
        for when, moment in (("before", {"as_of": before.isoformat()}), ("now", {}))
    }
    return {
        "opening": opening,
        "again": {"title": replaced["title"], "status": again["status"], "message": again.get("message")},
        **{when: [one["title"] for one in results] for when, results in found.items()},
    }


def _opening(project: str, environment: dict[str, str]) -> str:
    """The text of a client's hook for a new session; empty where the hooks are not installed."""
    event = {"hook_event_name": "SessionStart", "session_id": "demo", "cwd": environment["PGMEM_DATA_DIR"]}
    done = subprocess.run(
        [*AGAIN, "hook", "SessionStart", "--client", "claude-code"],
        input=json.dumps(event),
        env={**environment, "PGMEM_PROJECT": project},
        capture_output=True,
        text=True,
        check=False,
    )
    brought = json.loads(done.stdout) if done.stdout.strip() else {}
    return str(brought.get("hookSpecificOutput", {}).get("additionalContext", ""))


def _print_later(console: Console, later: dict[str, Any]) -> None:
    if later["opening"]:
        console.print("\n[bold]The next session[/] begins with this, before anybody has asked:\n")
        console.print(later["opening"], highlight=False, markup=False)
    again = later["again"]
    console.print(f"\nIt saves “{again['title']}” again, which was replaced: {again['message']}")
    console.print(
        f"{QUESTION.capitalize()} Before that change: {'; '.join(later['before'])}. Now: {'; '.join(later['now'])}.\n"
    )


async def _save_notes(client: Any, project: str, file: Path, console: Console) -> dict[str, Any]:
    """Save the turns of a conversation as notes, through the same tools, and find them by topic."""
    conversation = json.loads(file.read_text(encoding="utf-8"))[0]["conversation"]
    sessions = sorted(
        (key for key in conversation if key.startswith("session_") and not key.endswith("_time")), key=_number
    )
    turns = [(turn, conversation[f"{key}_date_time"]) for key in sessions for turn in conversation[key]]
    saved = 0
    began = time.perf_counter()
    with progress("notes") as report:
        for done, (turn, when) in enumerate(turns, start=1):
            note = f"{turn['speaker']} ({when}): {turn['text']}"
            result = await client.call_tool(
                "save_context",
                {"content": note, "topic": turn["dia_id"], "project_id": project, "focus": "talk"},
            )
            saved += result.structured_content["status"] == "saved"
            report(done, len(turns))
    seconds = time.perf_counter() - began
    topic = "adoption agency"
    found = await client.call_tool(
        "retrieve_context",
        {"project_id": project, "focus": "talk", "topic": topic, "categories": ["Context"]},
    )
    titles = [item["content"] for item in found.structured_content["items"]]
    console.print(
        f"\n{saved} of {len(turns)} turns saved as notes in {seconds:.1f} s; on the topic “{topic}”:"
    )
    for title in titles[:3]:
        console.print(f"  {title[:160]}", highlight=False, markup=False)
    return {
        "turns": len(turns),
        "saved": saved,
        "seconds": round(seconds, 2),
        "topic": topic,
        "found": titles,
    }


def _number(key: str) -> int:
    return int(key.removeprefix("session_"))


def _steps(steps: list[dict[str, Any]]) -> Rows:
    rows = []
    for step in steps[:-1]:
        answer = step["answer"]
        shown = [
            str(answer[k]) for k in ("scope_state", "status", "dedup_outcome", "message") if answer.get(k)
        ]
        if "nodes" in answer:
            shown = [f"{' '.join(node['path'])} {node['title']}" for node in answer["nodes"]]
        if "created" in answer:
            shown = [f"{answer['rel_type']} {'created' if answer['created'] else 'exists'}"]
        rows.append((step["what"], step["tool"], ": ".join(shown) or answer))
    return Rows(("", "tool", "answer"), rows, title="What the agent did")


def _context(bundle: dict[str, Any]) -> Rows:
    items = [*bundle["standing"], *bundle["items"]] if "standing" in bundle else bundle["items"]
    # A context leaves out usual values.
    rows = (
        (item.get("label", "Context"), item.get("title") or item.get("content"), item.get("scope", "project"))
        for item in items
    )
    title = f"retrieve_context: {bundle['retrieval_status']}"
    return Rows(("label", "title", "scope"), rows, title=title, caption=bundle["next_step"])


def _table(title: str, query: str, rows: list[dict[str, Any]]) -> Rows:
    values = (row.values() for row in rows)
    return Rows(rows[0] if rows else ("no rows",), values, title=title, caption=query)

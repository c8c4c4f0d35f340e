"""The store itself: create or upgrade it, show its state, open psql, change its settings."""

from __future__ import annotations

import hmac
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from pgmem.cli.options import (
    DataDir,
    Dsn,
    EnvFile,
    Store,
    exit_on_error,
    facts,
    load_settings,
    of_tenants,
    plain_command,
    steps,
    stop,
    store_command,
    tenant_name,
    terminal,
)
from pgmem.database.dsn import place
from pgmem.errors import NotPermitted, PgmemError
from pgmem.escaping import counted
from pgmem.install import schema
from pgmem.programs import installed
from pgmem.server.embedded import EmbeddedServer

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import EmbeddingModel, Status
    from pgmem.settings import Settings

T = TypeVar("T")

config = typer.Typer(help="Show and change the thresholds and limits of the store.", no_args_is_help=True)


def init(
    dsn: Dsn = None,
    data_dir: DataDir = None,
    env_file: EnvFile = None,
    sql: Annotated[bool, typer.Option("--sql", help="Only print the SQL, for a DBA to run.")] = False,
    roles: Annotated[
        bool, typer.Option("--roles", help="Create the roles for row-level security; needs CREATEROLE.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what an upgrade would do.")] = False,
    cell: Annotated[
        int | None, typer.Option("--cell", min=0, max=255, help="The number of the store behind a front.")
    ] = None,
    new_feed: Annotated[
        bool,
        typer.Option(
            "--new-feed",
            help="Give a copy of a store a new identity: its memories stay, and a sync compares all once.",
        ),
    ] = False,
) -> None:
    """Create the schema, or upgrade it to this release."""
    if sql:
        for part in schema.script():
            sys.stdout.write(part)
        return
    settings = load_settings(dsn, env_file, data_dir)
    if dry_run:
        for line in exit_on_error(lambda: _with_store(settings, _planned)):
            typer.echo(line)
        return
    with steps() as show:
        done = exit_on_error(
            lambda: _with_store(
                settings,
                lambda found: schema.upgrade(
                    found, settings=settings.store, roles=roles, cell=cell, new_feed=new_feed, progress=show
                ),
            )
        )
    if new_feed and settings.dsn is None:
        _server(settings).mark()
    for notice in done.notices:
        typer.echo(f"pgmem: {notice}", err=True)
    typer.echo(
        f"pgmem {done.release}: {_became(done)}; extensions: "
        f"{', '.join(done.extensions) or 'none, full text only'}"
        f"{'; with the roles of row-level security' if roles else ''}"
        f"{'' if cell is None else f'; cell {cell}'}"
        f"{'; its feed is a new one' if new_feed else ''}"
        f"{_left_to_worker(done)}"
    )
    if done.rules:
        wait = counted(done.rules, "rule of an agent waits", "rules of agents wait")
        typer.echo(f"{wait} for your yes, until then each is an ordinary note: pgmem review")


def _with_store(settings: Settings, use: Callable[[str], T]) -> T:
    """Call with the DSN of the store; the embedded server runs meanwhile."""
    if settings.dsn is not None:
        return use(settings.dsn)
    with _server(settings) as server:
        return use(server.start())


def _became(done: schema.Upgrade) -> str:
    if not done.changed:
        return "up to date"
    return "installed" if done.before is None else f"upgraded from {done.before}"


def _left_to_worker(done: schema.Upgrade) -> str:
    """The work left to the worker after an upgrade, if any."""
    work = []
    if done.unembedded:
        work.append(f"embeds {counted(done.unembedded, 'memory', 'memories')}")
    if done.unindexed:
        work.append(f"makes the index of {counted(done.unindexed, 'model', 'models')}")
    return f"; the worker {' and '.join(work)} (pgmem worker --once does it now)" if work else ""


def _planned(dsn: str) -> list[str]:
    """The steps that `pgmem init` would take, in lines."""
    plan = schema.plan(dsn)
    if plan.before is None:
        return [f"No store found: pgmem init installs {schema.release()}."]
    own = schema.build(schema.release(), schema.digest()) if plan.replaces else schema.release()
    if not plan.migrations:
        return [
            f"The store is of {plan.before}: pgmem init "
            + (f"replaces the functions by those of {own}." if plan.replaces else "changes nothing.")
        ]
    lines = [
        f"The store is of {plan.before}: pgmem init upgrades it to {own}.",
        "Tables change:",
    ]
    lines += [f"  {summary}" for summary in plan.migrations]
    rows = {name: count for name, count in plan.tables.items() if count}
    lines.append("All tables are locked meanwhile; saves and reads wait. Rows:")
    lines += [f"  {name} {count}" for name, count in sorted(rows.items(), key=lambda item: -item[1])[:8]]
    lines.append(
        f"After it {counted(rows.get('node', 0), 'node is', 'nodes are')} renewed while others save and read."
    )
    return lines


@store_command
def status(store: Store) -> None:
    """Show the server, its version, the tier, the data directory and the number of memories."""
    from pgmem.settings import overruled

    settings = store.settings
    found, models, nobody, values, is_front = store.run(lambda m: _look(m, settings))
    for message in overruled(settings.store, values).values():
        typer.echo(f"pgmem: {message}.", err=True)
    where = f"{place(settings.dsn)} ({store.named_by})" if settings.dsn else str(settings.data_dir)
    store.for_people(
        {
            "server": "dsn" if settings.dsn else "embedded",
            "data_dir": str(settings.data_dir),
            **vars(found),
            "embedding": {
                "provider": settings.embedding_provider,
                "models": [asdict(model) for model in models],
            },
        }
    )
    rows = [
        *_status_rows(settings, where, found, nobody, is_front=is_front),
        *_embedding_rows(settings, models),
    ]
    terminal().print(facts(rows))


async def _look(
    memory: Memory, settings: Settings
) -> tuple[Status, list[EmbeddingModel], str, dict[str, str], bool]:
    """The state of the store, its models, the sentence about a caller without a tenant, its settings, is it a front."""
    found, nobody = await memory.status(), "none: one user"
    with suppress(NotPermitted):
        if (await memory.backlog()).tenants:
            nobody = "none, and the store has tenants: set DEFAULT_ORG_ID or DEFAULT_USER_ID to save and to read theirs"
    if not found.memories and (theirs := await of_tenants(memory, settings)):
        nobody = f"none. {theirs}"
    values = {row.name: row.value for row in await memory.list_settings()} if settings.store else {}
    return found, await memory.embedding_status(), nobody, values, memory.caller.database.is_front


def _embedding_rows(settings: Settings, models: list[EmbeddingModel]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [("embeddings", settings.embedding_provider)]
    if not models:
        return [("embeddings", f"{settings.embedding_provider}: no vectors, search is by full text")]
    for row in models:
        index = f", {row.not_indexed} not in the index yet" if row.index_name else ""
        state = f"{counted(row.vectors, 'vector')}, {counted(row.waiting, 'text')} without one{index}"
        rows.append(("model in use" if row.active else "other model", f"{row.model}: {state}"))
    return rows


def _status_rows(
    settings: Settings, where: str, found: Status, nobody: str, *, is_front: bool
) -> list[tuple[str, str]]:
    server = (
        "a front, and the cell of this organisation,"
        if is_front
        else "your own"
        if settings.dsn
        else "embedded"
    )
    memories = ", ".join(f"{count} {label}" for label, count in sorted(found.memories.items())) or "none yet"
    return [
        ("server", f"{server} PostgreSQL {found.server_version}"),
        ("where", where),
        ("schema", f"pgmem {found.release} ({found.build})"),
        (
            "tier",
            f"{found.tier} (AGE {found.age_version or 'none'}, pgvector {found.vector_version or 'none'})",
        ),
        (
            "isolation",
            "verbs and row-level security"
            if found.isolation_layers == 2
            else "by verbs alone; pgmem init --roles adds row-level security",
        ),
        ("tenant", tenant_name(found.org_id, found.user_id) or nobody),
        ("memories", memories),
        (
            "graph",
            f"{counted(found.nodes, 'node')}, {counted(found.edges, 'edge')}, {counted(found.projects, 'project')}",
        ),
        ("saves open", str(found.saves_open)),
        ("outbox", f"{len(list(settings.outbox_dir.glob('*.json')))} queued in {settings.outbox_dir}"),
    ]


@plain_command
def psql(
    store: Store,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PSQL OPTIONS]",
            help="Options of psql, such as -c 'table decision', -f file.sql, --csv, -t or -v name=value.",
        ),
    ] = None,
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Refuse whatever would write, until it is set otherwise there."),
    ] = False,
) -> None:
    """Open psql on the store, with any options of psql. Its views and verbs need no schema name."""
    settings = store.settings
    with closing(_server(settings)) as server:  # a server that PGMEM_DSN names is not started
        target = settings.dsn or exit_on_error(server.start)
        if settings.dsn is None:
            store.run(lambda m: m.status())  # creates the schema of a new store
        program = shutil.which("psql", path=str(_own_programs(server))) or installed("psql")
        if program is None:
            stop("psql is not installed: install your system's PostgreSQL client.")
        given = os.environ.get("PGOPTIONS", "")
        if _takes_options(target):
            writes = " -c default_transaction_read_only=on" if read_only else ""
            given = f"{given} -c search_path=pgmem,public{writes}".strip()
        elif read_only:
            stop(
                "This pooler does not accept options, so it cannot refuse writes; connect to the server itself."
            )
        else:
            advice = "write pgmem. before names, or connect to the server itself."
            typer.echo(f"pgmem: This pooler does not accept options: {advice}", err=True)
        # Ctrl-C cancels a query in psql; it must not end the embedded server.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        done = subprocess.run(
            [program, "--set=SHOW_CONTEXT=never", *(options or ()), "-d", target],
            env={**os.environ, "PGOPTIONS": given},
            check=False,
        )
    raise typer.Exit(done.returncode)


@plain_command
def dsn_(
    store: Store,
    no_longer: Annotated[
        bool, typer.Option("--stop", help="Stop the embedded server when no program uses it.")
    ] = False,
    read_only: Annotated[
        bool,
        typer.Option(
            "--read-only", help="For tools that only read: the views alone, which need no schema name."
        ),
    ] = False,
) -> None:
    """Print the DSN of the store. An embedded server is started, and runs until `pgmem dsn --stop`."""
    settings = store.settings
    if settings.dsn is not None:
        if no_longer:
            stop(f"{store.named_by} is set: pgmem stops only the embedded server.", 2)
        typer.echo(_reading(settings.dsn) if read_only else settings.dsn)
        if read_only:
            typer.echo(
                "The login is the same: create role ada login in role pgmem_reader makes one that cannot write.",
                err=True,
            )
        return
    with closing(_server(settings)) as server:
        if no_longer:
            exit_on_error(server.start)  # as a user, the last of whom stops it
            exit_on_error(lambda: server.keep(False))
            typer.echo("The embedded server stops when its last client disconnects.", err=True)
            return
        store.run(lambda m: m.status())  # creates the schema of a new store
        exit_on_error(server.start)
        found = exit_on_error(lambda: server.keep(True))
        typer.echo(_report_login(store, found) if read_only else found)
        typer.echo("The embedded server runs until pgmem dsn --stop.", err=True)


def _reading(dsn: str) -> str:
    """The same login, for the views alone and in transactions that refuse to write."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(dsn, options="-c search_path=pgmem_report -c default_transaction_read_only=on")


def _report_login(store: Store, dsn: str) -> str:
    """The DSN of the login that reads the views alone; its password over TCP follows from that of the owner."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    owner = conninfo_to_dict(dsn).get("password")
    password = hmac.new(str(owner).encode(), b"pgmem_report", "sha256").hexdigest() if owner else None
    name = store.run(lambda m: m.admin.make_report_login(password))
    return make_conninfo(dsn, user=name, **({"password": password} if password else {}))


def _server(settings: Settings) -> EmbeddedServer:
    return EmbeddedServer(settings.data_dir, settings.embedded_port, settings.embedded)


def _takes_options(dsn: str) -> bool:
    """Whether a connection can set a search path; a pooler refuses it, because it shares connections."""
    import psycopg

    try:
        psycopg.connect(dsn, options="-c search_path=pgmem,public", connect_timeout=10).close()
    except psycopg.OperationalError as error:
        return "startup parameter" not in str(error)  # psql reports any other error itself
    return True


def _own_programs(server: EmbeddedServer) -> Path | None:
    try:
        return server.bin_dir
    except PgmemError:
        return None


@config.command("get")
@store_command
def config_get(
    store: Store, name: Annotated[str | None, typer.Argument(help="The setting. Default: all.")] = None
) -> None:
    """Show the thresholds and limits of the store."""
    rows = [row for row in store.run(lambda m: m.list_settings()) if name in (None, row.name)]
    if not rows:
        stop(f"Unknown setting {name}; pgmem config get lists all settings.")
    store.print_table(rows, ("setting", "value", "meaning"), lambda r: (r.name, r.value, r.description))


@config.command("set", context_settings={"ignore_unknown_options": True})  # -1 is a value
@plain_command
def config_set(
    store: Store,
    name: Annotated[str, typer.Argument(help="The setting; pgmem config get lists them.")],
    value: Annotated[str, typer.Argument(help="Its new value.")],
) -> None:
    """Change a threshold or limit for every client of the store."""
    row = store.run(lambda m: m.set_setting(name, value))
    typer.echo(f"{row.name} = {row.value}")

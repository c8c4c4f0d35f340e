"""`pgmem doctor`: what is wrong with a store, and the way out of each."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from datetime import UTC

import anyio
import anyio.to_thread
import psycopg
import typer
from rich.text import Text

from pgmem.cli.options import AsJson, DataDir, Dsn, EnvFile, emit, failing, settings_of, terminal
from pgmem.database.examine import Finding, examine_server
from pgmem.database.outbox import Outbox
from pgmem.database.pool import Database
from pgmem.errors import NotPermitted, PgmemError, first_line
from pgmem.memory import Memory
from pgmem.settings import Settings

__all__ = ["doctor"]


_COLOURS = {"ok": "green", "hint": "yellow", "look": "red"}
_LEAST_ROOM = 64 * 1024 * 1024


def doctor(
    dsn: Dsn = None, data_dir: DataDir = None, env_file: EnvFile = None, as_json: AsJson = False
) -> None:
    """Find what is wrong and say what to do: look is wrong, a hint could be better; exit code 1 if anything is wrong."""
    settings = settings_of(dsn, env_file, data_dir)
    findings = failing(lambda: anyio.run(_examine, settings))
    if as_json:
        emit(findings)
    else:
        console = terminal()
        for finding in findings:
            console.print(Text.assemble((f"{finding.level:6}", _COLOURS[finding.level]), _line(finding)))
    raise typer.Exit(1 if any(finding.level == "look" for finding in findings) else 0)


def _line(finding: Finding) -> str:
    return finding.told if finding.remedy is None else f"{finding.told.rstrip('.')}: {finding.remedy}"


async def _examine(settings: Settings) -> list[Finding]:
    database = Database(settings, source="cli")
    outbox = _outbox(settings, database.outbox)
    if settings.dsn is not None:
        found = await _from_outside(settings, settings.dsn)
        if any(finding.level == "look" for finding in found):
            return [*found, outbox]
    try:
        await database.open()
    except PgmemError as error:
        log = settings.data_dir / "server.log"
        return [
            Finding(check="server", level="look", told=first_line(error), remedy=f"see {log}"),
            outbox,
        ]
    try:
        if settings.dsn is None:
            found = await _from_outside(settings, database.dsn)
        memory = Memory(database)
        found += [finding async for finding in _store(memory)]
        if settings.read_dsn is not None:
            found.append(await _replica(memory, database))
    finally:
        await database.close()
    return [*found, outbox]


async def _from_outside(settings: Settings, dsn: str) -> list[Finding]:
    return await anyio.to_thread.run_sync(examine_server, dsn, settings.connect_timeout_s)


async def _store(memory: Memory) -> AsyncIterator[Finding]:
    """What only the store can say: graph, vectors, saves, walls."""
    status = await memory.status()
    if status.age_version is not None:
        try:
            differences = await memory.check_graph()
            if differences:
                labels = ", ".join(difference.label for difference in differences)
                told = f"the graph differs from the tables in {labels}"
                yield Finding(check="graph", level="look", told=told, remedy="run pgmem graph rebuild")
            else:
                yield Finding(check="graph", level="ok", told="the graph agrees with the tables")
        except psycopg.errors.InsufficientPrivilege:
            told = "this login may not compare the graph with the tables"
            yield Finding(check="graph", level="hint", told=told, remedy="run pgmem doctor as the owner")
    try:
        backlog = await memory.backlog()
    except (NotPermitted, psycopg.errors.InsufficientPrivilege):
        told = "this login may not count over all tenants: what waits was not looked at"
        yield Finding(check="embeddings", level="hint", told=told, remedy="run pgmem doctor as the owner")
        return
    if backlog.embeddings_refused:
        told = f"{backlog.embeddings_refused} texts were tried five times and have no vector"
        yield Finding(
            check="embeddings",
            level="look",
            told=told,
            remedy="run pgmem worker --once and read why the provider refuses them",
        )
    elif backlog.embeddings_waiting:
        told = f"{backlog.embeddings_waiting} texts wait for a vector"
        yield Finding(
            check="embeddings", level="look", told=told, remedy="run pgmem worker, or pgmem reindex once"
        )
    else:
        yield Finding(check="embeddings", level="ok", told="no text waits for a vector")
    order = await memory.dedup_due()
    if order.due and not order.by_worker:
        yield Finding(
            check="title_words",
            level="hint",
            told=f"the order of title words is older than half of the {order.titles} titles: duplicates are found slowly",
            remedy='at a quiet hour, as saves wait: pgmem psql -c "select refresh_dedup()"',
        )
    if count := sum(backlog.saves_open.values()):
        told = f"{count} saves are not saved"
        yield Finding(check="saves", level="look", told=told, remedy="see pgmem review and pgmem hygiene")
    else:
        yield Finding(check="saves", level="ok", told="every save is saved")
    if backlog.walls == 2:
        yield Finding(check="walls", level="ok", told="two walls: verbs and row-level security")
    else:
        yield Finding(
            check="walls",
            level="look" if backlog.tenants else "hint",
            told="one wall: rows are filtered by the verbs alone",
            remedy="pgmem init --roles, by a role that may create roles"
            if backlog.tenants
            else "enough for one user; before there are tenants run pgmem init --roles",
        )


async def _replica(memory: Memory, database: Database) -> Finding:
    replica = database.replica
    assert replica is not None
    with anyio.move_on_after(3):  # it may be just catching up
        while True:
            await memory.get_scope_state()  # a read, which looks at the replica first
            if replica.trouble is None:
                break
            await anyio.sleep(0.2)
    if replica.trouble is None and replica.behind_s <= database.settings.read_max_lag_s:
        told = f"reads go to the replica, {replica.behind_s:.1f} s behind at most"
        return Finding(check="replica", level="ok", told=told)
    told = f"reads go to the primary, not to PGMEM_READ_DSN: {replica.trouble or 'it does not answer'}"
    remedy = "let PGMEM_READ_DSN name a streaming replica of PGMEM_DSN that is up, or unset it"
    return Finding(check="replica", level="look", told=told, remedy=remedy)


def _outbox(settings: Settings, outbox: Outbox) -> Finding:
    """Saves of this machine that wait, and whether more could."""
    folder, waiting = settings.outbox_dir, outbox.pending()
    if waiting:
        oldest = next((save for path in waiting if (save := outbox.read(path)) is not None), None)
        since = (
            ""
            if oldest is None
            else f", the oldest since {oldest.made_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        )
        return Finding(
            check="outbox",
            level="look",
            told=f"{len(waiting)} saves wait in {folder}{since}",
            remedy="when the database answers, run pgmem worker --once; it says why one does not arrive",
        )
    if aside := list(folder.glob("*.unreadable")):
        told = f"{len(aside)} saves in {folder} cannot be read and were put aside"
        return Finding(
            check="outbox", level="look", told=told, remedy="read the files, save what they say, remove them"
        )
    place = next(path for path in (folder, *folder.parents) if path.exists())
    if shutil.disk_usage(place).free < _LEAST_ROOM:
        return Finding(
            check="outbox",
            level="look",
            told=f"{place} has less than 64 MB free: no save could wait there",
            remedy="make room, or set PGMEM_DATA_DIR to another disk",
        )
    return Finding(check="outbox", level="ok", told=f"no save waits in {folder}")

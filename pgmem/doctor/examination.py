"""The checks of an open store: what `pgmem doctor` and the page Health say of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from datetime import UTC
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import psycopg

from pgmem.doctor.database import Finding, examine_server, hint, look, ok
from pgmem.errors import NotPermitted
from pgmem.escaping import counted
from pgmem.settings import misspelt, overruled
from pgmem.worker.embedding import embedder_trouble

if TYPE_CHECKING:
    from pgmem.calls.methods import Verbs
    from pgmem.database.database import Database
    from pgmem.models import Backlog
    from pgmem.outbox import Outbox
    from pgmem.settings import Settings

_LEAST_ROOM = 64 * 1024 * 1024  # bytes


async def examine(memory: Verbs, database: Database) -> list[Finding]:
    """Examine the server, the store, the replica and the outbox of this machine."""
    settings = database.settings
    found = await anyio.to_thread.run_sync(examine_server, database.dsn, settings.connect_timeout_s)
    found += [finding async for finding in _examine_store(memory)]
    if settings.read_dsn is not None:
        found.append(await _examine_replica(memory, database))
    rows = {setting.name: setting.value for setting in await memory.list_settings()}
    for name, meant in misspelt(os.environ, rows).items():
        found.append(
            look("environment", f"Unknown setting {name} is ignored", f"set {meant}, if that is meant")
        )
    for message in overruled(settings.store, rows).values():
        found.append(hint("environment", *message.split(": ", 1)))
    return [*found, examine_outbox(settings, database.outbox)]


async def _examine_store(memory: Verbs) -> AsyncIterator[Finding]:
    """The checks that need an open store: graph, embeddings, title words, saves, isolation of tenants."""
    status = await memory.status()
    if status.age_version is not None:
        yield await _examine_graph(memory)
    try:
        backlog = await memory.backlog()
    except (NotPermitted, psycopg.errors.InsufficientPrivilege):
        message = "this login may not count over all tenants: embeddings and saves were not checked"
        yield hint("embeddings", message, "run pgmem doctor as the owner")
        return
    if backlog.renewing:
        yield hint(
            "renewal",
            f"what an earlier release stored is not all renewed yet ({', '.join(backlog.renewing)})",
            "a worker goes on with it in its next round; or run pgmem init",
        )
    yield _examine_embeddings(backlog, await embedder_trouble(memory) if backlog.embeddings_waiting else None)
    for model in await memory.embedding_status():
        if model.index_missing:
            yield look(
                "vector_index",
                f"the index of model {model.model} is missing: a search compares {model.vectors} vectors one by one",
                "run pgmem worker, or pgmem worker --once, which makes it",
            )
    order = await memory.dedup_due()
    if order.due and not order.by_worker:
        yield hint(
            "title_words",
            f"the word order covers at most half of the {order.titles} titles of a scope: finding duplicates is slow",
            'at a quiet hour, because saves of this scope wait for it: pgmem psql -c "select refresh_dedup()"',
        )
    if count := sum(backlog.saves_open.values()):
        blocked = backlog.saves_open.get("blocked_scope", 0)
        yield look(
            "saves",
            f"{counted(count, 'save is', 'saves are')} unresolved"
            + (f", {blocked} of them for a project that does not exist" if blocked else ""),
            "see pgmem review and pgmem hygiene"
            + ("; pgmem retry ID --project NAME saves one that is listed there" if blocked else ""),
        )
    else:
        yield ok("saves", "no save is unresolved")
    if rules := (await memory.count_waiting()).rules:
        wait = counted(rules, "rule of an agent waits", "rules of agents wait")
        yield hint(
            "rules", f"{wait} for a person's yes: until then each is an ordinary note", "see pgmem review"
        )
    if waiting := len(await memory.list_outstanding()):
        yield look(
            "sync",
            f"{'at least ' if waiting == 500 else ''}{counted(waiting, 'change was', 'changes were')} refused in an "
            f"exchange with another store",
            "see pgmem sync --outstanding; each sync offers them again",
        )
    yield _examine_isolation(backlog)


async def _examine_graph(memory: Verbs) -> Finding:
    try:
        differences = await memory.check_graph()
    except psycopg.errors.InsufficientPrivilege:
        message = "this login may not compare the graph with the tables"
        return hint("graph", message, "run pgmem doctor as the owner")
    if different := [each.label for each in differences if each.missing or each.extra or each.different]:
        message = f"the graph differs from the tables in {', '.join(different)}"
        return look("graph", message, "run pgmem graph rebuild")
    if differences:
        labels = counted(len(differences), "label of the graph has", "labels of the graph have")
        return look(
            "graph",
            f"{labels} no trigger _age_cache_invalidate: AGE answers paths of variable length from an old state",
            "run pgmem init, which makes the triggers",
        )
    return ok("graph", "the graph agrees with the tables")


def _examine_embeddings(backlog: Backlog, trouble: str | None) -> Finding:
    waiting = counted(backlog.embeddings_waiting, "text has", "texts have")
    if trouble is not None:
        return look(
            "embeddings",
            f"{waiting} no vector, because the embedding provider fails: {trouble}",
            "mend that, or name another provider in PGMEM_EMBEDDING_PROVIDER; a worker embeds when it answers",
        )
    if backlog.embeddings_refused:
        refused = counted(
            backlog.embeddings_refused,
            "text was tried five times and has",
            "texts were tried five times and have",
        )
        return look(
            "embeddings",
            f"{refused} no vector",
            "run pgmem worker --once and read why the provider refuses them",
        )
    if backlog.embeddings_waiting:
        return look("embeddings", f"{waiting} no vector yet", "run pgmem worker, or pgmem reindex once")
    return ok("embeddings", "every text has its vector")


def _examine_isolation(backlog: Backlog) -> Finding:
    if backlog.isolation_layers == 2:
        return ok("isolation", "verbs and row-level security isolate tenants")
    message = "users are kept apart by pgmem's functions only"
    if backlog.tenants:
        return look("isolation", message, "run pgmem init --roles as a role that may create roles")
    return hint("isolation", message, "enough for one user; run pgmem init --roles before you add tenants")


async def _examine_replica(memory: Verbs, database: Database) -> Finding:
    replica = database.replica
    assert replica is not None
    with anyio.move_on_after(3):  # it may be about to catch up
        while True:
            await memory.get_scope_state()  # a read, which examines the replica first
            if replica.trouble is None:
                break
            await anyio.sleep(0.2)
    if replica.trouble is None and replica.behind_s <= database.settings.read_max_lag_s:
        return ok("replica", f"reads go to the replica, at most {replica.behind_s:.1f} s behind")
    return look(
        "replica",
        f"reads go to the primary, not to PGMEM_READ_DSN: {replica.trouble or 'it does not answer'}",
        "set PGMEM_READ_DSN to a running streaming replica of PGMEM_DSN, or unset it",
    )


def examine_outbox(settings: Settings, outbox: Outbox) -> Finding:
    """The saves that are queued on this machine, and whether there is room for more."""
    folder, queued = settings.outbox_dir, outbox.pending()
    if queued:
        oldest = next((save for path in queued if (save := outbox.read(path)) is not None), None)
        since = (
            ""
            if oldest is None
            else f", the oldest since {oldest.made_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        )
        return look(
            "outbox",
            f"{counted(len(queued), 'save is', 'saves are')} queued in {folder}{since}",
            "once the database answers, run pgmem worker --once; it reports why a save fails",
        )
    if unreadable := list(folder.glob("*.unreadable")):
        return look(
            "outbox",
            f"{len(unreadable)} saves in {folder} cannot be read and were renamed to *.unreadable",
            "read the files, save their contents again, delete them",
        )
    place = next(path for path in (folder, *folder.parents) if path.exists())
    if shutil.disk_usage(place).free < _LEAST_ROOM:
        return look(
            "outbox",
            f"{place} has less than 64 MB free: no save can be queued there",
            "make room, or set PGMEM_DATA_DIR to another disk",
        )
    return ok("outbox", f"no save is queued in {folder}")

"""The other side of an exchange by the name that a person gives it: a DSN, a server, a folder."""

from __future__ import annotations

from pathlib import Path

from pgmem.calls.caller import Caller
from pgmem.calls.methods import Verbs
from pgmem.database.database import Database
from pgmem.database.dsn import place
from pgmem.errors import InvalidArgument
from pgmem.features.feed.exchange import Exchange, Exchanged, Progress
from pgmem.features.feed.peers import Folder, HttpPeer, StorePeer
from pgmem.server.embedded import EmbeddedServer
from pgmem.settings import Settings


async def exchange(
    memory: Verbs,
    other: str,
    token: str | None = None,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Exchanged:
    """Bring the store of a memory in step with another one.

    Args:
        memory: of this store.
        other: a DSN, the address of a server (http or https), or a folder.
        token: a bearer token of the server; None: PGMEM_SYNC_TOKEN.
        dry_run: only report the outcome.
        progress: called with (the step, how many changes of it).

    Raises:
        InvalidArgument: the other side is none of these, or does not fit; the message says why.
        DatabaseUnavailable: it does not answer; the next exchange goes on where this one was.
    """
    if not other.strip():  # an empty variable of a script; Path("") is the current folder
        raise InvalidArgument("Name the other store: a DSN, the address of a server, or a folder.")
    database = memory.caller.database
    _require_original(database.settings)
    kept = database.settings.sync_token
    token = token or (kept.get_secret_value() if kept else None)
    mine = Verbs(Caller(database.acting_as(database.scope, source="sync")))
    both = Exchange(StorePeer(mine), dry_run=dry_run, progress=progress)
    if other.startswith(("http://", "https://")):
        if not token:
            raise InvalidArgument(
                f"{other} needs a token: set PGMEM_SYNC_TOKEN, or name a file with --token-file."
            )
        server = HttpPeer(other, token)
        try:
            return await both.with_store(server, other)
        finally:
            await server.aclose()
    folder = Path(other)
    if other.startswith(("postgresql://", "postgres://")) or ("=" in other and not folder.is_dir()):
        name = place(other, "WITH")
        settings = database.settings.model_copy(update={"dsn": other, "read_dsn": None})
        there = Database(settings, database.scope, "sync")
        try:
            await there.open()
            return await both.with_store(StorePeer(Verbs(Caller(there))), name or "the other store")
        finally:
            await there.close()
    if not folder.is_dir():
        raise InvalidArgument(
            f"{other} is not a folder, DSN or address: name a folder that exists, or a server."
        )
    return await both.with_folder(Folder(folder))


def _require_original(settings: Settings) -> None:
    """Raise an error in a copy of a data folder, which other stores take for the original."""
    if settings.dsn is None and EmbeddedServer(settings.data_dir, wheel=settings.embedded).is_copied:
        raise InvalidArgument(
            f"{settings.data_dir} was copied from another data folder, or brought back from a copy, and still has the "
            "identity of that store. Run pgmem init --new-feed, which gives it a new identity and keeps its memories; "
            "the next exchange compares all once."
        )

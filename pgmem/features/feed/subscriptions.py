"""Subscriptions of clients to resources: the feed of their tenant, as events of the protocol.

`subscriptions/listen` (2026-07-28) brings its own stream. `resources/subscribe` (before) needs a connection that stays,
which stdio is; over HTTP this server keeps no sessions, and a client of those versions gets an error that says this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote, unquote

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ListenHandler,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_REQUEST,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from pgmem.calls.following import follow_pages
from pgmem.errors import PgmemError, summary
from pgmem.mcp.app import App, still_valid
from pgmem.models import Change

log = logging.getLogger("pgmem")

_start: ContextVar[str] = ContextVar("start")
_stream: ContextVar[anyio.CancelScope] = ContextVar("stream")
_ASKED_S = 15.0  # after so long without a change a token is looked up again
_MOST = 1000  # resources that a client over stdio subscribes to


class Bus:
    """Gives each subscriber the changes that the tenant of its request sees.

    The SDK compares addresses of resources, which hold no tenant. So a subscription follows the feed as its own caller,
    and never sees an event of another.

    Args:
        app: the state of the server.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._subscribed: dict[str, object] = {}
        self._follower: asyncio.Task[None] | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Publish nothing: events come from the feed."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Call a listener with the events of the caller of this request, until the returned function is called."""

        def notify(change: Change) -> None:
            for address in addresses(change):
                listener(ResourceUpdated(uri=address))

        task = self._app.beside.begin(self._follow(notify, _start.get(), _stream.get()))

        def unsubscribe() -> None:
            task.cancel()

        return unsubscribe

    async def _now(self) -> str:
        """Return the cursor of this moment: a client hears of all that is committed after it was acknowledged."""
        return (await (await self._app.memory()).changes("now")).cursor

    async def _follow(
        self, notify: Callable[[Change], None], after: str, stream: anyio.CancelScope | None = None
    ) -> None:
        """Give the changes from a cursor on to `notify`; a stream ends with the token of its request."""
        is_valid = still_valid.get()
        while True:
            try:
                memory = await self._app.memory()
                pages = follow_pages(memory, after, content=True, at_least_every_s=_ASKED_S)
                async with aclosing(pages):
                    async for page in pages:
                        if stream is not None and is_valid is not None and not await is_valid():
                            stream.cancel()
                            return
                        for change in page.changes:
                            notify(change)
                        after = page.cursor
            except PgmemError as error:
                log.warning("a subscription waits: %s", summary(error))
                after = "now"
                await asyncio.sleep(1)

    # resources/subscribe, of a client that stays connected

    def serve(self, server: Server[App]) -> None:
        """Register the handlers of subscriptions/listen, resources/subscribe and resources/unsubscribe."""
        stream = ListenHandler(self)

        async def listen(
            ctx: ServerRequestContext[App, Any], params: SubscriptionsListenRequestParams
        ) -> SubscriptionsListenResult:
            _start.set(await self._now())
            with anyio.CancelScope() as scope:
                _stream.set(scope)
                return await stream(ctx, params)
            return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id})

        async def add(ctx: ServerRequestContext[App, Any], params: SubscribeRequestParams) -> EmptyResult:
            if self._app.tokens_required:
                raise MCPError(
                    INVALID_REQUEST,
                    "This server keeps no sessions: use subscriptions/listen (2026-07-28), or GET /changes.",
                )
            if len(self._subscribed) >= _MOST:
                raise MCPError(INVALID_REQUEST, f"At most {_MOST} resources can be subscribed to.")
            self._subscribed[_same(str(params.uri))] = params.uri
            if self._follower is None or self._follower.done():
                self._follower = self._app.beside.begin(self._notify(ctx.session, await self._now()))
            return EmptyResult()

        async def remove(
            ctx: ServerRequestContext[App, Any],  # noqa: ARG001
            params: UnsubscribeRequestParams,
        ) -> EmptyResult:
            self._subscribed.pop(_same(str(params.uri)), None)
            if not self._subscribed and self._follower is not None:
                self._follower.cancel()
                self._follower = None
            return EmptyResult()

        server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, add)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, remove)

    async def _notify(self, session: Any, after: str) -> None:
        waiting: list[Any] = []
        ready = asyncio.Event()

        def notify(change: Change) -> None:
            for address in addresses(change):
                if (asked := self._subscribed.get(_same(address))) is not None and asked not in waiting:
                    waiting.append(asked)
                    ready.set()

        follower = self._app.beside.begin(self._follow(notify, after))
        try:
            while True:
                await ready.wait()
                ready.clear()
                while waiting:
                    await session.send_resource_updated(waiting.pop(0))
        finally:
            await self._app.beside.end(follower)


def addresses(change: Change) -> Iterator[str]:
    """Return the addresses of the resources that a change is of, as clients may write them."""
    record = change.record or {}
    keys = {str(change.id), *(str(record[name]) for name in ("key", "title") if record.get(name))}
    if change.project:
        yield from _written("pgmem://project", change.project)
        if isinstance(focus := record.get("focus"), str):
            yield from _written("pgmem://project", change.project, focus)
    if change.subject == "memory":
        for key in sorted(keys):
            yield from _written("pgmem://memory", change.label, key)
    yield "pgmem://status"


def _written(place: str, *parts: str) -> set[str]:
    return {"/".join((place, *(quote(part, safe="") for part in parts))), "/".join((place, *parts))}


def _same(address: str) -> str:
    return unquote(address)

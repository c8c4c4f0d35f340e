"""/changes: the feed of a tenant as server-sent events or pages, changes of another store, its listeners.

A stream waits nearly always, so it takes none of the places in which a tenant's requests are handled. It has a place of
its own kind: a tenant has so many of them, and all tenants together.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict

from starlette.datastructures import Headers, QueryParams
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from pgmem.calls.following import follow_pages
from pgmem.database.shares import Streams
from pgmem.documents import json_line, parse
from pgmem.errors import Busy, CursorLost, DatabaseUnavailable, InvalidArgument, PgmemError
from pgmem.features.feed.peers import StorePeer
from pgmem.memory import Memory
from pgmem.models import ChangePage

PATH = "/changes"
_OF_TENANT, _OF_ALL = 64, 1024
_ALIVE_S = 15.0


def listeners() -> Streams:
    """The streams that are open, by tenant."""
    return Streams(
        _OF_TENANT,
        _OF_ALL,
        f"Too many listeners: a tenant has {_OF_TENANT} at once. Close one, then try again.",
    )


async def stream(
    memory: Memory, is_valid: Callable[[], Awaitable[bool]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request with the changes that its tenant sees, from its cursor on, until the client leaves.

    `?after=` or the header Last-Event-ID holds the cursor; without one the stream begins now. `?project=` names a
    project, `?content=1` sends what changed too.

    Args:
        memory: of the tenant.
        is_valid: whether the token of the request still holds; asked before each page.
        scope: of the request.
        receive: of the request.
        send: takes the answer.
    """
    query, headers = QueryParams(scope["query_string"]), Headers(scope=scope)
    after = headers.get("last-event-id") or query.get("after") or "now"
    pages = follow_pages(
        memory,
        None if after == "start" else after,
        project_id=query.get("project"),
        content=query.get("content") in ("1", "true"),
        at_least_every_s=_ALIVE_S,
    )
    async with aclosing(pages):
        try:
            first = await anext(pages)
        except DatabaseUnavailable:
            raise
        except PgmemError as error:
            await _refusal(error)(scope, receive, send)
            return
        answer: Response = StreamingResponse(
            _events(first, pages, is_valid),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
        )
        await answer(scope, receive, send)


async def _events(
    first: ChangePage, pages: AsyncGenerator[ChangePage, None], is_valid: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    page = first
    while True:
        for change in page.changes:
            yield f"id: {change.cursor}\ndata: {json_line(asdict(change))}\n"
        # The cursor goes on where others have changed something, so that a client that comes back is not late.
        yield f"id: {page.cursor}\n: alive\n\n"
        try:
            page = await anext(pages)
        except CursorLost as error:
            yield f"event: error\ndata: {json.dumps({'error': str(error)})}\n\n"
            return
        if not await is_valid():
            return


def wants_stream(scope: Scope) -> bool:
    """Whether a request asks for events, not for a page in JSON."""
    headers = Headers(scope=scope)
    return scope["method"] == "GET" and "application/json" not in headers.get("accept", "")


def is_exchange(scope: Scope) -> bool:
    """Whether a request is of another store: its changes, and its reads beside the feed of a tenant."""
    query = QueryParams(scope["query_string"])
    return scope["method"] == "POST" or "state" in query or "part" in query or "reach" in query


async def page(memory: Memory, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the other side of `pgmem sync`: its state, a page of its feed or of its export, or its changes.

    Args:
        memory: of the tenant.
        body: of a POST: {changes, peer, cursor, dry_run}.
        scope: of the request.
        receive: of the request.
        send: takes the answer.
    """
    query = QueryParams(scope["query_string"])
    store = StorePeer(memory, vectors=query.get("vectors") == "1")
    found: object
    try:
        if scope["method"] == "POST":
            sent = parse(body.decode(), "The body")
            if not isinstance(sent, dict) or not isinstance(sent.get("changes"), list):
                raise InvalidArgument("Send an object with changes, a list.")
            peer, cursor = sent.get("peer"), sent.get("cursor")
            rows = await store.apply(
                sent["changes"],
                peer=peer if isinstance(peer, str) else None,
                cursor=cursor if isinstance(cursor, str) else None,
                dry_run=sent.get("dry_run") is True,
            )
            found = [asdict(row) for row in rows]
        elif "state" in query:
            found = asdict(await store.state(query["state"] or None))
        elif "part" in query:
            place = parse(query["place"], "The place") if "place" in query else None
            if place is not None and not (isinstance(place, list) and all(type(x) is str for x in place)):
                raise InvalidArgument("The place must be that of a record: a list of texts.")
            found = await store.records(query["part"], place)
        elif "reach" in query:
            await store.reach(query.get("after") or "now")
            found = {}
        else:
            found = await store.changes(query.get("after") or "now", query.get("without"))
    except (DatabaseUnavailable, Busy):
        raise
    except (PgmemError, ValueError) as error:
        await _refusal(error)(scope, receive, send)
        return
    await Response(json.dumps(found, default=str, ensure_ascii=False), media_type="application/json")(
        scope, receive, send
    )


def _refusal(error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 410 if isinstance(error, CursorLost) else 400)

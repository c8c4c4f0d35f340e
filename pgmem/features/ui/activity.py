"""Activity: the work of agents and people, by session, and live."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from time import monotonic

import anyio
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from pgmem.errors import Busy, PgmemError
from pgmem.features.ui import as_sql, render
from pgmem.features.ui.visit import Page, Visit
from pgmem.models import Activity

_QUIET_S = 15.0  # until a page hears that it is still connected, and shows events such as a refusal
_LONGEST_S = 1800.0
_APART_S = 0.2


@dataclass(slots=True)
class Stretch:
    """The activity of one session, newest first."""

    session_id: str | None
    agent: str | None
    events: list[Activity] = field(default_factory=list)
    refused: int = 0


async def activity(visit: Visit) -> Page:
    """The latest events, those of one session together."""
    limit = visit.count("limit", 80, 500)
    found = await visit.memory.list_activity(visit.project, visit.text("session"), limit=limit)
    stretches: list[Stretch] = []
    for event in found:
        if not stretches or stretches[-1].session_id != event.session_id:
            stretches.append(Stretch(event.session_id, event.agent_id))
        last = stretches[-1]
        last.agent = last.agent or event.agent_id
        last.events.append(event)
        last.refused += event.kind in ("refused", "review")
    return Page(
        "activity.html",
        {"events": found},
        {"stretches": stretches, "session": visit.text("session"), "sql": as_sql.changes(visit)},
    )


async def live(visit: Visit) -> Response:
    """New events as they happen, as lines of HTML in server-sent events; it ends with the session."""
    await visit.memory.get_scope_state(visit.project)  # an unknown project is an error of the page
    return _Live(visit)


class _Live(StreamingResponse):
    """A stream of events; it counts among those of its person from its first byte to its last."""

    def __init__(self, visit: Visit) -> None:
        self._events = _events(visit)
        super().__init__(self._events, media_type="text/event-stream")
        self._visit = visit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as held:
            try:
                held.enter_context(self._visit.sessions.follows.place(self._visit.session.person))
            except Busy as refused:
                await PlainTextResponse(str(refused), 503)(scope, receive, send)
                return
            # One who leaves while an event is sent ends the answer, not the source of the events.
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)


async def _events(visit: Visit) -> AsyncGenerator[str, None]:
    first = await visit.memory.list_activity(visit.project, limit=1)
    since = first[0].at if first else None
    yield ": open\n\n"
    database = visit.memory.caller.database
    until = monotonic() + _LONGEST_S
    async with database.wakes.following(database.scope, early=True) as follower:
        while monotonic() < until and await _is_signed_in(visit):
            try:
                found = await visit.memory.list_activity(visit.project, since=since, limit=50)
            except PgmemError:
                found = []
            for event in reversed(found):
                yield f"data: {json.dumps(render.fragment('event.html', visit, event=event))}\n\n"
            since = found[0].at if found else since
            yield ": still here\n\n"
            await anyio.sleep(_APART_S)  # where others save without a pause
            await follower.wait(_QUIET_S)


async def _is_signed_in(visit: Visit) -> bool:
    """Whether the person has neither signed out nor lost the token."""
    token = visit.session.person.token
    if visit.session.has_ended or token is None:
        return not visit.session.has_ended
    try:
        return await visit.memory.verify_token(token) is not None
    except PgmemError:
        return True  # the database is away, and shows nothing

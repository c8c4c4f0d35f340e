"""The pages of this machine: `pgmem ui`."""

from __future__ import annotations

import getpass
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import psycopg
from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

from pgmem.errors import DatabaseUnavailable, PgmemError
from pgmem.features.ui.sessions import Person, Sessions
from pgmem.features.ui.site import Site
from pgmem.memory import Memory
from pgmem.models import MemoryScope
from pgmem.settings import Settings

_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(slots=True)
class Link:
    """Creates the one-time addresses by which the person of this machine signs in."""

    sessions: Sessions
    person: Person
    failed: Exception | None = None
    """Why the store could not be opened."""

    def at(self, address: str) -> str:
        """A link to the pages at an address such as http://127.0.0.1:7437."""
        return f"{address}/ui/enter?token={self.sessions.link(self.person)}"


def local_app(settings: Settings, name: str | None = None) -> tuple[Starlette, Link]:
    """Return the pages for the person at this machine as an ASGI application, and the links to them.

    Args:
        settings: of the store.
        name: recorded as the one who decides; None takes the login name.
    """
    person_name = name or getpass.getuser()
    scope = MemoryScope(org_id=settings.org_id, user_id=settings.user_id, agent_id=person_name)
    person = Person(person_name, scope, administrator=not (settings.org_id or settings.user_id))
    sessions = Sessions()
    opened: list[Memory] = []

    async def open_memory() -> Memory:
        if not opened:
            raise DatabaseUnavailable("The database is not open yet.")
        return opened[0]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                opened.append(await stack.enter_async_context(Memory.connect(settings, source="ui")))
            except (PgmemError, psycopg.Error) as error:
                link.failed = error  # raised here it would be logged with a traceback
            stack.push_async_callback(site.checks.close)
            yield
        opened.clear()

    site = Site(open_memory, sessions, [*_HOSTS, *(f"{host}:*" for host in _HOSTS)])

    async def first(_request: object) -> RedirectResponse:
        return RedirectResponse("/ui/")

    app = Starlette(routes=[Route("/", first), Mount("/ui", app=site)], lifespan=lifespan)
    link = Link(sessions, person)
    return app, link

"""The pages beside another application, for people who sign in with a token: /ui of `pgmem mcp --transport http`."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgmem.features.ui.sessions import Person, Sessions
from pgmem.features.ui.site import Limits, OpenMemory, Site
from pgmem.models import MemoryScope


class WithPages:
    """Answers /ui with the pages, and everything else with another application.

    A person's token signs in to look and to decide. An agent's token signs in to look: a credential of an
    agent decides nothing.

    Args:
        app: the other application.
        open_memory: gives the memory of this process.
        hosts: the Host headers that are answered.
        limits: how much the pages answer.
        is_secure: whether browsers reach the pages by https.
    """

    def __init__(
        self,
        app: ASGIApp,
        open_memory: OpenMemory,
        hosts: Collection[str],
        limits: Limits,
        *,
        is_secure: bool = False,
    ) -> None:
        self._app, self._open_memory = app, open_memory
        self._site = Site(
            open_memory, Sessions(), hosts, verify=self._person, is_secure=is_secure, limits=limits
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the pages or to the other application."""
        base = self._site.base
        if scope["type"] == "http" and (scope["path"] == base or scope["path"].startswith(f"{base}/")):
            await self._site(scope, receive, send)
            return
        await self._app(scope, self._ending(receive) if scope["type"] == "lifespan" else receive, send)

    def _ending(self, receive: Receive) -> Receive:
        """Stop the reports that are being made before the other application closes the database under them."""

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._site.checks.close()
            return message

        return heard

    async def _person(self, token: str) -> Person | None:
        found = await (await self._open_memory()).verify_token(token)
        if found is None or found.for_sync:
            return None
        scope = MemoryScope(org_id=found.org_id, user_id=found.user_id, agent_id=found.name)
        return Person(found.name, scope, token, decides=found.for_person)

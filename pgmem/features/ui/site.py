"""The pages as one ASGI application: host, cookie and form tokens are checked here, before any page."""

from __future__ import annotations

import gzip
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import anyio
import anyio.to_thread
import psycopg
from pydantic_core import to_jsonable_python
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from pgmem.database.shares import Rates, Shares
from pgmem.errors import (
    AmbiguousName,
    Busy,
    DatabaseUnavailable,
    IdentityRequired,
    MemoryNotFound,
    NotPermitted,
    PgmemError,
)
from pgmem.features.ui import render
from pgmem.features.ui.checks import Checks
from pgmem.features.ui.routes import page_of
from pgmem.features.ui.sessions import Person, Session, Sessions
from pgmem.features.ui.visit import Page, Redirect, Visit
from pgmem.memory import Memory

log = logging.getLogger("pgmem")

COOKIE = "pgmem_ui"
_THEME = "pgmem_theme"
_THEMES = ("", "light", "dark")
FORM_BYTES = 5_000_000
ENTRY_BYTES = 10_000
"""Size of the form that signs in, which anybody may send."""
FORM_S = 30.0
ENTRY_S = 10.0
"""For the form that signs in to arrive."""
_ENTRIES = 16  # of these forms that are read at once from one address

_PAGE_BYTES = 30_000  # of a small page: it takes as long as so much of a large one

_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_STATUS: dict[type[PgmemError], int] = {
    MemoryNotFound: 404,
    AmbiguousName: 409,
    NotPermitted: 403,
    IdentityRequired: 403,
    DatabaseUnavailable: 503,
    Busy: 429,
}
_STATIC = {"page.js": "text/javascript", "icon.svg": "image/svg+xml", "style.css": "text/css"}

OpenMemory = Callable[[], Awaitable[Memory]]
VerifyToken = Callable[[str], Awaitable[Person | None]]


Turn = Callable[[Hashable, Scope], AbstractAsyncContextManager[None]]
"""Holds a place of a tenant (organisation and user) for the time of a block; raises Busy if it gets none in time."""


def _unlimited() -> Rates:
    return Rates(inf, 1)


def _at_once(_tenant: Hashable, _scope: Scope) -> AbstractAsyncContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class Limits:
    """How much the pages answer; without a limit, any amount.

    Attributes:
        attempts: how often an address may try to sign in.
        requests: how often a tenant that is signed in may ask.
        turn: gives a request its turn among those of its tenant.
        answers: how many bytes a tenant gets.
    """

    attempts: Rates = field(default_factory=_unlimited)
    requests: Rates = field(default_factory=_unlimited)
    turn: Turn = _at_once
    answers: Rates = field(default_factory=_unlimited)


class _Refused(Exception):
    """A request that is answered without a page."""

    def __init__(self, status: int, message: str, session: Session | None = None) -> None:
        super().__init__(message)
        self.status, self.session = status, session


class Site:
    """The pages below a base path.

    Args:
        open_memory: gives the memory of this process.
        sessions: who is signed in.
        hosts: the Host headers that are answered; a pattern may end in `:*`. A page under another name is
            another site, which a foreign server may have pointed here.
        base: where the pages begin.
        verify: finds the person of a bearer token; None where people come by a one-time link.
        is_secure: whether the browser reaches the pages by https, so that the cookie is marked Secure.
        limits: how much is answered.
    """

    def __init__(
        self,
        open_memory: OpenMemory,
        sessions: Sessions,
        hosts: Collection[str],
        *,
        base: str = "/ui",
        verify: VerifyToken | None = None,
        is_secure: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._entries = Shares(_ENTRIES, 0, ENTRY_S)
        self._open_memory, self.sessions, self.base = open_memory, sessions, base
        self._verify, self._is_secure = verify, is_secure
        self._hosts = [re.escape(host).replace(r":\*", r":\d+") for host in hosts]
        self.checks = Checks()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        started = time.perf_counter()
        as_json = False
        try:
            self._check_host(request)
            path = request.url.path.removeprefix(self.base)
            as_json = path.endswith(".json")
            path = path.removesuffix(".json") or "/"
            if path == "/index":
                path = "/"
            answer = await self._answer(request, path, as_json)
        except _Refused as refused:
            answer = self._error(refused.status, str(refused), refused.session, as_json)
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        answer.headers["server-timing"] = f"total;dur={(time.perf_counter() - started) * 1000:.1f}"
        await _compress(request, answer)
        await answer(scope, receive, send)

    # Checks before a page

    def _check_host(self, request: Request) -> None:
        host = request.headers.get("host", "")
        if not any(re.fullmatch(pattern, host, re.IGNORECASE) for pattern in self._hosts):
            raise _Refused(
                421,
                "Unknown host name: add it to PGMEM_HTTP_ALLOWED_HOSTS of pgmem mcp.",
            )

    def _check_origin(self, request: Request) -> None:
        """A form is sent by a page of this site: browsers say which one it was, and other programs have no cookie."""
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            raise _Refused(403, "This form was sent from another site.")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise _Refused(403, "This form was sent from another site.")

    async def _form(
        self, request: Request, most: int = FORM_BYTES, within_s: float = FORM_S
    ) -> dict[str, str]:
        body = bytearray()
        try:
            with anyio.fail_after(within_s):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise _Refused(413, f"The form has more than {most} bytes; send less.")
        except TimeoutError:
            raise _Refused(408, f"The form did not arrive within {within_s:g} s; send it again.") from None
        except ClientDisconnect:
            raise _Refused(400, "The form is incomplete: send it again.") from None  # read by nobody
        try:
            fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=500)
        except ValueError:
            raise _Refused(400, "The form cannot be read.") from None
        return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}

    async def _is_valid(self, session: Session) -> bool:
        """Whether the token of a session is; asked at each request, so that revoking it ends its sessions at once."""
        if session.person.token is None or self._verify is None:
            return True
        person = await self._verify(session.person.token)
        if person is not None and person.scope == session.person.scope:
            return True
        self.sessions.end(session)
        return False

    def _cookie_name(self, request: Request) -> str:
        # Cookies are kept by host, not by port: two pages on one machine must not sign each other out.
        name = f"__Secure-{COOKIE}" if self._is_secure else COOKIE
        return f"{name}_{request.url.port or ''}".rstrip("_")

    # Answers

    async def _answer(self, request: Request, path: str, as_json: bool) -> Response:
        if path.startswith("/static/"):
            return _static(path.removeprefix("/static/"))
        session = self.sessions.find(request.cookies.get(self._cookie_name(request), ""))
        if session is None:
            return await self._without_session(request, path, as_json)
        tenant = _tenant(session.person)
        _require_turn(self._limits.answers, tenant)
        try:
            async with self._limits.turn(tenant, request.scope):
                answer = await self._with_session(request, path, as_json, session)
        except Busy as error:
            raise _Refused(429, str(error), session) from None
        self._limits.answers.count(tenant, _PAGE_BYTES + len(getattr(answer, "body", b"")))
        return answer

    async def _with_session(self, request: Request, path: str, as_json: bool, session: Session) -> Response:
        try:
            is_valid = await self._is_valid(session)
        except PgmemError as error:
            return self._error(_status(error), str(error), None, as_json)
        if not is_valid:
            return await self._without_session(request, path, as_json)
        if path == "/enter":
            return await self._enter(request, session)
        theme = request.cookies.get(_THEME, "")
        session.theme = theme if theme in _THEMES else ""
        caller = session.person.token or session.key
        _require_turn(self._limits.requests, caller)
        self._limits.requests.count(caller)
        return await self._visit(request, path, as_json, session)

    async def _without_session(self, request: Request, path: str, as_json: bool) -> Response:
        if path == "/enter":
            return await self._enter(request, None)
        if as_json or request.method != "GET":
            raise _Refused(401, "Sign in first: open the link that pgmem ui prints, or sign in with a token.")
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{self.base}/enter?next={quote(wanted, safe='')}", 303)

    async def _visit(self, request: Request, path: str, as_json: bool, session: Session) -> Response:
        posts = request.method == "POST"
        if request.method not in ("GET", "HEAD", "POST"):
            raise _Refused(405, "Pages are read with GET, forms are sent with POST.")
        form: Mapping[str, str] = {}
        if posts:
            self._check_origin(request)
            form = await self._form(request)
            if not session.accepts(form.get("csrf", "")):
                raise _Refused(
                    403,
                    "This form belongs to another session. Go back, load the page again, and send it again.",
                )
        if posts and path == "/leave":
            self.sessions.end(session)
            return self._signed_out(request)
        if posts and path == "/theme":
            return self._themed(request, form.get("theme", ""))
        if posts and not session.person.decides:
            raise _Refused(
                403,
                "This agent's token is read-only. The administrator of the store issues "
                "a person's token: pgmem token issue --person.",
                session,
            )
        found = page_of("POST" if posts else "GET", path)
        if found is None:
            return self._error(404, "Page not found.", session, as_json)
        handler, parts = found
        try:
            memory = await self._memory(session.person)
            query = dict(request.query_params)
            visit = Visit(memory, session, self.base, path, query, form, parts, self.checks, self.sessions)
            answer = await handler(visit)
            if isinstance(answer, Response):
                return answer
            if isinstance(answer, Redirect):
                return RedirectResponse(answer.path, 303)
            return await self._page(answer, visit, as_json)
        except PgmemError as error:
            return self._error(_status(error), str(error), session, as_json, path)
        except psycopg.errors.QueryCanceled:
            return self._error(
                503, "The database took too long for this page; try it for one project.", session, as_json
            )
        except Exception:
            log.exception("The page %s failed.", path)
            return self._error(500, "This page failed; see the log of pgmem.", session, as_json)

    async def _memory(self, person: Person) -> Memory:
        memory = await self._open_memory()
        return memory.acting_as(person.scope, source="ui")

    async def _page(self, page: Page, visit: Visit, as_json: bool) -> Response:
        if as_json:
            return await render.aside(_json, page.data, page.status)
        text = await render.aside(render.page, page, visit, await _projects(visit))
        return Response(text, page.status, media_type="text/html")

    def _error(
        self, status: int, message: str, session: Session | None, as_json: bool, path: str = "/"
    ) -> Response:
        if as_json:
            return _json({"error": message}, status)
        return Response(
            render.error(status, message, self.base, session, path), status, media_type="text/html"
        )

    # Signing in and out

    async def _enter(self, request: Request, session: Session | None) -> Response:
        wanted = _own_path(request.query_params.get("next", ""), self.base)
        if request.method == "POST":
            self._check_origin(request)
            address = request.client.host if request.client else "?"
            _require_turn(self._limits.attempts, address)
            try:
                async with self._entries.place(address):
                    form = await self._form(request, ENTRY_BYTES, ENTRY_S)
            except Busy:
                message = "Too many forms from your address: try again in 10 s."
                raise _Refused(429, message) from None
            token = form.get("token", "").strip()
            wanted = _own_path(form.get("next", ""), self.base)
            person = await self._person(token)
            if person is None:
                self._limits.attempts.count(address)
                page = render.enter(
                    self.base, wanted, self._verify is not None, "This token is unknown, revoked or expired."
                )
                return Response(page, 403, media_type="text/html")
            return self._signed_in(request, person, wanted)
        link = request.query_params.get("token")
        if link is not None and (person := self.sessions.follow(link)) is not None:
            return self._signed_in(request, person, wanted)
        if session is not None:
            return RedirectResponse(wanted, 303)
        trouble = "This link was used before, or has expired." if link is not None else None
        page = render.enter(self.base, wanted, self._verify is not None, trouble)
        return Response(page, 403 if link is not None else 200, media_type="text/html")

    async def _person(self, token: str) -> Person | None:
        if self._verify is None or not token.isascii() or not 0 < len(token) <= 200:
            return None
        return await self._verify(token)

    def _signed_in(self, request: Request, person: Person, wanted: str) -> Response:
        session = self.sessions.begin(person)
        if request.headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            answer: Response = RedirectResponse(wanted, 303)
        else:
            # A file on this machine led here. The browser does not send a strict cookie where another site leads, not
            # even after a redirect; a page of this site may lead on.
            answer = Response(render.onward(wanted), media_type="text/html")
        return self._keeping(answer, self._cookie_name(request), session.key, samesite="strict")

    def _themed(self, request: Request, theme: str) -> Response:
        came = urlsplit(request.headers.get("referer", ""))
        answer = RedirectResponse(_own_path(f"{came.path}?{came.query}".removesuffix("?"), self.base), 303)
        kept = theme if theme in _THEMES else ""
        return self._keeping(answer, _THEME, kept, samesite="lax", max_age=365 * 86400)

    def _keeping(self, answer: Response, name: str, value: str, **more: Any) -> Response:
        """An answer with a cookie of the pages, which no script reads."""
        answer.set_cookie(name, value, path=self.base, httponly=True, secure=self._is_secure, **more)
        return answer

    def _signed_out(self, request: Request) -> Response:
        answer = RedirectResponse(f"{self.base}/enter", 303)
        answer.delete_cookie(self._cookie_name(request), path=self.base)
        return answer


def _tenant(person: Person) -> tuple[str, str]:
    return (person.scope.org_id, person.scope.user_id) if person.scope else ("", "")


def _require_turn(limit: Rates, caller: Hashable) -> None:
    wait = limit.wait(caller)
    if wait > 0:
        raise _Refused(429, f"Too many requests: wait {ceil(wait)} s and try again.")


def _status(error: PgmemError) -> int:
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)


def _own_path(path: str, base: str) -> str:
    """A path of this site; anything else, such as the address of another one, becomes the first page."""
    is_own = path == base or path.startswith((f"{base}/", f"{base}?"))
    return path if is_own and "\\" not in path and not urlsplit(path).netloc else f"{base}/"


async def _projects(visit: Visit) -> list[str]:
    """The names of the projects for the head of the page, read at most every ten seconds."""
    now = time.monotonic()
    if visit.session.projects is None or now - visit.session.projects[0] > 10:
        names = [entry.name for entry in await visit.memory.list_projects()]
        visit.session.projects = (now, names)
    return visit.session.projects[1]


def _json(data: object, status: int) -> Response:
    text = json.dumps(to_jsonable_python(data, fallback=str), ensure_ascii=False, indent=1)
    return Response(text, status, media_type="application/json")


def _static(name: str) -> Response:
    kind = _STATIC.get(name)
    if kind is None:
        raise _Refused(404, "File not found.")
    return Response(render.static(name), 200, {"cache-control": "private, max-age=31536000, immutable"}, kind)


async def _compress(request: Request, answer: Response) -> None:
    """Compress bodies longer than a packet, long ones in a thread; a stream is not compressed."""
    body = getattr(answer, "body", b"")
    if len(body) > 1200 and "gzip" in request.headers.get("accept-encoding", ""):
        is_long = len(body) > 200_000
        answer.body = (
            await anyio.to_thread.run_sync(gzip.compress, body, 6) if is_long else gzip.compress(body, 6)
        )
        answer.headers["content-encoding"] = "gzip"
        answer.headers["content-length"] = str(len(answer.body))
        answer.headers["vary"] = "accept-encoding"

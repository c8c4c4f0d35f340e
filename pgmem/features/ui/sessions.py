"""Sessions: the signed-in browsers, the one-time link that opens the first one, and the tokens of forms."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf

from pgmem.database.shares import Streams
from pgmem.models import MemoryScope

_IDLE_S = 12 * 3600
_MOST = 1000  # sessions that are remembered; the least recent one is dropped first
_OF_ONE = 20  # sessions of one person, so that one who signs in again and again signs out nobody else
_FOLLOWS = 6  # pages of one person that follow the activity
_LINK_S = 600


@dataclass(frozen=True, slots=True)
class Person:
    """The person who signed in.

    Attributes:
        name: recorded as the one who decides.
        scope: whose memories the pages show; None takes the identity of the process.
        token: the bearer token that was signed in with; None on this machine.
        administrator: whether the pages for administrators are shown.
        decides: whether forms are taken; an agent's token only looks.
    """

    name: str
    scope: MemoryScope | None = None
    token: str | None = None
    administrator: bool = False
    decides: bool = True


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence at the head of the next page; `undo` is the form that takes the act back: its path and its fields."""

    text: str
    wrong: bool = False
    undo: tuple[str, dict[str, str]] | None = None
    link: tuple[str, str] | None = None


@dataclass(slots=True)
class Session:
    """A browser that is signed in."""

    key: str
    person: Person
    seen: float
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    notices: list[Notice] = field(default_factory=list)
    has_ended: bool = False
    theme: str = ""
    """light or dark, as the browser last sent it; empty is that of the system."""
    projects: tuple[float, list[str]] | None = None
    """When the names of the projects were read, and the names."""

    def form_token(self) -> str:
        """A token for a form: another one on each page, so that compression of the page does not reveal it."""
        salt = secrets.token_urlsafe(12)
        return f"{salt}.{self._seal(salt)}"

    def accepts(self, token: str) -> bool:
        """Whether a token was made for a form of this session."""
        salt, _, seal = token.partition(".")
        return hmac.compare_digest(self._seal(salt).encode(), seal.encode())

    def _seal(self, salt: str) -> str:
        return hmac.new(self.secret, salt.encode(), sha256).hexdigest()

    def take_notices(self) -> list[Notice]:
        """The sentences for this page, each shown once."""
        found, self.notices = self.notices, []
        return found


class Sessions:
    """The sessions of one process: they end with it, or after twelve hours without a request."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._links: dict[str, tuple[float, Person]] = {}
        self.follows = Streams(_FOLLOWS, inf, "Too many open activity pages; close one.")
        """The pages that follow the activity, by person."""

    def begin(self, person: Person) -> Session:
        """Sign a person in."""
        session = Session(secrets.token_urlsafe(32), person, time.monotonic())
        own = [one for one in self._open.values() if one.person == person]
        for oldest in own[: max(0, len(own) + 1 - _OF_ONE)]:
            self.end(oldest)
        self._open[session.key] = session
        while len(self._open) > _MOST:
            self.end(next(iter(self._open.values())))
        return session

    def find(self, key: str) -> Session | None:
        """The session of a cookie; None if it has ended."""
        session = self._open.get(key)
        now = time.monotonic()
        if session is None or now - session.seen > _IDLE_S:
            self._open.pop(key, None)
            return None
        session.seen = now
        self._open.move_to_end(key)
        return session

    def end(self, session: Session) -> None:
        """Sign out."""
        session.has_ended = True
        self._open.pop(session.key, None)

    def link(self, person: Person) -> str:
        """A token that signs a person in once, within ten minutes."""
        token = secrets.token_urlsafe(24)
        self._links[token] = (time.monotonic(), person)
        return token

    def follow(self, token: str) -> Person | None:
        """The person of a one-time token, which is spent by this; None if it is unknown, spent or too old."""
        made = self._links.pop(token, None)
        if made is None or time.monotonic() - made[0] > _LINK_S:
            return None
        return made[1]

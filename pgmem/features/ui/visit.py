"""One request: the person, the arguments, and the page that answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from pgmem.errors import InvalidArgument
from pgmem.features.ui.checks import Checks, Key
from pgmem.features.ui.sessions import Notice, Session, Sessions
from pgmem.memory import Memory
from pgmem.models import Node

T = TypeVar("T")
Parts = Mapping[str, UUID]
"""The parts of a path that vary, by name; each is an id."""


def whole(name: str, value: str, most: int) -> int:
    """A text as a whole number from 1.

    Raises:
        InvalidArgument: it is none, or more than `most`.
    """
    if not (value.isdecimal() and len(value) <= 10 and 1 <= int(value) <= most):
        raise InvalidArgument(f"{name} is a whole number from 1 to {most}, not {value[:40]!r}.")
    return int(value)


def one_of(name: str, value: str, choices: Collection[str]) -> str:
    """A text that is one of some.

    Raises:
        InvalidArgument: it is none of them.
    """
    if value not in choices:
        *others, last = choices
        raise InvalidArgument(f"{name} is {', '.join(others)} or {last}, not {value[:40]!r}.")
    return value


def _proportion(value: str) -> float:
    if not 0 <= (found := float(value)) <= 1:
        raise ValueError
    return found


def _moment(value: str) -> datetime:
    if value.lstrip("-").isdecimal():
        return datetime.fromtimestamp(int(value), UTC)
    found = datetime.fromisoformat(value)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Page:
    """An answer: a template with its values.

    Attributes:
        template: its name.
        data: the contents of the page, which are also the answer in JSON.
        look: values that only the template needs, such as geometry.
        status: of HTTP.
    """

    template: str
    data: dict[str, Any]
    look: dict[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """An answer to a form: a redirect to this path."""

    path: str


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of a person who is signed in.

    Attributes:
        memory: acts for the person.
        session: of the browser.
        base: where the pages begin, such as /ui.
        path: below the base, without .json.
        query: the arguments of the URL.
        form: the fields of a form; empty for a look.
        parts: the parts of the path that vary.
        checks: the reports on the state of the memory, which are made in the background.
        sessions: of all who are signed in.
    """

    memory: Memory
    session: Session
    base: str
    path: str
    query: Mapping[str, str]
    form: Mapping[str, str]
    parts: Parts
    checks: Checks
    sessions: Sessions

    @property
    def name(self) -> str:
        """The name of the person, recorded with decisions."""
        return self.session.person.name

    @property
    def key(self) -> Key:
        """The key of a cached report: organisation, user and project."""
        scope = self.session.person.scope
        return (scope.org_id if scope else "", scope.user_id if scope else "", self.project)

    @property
    def project(self) -> str | None:
        """The project that the page is about; None for all."""
        return self.text("project")

    def text(self, name: str) -> str | None:
        """An argument of the URL; None if it is empty."""
        return (self.query.get(name) or "").strip() or None

    def texts(self, name: str) -> list[str] | None:
        """An argument of the URL that lists words separated by commas; None if it is empty."""
        return [part.strip() for part in (self.text(name) or "").split(",") if part.strip()] or None

    async def node(self) -> Node:
        """The memory that the path names."""
        return await self.memory.find_memory(self.parts["id"])

    async def nodes(self, ids: Iterable[UUID]) -> dict[UUID, Node]:
        """Memories by their ids, without those that the person may not read."""
        return {node.id: node for node in await self.memory.find_memories(list(dict.fromkeys(ids)))}

    def count(self, name: str, standard: int, most: int) -> int:
        """An argument of the URL that is a whole number from 1.

        Raises:
            InvalidArgument: it is none, or more than `most`.
        """
        value = self.text(name)
        return standard if value is None else whole(name, value, most)

    def read(self, name: str, kind: str, parse: Callable[[str], T]) -> T | None:
        """An argument of the URL as `parse` reads it; None if it is empty.

        Raises:
            InvalidArgument: it cannot be read; the message names the kind.
        """
        value = self.text(name)
        if value is None:
            return None
        try:
            return parse(value)
        except (ValueError, OverflowError, OSError):
            raise InvalidArgument(f"{name} is {kind}, not {value[:40]!r}.") from None

    def id(self, name: str) -> UUID | None:
        """An argument of the URL that is an id; None if it is empty."""
        return self.read(name, "an id of a memory", UUID)

    def number(self, name: str) -> float | None:
        """An argument of the URL that is a number from 0 to 1; None if it is empty."""
        return self.read(name, "a number from 0 to 1", _proportion)

    def moment(self, name: str) -> datetime | None:
        """An argument of the URL that is a date, a date and a time, or seconds since 1970; None if it is empty."""
        return self.read(name, "a time such as 2026-03-31", _moment)

    def field(self, name: str) -> str:
        """A field of the form.

        Raises:
            InvalidArgument: the form has no such field, or it is empty.
        """
        value = self.form.get(name, "").strip()
        if not value:
            raise InvalidArgument(f"{name} must not be empty.")
        return value

    def version(self) -> int:
        """The field `version` of the form, which names the state of a memory that the person was shown.

        Raises:
            InvalidArgument: it is not a whole number.
        """
        return whole("version", self.field("version"), 2**31 - 1)

    def identity(self, name: str) -> UUID:
        """A field of the form that is an id.

        Raises:
            InvalidArgument: it is none.
        """
        try:
            return UUID(self.field(name))
        except ValueError:
            raise InvalidArgument(f"{name} is an id such as 0190c5a0-7d2e-7000-8000-000000000000.") from None

    def chosen(self) -> list[UUID]:
        """The ids of a form with many rows: those that are ticked, or all that it shows if it asks for all.

        Raises:
            InvalidArgument: none is ticked.
        """
        mark = "shown." if self.form.get("all") else "one."
        try:
            found = [UUID(name.removeprefix(mark)) for name in self.form if name.startswith(mark)]
        except ValueError:
            raise InvalidArgument("This form has a row without a valid id; load the page again.") from None
        if not found:
            raise InvalidArgument("Nothing was changed: tick at least one row, or choose all that are shown.")
        return found

    def flash(self, text: str, **more: Any) -> None:
        """Show a sentence at the head of the next page."""
        self.session.notices.append(Notice(text, **more))

    def view(self, identity: object) -> tuple[str, str]:
        """The link to a memory beside a sentence about it."""
        return self.url(f"/memory/{identity}"), "View"

    def to(self, path: str) -> Redirect:
        """A redirect to a page, with the project of this one."""
        return Redirect(self.url(path))

    def url(self, path: str, **query: object) -> str:
        """The address of a page, with the project of this one; an argument that is None is left out."""
        given = {"project": self.project, **query}
        kept = {name: str(value) for name, value in given.items() if value not in (None, "")}
        return f"{self.base}{path}" + (f"?{urlencode(kept)}" if kept else "")

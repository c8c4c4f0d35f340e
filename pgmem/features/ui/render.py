"""Templates to HTML: the values that every page needs, and the files that pages load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from typing_extensions import TypeVarTuple, Unpack

from pgmem.features.ui.layout import environment
from pgmem.features.ui.sessions import Session
from pgmem.features.ui.visit import Page, Visit

NAVIGATION = (
    ("/", "Home"),
    ("/ask", "Ask"),
    ("/memories", "Memories"),
    ("/conversations", "Conversations"),
    ("/decide", "Decide"),
    ("/time", "Time"),
    ("/graph", "Graph"),
    ("/health", "Health"),
    ("/activity", "Activity"),
    ("/next", "Next session"),
    ("/recall", "Recall"),
    ("/rules", "Rules"),
    ("/balance", "Balance"),
)


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_ONE = anyio.CapacityLimiter(1)


async def aside(work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T:
    """Run processor-bound work in a thread, one piece at a time, so that other requests continue."""
    return await anyio.to_thread.run_sync(work, *arguments, limiter=_ONE)


@cache
def static(name: str) -> bytes:
    """A file that pages load, by its name."""
    folder = "templates" if name == "style.css" else "static"  # the report includes the stylesheet
    return (files("pgmem.features.ui") / folder / name).read_bytes()


@cache
def _address(name: str) -> str:
    """The address of a file below the base: another one when the file is another one, so that browsers may keep it."""
    return f"/static/{name}?{sha256(static(name)).hexdigest()[:12]}"


class _Given(dict[str, Any]):
    """Arguments of the URL; one that was not sent is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def page(found: Page, visit: Visit, projects: Sequence[str]) -> str:
    """Render a page."""
    session = visit.session
    values: dict[str, Any] = {
        **_shared(visit.base, session),
        "visit": visit,
        "project": visit.project,
        "projects": projects,
        "section": "/" + visit.path.split("/")[1],
        "notices": session.take_notices(),
        **found.data,
        **found.look,
        "query": _Given(visit.query),
    }
    if "filters" in found.data:
        values["filters"] = _Given(found.data["filters"])
    return environment().get_template(found.template).render(values)


def error(status: int, message: str, base: str, session: Session | None, path: str) -> str:
    """Render an error: one sentence and the way back."""
    values = {**_shared(base, session), "status": status, "message": message, "path": path}
    return environment().get_template("error.html").render(values)


def enter(base: str, wanted: str, takes_tokens: bool, trouble: str | None) -> str:
    """Render the page to sign in on."""
    values = {**_shared(base, None), "wanted": wanted, "takes_tokens": takes_tokens, "trouble": trouble}
    return environment().get_template("enter.html").render(values)


def onward(address: str) -> str:
    """Render a page that leads on to an address by itself."""
    return environment().get_template("onward.html").render(address=address)


def fragment(template: str, visit: Visit, **values: Any) -> str:
    """Render a part of a page, such as a new line of the activity."""
    return (
        environment()
        .get_template(template)
        .render({**_shared(visit.base, visit.session), "visit": visit, **values})
    )


def _shared(base: str, session: Session | None) -> dict[str, Any]:
    return {
        "base": base,
        "csrf": session.form_token() if session else "",
        "person": session.person if session else None,
        "theme": session.theme if session else "",
        "navigation": [
            *NAVIGATION,
            *([("/tenants", "Tenants")] if session and session.person.administrator else []),
        ],
        "file": _address,
        "now": datetime.now(UTC),
        "visit": None,
        "project": None,
        "projects": [],
        "section": "",
        "notices": [],
    }

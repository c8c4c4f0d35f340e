"""Which page answers which path."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from pgmem.ui import activity, ask, decide, graph, health, home, memories, moment, tenants
from pgmem.ui.visit import Page, Redirect, Visit

Handler = Callable[[Visit], Awaitable[Page | Redirect | Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path, and the page that answers them."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler


_ID = r"(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"


def _route(method: str, path: str, handler: Handler) -> Route:
    return Route(method, re.compile(path.replace("{id}", _ID)), handler)


ROUTES = (
    _route("GET", "/", home.home),
    _route("GET", "/ask", ask.ask),
    _route("GET", "/memories", memories.listed),
    _route("GET", "/memory/{id}", memories.one),
    _route("GET", "/memory/{id}/text", memories.text),
    _route("GET", "/memory/{id}/edit", memories.edit_form),
    _route("POST", "/memory/{id}/edit", memories.edit),
    _route("GET", "/memory/{id}/replace", memories.replace_form),
    _route("POST", "/memory/{id}/replace", memories.replace),
    _route("POST", "/memory/{id}/forget", memories.forget),
    _route("POST", "/memory/{id}/revert", memories.revert),
    _route("GET", "/memory/{id}/purge", memories.purge_form),
    _route("POST", "/memory/{id}/purge", memories.purge),
    _route("GET", "/decide", decide.reviews),
    _route("GET", "/decide/approvals", decide.approvals),
    _route("GET", "/decide/insights", decide.insights),
    _route("POST", "/decide/insights/reflect", decide.reflect),
    _route("POST", "/decide/insights/{id}", decide.judge),
    _route("GET", "/decide/cards", decide.cards),
    _route("POST", "/decide/cards/{id}", decide.decide_card),
    _route("GET", "/decide/saves", decide.saves),
    _route("GET", "/decide/{id}", decide.review),
    _route("POST", "/decide/{id}", decide.resolve),
    _route("POST", "/decide/{id}/undo", decide.undo),
    _route("GET", "/time", moment.moment),
    _route("GET", "/graph", graph.graph),
    _route("GET", "/health", health.health),
    _route("POST", "/health/check", health.check),
    _route("GET", "/health/repair", health.preview),
    _route("POST", "/health/repair", health.repair),
    _route("GET", "/activity", activity.activity),
    _route("GET", "/activity/live", activity.live),
    _route("GET", "/tenants", tenants.tenants),
    _route("POST", "/tenants/tokens", tenants.issue),
    _route("POST", "/tenants/tokens/{id}", tenants.revoke),
    _route("GET", "/tenants/erase", tenants.erase_form),
    _route("POST", "/tenants/erase", tenants.erase),
)

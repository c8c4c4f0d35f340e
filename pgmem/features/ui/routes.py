"""The table of paths and pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.routing import Match, Route

from pgmem.features.ui import (
    activity,
    ask,
    conversations,
    decide,
    graph,
    health,
    home,
    memories,
    moment,
    next_session,
    recall,
    rules,
    tenants,
)
from pgmem.features.ui.visit import Page, Parts, Redirect, Visit

Handler = Callable[[Visit], Awaitable[Page | Redirect | Response]]

ROUTES = (
    Route("/", home.home, methods=["GET"]),
    Route("/ask", ask.ask, methods=["GET"]),
    Route("/memories", memories.listed, methods=["GET"]),
    Route("/conversations", conversations.conversations, methods=["GET"]),
    Route("/memory/{id:uuid}", memories.one, methods=["GET"]),
    Route("/memory/{id:uuid}/text", memories.text, methods=["GET"]),
    Route("/memory/{id:uuid}/edit", memories.edit_form, methods=["GET"]),
    Route("/memory/{id:uuid}/edit", memories.edit, methods=["POST"]),
    Route("/memory/{id:uuid}/replace", memories.replace_form, methods=["GET"]),
    Route("/memory/{id:uuid}/replace", memories.replace, methods=["POST"]),
    Route("/memory/{id:uuid}/forget", memories.forget_form, methods=["GET"]),
    Route("/memory/{id:uuid}/forget", memories.forget, methods=["POST"]),
    Route("/memory/{id:uuid}/revert", memories.revert, methods=["POST"]),
    Route("/memory/{id:uuid}/purge", memories.purge_form, methods=["GET"]),
    Route("/memory/{id:uuid}/purge", memories.purge, methods=["POST"]),
    Route("/decide", decide.reviews, methods=["GET"]),
    Route("/decide/approvals", decide.approvals, methods=["GET"]),
    Route("/decide/approvals", decide.decide_rule, methods=["POST"]),
    Route("/decide/insights", decide.insights, methods=["GET"]),
    Route("/decide/insights/reflect", decide.reflect, methods=["POST"]),
    Route("/decide/insights", decide.judge, methods=["POST"]),
    Route("/decide/conflicts", decide.conflicts, methods=["GET"]),
    Route("/decide/conflicts", decide.settle_conflict, methods=["POST"]),
    Route("/new", memories.new_form, methods=["GET"]),
    Route("/new", memories.new, methods=["POST"]),
    Route("/memories/forget", memories.forget_many, methods=["POST"]),
    Route("/decide/cards", decide.cards, methods=["GET"]),
    Route("/decide/cards/branches", decide.settle, methods=["POST"]),
    Route("/decide/cards/{id:uuid}", decide.decide_card, methods=["POST"]),
    Route("/decide/names", decide.names, methods=["GET"]),
    Route("/decide/names", decide.keep_two, methods=["POST"]),
    Route("/decide/saves", decide.saves, methods=["GET"]),
    Route("/decide/{id:uuid}", decide.review, methods=["GET"]),
    Route("/decide/{id:uuid}", decide.resolve, methods=["POST"]),
    Route("/decide/{id:uuid}/undo", decide.undo, methods=["POST"]),
    Route("/time", moment.moment, methods=["GET"]),
    Route("/graph", graph.graph, methods=["GET"]),
    Route("/health", health.health, methods=["GET"]),
    Route("/health/check", health.check, methods=["POST"]),
    Route("/health/repair", health.preview, methods=["GET"]),
    Route("/health/repair", health.repair, methods=["POST"]),
    Route("/activity", activity.activity, methods=["GET"]),
    Route("/activity/live", activity.live, methods=["GET"]),
    Route("/next", next_session.next_session, methods=["GET"]),
    Route("/next", next_session.place, methods=["POST"]),
    Route("/recall", recall.recalled, methods=["GET"]),
    Route("/recall", recall.mark, methods=["POST"]),
    Route("/rules", rules.rules, methods=["GET"]),
    Route("/balance", rules.balance, methods=["GET"]),
    Route("/tenants", tenants.tenants, methods=["GET"]),
    Route("/tenants/tokens", tenants.issue, methods=["POST"]),
    Route("/tenants/tokens/{id:uuid}", tenants.revoke, methods=["POST"]),
    Route("/tenants/erase", tenants.erase_form, methods=["GET"]),
    Route("/tenants/erase", tenants.erase, methods=["POST"]),
)


def page_of(method: str, path: str) -> tuple[Handler, Parts] | None:
    """The page that answers a path, and the parts of the path that vary; None if there is none.

    Only Starlette's matching is used: the site reads the form and sends the answer itself, between its checks.
    """
    scope = {"type": "http", "method": method, "path": path}
    for route in ROUTES:
        match, found = route.matches(scope)
        if match is Match.FULL:
            return found["endpoint"], found["path_params"]
    return None

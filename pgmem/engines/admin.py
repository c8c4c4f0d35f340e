"""The verbs of operators as a class of their own; each calls the method of `Memory`.

Written by scripts/generate from the chapters of sql/; do not edit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from pgmem.engines.verbs import Verbs

__all__ = ["Admin"]

P = ParamSpec("P")
T = TypeVar("T")


def _of(
    method: Callable[Concatenate[Verbs, P], Awaitable[T]],
) -> Callable[Concatenate[Admin, P], Awaitable[T]]:
    """Return a method of the verbs as one of `Admin`, with its signature and docstring."""

    @wraps(method)
    def call(admin: Admin, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return method(admin._verbs, *args, **kwargs)

    return call


class Admin:
    """The verbs of operators over a memory: `memory.admin`."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    set_setting = _of(Verbs.set_setting)
    dedup_due = _of(Verbs.dedup_due)
    refresh_dedup = _of(Verbs.refresh_dedup)
    resolve_review = _of(Verbs.resolve_review)
    forget_by_ttl = _of(Verbs.forget_by_ttl)
    decay_scores = _of(Verbs.decay_scores)
    issue_token = _of(Verbs.issue_token)
    revoke_token = _of(Verbs.revoke_token)
    list_tokens = _of(Verbs.list_tokens)
    bind_role = _of(Verbs.bind_role)
    list_tenants = _of(Verbs.list_tenants)
    adopt = _of(Verbs.adopt)
    erase_subject = _of(Verbs.erase_subject)
    activate_model = _of(Verbs.activate_model)
    drop_model = _of(Verbs.drop_model)
    embedding_status = _of(Verbs.embedding_status)
    supersede = _of(Verbs.supersede)
    merge_entities = _of(Verbs.merge_entities)
    edit_memory = _of(Verbs.edit_memory)
    approve_card = _of(Verbs.approve_card)
    reject_card = _of(Verbs.reject_card)
    archive_card = _of(Verbs.archive_card)
    vacuum_cards = _of(Verbs.vacuum_cards)
    backlog = _of(Verbs.backlog)
    sweep = _of(Verbs.sweep)
    rebuild_graph = _of(Verbs.rebuild_graph)
    check_graph = _of(Verbs.check_graph)
    run_cypher = _of(Verbs.run_cypher)

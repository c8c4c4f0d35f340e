"""The work of Python around a verb, where there is any: one function a verb.

The generated method of such a verb calls the function with the caller and the arguments as a dict; further parameters
of the function become parameters of the method. A verb that saves a memory goes through `saves.save`, and every other
verb is only called. A feature brings such functions too, see pgmem/registry.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pgmem.calls import batches, retrieval, routing, saves, tenancy

__all__ = ["AROUND"]

AROUND: dict[str, Callable[..., Awaitable[Any]]] = {
    each.__name__: each
    for each in (
        saves.store_session_with_learnings,
        saves.remember,
        saves.preview_global_write,
        saves.get_save_status,
        retrieval.retrieve_context,
        retrieval.search_memory,
        retrieval.run_cypher,
        routing.route_analysis,
        batches.decay_scores,
        batches.forget_by_ttl,
        tenancy.revoke_token,
        tenancy.erase_subject,
    )
}

"""What Python does around a verb, where it does anything: one function a verb.

The generated method of such a verb calls the function with the caller and the arguments as a dict; further parameters
of the function become parameters of the method. A verb that saves a memory goes through `saves.save`, and every other
verb is only called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pgmem.calls import batches, retrieval, routing, saves, tenancy
from pgmem.features.cards import around as cards

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
        batches.vacuum_cards,
        cards.get_relevant_memory,
        cards.query_engineering_memory,
        cards.what_changes,
        cards.which_files,
        cards.record_candidate,
        cards.propose_from_receipt,
        cards.finish_intent,
        cards.manage_engineering_memory,
        cards.refresh_from_run,
        tenancy.revoke_token,
        tenancy.erase_subject,
    )
}

"""Tokens and erasure: the work of Python around the verbs that revoke a token and erase a tenant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pgmem.calls.caller import Caller
from pgmem.models import ApiToken, Erasure


async def revoke_token(caller: Caller, params: dict[str, Any]) -> ApiToken:
    """Revoke a token, and return its record."""
    await caller.rows("revoke_token", params)
    tokens = await caller.all("list_tokens", ApiToken, {})
    return next(token for token in tokens if token.id == params["token_id"])


async def erase_subject(caller: Caller, params: dict[str, Any]) -> Erasure:
    """Erase in the store and in the outbox of this machine; `counts` holds both."""
    found = await caller.one("erase_subject", Erasure, params)
    org_id, user_id, dry_run = params["org_id"], params["user_id"], params["dry_run"]
    outbox = caller.database.outbox
    queued = [
        path
        for path in outbox.pending()
        if (save := outbox.read(path)) is not None
        and save.scope.org_id == org_id
        and user_id in ("", save.scope.user_id)
    ]
    if not dry_run:
        for path in queued:
            outbox.remove(path)
    return replace(found, counts={**found.counts, "outbox": len(queued)}, total=found.total + len(queued))

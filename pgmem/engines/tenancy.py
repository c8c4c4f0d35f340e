"""Tenancy: Python work around the verbs that revoke tokens and erase tenants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pgmem.engines.base import Engine
from pgmem.models import ApiToken, Erasure


class Tenancy(Engine):
    """None of these verbs is a tool for agents."""

    async def _revoke_token(self, params: dict[str, Any]) -> ApiToken:
        """Revoke a token, and return its record."""
        await self._rows("revoke_token", params)
        tokens = await self._all("list_tokens", ApiToken, {})
        return next(token for token in tokens if token.id == params["token_id"])

    async def _erase_subject(self, params: dict[str, Any]) -> Erasure:
        """Erase in the store and in the outbox of this machine; `counts` holds both."""
        found = await self._one("erase_subject", Erasure, params)
        org_id, user_id, dry_run = params["org_id"], params["user_id"], params["dry_run"]
        outbox = self._database.outbox
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

"""TenancyEngine: whose memory it is: tenants, their logins and tokens, and their erasure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from pgmem.engines.base import Engine
from pgmem.models import Adoption, ApiToken, Erasure, Tenant, TenantRole

__all__ = ["TenancyEngine"]


class TenancyEngine(Engine):
    """What the keeper of a store does. None of it is a tool of an agent."""

    async def list_tenants(self) -> list[Tenant]:
        """The tenants of this store with what they hold, and the logins and tokens bound to them."""
        return await self._database.all("list_tenants", Tenant)

    async def adopt(self, org_id: str, user_id: str = "", dry_run: bool = False) -> Adoption:
        """Give what belongs to nobody to a tenant, all of it at once.

        Raises:
            InvalidArgument: the tenant holds some of the names already.
        """
        return await self._database.one(
            "adopt", Adoption, timeout_s=3600, org_id=org_id, user_id=user_id, dry_run=dry_run
        )

    async def bind_role(self, role: str, org_id: str = "", user_id: str = "") -> TenantRole:
        """Make a database login a tenant, whatever it sets; with neither name the binding ends.

        Raises:
            MemoryNotFound: the server has no such role.
            InvalidArgument: the login owns the store.
        """
        return await self._database.one("bind_role", TenantRole, role=role, org_id=org_id, user_id=user_id)

    async def issue_token(
        self, org_id: str, user_id: str = "", name: str | None = None, expires_at: datetime | None = None
    ) -> ApiToken:
        """A bearer token bound to a tenant. This answer alone has the secret; the store keeps its hash."""
        return await self._database.one(
            "issue_token", ApiToken, org_id=org_id, user_id=user_id, name=name, expires_at=expires_at
        )

    async def list_tokens(self) -> list[ApiToken]:
        """The bearer tokens that were issued, without their secrets."""
        return await self._database.all("list_tokens", ApiToken)

    async def revoke_token(self, token_id: UUID) -> ApiToken:
        """End a bearer token at once.

        Raises:
            MemoryNotFound: there is no such token.
        """
        await self._database.rows("revoke_token", id=token_id)
        return next(token for token in await self.list_tokens() if token.id == token_id)

    async def verify_token(self, token: str) -> ApiToken | None:
        """The tenant a bearer token is bound to; None when it is unknown, revoked or expired.

        Raises:
            NotPermitted: the identity settings of this login do not count, so it can serve nobody.
        """
        found = await self._database.all("verify_token", ApiToken, token=token)
        return found[0] if found else None

    async def erase_subject(
        self, org_id: str, user_id: str = "", dry_run: bool = True, by: str | None = None
    ) -> Erasure:
        """Remove a user, or an organisation with its users, from every table, the graph and the outbox here.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            InvalidArgument: no subject is named, or nobody who erases.
        """
        found = await self._database.one(
            "erase_subject",
            Erasure,
            timeout_s=3600,
            org_id=org_id,
            user_id=user_id,
            dry_run=dry_run,
            by=by,
        )
        outbox = self._database.outbox
        waiting = [
            path
            for path in outbox.pending()
            if (save := outbox.read(path)) is not None
            and save.scope.org_id == org_id
            and user_id in ("", save.scope.user_id)
        ]
        if not dry_run:
            for path in waiting:
                outbox.remove(path)
        return replace(
            found,
            counts={**found.counts, "outbox": len(waiting)},
            total=found.total + len(waiting),
        )

"""GovernanceEngine: leave for global writes, and decisions that are a person's."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pgmem.engines.base import Engine
from pgmem.models import GovernanceToken, Review, SaveResult

__all__ = ["GovernanceEngine"]


class GovernanceEngine(Engine):
    """Tokens and reviews."""

    async def request_global_write_approval(self, content_preview: str) -> GovernanceToken:
        """A one-use token for one global write, to be asked for before it and spent within its seconds."""
        return await self._database.one(
            "request_global_write_approval", GovernanceToken, content_preview=content_preview
        )

    async def list_reviews(self, project_id: str | None = None, limit: int = 100) -> list[Review]:
        """The saves that wait for a person, oldest first."""
        return await self._database.all("list_reviews", Review, project_id=project_id, limit=limit)

    async def resolve_review(
        self, save_id: UUID, outcome: Literal["new", "supersede", "drop"], by: str
    ) -> SaveResult:
        """Decide a save that waits for review.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            MemoryNotFound: no such save waits.
        """
        return await self._database.one("resolve_review", SaveResult, save_id=save_id, outcome=outcome, by=by)

    async def list_settings(self) -> list[dict[str, str]]:
        """The thresholds and limits of this store: name, value, description."""
        return [dict(row) for row in await self._database.rows("list_settings")]

    async def set_setting(self, name: str, value: str) -> dict[str, str]:
        """Change a threshold or limit for every caller; the owner's right alone.

        Raises:
            InvalidArgument: no such setting, or the value does not fit; the message says what it means.
        """
        return dict((await self._database.rows("set_setting", name=name, value=value))[0])

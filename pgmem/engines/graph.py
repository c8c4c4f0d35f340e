"""GraphEngine: relations between memories, the neighbourhood of one, and the graph's own upkeep."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pgmem.engines.base import Engine
from pgmem.engines.secrets import scrubbed
from pgmem.engines.write import Share
from pgmem.models import CheckedLabel, Edge, Neighbour, Neighbours, Remembered

__all__ = ["GraphEngine"]


class GraphEngine(Engine):
    """Edges, walks and Cypher."""

    async def remember(
        self,
        label: str,
        properties: Mapping[str, Any],
        relations: Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        project_id: str | None = None,
        share: Share | None = None,
    ) -> Remembered:
        """Create or update a node by its name, with relations `{"USES": ["Redis", {"name": …, "label": …}]}`.

        A target that exists gets an edge, a missing one becomes a stub, an ambiguous one comes back in
        did_you_mean. A write onto a node whose valid_to was set is flagged in conflict.

        Raises:
            InvalidArgument: an unknown label or one a save verb writes, no name, an empty period.
            MemoryNotFound: the project does not exist.
            RelationNotAllowed: a relation does not join these labels.
        """
        given = scrubbed(
            {"properties": properties, "relations": relations or {}},
            self._database.settings.scrub_secrets,
        )
        embedding = await self._embedding("remember", {"label": label, **given})
        return await self._database.one(
            "remember",
            Remembered,
            label=label,
            **given,
            **embedding,
            valid_from=valid_from,
            valid_to=valid_to,
            project_id=project_id,
            share=share,
        )

    async def relate(
        self,
        from_label: str,
        from_key: str,
        rel_type: str,
        to_label: str,
        to_key: str,
        project_id: str | None = None,
    ) -> Edge:
        """Join two memories; the same again changes nothing. Each is named by id, key or exact title.

        Raises:
            InvalidArgument: an unknown label or relation.
            MemoryNotFound: a name fits nothing.
            AmbiguousName: a name fits several; the message lists their ids.
            RelationNotAllowed: the relation does not join these labels, or verbs alone make it.
        """
        return await self._database.one(
            "relate",
            Edge,
            from_label=from_label,
            from_key=from_key,
            rel_type=rel_type,
            to_label=to_label,
            to_key=to_key,
            project_id=project_id,
        )

    async def neighbours(
        self, label: str, key: str, hops: int = 1, limit: int = 50, project_id: str | None = None
    ) -> Neighbours:
        """The memories within some hops (1 to 5) of one, nearest first."""
        found = await self._database.all(
            "neighbours",
            Neighbour,
            self._database.settings.retrieval_timeout_s,
            label=label,
            key=key,
            hops=hops,
            limit=limit,
            project_id=project_id,
        )
        return Neighbours(nodes=found)

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """A read-only Cypher query over the graph; one object a row.

        Raises:
            TierMissing: the server has no Apache AGE.
            NotPermitted: the query writes, or a tenant is set.
        """
        rows = await self._database.rows("run_cypher", query=query, params=dict(params or {}))
        return [dict(row["run_cypher"]) for row in rows]

    async def check_graph(self) -> list[CheckedLabel]:
        """Where the graph differs from the tables; empty when they agree."""
        return await self._database.all("check_graph", CheckedLabel)

    async def rebuild_graph(self) -> dict[str, int]:
        """Make the graph again from the tables: vertices and edges written."""
        return dict((await self._database.rows("rebuild_graph", 3600))[0])

"""The stores in PostgreSQL: each method calls a verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any
from uuid import UUID

import anyio
from psycopg.rows import DictRow

from pgmem.database.database import Database
from pgmem.embeddings.vectors import listed
from pgmem.errors import InvalidArgument, MemoryNotFound, PgmemError, TierMissing
from pgmem.models import MemoryScope, SchemaDefinition


class _OnDatabase:
    """A store over a `Database`, which the first call opens."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._opened = False
        self._opening = anyio.Lock()

    @property
    def database(self) -> Database:
        """The database, which acts for the scope that is set."""
        return self._database

    async def set_scope(self, scope: MemoryScope) -> None:
        """Make all later calls for this organisation, user, agent and session."""
        self._database = self._database.acting_as(scope)

    async def open(self) -> None:
        """Open the database; every call does so if it is not open."""
        if not self._opened:
            async with self._opening:
                await self._database.open()
                self._opened = True

    async def aclose(self) -> None:
        """Close the connections."""
        await self._database.close()
        self._opened = False

    async def rows(self, verb: str, /, timeout_s: float | None = None, **params: object) -> list[DictRow]:
        """Call a verb for the scope that is set, and return its rows."""
        await self.open()
        return await self._database.rows(verb, timeout_s, **params)


class PgGraphStore(_OnDatabase):
    """A `GraphStore` over the verbs.

    Nodes of labels with a separate save verb (Decision, Session, …) can be read like all others, but only that verb
    writes them; `merge_node` raises and names it.

    Args:
        database: opened by the first call.
        model: the model of the vectors that `merge_node` gets; None if it gets none.
    """

    def __init__(self, database: Database, model: str | None = None) -> None:
        super().__init__(database)
        self._model = model

    async def merge_node(
        self,
        label: str,
        key_field: str,
        key_value: str,
        properties: Mapping[str, Any],
        embedding: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        """Create a node, or update the one of that name; returns the node with `created` and `conflict`.

        `conflict` is None, or says whether an end (`valid_to`) that the node had was kept. `dedup_outcome` is
        manual_review where a person decides; then nothing was written, and the node is as it was.
        A node and its vector are one transaction: a vector that cannot be kept leaves no node.

        Raises:
            InvalidArgument: the label is unknown or written by a save verb, the key field is not the label's, or the
                length of the vector is not the model's.
        """
        vector = None if embedding is None else listed(embedding)
        if vector is not None:
            await self._require_vector(vector)
        named = await self._key_field(label)
        if named is not None and key_field != named:
            raise InvalidArgument(f"A {label} is named by its {named}, not by {key_field}.")
        sent: dict[str, Any] = {"label": label, "key": key_value, "properties": dict(properties)}
        if vector is not None:
            sent |= {"model": self._model, "vector": vector}
        row = (await self.rows("merge_node", **sent))[0]
        node = await self._read(label, str(row["id"]))
        assert node is not None, "it has just been written"
        outcome = {name: row[name] for name in ("created", "conflict", "dedup_outcome")}
        return {**node, **outcome}

    async def get_node(self, label: str, key_field: str, key_value: str) -> dict[str, Any] | None:
        """Return the node of that name, an archived one with its `archived_at`; None if there is none.

        Raises:
            InvalidArgument: the label is unknown, or the key field is not the label's.
            AmbiguousName: several projects have a node of that name; the message lists their ids.
        """
        await self._require_key(label, key_field)
        return await self._read(label, key_value)

    async def delete_node(self, label: str, key_field: str, key_value: str, soft: bool = True) -> bool:
        """Archive a node, or purge it with its versions, relations and vectors; returns whether there was one."""
        await self._require_key(label, key_field)
        if soft:
            node = await self.get_node(label, key_field, key_value)
            if node is None or node["status"] == "archived":
                return False
        try:
            await self.rows("forget", label=label, key=key_value, purge=not soft)
        except MemoryNotFound:
            return False
        return True

    async def merge_relation(
        self,
        from_label: str,
        from_key: str,
        from_value: str,
        rel_type: str,
        to_label: str,
        to_key: str,
        to_value: str,
    ) -> dict[str, Any]:
        """Join two nodes by a relation of the registry; the same call again changes nothing.

        Returns:
            from_id, rel_type, to_id, created.

        Raises:
            MemoryNotFound: one of the two nodes does not exist.
            RelationNotAllowed: the relation does not join these labels, or only other verbs create it.
        """
        await self._require_key(from_label, from_key)
        await self._require_key(to_label, to_key)
        found = await self.rows(
            "relate",
            from_label=from_label,
            from_key=from_value,
            rel_type=rel_type,
            to_label=to_label,
            to_key=to_value,
        )
        return _plain(found[0])

    async def get_neighbours(
        self, label: str, key_field: str, key_value: str, hops: int = 1, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Return the nodes within 1 to 5 hops, nearest first; none if the node does not exist."""
        await self._require_key(label, key_field)
        try:
            found = await self.rows("neighbours", label=label, key=key_value, hops=hops, limit=limit)
        except MemoryNotFound:
            return []
        return [_plain(row) for row in found]

    async def fulltext_search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Return the nodes that match words of the query, best first, projects last; the score is BM25."""
        found = await self.rows("fulltext_search", query=query, limit=limit)
        if len(found) < limit:
            found = [*found, *await self.rows("find_projects", query=query, limit=limit - len(found))]
        return [
            {
                "node": _plain(row),
                "score": row["score"],
                "label": row["label"],
                "key": row["key"] or str(row["id"]),
            }
            for row in found
        ]

    async def run_cypher(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run a read-only Cypher query over the graph; returns one object for each row.

        Raises:
            NotImplementedError: the server has no Apache AGE.
            NotPermitted: the query writes, or a tenant is set.
        """
        try:
            found = await self.rows("run_cypher", query=query, params=dict(params or {}))
        except TierMissing as error:
            raise NotImplementedError(str(error)) from error
        return [dict(row["run_cypher"]) for row in found]

    async def init_schema(self, schema: SchemaDefinition) -> None:
        """Add labels and relations to the registry and the graph; existing ones stay.

        Raises:
            InvalidArgument: a name is invalid, is both a label and a relation, or exists with another definition.
            NotPermitted: the login is neither the owner of the store nor a reviewer.
        """
        labels = [{**asdict(label), "text_fields": list(label.text_fields)} for label in schema.labels]
        relations = [
            {
                "name": relation.name,
                "from_labels": None if relation.from_labels is None else list(relation.from_labels),
                "to_labels": None if relation.to_labels is None else list(relation.to_labels),
            }
            for relation in schema.relations
        ]
        # An empty list would be sent as an array; an argument that is left out takes its default.
        given: dict[str, Any] = {}
        if labels:
            given["labels"] = labels
        if relations:
            given["relations"] = relations
        await self.rows("init_schema", **given)

    async def health_check(self) -> dict[str, Any]:
        """Return `status` ok with versions and tier, or unavailable with the reason. Never raises."""
        try:
            row = (await self.rows("status"))[0]
        except (PgmemError, OSError) as error:
            return {"status": "unavailable", "backend": "postgres", "reason": str(error)}
        versions = {
            name: row[name] for name in ("server_version", "release", "tier", "age_version", "vector_version")
        }
        return {"status": "ok", "backend": "postgres", **versions}

    async def get_node_history(self, label: str, key_field: str, key_value: str) -> list[dict[str, Any]]:
        """Return the recorded versions of a node, oldest first, also of an archived node."""
        await self._require_key(label, key_field)
        try:
            return [dict(row) for row in await self.rows("memory_history", label=label, key=key_value)]
        except MemoryNotFound:
            return []

    async def decay_scores(self, max_age_days: int = 90, decay_rate: float = 0.01) -> int:
        """Return how many memories have decayed by the rate and the age of the store; others are an error."""
        row = (await self.rows("decay_scores", 600, max_age_days=max_age_days, decay_rate=decay_rate))[0]
        return int(row["affected"])

    async def _require_vector(self, embedding: Sequence[float]) -> None:  # noqa: ARG002
        """Raise an error if this store cannot keep a vector."""
        if self._model is None:
            raise InvalidArgument("This store has no model: name the model of the vector.")

    async def _read(self, label: str, key: str) -> dict[str, Any] | None:
        try:
            return _plain((await self.rows("read_node", label=label, key=key))[0])
        except MemoryNotFound:
            return None

    async def _key_field(self, label: str) -> str | None:
        await self.open()
        labels = await self._database.labels(label)
        if label not in labels:
            close = get_close_matches(label, labels, 1)
            near = f"Did you mean {close[0]}?" if close else "describe_schema lists them."
            raise InvalidArgument(f"Unknown label {label!r}. {near}")
        return labels[label].key_field

    async def _require_key(self, label: str, key_field: str) -> None:
        # Nodes of labels without a key are found by their title too.
        named = await self._key_field(label)
        if key_field != "id" and key_field != (named or "title"):
            raise InvalidArgument(
                f"A {label} is named by its {named or 'title'} or its id, not by {key_field}."
            )


class PgVectorStore(_OnDatabase):
    """A `VectorStore` in pgvector, for the vectors of one model.

    Args:
        database: opened by the first call.
        model: the model's name, which is registered with the first vectors.
        dimensions: the length of its vectors.
    """

    def __init__(self, database: Database, model: str, dimensions: int) -> None:
        super().__init__(database)
        self.model = model
        self.dimensions = dimensions
        self._registered = False

    async def store_vectors(self, items: Sequence[tuple[str, Sequence[float]]]) -> int:
        """Store the vectors of existing nodes; returns how many were stored.

        Raises:
            InvalidArgument: an id is not a UUID, the length of a vector is not the model's, or a vector is all zeros.
            TierMissing: the server has no pgvector.
        """
        if not items:
            return 0
        await self._register()
        sent = [{"id": str(_uuid(node_id)), "vector": listed(vector)} for node_id, vector in items]
        return int(
            (await self.rows("store_node_vectors", model=self.model, items=sent))[0]["store_node_vectors"]
        )

    async def search_vectors(
        self, query_embedding: Sequence[float], limit: int = 10, scope: MemoryScope | None = None
    ) -> list[dict[str, Any]]:
        """Return the nearest live nodes, for the given scope or the one that is set.

        Raises:
            InvalidArgument: the length of the vector is not the model's.
        """
        store = self
        if scope is not None:
            store = PgVectorStore(self._database.acting_as(scope), self.model, self.dimensions)
        vector = listed(query_embedding)
        found = await store.rows("search_vectors", embedding=vector, limit=limit, model=self.model)
        return [
            {"node_id": str(row["id"]), **_plain(row), "key": row["key"] or str(row["id"])} for row in found
        ]

    async def delete_vectors(self, node_ids: Sequence[str]) -> int:
        """Delete the vectors of nodes; returns how many there were."""
        if not node_ids:
            return 0
        ids = [_uuid(node_id) for node_id in node_ids]
        return int((await self.rows("delete_node_vectors", ids=ids))[0]["delete_node_vectors"])

    async def count(self) -> int:
        """Return how many nodes have a vector of this model."""
        return int((await self.rows("count_vectors", model=self.model))[0]["count_vectors"])

    async def _register(self) -> None:
        if not self._registered:
            await self.rows("register_model", name=self.model, dimensions=self.dimensions)
            self._registered = True


class PgStore(PgGraphStore, PgVectorStore):
    """Both stores in one object, over one pool."""

    def __init__(self, database: Database, model: str, dimensions: int) -> None:
        PgVectorStore.__init__(self, database, model, dimensions)
        self._model = model

    async def _require_vector(self, embedding: Sequence[float]) -> None:
        if len(embedding) != self.dimensions:
            raise InvalidArgument(
                f"Model {self.model} has {self.dimensions} dimensions, this vector has {len(embedding)}; "
                "send vectors of that model."
            )
        await self._register()


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its ids as texts."""
    return {name: str(value) if isinstance(value, UUID) else value for name, value in row.items()}


def _uuid(node_id: str) -> UUID:
    try:
        return UUID(str(node_id))
    except ValueError:
        raise InvalidArgument(f"Invalid node id {node_id!r}: send the UUID of a node.") from None

"""HybridSearchEngine: one ranking out of a vector store and a graph store.

final = alpha * vector + (1 - alpha) * fulltext + beta * min(graph, cap) + gamma * trust + delta * confidence

Each arm is min-max normalised over its own candidates; equal scores become 1, and a candidate missing from an arm
scores 0. graph is the share of the other candidates within one hop. With fusion rrf the first two terms are
replaced by sum 1 / (k + rank) over the arms, min-max normalised over all candidates.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio

from pgmem.calls.caller import Caller
from pgmem.calls.methods import Verbs
from pgmem.embeddings.protocol import EmbeddingProvider, named
from pgmem.errors import InvalidArgument, described, summary
from pgmem.features.stores.create import GraphStore, PgGraphStore, PgVectorStore, VectorStore
from pgmem.models import SearchMode, SearchResult

log = logging.getLogger("pgmem")

_LabelAndKey = tuple[str, str | None]

_UNKNOWN_TRUST = 0.5
_MOST_NEIGHBOURS = 1000


@dataclass(frozen=True, kw_only=True)
class HybridConfig:
    """All weights of the formula of this module, and how many candidates each arm brings."""

    alpha: float = 0.6
    graph_beta: float = 0.15
    boost_cap: float = 0.3
    vector_k: int = 20
    fulltext_k: int = 20
    trust_gamma: float = 0.1
    confidence_weight: float = 0.0
    fusion: Literal["linear", "rrf"] = "linear"
    rrf_k: float = 10

    def __post_init__(self) -> None:
        """Refuse weights that no ranking can have.

        Raises:
            InvalidArgument: alpha outside 0 to 1, a negative weight, no candidates, or an unknown fusion.
        """
        if not 0 <= self.alpha <= 1:
            raise InvalidArgument(f"alpha is a number from 0 to 1, not {self.alpha}.")
        for name in ("graph_beta", "boost_cap", "trust_gamma", "confidence_weight", "rrf_k"):
            if not getattr(self, name) >= 0:
                raise InvalidArgument(f"{name} is a number from 0, not {getattr(self, name)}.")
        for name in ("vector_k", "fulltext_k"):
            if getattr(self, name) < 1:
                raise InvalidArgument(f"{name} is a whole number from 1, not {getattr(self, name)}.")
        if self.fusion not in ("linear", "rrf"):
            raise InvalidArgument(f"fusion is linear or rrf, not {self.fusion}.")


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One node found, its score and the parts of it. Raw scores are the stores' own: a cosine, and BM25.

    Attributes:
        node_id: the node's id, or label/key in a store whose nodes have none.
        name: key field and value, by which the graph store finds the node.
    """

    node_id: str
    label: str
    key: str | None = None
    name: tuple[str, str] = ("id", "")
    title: str = ""
    summary: str | None = None
    vector_raw: float | None = None
    fulltext_raw: float | None = None
    vector_score: float = 0.0
    fulltext_score: float = 0.0
    graph_boost: float = 0.0
    trust: float = _UNKNOWN_TRUST
    confidence: float = 1.0
    final_score: float = 0.0


class Ranking(list[Hit]):
    """Hits, best first, and `search_mode`: which arms there were, and why one was missing."""

    def __init__(self, hits: Sequence[Hit], search_mode: SearchMode) -> None:
        super().__init__(hits)
        self.search_mode = search_mode


class HybridSearchEngine:
    """Searches two stores and ranks their results.

    Where both stores are PostgreSQL and no weights are given, the whole search is one SQL call (search_memory) with all
    its signals. Else the arms are asked one by one and fused here, by the formula of this module and nothing else.

    Args:
        graph: full text, neighbours and trust.
        vector: the nearest vectors; `dimensions` 0: full text only.
        embedder: makes the query's vector.
        config: the weights; None: the ranking of the store, or the defaults where it has none.
        patience_s: seconds to wait for the query's vector before the search goes on without.
    """

    def __init__(
        self,
        graph: GraphStore,
        vector: VectorStore,
        embedder: EmbeddingProvider,
        config: HybridConfig | None = None,
        *,
        patience_s: float = 5.0,
    ) -> None:
        self.graph = graph
        self.vector = vector
        # One without a name makes vectors of the model that it is compared with.
        self.embedder = named(embedder, getattr(vector, "model", None))
        self.config = config
        self._patience_s = patience_s

    async def search(self, query: str, limit: int = 10) -> Ranking:
        """The nodes that answer a query, best first, and how they were found.

        A provider that is down, a store without vectors, one without full text: each costs its arm alone.

        Raises:
            InvalidArgument: PostgreSQL refuses the query or the limit.
        """
        graph, vector = self.graph, self.vector
        if self.config is None and isinstance(graph, PgGraphStore) and isinstance(vector, PgVectorStore):
            return await self._search_in_sql(graph, query, limit)
        config = self.config or HybridConfig()
        embedding, missing = await self._embed(query)
        near: Sequence[Mapping[str, Any]] = []
        try:
            near = await self.vector.search_vectors(embedding, limit=config.vector_k) if embedding else []
        except Exception as error:  # a foreign store: any error costs its arm alone
            log.warning("search is by full text only: %s", summary(error))
            embedding, missing = [], SearchMode(mode="fulltext_only", degraded=True, reason=described(error))
        try:
            matched = await self.graph.fulltext_search(query, limit=config.fulltext_k)
        except Exception as error:  # a foreign store, or one without full text
            log.warning("search is by vector only: %s", summary(error))
            reason = str(error) or "this store has no full text"
            if not isinstance(error, NotImplementedError):
                reason = described(error)
            if not embedding:
                return Ranking([], SearchMode(mode="none", degraded=True, reason=reason))
            matched, config = [], replace(config, alpha=1.0)
            missing = SearchMode(mode="vector_only", degraded=True, reason=reason)
        if not embedding:
            config = replace(config, alpha=0.0)
        candidates = [await self._known(hit) for hit in _merge(near, matched)]
        ids: Mapping[_LabelAndKey, str] = {
            (hit.label, hit.key): hit.node_id for hit in candidates if hit.key is not None
        }
        links = {hit.node_id: await self._neighbours(hit, ids) for hit in candidates}
        ranked = fuse(candidates, links, config)
        return Ranking(ranked[:limit], missing or SearchMode(mode="hybrid"))

    async def _search_in_sql(self, graph: PgGraphStore, query: str, limit: int) -> Ranking:
        await graph.open()
        found = await Verbs(Caller(graph.database, self.embedder)).search_memory(query, limit)
        return Ranking([_hit(result) for result in found.results], found.search_mode)

    async def _embed(self, query: str) -> tuple[list[float], SearchMode | None]:
        """The query's vector, or none and why."""
        if self.embedder.dimensions == 0:
            return [], SearchMode(mode="fulltext_only", reason="no embedding provider")
        if self.vector.dimensions == 0:
            return [], SearchMode(mode="fulltext_only", reason="this store keeps no vectors")
        try:
            with anyio.fail_after(self._patience_s):
                embedding = await self.embedder.embed(query)
        except Exception as error:  # a foreign embedder: whatever it raises costs its arm alone
            reason = described(error)
            log.warning("search is by full text only: %s", summary(error))
            return [], SearchMode(mode="fulltext_only", degraded=True, reason=reason)
        return embedding, None if embedding else SearchMode(mode="fulltext_only", reason="nothing to embed")

    async def _known(self, hit: Hit) -> Hit:
        """The hit with the facts that only the graph store has, where its arms did not say."""
        if hit.trust >= 0:
            return hit
        node: Mapping[str, Any] = {}
        for name in _names(hit):
            try:
                node = await self.graph.get_node(hit.label, *name) or {}
            except Exception as error:  # a foreign store
                log.warning("trust is taken as unknown: %s", summary(error))
            if node:
                hit = replace(hit, name=name)
                break
        return replace(
            hit,
            title=hit.title or _title(node),
            trust=_number(node, "trust_level", _UNKNOWN_TRUST),
            confidence=_number(node, "confidence", 1.0),
        )

    async def _neighbours(self, hit: Hit, ids: Mapping[_LabelAndKey, str]) -> set[str]:
        """The ids of the nodes within one hop; `ids`: of the candidates, by label and key."""
        try:
            found = await self.graph.get_neighbours(hit.label, *hit.name, hops=1, limit=_MOST_NEIGHBOURS)
            return {_id(node, node, ids) for node in found}
        except Exception as error:  # a foreign store
            log.warning("ranked without neighbours: %s", summary(error))
            return set()


def fuse(candidates: Sequence[Hit], links: Mapping[str, set[str]], config: HybridConfig) -> list[Hit]:
    """Rank candidates by the formula of this module.

    Args:
        candidates: with their raw scores; None: not found by that arm.
        links: for a candidate, the ids of the nodes within one hop.
        config: the weights. An arm that is missing altogether has alpha 0 or 1.

    Returns:
        The candidates with every part of their score, best first; equals by their best rank in an arm.
    """
    arms = (
        {hit.node_id: hit.vector_raw for hit in candidates if hit.vector_raw is not None},
        {hit.node_id: hit.fulltext_raw for hit in candidates if hit.fulltext_raw is not None},
    )
    vectors, texts = map(_normalised, arms)
    ranks = [*map(_ranks, arms)]
    by_rank = _normalised(
        {
            hit.node_id: sum(1 / (config.rrf_k + arm[hit.node_id]) for arm in ranks if hit.node_id in arm)
            for hit in candidates
        }
    )
    ids = {hit.node_id for hit in candidates}
    ranked = []
    for hit in candidates:
        v, f = vectors.get(hit.node_id, 0.0), texts.get(hit.node_id, 0.0)
        graph = len(links.get(hit.node_id, set()) & (ids - {hit.node_id})) / max(len(ids) - 1, 1)
        fused = by_rank[hit.node_id]
        if config.fusion == "linear":
            fused = config.alpha * v + (1 - config.alpha) * f
        final = (
            fused
            + config.graph_beta * min(graph, config.boost_cap)
            + config.trust_gamma * hit.trust
            + config.confidence_weight * hit.confidence
        )
        ranked.append(replace(hit, vector_score=v, fulltext_score=f, graph_boost=graph, final_score=final))
    best = {node_id: min(arm.get(node_id, len(ids) + 1) for arm in ranks) for node_id in ids}
    return sorted(ranked, key=lambda hit: (-hit.final_score, best[hit.node_id], hit.node_id))


def _normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Min-max: 0 to 1; equal ones, or a single one, are 1."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {name: (score - low) / (high - low) if high > low else 1.0 for name, score in scores.items()}


def _ranks(scores: Mapping[str, float]) -> dict[str, int]:
    """Places from 1, best first; equals in the order in which they came."""
    ordered = sorted(scores, key=lambda name: -scores[name])
    return {name: place for place, name in enumerate(ordered, start=1)}


def _merge(near: Sequence[Mapping[str, Any]], matched: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """One hit for each node of the two arms. Trust is -1 where neither said it."""
    hits: dict[str, Hit] = {}
    ids: dict[_LabelAndKey, str] = {}
    for row in near:
        node_id = str(row["node_id"])
        ids.setdefault((row["label"], row.get("key")), node_id)
        hits.setdefault(node_id, _raw(node_id, row, row, ("id", node_id), vector_raw=float(row["score"])))
    for row in matched:
        node, score = row["node"], float(row["score"])
        node_id, name = _id(node, row, ids), _name(node, row)
        if node_id in hits:
            title = hits[node_id].title or _title(node)
            hits[node_id] = replace(hits[node_id], fulltext_raw=score, name=name, title=title)
        else:
            hits[node_id] = _raw(node_id, row, node, name, fulltext_raw=score)
    return list(hits.values())


def _id(node: Mapping[str, Any], row: Mapping[str, Any], ids: Mapping[_LabelAndKey, str]) -> str:
    """The id of a node: its own, else that of the candidate of its label and key, else the two as one text.

    Args:
        node: what is known of it.
        row: what names it: label and key.
        ids: of candidates, by label and key.
    """
    if node.get("id") is not None:
        return str(node["id"])
    label, key = row["label"], row["key"]
    return ids.get((label, key), f"{label}/{key}")


def _name(node: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, str]:
    """The field by which a store finds a node, and its value: the id, else the property that holds the key."""
    if node.get("id") is not None:
        return "id", str(node["id"])
    held = {**node, **(node.get("properties") or {})}
    field = next((name for name, value in held.items() if name != "key" and value == row["key"]), "id")
    return field, str(row["key"])


def _names(hit: Hit) -> list[tuple[str, str]]:
    """The names to try for a node: that of its arm; of one that vectors alone found, also its key."""
    if hit.name[0] != "id" or hit.key is None or hit.fulltext_raw is not None:
        return [hit.name]
    return [hit.name, ("name", hit.key), ("title", hit.key)]


def _number(node: Mapping[str, Any], name: str, unknown: float) -> float:
    return unknown if node.get(name) is None else float(node[name])


def _title(node: Mapping[str, Any]) -> str:
    return str(node.get("title") or node.get("name") or "")


def _raw(
    node_id: str, row: Mapping[str, Any], node: Mapping[str, Any], name: tuple[str, str], **scores: float
) -> Hit:
    return Hit(
        node_id=node_id,
        label=row["label"],
        key=row.get("key"),
        name=name,
        title=_title(node),
        summary=node.get("summary"),
        trust=_number(node, "trust", _number(node, "trust_level", -1.0)),
        confidence=_number(node, "confidence", 1.0),
        **scores,
    )


def _hit(result: SearchResult) -> Hit:
    return Hit(
        node_id=str(result.id),
        label=result.label,
        key=result.key or str(result.id),
        name=("id", str(result.id)),
        title=result.title,
        summary=result.summary,
        vector_score=result.vector or 0.0,
        fulltext_score=result.fulltext or 0.0,
        graph_boost=result.graph or 0.0,
        trust=_UNKNOWN_TRUST if result.trust is None else result.trust,
        confidence=1.0 if result.confidence is None else result.confidence,
        final_score=result.score,
    )

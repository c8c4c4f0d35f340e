"""The ranking of SQL, and the plain formula over any stores, on arms that are known: to the digit.

Five nodes. Cosines with the query: a 1, b 0.8, c 0.6, e 0; d has no vector. Occurrences of the word in the query: b 1,
d 2, c 4; with k1 = 1 and b = 0 their BM25 is as 1 : 4/3 : 8/5. Over foreign stores min-max makes that 0, 5/9 and 1; SQL
divides by the best. c is adjacent to a and d. An agent wrote e, a program the others.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgmem import Memory
from pgmem.database.database import Database
from pgmem.errors import InvalidArgument
from pgmem.features.stores.create import PgStore
from pgmem.features.stores.fusion import Hit, HybridConfig, HybridSearchEngine, fuse
from pgmem.models import MemoryScope
from pgmem.settings import load
from tests.conftest import past_the_pooler
from tests.core.search.conftest import Table

pytestmark = pytest.mark.anyio

# alpha, beta, cap, gamma, delta; the result, best first.
LINEAR = [
    ((0.5, 0.15, 0.3, 0.1, 0.05), {"c": 0.975, "a": 0.6675, "b": 0.53, "d": 0.445277777778, "e": 0.1}),
    ((0.6, 0.15, 0.3, 0.1, 0.05), {"c": 0.935, "a": 0.7675, "b": 0.61, "d": 0.389722222222, "e": 0.1}),
    ((0.0, 0.15, 0.3, 0.1, 0.05), {"c": 1.175, "d": 0.723055555556, "a": 0.1675, "b": 0.13, "e": 0.1}),
    ((1.0, 0.15, 0.3, 0.1, 0.05), {"a": 1.1675, "b": 0.93, "c": 0.775, "d": 0.1675, "e": 0.1}),
    ((0.5, 1.0, 1.0, 0.0, 0.0), {"c": 1.3, "a": 0.75, "d": 0.527777777778, "b": 0.4, "e": 0.0}),
    ((0.5, 1.0, 0.2, 0.5, 0.0), {"c": 1.4, "a": 1.1, "d": 0.877777777778, "b": 0.8, "e": 0.25}),
    ((0.5, 0.0, 0.3, 0.0, 0.0), {"c": 0.8, "a": 0.5, "b": 0.4, "d": 0.277777777778, "e": 0.0}),
]
# k and the same, alpha left out.
RRF = [
    (
        (10, 0.15, 0.3, 0.1, 0.05),
        {"c": 1.175, "b": 1.051416234888, "a": 0.36957253886, "d": 0.290988773748, "e": 0.1},
    ),
    (
        (60, 0.15, 0.3, 0.1, 0.05),
        {"c": 1.175, "b": 1.114111346674, "a": 0.21367639873, "d": 0.197787745403, "e": 0.1},
    ),
    (
        (1, 0.0, 0.3, 0.0, 0.0),
        {"c": 1.0, "b": 0.69696969697, "a": 0.545454545455, "d": 0.242424242424, "e": 0.0},
    ),
]
CONFIGS = [
    HybridConfig(alpha=alpha, graph_beta=beta, boost_cap=cap, trust_gamma=gamma, confidence_weight=delta)
    for (alpha, beta, cap, gamma, delta), _ in LINEAR
] + [
    HybridConfig(
        fusion="rrf",
        rrf_k=k,
        alpha=0.5,
        graph_beta=beta,
        boost_cap=cap,
        trust_gamma=gamma,
        confidence_weight=delta,
    )
    for (k, beta, cap, gamma, delta), _ in RRF
]
TABLE = list(zip(CONFIGS, [scores for _, scores in LINEAR + RRF], strict=True))

SETTINGS = {
    "hybrid_alpha": "alpha",
    "hybrid_titled_alpha": "alpha",
    "hybrid_graph_beta": "graph_beta",
    "hybrid_trust_gamma": "trust_gamma",
    "hybrid_fusion": "fusion",
}
"""The settings of a store that are weights of a HybridConfig too."""
FIXED = {"boost_cap": 0.3, "confidence_weight": 0.05, "rrf_k": 10}
COSINES = {"a": 1.0, "b": 0.8, "c": 0.6, "e": 0.0}
BM25 = {"b": 1.0, "d": 4 / 3, "c": 8 / 5}
RANKS = {"a": (1, None), "b": (2, 3), "c": (3, 1), "d": (None, 2), "e": (4, None)}
NEAR = {"a": 1, "c": 2, "d": 1}
LINKS = {"a": {"c"}, "c": {"a", "d"}, "d": {"c"}}
VECTORS = {"a": [1.0, 0.0, 0.0], "b": [4.0, 3.0, 0.0], "c": [3.0, 4.0, 0.0], "e": [0.0, 1.0, 0.0]}
TEXTS = {"a": "plain", "b": "zebra", "c": "zebra zebra zebra zebra", "d": "zebra zebra", "e": "plain"}


class Elsewhere:
    """A store that is not known to be PostgreSQL: its arms are asked one by one."""

    def __init__(self, store: PgStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def in_sql(config: HybridConfig) -> dict[str, float]:
    """The scores of the five nodes by the formula of search_memory; none is in a session."""
    rrf = {
        name: sum(1 / (config.rrf_k + rank) for rank in ranks if rank is not None)
        for name, ranks in RANKS.items()
    }
    low, high = min(rrf.values()), max(rrf.values())
    scores = {}
    for name in TEXTS:
        text = BM25.get(name, 0.0) / BM25["c"]
        # A text without a vector is scored by its words alone: missing evidence is none against it.
        base = text if name not in COSINES else config.alpha * COSINES[name] + (1 - config.alpha) * text
        if config.fusion == "rrf":
            base = (rrf[name] - low) / (high - low)
        graph = min(NEAR.get(name, 0) / 4, config.boost_cap)
        trust = 0.5 if name == "e" else 0.8
        scores[name] = (
            base + config.graph_beta * graph + config.trust_gamma * trust + config.confidence_weight
        )
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def close(scores: dict[str, float]) -> dict[str, object]:
    return {name: pytest.approx(score, abs=1e-9) for name, score in scores.items()}


@pytest.mark.parametrize(("config", "scores"), TABLE)
def test_python_fuses_known_arms_to_the_figures_of_the_table(
    config: HybridConfig, scores: dict[str, float]
) -> None:
    candidates = [
        Hit(
            node_id=name,
            label="Concept",
            vector_raw=COSINES.get(name),
            fulltext_raw=BM25.get(name),
            trust=0.5 if name == "e" else 0.8,
        )
        for name in TEXTS
    ]
    ranked = fuse(candidates, LINKS, config)
    assert {hit.node_id: hit.final_score for hit in ranked} == close(scores)
    assert [hit.node_id for hit in ranked] == list(scores)


@pytest.mark.usefixtures("vectors")
async def test_sql_and_the_plain_formula_rank_one_store_to_their_figures(
    database: Database, tmp_path: Path
) -> None:
    store = PgStore(database, "test:table", 3)
    told_by_agent = PgStore(
        Database(load(dsn=database.dsn, data_dir=tmp_path), source="mcp"), "test:table", 3
    )
    for name, text in TEXTS.items():
        teller = told_by_agent if name == "e" else store
        await teller.merge_node("Concept", "name", name, {"summary": text}, VECTORS.get(name))
    for one, other in (("a", "c"), ("c", "d")):
        await store.merge_relation("Concept", "name", one, "RELATED_TO", "Concept", "name", other)
    await told_by_agent.aclose()
    memory = Memory(database)
    embedder = Table({"zebra": [1.0, 0.0, 0.0]})
    with psycopg.connect(past_the_pooler(database.dsn)) as connection:
        connection.execute(
            "create or replace function pgmem.length_norm(p_length float8, p_mean_length float8) returns float8"
            " language sql immutable as 'select 1.0::float8'"
        )
    by_settings = HybridSearchEngine(store, store, embedder)
    for config, scores in TABLE:
        own_weights = HybridSearchEngine(store, store, embedder, config)
        elsewhere = HybridSearchEngine(Elsewhere(store), Elsewhere(store), embedder, config)
        for engine in (by_settings, own_weights, elsewhere):
            # Its own weights hold whatever the store's are.
            kept = config if engine is by_settings else HybridConfig(alpha=0.9, trust_gamma=7)
            if engine is by_settings and any(getattr(config, name) != value for name, value in FIXED.items()):
                continue
            for name, field in SETTINGS.items():
                await memory.set_setting(name, str(getattr(kept, field)))
            ranked = await engine.search("zebra")
            wanted = in_sql(config) if engine is by_settings else scores
            assert ranked.search_mode.mode == "hybrid"
            assert {hit.key: hit.final_score for hit in ranked} == close(wanted), (engine.config, config)
            assert [hit.final_score for hit in ranked] == [
                pytest.approx(score, abs=1e-9) for score in wanted.values()
            ]


@pytest.mark.parametrize(
    "weights",
    [
        {"hybrid_alpha": 1.1},
        {"hybrid_alpha": "0.5"},
        {"hybrid_fusion": "median"},
        {"hybrid_arm_limit": 2.5},
        {"hybrid_trust_gamma": -1},
        {"decay_rate": 0},
        {"alpha": 0.5},
    ],
)
async def test_a_weight_that_cannot_be_is_refused_with_what_can(
    database: Database, weights: dict[str, float | str]
) -> None:
    memory = Memory(database)
    with pytest.raises(InvalidArgument, match="hybrid_alpha|linear or rrf"):
        await memory.search_memory("zebra", weights=weights)
    for name, value in weights.items():
        if name.startswith("hybrid") and value != "0.5" and name != "hybrid_arm_limit":
            with pytest.raises(InvalidArgument, match=name):
                await memory.set_setting(name, str(value))


@pytest.mark.usefixtures("vectors")
async def test_the_parts_of_a_score_that_explain_gives_add_up_to_it(database: Database) -> None:
    memory = Memory(database, Table({"zebra": [1.0, 0.0, 0.0], "lion": [0.6, 0.8, 0.0]}))
    await memory.register_embedder()
    session = await memory.save_session("a walk in the zoo on 4 May 2023", "zoo")
    acting = memory.acting_as(MemoryScope(session_id=str(session.artifact_id), agent_id="Ann"))
    for text in ("the zebra sleeps", "the lion eats", "the zebra eats too"):
        await acting.save_context(text, "zoo")
    await memory.embed_waiting()
    for fusion in ("linear", "rrf"):
        found = await memory.search_memory(
            "what did Ann see of the zebra in May 2023?", 10, "zoo", explain=True, fusion=fusion
        )
        assert len(found.results) >= 3
        for result in found.results:
            explanation = result.explanation
            assert explanation is not None
            weights = explanation["weights"]
            parts = sum(explanation[part] for part in ("base", "question", "session", "prior")) + sum(
                float(weights[f"hybrid_{weight}"]) * explanation[part]
                for weight, part in (
                    ("trust_gamma", "trust"),
                    ("confidence_weight", "confidence"),
                    ("date_weight", "date"),
                    ("source_weight", "source"),
                )
            )
            parts += float(weights["hybrid_graph_beta"]) * min(
                explanation["graph"], float(weights["hybrid_boost_cap"])
            )
            assert result.score == pytest.approx(parts, abs=1e-9)
            if fusion == "linear":
                alpha = explanation["alpha"]
                assert explanation["base"] == pytest.approx(
                    alpha * result.vector + (1 - alpha) * result.fulltext, abs=1e-9
                )
            likeness = 0.5 * explanation["cosine"] + 0.5 * (explanation["bm25"] or 0) / explanation["most"]
            assert explanation["likeness"] == pytest.approx(likeness, abs=1e-9)
            assert result.relevance == pytest.approx(1 / (1 + math.exp(-15 * (likeness - 0.3))), abs=1e-9)
    sources = {result.title: (result.explanation or {})["source"] for result in found.results}
    assert set(sources.values()) == {0.0, 1.0}  # Ann's memories, and the session itself


@pytest.mark.usefixtures("vectors")
async def test_the_terms_that_the_chapter_lists_add_up_to_the_score(database: Database) -> None:
    """Its table is read from the source: a term or a weight that it does not name would be missing in a sum."""
    head = Path("sql/core/reading/42-search-memory.sql").read_text(encoding="utf-8").split("-- Locks:")[0]
    weights = {
        name: float(weight) for name, weight in re.findall(r"^--   (\w+) +([0-9.]+)   \S", head, re.MULTILINE)
    }
    assert len(weights) == 13
    memory = Memory(database, Table({"zebra": [1.0, 0.0, 0.0], "lion": [0.6, 0.8, 0.0]}))
    await memory.register_embedder()
    session = await memory.save_session("a walk in the zoo on 4 May 2023", "zoo")
    acting = memory.acting_as(MemoryScope(session_id=str(session.artifact_id), agent_id="Ann"))
    for text in ("who sees the zebra today?", "the lion eats on Monday", "always feed the zebra at noon"):
        await acting.save_context(text, "zoo")
    await memory.save_context("The zebra is fed by Ann.", "zoo", topic="Zebra", citation=["docs/zebra.md"])
    await memory.embed_waiting()
    for query in ("when does Ann feed the zebra", "what did the lion eat in May 2023", "Zebra"):
        for result in (await memory.search_memory(query, 10, "zoo", explain=True)).results:
            part = result.explanation
            assert part is not None
            terms = {
                name: weight * min(part[name], 0.3 if name == "graph" else part[name])
                for name, weight in weights.items()
            }
            assert result.score == pytest.approx(sum(terms.values()), abs=1e-9), (query, result.title, terms)
            assert result.relevance == pytest.approx(
                1 / (1 + math.exp(-15 * (part["likeness"] - 0.3))), abs=1e-9
            )

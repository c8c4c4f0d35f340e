"""Retrieval metrics of a ranked list and a set of relevant items. Sources: Manning et al., IR, chapter 8; LoCoMo."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev


def score(ranked: Sequence[str], gold: set[str]) -> dict[str, float]:
    """R@k (share of the gold within the top k), hit@10 (any), all@10, NDCG@10 (binary), MRR; each 0 to 1."""
    found = {f"R@{k}": len(gold.intersection(ranked[:k])) / len(gold) for k in (1, 5, 10, 20)}
    top = ranked[:10]
    gain = sum(1 / math.log2(place + 2) for place, item in enumerate(top) if item in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    first = next((place for place, item in enumerate(ranked, start=1) if item in gold), None)
    return {
        **found,
        "hit@5": float(any(item in gold for item in ranked[:5])),
        "hit@10": float(any(item in gold for item in top)),
        "all@10": float(gold.issubset(top)),
        "NDCG@10": gain / ideal,
        "MRR": 1 / first if first else 0.0,
    }


def mean_of(scores: Iterable[dict[str, float]]) -> dict[str, float]:
    """The mean of each metric in percent, the number of questions, and the standard error of R@10 in points."""
    rows = list(scores)
    if not rows:
        return {"n": 0}
    means = {name: round(100 * fmean(row[name] for row in rows), 2) for name in rows[0]}
    error = 100 * stdev(row["R@10"] for row in rows) / math.sqrt(len(rows)) if len(rows) > 1 else 0.0
    return {"n": len(rows), **means, "SE(R@10)": round(error, 2)}

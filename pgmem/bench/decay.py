"""Decay: what a batch of memories costs that are archived because they have faded."""

from __future__ import annotations

import time

from pgmem.bench.filled import Told, acting, filled
from pgmem.bench.timing import SpeedRow, measured

__all__ = ["fading"]

# So fast that what is ten seconds old is gone; the fill makes memories up to days old.
_ARCHIVE = "select archived, remaining from pgmem.decay_scores(0, 100, 0.99, p_limit => %s)"


def fading(server: str, size: int, batch: int, tell: Told) -> list[SpeedRow]:
    """Archive the memories of a store batch by batch, in one session that saved before."""
    times: list[float] = []
    with filled(server, size, vectors=True, told=tell) as dsn, acting(dsn) as connection:
        connection.execute(
            "select pgmem.upsert_entity('api', 'port ' || n, 'bench') from generate_series(1, 10) n"
        )
        tell("archiving what has faded", 0, 1)
        remaining = batch
        while remaining >= batch:
            began = time.perf_counter()
            row = connection.execute(_ARCHIVE, (batch,)).fetchone() or (0, 0)
            archived, remaining = (int(str(number)) for number in row)
            if archived == batch:
                times.append((time.perf_counter() - began) * 1000)
        tell("archiving what has faded", 1, 1)
    return [measured(f"decay_scores, a batch of {batch} archived", size, times, p50_ms=500)]

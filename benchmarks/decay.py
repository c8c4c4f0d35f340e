"""Decay: the time to archive a batch of memories whose confidence has decayed."""

from __future__ import annotations

import time

from benchmarks.databases import Progress, connect_as, filled_database
from benchmarks.timing import SpeedRow, time_row

# Decays so fast that any memory older than ten seconds is archived; the databases hold memories days old.
# Decisions hold until they are replaced, so they become notes first.
_NOTES = """
alter table pgmem.node disable trigger user;
update pgmem.node set label = 'Context' where label = 'Decision';
alter table pgmem.node enable trigger user
"""
_ARCHIVE = "select archived, remaining from pgmem.decay_scores(0, 100, 0.99, p_limit => %s)"


def decay_rows(server: str, size: int, batch: int, progress: Progress) -> list[SpeedRow]:
    """Archive the memories of a store in batches, in a session that has saved before."""
    times: list[float] = []
    with filled_database(server, size, vectors=True, progress=progress) as dsn, connect_as(dsn) as connection:
        connection.execute(_NOTES)
        connection.execute(
            "select pgmem.upsert_entity('api', 'port ' || n, 'bench') from generate_series(1, 10) n"
        )
        progress("archiving decayed memories", 0, 1)
        remaining = batch
        while remaining >= batch:
            began = time.perf_counter()
            row = connection.execute(_ARCHIVE, (batch,)).fetchone() or (0, 0)
            archived, remaining = (int(str(number)) for number in row)
            if archived == batch:
                times.append((time.perf_counter() - began) * 1000)
        progress("archiving decayed memories", 1, 1)
    return [time_row(f"decay_scores, a batch of {batch} archived", size, times, p50_ms=500)]

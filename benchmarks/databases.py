"""Databases with a given number of memories, created for one run and dropped after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from uuid import uuid4

import anyio
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from benchmarks.corpus import Corpus
from pgmem.database.identity import SET_FOR_TRANSACTION, Identity
from pgmem.embeddings.static import StaticProvider
from pgmem.embeddings.text import vectors_of
from pgmem.install import schema

PROJECT = "bench"
_BATCH = 5_000
Progress = Callable[[str, int, int], None]
"""Called with the name of a step, its finished units and their total."""


def unseen(_step: str, _done: int, _total: int) -> None:
    """Show no progress."""


# The functions of a save, for all rows at once. Near duplicates stay: the benchmark measures how they are found.
_DECISIONS = """
insert into pgmem.node (label, title, props, scope, project, project_seq, user_id, source, trust_level,
  content_hash, scope_key, title_tokens, text_config, tsv, text_length, titled, created_at, updated_at, recorded_at)
select 'Decision', g.title, d.props, 'project', p.key, p.seq, p.user_id, 'sdk', 0.8,
  pgmem.content_hash(array[g.title || ' ' || g.rationale]),
  pgmem.scope_key(p.tenant, p.seq::text, 'Decision'), pgmem.tokens(g.title), p.text_config,
  t.tsv || array_to_tsvector(pgmem.scope_lexemes(p.tenant, p.seq)), l.text_length, true, d.made_at, d.made_at,
  d.made_at
from given g
join pgmem.node p on p.label = 'Project' and p.key = g.project and p.user_id = g.user_id
cross join lateral (select jsonb_build_object('rationale', g.rationale, 'date', '2026-01-01') as props,
  now() - make_interval(secs => g.age) as made_at offset 0) d
cross join lateral (select pgmem.text_vector(p.text_config,
  pgmem.search_text('Decision', g.title, d.props), g.title) as tsv offset 0) t
cross join lateral pgmem.text_length(t.tsv) as l(text_length)
order by g.age desc
"""

_EDGES = """
with numbered as (
  select seq, row_number() over (order by seq) as place from pgmem.node where label = 'Decision')
insert into pgmem.edge (src, rel, dst, created_at)
select s.seq, 'RELATED_TO', d.seq, now()
from joined j join numbered s on s.place = j.src join numbered d on d.place = j.dst
on conflict do nothing
"""


@contextmanager
def filled_database(
    server: str,
    memories: int,
    *,
    users: Sequence[str] = ("",),
    edges: int = 0,
    vectors: bool = False,
    texts: Iterator[tuple[str, str]] | None = None,
    progress: Progress = unseen,
) -> Iterator[str]:
    """Create a database with pgmem and this many decisions; yield its DSN, drop it afterwards.

    Args:
        server: the DSN of any database of the server.
        memories: how many decisions, distributed evenly over the users; each user has a project.
        users: the user_id of each tenant; a user listed twice gets twice as many decisions.
        edges: how many relations between random pairs of decisions.
        vectors: whether each decision gets a vector of the static provider, indexed as the worker does it.
        texts: titles and bodies of the decisions; None generates them.
        progress: called as the work advances.
    """
    name = f"pgmem_bench_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
        try:
            dsn = make_conninfo(server, dbname=name)
            schema.upgrade(dsn)
            with psycopg.connect(dsn) as connection:
                _write(connection, memories, users, edges, texts or _generated(memories), progress)
                if vectors:
                    _embed(connection, progress)
            with psycopg.connect(dsn, autocommit=True) as connection:
                if vectors:
                    _index(connection)
                connection.execute("vacuum analyze")
                with suppress(psycopg.errors.InsufficientPrivilege):
                    connection.execute("checkpoint")
            yield dsn
        finally:
            admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def connect_as(dsn: str, user: str = "") -> psycopg.Connection[tuple[object, ...]]:
    """An autocommit connection with the identity of a user; statements are prepared at their second use."""
    connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=1)
    for setting in Identity(user_id=user)._asdict().items():
        connection.execute("select set_config('pgmem.' || %s, %s, false)", setting)
    return connection


def _generated(memories: int) -> Iterator[tuple[str, str]]:
    corpus = Corpus(f"{memories} memories")
    while True:
        yield corpus.title(), corpus.body()


def _write(
    connection: psycopg.Connection[tuple[object, ...]],
    memories: int,
    users: Sequence[str],
    edges: int,
    texts: Iterator[tuple[str, str]],
    progress: Progress,
) -> None:
    for user in dict.fromkeys(users):
        connection.execute(SET_FOR_TRANSACTION, Identity(user_id=user))
        connection.execute("select * from pgmem.save_session('Measure.', %s)", (PROJECT,))
    connection.execute(
        "create temp table given (age integer, project text, user_id text, title text, rationale text)"
        " on commit drop; create temp table joined (src bigint, dst bigint) on commit drop"
    )
    what = f"filling {memories} memories"
    with connection.cursor().copy("copy given from stdin") as rows:
        for number in range(memories):
            user = users[number % len(users)]
            rows.write_row((memories - number, PROJECT, user, *next(texts)))
            if number % 1000 == 0:
                progress(what, number, 2 * memories)
    connection.execute(_DECISIONS)
    progress(what, 3 * memories // 2, 2 * memories)
    while connection.execute("select pgmem.refresh_dedup()").fetchone() != (0,):
        pass  # one scope a call
    connection.execute("select pgmem.refresh_statistics(true)")
    if edges:
        chance = Random(edges)
        with connection.cursor().copy("copy joined from stdin") as rows:
            for _ in range(edges):
                rows.write_row(chance.sample(range(1, memories + 1), 2))
        connection.execute(_EDGES)
    progress(what, 2 * memories, 2 * memories)


def _embed(connection: psycopg.Connection[tuple[object, ...]], progress: Progress) -> None:
    """Embed all decisions and store the vectors, in batches; in the transaction and with the identity of `_write`."""
    provider = StaticProvider()
    connection.execute("select pgmem.register_model(%s, %s)", (provider.model, provider.dimensions))
    rows = connection.execute(
        "select seq, pgmem.embedding_text(label, title, props) from pgmem.node where label = 'Decision' order by seq"
    ).fetchall()
    connection.execute("create temp table embedded (seq bigint, vector halfvec) on commit drop")
    with connection.cursor().copy("copy embedded from stdin") as copy:
        for place in range(0, len(rows), _BATCH):
            some = rows[place : place + _BATCH]
            vectors = anyio.run(vectors_of, provider, [str(text) for _, text in some])
            for (seq, _), vector in zip(some, vectors, strict=True):
                copy.write_row((seq, str(vector)))
            progress(f"embedding {len(rows)} memories", place, len(rows))
    connection.execute(
        "insert into pgmem.embedding (node_seq, model_id, tenant, project_seq, text_hash, vector)"
        " select n.seq, m.id, n.tenant, n.project_seq,"
        " encode(sha256(convert_to(pgmem.embedding_text(n.label, n.title, n.props), 'UTF8')), 'hex'), e.vector"
        " from embedded e join pgmem.node n using (seq) join pgmem.embedding_model m on m.active"
    )
    progress(f"embedding {len(rows)} memories", len(rows), len(rows))


def _index(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    wanted = connection.execute("select wanted from pgmem.index_vectors()").fetchone()
    assert wanted is not None
    for statement in wanted[0]:  # type: ignore[attr-defined]
        connection.execute(str(statement).encode())

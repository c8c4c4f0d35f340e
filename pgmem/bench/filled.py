"""Databases that hold a given number of memories, made for one run and dropped after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from uuid import uuid4

import anyio
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgmem.bench.corpus import Corpus
from pgmem.database import schema
from pgmem.embeddings.static import StaticProvider

__all__ = ["PROJECT", "Told", "acting", "filled"]

PROJECT = "bench"
_EMBEDDED = 5_000
Told = Callable[[str, int, int], None]

# Through the functions that a save goes through, all at once. Near copies stay in: finding them is measured.
_DECISIONS = """
insert into pgmem.node (label, title, props, scope, project, project_seq, user_id, source, trust_level,
  content_hash, scope_key, title_tokens, text_config, tsv, text_length, created_at, updated_at, recorded_at)
select 'Decision', g.title, d.props, 'project', p.key, p.seq, p.user_id, 'sdk', 0.8,
  pgmem.content_hash(array[g.title || ' ' || g.rationale]),
  pgmem.scope_key(p.tenant, p.seq::text, 'Decision'), pgmem.tokens(g.title), p.text_config,
  t.tsv || array_to_tsvector(pgmem.scope_lexemes(p.tenant, p.seq)), l.text_length, d.made_at, d.made_at,
  d.made_at
from given g
join pgmem.node p on p.label = 'Project' and p.key = g.project and p.user_id = g.user_id
cross join lateral (select jsonb_build_object('rationale', g.rationale, 'date', '2026-01-01') as props,
  now() - make_interval(secs => g.age) as made_at offset 0) d
cross join lateral (select to_tsvector(p.text_config::regconfig,
  pgmem.segment(pgmem.search_text('Decision', g.title, d.props))) as tsv offset 0) t
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
def filled(
    server: str,
    memories: int,
    *,
    users: Sequence[str] = ("",),
    edges: int = 0,
    vectors: bool = False,
    told: Told | None = None,
) -> Iterator[str]:
    """A database with pgmem and so many decisions in it; its DSN.

    Args:
        server: any database of the server to make it on.
        memories: how many decisions, shared out among the users, each user's in a project of his own.
        users: the user_id of each tenant; who is named twice gets twice as many.
        edges: how many relations between random decisions.
        vectors: give each a vector of the static provider, indexed as the worker would.
        told: called with (what, done, of) as the work goes on.
    """
    name = f"pgmem_bench_{uuid4().hex[:12]}"
    tell = told or (lambda _what, _done, _of: None)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
        try:
            dsn = make_conninfo(server, dbname=name)
            schema.upgrade(dsn)
            with psycopg.connect(dsn) as connection:
                _write(connection, memories, users, edges, tell)
                if vectors:
                    _embed(connection, tell)
            with psycopg.connect(dsn, autocommit=True) as connection:
                if vectors:
                    _index(connection)
                connection.execute("vacuum analyze")
                with suppress(psycopg.errors.InsufficientPrivilege):
                    connection.execute("checkpoint")
            yield dsn
        finally:
            admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def acting(dsn: str, user: str = "") -> psycopg.Connection[tuple[object, ...]]:
    """An autocommit connection that acts for a user; statements are prepared at their second use."""
    connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=1)
    connection.execute(
        "select set_config('pgmem.user_id', %s, false), set_config('pgmem.source', 'sdk', false)", (user,)
    )
    return connection


def _write(
    connection: psycopg.Connection[tuple[object, ...]],
    memories: int,
    users: Sequence[str],
    edges: int,
    tell: Told,
) -> None:
    for user in dict.fromkeys(users):
        connection.execute(
            "select set_config('pgmem.user_id', %s, true), set_config('pgmem.source', 'sdk', true)", (user,)
        )
        connection.execute("select * from pgmem.save_session('Measure.', %s)", (PROJECT,))
    connection.execute(
        "create temp table given (age integer, project text, user_id text, title text, rationale text)"
        " on commit drop; create temp table joined (src bigint, dst bigint) on commit drop"
    )
    corpus = Corpus(f"{memories} memories")
    what = f"filling {memories} memories"
    with connection.cursor().copy("copy given from stdin") as rows:
        for number in range(memories):
            user = users[number % len(users)]
            rows.write_row((memories - number, PROJECT, user, corpus.title(), corpus.body()))
            if number % 1000 == 0:
                tell(what, number, 2 * memories)
    connection.execute(_DECISIONS)
    tell(what, 3 * memories // 2, 2 * memories)
    connection.execute("select pgmem.refresh_dedup(), pgmem.refresh_statistics(true)")
    if edges:
        chance = Random(edges)
        with connection.cursor().copy("copy joined from stdin") as rows:
            for _ in range(edges):
                rows.write_row(chance.sample(range(1, memories + 1), 2))
        connection.execute(_EDGES)
    tell(what, 2 * memories, 2 * memories)


def _embed(connection: psycopg.Connection[tuple[object, ...]], tell: Told) -> None:
    """Vectors of all decisions, made and stored many at once."""
    provider = StaticProvider()
    connection.execute(
        "select set_config('pgmem.source', 'sdk', true), pgmem.register_model(%s, %s)",
        (provider.model, provider.dimensions),
    )
    rows = connection.execute(
        "select seq, pgmem.embedding_text(label, title, props) from pgmem.node where label = 'Decision' order by seq"
    ).fetchall()
    connection.execute("create temp table embedded (seq bigint, vector halfvec) on commit drop")
    with connection.cursor().copy("copy embedded from stdin") as copy:
        for place in range(0, len(rows), _EMBEDDED):
            some = rows[place : place + _EMBEDDED]
            vectors = anyio.run(provider.embed_batch, [str(text) for _, text in some])
            for (seq, _), vector in zip(some, vectors, strict=True):
                copy.write_row((seq, str(vector)))
            tell(f"embedding {len(rows)} memories", place, len(rows))
    connection.execute(
        "insert into pgmem.embedding (node_seq, model_id, kind, tenant, project_seq, text_hash, vector)"
        " select n.seq, m.id, 'self', n.tenant, n.project_seq,"
        " encode(sha256(convert_to(pgmem.embedding_text(n.label, n.title, n.props), 'UTF8')), 'hex'), e.vector"
        " from embedded e join pgmem.node n using (seq) join pgmem.embedding_model m on m.active"
    )
    tell(f"embedding {len(rows)} memories", len(rows), len(rows))


def _index(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    wanted = connection.execute("select wanted from pgmem.index_vectors()").fetchone()
    assert wanted is not None
    for statement in wanted[0]:  # type: ignore[attr-defined]
        connection.execute(str(statement).encode())

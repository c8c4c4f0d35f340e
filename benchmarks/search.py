"""Search: each arm, hybrid search against the sum of its arms, narrow scopes, and the cost of a vector for a save."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import anyio
import psycopg

from benchmarks.corpus import Corpus
from benchmarks.databases import PROJECT, Progress, connect_as, filled_database
from benchmarks.timing import SpeedRow, interleaved, ratio_row, share_row, time_row
from pgmem.embeddings.static import StaticProvider
from pgmem.embeddings.text import vectors_of

_QUESTIONS = 200
_BARE_VECTOR = "select node_seq from bench_vector order by vector <=> %s::halfvec limit 20"
_TEXT_ARM = (
    "select t.* from pgmem.search_words(%s::text[], row(array[%s], %s, null, null, null, null, null, null, null, now())"
    "::pgmem.search_filter) w cross join lateral pgmem.text_candidates(w, row(array[%s], %s, null, null, null, null,"
    " null, null, null, now())::pgmem.search_filter, 50) t"
)
_HYBRID = "select * from pgmem.search_memory(%s, 10, %s, p_embedding => %s::real[], p_embedding_model => %s)"
_RETRIEVE = "select * from pgmem.retrieve_context(%s, 'project')"
_EXACT = (
    "select e.node_seq from pgmem.embedding e join pgmem.node n on n.seq = e.node_seq"
    " where n.user_id = %s order by (e.vector <=> %s::halfvec) + 0 limit 10"
)
# Full BM25 with the weights of the text arm, over every memory that contains any of the words.
_BM25 = """
with word as (
  select n.seq, n.text_length, u.lexeme, cardinality(u.positions) as tf
  from pgmem.node n cross join lateral unnest(n.tsv) as u(lexeme, positions, weights)
  where n.label = 'Decision' and n.tsv @@ %(any)s::tsquery and u.lexeme = any (%(words)s)
), size as (
  select count(*)::float8 as memories, avg(text_length)::float8 as mean from pgmem.node where label = 'Decision'
), idf as (
  select w.lexeme, ln(1 + (s.memories - count(*) + 0.5) / (count(*) + 0.5)) as idf
  from word w cross join size s group by w.lexeme, s.memories
)
select n.id from word w join idf using (lexeme) join pgmem.node n on n.seq = w.seq cross join size s
group by n.id, w.seq order by sum(idf.idf * w.tf * (%(k1)s + 1)
  / (w.tf + %(k1)s * (1 - %(b)s + %(b)s * greatest(w.text_length, 30) / greatest(s.mean, 30)))) desc,
  w.seq desc limit 10
"""


class _Queries:
    """Questions with their vectors, one at a time, and the calls that answer the current one."""

    def __init__(self, dsn: str, user: str = "") -> None:
        self.connection = connect_as(dsn, user)
        self._provider = StaticProvider()
        corpus = Corpus("questions")
        self.texts = [corpus.question() for _ in range(_QUESTIONS)]
        vectors = anyio.run(self._provider.embed_batch, self.texts)
        # As text for pgvector and the verbs, so that converting lists to arrays is not measured.
        self.vectors = [str(vector) for vector in vectors]
        self._arrays = [vector.replace("[", "{").replace("]", "}") for vector in self.vectors]
        self._turn = 0
        found = self.connection.execute(
            "select tenant, seq from pgmem.node where label = 'Project' and user_id = %s", (user,)
        ).fetchone()
        assert found is not None
        self._tenant, self._project = found
        self._lexemes = [
            row[0]
            for text in self.texts
            for row in self.connection.execute("select pgmem.query_lexemes(%s, 'english')", (text,))
        ]

    def __enter__(self) -> _Queries:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def index_bare(self) -> None:
        """Copy the vectors to a table with an HNSW index: the floor, pgvector alone."""
        self.connection.execute(
            "set maintenance_work_mem = '512MB';"
            f"create table bench_vector as select node_seq, vector::halfvec({self._provider.dimensions}) as vector"
            " from pgmem.embedding;"
            "create index on bench_vector using hnsw (vector halfvec_cosine_ops);"
            "analyze bench_vector"
        )

    def vector(self) -> bool:
        self.connection.execute(_BARE_VECTOR, (self.vectors[self._turn],)).fetchall()
        return True

    def text(self) -> bool:
        scope = (self._tenant, self._project, self._tenant, self._project)
        self.connection.execute(_TEXT_ARM, (self._lexemes[self._turn], *scope)).fetchall()
        return True

    def hybrid(self) -> bool:
        self.connection.execute(
            _HYBRID, (self.texts[self._turn], PROJECT, self._arrays[self._turn], self._provider.model)
        ).fetchall()
        return True

    def retrieve(self) -> bool:
        self.connection.execute(_RETRIEVE, (PROJECT,)).fetchall()
        return True

    def next(self) -> bool:
        """Move to the next question. Its time is not reported."""
        self._turn = (self._turn + 1) % _QUESTIONS
        return True


def search_rows(server: str, sizes: Sequence[int], rounds: int, progress: Progress) -> list[SpeedRow]:
    """Time hybrid search and its arms in projects of these sizes, in the largest beside full BM25."""
    rows: list[SpeedRow] = []
    if not _has_vectors(server):
        return rows
    for size in sizes:
        with ExitStack() as stack:
            dsn = stack.enter_context(filled_database(server, size, vectors=True, progress=progress))
            queries = stack.enter_context(_Queries(dsn))
            queries.index_bare()
            progress(f"searching {size} memories", 0, 1)
            times = interleaved(
                {
                    call.__name__: call
                    for call in (queries.vector, queries.text, queries.hybrid, queries.next)
                },
                rounds,
            )
            arms = [sum(pair) for pair in zip(times["vector"], times["text"], strict=True)]
            largest = size == sizes[-1]
            rows += [
                ratio_row("search_memory, hybrid / bare HNSW + text arm", size, times["hybrid"], arms, 1.5),
                ratio_row("search_memory, hybrid / bare HNSW top 20", size, times["hybrid"], times["vector"]),
                time_row("search_memory, hybrid", size, times["hybrid"], spread=3),
                time_row(
                    "text arm, best 50",
                    size,
                    times["text"],
                    p50_ms=12 if size >= 100_000 else None,
                    p95_ms=30 if size >= 100_000 else None,
                ),
            ]
            if largest:
                rows.append(_found_of_bm25(queries, size))
                rows.append(_writing(dsn, size, rounds, progress))
            progress(f"searching {size} memories", 1, 1)
    return rows


def _found_of_bm25(queries: _Queries, size: int) -> SpeedRow:
    found = []
    for text in queries.texts[:100]:
        (words,) = queries.connection.execute(
            "select pgmem.query_lexemes(%s, 'english')", (text,)
        ).fetchone() or ([],)
        assert isinstance(words, list)
        best = queries.connection.execute(
            _BM25,
            {
                "any": " | ".join(f"'{word}'" for word in words),
                "words": words,
                "k1": 1.2,
                "b": 0.9,
            },
        ).fetchall()
        arm = queries.connection.execute(
            "select id from pgmem.fulltext_search(%s, 10, %s)", (text, PROJECT)
        ).fetchall()
        found.append(_share(arm, best))
    return share_row("text arm, share of full BM25's best 10", size, found, 0.95)


def narrow_scope_rows(
    server: str, tenants: int, each: int, rounds: int, progress: Progress
) -> list[SpeedRow]:
    """Time one tenant among many against the same tenant alone; in a scope of half that size, measure recall."""
    if not _has_vectors(server):
        return []
    users = [f"user {number}" for number in range(tenants - 1)]
    shares = [*users, *users, "half", "other half"]
    with ExitStack() as stack:
        crowded = stack.enter_context(
            filled_database(server, tenants * each, users=shares, vectors=True, progress=progress)
        )
        alone = stack.enter_context(
            filled_database(server, each, users=users[:1], vectors=True, progress=progress)
        )
        many, one = (stack.enter_context(_Queries(dsn, users[0])) for dsn in (crowded, alone))
        progress("one tenant of many", 0, 1)
        times = interleaved(
            {
                f"{call.__name__} {name}": call
                for name, queries in (("many", many), ("one", one))
                for call in (queries.retrieve, queries.text, queries.hybrid, queries.next)
            },
            rounds,
        )
        name = f"one of {tenants} tenants / alone in the store"
        rows = [
            ratio_row(f"{verb}, {name}", tenants * each, times[f"{call} many"], times[f"{call} one"], 1.5)
            for verb, call in (("retrieve_context", "retrieve"), ("search_memory", "hybrid"))
        ]
        rows.append(
            time_row(
                f"text arm in a scope of {100 / tenants:g} %", tenants * each, times["text many"], p50_ms=2
            )
        )
        rows.append(_nearest(crowded, "half", tenants * each, progress))
    return rows


def _nearest(dsn: str, user: str, size: int, progress: Progress) -> SpeedRow:
    """recall@10 of a tenant's vector search against a comparison with each of its vectors."""
    with _Queries(dsn, user) as queries:
        found = []
        for array, vector in zip(queries._arrays[:100], queries.vectors, strict=False):
            exact = queries.connection.execute(_EXACT, (user, vector)).fetchall()
            got = queries.connection.execute(
                "select n.seq from pgmem.search_vectors(%s::real[], 10, %s, %s) v join pgmem.node n on n.id = v.id",
                (array, queries._provider.model, PROJECT),
            ).fetchall()
            found.append(_share(got, exact))
        progress("one tenant of many", 1, 1)
    return share_row("nearest 10 of a scope of half that size, share found", size, found, 0.98)


def _writing(dsn: str, size: int, rounds: int, progress: Progress) -> SpeedRow:
    """Time a save with its vector against one without, in the same store."""
    with connect_as(dsn) as connection:
        provider = StaticProvider()
        corpus = Corpus("written with vectors")
        given = [(corpus.title(), corpus.body()) for _ in range(2 * (rounds + 10))]
        texts = connection.execute(
            "select pgmem.embedding_text('Decision', t.title,"
            " jsonb_build_object('rationale', t.body, 'date', current_date))"
            " from unnest(%s::text[], %s::text[]) with ordinality as t(title, body, place) order by place",
            ([title for title, _ in given], [body for _, body in given]),
        ).fetchall()
        vectors = [
            "{" + str(vector)[1:-1] + "}"
            for vector in anyio.run(vectors_of, provider, [str(text) for (text,) in texts])
        ]
        waiting = iter(zip(given, vectors, texts, strict=True))

        def save(with_vector: bool) -> bool:
            (title, body), vector, (text,) = next(waiting)
            answer = connection.execute(
                "select dedup_outcome, embedded from pgmem.save_decision(%s, %s, %s, p_embedding => %s::real[],"
                " p_embedding_model => %s, p_embedding_text_hash => encode(sha256(convert_to(%s, 'UTF8')), 'hex'))",
                (
                    title,
                    body,
                    PROJECT,
                    vector if with_vector else None,
                    provider.model if with_vector else None,
                    text,
                ),
            ).fetchone()
            return answer == ("new", with_vector)

        progress("writing with vectors", 0, 1)
        times = interleaved({"with": lambda: save(True), "without": lambda: save(False)}, rounds)
        progress("writing with vectors", 1, 1)
    return ratio_row("save_decision with its vector / without", size, times["with"], times["without"], 1.3)


def _has_vectors(server: str) -> bool:
    with psycopg.connect(server) as connection:
        offered = connection.execute("select 1 from pg_available_extensions where name = 'vector'").fetchone()
    return offered is not None


def _share(found: Iterable[tuple[object, ...]], wanted: Sequence[tuple[object, ...]]) -> float:
    return len(set(found) & set(wanted)) / len(wanted) if wanted else 1.0

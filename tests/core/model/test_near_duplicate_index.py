"""The near-duplicate index finds exactly the titles that a comparison with every live title finds.

A small vocabulary makes collisions frequent. The model is a list of (status, token set); the index is asked after every
kind of change: new titles, superseded ones, fresh token statistics.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from hashlib import sha256

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow, dict_row

from tests.conftest import new_database, stores_of
from tests.fixtures.amounts import amount

WORDS = ["h", "b", "c", "d", "e", "f", "g", "é", "naïve", "日本", "xy", "zwei", "under_score", "ß"]
BORING = ["the", "and"]
SIGNS = ["!", "-", " … ", "🚀", "'"]

words = st.lists(st.sampled_from(WORDS + 3 * BORING), min_size=0, max_size=9)
# One order at the beginning of all: titles whose first words alone differ may name two things.
titles = st.lists(st.sampled_from(WORDS + 3 * BORING + SIGNS), min_size=1, max_size=9).map(
    lambda said: " ".join(["keep", *said])
)
quick = settings(
    max_examples=amount(30, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

Model = list[tuple[int, bool, frozenset[str]]]


def tokens(text: str) -> frozenset[str]:
    composed = unicodedata.normalize("NFKC", text).lower()
    # Without blanks between words, two neighbouring characters are one.
    cut = re.sub(
        "[\u3040-\u30ff\u3400-\u9fff]{2,}",
        lambda run: f" {' '.join(a + b for a, b in itertools.pairwise(run[0]))} ",
        composed,
    )
    return frozenset(re.findall(r"\w+|[\u2190-\u2bff\U0001f000-\U0001faff]", cut))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


@pytest.fixture(scope="module")
def connection(server: str, template: str) -> Iterator[psycopg.Connection[DictRow]]:
    """One store for all examples; each runs in a transaction that is rolled back, at the cell of a front."""
    with (
        new_database(server, template) as dsn,
        psycopg.connect(stores_of(dsn)[0], autocommit=True, row_factory=dict_row) as connection,
    ):
        connection.execute("select pgmem.save_session('o', 'shop')")
        yield connection


def one(connection: psycopg.Connection[DictRow], query: str, *parameters: object) -> DictRow:
    row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row


def add(connection: psycopg.Connection[DictRow], title: str) -> int:
    """A live title, entered as insert_node enters it, without the rules that would refuse it."""
    row = one(
        connection,
        "select (pgmem.insert_node(n)).seq from (select x.* from"
        " jsonb_populate_record(pgmem.new_node('Decision', pgmem.require_writer()), jsonb_build_object('title', %s::text,"
        " 'title_tokens', pgmem.tokens(%s), 'project_seq', (select seq from pgmem.node where key = 'shop'), 'project', 'shop',"
        " 'scope', 'project')) x) n",
        title,
        title,
    )
    return int(row["seq"])


def nearest(connection: psycopg.Connection[DictRow], asked: list[str]) -> list[tuple[int, float] | None]:
    rows = connection.execute(
        "select d.seq, d.score from unnest(%s::text[]) with ordinality as a(title, place) cross join lateral"
        " (select scope_key, tenant from pgmem.node where label = 'Decision' limit 1) place"
        " cross join lateral pgmem.near_duplicate(place.scope_key, place.tenant, a.title) d order by a.place",
        (asked,),
    ).fetchall()
    return [None if row["seq"] is None else (int(row["seq"]), float(row["score"])) for row in rows]


def expected(model: Model, title: str) -> tuple[int, float] | None:
    """The oldest of the live titles that share most with this one, if that is half."""
    scored = [(jaccard(tokens(title), theirs), -seq) for seq, live, theirs in model if live]
    best = max(scored, default=(0.0, 0))
    return (-best[1], best[0]) if best[0] >= 0.5 else None


def agrees(connection: psycopg.Connection[DictRow], model: Model, asked: list[str]) -> None:
    for title, found in zip(asked, nearest(connection, asked), strict=True):
        should = expected(model, title)
        assert (found is None) == (should is None), (title, found, should)
        if found is not None and should is not None:
            assert found[0] == should[0], title
            assert found[1] == pytest.approx(should[1]), title


@quick
@given(kept=st.lists(titles, min_size=1, max_size=14), asked=st.lists(titles, min_size=1, max_size=5))
def test_the_nearest_title_is_the_one_a_full_comparison_finds(
    connection: psycopg.Connection[DictRow], kept: list[str], asked: list[str]
) -> None:
    with connection.transaction(force_rollback=True):
        model = [(add(connection, title), True, tokens(title)) for title in kept]
        agrees(connection, model, asked + kept)


@quick
@given(
    kept=st.lists(titles, min_size=2, max_size=12),
    late=st.lists(titles, max_size=4),
    gone=st.sets(st.integers(0, 11), max_size=5),
    asked=st.lists(titles, min_size=1, max_size=4),
)
def test_it_stays_so_after_superseding_and_after_new_statistics(
    connection: psycopg.Connection[DictRow],
    kept: list[str],
    late: list[str],
    gone: set[int],
    asked: list[str],
) -> None:
    with connection.transaction(force_rollback=True):
        model = [(add(connection, title), True, tokens(title)) for title in kept]
        connection.execute("select pgmem.refresh_dedup()")
        agrees(connection, model, asked)
        # Titles that come after the snapshot hold words whose frequency it does not know.
        model += [(add(connection, title), True, tokens(title)) for title in late]
        for place, (seq, _, theirs) in enumerate(model):
            if place in gone:
                connection.execute("select pgmem.set_status(%s, 'superseded', pgmem.now())", (seq,))
                model[place] = (seq, False, theirs)
        agrees(connection, model, asked + late)
        connection.execute("select pgmem.refresh_dedup()")
        agrees(connection, model, asked + late)


@quick
@given(kept=st.lists(titles, min_size=1, max_size=8), asked=titles)
def test_what_is_no_longer_valid_is_not_near(
    connection: psycopg.Connection[DictRow], kept: list[str], asked: str
) -> None:
    with connection.transaction(force_rollback=True):
        model = [(add(connection, title), True, tokens(title)) for title in kept]
        connection.execute(
            "update pgmem.node set valid_to = now() - interval '1 second' where seq = %s", (model[0][0],)
        )
        model[0] = (model[0][0], False, model[0][2])
        agrees(connection, model, [asked, kept[0]])


@settings(quick, max_examples=amount(15, 40))
# The title of a decision that was replaced is not saved again, whatever is near.
@given(
    saved=st.lists(titles, min_size=1, max_size=8, unique_by=lambda title: tuple(re.findall(r"\w+", title)))
)
def test_save_decision_follows_the_full_comparison(
    connection: psycopg.Connection[DictRow], saved: list[str]
) -> None:
    with connection.transaction(force_rollback=True):
        model: Model = []
        for number, title in enumerate(saved):
            should = expected(model, title)
            outcome = "new" if should is None else "supersede" if should[1] >= 0.7 else "manual_review"
            # The rationale makes every content another; the title decides.
            row = one(
                connection, "select * from pgmem.save_decision(%s, %s, 'shop')", title, f"reason{number}"
            )
            assert row["dedup_outcome"] == outcome, (title, should)
            if outcome == "manual_review":
                continue
            seq = int(one(connection, "select seq from pgmem.node where id = %s", row["artifact_id"])["seq"])
            if should is not None:
                model = [(s, live and s != should[0], theirs) for s, live, theirs in model]
            model.append((seq, True, tokens(title)))


@settings(quick, max_examples=amount(60, 300))
@given(a=words, b=words)
def test_jaccard_is_shared_over_all(
    connection: psycopg.Connection[DictRow], a: list[str], b: list[str]
) -> None:
    row = one(
        connection, "select pgmem.jaccard(%s::text[], %s::text[]) as score", sorted(set(a)), sorted(set(b))
    )
    assert row["score"] == pytest.approx(jaccard(frozenset(a), frozenset(b)))


ALPHABET = st.sampled_from([*map(chr, range(32, 127)), *"\t\nÉéßÄöñ日本🚀…«»"])


@settings(quick, max_examples=amount(60, 300))
@given(text=st.text(ALPHABET, max_size=30))
def test_tokens_are_the_words_of_the_lower_case_text(
    connection: psycopg.Connection[DictRow], text: str
) -> None:
    found = one(connection, "select pgmem.tokens(%s) as t", text)["t"]
    assert set(found) == tokens(text)
    assert len(found) == len(set(found))


@settings(quick, max_examples=amount(60, 300))
@given(text=st.text(ALPHABET, max_size=30))
def test_normalising_twice_is_normalising_once(connection: psycopg.Connection[DictRow], text: str) -> None:
    found = one(
        connection,
        "select pgmem.normalize(%s) as once, pgmem.normalize(pgmem.normalize(%s)) as twice",
        text,
        text,
    )
    assert found["once"] == found["twice"]


def test_normalize_deletes_signs_and_joins_what_they_parted(connection: psycopg.Connection[DictRow]) -> None:
    found = one(connection, "select pgmem.normalize(%s) as n", "  Use  SHA-256, for Dedup!! (v2.0) café_x  ")
    assert found["n"] == "use sha256 for dedup v20 café_x"


def test_tokens_part_where_signs_are(connection: psycopg.Connection[DictRow]) -> None:
    found = one(connection, "select pgmem.tokens(%s) as t", "Use SHA-256 for de-dup; the café's v2.0!")
    assert sorted(found["t"]) == sorted(
        ["0", "256", "café", "de", "dup", "for", "s", "sha", "the", "use", "v2"]
    )


@pytest.mark.parametrize("text", ["", "!?", "…", " \t\n"])
def test_a_text_without_a_word_has_no_tokens(connection: psycopg.Connection[DictRow], text: str) -> None:
    assert one(connection, "select pgmem.tokens(%s) as t", text)["t"] == []


def content_hash(connection: psycopg.Connection[DictRow], *parts: str) -> str:
    return str(one(connection, "select pgmem.content_hash(%s::text[]) as h", list(parts))["h"])


def test_the_content_hash_is_sha256_of_the_normalised_text(connection: psycopg.Connection[DictRow]) -> None:
    found = content_hash(connection, "Use SHA-256 because fast.")
    assert found == "1e21232a490bc6e9189f8bbe56d839e30feaa2b92cca66d3c3d523a5455043aa"
    assert found == sha256(b"use sha256 because fast").hexdigest()
    assert content_hash(connection, "use sha256 Because, fast!") == found


def test_steps_are_hashed_one_by_one(connection: psycopg.Connection[DictRow]) -> None:
    assert content_hash(connection, "t", "do a", "do b") != content_hash(connection, "t", "do a do b")
    assert content_hash(connection, "t", "do a", "do b") != content_hash(connection, "t", "do b", "do a")
    assert content_hash(connection, "t", "do a") != content_hash(connection, "t do a")


@settings(quick, max_examples=amount(60, 200))
@given(a=st.lists(titles, min_size=1, max_size=4), b=st.lists(titles, min_size=1, max_size=4))
def test_two_hashes_are_equal_exactly_when_the_normalised_parts_are(
    connection: psycopg.Connection[DictRow], a: list[str], b: list[str]
) -> None:
    def normal(parts: list[str]) -> list[str]:
        found = one(
            connection, "select array(select pgmem.normalize(p) from unnest(%s::text[]) p) as n", parts
        )["n"]
        return [kept or re.sub(r"\s+", " ", part) for kept, part in zip(found, parts, strict=True)]

    assert (content_hash(connection, *a) == content_hash(connection, *b)) == (normal(a) == normal(b))

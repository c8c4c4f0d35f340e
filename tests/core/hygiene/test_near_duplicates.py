"""The set-similarity join finds the same as comparing all pairs, at any size, in bounded memory."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import DictRow, scalar_row

from tests.conftest import Call
from tests.fixtures.amounts import amount

LOAD = """
insert into pgmem.node (label, title, props, scope, project, project_seq, focus, focus_seq, source, trust_level, scope_key, tsv,
  created_at, updated_at, recorded_at)
select 'Context', left(n.content, 60), jsonb_build_object('content', n.content),
  case when n.in_focus then 'focus' else 'project' end, 'shop', p.seq, f.key, f.seq, 'sdk', 0.8,
  pgmem.scope_key(e'\\x1f', p.seq || case when n.in_focus then '/menu' else '' end, 'Context'), to_tsvector('english', n.content),
  now(), now(), now()
from note n join pgmem.node p on p.label = 'Project' left join pgmem.node f on f.label = 'FocusArea' and n.in_focus
order by n.place"""


def load(connection: psycopg.Connection[DictRow], notes: list[tuple[str, bool]]) -> None:
    connection.execute("create temp table note (place integer, content text, in_focus boolean)")
    connection.execute(
        "insert into note select n - 1, c, f from unnest(%s::text[], %s::boolean[]) with ordinality as t (c, f, n)",
        ([content for content, _ in notes], [in_focus for _, in_focus in notes]),
    )
    # The projection into the graph is not measured here.
    connection.execute("alter table pgmem.node disable trigger user")
    connection.execute("delete from pgmem.node where label = 'Context'")
    connection.execute(LOAD)
    connection.execute("alter table pgmem.node enable trigger user")
    connection.execute("drop table note")
    connection.execute("analyze pgmem.node")


def near(connection: psycopg.Connection[DictRow]) -> set[tuple[int, int]]:
    found = connection.execute(
        "select first_seqs, second_seqs, pairs from pgmem.near_duplicates(null, null)"
    ).fetchall()
    pairs: list[tuple[int, int]] = []
    for row in found:
        first, second = row["first_seqs"], row["second_seqs"]
        spelt = (
            [(a, b) for i, a in enumerate(first) for b in first[i + 1 :]]
            if second is None
            else [(min(a, b), max(a, b)) for a in first for b in second]
        )
        assert len(spelt) == row["pairs"]
        pairs += spelt
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def brute(connection: psycopg.Connection[DictRow]) -> set[tuple[int, int]]:
    """Every two live notes of one scope, by the same words: the definition, slow."""
    query = (
        "select n.seq, n.scope_key, pgmem.tokens(pgmem.search_text(n.label, n.title, n.props)) as tokens"
        " from pgmem.node n where n.label = 'Context' order by n.seq"
    )
    notes = [
        (row["seq"], row["scope_key"], frozenset(row["tokens"]))
        for row in connection.execute(query).fetchall()
    ]
    return {
        (first, second)
        for i, (first, scope, left) in enumerate(notes)
        for second, other_scope, right in notes[i + 1 :]
        if scope == other_scope and 10 * len(left & right) > 9 * len(left | right)
    }


def texts(count: int, seed: int, words: int = 3000) -> list[tuple[str, bool]]:
    """Notes of skewed vocabulary; every fifth is a near or whole copy of an earlier one."""
    chance = random.Random(seed)
    vocabulary = [f"w{i}" for i in range(words)]
    weights = [1 / (i + 5) for i in range(words)]
    made: list[list[str]] = []
    for _ in range(count):
        if made and chance.random() < 0.2:
            note = list(chance.choice(made))
            for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
                note[chance.randrange(len(note))] = chance.choice(vocabulary)
        else:
            note = chance.choices(vocabulary, weights, k=chance.randint(1, 60))
        made.append(note)
    return [(" ".join(note), chance.random() < 0.2) for note in made]


@pytest.fixture
def menu(call: Call, shop: str) -> None:
    """A focus area beside the project."""
    call("save_context", content="x", project_id=shop, focus="menu", scope="focus")


@pytest.mark.usefixtures("menu")
def test_notes_are_joined_as_by_comparing_all_pairs(
    connection: psycopg.Connection[DictRow],
) -> None:
    load(connection, texts(amount(800, 2000), 1))
    found = near(connection)
    assert len(found) > amount(30, 100)
    assert found == brute(connection)


@pytest.mark.usefixtures("menu")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([f"w{i}" for i in range(14)]), min_size=8, max_size=14, unique=True).map(
                " ".join
            ),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_notes_of_few_words_are_joined_as_by_comparing_all_pairs(
    connection: psycopg.Connection[DictRow], notes: list[tuple[str, bool]]
) -> None:
    load(connection, notes)
    assert near(connection) == brute(connection)


@pytest.mark.usefixtures("menu")
def test_a_thousand_copies_of_one_note_are_counted_and_paged_without_being_spelt_out(
    connection: psycopg.Connection[DictRow], call: Call
) -> None:
    load(connection, [("one hallucination, a thousand times over", False)] * 1000)
    began = monotonic()
    page = call("run_hygiene", project_id="shop", limit=10, offset=499_495)
    assert monotonic() - began < 30
    assert (page["duplicates_found"], len(page["findings"])) == (499_500, 5)
    assert page["findings"][-1]["similarity"] == 1


def of_few_words(count: int) -> list[tuple[str, bool]]:
    """Notes of one length that share even their rarest word with a share of all others; none is near another."""
    chance = random.Random(5)
    return [(" ".join(chance.sample([f"w{i}" for i in range(400)], 24)), False) for _ in range(count)]


def of_one_template(count: int) -> list[tuple[str, bool]]:
    """Notes that differ in three numbers, so that their other words are everywhere the same."""
    chance = random.Random(7)
    text = "run {} of the nightly import of our shop ended after {} seconds with {} orders, see the log of host {}"
    return [
        (
            text.format(number, chance.randrange(10**6), chance.randrange(10**6), chance.choice("abcdefgh")),
            False,
        )
        for number in range(count)
    ]


def rows_joined(connection: psycopg.Connection[DictRow]) -> int:
    """Rows that the joins of near_duplicates make or drop, by the plan of its body."""
    body = connection.execute("select prosrc from pg_proc where proname = 'near_duplicates'").fetchone()
    assert body is not None
    connection.execute("set local search_path = pgmem, pg_temp")
    connection.execute("set local enable_nestloop = off")
    text = re.sub("p_project_seq|p_scope", "null", body["prosrc"])
    with psycopg.Cursor(connection, row_factory=scalar_row) as cursor:
        cursor.execute(f"explain (analyze, timing off, format json) {text}".encode())
        plan = cursor.fetchone()

    def rows(node: dict[str, Any]) -> int:
        here = int(node["Actual Rows"] + node.get("Rows Removed by Join Filter", 0))
        of_parts = sum(rows(part) for part in node.get("Plans", []))
        joins = node["Node Type"] in ("Hash Join", "Merge Join", "Nested Loop")
        return of_parts + (here * int(node["Actual Loops"]) if joins else 0)

    assert plan is not None
    return rows(plan[0]["Plan"])


@pytest.mark.usefixtures("menu")
@pytest.mark.parametrize("notes", [of_few_words, of_one_template])
def test_four_times_the_notes_are_about_four_times_the_rows(
    connection: psycopg.Connection[DictRow], notes: Callable[[int], list[tuple[str, bool]]]
) -> None:
    """A store of 200 000 notes out of 256 words gave no report in 500 s."""
    read = []
    for count in (1000, 4000):
        load(connection, notes(count))
        read.append(rows_joined(connection))
    assert read[1] < 4.5 * read[0], read
    assert read[1] < 100 * 4000, read


@pytest.mark.usefixtures("menu")
def test_near_copies_among_notes_of_few_words_are_found_and_joined_once(
    connection: psycopg.Connection[DictRow],
) -> None:
    notes = of_few_words(900)
    kept = "a shelf of green tea and one of cups are beside each other in our shop at the corner of two old market roads"
    notes += [(f"{kept} n{number}", False) for number in range(300)]
    for number in range(0, 900, 30):
        words = notes[number][0].split()
        notes.append((" ".join([*words[1:], "changed"]), False))
    load(connection, notes)
    found = near(connection)
    assert len(found) >= 30 + 300 * 299 // 2
    assert found == brute(connection)


@pytest.mark.long
@pytest.mark.usefixtures("menu")
def test_a_hundred_thousand_notes_are_reported_on_within_a_minute_in_bounded_memory(
    connection: psycopg.Connection[DictRow], call: Call, record_property: Callable[[str, object], None]
) -> None:
    load(connection, texts(100_000, 3, 30_000))
    status = Path(f"/proc/{connection.info.backend_pid}/status")
    # Where the server runs on this machine its memory is watched too.
    here = status.exists() and "postgres" in status.read_text()
    peaks, done = [0], threading.Event()

    def watch() -> None:
        while here and not done.wait(0.05):
            line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon"))
            peaks.append(int(line.split()[1]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = monotonic()
    report = call("run_hygiene", project_id="shop", limit=100)
    seconds = monotonic() - began
    done.set()
    watcher.join()
    print(f"\n100 000 notes: {report['duplicates_found']} pairs in {seconds:.1f} s, {max(peaks) // 1024} MB")
    record_property("seconds", round(seconds, 1))
    assert report["duplicates_found"] > 5000
    assert seconds <= 60
    assert max(peaks) < 400_000

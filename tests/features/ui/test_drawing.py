"""Drawings of any graph: every memory has a place within the picture, and crowded ones name the most connected."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmem.features.ui import drawing
from pgmem.features.ui.layout import rest
from pgmem.models import DrawnEdge, DrawnGraph, DrawnNode

Pairs = st.lists(st.tuples(st.integers(0, 119), st.integers(0, 119)), max_size=150)


def graph(count: int, pairs: list[tuple[int, int]]) -> DrawnGraph:
    nodes = [
        DrawnNode(id=UUID(int=n + 1), label="Decision", title=f"Memory {n}", status="active", depth=min(n, 2))
        for n in range(count)
    ]
    edges = [
        DrawnEdge(
            from_id=UUID(int=a + 1), rel_type="USES", to_id=UUID(int=b + 1), created_at=datetime.now(UTC)
        )
        for a, b in pairs
        if a != b and a < count and b < count
    ]
    return DrawnGraph(nodes=nodes, edges=edges, left_out=0)


@given(count=st.integers(1, 120), pairs=Pairs)
@settings(max_examples=25, deadline=None)
def test_every_memory_is_within_the_picture(count: int, pairs: list[tuple[int, int]]) -> None:
    drawn = drawing.project(graph(count, pairs))
    assert drawn is not None
    assert len(drawn.dots) == count
    assert all(0 <= dot.x <= drawn.width and 0 <= dot.y <= drawn.height for dot in drawn.dots)


@pytest.mark.parametrize(
    ("excerpt", "title", "shown"),
    [
        ("Melanie's kids paint.", "Melanie", "Melanie's kids paint."),
        ("Melanie paints.", "Melanie", "Melanie paints."),
        ("Keep it short", "Keep it short", ""),
        ("A long text of which the end is missing", "A long text of…", "which the end is missing"),
        (None, "Melanie", ""),
    ],
)
def test_a_sentence_that_begins_with_the_title_stays_whole(
    excerpt: str | None, title: str, shown: str
) -> None:
    assert rest(excerpt, title) == shown


def test_of_many_the_most_connected_are_named() -> None:
    drawn = drawing.project(graph(100, [(0, n) for n in range(1, 100)]))
    assert drawn is not None
    assert drawn.dots[0].named
    assert sum(dot.named for dot in drawn.dots) < 100


def test_names_are_shorter_where_many_are_drawn_and_keep_their_end() -> None:
    for count, lines in ((5, 5), (20, 3)):
        found = graph(count, [(0, n) for n in range(1, count)])
        long = "Send reminders before each visit " * 5
        nodes = [replace(node, title=f"{long}{node.id.int} o'clock") for node in found.nodes]
        drawn = drawing.ego(replace(found, nodes=nodes), str(UUID(int=1)))
        assert drawn is not None
        for dot in drawn.dots:
            assert len(dot.name) == lines
            assert f"{dot.node.id.int} o'clock".split()[-1] in dot.name[-1]


def test_related_memories_are_drawn_around_a_memory() -> None:
    drawn = drawing.ego(graph(4, [(0, 1), (1, 2), (0, 3)]), str(UUID(int=1)))
    assert drawn is not None
    assert len(drawn.dots) == 4
    assert drawing.ego(graph(1, []), str(UUID(int=1))) is None


def test_what_is_joined_closely_is_one_cluster_under_its_most_connected() -> None:
    inside = [(a, b) for start in (0, 10) for a in range(start, start + 10) for b in range(a + 1, start + 10)]
    found, sizes = drawing.clusters(graph(20, [*inside, (0, 10)]))
    assert sorted(sizes.values()) == [10, 10]
    assert {node.id for node in found.nodes} == {UUID(int=1), UUID(int=11)}
    assert [edge.rel_type for edge in found.edges] == ["1 relation"]
    drawn = drawing.project(found, sizes)
    assert drawn is not None
    assert {dot.size for dot in drawn.dots} == {min(22.0, 4.0 + 1.6 * 10**0.5)}


@given(count=st.integers(1, 120), pairs=Pairs)
@settings(max_examples=25, deadline=None)
def test_every_memory_is_in_one_cluster(count: int, pairs: list[tuple[int, int]]) -> None:
    found, sizes = drawing.clusters(graph(count, pairs), most=120)
    assert sum(sizes.values()) == count
    assert found.left_out == 0

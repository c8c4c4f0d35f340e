"""Drawings of any graph: every memory has a place within the picture, and crowded ones name the most connected."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from pgmem.models import DrawnEdge, DrawnGraph, DrawnNode
from pgmem.ui import drawing

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
def test_every_memory_stands_within_the_picture(count: int, pairs: list[tuple[int, int]]) -> None:
    drawn = drawing.project(graph(count, pairs))
    assert drawn is not None
    assert len(drawn.dots) == count
    assert all(0 <= dot.x <= drawn.width and 0 <= dot.y <= drawn.height for dot in drawn.dots)


def test_of_many_the_most_connected_are_named() -> None:
    drawn = drawing.project(graph(100, [(0, n) for n in range(1, 100)]))
    assert drawn is not None
    assert drawn.dots[0].named
    assert sum(dot.named for dot in drawn.dots) < 100


def test_around_one_memory_stands_what_it_is_joined_to() -> None:
    drawn = drawing.ego(graph(4, [(0, 1), (1, 2), (0, 3)]), str(UUID(int=1)))
    assert drawn is not None
    assert len(drawn.dots) == 4
    assert drawing.ego(graph(1, []), str(UUID(int=1))) is None

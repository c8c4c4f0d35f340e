"""Geometry of graphs and lines: memories in, coordinates out. The markup is in the templates."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import wrap

from pgmem.features.ui import words
from pgmem.features.ui.charts import hue_of
from pgmem.models import DrawnEdge, DrawnGraph, DrawnNode, LineEntry, NumberedEntry

Entry = LineEntry | NumberedEntry
_NAME_LINES, _FEW_LINES, _MANY = 5, 3, 12  # of a name; where more memories than these are drawn, fewer
_LETTER = 6.6
"""The width of a letter of a name, on average."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A memory: its position and size, the side of its name, whether the name is shown, and the name in short lines."""

    node: DrawnNode
    x: float
    y: float
    size: float
    hue: int
    named: bool
    anchor: str
    name: list[str]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation and its two ends."""

    edge: DrawnEdge
    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def arrow_at(self) -> tuple[float, float]:
        """Where an arrow shows its direction: between the name of the upper memory and its own."""
        part = 0.35 if self.y2 < self.y1 or abs(self.x1 - self.x2) > abs(self.y1 - self.y2) else 0.62
        return self.x1 + (self.x2 - self.x1) * part, self.y1 + (self.y2 - self.y1) * part

    @property
    def name_at(self) -> tuple[float, float]:
        """Where its name is written: nearer to the lower end, as the names of memories are below them."""
        part = 0.5 if abs(self.x1 - self.x2) > abs(self.y1 - self.y2) else 0.8 if self.y2 > self.y1 else 0.2
        return self.x1 + (self.x2 - self.x1) * part, self.y1 + (self.y2 - self.y1) * part


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: its width and height, links below dots, and the labels with their colours."""

    width: float
    height: float
    dots: list[Dot]
    links: list[Link]
    keys: list[tuple[str, int, int]]


def _name(text: str, width: int, lines: int = _NAME_LINES) -> list[str]:
    """A title in lines; of a very long one the beginning and the end, where near copies differ."""
    found = wrap(words.plain(text), width) or [""]
    return found if len(found) <= lines else [*found[: lines - 1], f"… {found[-1]}"]


# Around one memory


def ego(graph: DrawnGraph, middle: str) -> Drawing | None:
    """The memories around one on rings, each near its predecessor on the path; None if there are none."""
    nodes = {str(node.id): node for node in graph.nodes}
    if len(nodes) < 2 or middle not in nodes:
        return None
    near = _neighbours(graph)
    order, parents = _rings(nodes, near, middle)
    places = {middle: (0.0, 0.0)}
    first = [key for key in order if parents[key] == middle]
    angles: dict[str, float] = {}
    # A sector as wide as the number of memories behind it.
    weights = [1 + sum(parents[key] == one for key in order) for one in first]
    start = -math.pi / 2 - math.pi * weights[0] / sum(weights)
    for key, weight in zip(first, weights, strict=True):
        width = 2 * math.pi * weight / sum(weights)
        angles[key] = start + width / 2
        children = [other for other in order if parents[other] == key]
        for place, child in enumerate(children):
            angles[child] = start + width * (place + 0.5) / len(children)
        start += width
    deep = len(first) < len(order)
    # A larger ring for more memories, so that their names are below each other.
    grown = max(1.0, len(first) / 9)
    wide, high = (165.0 * grown**0.5, 105.0 * grown) if deep else (190.0 * grown**0.5, 125.0 * grown)
    for key, angle in angles.items():
        ring = 1.0 if parents[key] == middle else 1.85
        places[key] = (math.cos(angle) * wide * ring, math.sin(angle) * high * ring)
    return _drawn(graph, places, middle=middle, named=24 if deep else 28)


def _neighbours(graph: DrawnGraph) -> dict[str, list[str]]:
    near: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        near[str(edge.from_id)].append(str(edge.to_id))
        near[str(edge.to_id)].append(str(edge.from_id))
    return near


def _rings(
    nodes: dict[str, DrawnNode], near: dict[str, list[str]], middle: str
) -> tuple[list[str], dict[str, str]]:
    order: list[str] = []
    parents: dict[str, str] = {}
    front, seen = [middle], {middle}
    while front:
        reached = []
        for one in front:
            for other in sorted(set(near[one]), key=lambda key: (nodes[key].label, nodes[key].title)):
                if other not in seen:
                    seen.add(other)
                    parents[other] = one
                    reached.append(other)
        order += reached
        front = reached
    return order, parents


# A project


def project(graph: DrawnGraph, sizes: Mapping[str, int] | None = None) -> Drawing | None:
    """The memories of a project, or its clusters with their sizes: each connected component together, largest first."""
    if not graph.nodes:
        return None
    near = _neighbours(graph)
    left = {str(node.id): node for node in graph.nodes}
    groups = []
    while left:
        start = max(left, key=lambda key: len(near[key]))
        group = [start]
        seen = {start}
        for one in group:
            for other in near[one]:
                if other not in seen and other in left:
                    seen.add(other)
                    group.append(other)
        for key in group:
            del left[key]
        groups.append(_settled(group, near))
    return _drawn(graph, _packed(groups), named=24, sizes=sizes)


# A project by clusters


def clusters(graph: DrawnGraph, most: int = 60) -> tuple[DrawnGraph, dict[str, int]]:
    """The clusters of a graph as a graph, each under its most connected memory, largest first; and their sizes.

    A memory belongs where most of its neighbours belong, those with whom it shares more neighbours weighing more; asked
    again until nobody moves.
    """
    near = {key: set(others) for key, others in _neighbours(graph).items()}
    weights = {key: {other: 1 + len(own & near[other]) for other in own} for key, own in near.items()}
    nodes = {str(node.id): node for node in graph.nodes}
    order = sorted(nodes, key=lambda key: (-len(near.get(key, ())), key))
    home = {key: place for place, key in enumerate(order)}
    for _ in range(10):
        moved = False
        for key in order:
            votes: Counter[int] = Counter()
            for other, weight in weights.get(key, {}).items():
                votes[home[other]] += weight
            best = min(votes, key=lambda place: (-votes[place], place), default=home[key])
            if votes[best] > votes[home[key]]:
                home[key], moved = best, True
        if not moved:
            break
    sizes = Counter(home.values())
    heads: dict[int, str] = {}
    for key in order:
        heads.setdefault(home[key], key)  # the most connected one comes first
    kept = {
        place: heads[place] for place, _ in sorted(sizes.items(), key=lambda one: (-one[1], one[0]))[:most]
    }
    between: Counter[tuple[int, int]] = Counter()
    for edge in graph.edges:
        ends = sorted((home[str(edge.from_id)], home[str(edge.to_id)]))
        if ends[0] != ends[1] and ends[0] in kept and ends[1] in kept:
            between[ends[0], ends[1]] += 1
    now = datetime.now(UTC)
    joined = [
        DrawnEdge(
            from_id=nodes[kept[first]].id,
            rel_type=f"{count} relations" if count > 1 else "1 relation",
            to_id=nodes[kept[second]].id,
            created_at=now,
        )
        for (first, second), count in between.items()
    ]
    found = DrawnGraph(
        nodes=[nodes[key] for key in kept.values()], edges=joined, left_out=len(sizes) - len(kept)
    )
    return found, {key: sizes[place] for place, key in kept.items()}


def _settled(group: list[str], near: dict[str, list[str]]) -> dict[str, tuple[float, float]]:
    """Places for a group: on a spiral in the order of a walk, then pulled and pushed until it is calm."""
    places = {}
    for place, key in enumerate(group):
        radius, angle = 26 * math.sqrt(place), 2.399963 * place
        places[key] = [radius * math.cos(angle), radius * math.sin(angle)]
    inside = set(group)
    links = [(one, other) for one in group for other in near[one] if one < other and other in inside]
    for step in range(min(70, 40_000 // (len(group) ** 2 + 1))):
        _relax(places, links, 14 * (1 - step / 70) + 1)
    return _upright({key: (x, y) for key, (x, y) in places.items()})


def _upright(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """A small group turned so that its longest way runs from top to bottom: names do not overlap."""
    if not 1 < len(places) <= 6:
        return places
    (ax, ay), (bx, by) = max(
        ((one, other) for one in places.values() for other in places.values()),
        key=lambda pair: math.hypot(pair[0][0] - pair[1][0], pair[0][1] - pair[1][1]),
    )
    turn = math.pi / 2 - math.atan2(by - ay, bx - ax)
    cos, sin = math.cos(turn), math.sin(turn)
    return {key: (x * cos - y * sin, x * sin + y * cos) for key, (x, y) in places.items()}


def _relax(places: dict[str, list[float]], links: list[tuple[str, str]], most: float) -> None:
    ideal = 92.0
    moves = {key: [0.0, 0.0] for key in places}
    keys = list(places)
    for i, one in enumerate(keys):
        x, y = places[one]
        for other in keys[i + 1 :]:
            dx, dy = x - places[other][0], y - places[other][1]
            force = ideal * ideal / (dx * dx + dy * dy + 1)
            moves[one][0] += dx * force
            moves[one][1] += dy * force
            moves[other][0] -= dx * force
            moves[other][1] -= dy * force
    for one, other in links:
        dx, dy = places[one][0] - places[other][0], places[one][1] - places[other][1]
        force = math.hypot(dx, dy) / ideal
        moves[one][0] -= dx * force
        moves[one][1] -= dy * force
        moves[other][0] += dx * force
        moves[other][1] += dy * force
    for key, (dx, dy) in moves.items():
        length = math.hypot(dx, dy) or 1.0
        places[key][0] += dx / length * min(length, most)
        places[key][1] += dy / length * min(length, most)


def _packed(groups: Sequence[dict[str, tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """The groups on shelves, the largest first, each shelf as high as its highest group."""
    boxes = []
    for group in groups:
        xs, ys = [x for x, _ in group.values()], [y for _, y in group.values()]
        boxes.append((group, min(xs) - 88, min(ys) - 30, max(xs) - min(xs) + 176, max(ys) - min(ys) + 96))
    boxes.sort(key=lambda box: -box[4])
    widest = max(860.0, max(box[3] for box in boxes))
    places: dict[str, tuple[float, float]] = {}
    x = y = shelf = 0.0
    for group, left, top, width, height in boxes:
        if x and x + width > widest:
            x, y, shelf = 0.0, y + shelf, 0.0
        for key, (px, py) in group.items():
            places[key] = (x + px - left, y + py - top)
        x += width
        shelf = max(shelf, height)
    return places


def _drawn(
    graph: DrawnGraph,
    places: dict[str, tuple[float, float]],
    *,
    middle: str | None = None,
    named: int,
    sizes: Mapping[str, int] | None = None,
) -> Drawing:
    """Dots and links within a picture that begins at 0."""
    titles = {str(node.id): node.title for node in graph.nodes}
    lines = _FEW_LINES if len(places) > _MANY else _NAME_LINES
    names = {key: _name(titles[key], named, lines) for key in places}
    left, right, top, bottom = _frame(places, names, middle)
    width, height = right - left, bottom - top
    degree: dict[str, int] = defaultdict(int)
    for edge in graph.edges:
        degree[str(edge.from_id)] += 1
        degree[str(edge.to_id)] += 1
    labels = sorted({node.label for node in graph.nodes})
    # Where there are many, the sixty most connected have their names written.
    crowded = next(iter(sorted(degree.values(), reverse=True)[60:61]), 0)
    dots = []
    for node in graph.nodes:
        key = str(node.id)
        if key not in places:
            continue
        x, y = places[key]
        size = 9.0 if key == middle else min(9.0, 4.5 + math.sqrt(degree[key]))
        if sizes is not None:
            size = min(22.0, 4.0 + 1.6 * math.sqrt(sizes[key]))
        anchor = _anchor(x, middle)
        shown = not crowded or degree[key] > crowded
        dots.append(Dot(node, x - left, y - top, size, hue_of(node.label), shown, anchor, names[key]))
    at = {str(dot.node.id): dot for dot in dots}
    links = [
        Link(
            edge,
            at[str(edge.from_id)].x,
            at[str(edge.from_id)].y,
            at[str(edge.to_id)].x,
            at[str(edge.to_id)].y,
        )
        for edge in graph.edges
        if str(edge.from_id) in at and str(edge.to_id) in at
    ]
    counts = [(label, hue_of(label), sum(node.label == label for node in graph.nodes)) for label in labels]
    return Drawing(round(width), round(height), dots, links, sorted(counts, key=lambda one: -one[2]))


def _anchor(x: float, middle: str | None) -> str:
    return "middle" if not middle or abs(x) < 60 else ("start" if x > 0 else "end")


def _frame(
    places: Mapping[str, tuple[float, float]], names: Mapping[str, Sequence[str]], middle: str | None
) -> tuple[float, float, float, float]:
    """The left, right, top and bottom of a picture that holds every dot with the whole of its name."""
    boxes = []
    for key, (x, y) in places.items():
        width = 12 + _LETTER * max(map(len, names[key]), default=0)
        lines = 13.0 * len(names[key])
        match _anchor(x, middle):
            case "start":
                boxes.append((x - 14, x + width, y - lines / 2, y + lines / 2))
            case "end":
                boxes.append((x - width, x + 14, y - lines / 2, y + lines / 2))
            case _:
                boxes.append((x - width / 2, x + width / 2, y - 14, y + 20 + lines))
    lefts, rights, tops, bottoms = zip(*boxes, strict=True)
    return min(lefts) - 8, max(rights) + 8, min(tops) - 8, max(bottoms) + 8


# A line of replacements


@dataclass(frozen=True, slots=True)
class Bar:
    """A memory of a line: its title in pieces, and when it held, as pieces of the axis (0 to 100): start and width."""

    entry: Entry
    title: list[words.Piece]
    held: list[tuple[float, float]]
    is_this: bool
    is_open: bool

    @property
    def start(self) -> float:
        """Where it begins; one that never held comes last."""
        return self.held[0][0] if self.held else 100.0


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines over one axis of time, and the dates of the axis at equal distances."""

    lines: list[list[Bar]]
    dates: list[str]


def lines(
    found: Iterable[Sequence[Entry]],
    this: str | None = None,
    first: datetime | None = None,
    last: datetime | None = None,
) -> Lines:
    """When each memory of each line held; the axis ends at `last` (now), and begins at `first` or the first memory."""
    groups = [*found]
    end = last or datetime.now(UTC)
    start = min((begun(entry) for group in groups for entry in group), default=end)
    start = min(first, start) if first else start
    span = max((end - start).total_seconds(), 1.0)

    def place(moment: datetime) -> float:
        return max(0.0, min(100.0, 100 * (moment - start).total_seconds() / span))

    drawn = [
        [
            Bar(
                entry,
                title,
                [
                    (
                        min(place(period.since or start), 99.2),
                        max(0.8, place(period.until or end) - place(period.since or start)),
                    )
                    for period in entry.held
                    if (period.since or start) <= end
                ],
                str(entry.id) == this,
                entry.status == "active",
            )
            for entry, title in zip(group, words.differing([one.title for one in group]), strict=True)
        ]
        for group in groups
    ]
    form = "%H:%M" if span < 172800 else "%-d %b %Y"
    dates = [f"{start + (end - start) * part / 3:{form}}" for part in range(3)]
    return Lines(sorted(drawn, key=lambda bars: bars[0].start), [*dates, "today"])


def begun(entry: Entry) -> datetime:
    """When a memory of a line began to hold."""
    first = entry.held[0].since if entry.held else None
    return first or entry.valid_from or entry.created_at

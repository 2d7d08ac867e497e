"""Places boxes in layers, so that edges go down and seldom cross.

Sugiyama's method in its plain form: cycles are broken, every box gets the layer below all boxes
that lead to it, the boxes of a layer are ordered by those of its neighbours, and then moved as near
to them as they can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

Edge = tuple[str, str]
Point = tuple[float, float]

_SWEEPS = 8


class Box(NamedTuple):
    """Where a box is; x and y are its left upper corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def moved(self, by: Point) -> Box:
        return self._replace(x=self.x + by[0], y=self.y + by[1])


@dataclass(frozen=True)
class Layout:
    """`ways` has the points that an edge must pass between its boxes, in the edge's direction."""

    boxes: Mapping[str, Box]
    ways: Mapping[Edge, Sequence[Point]]
    width: float
    height: float


def layered(
    sizes: Mapping[str, tuple[float, float]],
    edges: Iterable[Edge],
    *,
    last: Iterable[str] = (),
    ports: Mapping[Edge, tuple[float, float]] | None = None,
    gap: Point = (30, 40),
) -> Layout:
    """Place boxes of these sizes. Those of `last` go in the lowest layer.

    `ports` says how far right of the middle of its boxes an edge begins and ends. An edge that
    closes a cycle goes up.
    """
    edges = list(dict.fromkeys(edges))
    ports = ports or {}
    down = {edge: edge for edge in edges} | {
        edge: (edge[1], edge[0]) for edge in _back_edges(sizes, edges)
    }
    layer_of = _layers(sizes, set(down.values()), set(last))
    graph = _Layers(sizes, layer_of, gap)
    chains = {}
    for edge in edges:
        if edge[0] != edge[1]:
            begin, end = ports.get(edge, (0.0, 0.0))
            chains[edge] = graph.connect(
                *down[edge], *((begin, end) if down[edge] == edge else (end, begin))
            )
    graph.order()
    graph.place()
    boxes = {name: graph.box(name) for name in sizes}
    ways = {}
    for edge, chain in chains.items():
        points = [point for name in chain for point in graph.passage(name)]
        ways[edge] = points if down[edge] == edge else points[::-1]
    return Layout(
        boxes,
        ways,
        max((box.x + box.width for box in boxes.values()), default=0),
        max((box.bottom for box in boxes.values()), default=0),
    )


def _back_edges(names: Iterable[str], edges: Sequence[Edge]) -> list[Edge]:
    """Edges that lead to a box on the way to which they were found."""
    after: dict[str, list[str]] = {}
    for start, end in edges:
        after.setdefault(start, []).append(end)
    has_parent = {end for _, end in edges}
    on_way: set[str] = set()
    done: set[str] = set()
    found: list[Edge] = []

    def visit(name: str) -> None:
        on_way.add(name)
        for child in after.get(name, ()):
            if child in on_way:
                found.append((name, child))
            elif child not in done:
                visit(child)
        on_way.discard(name)
        done.add(name)

    for name in sorted(names, key=lambda name: name in has_parent):
        if name not in done:
            visit(name)
    return found


def _layers(names: Iterable[str], edges: set[Edge], last: set[str]) -> dict[str, int]:
    before: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        if start != end:
            before[end].append(start)
    layer_of: dict[str, int] = {}

    def layer(name: str) -> int:
        if name not in layer_of:
            layer_of[name] = 1 + max(map(layer, before[name]), default=-1)
        return layer_of[name]

    lowest = max(map(layer, before), default=0)
    return layer_of | {name: lowest for name in last if name in layer_of}


class _Link(NamedTuple):
    """An edge as one of its boxes sees it."""

    other: str
    port: float
    other_port: float


class _Layers:
    """Boxes and, where an edge passes a layer, placeholders; in rows from left to right."""

    def __init__(
        self, sizes: Mapping[str, tuple[float, float]], layer_of: dict[str, int], gap: Point
    ) -> None:
        self._sizes = dict(sizes)
        self._layer_of = layer_of
        self._gap = gap
        self._rows: list[list[str]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
        self._above: dict[str, list[_Link]] = {name: [] for name in sizes}
        self._below: dict[str, list[_Link]] = {name: [] for name in sizes}
        self._middle: dict[str, float] = {}
        for name in sizes:
            self._rows[layer_of[name]].append(name)

    def connect(self, start: str, end: str, port: float, end_port: float) -> list[str]:
        """Links two boxes, and gives the placeholders between them."""
        chain = []
        previous = start
        for layer in range(self._layer_of[start] + 1, self._layer_of[end]):
            name = f"\0{start}\0{end}\0{layer}"
            self._sizes[name] = (0.0, 0.0)
            self._layer_of[name] = layer
            self._above[name], self._below[name] = [], []
            self._rows[layer].append(name)
            self._link(previous, name, port, 0.0)
            chain.append(name)
            previous, port = name, 0.0
        self._link(previous, end, port, end_port)
        return chain

    def _link(self, upper: str, lower: str, port: float, lower_port: float) -> None:
        self._below[upper].append(_Link(lower, port, lower_port))
        self._above[lower].append(_Link(upper, lower_port, port))

    def order(self) -> None:
        """Orders every row by the places of its neighbours, the best of some tries."""
        best, fewest = [list(row) for row in self._rows], self._crossings()
        for sweep in range(_SWEEPS):
            downwards = sweep % 2 == 0
            rows = self._rows if downwards else self._rows[::-1]
            for row in rows:
                self._sort(row, self._above if downwards else self._below)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self._rows], crossings
        self._rows = best

    def _sort(self, row: list[str], neighbours: Mapping[str, list[_Link]]) -> None:
        places = {name: place for each in self._rows for place, name in enumerate(each)}
        own = {name: float(place) for place, name in enumerate(row)}
        for name in row:
            links = neighbours[name]
            if links:
                own[name] = sum(self._place_of(link, places) for link in links) / len(links)
        row.sort(key=own.__getitem__)

    def _place_of(self, link: _Link, places: Mapping[str, int]) -> float:
        """Where an edge meets the other box: its place in the row, and a fraction of it."""
        width = self._sizes[link.other][0]
        return places[link.other] + (link.other_port / width if width else 0.0)

    def _crossings(self) -> int:
        count = 0
        for row, next_row in pairwise(self._rows):
            place = {name: number for number, name in enumerate(next_row)}
            ends = [
                self._place_of(link, place)
                for name in row
                for link in sorted(self._below[name], key=lambda link: link.port)
            ]
            count += sum(
                earlier > later
                for number, earlier in enumerate(ends)
                for later in ends[number + 1 :]
            )
        return count

    def place(self) -> None:
        """Moves boxes towards the middle of their neighbours, as far as those beside them let."""
        for row in self._rows:
            self._settle(row, dict.fromkeys(row, 0.0))
        for sweep in range(2 * _SWEEPS):
            downwards = sweep % 2 == 0
            neighbours = self._above if downwards else self._below
            for row in self._rows if downwards else self._rows[::-1]:
                wanted = {name: self._wanted(name, neighbours[name]) for name in row}
                self._settle(row, wanted)
        if self._middle:
            left = min(middle - self._sizes[name][0] / 2 for name, middle in self._middle.items())
            self._middle = {name: middle - left for name, middle in self._middle.items()}
        self._tops = [0.0]
        for row in self._rows:
            height = max((self._sizes[name][1] for name in row), default=0)
            self._tops.append(self._tops[-1] + height + self._gap[1])

    def _wanted(self, name: str, links: list[_Link]) -> float:
        if not links:
            return self._middle[name]
        return sum(self._middle[link.other] + link.other_port - link.port for link in links) / len(
            links
        )

    def _settle(self, row: list[str], wanted: Mapping[str, float]) -> None:
        """The places nearest to those wanted (least squares) that keep order and distance."""
        offsets = [0.0]
        for left, right in pairwise(row):
            distance = (self._sizes[left][0] + self._sizes[right][0]) / 2 + self._gap[0]
            offsets.append(offsets[-1] + distance)
        # With distances taken out, what remains is to find the nearest non-decreasing numbers.
        blocks: list[tuple[float, int]] = []
        for name, offset in zip(row, offsets, strict=True):
            mean, size = wanted[name] - offset, 1
            while blocks and blocks[-1][0] > mean:
                other, others = blocks.pop()
                mean = (mean * size + other * others) / (size + others)
                size += others
            blocks.append((mean, size))
        flat = [mean for mean, size in blocks for _ in range(size)]
        for name, offset, mean in zip(row, offsets, flat, strict=True):
            self._middle[name] = mean + offset

    def box(self, name: str) -> Box:
        width, height = self._sizes[name]
        return Box(self._middle[name] - width / 2, self._tops[self._layer_of[name]], width, height)

    def passage(self, name: str) -> list[Point]:
        """Where an edge enters and leaves the layer of a placeholder."""
        layer = self._layer_of[name]
        x = self._middle[name]
        return [(x, self._tops[layer]), (x, self._tops[layer + 1] - self._gap[1])]

"""Where the console draws the parts of a topology.

Records flow from left to right: topics, then sub-topologies with their nodes and stores in them,
then the topics they write. Names are as short as they can be, so that a whole topology fits a
screen; sources and sinks, which are named after their topics, are dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headrace.topology.layered_layout import Box, Layout, Point, layered
from headrace.topology.node_topics import read_by, written_by

_LETTER = 7.3
_LINE = 14.0
_DOT = 14.0
_LANE = 22.0
"""For a line that goes back, below everything."""
_CAP = 6.0
"""Of the cylinder that a store is."""
_PADDING = 14.0
_TITLE = 20.0
_GAP = (14.0, 24.0)
_GAP_BETWEEN_PARTS = (20.0, 78.0)
"""Wide enough for a rate on the edge."""
_LONGEST_LINE = 15

_NUMBER = re.compile(r"-\d{10}")
"""Of a name that was generated."""
_WORDS = (
    (_NUMBER, ""),
    (r"^(KSTREAM|KTABLE)-", ""),
    (r"FK-JOIN-SUBSCRIPTION-", "fk-"),
    (r"STATE-STORE", "store"),
    (r"[A-Z]{2,}", lambda word: word[0].lower()),
)
"""What is written instead of parts of generated names."""

Size = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """A thing that can be clicked. `name` is the whole name, `label` what is written on it."""

    id: str
    kind: str
    name: str
    label: list[str]
    """Its lines."""
    part: int | None
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """From shape to shape. `path` is an SVG path; at `x`, `y` is room for a few words."""

    kind: str
    start: str
    end: str
    path: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Picture:
    """`frames` are the sub-topologies."""

    width: float
    height: float
    frames: list[Shape]
    shapes: list[Shape]
    lines: list[Line]


def picture(description: Mapping[str, Any], application_id: str) -> Picture:
    """Of a description's plain data. Internal topics are labelled without the application's id."""
    parts = [_Part.of(part, application_id) for part in description["subtopologies"]]
    reads = [(topic, part, node) for part in parts for node, topic in part.reads]
    writes = [(part, node, topic) for part in parts for node, topic in part.writes]
    topics = list(dict.fromkeys([*(read[0] for read in reads), *(write[2] for write in writes)]))
    labels = {topic: _label(topic, application_id) for topic in topics}
    sizes = {topic_id(topic): _size(labels[topic]) for topic in topics} | {
        part.name: part.size for part in parts
    }
    ports = {
        **{(topic_id(topic), part.name): (0.0, part.port(node)) for topic, part, node in reads},
        **{(part.name, topic_id(topic)): (part.port(node), 0.0) for part, node, topic in writes},
    }
    whole = _rightwards(sizes, ports, ports=ports, gap=_GAP_BETWEEN_PARTS)
    lines = []
    height = whole.height
    for topic, part, node in reads:
        start = whole.boxes[topic_id(topic)]
        end = part.box(node, whole)
        if start.x < end.x:
            way = whole.ways[topic_id(topic), part.name]
            lines.append(_line("read", topic_id(topic), node_id(node), start, end, way))
        else:
            height += _LANE
            lines.append(_line_back("read", topic_id(topic), node_id(node), start, end, height))
    for part, node, topic in writes:
        start = part.box(node, whole)
        way = whole.ways[part.name, topic_id(topic)]
        end = whole.boxes[topic_id(topic)]
        lines.append(_line("write", node_id(node), topic_id(topic), start, end, way))
    for part in parts:
        lines.extend(part.lines(whole))
    return Picture(
        whole.width,
        height,
        [_shape(part.name, "part", "", [part.title], part.id, whole) for part in parts],
        [
            *(shape for part in parts for shape in part.shapes(whole)),
            *(
                _shape(topic_id(topic), "topic", topic, labels[topic], None, whole)
                for topic in topics
            ),
        ],
        lines,
    )


def topic_id(topic: str) -> str:
    return f"topic {topic}"


def node_id(node: str) -> str:
    return f"node {node}"


def store_id(store: str) -> str:
    return f"store {store}"


@dataclass(frozen=True)
class _Part:
    """A sub-topology, laid out by itself."""

    id: int
    title: str
    nodes: Mapping[str, str]
    """Their kinds."""
    labels: Mapping[str, Sequence[str]]
    stores: Mapping[str, Sequence[str]]
    """Their labels."""
    edges: Sequence[tuple[str, str]]
    uses: Sequence[tuple[str, str]]
    reads: Sequence[tuple[str, str]]
    writes: Sequence[tuple[str, str]]
    layout: Layout

    @classmethod
    def of(cls, part: Mapping[str, Any], application_id: str) -> _Part:
        nodes = {node["name"]: node["kind"] for node in part["nodes"]}
        stores = {store: _label(store, application_id) for store in part["stores"]}
        edges = [(node_id(start), node_id(end)) for start, end in part["edges"]]
        uses = [
            (node_id(node["name"]), store_id(store))
            for node in part["nodes"]
            for store in node.get("stores", ())
        ]
        labels = {
            node["name"]: _label(node["name"], application_id)
            if node["kind"] == "processor"
            else []
            for node in part["nodes"]
        }
        sizes = {node_id(name): _size(label) for name, label in labels.items()} | {
            store_id(store): _size(label, _CAP) for store, label in stores.items()
        }
        # The way from a sink to its topic, on the right, shall not cross other nodes.
        sinks = [node_id(name) for name, kind in nodes.items() if kind == "sink"]
        return cls(
            part["id"],
            f"Sub-topology {part['id']}" + (", global store" if part["global"] else ""),
            nodes,
            labels,
            stores,
            edges,
            uses,
            [(node["name"], topic) for node in part["nodes"] for topic in read_by(node)],
            [(node["name"], topic) for node in part["nodes"] for topic in written_by(node)],
            _rightwards(sizes, [*edges, *uses], last=sinks, gap=_GAP),
        )

    @property
    def name(self) -> str:
        return f"part {self.id}"

    @property
    def size(self) -> Size:
        width = max(self.layout.width, len(self.title) * _LETTER)
        return width + 2 * _PADDING, self.layout.height + 2 * _PADDING + _TITLE

    def port(self, node: str) -> float:
        """How far below the middle of the part a node is."""
        box = self.layout.boxes[node_id(node)]
        return box.y + box.height / 2 + _TITLE / 2 - self.layout.height / 2

    def box(self, node: str, whole: Layout) -> Box:
        return self.layout.boxes[node_id(node)].moved(self._origin(whole))

    def shapes(self, whole: Layout) -> Iterable[Shape]:
        for name, kind in self.nodes.items():
            label = self.labels[name]
            yield _shape(
                node_id(name), kind, name, label, self.id, self.layout, self._origin(whole)
            )
        for store, label in self.stores.items():
            yield _shape(
                store_id(store), "store", store, label, self.id, self.layout, self._origin(whole)
            )

    def lines(self, whole: Layout) -> Iterable[Line]:
        origin = self._origin(whole)
        boxes = self.layout.boxes
        for kind, edges in (("flow", self.edges), ("use", self.uses)):
            for start, end in edges:
                way = [(x + origin[0], y + origin[1]) for x, y in self.layout.ways[start, end]]
                yield _line(
                    kind, start, end, boxes[start].moved(origin), boxes[end].moved(origin), way
                )

    def _origin(self, whole: Layout) -> Point:
        box = whole.boxes[self.name]
        return box.x + (box.width - self.layout.width) / 2, box.y + _PADDING + _TITLE


def _rightwards(
    sizes: Mapping[str, Size],
    edges: Iterable[tuple[str, str]],
    *,
    gap: Size,
    last: Iterable[str] = (),
    ports: Mapping[tuple[str, str], tuple[float, float]] | None = None,
) -> Layout:
    """A layout whose edges go to the right: one that goes down, mirrored."""
    down = layered(
        {name: (height, width) for name, (width, height) in sizes.items()},
        edges,
        last=last,
        ports=ports,
        gap=gap,
    )
    return Layout(
        {name: Box(box.y, box.x, box.height, box.width) for name, box in down.boxes.items()},
        {edge: [(y, x) for x, y in way] for edge, way in down.ways.items()},
        down.height,
        down.width,
    )


def _shape(
    id: str,
    kind: str,
    name: str,
    label: Sequence[str],
    part: int | None,
    layout: Layout,
    origin: Point = (0.0, 0.0),
) -> Shape:
    box = layout.boxes[id].moved(origin)
    numbers = (round(number, 1) for number in (box.x, box.y, box.width, box.height))
    return Shape(id, kind, name, list(label), part, *numbers)


def _line(
    kind: str, start_id: str, end_id: str, start: Box, end: Box, way: Sequence[Point]
) -> Line:
    """A curve through the points; each piece leaves and arrives horizontally."""
    goes_right = start.x < end.x
    points = [
        (start.x + start.width if goes_right else start.x, start.y + start.height / 2),
        *way,
        (end.x if goes_right else end.x + end.width, end.y + end.height / 2),
    ]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x, y), (next_x, next_y) in pairwise(points):
        half = (x + next_x) / 2
        path += f" C{half:.1f},{y:.1f} {half:.1f},{next_y:.1f} {next_x:.1f},{next_y:.1f}"
    # Words stand beside the topic: there the edge is alone.
    (x, y), (next_x, next_y) = points[:2] if kind == "read" else points[-2:]
    return Line(
        kind, start_id, end_id, path, round((x + next_x) / 2, 1), round((y + next_y) / 2, 1)
    )


def _line_back(kind: str, start_id: str, end_id: str, start: Box, end: Box, lane: float) -> Line:
    """From below a topic to the left, and into its reader, which is a node of an earlier part."""
    corner = 8.0
    right, left = start.middle, end.x - _PADDING - corner
    level = lane - corner
    middle = end.y + end.height / 2
    path = (
        f"M{right:.1f},{start.bottom:.1f} V{level - corner:.1f} "
        f"Q{right:.1f},{level:.1f} {right - corner:.1f},{level:.1f} H{left + corner:.1f} "
        f"Q{left:.1f},{level:.1f} {left:.1f},{level - corner:.1f} V{middle + corner:.1f} "
        f"Q{left:.1f},{middle:.1f} {left + corner:.1f},{middle:.1f} H{end.x:.1f}"
    )
    return Line(kind, start_id, end_id, path, round((left + right) / 2, 1), round(level, 1))


def _label(name: str, application_id: str) -> list[str]:
    """A name in short, in one line or two. KSTREAM-KEY-SELECT-0000000004, a generated name, is
    key-select; internal topics begin with the application's id, which is known."""
    name = name.removeprefix(f"{application_id}-").replace("-repartition-filter", " filter")
    if _NUMBER.search(name):
        for pattern, text in _WORDS:
            name = re.sub(pattern, text, name)
    if len(name) <= _LONGEST_LINE:
        return [name]
    cuts = [match.end() for match in re.finditer(r"[-_.\s]", name)]
    first = max((cut for cut in cuts if cut <= _LONGEST_LINE), default=_LONGEST_LINE)
    rest = name[first:]
    if len(rest) > _LONGEST_LINE:
        rest = f"{rest[: _LONGEST_LINE - 1]}…"
    return [name[:first], rest]


def _size(label: Sequence[str], more_height: float = 0.0) -> Size:
    if not label:
        return _DOT, _DOT
    width = max(map(len, label)) * _LETTER + 18
    return width, len(label) * _LINE + 14 + more_height

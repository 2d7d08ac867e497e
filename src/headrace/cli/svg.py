"""A picture of a topology, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from headrace.topology.layered_layout import Box, Layout, Point, layered
from headrace.topology.node_topics import read_by, written_by

_FONT = "12px ui-monospace, Menlo, Consolas, monospace"
_LETTER = 7.3
_HEIGHT = 30.0
_PADDING = 18.0
_TITLE = 22.0
_CAP = 5.0

_STYLE = f"""
text {{ font: {_FONT}; text-anchor: middle; dominant-baseline: central; fill: #1f2933 }}
.title {{ text-anchor: start; fill: #627d98 }}
.part {{ fill: #f5f7fa; stroke: #bcccdc }}
.processor {{ fill: #ffffff; stroke: #486581 }}
.source, .sink {{ fill: #e0f2fe; stroke: #0369a1 }}
.store {{ fill: #ecfdf5; stroke: #047857 }}
.topic {{ fill: #fff7ed; stroke: #c2410c }}
.edge {{ fill: none; stroke: #627d98; marker-end: url(#arrow) }}
.uses {{ fill: none; stroke: #047857; stroke-dasharray: 3 3 }}
"""


def drawing(description: Mapping[str, Any]) -> str:
    """Draws a description's plain data: sub-topologies as boxes with their nodes and stores in
    them, topics between them. A topic that is written and read again is drawn once."""
    parts = [_Part.of(part) for part in description["subtopologies"]]
    reads = [(topic, part, node) for part in parts for node, topic in part.reads]
    writes = [(part, node, topic) for part in parts for node, topic in part.writes]
    topics = list(dict.fromkeys([*(read[0] for read in reads), *(write[2] for write in writes)]))
    sizes = {f"topic {topic}": (_width(topic) + 16, _HEIGHT) for topic in topics} | {
        part.name: part.size for part in parts
    }
    ports = {
        **{(f"topic {topic}", part.name): (0.0, part.port(node)) for topic, part, node in reads},
        **{(part.name, f"topic {topic}"): (part.port(node), 0.0) for part, node, topic in writes},
    }
    whole = layered(sizes, ports, ports=ports, gap=(50, 50))
    lines = [
        *(line for part in parts for line in part.frame(whole)),
        *(
            _edge(
                whole.boxes[f"topic {topic}"],
                part.box(node, whole),
                whole.ways[f"topic {topic}", part.name],
            )
            for topic, part, node in reads
        ),
        *(
            _edge(
                part.box(node, whole),
                whole.boxes[f"topic {topic}"],
                whole.ways[part.name, f"topic {topic}"],
            )
            for part, node, topic in writes
        ),
        *(line for part in parts for line in part.content(whole)),
        *(_topic(topic, whole.boxes[f"topic {topic}"]) for topic in topics),
    ]
    return _document(whole.width, whole.height, lines)


@dataclass(frozen=True)
class _Part:
    """A sub-topology, laid out by itself."""

    name: str
    title: str
    nodes: Mapping[str, str]
    """Their kinds."""
    stores: Sequence[str]
    edges: Sequence[tuple[str, str]]
    uses: Sequence[tuple[str, str]]
    reads: Sequence[tuple[str, str]]
    writes: Sequence[tuple[str, str]]
    layout: Layout

    @classmethod
    def of(cls, part: Mapping[str, Any]) -> _Part:
        nodes = {node["name"]: node["kind"] for node in part["nodes"]}
        edges = [(start, end) for start, end in part["edges"]]
        uses = [
            (node["name"], f"store {store}")
            for node in part["nodes"]
            for store in node.get("stores", ())
        ]
        sizes = {name: (_width(name) + 20, _HEIGHT) for name in nodes} | {
            f"store {store}": (_width(store) + 20, _HEIGHT + 2 * _CAP) for store in part["stores"]
        }
        # The way from a sink to its topic, below, shall not cross other nodes.
        sinks = [name for name, kind in nodes.items() if kind == "sink"]
        return cls(
            f"part {part['id']}",
            f"Sub-topology {part['id']}" + (" (global store)" if part["global"] else ""),
            nodes,
            part["stores"],
            edges,
            uses,
            [(node["name"], topic) for node in part["nodes"] for topic in read_by(node)],
            [(node["name"], topic) for node in part["nodes"] for topic in written_by(node)],
            layered(sizes, [*edges, *uses], last=sinks),
        )

    @property
    def size(self) -> tuple[float, float]:
        width = max(self.layout.width, _width(self.title))
        return width + 2 * _PADDING, self.layout.height + 2 * _PADDING + _TITLE

    def port(self, node: str) -> float:
        """How far right of the middle a node is."""
        return self.layout.boxes[node].middle - self.layout.width / 2

    def box(self, name: str, whole: Layout) -> Box:
        return self.layout.boxes[name].moved(self._origin(whole))

    def frame(self, whole: Layout) -> Iterator[str]:
        box = whole.boxes[self.name]
        yield _rect(box, "part", 8)
        yield _text(self.title, box.x + 12, box.y + 16, "title")

    def content(self, whole: Layout) -> Iterator[str]:
        origin = self._origin(whole)
        for edges, style in ((self.edges, "edge"), (self.uses, "uses")):
            for start, end in edges:
                way = [(x + origin[0], y + origin[1]) for x, y in self.layout.ways[start, end]]
                yield _edge(self.box(start, whole), self.box(end, whole), way, style)
        for name, kind in self.nodes.items():
            yield _labelled(_rect(self.box(name, whole), kind, 4), name, self.box(name, whole))
        for store in self.stores:
            box = self.box(f"store {store}", whole)
            yield _labelled(_cylinder(box), store, box)

    def _origin(self, whole: Layout) -> Point:
        box = whole.boxes[self.name]
        return box.x + (box.width - self.layout.width) / 2, box.y + _PADDING + _TITLE


def _width(text: str) -> float:
    return len(text) * _LETTER


def _document(width: float, height: float, lines: Sequence[str]) -> str:
    margin = 20.0
    x, y, w, h = -margin, -margin, width + 2 * margin, height + 2 * margin
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:g} {y:g} {w:.1f} {h:.1f}" '
            f'width="{w:.0f}" height="{h:.0f}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#627d98"/>'
            "</marker></defs>",
            f'<rect x="{x:g}" y="{y:g}" width="{w:.1f}" height="{h:.1f}" fill="white"/>',
            *lines,
            "</svg>\n",
        ]
    )


def _edge(start: Box, end: Box, way: Sequence[Point], style: str = "edge") -> str:
    """A curve from box to box through the points; each piece leaves and arrives vertically."""
    goes_down = start.y < end.y
    points = [
        (start.middle, start.bottom if goes_down else start.y),
        *way,
        (end.middle, end.y if goes_down else end.bottom),
    ]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x, y), (next_x, next_y) in pairwise(points):
        half = (y + next_y) / 2
        path += f" C{x:.1f},{half:.1f} {next_x:.1f},{half:.1f} {next_x:.1f},{next_y:.1f}"
    return f'<path class="{style}" d="{path}"/>'


def _topic(topic: str, box: Box) -> str:
    return _labelled(_rect(box, "topic", _HEIGHT / 2), topic, box)


def _labelled(shape: str, label: str, box: Box) -> str:
    return shape + _text(label, box.middle, box.y + box.height / 2)


def _rect(box: Box, style: str, radius: float) -> str:
    return (
        f'<rect class="{style}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:g}"/>'
    )


def _cylinder(box: Box) -> str:
    left, right = f"{box.x:.1f}", f"{box.x + box.width:.1f}"
    top, bottom = f"{box.y + _CAP:.1f}", f"{box.bottom - _CAP:.1f}"
    arc = f"A{box.width / 2:.1f},{_CAP:g} 0 0"
    return (
        f'<path class="store" d="M{left},{top} {arc},1 {right},{top} V{bottom} '
        f'{arc},1 {left},{bottom} Z M{left},{top} {arc},0 {right},{top}"/>'
    )


def _text(text: str, x: float, y: float, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'

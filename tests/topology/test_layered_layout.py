from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from headrace.topology.layered_layout import Box, layered

NAMES = [f"n{number}" for number in range(8)]
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=20)
SIZES = st.fixed_dictionaries(
    {name: st.tuples(st.floats(1, 200), st.floats(1, 100)) for name in NAMES}
)


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.bottom
        and other.y < one.bottom
    )


@given(SIZES, EDGES)
def test_no_boxes_overlap_and_all_are_inside(
    sizes: dict[str, tuple[float, float]], edges: list[tuple[str, str]]
) -> None:
    layout = layered(sizes, edges)
    assert layout.boxes.keys() == sizes.keys()
    for one, other in combinations(layout.boxes.values(), 2):
        assert not overlap(one, other)
    for name, box in layout.boxes.items():
        assert (box.width, box.height) == sizes[name]
        assert box.x >= -1e-6
        assert box.y >= 0
        assert box.x + box.width <= layout.width + 1e-6
        assert box.bottom <= layout.height + 1e-6


@given(SIZES, EDGES)
def test_edges_of_a_graph_without_cycles_go_down(
    sizes: dict[str, tuple[float, float]], edges: list[tuple[str, str]]
) -> None:
    acyclic = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    layout = layered(sizes, acyclic)
    for start, end in acyclic:
        heights = [layout.boxes[start].bottom, *(y for _, y in layout.ways[start, end])]
        assert heights == sorted(heights)
        assert heights[-1] < layout.boxes[end].y


@given(SIZES, EDGES)
def test_the_way_of_an_edge_is_in_its_direction(
    sizes: dict[str, tuple[float, float]], edges: list[tuple[str, str]]
) -> None:
    layout = layered(sizes, edges)
    for (start, end), way in layout.ways.items():
        heights = [y for _, y in way]
        goes_down = layout.boxes[start].y < layout.boxes[end].y
        assert heights == sorted(heights, reverse=not goes_down)


def test_boxes_are_below_one_another() -> None:
    layout = layered({"a": (10, 10), "b": (50, 10)}, [("a", "b")], gap=(5, 7))
    assert layout.boxes == {"a": Box(20, 0, 10, 10), "b": Box(0, 17, 50, 10)}


def test_an_edge_past_a_layer_goes_beside_its_boxes() -> None:
    sizes = dict.fromkeys("abc", (40.0, 10.0))
    layout = layered(sizes, [("a", "b"), ("b", "c"), ("a", "c")])
    (x, top), (same, bottom) = layout.ways["a", "c"]
    assert x == same
    assert (top, bottom) == (layout.boxes["b"].y, layout.boxes["b"].bottom)
    assert not layout.boxes["b"].x <= x <= layout.boxes["b"].x + 40


def test_the_last_are_lowest() -> None:
    sizes = dict.fromkeys("abcd", (40.0, 10.0))
    layout = layered(sizes, [("a", "b"), ("b", "c"), ("a", "d")], last=["d"])
    assert layout.boxes["d"].y == layout.boxes["c"].y


def test_edges_that_would_cross_do_not() -> None:
    sizes = dict.fromkeys("abcd", (40.0, 10.0))
    layout = layered(sizes, [("a", "d"), ("b", "c")])
    assert (layout.boxes["a"].x < layout.boxes["b"].x) == (
        layout.boxes["d"].x < layout.boxes["c"].x
    )


def test_ports_decide_the_order() -> None:
    sizes = {"a": (200.0, 10.0), "left": (40.0, 10.0), "right": (40.0, 10.0)}
    edges = [("a", "right"), ("a", "left")]
    layout = layered(sizes, edges, ports={edges[0]: (80.0, 0.0), edges[1]: (-80.0, 0.0)})
    assert layout.boxes["left"].middle < layout.boxes["right"].middle


def test_nothing() -> None:
    assert layered({}, []).boxes == {}

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from headrace.core.errors import NullArgumentError
from headrace.topology.operators import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    Foreach,
    Map,
    MapValues,
    Operator,
    PassThrough,
    Peek,
    Print,
    RepartitionFilter,
    SelectKey,
)

from .harness import HEADERS, Bench, Out


def is_big(key: Any, value: Any) -> bool:
    return bool(value > 10)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Filter(is_big), [("b", 11)]),
        (Filter(is_big, negate=True), [("a", 1)]),
        (MapValues(lambda value: value + 1), [("a", 2), ("b", 12)]),
        (
            MapValues(lambda key, value: (key, value), with_key=True),
            [("a", ("a", 1)), ("b", ("b", 11))],
        ),
        (Map(lambda key, value: (value, key)), [(1, "a"), (11, "b")]),
        (SelectKey(lambda key, value: key + "!"), [("a!", 1), ("b!", 11)]),
        (
            FlatMap(lambda key, value: [(value, key)] * 2),
            [(1, "a"), (1, "a"), (11, "b"), (11, "b")],
        ),
        (
            FlatMapValues(lambda value: (value, -value)),
            [("a", 1), ("a", -1), ("b", 11), ("b", -11)],
        ),
        (FlatMapValues(lambda key, value: iter(key), with_key=True), [("a", "a"), ("b", "b")]),
        (PassThrough(), [("a", 1), ("b", 11)]),
        (Foreach(lambda key, value: None), []),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, Operator) else "",
)
def test_what_goes_on(operator: Operator, expected: list[tuple[Any, Any]]) -> None:
    bench = Bench(operator)
    bench.feed("a", 1, 5, HEADERS)
    bench.feed("b", 11, 5, HEADERS)
    assert bench.out == [Out(key, value, 5, HEADERS) for key, value in expected]


@pytest.mark.parametrize(
    "operator",
    [Map(lambda key, value: None), FlatMap(lambda key, value: None), FlatMapValues(lambda v: None)],
)
def test_a_mapper_must_not_return_none(operator: Operator) -> None:
    with pytest.raises(NullArgumentError, match="mapper of node"):
        Bench(operator).feed("a", 1)


def test_map_values_may_return_none() -> None:
    assert Bench(MapValues(lambda value: None)).feed("a", 1) == [Out("a", None, 0)]


def test_a_repartition_drops_null_keys_silently() -> None:
    bench = Bench(RepartitionFilter())
    assert bench.feed(None, 1) == []
    assert bench.feed("a", None) == [Out("a", None, 0)]
    assert bench.dropped == 0


def test_peek_acts_before_it_forwards() -> None:
    seen: list[Any] = []
    bench = Bench(Peek(lambda key, value: seen.append((key, value, len(bench.out)))))
    bench.feed("a", 1)
    assert seen == [("a", 1, 0)]
    assert bench.out == [Out("a", 1, 0)]


def test_foreach_acts() -> None:
    seen: list[Any] = []
    Bench(Foreach(lambda key, value: seen.append((key, value)))).feed("a", 1)
    assert seen == [("a", 1)]


def test_a_record_goes_to_the_first_branch_that_accepts_it() -> None:
    predicates = (lambda key, value: value > 10, lambda key, value: value > 0)
    children = ("big", "positive", "rest")
    bench = Bench(Branch(predicates, children), children=children)
    for value in (11, 1, -1):
        bench.feed("k", value)
    assert bench.out_of == {
        "big": [Out("k", 11, 0)],
        "positive": [Out("k", 1, 0)],
        "rest": [Out("k", -1, 0)],
    }


def test_without_a_default_branch_the_rest_is_dropped() -> None:
    bench = Bench(Branch((is_big,), ("big",)), children=("big",))
    bench.feed("k", 1)
    assert bench.out_of == {"big": []}


def test_print_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    Bench(Print("label")).feed("k", None)
    assert capsys.readouterr().out == "[label]: k, None\n"


def test_print_to_a_stream_that_stays_open() -> None:
    stream = io.StringIO()
    bench = Bench(Print("label", stream, lambda key, value: f"{key}={value}"))
    bench.feed("k", 1)
    bench.close()
    assert stream.getvalue() == "[label]: k=1\n"


def test_print_appends_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    for value in ("é", "b"):
        bench = Bench(Print("l", str(path)))
        bench.feed("k", value)
        bench.close()
    assert path.read_text("utf-8") == "[l]: k, é\n[l]: k, b\n"

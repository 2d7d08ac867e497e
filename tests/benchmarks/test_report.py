"""The rows of the benchmark, as people and programs read them."""

from __future__ import annotations

import json
from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks.engine.chart import svg
from benchmarks.engine.report import Goal, Row, as_json, bars, table

COUNT = Row(
    "count",
    "records/s",
    300_000.0,
    200_000.0,
    Goal("ratio", "at least", 1.3),
    {"records": 2_000_000},
)
LATENCY = Row("latency", "ms", 450.0, 100.0, Goal("ratio", "at most", 4.0))
BATCH = Row("batch", "ms", 250.0, None, Goal("headrace", "at most", 300))
FAILED = Row("map", "records/s", None, 200_000.0, Goal("ratio", "at least", 1.0))


@pytest.mark.parametrize(
    ("row", "ratio", "met"),
    [
        (COUNT, 1.5, True),
        (LATENCY, 4.5, False),
        (BATCH, None, True),
        (FAILED, None, False),
        (Row("start", "s", 9.0), None, None),
    ],
)
def test_a_row_knows_its_ratio_and_whether_it_meets_its_goal(
    row: Row, ratio: float | None, met: bool | None
) -> None:
    assert (row.ratio, row.met) == (ratio, met)


def test_the_table_has_figures_ratio_and_goal() -> None:
    console = Console(width=120, file=StringIO(), record=True)
    console.print(table([COUNT, LATENCY, BATCH, FAILED]))
    count, latency, batch, failed = (
        line.replace("│", " ").split() for line in console.export_text().splitlines()[3:7]
    )
    assert count == ["count", "300,000", "200,000", "records/s", "1.50", "✓", "at", "least", "1.3"]
    assert latency == ["latency", "450", "100", "ms", "4.50", "✗", "at", "most", "4"]
    assert batch == ["batch", "250", "ms", "✓", "at", "most", "300", "ms"]
    assert failed == ["map", "200,000", "records/s", "✗", "at", "least", "1"]


def test_bars_are_as_long_as_the_figures() -> None:
    ours, theirs = bars([BATCH, COUNT])
    assert ours.startswith("count      Headrace ")
    assert theirs.startswith("           Kafka Streams ")
    assert theirs.count("█") * 1.5 == ours.count("█")
    assert ours.endswith("█ 300,000 records/s")


def test_json_is_one_line_with_a_ratio_for_each_row() -> None:
    text = as_json([COUNT, BATCH])
    assert "\n" not in text
    assert json.loads(text) == {
        "rows": [
            {
                "mode": "count",
                "unit": "records/s",
                "headrace": 300_000.0,
                "kafka_streams": 200_000.0,
                "ratio": 1.5,
                "goal": {"of": "ratio", "at_least": 1.3},
                "met": True,
                "records": 2_000_000,
            },
            {
                "mode": "batch",
                "unit": "ms",
                "headrace": 250.0,
                "kafka_streams": None,
                "ratio": None,
                "goal": {"of": "headrace", "at_most": 300},
                "met": True,
            },
        ]
    }


def test_the_chart_shows_rows_that_have_both_figures() -> None:
    drawing = ElementTree.fromstring(svg([COUNT, BATCH], "2,000,000 records & more"))
    namespace = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in drawing.iter(f"{namespace}text")]
    assert texts == [
        "2,000,000 records & more",
        "Headrace",
        "Kafka Streams",
        "count",
        "300,000 records/s",
        "200,000 records/s",
        "× 1.50",
    ]
    _, *bars = [
        int(element.attrib["width"])
        for element in drawing.iter(f"{namespace}rect")
        if element.attrib["height"] == "16" or element.attrib["width"] == "760"
    ]
    assert bars[0] == pytest.approx(bars[1] * 1.5, abs=1)

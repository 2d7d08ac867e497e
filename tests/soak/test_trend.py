"""What is said to grow, and what isn't."""

from __future__ import annotations

import math
import os
import random
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from .chart import svg
from .report import rate, rows, table, verdict
from .sample import held, on_disk
from .trend import Point, Trend, after, thinned


def series(values: list[float], every_s: float = 60.0) -> list[Point]:
    return [Point(number * every_s, value) for number, value in enumerate(values)]


def test_a_straight_line() -> None:
    trend = Trend.of(series([1000 + minute for minute in range(61)]))

    assert trend is not None
    assert trend.start == pytest.approx(1000)
    assert trend.per_hour == pytest.approx(60)
    assert trend.percent_per_hour == pytest.approx(6)
    assert trend.grows(5.9)
    assert not trend.grows(6.1)


def test_what_shrinks_does_not_grow() -> None:
    trend = Trend.of(series([1000.0 - minute for minute in range(61)]))

    assert trend is not None
    assert trend.percent_per_hour == pytest.approx(-6)
    assert not trend.grows(1)


def test_swings_and_one_jump_are_no_trend() -> None:
    chance = random.Random(1)
    swinging = [500 + chance.uniform(-100, 100) for _ in range(3000)]
    swinging[1500] = 10**9

    trend = Trend.of(series(swinging, every_s=1.2))

    assert trend is not None
    assert abs(trend.percent_per_hour) < 3  # of swings of 20% on either side


@pytest.mark.parametrize("percent", [2.0, 5.0, 20.0])
def test_a_slow_leak_is_found_beneath_swings(percent: float) -> None:
    chance = random.Random(2)
    leaking = [
        1000 * (1 + percent / 100 * minute / 60) + chance.gauss(0, 5) for minute in range(61)
    ]

    trend = Trend.of(series(leaking))

    assert trend is not None
    assert trend.percent_per_hour == pytest.approx(percent, abs=0.7)
    assert trend.grows(1)


def test_what_begins_at_nothing_grows_without_end() -> None:
    trend = Trend.of(series([float(minute) for minute in range(10)]))

    assert trend is not None
    assert math.isinf(trend.percent_per_hour)
    nothing = Trend.of(series([0.0] * 10))
    assert nothing is not None
    assert nothing.percent_per_hour == 0


def test_one_point_has_no_trend() -> None:
    assert Trend.of([]) is None
    assert Trend.of([Point(1, 1)]) is None


def test_thinning_keeps_the_ends_and_the_level() -> None:
    points = thinned(series([7.0] * 1001, every_s=1), most=100)

    assert len(points) <= 100
    assert {point.value for point in points} == {7.0}
    assert points[0].seconds < 11
    assert points[-1].seconds > 989


def test_the_warm_up_does_not_count() -> None:
    warming_up = series([*map(float, range(60)), *[60.0] * 20])

    (whole,) = rows({"x": warming_up}, 0)
    (later,) = rows({"x": warming_up}, 60 * 60)

    assert later.trend == (60.0, 0.0)
    assert whole.grows
    assert not later.grows
    assert after(warming_up, 60 * 60)[0] == (60 * 60, 60.0)


def test_the_verdict_names_what_grows() -> None:
    flat, growing = series([100.0] * 60), series([100.0 + minute for minute in range(60)])

    assert verdict(rows({"driver memory": flat}, 0)) is None
    found = rows({"driver memory": flat, "jvm threads": growing}, 0)
    assert verdict(found) == "Grows by 1% an hour or more: jvm threads."
    assert [line.endswith("grows") for line in table(found)] == [False, False, True]
    short = rows({"driver memory": flat}, 3600)
    assert verdict(short) == "The run was too short to tell a trend."


def test_the_rate_of_batches() -> None:
    assert rate([Point(10, 100), Point(20, 190), Point(30, 300)]) == 10
    assert rate([Point(10, 100)]) == 0


def test_the_chart_is_a_drawing_of_every_series() -> None:
    flat, growing = series([0.0] * 60), series([100.0 + minute for minute in range(60)])
    found = rows({"temporary files": flat, "driver memory": growing}, 600)

    drawing = ET.fromstring(svg(found, 600, "60 minutes & more"))

    texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "60 minutes & more" in texts
    assert "temporary files" in texts
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}polyline"))) == 2


def test_what_this_process_holds() -> None:
    before = held({"driver": [os.getpid()]})
    with open(os.devnull), open(os.devnull):
        after_opening = held({"driver": [os.getpid()]})

    assert after_opening["driver descriptors"] == before["driver descriptors"] + 2
    assert before["driver memory"] > 2**20
    assert before["driver threads"] >= 1
    assert held({"driver": [2**22 + 1]}) == {}


def test_files_on_disk(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "0_0").mkdir(parents=True)
    (state / "0_0" / "data").write_bytes(bytes(10_000))
    (state / "about").write_bytes(b"x")

    found = on_disk(state)

    assert found["state files"] == 2
    assert found["state disk"] >= 10_000

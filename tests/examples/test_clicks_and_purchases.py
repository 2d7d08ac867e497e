from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from examples.clicks_and_purchases import (
    ACTIVITY,
    ACTIVITY_STORE,
    CLICKS,
    INTERVAL,
    PURCHASES,
    Activity,
    Click,
    Purchase,
    cogroup_topology,
    topology,
)
from headrace import Window, Windowed, serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

HOME, LAMPS = Click("/"), Click("/lamps")
LAMP, BULB = Purchase("lamp", 39.0), Purchase("bulb", 4.5)


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology(), wall_clock_start_ms=100_000) as driver:
        yield driver


@pytest.fixture
def clicks(driver: TopologyTestDriver) -> TestInputTopic[str, Click]:
    return driver.input_topic(CLICKS, serdes.string(), serdes.json(Click))


@pytest.fixture
def purchases(driver: TopologyTestDriver) -> TestInputTopic[str, Purchase]:
    return driver.input_topic(PURCHASES, serdes.string(), serdes.json(Purchase))


@pytest.fixture
def activity(driver: TopologyTestDriver) -> TestOutputTopic[str, Activity]:
    return driver.output_topic(ACTIVITY, serdes.string(), serdes.json(Activity))


def test_activity_of_a_user_is_gathered_from_both_topics(
    driver: TopologyTestDriver,
    clicks: TestInputTopic[str, Click],
    purchases: TestInputTopic[str, Purchase],
    activity: TestOutputTopic[str, Activity],
) -> None:
    clicks.pipe("ann", HOME)
    purchases.pipe("ann", LAMP)
    clicks.pipe("ann", LAMPS)
    clicks.pipe("bob", HOME)
    assert activity.is_empty
    driver.advance_wall_clock_time(INTERVAL)
    records = activity.read_records()
    assert [(record.key, record.value) for record in records] == [
        ("ann", Activity((HOME, LAMPS), (LAMP,))),
        ("bob", Activity((HOME,))),
    ]
    assert {record.timestamp for record in records} == {110_000}


def test_nothing_comes_out_before_the_interval_is_over(
    driver: TopologyTestDriver,
    clicks: TestInputTopic[str, Click],
    activity: TestOutputTopic[str, Activity],
) -> None:
    clicks.pipe("ann", HOME)
    driver.advance_wall_clock_time(INTERVAL - timedelta(milliseconds=1))
    assert activity.is_empty


def test_each_interval_begins_with_nothing(
    driver: TopologyTestDriver,
    purchases: TestInputTopic[str, Purchase],
    activity: TestOutputTopic[str, Activity],
) -> None:
    purchases.pipe("ann", LAMP)
    driver.advance_wall_clock_time(INTERVAL)
    assert list(driver.store(ACTIVITY_STORE).all()) == []
    driver.advance_wall_clock_time(INTERVAL)
    purchases.pipe("ann", BULB)
    driver.advance_wall_clock_time(INTERVAL)
    assert activity.read_values() == [Activity((), (LAMP,)), Activity((), (BULB,))]


def test_gathered_activity_survives_a_crash(
    driver: TopologyTestDriver,
    clicks: TestInputTopic[str, Click],
    activity: TestOutputTopic[str, Activity],
) -> None:
    clicks.pipe("ann", HOME)
    driver.crash()
    clicks.pipe("ann", LAMPS)
    driver.advance_wall_clock_time(INTERVAL)
    assert activity.read_values() == [Activity((HOME, LAMPS))]


def test_cogroup_gathers_in_windows_of_event_time() -> None:
    with TopologyTestDriver(cogroup_topology()) as driver:
        clicks = driver.input_topic(CLICKS, serdes.string(), serdes.json(Click))
        purchases = driver.input_topic(PURCHASES, serdes.string(), serdes.json(Purchase))
        clicks.pipe("ann", HOME, 1_000)
        purchases.pipe("ann", LAMP, 2_000)
        clicks.pipe("bob", LAMPS, 9_999)
        purchases.pipe("ann", BULB, 10_000)
        activity = driver.output_topic(
            ACTIVITY, serdes.time_windowed(serdes.string(), INTERVAL), serdes.json(Activity)
        )
        first, second = Window(0, 10_000), Window(10_000, 20_000)
        assert activity.read_key_values() == [
            (Windowed("ann", first), Activity((HOME,))),
            (Windowed("ann", first), Activity((HOME,), (LAMP,))),
            (Windowed("bob", first), Activity((LAMPS,))),
            (Windowed("ann", second), Activity((), (BULB,))),
        ]

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.click_sessions import CLICKS, VISITS, Click, Visit, topology
from headrace import serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

MINUTE = 60_000


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology()) as driver:
        yield driver


@pytest.fixture
def clicks(driver: TopologyTestDriver) -> TestInputTopic[str, Click]:
    return driver.input_topic(CLICKS, serdes.string(), serdes.json(Click))


@pytest.fixture
def visits(driver: TopologyTestDriver) -> TestOutputTopic[str, Visit]:
    return driver.output_topic(VISITS, serdes.string(), serdes.json(Visit))


def click(clicks: TestInputTopic[str, Click], user: str, page: str, minute: int) -> None:
    clicks.pipe(user, Click(page), minute * MINUTE)


def end_all_visits(clicks: TestInputTopic[str, Click]) -> None:
    """Later clicks of somebody else move stream time on."""
    click(clicks, "clock", "/", 10_000)


def test_a_visit_is_reported_once_when_it_is_over(
    clicks: TestInputTopic[str, Click], visits: TestOutputTopic[str, Visit]
) -> None:
    click(clicks, "ann", "/", 0)
    click(clicks, "ann", "/lamps", 10)
    click(clicks, "ann", "/lamps", 35)
    assert visits.is_empty
    end_all_visits(clicks)
    assert visits.read_key_values() == [("ann", Visit(0, 35 * MINUTE, {"/": 1, "/lamps": 2}))]


def test_a_visit_is_over_after_gap_and_grace(
    clicks: TestInputTopic[str, Click], visits: TestOutputTopic[str, Visit]
) -> None:
    click(clicks, "ann", "/", 0)
    click(clicks, "bob", "/", 34)
    assert visits.is_empty
    click(clicks, "bob", "/", 35)
    assert [user for user, _ in visits.read_key_values()] == ["ann"]


def test_a_pause_longer_than_the_gap_makes_two_visits(
    clicks: TestInputTopic[str, Click], visits: TestOutputTopic[str, Visit]
) -> None:
    click(clicks, "ann", "/", 0)
    click(clicks, "ann", "/", 30)
    click(clicks, "ann", "/lamps", 61)
    end_all_visits(clicks)
    assert visits.read_values() == [
        Visit(0, 30 * MINUTE, {"/": 2}),
        Visit(61 * MINUTE, 61 * MINUTE, {"/lamps": 1}),
    ]


def test_a_late_click_joins_two_visits_into_one(
    clicks: TestInputTopic[str, Click], visits: TestOutputTopic[str, Visit]
) -> None:
    click(clicks, "ann", "/", 0)
    click(clicks, "ann", "/", 34)
    click(clicks, "ann", "/lamps", 17)
    end_all_visits(clicks)
    assert visits.read_values() == [Visit(0, 34 * MINUTE, {"/": 2, "/lamps": 1})]


def test_a_click_that_comes_too_late_is_dropped(
    driver: TopologyTestDriver,
    clicks: TestInputTopic[str, Click],
    visits: TestOutputTopic[str, Visit],
) -> None:
    click(clicks, "bob", "/", 100)
    click(clicks, "ann", "/", 10)
    end_all_visits(clicks)
    assert [user for user, _ in visits.read_key_values()] == ["bob"]
    assert driver.dropped_records == 1


def test_users_have_their_own_visits(
    clicks: TestInputTopic[str, Click], visits: TestOutputTopic[str, Visit]
) -> None:
    click(clicks, "ann", "/", 0)
    click(clicks, "bob", "/help", 5)
    end_all_visits(clicks)
    assert visits.read_map() == {
        "ann": Visit(0, 0, {"/": 1}),
        "bob": Visit(5 * MINUTE, 5 * MINUTE, {"/help": 1}),
    }


def test_a_visit_goes_on_over_a_crash(
    driver: TopologyTestDriver,
    clicks: TestInputTopic[str, Click],
    visits: TestOutputTopic[str, Visit],
) -> None:
    click(clicks, "ann", "/", 0)
    driver.crash()
    click(clicks, "ann", "/lamps", 20)
    end_all_visits(clicks)
    assert visits.read_values() == [Visit(0, 20 * MINUTE, {"/": 1, "/lamps": 1})]

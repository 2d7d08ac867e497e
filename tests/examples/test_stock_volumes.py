from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.stock_volumes import (
    INDUSTRIES_STORE,
    TOP_FIVE,
    TRADES,
    VOLUMES_STORE,
    Industry,
    Trade,
    Volume,
    topology,
)
from headrace import serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology()) as driver:
        yield driver


@pytest.fixture
def trades(driver: TopologyTestDriver) -> TestInputTopic[str, Trade]:
    return driver.input_topic(TRADES, serdes.string(), serdes.json(Trade))


@pytest.fixture
def top_five(driver: TopologyTestDriver) -> TestOutputTopic[str, list[str]]:
    return driver.output_topic(TOP_FIVE, serdes.string(), serdes.json(list[str]))


def food(symbol: str, shares: int) -> Trade:
    return Trade(symbol, "food", shares, 10.0)


def test_shares_of_a_symbol_add_up(
    driver: TopologyTestDriver, trades: TestInputTopic[str, Trade]
) -> None:
    trades.pipe_values([food("OATS", 100), food("OATS", 50)])
    assert driver.store(VOLUMES_STORE).get("OATS").value == Volume("OATS", "food", 150)


def test_each_industry_is_ranked_by_volume(
    trades: TestInputTopic[str, Trade], top_five: TestOutputTopic[str, list[str]]
) -> None:
    trades.pipe_values(
        [food("OATS", 100), food("MILK", 300), Trade("COAL", "energy", 7, 2.5), food("OATS", 1_250)]
    )
    assert top_five.read_map() == {
        "food": ["1. OATS 1,350", "2. MILK 300"],
        "energy": ["1. COAL 7"],
    }


def test_every_update_is_complete(
    trades: TestInputTopic[str, Trade], top_five: TestOutputTopic[str, list[str]]
) -> None:
    trades.pipe_values([food("OATS", 1), food("MILK", 2), food("OATS", 3)])
    assert top_five.read_values() == [
        ["1. OATS 1"],
        ["1. MILK 2", "2. OATS 1"],
        ["1. OATS 4", "2. MILK 2"],
    ]


def test_only_five_are_listed_and_equal_ones_by_name(
    trades: TestInputTopic[str, Trade], top_five: TestOutputTopic[str, list[str]]
) -> None:
    trades.pipe_values([food(symbol, 10) for symbol in ("F", "E", "D", "C", "B", "A")])
    assert top_five.read_map()["food"] == ["1. A 10", "2. B 10", "3. C 10", "4. D 10", "5. E 10"]


def test_the_sixth_moves_up_when_a_company_changes_industry(
    driver: TopologyTestDriver,
    trades: TestInputTopic[str, Trade],
    top_five: TestOutputTopic[str, list[str]],
) -> None:
    trades.pipe_values([food(symbol, 10) for symbol in ("A", "B", "C", "D", "E", "F")])
    trades.pipe_value(Trade("A", "farming", 5, 10.0))
    assert top_five.read_map() == {
        "food": ["1. B 10", "2. C 10", "3. D 10", "4. E 10", "5. F 10"],
        "farming": ["1. A 15"],
    }
    assert driver.store(INDUSTRIES_STORE).get("farming").value == Industry({"A": 15})


def test_rankings_survive_a_crash(
    driver: TopologyTestDriver,
    trades: TestInputTopic[str, Trade],
    top_five: TestOutputTopic[str, list[str]],
) -> None:
    trades.pipe_values([food("OATS", 100), food("MILK", 300)])
    driver.crash()
    trades.pipe_value(food("OATS", 201))
    assert top_five.read_values()[-1] == ["1. OATS 301", "2. MILK 300"]

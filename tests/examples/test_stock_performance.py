from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.stock_performance import MOVES, QUOTES_STORE, TRADES, Move, Quote, Trade, topology
from headrace import Record, serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

SECOND = 1_000


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology()) as driver:
        yield driver


@pytest.fixture
def trades(driver: TopologyTestDriver) -> TestInputTopic[str, Trade]:
    return driver.input_topic(TRADES, serdes.string(), serdes.json(Trade))


@pytest.fixture
def moves(driver: TopologyTestDriver) -> TestOutputTopic[str, Move]:
    return driver.output_topic(MOVES, serdes.string(), serdes.json(Move))


def test_a_move_is_reported_at_the_next_punctuation(
    trades: TestInputTopic[str, Trade], moves: TestOutputTopic[str, Move]
) -> None:
    trades.pipe("ACME", Trade(10, 100.0), 0)
    trades.pipe("ACME", Trade(5, 103.0), 9 * SECOND)
    assert moves.is_empty
    trades.pipe("OATS", Trade(1, 20.0), 12 * SECOND)
    assert moves.read_records() == [Record("ACME", Move(103.0, 0.03, 15), 12 * SECOND)]


def test_a_fall_is_a_move_too(
    trades: TestInputTopic[str, Trade], moves: TestOutputTopic[str, Move]
) -> None:
    trades.pipe("ACME", Trade(10, 100.0), 0)
    trades.pipe("ACME", Trade(10, 90.0), 10 * SECOND)
    assert moves.read_key_values() == [("ACME", Move(90.0, -0.1, 20))]


def test_small_changes_are_not_reported_until_they_add_up(
    trades: TestInputTopic[str, Trade], moves: TestOutputTopic[str, Move]
) -> None:
    trades.pipe("ACME", Trade(1, 100.0), 0)
    trades.pipe("ACME", Trade(1, 101.0), 10 * SECOND)
    assert moves.is_empty
    trades.pipe("ACME", Trade(1, 102.0), 20 * SECOND)
    assert moves.read_values() == [Move(102.0, 0.02, 3)]


def test_a_move_is_reported_once(
    driver: TopologyTestDriver,
    trades: TestInputTopic[str, Trade],
    moves: TestOutputTopic[str, Move],
) -> None:
    trades.pipe("ACME", Trade(1, 100.0), 0)
    trades.pipe("ACME", Trade(1, 110.0), 10 * SECOND)
    trades.pipe("ACME", Trade(4, 110.5), 20 * SECOND)
    assert len(moves) == 1
    assert driver.store(QUOTES_STORE).get("ACME") == Quote(110.5, 110.0, 4)


def test_stocks_are_reported_in_order_of_their_symbols(
    trades: TestInputTopic[str, Trade], moves: TestOutputTopic[str, Move]
) -> None:
    for symbol in ("OATS", "ACME", "MILK"):
        trades.pipe(symbol, Trade(1, 50.0), 1 * SECOND)
        trades.pipe(symbol, Trade(1, 60.0), 2 * SECOND)
    trades.pipe("COAL", Trade(1, 5.0), 10 * SECOND)
    assert [symbol for symbol, _ in moves.read_key_values()] == ["ACME", "MILK", "OATS"]


def test_quotes_survive_a_crash(
    driver: TopologyTestDriver,
    trades: TestInputTopic[str, Trade],
    moves: TestOutputTopic[str, Move],
) -> None:
    trades.pipe("ACME", Trade(10, 100.0), 0)
    driver.crash()
    trades.pipe("ACME", Trade(5, 105.0), 10 * SECOND)
    assert moves.read_values() == [Move(105.0, 0.05, 15)]

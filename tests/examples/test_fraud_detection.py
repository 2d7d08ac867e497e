from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.fraud_detection import ACCOUNTS, ALERTS, PAYMENTS, Account, Alert, Payment, topology
from headrace import serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

MINUTE = 60_000


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology()) as driver:
        accounts = driver.input_topic(ACCOUNTS, serdes.string(), serdes.json(Account))
        accounts.pipe("a1", Account("Ann", 1_000.0), 0)
        accounts.pipe("b2", Account("Bob", 100.0), 0)
        yield driver


@pytest.fixture
def payments(driver: TopologyTestDriver) -> TestInputTopic[str, Payment]:
    return driver.input_topic(PAYMENTS, serdes.string(), serdes.json(Payment))


@pytest.fixture
def alerts(driver: TopologyTestDriver) -> TestOutputTopic[str, Alert]:
    return driver.output_topic(ALERTS, serdes.string(), serdes.json(Alert))


def probe(payments: TestInputTopic[str, Payment], account: str, *minutes: int) -> None:
    for minute in minutes:
        payments.pipe(account, Payment(0.99, "songs"), minute * MINUTE)


def test_ordinary_payments_raise_no_alert(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    payments.pipe("a1", Payment(800.0, "bikes"), 0)
    payments.pipe("b2", Payment(99.0, "shoes"), 1 * MINUTE)
    payments.pipe("a1", Payment(800.0, "bikes"), 60 * MINUTE)
    assert alerts.is_empty


def test_spending_more_than_the_limit_is_too_fast(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    payments.pipe("b2", Payment(60.0, "shoes"), 1 * MINUTE)
    payments.pipe("b2", Payment(60.0, "hats"), 3 * MINUTE)
    assert alerts.read_key_values() == [("b2", Alert("too fast", "Bob", 120.0, "hats"))]


def test_a_window_alerts_once(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    for minute in range(1, 5):
        payments.pipe("b2", Payment(60.0, "shoes"), minute * MINUTE)
    assert len(alerts) == 1


def test_a_spree_across_the_border_of_a_window_is_seen(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    payments.pipe("b2", Payment(60.0, "shoes"), 9 * MINUTE)
    payments.pipe("b2", Payment(60.0, "hats"), 11 * MINUTE)
    assert alerts.read_values() == [Alert("too fast", "Bob", 120.0, "hats")]


def test_a_lower_limit_counts_from_the_next_payment(
    driver: TopologyTestDriver,
    payments: TestInputTopic[str, Payment],
    alerts: TestOutputTopic[str, Alert],
) -> None:
    payments.pipe("a1", Payment(300.0, "shoes"), 1 * MINUTE)
    accounts = driver.input_topic(ACCOUNTS, serdes.string(), serdes.json(Account))
    accounts.pipe("a1", Account("Ann", 100.0), 2 * MINUTE)
    assert alerts.is_empty
    payments.pipe("a1", Payment(10.0, "hats"), 3 * MINUTE)
    payments.pipe("a1", Payment(10.0, "hats"), 4 * MINUTE)
    assert alerts.read_values() == [Alert("too fast", "Ann", 310.0, "hats")]


def test_a_higher_limit_counts_from_the_next_payment(
    driver: TopologyTestDriver,
    payments: TestInputTopic[str, Payment],
    alerts: TestOutputTopic[str, Alert],
) -> None:
    payments.pipe("b2", Payment(60.0, "shoes"), 1 * MINUTE)
    accounts = driver.input_topic(ACCOUNTS, serdes.string(), serdes.json(Account))
    accounts.pipe("b2", Account("Bob", 500.0), 2 * MINUTE)
    payments.pipe("b2", Payment(60.0, "hats"), 3 * MINUTE)
    assert alerts.is_empty


def test_a_big_payment_after_small_ones_is_probing(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    probe(payments, "a1", 1, 2, 3)
    payments.pipe("a1", Payment(600.0, "watches"), 20 * MINUTE)
    assert alerts.read_key_values() == [("a1", Alert("probing", "Ann", 600.0, "watches"))]


def test_two_small_payments_or_old_ones_are_not_probing(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    probe(payments, "a1", 1, 2)
    payments.pipe("a1", Payment(600.0, "watches"), 3 * MINUTE)
    probe(payments, "a1", 4)
    payments.pipe("a1", Payment(600.0, "watches"), 40 * MINUTE)
    assert alerts.is_empty


def test_small_payments_of_another_account_do_not_count(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    probe(payments, "b2", 1, 2, 3)
    payments.pipe("a1", Payment(600.0, "watches"), 4 * MINUTE)
    assert alerts.is_empty


def test_both_rules_can_meet_in_one_payment(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    probe(payments, "b2", 1, 2, 3)
    payments.pipe("b2", Payment(600.0, "watches"), 4 * MINUTE)
    assert sorted(alert.rule for alert in alerts.read_values()) == ["probing", "too fast"]


def test_payments_of_unknown_accounts_are_not_looked_at(
    payments: TestInputTopic[str, Payment], alerts: TestOutputTopic[str, Alert]
) -> None:
    payments.pipe("zz", Payment(1_000_000.0, "yachts"), 0)
    assert alerts.is_empty


def test_small_payments_are_remembered_over_a_crash(
    driver: TopologyTestDriver,
    payments: TestInputTopic[str, Payment],
    alerts: TestOutputTopic[str, Alert],
) -> None:
    probe(payments, "a1", 1, 2, 3)
    driver.crash()
    payments.pipe("a1", Payment(600.0, "watches"), 4 * MINUTE)
    assert [alert.rule for alert in alerts.read_values()] == ["probing"]

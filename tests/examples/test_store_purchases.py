from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from examples import store_purchases as store
from examples.store_purchases import Pattern, Purchase, Reward
from headrace import Window, Windowed, serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

MINUTE = 60_000

ESPRESSO = Purchase("ann", "4111-1111-1111-1234", "coffee", "espresso", 2.50, 1, "20742")
RADIO = Purchase("ann", "4111-1111-1111-1234", "electronics", "radio", 49.90, 1, "20742")
NAILS = Purchase("bob", "5500-0000-0000-9876", "hardware", "nails", 3.25, 4, "10011")


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(store.topology()) as driver:
        yield driver


@pytest.fixture
def purchases(driver: TopologyTestDriver) -> TestInputTopic[str, Purchase]:
    return driver.input_topic(store.PURCHASES, serdes.string(), serdes.json(Purchase))


def read_purchases(driver: TopologyTestDriver, topic: str) -> list[Purchase]:
    return driver.output_topic(topic, serdes.string(), serdes.json(Purchase)).read_values()


def read_rewards(driver: TopologyTestDriver) -> list[tuple[str, Reward]]:
    topic = driver.output_topic(store.REWARDS, serdes.string(), serdes.json(Reward))
    return topic.read_key_values()


def department_counts(driver: TopologyTestDriver) -> TestOutputTopic[Windowed[str], int]:
    key = serdes.time_windowed(serdes.string(), store.WINDOW)
    return driver.output_topic(store.DEPARTMENT_COUNTS, key, serdes.long())


def masked(purchase: Purchase) -> Purchase:
    return replace(purchase, card=f"xxxx-xxxx-xxxx-{purchase.card[-4:]}")


def test_no_topic_has_a_card_number(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_values([ESPRESSO, RADIO, NAILS])
    written = driver.take_output()
    assert any(b"xxxx-xxxx-xxxx-1234" in (record.value or b"") for record in written)
    assert not any(b"1111" in (record.value or b"") for record in written)


def test_patterns_tell_what_but_not_who(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_value(NAILS)
    patterns = driver.output_topic(store.PATTERNS, serdes.string(), serdes.json(Pattern))
    assert patterns.read_values() == [Pattern("10011", "nails", 13.0)]


def test_reward_points_add_up_for_each_customer(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_values([RADIO, NAILS, ESPRESSO])
    assert read_rewards(driver) == [
        ("ann", Reward("ann", 49.9, 49, 49)),
        ("bob", Reward("bob", 13.0, 13, 13)),
        ("ann", Reward("ann", 2.5, 2, 51)),
    ]
    assert list(driver.store(store.POINTS_STORE).all()) == [("ann", 51), ("bob", 13)]


def test_points_survive_a_crash(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_value(RADIO)
    driver.crash()
    purchases.pipe_value(ESPRESSO)
    assert [reward.all_points for _, reward in read_rewards(driver)] == [49, 51]


def test_departments_get_their_own_purchases(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_values([ESPRESSO, RADIO, NAILS])
    assert read_purchases(driver, store.COFFEE) == [masked(ESPRESSO)]
    assert read_purchases(driver, store.ELECTRONICS) == [masked(RADIO)]


def test_cheap_purchases_are_not_kept(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    just_enough = replace(ESPRESSO, quantity=2)
    purchases.pipe_values([ESPRESSO, just_enough, RADIO])
    assert read_purchases(driver, store.KEPT_PURCHASES) == [masked(just_enough), masked(RADIO)]


def test_departments_are_counted_in_windows(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_value(ESPRESSO, 0)
    purchases.pipe_value(RADIO, 1 * MINUTE)
    purchases.pipe_value(ESPRESSO, 4 * MINUTE)
    purchases.pipe_value(ESPRESSO, 5 * MINUTE)
    first, second = Window(0, 5 * MINUTE), Window(5 * MINUTE, 10 * MINUTE)
    assert department_counts(driver).read_key_values() == [
        (Windowed("coffee", first), 1),
        (Windowed("electronics", first), 1),
        (Windowed("coffee", first), 2),
        (Windowed("coffee", second), 1),
    ]


def test_a_late_purchase_counts_until_the_grace_period_is_over(
    driver: TopologyTestDriver, purchases: TestInputTopic[str, Purchase]
) -> None:
    purchases.pipe_value(ESPRESSO, 0)
    purchases.pipe_value(RADIO, 6 * MINUTE - 1)
    purchases.pipe_value(ESPRESSO, 1 * MINUTE)
    purchases.pipe_value(RADIO, 6 * MINUTE)
    purchases.pipe_value(ESPRESSO, 2 * MINUTE)
    counted = driver.store(store.PER_DEPARTMENT_STORE).fetch_one("coffee", 0)
    assert counted.value == 2
    assert driver.dropped_records == 1


def test_customers_and_departments_of_several_partitions_meet() -> None:
    with TopologyTestDriver(store.topology(), partitions=4) as driver:
        purchases = driver.input_topic(store.PURCHASES, serdes.string(), serdes.json(Purchase))
        purchases.pipe_key_values([(f"till {n}", RADIO) for n in range(8)], start=0)
        assert [reward.all_points for _, reward in read_rewards(driver)][-1] == 8 * 49
        assert department_counts(driver).read_map() == {
            Windowed("electronics", Window(0, 5 * MINUTE)): 8
        }

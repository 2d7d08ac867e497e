"""A chain of stores: one stream of purchases, and six things made of it.

Card numbers are masked before anything else happens. Then purchases become buying patterns, reward
points (added up in a state store), a topic for each of two departments, the purchases that are
worth keeping, and counts of each department in windows of five minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from headrace import (
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    KStream,
    Materialized,
    StreamsBuilder,
    TimeWindows,
    Topology,
    serdes,
    stores,
)

PURCHASES = "purchases"
PATTERNS = "patterns"
REWARDS = "rewards"
COFFEE = "coffee"
ELECTRONICS = "electronics"
KEPT_PURCHASES = "kept-purchases"
DEPARTMENT_COUNTS = "department-counts"

POINTS_STORE = "points"
PER_DEPARTMENT_STORE = "per-department"

CHEAP = 5.00
WINDOW = timedelta(minutes=5)
GRACE = timedelta(minutes=1)
RETENTION = timedelta(days=1)
"""How long counts can be looked up."""


@dataclass(frozen=True)
class Purchase:
    customer: str
    card: str
    department: str
    item: str
    price: float
    quantity: int
    zip_code: str

    @property
    def total(self) -> float:
        return round(self.price * self.quantity, 2)


@dataclass(frozen=True)
class Pattern:
    """What is bought where, without who."""

    zip_code: str
    item: str
    total: float


@dataclass(frozen=True)
class Reward:
    """The points of a purchase, one for each whole unit of money, and of all so far."""

    customer: str
    total: float
    points: int
    all_points: int


PURCHASE = serdes.json(Purchase)


def topology() -> Topology:
    builder = StreamsBuilder()
    purchases = builder.stream(PURCHASES, key=serdes.string(), value=PURCHASE).map_values(
        mask_card, name="mask-cards"
    )
    find_patterns(purchases)
    reward_customers(purchases)
    branch_by_department(purchases)
    keep_all_but_cheap(purchases)
    count_departments(purchases)
    return builder.build()


def find_patterns(purchases: KStream[str, Purchase]) -> None:
    purchases.map_values(pattern, name="find-patterns").to(PATTERNS, value=serdes.json(Pattern))


def reward_customers(purchases: KStream[str, Purchase]) -> None:
    # All purchases of a customer must be in one partition: that is where their points are.
    (
        purchases.select_key(lambda _, purchase: purchase.customer)
        .repartition(name="by-customer", key=serdes.string(), value=PURCHASE)
        .process_values(
            RewardPoints,
            stores.key_value(POINTS_STORE, key=serdes.string(), value=serdes.long()),
            name="reward-points",
        )
        .to(REWARDS, value=serdes.json(Reward))
    )


def branch_by_department(purchases: KStream[str, Purchase]) -> None:
    (
        purchases.split(name="department-")
        .branch(
            lambda _, purchase: purchase.department == "coffee",
            name="coffee",
            consumer=lambda stream: stream.to(COFFEE, value=PURCHASE),
        )
        .branch(
            lambda _, purchase: purchase.department == "electronics",
            name="electronics",
            consumer=lambda stream: stream.to(ELECTRONICS, value=PURCHASE),
        )
        .no_default_branch()
    )


def keep_all_but_cheap(purchases: KStream[str, Purchase]) -> None:
    purchases.filter(lambda _, purchase: purchase.total >= CHEAP, name="drop-cheap").to(
        KEPT_PURCHASES, value=PURCHASE
    )


def count_departments(purchases: KStream[str, Purchase]) -> None:
    (
        purchases.group_by(
            lambda _, purchase: purchase.department, key=serdes.string(), value=PURCHASE
        )
        .windowed_by(TimeWindows.of_size(WINDOW, grace=GRACE))
        .count(Materialized(PER_DEPARTMENT_STORE, retention=RETENTION), name="count-departments")
        .to_stream()
        .to(
            DEPARTMENT_COUNTS,
            key=serdes.time_windowed(serdes.string(), WINDOW),
            value=serdes.long(),
        )
    )


def mask_card(purchase: Purchase) -> Purchase:
    return replace(purchase, card=f"xxxx-xxxx-xxxx-{purchase.card[-4:]}")


def pattern(purchase: Purchase) -> Pattern:
    return Pattern(purchase.zip_code, purchase.item, purchase.total)


class RewardPoints(FixedKeyProcessor[str, Purchase, Reward]):
    """Adds the points of a purchase to those that its customer has."""

    def init(self, context: FixedKeyProcessorContext[str, Reward]) -> None:
        super().init(context)
        self.points = context.get_state_store(POINTS_STORE)

    def process(self, record: FixedKeyRecord[str, Purchase]) -> None:
        points = int(record.value.total)
        all_points = (self.points.get(record.key) or 0) + points
        self.points.put(record.key, all_points)
        reward = Reward(record.key, record.value.total, points, all_points)
        self.context.forward(record.with_value(reward))

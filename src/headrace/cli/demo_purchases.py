"""The customers of the demo: they buy at a steady pace, now."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.cli.store_purchases import PURCHASE, PURCHASES, Purchase

if TYPE_CHECKING:
    from headrace.kafka.port import Outgoing

GOODS = {
    "coffee": [("espresso", 2.40), ("latte", 3.80), ("beans", 12.50)],
    "electronics": [("headphones", 59.00), ("charger", 14.90), ("lamp", 24.50)],
    "grocery": [("bread", 3.20), ("apples", 4.10), ("cheese", 6.75)],
    "hardware": [("nails", 2.95), ("hammer", 17.20), ("paint", 31.00)],
    "toys": [("puzzle", 11.00), ("kite", 18.40), ("marbles", 3.50)],
}
_BUSY = {"coffee": 8, "grocery": 6, "hardware": 3, "electronics": 2, "toys": 2}
_CUSTOMERS = ["amir", "bea", "carol", "dmitri", "elif", "farid", "grace", "hugo", "ines", "jonas"]
SOMEBODY = _CUSTOMERS[1]
"""A customer to look up."""
_ZIP_CODES = ["10011", "20742", "47197", "94107"]


def purchases() -> Iterator[Purchase]:
    """Without end, and the same in every run."""
    chance = random.Random(7)  # noqa: S311
    cards = {name: _card_number(chance) for name in _CUSTOMERS}
    while True:
        (department,) = chance.choices(list(_BUSY), list(_BUSY.values()))
        customer = chance.choice(_CUSTOMERS)
        item, price = chance.choice(GOODS[department])
        yield Purchase(
            customer,
            cards[customer],
            department,
            item,
            price,
            chance.randint(1, 3),
            chance.choice(_ZIP_CODES),
        )


class Customers:
    """Come at `per_second` from a moment on (in seconds since 1970)."""

    def __init__(self, opening: float, per_second: int) -> None:
        self.purchases = 0
        self._opening = opening
        self._per_second = per_second
        self._next = purchases()

    def due(self, now: float) -> list[Outgoing]:
        """What was bought since this was last asked, as records for Kafka."""
        records: list[Outgoing] = []
        while (at := self._opening + self.purchases / self._per_second) <= now:
            value = PURCHASE.serialize(next(self._next))
            records.append((PURCHASES, None, None, value, int(at * 1000), ()))
            self.purchases += 1
        return records


def _card_number(chance: random.Random) -> str:
    return "-".join(f"{chance.randrange(10_000):04}" for _ in range(4))

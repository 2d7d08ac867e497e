"""Alerts for payments that look like fraud, by two rules.

Too fast: an account spends more than its limit within ten minutes. The windows hop, so that a
spree across the border of one is not missed; it is reported once for each window that it breaks.
Probing: a stolen card is tried with small payments, and then used for a big one.

Shows a join of a stream with a table, hopping windows, a window store asked directly by a
processor, and two streams merged.
"""

from __future__ import annotations

from dataclasses import dataclass
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

PAYMENTS = "payments"
ACCOUNTS = "accounts"
ALERTS = "alerts"
SPENDING_STORE = "spending"
PROBES_STORE = "probes"

SPREE = timedelta(minutes=10)
HOP = timedelta(minutes=5)
PROBING = timedelta(minutes=30)
PROBES = 3
SMALL = 2.00
BIG = 500.00


@dataclass(frozen=True)
class Account:
    owner: str
    limit: float


@dataclass(frozen=True)
class Payment:
    amount: float
    shop: str


@dataclass(frozen=True)
class Charge:
    """A payment together with what is known of its account."""

    amount: float
    shop: str
    owner: str
    limit: float


@dataclass(frozen=True)
class Spending:
    """What an account spent in a window, the charge that came last, and how many charges found the
    limit broken."""

    total: float = 0.0
    last: Charge | None = None
    times_over: int = 0

    @property
    def just_broke_limit(self) -> bool:
        return self.last is not None and self.times_over == 1 and self.total > self.last.limit


@dataclass(frozen=True)
class Alert:
    rule: str
    owner: str
    amount: float
    shop: str


def topology() -> Topology:
    builder = StreamsBuilder()
    accounts = builder.table(ACCOUNTS, key=serdes.string(), value=serdes.json(Account))
    payments = builder.stream(PAYMENTS, key=serdes.string(), value=serdes.json(Payment))
    # Both topics are keyed by account; a payment of an unknown account finds no match and is gone.
    charges = payments.join(accounts, charge)
    too_fast(charges).merge(probing(charges)).to(
        ALERTS, key=serdes.string(), value=serdes.json(Alert)
    )
    return builder.build()


def charge(payment: Payment, account: Account) -> Charge:
    return Charge(payment.amount, payment.shop, account.owner, account.limit)


def too_fast(charges: KStream[str, Charge]) -> KStream[str, Alert]:
    return (
        charges.group_by_key(key=serdes.string(), value=serdes.json(Charge))
        .windowed_by(TimeWindows.of_size(SPREE, grace=HOP).advance_by(HOP))
        .aggregate(
            Spending,
            spend,
            Materialized(SPENDING_STORE, key=serdes.string(), value=serdes.json(Spending)),
        )
        .to_stream(lambda windowed, _: windowed.key)
        .filter(lambda _, spending: spending.just_broke_limit)
        .map_values(spree_alert)
    )


def spend(_: str, charge: Charge, spending: Spending) -> Spending:
    total = round(spending.total + charge.amount, 2)
    return Spending(total, charge, spending.times_over + (total > charge.limit))


def spree_alert(spending: Spending) -> Alert:
    assert spending.last is not None
    return Alert("too fast", spending.last.owner, spending.total, spending.last.shop)


def probing(charges: KStream[str, Charge]) -> KStream[str, Alert]:
    probes = stores.window(
        PROBES_STORE,
        retention=2 * PROBING,
        size=PROBING,
        key=serdes.string(),
        value=serdes.double(),
    )
    return charges.process_values(ProbingDetector, probes)


class ProbingDetector(FixedKeyProcessor[str, Charge, Alert]):
    """Remembers small charges by their time, and counts those before each big one."""

    def init(self, context: FixedKeyProcessorContext[str, Alert]) -> None:
        super().init(context)
        self.probes = context.get_state_store(PROBES_STORE)

    def process(self, record: FixedKeyRecord[str, Charge]) -> None:
        charge = record.value
        if charge.amount <= SMALL:
            self.probes.put(record.key, charge.amount, record.timestamp)
        elif charge.amount >= BIG and self.count_probes(record) >= PROBES:
            alert = Alert("probing", charge.owner, charge.amount, charge.shop)
            self.context.forward(record.with_value(alert))

    def count_probes(self, record: FixedKeyRecord[str, Charge]) -> int:
        since = record.timestamp - PROBING // timedelta(milliseconds=1)
        return sum(1 for _ in self.probes.fetch(record.key, since, record.timestamp))

"""The topology that is tormented: every kind of state, and several ways through Kafka.

What comes out doesn't depend on batches or on how the partitions of the input interleave, beyond
what `checker` allows for:

- counts, windows and sessions: a partition of the output is written by one task, in the order of
  one partition of `clicks`, late records and all. The whole sequence is determined.
- categories: records of several partitions meet, in any order. Every step tells by its sum which
  click it added, so that each must appear once, and those of one partition in their order.
- matches: nothing ever leaves the windows of the join, so that the set of pairs is determined.
- joined: rows of `customers` are never deleted and each has a different version, so that the last
  result of a row is that of the last versions, and versions never go backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from headrace import (
    JoinWindows,
    KStream,
    Materialized,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    serdes,
)

TEXT = serdes.string()
NUMBER = serdes.long()

WINDOW = timedelta(seconds=30)
HOP = timedelta(seconds=15)
GRACE = timedelta(seconds=5)
GAP = timedelta(seconds=5)
REACH = timedelta(seconds=2)
"""How far apart a click and a buy may be."""
FOREVER = timedelta(days=1)


@dataclass(frozen=True)
class Pipeline:
    """The names of one run. Everything begins with the application's id, so that runs can share a
    broker."""

    application_id: str
    partitions: int = 3

    @property
    def clicks(self) -> str:
        return f"{self.application_id}.clicks"

    @property
    def buys(self) -> str:
        return f"{self.application_id}.buys"

    @property
    def orders(self) -> str:
        return f"{self.application_id}.orders"

    @property
    def customers(self) -> str:
        return f"{self.application_id}.customers"

    @property
    def counts(self) -> str:
        return f"{self.application_id}.counts"

    @property
    def windows(self) -> str:
        return f"{self.application_id}.windows"

    @property
    def sessions(self) -> str:
        return f"{self.application_id}.sessions"

    @property
    def categories(self) -> str:
        return f"{self.application_id}.categories"

    @property
    def matches(self) -> str:
        return f"{self.application_id}.matches"

    @property
    def joined(self) -> str:
        return f"{self.application_id}.joined"

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.clicks, self.buys, self.orders, self.customers

    @property
    def outputs(self) -> tuple[str, ...]:
        return (
            self.counts,
            self.windows,
            self.sessions,
            self.categories,
            self.matches,
            self.joined,
        )

    def changelog(self, store: str) -> str:
        return f"{self.application_id}-{store}-changelog"

    @property
    def repartitions(self) -> tuple[str, ...]:
        """The internal topics that the topology reads again."""
        topology = self.topology()
        return tuple(f"{self.application_id}-{topic}" for topic in topology.internal_topics)

    @property
    def changelogs(self) -> dict[str, str]:
        """The changelog topic of each store."""
        return {store: self.changelog(store) for store in self.topology().stores}

    def topology(self) -> Topology:
        builder = StreamsBuilder()
        clicks = builder.stream(self.clicks, key=TEXT, value=TEXT)
        self._count(clicks)
        self._regroup(clicks)
        self._match(clicks, builder.stream(self.buys, key=TEXT, value=TEXT))
        self._join_by_foreign_key(builder)
        return builder.build()

    def _count(self, clicks: KStream[str, str]) -> None:
        grouped = clicks.group_by_key(key=TEXT, value=TEXT)
        counts = grouped.count(Materialized(COUNTS, value=NUMBER))
        counts.to_stream().to(self.counts, key=TEXT, value=NUMBER)
        windows = grouped.windowed_by(TimeWindows.of_size(WINDOW, grace=GRACE).advance_by(HOP))
        windows.count(Materialized(WINDOWS, value=NUMBER)).to_stream().to(
            self.windows, key=serdes.time_windowed(TEXT, WINDOW), value=NUMBER
        )
        sessions = grouped.windowed_by(SessionWindows.of_inactivity_gap(GAP, grace=GRACE))
        # A late record may connect a session to one whose time is over. A cache that has it still
        # finds it, as in Kafka Streams, and a store doesn't: so no session's time is ever over.
        kept = Materialized[str, int](SESSIONS, value=NUMBER, retention=FOREVER)
        sessions.count(kept).to_stream().to(
            self.sessions, key=serdes.session_windowed(TEXT), value=NUMBER
        )

    def _regroup(self, clicks: KStream[str, str]) -> None:
        grouped = clicks.group_by(category_of, key=TEXT, value=TEXT, name="by-category")
        tallies = grouped.aggregate(
            no_tally, add_to_tally, Materialized(CATEGORIES, key=TEXT, value=TEXT)
        )
        tallies.to_stream().to(self.categories, key=TEXT, value=TEXT)

    def _match(self, clicks: KStream[str, str], buys: KStream[str, str]) -> None:
        clicks.join(
            buys,
            match,
            JoinWindows.of_time_difference(REACH, grace=FOREVER),
            key=TEXT,
            value=TEXT,
            other_value=TEXT,
            name="match",
            store_name="match",
        ).to(self.matches, key=TEXT, value=TEXT)

    def _join_by_foreign_key(self, builder: StreamsBuilder) -> None:
        customers = builder.table(self.customers, CUSTOMERS, key=TEXT, value=TEXT)
        orders = builder.table(self.orders, ORDERS, key=TEXT, value=TEXT)
        joined = orders.join(
            customers,
            join_rows,
            Materialized(JOINED, key=TEXT, value=TEXT),
            foreign_key=customer_of,
            name="buyer",
        )
        joined.to_stream().to(self.joined, key=TEXT, value=TEXT)


COUNTS = "counts"
WINDOWS = "windows"
SESSIONS = "sessions"
CATEGORIES = "categories"
MATCHES_THIS = "match-this-join-store"
MATCHES_OTHER = "match-other-join-store"
ORDERS = "orders"
CUSTOMERS = "customers"
SUBSCRIPTIONS = "buyer-subscription-store"
JOINED = "joined"


# Clicks are "category:id"; buys are ids; orders "customer:version"; customers "version".


class Tally(NamedTuple):
    """What a category has so far: how many clicks, and the sum of their ids."""

    clicks: int
    total: int

    @classmethod
    def read(cls, text: str) -> Tally:
        clicks, total = text.split("/")
        return cls(int(clicks), int(total))

    def __str__(self) -> str:
        return f"{self.clicks}/{self.total}"


def category_of(user: str, click: str) -> str:
    return click.partition(":")[0]


def id_of(click: str) -> int:
    return int(click.partition(":")[2])


def no_tally() -> str:
    return "0/0"


def add_to_tally(category: str, click: str, tally: str) -> str:
    clicks, total = Tally.read(tally)
    return str(Tally(clicks + 1, total + id_of(click)))


def match(click: str, buy: str) -> str:
    return f"{click}+{buy}"


def customer_of(order: str) -> str:
    return order.partition(":")[0]


def join_rows(order: str, customer: str) -> str:
    return f"{order}+{customer}"

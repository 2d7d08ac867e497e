"""Types flow through the DSL. mypy checks this file; running it shows that the code is valid too.

A `type: ignore` here is part of the test: mypy reports one that is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

import pytest

from headrace import (
    ArgumentError,
    BranchedKStream,
    FixedKeyProcessor,
    FixedKeyRecord,
    GlobalKTable,
    JoinWindows,
    KGroupedStream,
    KGroupedTable,
    KStream,
    KTable,
    Materialized,
    Processor,
    ProcessorContext,
    Record,
    Serde,
    SessionWindowedKStream,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindowedKStream,
    TimeWindows,
    ValueTransformer,
    Windowed,
    serdes,
    stores,
    with_key,
)
from headrace.runtime.stores import key_value, session, versioned, window
from headrace.stores import KeyValueStore, SessionStore, VersionedKeyValueStore, WindowStore
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Order:
    customer: str
    price: float


@dataclass(frozen=True)
class Customer:
    name: str


ORDER = serdes.json(Order)


def orders(builder: StreamsBuilder) -> KStream[str, Order]:
    return builder.stream("orders", key=serdes.string(), value=ORDER)


def customers(builder: StreamsBuilder) -> KTable[str, Customer]:
    return builder.table("customers", key=serdes.string(), value=serdes.json(Customer))


def test_serdes() -> None:
    assert_type(serdes.json(Order), Serde[Order])
    assert_type(serdes.json(list[Order]), Serde[list[Order]])
    assert_type(serdes.json(), Serde[Any])
    assert_type(serdes.list_(serdes.double()), Serde[list[float]])
    assert_type(serdes.time_windowed(serdes.string(), MINUTE), Serde[Windowed[str]])
    session: Serde[Windowed[str]] = serdes.session_windowed(serdes.string())
    assert session


def test_sources() -> None:
    builder = StreamsBuilder()
    text, number = serdes.string(), serdes.long()
    assert_type(builder.stream("a", key=text, value=ORDER), KStream[str, Order])
    assert_type(builder.table("b", key=text, value=number), KTable[str, int])
    assert_type(builder.table("c", Materialized("c", key=text, value=number)), KTable[str, int])
    assert_type(builder.table("d", "d", key=text, value=number), KTable[str, int])
    assert_type(builder.global_table("e", key=number, value=text), GlobalKTable[int, str])


def test_what_no_serde_tells_is_any_or_annotated() -> None:
    builder = StreamsBuilder()
    assert_type(builder.stream("a"), KStream[Any, Any])
    assert_type(builder.stream("b", value=serdes.long()), KStream[Any, int])
    annotated: KStream[str, Order] = builder.stream("c")
    assert_type(annotated.map_values(lambda order: order.price), KStream[str, float])
    uncached = Materialized("uncached", caching=False)
    assert_type(uncached, Materialized[Any, Any])


def test_records_one_at_a_time() -> None:
    stream = orders(StreamsBuilder())
    assert_type(stream.filter(lambda key, order: order.price > 1), KStream[str, Order])
    assert_type(stream.map_values(lambda order: order.price), KStream[str, float])
    assert_type(stream.flat_map_values(lambda order: [order.price]), KStream[str, float])
    assert_type(stream.select_key(lambda key, order: len(key)), KStream[int, Order])
    assert_type(stream.map(lambda key, order: (1, order.price)), KStream[int, float])
    assert_type(stream.flat_map(lambda key, order: [(1, order.price)]), KStream[int, float])
    assert_type(stream.peek(lambda key, order: order.price), KStream[str, Order])
    assert_type(stream.merge(stream), KStream[str, Order])
    assert_type(stream.repartition(), KStream[str, Order])
    assert_type(stream.to_table(), KTable[str, Order])
    assert_type(stream.to_table("stored"), KTable[str, Order])


def test_functions_with_the_key() -> None:
    builder = StreamsBuilder()
    stream, table = orders(builder), customers(builder)

    def label(key: str, order: Order) -> str:
        return f"{key}: {order.price}"

    def of_number(key: int, order: Order) -> str:
        return f"{key}: {order.price}"

    assert_type(stream.map_values(with_key(lambda key, order: (key, order))), PairStream)
    assert_type(stream.map_values(with_key(label)), KStream[str, str])
    assert_type(
        stream.flat_map_values(with_key(lambda key, order: [order.price])), KStream[str, float]
    )
    assert_type(
        stream.join(table, with_key(lambda key, order, customer: (key, order, customer))),
        KStream[str, tuple[str, Order, Customer]],
    )
    assert_type(table.map_values(with_key(lambda key, customer: len(key))), KTable[str, int])
    stream.map_values(with_key(of_number))  # type: ignore[arg-type]


PairStream = KStream[str, tuple[str, Order]]


def test_aggregations() -> None:
    stream = orders(StreamsBuilder())
    grouped = stream.group_by_key()
    assert_type(grouped, KGroupedStream[str, Order])
    assert_type(stream.group_by(lambda key, order: order.price), KGroupedStream[float, Order])
    assert_type(grouped.count(), KTable[str, int])
    assert_type(grouped.count("counts"), KTable[str, int])
    assert_type(grouped.reduce(lambda one, other: other), KTable[str, Order])
    assert_type(
        grouped.aggregate(float, lambda key, order, total: total + order.price),
        KTable[str, float],
    )
    assert_type(
        grouped.aggregate(
            lambda: 0.0,
            lambda key, order, total: total + order.price,
            Materialized("totals", value=serdes.double()),
        ),
        KTable[str, float],
    )
    assert_type(
        grouped.aggregate(
            list[float],
            lambda key, order, prices: [*prices, order.price],
            Materialized("prices", value=serdes.list_(serdes.double())),
        ),
        KTable[str, list[float]],
    )


def test_cogrouped_streams() -> None:
    grouped = orders(StreamsBuilder()).group_by_key()

    def add(key: str, order: Order, total: float) -> float:
        return total + order.price

    assert_type(grouped.cogroup(add).aggregate(float), KTable[str, float])
    assert_type(
        grouped.cogroup(add).windowed_by(TimeWindows.of_size(MINUTE)).aggregate(float),
        KTable[Windowed[str], float],
    )


def test_windows() -> None:
    grouped = orders(StreamsBuilder()).group_by_key()
    timed = grouped.windowed_by(TimeWindows.of_size(MINUTE))
    sessions = grouped.windowed_by(SessionWindows.of_inactivity_gap(MINUTE))
    assert_type(timed, TimeWindowedKStream[str, Order])
    assert_type(sessions, SessionWindowedKStream[str, Order])
    assert_type(
        grouped.windowed_by(SlidingWindows.of_time_difference(MINUTE)),
        TimeWindowedKStream[str, Order],
    )
    assert_type(timed.count(), KTable[Windowed[str], int])
    assert_type(timed.reduce(lambda one, other: one), KTable[Windowed[str], Order])
    assert_type(
        timed.aggregate(float, lambda key, order, total: total + order.price),
        KTable[Windowed[str], float],
    )
    assert_type(
        sessions.aggregate(
            float,
            lambda key, order, total: total + order.price,
            lambda key, one, other: other,
        ),
        KTable[Windowed[str], float],
    )
    assert_type(timed.count().to_stream(), KStream[Windowed[str], int])
    assert_type(timed.count().to_stream(lambda key, count: key.key), KStream[str, int])


def test_joins_of_streams() -> None:
    builder = StreamsBuilder()
    stream, table = orders(builder), customers(builder)
    everywhere = builder.global_table("prices", key=serdes.integer(), value=serdes.double())
    within = JoinWindows.of_time_difference(MINUTE)
    both = stream.join(stream, lambda this, other: (this, other), within)
    assert_type(both, KStream[str, tuple[Order, Order]])
    left = stream.left_join(stream, lambda this, other: (this, other), within)
    assert_type(left, KStream[str, tuple[Order, Order | None]])
    outer = stream.outer_join(stream, lambda this, other: (this, other), within)
    assert_type(outer, KStream[str, tuple[Order | None, Order | None]])
    assert_type(stream.join(table, lambda order, who: who.name), KStream[str, str])
    assert_type(stream.left_join(table, lambda order, who: who), KStream[str, Customer | None])
    assert_type(
        stream.join(everywhere, lambda order, price: price, key_selector=lambda key, order: 1),
        KStream[str, float],
    )
    assert_type(
        stream.left_join(
            everywhere, lambda order, price: price, key_selector=lambda key, order: None
        ),
        KStream[str, float | None],
    )


def test_joins_of_tables() -> None:
    builder = StreamsBuilder()
    table, other = orders(builder).to_table(), customers(builder)
    assert_type(table.join(other, lambda order, who: (order, who)), JoinedTable)
    assert_type(
        table.left_join(other, lambda order, who: (order, who)),
        KTable[str, tuple[Order, Customer | None]],
    )
    assert_type(
        table.outer_join(other, lambda order, who: (order, who)),
        KTable[str, tuple[Order | None, Customer | None]],
    )
    assert_type(
        table.join(
            other, lambda order, who: (order, who), foreign_key=lambda order: order.customer
        ),
        JoinedTable,
    )
    table.join(other, lambda order, who: 1, foreign_key=lambda order: order.price)  # type: ignore[arg-type, return-value]


JoinedTable = KTable[str, tuple[Order, Customer]]


def test_tables() -> None:
    table = orders(StreamsBuilder()).to_table()
    assert_type(table.filter(lambda key, order: order.price > 1), KTable[str, Order])
    assert_type(table.map_values(lambda order: order.price), KTable[str, float])
    assert_type(table.to_stream(), KStream[str, Order])
    regrouped = table.group_by(lambda key, order: (order.price, key))
    assert_type(regrouped, KGroupedTable[float, str])
    assert_type(regrouped.count(), KTable[float, int])
    assert_type(
        regrouped.reduce(lambda all, new: all + new, lambda all, old: all), KTable[float, str]
    )
    assert_type(table.queryable_store_name, str | None)


def test_branches() -> None:
    split = orders(StreamsBuilder()).split(name="by-price-")
    assert_type(split, BranchedKStream[str, Order])
    branches = split.branch(lambda key, order: order.price > 1, name="dear").default_branch()
    assert_type(branches, dict[str, KStream[str, Order]])
    assert set(branches) == {"by-price-dear", "by-price-0"}


class Total(Processor[str, Order, int, float]):
    def init(self, context: ProcessorContext[int, float]) -> None:
        super().init(context)
        self.totals: KeyValueStore[str, float] = context.get_state_store("totals")

    def process(self, record: Record[str, Order]) -> None:
        total = self.totals.get(record.key)
        assert_type(total, float | None)
        total = (total or 0.0) + record.value.price
        self.totals.put(record.key, total)
        self.totals.put(record.key, "total")  # type: ignore[arg-type]
        self.context.forward(record)  # type: ignore[arg-type]
        self.context.forward(record.with_key(len(record.key)).with_value(total))


class Price(FixedKeyProcessor[object, Order | None, float]):
    """Takes more than it is given, which is fine."""

    def process(self, record: FixedKeyRecord[object, Order | None]) -> None:
        if record.value is not None:
            self.context.forward(record.with_value(record.value.price))


class Named(ValueTransformer[str, Order, str]):
    def transform(self, key: str, value: Order | None) -> str | None:
        return None if value is None else value.customer


class Texts(Processor[str, str, str, str]):
    pass


def test_processors() -> None:
    stream = orders(StreamsBuilder())
    totals = stores.key_value("totals", key=serdes.string(), value=serdes.double())
    assert_type(stream.process(Total, totals), KStream[int, float])
    assert_type(stream.process(lambda: Total(), "totals", name="again"), KStream[int, float])
    assert_type(stream.process_values(Price), KStream[str, float])
    assert_type(stream.to_table().transform_values(Named), KTable[str, str])
    stream.process(Texts)  # type: ignore[arg-type]


def test_mistakes_that_mypy_finds() -> None:
    builder = StreamsBuilder()
    stream, table = orders(builder), customers(builder)
    stream.to("out", value=serdes.long())  # type: ignore[arg-type]
    stream.map_values(lambda order: order.nope)  # type: ignore[attr-defined]
    with pytest.raises(ArgumentError):
        stream.join(stream, lambda this, other: this)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError):
        stream.merge(table)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        table.join(stream, lambda this, other: 1)  # type: ignore[arg-type]


def test_the_stores_of_the_runtime_are_those_of_the_annotations() -> None:
    kinds: tuple[
        type[KeyValueStore[Any, Any]],
        type[WindowStore[Any, Any]],
        type[SessionStore[Any, Any]],
        type[VersionedKeyValueStore[Any, Any]],
    ] = (
        key_value.KeyValueStore,
        window.WindowStore,
        session.SessionStore,
        versioned.VersionedKeyValueStore,
    )
    protocols = (KeyValueStore, WindowStore, SessionStore, VersionedKeyValueStore)
    for kind, protocol in zip(kinds, protocols, strict=True):
        assert set(_methods(protocol)) <= set(_methods(kind))


def _methods(kind: Any) -> Iterator[str]:
    return (name for name in dir(kind) if not name.startswith("_"))


def test_the_test_driver() -> None:
    builder = StreamsBuilder()
    orders(builder).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("orders", serdes.string(), ORDER)
        out = driver.output_topic("out", serdes.string(), ORDER)
        assert_type(into, TestInputTopic[str, Order])
        assert_type(out, TestOutputTopic[str, Order])
        into.pipe("a", Order("ann", 1.0))
        assert_type(out.read_record(), Record[str, Order])
        assert_type(out.read_key_values(), list[tuple[str, Order]])
        assert_type(out.read_map(), dict[str, Order])

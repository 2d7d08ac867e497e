"""An engine with topics, and ways to run what it makes."""

from __future__ import annotations

import json
from typing import Any

from headrace.sql.engine import Engine
from headrace.sql.pull.query import PullQuery
from headrace.sql.queries import PersistentQuery
from headrace.sql.statements.outcome import Outcome
from headrace.sql.syntax.parser import parse
from headrace.sql.topics import InMemoryTopics, TopicInfo
from headrace.testing import TopologyTestDriver

CLICKS = (
    "CREATE STREAM clicks (id STRING KEY, url STRING, n INT) "
    "WITH (kafka_topic='clicks', format='JSON');"
)
VIEWS = (
    "CREATE STREAM views (id STRING KEY, page STRING) WITH (kafka_topic='views', format='JSON');"
)
USERS = (
    "CREATE TABLE users (id STRING PRIMARY KEY, name STRING, boss STRING) "
    "WITH (kafka_topic='users', format='JSON');"
)
CITIES = (
    "CREATE TABLE cities (id STRING PRIMARY KEY, name STRING) "
    "WITH (kafka_topic='cities', format='JSON');"
)
ALL = f"{CLICKS} {VIEWS} {USERS} {CITIES}"


def engine_with(sql: str = ALL, **settings: Any) -> Engine:
    """An engine that has executed statements. All topics have four partitions."""
    topics = InMemoryTopics(*(TopicInfo(n, 4) for n in ("clicks", "views", "users", "cities")))
    made = Engine({"ksql.service.id": "test_", **settings}, topics=topics)
    execute(made, sql)
    return made


def execute(engine: Engine, sql: str) -> list[Outcome]:
    return [engine.execute(each) for each in parse(sql)]


def started(engine: Engine, sql: str) -> PersistentQuery:
    """The query that the last statement starts."""
    outcome = execute(engine, sql)[-1]
    assert isinstance(outcome, PersistentQuery)
    return outcome


Record = tuple[str, Any, Any, int]
"""Topic, key, value, timestamp. Keys and values are JSON."""


def run(query: PersistentQuery, *records: Record) -> list[tuple[Any, Any, int | None]]:
    """What a query writes to its sink: key, value, timestamp."""
    with driver_of(query) as driver:
        feed(driver, *records)
        return [
            (_content(sent.key), _content(sent.value), sent.timestamp)
            for sent in driver.take_output()
            if sent.topic == query.sink_topic
        ]


def driver_of(query: PersistentQuery) -> TopologyTestDriver:
    settings = {**query.settings, "cache.max.bytes.buffering": 0}
    return TopologyTestDriver(query.topology, settings, wall_clock_start_ms=0)


def feed(driver: TopologyTestDriver, *records: Record) -> None:
    for topic, key, value, timestamp in records:
        driver.pipe(topic, _data(key), _data(value), timestamp)


def pulled(engine: Engine, driver: TopologyTestDriver, sql: str) -> list[tuple[Any, ...]]:
    """The answer to a pull query from the stores of a driver."""
    query = engine.pull(parse(sql)[0])
    return list(query.answer(driver.store(store_of(query))))


def store_of(query: PullQuery) -> str:
    assert query.materialized_by is not None
    assert query.materialized_by.materialization is not None
    return query.materialized_by.materialization.store


def _data(content: Any) -> bytes | None:
    return None if content is None else json.dumps(content).encode()


def _content(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return data

"""The topologies of the benchmark; `KafkaStreamsBench.java` has the same for Kafka Streams.

The yardstick counts the records it has seen in a `peek`. Headrace's are counted from the positions
that it commits, so there is none here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from headrace import StreamsBuilder, TimeWindows, Topology, Windowed, serdes

from .load import users_topic

WINDOW = timedelta(minutes=5)


def _is_expensive(key: str, purchase: Any) -> bool:
    return bool(purchase["amount"] > 5)


def _masked(purchase: Any) -> Any:
    purchase["card"] = "xxxx"
    return purchase


def _user(key: str, purchase: Any) -> str:
    return str(purchase["user"])


def _window_name(key: Windowed[str], count: int) -> str:
    return f"{key.key}@{key.window.start}"


def _with_profile(purchase: Any, profile: Any) -> Any:
    purchase["profile"] = profile
    return purchase


def map_topology(source: str, sink: str) -> Topology:
    """JSON in, filtered, a field added, JSON out."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=serdes.string(), value=serdes.json())
        .filter(_is_expensive)
        .map_values(_masked)
        .to(sink, key=serdes.string(), value=serdes.json())
    )
    return builder.build()


def count_topology(source: str, sink: str) -> Topology:
    """The records of each key."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=serdes.string(), value=serdes.json())
        .group_by_key()
        .count("counts")
        .to_stream()
        .to(sink, key=serdes.string(), value=serdes.long())
    )
    return builder.build()


def window_topology(source: str, sink: str) -> Topology:
    """The records of each key in every five minutes."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=serdes.string(), value=serdes.json())
        .group_by_key()
        .windowed_by(TimeWindows.of_size(WINDOW))
        .count("counts")
        .to_stream(_window_name)
        .to(sink, key=serdes.string(), value=serdes.long())
    )
    return builder.build()


def regroup_topology(source: str, sink: str) -> Topology:
    """The records of each user, which is in the value: through a repartition topic."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=serdes.string(), value=serdes.json())
        .group_by(_user, key=serdes.string())
        .count("counts")
        .to_stream()
        .to(sink, key=serdes.string(), value=serdes.long())
    )
    return builder.build()


def join_topology(source: str, sink: str) -> Topology:
    """Each record with the profile of its key."""
    builder = StreamsBuilder()
    users = builder.table(users_topic(source), key=serdes.string(), value=serdes.json())
    (
        builder.stream(source, key=serdes.string(), value=serdes.json())
        .join(users, _with_profile)
        .to(sink, key=serdes.string(), value=serdes.json())
    )
    return builder.build()


TOPOLOGIES: dict[str, Callable[[str, str], Topology]] = {
    "map": map_topology,
    "count": count_topology,
    "window": window_topology,
    "regroup": regroup_topology,
    "join": join_topology,
}

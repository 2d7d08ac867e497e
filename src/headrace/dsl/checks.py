"""Checks of what a user passes to the DSL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.arguments import require_function, require_type, shown
from headrace.core.errors import ArgumentError, require
from headrace.dsl.handle import Handle
from headrace.topology.nodes import AutoOffsetReset
from headrace.topology.windows import JoinWindows


def check_stream(stream: Handle[Any, Any], other: Any) -> None:
    """Raise ArgumentError if `other` isn't a stream of the same builder."""
    require(other, "The other stream")
    if not hasattr(other, "_needs_repartition"):
        raise ArgumentError(
            f"The other one must be a KStream, not {shown(other)}. A table is made a stream by "
            "to_stream(), a topic by builder.stream()."
        )
    check_same_builder(stream, other)


def check_table(table: Handle[Any, Any], other: Any) -> None:
    """Raise ArgumentError if `other` isn't a table of the same builder."""
    require(other, "The other table")
    if not hasattr(other, "queryable_store_name") or not isinstance(other, Handle):
        raise ArgumentError(
            f"The other one must be a KTable, not {shown(other)}. A stream is made a table by "
            "to_table(), a topic by builder.table()."
        )
    check_same_builder(table, other)


def check_same_builder(one: Handle[Any, Any], other: Handle[Any, Any]) -> None:
    """Raise ArgumentError if they belong to different topologies."""
    if one._graph is not other._graph:
        raise ArgumentError(
            f"{one!r} and {other!r} come from different StreamsBuilders. Make both with the same."
        )


def check_join_windows(windows: Any) -> None:
    """Raise ArgumentError if these aren't windows to join streams by."""
    require(windows, "The windows of a join of two streams, as JoinWindows.of_time_difference(…),")
    require_type(
        windows, JoinWindows, "The windows of a join", "Use JoinWindows.of_time_difference(…)."
    )


def check_topic(topic: Any) -> None:
    """Raise ArgumentError if `topic` can't be the name of a topic."""
    require_type(topic, str, "A topic", "Give its name as text.")
    if not topic:
        raise ArgumentError("The name of a topic can't be empty")


def check_target(topic: Any) -> None:
    """Raise ArgumentError if `topic` is neither a name nor a function that gives one."""
    require(topic, "The topic")
    if callable(topic):
        require_function(topic, "The function that names the topic", "key", "value", "context")
    else:
        check_topic(topic)


def check_consumption(timestamp_extractor: Any, offset_reset: Any) -> None:
    """Raise ArgumentError if a topic can't be read so. None is fine for both."""
    if timestamp_extractor is not None:
        require_function(timestamp_extractor, "The timestamp extractor", "record", "partition_time")
    if offset_reset is not None:
        require_type(
            offset_reset, AutoOffsetReset, "The offset reset", "Use AutoOffsetReset.earliest()."
        )


def checked_topics(topics: Any) -> tuple[str, ...]:
    """The names of one or several topics."""
    if not isinstance(topics, Iterable):
        check_topic(topics)
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    for name in names:
        check_topic(name)
    return names

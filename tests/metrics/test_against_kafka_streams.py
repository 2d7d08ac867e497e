"""Our metrics beside those of Kafka Streams: what is missing, and what is ours alone, is listed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from headrace.metrics.absent import ABSENT
from headrace.metrics.catalogue import SENSORS
from headrace.metrics.sensor import CONSUMER, SCOPES, STORE

TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "kafka_streams.toml").read_text()
)

OTHER_LEVELS = {("stream-state-metrics", "num-open-iterators"): "DEBUG"}
"""Iterators are only watched where the methods of stores are measured."""

OURS = {
    "stream-state-updater-metrics": {
        "restore-records-total",
        "restore-latency-avg",
        "restore-latency-max",
        "restore-call-total",
        "restore-time-ns-total",
    },
    "stream-task-metrics": {"lmdb-used-bytes", "lmdb-map-size", "lmdb-readers"},
}
"""What Kafka Streams doesn't have."""


def expanded(name: str) -> list[str]:
    """`{a,b}-c` is a-c and b-c."""
    choice = re.search(r"\{([^}]*)\}", name)
    if choice is None:
        return [name]
    return [
        each
        for word in choice[1].split(",")
        for each in expanded(name[: choice.start()] + word + name[choice.end() :])
    ]


def theirs(group: str) -> dict[str, str]:
    """The level of each name."""
    levels = {level: names for level, names in TABLE[group].items() if level != "tags"}
    return {
        name: level
        for level, names in levels.items()
        for word in names.split()
        for name in expanded(word)
    }


def ours(group: str) -> dict[str, str]:
    return {
        metric.name: sensor.level.name
        for sensor in SENSORS.values()
        if sensor.scope.group == group
        for metric in sensor.metrics
    }


def absent(group: str) -> list[str]:
    return [name for scope, names, _ in ABSENT if scope.group == group for name in names]


def test_the_groups_are_theirs() -> None:
    # The lag is a metric of the consumer in Kafka Streams, too.
    assert {scope.group for scope in SCOPES if scope is not CONSUMER} == TABLE.keys()


@pytest.mark.parametrize("group", TABLE)
def test_what_is_missing_is_listed_with_a_reason(group: str) -> None:
    assert sorted(theirs(group).keys() - ours(group).keys()) == sorted(absent(group))


@pytest.mark.parametrize("group", TABLE)
def test_what_is_ours_alone_is_listed(group: str) -> None:
    assert ours(group).keys() - theirs(group).keys() == OURS.get(group, set())


@pytest.mark.parametrize("group", TABLE)
def test_levels_are_theirs(group: str) -> None:
    known = theirs(group)
    for name, level in ours(group).items():
        if name in known:
            assert level == OTHER_LEVELS.get((group, name), known[name]), name


@pytest.mark.parametrize("scope", [scope for scope in SCOPES if scope is not CONSUMER])
def test_tags_are_theirs(scope: Any) -> None:
    tags = scope.tags[:-2] if scope is STORE else scope.tags
    assert list(tags) == TABLE[scope.group]["tags"]

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.config import OPTIMIZATIONS, SETTINGS, StreamsConfig
from headrace.core.errors import ConfigError


def test_defaults() -> None:
    config = StreamsConfig()
    assert config["statestore.cache.max.bytes"] == 10 * 1024 * 1024
    assert config["max.task.idle.ms"] == 0
    assert config.application_id == "app"
    assert len(config) == len(SETTINGS)
    assert set(config) == set(SETTINGS)


def test_given_settings_are_told_from_defaults() -> None:
    config = StreamsConfig({"max.task.idle.ms": 0})
    assert config.is_given("max.task.idle.ms")
    assert not config.is_given("application.id")


def test_unknown_setting_suggests_the_close_one() -> None:
    with pytest.raises(ConfigError, match=r"'max\.task\.idle\.m'.*mean 'max\.task\.idle\.ms'"):
        StreamsConfig({"max.task.idle.m": 5})
    with pytest.raises(ConfigError, match=r"Unknown setting 'zzz'\.$"):
        StreamsConfig({"zzz": 5})


def test_text_is_read_as_the_type_of_the_setting() -> None:
    config = StreamsConfig(
        {"max.task.idle.ms": "250", "ensure.explicit.internal.resource.naming": "TRUE"}
    )
    assert config["max.task.idle.ms"] == 250
    assert config["ensure.explicit.internal.resource.naming"] is True


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max.task.idle.ms", "soon", "whole number"),
        ("max.task.idle.ms", 1.5, "type int"),
        ("max.task.idle.ms", True, "type int"),
        ("statestore.cache.max.bytes", -1, "at least 0"),
        ("ensure.explicit.internal.resource.naming", "maybe", "type bool"),
        ("processing.guarantee", "exactly_once", "one of"),
        ("topology.optimization", "bogus", "must be 'none', 'all'"),
        ("application.id", 7, "type str"),
    ],
)
def test_wrong_values_say_what_is_allowed(key: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        StreamsConfig({key: value})
    assert key in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("none", frozenset()),
        ("all", frozenset(OPTIMIZATIONS)),
        (
            "merge.repartition.topics, single.store.self.join",
            frozenset({"merge.repartition.topics", "single.store.self.join"}),
        ),
    ],
)
def test_optimizations(value: str, expected: frozenset[str]) -> None:
    assert StreamsConfig({"topology.optimization": value}).optimizations == expected

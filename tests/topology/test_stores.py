from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import stores
from headrace.core.errors import ArgumentError, NullArgumentError, StateError
from headrace.stores import Backend, StoreSpec
from headrace.topology.stores import (
    KeyValueStoreSpec,
    SessionStoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)

HOUR = timedelta(hours=1)
NEGATIVE = timedelta(milliseconds=-1)
NO_NAME: Any = None


def test_key_value_stores() -> None:
    assert stores.key_value("s") == KeyValueStoreSpec(name="s")
    assert stores.timestamped_key_value(
        "s", backend=Backend.IN_MEMORY, logging=False, caching=True
    ) == KeyValueStoreSpec(
        name="s", backend=Backend.IN_MEMORY, logging=False, caching=True, timestamped=True
    )
    assert stores.lru("s", 10, log_config={"a": "b"}) == KeyValueStoreSpec(
        name="s", backend=Backend.LRU, max_entries=10, log_config={"a": "b"}
    )


def test_versioned_stores() -> None:
    assert stores.versioned("s", HOUR) == VersionedStoreSpec(name="s", history_ms=3_600_000)
    spec = stores.versioned("s", timedelta(0), segment=timedelta(milliseconds=1))
    assert (spec.history_ms, spec.segment_ms) == (0, 1)


def test_versioned_stores_are_not_cached() -> None:
    with pytest.raises(StateError):
        stores.versioned("s", HOUR, caching=True)


def test_window_and_session_stores() -> None:
    assert stores.window("s", retention=HOUR, size=HOUR) == WindowStoreSpec(
        name="s", retention_ms=3_600_000, window_ms=3_600_000
    )
    assert stores.timestamped_window("s", retention=HOUR, size=HOUR).timestamped
    assert stores.session("s", retention=HOUR) == SessionStoreSpec(name="s", retention_ms=3_600_000)


def test_duplicates_are_not_cached() -> None:
    spec = stores.window("s", retention=HOUR, size=HOUR, retain_duplicates=True, caching=True)
    assert spec.retain_duplicates
    assert not spec.caching


@pytest.mark.parametrize(
    "make",
    [
        lambda: stores.key_value(NO_NAME),
        lambda: stores.timestamped_key_value(NO_NAME),
        lambda: stores.lru(NO_NAME, 1),
        lambda: stores.versioned(NO_NAME, HOUR),
        lambda: stores.window(NO_NAME, retention=HOUR, size=HOUR),
        lambda: stores.timestamped_window(NO_NAME, retention=HOUR, size=HOUR),
        lambda: stores.session(NO_NAME, retention=HOUR),
    ],
)
def test_a_name_is_needed(make: Callable[[], StoreSpec]) -> None:
    with pytest.raises(NullArgumentError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: stores.lru("s", -1),
        lambda: stores.key_value("s", backend=Backend.LRU),
        lambda: stores.versioned("s", NEGATIVE),
        lambda: stores.versioned("s", HOUR, segment=timedelta(0)),
        lambda: stores.window("s", retention=NEGATIVE, size=timedelta(0)),
        lambda: stores.window("s", retention=HOUR, size=NEGATIVE),
        lambda: stores.window("s", retention=HOUR, size=2 * HOUR),
        lambda: stores.window("s", retention=HOUR, size=HOUR, backend=Backend.LRU),
        lambda: stores.session("s", retention=NEGATIVE),
        lambda: stores.session("s", retention=HOUR, backend=Backend.LRU),
    ],
)
def test_wrong_arguments_name_the_store(make: Callable[[], StoreSpec]) -> None:
    with pytest.raises(ArgumentError, match="Store 's'"):
        make()

"""Scans in pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    ArgumentError,
    Backend,
    JoinWindows,
    Materialized,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    serdes,
    stores,
)
from headrace.core.windowed import LONG_MAX
from headrace.query.pages import (
    Cursor,
    EntryScan,
    KeyWindowScan,
    Place,
    Scan,
    SessionScan,
    VersionScan,
    WindowScan,
    page,
)
from tests.query.application import Application

KEYS = ["a", "ab", "abc", "b", "ba", "c", "é", "a\x00", "zz"]
RECORDS = [(key, b"v", number * 700 + 400 * len(key)) for number in range(12) for key in KEYS]


def topology(backend: Backend) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=serdes.string(), value=serdes.bytes_()).group_by_key()
    grouped.count("counts")
    seconds = TimeWindows.of_size(timedelta(seconds=1), grace=timedelta(seconds=120))
    minutes = timedelta(minutes=5)
    windows = stores.timestamped_window(
        "windows", retention=minutes, size=timedelta(seconds=1), backend=backend
    )
    grouped.windowed_by(seconds).count(Materialized(supplier=windows))
    sessions = stores.session("sessions", retention=minutes, backend=backend)
    gap = SessionWindows.of_inactivity_gap(timedelta(milliseconds=300), grace=minutes)
    grouped.windowed_by(gap).count(Materialized(supplier=sessions))
    return builder.build()


@pytest.fixture(params=[Backend.PERSISTENT, Backend.IN_MEMORY])
def application(request: pytest.FixtureRequest, tmp_path: Path) -> Application:
    found = Application(topology(request.param), tmp_path)
    found.process(RECORDS)
    return found


def paged(application: Application, store: str, scan: Scan, limit: int) -> list[Any]:
    found: list[Any] = []
    cursor = None
    partitions = [*application.state.partitions(store).values()]
    while True:
        got = page(scan, partitions, limit, cursor)
        found += got.items
        if got.next is None:
            return found
        assert len(got.items) == limit
        cursor = Cursor.from_text(got.next.to_text())


SCANS: dict[str, tuple[str, Callable[[bool], Scan]]] = {
    "all entries": ("counts", lambda down: EntryScan(None, None, None, down)),
    "a range": ("counts", lambda down: EntryScan(b"ab", b"ba", None, down)),
    "a prefix": ("counts", lambda down: EntryScan(None, None, b"a", down)),
    "a key's windows": ("windows", lambda down: KeyWindowScan("ab", 0, LONG_MAX, down)),
    "all windows": ("windows", lambda down: WindowScan(None, None, 0, LONG_MAX, down)),
    "windows of a range": ("windows", lambda down: WindowScan("a", "b", 1000, 5000, down)),
    "a key's sessions": ("sessions", lambda down: SessionScan("b", None, None, 0, LONG_MAX, down)),
    "all sessions": ("sessions", lambda down: SessionScan(None, None, None, 0, LONG_MAX, down)),
    "sessions of a range": (
        "sessions",
        lambda down: SessionScan(None, "a", "b", 1000, 5000, down),
    ),
}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", SCANS)
def test_pages_are_the_whole(application: Application, name: str, descending: bool) -> None:
    store, make = SCANS[name]
    scan = make(descending)
    whole = paged(application, store, scan, 1_000)
    assert len(whole) >= 4
    for limit in (1, 2, 3):
        assert paged(application, store, scan, limit) == whole


def test_a_prefix_has_no_other_keys(application: Application) -> None:
    for descending in (False, True):
        found = paged(application, "counts", EntryScan(None, None, b"a", descending), 2)
        assert sorted(key for key, _ in found) == ["a", "a\x00", "ab", "abc"]
    bound = EntryScan(None, None, b"a", True)
    application.process([("b", b"v", 0)])
    assert all(key.startswith("a") for key, _ in paged(application, "counts", bound, 10))


def test_a_page_goes_on_where_an_entry_is_gone(application: Application) -> None:
    partitions = [*application.state.partitions("counts").values()]
    gone = Cursor(0, Place(b"aa"), 1)
    found = page(EntryScan(None, None, None, False), partitions[:1], 100, gone)
    assert all(key > "aa" for key, _ in found.items)


def test_versions_in_pages(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    store = stores.versioned("versions", history=timedelta(hours=1))
    builder.table("in", Materialized(supplier=store), key=serdes.string(), value=serdes.bytes_())
    application = Application(builder.build(), tmp_path)
    application.process([("a", b"%d" % at, at) for at in range(10)])
    for descending in (False, True):
        scan = VersionScan("a", 2, 7, descending)
        times = [version.timestamp for version in paged(application, "versions", scan, 2)]
        assert times == sorted(range(2, 8), reverse=descending)


def test_duplicates_are_all_there(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string(), value=serdes.bytes_())
    joined = stream.join(
        stream.map_values(lambda value: value),
        lambda left, right: left + right,
        JoinWindows.of_time_difference(timedelta(seconds=10), grace=timedelta(0)),
        key=serdes.string(),
        value=serdes.bytes_(),
        other_value=serdes.bytes_(),
    )
    joined.to("out", key=serdes.string(), value=serdes.bytes_())
    built = builder.build()
    application = Application(built, tmp_path)
    application.process([("a", b"%d" % number, 500) for number in range(5)])
    name = next(iter(built.stores))
    for scan in (KeyWindowScan("a", 0, 1000, False), WindowScan(None, None, 0, 1000, True)):
        assert len(paged(application, name, scan, 2)) == 5


@pytest.mark.parametrize("text", ["", "x", "W10=", "bnVsbA==", "WzEsMiwzLDQsNV0=", "\ud800", "é"])
def test_what_is_no_cursor(text: str) -> None:
    with pytest.raises(ArgumentError, match="no such cursor"):
        Cursor.from_text(text)

"""Visits of a web site: the clicks of a user with no more than half an hour between them.

Shows session windows, which grow and merge as records come, also late ones; and `suppress`, which
holds every visit back until it can't change any more, so that each is reported exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace import (
    BufferConfig,
    Materialized,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    Topology,
    Windowed,
    serdes,
)

CLICKS = "clicks"
VISITS = "visits"
SESSIONS_STORE = "sessions"

GAP = timedelta(minutes=30)
GRACE = timedelta(minutes=5)


@dataclass(frozen=True)
class Click:
    page: str


@dataclass(frozen=True)
class Pages:
    """What was looked at, with the number of clicks on each page."""

    clicks: dict[str, int]


@dataclass(frozen=True)
class Visit:
    """Times are in milliseconds since the epoch."""

    began: int
    ended: int
    pages: dict[str, int]


def topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(CLICKS, key=serdes.string(), value=serdes.json(Click))
        .group_by_key()
        .windowed_by(SessionWindows.of_inactivity_gap(GAP, grace=GRACE))
        .aggregate(
            lambda: Pages({}),
            add_click,
            merge_pages,
            Materialized(SESSIONS_STORE, key=serdes.string(), value=serdes.json(Pages)),
        )
        .suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
        .to_stream()
        .map(visit)
        .to(VISITS, key=serdes.string(), value=serdes.json(Visit))
    )
    return builder.build()


def add_click(_: str, click: Click, pages: Pages) -> Pages:
    return Pages({**pages.clicks, click.page: pages.clicks.get(click.page, 0) + 1})


def merge_pages(_: str, one: Pages, other: Pages) -> Pages:
    """For two sessions that turn out to be one, because a click came in between."""
    seen = one.clicks.keys() | other.clicks.keys()
    return Pages({page: one.clicks.get(page, 0) + other.clicks.get(page, 0) for page in seen})


def visit(windowed: Windowed[str], pages: Pages) -> tuple[str, Visit]:
    return windowed.key, Visit(windowed.window.start, windowed.window.end, pages.clicks)

"""The topology of TakeoverApp.java beside this file."""

from __future__ import annotations

from datetime import timedelta

from headrace import SessionWindows, StreamsBuilder, TimeWindows, Topology, Windowed, serdes

TEXT = serdes.string()
STORES = ("counts", "per-minute", "sessions", "values")


def takeover(source: str, target: str) -> Topology:
    """Count by key, by key and minute, by key and session, and by value."""
    builder = StreamsBuilder()
    stream = builder.stream(source, key=TEXT, value=TEXT)
    by_key = stream.group_by_key(key=TEXT, value=TEXT)
    (
        by_key.count("counts")
        .to_stream()
        .map_values(lambda count: f"count={count}")
        .to(target, key=TEXT, value=TEXT)
    )
    (
        by_key.windowed_by(TimeWindows.of_size(timedelta(minutes=1)))
        .count("per-minute")
        .to_stream(_at_start)
        .map_values(lambda count: f"minute={count}")
        .to(target, key=TEXT, value=TEXT)
    )
    (
        by_key.windowed_by(SessionWindows.of_inactivity_gap(timedelta(seconds=20)))
        .count("sessions")
        .to_stream(_from_start_to_end)
        .map_values(lambda count: None if count is None else f"session={count}")
        .to(target, key=TEXT, value=TEXT)
    )
    (
        stream.group_by(lambda _, value: value, name="by-value", key=TEXT, value=TEXT)
        .count("values")
        .to_stream()
        .map_values(lambda count: f"value={count}")
        .to(target, key=TEXT, value=TEXT)
    )
    return builder.build()


def _at_start(key: Windowed[str], count: int) -> str:
    return f"{key.key}@{key.window.start}"


def _from_start_to_end(key: Windowed[str], count: int) -> str:
    return f"{key.key}@{key.window.start}/{key.window.end}"

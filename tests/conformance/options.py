"""Windows, stores and other options of operations, from their JSON form (parts 4 and 6)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace import (
    AutoOffsetReset,
    BufferConfig,
    JoinWindows,
    Materialized,
    SessionWindows,
    SlidingWindows,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
    stores,
)
from headrace.topology.stores import Backend

from .serdes import serde

Spec = dict[str, Any]

BACKENDS = {
    "persistent": Backend.PERSISTENT,
    "memory": Backend.IN_MEMORY,
    "lru": Backend.LRU,
    "rocks_db": Backend.PERSISTENT,
    "in_memory": Backend.IN_MEMORY,
}
"""The names of store specs, and those of `store_type`."""


def ms(duration: int) -> timedelta:
    return timedelta(milliseconds=duration)


def serde_options(spec: Spec, *, other: bool = False) -> Spec:
    """The serdes that are given: an absent one isn't passed at all."""
    names = {"key_serde": "key", "value_serde": "value"}
    if other:
        names["other_value_serde"] = "other_value"
    return {option: serde(spec[name]) for name, option in names.items() if spec.get(name)}


def named(spec: Spec) -> Spec:
    return {"name": spec["named"]} if "named" in spec else {}


def offset_reset(spec: Spec) -> Spec:
    if "reset" not in spec:
        return {}
    return {"offset_reset": getattr(AutoOffsetReset, spec["reset"])()}


def window(spec: Spec) -> Any:
    grace: Spec = {"grace": ms(spec["grace"])} if "grace" in spec else {}
    match spec["type"]:
        case "tumbling":
            return TimeWindows.of_size(ms(spec["size"]), **grace)
        case "hopping":
            return TimeWindows.of_size(ms(spec["size"]), **grace).advance_by(ms(spec["advance"]))
        case "sliding":
            return SlidingWindows.of_time_difference(ms(spec["diff"]), **grace)
        case "session":
            return SessionWindows.of_inactivity_gap(ms(spec["gap"]), **grace)
        case "unlimited":
            return UnlimitedWindows.of(**({"start_ms": spec["start"]} if "start" in spec else {}))
        case "join":
            return _join_windows(spec, JoinWindows.of_time_difference(ms(spec["diff"]), **grace))
        case "join_legacy":
            return JoinWindows.of(ms(spec["diff"]), **grace)
    raise KeyError(spec["type"])


def _join_windows(spec: Spec, windows: JoinWindows) -> JoinWindows:
    if "before" in spec:
        windows = windows.before(ms(spec["before"]))
    if "after" in spec:
        windows = windows.after(ms(spec["after"]))
    return windows


def store(spec: Spec) -> Any:
    common: Spec = {**serde_options(spec), "backend": BACKENDS[spec.get("backend", "persistent")]}
    for option in ("logging", "caching"):
        if option in spec:
            common[option] = spec[option]
    name = spec["name"]
    if spec.get("backend") == "lru":
        del common["backend"]
        return stores.lru(name, spec["max_entries"], **common)
    match spec["type"]:
        case "kv":
            return stores.key_value(name, **common)
        case "timestamped_kv":
            return stores.timestamped_key_value(name, **common)
        case "versioned":
            del common["backend"]
            if "segment_ms" in spec:
                common["segment"] = ms(spec["segment_ms"])
            return stores.versioned(name, ms(spec["history_ms"]), **common)
        case "session":
            return stores.session(name, retention=ms(spec["retention_ms"]), **common)
        case "window" | "timestamped_window":
            make = stores.window if spec["type"] == "window" else stores.timestamped_window
            return make(
                name,
                retention=ms(spec["retention_ms"]),
                size=ms(spec["window_size_ms"]),
                retain_duplicates=spec.get("retain_duplicates", False),
                **common,
            )
    raise KeyError(spec["type"])


def materialized(spec: Spec) -> Any:
    """The Materialized of an operation; None where the overload without one is meant."""
    given = spec.get("materialized")
    if given is None:
        return None
    options = serde_options(given)
    for option in ("logging", "caching"):
        if option in given:
            options[option] = given[option]
    if "retention_ms" in given:
        options["retention"] = ms(given["retention_ms"])
    if "store_type" in given:
        options["backend"] = BACKENDS[given["store_type"]]
    if "supplier" in given:
        options["supplier"] = store(given["supplier"])
    return Materialized(given.get("name"), **options)


def suppressed(spec: Spec) -> Any:
    name = spec.get("named")
    if spec["until"] == "window_closes":
        return Suppressed.until_window_closes(_buffer(spec["buffer"]), name=name)
    return Suppressed.until_time_limit(ms(spec["ms"]), _buffer(spec["buffer"]), name=name)


def _buffer(spec: Spec) -> Any:
    config: Any = BufferConfig.unbounded()
    if "max_records" in spec:
        config = BufferConfig.max_records(spec["max_records"])
        if "max_bytes" in spec:
            config = config.with_max_bytes(spec["max_bytes"])
    elif "max_bytes" in spec:
        config = BufferConfig.max_bytes(spec["max_bytes"])
    if spec.get("full") == "shut_down":
        config = config.shut_down_when_full()
    if spec.get("logging") is False:
        config = config.with_logging_disabled()
    return config

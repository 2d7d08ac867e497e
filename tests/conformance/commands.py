"""Store commands that come as the values of records: `name|argument|…` (part 8 of the README)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace import ValueAndTimestamp, serdes
from headrace.core.windowed import Window, Windowed

from .text import to_str

Command = Callable[..., str]
"""Of (store, timestamp of the record, *arguments)."""

OK = "ok"


def _entries(entries: Iterable[tuple[Any, Any]]) -> str:
    return ",".join(f"{to_str(key)}={to_str(value)}" for key, value in entries)


def _done(_: object) -> str:
    return OK


def _value(store: Any, text: str, timestamp: int) -> Any:
    """An empty text is null; in a timestamped store the value goes with the record's timestamp."""
    if text == "":
        return None
    return ValueAndTimestamp(text, timestamp) if getattr(store.spec, "timestamped", False) else text


def _key(text: str) -> str | None:
    return text or None


def _session(key: str, start: str, end: str) -> Windowed[str]:
    return Windowed(key, Window(int(start), int(end)))


def _put_all(store: Any, timestamp: int, pairs: str) -> str:
    entries = (pair.partition("=") for pair in pairs.split(","))
    return _done(store.put_all([(key, _value(store, text, timestamp)) for key, _, text in entries]))


def _scan(method: str) -> Command:
    """A scan of everything."""
    return lambda s, ts: _entries(getattr(s, method)())


def _range(method: str) -> Command:
    return lambda s, ts, lo, hi: _entries(getattr(s, method)(_key(lo), _key(hi)))


def _fetch(method: str) -> Command:
    """A scan of one key, between two numbers."""
    return lambda s, ts, key, lo, hi: _entries(getattr(s, method)(key, int(lo), int(hi)))


def _fetch_keys(method: str) -> Command:
    """A scan of a range of keys, between two numbers."""
    return lambda s, ts, k1, k2, lo, hi: _entries(
        getattr(s, method)(_key(k1), _key(k2), int(lo), int(hi))
    )


def _fetch_all(method: str) -> Command:
    return lambda s, ts, lo, hi: _entries(getattr(s, method)(int(lo), int(hi)))


def _fetch_key(method: str) -> Command:
    return lambda s, ts, key: _entries(getattr(s, method)(key))


_KEY_VALUE: dict[str, Command] = {
    "put": lambda s, ts, key, text: _done(s.put(key, _value(s, text, ts))),
    "put_if_absent": lambda s, ts, key, text: to_str(s.put_if_absent(key, _value(s, text, ts))),
    "put_all": _put_all,
    "get": lambda s, ts, key: to_str(s.get(key)),
    "delete": lambda s, ts, key: to_str(s.delete(key)),
    "range": _range("range"),
    "reverse_range": _range("reverse_range"),
    "all": _scan("all"),
    "reverse_all": _scan("reverse_all"),
    "prefix": lambda s, ts, prefix: _entries(s.prefix_scan(prefix, serdes.string().serialize)),
}

_WINDOW: dict[str, Command] = {
    "put": lambda s, ts, key, text, start: _done(s.put(key, _value(s, text, ts), int(start))),
    "fetch_one": lambda s, ts, key, time: to_str(s.fetch_one(key, int(time))),
    "fetch": _fetch("fetch"),
    "backward_fetch": _fetch("backward_fetch"),
    "fetch_keys": _fetch_keys("fetch_range"),
    "backward_fetch_keys": _fetch_keys("backward_fetch_range"),
    "fetch_all": _fetch_all("fetch_all"),
    "backward_fetch_all": _fetch_all("backward_fetch_all"),
    "all": _scan("all"),
    "backward_all": _scan("backward_all"),
}

_SESSION: dict[str, Command] = {
    "put": lambda s, ts, key, start, end, text: _done(
        s.put(_session(key, start, end), _value(s, text, ts))
    ),
    "remove": lambda s, ts, key, start, end: _done(s.remove(_session(key, start, end))),
    "fetch_session": lambda s, ts, key, start, end: to_str(
        s.fetch_session(key, int(start), int(end))
    ),
    "find": _fetch("find_sessions"),
    "backward_find": _fetch("backward_find_sessions"),
    "find_keys": _fetch_keys("find_sessions_range"),
    "backward_find_keys": _fetch_keys("backward_find_sessions_range"),
    "fetch": _fetch_key("fetch"),
    "backward_fetch": _fetch_key("backward_fetch"),
    "fetch_keys": _range("fetch_range"),
    "backward_fetch_keys": _range("backward_fetch_range"),
}

_VERSIONED: dict[str, Command] = {
    "put": lambda s, ts, key, text, at: to_str(s.put(key, text or None, int(at))),
    "get": lambda s, ts, key: to_str(s.get(key)),
    "get_as_of": lambda s, ts, key, at: to_str(s.get_as_of(key, int(at))),
    "delete": lambda s, ts, key, at: to_str(s.delete(key, int(at))),
}

COMMANDS: dict[str, dict[str, Command]] = {
    "kv_command": _KEY_VALUE,
    "window_command": _WINDOW,
    "session_command": _SESSION,
    "versioned_command": _VERSIONED,
}
"""By type of processor, then by name."""

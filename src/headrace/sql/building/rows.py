"""Functions over rows that need no expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.record import FixedKeyRecord
from headrace.sql.metastore import DataSource
from headrace.sql.schema import Column, HeaderColumn
from headrace.topology.processor import FixedKeyProcessor, FixedKeyProcessorContext

Row = tuple[Any, ...]

_OF_RECORD = frozenset(("ROWTIME", "ROWPARTITION", "ROWOFFSET"))


def need_record(extras: tuple[Column, ...]) -> bool:
    """Whether columns come from the record itself, rather than from its key."""
    return any(isinstance(each, HeaderColumn) or each.name in _OF_RECORD for each in extras)


def key_extender(
    source: DataSource, extras: tuple[Column, ...]
) -> Callable[[Any, Row | None], Row | None]:
    """A function that puts parts of the key behind a row."""
    names = [column.name for column in source.schema.key]
    nothing = (None,) * len(extras)
    if source.window is not None:
        bounds = {"WINDOWSTART": 0, "WINDOWEND": 1}
        parts = [(each.name in bounds, _place(each.name, names, bounds)) for each in extras]

        def of_windowed(key: Any, row: Row | None) -> Row | None:
            if row is None:
                return None
            if key is None:
                return row + nothing
            return row + tuple([key.window[at] if bound else key.key[at] for bound, at in parts])

        return of_windowed
    places = [names.index(each.name) for each in extras]
    if places == list(range(len(names))):

        def whole(key: Any, row: Row | None) -> Row | None:
            if row is None:
                return None
            return row + (nothing if key is None else key)

        return whole

    def some(key: Any, row: Row | None) -> Row | None:
        if row is None:
            return None
        return row + (nothing if key is None else tuple([key[at] for at in places]))

    return some


def _place(name: str, names: list[str], bounds: dict[str, int]) -> int:
    return bounds[name] if name in bounds else names.index(name)


class RecordExtender(FixedKeyProcessor[Any, Any, Any]):
    """Puts what is known of a record behind its row."""

    def __init__(self, source: DataSource, extras: tuple[Column, ...]) -> None:
        self._parts = [self._part(source, column) for column in extras]

    def init(self, context: FixedKeyProcessorContext[Any, Any]) -> None:
        self.context = context
        self._forward = context.forward

    def process(self, record: FixedKeyRecord[Any, Any]) -> None:
        row = record.value
        if row is not None:
            row = row + tuple([part(record) for part in self._parts])
            record = record.with_value(row)
        self._forward(record)

    def _part(
        self, source: DataSource, column: Column
    ) -> Callable[[FixedKeyRecord[Any, Any]], Any]:
        if isinstance(column, HeaderColumn):
            return _all_headers if column.header is None else _header(column.header)
        match column.name:
            case "ROWTIME":
                return lambda record: record.timestamp
            case "ROWPARTITION":
                return lambda record: _of_metadata(self.context, 1)
            case "ROWOFFSET":
                return lambda record: _of_metadata(self.context, 2)
            case _:
                extend = key_extender(source, (column,))
                return lambda record: (extend(record.key, ()) or (None,))[0]


def _of_metadata(context: FixedKeyProcessorContext[Any, Any], at: int) -> Any:
    metadata = context.record_metadata
    return None if metadata is None else metadata[at]


def _all_headers(record: FixedKeyRecord[Any, Any]) -> list[dict[str, Any]]:
    return [{"KEY": name, "VALUE": value} for name, value in record.headers]


def _header(name: str) -> Callable[[FixedKeyRecord[Any, Any]], Any]:
    def last(record: FixedKeyRecord[Any, Any]) -> Any:
        return record.headers.last(name)

    return last


def null_row_maker(
    source: DataSource, row: tuple[Column, ...], extras: tuple[Column, ...]
) -> Callable[[Any], Row]:
    """A function that makes a row of a key: what the key has, and NULL for the rest."""
    keys = {column.name for column in source.schema.key}
    of_key = tuple(each for each in extras if each.name in keys)
    extend = key_extender(source, of_key)
    values = len(row) - len(extras)

    def make(key: Any) -> Row:
        found = dict(zip((each.name for each in of_key), extend(key, ()) or (), strict=True))
        return (None,) * values + tuple([found.get(each.name) for each in extras])

    return make


def joiner(left: int, right: int) -> Callable[[Row | None, Row | None], Row]:
    """A function that puts two rows side by side; a missing one is NULL."""
    no_left, no_right = (None,) * left, (None,) * right

    def join(one: Row | None, other: Row | None) -> Row:
        return (no_left if one is None else one) + (no_right if other is None else other)

    return join

"""How rows are written in topics, and in stores and topics between steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import orjson

from headrace.serde.serde import Serde
from headrace.serde.windowed import session_windowed, time_windowed
from headrace.sql.formats import (
    FormatInfo,
    RowFormat,
    SchemaRegistry,
    check,
    key_features,
    row_serde,
)
from headrace.sql.metastore import DataSource, WindowInfo
from headrace.sql.plan.steps import Step
from headrace.sql.schema import Column
from headrace.sql.types import ArrayType, SqlType, StructType


@dataclass(frozen=True)
class Serdes:
    """Makes the serdes of a query. `application_id` is what names of internal topics begin with."""

    registry: SchemaRegistry | None
    application_id: str

    def source_key(self, source: DataSource) -> Serde[Any]:
        serde = row_serde(source.key_format, source.topic, self.registry)
        return _windowed(serde, source.window)

    def source_value(self, source: DataSource) -> Serde[Any]:
        return row_serde(source.value_format, source.topic, self.registry)

    def key(self, step: Step) -> Serde[Any]:
        """Of the keys that come out of a step, with windows if they have some."""
        return _windowed(self.plain_key(step), step.window)

    def plain_key(self, step: Step) -> Serde[Any]:
        """Of keys without their windows. Raises FormatError if the format can't write them."""
        info = _internal(step.key_format)
        rows = RowFormat(info, step.key, key_features(info, step.key), is_key=True)
        check(rows)
        return row_serde(rows, f"{self.application_id}-{step.name}", self.registry)

    def row(self, columns: Sequence[Column]) -> Serde[Any]:
        """Of rows between steps."""
        return self.state([column.type for column in columns])

    def state(self, types: Sequence[SqlType]) -> Serde[Any]:
        """Of rows without names. They are JSON, whatever the topics of the query are: it can write
        every row, and needs no schema registry. Rows of which every value is in JSON what it is in
        Python are arrays."""
        if all(map(_is_plain, types)):
            return Serde(msgspec.json.encode, partial(_read_array, len(types)), immutable=True)
        columns = tuple(Column(f"C{index}", type_) for index, type_ in enumerate(types))
        rows = RowFormat(FormatInfo("JSON"), columns)
        return row_serde(rows, f"{self.application_id}-internal", self.registry)


_PLAIN = frozenset(("BOOLEAN", "INTEGER", "BIGINT", "STRING", "DATE", "TIME", "TIMESTAMP"))


def _is_plain(type_: SqlType) -> bool:
    match type_:
        case ArrayType():
            return _is_plain(type_.element)
        case StructType():
            return all(_is_plain(field.type) for field in type_.fields)
        case _:
            return type_.name in _PLAIN


def _read_array(width: int, data: bytes) -> tuple[Any, ...]:
    row = tuple(orjson.loads(data))
    if len(row) < width:  # written before the query was replaced by one that has more columns
        row += (None,) * (width - len(row))
    return row


def _internal(info: FormatInfo) -> FormatInfo:
    """The format of keys between steps: JSON in the place of formats that need a registry."""
    return FormatInfo("JSON") if info.format.schemas else info


def _windowed(serde: Serde[Any], window: WindowInfo | None) -> Serde[Any]:
    if window is None:
        return serde
    if window.size_ms is None:
        return session_windowed(serde)
    return time_windowed(serde, window.size_ms)

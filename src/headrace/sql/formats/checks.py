"""What columns a format can write."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.sql.formats.catalog import FormatError, FormatInfo
from headrace.sql.schema import Column
from headrace.sql.types import STRING, ArrayType, MapType, SqlType, StructType

_Columns = tuple[Column, ...]


def check_columns(info: FormatInfo, columns: _Columns, is_key: bool) -> None:
    """Raise FormatError if the format can't write these columns."""
    if is_key:
        _check_keys(columns)
    check = _CHECKS.get(info.name)
    if check is not None:
        check(columns, is_key)


def _check_keys(columns: _Columns) -> None:
    for column in columns:
        if any(isinstance(part, MapType) for part in _parts(column.type)):
            raise FormatError(
                "Map keys, including types that contain maps, are not supported as they may lead "
                "to unexpected behavior due to inconsistent serialization. Key column name: "
                f"`{column.name}`. Column type: {column.type}. "
                "See https://github.com/confluentinc/ksql/issues/6621 for more."
            )


def _check_none(columns: _Columns, is_key: bool) -> None:
    if columns:
        raise FormatError(
            "The 'NONE' format can only be used when no columns are defined. "
            f"Got: {_listed(columns, is_key)}"
        )


_KAFKA_TYPES = frozenset({"INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES"})


def _check_kafka(columns: _Columns, is_key: bool) -> None:
    if len(columns) > 1:
        raise FormatError(
            f"The 'KAFKA' format only supports a single field. Got: {_listed(columns, is_key)}"
        )
    for column in columns:
        if column.type.name not in _KAFKA_TYPES:
            raise FormatError(f"The 'KAFKA' format does not support type '{column.type.name}'")


def _check_delimited(columns: _Columns, is_key: bool) -> None:
    for column in columns:
        if column.type.name in ("ARRAY", "MAP", "STRUCT"):
            raise FormatError(f"The 'DELIMITED' format does not support type '{column.type.name}'")


def _check_json(columns: _Columns, is_key: bool) -> None:
    if _has_map_with_other_keys(columns):
        raise FormatError("JSON only supports MAP types with STRING keys")


def _check_avro(columns: _Columns, is_key: bool) -> None:
    if _has_map_with_other_keys(columns):
        raise FormatError("Avro only supports MAPs with STRING keys")
    for column in columns:
        for name in _names(column):
            _check_avro_name(name)


def _check_avro_name(name: str) -> None:
    reason = None
    if not (name[:1].isalpha() or name[:1] == "_"):
        reason = f"Illegal initial character: {name}"
    elif not all(c.isalnum() or c == "_" for c in name):
        reason = f"Illegal character in: {name}"
    if reason is not None:
        raise FormatError(f"Schema is not compatible with Avro: {reason}")


_CHECKS: dict[str, Callable[[_Columns, bool], None]] = {
    "NONE": _check_none,
    "KAFKA": _check_kafka,
    "DELIMITED": _check_delimited,
    "JSON": _check_json,
    "JSON_SR": _check_json,
    "AVRO": _check_avro,
}


def _listed(columns: _Columns, is_key: bool) -> str:
    return f"[{', '.join(f'{column} KEY' if is_key else str(column) for column in columns)}]"


def _has_map_with_other_keys(columns: _Columns) -> bool:
    return any(
        isinstance(part, MapType) and part.key != STRING
        for column in columns
        for part in _parts(column.type)
    )


def _parts(type: SqlType) -> Iterator[SqlType]:
    """The type, and all types that it has in it."""
    yield type
    if isinstance(type, ArrayType):
        yield from _parts(type.element)
    elif isinstance(type, MapType):
        yield from _parts(type.key)
        yield from _parts(type.value)
    elif isinstance(type, StructType):
        for member in type.fields:
            yield from _parts(member.type)


def _names(column: Column) -> Iterator[str]:
    yield column.name
    for part in _parts(column.type):
        if isinstance(part, StructType):
            yield from (member.name for member in part.fields)

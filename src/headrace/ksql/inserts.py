"""Rows that clients bring as JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.core.record import ProducerRecord
from headrace.ksql.cluster import Cluster
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.sql.engine import Engine
from headrace.sql.formats import row_serde
from headrace.sql.metastore import DataSource
from headrace.sql.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType

_RANGES = {"INTEGER": 1 << 31, "BIGINT": 1 << 63}


class RowInserts:
    """Writes rows to the topic of one source."""

    def __init__(self, source: DataSource, engine: Engine, cluster: Cluster) -> None:
        self._source = source
        self._cluster = cluster
        self._key = row_serde(source.key_format, source.topic, engine.registry)
        self._value = row_serde(source.value_format, source.topic, engine.registry)

    def insert(self, row: Mapping[str, Any]) -> None:
        values = _by_column(row)
        schema = self._source.schema
        for column in schema.key:
            if values.get(column.name) is None:
                raise KsqlError(
                    ErrorCode.BAD_REQUEST, f"Key field must be specified: {column.name}"
                )
        key = tuple([_coerced(values[each.name], each.type) for each in schema.key])
        content = tuple([_coerced(values.get(each.name), each.type) for each in schema.value])
        try:
            record = ProducerRecord(
                self._source.topic,
                None,
                self._key.serialize(key) if key else None,
                self._value.serialize(content),
                None,
            )
        except HeadraceError as error:
            raise KsqlError(ErrorCode.BAD_REQUEST, str(error)) from error
        try:
            self._cluster.produce(record)
        except HeadraceError as error:
            raise KsqlError(ErrorCode.SERVER_ERROR, str(error)) from error


def inserts_into(name: str, engine: Engine, cluster: Cluster) -> RowInserts:
    """Begin to insert. Raises KsqlError if nothing can be inserted there."""
    source = engine.metastore.find(column_name(name))
    if source is None:
        raise KsqlError(
            ErrorCode.BAD_STATEMENT, f"Cannot insert values into an unknown stream/table: {name}"
        )
    kind = source.kind.value.lower()
    if source.window is not None:
        raise KsqlError(ErrorCode.BAD_STATEMENT, f"Cannot insert values into windowed {kind}")
    if source.read_only:
        message = f"Cannot insert values into read-only {kind}: {source.name}"
        raise KsqlError(ErrorCode.BAD_STATEMENT, message)
    if source.schema.headers:
        message = f"Cannot insert values into {kind} with header columns"
        raise KsqlError(ErrorCode.BAD_STATEMENT, message)
    return RowInserts(source, engine, cluster)


def column_name(name: str) -> str:
    """A name by SQL's rules: in upper case unless it is quoted."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in '`"':
        return name[1:-1]
    return name.upper()


def _by_column(row: Mapping[str, Any]) -> dict[str, Any]:
    return {column_name(name): value for name, value in row.items()}


def _coerced(value: Any, type_: SqlType) -> Any:
    """A JSON value as a SQL value. Raises KsqlError if it isn't one, or would lose something."""
    if value is None:
        return None
    try:
        return _converted(value, type_)
    except (TypeError, ValueError, ArithmeticError, binascii.Error, HeadraceError) as error:
        raise KsqlError(
            ErrorCode.BAD_REQUEST,
            f"Can't coerce a field of type {_JSON_NAMES.get(type(value), type(value).__name__)} "
            f"into type {type_}",
        ) from error


_JSON_NAMES = {
    str: "class java.lang.String",
    bool: "class java.lang.Boolean",
    int: "class java.lang.Integer",
    float: "class java.lang.Double",
    Decimal: "class java.math.BigDecimal",
    list: "class io.vertx.core.json.JsonArray",
    dict: "class io.vertx.core.json.JsonObject",
}


def _converted(value: Any, type_: SqlType) -> Any:
    match type_:
        case ArrayType():
            return [_coerced(item, type_.element) for item in _of(value, list)]
        case MapType():
            return {
                _key(key, type_.key): _coerced(item, type_.value)
                for key, item in _of(value, dict).items()
            }
        case StructType():
            given = _by_column(_of(value, dict))
            return {
                field.name: _coerced(given.get(field.name), field.type) for field in type_.fields
            }
        case DecimalType():
            return _decimal(value, type_)
    match type_.name:
        case "BOOLEAN":
            return _of(value, bool)
        case "INTEGER" | "BIGINT":
            return _integer(value, type_.name)
        case "DOUBLE":
            if isinstance(value, bool):
                raise TypeError
            return float(_of(value, int, float, Decimal))
        case "STRING":
            return _of(value, str)
        case "BYTES":
            return base64.b64decode(_of(value, str), validate=True)
        case "DATE":
            return parse_date(_of(value, str))
        case "TIME":
            return parse_time(_of(value, str))
        case _:
            return parse_timestamp(_of(value, str))


def _of(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        raise TypeError
    return value


def _key(text: str, type_: SqlType) -> Any:
    """Keys of JSON objects are text, those of maps may be numbers."""
    return text if type_.name == "STRING" else _coerced(int(text), type_)


def _integer(value: Any, name: str) -> int:
    if isinstance(value, bool):
        raise TypeError
    number: int = _of(value, int)
    if not -_RANGES[name] <= number < _RANGES[name]:
        raise ValueError
    return number


def _decimal(value: Any, type_: DecimalType) -> Decimal:
    if isinstance(value, bool):
        raise TypeError
    exact = Decimal(str(_of(value, int, float, Decimal, str)))
    rounded = exact.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
    if rounded.adjusted() >= type_.precision - type_.scale and rounded:
        raise ValueError
    return rounded

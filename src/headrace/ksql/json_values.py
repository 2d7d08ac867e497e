"""JSON of clients and of other servers, as SQL values."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.sql.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType

_RANGES = {"INTEGER": 1 << 31, "BIGINT": 1 << 63}


def sql_value(value: Any, type_: SqlType) -> Any:
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
            return [sql_value(item, type_.element) for item in _of(value, list)]
        case MapType():
            return {
                _key(key, type_.key): sql_value(item, type_.value)
                for key, item in _of(value, dict).items()
            }
        case StructType():
            given = by_column(_of(value, dict))
            return {
                field.name: sql_value(given.get(field.name), field.type) for field in type_.fields
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
    return text if type_.name == "STRING" else sql_value(int(text), type_)


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


def column_name(name: str) -> str:
    """A name by SQL's rules: in upper case unless it is quoted."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in '`"':
        return name[1:-1]
    return name.upper()


def by_column(row: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an object by the names of columns."""
    return {column_name(name): value for name, value in row.items()}

"""SQL types: what a column, an expression or a field can be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SqlType:
    """A type without parameters, or the base of one that has them. `str()` gives its SQL."""

    name: str

    def __str__(self) -> str:
        return self.name


BOOLEAN = SqlType("BOOLEAN")
INTEGER = SqlType("INTEGER")
BIGINT = SqlType("BIGINT")
DOUBLE = SqlType("DOUBLE")
STRING = SqlType("STRING")
BYTES = SqlType("BYTES")
DATE = SqlType("DATE")
TIME = SqlType("TIME")
TIMESTAMP = SqlType("TIMESTAMP")


@dataclass(frozen=True)
class DecimalType(SqlType):
    """DECIMAL(precision, scale): up to 38 digits, of which `scale` are after the point."""

    precision: int
    scale: int

    def __init__(self, precision: int, scale: int) -> None:
        object.__setattr__(self, "name", "DECIMAL")
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "scale", scale)

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class ArrayType(SqlType):
    """ARRAY<element>."""

    element: SqlType

    def __init__(self, element: SqlType) -> None:
        object.__setattr__(self, "name", "ARRAY")
        object.__setattr__(self, "element", element)

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class MapType(SqlType):
    """MAP<key, value>."""

    key: SqlType
    value: SqlType

    def __init__(self, key: SqlType, value: SqlType) -> None:
        object.__setattr__(self, "name", "MAP")
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "value", value)

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Field:
    """A named part of a STRUCT. The name is as stored: upper case unless it was quoted."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"`{self.name.replace('`', '``')}` {self.type}"


@dataclass(frozen=True)
class StructType(SqlType):
    """STRUCT<name type, …>."""

    fields: tuple[Field, ...]

    def __init__(self, fields: tuple[Field, ...]) -> None:
        object.__setattr__(self, "name", "STRUCT")
        object.__setattr__(self, "fields", fields)

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>"

"""Types by name: CREATE TYPE gives one to a type, and columns can then use it."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.sql.errors import SqlError
from headrace.sql.syntax.ast import NamedType
from headrace.sql.types import ArrayType, Field, MapType, SqlType, StructType


def resolved_type(type_: SqlType, types: Mapping[str, SqlType]) -> SqlType:
    """The type, with types in the place of their names.

    Raises SqlError if a name stands for none, or a STRUCT has two fields of a name.
    """
    match type_:
        case NamedType(name):
            known = types.get(name)
            if known is None:
                raise SqlError(f"Cannot resolve unknown type: {name}")
            return known
        case ArrayType():
            return ArrayType(resolved_type(type_.element, types))
        case MapType():
            return MapType(resolved_type(type_.key, types), resolved_type(type_.value, types))
        case StructType():
            names = [field.name for field in type_.fields]
            if len(set(names)) < len(names):
                raise SqlError(f"Duplicate field names found in STRUCT: '{type_}'")
            return StructType(
                tuple(Field(f.name, resolved_type(f.type, types)) for f in type_.fields)
            )
        case _:
            return type_

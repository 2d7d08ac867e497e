"""JSON: rows as objects, or a single column by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from headrace.serde.json import compact
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.json_encoders import encoder, same
from headrace.sql.formats.json_reader import json_readers
from headrace.sql.formats.registry import SchemaRegistry
from headrace.sql.formats.shape import RowFormat
from headrace.sql.schema import Column

Row = tuple[Any, ...]


def json_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as JSON."""
    return Codec(json_writer(rows), *json_readers(rows))


# Writing


def json_writer(rows: RowFormat) -> Callable[[Row], bytes | None]:
    """The function that writes a row."""
    if rows.is_unwrapped:
        encode = encoder(rows.columns[0].type) or same

        def write_single(row: Row) -> bytes | None:
            (value,) = row
            return None if value is None else compact((b"", orjson.dumps(encode(value))))

        return write_single
    return _object_writer(rows.columns)


def _object_writer(columns: tuple[Column, ...]) -> Callable[[Row], bytes]:
    """A function made for these columns. Its text has numbers in it, and no names of users'."""
    constants: dict[str, Any] = {"dumps": orjson.dumps, "compact": compact}
    members = []
    for index, column in enumerate(columns):
        constants[f"name{index}"] = column.name
        encode = encoder(column.type)
        value = f"v{index}"
        if encode is not None:
            constants[f"encode{index}"] = encode
            as_it_is = f"{value} is None"
            if column.type.name == "DOUBLE":  # where orjson writes what Java does
                as_it_is += f" or 1e-3 <= {value} < 1e7"
            value = f"{value} if {as_it_is} else encode{index}({value})"
        members.append(f"name{index}: {value}")
    values = "".join(f"v{index}, " for index in range(len(columns)))
    unpacked = f"({values}) = row" if columns else "() = row"
    written = f'compact((b"", dumps({{{", ".join(members)}}})))'
    text = f"def write(row):\n    {unpacked}\n    return {written}\n"
    exec(compile(text, "<JSON writer>", "exec"), constants)  # noqa: S102, no text of users in it
    write: Callable[[Row], bytes] = constants["write"]
    return write

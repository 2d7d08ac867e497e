"""PROTOBUF and PROTOBUF_NOSR: messages, with Confluent's prefix and without."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from headrace.core.errors import SerializationError
from headrace.sql.decimals import EXACT, fitted
from headrace.sql.formats.catalog import FULL_SCHEMA_NAME, SCHEMA_ID, FormatError
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.proto_schema import (
    DECIMAL_MESSAGE,
    MESSAGE_TYPES,
    SQL_TYPES,
    WRAPPER_TYPES,
    is_map,
    message_descriptor,
    message_type,
    protobuf_schema,
)
from headrace.sql.formats.registry import SchemaRegistry, SchemaText, subject
from headrace.sql.formats.shape import RowFormat
from headrace.sql.formats.wire import PREFIX_SIZE, needed, prefix, schema_id, schema_of
from headrace.sql.java_numbers import double_text
from headrace.sql.types import (
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

Convert = Callable[[Any], Any]


def protobuf_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as messages whose schema is in the registry."""
    registry = needed(registry, "PROTOBUF")
    return Codec(_Writer(rows, topic, registry).write, _Reader(rows, registry).read)


def protobuf_nosr_codec(rows: RowFormat, topic: str, registry: SchemaRegistry | None) -> Codec:
    """The codec of rows as bare messages of the columns' own schema."""
    descriptor = message_descriptor(protobuf_schema(rows), None, None)
    message_class = message_factory.GetMessageClass(descriptor)
    encode = message_encoder(descriptor, row_type(rows))
    decode = message_decoder(descriptor, row_type(rows))
    names = [column.name for column in rows.columns]

    def serialize(row: tuple[Any, ...]) -> bytes:
        message = message_class()
        encode(message, dict(zip(names, row, strict=True)))
        data: bytes = message.SerializeToString(deterministic=True)
        return data

    def deserialize(data: bytes) -> tuple[Any, ...]:
        return tuple(decode(parsed_message(message_class, data)).values())

    return Codec(serialize, deserialize)


def row_type(rows: RowFormat) -> StructType:
    """The columns as the fields of a struct."""
    return StructType(tuple(Field(column.name, column.type) for column in rows.columns))


class _Writer:
    """Writes rows. The schema is looked up, or registered, when the first row comes."""

    def __init__(self, rows: RowFormat, topic: str, registry: SchemaRegistry) -> None:
        self._rows = rows
        self._names = [column.name for column in rows.columns]
        self._subject = subject(topic, is_key=rows.is_key)
        self._registry = registry
        self._prepared: tuple[bytes, Any, Callable[[Any, Any], None]] | None = None

    def write(self, row: tuple[Any, ...]) -> bytes:
        before, message_class, encode = self._prepared or self._prepare()
        message = message_class()
        encode(message, dict(zip(self._names, row, strict=True)))
        data: bytes = message.SerializeToString(deterministic=True)
        return before + data

    def _prepare(self) -> tuple[bytes, Any, Callable[[Any, Any], None]]:
        info = self._rows.info
        given = info.get(SCHEMA_ID)
        if given is None:
            schema = protobuf_schema(self._rows)
            id = self._registry.register(self._subject, schema)
        else:
            id = int(given)
            schema = schema_of(self._registry, id)
        descriptor = message_descriptor(schema, self._registry, info.get(FULL_SCHEMA_NAME))
        self._prepared = (
            prefix(id) + index_bytes(descriptor),
            message_factory.GetMessageClass(descriptor),
            message_encoder(descriptor, row_type(self._rows)),
        )
        return self._prepared


class _Reader:
    """Reads rows, each by the schema and message that it was written with."""

    def __init__(self, rows: RowFormat, registry: SchemaRegistry) -> None:
        self._type = row_type(rows)
        self._registry = registry
        self._known: dict[tuple[int, tuple[int, ...]], tuple[Any, Convert]] = {}

    def read(self, data: bytes) -> tuple[Any, ...]:
        id = schema_id(data)
        indexes, start = _read_indexes(data, PREFIX_SIZE)
        known = self._known.get((id, indexes))
        if known is None:
            descriptor = indexed_message(schema_of(self._registry, id), self._registry, indexes)
            known = (
                message_factory.GetMessageClass(descriptor),
                message_decoder(descriptor, self._type),
            )
            self._known[id, indexes] = known
        message_class, decode = known
        return tuple(decode(parsed_message(message_class, data[start:])).values())


def natural_value(schema: SchemaText, registry: SchemaRegistry, data: bytes) -> Any:
    """What the data says, in the types of its own schema."""
    indexes, start = _read_indexes(data, PREFIX_SIZE)
    descriptor = indexed_message(schema, registry, indexes)
    message = parsed_message(message_factory.GetMessageClass(descriptor), data[start:])
    return message_decoder(descriptor, message_type(descriptor, keep_case=True))(message)


def indexed_message(schema: SchemaText, registry: SchemaRegistry, indexes: tuple[int, ...]) -> Any:
    """The message that the indexes after the prefix point at."""
    descriptor = message_descriptor(schema, registry, None)
    siblings = list(descriptor.file.message_types_by_name.values())
    try:
        for index in indexes:
            descriptor = siblings[index]
            siblings = list(descriptor.nested_types)
    except IndexError:
        raise SerializationError(f"The schema has no message at {list(indexes)}") from None
    return descriptor


def parsed_message(message_class: Any, data: bytes) -> Any:
    message = message_class()
    try:
        message.ParseFromString(data)
    except DecodeError as reason:
        raise SerializationError(f"This isn't protobuf: {reason}") from reason
    return message


def index_bytes(descriptor: Any) -> bytes:
    """Which message of the file it is: the way to it, of which 0 alone is the shortest."""
    indexes: list[int] = []
    while descriptor is not None:
        parent = descriptor.containing_type
        siblings = (
            descriptor.file.message_types_by_name.values()
            if parent is None
            else parent.nested_types
        )
        names = [sibling.full_name for sibling in siblings]
        indexes.insert(0, names.index(descriptor.full_name))
        descriptor = parent
    if indexes == [0]:
        return b"\0"
    return b"".join(_zigzag(number) for number in (len(indexes), *indexes))


def _zigzag(number: int) -> bytes:
    number = number << 1
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _read_indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    count, at = _read_zigzag(data, at)
    if count == 0:
        return (0,), at
    indexes = []
    for _ in range(count):
        index, at = _read_zigzag(data, at)
        indexes.append(index)
    return tuple(indexes), at


def _read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift < 35:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
    raise SerializationError("The data ends where it should say which message it is")


# Writing


def message_encoder(descriptor: Any, type: StructType) -> Callable[[Any, Any], None]:
    """What fills a message from a struct; NULLs leave fields unset."""
    by_name = {field.name: field for field in type.fields}
    by_upper_name = {field.name.upper(): field for field in reversed(type.fields)}
    setters = []
    for field in descriptor.fields:
        member = by_name.get(field.name) or by_upper_name.get(field.name.upper())
        if member is not None:
            setters.append((member.name, _setter(field, member.type)))

    def encode(message: Any, struct: dict[str, Any]) -> None:
        for name, set_field in setters:
            value = struct[name]
            if value is not None:
                set_field(message, value)

    return encode


def _setter(field: Any, type: SqlType) -> Callable[[Any, Any], None]:
    """What sets a field to a value that isn't NULL."""
    name = field.name
    if is_map(field) and isinstance(type, MapType):
        return _map_setter(field, type)
    if field.is_repeated and isinstance(type, ArrayType):
        return _array_setter(field, type)
    if field.is_repeated and isinstance(type, MapType):
        return _entries_setter(field, type)
    if field.message_type is None:
        convert = _scalar_encoder(field, type)
        return lambda message, value: setattr(message, name, convert(value))
    fill = _filler(field, type)

    def set_message(message: Any, value: Any) -> None:
        part = getattr(message, name)
        part.SetInParent()
        fill(part, value)

    return set_message


def _map_setter(field: Any, type: MapType) -> Callable[[Any, Any], None]:
    name = field.name
    value_field = field.message_type.fields_by_name["value"]
    if value_field.message_type is not None:
        fill = _filler(value_field, type.value)

        def set_messages(message: Any, entries: dict[Any, Any]) -> None:
            target = getattr(message, name)
            for key, value in entries.items():
                part = target[key]
                if value is not None:
                    fill(part, value)

        return set_messages
    convert = _scalar_encoder(value_field, type.value)

    def set_scalars(message: Any, entries: dict[Any, Any]) -> None:
        target = getattr(message, name)
        for key, value in entries.items():
            target[key] = value_field.default_value if value is None else convert(value)

    return set_scalars


def _array_setter(field: Any, type: ArrayType) -> Callable[[Any, Any], None]:
    name = field.name
    if field.message_type is not None:
        fill = _filler(field, type.element)

        def add_messages(message: Any, items: list[Any]) -> None:
            target = getattr(message, name)
            for item in items:
                part = target.add()
                if item is not None:
                    fill(part, item)

        return add_messages
    convert = _scalar_encoder(field, type.element)

    def add_scalars(message: Any, items: list[Any]) -> None:
        if None in items:
            raise SerializationError(f"Protobuf has no NULL in a list: field {name}")
        getattr(message, name).extend(map(convert, items))

    return add_scalars


def _entries_setter(field: Any, type: MapType) -> Callable[[Any, Any], None]:
    entry = StructType((Field("key", type.key), Field("value", type.value)))
    encode = message_encoder(field.message_type, entry)

    def add_entries(message: Any, entries: dict[Any, Any]) -> None:
        for key, value in entries.items():
            encode(getattr(message, field.name).add(), {"key": key, "value": value})

    return add_entries


def _filler(field: Any, type: SqlType) -> Callable[[Any, Any], None]:
    """What puts a value into the message that a field has."""
    descriptor = field.message_type
    name = descriptor.full_name
    if name in WRAPPER_TYPES:
        convert = _scalar_encoder(descriptor.fields_by_name["value"], type)
        return lambda part, value: setattr(part, "value", convert(value))
    fill = _FILLERS.get((name, type.name))
    if fill is not None:
        return fill
    if isinstance(type, StructType):
        return message_encoder(descriptor, type)
    inner = descriptor.fields_by_name.get("value")
    if isinstance(type, ArrayType | MapType) and inner is not None:
        return _setter(inner, type)
    raise FormatError(f"{type} can't be written as the message {name}")


def _fill_decimal(part: Any, number: Decimal) -> None:
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # SQL knows no decimal infinity
    unscaled = int(EXACT.scaleb(number, -exponent))
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    part.value = unscaled.to_bytes(size, "big", signed=True)
    part.precision = max(len(digits), -exponent)
    part.scale = -exponent


def _fill_date(part: Any, days: int) -> None:
    date = datetime.date.fromordinal(_EPOCH + days)
    part.year, part.month, part.day = date.year, date.month, date.day


def _fill_time(part: Any, milliseconds: int) -> None:
    seconds, rest = divmod(milliseconds, 1000)
    part.hours, part.minutes, part.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    part.nanos = rest * 1_000_000


def _fill_timestamp(part: Any, milliseconds: int) -> None:
    part.seconds, rest = divmod(milliseconds, 1000)
    part.nanos = rest * 1_000_000


_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FILLERS: dict[tuple[str, str], Callable[[Any, Any], None]] = {
    (DECIMAL_MESSAGE, "DECIMAL"): _fill_decimal,
    ("google.type.Date", "DATE"): _fill_date,
    ("google.type.TimeOfDay", "TIME"): _fill_time,
    ("google.protobuf.Timestamp", "TIMESTAMP"): _fill_timestamp,
}


def _scalar_encoder(field: Any, type: SqlType) -> Convert:
    if field.enum_type is not None and type.name == "STRING":
        numbers: dict[str, int] = {
            name: value.number for name, value in field.enum_type.values_by_name.items()
        }

        def number_of(name: str) -> int:
            if name not in numbers:
                raise SerializationError(f"{name!r} is no {field.enum_type.full_name}")
            return numbers[name]

        return number_of
    expected = SQL_TYPES.get(field.type)
    if expected is None or (expected.name, type.name) not in _WRITABLE:
        raise FormatError(f"{type} can't be written as field {field.name} of the protobuf schema")
    return _same


_WRITABLE = frozenset(
    {
        *((name, name) for name in ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES")),
        ("BIGINT", "INTEGER"),
        ("INTEGER", "DATE"),
        ("INTEGER", "TIME"),
        ("BIGINT", "TIMESTAMP"),
    }
)


def _same(value: Any) -> Any:
    return value


# Reading


def message_decoder(descriptor: Any, type: StructType) -> Callable[[Any], dict[str, Any]]:
    """What turns a message into a struct."""
    fields = {field.name: field for field in descriptor.fields}
    upper = {name.upper(): name for name in reversed(list(fields))}
    getters: list[tuple[str, Convert]] = []
    for member in type.fields:
        name = member.name if member.name in fields else upper.get(member.name)
        getters.append((member.name, _none if name is None else _getter(fields[name], member.type)))

    def decode(message: Any) -> dict[str, Any]:
        return {name: get(message) for name, get in getters}

    return decode


def _none(_: Any) -> None:
    return None


def _getter(field: Any, type: SqlType) -> Convert:
    name = field.name
    if is_map(field) and isinstance(type, MapType):
        members = field.message_type.fields_by_name
        key = _single_decoder(members["key"], type.key)
        value = _single_decoder(members["value"], type.value)
        return lambda message: {
            key(entry): value(item) for entry, item in getattr(message, name).items()
        }
    if field.is_repeated and isinstance(type, MapType):
        entry_type = StructType((Field("key", type.key), Field("value", type.value)))
        decode_entry = message_decoder(field.message_type, entry_type)
        return lambda message: {
            entry["key"]: entry["value"] for entry in map(decode_entry, getattr(message, name))
        }
    if field.is_repeated and isinstance(type, ArrayType):
        element = _single_decoder(field, type.element)
        return lambda message: [element(item) for item in getattr(message, name)]
    if field.is_repeated:
        raise _unfit(field, type)
    decode = _single_decoder(field, type)
    if field.has_presence:
        return lambda message: decode(getattr(message, name)) if message.HasField(name) else None
    return lambda message: decode(getattr(message, name))


def _single_decoder(field: Any, type: SqlType) -> Convert:
    descriptor = field.message_type
    if descriptor is None:
        return _scalar_decoder(field, type)
    name = descriptor.full_name
    if name in WRAPPER_TYPES:
        convert = _scalar_decoder(descriptor.fields_by_name["value"], type)
        return lambda part: convert(part.value)
    if name == DECIMAL_MESSAGE and isinstance(type, DecimalType):
        return lambda part: fitted(
            EXACT.scaleb(Decimal(int.from_bytes(part.value, "big", signed=True)), -part.scale),
            type,
        )
    if MESSAGE_TYPES.get(name) == type:
        return _PART_DECODERS[name]
    if isinstance(type, StructType):
        return message_decoder(descriptor, type)
    inner = descriptor.fields_by_name.get("value")
    if isinstance(type, ArrayType | MapType) and inner is not None:
        return _getter(inner, type)
    raise _unfit(field, type)


_PART_DECODERS: dict[str, Convert] = {
    "google.type.Date": lambda part: (
        datetime.date(part.year, part.month, part.day).toordinal() - _EPOCH
    ),
    "google.type.TimeOfDay": lambda part: (
        (part.hours * 3600 + part.minutes * 60 + part.seconds) * 1000 + part.nanos // 1_000_000
    ),
    "google.protobuf.Timestamp": lambda part: part.seconds * 1000 + part.nanos // 1_000_000,
}


def _scalar_decoder(field: Any, type: SqlType) -> Convert:
    if field.enum_type is not None and type.name == "STRING":
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, str(number))
    actual = SQL_TYPES[field.type].name
    if type.name == "STRING" and actual in _TEXTS:
        return _TEXTS[actual]
    if actual == "BIGINT" and type.name == "BIGINT":
        return lambda number: number if number < 1 << 63 else number - (1 << 64)
    if (actual, type.name) in _READABLE:
        return _same
    raise _unfit(field, type)


_READABLE = frozenset(
    {
        *((name, name) for name in ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES")),
        ("INTEGER", "BIGINT"),
        ("INTEGER", "DATE"),
        ("INTEGER", "TIME"),
        ("BIGINT", "TIMESTAMP"),
    }
)
_TEXTS: dict[str, Convert] = {
    "BOOLEAN": lambda value: "true" if value else "false",
    "INTEGER": str,
    "BIGINT": str,
    "DOUBLE": double_text,
    "STRING": _same,
}


def _unfit(field: Any, type: SqlType) -> SerializationError:
    return SerializationError(f"Field {field.full_name} of the message isn't {type}")

"""PROTOBUF and PROTOBUF_NOSR: messages, with Confluent's prefix and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from headrace.core.errors import SerializationError
from headrace.sql.formats.catalog import FULL_SCHEMA_NAME, SCHEMA_ID
from headrace.sql.formats.codec import Codec
from headrace.sql.formats.proto_decoders import message_decoder
from headrace.sql.formats.proto_encoders import message_encoder
from headrace.sql.formats.proto_schema import message_descriptor, message_type, protobuf_schema
from headrace.sql.formats.registry import SchemaRegistry, SchemaText, subject
from headrace.sql.formats.shape import RowFormat
from headrace.sql.formats.wire import PREFIX_SIZE, needed, prefix, schema_id, schema_of
from headrace.sql.types import Field, StructType

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

"""Gadgets as keys, values and headers of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from headrace import StreamsBuilder, serdes
from headrace.core.handlers import Response
from headrace.serde.buffer import Origin, read_buffer_value, read_changelog_value
from headrace.serde.change import change
from headrace.serde.foreign_key import combined_key, subscription, subscription_response
from headrace.serde.headers import read_headers
from headrace.serde.outer_join import outer_join_key, outer_join_value
from headrace.serde.value_and_timestamp import value_and_timestamp
from headrace.serde.value_with_headers import aggregation_with_headers, value_timestamp_headers
from headrace.serdes import Serde
from headrace.sql.formats import InMemorySchemaRegistry, register, row_serde
from headrace.sql.formats.catalog import FORMATS
from headrace.testing import TopologyTestDriver
from tests.gadgets.gadget import Gadget, Gadgets
from tests.sql.formats.rows import keys_of, values_of

TEXT = serdes.string()
DATA = serdes.bytes_()


@dataclass
class Order:
    item: str
    amount: int = 0


# Not `serdes.json()`: it is orjson's own function, and the runtime makes an error of ours of what
# that raises (see below).
SERDES: dict[str, Serde[Any]] = {
    "boolean": serdes.boolean(),
    "bytes": DATA,
    "double": serdes.double(),
    "float": serdes.float_(),
    "integer": serdes.integer(),
    "json of a class": serdes.json(Order),
    "json of a dict": serdes.json(dict[str, Any]),
    "list": serdes.list_(TEXT),
    "list of numbers": serdes.list_(serdes.long()),
    "long": serdes.long(),
    "session_windowed": serdes.session_windowed(TEXT),
    "short": serdes.short(),
    "string": TEXT,
    "time_windowed": serdes.time_windowed(TEXT, timedelta(minutes=1)),
    "uuid": serdes.uuid(),
    "void": serdes.void(),
    # Of internal topics.
    "aggregation with headers": aggregation_with_headers(TEXT),
    "change": change(TEXT),
    "combined key": combined_key(TEXT, TEXT),
    "outer join key": outer_join_key(TEXT),
    "outer join value": outer_join_value(TEXT, TEXT),
    "subscription": subscription(TEXT),
    "subscription response": subscription_response(TEXT),
    "value and timestamp": value_and_timestamp(TEXT),
    "value, timestamp, headers": value_timestamp_headers(TEXT),
}
READERS: dict[str, Callable[[bytes], Any]] = {
    **{name: serde.deserialize for name, serde in SERDES.items()},
    "buffered value": read_buffer_value,
    "headers": read_headers,
}


@pytest.mark.parametrize("reader", READERS)
def test_every_serde(gadgets: Gadgets, reader: str) -> None:
    read = READERS[reader]
    gadgets.put_to(lambda gadget: read(gadget.data))
    # As a member of what is otherwise well-formed.
    for head in (b"\0", b"\0" * 8, b"\0\0\0\0", b"\1", b"\2"):
        gadgets.put_to(lambda gadget, head=head: read(head + gadget.data))  # type: ignore[misc]


@pytest.mark.parametrize("version", [None, b"\1", b"\2", b"\3", b"x"])
def test_changelogs_of_suppressions(gadgets: Gadgets, version: bytes | None) -> None:
    origin = Origin(0, [] if version is None else [("v", version)], "t", 0, 0)
    gadgets.put_to(lambda gadget: read_changelog_value(gadget.data, origin))


COLUMNS = "A STRING, B BIGINT, C ARRAY<STRING>, D MAP<STRING, BYTES>, E DECIMAL(5, 2), F BYTES"


@pytest.mark.parametrize("format", sorted(FORMATS.keys() - {"NONE"}))
def test_every_format_of_sql(gadgets: Gadgets, format: str) -> None:
    flat = format in ("KAFKA", "DELIMITED")
    several = "A STRING" if format == "KAFKA" else "A STRING, B BIGINT, C BOOLEAN"
    shapes = [values_of(format, several if flat else COLUMNS), keys_of(format, "A STRING")]
    registry = InMemorySchemaRegistry()
    for shape in shapes:
        ids = register(shape, "t", registry)
        assert ids is None or ids
        serde = row_serde(shape, "t", registry)
        gadgets.put_to(lambda gadget, serde=serde: serde.deserialize(gadget.data))  # type: ignore[misc]
        # After the number of the schema, as a serializer writes it.
        for head in (b"\0\0\0\0\1", b"\0\0\0\0\1\0", b"\0\0\0\0\2", b"\0\0\0\0\2\0"):
            gadgets.put_to(
                lambda gadget, serde=serde, head=head: serde.deserialize(head + gadget.data)  # type: ignore[misc]
            )


def test_a_row_of_gadgets_comes_back_as_it_was(gadgets: Gadgets) -> None:
    """Where a text or bytes are wanted they are nothing else."""
    for format in ("JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR"):
        registry = InMemorySchemaRegistry()
        shape = values_of(format, "A STRING, B BYTES, C MAP<STRING, STRING>")
        register(shape, "t", registry)
        serde = row_serde(shape, "t", registry)
        for gadget in gadgets:
            row = gadget.text, gadget.data, {gadget.text: gadget.text}
            data = serde.serialize(row)
            assert data is not None
            assert serde.deserialize(data) == row


def test_through_an_application(gadgets: Gadgets) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=TEXT, value=DATA)
    stream.group_by_key().count("counts").to_stream().to("counts", key=TEXT, value=serdes.long())
    stream.to_table("latest")
    stream.to("out", key=TEXT, value=DATA)
    with TopologyTestDriver(builder.build()) as driver:
        source = driver.input_topic("in", key=DATA, value=DATA)
        sink = driver.output_topic("out", key=DATA, value=DATA)
        for gadget in gadgets:
            headers = [(gadget.text, gadget.data), ("plain", gadget.data)]
            source.pipe(gadget.data, gadget.data, headers=headers)
            record = sink.read_record()
            assert (record.value, list(record.headers)) == (gadget.data, headers)
            assert record.key == TEXT.serialize(TEXT.deserialize(gadget.data))


@pytest.mark.parametrize("response", [Response.fail(), Response.resume()])
def test_records_that_can_not_be_read(gadgets: Gadgets, response: Response) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.json(), value=serdes.json(Order)).to("out")
    config = {"deserialization.exception.handler": lambda *_: response}
    topology = builder.build()

    def pipe(gadget: Gadget) -> None:
        with TopologyTestDriver(topology, config) as driver:
            source = driver.input_topic("in", key=DATA, value=DATA)
            source.pipe(gadget.data, gadget.data, headers=[("h", gadget.data)])
            assert driver.output_topic("out", key=DATA, value=DATA).is_empty

    gadgets.put_to(pipe)

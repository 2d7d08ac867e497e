"""Gadgets as answers of a schema registry, and in schemas: as names, defaults and documentation."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest

from headrace import StreamsBuilder, serdes
from headrace.kafka.schema_registry import HttpSchemaRegistry
from headrace.serdes import Serde
from headrace.sql.formats import (
    InMemorySchemaRegistry,
    Reference,
    SchemaText,
    format_info,
    infer_columns,
    row_serde,
)
from headrace.testing import TopologyTestDriver
from tests.gadgets.gadget import Gadget, Gadgets
from tests.sql.formats.rows import values_of

KINDS = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON_SR": "JSON"}


def avro(text: str) -> Iterator[Any]:
    field = {"name": "a", "type": "string"}
    record = {"type": "record", "name": "r", "fields": [field]}
    yield text
    yield {"type": text}
    yield record | {"name": text}
    yield record | {"namespace": text}
    yield record | {"doc": text, text: text}
    yield record | {"aliases": [text]}
    yield record | {"fields": [field | {"name": text}]}
    yield record | {"fields": [field | {"type": text}]}
    yield record | {"fields": [field | {"default": text, "doc": text, "order": text}]}
    yield record | {"fields": [field | {"type": {"type": "bytes", "logicalType": text}}]}
    yield record | {"fields": [field | {"type": {"type": "enum", "name": "e", "symbols": [text]}}]}
    yield record | {"connect.name": text, "connect.parameters": {text: text}}


def json_schema(text: str) -> Iterator[Any]:
    yield text
    yield {"type": text}
    yield {"type": "object", "title": text, "properties": {text: {"type": "string"}}}
    yield {"type": "object", "properties": {"a": {"type": "string", "default": text}}}
    yield {"type": "object", "properties": {"a": {"type": "string", "pattern": text}}}
    yield {"type": "object", "properties": {"a": {"type": "integer", "connect.type": text}}}
    yield {"$ref": text}
    yield {"$id": text, "$schema": text, "type": "object", text: text}


def protobuf(text: str) -> Iterator[str]:
    quoted = json.dumps(text)
    yield text
    yield f'syntax = "proto3"; package {text}; message M {{ string a = 1; }}'
    yield f'syntax = "proto3"; message {text} {{ string a = 1; }}'
    yield f'syntax = "proto3"; message M {{ string {text} = 1; }}'
    yield f'syntax = "proto3"; message M {{ {text} a = 1; }}'
    yield f'syntax = "proto3"; import {quoted}; message M {{ string a = 1; }}'
    yield f'syntax = "proto3"; option java_package = {quoted}; message M {{ string a = 1; }}'
    yield f'syntax = "proto2"; message M {{ optional string a = 1 [default = {quoted}]; }}'
    yield f'syntax = "proto3"; message M {{ string a = 1 [json_name = {quoted}]; }}'
    yield f'syntax = "proto3"; message M {{ string a = 1; }} // {text}'


SCHEMAS: dict[str, Callable[[str], Iterator[Any]]] = {
    "AVRO": avro,
    "JSON_SR": json_schema,
    "PROTOBUF": protobuf,
}


@pytest.mark.parametrize("format", SCHEMAS)
def test_hostile_schemas(gadgets: Gadgets, format: str) -> None:
    number = len(list(SCHEMAS[format]("")))

    def infer(schema: Any) -> None:
        registry = InMemorySchemaRegistry()
        registry.register("t-value", schema_text(format, schema))
        infer_columns(format_info(format), "t", registry, is_key=False)

    def read(schema: Any) -> None:
        """Data that says it was written with that schema."""
        registry = InMemorySchemaRegistry()
        registry.register("t-value", schema_text(format, schema))
        process(row_serde(values_of(format, "A STRING, B BIGINT"), "t", registry))

    for use in (infer, read):
        for at in range(number):
            gadgets.put_to(lambda gadget, at=at, use=use: use(schema_at(format, gadget, at)))  # type: ignore[misc]


@pytest.mark.parametrize("format", SCHEMAS)
def test_hostile_references(gadgets: Gadgets, format: str) -> None:
    def infer(gadget: Gadget) -> None:
        registry = InMemorySchemaRegistry()
        registry.register(gadget.text, SchemaText(KINDS[format], gadget.text))
        reference = Reference(gadget.text, gadget.text, 1)
        schema = schema_text(format, next(SCHEMAS[format](gadget.text)))
        registry.register("t-value", SchemaText(schema.kind, schema.text, (reference,)))
        infer_columns(format_info(format), "t", registry, is_key=False)

    gadgets.put_to(infer)


def process(serde: Serde[Any], schema: int = 1) -> None:
    """Have an application read a record with the number of a schema: the runtime has an error of
    ours for whatever a serde raises."""
    builder = StreamsBuilder()
    builder.stream("t", key=serdes.bytes_(), value=serde).foreach(lambda key, value: None)
    with TopologyTestDriver(builder.build()) as driver:
        data = serdes.bytes_()
        value = b"\0" + schema.to_bytes(4, "big") + b"\0\2a"
        driver.input_topic("t", key=data, value=data).pipe(b"k", value)


def schema_at(format: str, gadget: Gadget, number: int) -> Any:
    return list(SCHEMAS[format](gadget.text))[number]


def schema_text(format: str, schema: Any) -> SchemaText:
    is_text = format == "PROTOBUF"
    return SchemaText(KINDS[format], schema if is_text else json.dumps(schema))


# Over HTTP


class Hostile(BaseHTTPRequestHandler):
    """Answers everything with the same."""

    answer = b""

    def do_GET(self) -> None:
        data = type(self).answer
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hostile() -> Iterator[HttpSchemaRegistry]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    settings = {"ksql.schema.registry.url": url, "ksql.schema.registry.max.retries": "0"}
    with closing(HttpSchemaRegistry(settings)) as registry:
        yield registry
    server.shutdown()
    server.server_close()
    thread.join()


ANSWERS: dict[str, Callable[[str], Any]] = {
    "schema": lambda text: {"schema": text, "schemaType": "AVRO", "id": 1},
    "type": lambda text: {"schema": '"int"', "schemaType": text, "id": 1},
    "all": lambda text: {
        "subject": text,
        "version": text,
        "id": text,
        "schema": text,
        "schemaType": text,
        "references": [{"name": text, "subject": text, "version": text}],
    },
}


@pytest.fixture(params=[None, *ANSWERS])
def answer(request: pytest.FixtureRequest) -> Callable[[Gadget], bytes]:
    """What is answered: a gadget, or JSON with it in some part."""
    if request.param is None:
        return lambda gadget: gadget.data
    return lambda gadget: json.dumps(ANSWERS[request.param](gadget.text)).encode()


def test_hostile_answers_for_a_record(
    gadgets: Gadgets, hostile: HttpSchemaRegistry, answer: Callable[[Gadget], bytes]
) -> None:
    numbers = count(1)  # it is asked for each once

    def read(gadget: Gadget) -> None:
        Hostile.answer = answer(gadget)
        process(row_serde(values_of("AVRO", "A STRING"), "t", hostile), next(numbers))

    gadgets.put_to(read)


def test_hostile_answers_for_a_statement(
    gadgets: Gadgets, hostile: HttpSchemaRegistry, answer: Callable[[Gadget], bytes]
) -> None:
    numbers = count(1)

    def infer(gadget: Gadget) -> None:
        Hostile.answer = answer(gadget)
        infer_columns(format_info("AVRO"), f"t{next(numbers)}", hostile, is_key=False)

    gadgets.put_to(infer)

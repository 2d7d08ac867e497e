"""The registry over HTTP, against a small one that speaks its protocol."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headrace.core.errors import BrokerError, ConfigError
from headrace.kafka.schema_registry import HttpSchemaRegistry
from headrace.sql.formats import (
    FormatError,
    InMemorySchemaRegistry,
    Reference,
    RegisteredSchema,
    SchemaText,
)


class Handler(BaseHTTPRequestHandler):
    """Answers from a registry in memory."""

    schemas: InMemorySchemaRegistry

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["schema"] == "wrong":
            return self._answer({"error_code": 42201, "message": "no schema"}, 422)
        references = tuple(Reference(**r) for r in body.get("references") or ())
        schema = SchemaText(body.get("schemaType", "AVRO"), body["schema"], references)
        return self._answer({"id": self.schemas.register(self.path.split("/")[2], schema)})

    def do_DELETE(self) -> None:
        subject = self.path.split("/")[2]
        if self.schemas.latest(subject) is None:
            return self._answer({"error_code": 40401, "message": "not found"}, 404)
        self.schemas.delete(subject)
        return self._answer([1])

    def do_GET(self) -> None:
        found = None
        match self.path.split("?")[0].split("/")[1:]:
            case ["schemas", "ids", id]:
                schema = self.schemas.by_id(int(id))
                found = None if schema is None else shown(schema)
            case ["subjects", "broken", *_]:
                return self._answer({"error_code": 40301, "message": "not for you"}, 403)
            case ["subjects", subject, "versions", version]:
                registered = (
                    self.schemas.latest(subject)
                    if version == "latest"
                    else self.schemas.version(subject, int(version))
                )
                found = None if registered is None else numbered(registered)
        if found is None:
            return self._answer({"error_code": 40401, "message": "not found"}, 404)
        return self._answer(found)

    def _answer(self, content: Any, status: int = 200) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def shown(schema: SchemaText) -> dict[str, Any]:
    references = [vars(reference) for reference in schema.references]
    return {"schema": schema.text, "schemaType": schema.kind, "references": references}


def numbered(found: RegisteredSchema) -> dict[str, Any]:
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        **shown(found.schema),
    }


@pytest.fixture
def registry() -> Iterator[HttpSchemaRegistry]:
    handler = type("Bound", (Handler,), {"schemas": InMemorySchemaRegistry()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    settings = {"ksql.schema.registry.url": f"http://127.0.0.1:{server.server_port}"}
    found = HttpSchemaRegistry(settings)
    yield found
    found.close()
    server.shutdown()
    server.server_close()
    thread.join()


def test_schemas_are_registered_and_found(registry: HttpSchemaRegistry) -> None:
    other = SchemaText("PROTOBUF", "message E {}")
    assert registry.register("e.proto", other) == 1
    schema = SchemaText("PROTOBUF", "message M {}", (Reference("e.proto", "e.proto", 1),))
    assert registry.register("t-value", schema) == 2
    assert registry.latest("t-value") == RegisteredSchema("t-value", 1, 2, schema)
    assert registry.version("e.proto", 1) == RegisteredSchema("e.proto", 1, 1, other)
    assert registry.by_id(2) == schema


def test_what_is_deleted_can_be_registered_again(registry: HttpSchemaRegistry) -> None:
    schema = SchemaText("AVRO", '"int"')
    id = registry.register("t-value", schema)
    assert registry.latest("t-value") is not None
    registry.delete("t-value")
    registry.delete("t-value")
    assert registry.latest("t-value") is None
    assert registry.by_id(id) == schema
    assert registry.register("t-value", schema) == id
    assert registry.latest("t-value") is not None


def test_what_is_not_there(registry: HttpSchemaRegistry) -> None:
    assert registry.latest("nobody") is None
    assert registry.version("nobody", 1) is None
    assert registry.by_id(99) is None


def test_what_is_refused(registry: HttpSchemaRegistry) -> None:
    with pytest.raises(FormatError, match="refused the schema: no schema"):
        registry.register("t-value", SchemaText("AVRO", "wrong"))
    with pytest.raises(BrokerError, match="not for you") as error:
        registry.latest("broken")
    assert not error.value.retriable


def test_it_can_be_pickled(registry: HttpSchemaRegistry) -> None:
    registry.register("a", SchemaText("AVRO", '"int"'))
    other: HttpSchemaRegistry = pickle.loads(pickle.dumps(registry))
    assert other.by_id(1) == SchemaText("AVRO", '"int"')
    other.close()


def test_it_is_not_there() -> None:
    settings = {
        "ksql.schema.registry.url": "http://127.0.0.1:1",
        "ksql.schema.registry.max.retries": 0,
    }
    registry = HttpSchemaRegistry(settings)
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:1 can't be reached") as error:
        registry.latest("a")
    assert error.value.retriable
    registry.close()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ksql.schema.registry.url": "ftp://x"},
        {"ksql.schema.registry.url": "http://x", "ksql.schema.registry.timeout": "soon"},
    ],
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"ksql\.schema\.registry\."):
        HttpSchemaRegistry(settings).latest("a")

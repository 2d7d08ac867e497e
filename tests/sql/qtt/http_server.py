"""A real server, asked over HTTP. Its queries run in this process, over topics in memory."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from decimal import Decimal
from typing import Any

import httpx
from google.protobuf import message_factory, text_format

from headrace.core.record import ProducerRecord, TopicPartition
from headrace.ksql.commands import InMemoryCommandLog
from headrace.ksql.http.server import HttpServer
from headrace.ksql.local import LocalRunner
from headrace.ksql.memory import InMemoryCluster
from headrace.ksql.server import Server
from headrace.sql.formats import SchemaText
from headrace.sql.formats.proto_schema import message_descriptor
from headrace.sql.topics import InMemoryTopics
from headrace.testing.sql import Rehearsal
from headrace.testing.sql.rehearsal import SETTINGS, Written

from .functions import functions
from .rest import Answer

_SETTINGS = {
    **SETTINGS,
    "ksql.query.pull.table.scan.enabled": "true",
    "ksql.query.push.v2.enabled": "true",
}
_PATIENCE_S = 10.0
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""To make a context that is of use takes longer than most cases."""
_PROTOBUF = "application/vnd.ksql.v1+protobuf"


class RealServer:
    """A server for the statements of one case."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def __enter__(self) -> RealServer:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def prepare(self, rehearsal: Rehearsal) -> None:
        self._cluster = InMemoryCluster(InMemoryTopics(*rehearsal.topics))
        self._runner = LocalRunner(self._cluster)
        server = Server(
            _SETTINGS,
            cluster=self._cluster,
            log=InMemoryCommandLog(),
            runner=self._runner,
            registry=rehearsal.registry,
            functions=functions(),
        )
        self._opened.callback(server.close)
        server.start()
        http = HttpServer(server, port=0)
        self._opened.callback(http.close)
        self._client = self._opened.enter_context(
            httpx.Client(
                base_url=http.address, timeout=_PATIENCE_S, trust_env=False, verify=_NO_TLS
            )
        )

    def ksql(self, text: str, properties: Mapping[str, Any]) -> Answer:
        body = {"ksql": text, "streamsProperties": properties}
        answer = self._client.post("/ksql", json=body)
        return Answer(answer.status_code, _parsed(answer.text))

    def query(
        self, sql: str, properties: Mapping[str, Any], *, protobuf: bool = False
    ) -> RealQuery:
        if protobuf:
            body = {"sql": sql, "properties": properties}
            request = self._client.build_request(
                "POST", "/query-stream", json=body, headers={"Accept": _PROTOBUF}
            )
        else:
            body = {"ksql": sql, "streamsProperties": properties}
            request = self._client.build_request("POST", "/query", json=body)
        return RealQuery(self._client.send(request, stream=True), protobuf=protobuf)

    def produce(self, rehearsal: Rehearsal, records: list[dict[str, Any]]) -> None:
        for record in records:
            written = rehearsal.written(record)
            self._cluster.produce(
                ProducerRecord(
                    record["topic"],
                    None,
                    written.key,
                    written.value,
                    written.timestamp,
                    written.headers,
                )
            )

    def wait_until_processed(self) -> None:
        assert self._runner.wait_until_processed(_PATIENCE_S), "queries are too slow"

    def collect(self, rehearsal: Rehearsal, topic: str, count: int) -> None:
        self.wait_until_processed()
        found = self._cluster.topics.find(topic)
        for number in range(0 if found is None else found.partitions):
            rehearsal.log[topic].extend(
                Written(record.key, record.value, record.timestamp, tuple(record.headers))
                for record in self._cluster.records(TopicPartition(topic, number))
            )


class RealQuery:
    """A query whose answer comes."""

    def __init__(self, response: httpx.Response, *, protobuf: bool) -> None:
        self._response = response
        self._protobuf = protobuf
        self._text = ""
        self._chunks = response.iter_text()

    def wait_until_active(self) -> None:
        while "\n" not in self._text:
            self._text += next(self._chunks)

    def finish(self) -> Answer:
        for chunk in self._chunks:
            self._text += chunk
        content = _parsed(self._text)
        if self._protobuf and self._response.status_code == 200:
            shown = _shower(content[0]["header"]["protoSchema"])
            for one in content:
                if "row" in one:
                    one["row"] = shown(base64.b64decode(one["row"]["protobufBytes"]))
        return Answer(self._response.status_code, content)


def _parsed(text: str) -> Any:
    """An error leaves a comma at the end of an answer."""
    text = text.removesuffix(",\n]") + "]" if text.endswith(",\n]") else text
    return json.loads(text, parse_float=Decimal)


def _shower(schema: str) -> Callable[[bytes], str]:
    """What shows messages of a schema as text."""
    descriptor = message_descriptor(SchemaText("PROTOBUF", schema), None, None)
    message_class = message_factory.GetMessageClass(descriptor)

    def shown(data: bytes) -> str:
        return str(text_format.MessageToString(message_class.FromString(data)))

    return shown

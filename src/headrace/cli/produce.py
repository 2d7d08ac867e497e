"""`headrace produce`: lines of standard input become records of a topic."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import orjson
import typer

from headrace.cli.options import ConfigFile, Servers, Settings, client_configuration
from headrace.cli.serde_names import KeySerde, ValueSerde, serde_named
from headrace.cli.terminal import count, note
from headrace.cli.topics import admin_of, existing_topic
from headrace.core.errors import ArgumentError, SerializationError
from headrace.serde.serde import Serde

if TYPE_CHECKING:
    from headrace.kafka.port import Outgoing

_TOGETHER = 1000
_NULL = "null"


def produce(
    topic: Annotated[str, typer.Argument(help="The topic to write to.")],
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-k", help="What stands between key and value in a line."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help='Lines are objects: {"key": …, "value": …, "timestamp": …, "headers": {…}, '
            '"partition": …}, as `consume --json` writes them.',
        ),
    ] = False,
    key_serde: KeySerde = "string",
    value_serde: ValueSerde = "string",
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Write lines of standard input to a topic.

    A value `null` after a key deletes. For serdes of other things than text, lines are JSON.
    """
    from headrace.kafka.positions import GroupReader
    from headrace.kafka.producer import PlainProducer
    from headrace.kafka.settings import ClientSettings

    if as_json and key_separator is not None:
        raise ArgumentError("--json and --key-separator exclude each other.")
    form = _Lines(topic, _Field.of(key_serde), _Field.of(value_serde), key_separator, as_json)
    loaded = client_configuration(config, settings, servers)
    existing_topic(admin_of(loaded), topic)
    client = ClientSettings(loaded)
    group = GroupReader(client)
    producer = PlainProducer(client, group)
    sent = 0
    try:
        producer.open()
        try:
            for records in _chunks(form.records(sys.stdin), 1 if sys.stdin.isatty() else _TOGETHER):
                producer.send(records)
                sent += len(records)
        finally:
            producer.commit(None, {})
    except KeyboardInterrupt:
        pass
    finally:
        producer.close()
        group.close()
    note(f"{count(sent, 'record')} written to {topic}")


class _Field(NamedTuple):
    """How a key or a value becomes bytes."""

    serde_name: str
    serde: Serde[Any]

    @classmethod
    def of(cls, serde_name: str) -> _Field:
        return cls(serde_name, serde_named(serde_name))

    def from_text(self, text: str) -> bytes:
        """Text, if that is what the serde writes; else JSON, such as 5 or {"a": 1}."""
        if self.serde_name in ("string", "bytes"):
            return text.encode()
        try:
            value = orjson.loads(text)
        except ValueError:
            value = text
        return self.serde.serialize(value)

    def from_value(self, value: Any) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, str) and self.serde_name == "bytes":
            return value.encode()
        return self.serde.serialize(value)


class _Lines:
    """How a line is read."""

    def __init__(
        self,
        topic: str,
        key: _Field,
        value: _Field,
        key_separator: str | None,
        as_json: bool,
    ) -> None:
        self._topic = topic
        self._key = key
        self._value = value
        self._separator = key_separator
        self._read = self._from_json if as_json else self._from_text

    def records(self, lines: Iterable[str]) -> Iterator[Outgoing]:
        for number, line in enumerate(lines, 1):
            text = line.rstrip("\r\n")
            if not text:
                continue
            try:
                yield self._read(text)
            except Exception as error:
                raise SerializationError(
                    f"Line {number} of the input can't be written to {self._topic}: {error}"
                ) from error

    def _from_text(self, line: str) -> Outgoing:
        key = None
        if self._separator is not None:
            key, found, line = line.partition(self._separator)
            if not found:
                raise ValueError(f"it has no key separator {self._separator!r}")
        value = None if key is not None and line == _NULL else self._value.from_text(line)
        return self._topic, None, None if key is None else self._key.from_text(key), value, None, ()

    def _from_json(self, line: str) -> Outgoing:
        form = orjson.loads(line)
        if not isinstance(form, dict):
            raise ValueError("it is no JSON object")
        headers = form.get("headers") or {}
        return (
            self._topic,
            form.get("partition"),
            self._key.from_value(form.get("key")),
            self._value.from_value(form.get("value")),
            form.get("timestamp"),
            [
                (name, None if text is None else str(text).encode())
                for name, text in headers.items()
            ],
        )


def _chunks(records: Iterable[Outgoing], size: int) -> Iterator[list[Outgoing]]:
    chunk: list[Outgoing] = []
    for record in records:
        chunk.append(record)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk

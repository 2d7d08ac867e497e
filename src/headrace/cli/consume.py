"""`headrace consume`: the records of a topic, as lines."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from headrace.cli.options import ConfigFile, Servers, Settings, client_configuration
from headrace.cli.serde_names import KeySerde, ValueSerde, serde_named
from headrace.cli.terminal import count, note, say
from headrace.cli.topics import admin_of, existing_topic
from headrace.core.record import ConsumerRecord, TopicPartition

if TYPE_CHECKING:
    from headrace.core.config import StreamsConfig
    from headrace.kafka.topic_tail import TopicTail
    from headrace.serde.serde import Serde

_POLL_S = 0.2


def consume(
    topic: Annotated[str, typer.Argument(help="The topic to read.")],
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", "-f", help="Not only what is new.")
    ] = False,
    most: Annotated[
        int | None, typer.Option("--max", "-n", min=1, help="Stop after so many records.")
    ] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", "-e", help="Stop at the end of the topic.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", "-t", metavar="SECONDS", help="Stop if nothing comes so long."),
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0)] = None,
    key_serde: KeySerde = "string",
    value_serde: ValueSerde = "string",
    headers: Annotated[bool, typer.Option("--headers", help="Show headers.")] = False,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Show timestamps.")] = False,
    offsets: Annotated[bool, typer.Option("--offsets", help="Show partition@offset.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, with everything.")
    ] = False,
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="Also records of open and aborted transactions.")
    ] = False,
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Show the records of a topic, key and value a line, until Ctrl-C.

    Bytes that the serde can't read are shown as they are: b'…'.
    """
    key, value = serde_named(key_serde), serde_named(value_serde)
    form = _JsonForm(key, value) if as_json else _TextForm(key, value, offsets, timestamps, headers)
    loaded = client_configuration(config, settings, servers)
    tail, partitions = _tail(loaded, topic, partition, from_beginning, uncommitted)
    shown, last = 0, time.monotonic()
    try:
        while most is None or shown < most:
            records = tail.poll(_POLL_S)
            last = time.monotonic() if records else last
            for record in records[: None if most is None else most - shown]:
                say(form.line(record))
                shown += 1
            if until_end and tail.ended >= partitions:
                break
            if timeout is not None and time.monotonic() - last > timeout:
                break
    except KeyboardInterrupt:
        pass
    finally:
        tail.close()
    note(f"{count(shown, 'record')} of {topic}")


def _tail(
    config: StreamsConfig,
    topic: str,
    partition: int | None,
    from_beginning: bool,
    uncommitted: bool,
) -> tuple[TopicTail, set[TopicPartition]]:
    from headrace.kafka.positions import GroupReader
    from headrace.kafka.settings import ClientSettings
    from headrace.kafka.topic_tail import TopicTail

    known = existing_topic(admin_of(config), topic).partitions
    if partition is not None and partition >= known:
        raise typer.BadParameter(
            f"{topic} has {count(known, 'partition')}, numbered from 0", param_hint="--partition"
        )
    numbers = range(known) if partition is None else [partition]
    partitions = {TopicPartition(topic, number) for number in numbers}
    client = ClientSettings(config)
    group = GroupReader(client)
    try:
        start = group.first_offsets if from_beginning else group.end_offsets
        isolation = "read_uncommitted" if uncommitted else "read_committed"
        return TopicTail(client, start(partitions), isolation), partitions
    finally:
        group.close()


class _TextForm:
    """Key and value, with what else was asked for before them, between tabs."""

    def __init__(
        self, key: Serde[Any], value: Serde[Any], offsets: bool, timestamps: bool, headers: bool
    ) -> None:
        self._key = key
        self._value = value
        self._offsets = offsets
        self._timestamps = timestamps
        self._headers = headers

    def line(self, record: ConsumerRecord) -> str:
        parts = []
        if self._offsets:
            parts.append(f"{record.partition}@{record.offset}")
        if self._timestamps:
            parts.append(_time(record.timestamp))
        if self._headers:
            parts.append(_headers_text(record))
        parts.append(_text(_value(self._key, record.key)))
        parts.append(_text(_value(self._value, record.value)))
        return "\t".join(parts)


class _JsonForm:
    """Everything, as `produce --json` reads it."""

    def __init__(self, key: Serde[Any], value: Serde[Any]) -> None:
        self._key = key
        self._value = value

    def line(self, record: ConsumerRecord) -> str:
        form = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "headers": {name: _header(data) for name, data in record.headers},
            "key": _value(self._key, record.key),
            "value": _value(self._value, record.value),
        }
        return orjson.dumps(form, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()


def _value(serde: Serde[Any], data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return serde.deserialize(data)
    except Exception:  # a look at a topic shouldn't end at the first odd record
        return data


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return value
        case dict() | list():
            return orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    return str(value)


def _time(milliseconds: int) -> str:
    if milliseconds < 0:
        return "no timestamp"
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _headers_text(record: ConsumerRecord) -> str:
    return ",".join(f"{name}={_header(data)}" for name, data in record.headers)


def _header(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")

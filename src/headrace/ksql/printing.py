"""PRINT: what is in a topic, whatever it is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from struct import unpack

import orjson

from headrace.core.errors import HeadraceError
from headrace.core.record import ConsumerRecord
from headrace.http.places import Places
from headrace.ksql.cluster import Cluster, Reader
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.results import Closed, PrintLine, ResultStream
from headrace.sql.formats.wire import PREFIX_SIZE
from headrace.sql.java_numbers import double_text
from headrace.sql.syntax.ast import PrintTopic

LIMIT = "ksql.max.print.queries"

_LOG = logging.getLogger("headrace.ksql")
_POLL_S = 0.1
_MAGIC = 0


def print_topic(statement: PrintTopic, cluster: Cluster, places: Places) -> ResultStream[PrintLine]:
    """Lines, as records come. Raises KsqlError if there is no such topic, or no place left."""
    name = statement.topic
    if cluster.topics.find(name) is None:
        near = [each.name for each in cluster.topics if each.name.lower() == name.lower()]
        hint = "".join(f"\nDid you mean: {each}?" for each in near)
        raise KsqlError(
            ErrorCode.BAD_REQUEST,
            f"Could not find topic '{name}', or the KSQL user does not have permissions to list "
            f"the topic. Topic names are case-sensitive.{hint}",
        )
    if not places.take():
        raise KsqlError(
            ErrorCode.TOO_MANY_REQUESTS,
            f"There are {places.most} PRINT statements already ({LIMIT}). Try again.",
        )
    try:
        offsets = cluster.begins([name]) if statement.from_beginning else cluster.ends([name])
        reader = cluster.read(offsets)
    except BaseException:
        places.leave()
        raise
    lines: ResultStream[PrintLine] = ResultStream(weigh=lambda line: len(line.text))

    def run() -> None:
        try:
            _print(statement, reader, lines)
            lines.finish()
        except Closed:
            pass
        except HeadraceError as error:
            lines.fail(KsqlError(ErrorCode.SERVER_ERROR, str(error)))
        except Exception as error:
            _LOG.exception("PRINT %s failed", name)
            message = f"PRINT failed ({type(error).__name__}). The server's log has more."
            lines.fail(KsqlError(ErrorCode.SERVER_ERROR, message))
        finally:
            places.leave()
            reader.close()

    threading.Thread(target=run, name="ksql-print", daemon=True).start()
    return lines


def _print(statement: PrintTopic, reader: Reader, lines: ResultStream[PrintLine]) -> None:
    form, seen, left = _Form(lines.put), 0, statement.limit
    while not lines.ended and left != 0:
        for record in reader.poll(_POLL_S):
            seen += 1
            if statement.interval is not None and (seen - 1) % statement.interval:
                continue
            form.put(record)
            if left is not None:
                left -= 1
                if not left:
                    return


class _Form:
    """Writes records, and says what it takes their formats for whenever that changes."""

    def __init__(self, put: Callable[[PrintLine], None]) -> None:
        self._put = put
        self._formats: dict[str, str] = {}

    def put(self, record: ConsumerRecord) -> None:
        key = self._text("Key", record.key)
        value = self._text("Value", record.value)
        rowtime = _time_text(record.timestamp)
        self._put(
            PrintLine(
                f"rowtime: {rowtime}, key: {key}, value: {value}, partition: {record.partition}"
            )
        )

    def _text(self, part: str, data: bytes | None) -> str:
        if data is None:
            return "<null>"
        name, text = guessed(data)
        if self._formats.get(part) != name:
            self._formats[part] = name
            self._put(PrintLine(f"{part} format: {name}", about_format=True))
        return text


def _time_text(timestamp: int) -> str:
    try:
        moment = datetime.fromtimestamp(max(timestamp, 0) / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        return str(timestamp)
    return f"{moment:%Y/%m/%d %H:%M:%S}.{timestamp % 1000:03d} Z"


def guessed(data: bytes) -> tuple[str, str]:
    """What format bytes seem to be in, and their text in it."""
    if len(data) > PREFIX_SIZE and data[0] == _MAGIC:
        return "AVRO or PROTOBUF or JSON_SR", data[PREFIX_SIZE:].hex(" ")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text and all(character.isprintable() or character.isspace() for character in text):
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            return "KAFKA_STRING", text
        return "JSON or KAFKA_STRING", text
    if len(data) == 4:
        return "KAFKA_INT", str(unpack(">i", data)[0])
    if len(data) == 8:
        number = unpack(">q", data)[0]
        if abs(number) < 1 << 52:
            return "KAFKA_BIGINT or KAFKA_DOUBLE", str(number)
        return "KAFKA_BIGINT or KAFKA_DOUBLE", double_text(unpack(">d", data)[0])
    return "KAFKA_BYTES", data.hex(" ")

"""The forms in which the answer of a query goes out."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import orjson

from headrace.ksql.errors import KsqlError
from headrace.ksql.http import media
from headrace.ksql.results import QUERY_COMPLETED, QueryKind, QueryResult, Row
from headrace.sql.formats.answers import answer_encoder, protobuf_answer


class Form(Protocol):
    """Writes an answer, piece by piece. Each piece goes out by itself."""

    media_type: str

    def header(self) -> bytes: ...

    def rows(self, rows: Iterable[Row]) -> Iterable[bytes]: ...

    def end(self, message: str | None, error: KsqlError | None) -> bytes: ...


def form_of(media_type: str, result: QueryResult) -> Form:
    """The form that has this media type."""
    if media_type == media.DELIMITED:
        return Delimited(result)
    if media_type == media.JSON:
        return JsonArray(result)
    if media_type == media.PROTOBUF:
        return V1(result, media.PROTOBUF)
    return V1(result, media.V1)


class Delimited:
    """A JSON value on each line: columns, then rows. Some clients take each piece for a row."""

    media_type = media.DELIMITED

    def __init__(self, result: QueryResult) -> None:
        self._result = result
        self._encode = answer_encoder([column.type for column in result.columns])

    def header(self) -> bytes:
        return _line(_columns(self._result))

    def rows(self, rows: Iterable[Row]) -> Iterable[bytes]:
        return [_line(self._encode(row.values)) for row in rows if not row.tombstone]

    def end(self, message: str | None, error: KsqlError | None) -> bytes:
        return b"" if error is None else _line(error_line(error))


class JsonArray:
    """The same as one array."""

    media_type = media.JSON

    def __init__(self, result: QueryResult) -> None:
        self._result = result
        self._encode = answer_encoder([column.type for column in result.columns])

    def header(self) -> bytes:
        return b"[" + to_json(_columns(self._result))

    def rows(self, rows: Iterable[Row]) -> Iterable[bytes]:
        return [b"," + to_json(self._encode(row.values)) for row in rows if not row.tombstone]

    def end(self, message: str | None, error: KsqlError | None) -> bytes:
        return b"]" if error is None else b"," + to_json(error_line(error)) + b"]"


_PIECE = 5_000


class V1:
    """An array of objects, one on each line. What comes in time ends with a comma and a line
    break, as clients read it line by line; what is there at once is valid JSON as a whole."""

    def __init__(self, result: QueryResult, media_type: str) -> None:
        self.media_type = media_type
        self._result = result
        self._in_time = result.kind is not QueryKind.PULL
        self._proto_schema: str | None = None
        self._write: Callable[[Row], dict[str, Any]]
        if media_type == media.PROTOBUF:
            self._proto_schema, serialize = protobuf_answer(result.columns)
            self._write = lambda row: {
                "protobufBytes": base64.b64encode(serialize(row.values)).decode()
            }
        else:
            encode = answer_encoder([column.type for column in result.columns])
            self._write = lambda row: {"columns": encode(row.values)}

    def header(self) -> bytes:
        header = {"queryId": self._result.query_id, "schema": self._result.schema}
        if self._proto_schema is not None:
            header["protoSchema"] = self._proto_schema
        return b"[" + self._object({"header": header})

    def rows(self, rows: Iterable[Row]) -> Iterable[bytes]:
        if self._in_time:
            return [self._object(self.row(row)) for row in rows]
        return _joined(self._object(self.row(row)) for row in rows)

    def end(self, message: str | None, error: KsqlError | None) -> bytes:
        if error is not None:
            return self._object({"errorMessage": error_line(error)}) + b"]"
        if message is None and self._result.kind in (QueryKind.PUSH, QueryKind.STREAM_PULL):
            message = QUERY_COMPLETED
        if message is None:
            return b"]"
        last = to_json({"finalMessage": message}) + b"]"
        return last if self._in_time else b",\n" + last

    def row(self, row: Row) -> dict[str, Any]:
        content = self._write(row)
        if row.tombstone:
            content["tombstone"] = True
        return {"row": content}

    def _object(self, content: dict[str, Any]) -> bytes:
        if self._in_time:
            return to_json(content) + b",\n"
        return to_json(content) if "header" in content else b",\n" + to_json(content)


def error_line(error: KsqlError) -> dict[str, Any]:
    """An error in an answer that has begun."""
    return {"@type": "generic_error", "error_code": int(error.code), "message": error.message}


def to_json(content: Any) -> bytes:
    return orjson.dumps(content, default=str)


def _line(content: Any) -> bytes:
    return to_json(content) + b"\n"


def _columns(result: QueryResult) -> dict[str, Any]:
    return {
        "queryId": result.query_id,
        "columnNames": [column.name for column in result.columns],
        "columnTypes": [str(column.type) for column in result.columns],
    }


def _joined(parts: Iterable[bytes]) -> Iterable[bytes]:
    """In pieces of some size."""
    piece = bytearray()
    for part in parts:
        piece += part
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)

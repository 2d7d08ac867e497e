"""Media types: in which form an answer goes out."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException

JSON = "application/json"
V1 = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"

ANSWERS = {JSON: JSON, V1: JSON}
"""What statements and GET are answered with."""
QUERY = {V1: V1, JSON: V1, DELIMITED: DELIMITED, PROTOBUF: PROTOBUF}
"""What `/query` is answered with."""
QUERY_STREAM = {DELIMITED: DELIMITED, JSON: JSON, V1: V1, PROTOBUF: PROTOBUF}
"""What `/query-stream` is answered with."""
INSERTS = {DELIMITED: DELIMITED, JSON: JSON}
"""What `/inserts-stream` is answered with."""


def chosen(accept: str, offered: Mapping[str, str]) -> str:
    """What a client that accepts this is given, of what is offered by the names it may use. The
    first is given to those that accept anything.

    Raises HTTPException 406 if there is nothing for it.
    """
    for wanted in _by_preference(accept) or ["*/*"]:
        if wanted in offered:
            return offered[wanted]
        if wanted in ("*/*", "application/*"):
            return next(iter(offered.values()))
    raise HTTPException(406, "Not Acceptable")


def _by_preference(accept: str) -> list[str]:
    """The types of an Accept header, the best first."""
    weighed: list[tuple[float, int, str]] = []
    for part in accept.lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                weight = _weight(value)
        if name and weight > 0:
            weighed.append((-weight, len(weighed), name))
    return [name for _, _, name in sorted(weighed)]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0

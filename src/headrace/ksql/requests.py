"""Requests, as clients make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Request:
    """Text of SQL, and what goes with it. `properties` are settings for this request, `variables`
    are bound where `${name}` stands, `request_properties` are between servers."""

    sql: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    request_properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StatementsRequest(Request):
    """Statements, one or several. `sequence_number`: that of the command which must have been
    executed before they are."""

    sequence_number: int | None = None


@dataclass(frozen=True)
class QueryRequest(Request):
    """One SELECT or PRINT."""

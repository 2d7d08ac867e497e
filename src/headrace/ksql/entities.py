"""Entities: what statements answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.sql.masking import masked_statement


@dataclass(frozen=True)
class Entity:
    """The answer of one statement. `type` is its `@type`, `members` are what it has besides
    `statementText` and `warnings`, as JSON."""

    type: str
    statement: str
    members: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        return {
            "@type": self.type,
            "statementText": masked_statement(self.statement),
            **self.members,
            "warnings": [{"message": warning} for warning in self.warnings],
        }

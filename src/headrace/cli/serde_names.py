"""Serdes as command lines name them, as in configuration files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.core.settings import SETTINGS

if TYPE_CHECKING:
    from headrace.serde.serde import Serde

_HELP = "string, json, long, integer, double, bytes …, or module:attribute."

KeySerde = Annotated[
    str, typer.Option("--key-serde", "-K", metavar="SERDE", help=f"Of keys: {_HELP}")
]
ValueSerde = Annotated[
    str, typer.Option("--value-serde", "-V", metavar="SERDE", help=f"Of values: {_HELP}")
]


def serde_named(name: str) -> Serde[Any]:
    """Raises ConfigError if there is none of that name."""
    serde: Serde[Any] = SETTINGS["default.key.serde"]._replace(key="The serde").validated(name)
    return serde

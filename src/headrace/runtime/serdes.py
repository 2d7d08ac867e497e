"""Fills in the serdes that a topology leaves to the configuration."""

from __future__ import annotations

from typing import Any

from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.serde.serde import DerivedSerde, Serde, SerdeLike


class SerdeResolver:
    """`resolver(serde, role)`, role "key" or "value"."""

    def __init__(self, config: StreamsConfig) -> None:
        self._defaults = {
            "key": config["default.key.serde"],
            "value": config["default.value.serde"],
        }

    def __call__(self, serde: SerdeLike, role: str) -> Serde[Any]:
        if serde is None:
            serde = self._defaults[role]
            if serde is None:
                raise ConfigError(
                    f"A {role} serde is needed, but none was given and default.{role}.serde is not "
                    "set. Give one where the topic or store is named, or set the default."
                )
        if isinstance(serde, DerivedSerde):
            return serde.make(*map(self, serde.parts, serde.roles))
        return serde

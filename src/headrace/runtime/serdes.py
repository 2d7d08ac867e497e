"""Fills in the serdes that a topology leaves to the configuration."""

from __future__ import annotations

from typing import Any

from headrace.core.config import StreamsConfig
from headrace.core.errors import ArgumentError, ConfigError
from headrace.serde.serde import DerivedSerde, Serde, SerdeLike, check_serde

_WHERE = {
    "key": "as in group_by(…, key=serdes.string()) or to(…, key=…)",
    "value": "as in to(…, value=serdes.json()) or Materialized(…, value=…)",
}


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
                    f"set. An operation that changes the {role} forgets its serde: give the new "
                    f"one, {_WHERE[role]}, or set the default."
                )
        if isinstance(serde, DerivedSerde):
            return serde.make(*map(self, serde.parts, serde.roles))
        try:
            check_serde(serde, f"The {role} serde")
        except ArgumentError as error:
            raise ConfigError(str(error)) from None
        return serde

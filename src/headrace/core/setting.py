"""What a setting is: the values that it takes, and what they are read from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from headrace.core.errors import ConfigError
from headrace.core.masking import masked

Check = Callable[[Any], "str | None"]
"""Says what is wrong with a value, or None."""

Kind = Literal["str", "int", "bool", "list", "serde", "function"]
Importance = Literal["high", "medium", "low", "internal"]

NO_NAMES: Mapping[str, str] = {}


class Setting(NamedTuple):
    """One setting.

    `names` are other words for values, such as Java's classes: for a serde or a function they
    stand for "module:attribute". `normalize` is applied to text that may be written in any case.
    `shown_default` describes a default that isn't a plain value. The value of a `secret` is never
    shown.
    """

    key: str
    kind: Kind
    default: Any
    importance: Importance
    doc: str
    check: Check | None = None
    names: Mapping[str, str] = NO_NAMES
    normalize: Callable[[str], str] | None = None
    shown_default: str = ""
    secret: bool = False

    def validated(self, value: Any) -> Any:
        """The value as the setting's kind; ConfigError if it can't be that."""
        if value is None:
            return None
        value = self._read(value)
        problem = self.check(value) if self.check else None
        if problem:
            shown = "" if self.secret else f", but is {masked(repr(value))}"
            raise ConfigError(f"{self.key} {problem}{shown}. {self.doc}")
        return value

    def _read(self, value: Any) -> Any:
        match self.kind, value:
            case "str", str():
                return self._word(value)
            case "str", os.PathLike():
                return os.fspath(value)
            case "int", str():
                return self._number(value)
            case "int", timedelta() if self.is_duration:
                return value // timedelta(milliseconds=1)
            case ("int", int()) if not isinstance(value, bool):
                return value
            case "bool", bool():
                return value
            case "bool", str() if value.lower() in ("true", "false"):
                return value.lower() == "true"
            case "list", str():
                return value
            case "list", list() | tuple():
                return ",".join(map(str, value))
            case (("serde" | "function"), str()):
                return self._referenced(value)
            case (("serde" | "function"), _):
                return value
        wanted = "int or timedelta" if self.is_duration else self.kind
        shown = type(value).__name__ if self.secret else masked(repr(value))
        raise ConfigError(f"{self.key} must be of type {wanted}, but is {shown}. {self.doc}")

    @property
    def is_duration(self) -> bool:
        return self.kind == "int" and ".ms" in self.key

    def _word(self, text: str) -> str:
        if self.normalize:
            text = self.normalize(text)
        return self.names.get(_last_part(text), text)

    def _number(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ConfigError(
                f"{self.key} must be a whole number, but is {text!r}. {self.doc}"
            ) from None

    def _referenced(self, text: str) -> Any:
        from headrace.core.references import named

        reference = self.names.get(text) or self.names.get(_last_part(text), text)
        if ":" not in reference:
            words = "".join(f" or {name}" for name in self.names if name.islower())
            raise ConfigError(
                f"{self.key} must be a {self.kind}, but is {text!r}. "
                f"As text, it is 'module:attribute'{words}. {self.doc}"
            )
        found = named(reference, self.key)
        # A serde is made by a function (serdes.string), so that is what files name.
        makes_serde = self.kind == "serde" and not hasattr(found, "deserialize")
        return found() if makes_serde and callable(found) else found


def _last_part(text: str) -> str:
    """The simple name of a Java class: `StringSerde` of `…serialization.Serdes$StringSerde`."""
    return text.replace("$", ".").rpartition(".")[2]

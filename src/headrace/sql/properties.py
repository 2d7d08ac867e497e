"""The properties of a WITH clause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.formats import (
    FormatError,
    FormatInfo,
    delimiter_character,
    format_info,
    format_named,
)
from headrace.sql.metastore import TimestampColumn, WindowInfo, WindowKind
from headrace.sql.syntax.ast import Literal, Properties, TimeUnit

_COMMON = frozenset(
    (
        "KAFKA_TOPIC",
        "PARTITIONS",
        "REPLICAS",
        "RETENTION_MS",
        "CLEANUP_POLICY",
        "FORMAT",
        "KEY_FORMAT",
        "VALUE_FORMAT",
        "KEY_DELIMITER",
        "VALUE_DELIMITER",
        "TIMESTAMP",
        "TIMESTAMP_FORMAT",
        "WRAP_SINGLE_VALUE",
        "KEY_SCHEMA_ID",
        "VALUE_SCHEMA_ID",
        "KEY_SCHEMA_FULL_NAME",
        "VALUE_SCHEMA_FULL_NAME",
        "VALUE_AVRO_SCHEMA_FULL_NAME",
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION",
        "VALUE_PROTOBUF_NULLABLE_REPRESENTATION",
    )
)
CREATE = _COMMON | {"WINDOW_TYPE", "WINDOW_SIZE", "SOURCED_BY_CONNECTOR"}
"""What CREATE STREAM and CREATE TABLE know."""
CREATE_AS = _COMMON
"""What CREATE … AS SELECT knows."""
INSERT_INTO = frozenset(("QUERY_ID",))
"""What INSERT INTO … SELECT knows."""

_NUMBERS = frozenset(("PARTITIONS", "REPLICAS", "RETENTION_MS", "KEY_SCHEMA_ID", "VALUE_SCHEMA_ID"))
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_SIZE = re.compile(r"(\d+)\s*([A-Z]+?)S?", re.IGNORECASE)


@dataclass(frozen=True)
class SourceProperties:
    """Properties by name, in upper case, checked."""

    values: Mapping[str, Any]

    @classmethod
    def read(cls, properties: Properties, known: frozenset[str]) -> SourceProperties:
        """Raises SqlError if a property isn't known, or has a value that can't be."""
        values: dict[str, Any] = {}
        for name, literal in properties:
            name = name.upper()
            if name not in known:
                raise SqlError(
                    "Failed to prepare statement: "
                    f"Invalid config variable(s) in the WITH clause: {name}"
                )
            values[name] = _value(name, literal)
        return cls(values)._checked()

    def _checked(self) -> SourceProperties:
        for part in ("KEY", "VALUE"):
            if self.text("FORMAT") is not None and self.text(f"{part}_FORMAT") is not None:
                raise SqlError(
                    f"Cannot supply both '{part}_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets "
                    "both key and value formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and "
                    "'VALUE_FORMAT'."
                )
            delimiter = self.text(f"{part}_DELIMITER")
            if delimiter is not None:
                try:
                    delimiter_character(delimiter)
                except FormatError as error:
                    raise SqlError(
                        "Failed to prepare statement: "
                        f"Configuration {part}_DELIMITER is invalid: {error.message}"
                    ) from error
        return self

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        value = self.values.get(name)
        return None if value is None else int(value)

    def topic_config(self, default_policy: str) -> dict[str, str]:
        """Settings of a topic that is to be created."""
        config = {"cleanup.policy": (self.text("CLEANUP_POLICY") or default_policy).lower()}
        retention = self.number("RETENTION_MS")
        if retention is not None:
            config["retention.ms"] = str(retention)
        return config

    @property
    def wrap_single_value(self) -> bool | None:
        return self.values.get("WRAP_SINGLE_VALUE")

    @property
    def timestamp(self) -> TimestampColumn | None:
        name = self.text("TIMESTAMP")
        if name is None:
            return None
        return TimestampColumn(_column_name(name), self.text("TIMESTAMP_FORMAT"))

    @property
    def window(self) -> WindowInfo | None:
        """Raises SqlError if there is no such kind, or the size is missing."""
        name = self.text("WINDOW_TYPE")
        if name is None:
            return None
        kind = WindowKind.__members__.get(name.upper())
        if kind is None:
            raise SqlError(
                "Failed to prepare statement: Configuration WINDOW_TYPE is invalid: "
                f"Invalid value {name} for configuration WINDOW_TYPE: String must be one of: "
                "SESSION, HOPPING, TUMBLING, null"
            )
        size = self.text("WINDOW_SIZE")
        if kind is WindowKind.SESSION:
            if size is not None:
                raise SqlError("'WINDOW_SIZE' should not be set for SESSION windows.")
            return WindowInfo(kind)
        if size is None:
            raise SqlError(
                f"{kind.value} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
                "For example: 'WINDOW_SIZE'='10 SECONDS'"
            )
        return WindowInfo(kind, _milliseconds(size))

    def format_name(self, part: str) -> str | None:
        """Of `KEY` or `VALUE`, if it is said."""
        return self.text("FORMAT") or self.text(f"{part}_FORMAT")

    def format(self, part: str, default: FormatInfo | str | None) -> FormatInfo:
        """Of `KEY` or `VALUE`, with its settings. `default` is what it is if nothing is said: a
        name, or a format whose settings stay if the format does.

        Raises SqlError if there is none, or the format doesn't know a setting.
        """
        name = self.format_name(part)
        inherited: dict[str, str] = {}
        if isinstance(default, FormatInfo):
            if name is None or name.upper() == default.name:
                inherited = dict(default.properties)
            name = name or default.name
        else:
            name = name or default
        if name is None:
            raise SqlError(
                f"Statement is missing the '{part}_FORMAT' property from the WITH clause.\n"
                f"Either provide one or set a default via the "
                f"'ksql.persistence.default.format.{part.lower()}' config."
            )
        schema_id = self.number(f"{part}_SCHEMA_ID")
        if schema_id is not None and not format_named(name).schemas:
            raise SqlError(
                f"{part}_FORMAT should support schema inference when {part}_SCHEMA_ID is provided. "
                f"Current format is {name.upper()}."
            )
        full_name = self.text(f"{part}_SCHEMA_FULL_NAME")
        if full_name is None and part == "VALUE":
            full_name = self.text("VALUE_AVRO_SCHEMA_FULL_NAME")
        delimiter = self.text(f"{part}_DELIMITER") or inherited.get("delimiter")
        return format_info(
            name,
            delimiter=delimiter,
            full_schema_name=full_name,
            schema_id=schema_id,
            nullable_representation=self.text(f"{part}_PROTOBUF_NULLABLE_REPRESENTATION"),
        )


def _value(name: str, literal: Literal) -> Any:
    value = literal.value
    if name in _NUMBERS:
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise _invalid(name, value, "Not a number of type INT") from None
        if name == "PARTITIONS" and number < 1:
            raise _invalid(name, value, "Value must be at least 1")
        return number
    if name == "KAFKA_TOPIC" and not _TOPIC.fullmatch(str(value)):
        raise _invalid(
            name, value, "Names of topics have up to 249 letters, digits, '.', '_' and '-'"
        )
    if name == "WRAP_SINGLE_VALUE":
        flags = {"true": True, "false": False}
        flag = flags.get(str(value).lower())
        if flag is None:
            raise _invalid(name, value, "Expected value to be either true or false")
        return flag
    return value


def _invalid(name: str, value: object, why: str) -> SqlError:
    return SqlError(
        "Failed to prepare statement: "
        f"Configuration {name} is invalid: Invalid value {value} for configuration {name}: {why}"
    )


def _column_name(text: str) -> str:
    """The name of a column in a string: in upper case unless it is quoted there."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in '`"':
        return text[1:-1]
    return text.upper()


def _milliseconds(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    unit = TimeUnit.__members__.get(f"{match[2].upper()}S") if match else None
    if match is None or unit is None:
        raise SqlError(
            f"Failed to prepare statement: Configuration WINDOW_SIZE is invalid: "
            f"Invalid duration: '{text}'. Example: '10 SECONDS'"
        )
    return int(match[1]) * unit.value

"""The formats there are, and what each can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from headrace.sql.errors import SqlError


class FormatError(SqlError):
    """A format can't do what is asked of it. The message is ksqlDB's where it has one."""


class Feature(StrEnum):
    """How the only column of a key or value is written: in a record, or by itself."""

    WRAP_SINGLES = "WRAP_SINGLES"
    UNWRAP_SINGLES = "UNWRAP_SINGLES"


_BOTH = frozenset(Feature)
_WRAP = frozenset({Feature.WRAP_SINGLES})
_UNWRAP = frozenset({Feature.UNWRAP_SINGLES})

DELIMITER = "delimiter"
FULL_SCHEMA_NAME = "fullSchemaName"
SCHEMA_ID = "schemaId"
NULLABLE_REPRESENTATION = "nullableRepresentation"
UNWRAP_PRIMITIVES = "unwrapPrimitives"


@dataclass(frozen=True)
class Format:
    """What a format can do. `schemas`: its schemas are in the registry, from which columns can be
    inferred. `properties`: the settings that it knows."""

    name: str
    features: frozenset[Feature]
    schemas: bool = False
    properties: frozenset[str] = frozenset()

    def supports(self, feature: Feature) -> bool:
        return feature in self.features


FORMATS = {
    format.name: format
    for format in (
        Format("NONE", frozenset()),
        Format("KAFKA", _UNWRAP),
        Format("DELIMITED", _UNWRAP, properties=frozenset({DELIMITER})),
        Format("JSON", _BOTH),
        Format("JSON_SR", _BOTH, True, frozenset({FULL_SCHEMA_NAME, SCHEMA_ID})),
        Format("AVRO", _BOTH, True, frozenset({FULL_SCHEMA_NAME, SCHEMA_ID})),
        Format(
            "PROTOBUF",
            _WRAP,
            True,
            frozenset({FULL_SCHEMA_NAME, SCHEMA_ID, UNWRAP_PRIMITIVES, NULLABLE_REPRESENTATION}),
        ),
        Format(
            "PROTOBUF_NOSR",
            _WRAP,
            properties=frozenset({UNWRAP_PRIMITIVES, NULLABLE_REPRESENTATION}),
        ),
    )
}


def format_named(name: str) -> Format:
    """The format of that name, in any case."""
    format = FORMATS.get(name.upper())
    if format is None:
        raise FormatError(f"Unknown format: {name.upper()}")
    return format


@dataclass(frozen=True)
class FormatInfo:
    """A format with its settings: (name, value) pairs, sorted by name."""

    name: str
    properties: tuple[tuple[str, str], ...] = field(default=())

    @property
    def format(self) -> Format:
        return format_named(self.name)

    def get(self, property: str) -> str | None:
        """The value of a setting, if it was made."""
        return dict(self.properties).get(property)

    @property
    def internal(self) -> FormatInfo:
        """This, for topics between the steps of a query: without what names a schema."""
        naming = (SCHEMA_ID, FULL_SCHEMA_NAME)
        return FormatInfo(self.name, tuple(p for p in self.properties if p[0] not in naming))

    def with_property(self, property: str, value: str) -> FormatInfo:
        """This, with one setting more, or another value of it."""
        return FormatInfo(
            self.name, tuple(sorted({**dict(self.properties), property: value}.items()))
        )


def format_info(
    name: str,
    *,
    delimiter: str | None = None,
    full_schema_name: str | None = None,
    schema_id: int | None = None,
    nullable_representation: str | None = None,
) -> FormatInfo:
    """The format with the settings that were given, checked."""
    format = format_named(name)
    settings = {
        DELIMITER: delimiter,
        FULL_SCHEMA_NAME: None if full_schema_name is None else full_schema_name.strip(),
        SCHEMA_ID: None if schema_id is None else str(schema_id),
        NULLABLE_REPRESENTATION: nullable_representation,
    }
    if format.name == "PROTOBUF" and nullable_representation is None:
        settings[UNWRAP_PRIMITIVES] = "true"
    info = FormatInfo(
        format.name,
        tuple(sorted((key, value) for key, value in settings.items() if value is not None)),
    )
    check_info(info)
    return info


def key_info_of(source: str, info: FormatInfo) -> FormatInfo:
    """The format of a stream's or table's keys. Schemas of AVRO keys are named after the source,
    unless they are given a name."""
    if info.name != "AVRO" or info.get(FULL_SCHEMA_NAME) is not None:
        return info
    camel = "".join(word.capitalize() for word in source.split("_"))
    return info.with_property(FULL_SCHEMA_NAME, f"io.confluent.ksql.avro_schemas.{camel}Key")


def check_info(info: FormatInfo) -> None:
    """Raise FormatError if the format doesn't know a setting, or can't use its value."""
    unknown = [name for name, _ in info.properties if name not in info.format.properties]
    if unknown:
        raise FormatError(
            f"{info.name} does not support the following configs: [{', '.join(unknown)}]"
        )
    if info.get(FULL_SCHEMA_NAME) == "":
        raise FormatError("fullSchemaName cannot be empty. Format configuration: {fullSchemaName=}")


_NAMED_DELIMITERS = {"TAB": "\t", "SPACE": " "}


def delimiter_character(text: str) -> str:
    """The character that KEY_DELIMITER or VALUE_DELIMITER stands for."""
    if not text:
        raise FormatError(
            "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, please "
            "use the special values 'TAB' or 'SPACE'\nExample valid value: ';'"
        )
    named = _NAMED_DELIMITERS.get(text)
    if named is not None:
        return named
    if len(text) != 1:
        raise FormatError(
            f"Invalid delimiter value: '{text}'. Delimiter must be a single character or TAB,SPACE"
            "\nExample valid value: ';'"
        )
    return text

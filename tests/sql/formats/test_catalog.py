"""What formats can do, and how they say that they can't."""

from __future__ import annotations

import pytest

from headrace.sql.formats import (
    Feature,
    FormatError,
    FormatInfo,
    RowFormat,
    check,
    delimiter_character,
    format_info,
    key_features,
    key_info_of,
    value_features,
)

from .rows import columns, keys_of


def test_names_are_found_in_any_case() -> None:
    assert format_info("AvRo") == FormatInfo("AVRO")


def test_unknown_formats() -> None:
    with pytest.raises(FormatError, match=r"^Unknown format: FOO$"):
        format_info("foo")


def test_settings_of_other_formats() -> None:
    with pytest.raises(FormatError, match=r"^JSON does not support the following configs: \[del"):
        format_info("JSON", delimiter="|")
    with pytest.raises(FormatError, match=r"^fullSchemaName cannot be empty"):
        format_info("AVRO", full_schema_name=" ")


def test_protobuf_leaves_out_null_unless_told_otherwise() -> None:
    assert format_info("PROTOBUF").get("unwrapPrimitives") == "true"
    assert format_info("PROTOBUF", nullable_representation="OPTIONAL").get("unwrapPrimitives") is (
        None
    )


@pytest.mark.parametrize(
    ("text", "character"), [(";", ";"), ("TAB", "\t"), ("SPACE", " "), ("\t", "\t")]
)
def test_delimiters(text: str, character: str) -> None:
    assert delimiter_character(text) == character


@pytest.mark.parametrize(("text", "message"), [("", "cannot be empty"), ("<~>", "'<~>'")])
def test_wrong_delimiters(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        delimiter_character(text)


@pytest.mark.parametrize(
    ("format", "of", "features"),
    [
        ("JSON", "A INT", {Feature.UNWRAP_SINGLES}),
        ("AVRO", "A INT", {Feature.UNWRAP_SINGLES}),
        ("AVRO", "A INT, B INT", set()),
        ("KAFKA", "A INT", set()),
        ("PROTOBUF", "A INT", set()),
    ],
)
def test_features_of_keys(format: str, of: str, features: set[Feature]) -> None:
    assert key_features(format_info(format), columns(of)) == features


def test_features_of_values() -> None:
    json, one, two = format_info("JSON"), columns("A INT"), columns("A INT, B INT")
    assert value_features(json, one) == frozenset()
    assert value_features(json, one, wrap=False) == {Feature.UNWRAP_SINGLES}
    assert value_features(json, one, wrap_by_default=False) == {Feature.UNWRAP_SINGLES}
    assert value_features(json, two, wrap_by_default=False) == frozenset()
    with pytest.raises(FormatError, match="only valid for single-field"):
        value_features(json, two, wrap=True)


@pytest.mark.parametrize(("format", "wrap"), [("DELIMITED", True), ("PROTOBUF", False)])
def test_wrapping_that_a_format_does_not_have(format: str, wrap: bool) -> None:
    message = f"^Format '{format}' does not support 'WRAP_SINGLE_VALUE' set to '{str(wrap).lower()}"
    with pytest.raises(FormatError, match=message):
        value_features(format_info(format), columns("A INT"), wrap)


@pytest.mark.parametrize(
    ("format", "of", "reason"),
    [
        ("KAFKA", "A INT, B INT", "The 'KAFKA' format only supports a single field. Got: [`A` INT"),
        ("KAFKA", "A BOOLEAN", "The 'KAFKA' format does not support type 'BOOLEAN'"),
        ("KAFKA", "A DECIMAL(4,2)", "The 'KAFKA' format does not support type 'DECIMAL'"),
        ("DELIMITED", "A ARRAY<INT>", "The 'DELIMITED' format does not support type 'ARRAY'"),
        ("JSON", "A MAP<INT, INT>", "JSON only supports MAP types with STRING keys"),
        ("AVRO", "A ARRAY<MAP<INT, INT>>", "Avro only supports MAPs with STRING keys"),
        ("AVRO", "`1a` INT", "Schema is not compatible with Avro: Illegal initial character: 1a"),
        ("AVRO", "A STRUCT<`a b` INT>", "Illegal character in: a b"),
        ("NONE", "A INT", "The 'NONE' format can only be used when no columns are defined. Got: ["),
    ],
)
def test_columns_that_a_format_cannot_write(format: str, of: str, reason: str) -> None:
    with pytest.raises(FormatError) as error:
        check(RowFormat(format_info(format), columns(of)))
    assert "Value format does not support schema.\nformat: " in str(error.value)
    assert f"\nreason: {reason}" in str(error.value) or reason in str(error.value)


def test_maps_are_no_keys() -> None:
    with pytest.raises(FormatError, match=r"Map keys, including .*`K`. Column type: ARRAY<MAP<"):
        check(keys_of("JSON", "K ARRAY<MAP<STRING, INT>>"))


def test_the_error_shows_columns_as_ksqldb_does() -> None:
    with pytest.raises(FormatError) as error:
        check(keys_of("KAFKA", "K BOOLEAN"))
    assert "schema: Persistence{columns=[`K` BOOLEAN KEY], features=[]}\nreason:" in str(
        error.value
    )


def test_names_of_key_schemas() -> None:
    named = key_info_of("MY_TABLE", format_info("AVRO"))
    assert named.get("fullSchemaName") == "io.confluent.ksql.avro_schemas.MyTableKey"
    given = format_info("AVRO", full_schema_name="n.Mine", schema_id=3)
    assert key_info_of("MY_TABLE", given) == given
    assert key_info_of("MY_TABLE", format_info("JSON")) == format_info("JSON")
    assert given.internal == format_info("AVRO")

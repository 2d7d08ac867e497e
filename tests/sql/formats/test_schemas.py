"""Schemas in the registry: what is inferred from them, and how data and they go together."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from headrace.core.errors import SerializationError
from headrace.sql.formats import (
    FormatError,
    InMemorySchemaRegistry,
    Reference,
    RowFormat,
    SchemaText,
    check_physical_schema,
    format_info,
    infer_columns,
    key_info_of,
    register,
    row_serde,
)
from headrace.sql.formats.inference import schema_of_columns

from .rows import columns, keys_of, values_of


def inferred(format: str, schema: Any, *references: tuple[str, Any], **options: Any) -> str:
    """The columns that are made of a schema, as SQL."""
    registry = InMemorySchemaRegistry()
    kind = {"JSON_SR": "JSON"}.get(format, format)
    made = []
    for name, other in references:
        registry.register(name, SchemaText(kind, text_of(other)))
        made.append(Reference(name, name, 1))
    id = registry.register("t-value", SchemaText(kind, text_of(schema), tuple(made)))
    by_id = options.pop("by_id", False)
    info = format_info(format, schema_id=id if by_id else None, **options.pop("settings", {}))
    found = infer_columns(info, "t", registry, is_key=False, **options)
    return ", ".join(map(str, found))


def text_of(schema: Any) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema)


def record(*fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    members = [{"name": name, "type": type} for name, type in fields]
    return {"type": "record", "name": "r", "fields": members, **more}


def test_columns_of_avro() -> None:
    nested = record(("x", ["null", "long"]), name="n")
    schema = record(
        ("a", "int"),
        ("b", ["null", "string"]),
        ("c", "float"),
        ("d", {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}),
        ("e", {"type": "array", "items": nested}),
        ("f", {"type": "map", "values": "n"}),
        ("g", {"type": "enum", "name": "e", "symbols": ["S"]}),
        ("h", {"type": "fixed", "name": "fx", "size": 2}),
        ("i", {"type": "int", "logicalType": "date"}),
        ("j", {"type": "long", "logicalType": "timestamp-millis"}),
    )
    assert inferred("AVRO", schema) == (
        "`A` INTEGER, `B` STRING, `C` DOUBLE, `D` DECIMAL(4, 1), `E` ARRAY<STRUCT<`X` BIGINT>>, "
        "`F` MAP<STRING, STRUCT<`X` BIGINT>>, `G` STRING, `H` BYTES, `I` DATE, `J` TIMESTAMP"
    )


def test_names_keep_their_case_with_an_id() -> None:
    schema = record(("aB", record(("c", "int"), name="n")))
    assert inferred("AVRO", schema, by_id=True) == "`aB` STRUCT<`c` INTEGER>"
    assert inferred("AVRO", schema) == "`AB` STRUCT<`C` INTEGER>"


def test_single_columns() -> None:
    assert inferred("AVRO", '"int"', unwrapped=True) == "`ROWVAL` INTEGER"
    with pytest.raises(FormatError, match="WRAP_SINGLE_VALUE=false"):
        inferred("AVRO", '"int"')


def test_avro_that_sql_has_no_type_for() -> None:
    with pytest.raises(FormatError, match="unions"):
        inferred("AVRO", record(("a", ["int", "string"])))
    with pytest.raises(FormatError, match="has itself in it"):
        inferred("AVRO", record(("a", ["null", "r"])))
    with pytest.raises(FormatError, match="names nobody"):
        inferred("AVRO", record(("a", "nobody")))


def test_avro_references() -> None:
    other = record(("x", "int"), name="other", namespace="n")
    assert inferred("AVRO", record(("a", "n.other")), ("n.other", other)) == (
        "`A` STRUCT<`X` INTEGER>"
    )


def test_columns_of_json_schemas() -> None:
    schema = {
        "type": "object",
        "definitions": {"d": {"type": "boolean"}},
        "properties": {
            "b": {"connect.index": 1, "oneOf": [{"type": "null"}, {"type": "string"}]},
            "a": {"connect.index": 0, "type": "integer"},
            "c": {"connect.index": 2, "type": ["null", "number"]},
            "d": {"connect.index": 3, "$ref": "#/definitions/d"},
            "e": {"connect.index": 4, "type": "array", "items": {"type": "string"}},
            "f": {
                "connect.index": 5,
                "type": "object",
                "additionalProperties": {"type": "integer"},
            },
            "g": {"connect.index": 6, "type": "object", "properties": {"x": {"type": "string"}}},
        },
    }
    assert inferred("JSON_SR", schema) == (
        "`A` BIGINT, `B` STRING, `C` DOUBLE, `D` BOOLEAN, `E` ARRAY<STRING>, "
        "`F` MAP<STRING, BIGINT>, `G` STRUCT<`X` STRING>"
    )


@pytest.mark.parametrize(
    "schema",
    [
        "not json",
        {"type": "object", "properties": {"a": {"$ref": "#/definitions/none"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {}}},
    ],
)
def test_json_schemas_that_sql_has_no_type_for(schema: Any) -> None:
    with pytest.raises(FormatError):
        inferred("JSON_SR", schema)


def test_columns_of_messages() -> None:
    schema = """
        syntax = "proto3";
        package p; // of the company
        import "google/protobuf/wrappers.proto";
        import 'google/protobuf/timestamp.proto';
        import "confluent/type/decimal.proto";
        option java_package = "x";
        message First {
          reserved 5 to 7; reserved "old";
          enum Color { option allow_alias = true; RED = 0; ROT = 0 [deprecated = true]; }
          message Inner { repeated uint32 x = 1 [packed = false]; }
          Inner a = 1;
          .p.First.Color b = 2;
          map<string, Inner> c = 3;
          google.protobuf.Int32Value d = 4;
          google.protobuf.Timestamp e = 8;
          confluent.type.Decimal f = 9 [(confluent.field_meta) = {
            params: [{ value: "4", key: "precision" }, { key: "scale", value: "2" }]
          }];
          optional fixed64 g = 10; /* not */
          oneof either { string h = 11; Second i = 12; }
        }
        message Second { bool x = 1; };
        service S { rpc R (First) returns (Second) { option a = {b: 1}; } }
    """
    assert inferred("PROTOBUF", schema) == (
        "`A` STRUCT<`X` ARRAY<BIGINT>>, `B` STRING, `C` MAP<STRING, STRUCT<`X` ARRAY<BIGINT>>>, "
        "`D` INTEGER, `E` TIMESTAMP, `F` DECIMAL(4, 2), `G` BIGINT, `H` STRING, "
        "`I` STRUCT<`X` BOOLEAN>"
    )
    assert inferred("PROTOBUF", schema, settings={"full_schema_name": "p.Second"}) == "`X` BOOLEAN"


def test_protobuf_references() -> None:
    schema = 'syntax = "proto3"; import "e.proto"; message L { E e = 1; }'
    other = 'syntax = "proto3"; message E { int64 t = 1; }'
    assert inferred("PROTOBUF", schema, ("e.proto", other)) == "`E` STRUCT<`T` BIGINT>"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("message M { int32 a = ; }", r"line 1:23: ';' isn't expected"),
        ("message M { int32 a = 1 }", r"line 1:25: ';' is expected"),
        ("message M { ", "it ends too early"),
        ("message M {\n  Nobody a = 1; }", "no type 'Nobody', which field M.a is to have"),
        ("message M { M a = 1; }", "has itself in it"),
        ('import "x.proto"; message M {}', "imports 'x.proto'"),
        ("message M { int32 a = 1; int32 a = 2; }", "is wrong"),
        ("message M { group G = 1 {} }", "groups"),
        ("message M {" * 40, "too deeply"),
        ("?", "isn't expected"),
        ('syntax = "proto3";', "no message"),
    ],
)
def test_wrong_messages(schema: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        inferred("PROTOBUF", schema)


def test_no_schema() -> None:
    with pytest.raises(FormatError, match=r"does not exist in the .*\nSubject: t-key"):
        infer_columns(format_info("AVRO"), "t", InMemorySchemaRegistry(), is_key=True)
    info = format_info("AVRO", schema_id=7)
    with pytest.raises(FormatError, match="Schema Id: 7"):
        infer_columns(info, "t", InMemorySchemaRegistry(), is_key=False)
    with pytest.raises(FormatError, match=r"ksql\.schema\.registry\.url"):
        infer_columns(format_info("AVRO"), "t", None, is_key=False)


def test_a_schema_of_another_kind() -> None:
    registry = InMemorySchemaRegistry()
    registry.register("t-value", SchemaText("AVRO", '"int"'))
    with pytest.raises(FormatError, match="is AVRO, not PROTOBUF"):
        infer_columns(format_info("PROTOBUF"), "t", registry, is_key=False)


def test_what_is_registered_for_avro() -> None:
    info = key_info_of("OUT", format_info("AVRO"))
    keys = keys_of("AVRO", "K STRUCT<F STRUCT<G INT>>")
    text = schema_of_columns(RowFormat(info, keys.columns, keys.features, is_key=True)).text
    inner = {"name": "G", "type": ["null", "int"], "default": None}
    namespace = "io.confluent.ksql.avro_schemas"
    assert json.loads(text) == {
        "type": "record",
        "name": "OutKey",
        "namespace": namespace,
        "connect.name": f"{namespace}.OutKey",
        "fields": [
            {
                "name": "F",
                "default": None,
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "OutKey_F",
                        "connect.name": f"{namespace}.OutKey_F",
                        "fields": [inner],
                    },
                ],
            }
        ],
    }


def test_what_is_registered_for_protobuf() -> None:
    assert schema_of_columns(values_of("PROTOBUF", "I INT, L ARRAY<BIGINT>")).text == (
        'syntax = "proto3";\n\n'
        "message ConnectDefault1 {\n  int32 I = 1;\n  repeated int64 L = 2;\n}\n"
    )


def test_ids_and_versions() -> None:
    registry = InMemorySchemaRegistry()
    assert registry.register("a", SchemaText("AVRO", '"int"'), id=7) == 7
    assert registry.register("a", SchemaText("AVRO", '"int"')) == 7
    assert registry.register("b", SchemaText("AVRO", '"int"')) == 7
    assert registry.register("a", SchemaText("AVRO", '"long"')) == 8
    latest = registry.latest("a")
    assert latest is not None
    assert (latest.id, latest.version) == (8, 2)
    assert registry.version("a", 3) is None
    assert registry.latest("nobody") is None
    assert registry.by_id(9) is None


def test_a_given_schema_is_used_with_its_defaults() -> None:
    registry = InMemorySchemaRegistry()
    schema = record(("c1", "int"), ("c2", "int"))
    schema["fields"][0]["default"] = 5
    schema["fields"][1]["default"] = 100
    id = registry.register("x", SchemaText("AVRO", json.dumps(schema)))
    rows = values_of("AVRO", "`c1` INT", schema_id=id)
    check_physical_schema(rows, "t", registry)
    assert register(rows, "t", registry) == id
    data = row_serde(rows, "t", registry).serialize((None,))
    reader = row_serde(values_of("AVRO", "C1 INT, C2 INT, C3 INT"), "t", registry)
    assert reader.deserialize(data) == (5, 100, None)


def test_a_given_schema_must_have_the_columns() -> None:
    registry = InMemorySchemaRegistry()
    id = registry.register(
        "x", SchemaText("AVRO", json.dumps(record(("c2", "long"), ("c1", "int"))))
    )
    with pytest.raises(FormatError) as error:
        check_physical_schema(values_of("AVRO", "`c1` INT", schema_id=id), "t", registry)
    assert str(error.value) == (
        "The following value columns are changed, missing or reordered: [`c1` INTEGER]. "
        "Schema from schema registry is [`c2` BIGINT, `c1` INTEGER]"
    )


def test_json_has_null_for_what_only_the_given_schema_has() -> None:
    registry = InMemorySchemaRegistry()
    schema = {"type": "object", "properties": {"c1": {"type": "integer"}, "c2": {"type": "string"}}}
    id = registry.register("x", SchemaText("JSON", json.dumps(schema)))
    rows = values_of("JSON_SR", "`c1` BIGINT", schema_id=id)
    data = row_serde(rows, "t", registry).serialize((4,))
    assert data[5:] == b'{"c1":4,"c2":null}'


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_data_without_a_schema_id(format: str) -> None:
    serde = row_serde(values_of(format, "A INT"), "t", InMemorySchemaRegistry())
    with pytest.raises(SerializationError, match="magic byte"):
        serde.deserialize(b'{"A": 1}')


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF"])
def test_data_of_an_unknown_schema(format: str) -> None:
    serde = row_serde(values_of(format, "A INT"), "t", InMemorySchemaRegistry())
    with pytest.raises(SerializationError, match="no schema with id 9"):
        serde.deserialize(b"\0\0\0\0\x09\0\0")


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF"])
def test_numbers_are_read_as_text_where_text_is_wanted(format: str) -> None:
    registry = InMemorySchemaRegistry()
    written = values_of(format, "A INT, B DOUBLE, C BOOLEAN, D BIGINT")
    data = row_serde(written, "t", registry).serialize((1, 1e10, True, 5))
    reader = row_serde(values_of(format, "A STRING, B STRING, C STRING, D STRING"), "t", registry)
    assert reader.deserialize(data) == ("1", "1.0E10", "true", "5")
    other = row_serde(values_of(format, "A BIGINT, B ARRAY<INT>"), "t", registry)
    with pytest.raises(SerializationError):
        other.deserialize(data)


def test_damaged_data() -> None:
    registry = InMemorySchemaRegistry()
    avro = row_serde(values_of("AVRO", "A STRING"), "a", registry)
    with pytest.raises(SerializationError):
        avro.deserialize(avro.serialize(("long enough",))[:-3])
    protobuf = row_serde(values_of("PROTOBUF", "A STRING"), "p", registry)
    with pytest.raises(SerializationError):
        protobuf.deserialize(protobuf.serialize(("long enough",))[:-3])


def test_messages_other_than_the_first_are_pointed_at() -> None:
    registry = InMemorySchemaRegistry()
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { message C { int32 y = 1; } }'
    id = registry.register("x", SchemaText("PROTOBUF", text))
    rows = values_of("PROTOBUF", "Y INT", schema_id=id, full_schema_name="B.C")
    serde = row_serde(rows, "t", registry)
    data = serde.serialize((3,))
    assert data[5:8] == b"\x04\x02\x00"  # two steps: the second message, its first
    assert serde.deserialize(data) == (3,)


@pytest.mark.parametrize("nullable", ["OPTIONAL", "WRAPPER"])
def test_protobuf_can_have_null(nullable: str) -> None:
    rows = values_of("PROTOBUF", "A INT, B STRING", nullable_representation=nullable)
    serde = row_serde(rows, "t", InMemorySchemaRegistry())
    assert serde.deserialize(serde.serialize((None, ""))) == (None, "")


def test_a_null_in_a_list_is_no_protobuf() -> None:
    serde = row_serde(values_of("PROTOBUF", "A ARRAY<INT>"), "t", InMemorySchemaRegistry())
    with pytest.raises(SerializationError):
        serde.serialize(([1, None],))


def test_lists_in_lists_of_protobuf() -> None:
    rows = values_of("PROTOBUF", "A ARRAY<ARRAY<INT>>, B MAP<STRING, ARRAY<STRING>>")
    serde = row_serde(rows, "t", InMemorySchemaRegistry())
    row = ([[1], [], [2, 3]], {"a": ["x"], "b": []})
    assert serde.deserialize(serde.serialize(row)) == row


def test_long_decimals() -> None:
    number = Decimal("-12345678901234567890123456789012345.678")
    for format in ("AVRO", "PROTOBUF", "JSON", "DELIMITED"):
        rows = RowFormat(format_info(format), columns("A DECIMAL(38,3)"))
        serde = row_serde(rows, "t", InMemorySchemaRegistry())
        assert serde.deserialize(serde.serialize((number,))) == (number,)


def test_a_null_that_a_given_schema_cannot_have() -> None:
    registry = InMemorySchemaRegistry()
    id = registry.register("x", SchemaText("AVRO", json.dumps(record(("a", "int")))))
    serde = row_serde(values_of("AVRO", "A INT", schema_id=id), "t", registry)
    with pytest.raises(SerializationError, match="can't have this row"):
        serde.serialize((None,))


def test_avro_definitions_are_used_again() -> None:
    registry = InMemorySchemaRegistry()
    inner = record(("x", "int"), name="inner", namespace="n")
    fixed = {"type": "fixed", "name": "f", "size": 3, "logicalType": "decimal"}
    schema = record(
        ("a", inner),
        ("b", ["null", "n.inner"]),
        ("c", {**fixed, "precision": 5, "scale": 2}),
        name="n.outer",
    )
    id = registry.register("x", SchemaText("AVRO", json.dumps(schema)))
    columns = "A STRUCT<X INT>, B STRUCT<X INT>, C DECIMAL(5,2)"
    serde = row_serde(values_of("AVRO", columns, schema_id=id), "t", registry)
    row = ({"X": 1}, {"X": 2}, Decimal("-1.10"))
    assert serde.deserialize(serde.serialize(row)) == row

"""Functions of JSON."""

from typing import Any

import pytest

from headrace.sql.types import STRING
from tests.sql.evaluation import failure_of, result_of, value_of

_DOC = """'{"a": {"b c": [1, "x", 1.50, null, {"d":true}]}, "e": "text"} trailing'"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.e", "text"),
        ('$.a["b c"][0]', "1"),
        ('$.a["b c"][1]', "x"),
        ('$.a["b c"][2]', "1.50"),
        ('$.a["b c"][3]', "null"),
        ('$.a["b c"][4]', '{"d":true}'),
        ('$.a["b c"][9]', None),
        ("$.nothing.here", None),
        ("$", '{"a":{"b c":[1,"x",1.50,null,{"d":true}]},"e":"text"}'),
    ],
)
def test_paths(path: str, expected: str | None) -> None:
    assert value_of(f"EXTRACTJSONFIELD({_DOC}, P)", P=("STRING", path)) == expected


def test_bad_paths_and_texts_fail() -> None:
    assert "Invalid JSON path" in failure_of("EXTRACTJSONFIELD('{}', 'a.b')")
    assert failure_of("EXTRACTJSONFIELD('{', '$.a')")
    assert failure_of("JSON_ARRAY_LENGTH('[1')")
    assert failure_of("JSON_ITEMS('{}')")
    assert failure_of("EXTRACTJSONFIELD('[NaN]', '$[0]')")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IS_JSON_STRING('[1, 2]')", True),
        ("IS_JSON_STRING('abc')", False),
        ("IS_JSON_STRING('1abc')", False),
        ("IS_JSON_STRING('')", False),
        ("IS_JSON_STRING(CAST(NULL AS STRING))", False),
        ("JSON_ARRAY_CONTAINS('[1, 2.0, \"x\", null]', 1)", True),
        ("JSON_ARRAY_CONTAINS('[1, 2.0, \"x\", null]', 2e0)", True),
        ("JSON_ARRAY_CONTAINS('[1, 2.0, \"x\", null]', true)", False),
        ("JSON_ARRAY_CONTAINS('[1, 2.0, \"x\", null]', 'x')", True),
        ("JSON_ARRAY_CONTAINS('[1, null]', CAST(NULL AS INT))", True),
        ("JSON_ARRAY_CONTAINS('{}', 1)", False),
        ("JSON_ARRAY_LENGTH('[1, [2, 3]]')", 2),
        ("JSON_ARRAY_LENGTH('5')", None),
        ('JSON_CONCAT(\'{"a": 1, "b": 2}\', \'{"b": 3}\')', '{"a":1,"b":3}'),
        ("JSON_CONCAT('[1]', '2', '[3]')", "[1,2,3]"),
        ("JSON_CONCAT('{}', CAST(NULL AS STRING))", None),
        ('JSON_ITEMS(\'[1, "a", {"b": 2}]\')', ["1", '"a"', '{"b":2}']),
        ('JSON_KEYS(\'{"b": 1, "a": 2}\')', ["b", "a"]),
        ("JSON_KEYS('[]')", None),
        ('JSON_RECORDS(\'{"a": "x", "b": [1]}\')', {"a": "x", "b": "[1]"}),
        ("TO_JSON_STRING(CAST(NULL AS INT))", "null"),
        ("TO_JSON_STRING(1.50)", "1.50"),
        ("TO_JSON_STRING(1e10)", "1.0E10"),
        ("TO_JSON_STRING('é\"')", '"é\\""'),
        ("TO_JSON_STRING(CAST('10:20' AS TIME))", '"10:20"'),
        ("TO_JSON_STRING(CAST('2020-02-29' AS DATE))", '"2020-02-29"'),
        ("TO_JSON_STRING(CAST('2020-02-29' AS TIMESTAMP))", '"2020-02-29T00:00:00.000"'),
        ("TO_JSON_STRING(TO_BYTES('ab', 'utf8'))", '"YWI="'),
        (
            "TO_JSON_STRING(STRUCT(b := ARRAY[1, NULL], a := MAP('z' := true, 'y' := false)))",
            '{"A":{"y":false,"z":true},"B":[1,null]}',
        ),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value_of(text) == expected


def test_the_text_of_json_is_text() -> None:
    assert result_of("TO_JSON_STRING(1)").type == STRING

"""Results that would be too large are not made."""

from __future__ import annotations

import pytest

from headrace.sql.functions.sizes import weight
from tests.sql.evaluation import result_of, value_of

_DOUBLED = "REDUCE(GENERATE_SERIES(1, 60), {}, (s, x) => {})"


@pytest.mark.parametrize(
    "text",
    [
        "LPAD('a', 2147483647, 'b')",
        "RPAD('a', 2147483647, 'b')",
        "LPAD(TO_BYTES('a', 'utf8'), 2147483647, TO_BYTES('b', 'utf8'))",
        "RPAD(TO_BYTES('a', 'utf8'), 2147483647, TO_BYTES('b', 'utf8'))",
        "GENERATE_SERIES(1, 2147483647)",
        "GENERATE_SERIES(2147483647, 1, -1)",
        "GENERATE_SERIES(CAST(0 AS BIGINT), 9223372036854775807)",
        _DOUBLED.format("'a'", "CONCAT(s, s)"),
        _DOUBLED.format("'a'", "CONCAT_WS(s, s, s)"),
        _DOUBLED.format("'a'", "s + s"),
        _DOUBLED.format("'a'", "REPLACE(s, 'a', 'aa')"),
        "REGEXP_REPLACE('aaaaaaaaaaa', 'a', LPAD('a', 1000000, 'b'))",
        _DOUBLED.format("'a'", "ARRAY_JOIN(ARRAY[s, s], s)"),
        _DOUBLED.format("'a'", "ENCODE(s, 'utf8', 'hex')"),
        _DOUBLED.format("'\"'", "TO_JSON_STRING(s)"),
        _DOUBLED.format("ARRAY[1]", "ARRAY_CONCAT(s, s)"),
        "TRANSFORM(GENERATE_SERIES(1, 1000), x => LPAD('a', 1000000, 'b'))",
        "SPLIT(LPAD('a', 5000000, ','), ',')",
        "SPLIT(LPAD('a', 5000000, ','), '')",
        "REGEXP_SPLIT_TO_ARRAY(LPAD('a', 5000000, ','), ',')",
    ],
)
def test_too_large(text: str) -> None:
    assert any("are allowed" in failure for failure in result_of(text).failures)


@pytest.mark.parametrize("columns", [17, 100])
def test_cubes(columns: int) -> None:
    from headrace.sql.functions.builtin.tables import cube_explode

    with pytest.raises(ValueError, match="up to 16 columns"):
        cube_explode(["a"] * columns)


def test_what_is_not_too_large() -> None:
    assert len(value_of("LPAD('a', 1000000, 'xyz')")) == 1_000_000
    assert len(value_of("GENERATE_SERIES(1, 1000000)")) == 1_000_000
    assert value_of("GENERATE_SERIES(5, 1, -2)") == [5, 3, 1]


def test_weight() -> None:
    assert weight(None) == 1
    assert weight("abc") == 4
    assert weight([1, ["a", b"bc"], {"k": 2.5}]) == 1 + 1 + (1 + 2 + 3) + (1 + 2 + 1)

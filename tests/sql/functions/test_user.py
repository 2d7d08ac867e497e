"""Users' own functions."""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import pytest

from headrace.core.errors import ArgumentError
from headrace.sql.expressions import compile_table_functions
from headrace.sql.functions import FunctionRegistry, udaf, udf, udtf, with_functions
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.errors import FunctionError
from headrace.sql.syntax.ast import FunctionCall
from headrace.sql.syntax.parser import parse_expression, parse_type
from headrace.sql.types import BIGINT, INTEGER, STRING, DecimalType, SqlType
from tests.sql.evaluation import result_of, scope_of

T = TypeVar("T")


@dataclass
class Point:
    x: int
    name: str | None


@udf
def half(x: float) -> float:
    """Half of a number."""
    return x / 2


@udf(name="half")
def half_of_text(text: str | None) -> str:
    return "nothing" if text is None else text[: len(text) // 2]


@udf
def point(x: int, *names: str) -> Point:
    return Point(x, "".join(names))


@udf
def x_of(point: Point) -> int:
    return point.x


@udf
def last(array: list[T]) -> T:
    return array[-1]


@udf
def next_days(days: list[datetime.date]) -> list[datetime.date]:
    return [day + datetime.timedelta(days=1) for day in days]


@udf
def in_an_hour(at: datetime.datetime) -> datetime.datetime:
    return at + datetime.timedelta(hours=1)


@udf
def noon(at: datetime.time) -> datetime.time:
    return at.replace(hour=12)


@udf
def cents(amount: Decimal) -> Annotated[Decimal, DecimalType(10, 2)]:
    return amount


@udf
def narrow(number: Annotated[int, INTEGER]) -> Annotated[int, INTEGER]:
    return number


@udf
def broken(number: int) -> int:
    raise RuntimeError(f"no {number}, please")


@udtf
def words(text: str) -> Iterator[str]:
    yield from text.split()


@udaf
class Product:
    """The product of numbers."""

    def initialize(self) -> int:
        return 1

    def aggregate(self, state: int, value: int) -> int:
        return state * value

    def undo(self, state: int, value: int) -> int:
        return state // value

    def merge(self, state: int, other: int) -> int:
        return state * other


@udaf(name="longest_of")
class Longest:
    def __init__(self, least: int, *, settings: Mapping[str, str]) -> None:
        self._least = least + int(settings.get("more", 0))

    def initialize(self) -> str | None:
        return None

    def aggregate(self, state: str | None, *texts: str | None) -> str | None:
        fitting = [text for text in (state, *texts) if text and len(text) >= self._least]
        return max(fitting, key=len, default=None)

    def result(self, state: str | None) -> Point:
        return Point(len(state or ""), state)


FUNCTIONS = with_functions(
    half, half_of_text, point, x_of, last, next_days, in_an_hour, noon, cents, narrow, broken,
    words, Product, Longest,
)  # fmt: skip


def value_of(text: str, **row: tuple[str, Any]) -> Any:
    return result_of(text, row, FUNCTIONS).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HALF(5)", 2.5),
        ("HALF('abcd')", "ab"),
        ("HALF(CAST(NULL AS STRING))", "nothing"),
        ("HALF(CAST(NULL AS DOUBLE))", None),
        ("POINT(1, 'a', 'b')", {"X": 1, "NAME": "ab"}),
        ("X_OF(POINT(7))", 7),
        ("LAST(ARRAY['a', 'b'])", "b"),
        ("NEXT_DAYS(ARRAY[FROM_DAYS(1), FROM_DAYS(-2)])", [2, -1]),
        ("IN_AN_HOUR(FROM_UNIXTIME(5))", 3_600_005),
        ("NOON(CAST('01:30' AS TIME))", 45_000_000),
        ("CENTS(1.5)", Decimal("1.50")),
        ("NARROW(3)", 3),
        ("UCASE(LAST(ARRAY['a', 'b']))", "B"),
    ],
)
def test_scalar_functions(text: str, expected: Any) -> None:
    value = value_of(text)
    assert value == expected
    assert str(value) == str(expected)


def test_they_stay_functions_of_python() -> None:
    assert half(3.0) == 1.5
    assert Product().aggregate(2, 3) == 6


def test_types_and_descriptions() -> None:
    assert result_of("CENTS(1.5)", functions=FUNCTIONS).type == DecimalType(10, 2)
    assert str(result_of("POINT(1)", functions=FUNCTIONS).type) == (
        "STRUCT<`X` BIGINT, `NAME` STRING>"
    )
    found = FUNCTIONS.find("half")
    assert found is not None
    assert found.description == "Half of a number."
    assert len(found.overloads) == 2


def test_errors_are_null() -> None:
    result = result_of("BROKEN(3)", functions=FUNCTIONS)
    assert result.value is None
    assert result.failures == ["Error computing expression BROKEN(3): no 3, please"]


def test_narrow_types_are_asked_for() -> None:
    with pytest.raises(FunctionError, match=r"does not accept parameters \(BIGINT\)"):
        value_of("NARROW(X)", X=("BIGINT", 1))


def test_table_functions() -> None:
    call = parse_expression("WORDS(X)")
    assert isinstance(call, FunctionCall)
    scope = scope_of({"X": "STRING"}, FUNCTIONS)
    compiled = compile_table_functions([call], scope, lambda message, error: None)
    assert compiled.types == (STRING,)
    assert compiled.rows(("a b",)) == [("a",), ("b",)]
    assert compiled.rows((None,)) == []


def aggregate(name: str, types: list[str], *literals: Any, **settings: str) -> Aggregate:
    arguments: list[SqlType] = [parse_type(type) for type in types]
    return FUNCTIONS.aggregate(name, arguments, settings).make(literals)


@pytest.mark.parametrize("type", ["INT", "BIGINT"])
def test_aggregate_functions(type: str) -> None:
    product = aggregate("PRODUCT", [type])
    assert (product.type, product.intermediate) == (BIGINT, BIGINT)
    state = product.add(product.add(product.initial(), 3), None)
    assert state == 3
    assert product.undo is not None
    assert product.undo(product.add(state, 7), 7) == 3
    assert product.merge is not None
    assert product.merge(3, 5) == 15


def test_aggregates_with_literals_settings_and_results() -> None:
    longest = aggregate("LONGEST_OF", ["STRING", "STRING", "INT"], 2, more="1")
    assert longest.intermediate == STRING
    assert longest.undo is None
    assert longest.merge is None
    state = longest.add(longest.initial(), "ab", None)
    assert state is None
    state = longest.add(state, "abc", "abcd")
    assert longest.result is not None
    assert longest.result(state) == {"X": 4, "NAME": "abcd"}


def test_overloads_that_take_the_same_are_replaced() -> None:
    @udf(name="ucase")
    def shout(text: str) -> str:
        return text + "!"

    assert result_of("UCASE('a')", functions=with_functions(shout)).value == "a!"
    assert result_of("UCASE('a')").value == "A"


def without_annotation(x) -> int:  # type: ignore[no-untyped-def]
    return 1


def with_a_set(x: set[int]) -> int:
    return 1


def with_any_decimal() -> Decimal:
    return Decimal(1)


class WithoutInitialize:
    def aggregate(self, state: int) -> int:
        return state


@pytest.mark.parametrize(
    ("decorator", "subject", "message"),
    [
        (udf, without_annotation, "The parameter x of without_annotation must be annotated"),
        (udf, with_a_set, r"annotated with set\[int\], which is no type of SQL"),
        (udtf, with_any_decimal, "must give rows"),
        (udaf, WithoutInitialize, "has no method initialize"),
        (with_functions, with_a_set, "decorate it with @udf"),
    ],
)
def test_what_is_wrong_is_said(decorator: Any, subject: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        decorator(subject)


def test_a_name_is_of_one_kind() -> None:
    @udf(name="sum")
    def add(one: int, other: int) -> int:
        return one + other

    with pytest.raises(ArgumentError, match="there is a aggregate function of that name"):
        with_functions(add)


def test_registries_are_apart() -> None:
    assert FUNCTIONS.find("HALF") is not None
    assert FunctionRegistry().find("HALF") is None

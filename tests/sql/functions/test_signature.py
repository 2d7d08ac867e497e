"""Which overload a call means."""

import pytest

from headrace.sql.functions.errors import FunctionError
from headrace.sql.functions.library import Library
from headrace.sql.functions.notation import signature
from headrace.sql.functions.parameter_types import Argument, LambdaArgument, UnitArgument
from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    DecimalType,
    MapType,
)


def registry_with(*signatures: str) -> FunctionRegistry:
    """Each overload of `f` gives its signature."""
    library = Library("TEST")
    for text in signatures:
        library.scalar("f", text)(lambda text=text: text)
    return FunctionRegistry(library)


def chosen(arguments: list[Argument], *signatures: str) -> str:
    """The signature that is chosen."""
    text: str = registry_with(*signatures).scalar("f", arguments).function()
    return text


def test_reads_what_it_writes() -> None:
    text = "(ARRAY<T> array, MAP<STRING, DECIMAL> map, LAMBDA((T, K) => BOOLEAN) f, INT... more)"
    shown = "(ARRAY<T> array, MAP<STRING, DECIMAL> map, LAMBDA (T, K) => BOOLEAN f, INT... more)"
    assert str(signature(f"{text} -> T")) == shown


@pytest.mark.parametrize(
    "text", ["(INT a", "(WHAT a) -> INT", "(INT a) INT", "(STRUCT<A T> a) -> INT"]
)
def test_rejects_what_is_no_signature(text: str) -> None:
    with pytest.raises(ValueError, match="signature"):
        signature(text)


def test_exact_types_go_before_casts() -> None:
    both = ("(BIGINT a) -> BIGINT", "(INT a) -> INT")
    assert chosen([INTEGER], *both) == "(INT a) -> INT"
    assert chosen([BIGINT], *both) == "(BIGINT a) -> BIGINT"


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (INTEGER, "(DOUBLE a) -> INT"),
        (DecimalType(4, 2), "(DOUBLE a) -> INT"),
        (STRING, "(DATE a) -> INT"),
        (STRING, "(BYTES a) -> INT"),
        (ArrayType(INTEGER), "(ARRAY<BIGINT> a) -> INT"),
        (MapType(STRING, INTEGER), "(MAP<STRING, DOUBLE> a) -> INT"),
    ],
)
def test_casts(argument: Argument, text: str) -> None:
    assert chosen([argument], text) == text


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (DOUBLE, "(BIGINT a) -> INT"),
        (STRING, "(INT a) -> INT"),
        (DATE, "(STRING a) -> INT"),
        (BYTES, "(STRING a) -> INT"),
        (BOOLEAN, "(DECIMAL a) -> INT"),
        (UnitArgument(), "(T a) -> INT"),
    ],
)
def test_refuses(argument: Argument, text: str) -> None:
    with pytest.raises(FunctionError, match="does not accept parameters"):
        registry_with(text).scalar("f", [argument])


def test_whole_numbers_become_decimals_that_hold_them() -> None:
    registry = registry_with("(DECIMAL a, DECIMAL b) -> INT")
    assert registry.scalar("f", [INTEGER, BIGINT]).match.types == (
        DecimalType(10, 0),
        DecimalType(19, 0),
    )


def test_null_fits_everything() -> None:
    registry = registry_with("(ARRAY<T> a, T b) -> T")
    resolved = registry.scalar("f", [None, DATE])
    assert resolved.match.types == (ArrayType(DATE), DATE)
    assert resolved.type == DATE


def test_type_variables_are_bound_once() -> None:
    registry = registry_with("(T a, T b) -> T")
    assert registry.scalar("f", [INTEGER, INTEGER]).type == INTEGER
    with pytest.raises(FunctionError):
        registry.scalar("f", [INTEGER, BIGINT])


def test_preferences() -> None:
    assert chosen([INTEGER], "(INT... a) -> INT", "(INT a) -> INT") == "(INT a) -> INT"
    more_fixed = ("(INT... a) -> INT", "(INT a, INT... b) -> INT")
    assert chosen([INTEGER, INTEGER], *more_fixed) == "(INT a, INT... b) -> INT"
    less_generic = ("(T a, INT b) -> INT", "(INT a, INT b) -> INT")
    assert chosen([INTEGER, INTEGER], *less_generic) == "(INT a, INT b) -> INT"


def test_variable_arguments_may_stand_in_the_middle() -> None:
    text = "(BIGINT a, STRING... b, INT c) -> INT"
    assert chosen([BIGINT, INTEGER], text) == text
    assert chosen([BIGINT, STRING, STRING, INTEGER], text) == text
    with pytest.raises(FunctionError):
        registry_with(text).scalar("f", [BIGINT])


def test_lambdas_are_typed_by_what_is_bound_before() -> None:
    seen: list[tuple[object, ...]] = []

    def infer(types: tuple[object, ...]) -> DecimalType:
        seen.append(types)
        return DecimalType(5, 1)

    registry = registry_with("(MAP<K, V> m, LAMBDA((K, V) => R) f) -> ARRAY<R>")
    resolved = registry.scalar("f", [MapType(STRING, DATE), LambdaArgument(2, infer)])
    assert resolved.type == ArrayType(DecimalType(5, 1))
    assert set(seen) == {(STRING, DATE)}
    with pytest.raises(FunctionError):
        registry.scalar("f", [MapType(STRING, DATE), LambdaArgument(1, infer)])


def test_messages() -> None:
    functions = builtin_functions()
    with pytest.raises(FunctionError) as none:
        functions.scalar("geo_distance", [STRING])
    assert str(none.value) == (
        "Function 'geo_distance' does not accept parameters (STRING).\n"
        "Valid alternatives are:\n"
        "geo_distance(DOUBLE lat1, DOUBLE lon1, DOUBLE lat2, DOUBLE lon2)\n"
        "geo_distance(DOUBLE lat1, DOUBLE lon1, DOUBLE lat2, DOUBLE lon2, STRING units)\n"
        "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;"
    )
    with pytest.raises(FunctionError, match=r"ambiguous method parameters \(INTEGER, BIGINT\)"):
        functions.scalar("GREATEST", [INTEGER, BIGINT])
    with pytest.raises(FunctionError, match="Can't find any functions with the name 'NOPE'"):
        functions.scalar("NOPE", [])
    with pytest.raises(FunctionError, match=r"'SUBSTRIN'\nDid you mean SUBSTRING\?"):
        functions.scalar("SUBSTRIN", [])
    with pytest.raises(FunctionError, match=r"'upper'\nDid you mean UCASE\?"):
        functions.scalar("upper", [])
    with pytest.raises(FunctionError, match="Can't find any functions with the name 'SUM'"):
        functions.scalar("SUM", [INTEGER])


def test_aggregates_are_never_cast() -> None:
    with pytest.raises(FunctionError, match="does not accept"):
        builtin_functions().aggregate("SUM_LIST", [ArrayType(DecimalType(1, 0))])


def test_there_are_149() -> None:
    assert len(list(builtin_functions())) == 149
    assert all(function.description for function in builtin_functions())

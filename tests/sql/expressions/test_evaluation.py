"""Functions of compiled expressions: what they cost, what they tell, how they travel."""

import pickle
from decimal import Decimal
from typing import Any

import pytest
from pyspark import cloudpickle

from headrace.sql.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Slot,
    TypingError,
    compile_aggregation,
    compile_expression,
    compile_table_functions,
    evaluator,
    predicate,
    projection,
)
from headrace.sql.functions.errors import FunctionError
from headrace.sql.syntax.ast import (
    Arithmetic,
    ArithmeticOperator,
    ColumnReference,
    FunctionCall,
)
from headrace.sql.syntax.parser import parse_expression
from headrace.sql.types import BIGINT, INTEGER, STRING, ArrayType
from tests.sql.evaluation import result_of, scope_of, value_of


class Failures(list[str]):
    def __call__(self, message: str, error: Exception) -> None:
        self.append(message)


COLUMNS = {"I": "INT", "S": "STRING", "A": "ARRAY<INT>", "D": "DOUBLE", "B": "BOOLEAN"}


def compiled(text: str) -> Compiled:
    return compile_expression(parse_expression(text), scope_of(COLUMNS))


def call(text: str) -> FunctionCall:
    expression = parse_expression(text)
    assert isinstance(expression, FunctionCall)
    return expression


def test_values_are_where_slots_say() -> None:
    scope = Scope(
        ("key", "value", "time"),
        {
            ColumnReference("K"): Slot(STRING, "key", 0),
            ColumnReference("V"): Slot(INTEGER, "value", 1),
            ColumnReference("V", "S"): Slot(INTEGER, "value", 1),
            ColumnReference("ROWTIME"): Slot(BIGINT, "time"),
        },
    )
    parts = [
        compile_expression(parse_expression(text), scope) for text in ("K", "S.V + V", "ROWTIME")
    ]
    project = projection(parts, Failures())
    assert project(("k",), (0, 4), 99) == ("k", 8, 99)


def test_projections_keep_what_does_not_fail() -> None:
    failures = Failures()
    project = projection([compiled("I"), compiled("1 / I"), compiled("CAST(S AS INT)")], failures)
    assert project((2, "3", None, None, None)) == (2, 0, 3)
    assert failures == []
    assert project((0, "x", None, None, None)) == (0, None, None)
    assert failures == [
        "Error computing expression (1 / I): integer division or modulo by zero",
        'Error computing expression CAST(S AS INTEGER): For input string: "x"',
    ]


def test_predicates_are_true_or_false() -> None:
    failures = Failures()
    keep = predicate(compiled("B AND CAST(S AS INT) > 0"), failures)
    assert keep((None, "1", None, None, True)) is True
    assert keep((None, "0", None, None, True)) is False
    assert keep((None, "1", None, None, None)) is False
    assert keep((None, "x", None, None, True)) is False
    assert len(failures) == 1
    assert predicate(compiled("10 / I > 0"), failures)((0, None, None, None, None)) is False
    with pytest.raises(TypingError, match="I is INTEGER, no condition"):
        predicate(compiled("I"), failures)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("I + 1", (1, "", [], 1.0, True)),
        ("TRANSFORM(A, x => x * I)", (2, "", [1, 2], 1.0, True)),
        ("REGEXP_REPLACE(S, 'a', 'b')", (2, "aa", [], 1.0, True)),
        ("FORMAT_TIMESTAMP(FROM_UNIXTIME(I), 'yyyy')", (2, "aa", [], 1.0, True)),
        ("D / 2.5 + GREATEST(1.5, 2.25)", (2, "aa", [], 1.0, True)),
        ("CAST(STRUCT(a := S) AS STRUCT<a INT>)", (2, "7", [], 1.0, True)),
        ("S LIKE 'a%' OR I IN (1, 2)", (2, "7", [], 1.0, True)),
        (" + ".join(["I"] * 80), (2, "7", [], 1.0, True)),
    ],
)
def test_functions_can_be_sent_elsewhere(text: str, row: tuple[Any, ...]) -> None:
    function = evaluator(compiled(text), print)
    sent = pickle.loads(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
    assert sent(row) == function(row)


def test_long_sums_and_deep_nesting() -> None:
    assert value_of(" + ".join(["X"] * 90), X=("INT", 2)) == 180
    nested = "X"
    for _ in range(30):
        nested = f"ABS({nested})"
    assert value_of(nested, X=("INT", -2)) == 2
    lists = "X"
    for _ in range(12):
        lists = f"TRANSFORM(ARRAY[1], y => REDUCE(ARRAY[{lists}], 0, (s, z) => s + z))[1]"
    assert value_of(lists, X=("INT", 2)) == 2


def test_what_is_deeper_than_pythons_compiler_goes() -> None:
    column = parse_expression("X")
    expression = column
    for _ in range(150):
        expression = Arithmetic(ArithmeticOperator.ADD, expression, column)
    compiled = compile_expression(expression, scope_of({"X": "INT"}))
    assert evaluator(compiled, Failures())((2,)) == 302


def test_a_failure_deep_inside_is_found() -> None:
    text = "IFNULL(CAST(S AS INT), 0)"
    for _ in range(20):
        text = f"ABS({text}) + 1"
    result = result_of(text, {"S": ("STRING", "x")})
    assert result.value == 20
    assert result.failures == [
        'Error computing expression CAST(S AS INTEGER): For input string: "x"'
    ]


def test_too_deep_is_an_error_of_the_expression() -> None:
    expression = parse_expression("X")
    for _ in range(5_000):
        expression = FunctionCall("ABS", (expression,))
    with pytest.raises(ExpressionError, match="nested too deeply"):
        compile_expression(expression, scope_of({"X": "INT"}))


def test_aggregations() -> None:
    scope = scope_of(COLUMNS)
    calls = [call("COUNT(*)"), call("SUM(I)"), call("AVG(D)"), call("COLLECT_LIST(CAST(S AS INT))")]
    failures = Failures()
    aggregation = compile_aggregation(calls, scope, failures)
    assert list(map(str, aggregation.types)) == ["BIGINT", "INTEGER", "DOUBLE", "ARRAY<INTEGER>"]
    assert str(aggregation.intermediates[2]) == "STRUCT<`SUM` DOUBLE, `COUNT` BIGINT>"
    state = aggregation.initial()
    for row in [(1, "1", None, 2.0, None), (None, "x", None, 4.0, None)]:
        state = aggregation.add(row, state)
    assert aggregation.results(state) == (2, 1, 3.0, [1, None])
    assert len(failures) == 1
    assert aggregation.undo is not None
    undone = aggregation.undo((None, None, None, 4.0, None), state)
    assert aggregation.results(undone) == (1, 1, 2.0, [1])
    assert aggregation.merge is not None
    assert aggregation.results(aggregation.merge(state, undone)) == (3, 2, 8.0 / 3, [1, None, 1])
    assert aggregation.stream_only == ()


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["COUNT(*)"], True),
        (["COUNT(S)"], False),
        (["COUNT(*)", "SUM(I)"], False),
        (["AVG(D)"], False),
    ],
)
def test_whether_rows_are_counted_and_nothing_else(calls: list[str], expected: bool) -> None:
    aggregation = compile_aggregation([*map(call, calls)], scope_of(COLUMNS), Failures())
    assert aggregation.counts_rows is expected


def test_aggregates_only_for_streams() -> None:
    scope = scope_of(COLUMNS)
    aggregation = compile_aggregation([call("MAX(I)"), call("COUNT(S)")], scope, Failures())
    assert aggregation.undo is None
    assert aggregation.stream_only == ("MAX",)


def test_aggregates_without_arguments_are_given_the_time() -> None:
    scope = Scope(("time",), {ColumnReference("ROWTIME"): Slot(BIGINT, "time")})
    aggregation = compile_aggregation([call("AVG()")], scope, Failures())
    state = aggregation.add(6, aggregation.add(2, aggregation.initial()))
    assert aggregation.results(state) == (4.0,)


def test_literals_of_aggregates() -> None:
    scope = scope_of(COLUMNS)
    aggregation = compile_aggregation([call("TOPK(I, 2)")], scope, Failures())
    assert aggregation.types == (ArrayType(INTEGER),)
    with pytest.raises(TypingError) as error:
        compile_aggregation([call("EARLIEST_BY_OFFSET(S, I)")], scope, Failures())
    assert str(error.value) == (
        "Parameter 2 passed to function EARLIEST_BY_OFFSET must be a literal constant, but was "
        "expression: 'I'"
    )


def test_errors_of_aggregates_are_raised() -> None:
    scope = scope_of({"X": "DECIMAL(1, 0)"})
    aggregation = compile_aggregation([call("SUM(X)")], scope, Failures())
    with pytest.raises(ArithmeticError):
        aggregation.add((Decimal(1),), (Decimal(9),))


def test_table_functions_stand_side_by_side() -> None:
    failures = Failures()
    calls = [call("EXPLODE(A)"), call("CUBE_EXPLODE(ARRAY[I, 5])"), call("EXPLODE(SPLIT(S, ','))")]
    functions = compile_table_functions(calls, scope_of(COLUMNS), failures)
    assert list(map(str, functions.types)) == ["INTEGER", "ARRAY<INTEGER>", "STRING"]
    assert functions.rows((1, "x", [7, 8], None, None)) == [
        (7, [None, None], "x"),
        (8, [None, 5], None),
        (None, [1, None], None),
        (None, [1, 5], None),
    ]
    assert functions.rows((None, None, None, None, None)) == [
        (None, [None, None], None),
        (None, [None, 5], None),
    ]


@pytest.mark.parametrize("text", ["1 + ABS(S)", "1 + NOPE(S)", "TRANSFORM(A, x => ABS(S))"])
def test_errors_say_which_call_is_meant(text: str) -> None:
    with pytest.raises(FunctionError) as error:
        compiled(text)
    assert error.value.position == (1, text.index("(S)") - 2 - ("NOPE" in text))


def test_errors_say_which_aggregate_is_meant() -> None:
    with pytest.raises(FunctionError) as error:
        compile_aggregation([call("SUM(S)")], scope_of(COLUMNS), Failures())
    assert error.value.position == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [("SUM(I)", "Aggregate functions can't be used here: SUM"), ("EXPLODE(A)", "Table functions")],
)
def test_other_functions_are_not_for_expressions(text: str, message: str) -> None:
    with pytest.raises(TypingError, match=message):
        compiled(text)

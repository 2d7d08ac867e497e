"""What holds for every built-in function, whatever it does."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice, product
from typing import Any

import pytest

from headrace.sql.expressions import compile_expression, evaluator
from headrace.sql.functions import builtin_functions
from headrace.sql.functions.function import Function, Kind
from headrace.sql.functions.parameter_types import LambdaOf, ParameterType, Unit
from headrace.sql.functions.signature import Signature
from headrace.sql.syntax.parser import parse_expression
from headrace.sql.types import ArrayType, MapType, SqlType, StructType
from tests.sql.evaluation import scope_of

SAMPLES: dict[str, list[Any]] = {
    "BOOLEAN": [True, None],
    "INT": [1, -(2**31), None],
    "BIGINT": [2, 2**63 - 1, None],
    "DOUBLE": [1.5, float("inf"), float("nan"), None],
    "DECIMAL(6, 2)": [Decimal("-1.25"), Decimal("9999.99"), None],
    "STRING": ["abc", "", "1", "\U0001f600", '{"a": [1]}', "yyyy-MM-dd", None],
    "BYTES": [b"12345678", b"", None],
    "DATE": [0, -(2**31), None],
    "TIME": [0, 86_399_999, None],
    "TIMESTAMP": [-1, 2**62, None],
    "ARRAY<STRING>": [["a", None], [], None],
    "ARRAY<INT>": [[3, None, 1], [], None],
    "ARRAY<DECIMAL(6, 2)>": [[Decimal("1.00")], None],
    "MAP<STRING, INT>": [{"a": 1, "b": None}, {}, None],
    "MAP<STRING, BIGINT>": [{"a": 1}, None],
    "MAP<STRING, DOUBLE>": [{"a": 1.0}, None],
    "MAP<STRING, BOOLEAN>": [{"a": True}, None],
    "MAP<STRING, STRING>": [{"a": "b"}, None],
}
_NAMED = {
    "DECIMAL": "DECIMAL(6, 2)",
    "T": "STRING",
    "ARRAY<T>": "ARRAY<STRING>",
    "ARRAY<DECIMAL>": "ARRAY<DECIMAL(6, 2)>",
    "MAP<STRING, T>": "MAP<STRING, INT>",
    "MAP<K, V>": "MAP<STRING, INT>",
    "S": "BIGINT",
    "MAP<STRING, INTEGER>": "MAP<STRING, INT>",
}


def column_type(parameter: ParameterType) -> str:
    name = str(parameter)
    return _NAMED.get(name, name)


def calls() -> Iterator[tuple[Function, Signature]]:
    for function in builtin_functions():
        if function.kind is Kind.SCALAR and function.name != "generate_series":
            for overload in function.overloads:
                yield function, overload.signature


def conforms(value: Any, type: SqlType) -> bool:
    if value is None:
        return True
    if isinstance(type, ArrayType):
        return isinstance(value, list) and all(conforms(each, type.element) for each in value)
    if isinstance(type, MapType):
        return isinstance(value, dict) and all(
            conforms(key, type.key) and conforms(each, type.value) for key, each in value.items()
        )
    if isinstance(type, StructType):
        return list(value) == [field.name for field in type.fields] and all(
            conforms(value[field.name], field.type) for field in type.fields
        )
    if type.name in _BITS:
        bits = _BITS[type.name]
        return isinstance(value, int) and -(1 << bits) <= value < 1 << bits
    return isinstance(value, _PYTHON.get(type.name, int))


_BITS = {"INTEGER": 31, "BIGINT": 63}
_PYTHON = {"BOOLEAN": bool, "DOUBLE": float, "DECIMAL": Decimal, "STRING": str, "BYTES": bytes}


@pytest.mark.parametrize(
    ("function", "signature"),
    [pytest.param(*call, id=f"{call[0].name}{call[1]}") for call in calls()],
)
def test_results_are_of_the_type_that_is_said(function: Function, signature: Signature) -> None:
    columns: dict[str, str] = {}
    arguments = []
    for number, parameter in enumerate(signature.parameters):
        if isinstance(parameter.type, LambdaOf):
            names = [f"x{at}" for at in range(len(parameter.type.inputs))]
            body = "true" if str(parameter.type.output) == "BOOLEAN" else names[0]
            arguments.append(f"({', '.join(names)}) => {body}")
        elif isinstance(parameter.type, Unit):
            arguments.append("HOURS")
        else:
            columns[f"C{number}"] = column_type(parameter.type)
            arguments.append(f"C{number}")
    text = f"{function.name}({', '.join(arguments)})"
    compiled = compile_expression(parse_expression(text), scope_of(columns))
    assert compiled.type is not None
    evaluate = evaluator(compiled, lambda message, error: None)
    rows = product(*(SAMPLES[type] for type in columns.values()))
    for row in islice(rows, 400):
        assert conforms(evaluate(row), compiled.type), row

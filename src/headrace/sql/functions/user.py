"""Users' own functions, in Python: decorators that make functions of SQL.

    @udf
    def half(x: float) -> float:
        return x / 2

    @udtf
    def words(text: str) -> list[str]:
        return text.split()

    @udaf
    class Product:
        def initialize(self) -> int:
            return 1

        def aggregate(self, state: int, value: int) -> int:
            return state * value

    functions = with_functions(half, words, Product)     # these, and the built-in ones

They stay what they were in Python. Annotations say the types (`annotations`), docstrings the
descriptions. NULL makes a function's result NULL, and is passed over by an aggregate, unless the
parameter is annotated `T | None`. Several functions with one name are overloads.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from headrace.core.errors import ArgumentError
from headrace.sql.decimals import rounded
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.annotations import Annotation, Converter, exact_type, understood
from headrace.sql.functions.function import Call, Function, Kind, Overload
from headrace.sql.functions.parameter_types import Exactly
from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.functions.signature import Parameter, Signature
from headrace.sql.types import BIGINT, INTEGER, DecimalType

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
M = TypeVar("M")

_CATEGORY = "OTHER"


def with_functions(*decorated: Callable[..., Any]) -> FunctionRegistry:
    """The built-in functions, and some of one's own."""
    registry = builtin_functions().copy()
    for each in decorated:
        registry.register(sql_function(each))
    return registry


@overload
def udf(function: F, /) -> F: ...
@overload
def udf(
    *, name: str | None = None, category: str = _CATEGORY, author: str = "", version: str = ""
) -> Callable[[F], F]: ...
def udf(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    category: str = _CATEGORY,
    author: str = "",
    version: str = "",
) -> Any:
    """Makes a scalar function of a Python function: a value for a row."""

    def decorate(function: F) -> F:
        shape = _Shape.of(function, name)
        result = understood(shape.returns, f"The result of {shape.name}")
        made = _overload(shape, Signature(shape.parameters, result.type), _written(result))
        return _marked(function, _function(shape, Kind.SCALAR, category, made, author, version))

    return decorate if function is None else decorate(function)


@overload
def udtf(function: F, /) -> F: ...
@overload
def udtf(*, name: str | None = None, author: str = "", version: str = "") -> Callable[[F], F]: ...
def udtf(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    author: str = "",
    version: str = "",
) -> Any:
    """Makes a table function of a Python function that gives the values of rows: a list of them,
    or an iterator."""

    def decorate(function: F) -> F:
        shape = _Shape.of(function, name)
        if typing.get_origin(shape.returns) not in _ROWS:
            raise ArgumentError(
                f"{shape.name} must give rows: annotate its result as list[…] or Iterator[…]"
            )
        row = understood(typing.get_args(shape.returns)[0], f"A row of {shape.name}")
        convert = _written(row)
        rows = None if convert is None else _each(convert)
        made = _overload(shape, Signature(shape.parameters, row.type), rows)
        return _marked(function, _function(shape, Kind.TABLE, "TABLE", made, author, version))

    return decorate if function is None else decorate(function)


_ROWS = (list, Iterator, Iterable)


def _each(convert: Converter) -> Converter:
    return lambda rows: None if rows is None else [
        None if row is None else convert(row) for row in rows
    ]  # fmt: skip


@overload
def udaf(cls: C, /) -> C: ...
@overload
def udaf(*, name: str | None = None, author: str = "", version: str = "") -> Callable[[C], C]: ...
def udaf(
    cls: type | None = None,
    /,
    *,
    name: str | None = None,
    author: str = "",
    version: str = "",
) -> Any:
    """Makes an aggregate function of a class.

    - `initialize(self) -> State` gives the state of a group without rows. The annotation says its
      type, as it is stored.
    - `aggregate(self, state, *values) -> State` adds a row.
    - `undo(self, state, *values) -> State`, if there is one, takes a row back: then the function
      can be used on tables.
    - `merge(self, state, other) -> State`, if there is one, is for session windows.
    - `result(self, state) -> Result`, if there is one, makes the result of the state.
    - `__init__` takes arguments that must be literals, after the columns. A keyword `settings`
      is given the settings of the query.

    States must not be changed, but made anew.
    """

    def decorate(cls: C) -> C:
        plain = [_aggregate_overload(cls, name, None)]
        if any(each.type == Exactly(BIGINT) for each in _columns(cls, name).parameters):
            # Aggregates are never given casts, so `int` has to take both.
            plain.append(_aggregate_overload(cls, name, INTEGER))
        shape = _columns(cls, name)
        return _marked(cls, _function(shape, Kind.AGGREGATE, "AGGREGATE", plain, author, version))

    return decorate if cls is None else decorate(cls)


_MARK = "__sql_function__"


def _marked(decorated: M, function: Function) -> M:
    """What was decorated stays what it is, for Python."""
    setattr(decorated, _MARK, function)
    return decorated


def sql_function(decorated: Callable[..., Any]) -> Function:
    """The function of SQL that a decorator made."""
    function = getattr(decorated, _MARK, None)
    if not isinstance(function, Function):
        raise ArgumentError(
            f"{decorated!r} is no function of SQL: decorate it with @udf, @udaf or @udtf"
        )
    return function


@dataclass(frozen=True)
class _Shape:
    """A Python function with its annotations understood."""

    name: str
    description: str
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    annotations: tuple[Annotation, ...]
    """Of each parameter."""
    returns: Any

    @staticmethod
    def of(
        function: Callable[..., Any], name: str | None, skip: int = 0, literal: bool = False
    ) -> _Shape:
        called = name or function.__name__
        hints = typing.get_type_hints(function, include_extras=True)
        parameters, annotations = [], []
        for each in list(inspect.signature(function).parameters.values())[skip:]:
            if each.kind is inspect.Parameter.KEYWORD_ONLY:
                continue
            where = f"The parameter {each.name} of {called}"
            if each.name not in hints or each.kind is inspect.Parameter.VAR_KEYWORD:
                raise ArgumentError(f"{where} must be annotated with its type")
            annotation = understood(hints[each.name], where)
            variadic = each.kind is inspect.Parameter.VAR_POSITIONAL
            parameters.append(Parameter(annotation.type, each.name, variadic, literal))
            annotations.append(annotation)
        return _Shape(
            called,
            inspect.getdoc(function) or "",
            function,
            tuple(parameters),
            tuple(annotations),
            hints.get("return"),
        )

    @property
    def converts(self) -> bool:
        return any(each.read is not None for each in self.annotations)

    def reading(self) -> Callable[[tuple[Any, ...]], list[Any]]:
        """From SQL's values to the arguments of the function."""
        readers = [each.read for each in self.annotations]
        at = next((n for n, each in enumerate(self.parameters) if each.variadic), None)

        def read(values: tuple[Any, ...]) -> list[Any]:
            each = readers
            if at is not None:
                each = readers[:at] + [readers[at]] * (len(values) - len(readers) + 1)
            return [
                value if value is None or convert is None else convert(value)
                for value, convert in zip(values, each, strict=True)
            ]

        return read

    def has_null(self) -> Callable[[tuple[Any, ...]], bool]:
        """Whether a value is NULL that must not be."""
        optional = [each.optional for each in self.annotations]
        last = bool(self.parameters) and self.parameters[-1].variadic

        def check(values: tuple[Any, ...]) -> bool:
            return any(
                value is None and not optional[min(at, len(optional) - 1) if last else at]
                for at, value in enumerate(values)
            )

        return check


def _written(result: Annotation) -> Converter | None:
    """What makes the value of SQL of a result."""
    if result.write is None and isinstance(result.type, Exactly):
        type = result.type.type
        if isinstance(type, DecimalType):
            return lambda number: rounded(number, type.scale)
    return result.write


def _overload(shape: _Shape, signature: Signature, write: Converter | None) -> list[Overload]:
    strict = not any(each.optional for each in shape.annotations)
    function = shape.function
    if strict and write is None and not shape.converts:
        return [Overload(signature, function)]
    read, has_null = shape.reading(), shape.has_null()

    def call(*values: Any) -> Any:
        if has_null(values):
            return None
        result = function(*read(values))
        return result if result is None or write is None else write(result)

    return [Overload(signature, call, strict=strict)]


def _function(
    shape: _Shape, kind: Kind, category: str, overloads: list[Overload], author: str, version: str
) -> Function:
    return Function(
        shape.name, kind, category, shape.description, tuple(overloads), author, version
    )


def _columns(cls: type, name: str | None) -> _Shape:
    """The shape of `aggregate`, without self and state."""
    for needed in ("initialize", "aggregate"):
        if not callable(getattr(cls, needed, None)):
            raise ArgumentError(f"{cls.__name__} has no method {needed}")
    shape = _Shape.of(cls.aggregate, name or cls.__name__, skip=2)  # type: ignore[attr-defined]
    return _Shape(
        shape.name,
        inspect.getdoc(cls) or "",
        shape.function,
        shape.parameters,
        shape.annotations,
        shape.returns,
    )


def _aggregate_overload(cls: Any, name: str | None, ints: Any) -> Overload:
    """`ints` is the type that `int` columns have; None: BIGINT."""
    columns = _columns(cls, name)
    called = columns.name
    parameters = tuple(
        Parameter(Exactly(ints), each.name, each.variadic)
        if ints is not None and each.type == Exactly(BIGINT)
        else each
        for each in columns.parameters
    )
    literals: tuple[Parameter, ...] = ()
    takes_settings = False
    if "__init__" in vars(cls):
        shape = _Shape.of(cls.__init__, called, skip=1, literal=True)
        literals = tuple(
            Parameter(Exactly(INTEGER), each.name, each.variadic, literal=True)
            if each.type == Exactly(BIGINT)
            else each
            for each in shape.parameters
        )
        takes_settings = "settings" in inspect.signature(cls.__init__).parameters
    state = understood(_result_of(cls.initialize), f"The state of {called}")
    intermediate = exact_type(state, f"The state of {called}")
    outcome = (
        understood(_result_of(cls.result), f"The result of {called}")
        if hasattr(cls, "result")
        else state
    )
    type = exact_type(outcome, f"The result of {called}")

    def make(call: Call) -> Aggregate:
        options: Mapping[str, Any] = {"settings": call.settings} if takes_settings else {}
        aggregate = cls(*call.literals, **options)
        return _aggregate_of(aggregate, columns, state, outcome, type, intermediate)

    return Overload(
        Signature((*parameters, *literals), outcome.type), make, strict=False, bound=True
    )


def _result_of(method: Callable[..., Any]) -> Any:
    return typing.get_type_hints(method, include_extras=True).get("return")


def _aggregate_of(
    aggregate: Any,
    columns: _Shape,
    state: Annotation,
    outcome: Annotation,
    type: Any,
    intermediate: Any,
) -> Aggregate:
    read_state, write_state = state.read or _same, _written(state) or _same
    write_result = _written(outcome) or _same
    read, has_null = columns.reading(), columns.has_null()

    def step(method: Callable[..., Any]) -> Callable[..., Any]:
        def apply(current: Any, *values: Any) -> Any:
            if has_null(values):
                return current
            return _or_null(write_state, method(_or_null(read_state, current), *read(values)))

        return apply

    def merge(one: Any, other: Any) -> Any:
        merged = aggregate.merge(_or_null(read_state, one), _or_null(read_state, other))
        return _or_null(write_state, merged)

    def result(current: Any) -> Any:
        return _or_null(write_result, aggregate.result(_or_null(read_state, current)))

    return Aggregate(
        type,
        intermediate,
        lambda: _or_null(write_state, aggregate.initialize()),
        step(aggregate.aggregate),
        result if hasattr(aggregate, "result") else None,
        undo=step(aggregate.undo) if hasattr(aggregate, "undo") else None,
        merge=merge if hasattr(aggregate, "merge") else None,
    )


def _same(value: Any) -> Any:
    return value


def _or_null(convert: Converter, value: Any) -> Any:
    return None if value is None else convert(value)

"""The column that has the time of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.record import ConsumerRecord, FixedKeyRecord
from headrace.core.windowed import Windowed
from headrace.sql.building.log import ProcessingLog
from headrace.sql.expressions import Scope, Slot, compile_expression, evaluator
from headrace.sql.metastore import TimestampColumn
from headrace.sql.plan.typing import PARAMETERS
from headrace.sql.schema import Schema
from headrace.sql.syntax.ast import ColumnReference, Expression, FunctionCall, Literal
from headrace.sql.types import STRING
from headrace.topology.processor import FixedKeyProcessor

TimeOf = Callable[[Any, Any], int | None]
"""`time_of(key, row)`; None if it can't be known."""


def time_of(column: TimestampColumn, schema: Schema, log: ProcessingLog) -> TimeOf:
    """A function that reads the time of a row from its column."""
    slots = {
        ColumnReference(each.name): Slot(each.type, part, index)
        for part, columns in zip(PARAMETERS, (schema.key, schema.value), strict=True)
        for index, each in enumerate(columns)
    }
    reference: Expression = ColumnReference(column.name)
    if column.format is not None:
        pattern = Literal(column.format, STRING)
        reference = FunctionCall("STRINGTOTIMESTAMP", (reference, pattern))
    read = evaluator(compile_expression(reference, Scope(PARAMETERS, slots)), log)
    in_key = any(each.name == column.name for each in schema.key)

    def time(key: Any, row: Any) -> int | None:
        if isinstance(key, Windowed):
            key = key.key
        if (key if in_key else row) is None:
            return None
        found = read(key, row)
        return None if found is None else int(found)

    return time


def extractor(time: TimeOf) -> Callable[[ConsumerRecord, int], int]:
    """Gives records the time of their row; a record without one is skipped."""

    def extract(record: ConsumerRecord, partition_time: int) -> int:
        found = time(record.key, record.value)
        return -1 if found is None else found

    return extract


class Retimer(FixedKeyProcessor[Any, Any, Any]):
    """Gives records the time of their row. One without a row keeps its own; one whose time can't
    be known is dropped."""

    def __init__(self, time: TimeOf) -> None:
        self._time = time

    def process(self, record: FixedKeyRecord[Any, Any]) -> None:
        if record.value is None:
            self.context.forward(record)
            return
        found = self._time(record.key, record.value)
        if found is not None and found >= 0:
            self.context.forward(record.with_timestamp(found))

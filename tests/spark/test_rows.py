"""Rows of Spark's as chunks of a partition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from headrace.core.record import ConsumerRecord, TaskId, TopicPartition
from headrace.spark.worker import _rows

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Kafka:
    """Has the values that were left in it."""

    def __init__(self) -> None:
        self.reader = self

    def fetch(
        self, partition: TopicPartition, offset: int, max_records: int, timeout_s: float
    ) -> list[ConsumerRecord]:
        return [
            ConsumerRecord(*partition, at, at, b"k", b"from kafka", [("h", b"1")])
            for at in range(offset, offset + max_records)
        ]


def batch(*rows: tuple[int, int, bytes | None]) -> pa.RecordBatch:
    """Rows of input, offset and value."""
    inputs, offsets, values = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(inputs, pa.int32()),
            pa.array(offsets, pa.int64()),
            pa.array([5] * len(rows), pa.int64()),
            pa.array([b"k"] * len(rows), pa.binary()),
            pa.array(values, pa.binary()),
            pa.array([None] * len(rows), HEADERS),
        ],
        ["input", "offset", "timestamp", "key", "value", "headers"],
    )


def rows_of(*batches: pa.RecordBatch) -> list[Any]:
    plan = SimpleNamespace(
        inputs=(A, B),
        tasks=[SimpleNamespace(id=TaskId(0, 0)), SimpleNamespace(id=TaskId(0, 1))],
    )
    worker: Any = SimpleNamespace(plan=plan, kafka=Kafka())
    found: list[Any] = []
    for row in _rows(batches, worker):
        if isinstance(row, TaskId):
            found.append(row)
        else:
            part, chunk = row
            pieces = [
                [*zip(columns.offsets, columns.values, strict=True)] for columns, _ in chunk.load()
            ]
            found.append((part.topic, (chunk.first, chunk.last, chunk.size), pieces))
    return found


def test_runs_of_one_input_are_a_chunk() -> None:
    assert rows_of(batch((0, 3, b"x"), (0, 4, None), (1, 0, b"y")), batch((1, 1, b"z"))) == [
        ("a", (3, 4, 2), [[(3, b"x"), (4, None)]]),
        ("b", (0, 0, 1), [[(0, b"y")]]),
        ("b", (1, 1, 1), [[(1, b"z")]]),
    ]


def test_calls_wake_their_tasks_after_the_rows() -> None:
    assert rows_of(batch((-2, 0, None), (0, 3, b"x"))) == [
        ("a", (3, 3, 1), [[(3, b"x")]]),
        TaskId(0, 1),
    ]


def test_large_records_are_read_again_with_those_between_them() -> None:
    large = b"from kafka"
    rows = batch((0, 3, b"x"), (0, ~4, None), (0, 5, b"y"), (0, ~6, None), (0, 7, b"z"))
    assert rows_of(rows) == [
        ("a", (3, 7, 5), [[(3, b"x")], [(4, large), (5, large), (6, large)], [(7, b"z")]]),
    ]


def test_a_large_record_may_be_the_first_and_the_last() -> None:
    assert rows_of(batch((0, ~3, None))) == [("a", (3, 3, 1), [[(3, b"from kafka")]])]

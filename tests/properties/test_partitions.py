"""The number of partitions changes nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.programs import PARTITIONABLE, Program, inputs, run, topology


def by_key(output: list[Any]) -> dict[Any, list[Any]]:
    grouped = defaultdict(list)
    for topic, key, value, timestamp in output:
        grouped[topic, key].append((value, timestamp))
    return dict(grouped)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PARTITIONABLE), min_size=1, max_size=4), inputs(in_order=True))
def test_one_partition_and_four_give_the_same(steps: Any, records: Any) -> None:
    alone = run(topology(steps), records)
    spread = run(topology(steps), records, partitions=4)
    assert by_key(alone) == by_key(spread)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PARTITIONABLE), max_size=2), inputs(in_order=True))
def test_regrouped_tables_come_to_the_same_in_the_end(steps: Any, records: Any) -> None:
    """A row that moves to another group leaves the one and enters the other in different tasks, so
    that what is seen in between may differ."""
    steps = [*steps, Program.table_regroup]
    alone = by_key(run(topology(steps), records))
    spread = by_key(run(topology(steps), records, partitions=4))
    assert {at: rows[-1] for at, rows in alone.items()} == {
        at: rows[-1] for at, rows in spread.items()
    }

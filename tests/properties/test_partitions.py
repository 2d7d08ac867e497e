"""The number of partitions changes nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.programs import PARTITIONABLE, inputs, run, topology


def by_key(output: list[Any]) -> dict[Any, list[Any]]:
    grouped = defaultdict(list)
    for topic, key, value, timestamp in output:
        grouped[topic, key].append((value, timestamp))
    return dict(grouped)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PARTITIONABLE), min_size=1, max_size=4), inputs(in_order=True))
def test_one_partition_and_four_give_the_same(steps: Any, records: Any) -> None:
    alone = run(topology(steps), records)
    spread = run(topology(steps), records, partitions=4)
    assert by_key(alone) == by_key(spread)

"""A crash at any point changes nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.programs import PARTITIONABLE, TIMED, inputs, run, topology

STEPS = st.lists(st.sampled_from(PARTITIONABLE + TIMED), min_size=1, max_size=3)


@settings(max_examples=200)
@given(STEPS, inputs(in_order=False), st.integers(0, 29), st.booleans())
def test_a_crash_changes_nothing(steps: Any, records: Any, crash: int, cache: bool) -> None:
    undisturbed = run(topology(steps), records, cache=cache)
    crashed = run(topology(steps), records, cache=cache, crash_after=crash % len(records))
    assert crashed == undisturbed


@settings(max_examples=60)
@given(STEPS, inputs(in_order=False), st.integers(0, 29))
def test_nor_does_it_with_several_partitions(steps: Any, records: Any, crash: int) -> None:
    undisturbed = run(topology(steps), records, partitions=3)
    crashed = run(topology(steps), records, partitions=3, crash_after=crash % len(records))
    assert crashed == undisturbed

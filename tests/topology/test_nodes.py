from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import ArgumentError, AutoOffsetReset, StreamsBuilder
from headrace.topology.nodes import SourceNode


@pytest.mark.parametrize(
    "reset",
    [
        AutoOffsetReset.earliest(),
        AutoOffsetReset.latest(),
        AutoOffsetReset.none(),
        AutoOffsetReset.by_duration(timedelta(days=1)),
    ],
)
def test_an_offset_reset_reaches_the_source(reset: AutoOffsetReset) -> None:
    builder = StreamsBuilder()
    builder.stream("in", offset_reset=reset, name="source").foreach(print)
    source = builder.build().nodes["source"]
    assert isinstance(source, SourceNode)
    assert source.offset_reset == reset


def test_a_duration_to_go_back_is_not_negative() -> None:
    with pytest.raises(ArgumentError, match="can't be negative"):
        AutoOffsetReset.by_duration(timedelta(seconds=-1))

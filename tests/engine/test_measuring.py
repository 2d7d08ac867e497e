"""What a slot measures of itself."""

from __future__ import annotations

import pytest

from headrace.core.record import TopicPartition
from headrace.engine.chunk import Chunk
from headrace.engine.measuring import ThreadMetrics
from headrace.metrics.level import RecordingLevel
from headrace.runtime.columns import Columns


def test_waiting_for_rows_is_measured() -> None:
    metrics = ThreadMetrics(RecordingLevel.INFO)
    part = TopicPartition("in", 0)
    chunks = [(part, Chunk(0, size - 1, size, lambda: Columns([], [], [], []))) for size in (3, 5)]
    assert list(metrics.polled(chunks)) == chunks
    found = {key: values for key, _, values in metrics.take()}
    assert found["thread.poll-records"] == (2, 8, 3, 5)
    assert found["thread.poll"][0] == 2


def test_only_what_succeeds_is_timed() -> None:
    metrics = ThreadMetrics(RecordingLevel.INFO)
    with metrics.timing(metrics.commit):
        pass
    with pytest.raises(ValueError, match="no"), metrics.timing(metrics.commit):
        raise ValueError("no")
    assert metrics.commit.count == 1

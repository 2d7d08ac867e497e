"""What a slot measures of itself."""

from __future__ import annotations

import pytest

from headrace.engine.slot_metrics import SlotMetrics
from headrace.metrics.level import RecordingLevel


def test_only_what_succeeds_is_timed() -> None:
    metrics = SlotMetrics(RecordingLevel.INFO)
    with metrics.timing(metrics.commit):
        pass
    with pytest.raises(ValueError, match="no"), metrics.timing(metrics.commit):
        raise ValueError("no")
    assert metrics.commit.count == 1

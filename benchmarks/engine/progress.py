"""How fast an engine was, from how far it had come at which time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Sample(NamedTuple):
    seconds: float
    records: int


class Rates(NamedTuple):
    """Records a second. None if the engine did all of that in one step."""

    startup_s: float
    rate: float | None
    rate_second_half: float | None


def watch(
    position: Callable[[], int], total: int, *, began: float, interval_s: float = 0.05
) -> list[Sample]:
    """Samples of `position()`, whenever it has changed, until it is `total`. To ask more often
    would take a share of the machine that is measured."""
    samples: list[Sample] = []
    done = 0
    while done < total:
        time.sleep(interval_s)
        now = position()
        if now != done:
            done = now
            samples.append(Sample(time.monotonic() - began, done))
    return samples


def rates(samples: Sequence[Sample], total: int) -> Rates:
    """The figures of `KafkaStreamsBench.java`, computed as it does: the second half begins when
    half of the records have been seen, and ends with the last."""
    first = samples[0]
    half = next(sample for sample in samples if sample.records >= total / 2)
    last = next(sample for sample in samples if sample.records >= total)
    return Rates(first.seconds, _rate(first, last), _rate(half, last))


def _rate(begin: Sample, end: Sample) -> float | None:
    if begin == end:
        return None
    return (end.records - begin.records) / (end.seconds - begin.seconds)

"""Rates, averages and extremes over the last samples."""

from __future__ import annotations

from math import isnan

import pytest

from headrace.metrics.samples import Samples


@pytest.fixture
def samples() -> Samples:
    return Samples(30_000, 2)


def test_nothing_was_measured(samples: Samples) -> None:
    assert samples.rate(0) == samples.ratio(0) == 0
    assert isnan(samples.average(0))
    assert isnan(samples.smallest(0))
    assert isnan(samples.largest(0))


def test_a_rate_does_not_jump_with_the_first_records(samples: Samples) -> None:
    samples.add(0, 30, 30, 30, 30)
    assert samples.rate(0) == 1  # of the one full window that is taken for granted
    assert samples.rate(15_000) == pytest.approx(30 / 45)


def test_a_rate_is_over_the_samples_there_are(samples: Samples) -> None:
    for second in range(60):
        samples.add(second * 1000, 5, 5, 5, 5)
    assert samples.rate(59_999) == pytest.approx(5, rel=0.01)


def test_old_samples_are_forgotten(samples: Samples) -> None:
    samples.add(0, 1, 100, 100, 100)
    samples.add(31_000, 1, 2, 2, 2)
    assert (samples.average(59_999), samples.largest(59_999)) == (51, 100)
    assert (samples.average(60_000), samples.largest(60_000)) == (2, 2)
    assert isnan(samples.average(91_000))
    assert samples.rate(91_000) == 0


def test_averages_weigh_by_number(samples: Samples) -> None:
    samples.add(0, 3, 30, 5, 15)
    samples.add(40_000, 1, 2, 2, 2)
    assert samples.average(41_000) == 8
    assert samples.smallest(41_000) == 2
    assert samples.largest(41_000) == 15


def test_a_ratio_is_the_share_of_time() -> None:
    samples = Samples(1_000, 2)
    samples.add(0, 1, 500_000_000, 0, 0)
    assert samples.ratio(1_000) == 0.5
    samples.add(1_000, 1, 9_000_000_000, 0, 0)
    assert samples.ratio(1_500) == 1


def test_a_single_sample(samples: Samples) -> None:
    single = Samples(1_000, 1)
    single.add(0, 4, 4, 4, 4)
    assert single.rate(0) == 0
    assert single.rate(500) == 8

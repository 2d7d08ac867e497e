"""Instruments, and what is taken from them."""

from __future__ import annotations

import orjson

from headrace.metrics import catalogue
from headrace.metrics.level import RecordingLevel
from headrace.metrics.recorder import Counter, Distribution, Gauge, Recorder


def test_a_counter_gives_what_is_new() -> None:
    counter = Counter()
    assert counter.take() == (0,)  # that nothing happened is worth a report, once
    assert counter.take() is None
    counter.record()
    counter.record(4)
    assert counter.take() == (5,)
    assert counter.take() is None
    assert counter.total == 5


def test_a_distribution_begins_anew_when_it_was_taken() -> None:
    distribution = Distribution()
    assert distribution.take() is None
    distribution.record(3)
    distribution.record_all([5, 1])
    distribution.record_all([])
    assert distribution.take() == (3, 9, 1, 5)
    distribution.record(7)
    assert distribution.take() == (1, 7, 7, 7)


def test_a_gauge_is_told_again_and_again() -> None:
    gauge = Gauge()
    assert gauge.take() is None
    gauge.record(2)
    gauge.record(1)
    assert gauge.take() == gauge.take() == (1,)


def test_the_same_instrument_for_the_same_tags() -> None:
    recorder = Recorder()
    recorder.counter(catalogue.RECORDS_CONSUMED, "source", "a").record()
    recorder.counter(catalogue.RECORDS_CONSUMED, "source", "a").record()
    recorder.counter(catalogue.RECORDS_CONSUMED, "source", "b").record()
    assert recorder.take() == [
        ("topic.records-consumed", ("source", "a"), (2,)),
        ("topic.records-consumed", ("source", "b"), (1,)),
    ]


def test_what_the_level_does_not_ask_for_goes_nowhere() -> None:
    sensor = catalogue.STORE_OPERATIONS["put"]
    for level, taken in ((RecordingLevel.INFO, 0), (RecordingLevel.DEBUG, 1)):
        recorder = Recorder(level)
        recorder.distribution(sensor, "rocksdb-state", "counts").record(1)
        assert len(recorder.take()) == taken


def test_measurements_are_small_on_the_wire() -> None:
    recorder = Recorder()
    recorder.distribution(catalogue.NODE_LATENCY, "KSTREAM-SOURCE-0000000000").record(12)
    assert len(orjson.dumps(recorder.take())) < 100

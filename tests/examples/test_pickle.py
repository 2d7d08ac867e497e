"""A topology can be sent to another process, with the functions in it."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest
from pyspark import cloudpickle

from headrace import StreamsBuilder, Topology, serdes
from headrace.testing import TopologyTestDriver

NAMES = [
    "click_sessions",
    "clicks_and_purchases",
    "fraud_detection",
    "order_enrichment",
    "stock_performance",
    "stock_volumes",
    "store_purchases",
    "word_count",
]


def sent(topology: Topology) -> Topology:
    arrived = pickle.loads(cloudpickle.dumps(topology))  # type: ignore[no-untyped-call]
    assert isinstance(arrived, Topology)
    return arrived


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_can_be_sent(name: str) -> None:
    topology = import_module(f"examples.{name}").topology()
    assert str(sent(topology).describe()) == str(topology.describe())


def test_what_was_sent_runs() -> None:
    text, suffix = serdes.string(), "!"
    builder = StreamsBuilder()
    stream = builder.stream("in", key=text, value=text).map_values(lambda value: value + suffix)
    stream.to("out", key=text, value=text)
    with TopologyTestDriver(sent(builder.build())) as driver:
        driver.input_topic("in", text, text).pipe("k", "hello", 0)
        assert driver.output_topic("out", text, text).read_value() == "hello!"

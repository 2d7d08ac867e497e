from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.word_count import COUNTS_STORE, SENTENCES, WORD_COUNTS, topology, words
from headrace import serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(topology()) as driver:
        yield driver


@pytest.fixture
def sentences(driver: TopologyTestDriver) -> TestInputTopic[str, str]:
    return driver.input_topic(SENTENCES, serdes.string(), serdes.string())


@pytest.fixture
def counts(driver: TopologyTestDriver) -> TestOutputTopic[str, int]:
    return driver.output_topic(WORD_COUNTS, serdes.string(), serdes.long())


def test_every_word_updates_its_count(
    sentences: TestInputTopic[str, str], counts: TestOutputTopic[str, int]
) -> None:
    sentences.pipe_value("The mill by the river")
    assert counts.read_key_values() == [
        ("the", 1),
        ("mill", 1),
        ("by", 1),
        ("the", 2),
        ("river", 1),
    ]


def test_counts_go_on_from_sentence_to_sentence(
    sentences: TestInputTopic[str, str], counts: TestOutputTopic[str, int]
) -> None:
    sentences.pipe_values(["water runs", "water falls", "mills run on water"])
    assert counts.read_map() == {
        "water": 3,
        "runs": 1,
        "falls": 1,
        "mills": 1,
        "run": 1,
        "on": 1,
    }


def test_a_count_has_the_time_of_its_latest_word(
    sentences: TestInputTopic[str, str], counts: TestOutputTopic[str, int]
) -> None:
    sentences.pipe_value("water", 2_000)
    sentences.pipe_value("water", 1_000)
    assert [(r.value, r.timestamp) for r in counts.read_records()] == [(1, 2_000), (2, 2_000)]


def test_a_sentence_without_words_changes_nothing(
    sentences: TestInputTopic[str, str], counts: TestOutputTopic[str, int]
) -> None:
    sentences.pipe_values(["", " ... "])
    assert counts.is_empty


def test_counts_are_there_to_query(
    driver: TopologyTestDriver, sentences: TestInputTopic[str, str]
) -> None:
    sentences.pipe_value("water water", 500)
    assert driver.store(COUNTS_STORE).get("water") == (2, 500)
    assert driver.store(COUNTS_STORE).get("fire") is None


def test_words_of_several_partitions_meet() -> None:
    with TopologyTestDriver(topology(), partitions=3) as driver:
        sentences = driver.input_topic(SENTENCES, serdes.string(), serdes.string())
        sentences.pipe_key_values([(f"line {n}", "water") for n in range(10)])
        counts = driver.output_topic(WORD_COUNTS, serdes.string(), serdes.long())
        assert counts.read_values() == list(range(1, 11))


def test_words() -> None:
    assert words("Don't stop: the mill-race!") == ["don't", "stop", "the", "mill", "race"]

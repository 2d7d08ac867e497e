"""A sample of what was recorded of Kafka Streams, on a real Kafka and a real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.embedded import EmbeddedKafka
from tests.conformance.cases import Case, group_files, read
from tests.integration.corpus_on_spark import (
    CorpusOnSpark,
    Run,
    beginning,
    is_partitioned,
    obstacle,
)

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

GROUPS = group_files()
CASES = 4
ROUNDS = 3
PARTITIONS = 3

WITHOUT_RUNS = {
    "naming": "all cases are only built and described",
    "invalid": "nearly all cases fail when they are built",
}


@pytest.fixture
def corpus(
    embedded_kafka: EmbeddedKafka, session: SparkSession, tmp_path: Path
) -> Iterator[CorpusOnSpark]:
    corpus = CorpusOnSpark(embedded_kafka, session, tmp_path)
    yield corpus
    corpus.close()


def candidates(group: str) -> list[Case]:
    """Not all of a long case: each round takes its time."""
    cases = (beginning(case, ROUNDS) for case in read(GROUPS[group]) if obstacle(case) is None)
    return [case for case in cases if case["output"] or "error" in case]


def sample(group: str) -> list[Case]:
    """Some cases from all over the group."""
    cases = candidates(group)
    return [cases[index * len(cases) // CASES] for index in range(CASES)]


def partitioned(cases: list[Case]) -> list[Case]:
    """A case in which keys have nothing to do with each other, if there is one."""
    found = (case for case in cases if is_partitioned(case, PARTITIONS))
    return list(islice(found, 1))


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in WITHOUT_RUNS])
def test_group_gives_what_was_recorded(corpus: CorpusOnSpark, group: str) -> None:
    cases = sample(group)
    assert len({case["id"] for case in cases}) == CASES
    several = partitioned(cases) or partitioned(candidates(group))
    runs = [Run(case) for case in cases if case not in several]
    runs += [Run(case, PARTITIONS) for case in several]
    differences = corpus.check(runs)
    assert not differences, "\n\n".join(differences)

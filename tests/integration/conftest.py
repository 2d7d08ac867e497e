"""For tests with a real Kafka and a real Spark. One broker, the fixture `embedded_kafka`, and one
Spark, which gets faster with each test, serve them all."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import StreamsConfig
from headrace.embedded import EmbeddedKafka
from headrace.spark.session import make_session
from tests.integration.applications import Cluster


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Gives a name for a topic (or an application) that nobody has had, after the test."""
    test = re.sub(r"\W+", "-", request.node.name.removeprefix("test_")).strip("-")
    return lambda: f"{test[:60]}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def name(topic_name: Callable[[], str]) -> str:
    """Of the application; its topics begin with it."""
    return topic_name()


@pytest.fixture
def session() -> SparkSession:
    """The one that is there, unless a test has stopped it."""
    return make_session(StreamsConfig({"spark.master": "local[4]"}))


@pytest.fixture(scope="session", autouse=True)
def spark_is_stopped() -> Iterator[None]:
    yield
    if (spark := SparkSession.getActiveSession()) is not None:
        spark.stop()


@pytest.fixture
def cluster(embedded_kafka: EmbeddedKafka, session: SparkSession, tmp_path: Path) -> Cluster:
    return Cluster(embedded_kafka, session, tmp_path)

"""For tests with a real Kafka. One broker, the fixture `embedded_kafka`, serves them all."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

import pytest


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Gives a name for a topic (or an application) that nobody has had, after the test."""
    test = re.sub(r"\W+", "-", request.node.name.removeprefix("test_")).strip("-")
    return lambda: f"{test[:60]}-{uuid.uuid4().hex[:8]}"

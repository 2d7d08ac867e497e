"""For pytest: shows how two lists of records differ, and starts a Kafka for tests.

Kept apart from the package, so that a test run that doesn't use Headrace doesn't import it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from headrace.embedded import EmbeddedKafka


def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> list[str] | None:
    """Called by pytest for a failed comparison; None leaves it to pytest."""
    if op != "==" or "headrace" not in sys.modules:
        return None
    from headrace.testing.diff import explain

    return explain(left, right)


@pytest.fixture(scope="session")
def embedded_kafka() -> Iterator[EmbeddedKafka]:
    """A Kafka of one broker, started when a test first asks for it, for all tests of the run."""
    from headrace.embedded import EmbeddedKafka

    with EmbeddedKafka() as kafka:
        yield kafka

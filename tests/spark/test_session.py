"""What Spark is started with."""

from __future__ import annotations

import pytest

from headrace.spark.session import _java_options


def collectors(options: str) -> list[str]:
    return [each for each in options.split() if each.startswith("-XX:+Use") and "GC" in each]


@pytest.mark.parametrize("given", ["", "-Xss4m -Dsome.name=x"])
def test_a_collector_is_chosen(given: str) -> None:
    options = _java_options(given, None)
    assert collectors(options) == ["-XX:+UseParallelGC"]
    assert options.endswith(given)


def test_java_does_not_start_with_two_collectors() -> None:
    assert collectors(_java_options("-Xss4m -XX:+UseG1GC", None)) == ["-XX:+UseG1GC"]

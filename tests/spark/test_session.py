"""What Spark is started with."""

from __future__ import annotations

import pytest

from headrace import ConfigError, StreamsConfig
from headrace.spark.session import _java_options, check_secrets


def collectors(options: str) -> list[str]:
    return [each for each in options.split() if each.startswith("-XX:+Use") and "GC" in each]


@pytest.mark.parametrize("given", ["", "-Xss4m -Dsome.name=x"])
def test_a_collector_is_chosen(given: str) -> None:
    options = _java_options(given, None)
    assert collectors(options) == ["-XX:+UseParallelGC"]
    assert options.endswith(given)


def test_java_does_not_start_with_two_collectors() -> None:
    assert collectors(_java_options("-Xss4m -XX:+UseG1GC", None)) == ["-XX:+UseG1GC"]


class Session:
    """As much of a SparkSession as is asked for."""

    def __init__(self, master: str, **conf: str) -> None:
        self.sparkContext = self
        self.master = master
        self._conf = {key.replace("_", "."): value for key, value in conf.items()}

    def getConf(self) -> dict[str, str]:  # noqa: N802
        return self._conf


PASSWORD = {"sasl.password": "hunter2"}
ALLOWED = {"allow.secrets.without.spark.authenticate": True}


def test_secrets_are_not_sent_to_a_cluster_that_asks_nobody_who_he_is() -> None:
    config = StreamsConfig({**PASSWORD, "server.token": "t" * 32})
    with pytest.raises(ConfigError) as caught:
        check_secrets(Session("spark://m:7077"), config)  # type: ignore[arg-type]
    text = str(caught.value)
    assert text.startswith("sasl.password, server.token would be sent to the executors of spark://")
    assert "spark.authenticate" in text
    assert "allow.secrets.without.spark.authenticate" in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("session", "settings"),
    [
        (Session("local[2]"), PASSWORD),
        (Session("spark://m:7077", spark_authenticate="true"), PASSWORD),
        (Session("yarn"), {**PASSWORD, **ALLOWED}),
        (Session("yarn"), {"client.id": "me"}),
    ],
)
def test_secrets_go_where_they_are_safe(session: Session, settings: dict[str, object]) -> None:
    check_secrets(session, StreamsConfig(settings))  # type: ignore[arg-type]

"""The server of an application on a real Kafka and a real Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from headrace import ConfigError, State, StreamsBuilder, TimeWindows, Topology, serdes
from tests.integration.applications import Cluster, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TOKEN = "only-who-knows-this-may-ask"
TEXT = serdes.string()


def topology(source: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(source, key=TEXT, value=serdes.json())
    grouped = stream.filter(lambda _, order: order["amount"] > 0).group_by_key()
    grouped.count("counts")
    minutes = TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(hours=1))
    grouped.windowed_by(minutes).count("windows")
    return builder.build()


def asking(address: str, token: str | None = TOKEN) -> Callable[..., Any]:
    """Asks, and gives the status and the JSON."""

    def ask(path: str, method: str = "GET") -> tuple[int, Any]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            with urlopen(Request(address + path, headers=headers, method=method)) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    return ask


def test_an_application_answers_requests(cluster: Cluster, name: str) -> None:
    source, dead = f"{name}.in", f"{name}.dead"
    cluster.kafka.create_topic(source, 3)
    cluster.kafka.create_topic(dead, 1)
    orders = [
        (b"k/%d" % (i % 7), b'{"amount":1}', 1_700_000_000_000 + i * 1000) for i in range(700)
    ]
    cluster.send(source, [*orders, (b"bad", b"not JSON", 1_700_000_000_000)])
    settings = {
        "application_server": "localhost:0",
        "server_token": TOKEN,
        "deserialization_exception_handler": "log_and_continue",
        "errors_dead_letter_queue_topic_name": dead,
    }
    streams = cluster.application(topology(source), name, **settings)
    assert streams.server_address is None
    with streams:
        address = streams.server_address
        assert address is not None
        ask = asking(address)
        # It answers before the stores can be read, and says that they can be read later.
        status, early = ask("/v1/stores/counts/value?key=k")
        assert (status, early["kind"]) in ((503, "rebalancing"), (404, "no-such-key"))
        assert ask("/v1/health")[0] == 200
        assert asking(address, None)("/v1/state")[0] == 401
        wait_until(lambda: streams.status().records_total >= 700, "all to be counted", streams)
        for number in range(7):
            status, found = ask(f"/v1/stores/counts/value?key={quote(f'k/{number}', safe='')}")
            assert (status, found["value"]) == (200, 100)
        entries: list[Any] = []
        cursor = ""
        while True:
            _, page = ask(f"/v1/stores/counts/entries?limit=2{cursor}")
            entries += page["items"]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert {entry["key"]: entry["value"] for entry in entries} == {
            f"k/{number}": 100 for number in range(7)
        }
        _, windows = ask("/v1/stores/windows/windows?limit=1000")
        assert sum(window["value"] for window in windows["items"]) == 700
        _, state = ask("/v1/state")
        assert state["state"] == "RUNNING"
        assert state["tasks"] == 3
        _, tasks = ask("/v1/tasks")
        assert sum(task["records_total"] for task in tasks["tasks"]) >= 700
        positions = [part["position"] for task in tasks["tasks"] for part in task["inputs"]]
        assert sum(positions) >= 701
        status, lags = ask("/v1/lags")
        assert status == 200
        assert {lag["store"] for lag in lags["lags"]} == {"counts", "windows"}
        assert sum(lag["lag"] for lag in lags["lags"]) == 0
        _, where = ask("/v1/metadata/key?store=counts&key=k%2F3")
        assert where["active"]["port"] == int(address.rpartition(":")[2])
        status, letters = ask("/v1/dead-letters")
        assert status == 200
        (letter,) = letters["records"]
        assert (letter["key"], letter["value"], letter["source_topic"]) == (
            "bad",
            "not JSON",
            source,
        )
        status, latest = ask(f"/v1/topics/{source}/records?limit=3")
        assert status == 200
        assert [record["timestamp"] for record in latest["records"]] == [
            1_700_000_000_000 + i * 1000 for i in (699, 698, 697)
        ]
        assert latest["records"][0]["key"] == "k/6"
        assert latest["records"][0]["value"] == {"amount": 1}
        assert ask(f"/v1/topics/{dead}/records")[0] == 404
        # While it is paused, everything can be read and nothing is counted.
        assert ask("/v1/pause", "POST")[1]["paused"] is True
        assert ask("/v1/resume", "POST")[1]["paused"] is False
        cluster.send(source, orders[:7])

        def counted() -> bool:
            status, found = ask("/v1/stores/counts/value?key=k%2F0")
            assert status in (200, 503), found
            return status == 200 and found["value"] == 101

        wait_until(counted, "the record after the pause", streams)
    with pytest.raises(OSError, match=r"refused|reset"):
        ask("/v1/state")


def test_an_error_is_seen_and_the_server_ends_with_the_application(
    cluster: Cluster, name: str
) -> None:
    cluster.kafka.create_topic(f"{name}.in", 1)
    cluster.send(f"{name}.in", [(b"k", b"not JSON")])
    streams = cluster.application(topology(f"{name}.in"), name, application_server=":0")
    with streams:
        address = streams.server_address
        assert address is not None
        ask = asking(address, None)
        assert streams.wait_for(State.ERROR, timeout=timedelta(seconds=60))
        assert ask("/v1/health")[0] == 503
        _, failures = ask("/v1/errors")
        (failure,) = failures["errors"]
        assert failure["kind"] == "SerializationError"
        assert failure["task"] == "0_0"
        assert ask("/v1/state")[1]["last_error"] == failure["message"]
        assert ask("/v1/stores/counts/value?key=k")[1]["kind"] == "stopped"


def test_a_server_that_cannot_be_is_an_error_at_the_start(cluster: Cluster, name: str) -> None:
    cluster.kafka.create_topic(f"{name}.in", 1)
    streams = cluster.application(topology(f"{name}.in"), name, application_server="0.0.0.0:0")
    with pytest.raises(ConfigError, match=r"server\.token"):
        streams.start()
    assert streams.state is State.CREATED

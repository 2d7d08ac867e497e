"""Every route, and what it answers."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, serdes
from headrace.app.lifecycle import State
from headrace.core.record import ConsumerRecord
from tests.server.application import FakeStreams, client
from tests.server.client import Client


def problem(answer: Any, status: int, kind: str) -> dict[str, Any]:
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    form: dict[str, Any] = answer.json()
    assert form["kind"] == kind, form
    assert form["status"] == status
    assert form["type"] == f"urn:headrace:problem:{kind}"
    assert form["title"]
    return form


def found(answer: Any) -> Any:
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


# How the application is


def test_state(asking: Client) -> None:
    state = found(asking.get("/v1/state"))
    assert state["application_id"] == "app"
    assert state["state"] == "RUNNING"
    assert state["paused"] is False
    assert state["tasks"] == 2
    assert (state["records_total"], state["lag"], state["batches"]) == (4, 5, 2)
    assert (state["rate"], state["batch_ms"]) == (1.2, 12.5)
    assert state["restoring"] == [
        {
            "store": "counts",
            "topic": "app-counts-changelog",
            "partition": 1,
            "start": 0,
            "end": 9,
            "offset": 4,
        }
    ]
    assert state["last_error"] == "It failed in …/state.mdb."


@pytest.mark.parametrize(
    ("state", "status"),
    [(State.RUNNING, 200), (State.REBALANCING, 200), (State.ERROR, 503), (State.CREATED, 503)],
)
def test_health(fresh: FakeStreams, state: State, status: int) -> None:
    fresh.state = state
    answer = client(fresh).get("/v1/health")
    assert answer.status == status
    assert answer.json() == {"healthy": status == 200, "state": state.value}


def test_topology(asking: Client, streams: FakeStreams) -> None:
    topology = found(asking.get("/v1/topology"))
    assert topology["description"] == str(streams.topology.describe())
    (part,) = topology["subtopologies"]
    assert {*part["stores"]} == {"counts", "windows", "sessions", "versions"}
    source = next(node for node in part["nodes"] if node["kind"] == "source")
    assert source["topics"] == ["in"]
    assert [source["name"], part["nodes"][-1]["name"]] in part["edges"]
    topics = {topic["name"]: topic for topic in topology["topics"]}
    assert topics["in"]["read_by"] == [source["name"]]
    assert topics["out"]["written_by"]
    assert topics["out"]["internal"] is False


def test_picture_names_what_the_topology_names(asking: Client) -> None:
    picture = found(asking.get("/v1/topology/picture"))
    shapes = {(shape["kind"], shape["name"]) for shape in picture["shapes"]}
    assert {("topic", "in"), ("topic", "out"), ("store", "counts")} <= shapes


def test_tasks(asking: Client) -> None:
    first, second = found(asking.get("/v1/tasks"))["tasks"]
    assert first["id"] == "0_0"
    assert first["worker"] == "worker-1"
    assert (first["records_total"], first["rate"], first["restored_total"]) == (4, 1.2, 7)
    (part,) = first["inputs"]
    assert (part["topic"], part["position"], part["end"], part["lag"]) == ("in", 3, 8, 5)
    assert first["lag"] == 5
    assert first["dropped_total"] == 2
    assert {*first["stores"]} == {"counts", "windows", "sessions", "versions"}
    assert (second["worker"], second["lag"], second["records_total"]) == (None, None, 0)


def test_before_the_start_there_are_no_tasks(fresh: FakeStreams) -> None:
    fresh.plan = None
    fresh.state = State.CREATED
    asking = client(fresh)
    assert found(asking.get("/v1/tasks")) == {"tasks": []}
    assert found(asking.get("/v1/state"))["tasks"] == 0
    assert found(asking.get("/v1/stores/counts"))["partitions"] == []
    assert found(asking.get("/v1/topology"))["topics"][0]["partitions"] is None


def test_configuration_has_no_secrets(fresh: FakeStreams) -> None:
    fresh.config = StreamsConfig(
        {
            **fresh.config.given(),
            "server.token": "hidden-hidden-hidden",
            "sasl.password": "hidden-hidden-hidden",
        }
    )
    answer = client(fresh).get("/v1/config")
    assert "hidden" not in answer.text
    settings = {setting["key"]: setting for setting in found(answer)["settings"]}
    assert settings["server.token"]["value"] == settings["sasl.password"]["value"] == "****"
    assert settings["application.id"] == {
        "key": "application.id",
        "value": "app",
        "given": True,
        "importance": "high",
        "doc": settings["application.id"]["doc"],
    }
    assert settings["sasl.password"]["importance"] == "client"
    assert settings["num.stream.threads"]["value"] is None


def test_metrics_and_errors(asking: Client) -> None:
    total, rate = found(asking.get("/v1/metrics"))["metrics"]
    assert (total["name"], total["value"]) == ("dropped-records-total", 2.0)
    assert total["tags"] == {"task-id": "0_0", "thread-id": "app-0"}
    assert (rate["name"], rate["value"]) == ("dropped-records-rate", None)
    failures = found(asking.get("/v1/errors"))
    assert failures["dropped_total"] == 2
    assert failures["errors"][0] == {
        "at": 2000,
        "kind": "ProcessingError",
        "message": "Boom in …/x.py",
        "task": "0_0",
        "worker": "worker-1",
    }
    assert failures["errors"][1]["task"] is None


def test_prometheus(asking: Client) -> None:
    answer = asking.get("/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    task = 'headrace_task_dropped_records_total{task_id="0_0"} 2.0'
    assert task in answer.text.splitlines()


def test_dead_letters(fresh: FakeStreams) -> None:
    asking = client(fresh)
    assert found(asking.get("/v1/dead-letters")) == {"topic": None, "records": []}
    fresh.config = StreamsConfig(
        {**fresh.config.given(), "errors.dead.letter.queue.topic.name": "dead"}
    )
    headers = (
        ("__streams.errors.exception", b"ValueError"),
        ("__streams.errors.message", b"no number in /srv/app/orders.py"),
        ("__streams.errors.topic", b"in"),
        ("__streams.errors.partition", b"1"),
        ("__streams.errors.offset", b"17"),
    )
    fresh.topics["dead"] = [
        ConsumerRecord("dead", 0, 5, 99, b"k", b"\xff", headers),
        ConsumerRecord("dead", 0, 4, 98, None, b"x" * 5000, ()),
    ]
    asking = client(fresh)
    letters = found(asking.get("/v1/dead-letters"))
    assert letters["topic"] == "dead"
    assert letters["records"][0] == {
        "partition": 0,
        "offset": 5,
        "timestamp": 99,
        "key": "k",
        "value": "/w==",
        "error": "ValueError",
        "message": "no number in …/orders.py",
        "source_topic": "in",
        "source_partition": 1,
        "source_offset": 17,
    }
    assert len(letters["records"][1]["value"]) == 2001
    assert len(found(asking.get("/v1/dead-letters?limit=1"))["records"]) == 1


def test_records_of_a_topic(fresh: FakeStreams) -> None:
    fresh.topics["in"] = [
        ConsumerRecord("in", 1, 7, 99, b"alice", b"<b>", ()),
        ConsumerRecord("in", 0, 5, 98, None, None, ()),
        ConsumerRecord("in", 0, 4, 97, None, b"x" * 5000, ()),
    ]
    records = found(client(fresh).get("/v1/topics/in/records"))
    assert records["topic"] == "in"
    first, second, third = records["records"]
    assert first == {
        "partition": 1,
        "offset": 7,
        "timestamp": 99,
        "key": "alice",
        "value": "PGI+",
        "problem": None,
    }
    assert (second["key"], second["value"], second["problem"]) == (None, None, None)
    assert len(third["value"]) == 2001
    assert len(found(client(fresh).get("/v1/topics/in/records?limit=1"))["records"]) == 1
    assert found(client(fresh).get("/v1/topics/out/records"))["records"] == []


def test_records_that_their_serdes_cannot_read(fresh: FakeStreams) -> None:
    builder = StreamsBuilder()
    builder.stream("numbers", key=serdes.json(), value=serdes.json()).to("out")
    fresh.topology = builder.build()
    fresh.topics["numbers"] = fresh.topics["out"] = [
        ConsumerRecord("numbers", 0, 2, 97, b'{"a": [1]}', b"\xff", ()),
        ConsumerRecord("numbers", 0, 1, 98, b"no JSON in /srv/app", b"1", ()),
    ]
    asking = client(fresh)
    first, second = found(asking.get("/v1/topics/numbers/records"))["records"]
    assert (first["key"], first["value"]) == ({"a": [1]}, "/w==")
    assert first["problem"].startswith("The value can't be read: ")
    assert (second["key"], second["value"]) == ("no JSON in /srv/app", 1)
    assert second["problem"].startswith("The key can't be read: ")
    for record in found(asking.get("/v1/topics/out/records"))["records"]:
        assert record["problem"] is None or "serde" not in record["problem"]


def test_records_of_other_topics_are_not_told(fresh: FakeStreams) -> None:
    fresh.topics["secret"] = [ConsumerRecord("secret", 0, 0, 0, b"k", b"v", ())]
    problem(client(fresh).get("/v1/topics/secret/records"), 404, "unknown-topic")
    problem(client(fresh).get("/v1/topics/in/records?limit=21"), 400, "bad-parameter")


def test_records_are_read_from_kafka_now_and_then(fresh: FakeStreams) -> None:
    asking = client(fresh)
    assert found(asking.get("/v1/topics/in/records"))["records"] == []
    fresh.topics["in"] = [ConsumerRecord("in", 0, 0, 0, b"k", b"v", ())]
    assert found(asking.get("/v1/topics/in/records"))["records"] == []


def test_pause_and_resume(fresh: FakeStreams) -> None:
    asking = client(fresh)
    assert found(asking.post("/v1/pause"))["paused"] is True
    assert found(asking.get("/v1/state"))["paused"] is True
    assert found(asking.post("/v1/resume"))["paused"] is False
    fresh.state = State.CREATED
    answer = asking.post("/v1/pause")
    problem(answer, 503, "wrong-time")
    assert int(answer.headers["retry-after"]) > 0


# Stores


def test_stores(asking: Client) -> None:
    stores = {store["name"]: store for store in found(asking.get("/v1/stores"))["stores"]}
    assert {name: store["kind"] for name, store in stores.items()} == {
        "counts": "key-value",
        "windows": "window",
        "sessions": "session",
        "versions": "versioned",
    }
    assert found(asking.get("/v1/stores/counts")) == {
        "name": "counts",
        "kind": "key-value",
        "timestamped": True,
        "is_global": False,
        "persistent": True,
        "changelog": "app-counts-changelog",
        "subtopology": 0,
        "partitions": [0, 1],
        "lookups": ["value", "entries"],
        "key_encoding": "text",
    }
    assert (
        "Did you mean 'counts'"
        in problem(asking.get("/v1/stores/cunts"), 404, "unknown-store")["detail"]
    )


def test_value(asking: Client) -> None:
    path = "/v1/stores/counts/value"
    alice = {"key": "alice", "value": 2, "timestamp": 30, "valid_to": None}
    assert found(asking.get(path, key="alice")) == alice
    assert found(asking.get(path, key="YWxpY2U=", encoding="base64")) == alice
    assert found(asking.get(path, key='"alice"', encoding="json")) == alice
    problem(asking.get(path, key="nobody"), 404, "no-such-key")
    problem(asking.get(path), 400, "missing-parameter")
    problem(asking.get(path, key="a", encoding="json"), 400, "bad-argument")
    problem(asking.get(path, key="a", encoding="xml"), 400, "bad-parameter")
    problem(asking.get(path, key="a", as_of=5), 400, "bad-parameter")
    problem(asking.get(path, key="a", partition=7), 404, "unknown-partition")
    problem(asking.get(f"{path}?key=a&key=b"), 400, "bad-parameter")
    assert (
        "Did you mean key?"
        in problem(asking.get(f"{path}?kay=a"), 400, "unknown-parameter")["hint"]
    )
    problem(asking.get("/v1/stores/cunts/value", key="a"), 404, "unknown-store")
    problem(asking.get("/v1/stores/windows/value", key="a"), 400, "wrong-store-kind")


def test_a_key_is_in_one_partition(asking: Client) -> None:
    path = "/v1/stores/counts/value"
    statuses = [asking.get(path, key="alice", partition=number).status for number in (0, 1)]
    assert sorted(statuses) == [200, 404]


def test_entries(asking: Client) -> None:
    path = "/v1/stores/counts/entries"
    whole = found(asking.get(path))
    assert whole["next"] is None
    assert sorted((item["key"], item["value"]) for item in whole["items"]) == [
        ("alice", 2),
        ("bob", 1),
        ("carol", 1),
    ]
    pages: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = found(asking.get(path, None, limit=1, **cursor))
        pages += page["items"]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert pages == whole["items"]
    keys = [item["key"] for item in found(asking.get(path, order="desc"))["items"]]
    assert sorted(keys) == ["alice", "bob", "carol"]
    ranged = found(asking.get(f"{path}?from=b&to=bz"))["items"]
    assert [item["key"] for item in ranged] == ["bob"]
    prefixed = found(asking.get(path, prefix="al"))["items"]
    assert [item["key"] for item in prefixed] == ["alice"]
    assert prefixed == found(asking.get(path, prefix="YWw=", encoding="base64"))["items"]
    problem(asking.get(f"{path}?from=b&prefix=b"), 400, "bad-parameter")
    problem(asking.get(path, cursor="x"), 400, "bad-argument")
    for limit in ("0", "1001", "x", "1.5", "٣"):
        problem(asking.get(path, limit=limit), 400, "bad-parameter")


def test_windows(asking: Client) -> None:
    path = "/v1/stores/windows/windows"
    alice = {"key": "alice", "start": 0, "end": 60_000, "value": 2, "timestamp": 30}
    assert found(asking.get(path, key="alice")) == {"items": [alice], "next": None}
    assert len(found(asking.get(path))["items"]) == 3
    later = found(asking.get(f"{path}?from=60000&to=60000&order=desc"))["items"]
    assert [item["key"] for item in later] == ["carol"]
    ranged = found(asking.get(path, key_from="a", key_to="b"))["items"]
    assert ranged == [alice]
    problem(asking.get(path, key="a", key_to="b"), 400, "bad-parameter")
    problem(asking.get(f"{path}?from=-1"), 400, "bad-parameter")
    problem(asking.get("/v1/stores/counts/windows"), 400, "wrong-store-kind")


def test_sessions(asking: Client) -> None:
    path = "/v1/stores/sessions/sessions"
    alice = {"key": "alice", "start": 10, "end": 30, "value": 2, "timestamp": None}
    for order in ("asc", "desc"):
        assert found(asking.get(path, key="alice", order=order))["items"] == [alice]
    assert len(found(asking.get(path, order="desc"))["items"]) == 3
    assert found(asking.get(path, key_from="a", key_to="b"))["items"] == [alice]
    assert [i["key"] for i in found(asking.get(f"{path}?from=1000"))["items"]] == ["carol"]


@pytest.mark.parametrize(
    ("path", "timestamp"),
    [("counts/entries", 30), ("windows/windows", 30), ("sessions/sessions", None)],
)
def test_keys_and_values_as_bytes(asking: Client, path: str, timestamp: int | None) -> None:
    items = found(asking.get(f"/v1/stores/{path}", raw="true"))["items"]
    (alice,) = (item for item in items if item["key"] == "YWxpY2U=")
    assert (alice["value"], alice["timestamp"]) == ("AAAAAAAAAAI=", timestamp)


def test_a_value_as_bytes(asking: Client) -> None:
    count = found(asking.get("/v1/stores/counts/value", key="alice", raw="true"))
    assert (count["key"], count["value"]) == ("YWxpY2U=", "AAAAAAAAAAI=")
    version = found(asking.get("/v1/stores/versions/value", key="alice", raw="true"))
    assert (version["key"], version["value"]) == ("YWxpY2U=", "Yw==")


def test_versions(asking: Client) -> None:
    first = {"value": "YQ==", "timestamp": 10, "valid_to": 30}
    second = {"value": "Yw==", "timestamp": 30, "valid_to": None}
    path = "/v1/stores/versions/versions"
    assert found(asking.get(path, key="alice"))["items"] == [first, second]
    assert found(asking.get(path, key="alice", order="desc"))["items"] == [second, first]
    page = found(asking.get(path, key="alice", limit=1))
    assert page["items"] == [first]
    assert found(asking.get(path, key="alice", cursor=page["next"]))["items"] == [second]
    assert found(asking.get(f"{path}?key=alice&from=0&to=20"))["items"] == [first]
    value = found(asking.get("/v1/stores/versions/value", key="alice", as_of=15))
    assert (value["value"], value["timestamp"]) == ("YQ==", 10)
    problem(asking.get("/v1/stores/versions/value", key="alice", as_of=5), 404, "no-such-key")


def test_lags_and_metadata(asking: Client) -> None:
    lag = {"store": "counts", "partition": 0, "current": 3, "end": 5, "lag": 2}
    assert found(asking.get("/v1/lags")) == {"lags": [lag]}
    (instance,) = found(asking.get("/v1/metadata"))["clients"]
    assert (instance["host"], instance["port"]) == ("localhost", 8080)
    assert instance["partitions"][1] == {"topic": "in", "partition": 1}
    key = found(asking.get("/v1/metadata/key", store="counts", key="bob"))
    assert key == {
        "active": {"host": "localhost", "port": 8080},
        "standbys": [],
        "partition": 1,
    }
    problem(asking.get("/v1/metadata/key", store="cunts", key="bob"), 404, "unknown-store")


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (State.CREATED, "not-started"),
        (State.REBALANCING, "rebalancing"),
        (State.NOT_RUNNING, "stopped"),
        (State.ERROR, "stopped"),
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/stores/counts/value?key=alice",
        "/v1/stores/counts/entries",
        "/v1/stores/windows/windows",
        "/v1/stores/sessions/sessions",
        "/v1/stores/versions/versions?key=alice",
        "/v1/lags",
        "/v1/metadata/key?store=counts&key=alice",
    ],
)
def test_what_is_not_there_now_is_not_unknown(
    streams: FakeStreams, path: str, state: State, kind: str
) -> None:
    streams.state = state
    try:
        answer = client(streams).get(path)
    finally:
        streams.state = State.RUNNING
    problem(answer, 503, kind)
    assert int(answer.headers["retry-after"]) > 0


def test_a_partition_that_is_restored_is_not_there_now(fresh: FakeStreams) -> None:
    asking = client(fresh)
    for task in ("0_0", "0_1"):
        fresh.inner.directory.task(task).joinpath("data.mdb").unlink()
    time.sleep(0.06)
    problem(asking.get("/v1/stores/counts/value?key=alice"), 503, "store-not-available")
    problem(asking.get("/v1/stores/counts/entries"), 503, "store-not-available")


# All of them


def test_what_has_not_changed_is_not_sent_again(asking: Client) -> None:
    for path in ("/v1/topology", "/openapi.json", "/", "/console/main.js", "/v1/stores"):
        first = asking.get(path)
        tag = first.headers["etag"]
        again = asking.get(path, headers={"If-None-Match": f'"other", W/{tag}'})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == tag
        assert asking.get(path, headers={"If-None-Match": '"other"'}).status == 200


def test_paths_and_methods(asking: Client) -> None:
    problem(asking.get("/v2/state"), 404, "unknown-path")
    problem(asking.get("/v1/state/"), 404, "unknown-path")
    problem(asking.get("/console/../web.py"), 404, "unknown-path")
    problem(asking.get("/console/%2e%2e%2fweb.py"), 404, "unknown-path")
    answer = asking.post("/v1/state")
    problem(answer, 405, "wrong-method")
    assert "GET" in answer.headers["allow"]
    problem(asking.get("/v1/pause"), 405, "wrong-method")
    assert asking.request("HEAD", "/v1/state").status == 200


def test_accept(asking: Client) -> None:
    problem(asking.get("/v1/state", {"Accept": "text/html"}), 406, "not-acceptable")
    for accept in ("*/*", "application/json;q=0.5", "text/html, application/*"):
        assert asking.get("/v1/state", {"Accept": accept}).status == 200


def test_the_console_runs_nothing_from_elsewhere(asking: Client) -> None:
    page = asking.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert asking.get("/v1/state").headers["x-content-type-options"] == "nosniff"

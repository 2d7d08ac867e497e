"""The server does what its OpenAPI document says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from headrace import StreamsConfig
from headrace.core.record import ConsumerRecord
from headrace.server.service import Service
from tests.server.application import TOKEN, FakeStreams

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
)
TOPICS = ["in", "out"]
KEYS = ["alice", "bob", "carol", "nobody"]
STORES = ["counts", "windows", "sessions", "versions"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    streams = FakeStreams(tmp_path_factory.mktemp("state"))
    streams.config = StreamsConfig(
        {
            **streams.config.given(),
            "application.server": "localhost:0",
            "server.token": TOKEN,
            "server.requests.per.second": 100_000,
        }
    )
    record = ConsumerRecord("in", 0, 5, 99, b"alice", b"a", ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headrace.server.service.latest_records", lambda *_: [record])
        with closing(Service(streams)) as found:
            yield found


def document(service: Service) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    schema = schemathesis.openapi.from_url(f"{service.address}/openapi.json", headers=headers)
    schema.raw_schema["servers"] = [{"url": service.address}]
    return schema


def test_the_document_is_valid(service: Service) -> None:
    document(service).validate()


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_answer_is_undocumented(service: Service, mode: str) -> None:
    """Requests as the document says, with stores and keys that are there now and then; and
    requests that it doesn't allow."""
    generation = schemathesis.GenerationMode(mode)
    asked: dict[int, int] = {}

    def check(operation: Any) -> None:
        @settings(
            max_examples=12 if mode == "positive" else 36,
            deadline=None,
            database=None,
            derandomize=True,  # what is asked must not be up to chance, as it is counted below
            suppress_health_check=[*HealthCheck],
        )
        @given(case=operation.as_strategy(generation_mode=generation), data=st.data())
        def run(case: Any, data: st.DataObject) -> None:
            for place in (case.path_parameters, case.query):
                for name, known in (("store", STORES), ("key", KEYS), ("topic", TOPICS)):
                    if place and name in place and data.draw(st.booleans()):
                        place[name] = data.draw(st.sampled_from(known))
            response = case.call(
                base_url=service.address, headers={"Authorization": f"Bearer {TOKEN}"}
            )
            asked[response.status_code] = asked.get(response.status_code, 0) + 1
            case.validate_response(response, checks=CHECKS)

        run()

    for found in document(service).get_all_operations():
        operation = found.ok()
        if mode == "positive" or operation.query:
            check(operation)
    assert asked.get(200, 0) > (100 if mode == "positive" else 0), asked
    assert asked.get(400, 0) > 0

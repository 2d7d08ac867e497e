"""Gadgets in what Headrace itself writes to Kafka, and somebody else may have written."""

from __future__ import annotations

import base64
import json
import struct

from headrace.engine.claim import Claimed
from headrace.kafka import metadata
from headrace.ksql.commands import Command
from tests.gadgets.gadget import Gadget, Gadgets
from tests.ksql.servers import TestServer


def test_the_metadata_of_positions(gadgets: Gadgets) -> None:
    for gadget in gadgets:
        assert metadata.decode(gadget.text)[1] == {}
        encoded = base64.b64encode(gadget.data).decode()
        assert metadata.decode(encoded)[1] == {}
        head = struct.pack(">bqi", 2, 0, 1)
        metadata.decode(base64.b64encode(head + gadget.data).decode())


def test_names_in_the_metadata_of_positions(gadgets: Gadgets) -> None:
    for gadget in gadgets:
        named = {gadget.text: 1}
        assert metadata.decode(metadata.encode(5, named)) == (5, named)
        assert metadata.gathered([named]) == named


def test_the_claim(gadgets: Gadgets) -> None:
    for gadget in gadgets:
        claimed = Claimed(1, 1, gadget.text, {gadget.text: (gadget.text, 1)})
        assert Claimed.from_json(claimed.to_json()) == claimed
    gadgets.put_to(lambda gadget: Claimed.from_json(gadget.data))


def test_records_of_the_command_topic(gadgets: Gadgets) -> None:
    gadgets.put_to(lambda gadget: Command.from_bytes(gadget.data))
    for part in ("version", "statement", "properties", "topics"):

        def put(gadget: Gadget, part: str = part) -> None:
            form = {"version": 1, "statement": "", "properties": {}, "topics": {}}
            Command.from_bytes(json.dumps(form | {part: gadget.text}).encode())

        gadgets.put_to(put)


def test_commands_that_are_executed(gadgets: Gadgets) -> None:
    """A server reads them when it starts, and goes on with the next."""
    first = TestServer()
    with first.log.writing() as writer:
        for gadget in gadgets:
            writer.append(Command(gadget.text, {gadget.text: gadget.text}))
            writer.append(Command(gadget.text))
    first.close()
    second = TestServer(first.cluster, first.log)
    second.run("CREATE STREAM s (a STRING) WITH (kafka_topic='s', partitions=1, format='JSON');")
    assert [each["name"] for each in second.run("LIST STREAMS;")[0]["streams"]] == ["S"]
    second.close()
    assert len(list(gadgets)) == len(gadgets)

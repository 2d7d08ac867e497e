"""The settings of Kafka clients: given once, under Java's names, for librdkafka and for Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from headrace.core.client_settings import CLIENT_PREFIXES, CLIENT_SETTINGS
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.core.known_keys import shown_value
from headrace.kafka import security
from headrace.kafka.client_keys import LIBRDKAFKA_NAMES, LIBRDKAFKA_ONLY, SECURITY
from headrace.kafka.durations import iso_duration
from headrace.topology.nodes import AutoOffsetReset

logger = logging.getLogger("headrace.kafka")

_DEFAULTS = {
    # Short at first: a new client needs two or three retries to find its coordinator.
    "retry.backoff.ms": "10",
    "retry.backoff.max.ms": "1000",
    "reconnect.backoff.ms": "10",
    "reconnect.backoff.max.ms": "1000",
}

_CONSUMER_DEFAULTS = {
    **_DEFAULTS,
    "allow.auto.create.topics": "false",
    "auto.offset.reset": "error",  # readers say themselves where to begin
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "fetch.error.backoff.ms": "100",
    "fetch.queue.backoff.ms": "10",
    "queued.max.messages.kbytes": "16384",
    "queued.min.messages": "50000",
}

_PRODUCER_DEFAULTS: dict[str, Any] = {
    **_DEFAULTS,
    "batch.num.messages": "10000",
    "batch.size": "1000000",
    "compression.type": "lz4",
    "delivery.report.only.error": True,
    "enable.idempotence": "true",
    "linger.ms": "100",  # as Kafka Streams; a commit doesn't wait for it
    "message.max.bytes": "1048576",  # as Java's
    "partitioner": "murmur2_random",  # as Java's
    "queue.buffering.max.kbytes": "65536",
    "queue.buffering.max.messages": "200000",
    "transaction.timeout.ms": "60000",
}

_JAVA_DEFAULTS = {
    # The long poll of a cached consumer would hold up the next batch for so long.
    "fetch.max.wait.ms": "10",
    "max.poll.records": "10000",
    "fetch.max.bytes": str(64 * 1024 * 1024),
    "receive.buffer.bytes": str(1024 * 1024),
    "metadata.max.age.ms": "5000",
    # Brokers that are gone are waited for so long, even when a client is only to be closed.
    "request.timeout.ms": "10000",
    "default.api.timeout.ms": "15000",
}

_MB = 1024 * 1024

_NOT_FOR_JAVA = SECURITY | LIBRDKAFKA_ONLY | {"allow.auto.create.topics", "auto.offset.reset"}
"""Spark sets the last two itself."""


class ClientSettings:
    """What clients are made with. Can be pickled, and doesn't print secrets."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        config = config if isinstance(config, StreamsConfig) else StreamsConfig(config)
        config.require("application.id", "bootstrap.servers")
        self.application_id = config.application_id
        self.exactly_once = config["processing.guarantee"] == "exactly_once_v2"
        self.task_timeout_ms: int = config["task.timeout.ms"]
        self._interrupted: Callable[[], bool] | None = None
        self._given = {prefix: config.client_settings(prefix) for prefix in ("", *CLIENT_PREFIXES)}
        # What can't be translated is better said now than later, on another machine.
        self.consumer()
        self.producer()
        self.spark()
        self.offset_reset()

    def interrupted_by(self, event: threading.Event) -> ClientSettings:
        """The same, for clients that give up what they try again and again when it is set."""
        settings = copy(self)
        settings._interrupted = event.is_set
        return settings

    def is_interrupted(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return self._interrupted is not None and self._interrupted()

    def timeout_s(self, given: float | None = None) -> float:
        """How long passing errors are tried again."""
        return self.task_timeout_ms / 1000 if given is None else given

    @property
    def bootstrap_servers(self) -> str:
        """Where the brokers are."""
        return str(self._given[""]["bootstrap.servers"])

    @property
    def transaction_timeout_s(self) -> float:
        """After so long the brokers abort a transaction."""
        return int(self.producer()["transaction.timeout.ms"]) / 1000

    @property
    def isolation_level(self) -> str:
        """Whether source topics are read without what was not committed."""
        if self.exactly_once:
            return "read_committed"
        given = self._merged("c", "consumer", "main.consumer")
        return given.get("isolation.level", "read_uncommitted")

    def offset_reset(self) -> AutoOffsetReset:
        """Where to begin in a source topic without a committed position."""
        text = self._merged("c", "consumer", "main.consumer").get("auto.offset.reset", "earliest")
        strategy, _, duration = text.partition(":")
        if strategy in ("earliest", "latest", "none") and not duration:
            return AutoOffsetReset(strategy)
        if strategy == "by_duration" and (parsed := iso_duration(duration)) is not None:
            return AutoOffsetReset.by_duration(parsed)
        raise ConfigError(
            f"auto.offset.reset must be earliest, latest, none or by_duration:<ISO duration, such "
            f"as PT1H>, but is {text!r}."
        )

    def consumer(
        self, role: str = "main", fetch_wait_ms: int = 10, /, **overrides: Any
    ) -> dict[str, Any]:
        """For a consumer of librdkafka, of role `main`, `restore` or `global`. `overrides` have
        librdkafka's names.

        A fetch that waits for records delays the next seek by as much; a short one is asked again
        and again, so those that don't seek are to take their time.
        """
        given = self._merged("c", "consumer", f"{role}.consumer")
        return {
            **_CONSUMER_DEFAULTS,
            "fetch.wait.max.ms": str(fetch_wait_ms),
            **_for_librdkafka(given),
            "client.id": self._client_id(f"{role}-consumer"),
            # A consumer must have a group, even if it doesn't take part in it.
            "group.id": self.application_id,
            "isolation.level": self.isolation_level if role == "main" else "read_committed",
            **overrides,
        }

    def producer(self, **overrides: Any) -> dict[str, Any]:
        """For a producer of librdkafka; `overrides` have librdkafka's names."""
        given = self._merged("p", "producer")
        told = {
            **_PRODUCER_DEFAULTS,
            **_for_librdkafka(given),
            "client.id": self._client_id("producer"),
        }
        if "buffer.memory" in given:
            told["queue.buffering.max.kbytes"] = str(max(1, int(given["buffer.memory"]) // 1024))
        if level := given.get(f"compression.{told['compression.type']}.level"):
            told["compression.level"] = level
        told |= overrides
        if "transactional.id" in told:
            told["enable.idempotence"] = "true"
            # Nothing in a transaction may take longer than the transaction.
            for key in ("delivery.timeout.ms", "socket.timeout.ms"):
                if key in told:
                    told[key] = min(told[key], told["transaction.timeout.ms"], key=int)
        return told

    def admin(self, **overrides: Any) -> dict[str, Any]:
        """For an admin client of librdkafka; `overrides` have librdkafka's names."""
        return {
            **_DEFAULTS,
            **_for_librdkafka(self._merged("a", "admin")),
            "client.id": self._client_id("admin"),
            **overrides,
        }

    def spark(self, partitions: int = 1) -> dict[str, str]:
        """Options for Spark's Kafka source: those of its JVM client, each named `kafka.…`."""
        return {f"kafka.{key}": value for key, value in self.java(partitions).items()}

    def java(self, partitions: int = 1) -> dict[str, str]:
        """Settings for a client in Spark's JVM, which reads so many partitions."""
        given = self._merged("c", "consumer", "main.consumer")
        told = {
            **_JAVA_DEFAULTS,
            "max.partition.fetch.bytes": str(_fetch_bytes(partitions)),
            **{key: value for key, value in given.items() if key not in _NOT_FOR_JAVA},
            **security.for_java(given),
            "isolation.level": self.isolation_level,
        }
        told.pop("client.id", None)  # of several consumers in one process, it would be the same
        # Java refuses a call that may take less time than one of its requests.
        timeouts = told["default.api.timeout.ms"], told["request.timeout.ms"]
        told["default.api.timeout.ms"] = str(max(map(int, timeouts)))
        return told

    def _merged(self, client: str, *prefixes: str) -> dict[str, str]:
        """What was given for a kind of client ("c", "p" or "a"); the last prefix counts most."""
        general = self._given[""]
        merged = {
            key: value
            for key, value in general.items()
            if key not in CLIENT_SETTINGS or client in CLIENT_SETTINGS[key].clients
        }
        for prefix in prefixes:
            merged |= self._given[prefix]
        # Kafka Streams, too, takes it from the general settings only.
        return merged | {"bootstrap.servers": general["bootstrap.servers"]}

    def _client_id(self, suffix: str) -> str:
        return f"{self._given[''].get('client.id', self.application_id)}-{suffix}"

    def __repr__(self) -> str:
        shown = {
            f"{prefix}.{key}".removeprefix("."): shown_value(key, value)
            for prefix, keys in self._given.items()
            for key, value in keys.items()
        }
        return f"ClientSettings({self.application_id!r}, {shown})"


def _fetch_bytes(partitions: int) -> int:
    """Spark keeps a client for each partition, with what it has fetched and not yet read."""
    return min(8 * _MB, max(_MB, 128 * _MB // partitions))


def _for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    told = {}
    for key, value in given.items():
        if key in LIBRDKAFKA_ONLY:
            told[key] = value
        elif key in LIBRDKAFKA_NAMES:
            # The operating system's default is -1 to Java, and 0 to librdkafka.
            is_default = key.endswith(".buffer.bytes") and value == "-1"
            told[LIBRDKAFKA_NAMES[key]] = "0" if is_default else value
    return told | security.for_librdkafka(given)

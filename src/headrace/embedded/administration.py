"""The administration of an embedded cluster, by listeners that only its owner uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    UserScramCredentialAlteration,
)
from confluent_kafka.cimpl import NewTopic

from headrace.core.errors import BrokerError
from headrace.embedded.acl import Acl

_TIMEOUT_S = 120.0
_POLL_S = 0.02


class Administration:
    """Topics, users and rights. Each call returns when what it did holds."""

    def __init__(self, servers: str) -> None:
        self._client = AdminClient(
            {
                "bootstrap.servers": servers,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,  # A broker that is down is no news here.
            }
        )

    def knows(self, broker: int) -> bool:
        """Whether the cluster counts a broker in."""
        try:
            return broker in self._client.list_topics(timeout=1).brokers
        except KafkaException:
            return False

    def create_topic(self, name: str, partitions: int, config: Mapping[str, str]) -> None:
        new = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(config))
        what = f"create topic {name!r}"
        self._do(lambda: self._client.create_topics([new]), what)

        def has_leaders() -> bool:
            leaders = self.leaders(name)
            return len(leaders) == partitions and min(leaders.values()) >= 0

        self._wait(has_leaders, what, "it has partitions without a leader")

    def leaders(self, topic: str) -> dict[int, int]:
        """The broker that leads each partition, or -1 where none does now."""
        found = self._client.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
        return {number: int(partition.leader) for number, partition in found.items()}

    def make_users(self, credentials: Sequence[UserScramCredentialAlteration]) -> None:
        if credentials:
            alter = self._client.alter_user_scram_credentials
            self._do(lambda: alter(list(credentials)), "make users")

    def allow(self, user: str, acls: Sequence[Acl]) -> None:
        bindings = [acl.binding(user) for acl in acls]
        what = f"let {user} do more"
        self._do(lambda: self._client.create_acls(bindings), what)
        self._wait(lambda: all(self._has(acl, user) for acl in acls), what, "no broker heard of it")

    def revoke(self, user: str, acls: Sequence[Acl]) -> None:
        filters = [acl.filter(user) for acl in acls]
        what = f"let {user} do less"
        self._do(lambda: self._client.delete_acls(filters), what)
        self._wait(
            lambda: not any(self._has(acl, user) for acl in acls), what, "no broker heard of it"
        )

    def _has(self, acl: Acl, user: str) -> bool:
        return bool(self._client.describe_acls(acl.filter(user)).result(_TIMEOUT_S))

    def _do(self, call: Callable[[], Mapping[Any, Future[Any]]], what: str) -> None:
        try:
            for future in call().values():
                future.result(_TIMEOUT_S)
        except KafkaException as error:
            raise BrokerError(f"Can't {what}: {error.args[0].str()}") from error

    def _wait(self, is_done: Callable[[], bool], what: str, why: str) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not is_done():
            if time.monotonic() > deadline:
                raise BrokerError(f"Can't {what}: {why}")
            time.sleep(_POLL_S)

"""The settings of an embedded broker: small, quick, and forgiving about time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

HOST = "127.0.0.1"


class Ports(NamedTuple):
    """Where a broker listens: for clients, for other brokers (and us), for controllers."""

    client: int
    internal: int
    controller: int


def broker_properties(
    node_id: int, cluster: Sequence[Ports], protocol: str, advertised: int | None = None
) -> dict[str, object]:
    """The settings of one of the brokers, numbered from 1, each of which is a controller too.

    `advertised` is the port that clients are told, if it isn't the broker's own.
    """
    ports = cluster[node_id - 1]
    internal = f"INTERNAL://{HOST}:{ports.internal}"
    voters = (f"{node}@{HOST}:{each.controller}" for node, each in enumerate(cluster, start=1))
    alone = len(cluster) == 1
    replicas = min(len(cluster), 3)
    in_sync = max(replicas - 1, 1)
    return {
        "node.id": node_id,
        "process.roles": "broker,controller",
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": (
            f"CLIENT://{HOST}:{ports.client},{internal},CONTROLLER://{HOST}:{ports.controller}"
        ),
        "advertised.listeners": f"CLIENT://{HOST}:{advertised or ports.client},{internal}",
        "listener.security.protocol.map": (
            f"CLIENT:{protocol},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "INTERNAL",
        # A topic that is missing, or was deleted, stays so until somebody creates it.
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        # Some, so that each of several brokers is a coordinator; not the 50 of a real cluster.
        "offsets.topic.num.partitions": 6,
        "transaction.state.log.num.partitions": 6,
        "share.coordinator.state.topic.num.partitions": 6,
        # Records of any time may be written, and stay.
        "log.message.timestamp.after.max.ms": 2**63 - 1,
        "log.retention.ms": -1,
        "group.initial.rebalance.delay.ms": 0,
        # One that was killed may come back only when its session is over.
        "broker.session.timeout.ms": 3_000 if alone else 6_000,
        "broker.heartbeat.interval.ms": 500,
        # One that is alone waits this long, after a restart, before it elects itself.
        "controller.quorum.election.timeout.ms": 100 if alone else 1_000,
        "num.network.threads": 2,
        "num.io.threads": 4,
        # Its default is 128 MB of the heap.
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
    }

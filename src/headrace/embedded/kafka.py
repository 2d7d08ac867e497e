"""A real Kafka on this machine, for tests, demos and trying things out."""

from __future__ import annotations

import random
import shutil
import socket
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from types import TracebackType
from typing import Self

from headrace.core.errors import ArgumentError, BrokerError, StateError
from headrace.embedded.acl import Acl
from headrace.embedded.administration import Administration
from headrace.embedded.directory import ClusterDirectory
from headrace.embedded.process import BrokerProcess
from headrace.embedded.program import BrokerProgram
from headrace.embedded.properties import HOST, Ports, broker_properties
from headrace.embedded.security import ListenerSecurity
from headrace.kafka.jars import Progress

_START_SECONDS = 120.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.02
_LITTLE_SPACE = 1_000_000

# Below the ports that systems give to outgoing connections. A client that keeps trying the port of
# a stopped broker from among those connects to itself some day, and the broker can't come back.
_PORTS = range(10_000, 32_000)


class EmbeddedKafka:
    """A Kafka cluster of this process: it listens on 127.0.0.1 only, and ends with the process.

        with EmbeddedKafka() as kafka:
            kafka.create_topic("purchases", partitions=4)
            … kafka.bootstrap_servers …

    The first start on a machine downloads Kafka (half a minute), later ones take a few seconds.

    `directory`: where data stays, to be found again by the next start. Without it the data goes
        when the cluster stops. Each broker's log is in `broker-<number>/broker.log`.
    `brokers`: numbered from 1. With three or more, topics have three replicas.
    `port`: of the first broker, the others have the next ones; 0 picks free ones. They stay the
        same for the life of this object.
    `security`: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, with `users` and their passwords: for
        SASL, by that `mechanism`, PLAIN or SCRAM-SHA-512; with SSL each has a certificate, without
        which nobody is let in. `client_settings()` is what clients then need.
    `authorizer`: users may do only what `allow` lets them.
    `advertised_ports`: what clients are told instead of the brokers' own ports, one for each. Who
        listens there is to pass on to those of `bootstrap_servers`.
    `properties`: further settings of the brokers.
    `progress`: is given lines for people when something takes long.
    """

    def __init__(
        self,
        directory: Path | str | None = None,
        *,
        brokers: int = 1,
        port: int = 0,
        security: str = "PLAINTEXT",
        users: Mapping[str, str] | None = None,
        mechanism: str = "PLAIN",
        authorizer: bool = False,
        advertised_ports: Sequence[int] | None = None,
        properties: Mapping[str, object] | None = None,
        heap_mb: int = 512,
        progress: Progress | None = None,
    ) -> None:
        if brokers < 1:
            raise ArgumentError(f"brokers={brokers}: at least one is needed")
        self._given = None if directory is None else Path(directory).absolute()
        self._count = brokers
        self._port = port
        self._security = ListenerSecurity(security, users, mechanism, authorizer)
        self._advertised = dict(enumerate(advertised_ports or (), start=1))
        self._properties = dict(properties or {})
        self._heap_mb = heap_mb
        self._progress = progress or (lambda line: None)
        self._ports: list[Ports] = []
        self._cluster: ClusterDirectory | None = None
        self._program: BrokerProgram | None = None
        self._processes: dict[int, BrokerProcess] = {}
        self._writes_archive = False
        self._administration: Administration | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        self._running()
        return ",".join(f"{HOST}:{ports.client}" for ports in self._ports)

    @property
    def directory(self) -> Path:
        """Where settings, logs and data are."""
        return self._running().path

    def client_settings(self, user: str | None = None) -> dict[str, str]:
        """What a client needs to connect, by the names that Kafka's Java clients use.

        `user` is one of `users`, by default the first.
        """
        settings = self._security.client_settings(self.directory, user)
        return {"bootstrap.servers": self.bootstrap_servers, **settings}

    def start(self) -> None:
        """Start all brokers, and return when they serve. Raises BrokerError if they don't."""
        if self._cluster is not None:
            raise StateError("this Kafka is running already")
        program = self._program = BrokerProgram(self._progress)
        self._progress("starting Kafka")
        cluster = self._cluster = ClusterDirectory(self._given, self._count)
        try:
            self._ports = self._ports or self._pick_ports()
            self._require_free(self._ports)
            secured = self._security.broker_properties(cluster.path)
            for node in range(1, self._count + 1):
                process = BrokerProcess(cluster, node)
                properties = broker_properties(
                    node, self._ports, self._security.protocol, self._advertised.get(node)
                )
                properties["log.dirs"] = process.data
                process.configure({**properties, **secured, **self._properties})
                if not (process.data / "meta.properties").exists():
                    program.format(process.data, cluster.cluster_id, node)
                self._processes[node] = process
            self._launch(self._processes)
            self._admin().make_users(self._security.credentials())
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop all brokers. Data in a directory that was given stays."""
        self._administration = None
        # What doesn't stay needs no order.
        if self._given or self._writes_archive:
            self._end(self._processes, SIGTERM)
        self.kill()

    def kill(self) -> None:
        """Like `stop`, but as kill -9 does it."""
        self._administration = None  # first: librdkafka may never let go of a broker that is gone
        self._end(self._processes, SIGKILL)
        self._processes = {}
        if self._cluster is not None:
            self._cluster.release()
            self._cluster = None

    def start_broker(self, number: int) -> None:
        """Start a broker that was stopped or killed, and return when it serves."""
        if self._process(number).running:
            raise StateError(f"broker {number} is running already")
        self._launch([number])

    def stop_broker(self, number: int) -> None:
        """Stop a broker in order: it hands over what it leads."""
        self._process(number)
        self._end([number], SIGTERM)

    def kill_broker(self, number: int) -> None:
        """End a broker as kill -9 does it."""
        self._process(number)
        self._end([number], SIGKILL)

    def pause_broker(self, number: int) -> None:
        """Let a broker hang: its connections stay open, but it doesn't answer any more."""
        self._process(number).signal(SIGSTOP)

    def resume_broker(self, number: int) -> None:
        """Let a paused broker go on."""
        self._process(number).signal(SIGCONT)

    def create_topic(self, name: str, partitions: int = 1, **config: object) -> None:
        """Create a topic, and return when it can be used.

        Settings of the topic are keywords, with underscores: `cleanup_policy="compact"`.
        """
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        self._admin().create_topic(name, partitions, settings)

    def allow(self, user: str, *acls: Acl) -> None:
        """Give a user rights, in a cluster with an authorizer."""
        self._admin().allow(user, acls)

    def revoke(self, user: str, *acls: Acl) -> None:
        """Take rights from a user again."""
        self._admin().revoke(user, acls)

    def leader(self, topic: str, partition: int = 0) -> int:
        """The number of the broker that leads a partition, or -1 if none does now."""
        return self._admin().leaders(topic)[partition]

    @property
    def controller(self) -> int:
        """The number of the broker that decides for all, as far as those that run know."""
        self._running()
        votes = [each.last_vote() for each in self._processes.values() if each.running]
        return max(votes, key=lambda vote: vote.epoch).leader

    def _running(self) -> ClusterDirectory:
        if self._cluster is None:
            raise StateError("this Kafka isn't running: call start(), or use it as `with … as`")
        return self._cluster

    def _process(self, number: int) -> BrokerProcess:
        self._running()
        if number not in self._processes:
            raise ArgumentError(f"no broker {number}, only 1 to {self._count}")
        return self._processes[number]

    def _pick_ports(self) -> list[Ports]:
        given = range(self._port, self._port + self._count) if self._port else range(0)
        candidates = random.sample(_PORTS, len(_PORTS))
        free = (port for port in candidates if port not in given and _is_free(port))
        clients = given or [next(free) for _ in range(self._count)]
        return [Ports(client, next(free), next(free)) for client in clients]

    @staticmethod
    def _require_free(ports: Iterable[Ports]) -> None:
        taken = [port for each in ports for port in each if not _is_free(port)]
        if taken:
            raise BrokerError(
                f"Port {taken[0]} is in use by another program: stop that, or choose another port"
            )

    def _launch(self, numbers: Collection[int]) -> None:
        """Start the processes, and wait until every one of them serves."""
        assert self._program is not None
        self._writes_archive = self._count == 1 and not self._program.has_archive
        command = self._program.command(self._heap_mb, archive=self._writes_archive)
        for number in numbers:
            self._processes[number].start(command)
        deadline = time.monotonic() + _START_SECONDS
        for number in numbers:
            process = self._processes[number]
            while not self._serves(number):
                if not process.running:
                    what = "ended while it started"
                elif time.monotonic() > deadline:
                    what = f"doesn't serve after {_START_SECONDS:.0f} s"
                else:
                    time.sleep(_POLL_SECONDS)
                    continue
                # On a full disk it can't even write its log.
                if shutil.disk_usage(self.directory).free < _LITTLE_SPACE:
                    what += f", for the disk of {self.directory} is full"
                said = process.end_of_log() or "(it is empty)"
                raise BrokerError(f"Kafka's broker {number} {what}. Its log ends:\n{said}")

    def _serves(self, number: int) -> bool:
        """Whether it answers, and the cluster counts it in."""
        try:
            socket.create_connection((HOST, self._ports[number - 1].internal), timeout=1).close()
        except OSError:
            return False
        return self._admin().knows(number)

    def _end(self, numbers: Collection[int], how: Signals) -> None:
        for number in numbers:
            self._processes[number].signal(how, SIGCONT)  # A paused one would never notice.
        in_order = how is SIGTERM
        for number in numbers:
            process = self._processes[number]
            if not process.wait(_STOP_SECONDS):
                in_order = False
                process.signal(SIGKILL)
                process.wait(_STOP_SECONDS)
        if self._writes_archive and self._program is not None:
            self._program.take_archive(complete=in_order)
            self._writes_archive = False

    def _admin(self) -> Administration:
        self._running()
        if self._administration is None:
            servers = ",".join(f"{HOST}:{ports.internal}" for ports in self._ports)
            self._administration = Administration(servers)
        return self._administration


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True

"""A slot of an application whose Kafka is the model, and whose time costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from headrace import StreamsConfig, Topology
from headrace.core.record import TopicPartition
from headrace.engine.batch import Batch, Row
from headrace.engine.chunk import Chunk
from headrace.engine.launch import Launch
from headrace.engine.report import TaskReport
from headrace.engine.worker import Worker
from headrace.kafka.port import TopicSpec
from headrace.runtime.columns import Columns
from headrace.state.directory import StateDirectory
from tests.simulation.broker import Broker
from tests.simulation.clients import ModelKafka
from tests.simulation.clock import VirtualClock
from tests.simulation.network import GoodNetwork


class Driver:
    """What the slot tells, and whether it is to stop: after so many signs of life."""

    def __init__(self) -> None:
        self.progress: list[dict[TopicPartition, int]] = []
        self.signs_of_life = 0
        self.stops_after: int | None = None

    def alive(self) -> None:
        self.signs_of_life += 1

    def stop_asked(self) -> bool:
        return self.stops_after is not None and self.signs_of_life >= self.stops_after

    def progressed(self, positions: Mapping[TopicPartition, int]) -> None:
        self.progress.append(dict(positions))

    def starting(self, *_: Any) -> None: ...
    def attempt_failed(self, *_: Any) -> None: ...
    def restore_started(self, *_: Any) -> None: ...
    def batch_restored(self, *_: Any) -> None:
        self.alive()

    def restore_ended(self, *_: Any) -> None: ...


class Application:
    """One slot has all its tasks."""

    def __init__(
        self,
        topology: Topology,
        directory: Path,
        *topics: str,
        partitions: int = 1,
        marker_delays: Iterable[float] = (0.0,),
        **config: Any,
    ) -> None:
        self.topology = topology
        self.clock = VirtualClock()
        self.broker = Broker(self.clock, cycle(marker_delays).__next__)
        self.broker.create(TopicSpec(topic, partitions) for topic in topics)
        self.driver = Driver()
        self.config = StreamsConfig(
            {
                "application.id": "app",
                "bootstrap.servers": "localhost:9092",
                "processing.guarantee": "exactly_once_v2",
                "state.dir": str(directory),
                **{key.replace("__", "."): value for key, value in config.items()},
            }
        )
        self.kafka = self._kafka()
        self.worker = self._start()

    def write(self, topic: str, *records: tuple[str, str | bytes, int], partition: int = 0) -> None:
        """Records of key, value and timestamp."""
        rows = [
            (key.encode(), value if isinstance(value, bytes) else value.encode(), time, ())
            for key, value, time in records
        ]
        self.broker.append(TopicPartition(topic, partition), rows)

    def read(self, topic: str, partition: int = 0) -> list[tuple[str, str]]:
        entries, _ = self.broker.fetch(
            TopicPartition(topic, partition), 0, 1_000_000, committed=True
        )
        return [
            ((entry.key or b"").decode(), (entry.value or b"").decode("latin-1"))
            for entry in entries
        ]

    def positions(self) -> dict[TopicPartition, int]:
        committed = self.kafka.group.committed(self.worker.plan.inputs)
        return {part: position.offset for part, position in committed.items()}

    def batch(self, *, chunk: int = 4000, slot: int = 0) -> list[TaskReport]:
        """All that is there and not committed."""
        return self.run(self.rows(chunk=chunk), slot)

    def run(self, rows: Iterable[Row], slot: int = 0) -> list[TaskReport]:
        # All tasks are in the slot that is run.
        plan = self.worker.plan
        vars(plan)["slot_of"] = {task.id: slot for task in plan.tasks}
        return Batch(self.worker, slot).run(rows)

    def rows(self, upto: int | None = None, chunk: int = 4000) -> Iterable[Row]:
        for part, position in self.positions().items():
            entries, _ = self.broker.fetch(part, position, upto or 1_000_000, committed=True)
            for first in range(0, len(entries), chunk):
                some = entries[first : first + chunk]
                yield (
                    part,
                    Chunk.of(
                        Columns(
                            [entry.offset for entry in some],
                            [entry.timestamp for entry in some],
                            [entry.key for entry in some],
                            [entry.value for entry in some],
                        )
                    ),
                )

    def restart(self) -> None:
        """In another process: of this one's, nothing is left but what is on disk."""
        self.worker.close()
        self.driver.stops_after = None
        self.kafka = self._kafka()
        self.worker = self._start()

    def close(self) -> None:
        self.worker.close()

    def _kafka(self) -> ModelKafka:
        timeout_ms = int(
            self.config.client_settings("producer").get("transaction.timeout.ms", 60e3)
        )
        return ModelKafka(
            self.broker,
            GoodNetwork(self.broker, self.clock),
            "app",
            exactly_once=self.config["processing.guarantee"] == "exactly_once_v2",
            transaction_timeout_s=timeout_ms / 1000,
        )

    def _start(self) -> Worker:
        launch = Launch(self.topology, self.config, self.kafka)
        plan = launch.plan(1)
        launch.claim(plan)
        directory = StateDirectory.of(self.config)
        return Worker(plan, self.kafka, directory, self.driver, self.clock)

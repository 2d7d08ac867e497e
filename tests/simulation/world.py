"""The world of a run: brokers, hosts, drivers, input, and what happens to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from headrace.core.config import StreamsConfig
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.engine.standby import Standby
from headrace.kafka.port import TopicSpec
from headrace.serde.murmur2 import partition_for

from .broker import Broker
from .cases import CACHE, DELETE, EXTRA, EXTRA_OUT, Case
from .chaos import Chaos, ProcessNetwork
from .clients import ModelKafka
from .disk import Host, ModelDisk
from .driver import Driver
from .partition_log import Entry
from .scheduler import START_MS, Process, Scheduler
from .transactions import Producer

APPLICATION = "app"
PARTITIONS = 2
KEYS = [f"k{n}".encode() for n in range(7)]

_FEED_S = 30.0
_CHAOS_S = 60.0
_TRANSACTION_TIMEOUT_S = 60.0
_TASK_TIMEOUT_S = 40.0


class Version(NamedTuple):
    """What is deployed: with one more source or not, so many slots, and whether it takes over from
    an instance that runs."""

    extra: bool
    slots: int
    takes_over: bool


class World:
    def __init__(self, seed: int, case: Case, *, exactly_once: bool, records: int = 200) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        self.case = case
        self.exactly_once = exactly_once
        self.violations: list[str] = []
        self.excuses: list[str] = []
        """Why the application may have ended with an error."""
        self.plans: list[Plan] = []
        self.is_fed = False
        self._random = draw = random.Random(scheduler.random.random())
        self._nature = Process(scheduler, "world")
        self._nature.is_mortal = False
        self.broker = Broker(self._nature.clock, lambda: self.chaos.marker_delay())
        self.chaos = Chaos(scheduler, self.broker, exactly_once=exactly_once)
        scheduler.on_step = self.chaos.step
        self.hosts = [Host("h1"), Host("h2")]
        self._skews: dict[str, int] = {}
        self._records = records
        self._batch = draw.choice((6, 15, 40))
        self._version = self._draw_version(0.3)
        self._may_change = draw.random() < 0.4
        self._has_standbys = draw.random() < 0.3
        self.drivers: list[Driver] = []
        self._ends = 0
        inputs = [*case.inputs, EXTRA]
        self.broker.create(
            TopicSpec(name, PARTITIONS) for name in (*inputs, *case.outputs, EXTRA_OUT)
        )
        self.end: str | None = "it never ran"
        self.plan: Plan | None = None
        """Of the instance that runs in the end."""

    # What processes have

    def kafka(self, process: Process) -> ModelKafka:
        return ModelKafka(
            self.broker,
            ProcessNetwork(self.chaos, process),
            APPLICATION,
            exactly_once=self.exactly_once,
            timeout_s=_TASK_TIMEOUT_S,
            transaction_timeout_s=_TRANSACTION_TIMEOUT_S,
        )

    def config(self, version: Version) -> StreamsConfig:
        guarantee = "exactly_once_v2" if self.exactly_once else "at_least_once"
        return StreamsConfig(
            {
                "application.id": APPLICATION,
                "bootstrap.servers": "model:9092",
                "processing.guarantee": guarantee,
                "commit.interval.ms": 100,
                "num.stream.threads": version.slots,
                "instance.takeover": version.takes_over,
                "max.batch.records": self._batch,
                "task.timeout.ms": int(_TASK_TIMEOUT_S * 1000),
                "repartition.purge.interval.ms": 5000,
                "consumer.auto.offset.reset": "earliest",
                CACHE: 0,
                **self.case.settings,
            }
        )

    def skew_ms(self, host: Host) -> int:
        return self._skews.get(host.name, 0)

    def read(self, part: TopicPartition, start: int, end: int) -> list[Entry]:
        """What Spark's consumers find in a range."""
        while self.broker.is_down:
            self.scheduler.sleep(0.5)
        self.broker.settle()
        entries, _ = self.broker.log(part).read(start, end - start, committed=self.exactly_once)
        return [entry for entry in entries if entry.offset < end]

    def later(self, delay_s: float, action: Callable[[], object]) -> None:
        self.scheduler.spawn(self._nature, action, delay_s)

    # What is observed

    def planned(self, plan: Plan) -> None:
        self.plans.append(plan)

    def reported(self, plan: Plan, reports: list[TaskReport]) -> None:
        """Whoever was told a position must find it in the state of that host (I8)."""
        for report in reports:
            host = next(one for one in self.hosts if report.worker.endswith(one.name))
            place = host.places.get(report.task)
            content = None if place is None else place.content
            if content is None or content.checkpoint is None:
                continue
            if content.checkpoint.run_id != str(plan.run):
                continue
            if place is None or place.writer != report.worker:
                continue  # another attempt has it now
            for topic, offsets in report.positions.items():
                for number, at in offsets.items():
                    part = TopicPartition(topic, int(number))
                    found = content.checkpoint.positions.get(part, 0)
                    if found < at:
                        self.violations.append(
                            f"I8 {report.task} on {host.name} has {part}@{found} in its state, "
                            f"but {at} was reported"
                        )

    # What happens

    def run(self, patience_s: float = 900.0) -> None:
        """Until everything is processed, or it is clear that it won't be."""
        scheduler = self.scheduler
        with scheduler.closing():
            for action in (self._feed, self._deploy, self._disturb):
                scheduler.spawn(self._nature, action)
            scheduler.run(_CHAOS_S)
            self._calm()
            scheduler.run(_CHAOS_S + patience_s, self._is_done)
            self.end = self._ending()
        # The last markers may still be on their way, and transactions open.
        scheduler.now += 2 * _TRANSACTION_TIMEOUT_S
        self.broker.settle()
        scheduler.now += _TRANSACTION_TIMEOUT_S
        self.broker.settle()

    def _ending(self) -> str | None:
        """Why the run is not what it should be in the end: None, if everything is processed."""
        if self._is_done():
            running = [one for one in self.drivers if one.is_running]
            self.plan = running[-1].plan
            return None
        errors = [driver.error for driver in self.drivers[-1:]]
        return f"not everything is processed at {self.scheduler.now:.0f} s; errors: {errors!r}"

    def _calm(self) -> None:
        """No more faults from now on."""
        self.chaos.is_over = True
        self.scheduler.note("world", "--- no more faults")
        self.broker.down_until = 0.0
        for host in self.hosts:
            host.is_full = False

    def _is_done(self) -> bool:
        return self.is_fed and any(
            driver.plan is not None and self._is_processed(driver.plan)
            for driver in self.drivers
            if driver.is_running
        )

    def _is_processed(self, plan: Plan) -> bool:
        self.broker.settle()
        group = self.broker.group(APPLICATION)
        if group.pending:
            return False
        for part in plan.inputs:
            committed = group.offsets.get(part)
            log = self.broker.log(part)
            if log.open or committed is None:
                return False
            # Without transactions a commit that comes late may set back what was committed since:
            # it will be done again, some day.
            done = committed.offset
            if not self.exactly_once:
                done = group.furthest.get(part, done)
            entries, _ = log.read(done, 1, committed=self.exactly_once)
            if entries:
                return False
        return True

    def _feed(self) -> None:
        """Input, bit by bit; some of it in transactions that are open for a while, or aborted."""
        draw, scheduler = self._random, self.scheduler
        topics = [*self.case.inputs] * 6 + [EXTRA]
        left, number = self._records, 0
        while left:
            size = min(left, draw.choice((1, 5, 20, 60)))
            left -= size
            producer = None
            if draw.random() < 0.2:
                number += 1
                producer = self.broker.init_producer(f"upstream-{number}", 60.0)
            written = [self._append(draw.choice(topics), producer) for _ in range(size)]
            if producer is not None:
                # Without transactions, what is aborted is read, too: but not when a table is
                # restored from its topic.
                commits = draw.random() < 0.7 or not self.exactly_once
                if not self.chaos.is_over and draw.random() < 0.3:
                    scheduler.sleep(draw.choice((1.0, 10.0)))
                self.broker.settle()
                self.broker.end_transaction(producer, committed=commits)
                for entry in written:
                    entry.written_at = scheduler.now  # nobody could read it before
            scheduler.sleep(draw.random() * _FEED_S * size / self._records * 2)
        self.is_fed = True
        scheduler.note("world", "--- no more input")

    def _append(self, topic: str, producer: Producer | None) -> Entry:
        draw = self._random
        key = draw.choice(KEYS)
        part = TopicPartition(topic, partition_for(key, self.broker.topics()[topic]))
        log = self.broker.log(part)
        value = f"{part}@{log.end}"
        if draw.random() < 0.08:
            value += DELETE
        time = START_MS + int(self.scheduler.now * 1000) - draw.choice((0, 0, 300, 1500, 9000))
        self.broker.append(part, [(key, value.encode(), time, ())], producer)
        entry = log.written[-1]
        entry.written_at = self.scheduler.now
        return entry

    def _deploy(self) -> None:
        """See that an instance runs. One that has ended with an error is started again."""
        draw = self._random
        while True:
            alive = [one for one in self.drivers if one.is_alive and not one.has_ended]
            if not alive:
                self._ends += 1
                if self._ends > 40:
                    return
                if self.drivers and self.drivers[-1].has_lost_positions:
                    self._reset()
                self._start()
            self.scheduler.sleep(draw.choice((1.0, 4.0)))

    def _start(self) -> None:
        draw = self._random
        if self.drivers and self._may_change and draw.random() < 0.5:
            self._version = self._draw_version(0.5)
        hosts = self.hosts if draw.random() < 0.4 else [draw.choice(self.hosts)]
        if not self.exactly_once:
            hosts = self.hosts[:1]
        name, replaces = f"d{len(self.drivers) + 1}", draw.random() < 0.5
        driver = Driver(self, name, self._version, hosts, replaces=replaces)
        self.drivers.append(driver)
        driver.start()

    def _draw_version(self, extra: float) -> Version:
        draw = self._random
        return Version(draw.random() < extra, draw.choice((1, 2, 3)), draw.random() < 0.6)

    def _disturb(self) -> None:
        """What no call of a process brings about."""
        draw = self._random
        actions: list[Callable[[], None]] = [
            self._restart_driver,
            self._close_driver,
            self._second_driver,
            self._brokers_go_away,
            self._compact,
            self._fill_disk,
            self._set_clock_back,
            self._lose_power,
            self._restore_backup,
            self._remove_state,
            self._reset,
            self._expire_offsets,
            self._delete_group,
        ]
        if self.case.can_grow:
            actions.append(self._grow)
        chosen = draw.sample(actions, draw.choice((0, 2, 4, len(actions))))
        if self._has_standbys:
            self.scheduler.spawn(self._nature, self._keep_standbys)
        while not self.chaos.is_over:
            self.scheduler.sleep(draw.random() * 12)
            if chosen and not self.chaos.is_over:
                action = draw.choice(chosen)
                self.scheduler.note("world", f"*** {action.__name__.strip('_')}")
                self.chaos.landed += 1
                action()

    def _restart_driver(self) -> None:
        alive = [one for one in self.drivers if one.is_alive and not one.has_ended]
        if alive:
            self._random.choice(alive).kill()

    def _close_driver(self) -> None:
        alive = [one for one in self.drivers if one.is_alive and not one.has_ended]
        if alive:
            self._random.choice(alive).close()

    def _second_driver(self) -> None:
        alive = [one for one in self.drivers if one.is_alive and not one.has_ended]
        if len(alive) < 2:
            self._start()

    def _brokers_go_away(self) -> None:
        self.broker.down_until = self.scheduler.now + self._random.choice((0.5, 5.0, 30.0))

    def _compact(self) -> None:
        for name in self.broker.topics():
            self.broker.compact(name)

    def _fill_disk(self) -> None:
        host = self._random.choice(self.hosts)
        host.is_full = True
        self.scheduler.sleep(self._random.choice((0.5, 5.0)))
        host.is_full = False

    def _set_clock_back(self) -> None:
        host = self._random.choice(self.hosts)
        self._skews[host.name] = self._random.choice((-3_600_000, -5_000, 60_000))

    def _lose_power(self) -> None:
        host = self._random.choice(self.hosts)
        for driver in self.drivers:
            for process in [*driver.executors.processes]:
                if process.host is host:
                    process.kill()
        host.lose_power()

    def _restore_backup(self) -> None:
        """Somebody puts an older copy of a state in its place, while nobody has it."""
        host = self._random.choice(self.hosts)
        copies = {
            task: place.content
            for task, place in host.places.items()
            if place.content is not None and place.holder is None
        }
        self.scheduler.sleep(self._random.random() * 10)
        for task, content in copies.items():
            if host.places[task].holder is None:
                host.places[task].put_back(content)

    def _remove_state(self) -> None:
        host = self._random.choice(self.hosts)
        for place in host.places.values():
            if place.holder is None:
                place.content = None

    def _reset(self) -> None:
        """Begin anew, as `headrace reset` does, but without what is on the hosts; and the output
        with it, so that there is one story to tell."""
        for driver in self.drivers:
            driver.kill()
            for process in driver.executors.processes:
                process.kill()
        self.broker.settle()
        self.broker.forget_late()
        outputs = [TopicSpec(name, PARTITIONS) for name in (*self.case.outputs, EXTRA_OUT)]
        for name in self.broker.topics():
            if name.startswith(f"{APPLICATION}-") or name in {spec.name for spec in outputs}:
                self.broker.delete(name)
        self.broker.delete_group(APPLICATION)
        self.broker.create(outputs)

    def _expire_offsets(self) -> None:
        """Kafka forgets positions, of some partitions at least. Who notices begins anew."""
        with self._extra_kept():
            self.broker.expire_offsets(self._random.choice((1.0, 5.0, 20.0)))

    def _delete_group(self) -> None:
        with self._extra_kept():
            self.broker.delete_group(APPLICATION)

    @contextmanager
    def _extra_kept(self) -> Iterator[None]:
        """That the positions of a topic are lost which not all versions read, the next version
        may not notice, nor the one after it."""
        known = self.broker.group(APPLICATION).offsets
        kept = {part: at for part, at in known.items() if part.topic == EXTRA}
        yield
        self.broker.group(APPLICATION).offsets |= kept

    def _grow(self) -> None:
        for name in self.case.inputs:
            if self.broker.topics()[name] == PARTITIONS:
                self.broker.grow(name, PARTITIONS + 1)

    def _keep_standbys(self) -> None:
        """Copies on the second host."""
        host = self.hosts[1]
        while not self.chaos.is_over:
            if self.plans:
                process = Process(self.scheduler, f"standby@{host.name}")
                process.on_death.append(partial(host.died, process))
                self.scheduler.spawn(process, partial(self._follow, process, host))
                while process.is_alive and process.threads and not self.chaos.is_over:
                    self.scheduler.sleep(1.0)
                process.kill()
            self.scheduler.sleep(1.0)

    def _follow(self, process: Process, host: Host) -> None:
        plan = self.plans[-1]
        kafka, disk = self.kafka(process), ModelDisk(host, process)
        standbys = [Standby(plan, task, disk, kafka, process.clock) for task in plan.tasks]
        while self.plans[-1] is plan:
            for standby in standbys:
                try:
                    standby.follow()
                except Exception as error:
                    self.scheduler.note(process.name, f"could not follow: {error}")
            self.scheduler.sleep(0.5)
        for standby in standbys:
            standby.close()

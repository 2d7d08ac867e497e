"""What befalls a run from outside: brokers that die, answers that are lost, workers that sleep."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from enum import Enum

from .faults import Act, Fault
from .processes import Process
from .proxy import EndTxn, KafkaProxy, Loss
from .runner import Run, Stalled

TRANSACTION_TIMEOUT_S = 3.0
GIVE_UP_S = 45.0
"""How long a commit waits for its answer; and so do tasks that start, which on a busy machine take
half of it."""
IMPATIENT = {"task.timeout.ms": int(GIVE_UP_S * 1000)}
"""Settings with which an application soon gives up an attempt: before the client, which would ask
again by itself."""
DROWSY = {"producer.transaction.timeout.ms": int(TRANSACTION_TIMEOUT_S * 1000)}
"""Settings with which transactions are aborted while a worker sleeps."""


class Role(Enum):
    """What a broker is killed for being."""

    LEADER = "leader"
    """Of a partition of the input."""
    CONTROLLER = "controller"


def kill_broker(run: Run, role: Role) -> None:
    """Kill a broker for its role, and start it again when the application got on without it."""
    kafka, clicks = run.kafka, run.load.pipeline.clicks
    run.wait_for_clicks(50)  # there is work under way
    partition = run.random.randrange(run.load.pipeline.partitions)
    number = kafka.controller if role is Role.CONTROLLER else kafka.leader(clicks, partition)
    kafka.kill_broker(number)
    run.wait_for_clicks(50)
    kafka.start_broker(number)


def lose_answers(run: Run, proxy: KafkaProxy, losses: Iterable[Loss]) -> None:
    """Have answers to commits lost, two by two, as there are two slots that wait for theirs; then
    the application must get on."""
    waiting = list(losses)
    while waiting:
        run.wait_for_clicks(1)
        proxy.lose(waiting[:2])
        del waiting[:2]
        run.wait(lambda: proxy.pending == 0, "commits whose answers are lost")


def check_producers(ends: Iterable[tuple[EndTxn, Loss | None]]) -> None:
    """That no producer was used again after it didn't hear what became of its commit, and that
    epochs only rise."""
    latest: dict[str, tuple[int, int]] = {}
    given_up: set[tuple[int, int]] = set()
    for end, loss in ends:
        producer = end.producer_id, end.epoch
        assert producer not in given_up, f"{end} comes after an unknown outcome"
        before = latest.get(end.transactional_id)
        if before is not None and before[0] == end.producer_id:
            assert end.epoch >= before[1], f"{end} comes after epoch {before[1]}"
        latest[end.transactional_id] = producer
        # Cut off, the client asks again by itself, and hears it then.
        if loss in (Loss.DROPPED, Loss.DELAYED):
            given_up.add(producer)


# Zombies


def make_zombie(run: Run, replace: Callable[[Run], Stalled] = Run.replace_host) -> None:
    """Have a host hang while a worker has a transaction open, have it replaced, and let it go on:
    the worker must not commit what it had, and its driver must end.

    Spark itself kills a worker that only hangs alone, and those of a driver that died.
    """
    run.plan.add([Fault("processed", Act.STOP, skip=run.random.randrange(4))])
    run.wait(lambda: bool(run.plan.stopped()), "a worker to stop")
    [pid] = run.plan.stopped()
    come_to = len(_steps_of(run, pid))
    stalled = replace(run)
    run.wait_for_clicks(100)
    time.sleep(TRANSACTION_TIMEOUT_S)
    assert Process.read(pid) is not None, f"The worker {pid} didn't live to go on"
    run.plan.go_on(pid)
    stalled.go_on()
    run.wait(lambda: stalled.code is not None, "the end of the driver that was replaced")
    assert stalled.code != 0, "The driver that was replaced didn't notice"
    later = _steps_of(run, pid)[come_to:]
    assert later[:1] != ["committed"], f"The worker {pid} committed what another had taken"
    assert "FencedError" in run.driver.log.read_text()


def _steps_of(run: Run, pid: int) -> list[str]:
    """The steps that a worker has come to, in their order."""
    trace = (run.plan.directory / "trace").read_text().splitlines()
    return [line.split()[1] for line in trace if line.endswith(f", process {pid})")]

"""The scheduler: simulated processes take turns, one at a time, in the order of a virtual clock."""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from greenlet import getcurrent, greenlet

START_MS = 1_700_000_000_000

Step = Callable[["Process", str], None]
"""What may happen to a process at a step, see Scheduler.step."""


class Killed(BaseException):
    """Ends a process. Nothing that it still tries to do on its way out has an effect."""


class Stuck(Exception):
    """The simulation takes more steps than it should."""


class Scheduler:
    """Runs threads of processes. A thread runs until it sleeps; whoever is due next goes on. So a
    run is determined by its seed, and waiting costs nothing."""

    def __init__(self, seed: int, *, most_steps: int = 200_000) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.history: list[tuple[float, str, str]] | None = None
        """What happened, if somebody wants to know."""
        self.on_step: Step = _nothing
        self._hub = getcurrent()
        self._due: list[tuple[float, int, Thread, int]] = []
        self._numbers = 0
        self._steps_left = most_steps

    # Threads

    def spawn(
        self, process: Process, function: Callable[[], object], delay_s: float = 0.0
    ) -> Thread:
        thread = Thread(self, process, function)
        process.threads.append(thread)
        self.wake(thread, delay_s)
        return thread

    def wake(self, thread: Thread, delay_s: float = 0.0) -> None:
        self._numbers += 1
        heapq.heappush(self._due, (self.now + delay_s, self._numbers, thread, thread.turn))

    def run(self, until: float, is_done: Callable[[], bool] = lambda: False) -> None:
        """Let threads run until that time, or until it is done, or nobody has anything to do."""
        due = self._due
        while due and due[0][0] <= until and not is_done():
            at, _, thread, turn = heapq.heappop(due)
            if thread.turn != turn or thread.dead:
                continue  # it was woken by something else
            self.now = max(self.now, at)
            self._steps_left -= 1
            if self._steps_left < 0:
                raise Stuck(f"too many steps: {thread.process.name} at {self.now:.1f} s")
            thread.turn += 1
            thread.switch()

    def sleep(self, seconds: float) -> None:
        """Of the thread that runs."""
        thread = getcurrent()
        assert isinstance(thread, Thread)
        self.wake(thread, seconds)
        self._hub.switch()
        thread.process.check()

    def wait(self, signal: Signal, seconds: float) -> bool:
        """Whether the signal was given in that time."""
        if not signal.is_given:
            thread = getcurrent()
            assert isinstance(thread, Thread)
            signal.waiting.append(thread)
            self.wake(thread, seconds)
            self._hub.switch()
            thread.process.check()
        return signal.is_given

    @property
    def process(self) -> Process:
        """Whose turn it is."""
        thread = getcurrent()
        assert isinstance(thread, Thread)
        return thread.process

    # What happened

    def note(self, who: str, what: str) -> None:
        if self.history is not None:
            self.history.append((self.now, who, what))

    @contextmanager
    def closing(self) -> Iterator[None]:
        """End all threads that are left, so that nothing runs later on."""
        try:
            yield
        finally:
            for _, _, thread, _ in sorted(self._due, key=lambda entry: entry[:2]):
                thread.process.kill()
            self._due.clear()


class Thread(greenlet):  # type: ignore[misc]  # it has no types
    """One line of execution of a process."""

    def __init__(
        self, scheduler: Scheduler, process: Process, function: Callable[[], object]
    ) -> None:
        super().__init__(self._go, scheduler._hub)
        self.process = process
        self.turn = 0
        self._function = function

    def _go(self) -> None:
        try:
            self.process.check()
            self._function()
        except Killed:
            pass
        finally:
            if self in self.process.threads:
                self.process.threads.remove(self)


class Signal:
    """Something that threads wait for."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.is_given = False
        self.waiting: list[Thread] = []

    def give(self) -> None:
        if not self.is_given:
            self.is_given = True
            for thread in self.waiting:
                self._scheduler.wake(thread)


class Process:
    """A process that can be killed at every step: everything it has in memory is gone then, and
    its locks with it."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler = scheduler
        self.name = name
        self.is_alive = True
        self.is_mortal = True
        """Whether faults may strike it."""
        self.threads: list[Thread] = []
        self.on_death: list[Callable[[], object]] = []
        self.clock = ProcessClock(self)

    def check(self) -> None:
        if not self.is_alive:
            raise Killed

    def step(self, what: str) -> None:
        """A point at which anything may happen to the process."""
        if not self.is_alive:
            raise Killed
        self.scheduler.on_step(self, what)

    def die(self) -> None:
        """Of its own accord, at a step of its own."""
        self.kill()
        raise Killed

    def kill(self) -> None:
        if not self.is_alive:
            return
        self.is_alive = False
        self.scheduler.note(self.name, "died")
        for free in self.on_death:
            free()
        current = getcurrent()
        for thread in list(self.threads):
            thread.turn += 1
            if thread is current:
                continue
            if thread:
                thread.parent = current
                thread.throw(Killed)
        self.threads.clear()


class ProcessClock:
    """The clock of a process. `skew_ms` is how far the wall clock of its host was set."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._scheduler = process.scheduler
        self.skew_ms = 0

    def now_ms(self) -> int:
        return START_MS + self.skew_ms + int(self._scheduler.now * 1000)

    def nanoseconds(self) -> int:
        return int(self._scheduler.now * 1e9)

    def seconds(self) -> float:
        return self._scheduler.now

    def sleep(self, seconds: float) -> None:
        self._process.check()
        self._scheduler.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        deadline = self._scheduler.now + seconds
        while not event.is_set() and self._scheduler.now < deadline:
            self.sleep(min(0.2, seconds))
        return event.is_set()


def _nothing(process: Process, what: str) -> None: ...

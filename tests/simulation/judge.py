"""The judge: compares what a run left behind with one undisturbed fold of its input.

The cut is what the group has committed. Everything before it must have had its effects, once, in
order and all together; nothing else may have had any.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.task import SEQUENCE
from headrace.kafka.metadata import decode
from headrace.runtime.columns import Columns
from headrace.runtime.stores import InMemoryStorage
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.serde.murmur2 import partition_for
from headrace.state.checkpoint import Checkpoint

from .cases import CACHE, CLOCK, DELETE, EXTRA, EXTRA_OUT, IN, OTHER_OUT, OUT, REACH, ROWS, unmarked
from .partition_log import Entry
from .world import APPLICATION, World

Row = tuple["bytes | None", "bytes | None", int]
"""key, value without its mark, timestamp"""
Maps = dict[str, dict[bytes, bytes]]

_SHOWN = 3
_IN_GOOD_TIME_S = 6.0
"""Longer than markers take."""


def judge(world: World) -> list[str]:
    """All violations; none if the run was right."""
    return [*world.violations, *_Judge(world).violations()]


class _Judge:
    def __init__(self, world: World) -> None:
        self._world = world
        self._broker = world.broker
        self._case = world.case
        self._exactly_once = world.exactly_once
        self._group = world.broker.group(APPLICATION)
        self._plan = world.plan

    def violations(self) -> Iterator[str]:
        if self._world.end is not None:
            yield f"I9 {self._world.end}"
            return
        assert self._plan is not None
        for task in self._plan.tasks if self._plan.global_task is None else ():
            yield from _first(self._task(self._plan, task))
        yield from _first(self._extra())
        if self._case.rule:
            yield from _first(getattr(self, f"_{self._case.rule}")())
        yield from _first(self._together())

    # Tasks

    def _task(self, plan: Plan, task: TaskPlan) -> Iterator[str]:
        replayed = self._replayed(plan, task)
        if len(task.inputs) == 1 and self._case.rule != "punctuate":
            sent, folded = self._folded(plan, task)
            for topic, expected in sent.items():
                yield from self._output(topic, task, expected)
            if self._exactly_once:
                yield from _compare(f"I6 changelogs of {task.id}", _bare(folded), _bare(replayed))
        yield from self._local(plan, task, replayed)

    def _folded(self, plan: Plan, task: TaskPlan) -> tuple[dict[str, list[tuple[int, Row]]], Maps]:
        """What an undisturbed task sends, and what it has in its stores in the end."""
        ((part, _),) = task.inputs.items()
        storage = InMemoryStorage()
        kernel = StreamTask(_uncached(plan, task), ManualClock(0), storage=storage)
        kernel.start()
        entries = list(self._input(part))
        if entries:
            kernel.process_columns(part, _columns(entries))
        kernel.commit()
        sent: dict[str, list[tuple[int, Row]]] = {}
        changelogs = {plan.changelog_of(store) for store in kernel.stores}
        for topic, partition, key, value, timestamp, _ in kernel.outbox:
            if topic not in changelogs:
                if partition is None:
                    partition = partition_for(key, plan.partitions_of(topic))
                sent.setdefault(topic, []).append((partition, _row(key, value, timestamp)))
        return sent, _contents(storage)

    def _replayed(self, plan: Plan, task: TaskPlan) -> Maps:
        """What the changelogs make of the stores."""
        storage = InMemoryStorage()
        kernel = StreamTask(_uncached(plan, task), ManualClock(0), storage=storage)
        for name, store in kernel.stores.items():
            topic = kernel.changelog_topic(name)
            if topic is None:
                continue
            part = TopicPartition(topic, task.id.partition)
            end = self._group.offsets[part].offset if part in task.inputs else None
            log = self._broker.log(part)
            entries, _ = log.read(log.start, log.end, committed=True)
            store.restore(
                [
                    (entry.key, entry.value, entry.timestamp, entry.headers)
                    for entry in entries
                    if end is None or entry.offset < end
                ]
            )
        return _contents(storage)

    def _local(self, plan: Plan, task: TaskPlan, replayed: Maps) -> Iterator[str]:
        """States that count as those of the last commit (I5)."""
        committed = [
            self._group.offsets[part] for part in task.inputs if part in self._group.offsets
        ]
        sequence = max((decode(one.metadata)[1].get(SEQUENCE, 0) for one in committed), default=0)
        positions = {part: self._group.offsets[part].offset for part in task.inputs}
        for host in self._world.hosts:
            place = host.places.get(str(task.id))
            content = None if place is None else place.content
            checkpoint = None if content is None else content.checkpoint
            if content is None or checkpoint is None:
                continue
            if not self._exactly_once and self._is_behind(task, checkpoint):
                continue  # without transactions, changelogs are ahead of a commit under way
            if (checkpoint.run_id, checkpoint.sequence) == (str(plan.run), sequence):
                if checkpoint.positions != positions:
                    yield (
                        f"I5 state of {task.id} on {host.name} is of commit {sequence}, but at "
                        f"{dict(checkpoint.positions)} instead of {positions}"
                    )
                found = {name: dict(entries) for name, entries in content.maps.items() if entries}
                yield from _compare(f"I5 state of {task.id} on {host.name}", replayed, found)

    def _is_behind(self, task: TaskPlan, checkpoint: Checkpoint) -> bool:
        return any(
            at < self._broker.log(TopicPartition(topic, task.id.partition)).end
            for topic, (_, at) in checkpoint.changelogs.items()
        )

    # Outputs

    def _output(
        self, topic: str, task: TaskPlan, expected: Sequence[tuple[int, Row]]
    ) -> Iterator[str]:
        ((source, _),) = task.inputs.items()
        by_origin = topic in (OUT, OTHER_OUT, EXTRA_OUT) and self._case.name == "pipe"
        by_origin = by_origin or topic == EXTRA_OUT or "repartition" in topic
        cached = self._case.is_cached and not by_origin
        partitions = range(self._broker.topics()[topic])
        for number in partitions:
            due = [row for partition, row in expected if partition == number]
            if not by_origin and number != task.id.partition:
                if due:
                    yield f"I3 {task.id} sends to {topic}-{number}"
                continue
            found = list(self._rows(TopicPartition(topic, number)))
            if by_origin:
                found = [row for row in found if _is_from(row, source)]
            where = f"{topic}-{number} of {task.id}"
            if not self._exactly_once:
                yield from _at_least(where, due, found, cached=cached)
            elif cached:
                yield from _thinned(where, due, found)
            else:
                yield from _same(where, due, found)

    def _extra(self) -> Iterator[str]:
        """The source of the other version, if that was ever deployed."""
        assert self._plan is not None
        if any(part.topic == EXTRA for part in self._plan.inputs):
            return  # it was judged as a task
        for number in range(self._broker.topics()[EXTRA]):
            part = TopicPartition(EXTRA, number)
            committed = self._group.offsets.get(part)
            cut = 0 if committed is None else committed.offset
            due = [
                _row(one.key, one.value, one.timestamp)
                for one in self._input(part)
                if one.offset < cut
            ]
            found = list(self._rows(TopicPartition(EXTRA_OUT, number)))
            if self._exactly_once:
                yield from _same(f"{EXTRA_OUT}-{number}", due, found)
            else:
                yield from _at_least(f"{EXTRA_OUT}-{number}", due, found)

    def _together(self) -> Iterator[str]:
        """Both outputs of a record have the same mark: they were made in one attempt (I7)."""
        if not self._exactly_once or self._case.name != "pipe":
            return
        for number in range(self._broker.topics()[OUT]):
            one, other = (
                {
                    (entry.value or b"").partition(b"#")[0]: entry.value
                    for entry in self._broker.log(TopicPartition(topic, number)).committed()
                }
                for topic in (OUT, OTHER_OUT)
            )
            for origin, value in one.items():
                if value != other.get(origin):
                    yield f"I7 torn: {OUT}-{number} has {value!r}, the other {other.get(origin)!r}"

    # Rules for what a fold can't tell

    def _table(self) -> Iterator[str]:
        """Each record of the stream once, with a row that was there; rows never go back."""
        rows = self._all_input(ROWS)
        latest = {
            entry.value.decode() for entries in rows.values() for entry in entries if entry.value
        }
        for part, entries in self._all_input(IN).items():
            found = list(self._rows(TopicPartition(OUT, part.partition)))
            due = [entry.value.decode() for entry in entries if entry.value is not None]
            texts = ((value or b"").decode().partition("+") for _, value, _ in found)
            pairs = [(value, other) for value, _, other in texts]
            yield from self._once(f"{OUT}-{part.partition}", due, [pair[0] for pair in pairs])
            yield from self._in_time(part, entries, rows, dict(pairs))
            seen: dict[bytes | None, int] = {}
            for (key, _, _), (_, other) in zip(found, pairs, strict=True):
                if other != "None" and other not in latest:
                    yield f"I3 {OUT}-{part.partition}: joined with {other}, which is not in {ROWS}"
                at = -1 if other == "None" else int(other.rstrip(DELETE).rpartition("@")[2])
                if at < seen.get(key, -1) and self._exactly_once and self._case.name != "global":
                    yield f"I4 {OUT}-{part.partition}: {key!r} had {seen[key]}, then {at}"
                seen[key] = max(at, seen.get(key, -1))

    def _in_time(
        self,
        part: TopicPartition,
        entries: Iterable[Entry],
        rows: Mapping[TopicPartition, Sequence[Entry]],
        pairs: Mapping[str, str],
    ) -> Iterator[str]:
        """A record is joined with a row that is older, if nothing newer stood before that one and
        it was there in good time."""
        if self._case.name == "global" or not self._exactly_once:
            return
        known, newest = [], 0
        for row in rows.get(TopicPartition(ROWS, part.partition), ()):
            newest = max(newest, row.timestamp)
            known.append((newest, row))
        for entry in entries:
            older = [
                row.offset
                for newest, row in known
                if newest < entry.timestamp and row.key == entry.key
                if row.written_at + _IN_GOOD_TIME_S < entry.written_at
            ]
            value = (entry.value or b"").decode()
            other = pairs.get(value, "None")
            at = -1 if other == "None" else int(other.rstrip(DELETE).rpartition("@")[2])
            if older and at < older[-1]:
                yield f"I4 {OUT}-{part.partition}: {value} was joined with {at}, not {older[-1]}"

    def _streams(self) -> Iterator[str]:
        """Every pair within reach, once."""
        reach = REACH.total_seconds() * 1000
        others = self._all_input(ROWS)
        for part, entries in self._all_input(IN).items():
            due = [
                f"{one.value.decode()}+{two.value.decode()}"
                for one in entries
                for two in others.get(TopicPartition(ROWS, part.partition), ())
                if one.key == two.key and abs(one.timestamp - two.timestamp) <= reach
                if one.value is not None and two.value is not None
            ]
            found = [
                (value or b"").decode()
                for _, value, _ in self._rows(TopicPartition(OUT, part.partition))
            ]
            yield from self._counted(f"{OUT}-{part.partition}", due, found)

    def _punctuate(self) -> Iterator[str]:
        """By stream time, punctuations come as in a fold; those by the wall clock come when they
        will, but count without a gap: state and output belong together."""
        plan = self._plan
        assert plan is not None
        found: dict[str, list[Row]] = defaultdict(list)
        for number in range(self._broker.topics()[OUT]):
            for row in self._rows(TopicPartition(OUT, number)):
                found[(row[0] or b"").decode()].append(row)
        for task in plan.tasks:
            if not any(part.topic == IN for part in task.inputs):
                continue
            sent, _ = self._folded(plan, task)
            for key, due in _by_key(row for _, row in sent.get(OUT, ())).items():
                texts = [value for _, value, _ in found[(key or b"").decode()]]
                if self._exactly_once:
                    yield from _same(f"{OUT} of {task.id}", [row[1] for row in due], texts)
            if self._exactly_once:
                clock = f"{CLOCK}-{task.id.partition}"
                numbers = [int((value or b"").decode().split()[-1]) for _, value, _ in found[clock]]
                if numbers != list(range(1, len(numbers) + 1)):
                    yield f"I2 {clock} of {task.id} counts {numbers}"
        if not self._exactly_once:
            yield from self._numbered(found)

    def _numbered(self, found: Mapping[str, list[Row]]) -> Iterator[str]:
        told = {
            (value or b"").decode().split()[0] for rows in found.values() for _, value, _ in rows
        }
        for entries in self._all_input(IN).values():
            for entry in entries:
                if (entry.value or b"").decode() not in told:
                    yield f"I1 lost in {OUT}: {entry.value!r}"

    def _once(self, where: str, due: list[str], found: list[str]) -> Iterator[str]:
        """The same in the same order; or, at least once, all in the order of their first time."""
        if not self._exactly_once:
            found = list(dict.fromkeys(found))
        if due != found:
            yield from _difference(where, due, found)

    def _counted(self, where: str, due: list[str], found: list[str]) -> Iterator[str]:
        """The same in any order."""
        if not self._exactly_once:
            found = list(dict.fromkeys(found))
        wanted, has = Counter(due), Counter(found)
        for one, times in (has - wanted).items():
            yield f"I2 {where}: {one} {times} times too often"
        for one in wanted - has:
            yield f"I1 {where}: {one} is lost"

    # What there is

    def _input(self, part: TopicPartition) -> Iterator[Entry]:
        """Up to the cut; without transactions all of it, as a late commit may have set the
        position back."""
        committed = self._group.offsets.get(part)
        log = self._broker.log(part)
        cut = 0 if committed is None else committed.offset if self._exactly_once else log.end
        for entry in log.committed() if self._exactly_once else log.written:
            if entry.offset < cut and not entry.is_marker:
                yield entry

    def _all_input(self, topic: str) -> dict[TopicPartition, list[Entry]]:
        parts = [TopicPartition(topic, n) for n in range(self._broker.topics()[topic])]
        if topic == ROWS and self._plan is not None and self._plan.global_task is not None:
            return {part: list(self._broker.log(part).committed()) for part in parts}
        return {part: list(self._input(part)) for part in parts}

    def _rows(self, part: TopicPartition) -> Iterator[Row]:
        for entry in self._broker.log(part).committed():
            yield _row(entry.key, entry.value, entry.timestamp)


def _row(key: bytes | None, value: bytes | None, timestamp: int) -> Row:
    return key, None if value is None else unmarked(value), timestamp


def _is_from(row: Row, part: TopicPartition) -> bool:
    return (row[1] or b"").startswith(f"{part}@".encode())


def _uncached(plan: Plan, task: TaskPlan) -> TaskSpec:
    config = StreamsConfig({**plan.config.given(), CACHE: 0})
    return TaskSpec(task.id, plan.topology, task.nodes, task.inputs, config, plan.partitions_of)


def _columns(entries: Sequence[Entry]) -> Columns:
    return Columns(
        [entry.offset for entry in entries],
        [entry.timestamp for entry in entries],
        [entry.key for entry in entries],
        [entry.value for entry in entries],
        None,
    )


def _contents(storage: InMemoryStorage) -> Maps:
    found = {name: dict(storage.map(name).range(None, None)) for name in storage.names("")}
    return {name: entries for name, entries in found.items() if entries}


def _bare(maps: Maps) -> Maps:
    """Without what every attempt marks anew."""
    return {
        name: {key: unmarked(value) for key, value in entries.items()}
        for name, entries in maps.items()
    }


def _compare(where: str, due: Maps, found: Maps) -> Iterator[str]:
    for name in sorted(due.keys() | found.keys()):
        wanted, has = due.get(name, {}), found.get(name, {})
        for key in sorted(wanted.keys() | has.keys()):
            if wanted.get(key) != has.get(key):
                yield f"{where}: {name} has {key!r}={has.get(key)!r}, not {wanted.get(key)!r}"


def _same(where: str, due: Sequence[Any], found: Sequence[Any]) -> Iterator[str]:
    if list(due) != list(found):
        yield from _difference(where, due, found)


def _difference(where: str, due: Sequence[Any], found: Sequence[Any]) -> Iterator[str]:
    wanted, has = Counter(due), Counter(found)
    for one in has - wanted:
        yield f"{'I2 twice' if wanted[one] else 'I3 unknown'} in {where}: {_shown(one)}"
    for one in wanted - has:
        yield f"I1 lost in {where}: {_shown(one)}"
    if wanted == has:
        at = next(i for i, (a, b) in enumerate(zip(due, found, strict=True)) if a != b)
        yield f"I4 order in {where}: {_shown(found[at])} where {_shown(due[at])} is due"


def _thinned(where: str, due: Sequence[Row], found: Sequence[Row]) -> Iterator[str]:
    """The updates of each key with some left out, but never the last."""
    wanted, has = _by_key(due), _by_key(found)
    for key, rows in has.items():
        rest = iter(wanted.get(key, ()))
        for row in rows:
            if not any(_is_same_update(update, row) for update in rest):
                yield f"I2 twice, out of order or unknown in {where}: {_shown(row)}"
                break
    for key, rows in wanted.items():
        if key not in has:
            if rows[-1][1] is not None:
                yield f"I1 lost in {where}: {_shown(rows[-1])}"
        elif not _is_same_update(rows[-1], has[key][-1]):
            yield f"I1 {_shown(has[key][-1])} is the last in {where}, not {_shown(rows[-1])}"


def _is_same_update(due: Row, found: Row) -> bool:
    """A cache doesn't keep the time of what was deleted, but that of the record that did it."""
    return due[:2] == found[:2] and (due[1] is None or due[2] == found[2])


def _at_least(
    where: str, due: Sequence[Row], found: Sequence[Row], *, cached: bool = False
) -> Iterator[str]:
    """Every origin of a value is in one that was found, if no cache left that out; of each key,
    the last is complete."""
    origins = {origin for _, value, _ in found for origin in _origins(value)}
    for _, value, _ in due if not cached else ():
        for origin in _origins(value):
            if origin not in origins:
                yield f"I1 lost in {where}: {origin}"
    last = {row[0]: row for row in found}
    for key, rows in _by_key(due).items():
        wanted = _origins(rows[-1][1])
        if key in last and len(wanted) > 1 and not set(wanted) <= set(_origins(last[key][1])):
            yield f"I1 {_shown(last[key])} is the last in {where}, not {_shown(rows[-1])}"


def _origins(value: bytes | None) -> list[str]:
    if value is None or b"@" not in value:
        return []
    return value.decode().split()


def _by_key(rows: Iterable[Row]) -> Mapping[bytes | None, list[Row]]:
    found: defaultdict[bytes | None, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)
    return found


def _shown(row: Any) -> str:
    if not isinstance(row, tuple):
        return str(row)
    key, value, timestamp = row
    return f"{key!r}={value!r} at {timestamp}"


def _first(violations: Iterable[str]) -> Iterator[str]:
    """A few of each kind."""
    for _, group in groupby(violations, key=lambda text: text[:2]):
        for number, violation in enumerate(group):
            if number < _SHOWN:
                yield violation

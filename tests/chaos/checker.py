"""Compares what a run left behind with what an undisturbed one gives.

Nothing lost, nothing twice, nothing torn: every output is complete and in order as far as the
order is determined (see `pipeline`), changelogs come to the same state, the output of a store and
its changelog tell the same story, and the group stands at the end of its input.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.serde import foreign_key
from headrace.serde.window_store_key import read_window_store_key

from . import pipeline as names
from .evidence import Evidence
from .fold import fold
from .load import Load
from .pipeline import NUMBER, TEXT, Tally, id_of

SHOWN = 3
"""How many differences of a kind are told of each partition."""

Normal = tuple[Hashable, Hashable, Hashable]
"""A record as it is compared: key, value, timestamp."""
Rule = Callable[[TopicPartition, Sequence[ConsumerRecord]], Iterator[str]]

_subscription = foreign_key.subscription(TEXT)


class Row(NamedTuple):
    """A row of the foreign-key join: which versions were joined."""

    order: int
    customer: int


@dataclass(frozen=True)
class Checker:
    """Knows what comes of a load. `cached`: the run had a record cache, so that of the updates of a
    key between two commits only the last is seen."""

    load: Load
    cached: bool = False

    def check(self, evidence: Evidence) -> list[str]:
        """All differences, each with its place; none if the run was exact."""
        return [
            *self._check_outputs(evidence),
            *self._check_changelogs(evidence),
            *self._check_stories(evidence),
            *self._check_positions(evidence),
            *(
                f"{one}@{offset}: a transaction is neither committed nor aborted"
                for one, offset in evidence.undecided.items()
            ),
        ]

    @cached_property
    def expected(self) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        return fold(self.load)

    # Outputs

    def _check_outputs(self, evidence: Evidence) -> Iterator[str]:
        pipeline = self.load.pipeline
        updates = self._thinned if self.cached else self._sequence
        rules: dict[str, Rule] = {
            pipeline.counts: updates,
            pipeline.windows: updates,
            pipeline.sessions: updates,
            pipeline.categories: self._tallies,
            pipeline.matches: self._set,
            pipeline.joined: self._rows,
        }
        for topic, rule in rules.items():
            for partition in self._partitions(topic):
                yield from _first(rule(partition, evidence.logs.get(partition, ())))

    def _sequence(
        self, partition: TopicPartition, found: Sequence[ConsumerRecord]
    ) -> Iterator[str]:
        """The same records in the same order."""
        for due, has in zip(self._expected(partition), found, strict=False):
            if _raw(due) != _raw(has):
                yield f"{self._shown(has)}, but {self._shown(due)} is due here"
                break
        yield from self._set(partition, found)

    def _set(self, partition: TopicPartition, found: Sequence[ConsumerRecord]) -> Iterator[str]:
        """The same records in any order."""
        expected = self._expected(partition)
        due = Counter(map(_raw, expected))
        seen: Counter[Normal] = Counter()
        for record in found:
            seen[_raw(record)] += 1
            if seen[_raw(record)] > due[_raw(record)]:
                often = "twice" if due[_raw(record)] else "unknown"
                yield f"{often}: {self._shown(record)}"
        for record in expected:
            if seen[_raw(record)] < due[_raw(record)]:
                seen[_raw(record)] += 1
                yield f"lost: {self._shown(record, at=partition)}"

    def _thinned(self, partition: TopicPartition, found: Sequence[ConsumerRecord]) -> Iterator[str]:
        """The updates of each key with some left out, but never the last."""
        expected, seen = _by_key(self._expected(partition)), _by_key(found)
        for key, records in seen.items():
            rest = iter(expected.get(key, ()))
            for record in records:
                if all(_raw(update) != _raw(record) for update in rest):
                    yield f"twice, out of order or unknown: {self._shown(record)}"
                    break
        for key, updates in expected.items():
            last = updates[-1]
            if key not in seen:
                if last.value is not None:
                    yield f"lost: {self._shown(last, at=partition)}"
            elif _raw(seen[key][-1]) != _raw(last):
                yield f"{self._shown(seen[key][-1])} is the last, not {self._shown(last)}"

    def _tallies(self, partition: TopicPartition, found: Sequence[ConsumerRecord]) -> Iterator[str]:
        """Each step adds one click, and those of a partition are added in their order."""
        for key, records in _by_key(found).items():
            yield from self._thinned_tally(records) if self.cached else self._tally(key, records)
        final = {key: Tally.read(_text(log[-1])) for key, log in _by_key(found).items()}
        for key, records in _by_key(self._expected(partition)).items():
            due, has = Tally.read(_text(records[-1])), final.get(key, Tally(0, 0))
            if has != due:
                yield f"{partition}: {key.decode()} ends with {has}, not with {due}"
        for key in final.keys() - _by_key(self._expected(partition)).keys():
            yield f"{partition}: unknown category {key.decode()}"

    def _thinned_tally(self, records: Sequence[ConsumerRecord]) -> Iterator[str]:
        tallies = [Tally.read(_text(record)) for record in records]
        for record, before, after in zip(records[1:], tallies, tallies[1:], strict=False):
            if after.clicks <= before.clicks:
                yield f"{self._shown(record)} comes after {before}"

    def _tally(self, key: bytes, records: Sequence[ConsumerRecord]) -> Iterator[str]:
        due = self._clicks_by_category.get(key.decode(), {})
        last_offsets: dict[int, int] = {}
        before, newest = Tally(0, 0), 0
        for record in records:
            tally = Tally.read(_text(record))
            click = due.get(tally.total - before.total)
            if tally.clicks != before.clicks + 1:
                yield f"{self._shown(record)} comes after {before}"
            elif click is None:
                yield f"{self._shown(record)} adds no click of its category to {before}"
            elif click.offset <= last_offsets.get(click.partition, -1):
                yield f"{self._shown(record)} adds {click} too late, or again"
            else:
                last_offsets[click.partition] = click.offset
                newest = max(newest, click.timestamp)
                if record.timestamp != newest:
                    yield f"{self._shown(record)} should have the time {newest}"
            before = tally

    def _rows(self, partition: TopicPartition, found: Sequence[ConsumerRecord]) -> Iterator[str]:
        """Versions that exist and never go back, up to the last ones."""
        orders, customers = self._versions
        final: dict[bytes, bytes] = {}
        for key, records in _by_key(found).items():
            before = Row(0, 0)
            for record in records:
                if record.value is None:
                    continue
                order, _, customer = _text(record).partition("+")
                bought_by = names.customer_of(order), customer
                if (key, order) not in orders or bought_by not in customers:
                    yield f"no such rows: {self._shown(record)}"
                    break
                row = Row(id_of(order), int(customer))
                if row < before or (row == before and not self.cached):
                    yield f"{self._shown(record)} comes after {before}"
                before = row
            if records[-1].value is not None:
                final[key] = records[-1].value
        due = {
            key: log[-1].value
            for key, log in _by_key(self._expected(partition)).items()
            if log[-1].value is not None
        }
        yield from _compare_states(str(partition), due, final)

    # Changelogs

    def _check_changelogs(self, evidence: Evidence) -> Iterator[str]:
        for store, topic in self.load.pipeline.changelogs.items():
            normal = _NORMAL.get(store, _raw)
            for partition in self._partitions(topic):
                due = _state(map(normal, self._expected(partition)))
                found = _state(map(normal, evidence.logs.get(partition, ())))
                yield from _first(_compare_states(str(partition), due, found))

    def _check_stories(self, evidence: Evidence) -> Iterator[str]:
        """What a store tells its topic and its changelog is the same, in the same order; also where
        the order itself isn't determined."""
        pipeline = self.load.pipeline
        told = {
            names.COUNTS: pipeline.counts,
            names.CATEGORIES: pipeline.categories,
            names.JOINED: pipeline.joined,
        }
        for store, output in told.items():
            for partition in self._partitions(output):
                changelog = TopicPartition(pipeline.changelog(store), partition.partition)
                one, other = evidence.logs.get(partition, ()), evidence.logs.get(changelog, ())
                pairs = zip(map(_raw, one), map(_raw, other), strict=False)
                differ = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
                if differ is not None:
                    yield f"torn: {self._shown(one[differ])}, but {self._shown(other[differ])}"
                elif len(one) != len(other):
                    longer = max(one, other, key=len)[min(len(one), len(other))]
                    yield f"torn: {self._shown(longer)} is not in both {partition} and {changelog}"

    # Positions

    def _check_positions(self, evidence: Evidence) -> Iterator[str]:
        positions = evidence.positions
        for partition, end in self.load.ends.items():
            if positions.get(partition, 0) != end:
                yield f"{partition}: committed is {positions.get(partition)}, the end is {end}"
        for topic in self.load.pipeline.repartitions:
            for partition in self._partitions(topic):
                if partition not in positions and self._expected(partition):
                    yield f"{partition}: no position is committed"
        for partition, record in evidence.unread.items():
            if partition not in self.load.ends:
                yield (
                    f"{partition}@{record.offset}: not read, committed is "
                    f"{positions.get(partition)}"
                )

    # What there is

    def _expected(self, partition: TopicPartition) -> Sequence[ConsumerRecord]:
        return self.expected.get(partition, ())

    def _partitions(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, n) for n in range(self.load.pipeline.partitions)]

    @cached_property
    def _clicks_by_category(self) -> Mapping[str, Mapping[int, ConsumerRecord]]:
        clicks: defaultdict[str, dict[int, ConsumerRecord]] = defaultdict(dict)
        offsets: Counter[int] = Counter()
        for given in self.load.records:
            if given.topic == self.load.pipeline.clicks:
                assert given.value is not None
                value = given.value.decode()
                clicks[names.category_of("", value)][id_of(value)] = ConsumerRecord(
                    given.topic,
                    given.partition,
                    offsets[given.partition],
                    given.timestamp,
                    given.key.decode(),
                    value,
                )
                offsets[given.partition] += 1
        return clicks

    @cached_property
    def _versions(self) -> tuple[set[tuple[bytes, str]], set[tuple[str, str]]]:
        orders, customers = set(), set()
        for topic, _, key, value, _ in self.load.records:
            if topic == self.load.pipeline.orders and value is not None:
                orders.add((key, value.decode()))
            elif topic == self.load.pipeline.customers and value is not None:
                customers.add((key.decode(), value.decode()))
        return orders, customers

    def _shown(self, record: ConsumerRecord, at: TopicPartition | None = None) -> str:
        topic, partition, offset, timestamp, key, value, _ = record
        counted = topic.endswith((names.COUNTS, names.WINDOWS, names.SESSIONS))
        shown = value
        if value is not None:
            shown = NUMBER.deserialize(value) if counted else value.decode(errors="replace")
        place = f"{topic}-{partition}@{offset}" if at is None else str(at)
        return f"{place} {_readable(key)}={shown} at {timestamp}"


def _readable(key: bytes) -> str:
    """The user, and the bounds of a windowed key as they are."""
    text = key.split(b"\0")[0].decode(errors="replace")
    rest = key[len(text.encode()) :]
    bounds = [str(int.from_bytes(rest[i : i + 8], "big")) for i in range(0, len(rest), 8)]
    return "@".join([text, *bounds])


def _text(record: ConsumerRecord) -> str:
    text: str = record.value.decode()
    return text


def _raw(record: ConsumerRecord) -> Normal:
    return record.key, record.value, record.timestamp


def _without_sequence(record: ConsumerRecord) -> Normal:
    """Numbers tell records of one key and time apart; which one has which isn't determined."""
    key, start, _ = read_window_store_key(record.key)
    return (key, start, record.value), record.value, record.timestamp


def _without_instruction(record: ConsumerRecord) -> Normal:
    """How to answer depends on whether a cache left out the row that was there before."""
    if record.value is None:
        return _raw(record)
    found = _subscription.deserialize(record.value)
    return record.key, (found.hash, found.primary_key, found.primary_partition), record.timestamp


def _without_time(record: ConsumerRecord) -> Normal:
    """The time of a joined row is that of the message that came last."""
    return record.key, record.value, None


_NORMAL: dict[str, Callable[[ConsumerRecord], Normal]] = {
    names.MATCHES_THIS: _without_sequence,
    names.MATCHES_OTHER: _without_sequence,
    names.SUBSCRIPTIONS: _without_instruction,
    names.JOINED: _without_time,
}


def _state(updates: Iterable[Normal]) -> dict[Hashable, Hashable]:
    state: dict[Hashable, Hashable] = {}
    for key, value, timestamp in updates:
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value, timestamp
    return state


def _compare_states(where: str, due: Mapping[Any, Any], found: Mapping[Any, Any]) -> Iterator[str]:
    for key, value in due.items():
        if found.get(key) != value:
            yield f"{where}: the state of {key!r} is {found.get(key)!r}, not {value!r}"
    for key in found.keys() - due.keys():
        yield f"{where}: the state of {key!r} is {found[key]!r}, but there should be none"


def _by_key(records: Iterable[ConsumerRecord]) -> dict[bytes, list[ConsumerRecord]]:
    grouped: defaultdict[bytes, list[ConsumerRecord]] = defaultdict(list)
    for record in records:
        grouped[record.key].append(record)
    return grouped


def _first(differences: Iterator[str]) -> Iterator[str]:
    """The first few, and how many more there are."""
    yield from islice(differences, SHOWN)
    more = sum(1 for _ in differences)
    if more:
        yield f"… and {more} more of this kind"

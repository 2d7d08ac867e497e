"""Which of many records are looked at."""

from __future__ import annotations

from itertools import cycle

import pytest

from headrace.metrics.backlog import MANY, Backlog, sample


def looked_at(backlog: Backlog[range]) -> list[int]:
    return [row for rows, part in backlog.take() for row in rows[part]]


def filled(sizes: list[int]) -> Backlog[range]:
    backlog: Backlog[range] = Backlog()
    start = 0
    for size in sizes:
        backlog.add(range(start, start + size), size)
        start += size
    return backlog


@pytest.mark.parametrize("sizes", [[250], [1] * 250, [3, 200, 47]])
def test_few_are_all_looked_at(sizes: list[int]) -> None:
    assert looked_at(filled(sizes)) == list(range(250))


@pytest.mark.parametrize(
    "sizes", [[3000], [1] * 3000, [2] * 1500, [127] * 24, [999, 2, 1999], [7, 500] * 6]
)
def test_of_many_every_127th_however_they_come(sizes: list[int]) -> None:
    assert looked_at(filled(sizes)) == list(range(0, sum(sizes), 127))


def test_it_begins_anew_when_they_were_taken() -> None:
    backlog = filled([3000])
    backlog.take()
    assert backlog.rows == 0
    backlog.add(range(5), 5)
    assert looked_at(backlog) == [0, 1, 2, 3, 4]


def test_it_says_when_it_holds_many() -> None:
    backlog: Backlog[range] = Backlog()
    assert not backlog.add(range(MANY - 1), MANY - 1)
    assert backlog.add(range(100), 100)


def test_small_pieces_that_are_not_looked_at_are_not_kept() -> None:
    backlog = filled([2] * 10_000)
    assert backlog.rows == 20_000
    assert len(backlog.take()) < 400


def test_rows_that_take_turns_are_all_met() -> None:
    kinds = cycle("ab")
    found = set(sample([next(kinds) for _ in range(5000)]))
    assert found == {"a", "b"}
    assert sample([1, 2, 3]) == [1, 2, 3]

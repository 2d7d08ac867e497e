from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import StreamsError
from headrace.core.record import Change
from headrace.core.windowed import Window, Windowed
from headrace.metrics import catalogue
from headrace.topology.operators import BufferFull, Suppress, SuppressTime

from .harness import HEADERS, Bench, Out, SuppressBuffer


def bench(wait: int = 10, time: SuppressTime = SuppressTime.RECORD, **limits: Any) -> Bench:
    settings = {
        "max_records": None,
        "max_bytes": None,
        "when_full": BufferFull.EMIT,
        "drop_tombstones": False,
        **limits,
    }
    return Bench(Suppress("buffer", time, wait, **settings), SuppressBuffer())


def test_a_row_is_let_through_with_its_last_update_once_it_has_waited() -> None:
    suppress = bench()
    assert suppress.feed("a", Change(1, 0), 5, HEADERS) == []
    assert suppress.feed("a", Change(2, 1), 3, HEADERS) == []
    assert suppress.feed("b", Change(1), 14) == []
    assert suppress.feed("b", Change(2), 15) == [Out("a", Change(2, 1), 3, HEADERS)]
    assert suppress.context.metrics.counter(catalogue.SUPPRESSION_EMIT, "node").total == 1


def test_without_waiting_every_update_goes_on() -> None:
    suppress = bench(wait=0)
    assert suppress.feed("a", Change(1), 5) == [Out("a", Change(1), 5)]
    assert suppress.feed("a", Change(2), 3) == [Out("a", Change(2), 3)]


def test_a_window_waits_from_its_end() -> None:
    suppress = bench(wait=5, time=SuppressTime.WINDOW_END)
    first, second = Windowed("a", Window(0, 10)), Windowed("a", Window(10, 20))
    assert suppress.feed(first, Change(1), 3) == []
    assert suppress.feed(second, Change(1), 14) == []
    assert suppress.feed(second, Change(2), 15) == [Out(first, Change(1), 3)]


@pytest.mark.parametrize("drop_tombstones", [True, False])
def test_deletions(drop_tombstones: bool) -> None:
    suppress = bench(wait=0, drop_tombstones=drop_tombstones)
    expected = [] if drop_tombstones else [Out("a", Change(None, 1), 5)]
    assert suppress.feed("a", Change(None, 1), 5) == expected


@pytest.mark.parametrize("limit", [{"max_records": 2}, {"max_bytes": 20}])
class TestFull:
    def test_the_oldest_is_let_through_early(self, limit: dict[str, Any]) -> None:
        suppress = bench(wait=1000, **limit)
        suppress.feed("a", Change(1), 7)
        suppress.feed("b", Change(1), 5)
        assert suppress.feed("c", Change(1), 6) == [Out("b", Change(1), 5)]

    def test_or_processing_ends(self, limit: dict[str, Any]) -> None:
        suppress = bench(wait=1000, when_full=BufferFull.SHUT_DOWN, **limit)
        suppress.feed("a", Change(1))
        suppress.feed("b", Change(1))
        with pytest.raises(StreamsError, match="buffer of node exceeded its capacity: 3 of"):
            suppress.feed("c", Change(1))

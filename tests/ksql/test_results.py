"""Between a query and its reader."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.results import Closed, ResultStream


def test_what_is_put_is_taken_in_order() -> None:
    stream: ResultStream[int] = ResultStream()
    for number in range(5):
        stream.put(number)
    assert stream.take(2) == [0, 1]
    stream.finish("done")
    assert list(stream) == [2, 3, 4]
    assert stream.ended
    assert stream.final_message == "done"


def test_a_full_buffer_holds_the_query_back() -> None:
    stream: ResultStream[int] = ResultStream(capacity=2)
    done = Event()

    def write() -> None:
        for number in range(4):
            stream.put(number)
        done.set()

    thread = Thread(target=write)
    thread.start()
    assert not done.wait(0.05)
    assert stream.take() == [0, 1]
    assert done.wait(5)
    assert stream.take() == [2, 3]
    thread.join()


def test_who_reads_nothing_is_given_up() -> None:
    stream: ResultStream[int] = ResultStream(capacity=1, patience_s=0.01)
    stream.put(1)
    with pytest.raises(Closed):
        stream.put(2)
    assert stream.error is not None
    assert "has not read for 0.01 seconds" in stream.error.message
    assert stream.take() == [1]


def test_a_reader_that_leaves_ends_the_query() -> None:
    stream: ResultStream[int] = ResultStream()
    told: list[str] = []
    stream.on_close(lambda: told.append("closed"))
    stream.close()
    stream.close()
    assert told == ["closed"]
    with pytest.raises(Closed):
        stream.put(1)
    stream.on_close(lambda: told.append("late"))
    assert told == ["closed", "late"]


def test_the_reader_is_told() -> None:
    stream: ResultStream[int] = ResultStream()
    told: list[bool] = []
    stream.on_ready(lambda: told.append(stream.ended))
    stream.put(1)
    stream.finish()
    assert told == [False, True]
    stream.on_ready(lambda: told.append(stream.ended))
    assert told == [False, True, True]


def test_an_error_ends_it() -> None:
    stream: ResultStream[int] = ResultStream()
    stream.put(1)
    stream.fail(KsqlError(ErrorCode.SERVER_ERROR, "broken"))
    stream.finish("too late")
    assert stream.final_message is None
    with pytest.raises(KsqlError, match="broken"):
        list(stream)

from __future__ import annotations

import pytest

from headrace.core.errors import ArgumentError
from headrace.core.handlers import (
    ErrorContext,
    Response,
    Result,
    Stage,
    checked,
    log_and_continue,
    log_and_fail,
)
from headrace.core.record import TaskId


def context(topic: str | None = "in", dead_letter_topic: str | None = "dlq") -> ErrorContext:
    return ErrorContext(
        Stage.PROCESS,
        "node",
        TaskId(0, 1),
        topic,
        1,
        7,
        1000,
        (("h", b"x"),),
        b"key",
        b"value",
        dead_letter_topic,
    )


def test_dead_letters_hold_the_input_and_what_went_wrong() -> None:
    try:
        raise ValueError("boom")
    except ValueError as error:
        (letter,) = context().dead_letters(error)
    assert (letter.topic, letter.key, letter.value, letter.timestamp) == (
        "dlq",
        b"key",
        b"value",
        1000,
    )
    headers = dict(letter.headers)
    assert headers["h"] == b"x"
    assert headers["__streams.errors.exception"] == b"ValueError"
    assert headers["__streams.errors.message"] == b"boom"
    assert b"test_handlers.py" in (headers["__streams.errors.stacktrace"] or b"")
    assert headers["__streams.errors.topic"] == b"in"
    assert headers["__streams.errors.partition"] == b"1"
    assert headers["__streams.errors.offset"] == b"7"


def test_dead_letters_need_a_topic() -> None:
    error = ArgumentError("no")
    assert context(dead_letter_topic=None).dead_letters(error) == ()
    (letter,) = context(dead_letter_topic=None).dead_letters(error, "mine")
    assert letter.topic == "mine"
    assert (
        dict(letter.headers)["__streams.errors.exception"] == b"headrace.core.errors.ArgumentError"
    )


def test_dead_letters_of_a_punctuation_name_no_topic() -> None:
    (letter,) = context(topic=None).dead_letters(ValueError("x"))
    assert dict(letter.headers)["__streams.errors.topic"] is None


def test_built_in_handlers() -> None:
    error = ValueError("x")
    assert log_and_continue(context(), None, error).result is Result.CONTINUE
    assert log_and_fail(context(), None, error).result is Result.FAIL
    assert len(log_and_fail(context(), None, error).dead_letters) == 1
    assert log_and_continue(context(dead_letter_topic=None), None, error).dead_letters == ()


def test_a_handler_must_give_a_response() -> None:
    assert checked(Response.retry()).result is Result.RETRY
    with pytest.raises(ArgumentError, match="returned None"):
        checked(None)


def test_where_an_error_happened_is_readable() -> None:
    assert str(context()) == "node at in-1@7 (task 0_1)"
    assert str(context(topic=None)) == "node at a punctuation (task 0_1)"

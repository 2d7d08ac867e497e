"""Servers that prove themselves to each other."""

from __future__ import annotations

import pytest

from headrace.http.peers import PeerKey

HERE = "a.example:8088"


def test_a_question_and_its_answer() -> None:
    ours, theirs = PeerKey("secret"), PeerKey("secret")
    nonce, authorization = ours.question(HERE)
    assert theirs.asked(authorization, HERE) == nonce
    assert ours.is_answered(theirs.answer(nonce, HERE), nonce, HERE)


def test_each_question_is_another_one() -> None:
    key = PeerKey("secret")
    assert key.question(HERE) != key.question(HERE)


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer secret", "Headrace-Peer", "Headrace-Peer 1-a:b", "Headrace-Peer :", "Basic ä:b"],
)
def test_what_is_no_question(authorization: str) -> None:
    assert PeerKey("secret").asked(authorization, HERE) is None


def test_a_question_is_for_one_server_with_one_secret() -> None:
    _, authorization = PeerKey("secret").question(HERE)
    assert PeerKey("other").asked(authorization, HERE) is None
    assert PeerKey("secret").asked(authorization, "b.example:8088") is None


def test_a_question_grows_old() -> None:
    _, authorization = PeerKey("secret", lambda: 1_000.0).question(HERE)
    assert PeerKey("secret", lambda: 1_299.0).asked(authorization, HERE) is not None
    assert PeerKey("secret", lambda: 1_301.0).asked(authorization, HERE) is None


def test_an_answer_is_to_one_question_of_one_server() -> None:
    key = PeerKey("secret")
    nonce, authorization = key.question(HERE)
    assert not key.is_answered("", nonce, HERE)
    assert not key.is_answered(authorization.partition(":")[2], nonce, HERE)
    assert not key.is_answered(key.answer("other", HERE), nonce, HERE)
    assert not key.is_answered(PeerKey("other").answer(nonce, HERE), nonce, HERE)

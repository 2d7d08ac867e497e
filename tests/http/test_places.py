"""Places."""

from __future__ import annotations

from headrace.http.places import Places


def test_no_more_than_there_are() -> None:
    places = Places(2)
    assert places.take()
    assert places.take()
    assert not places.take()
    assert places.taken == 2
    places.leave()
    assert places.take()

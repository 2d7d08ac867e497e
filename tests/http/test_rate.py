"""How often a client may ask."""

from __future__ import annotations

from headrace.http.rate import Rate


def test_rate() -> None:
    now = 0.0
    rate = Rate(2, lambda: now)
    assert [rate.wait_s("a") for _ in range(3)] == [0, 0, 1]
    assert rate.wait_s("b") == 0
    now = 0.5
    assert [rate.wait_s("a") for _ in range(2)] == [0, 1]
    now = 100.0
    assert [rate.wait_s("a") for _ in range(3)] == [0, 0, 1]
    for number in range(5000):
        rate.wait_s(str(number))
    assert len(rate._buckets) == 4096

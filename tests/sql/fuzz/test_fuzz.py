"""A few hundred random statements; `python -m tests.sql.fuzz` tries more."""

from .trial import fuzz


def test_random_statements() -> None:
    assert fuzz(seed=1, count=300) == []

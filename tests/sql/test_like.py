"""LIKE, against regular expressions that mean the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.like import like
from tests.sql.evaluation import value_of


def model(pattern: str, escape: str | None) -> re.Pattern[str]:
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters, "")))
        else:
            parts.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return re.compile("".join(parts), re.DOTALL)


@given(
    st.text("ab%_!\n(.é😀", max_size=8),
    st.sampled_from([None, "!"]),
    st.text("ab\n(.é😀", max_size=8),
)
def test_what_it_means(pattern: str, escape: str | None, text: str) -> None:
    expected = model(pattern, escape).fullmatch(text) is not None
    assert like(pattern, escape)(text) == expected


def test_patterns_that_would_take_years() -> None:
    text = "a" * 5_000
    for pattern in ("%a" * 30 + "%b", "%a_" * 30 + "b", "_%" * 30 + "b%"):
        assert not like(pattern, None)(text)
        assert value_of("T LIKE P", T=("STRING", text), P=("STRING", pattern)) is False


def test_patterns_that_are_too_long() -> None:
    with pytest.raises(ValueError, match="10,000 characters"):
        like("a" * 10_001, None)

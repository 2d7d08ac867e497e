"""Regular expressions: Java's syntax, RE2's engine."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.functions import java_regex as module
from headrace.sql.functions.java_regex import JavaRegex, java_regex
from tests.sql.evaluation import failure_of, value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("REGEXP_EXTRACT('(\\w+)@(\\w+)', 'to anna@example now', 2)", "example"),
        ("REGEXP_EXTRACT('(x)?b', 'ab', 1)", None),
        ("REGEXP_EXTRACT('x', 'ab')", None),
        ("REGEXP_EXTRACT('x', 'x', 1)", None),
        ("REGEXP_EXTRACT_ALL('ü.', 'üaöüb😀ü😀')", ["üa", "üb", "ü😀"]),
        ("REGEXP_EXTRACT_ALL('a*', 'baaü')", ["", "aa", "", ""]),
        ("REGEXP_REPLACE('a1b22', '(\\d+)', '<$1>')", "a<1>b<22>"),
        ("REGEXP_REPLACE('ab', '(a)', '$12')", "a2b"),
        ("REGEXP_REPLACE('ab', 'a', '\\$1\\\\')", "$1\\b"),
        ("REGEXP_REPLACE('äöü', '', '-')", "-ä-ö-ü-"),
        ("REGEXP_SPLIT_TO_ARRAY('a1b22ü', '\\d+')", ["a", "b", "ü"]),
        ("REGEXP_SPLIT_TO_ARRAY('a😀', '')", ["a", "😀"]),
    ],
)
def test_functions(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"\p{Lower}+\p{Upper}", "abC", "ABc"),
        (r"[\p{Alpha}\P{Digit}_]+", "a_-", "a1"),
        (r"\p{L}\pL\p{Lu}", "üaÄ", "üaä"),
        (r"\p{IsAlphabetic}\p{IsDigit}", "ö1", "1ö"),
        (r"\p{IsGreek}\p{script=Latin}", "αa", "aα"),
        (r"\Qa.b\E.", "a.bc", "axbc"),
        (r"\Qa.b", "a.b", "axb"),
        (r"A\x{1F600}\ud83d\ude00\0101\cA\e", "A😀😀A\x01\x1b", "A"),
        (r"\h\H\v\V\s\S", " a\na\x0ba", "aaaaaa"),
        (r"[\h\v\s.]+", " \n.", "a"),
        (r"a\R", "a\r\n", "ab"),
        (r"[]a]+", "]a", "b"),
        (r"[^]a]+", "b", "]"),
        (r"(?iud)AB", "ab", "cd"),
        (r"(?u)ab", "ab", "AB"),
        (r"(?u-i:ab)", "ab", "AB"),
        (r"(?s).", "\n", ""),
        (r"\.\-\ü\_", ".-ü_", "x"),
    ],
)
def test_syntax_of_java(pattern: str, matching: str, others: str) -> None:
    assert java_regex(pattern).matches(matching)
    assert not java_regex(pattern).matches(others)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "References to groups are not supported"),
        (r"(?<n>a)\k<n>", "References to groups are not supported"),
        ("(?=a)", "Looking ahead is not supported"),
        ("(?!a)", "Looking ahead is not supported"),
        ("(?<=a)b", "Looking behind is not supported"),
        ("(?<!a)b", "Looking behind is not supported"),
        ("(?>a)", "Atomic groups are not supported"),
        ("a*+", "bad repetition operator"),
        ("(?x)a", "The flag x is not supported"),
        ("(?U)a", "The flag U is not supported"),
        ("[a-z&&[^b]]", "A class within a class is not supported"),
        ("[a[b]]", "A class within a class is not supported"),
        (r"[\H]", r"\\H in a class is not supported"),
        (r"a\Z", r"\\z is the end of the text"),
        (r"\Gx", r"\\G is not supported"),
        (r"\p{Nothing}", "Nothing"),
        (r"\u12", "lacks its digits"),
        ("a\\", "stands at the end"),
        ("a{1001}", "invalid repetition size"),
        ("(", "missing"),
        ("(?", "invalid"),
        ("a" * 10_001, "may have 10,000 characters"),
    ],
)
def test_what_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        java_regex(pattern)
    assert re.search(message, failure_of(f"REGEXP_EXTRACT('{pattern}', 'text')"))


def test_replacements_by_name() -> None:
    assert java_regex("(?<first>a)(b)").replace("ab", "$2${first}") == "ba"


@pytest.mark.parametrize("replacement", ["$", "$x", "$2", "${none}", "\\"])
def test_replacements_that_refer_to_nothing(replacement: str) -> None:
    with pytest.raises(ValueError, match="group"):
        java_regex("(a)").replace("a", replacement)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|aa)+$",
        "(a|a?)+!!",
        "(.*a){20}",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(x+x+)+y",
        "(b+)+c",
    ],
)
def test_patterns_that_would_take_years(pattern: str) -> None:
    """An engine that tries one way after another does not come back from these."""
    text = "a" * 5_000 + "!"
    assert not java_regex(pattern).matches(text + "\n")
    assert value_of(f"REGEXP_EXTRACT('{pattern}', T)", T=("STRING", "b" * 5_000)) is None


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_STEPS", 10_000)
    with pytest.raises(ValueError, match="too long for so large"):
        JavaRegex("(a?){100}").find("a" * 1_000)
    assert JavaRegex("a").find("a" * 100) is not None
    monkeypatch.setattr(module, "_MOST_STEPS", 1_000_000)
    # Each of these searches goes to the end of the text.
    monkeypatch.setattr(module, "_MOST_SCANNED", 10_000)
    with pytest.raises(ValueError, match="so many matches"):
        list(JavaRegex("a.*b|a").find_all("a" * 1_000))
    assert len(list(JavaRegex("a").find_all("a" * 100))) == 100


def test_matches_do_not_begin_within_a_character() -> None:
    assert [match[0] for match in java_regex(r"\B").find_all("aé")] == [""]
    assert java_regex(r"\B").replace("éa", "-") == re.sub(r"\B", "-", "éa", flags=re.ASCII)


_ATOMS = st.sampled_from(
    ["a", "b", "ü", ".", "[ab]", "[^a]", r"\w", r"\d", "(a|b)", "(?:ab)", r"(?:a\b)"]
)
_REPEATED = st.builds("{}{}".format, _ATOMS, st.sampled_from(["", "*", "+", "?", "+?", "{1,2}"]))
_PATTERNS = st.lists(_REPEATED, min_size=1, max_size=4).map("".join)


@given(_PATTERNS, st.text("abü1 😀", max_size=12))
def test_what_python_finds_too(pattern: str, text: str) -> None:
    python, java = re.compile(pattern, re.ASCII), java_regex(pattern)
    assert [match[0] for match in java.find_all(text)] == [
        match[0] for match in python.finditer(text)
    ]
    assert java.matches(text) == (python.fullmatch(text) is not None)
    assert java.replace(text, "-") == python.sub("-", text)

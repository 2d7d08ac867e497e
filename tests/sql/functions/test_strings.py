"""Functions of text and bytes."""

import re
from typing import Any

import pytest

from tests.sql.evaluation import failure_of, result_of, value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UCASE('aß')", "ASS"),
        ("LCASE('AB')", "ab"),
        ("INITCAP('  the   Quick br0wn fOx')", "The   Quick Br0wn Fox"),
        ("TRIM(' \t a b \n')", "a b"),
        ("LEN('a\U0001f600')", 3),
        ("REPLACE('aaa', 'aa', 'b')", "ba"),
        ("SUBSTRING('stream', 1)", "stream"),
        ("SUBSTRING('stream', 0, 2)", "st"),
        ("SUBSTRING('stream', 3, 2)", "re"),
        ("SUBSTRING('stream', -3)", "eam"),
        ("SUBSTRING('stream', -30, 2)", "st"),
        ("SUBSTRING('stream', 99)", ""),
        ("SUBSTRING('stream', 2, -1)", ""),
        ("SUBSTRING('a\U0001f600b', 4)", "b"),
        ("INSTR('corporate floor', 'or')", 2),
        ("INSTR('corporate floor', 'or', 3)", 5),
        ("INSTR('corporate floor', 'or', 1, 3)", 14),
        ("INSTR('corporate floor', 'or', -3)", 5),
        ("INSTR('corporate floor', 'or', -3, 2)", 2),
        ("INSTR('corporate floor', 'or', -1)", 14),
        ("INSTR('corporate', 'ORA')", 0),
        ("LPAD('foo', 7, 'Bar')", "BarBfoo"),
        ("LPAD('foo', 2, 'Bar')", "fo"),
        ("RPAD('foo', 7, 'Bar')", "fooBarB"),
        ("LPAD('foo', -1, 'Bar')", None),
        ("RPAD('foo', 7, '')", None),
        ("SPLIT('a.b.', '.')", ["a", "b", ""]),
        ("SPLIT('abc', '')", ["a", "b", "c"]),
        ("SPLIT('', '')", [""]),
        ("CONCAT('a', NULL, 'b')", "ab"),
        ("'a' || 'b'", "ab"),
        ("CONCAT_WS(', ', 'a', NULL, 'b')", "a, b"),
        ("CONCAT_WS(CAST(NULL AS STRING), 'a', 'b')", None),
        ("ELT(2, 'a', 'b')", "b"),
        ("ELT(3, 'a', 'b')", None),
        ("FIELD('b', 'a', 'b')", 2),
        ("FIELD(CAST(NULL AS STRING), 'a')", 0),
        ("CHR(75)", "K"),
        ("CHR(1114112)", None),
        (r"CHR('\ud820\udeb8')", "\U000182b8"),
        ("CHR('75')", None),
        ("MASK('Ab-1é')", "Xx-nx"),
        ("MASK('Ab-1', 'U', NULL, '#', '.')", "Ub.#"),
        ("MASK_LEFT('AbCd', 2)", "XxCd"),
        ("MASK_RIGHT('AbCd', 2)", "AbXx"),
        ("MASK_KEEP_LEFT('AbCd', 1)", "AxXx"),
        ("MASK_KEEP_RIGHT('AbCd', 9)", "AbCd"),
        ("MD5('')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("SPLIT_TO_MAP('a=1;b=2;;c;a=3', ';', '=')", {"a": "3", "b": "2"}),
        ("SPLIT_TO_MAP('a=1', '=', '=')", None),
        ("ENCODE('Example!', 'ascii', 'hex')", "4578616d706c6521"),
        ("ENCODE('0x4578', 'hex', 'ascii')", "Ex"),
        ("ENCODE('X''4578''', 'hex', 'UTF8')", "Ex"),
        ("ENCODE('é', 'utf8', 'base64')", "w6k="),
        ("TO_BYTES('C3A9', 'hex')", "é".encode()),
        ("FROM_BYTES(TO_BYTES('é', 'utf8'), 'hex')", "C3A9"),
        ("INT_FROM_BYTES(TO_BYTES('00000102', 'hex'))", 258),
        ("INT_FROM_BYTES(TO_BYTES('02010000', 'hex'), 'little_endian')", 258),
        ("BIGINT_FROM_BYTES(TO_BYTES('FFFFFFFFFFFFFFFF', 'hex'))", -1),
        ("DOUBLE_FROM_BYTES(TO_BYTES('3FF8000000000000', 'hex'))", 1.5),
        ("UUID(TO_BYTES('00112233445566778899aabbccddeeff', 'hex'))",
         "00112233-4455-6677-8899-aabbccddeeff"),
        ("UUID(TO_BYTES('00', 'hex'))", None),
    ],
)  # fmt: skip
def test_values(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MASK_LEFT('AbCd', -1)", "numChars must be at least 0"),
        ("MASK('a', 'XX', 'x', 'n', '-')", "single character"),
        ("ENCODE('a', 'utf8', 'UTF8')", "the same"),
        ("ENCODE('a', 'utf8', 'rot13')", "Unknown encoding 'rot13'"),
        ("TO_BYTES('xyz', 'hex')", "not hexadecimal"),
        ("INT_FROM_BYTES(TO_BYTES('00', 'hex'))", "must be equal to 4, but found 1"),
        ("INT_FROM_BYTES(TO_BYTES('00000000', 'hex'), 'MIDDLE')", "Byte order"),
    ],
)
def test_failures(text: str, message: str) -> None:
    assert message in failure_of(text)


@pytest.mark.parametrize(
    "text",
    ["UCASE(X)", "LEN(X)", "SUBSTRING(X, 1)", "MD5(X)", "SPLIT(X, ',')", "MASK(X)", "TRIM(X)"],
)
def test_null_gives_null(text: str) -> None:
    assert value_of(text, X=("STRING", None)) is None


def test_bytes_are_treated_as_text_is() -> None:
    row = {"B": ("BYTES", b"abcd"), "S": ("BYTES", b"c")}
    expected = {
        "LEN(B)": 4,
        "SUBSTRING(B, 2, 2)": b"bc",
        "SPLIT(B, S)": [b"ab", b"d"],
        "LPAD(B, 6, S)": b"ccabcd",
        "RPAD(B, 5, S)": b"abcdc",
        "CONCAT(B, NULL, S)": b"abcdc",
        "CONCAT_WS(S, B, B)": b"abcdcabcd",
    }
    assert {text: value_of(text, **row) for text in expected} == expected


def test_random_uuids() -> None:
    one, other = value_of("UUID()"), value_of("UUID()")
    assert one != other
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("REGEXP_EXTRACT('test.', 'some_test_string')", "test_"),
        ("REGEXP_EXTRACT('(.*) (.*)', 'one two', 2)", "two"),
        ("REGEXP_EXTRACT('(.*) (.*)', 'one two', 3)", None),
        ("REGEXP_EXTRACT('x', 'one')", None),
        ("REGEXP_EXTRACT_ALL('t(.)', 'ta tb', 1)", ["a", "b"]),
        ("REGEXP_EXTRACT_ALL('x', 'ta tb')", []),
        ("REGEXP_REPLACE('baababaa', '(ab)+', '<$1$0>')", "ba<ababab>aa"),
        (r"REGEXP_REPLACE('ab', 'a', '\$1')", "$1b"),
        ("REGEXP_REPLACE('ab', '(a)', '$12')", "a2b"),
        ("REGEXP_SPLIT_TO_ARRAY('aabcda', '(ab|cd)')", ["a", "", "a"]),
        ("REGEXP_SPLIT_TO_ARRAY('abc', '')", ["a", "b", "c"]),
        (r"REGEXP_EXTRACT('\p{Upper}+[\p{Lower}]*', 'xxABcdé')", "ABcd"),
        (r"REGEXP_EXTRACT('\Q.*\E', 'a.*b')", ".*"),
        (r"REGEXP_EXTRACT('\d+', '٣4')", "4"),
        (r"REGEXP_EXTRACT('\P{Digit}+', '12ab')", "ab"),
    ],
)
def test_regular_expressions_are_those_of_java(text: str, expected: Any) -> None:
    assert value_of(text) == expected


def test_groups_of_regular_expressions_have_names() -> None:
    text = "REGEXP_REPLACE('ab', '(?<first>a)', R)"
    assert value_of(text, R=("STRING", "${first}${first}")) == "aab"


@pytest.mark.parametrize("text", ["REGEXP_EXTRACT('(', 'a')", "REGEXP_REPLACE('a', 'a', '$1')"])
def test_bad_regular_expressions_fail(text: str) -> None:
    assert result_of(text).value is None
    assert len(result_of(text).failures) == 1


_URL = "'https://user@example.com:8080/a%20b/c?q=x%26y&empty&n=1+2#top%21'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"URL_EXTRACT_PROTOCOL({_URL})", "https"),
        (f"URL_EXTRACT_HOST({_URL})", "example.com"),
        (f"URL_EXTRACT_PORT({_URL})", 8080),
        ("URL_EXTRACT_PORT('http://example.com/')", None),
        (f"URL_EXTRACT_PATH({_URL})", "/a b/c"),
        (f"URL_EXTRACT_QUERY({_URL})", "q=x&y&empty&n=1+2"),
        (f"URL_EXTRACT_FRAGMENT({_URL})", "top!"),
        (f"URL_EXTRACT_PARAMETER({_URL}, 'empty')", ""),
        (f"URL_EXTRACT_PARAMETER({_URL}, 'n')", "1+2"),
        (f"URL_EXTRACT_PARAMETER({_URL}, 'none')", None),
        ("URL_EXTRACT_PATH('http://example.com')", ""),
        ("URL_EXTRACT_PATH('mailto:a@b')", None),
        ("URL_EXTRACT_HOST('/relative')", None),
        ("URL_ENCODE_PARAM('a b~*-_.é')", "a+b%7E*-_.%C3%A9"),
        ("URL_DECODE_PARAM('a+b%20%C3%A9')", "a b é"),
    ],
)
def test_urls(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    "text", ["URL_EXTRACT_HOST('http://a b/')", "URL_DECODE_PARAM('%4')", "URL_EXTRACT_PATH('%zz')"]
)
def test_bad_urls_fail(text: str) -> None:
    assert failure_of(text)

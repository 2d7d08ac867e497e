"""Functions of dates and times."""

from typing import Any

import pytest

from tests.sql.evaluation import failure_of, value_of

_INSTANT = 1_582_971_630_400  # 2020-02-29T10:20:30.400Z


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UNIX_TIMESTAMP(FROM_UNIXTIME(5))", 5),
        ("UNIX_DATE(FROM_DAYS(5))", 5),
        ("DATEADD(DAYS, 2, FROM_DAYS(5))", 7),
        ("DATEADD(HOURS, 36, FROM_DAYS(5))", 6),
        ("DATESUB(HOURS, 36, FROM_DAYS(1))", 0),
        ("DATESUB(HOURS, 36, FROM_DAYS(-1))", -2),
        ("TIMEADD(HOURS, 5, CAST('22:00' AS TIME))", 3 * 3_600_000),
        ("TIMESUB(MINUTES, 1, CAST('00:00' AS TIME))", 86_340_000),
        ("UNIX_TIMESTAMP(TIMESTAMPADD(SECONDS, 2, FROM_UNIXTIME(5)))", 2005),
        ("UNIX_TIMESTAMP(TIMESTAMPSUB(MILLISECONDS, 2, FROM_UNIXTIME(5)))", 3),
        ("STRINGTOTIMESTAMP('29/02/2020 10', 'dd/MM/yyyy HH')", 1_582_970_400_000),
        ("STRINGTOTIMESTAMP('2020', 'yyyy', 'America/New_York')", 1_577_854_800_000),
        ("STRINGTOTIMESTAMP('2020 +0200', 'yyyy Z', 'America/New_York')", 1_577_829_600_000),
        ("STRINGTODATE('Feb 29, 2020', 'MMM d, yyyy')", 18321),
        ("UNIX_DATE(PARSE_DATE('31-JAN-2020 and more', 'dd-MMM-yyyy'))", 18292),
        ("PARSE_TIME('10:20:30.4', 'HH:mm:ss.S')", 37_230_400),
        ("DATETOSTRING(18321, 'EEE, d MMM yy')", "Sat, 29 Feb 20"),
        ("FORMAT_DATE(FROM_DAYS(18321), 'D ''of'' yyyy')", "60 of 2020"),
        ("FORMAT_TIME(CAST('10:20:30' AS TIME), 'h:mm a')", "10:20 AM"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("pattern", "zone", "expected"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "UTC", "2020-02-29T10:20:30.400Z"),
        ("yyyy-MM-dd HH:mm:ss zzz", "America/Los_Angeles", "2020-02-29 02:20:30 PST"),
        ("VV zzzz", "Europe/Berlin", "Europe/Berlin Central European Standard Time"),
        ("XXX xx Z O", "Asia/Kolkata", "+05:30 +0530 +0530 GMT+05:30"),
        ("uuuu QQQ q MMMM MMMMM", "UTC", "2020 Q1 1 February F"),
        ("EEEE e w W F", "UTC", "Saturday 7 9 5 5"),
        ("G hh:mm:ss a", "UTC", "AD 10:20:30 AM"),
        ("kk KK A n N", "UTC", "10 10 37230400 400000000 37230400000000"),
        ("[yyyy]['x'z]", "UTC", "2020xUTC"),
        ("ppppd yy", "UTC", "  29 20"),
        ("'it''s'''", "UTC", "it's'"),
    ],
)
def test_format(pattern: str, zone: str, expected: str) -> None:
    row = {"T": ("TIMESTAMP", _INSTANT), "P": ("STRING", pattern), "Z": ("STRING", zone)}
    assert value_of("FORMAT_TIMESTAMP(T, P, Z)", **row) == expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("20200229102030400", "yyyyMMddHHmmssSSS", _INSTANT),
        ("2020-02-29t10:20:30.400z", "yyyy-MM-dd'T'HH:mm:ss.SSSX", _INSTANT),
        ("2020-02-29 05:20:30.400 EST", "yyyy-MM-dd HH:mm:ss.SSS zzz", _INSTANT),
        ("2020-02-29 11:20:30.400 Europe/Berlin", "yyyy-MM-dd HH:mm:ss.SSS VV", _INSTANT),
        ("29 february 2020 10:20:30 am +00:00", "d MMMM uuuu h:mm:ss a XXX", _INSTANT - 400),
        ("2020-060 10:20:30", "yyyy-DDD HH:mm:ss", _INSTANT - 400),
        ("20-2-29 10:20:30", "yy-M-d H:m:s", _INSTANT - 400),
        ("2020-02-29", "yyyy-MM-dd[ HH:mm]", _INSTANT - 37_230_400),
        ("2020-02-31", "yyyy-MM-dd", _INSTANT - 37_230_400),
        ("12 am", "h a", 0),
        ("12 PM", "h a", 12 * 3_600_000),
    ],
)
def test_parse(text: str, pattern: str, expected: int) -> None:
    row = {"T": ("STRING", text), "P": ("STRING", pattern)}
    assert value_of("PARSE_TIMESTAMP(T, P)", **row) == expected


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2020-13-01", "yyyy-MM-dd"),
        ("2020-02-29 25", "yyyy-MM-dd HH"),
        ("2020-02-29x", "yyyy-MM-dd"),
        ("2020", "yyyy-MM"),
        ("2020", "bbbb"),
        ("2020", "yyyy]"),
        ("2020", "yyyy 'open"),
        ("Feb", "MMMMMM"),
        ("2020 Nowhere/Town", "yyyy VV"),
    ],
)
def test_unreadable_text_and_bad_patterns_fail(text: str, pattern: str) -> None:
    assert failure_of("PARSE_TIMESTAMP(T, P)", T=("STRING", text), P=("STRING", pattern))


@pytest.mark.parametrize(
    "text",
    [
        "FORMAT_DATE(FROM_DAYS(1), 'HH')",
        "FORMAT_TIME(CAST('10:20' AS TIME), 'yyyy')",
        "PARSE_DATE('2020-01-01 10', 'yyyy-MM-dd HH')",
        "PARSE_TIME('2020', 'yyyy')",
        "FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'yyyy', 'Nowhere/Town')",
    ],
)
def test_what_a_type_has_not_got_fails(text: str) -> None:
    assert failure_of(text)


def test_zones_shift() -> None:
    text = "UNIX_TIMESTAMP(CONVERT_TZ(T, 'America/Los_Angeles', '+01:00'))"
    assert value_of(text, T=("TIMESTAMP", _INSTANT)) == _INSTANT + 9 * 3_600_000


def test_clocks_that_skip_and_repeat_an_hour() -> None:
    parse = "STRINGTOTIMESTAMP(T, 'yyyy-MM-dd HH:mm', 'Europe/Berlin')"
    # At 2:00 they showed 3:00, on the 29th of March 2020.
    assert value_of(parse, T=("STRING", "2020-03-29 02:30")) == 1_585_445_400_000
    # At 3:00 they showed 2:00 again, on the 25th of October.
    assert value_of(parse, T=("STRING", "2020-10-25 02:30")) == 1_603_585_800_000


def test_now() -> None:
    assert value_of("UNIX_TIMESTAMP()") > 1_700_000_000_000
    assert value_of("UNIX_DATE()") > 19_000

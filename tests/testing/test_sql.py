"""Testing SQL: rehearsals over JSON records, and scripts with ASSERT VALUES."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.core.errors import ArgumentError
from headrace.sql.errors import ParseError, SqlError, StatementError
from headrace.sql.syntax.parser import parse
from headrace.testing.sql import AssertionFailed, Rehearsal, SqlTestDriver
from headrace.testing.sql.files import run_files
from headrace.testing.sql.script import run_test, script_tests

CLICKS = """
CREATE STREAM clicks (user STRING KEY, page INT)
  WITH (kafka_topic='clicks', value_format='JSON', partitions=1);
"""
COUNTS = "CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;"


def rehearsed(sql: str, *inputs: dict[str, Any]) -> Rehearsal:
    rehearsal = Rehearsal()
    for statement in parse(sql):
        rehearsal.execute(statement)
    rehearsal.feed(inputs)
    return rehearsal


def click(user: str, page: int, timestamp: int = 0) -> dict[str, Any]:
    return {"topic": "clicks", "key": user, "value": {"page": page}, "timestamp": timestamp}


def count(user: str, n: int, **more: Any) -> dict[str, Any]:
    return {"topic": "COUNTS", "key": user, "value": {"n": n}, **more}


def test_a_rehearsal_finds_nothing_wrong() -> None:
    rehearsal = rehearsed(CLICKS + COUNTS, click("anna", 1), click("bo", 1), click("anna", 2))
    expected = [count("anna", 1), count("bo", 1, timestamp=0), count("anna", 2)]
    assert rehearsal.differences(expected) == []


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([count("anna", 2)], "COUNTS[0]: value: n is 1, not 2"),
        ([count("bo", 1)], "COUNTS[0]: key: it is 'anna', not 'bo'"),
        ([count("anna", 1, timestamp=5)], "COUNTS[0]: timestamp: it is 0, not 5"),
        ([count("anna", 1, window={"start": 0, "end": 1, "type": "time"})], "window: it is None"),
        ([count("anna", 1, headers=[{"KEY": "k", "VALUE": "AQI="}])], "headers: they are ()"),
        ([count("anna", 1), count("anna", 2)], "COUNTS has 1 records, not 2: [\"'anna': {'N': 1}"),
    ],
)
def test_a_rehearsal_finds_what_is_wrong(expected: list[dict[str, Any]], message: str) -> None:
    found = rehearsed(CLICKS + COUNTS, click("anna", 1)).differences(expected)
    assert len(found) == 1
    assert message in found[0]


def test_windows() -> None:
    windowed = COUNTS.replace("GROUP BY", "WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY")
    rehearsal = rehearsed(CLICKS + windowed, click("anna", 1, 12_000))
    window = {"start": 10_000, "end": 20_000, "type": "time"}
    assert rehearsal.differences([count("anna", 1, window=window)]) == []
    session = COUNTS.replace("GROUP BY", "WINDOW SESSION (10 SECONDS) GROUP BY")
    rehearsal = rehearsed(CLICKS + session, click("anna", 1, 12_000))
    window = {"start": 12_000, "end": 12_000, "type": "session"}
    assert rehearsal.differences([count("anna", 1, window=window)]) == []


@pytest.mark.parametrize(
    "format", ["JSON", "DELIMITED", "KAFKA", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "JSON_SR"]
)
def test_every_format_goes_in_and_comes_out(format: str) -> None:
    sql = (
        f"CREATE STREAM s (v DOUBLE) WITH (kafka_topic='s', value_format='{format}', partitions=1);"
        "CREATE STREAM o AS SELECT * FROM s;"
    )
    values = {"DELIMITED": "2.5", "KAFKA": Decimal("2.5")}
    value = values.get(format, {"V": Decimal("2.5")})
    rehearsal = rehearsed(sql, {"topic": "s", "value": value}, {"topic": "s", "value": None})
    expected: list[dict[str, Any]] = [
        {"topic": "O", "value": value},
        {"topic": "O", "value": None},
    ]
    assert rehearsal.differences(expected) == []


def test_what_does_not_fit_the_format_is_skipped() -> None:
    rehearsal = rehearsed(CLICKS + COUNTS, {"topic": "clicks", "key": "anna", "value": "rubbish"})
    assert rehearsal.differences([count("anna", 1)]) != []


def files(tmp_path: Path, **contents: Any) -> list[Path]:
    made = []
    for name, content in contents.items():
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        made.append(path)
    return made


def test_files(tmp_path: Path) -> None:
    sql, given, expected = files(
        tmp_path,
        app=CLICKS + COUNTS,
        given={"inputs": [click("anna", 1)]},
        expected={"outputs": [count("anna", 1)]},
    )
    assert run_files(sql, given, expected) == []


def test_files_with_rows_of_insert_values(tmp_path: Path) -> None:
    insert = "INSERT INTO clicks VALUES ('anna', 1);"
    sql, expected = files(
        tmp_path,
        app=CLICKS + COUNTS + insert,
        expected={"outputs": [count("anna", 1, timestamp=0)]},
    )
    assert run_files(sql, None, expected) == []


@pytest.mark.parametrize("content", ["no json", [], {"outputs": 1}, {"outputs": [{"key": 1}]}])
def test_wrong_files(tmp_path: Path, content: Any) -> None:
    sql, expected = files(tmp_path, app=CLICKS, expected=content)
    with pytest.raises(ArgumentError, match=str(expected)):
        run_files(sql, None, expected)
    with pytest.raises(ArgumentError, match="can't be read"):
        run_files(sql, None, tmp_path / "nowhere")


# Scripts


def run(text: str) -> None:
    with SqlTestDriver() as driver:
        driver.run(CLICKS + COUNTS + text)


def test_rows_are_asserted_in_order() -> None:
    run(
        """
        INSERT INTO clicks (user, page) VALUES ('anna', 1);
        INSERT INTO clicks (rowtime, user, page) VALUES (5, 'bo', 1);
        ASSERT VALUES counts (user, n) VALUES ('anna', 1);
        ASSERT VALUES counts (rowtime, user, n) VALUES (5, 'bo', 1);
        INSERT INTO clicks (user, page) VALUES ('anna', 2);
        ASSERT VALUES counts (user, n) VALUES ('anna', 1 + 1);
        """
    )


def test_a_query_reads_what_is_there_already() -> None:
    with SqlTestDriver() as driver:
        driver.run(CLICKS + "INSERT INTO clicks VALUES ('anna', 1);")
        driver.run(COUNTS)
        driver.run("CREATE TABLE more AS SELECT user, n + 1 AS m FROM counts;")
        driver.run("INSERT INTO clicks VALUES ('anna', 1);")
        driver.run("ASSERT VALUES more VALUES ('anna', 2); ASSERT VALUES more VALUES ('anna', 3);")


def test_a_dropped_query_reads_no_more() -> None:
    with SqlTestDriver() as driver:
        driver.run(CLICKS + COUNTS + "DROP TABLE counts;")
        driver.run("INSERT INTO clicks VALUES ('anna', 1);")
        assert not driver.log["COUNTS"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ASSERT VALUES counts (user, n) VALUES ('anna', 1);", "another record"),
        (
            "INSERT INTO clicks VALUES ('anna', 1); ASSERT VALUES counts (n) VALUES (2);",
            "Expected record does not match actual: record 1 of COUNTS is",
        ),
        (
            "INSERT INTO clicks VALUES ('anna', 1);ASSERT NULL VALUES counts (user) KEY ('anna');",
            "not a tombstone of",
        ),
        ("ASSERT STREAM counts (user STRING KEY, n BIGINT) WITH (kafka_topic='x');", "STREAM"),
        ("ASSERT TABLE counts (user STRING PRIMARY KEY, n INT);", "Expected schema"),
        (
            "ASSERT TABLE counts (user STRING PRIMARY KEY, n BIGINT) WITH (value_format='AVRO');",
            "VALUE_FORMAT of COUNTS to be AVRO, but it is JSON",
        ),
    ],
)
def test_assertions_that_do_not_hold(text: str, message: str) -> None:
    with pytest.raises(AssertionFailed, match=message):
        run(text)


def test_sources_are_asserted() -> None:
    run(
        "ASSERT TABLE counts (user STRING PRIMARY KEY, n BIGINT)"
        " WITH (kafka_topic='COUNTS', value_format='json');"
    )


def test_tombstones_are_asserted() -> None:
    run(
        """
        CREATE TABLE many AS SELECT user, n FROM counts WHERE n < 2;
        INSERT INTO clicks VALUES ('anna', 1);
        INSERT INTO clicks VALUES ('anna', 1);
        ASSERT VALUES many VALUES ('anna', 1);
        ASSERT NULL VALUES many (user) KEY ('anna');
        """
    )


def test_assertions_that_make_no_sense() -> None:
    insert = "INSERT INTO clicks VALUES ('anna', 1);"
    with pytest.raises(SqlError, match="2 columns are named, but 1 values"):
        run(insert + "ASSERT VALUES counts (user, n) VALUES (1);")
    with pytest.raises(SqlError, match="no column X"):
        run(insert + "ASSERT VALUES counts (x) VALUES (1);")
    with pytest.raises(SqlError, match="does not exist"):
        run("ASSERT VALUES nobody (x) VALUES (1);")


SCRIPT = f"""
--@test: good
{CLICKS}{COUNTS}
INSERT INTO clicks VALUES ('anna', 1);
ASSERT VALUES counts VALUES ('anna', 1);

--@test: bad
{CLICKS}{COUNTS}
ASSERT VALUES counts VALUES ('anna', 1);

--@test: meant to fail
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: does not exist
DROP STREAM nobody;

--@test: fails otherwise
--@expected.error: ParseFailedException
DROP STREAM nobody;

--@test: says something else
--@expected.message: no such text
DROP STREAM nobody;

--@test: does not fail
--@expected.message: x
{CLICKS}

--@test: no SQL
DRAP;
"""


def test_the_script_tests_a_script() -> None:
    results = {test.name: run_test(test) for test in script_tests(SCRIPT)}
    assert results["good"] is None
    assert results["meant to fail"] is None
    shown = {name: failure for name, failure in results.items() if failure is not None}
    assert "another record" in shown["bad"]
    assert "not ParseFailedException" in shown["fails otherwise"]
    assert "not 'no such text'" in shown["says something else"]
    assert shown["does not fail"] == "it was to fail, but didn't"
    assert shown["no SQL"].startswith("ParseError: ")


def test_a_script_without_names_is_one_test() -> None:
    (test,) = script_tests(CLICKS)
    assert test.name == ""
    assert run_test(test) is None


def test_statements_that_fail_leave_their_kind() -> None:
    with pytest.raises(StatementError):
        run("DROP STREAM nobody;")
    with pytest.raises(ParseError):
        run("DRAP;")

"""Pull and push queries."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.sql.errors import StatementError
from headrace.sql.pull.query import Found
from headrace.sql.syntax.parser import parse
from headrace.testing import TopologyTestDriver

from .engines import ALL, Record, driver_of, engine_with, feed, pulled, started

COUNTS = "CREATE TABLE counts AS SELECT id, COUNT(*) AS c, SUM(n) AS s FROM clicks GROUP BY id;"
WINDOWS = (
    "CREATE TABLE counts AS SELECT id, COUNT(*) AS c FROM clicks "
    "WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id HAVING COUNT(*) < 3;"
)
SESSIONS = (
    "CREATE TABLE counts AS SELECT id, COUNT(*) AS c FROM clicks "
    "WINDOW SESSION (1 SECOND) GROUP BY id;"
)
RECORDS: list[Record] = [
    ("clicks", "a", {"n": 1}, 0),
    ("clicks", "b", {"n": 2}, 10),
    ("clicks", "a", {"n": 3}, 1_500),
    ("clicks", "c", {"n": 4}, 5_000),
]


def answers(table: str, *queries: str, **settings: Any) -> list[Any]:
    engine = engine_with(**settings)
    query = started(engine, table)
    with driver_of(query) as driver:
        feed(driver, *RECORDS)
        return [pulled(engine, driver, each) for each in queries]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id = 'a'", ["a"]),
        ("'a' = id", ["a"]),
        ("id = 'x'", []),
        ("id IN ('c', 'a', 'x')", ["c", "a"]),
        ("id = 'a' OR id = 'b'", ["a", "b"]),
        ("id = 'a' AND c = 2", ["a"]),
        ("id = 'a' AND c = 1", []),
        ("id = CONCAT('', 'b')", ["b"]),
        ("c = 1", ["b", "c"]),
        ("id > 'a'", ["b", "c"]),
        ("id LIKE 'a%' OR s = 4", ["a", "c"]),
        ("NOT (c = 1)", ["a"]),
    ],
)
def test_conditions(condition: str, expected: list[str]) -> None:
    (rows,) = answers(COUNTS, f"SELECT id FROM counts WHERE {condition};")
    assert [row[0] for row in rows] == expected


def test_queries_that_differ_in_the_key_are_planned_once() -> None:
    engine = engine_with(f"{ALL} {COUNTS}")
    sql = "SELECT c FROM counts WHERE id = '{}';"
    first, second = (engine.pull(parse(sql.format(key))[0]) for key in "ab")
    assert (first.keys, second.keys) == ((("a",),), (("b",),))
    assert first.result is second.result
    assert engine.pull(parse(f"{sql[:-1].format('a')} LIMIT 1;")[0]).limit == 1
    other = engine.pull(parse(sql.format("a"))[0], {"ksql.query.pull.table.scan.enabled": "false"})
    assert other.result is not first.result
    for statement in parse("DROP TABLE counts;" + COUNTS.replace("COUNT(*)", "SUM(n)")):
        engine.execute(statement)
    changed = engine.pull(parse(sql.format("a"))[0])
    assert [str(column) for column in (*first.columns, *changed.columns)] == [
        "`C` BIGINT",
        "`C` INTEGER",
    ]
    for query_id in list(engine.queries):
        engine.terminate(query_id)
    with pytest.raises(StatementError, match="isn't queryable"):
        engine.pull(parse(sql.format("a"))[0])


def test_keys_that_are_cast_are_planned_each_time() -> None:
    engine = engine_with()
    numbered = (
        "CREATE STREAM numbered (k DOUBLE KEY, n INT)"
        " WITH (kafka_topic='numbered', partitions=1, value_format='JSON', key_format='JSON');"
        "CREATE TABLE numbers AS SELECT k, COUNT(*) AS c FROM numbered GROUP BY k;"
    )
    for statement in parse(numbered):
        engine.execute(statement)
    for number in (1, 2):
        keys = engine.pull(parse(f"SELECT c FROM numbers WHERE k = {number};")[0]).keys
        assert keys is not None
        assert repr(keys[0][0]) == f"{number}.0"


def test_what_is_selected() -> None:
    query = "SELECT c * 2 AS d, *, rowtime FROM counts WHERE id = 'a';"
    assert answers(COUNTS, query) == [[(4, "a", 2, 4, 1_500)]]
    plan = engine_with(f"{ALL} {COUNTS}").pull(parse(query)[0])
    assert ", ".join(map(str, plan.columns)) == (
        "`D` BIGINT, `ID` STRING KEY, `C` BIGINT, `S` INTEGER, `ROWTIME` BIGINT"
    )


def test_limits() -> None:
    assert answers(COUNTS, "SELECT id FROM counts LIMIT 2;") == [[("a",), ("b",)]]
    assert answers(COUNTS, "SELECT id FROM counts LIMIT 0;") == [[]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id = 'a'", [("a", 0, 1000, 1), ("a", 1000, 2000, 1)]),
        ("id = 'a' AND windowstart = 1000", [("a", 1000, 2000, 1)]),
        ("id = 'a' AND 0 < windowstart AND windowend <= 2000", [("a", 1000, 2000, 1)]),
        ("id = 'a' AND windowstart >= '1970-01-01T00:00:01'", [("a", 1000, 2000, 1)]),
        ("windowstart > 1000", [("c", 5000, 6000, 1)]),
    ],
)
def test_windows(condition: str, expected: list[Any]) -> None:
    assert answers(WINDOWS, f"SELECT * FROM counts WHERE {condition};") == [expected]


def test_sessions() -> None:
    assert answers(SESSIONS, "SELECT * FROM counts WHERE id = 'b';") == [[("b", 10, 10, 1)]]


def test_having_counts_for_lookups() -> None:
    table = COUNTS.replace(";", " HAVING SUM(n) > 3;")
    assert answers(table, "SELECT id FROM counts;") == [[("a",), ("c",)]]


def test_tables_without_aggregates_have_a_store() -> None:
    engine = engine_with()
    query = started(engine, "CREATE TABLE t AS SELECT id, UCASE(name) AS n FROM users;")
    with driver_of(query) as driver:
        feed(driver, ("users", "a", {"name": "x"}, 0), ("users", "b", {"name": "y"}, 0))
        feed(driver, ("users", "b", None, 1))
        assert pulled(engine, driver, "SELECT * FROM t;") == [("a", "X")]


def test_streams_are_read_from_their_topic() -> None:
    engine = engine_with()
    query = engine.pull(parse("SELECT id, n, rowtime FROM clicks WHERE n > 1 LIMIT 1;")[0])
    found = [
        Found(("a",), ("u", 1), 1),
        Found(None, None, 2),
        Found(("b",), ("u", 2), 3),
        Found(("c",), ("u", 3), 4),
    ]
    assert query.materialized_by is None
    assert list(query.results(found)) == [("b", 2, 3)]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM counts GROUP BY id;", "Pull queries don't support GROUP BY clauses."),
        ("SELECT * FROM counts LIMIT -1;", "don't support negative integers in the LIMIT clause"),
        ("SELECT rowoffset FROM counts;", "columns in SELECT clauses: `ROWOFFSET`"),
        ("SELECT COUNT(*) FROM counts;", "Pull queries don't support aggregate functions"),
        ("SELECT * FROM users WHERE id = 'a';", "The `USERS` table isn't queryable."),
        ("SELECT c, c FROM counts;", "Duplicate value columns found in schema: `C` BIGINT"),
        ("SELECT * FROM counts WHERE id = 1;", "Cannot compare ID (STRING) to 1 (INTEGER)"),
        ("SELECT * FROM counts WHERE id IN (NULL);", "Primary key columns can not be NULL"),
        ("SELECT * FROM counts WHERE x = 1;", "WHERE column 'X' cannot be resolved."),
    ],
)
def test_what_cant_be_pulled(sql: str, message: str) -> None:
    engine = engine_with(f"{ALL} {COUNTS}")
    with pytest.raises(StatementError) as raised:
        engine.pull(parse(sql)[0])
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("c = 1", "WHERE clause missing key column for disjunct: (C = 1)"),
        ("id != 'a'", "must currently be '='"),
        ("id = 'a' AND id = 'b'", "cannot be combined with other comparisons"),
        ("id = CAST(c AS STRING)", "between a key column and a resolvable expression"),
        ("id + '' = 'a'", "A comparison must directly reference a key column."),
    ],
)
def test_scans_can_be_refused(condition: str, message: str) -> None:
    engine = engine_with(f"{ALL} {COUNTS}")
    scans = {"ksql.query.pull.table.scan.enabled": "false"}
    with pytest.raises(StatementError) as raised:
        engine.pull(parse(f"SELECT * FROM counts WHERE {condition};")[0], scans)
    assert message in raised.value.message


def pushed(sql: str, *records: Record) -> list[tuple[Any, bool]]:
    query = engine_with().push(parse(sql)[0], "transient_1")
    rows: list[tuple[Any, bool]] = []
    topology = query.topology(lambda row, tombstone: rows.append((row, tombstone)))
    with TopologyTestDriver(topology, {"cache.max.bytes.buffering": 0}) as driver:
        feed(driver, *records)
    return rows


def test_push_queries_need_no_key() -> None:
    sql = "SELECT n + 1 AS m, rowtime FROM clicks WHERE n > 1 EMIT CHANGES;"
    assert pushed(sql, *RECORDS) == [((3, 10), False), ((4, 1_500), False), ((5, 5_000), False)]


def test_push_queries_aggregate_without_groups() -> None:
    rows = pushed("SELECT COUNT(*) AS c, MAX(n) AS m FROM clicks EMIT CHANGES;", *RECORDS)
    assert [row for row, _ in rows] == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_deleted_rows_are_told() -> None:
    assert pushed(
        "SELECT name, id FROM users EMIT CHANGES;",
        ("users", "a", {"name": "x"}, 0),
        ("users", "a", None, 1),
    ) == [(("x", "a"), False), ((None, "a"), True)]


def test_rows_of_before_a_replacement_are_read() -> None:
    engine = engine_with()
    first = started(engine, "CREATE TABLE t AS SELECT id, name FROM users;")
    second = started(engine, "CREATE OR REPLACE TABLE t AS SELECT id, name, boss FROM users;")
    with driver_of(first) as before, driver_of(second) as after:
        feed(before, ("users", "a", {"name": "x", "boss": "y"}, 0))
        stored = before.store("Project").get(("a",))
        after.store("Project").put(("a",), stored)
        assert pulled(engine, after, "SELECT * FROM t;") == [("a", "x", None)]

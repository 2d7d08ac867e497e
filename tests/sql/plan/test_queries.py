"""Queries: what they read, compute and write."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.sql.metastore import WindowInfo, WindowKind

from .engines import CLICKS, Record, engine_with, execute, run, started


def clicks(*records: tuple[Any, Any]) -> list[Record]:
    return [("clicks", key, value, at) for at, (key, value) in enumerate(records)]


def test_filter_and_project() -> None:
    engine = engine_with()
    query = started(
        engine, "CREATE STREAM o AS SELECT id, UCASE(url) AS u FROM clicks WHERE n > 1;"
    )
    assert run(
        query,
        *clicks(
            ("a", {"url": "x", "n": 1}),
            ("b", {"url": "y", "n": 2}),
            ("c", None),
            (None, {"url": None, "n": 3}),
        ),
    ) == [("b", {"U": "Y"}, 1), (None, {"U": None}, 3)]
    assert str(engine.metastore.sources["O"].schema) == "`ID` STRING KEY, `U` STRING"


def test_records_that_cant_be_read_are_skipped() -> None:
    query = started(engine_with(), "CREATE STREAM o AS SELECT id, n FROM clicks;")
    assert run(query, ("clicks", "a", 5, 0), ("clicks", "b", {"n": 1}, 1)) == [("b", {"N": 1}, 1)]


def test_what_a_row_makes_fail_is_null() -> None:
    query = started(engine_with(), "CREATE STREAM o AS SELECT id, 1 / (n - 1) AS x FROM clicks;")
    assert run(query, *clicks(("a", {"n": 1}), ("b", {"n": 2}))) == [
        ("a", {"X": None}, 0),
        ("b", {"X": 1}, 1),
    ]


def test_pseudo_columns_and_keys_in_expressions() -> None:
    query = started(
        engine_with(),
        "CREATE STREAM o AS SELECT id, id + '!' AS k, rowtime AS t, rowoffset AS at FROM clicks;",
    )
    assert run(query, ("clicks", "a", {"n": 1}, 7)) == [("a", {"K": "a!", "T": 7, "AT": 0}, 7)]


def test_partition_by() -> None:
    engine = engine_with()
    query = started(engine, "CREATE STREAM o AS SELECT * FROM clicks PARTITION BY url, n + 1;")
    assert run(query, *clicks(("a", {"url": "x", "n": 1}), ("b", None))) == [
        ({"URL": "x", "KSQL_COL_0": 2}, {"N": 1, "ID": "a"}, 0),
        ({"URL": None, "KSQL_COL_0": None}, None, 1),
    ]


def test_partition_by_null_takes_the_key_away() -> None:
    engine = engine_with()
    query = started(engine, "CREATE STREAM o AS SELECT * FROM clicks PARTITION BY NULL;")
    assert run(query, ("clicks", "a", {"url": "x", "n": 1}, 0))[0][0] is None
    assert engine.metastore.sources["O"].key_format.info.name == "NONE"


def test_table_functions_make_rows() -> None:
    query = started(
        engine_with(),
        "CREATE STREAM o AS SELECT id, EXPLODE(ARRAY[n, n + 1]) AS x, EXPLODE(ARRAY[url]) AS y "
        "FROM clicks;",
    )
    assert run(query, ("clicks", "a", {"n": 1, "url": "u"}, 0)) == [
        ("a", {"X": 1, "Y": "u"}, 0),
        ("a", {"X": 2, "Y": None}, 0),
    ]


def test_counts_by_key_need_no_repartition() -> None:
    engine = engine_with()
    query = started(engine, "CREATE TABLE o AS SELECT id, COUNT(*) AS c FROM clicks GROUP BY id;")
    assert run(query, *clicks(("a", {"n": 1}), ("a", {"n": 2}), ("b", {}), (None, {}))) == [
        ("a", {"C": 1}, 0),
        ("a", {"C": 2}, 1),
        ("b", {"C": 1}, 2),
    ]
    assert "repartition" not in str(query.topology.describe())
    assert "Aggregate-Aggregate-Materialize" in str(query.topology.describe())


def test_groups_of_expressions_and_having() -> None:
    query = started(
        engine_with(),
        "CREATE TABLE o AS SELECT n % 2 AS odd, SUM(n) AS s, MAX(url) AS m FROM clicks "
        "GROUP BY n % 2 HAVING SUM(n) < 10;",
    )
    assert run(
        query,
        *clicks(
            ("a", {"n": 1, "url": "x"}),
            ("a", {"n": 3, "url": "y"}),
            ("a", {"n": None}),
            ("a", {"n": 9}),
        ),
    ) == [(1, {"S": 1, "M": "x"}, 0), (1, {"S": 4, "M": "y"}, 1), (1, None, 3)]
    assert "Aggregate-GroupBy-repartition" in str(query.topology.describe())


@pytest.mark.parametrize(
    ("window", "info", "starts"),
    [
        ("TUMBLING (SIZE 10 SECONDS)", WindowInfo(WindowKind.TUMBLING, 10_000), [0, 10_000]),
        (
            "HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS)",
            WindowInfo(WindowKind.HOPPING, 10_000),
            [0, 5_000, 5_000, 10_000],
        ),
        ("SESSION (5 SECONDS)", WindowInfo(WindowKind.SESSION), [6_000, 14_000]),
    ],
)
def test_windows(window: str, info: WindowInfo, starts: list[int]) -> None:
    engine = engine_with()
    query = started(
        engine,
        f"CREATE TABLE o AS SELECT id, COUNT(*) AS c, windowstart AS s FROM clicks "
        f"WINDOW {window} GROUP BY id;",
    )
    rows = run(query, ("clicks", "a", {"n": 1}, 6_000), ("clicks", "a", {"n": 1}, 14_000))
    assert [value["S"] for _, value, _ in rows] == starts
    assert engine.metastore.sources["O"].window == info


def test_only_final_results() -> None:
    query = started(
        engine_with(),
        "CREATE TABLE o AS SELECT id, COUNT(*) AS c FROM clicks "
        "WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id EMIT FINAL;",
    )
    rows = run(query, *(("clicks", "a", {"n": 1}, at) for at in (1_000, 2_000, 10_000)))
    assert [value for _, value, _ in rows] == [{"C": 2}]


def test_aggregates_of_tables_take_back_old_rows() -> None:
    query = started(
        engine_with(), "CREATE TABLE o AS SELECT boss, COUNT(*) AS c FROM users GROUP BY boss;"
    )
    rows = run(
        query,
        ("users", "a", {"boss": "x"}, 0),
        ("users", "b", {"boss": "x"}, 1),
        ("users", "a", {"boss": "y"}, 2),
    )
    assert [(key, value) for key, value, _ in rows] == [
        ("x", {"C": 1}),
        ("x", {"C": 2}),
        ("x", {"C": 1}),
        ("y", {"C": 1}),
    ]


def test_stream_stream_joins() -> None:
    sql = (
        "SELECT c.id AS id, url, page FROM clicks c {} JOIN views v WITHIN 10 SECONDS {} "
        "ON c.id = v.id;"
    )
    records: list[Record] = [
        ("clicks", "a", {"url": "u"}, 0),
        ("views", "a", {"page": "p"}, 1_000),
        ("views", "b", {"page": "q"}, 2_000),
        ("clicks", "x", {"url": "w"}, 60_000),
    ]

    def results(kind: str, grace: str = "") -> list[Any]:
        query = started(engine_with(), "CREATE STREAM o AS " + sql.format(kind, grace))
        return [(key, value["URL"], value["PAGE"]) for key, value, _ in run(query, *records)]

    assert results("") == [("a", "u", "p")]
    assert results("LEFT") == [("a", "u", None), ("a", "u", "p"), ("x", "w", None)]
    assert results("LEFT", "GRACE PERIOD 1 SECOND") == [("a", "u", "p")]
    right = results("RIGHT")
    assert right == [("a", "u", "p"), ("b", None, "q")]


def test_joins_of_other_columns_repartition() -> None:
    query = started(
        engine_with(),
        "CREATE STREAM o AS SELECT url, c.id AS id, page FROM clicks c "
        "JOIN views v WITHIN 1 HOUR ON c.url = v.page;",
    )
    described = str(query.topology.describe())
    assert "Join-left-repartition" in described
    assert "Join-right-repartition" in described
    rows = run(query, ("clicks", "a", {"url": "u"}, 0), ("views", "b", {"page": "u"}, 1))
    assert rows == [("u", {"ID": "a", "PAGE": "u"}, 1)]


def test_stream_table_join() -> None:
    query = started(
        engine_with(),
        "CREATE STREAM o AS SELECT c.id AS id, n, name FROM clicks c "
        "LEFT JOIN users u ON c.id = u.id;",
    )
    assert run(
        query,
        ("users", "a", {"name": "Ann"}, 5),
        ("clicks", "a", {"n": 1}, 6),
        ("clicks", "b", {"n": 2}, 7),
    ) == [("a", {"N": 1, "NAME": "Ann"}, 6), ("b", {"N": 2, "NAME": None}, 7)]


def test_table_table_joins() -> None:
    query = started(
        engine_with(),
        "CREATE TABLE o AS SELECT ROWKEY AS id, u.name, c.name FROM users u "
        "FULL JOIN cities c ON u.id = c.id;",
    )
    assert run(
        query,
        ("users", "a", {"name": "Ann"}, 0),
        ("cities", "a", {"name": "Aachen"}, 1),
        ("users", "a", None, 2),
        ("cities", "a", None, 3),
    ) == [
        ("a", {"U_NAME": "Ann", "C_NAME": None}, 0),
        ("a", {"U_NAME": "Ann", "C_NAME": "Aachen"}, 1),
        ("a", {"U_NAME": None, "C_NAME": "Aachen"}, 2),
        ("a", None, 3),
    ]


def test_foreign_key_join() -> None:
    query = started(
        engine_with(),
        "CREATE TABLE o AS SELECT u.id AS id, u.name AS name, c.name AS city FROM users u "
        "JOIN cities c ON u.boss = c.id;",
    )
    rows = run(
        query,
        ("cities", "c", {"name": "Cork"}, 0),
        ("users", "a", {"name": "Ann", "boss": "c"}, 1),
        ("cities", "c", {"name": "Cologne"}, 2),
    )
    assert [(key, value) for key, value, _ in rows] == [
        ("a", {"NAME": "Ann", "CITY": "Cork"}),
        ("a", {"NAME": "Ann", "CITY": "Cologne"}),
    ]


def test_joins_of_three() -> None:
    query = started(
        engine_with(),
        "CREATE STREAM o AS SELECT v.id AS id, url, page, name FROM clicks c "
        "JOIN views v WITHIN 1 HOUR ON c.id = v.id JOIN users u ON c.id = u.id;",
    )
    assert run(
        query,
        ("users", "a", {"name": "Ann"}, 0),
        ("clicks", "a", {"url": "u"}, 1),
        ("views", "a", {"page": "p"}, 2),
    ) == [("a", {"URL": "u", "PAGE": "p", "NAME": "Ann"}, 2)]


def test_timestamp_columns() -> None:
    engine = engine_with("")
    execute(
        engine,
        "CREATE STREAM s (k STRING KEY, at STRING) WITH (kafka_topic='clicks', format='JSON', "
        "timestamp='at', timestamp_format='yyyy-MM-dd');",
    )
    query = started(
        engine,
        "CREATE STREAM o WITH (timestamp='t') AS SELECT k, ROWTIME + 5 AS t FROM s;",
    )
    assert run(
        query, ("clicks", "a", {"at": "1970-01-02"}, 0), ("clicks", "a", {"at": "never"}, 0)
    ) == [("a", {"T": 86_400_005}, 86_400_005)]


def test_insert_into_casts_what_goes_without_saying() -> None:
    engine = engine_with(
        f"{CLICKS} CREATE STREAM t (id STRING KEY, x DOUBLE) "
        "WITH (kafka_topic='views', format='JSON');"
    )
    query = started(engine, "INSERT INTO t SELECT id, n AS x FROM clicks;")
    assert query.id == "INSERTQUERY_0"
    assert run(query, ("clicks", "a", {"n": 1}, 0)) == [("a", {"X": 1.0}, 0)]


def test_names_are_ksqldbs() -> None:
    engine = engine_with()
    first = started(engine, "CREATE STREAM a AS SELECT * FROM clicks;")
    second = started(engine, "CREATE TABLE b AS SELECT id, COUNT(*) FROM a GROUP BY id;")
    third = started(engine, "INSERT INTO a SELECT * FROM clicks;")
    assert [first.id, second.id, third.id] == ["CSAS_A_0", "CTAS_B_1", "INSERTQUERY_2"]
    assert second.application_id == "_confluent-ksql-test_query_CTAS_B_1"
    assert second.sources == ("A",)
    assert second.source_topics == ("A",)
    assert [topic.partitions for topic in engine.topics if topic.name in "AB"] == [4, 4]


def test_plans_can_be_read() -> None:
    query = started(engine_with(), "CREATE STREAM o AS SELECT id, n FROM clicks WHERE n > 1;")
    assert query.plan.splitlines() == [
        " > [ PROJECT ] | Schema: `ID` STRING KEY, `N` INTEGER | Logger: CSAS_O_0.Project",
        "   > [ FILTER ] | Schema: `ID` STRING KEY, `URL` STRING, `N` INTEGER | "
        "Logger: CSAS_O_0.WhereFilter | Condition: (N > 1)",
        "     > [ SOURCE ] | Schema: `ID` STRING KEY, `URL` STRING, `N` INTEGER | "
        "Logger: CSAS_O_0.KsqlTopic | Topic: clicks",
    ]

"""Statements that make and change the catalogue, and how they fail."""

from __future__ import annotations

import json

import pytest

from headrace.sql.errors import StatementError
from headrace.sql.statements.outcome import Done, InsertedRow

from .engines import ALL, CLICKS, engine_with, execute, started


def error_of(sql: str, before: str = ALL) -> StatementError:
    engine = engine_with(before)
    sources, queries = dict(engine.metastore.sources), dict(engine.queries)
    with pytest.raises(StatementError) as raised:
        execute(engine, sql)
    assert (engine.metastore.sources, engine.queries) == (sources, queries)
    return raised.value


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE STREAM s (a INT) WITH (kafka_topic='x', format='JSON');", "'x' does not exist"),
        ("CREATE STREAM s (a INT) WITH (format='JSON');", 'property "KAFKA_TOPIC"'),
        ("CREATE STREAM s (a INT) WITH (kafka_topic='users');", "'VALUE_FORMAT' property"),
        ("CREATE STREAM s (a FOO) WITH (kafka_topic='users', format='JSON');", "unknown type: FOO"),
        ("CREATE STREAM s (a INT) WITH (nope=1);", "Invalid config variable(s)"),
        (f"{CLICKS}", "A stream with the same name already exists"),
        ("DROP STREAM nope;", "Stream NOPE does not exist"),
        ("DROP TABLE clicks;", "Incompatible data source type is STREAM"),
        ("ALTER STREAM clicks ADD COLUMN n INT;", "A column with the same name already exists"),
        ("CREATE STREAM o AS SELECT * FROM nope;", "NOPE does not exist."),
        ("CREATE TABLE o AS SELECT * FROM clicks;", "produces a STREAM. Please use CREATE STREAM"),
        ("CREATE STREAM o AS SELECT n FROM clicks;", "must include the key column ID"),
        ("CREATE STREAM o AS SELECT id FROM clicks;", "no value columns"),
        ("CREATE STREAM o AS SELECT id, n, n FROM clicks;", "Duplicate value columns"),
        ("CREATE STREAM o AS SELECT id, x FROM clicks;", "SELECT column 'X' cannot be resolved."),
        ("CREATE STREAM o AS SELECT id, n AS rowtime FROM clicks;", "is a reserved column name"),
        ("CREATE STREAM o AS SELECT id, n FROM clicks LIMIT 1;", "don't support LIMIT clause"),
        ("CREATE TABLE o AS SELECT url, COUNT(*) FROM clicks GROUP BY id;", "not part of GROUP BY"),
        ("CREATE TABLE o AS SELECT id, n FROM clicks GROUP BY id;", "requires aggregate functions"),
        (
            "CREATE STREAM o AS SELECT * FROM clicks c JOIN views v ON c.id = v.id;",
            "must have a WITHIN clause",
        ),
        (
            "CREATE STREAM o AS SELECT * FROM users u JOIN clicks c ON u.id = c.id;",
            "table-stream joins are not supported",
        ),
        ("INSERT INTO users SELECT * FROM users;", "USERS is a table."),
        ("INSERT INTO clicks SELECT * FROM views;", "Incompatible schema between results and sink"),
        ("INSERT INTO clicks (x) VALUES (1);", "Column name X does not exist."),
        ("INSERT INTO clicks (n) VALUES ('x');", "Expected type INTEGER for field `N`"),
        ("INSERT INTO users (name) VALUES ('x');", "primary key column(s) ID"),
        ("SET 'security.protocol'='x';", "Not recognizable as"),
        ("SET 'ksql.streams.default.key.serde'='os.system';", "Not recognizable as"),
    ],
)
def test_statements_that_fail_change_nothing(sql: str, message: str) -> None:
    assert message in error_of(sql).message


def test_the_place_of_an_error_is_underlined() -> None:
    error = error_of("CREATE STREAM o AS\n  SELECT id, nope FROM clicks;")
    assert error.excerpt == "    SELECT id, nope FROM clicks;\n               ^^^^"


def test_sources_in_use_cant_be_dropped() -> None:
    engine = engine_with()
    started(engine, "CREATE STREAM a AS SELECT * FROM clicks;")
    started(engine, "CREATE STREAM b AS SELECT * FROM a;")
    with pytest.raises(StatementError, match=r"read from this source: \[CSAS_B_1\]"):
        execute(engine, "DROP STREAM a;")
    execute(engine, "DROP STREAM b; DROP STREAM a;")
    assert not engine.queries
    assert "A" not in engine.metastore.sources


def test_types_have_names() -> None:
    engine = engine_with("")
    execute(
        engine,
        "CREATE TYPE address AS STRUCT<street STRING>; CREATE TYPE person AS STRUCT<at address>; "
        "CREATE STREAM s (p person, l ARRAY<address>) WITH (kafka_topic='users', format='JSON');",
    )
    assert str(engine.metastore.sources["S"].schema) == (
        "`P` STRUCT<`AT` STRUCT<`STREET` STRING>>, `L` ARRAY<STRUCT<`STREET` STRING>>"
    )
    execute(engine, "DROP TYPE address;")
    with pytest.raises(StatementError, match="unknown type: ADDRESS"):
        execute(engine, "CREATE TYPE x AS ARRAY<address>;")


def test_alter_adds_columns() -> None:
    engine = engine_with(CLICKS)
    execute(engine, "ALTER STREAM clicks ADD COLUMN x INT, ADD y STRING;")
    assert [c.name for c in engine.metastore.sources["CLICKS"].schema.value][-2:] == ["X", "Y"]


def test_insert_values() -> None:
    engine = engine_with()
    (outcome,) = execute(
        engine, "INSERT INTO clicks (rowtime, n, id) VALUES (5, 1 + 1, UCASE('a'));"
    )
    assert isinstance(outcome, InsertedRow)
    assert (outcome.topic, outcome.timestamp) == ("clicks", 5)
    assert json.loads(outcome.key or b"") == "A"
    assert json.loads(outcome.value or b"") == {"URL": None, "N": 2}


def test_replaced_queries_keep_their_id() -> None:
    engine = engine_with()
    started(engine, "CREATE STREAM o AS SELECT id, n FROM clicks;")
    query = started(
        engine, "CREATE OR REPLACE STREAM o AS SELECT id, n, url FROM clicks WHERE n > 1;"
    )
    assert query.id == "CSAS_O_0"
    assert [column.name for column in engine.metastore.sources["O"].schema.value] == ["N", "URL"]
    with pytest.raises(StatementError, match="changed, missing or reordered"):
        execute(engine, "CREATE OR REPLACE STREAM o AS SELECT id, url FROM clicks;")


COUNTS = "TABLE o AS SELECT url, COUNT(*) AS c FROM clicks {} GROUP BY url {};"


def test_state_outlives_only_what_is_behind_it() -> None:
    engine = engine_with()
    execute(engine, "CREATE " + COUNTS.format("", ""))
    execute(engine, "CREATE OR REPLACE " + COUNTS.format("", "HAVING COUNT(*) > 1"))
    for sql in (COUNTS.format("WHERE n > 1", ""), COUNTS.replace("clicks", "views").format("", "")):
        with pytest.raises(StatementError):
            execute(engine, f"CREATE OR REPLACE {sql}")


def test_replaced_queries_read_the_same_source() -> None:
    engine = engine_with()
    execute(engine, "CREATE STREAM o AS SELECT id, url AS x FROM clicks;")
    with pytest.raises(StatementError, match="can't read VIEWS from where it is"):
        execute(engine, "CREATE OR REPLACE STREAM o AS SELECT id, page AS x FROM views;")
    execute(engine, "ALTER STREAM clicks ADD COLUMN y INT;")
    execute(engine, "CREATE OR REPLACE STREAM o AS SELECT id, url AS x, y FROM clicks;")


def test_if_not_exists() -> None:
    engine = engine_with()
    sql = CLICKS.replace("STREAM", "STREAM IF NOT EXISTS")
    assert isinstance(execute(engine, sql)[0], Done)


def test_settings_of_a_session() -> None:
    engine = engine_with()
    started(engine, "SET 'auto.offset.reset'='earliest'; CREATE STREAM a AS SELECT * FROM clicks;")
    assert engine.queries["CSAS_A_0"].settings["auto.offset.reset"] == "earliest"
    started(engine, "UNSET 'auto.offset.reset'; CREATE STREAM b AS SELECT * FROM clicks;")
    assert "auto.offset.reset" not in engine.queries["CSAS_B_1"].settings


def test_source_tables_are_kept_by_a_query() -> None:
    engine = engine_with("")
    query = started(
        engine,
        "CREATE SOURCE TABLE t (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='users', "
        "format='JSON');",
    )
    assert query.id == "CST_T_0"
    assert query.sink is None
    assert engine.metastore.sources["T"].read_only

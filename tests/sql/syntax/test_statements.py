"""Statements, and that they come back the same from their text."""

import pytest

from headrace.sql.syntax import ast
from headrace.sql.syntax.ast import (
    AliasedSource,
    AllColumns,
    ColumnDefinition,
    ColumnKind,
    ColumnReference,
    Duration,
    Emit,
    JoinKind,
    Listed,
    Literal,
    NamedType,
    Query,
    SingleColumn,
    SourceKind,
    Statement,
    TimeUnit,
    Within,
)
from headrace.sql.syntax.parser import parse, parse_columns, parse_one, parse_type
from headrace.sql.syntax.statement_formatter import format_statement
from headrace.sql.types import BYTES, INTEGER, STRING, ArrayType, DecimalType, Field, StructType

STAR = Query((AllColumns(),), AliasedSource("S", "S"))
TOPIC = (("KAFKA_TOPIC", Literal("t", STRING)),)
SECOND, HOUR = Duration(1, TimeUnit.SECONDS), Duration(2, TimeUnit.HOURS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CREATE STREAM s (k INT KEY, v VARCHAR) WITH (kafka_topic='t');",
            ast.CreateSource(
                SourceKind.STREAM,
                "S",
                (
                    ColumnDefinition("K", INTEGER, ColumnKind.KEY),
                    ColumnDefinition("V", STRING),
                ),
                TOPIC,
            ),
        ),
        (
            "CREATE OR REPLACE SOURCE TABLE IF NOT EXISTS `t` (k INT PRIMARY KEY);",
            ast.CreateSource(
                SourceKind.TABLE,
                "t",
                (ColumnDefinition("K", INTEGER, ColumnKind.PRIMARY_KEY),),
                or_replace=True,
                if_not_exists=True,
                read_only=True,
            ),
        ),
        (
            "CREATE STREAM s (h BYTES HEADER('x'), k NUMBERS);",
            ast.CreateSource(
                SourceKind.STREAM,
                "S",
                (
                    ColumnDefinition("H", BYTES, ColumnKind.HEADERS, "x"),
                    ColumnDefinition("K", NamedType("NUMBERS")),
                ),
            ),
        ),
        (
            "CREATE TABLE t WITH (kafka_topic='t') AS SELECT * FROM s;",
            ast.CreateAsSelect(SourceKind.TABLE, "T", STAR, TOPIC),
        ),
        ("INSERT INTO t SELECT * FROM s;", ast.InsertInto("T", STAR)),
        (
            "INSERT INTO t (a, b) VALUES (1, null);",
            ast.InsertValues("T", ("A", "B"), (Literal(1, INTEGER), Literal(None, None))),
        ),
        (
            "DROP STREAM IF EXISTS s DELETE TOPIC;",
            ast.DropSource(SourceKind.STREAM, "S", True, True),
        ),
        (
            "ALTER TABLE t ADD COLUMN a INT, ADD b STRING;",
            ast.AlterSource(
                SourceKind.TABLE,
                "T",
                (ColumnDefinition("A", INTEGER), ColumnDefinition("B", STRING)),
            ),
        ),
        ("ALTER SYSTEM 'a'='b';", ast.AlterSystem("a", "b")),
        ("CREATE TYPE x AS INT;", ast.CreateType("X", INTEGER)),
        ("DROP TYPE IF EXISTS x;", ast.DropType("X", True)),
        (
            "CREATE SINK CONNECTOR c WITH ('a.b'='c');",
            ast.CreateConnector(ast.ConnectorKind.SINK, "C", (("a.b", Literal("c", STRING)),)),
        ),
        ("DROP CONNECTOR c;", ast.DropConnector("C")),
        ("SHOW TOPICS EXTENDED;", ast.Show(Listed.TOPICS, True)),
        ("LIST ALL TOPICS;", ast.Show(Listed.ALL_TOPICS)),
        ("LIST CONNECTOR PLUGINS;", ast.Show(Listed.CONNECTOR_PLUGINS)),
        ("DESCRIBE s EXTENDED;", ast.DescribeSource("S", True)),
        ("DESCRIBE STREAMS;", ast.DescribeAll(SourceKind.STREAM)),
        ("DESCRIBE FUNCTION abs;", ast.DescribeFunction("ABS")),
        ("EXPLAIN CSAS_S_1;", ast.Explain("CSAS_S_1")),
        ("EXPLAIN SELECT * FROM s;", ast.Explain(ast.QueryStatement(STAR))),
        (
            "PRINT myTopic FROM BEGINNING INTERVAL 2 LIMIT 3;",
            ast.PrintTopic("myTopic", True, 2, 3),
        ),
        ("TERMINATE ALL;", ast.ControlQuery(ast.QueryAction.TERMINATE, None)),
        ("PAUSE q;", ast.ControlQuery(ast.QueryAction.PAUSE, "Q")),
        ("SET 'a'='b';", ast.SetProperty("a", "b")),
        ("UNSET 'a';", ast.UnsetProperty("a")),
        ("DEFINE Name='b';", ast.DefineVariable("name", "b")),
        ("UNDEFINE name;", ast.UndefineVariable("name")),
        (
            "ASSERT NOT EXISTS TOPIC t WITH (partitions=1) TIMEOUT 1 SECOND;",
            ast.AssertTopic("T", False, (("PARTITIONS", Literal(1, INTEGER)),), SECOND),
        ),
        ("ASSERT SCHEMA SUBJECT 'x' ID 3;", ast.AssertSchema("x", 3, True)),
    ],
)
def test_statements(text: str, expected: Statement) -> None:
    assert parse_one(text) == expected
    assert parse_one(format_statement(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, b AS c, s.*, d->*, f(x => x + 1) FROM s WHERE a = 1 EMIT CHANGES LIMIT 3;",
        "SELECT * FROM a x LEFT OUTER JOIN b y WITHIN (1 HOUR, 2 DAYS) GRACE PERIOD 1 SECOND "
        "ON x.k = y.k FULL JOIN c ON x.k = c.k;",
        "SELECT a, COUNT(*) FROM s WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, "
        "RETENTION 7 DAYS, GRACE PERIOD 0 SECONDS) GROUP BY a, b HAVING COUNT(*) > 1 EMIT FINAL;",
        "SELECT * FROM s WINDOW SESSION (60 SECONDS) GROUP BY (a, b->c);",
        "SELECT * FROM s PARTITION BY a, UCASE(b);",
        "SELECT `day`, DAY, DAYS(DAYS, `DAYS`), `ARRAY`[1] FROM `from`;",
        "SELECT CASE a WHEN 1 THEN - - 2 ELSE -(-2) END, (-a)[1], -1.0, 5. FROM s;",
        "CREATE STREAM s (a STRUCT<`x y` DECIMAL(4, 2), b MAP<STRING, ARRAY<INT>>>);",
    ],
)
def test_what_is_formatted_is_the_same_statement(text: str) -> None:
    statement = parse_one(text)
    assert parse_one(format_statement(statement)) == statement


def test_queries_in_full() -> None:
    statement = parse_one(
        "SELECT a b FROM l RIGHT JOIN r WITHIN 2 HOURS ON l.a = r.a WHERE TRUE EMIT CHANGES;"
    )
    assert isinstance(statement, ast.QueryStatement)
    query = statement.query
    assert query.select == (SingleColumn(ColumnReference("A"), "B"),)
    assert isinstance(query.source, ast.Join)
    assert query.source.kind is JoinKind.RIGHT
    assert query.source.within == Within(HOUR, HOUR)
    assert query.emit is Emit.CHANGES


def test_statements_only_tests_have() -> None:
    text = "ASSERT VALUES s (a) VALUES (1); ASSERT NULL VALUES t KEY (2); RUN SCRIPT 'x';"
    parsed = [each.statement for each in parse(text, tests=True)]
    assert parsed == [
        ast.AssertValues("S", ("A",), (Literal(1, INTEGER),)),
        ast.AssertTombstone("T", (), (Literal(2, INTEGER),)),
        ast.RunScript("x"),
    ]
    assert [parse(format_statement(each), tests=True)[0].statement for each in parsed] == parsed


def test_a_text_is_cut_into_its_statements() -> None:
    parsed = parse("  SHOW STREAMS; -- one; two\n /* ; */ SHOW\n TABLES;;")
    assert [each.text for each in parsed] == ["SHOW STREAMS;", "SHOW\n TABLES;"]
    assert parsed[1].statement.position == (2, 10)


def test_types_and_columns_on_their_own() -> None:
    assert parse_type("STRUCT<a INT, `b` DECIMAL(3,1)> ARRAY") == ArrayType(
        StructType((Field("A", INTEGER), Field("b", DecimalType(3, 1))))
    )
    assert parse_columns("a INT PRIMARY KEY, b STRING KEY") == (
        ColumnDefinition("A", INTEGER, ColumnKind.PRIMARY_KEY),
        ColumnDefinition("B", STRING, ColumnKind.KEY),
    )

"""Random statements: most of them SQL, many of them senseless, some of them broken."""

from __future__ import annotations

from random import Random

from headrace.sql.functions.registry import builtin_functions

_NAMES = [
    "id",
    "url",
    "n",
    "name",
    "boss",
    "page",
    "rowtime",
    "windowstart",
    "rowkey",
    "`Q q`",
    "x",
]
_SOURCES = ["clicks", "views", "users", "cities", "nowhere"]
_TYPES = ["INT", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "BOOLEAN"]
_LITERALS = [
    *("0", "1", "-1", "2147483648", "1.50", "-0.01", "1e3", "1E-300", "NULL", "TRUE", "FALSE"),
    *("''", "'x'", "'it''s'", "'2020-01-01'", "'10:00'", "'%a_'", "'é\u2028'"),
]
_OPERATORS = ["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||"]
_UNITS = ["DAYS", "HOUR", "MINUTES", "SECOND", "MILLISECONDS"]
_NESTING = ["(", "NOT ", "-", "CASE WHEN ", "ARRAY[", "f(", "a[", "x => ", "CAST(", "ARRAY<"]


class Grammar:
    """Makes statements of a source of random numbers."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._functions = [function.name for function in builtin_functions()]

    def statement(self) -> str:
        """A statement, perhaps broken."""
        make = self._random.choices(
            (self._query_statement, self._create, self._insert, self._other), (6, 2, 1, 1)
        )[0]
        text = make() + ";"
        return self.broken(text) if self._random.random() < 0.3 else text

    def broken(self, text: str) -> str:
        """The text with a byte too few, too many, or other ones; or nested out of all reason."""
        random = self._random
        at = random.randrange(len(text) + 1)
        match random.randrange(5):
            case 0:
                return text[:at] + text[at + random.randrange(1, 9) :]
            case 1:
                return text[:at] + chr(random.randrange(1, 0x2FFF)) + text[at:]
            case 2:
                other = random.randrange(len(text) + 1)
                return text[:at] + text[other:]
            case 3:
                return text[:at] + random.choice("'\"`();,.-/*$\0\\") + text[at:]
            case _:
                count = random.choice((3, 50, 70, 1_000, 20_000))
                return text[:at] + random.choice(_NESTING) * count + text[at:]

    def injection(self) -> str:
        """A value for a variable that would like to be more than a value."""
        bait = [
            "; DROP STREAM clicks;",
            "' OR '1'='1",
            "x, y",
            "1 --",
            "/*",
            "*",
            "a.b",
            "${x}",
            "`",
        ]
        return "".join(
            self._random.choices([*bait, *_LITERALS, *_NAMES], k=self._random.randrange(4))
        )

    # Statements

    def _query_statement(self) -> str:
        query = self._query()
        match self._random.randrange(4):
            case 0:
                return query
            case 1:
                return f"INSERT INTO clicks {query}"
            case _:
                kind = self._random.choice(("STREAM", "TABLE"))
                return f"CREATE {kind} o{self._with()} AS {query}"

    def _create(self) -> str:
        kind = self._random.choice(("STREAM", "TABLE"))
        key = self._random.choice(("KEY", "PRIMARY KEY", "", "HEADERS"))
        columns = [f"k {self._type()} {key}", *(f"{n} {self._type()}" for n in self._some(_NAMES))]
        return f"CREATE {kind} o ({', '.join(columns)}){self._with()}"

    def _insert(self) -> str:
        values = ", ".join(self._expression(1) for _ in range(self._random.randrange(1, 5)))
        return f"INSERT INTO {self._source()} VALUES ({values})"

    def _other(self) -> str:
        return self._random.choice(
            (
                f"DROP STREAM {self._source()}",
                f"ALTER TABLE {self._source()} ADD COLUMN x {self._type()}",
                f"CREATE TYPE t AS {self._type()}",
                "SET 'auto.offset.reset'='earliest'",
                "SHOW STREAMS EXTENDED",
                f"DESCRIBE {self._source()}",
                f"EXPLAIN {self._query()}",
                "DEFINE x = 'y'",
            )
        )

    def _with(self) -> str:
        if self._random.random() < 0.3:
            return ""
        formats = ("JSON", "KAFKA", "DELIMITED", "NONE", "AVRO", "x")
        return f" WITH (kafka_topic='clicks', format='{self._random.choice(formats)}')"

    # Queries

    def _query(self) -> str:
        parts = [f"SELECT {self._select()} FROM {self._relation()}"]
        clauses = (
            (0.2, f"WINDOW TUMBLING (SIZE {self._duration()})"),
            (0.4, f"WHERE {self._expression()}"),
            (0.3, f"GROUP BY {self._expression(1)}, {self._name()}"),
            (0.1, f"PARTITION BY {self._expression(1)}"),
            (0.1, f"HAVING {self._expression()}"),
            (0.3, "EMIT CHANGES"),
            (0.1, "LIMIT 3"),
        )
        parts += [clause for chance, clause in clauses if self._random.random() < chance]
        return " ".join(parts)

    def _select(self) -> str:
        items = [self._random.choice(("*", "id", "id", self._expression()))]
        for _ in range(self._random.randrange(3)):
            alias = f" AS {self._name()}" if self._random.random() < 0.5 else ""
            items.append(self._expression() + alias)
        return ", ".join(items)

    def _relation(self) -> str:
        text = f"{self._source()} a"
        for alias in "bc"[: self._random.choices((0, 1, 2), (6, 3, 1))[0]]:
            kind = self._random.choice(("", "LEFT", "RIGHT", "FULL"))
            within = f"WITHIN {self._duration()}" if self._random.random() < 0.6 else ""
            text += f" {kind} JOIN {self._source()} {alias} {within} ON a.id = {alias}.id"
        return text

    def _duration(self) -> str:
        return f"{self._random.choice((0, 1, 10, 10**18))} {self._random.choice(_UNITS)}"

    # Expressions

    def _expression(self, depth: int = 3) -> str:
        if depth == 0 or self._random.random() < 0.3:
            return self._random.choice(_LITERALS) if self._random.random() < 0.4 else self._name()
        inner = [self._expression(depth - 1) for _ in range(3)]
        one, two, three = inner
        return self._random.choice(
            (
                f"({one} {self._random.choice(_OPERATORS)} {two})",
                f"{self._random.choice(self._functions)}({', '.join(self._some(inner))})",
                f"CASE WHEN {one} THEN {two} ELSE {three} END",
                f"CAST({one} AS {self._type()})",
                f"{one} BETWEEN {two} AND {three}",
                f"{one} IN ({two}, {three})",
                f"{one} LIKE {two}",
                f"{one} IS NOT NULL",
                f"NOT {one}",
                f"- {one}",
                f"ARRAY[{one}, {two}]",
                f"MAP({one} := {two})",
                f"STRUCT(a := {one}, b := {two})",
                f"{self._name()}[{one}]",
                f"STRUCT(a := {one})->a",
                f"TRANSFORM({one}, x => x + {two})",
            )
        )

    def _type(self) -> str:
        plain = self._random.choice(_TYPES)
        return self._random.choice(
            (plain, plain, f"ARRAY<{plain}>", f"MAP<STRING, {plain}>", f"STRUCT<a {plain}>")
        )

    def _name(self) -> str:
        name = self._random.choice(_NAMES)
        return f"{self._random.choice('abc')}.{name}" if self._random.random() < 0.2 else name

    def _source(self) -> str:
        return self._random.choices(_SOURCES, (4, 2, 3, 2, 1))[0]

    def _some(self, items: list[str]) -> list[str]:
        return self._random.sample(items, self._random.randrange(min(4, len(items)) + 1))

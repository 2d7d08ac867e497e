"""Statements in the text."""

from __future__ import annotations

from headrace.sql.syntax import ast
from headrace.sql.syntax.ast import ColumnKind, Listed, Properties, SourceKind, Statement
from headrace.sql.syntax.query_parser import QueryParser
from headrace.sql.syntax.tokens import Kind, Token

_KINDS = {"STREAM": SourceKind.STREAM, "TABLE": SourceKind.TABLE}


class StatementParser(QueryParser):
    """Reads statements. `tests` says whether those that only tests have are allowed."""

    tests = False

    def statement(self) -> Statement:
        """One statement, without its semicolon."""
        position = self.position()
        with self.deeper(4):
            statement = self._statement()
        object.__setattr__(statement, "position", position)
        return statement

    def _statement(self) -> Statement:
        match self.token.value if self.token.kind is Kind.WORD else "":
            case "SELECT":
                return ast.QueryStatement(self.query())
            case "CREATE":
                return self._create()
            case "INSERT":
                return self._insert()
            case "DROP":
                return self._drop()
            case "ALTER":
                return self._alter()
            case "SHOW" | "LIST":
                return self._show()
            case "DESCRIBE":
                return self._describe()
            case "EXPLAIN":
                return self._explain()
            case "PRINT":
                return self._print()
            case "TERMINATE" | "PAUSE" | "RESUME":
                return self._control()
            case "SET" | "UNSET" | "DEFINE" | "UNDEFINE":
                return self._session()
            case "ASSERT":
                return self._assert()
            case "RUN" if self.tests:
                self.expect("RUN", "SCRIPT")
                return ast.RunScript(self.string())
            case _:
                raise self.error(f"Unknown statement '{self.token.text}'")

    # CREATE

    def _create(self) -> Statement:
        self.expect("CREATE")
        if self.take("TYPE"):
            if_not_exists = self.take("IF", "NOT", "EXISTS")
            name = self.identifier()
            self.expect("AS")
            return ast.CreateType(name, self.type(), if_not_exists)
        if self.at("SINK") or self.at("SOURCE", "CONNECTOR"):
            return self._create_connector()
        or_replace = self.take("OR", "REPLACE")
        read_only = self.take("SOURCE")
        kind = self._kind()
        if_not_exists = self.take("IF", "NOT", "EXISTS")
        name = self.identifier()
        columns = self._columns(kind) if self.at("(") else ()
        properties = self._properties() if self.take("WITH") else ()
        if not columns and not read_only and self.take("AS"):
            return ast.CreateAsSelect(
                kind, name, self.query(), properties, or_replace, if_not_exists
            )
        return ast.CreateSource(
            kind, name, columns, properties, or_replace, if_not_exists, read_only
        )

    def _create_connector(self) -> Statement:
        kind = ast.ConnectorKind[self.expect_any("SINK", "SOURCE")]
        self.expect("CONNECTOR")
        if_not_exists = self.take("IF", "NOT", "EXISTS")
        name = self._name_or_string()
        self.expect("WITH")
        return ast.CreateConnector(kind, name, self._properties(), if_not_exists)

    def _kind(self) -> SourceKind:
        return _KINDS[self.expect_any("STREAM", "TABLE")]

    def _columns(self, kind: SourceKind) -> tuple[ast.ColumnDefinition, ...]:
        self.expect("(")
        if self.take(")"):
            return ()
        columns = [self.column(kind)]
        while self.expect_any(",", ")") == ",":
            columns.append(self.column(kind))
        return tuple(columns)

    def column(self, source: SourceKind | None) -> ast.ColumnDefinition:
        at = self.token
        name = self.identifier()
        type_ = self.type()
        kind, header = ColumnKind.VALUE, None
        if self.take("PRIMARY", "KEY"):
            kind = ColumnKind.PRIMARY_KEY
        elif self.take("KEY"):
            kind = ColumnKind.KEY
        elif self.take("HEADERS"):
            kind = ColumnKind.HEADERS
        elif self.take("HEADER", "("):
            kind, header = ColumnKind.HEADERS, self.string()
            self.expect(")")
        self._check_key(source, name, kind, at)
        return ast.ColumnDefinition(name, type_, kind, header, position=at.position)

    def _check_key(self, source: SourceKind | None, name: str, kind: ColumnKind, at: Token) -> None:
        line, column = at.position
        where = f"Line: {line}, Col: {column}: Column `{name}`"
        if source is SourceKind.TABLE and kind is ColumnKind.KEY:
            raise self.failure(
                f"{where} is a 'KEY' column: please use 'PRIMARY KEY' for tables.\n"
                "Tables have PRIMARY KEYs, which are unique and NON NULL.\n"
                "Streams have KEYs, which have no uniqueness or NON NULL constraints.",
                at,
            )
        if source is SourceKind.STREAM and kind is ColumnKind.PRIMARY_KEY:
            raise self.failure(
                f"{where} is a 'PRIMARY KEY' column: please use 'KEY' for streams.\n"
                "Tables have PRIMARY KEYs, which are unique and NON NULL.\n"
                "Streams have KEYs, which have no uniqueness or NON NULL constraints.",
                at,
            )

    def _properties(self) -> Properties:
        self.expect("(")
        if self.take(")"):
            return ()
        properties = self.listed(self._property)
        self.expect(")")
        return properties

    def _property(self) -> tuple[str, ast.Literal]:
        name = self._name_or_string()
        self.expect("=")
        return name, self.literal()

    def _name_or_string(self) -> str:
        return self.string() if self.token.kind is Kind.STRING else self.identifier()

    # INSERT, DROP, ALTER

    def _insert(self) -> Statement:
        self.expect("INSERT", "INTO")
        target = self.identifier()
        if self.at("VALUES") or self.at("("):
            return ast.InsertValues(target, *self._values("VALUES"))
        properties = self._properties() if self.take("WITH") else ()
        return ast.InsertInto(target, self.query(), properties)

    def _values(self, word: str) -> tuple[tuple[str, ...], tuple[ast.Expression, ...]]:
        columns: tuple[str, ...] = ()
        if self.take("("):
            columns = self.listed(self.identifier)
            self.expect(")")
        self.expect(word, "(")
        values = self.listed(self.expression)
        self.expect(")")
        return columns, values

    def _drop(self) -> Statement:
        self.expect("DROP")
        what = self.expect_any("STREAM", "TABLE", "TYPE", "CONNECTOR")
        if_exists = self.take("IF", "EXISTS")
        if what == "TYPE":
            return ast.DropType(self.identifier(), if_exists)
        if what == "CONNECTOR":
            return ast.DropConnector(self._name_or_string(), if_exists)
        name = self.identifier()
        return ast.DropSource(_KINDS[what], name, if_exists, self.take("DELETE", "TOPIC"))

    def _alter(self) -> Statement:
        self.expect("ALTER")
        if self.take("SYSTEM"):
            name = self.string()
            self.expect("=")
            return ast.AlterSystem(name, self.string())
        kind = self._kind()
        name = self.identifier()
        return ast.AlterSource(kind, name, self.listed(self._added_column))

    def _added_column(self) -> ast.ColumnDefinition:
        self.expect("ADD")
        self.take("COLUMN")
        position = self.position()
        name = self.identifier()
        return ast.ColumnDefinition(name, self.type(), position=position)

    # SHOW, DESCRIBE, EXPLAIN, PRINT

    def _show(self) -> Statement:
        self.next()
        for what in Listed:
            words = what.value.split()
            if self.take(*words):
                return ast.Show(what, self.take("EXTENDED"))
        raise self.expected(*(f"'{what.value}'" for what in Listed))

    def _describe(self) -> Statement:
        self.expect("DESCRIBE")
        if self.take("FUNCTION"):
            return ast.DescribeFunction(self.identifier())
        if self.take("CONNECTOR"):
            return ast.DescribeConnector(self._name_or_string())
        for word, kind in (("STREAMS", SourceKind.STREAM), ("TABLES", SourceKind.TABLE)):
            if self.take(word):
                return ast.DescribeAll(kind, self.take("EXTENDED"))
        return ast.DescribeSource(self.identifier(), self.take("EXTENDED"))

    def _explain(self) -> Statement:
        self.expect("EXPLAIN")
        if self.token.kind is Kind.WORD and self.ahead(1).text in (";", "<EOF>"):
            return ast.Explain(self.identifier())
        if self.token.kind is Kind.QUOTED:
            return ast.Explain(self.identifier())
        return ast.Explain(self.statement())

    def _print(self) -> Statement:
        self.expect("PRINT")
        if self.token.kind is Kind.WORD:  # names of topics are as they are written
            topic = self.token.text
            self.identifier()
        else:
            topic = self._name_or_string()
        from_beginning = self.take("FROM", "BEGINNING")
        interval = self.integer() if self.take("INTERVAL") or self.take("SAMPLE") else None
        limit = self.integer() if self.take("LIMIT") else None
        return ast.PrintTopic(topic, from_beginning, interval, limit)

    # Queries and sessions

    def _control(self) -> Statement:
        action = ast.QueryAction[self.next().value]
        return ast.ControlQuery(action, None if self.take("ALL") else self.identifier())

    def _session(self) -> Statement:
        match self.next().value:
            case "SET":
                name = self.string()
                self.expect("=")
                return ast.SetProperty(name, self.string())
            case "UNSET":
                return ast.UnsetProperty(self.string())
            case "DEFINE":
                name = self._variable_name()
                self.expect("=")
                return ast.DefineVariable(name, self.string())
            case _:
                return ast.UndefineVariable(self._variable_name())

    def _variable_name(self) -> str:
        """Names of variables don't care about case."""
        return self.identifier().lower()

    # ASSERT

    def _assert(self) -> Statement:
        self.expect("ASSERT")
        if self.tests:
            if self.take("VALUES"):
                return ast.AssertValues(self.identifier(), *self._values("VALUES"))
            if self.take("NULL", "VALUES"):
                return ast.AssertTombstone(self.identifier(), *self._values("KEY"))
            if self.at_any("STREAM", "TABLE"):
                return self._assert_source()
        exists = not self.take("NOT", "EXISTS")
        if self.take("TOPIC"):
            name = self._name_or_string()
            properties = self._properties() if self.take("WITH") else ()
            return ast.AssertTopic(name, exists, properties, self._timeout())
        if self.take("SCHEMA"):
            subject = self._name_or_string() if self.take("SUBJECT") else None
            id_ = self.integer() if self.take("ID") else None
            return ast.AssertSchema(subject, id_, exists, self._timeout())
        raise self.error(f"{self.near()}\nExpecting {{'NOT', 'TOPIC', 'SCHEMA'}}")

    def _timeout(self) -> ast.Duration | None:
        return self.duration() if self.take("TIMEOUT") else None

    def _assert_source(self) -> Statement:
        kind = self._kind()
        name = self.identifier()
        columns = self._columns(kind) if self.at("(") else ()
        properties = self._properties() if self.take("WITH") else ()
        return ast.AssertSource(kind, name, columns, properties)

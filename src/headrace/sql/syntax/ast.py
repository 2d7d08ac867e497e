"""The AST: what a statement says, before anybody asks whether it makes sense.

Names are as stored: upper case unless they were quoted. Every node knows where it stood in the
text; that is no part of what it says, so it doesn't count in comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from headrace.sql.types import SqlType


class Position(NamedTuple):
    """Where something begins: line and column, both from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True)
class Node:
    """Anything in the tree."""

    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class NamedType(SqlType):
    """The name of a type that CREATE TYPE made, or that doesn't exist. Analysis puts the type
    itself in its place, so that nothing after it sees one."""


class TimeUnit(Enum):
    """Units of durations, each with its milliseconds."""

    MILLISECONDS = 1
    SECONDS = 1_000
    MINUTES = 60_000
    HOURS = 3_600_000
    DAYS = 86_400_000


# Expressions


@dataclass(frozen=True)
class Expression(Node):
    """Something that has a value for a row."""


@dataclass(frozen=True)
class Literal(Expression):
    """A constant, with its type: INTEGER or BIGINT by size, DECIMAL for `1.5`, DOUBLE for `1e3`,
    STRING, BOOLEAN. NULL has no type. Values are as everywhere in this package."""

    value: Any
    type: SqlType | None


@dataclass(frozen=True)
class ColumnReference(Expression):
    """`column` or `source.column`. Pseudo columns (ROWTIME …) look the same."""

    name: str
    source: str | None = None


@dataclass(frozen=True)
class FieldAccess(Expression):
    """`struct->field`."""

    base: Expression
    name: str


@dataclass(frozen=True)
class Subscript(Expression):
    """`array[i]`, `map[key]`."""

    base: Expression
    index: Expression


@dataclass(frozen=True)
class FunctionCall(Expression):
    """`NAME(…)`: scalar, aggregate and table functions look the same. The name is in upper case.
    `COUNT(*)` has no arguments; `a || b` is CONCAT."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Lambda(Expression):
    """`(x, y) => body`, an argument of a function. Its body has LambdaVariables."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class LambdaVariable(Expression):
    """A parameter of the lambda around it."""

    name: str


@dataclass(frozen=True)
class IntervalUnit(Expression):
    """A unit of time as an argument: `DATEADD(DAYS, …)`."""

    unit: TimeUnit


class ArithmeticOperator(Enum):
    """Operators between numbers (and strings: `+`)."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULUS = "%"


@dataclass(frozen=True)
class Arithmetic(Expression):
    """`left + right` and the like."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Sign(Expression):
    """`-operand`, `+operand`. A number with its sign is one Literal."""

    negative: bool
    operand: Expression


class ComparisonOperator(Enum):
    """Operators that compare. Messages use the names."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS_THAN = "<"
    LESS_THAN_OR_EQUAL = "<="
    GREATER_THAN = ">"
    GREATER_THAN_OR_EQUAL = ">="
    IS_DISTINCT_FROM = "IS DISTINCT FROM"
    IS_NOT_DISTINCT_FROM = "IS NOT DISTINCT FROM"


@dataclass(frozen=True)
class Comparison(Expression):
    """`left = right` and the like."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


class LogicalOperator(Enum):
    """AND, OR."""

    AND = "AND"
    OR = "OR"


@dataclass(frozen=True)
class Logical(Expression):
    """`left AND right`, `left OR right`."""

    operator: LogicalOperator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Not(Expression):
    """`NOT operand`; `a NOT IN (…)` and its like are the NOT of an In."""

    operand: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    """`operand IS NULL`."""

    operand: Expression


@dataclass(frozen=True)
class IsNotNull(Expression):
    """`operand IS NOT NULL`."""

    operand: Expression


@dataclass(frozen=True)
class Between(Expression):
    """`operand BETWEEN lower AND upper`, both included."""

    operand: Expression
    lower: Expression
    upper: Expression


@dataclass(frozen=True)
class In(Expression):
    """`operand IN (items)`."""

    operand: Expression
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Like(Expression):
    """`operand LIKE pattern [ESCAPE 'c']`."""

    operand: Expression
    pattern: Expression
    escape: str | None = None


@dataclass(frozen=True)
class When(Node):
    """`WHEN condition THEN result`. In a SimpleCase the condition is the value to compare with."""

    condition: Expression
    result: Expression


@dataclass(frozen=True)
class SearchedCase(Expression):
    """`CASE WHEN … END`."""

    whens: tuple[When, ...]
    default: Expression | None


@dataclass(frozen=True)
class SimpleCase(Expression):
    """`CASE operand WHEN … END`."""

    operand: Expression
    whens: tuple[When, ...]
    default: Expression | None


@dataclass(frozen=True)
class Cast(Expression):
    """`CAST(operand AS type)`."""

    operand: Expression
    type: SqlType


@dataclass(frozen=True)
class ArrayConstructor(Expression):
    """`ARRAY[…]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MapConstructor(Expression):
    """`MAP(key := value, …)`."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class StructConstructor(Expression):
    """`STRUCT(name := value, …)`."""

    fields: tuple[tuple[str, Expression], ...]


# Queries


@dataclass(frozen=True)
class SelectItem(Node):
    """What stands between SELECT and FROM."""


@dataclass(frozen=True)
class SingleColumn(SelectItem):
    """`expression [AS alias]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True)
class AllColumns(SelectItem):
    """`*` or `source.*`."""

    source: str | None = None


@dataclass(frozen=True)
class StructAll(SelectItem):
    """`struct->*`: all its fields."""

    base: Expression


@dataclass(frozen=True)
class Duration(Node):
    """`10 SECONDS`."""

    amount: int
    unit: TimeUnit

    @property
    def milliseconds(self) -> int:
        return self.amount * self.unit.value


@dataclass(frozen=True)
class Relation(Node):
    """What a query reads."""


@dataclass(frozen=True)
class AliasedSource(Relation):
    """`source [AS alias]`; without an alias, its own name."""

    source: str
    alias: str


class JoinKind(Enum):
    """What becomes of rows without a partner."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    OUTER = "FULL"


@dataclass(frozen=True)
class Within(Node):
    """`WITHIN 1 HOUR`, `WITHIN (1 HOUR, 2 HOURS)`, with `GRACE PERIOD 1 DAY` perhaps."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True)
class Join(Relation):
    """`left JOIN right [WITHIN …] ON criteria`. Of several joins the last is the outermost."""

    kind: JoinKind
    left: Relation
    right: AliasedSource
    criteria: Expression
    within: Within | None = None


@dataclass(frozen=True)
class WindowExpression(Node):
    """`WINDOW …`. What wasn't said is None."""

    retention: Duration | None = field(default=None, kw_only=True)
    grace: Duration | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class TumblingWindow(WindowExpression):
    """`TUMBLING (SIZE …)`."""

    size: Duration


@dataclass(frozen=True)
class HoppingWindow(WindowExpression):
    """`HOPPING (SIZE …, ADVANCE BY …)`."""

    size: Duration
    advance: Duration


@dataclass(frozen=True)
class SessionWindow(WindowExpression):
    """`SESSION (…)`."""

    gap: Duration


class Emit(Enum):
    """When results come out: with every change, or when they are final."""

    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True)
class Query(Node):
    """`SELECT …`. Without `emit` it is a pull query, or the query of a CREATE … AS."""

    select: tuple[SelectItem, ...]
    source: Relation
    window: WindowExpression | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None


# Statements

Properties = tuple[tuple[str, Literal], ...]
"""`WITH (name = literal, …)`. Names are in upper case unless quoted."""


@dataclass(frozen=True)
class Statement(Node):
    """What can be executed."""


@dataclass(frozen=True)
class QueryStatement(Statement):
    """A query on its own: push if it has EMIT, else pull."""

    query: Query


class ColumnKind(Enum):
    """What a column is declared as."""

    VALUE = ""
    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"


@dataclass(frozen=True)
class ColumnDefinition(Node):
    """`name type [KEY | PRIMARY KEY | HEADERS | HEADER('key')]`."""

    name: str
    type: SqlType
    kind: ColumnKind = ColumnKind.VALUE
    header: str | None = None
    """The key of a HEADER('key') column; HEADERS, all of them, has none."""


class SourceKind(Enum):
    """Streams and tables."""

    STREAM = "STREAM"
    TABLE = "TABLE"


@dataclass(frozen=True)
class CreateSource(Statement):
    """`CREATE STREAM | TABLE name (columns) WITH (…)`."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...]
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False
    read_only: bool = False
    """CREATE SOURCE …"""


@dataclass(frozen=True)
class CreateAsSelect(Statement):
    """`CREATE STREAM | TABLE name WITH (…) AS SELECT …`."""

    kind: SourceKind
    name: str
    query: Query
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class InsertInto(Statement):
    """`INSERT INTO target SELECT …`."""

    target: str
    query: Query
    properties: Properties = ()


@dataclass(frozen=True)
class InsertValues(Statement):
    """`INSERT INTO target (columns) VALUES (…)`. No columns: all of them, in order."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class DropSource(Statement):
    """`DROP STREAM | TABLE name`."""

    kind: SourceKind
    name: str
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True)
class AlterSource(Statement):
    """`ALTER STREAM | TABLE name ADD COLUMN …`."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True)
class AlterSystem(Statement):
    """`ALTER SYSTEM 'name' = 'value'`."""

    name: str
    value: str


@dataclass(frozen=True)
class CreateType(Statement):
    """`CREATE TYPE name AS type`."""

    name: str
    type: SqlType
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropType(Statement):
    """`DROP TYPE name`."""

    name: str
    if_exists: bool = False


class ConnectorKind(Enum):
    """Which way a connector moves records."""

    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True)
class CreateConnector(Statement):
    """`CREATE SOURCE | SINK CONNECTOR name WITH (…)`."""

    kind: ConnectorKind
    name: str
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropConnector(Statement):
    """`DROP CONNECTOR name`."""

    name: str
    if_exists: bool = False


class Listed(Enum):
    """What SHOW can list."""

    PROPERTIES = "PROPERTIES"
    TOPICS = "TOPICS"
    ALL_TOPICS = "ALL TOPICS"
    STREAMS = "STREAMS"
    TABLES = "TABLES"
    FUNCTIONS = "FUNCTIONS"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"
    TYPES = "TYPES"
    VARIABLES = "VARIABLES"
    QUERIES = "QUERIES"


@dataclass(frozen=True)
class Show(Statement):
    """`SHOW …`, `LIST …`."""

    what: Listed
    extended: bool = False


@dataclass(frozen=True)
class DescribeSource(Statement):
    """`DESCRIBE source`."""

    name: str
    extended: bool = False


@dataclass(frozen=True)
class DescribeAll(Statement):
    """`DESCRIBE STREAMS | TABLES`."""

    kind: SourceKind
    extended: bool = False


@dataclass(frozen=True)
class DescribeFunction(Statement):
    """`DESCRIBE FUNCTION name`."""

    name: str


@dataclass(frozen=True)
class DescribeConnector(Statement):
    """`DESCRIBE CONNECTOR name`."""

    name: str


@dataclass(frozen=True)
class Explain(Statement):
    """`EXPLAIN statement` or `EXPLAIN query_id`."""

    what: Statement | str


@dataclass(frozen=True)
class PrintTopic(Statement):
    """`PRINT topic`."""

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


class QueryAction(Enum):
    """What can be done with running queries."""

    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True)
class ControlQuery(Statement):
    """`TERMINATE | PAUSE | RESUME id`, or all of them."""

    action: QueryAction
    query_id: str | None
    """None: ALL."""


@dataclass(frozen=True)
class SetProperty(Statement):
    """`SET 'name' = 'value'`."""

    name: str
    value: str


@dataclass(frozen=True)
class UnsetProperty(Statement):
    """`UNSET 'name'`."""

    name: str


@dataclass(frozen=True)
class DefineVariable(Statement):
    """`DEFINE name = 'value'`."""

    name: str
    value: str


@dataclass(frozen=True)
class UndefineVariable(Statement):
    """`UNDEFINE name`."""

    name: str


@dataclass(frozen=True)
class AssertTopic(Statement):
    """`ASSERT [NOT EXISTS] TOPIC name`."""

    name: str
    exists: bool
    properties: Properties = ()
    timeout: Duration | None = None


@dataclass(frozen=True)
class AssertSchema(Statement):
    """`ASSERT [NOT EXISTS] SCHEMA [SUBJECT name] [ID n]`."""

    subject: str | None
    id: int | None
    exists: bool
    timeout: Duration | None = None


@dataclass(frozen=True)
class AssertValues(Statement):
    """`ASSERT VALUES source (columns) VALUES (…)`, for tests."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class AssertTombstone(Statement):
    """`ASSERT NULL VALUES source (columns) KEY (…)`, for tests."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class AssertSource(Statement):
    """`ASSERT STREAM | TABLE name (columns) WITH (…)`, for tests."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...]
    properties: Properties = ()


@dataclass(frozen=True)
class RunScript(Statement):
    """`RUN SCRIPT 'file'`, for the command line and tests."""

    path: str

"""Types in the text."""

from __future__ import annotations

from headrace.sql.syntax.ast import NamedType
from headrace.sql.syntax.cursor import Cursor
from headrace.sql.syntax.tokens import Kind
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

SIMPLE_TYPES = {
    "BOOLEAN": BOOLEAN,
    "INT": INTEGER,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "VARCHAR": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}


class TypeParser(Cursor):
    """Reads types."""

    def type(self) -> SqlType:
        with self.deeper(3):
            read = self._plain_type()
            while self.take("ARRAY"):
                read = ArrayType(read)
            return read

    def _plain_type(self) -> SqlType:
        if self.at("ARRAY", "<"):
            self.expect("ARRAY", "<")
            element = self.type()
            self.expect(">")
            return ArrayType(element)
        if self.at("MAP", "<"):
            self.expect("MAP", "<")
            key = self.type()
            self.expect(",")
            value = self.type()
            self.expect(">")
            return MapType(key, value)
        if self.at("STRUCT") and self.ahead(1).text in ("<", "<>"):
            return self._struct()
        if self.at("DECIMAL", "("):
            return self._decimal()
        return self._named_type()

    def _struct(self) -> SqlType:
        self.expect("STRUCT")
        fields: list[Field] = []
        if not self.take("<>"):
            self.expect("<")
            while not self.at(">"):
                if fields:
                    self.expect(",")
                name = self.identifier()
                fields.append(Field(name, self.type()))
            self.expect(">")
        return StructType(tuple(fields))

    def _decimal(self) -> SqlType:
        at = self.token
        self.expect("DECIMAL", "(")
        precision = self.integer()
        self.expect(",")
        scale = self.integer()
        self.expect(")")
        if precision < 1:
            raise self.failure(f"DECIMAL precision must be >= 1: DECIMAL({precision},{scale})", at)
        if scale > precision:
            raise self.failure(
                f"DECIMAL precision must be >= scale: DECIMAL({precision},{scale})", at
            )
        return DecimalType(precision, scale)

    def _named_type(self) -> SqlType:
        quoted = self.token.kind is Kind.QUOTED
        name = self.identifier()
        self._parameters()
        if not quoted and name in SIMPLE_TYPES:
            return SIMPLE_TYPES[name]
        return NamedType(name)

    def _parameters(self) -> None:
        """`VARCHAR(STRING)`, `VARCHAR(20)`: allowed, and without meaning."""
        if not self.take("("):
            return
        while True:
            if self.token.kind is not Kind.INTEGER and not self.at("STRING"):
                raise self.expected("'STRING'", Kind.INTEGER.value)
            self.next()
            if self.expect_any(",", ")") == ")":
                break
        if self.at("("):
            raise self.expected("','", "')'")

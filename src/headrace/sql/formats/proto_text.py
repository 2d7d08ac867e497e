"""From the text of a .proto file to its descriptor.

protobuf's Python library reads descriptors only; the text is what schema registries keep. Services,
extensions and options that say nothing about the data are skipped. An option in parentheses is kept
as protoc keeps those that it doesn't know: uninterpreted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    UninterpretedOption,
)

from headrace.sql.formats.catalog import FormatError

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      |(?P<word>[A-Za-z_]\w*)
      |(?P<number>0[xX][0-9a-fA-F]+|\.?\d(?:[eE][+-]|[\w.])*)
      |(?P<sign>[{}()\[\]<>;=,.:/+-])""",
    re.VERBOSE | re.DOTALL,
)

_SCALARS = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
}
_LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
_MAX_DEPTH = 30


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def file_descriptor(
    text: str, name: str, others: Iterable[FileDescriptorProto] = ()
) -> FileDescriptorProto:
    """The descriptor of a file; `others` are all those that it may import."""
    file = _Parser(text, name).file()
    known = dict(_type_names(file))
    for other in others:
        known.update(_type_names(other))
    package = f".{file.package}" if file.package else ""
    for message in file.message_type:
        _resolve(message, f"{package}.{message.name}", known)
    return file


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._tokens = list(self._scan(text))
        self._at = 0
        self._file = FileDescriptorProto(name=name, syntax="proto2")

    def _scan(self, text: str) -> Iterator[_Token]:
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._error(f"{text[at]!r} isn't expected", at)
            kind = match.lastgroup or ""
            if kind != "skip":
                yield _Token(kind, match.group(), at)
            at = match.end()
        yield _Token("end", "", len(text))

    # The file

    def file(self) -> FileDescriptorProto:
        file = self._file
        while self._peek().kind != "end":
            word = self._next().text
            if word == "syntax":
                self._expect("=")
                file.syntax = self._string()
                self._expect(";")
            elif word == "package":
                file.package = self._name()
                self._expect(";")
            elif word == "import":
                if self._peek().text in ("public", "weak"):
                    self._next()
                file.dependency.append(self._string())
                self._expect(";")
            elif word == "message":
                self._message(file.message_type.add(), 0)
            elif word == "enum":
                self._enum(file.enum_type.add())
            elif word in ("option", "service", "extend"):
                self._skip_statement()
            elif word != ";":
                raise self._unexpected(self._tokens[self._at - 1])
        if file.syntax == "proto2":
            file.ClearField("syntax")
        return file

    def _message(self, message: DescriptorProto, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise self._error("messages are nested too deeply", self._peek().start)
        message.name = self._word()
        self._expect("{")
        while not self._took("}"):
            token = self._peek()
            if token.text in ("option", "extend", "extensions", "reserved") and (
                self._tokens[self._at + 1].text not in (".",)
            ):
                self._next()
                self._skip_statement()
            elif self._took(";"):
                pass
            elif token.text in ("message", "enum") and self._is_definition():
                self._next()
                if token.text == "message":
                    self._message(message.nested_type.add(), depth + 1)
                else:
                    self._enum(message.enum_type.add())
            elif token.text == "oneof" and self._is_definition():
                self._next()
                self._oneof(message)
            elif token.text == "map" and self._tokens[self._at + 1].text == "<":
                self._map_field(message)
            else:
                self._field(message)
        self._close_optionals(message)

    def _is_definition(self) -> bool:
        return self._tokens[self._at + 2].text == "{"

    def _oneof(self, message: DescriptorProto) -> None:
        message.oneof_decl.add(name=self._word())
        self._expect("{")
        while not self._took("}"):
            if self._took("option"):
                self._skip_statement()
            elif not self._took(";"):
                self._field(message).oneof_index = len(message.oneof_decl) - 1

    def _field(self, message: DescriptorProto) -> FieldDescriptorProto:
        field = message.field.add(label=FieldDescriptorProto.LABEL_OPTIONAL)
        label = self._peek().text
        if label in _LABELS:
            self._next()
            field.label = _LABELS[label]
            if label == "optional" and self._file.syntax == "proto3":
                field.proto3_optional = True
        self._type(field)
        field.name = self._word()
        self._number(field)
        return field

    def _type(self, field: FieldDescriptorProto) -> None:
        name = self._name(leading_dot=True)
        if name in _SCALARS:
            field.type = _SCALARS[name]
        elif name == "group":
            raise self._error("groups aren't supported", self._peek().start)
        else:
            field.type_name = name

    def _number(self, field: FieldDescriptorProto) -> None:
        self._expect("=")
        token = self._next()
        try:
            field.number = int(token.text, 0)
        except ValueError:
            raise self._unexpected(token) from None
        if self._took("["):
            while True:
                self._field_option(field)
                if self._took("]"):
                    break
                self._expect(",")
        self._expect(";")

    def _map_field(self, message: DescriptorProto) -> None:
        self._next()
        self._expect("<")
        entry = DescriptorProto()
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1, label=FieldDescriptorProto.LABEL_OPTIONAL)
        value = entry.field.add(name="value", number=2, label=FieldDescriptorProto.LABEL_OPTIONAL)
        self._type(key)
        self._expect(",")
        self._type(value)
        self._expect(">")
        field = message.field.add(name=self._word(), label=FieldDescriptorProto.LABEL_REPEATED)
        self._number(field)
        entry.name = "".join(p[:1].upper() + p[1:] for p in field.name.split("_")) + "Entry"
        field.type_name = entry.name
        message.nested_type.append(entry)

    def _close_optionals(self, message: DescriptorProto) -> None:
        """An `optional` of proto3 is the only member of a oneof of its own; these come last."""
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")

    def _enum(self, enum: EnumDescriptorProto) -> None:
        enum.name = self._word()
        self._expect("{")
        while not self._took("}"):
            if self._peek().text in ("option", "reserved"):
                self._next()
                self._skip_statement()
                continue
            if self._took(";"):
                continue
            value = enum.value.add(name=self._word())
            self._expect("=")
            sign = -1 if self._took("-") else 1
            value.number = sign * int(self._next().text, 0)
            if self._took("["):
                self._skip_until("]")
            self._expect(";")
        if len({value.number for value in enum.value}) < len(enum.value):
            enum.options.allow_alias = True

    # Options

    def _field_option(self, field: FieldDescriptorProto) -> None:
        is_extension = self._took("(")
        name = self._name(leading_dot=is_extension)
        if is_extension:
            self._expect(")")
            while self._took("."):
                name += "." + self._name()
        self._expect("=")
        if self._peek().text == "{":
            aggregate = self._aggregate()
            if is_extension:
                part = UninterpretedOption.NamePart(name_part=name, is_extension=True)
                field.options.uninterpreted_option.add(name=[part], aggregate_value=aggregate)
            return
        self._took("-")
        value = self._next().text
        while self._peek().kind == "text":  # texts side by side are one
            self._next()
        if name == "packed" and not is_extension:
            field.options.packed = value == "true"

    def _aggregate(self) -> str:
        start = self._next().start + 1
        self._skip_until("}")
        return self._text[start : self._tokens[self._at - 1].start].strip()

    # Tokens

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        if token.kind == "end":
            raise self._error("it ends too early", token.start)
        self._at += 1
        return token

    def _took(self, text: str) -> bool:
        if self._peek().text == text and self._peek().kind != "text":
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._took(text):
            raise self._error(f"{text!r} is expected", self._peek().start)

    def _word(self) -> str:
        token = self._next()
        if token.kind != "word":
            raise self._unexpected(token)
        return token.text

    def _name(self, *, leading_dot: bool = False) -> str:
        start = "." if leading_dot and self._took(".") else ""
        name = start + self._word()
        while self._took("."):
            name += "." + self._word()
        return name

    def _string(self) -> str:
        token = self._next()
        if token.kind != "text":
            raise self._unexpected(token)
        return token.text[1:-1]

    def _skip_statement(self) -> None:
        """To the end of a statement: a semicolon, or a block."""
        while True:
            token = self._next()
            if token.kind != "text" and token.text == ";":
                return
            if token.kind != "text" and token.text == "{":
                self._skip_until("}")
                self._took(";")
                return

    def _skip_until(self, closing: str) -> None:
        opening = {"}": "{", "]": "["}[closing]
        depth = 1
        while depth:
            token = self._next()
            if token.kind == "sign":
                depth += (token.text == opening) - (token.text == closing)

    def _unexpected(self, token: _Token) -> FormatError:
        return self._error(f"{token.text!r} isn't expected", token.start)

    def _error(self, what: str, at: int) -> FormatError:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return FormatError(f"The protobuf schema is wrong at line {line}:{column}: {what}.")


# Names of types


def _type_names(file: FileDescriptorProto) -> Iterator[tuple[str, bool]]:
    """The full names of a file's types, each with whether it is an enum."""
    package = f".{file.package}" if file.package else ""
    for enum in file.enum_type:
        yield f"{package}.{enum.name}", True
    for message in file.message_type:
        yield from _nested_names(message, f"{package}.{message.name}")


def _nested_names(message: DescriptorProto, name: str) -> Iterator[tuple[str, bool]]:
    yield name, False
    for enum in message.enum_type:
        yield f"{name}.{enum.name}", True
    for nested in message.nested_type:
        yield from _nested_names(nested, f"{name}.{nested.name}")


def _resolve(message: DescriptorProto, scope: str, known: dict[str, bool]) -> None:
    """Put full names in the place of those that were written: the innermost that fits counts."""
    for nested in message.nested_type:
        _resolve(nested, f"{scope}.{nested.name}", known)
    for field in message.field:
        if not field.type_name:
            continue
        name = _full_name(field.type_name, scope, known)
        if name is None:
            raise FormatError(
                f"The protobuf schema has no type {field.type_name!r}, which field "
                f"{scope[1:]}.{field.name} is to have."
            )
        field.type_name = name
        is_enum = known[name]
        field.type = (
            FieldDescriptorProto.TYPE_ENUM if is_enum else FieldDescriptorProto.TYPE_MESSAGE
        )


def _full_name(name: str, scope: str, known: dict[str, bool]) -> str | None:
    if name.startswith("."):
        return name if name in known else None
    while True:
        candidate = f"{scope}.{name}"
        if candidate in known:
            return candidate
        if not scope:
            return None
        scope = scope.rpartition(".")[0]

"""JSON schemas of dataclasses."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_PLAIN = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}


class Schemas:
    """Collects the schemas of classes, each once and by name."""

    def __init__(self) -> None:
        self.named: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        if kind is Any:
            return {}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if is_dataclass(kind):
            return self._reference(kind)
        match get_origin(kind), get_args(kind):
            case origin, options if origin in (Union, UnionType):
                return {"anyOf": [self.of(option) for option in options]}
            case origin, values if origin is Literal:
                return {"type": "string", "enum": [*values]}
            case origin, (item,) if origin is list:
                return {"type": "array", "items": self.of(item)}
            case origin, (_, item) if origin is dict:
                return {"type": "object", "additionalProperties": self.of(item)}
        raise TypeError(f"{kind} has no schema")

    def _reference(self, kind: Any) -> dict[str, Any]:
        name = kind.__name__
        if name not in self.named:
            self.named[name] = {}  # it may refer to itself
            hints = get_type_hints(kind)
            form: dict[str, Any] = {
                "type": "object",
                "properties": {field.name: self.of(hints[field.name]) for field in fields(kind)},
                "required": [field.name for field in fields(kind)],
                "additionalProperties": False,
            }
            if kind.__doc__ and not kind.__doc__.startswith(f"{name}("):
                form["description"] = cleandoc(kind.__doc__)
            self.named[name] = form
        return {"$ref": f"#/components/schemas/{name}"}

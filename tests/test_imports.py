"""What `import headrace` brings, and what it must not."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import headrace
from headrace import serdes, stores, testing, timestamps


def test_importing_headrace_loads_no_engine_and_no_optional_package() -> None:
    code = (
        "import sys, headrace, headrace.testing; "
        "print(*sorted({'pyspark', 'confluent_kafka', 'pydantic', 'pytest', 'prometheus_client', "
        "'opentelemetry'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_public_name_exists_and_is_sorted() -> None:
    for module in (headrace, serdes, stores, testing, timestamps):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
        assert module.__all__ == sorted(set(module.__all__)), module.__name__


def test_every_public_class_and_method_has_a_docstring() -> None:
    modules = (headrace, headrace.handlers, serdes, stores, testing)
    objects = {
        id(member): (name, member)
        for module in modules
        for name in getattr(module, "__all__", vars(module))
        if callable(member := getattr(module, name)) and not name.startswith("_")
        if getattr(member, "__module__", "").startswith("headrace")
    }
    missing = [
        f"{name}.{part}" if part else name
        for name, member in objects.values()
        for part, item in [("", member), *(vars(member).items() if _is_class(member) else ())]
        if not part.startswith("_") and _is_documentable(item) and not item.__doc__
    ]
    assert missing == []


def test_no_text_names_a_module_of_a_higher_layer() -> None:
    """What import-linter can't see: a module that is run or imported by its name."""
    package = Path(headrace.__file__).parent
    contracts = tomllib.loads((package.parents[1] / "pyproject.toml").read_text())["tool"]
    layers = contracts["importlinter"]["contracts"][0]["layers"]
    height = {
        name: -number for number, row in enumerate(layers) for name in re.findall(r"\w+", row)
    }
    wrong = [
        f"{path.relative_to(package)}: {text}"
        for path in package.rglob("*.py")
        for text, named in _modules_named(path)
        if (own := path.relative_to(package).parts[0]) in height
        if height.get(named, height["core"]) > height[own]
    ]
    assert wrong == []


def _modules_named(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r"headrace\.(\w+)[\w.:]*", node.value)
            if found:
                yield node.value, found[1]


def _is_class(member: object) -> bool:
    return isinstance(member, type)


def _is_documentable(item: object) -> bool:
    return callable(item) or isinstance(item, property | classmethod | staticmethod)

"""What makes code of data is used where it is listed, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace

PACKAGE = Path(headrace.__file__).parent

LISTED = {
    # Users' functions go to workers as bytes: of the driver, over Spark's or a process's own pipe.
    "spark/shipment.py": {"cloudpickle"},
    "spark/workers.py": {"pickle"},
    "server/node.py": {"pickle"},
    # Expressions become functions: as a syntax tree, in which names and texts of users are
    # constants.
    "sql/expressions/evaluation.py": {"compile", "exec"},
    # A writer of rows: its text has numbers in it, no names.
    "sql/formats/json.py": {"compile", "exec"},
}
MODULES = {
    "_pickle",
    "cloudpickle",
    "dill",
    "joblib",
    "jsonpickle",
    "marshal",
    "pickle",
    "runpy",
    "shelve",
    "yaml",
}
FUNCTIONS = {"__import__", "compile", "eval", "exec", "read_pickle"}


def uses(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [part for alias in node.names for part in alias.name.split(".")]
            yield from MODULES.intersection(named)
        elif isinstance(node, ast.ImportFrom):
            named = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from MODULES.intersection(named)
        elif isinstance(node, ast.Name):
            yield from FUNCTIONS.intersection([node.id])
        elif isinstance(node, ast.Attribute) and node.attr == "read_pickle":
            yield node.attr


def test_only_listed_modules_make_code_of_data() -> None:
    found = {
        str(path.relative_to(PACKAGE)): used
        for path in PACKAGE.rglob("*.py")
        if (used := set(uses(ast.parse(path.read_text()))))
    }
    assert found == LISTED


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("import pickle", "pickle"),
        ("from pyspark import cloudpickle as c", "cloudpickle"),
        ("from pyspark.cloudpickle import dumps", "cloudpickle"),
        ("import os, marshal as m", "marshal"),
        ("f = eval", "eval"),
        ("exec('x')", "exec"),
        ("import pandas; pandas.read_pickle('x')", "read_pickle"),
    ],
)
def test_each_way_is_found(text: str, used: str) -> None:
    assert set(uses(ast.parse(text))) == {used}


def test_what_has_the_name_of_one_is_none() -> None:
    assert not set(uses(ast.parse("import re\nre.compile('x')\nself.compile(y)\nself.exec(z)")))

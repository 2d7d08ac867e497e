"""Headrace against the recorded behaviour of Kafka Streams, group by group."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from .cases import group_files, known_differences, read
from .cli import check, check_group
from .compare import compare
from .run import run

GROUPS = group_files()


@pytest.mark.parametrize("path", GROUPS.values(), ids=GROUPS.keys())
def test_group_behaves_as_recorded(path: Path) -> None:
    failed = [str(verdict) for verdict in check_group(path) if not verdict.passed]
    assert not failed, "\n\n".join(failed)


def test_few_differences_are_listed() -> None:
    cases = sum(len(read(path)) for path in GROUPS.values())
    assert len(known_differences()) * 200 <= cases


def plant(case: dict[str, Any], *path: str | int, value: object) -> dict[str, Any]:
    """The case with one recorded thing changed."""
    planted = copy.deepcopy(case)
    target: Any = planted
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return planted


@pytest.mark.parametrize(
    ("group", "path", "value"),
    [
        ("stateless", ("output", 0, "ts"), 123456),
        ("stateless", ("output", 0, "value"), "planted"),
        ("stateless", ("output", 0, "key_b64"), "AAAA"),
        ("stateless", ("output", 0, "headers"), [["planted", None]]),
        ("stateless", ("describe",), "planted"),
        ("stateless", ("dropped",), 99),
        ("branch", ("observed", 0, "branch_keys"), ["planted"]),
        ("stream-aggregate", ("stores", "planted"), {"kind": "internal"}),
        ("stream-aggregate", ("changelogs", 0, "ts"), 123456),
        ("merge-repartition", ("internal", 0, "value_b64"), None),
        ("error-handlers", ("error", "class"), "TopologyException"),
        ("error-handlers", ("error", "cause"), 77),
    ],
)
def test_a_planted_fault_is_found(group: str, path: tuple[str | int, ...], value: object) -> None:
    case = next(case for case in read(GROUPS[group]) if case.get(str(path[0]), []) != [])
    got = run(case)
    assert len(compare(plant(case, *path, value=value), got)) > len(compare(case, got))


def test_a_missing_error_is_found() -> None:
    case = next(case for case in read(GROUPS["invalid"]) if "error" in case)
    del case["error"]
    assert not check(case).passed


def test_a_listed_case_must_differ() -> None:
    assert not check(read(GROUPS["stateless"])[0], "planted").passed

from __future__ import annotations

from pathlib import Path

import pytest

import headrace
from headrace.core.own_code import is_own_code

PACKAGE = Path(headrace.__file__).parent


def test_the_packages_files_are_own_code() -> None:
    assert is_own_code(headrace.__file__)
    assert is_own_code(str(PACKAGE / "cli" / "main.py"))


@pytest.mark.parametrize(
    "file",
    [
        f"{PACKAGE}_shop/app.py",
        str(PACKAGE.parent / "app.py"),
        "/home/anna/headrace/app.py",
        "/home/anna/headrace/src/app.py",
        "<string>",
        "<frozen importlib._bootstrap>",
        "headrace/app.py",
    ],
)
def test_what_lies_elsewhere_is_the_users(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert not is_own_code(file)


def test_a_link_to_the_package_is_the_package(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(PACKAGE)
    assert is_own_code(str(tmp_path / "linked" / "core" / "errors.py"))

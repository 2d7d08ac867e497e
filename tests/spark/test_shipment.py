from __future__ import annotations

import importlib
import sys
import sysconfig
from pathlib import Path

import pytest

import headrace
from headrace.spark.shipment import _users_modules


def test_modules_beneath_a_folder_of_our_name_are_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "headrace" / "mein Lädchen"
    folder.mkdir(parents=True)
    (folder / "some_shop.py").write_text("")
    monkeypatch.syspath_prepend(folder)
    shop = importlib.import_module("some_shop")
    found = _users_modules()
    assert shop in found
    assert headrace not in found
    assert pytest not in found
    del sys.modules["some_shop"]


def test_only_libraries_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system's Python has /usr as its place for data: what is in /usr/src/app is no library."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "other_shop.py").write_text("")
    paths = {**sysconfig.get_paths(), "data": str(tmp_path)}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)
    monkeypatch.setattr(sysconfig, "get_path", paths.__getitem__)
    monkeypatch.syspath_prepend(tmp_path / "src")
    shop = importlib.import_module("other_shop")
    assert shop in _users_modules()
    del sys.modules["other_shop"]

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

import headrace as package
from headrace.cli import config as command
from headrace.cli.config_page import markdown, rows
from headrace.core.settings import SETTINGS
from tests.cli.conftest import Headrace

PAGE = Path(package.__file__).parents[2] / "docs" / "configuration.md"


def test_all_settings_are_shown(headrace: Headrace) -> None:
    shown = headrace("config").stdout
    for key, setting in SETTINGS.items():
        assert (key in shown) == (setting.importance != "internal")
    assert "commit.interval.ms = 100\n" in shown
    assert "sasl.mechanism\n" in shown


def test_settings_are_found_by_text(headrace: Headrace) -> None:
    shown = headrace("config", "DEAD").stdout
    assert shown.startswith("errors.dead.letter.queue.topic.name\n")
    assert "commit.interval.ms" not in shown
    assert "There is no setting with 'zzz'" in headrace("config", "zzz").stderr


def test_settings_on_a_terminal(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "out", Console(force_terminal=True, width=120))
    shown = headrace("config", "commit.interval").stdout
    assert "setting" in shown
    assert "commit.interval.ms" in shown


def test_settings_as_data(headrace: Headrace) -> None:
    data = json.loads(headrace("config", "--format", "json").stdout)
    assert data == [row._asdict() for row in rows()]


def test_the_page_of_the_documentation_is_up_to_date(headrace: Headrace) -> None:
    assert headrace("config", "--format", "markdown").stdout == markdown()
    assert PAGE.read_text("utf-8") == markdown(), (
        "Make it anew: headrace config --format markdown > docs/configuration.md"
    )


def test_a_file_is_checked(headrace: Headrace, tmp_path: Path) -> None:
    file = tmp_path / "shop.properties"
    file.write_text(
        "application.id=shop\nbootstrap.servers=a:1\nsasl.mechanism=PLAIN\n"
        "sasl.username=ann\nsasl.password=hunter2\nsecurity.protocol=SASL_SSL\npoll.ms=5\n"
    )
    result = headrace("config", "--file", file)
    assert result.exit_code == 0, result.output
    assert "sasl.password = ****" in result.stdout
    assert "hunter2" not in result.output
    assert "7 settings, nothing wrong" in result.stderr
    assert "poll.ms has no effect: Spark polls." in result.stderr


def test_a_wrong_file_is_an_error(headrace: Headrace, tmp_path: Path) -> None:
    file = tmp_path / "shop.properties"
    file.write_text("application.id=shop\ncommit.interval.ms=soon\n")
    result = headrace("config", "--file", file)
    assert result.exit_code == 1
    assert f"It comes from {file}, line 2." in result.stderr
    file.write_text("application.id=shop\nbootstrap.servers=a:1\nssl.keystore.type=JKS\n")
    assert headrace("config", "--file", tmp_path / "none.toml").exit_code == 1

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Headrace

APP = """
CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT v + 1 AS w FROM s;
"""


def written(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_statements_over_records(headrace: Headrace, tmp_path: Path) -> None:
    app = written(tmp_path / "app.sql", APP)
    given = written(tmp_path / "in.json", {"inputs": [{"topic": "s", "value": {"V": 1}}]})
    good = written(tmp_path / "good.json", {"outputs": [{"topic": "O", "value": {"W": 2}}]})
    bad = written(tmp_path / "bad.json", {"outputs": [{"topic": "O", "value": {"W": 3}}]})
    passed = headrace("sql", "test", app, given, good)
    assert (passed.exit_code, passed.stdout) == (0, "passed\n")
    failed = headrace("sql", "test", app, given, bad)
    assert failed.exit_code == 1
    assert failed.stdout == "O[0]: value: W is 2, not 3\nfailed: 1 difference\n"


def test_a_script(headrace: Headrace, tmp_path: Path) -> None:
    script = (
        f"--@test: one\n{APP} INSERT INTO s VALUES (1); ASSERT VALUES o VALUES (2);\n"
        f"--@test: two\n{APP} ASSERT VALUES o VALUES (2);\n"
    )
    result = headrace("sql", "test", written(tmp_path / "script.sql", script))
    assert result.exit_code == 1
    assert result.stdout.startswith("passed one\nFAILED two\n  Expected another record")
    assert result.stdout.endswith("1 passed, 1 failed\n")


def test_wrong_statements_are_shown(headrace: Headrace, tmp_path: Path) -> None:
    app = written(tmp_path / "app.sql", "SELEC 1;")
    expected = written(tmp_path / "out.json", {"outputs": []})
    result = headrace("sql", "test", app, expected)
    assert result.exit_code == 1
    assert "SELEC" in result.stderr


def test_too_many_files(headrace: Headrace, tmp_path: Path) -> None:
    app = written(tmp_path / "app.sql", APP)
    assert headrace("sql", "test", app, app, app, app).exit_code == 2

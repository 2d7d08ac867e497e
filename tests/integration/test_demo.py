"""The demo as CI would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from headrace.cli.demo_results import OUTPUTS


def test_the_demo_shows_results_and_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "demo", "--seconds", "10"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert done.stderr == ""
    assert "write department-counts" in said
    assert re.search(r"The console is at http://127\.0\.0\.1:\d+\n", said)
    assert re.search(r"export HEADRACE_APPLICATION_SERVER=127\.0\.0\.1:\d+\n", said)
    assert re.search(r"export HEADRACE_BOOTSTRAP_SERVERS=127\.0\.0\.1:\d+\n", said)
    last = re.findall(r"([\d,]+) purchases sent; RUNNING, 6 tasks, ([\d,]+) records", said)[-1]
    sent, processed = (int(number.replace(",", "")) for number in last)
    assert sent > 3_000
    assert processed > sent
    for topic in OUTPUTS:
        assert re.search(rf"^{topic}, [\d,]+ records, the last: ", said, re.MULTILINE), said
    assert not re.search(r"\d{4}-\d{4}-\d{4}-\d{4}", said)  # cards are masked
    assert not list(tmp_path.glob("headrace-*"))

"""Other processes, for tests of what they share."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

_PROLOGUE = """
import os, signal, sys, time
from pathlib import Path
from headrace.core.errors import HeadraceError
from headrace.state import Checkpoint, TaskState
"""


def start(script: str) -> subprocess.Popen[str]:
    """A Python process; it can be talked to through its standard streams."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROLOGUE + dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: str) -> subprocess.CompletedProcess[str]:
    process = start(script)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)

"""The user's own directories, where others can't be there first."""

from __future__ import annotations

import os
from pathlib import Path


def user_state_directory() -> str:
    """Where state is kept that should outlast the process: `$XDG_STATE_HOME/headrace`, which is
    `~/.local/state/headrace` unless set.

    Users without a home, as in containers, have a directory of their number among the temporary
    files.
    """
    given = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(given):
        return os.path.join(given, "headrace")
    home = os.path.expanduser("~")
    if os.path.isabs(home) and home != "/" and os.access(home, os.W_OK):
        return os.path.join(home, ".local", "state", "headrace")
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108, StateDirectory refuses others'
    return str(Path(temporary, f"headrace-{os.geteuid()}"))

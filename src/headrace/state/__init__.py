"""Task state on local disk: LMDB environments that any process of the host can take up.

It is a cache of the changelogs, never the only copy: whatever is damaged or doubtful is wiped, and
restored.
"""

from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from headrace.state.task_state import TaskState

__all__ = ["Checkpoint", "StateDirectory", "TaskState"]

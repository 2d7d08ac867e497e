"""What is known of an application while it runs: for its status, its metrics and its queries."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.app.lifecycle import Lifecycle
from headrace.app.metrics import ApplicationMetrics
from headrace.app.nodes import Nodes
from headrace.app.restoration import Restoration
from headrace.app.status import Progress


@dataclass(frozen=True)
class Observation:
    """Written by whoever supervises the application, read by whoever asks."""

    lifecycle: Lifecycle
    progress: Progress
    metrics: ApplicationMetrics
    restoration: Restoration
    nodes: Nodes

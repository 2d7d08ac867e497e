"""The dashboard, the alert rules and the pages speak of metrics that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import headrace
from headrace.metrics.page import page
from headrace.metrics.prometheus import exposition

from .test_prometheus import everything, sample_names

DOCS = Path(headrace.__file__).parents[2] / "docs"
MONITORING = DOCS / "monitoring"
METRIC = re.compile(r"\bheadrace_\w+")


def expressions(form: Any) -> Iterator[str]:
    """Everything that Prometheus is asked."""
    if isinstance(form, dict):
        for key, value in form.items():
            if key in ("expr", "query") and isinstance(value, str):
                yield value
            yield from expressions(value)
    elif isinstance(form, list):
        for value in form:
            yield from expressions(value)


def dashboard() -> Any:
    return json.loads((MONITORING / "dashboard.json").read_text())


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("form", [dashboard(), alerts()], ids=["dashboard", "alerts"])
def test_every_metric_exists(form: Any) -> None:
    known = sample_names(exposition(everything()).decode())
    used = {name for text in expressions(form) for name in METRIC.findall(text)}
    assert len(used) > 8
    assert used - known == set()


@pytest.mark.parametrize("form", [dashboard(), alerts()], ids=["dashboard", "alerts"])
def test_labels_that_are_grouped_by_exist(form: Any) -> None:
    text = exposition(everything()).decode()
    known = set(re.findall(r'(\w+)="', text)) | {"job", "instance"}
    used = {
        label.strip()
        for expression in expressions(form)
        for labels in re.findall(r"\bby \(([^)]*)\)", expression)
        for label in labels.split(",")
    }
    assert used
    assert used - known == set()


def test_what_is_critical_is_watched() -> None:
    texts = " ".join(expressions(dashboard())), " ".join(expressions(alerts()))
    for name in (
        "headrace_thread_commit_latency_max",
        "headrace_state_updater_active_restoring_tasks",
        "headrace_state_total_sst_files_size",
        "headrace_client_failed_stream_threads",
    ):
        assert all(name in text for text in texts), name


def test_every_alert_is_explained() -> None:
    explained = (MONITORING / "README.md").read_text()
    for rule in alerts():
        assert f"| {rule['alert']} |" in explained
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]


def test_panels_have_a_place_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_the_page_of_metrics_is_up_to_date() -> None:
    written = (DOCS / "metrics.md").read_text()
    assert written == page(), "Make it anew: python -m headrace.metrics.page > docs/metrics.md"


def test_metrics_in_the_page_about_monitoring_exist() -> None:
    known = sample_names(exposition(everything()).decode())
    text = (MONITORING / "README.md").read_text()
    assert set(re.findall(r"`(headrace_\w+)`", text)) - known == set()

"""What came of the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .cases import Case

KNOWN_FAILURES = Path(__file__).resolve().parents[1] / "known_failures.txt"

_HEADER = """\
# Cases that fail, one on a line: id, a tab, the reason. The ids are written by
# `scripts/qtt --rewrite-known`, which keeps the reasons; the reasons are by hand.
"""


@dataclass(frozen=True)
class Verdict:
    """A case, and why it failed if it did."""

    case: Case
    failure: str | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None


def known_failures() -> dict[str, str]:
    """The listed cases, with the reason of each."""
    if not KNOWN_FAILURES.exists():
        return {}
    lines = KNOWN_FAILURES.read_text(encoding="utf-8").splitlines()
    listed = (line.split("\t", 1) for line in lines if line and not line.startswith("#"))
    return {id: reason[0] if reason else "" for id, *reason in listed}


def rewrite_known_failures(verdicts: Iterable[Verdict]) -> None:
    """List the cases that failed. Cases that were not run stay as they are."""
    listed = known_failures()
    for verdict in verdicts:
        if verdict.passed:
            listed.pop(verdict.case.id, None)
        else:
            listed.setdefault(verdict.case.id, "?")
    lines = [f"{id}\t{reason}\n" for id, reason in sorted(listed.items())]
    KNOWN_FAILURES.write_text(_HEADER + "".join(lines), encoding="utf-8")


def summary(verdicts: list[Verdict], *, by_file: bool = True) -> str:
    """Passed and total by tier and by file; the last line says it of all."""
    lines = []
    groups = [("tier", [verdict.case.tier for verdict in verdicts])]
    if by_file:
        groups.append(("file", [verdict.case.file for verdict in verdicts]))
    for name, keys in groups:
        lines.append(f"by {name}:")
        total = Counter(keys)
        passed = Counter(key for key, verdict in zip(keys, verdicts, strict=True) if verdict.passed)
        lines.extend(
            f"  {key:<40} {passed[key]:>4}/{total[key]:<4} {100 * passed[key] / total[key]:5.1f}%"
            for key in sorted(total)
        )
    passes = sum(verdict.passed for verdict in verdicts)
    lines.append(f"{passes} passed, {len(verdicts) - passes} failed")
    return "\n".join(lines)

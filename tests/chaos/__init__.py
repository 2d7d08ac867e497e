"""Faults on purpose: kill, stop and delete whatever can be, and compare with an undisturbed run."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""What must be on the path of every process of a run."""

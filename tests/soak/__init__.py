"""A long run: whether anything grows that should not."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""What must be on the path of every process of a run."""

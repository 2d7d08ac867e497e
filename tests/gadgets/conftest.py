from __future__ import annotations

from pathlib import Path

import pytest

from tests.gadgets.gadget import Gadgets


@pytest.fixture
def gadgets(tmp_path: Path) -> Gadgets:
    return Gadgets(tmp_path / "canary")

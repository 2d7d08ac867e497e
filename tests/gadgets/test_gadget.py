"""Gadgets work, or else nothing would be shown by their not being run."""

from __future__ import annotations

import pytest

from headrace.core.errors import SerializationError
from tests.gadgets.gadget import Gadget, Gadgets


def test_each_makes_the_canary_for_who_trusts_it(gadgets: Gadgets) -> None:
    assert len(gadgets) >= 40
    assert len({gadget.name for gadget in gadgets}) == len({g.data for g in gadgets})
    for gadget in gadgets:
        gadget.fire(gadget.data)
        assert gadgets.canary.exists(), gadget.name
        gadgets.canary.unlink()


def test_who_runs_one_is_found_out(gadgets: Gadgets) -> None:
    with pytest.raises(AssertionError, match="protocol 0 was run"):
        gadgets.put_to(lambda gadget: gadget.fire(gadget.data))


def test_who_raises_anything_is_found_out(gadgets: Gadgets) -> None:
    def refuse(gadget: Gadget) -> None:
        raise SerializationError(gadget.name)

    gadgets.put_to(refuse)
    with pytest.raises(UnicodeDecodeError):
        gadgets.put_to(lambda gadget: gadget.data.decode("ascii"))

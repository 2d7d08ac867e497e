"""How many distinct values there are, roughly, in little space: HyperLogLog with 2^14 registers.

A sketch is bytes: three for each register in use, its number and its value, in the order of
numbers, as long as they are few; then one for each register.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from headrace.serde.murmur3 import murmur3

_BITS = 14
_REGISTERS = 1 << _BITS
_SPARSE = 1000
"""As many registers in use still are a list."""
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)


def added(sketch: bytes, value: Any) -> bytes:
    """The sketch with one more value."""
    hashed = int.from_bytes(murmur3(_bytes_of(value))[:8], "big")
    register, rest = hashed >> (64 - _BITS), hashed & ((1 << (64 - _BITS)) - 1)
    return _raised(sketch, register, 64 - _BITS - rest.bit_length() + 1)


def merged(one: bytes, other: bytes) -> bytes:
    for register, rank in _registers(other):
        one = _raised(one, register, rank)
    return one


def estimate(sketch: bytes) -> int:
    """How many distinct values the sketch has seen."""
    is_dense = len(sketch) == _REGISTERS
    empty = sketch.count(0) if is_dense else _REGISTERS - len(sketch) // 3
    if empty > _REGISTERS // 20:  # few values: those that fell on the same register are guessed
        return round(_REGISTERS * math.log(_REGISTERS / empty))
    total = sum(times / (1 << rank) for rank, times in Counter(sketch).items())
    return round(_ALPHA * _REGISTERS * _REGISTERS / total)


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS)


def _registers(sketch: bytes) -> Iterator[tuple[int, int]]:
    """The registers in use, with their values."""
    if len(sketch) == _REGISTERS:
        return ((register, rank) for register, rank in enumerate(sketch) if rank)
    return ((sketch[at] << 8 | sketch[at + 1], sketch[at + 2]) for at in range(0, len(sketch), 3))


def _raised(sketch: bytes, register: int, rank: int) -> bytes:
    """Registers only grow."""
    if len(sketch) == _REGISTERS:
        if sketch[register] >= rank:
            return sketch
        return b"%b%c%b" % (sketch[:register], rank, sketch[register + 1 :])
    at, found = _place(sketch, register)
    if found and sketch[at + 2] >= rank:
        return sketch
    entry = bytes((register >> 8, register & 0xFF, rank))
    raised = sketch[:at] + entry + sketch[at + 3 * found :]
    return raised if len(raised) <= 3 * _SPARSE else _dense(raised)


def _place(sketch: bytes, register: int) -> tuple[int, bool]:
    """Where a register is in a list, or would be, and whether it is."""
    low, high = 0, len(sketch) // 3
    while low < high:
        middle = (low + high) // 2
        number = sketch[3 * middle] << 8 | sketch[3 * middle + 1]
        if number == register:
            return 3 * middle, True
        if number < register:
            low = middle + 1
        else:
            high = middle
    return 3 * low, False


def _dense(sketch: bytes) -> bytes:
    dense = bytearray(_REGISTERS)
    for register, rank in _registers(sketch):
        dense[register] = rank
    return bytes(dense)

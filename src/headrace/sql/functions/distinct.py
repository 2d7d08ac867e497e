"""How many distinct values there are, roughly, in little space: HyperLogLog with 2^14 registers.

A sketch is bytes: three for each register in use, its number and its value, as long as they are
few; then one for each register.
"""

from __future__ import annotations

import math
from collections import Counter
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
    return _raised(sketch, {register: 64 - _BITS - rest.bit_length() + 1})


def merged(one: bytes, other: bytes) -> bytes:
    return _raised(one, _registers(other))


def estimate(sketch: bytes) -> int:
    """How many distinct values the sketch has seen."""
    registers = _registers(sketch)
    empty = _REGISTERS - len(registers)
    if empty > _REGISTERS // 20:  # few values: those that fell on the same register are guessed
        return round(_REGISTERS * math.log(_REGISTERS / empty))
    total = empty + sum(times / (1 << rank) for rank, times in Counter(registers.values()).items())
    return round(_ALPHA * _REGISTERS * _REGISTERS / total)


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS)


def _registers(sketch: bytes) -> dict[int, int]:
    if len(sketch) == _REGISTERS:
        return {register: rank for register, rank in enumerate(sketch) if rank}
    return {sketch[at] << 8 | sketch[at + 1]: sketch[at + 2] for at in range(0, len(sketch), 3)}


def _raised(sketch: bytes, ranks: dict[int, int]) -> bytes:
    """Registers only grow."""
    if len(sketch) == _REGISTERS:
        if all(sketch[register] >= rank for register, rank in ranks.items()):
            return sketch
        dense = bytearray(sketch)
        for register, rank in ranks.items():
            dense[register] = max(dense[register], rank)
        return bytes(dense)
    registers = _registers(sketch)
    for register, rank in ranks.items():
        registers[register] = max(registers.get(register, 0), rank)
    if len(registers) > _SPARSE:
        return bytes(registers.get(register, 0) for register in range(_REGISTERS))
    return b"".join(
        bytes((register >> 8, register & 0xFF, rank)) for register, rank in registers.items()
    )

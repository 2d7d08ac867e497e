"""Murmur3, with which a foreign-key join recognises values."""

from __future__ import annotations

from struct import pack, unpack_from

_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F
_MASK = 0xFFFFFFFFFFFFFFFF
_SEED = 104729


def murmur3(data: bytes) -> bytes:
    """The hash of `data`: 128 bits, big-endian."""
    size = len(data)
    blocks = size // 16
    h1 = h2 = _SEED
    words = unpack_from(f"<{blocks * 2}Q", data)
    for k1, k2 in zip(words[::2], words[1::2], strict=True):
        h1 = ((_rotate(h1 ^ _mix1(k1), 27) + h2) * 5 + 0x52DCE729) & _MASK
        h2 = ((_rotate(h2 ^ _mix2(k2), 31) + h1) * 5 + 0x38495AB5) & _MASK
    tail = data[blocks * 16 :]
    h1 ^= _mix1(int.from_bytes(tail[:8], "little")) ^ size
    h2 ^= _mix2(int.from_bytes(tail[8:], "little")) ^ size
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = (h1 + h2) & _MASK
    return pack(">QQ", h1, (h2 + h1) & _MASK)


def _mix1(k: int) -> int:
    return _rotate(k * _C1 & _MASK, 31) * _C2 & _MASK


def _mix2(k: int) -> int:
    return _rotate(k * _C2 & _MASK, 33) * _C1 & _MASK


def _rotate(x: int, bits: int) -> int:
    return (x << bits | x >> 64 - bits) & _MASK


def _finish(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & _MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return h ^ h >> 33

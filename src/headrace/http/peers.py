"""Peers: servers that share a secret, and prove to each other that they have it.

Where a peer is, is read from Kafka, where others may write too. So the secret itself is never sent:
who asks signs the question for the one address that it asks, and believes an answer only if that is
signed as well.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable

SCHEME = "Headrace-Peer"
"""Of the header Authorization."""
ANSWER = "X-Headrace-Peer"
"""The header by which an answer proves itself."""
_MAX_AGE_S = 300
"""How old a question may be; clocks of hosts differ."""


class PeerKey:
    """What proves a server to its peers. Addresses are `host:port`, as peers know each other."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._clock = clock

    def question(self, peer: str) -> tuple[str, str]:
        """A nonce, and the value of the header Authorization for the peer at an address."""
        nonce = f"{int(self._clock())}-{secrets.token_hex(16)}"
        return nonce, f"{SCHEME} {nonce}:{self._signature('question', peer, nonce)}"

    def asked(self, authorization: str, here: str) -> str | None:
        """The nonce of a question that a peer has asked the server at this address; None if it is
        none of a peer, or too old."""
        scheme, _, given = authorization.partition(" ")
        nonce, _, signature = given.partition(":")
        if scheme.lower() != SCHEME.lower():
            return None
        if not self._matches(signature, self._signature("question", here, nonce)):
            return None
        age_s = self._clock() - int(nonce.partition("-")[0])
        return nonce if abs(age_s) <= _MAX_AGE_S else None

    def answer(self, nonce: str, here: str) -> str:
        """The value of the header of an answer."""
        return self._signature("answer", here, nonce)

    def is_answered(self, value: str, nonce: str, peer: str) -> bool:
        """Whether an answer is that of the peer who was asked."""
        return self._matches(value, self._signature("answer", peer, nonce))

    def _signature(self, what: str, address: str, nonce: str) -> str:
        return hmac.new(
            self._secret, f"{what}\n{address.lower()}\n{nonce}".encode(), "sha256"
        ).hexdigest()

    @staticmethod
    def _matches(given: str, expected: str) -> bool:
        return hmac.compare_digest(given.encode(), expected.encode())

"""Which run of an application is the one that counts."""

from __future__ import annotations

from headrace.core.errors import FencedError
from headrace.engine.plan import Plan
from headrace.kafka.positions import GroupReader, Position
from headrace.kafka.settings import ClientSettings


class Claim:
    """Kept as the metadata of an offset in a consumer group of its own, `<application>-headrace`:
    the last run to start has its number there."""

    def __init__(self, settings: ClientSettings, plan: Plan) -> None:
        self._run = plan.run
        self._application = plan.config.application_id
        self._at = plan.inputs[0]
        self._group = GroupReader(settings, group_id=group_of(self._application))

    def take(self) -> None:
        self._group.commit({self._at: Position(0, metadata={_RUN: self._run})})

    def check(self) -> None:
        """Raises FencedError if another run has started since."""
        position = self._group.committed([self._at]).get(self._at)
        if position is None or position.metadata.get(_RUN) != self._run:
            raise FencedError(
                f"Another instance of application {self._application!r} has started and took "
                "over: this one stops. Run one at a time, or give them different application ids."
            )

    def close(self) -> None:
        self._group.close()


_RUN = "run"


def group_of(application: str) -> str:
    return f"{application}-headrace"

"""A stream that is split into branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.core.arguments import require_function
from headrace.core.errors import ArgumentError
from headrace.topology.logical import Processing
from headrace.topology.operators import Branch, Operator, PassThrough

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")


class _Splitter(Processing):
    """Grows while branches are added."""

    def __init__(self, name: str) -> None:
        super().__init__(name, PassThrough())
        self.predicates: list[Callable[..., bool]] = []
        self.branches: list[str] = []

    def final_operator(self) -> Operator:
        return Branch(tuple(self.predicates), tuple(self.branches))


class BranchedKStream(Generic[K, V]):
    """The branches of a stream: a record goes to the first one whose predicate accepts it, else to
    the default branch, or nowhere if there is none.

    A branch is called like the split with the branch's name behind it, or else its number from 1
    (0 for the default branch). With `function`, the branch is what that makes of its stream, unless
    it makes None; with `consumer`, the branch's stream is given away and not among the results.
    """

    def __init__(self, stream: KStream[K, V], name: str | None) -> None:
        self._stream = stream
        graph = stream._graph
        self._splitter = _Splitter(graph.naming.name(name, "KSTREAM-BRANCH-"))
        self._results: dict[str, KStream[K, V]] = {}
        graph.add(self._splitter, stream._node)

    def branch(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
        consumer: Callable[[KStream[K, V]], None] | None = None,
    ) -> BranchedKStream[K, V]:
        """Add a branch for what `predicate(key, value)` accepts."""
        require_function(predicate, "The predicate", "key", "value")
        self._splitter.predicates.append(predicate)
        self._add(str(len(self._splitter.predicates)) if name is None else name, function, consumer)
        return self

    def default_branch(
        self,
        *,
        name: str | None = None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
        consumer: Callable[[KStream[K, V]], None] | None = None,
    ) -> dict[str, KStream[K, V]]:
        """Add the branch for what no other accepts, and give all branches by name."""
        self._add("0" if name is None else name, function, consumer)
        return self._results

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """Drop what no branch accepts, and give all branches by name."""
        return self._results

    def _add(
        self,
        suffix: str,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None,
        consumer: Callable[[KStream[K, V]], None] | None,
    ) -> None:
        if function is not None and consumer is not None:
            raise ArgumentError("A branch has a function or a consumer, not both")
        graph = self._stream._graph
        name = self._splitter.name + suffix
        self._splitter.branches.append(name)
        graph.naming.generate(name)
        node = Processing(name, PassThrough())
        graph.add(node, self._splitter)
        stream: KStream[K, V] | None = self._stream._next(node)
        if consumer is not None and stream is not None:
            consumer(stream)
            return
        if function is not None and stream is not None:
            stream = function(stream)
        if stream is not None:
            self._results[name] = stream

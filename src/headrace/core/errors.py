"""Every error Headrace raises, grouped by what the caller can do about it.

HeadraceError
├── TopologyError        the topology is wrong: mend the code that builds it
├── ArgumentError        an argument is wrong: mend the call (also a ValueError)
│   └── NullArgumentError    an argument that must be given is None
├── StateError           the call came at the wrong time (also a RuntimeError)
│   └── StoreAccessError     a store can't be queried now
│       ├── NotStartedError      start() the application first
│       ├── RebalancingError     wait: it is about to run
│       ├── StoppedError         it has ended, or is about to
│       ├── UnknownStoreError    the topology has no such store, or it is of another type
│       ├── UnknownPartitionError    the store has no such partition
│       └── StoreNotAvailableError   its state isn't on this host (any more, or yet)
├── ConfigError          a setting is wrong: mend the configuration
└── StreamsError         processing failed: mend the data or the code, or set a handler
    ├── SerializationError   bytes could not be read or written
    ├── ProcessingError      a user function or processor raised
    │   └── FlushError           … when a commit flushed the record cache
    ├── HandlerError         an exception handler itself raised
    ├── MissingTopicError    a topic that is read isn't there: create it
    ├── LockError            a state directory is in use: stop its user
    ├── BrokerError          Kafka can't be reached, or refused
    │   └── AuthorizationError   … for want of a right: ask whoever runs the cluster for it
    └── FencedError          another instance of the application took over
"""

from __future__ import annotations


class HeadraceError(Exception):
    """The base of all errors of Headrace."""


class TopologyError(HeadraceError):
    """The topology can't be built as it was written."""


class ArgumentError(HeadraceError, ValueError):
    """A call was given a value that it can't work with."""


class NullArgumentError(ArgumentError):
    """A call was given None where a value is needed."""


class StateError(HeadraceError, RuntimeError):
    """A call came at a time when it can't be served."""


class StoreAccessError(StateError):
    """A store can't be queried now."""


class NotStartedError(StoreAccessError):
    """The application was not started yet."""


class RebalancingError(StoreAccessError):
    """The application is starting, or bringing its state up to date. It will pass."""


class StoppedError(StoreAccessError):
    """The application has ended, or is about to."""


class UnknownStoreError(StoreAccessError):
    """The topology has no store of that name, or it is of another type."""


class UnknownPartitionError(StoreAccessError):
    """The store has no such partition."""


class StoreNotAvailableError(StoreAccessError):
    """The state of a partition isn't on this host, or is being restored."""


class ConfigError(HeadraceError, ValueError):
    """A setting is unknown, missing or has a value that can't be used."""


class StreamsError(HeadraceError):
    """Processing failed, and no handler said to go on."""


class SerializationError(StreamsError):
    """Bytes could not be made from a value, or a value from bytes."""


class ProcessingError(StreamsError):
    """A user function or processor raised. The original error is its `__cause__`."""


class FlushError(ProcessingError):
    """A user function or processor raised for an update that a record cache had held back."""


class HandlerError(StreamsError):
    """An exception handler raised, or returned something that isn't a Response."""


class MissingTopicError(StreamsError):
    """A topic that the topology reads doesn't exist."""


class LockError(StreamsError):
    """A state directory is in use by another process."""


class BrokerError(StreamsError):
    """Kafka can't be reached, or refused a request. `retriable`: it may work later."""

    def __init__(self, message: str, *, retriable: bool = False) -> None:
        super().__init__(message)
        self.retriable = retriable


class AuthorizationError(BrokerError):
    """The application may not do something that it has to do. The message says what to ask for."""


class FencedError(StreamsError):
    """Another instance of the application took over; this one may not write any more."""


def require(value: object, what: str) -> None:
    """Raise NullArgumentError if `value` is None."""
    if value is None:
        raise NullArgumentError(f"{what} can't be None")

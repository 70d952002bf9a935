# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions of dtrain, by the kinds of its C interface (dtrain/c_api.h)."""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple


class MissingRank(NamedTuple):
    """A rank that others waited for."""

    rank: int  #: in the communicator that waited
    why: str  #: "in no operation; its last one was number 41"


class DtrainError(RuntimeError):
    """Base class: one line that says what was wrong, the value, and what to do. Raised itself where a contract is
    broken, as when the ranks do not call the same operation."""


class UsageError(DtrainError, ValueError):
    """A value, an option or a variable is not valid."""


class NotInitialised(UsageError):
    """init() was not called, or finish() was."""


class LibraryNotFound(DtrainError, ImportError):
    """libdtrain or a library of MPI is not there."""


class MpiError(DtrainError):
    """A call of MPI failed."""

    def __init__(self, message: str, code: int = 0):
        super().__init__(message)
        self.code = code  #: what MPI returned

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.args[0], self.code)


class VersionMismatch(DtrainError):
    """The ranks run different versions of dtrain."""


class CommunicatorTimeout(DtrainError, TimeoutError):
    """Other ranks did not come to an operation, or did not go on in it, within DTRAIN_COMM_TIMEOUT. Only ending is
    possible afterwards."""

    def __init__(self, message: str, operation: str = "", number: int = 0, waited: float = 0.0,
                 missing: Optional[List[MissingRank]] = None):
        super().__init__(message)
        self.operation = operation  #: "allreduce"
        self.number = number  #: of the operation within its communicator, from 1
        self.waited = waited  #: seconds
        self.missing = missing or []  #: the ranks that it waited for

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.args[0], self.operation, self.number, self.waited, self.missing)


class SpawnError(DtrainError):
    """A rank of spawn() failed: the first one to do so; the others were stopped. __cause__ is the exception that was
    raised there, where it can be pickled."""

    def __init__(self, message: str, rank: int = -1, traceback: str = ""):
        super().__init__(message)
        self.rank = rank  #: -1: the failure is not that of a rank; the ranks could not be started
        self.traceback = traceback  #: of the rank, as text; "" if it raised nothing

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.args[0], self.rank, self.traceback)

    def __str__(self) -> str:
        return f"{self.args[0]}\n\n{self.traceback}".rstrip()


for _public in (MissingRank, DtrainError, UsageError, NotInitialised, LibraryNotFound, MpiError, VersionMismatch,
                CommunicatorTimeout, SpawnError):
    _public.__module__ = "dtrain"  # as users import them, and as tracebacks should say

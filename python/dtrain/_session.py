# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""From init() to finish(): when this process is a rank."""
from __future__ import annotations

import sys
from typing import Any, NoReturn, Optional

from ._communicator import Communicator, shared_arrays_in_use
from ._errors import NotInitialised, UsageError
from ._library import library

_world: Optional[Communicator] = None


def init() -> Communicator:
    """Makes this process a rank, and returns the communicator of all ranks: under dtrain-launch, mpirun or srun one of
    the job, without a launcher a world of one rank. Where mpi4py has initialised MPI its ranks are those. Collective. A
    second call returns the same communicator.

    Only one thread at a time may use communicators. When the process ends, the job's end is taken care of: after exit
    status 0 as by finish(); otherwise, as after an exception that nobody catches, the other ranks are ended too, and the
    report of dtrain-launch names the exception."""
    global _world  # pylint: disable=global-statement
    if _world is None:
        if library().init():
            library().raise_last_error()
        _world = Communicator(0)
        _report_uncaught_exceptions()
    return _world


def finish() -> None:
    """Ends what init() began. Collective; needed only where a process goes on without being a rank."""
    global _world  # pylint: disable=global-statement
    if _world is None:
        raise NotInitialised("finish: dtrain is not initialised: call dtrain.init() first")
    if shared_arrays_in_use():
        raise UsageError(f"finish: arrays in shared memory still in use: {shared_arrays_in_use()}; their memory ends here: "
                         "delete what refers to them first (del)")
    if library().finish():
        library().raise_last_error()
    _world = None


def is_initialised() -> bool:
    """True between init() and finish()."""
    return _world is not None


def world() -> Communicator:
    """The communicator of all ranks."""
    if _world is None:
        raise NotInitialised("dtrain is not initialised: call dtrain.init() first")
    return _world


def rank() -> int:
    """Number of this rank in the job, from 0."""
    return world().rank


def size() -> int:
    """Number of ranks of the job."""
    return world().size


def local_rank() -> int:
    """Number of this rank among those of its node."""
    return world().local_rank


def local_size() -> int:
    """Number of ranks of this rank's node."""
    return world().local_size


def abort(status: int = 1) -> NoReturn:
    """Ends all ranks of the job at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    library().handle.dtrain_abort(status)
    raise AssertionError("dtrain_abort() does not return")


def _report_uncaught_exceptions() -> None:
    """The report of dtrain-launch says what ended the job."""
    previous = sys.excepthook

    def report(kind: Any, value: Any, traceback: Any) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            library().report_error(kind.__name__.encode(), str(value).encode(errors="replace"))
        previous(kind, value, traceback)
        if "mpi4py" in sys.modules and not issubclass(kind, KeyboardInterrupt):
            abort(1)  # it would finalise MPI, and wait there for the others

    sys.excepthook = report

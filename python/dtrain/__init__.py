# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain for Python: ranks that exchange numpy arrays, and jobs that start them.

    import numpy as np
    import dtrain

    world = dtrain.init()
    gradients = np.ones(1000, np.float32)
    world.all_reduce(gradients, "average")

Neither numpy nor torch nor a library of MPI is loaded before it is used.
"""
from __future__ import annotations

from typing import Any

from ._communicator import Communicator, Request, SharedArray
from ._errors import (CommunicatorTimeout, DtrainError, LibraryNotFound, MissingRank, MpiError, NotInitialised, SpawnError,
                      UsageError, VersionMismatch)
from ._session import abort, finish, init, is_initialised, local_rank, local_size, rank, size
from ._spawn import Spawned, is_spawned, spawn

__all__ = ["Communicator", "CommunicatorTimeout", "DtrainError", "LibraryNotFound", "MissingRank", "MpiError",
           "NotInitialised", "Request", "SharedArray", "SpawnError", "Spawned", "UsageError", "VersionMismatch", "abort",
           "finish", "init", "is_initialised", "is_spawned", "local_rank", "local_size", "rank", "size", "spawn", "world"]

world: Communicator  #: the communicator of all ranks, between init() and finish()


def __getattr__(name: str) -> Any:
    if name == "world":
        return _session.world()
    if name == "__version__":
        return _library.library().version
    raise AttributeError(f"module 'dtrain' has no attribute {name!r}")


from . import _library, _session  # noqa: E402  # behind the names that are public

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The back end "dtrain" of torch.distributed, for tensors in host memory:

    import dtrain.torch  # torch 2.15 and later find it without this line

    torch.distributed.init_process_group("dtrain")

Under dtrain-run, dtrain-launch, mpirun and srun its ranks are those of MPI; where the launcher sets neither MASTER_ADDR nor
RANK (mpirun, srun), init_method="dtrain://" does without them. Ranks of one node that torchrun or
torch.multiprocessing started find each other through torch's store, and never call MPI.
"""
from __future__ import annotations

from typing import Any

import torch.distributed as dist

from .._torch_records import answer_worker as _answer_worker
from ._group import Group
from ._ranks import communicator_of, store_prefix
from ._rendezvous import register as _register_rendezvous

__all__ = ["Group", "register"]


def _create(options: Any, _backend_options: Any) -> Group:
    prefix = store_prefix(str(options.group_id))
    return Group(options.store, prefix, options.group_rank, options.group_size, communicator_of(options, prefix), options.timeout)


def register() -> None:
    """Makes the back end known to torch.distributed. Importing this module does it."""
    if "DTRAIN" not in dist.Backend._plugins:  # pylint: disable=protected-access
        dist.Backend.register_backend("dtrain", _create, extended_api=True, devices=["cpu"])
    _register_rendezvous()


register()
_answer_worker()

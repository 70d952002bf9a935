# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""From init() to shutdown(): which ranks there are, where they are, and over what they talk."""
from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Sequence, Union

import torch
import torch.distributed as dist

from ... import _session
from ...torch import _ranks
from .._rank_numbers import RankNumbers, numbers_of
from ._negotiation import forget_handles
from ._process_sets import ProcessSet, add_process_set, close_all, global_process_set, open_global

_ON_GPUS_TOO = "cpu:dtrain,cuda:nccl"

_numbers: Optional[RankNumbers] = None
_is_own_group = False


def _backend() -> str:
    return _ON_GPUS_TOO if torch.cuda.is_available() and dist.is_nccl_available() else "dtrain"


def _make_default_group() -> None:
    """Ranks of MPI or of torchrun; a world of one without a launcher."""
    by_environment = "RANK" in os.environ and not _ranks.started_by_mpi()
    dist.init_process_group(_backend(), init_method="env://" if by_environment else "dtrain://")


def _node() -> Any:
    if _session.is_initialised() and _session.size() == dist.get_world_size():
        return _session.world().node
    return _ranks._memory_of_node()


def _check_is_everyone(comm: Any) -> None:
    if comm is None:
        return
    size = dist.get_world_size()
    if hasattr(comm, "Get_size"):
        named = f"a communicator of {comm.Get_size()} ranks"
        is_everyone = comm.Get_size() == size
    else:
        ranks = list(comm)
        named, is_everyone = f"the ranks {ranks}", not ranks or sorted(ranks) == list(range(size))
    if not is_everyone:
        raise ValueError(f"hvd.init: comm has {named}, and the job has {size}: start the job with these ranks only, or pass "
                         "process_sets=[hvd.ProcessSet([...])] and name the set in the operations")


def init(comm: Union[None, Iterable[int], Any] = None,
         process_sets: Union[None, str, Sequence[ProcessSet]] = None) -> None:
    """Makes this process a rank, in torch's default group: that which there is, or one of the back end dtrain, under
    dtrain-run, dtrain-launch, mpirun, srun and torchrun, and of one rank without a launcher. Collective. A second call does
    nothing. @param comm all ranks, as a list or a communicator of mpi4py @param process_sets sets of ranks to be made usable;
    "dynamic", which Horovod needs for add_process_set(), is not needed here"""
    global _numbers, _is_own_group  # pylint: disable=global-statement
    if _numbers is not None:
        return
    _is_own_group = not dist.is_initialized()
    if _is_own_group:
        _make_default_group()
    _check_is_everyone(comm)
    has_memory_of_host = "cpu" in dist.get_backend_config()
    open_global(None if has_memory_of_host else _backend())
    nodes = [None] * dist.get_world_size()
    dist.all_gather_object(nodes, _node(), group=global_process_set.negotiation().group)
    _numbers = numbers_of(dist.get_rank(), nodes)
    for process_set in process_sets if process_sets is not None and not isinstance(process_sets, str) else ():
        add_process_set(process_set)


def shutdown() -> None:
    """Ends what init() began. Collective; what was not waited for ends now."""
    global _numbers  # pylint: disable=global-statement
    if _numbers is None:
        return
    close_all()
    forget_handles()
    _numbers = None
    if _is_own_group:
        dist.destroy_process_group()


def is_initialized() -> bool:
    """True between init() and shutdown()."""
    return _numbers is not None


def _own_numbers() -> RankNumbers:
    global_process_set.negotiation()  # @throws if there was no init()
    assert _numbers is not None
    return _numbers


def rank() -> int:
    """Number of this process in the job, from 0."""
    return global_process_set.negotiation().rank


def size() -> int:
    """Number of ranks of the job."""
    return global_process_set.negotiation().size


def local_rank() -> int:
    """Number of this rank among those of its node."""
    return _own_numbers().local_rank


def local_size() -> int:
    """Number of ranks of this rank's node."""
    return _own_numbers().local_size


def cross_rank() -> int:
    """Number of this rank among those with the same local rank."""
    return _own_numbers().cross_rank


def cross_size() -> int:
    """Number of ranks with this local rank: of nodes, where these have equally many ranks."""
    return _own_numbers().cross_size


def is_homogeneous() -> bool:
    """True if all nodes have the same number of ranks."""
    return _own_numbers().is_homogeneous

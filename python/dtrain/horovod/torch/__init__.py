# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Horovod's interface for torch, over torch.distributed and dtrain:

    import dtrain.horovod.torch as hvd

Names, arguments, results and gradients are Horovod's; docs/python.md says what differs."""
from __future__ import annotations

from torch.nn import SyncBatchNorm

from . import elastic
from ._asynchronous import (allgather_async, allreduce_async, allreduce_async_, alltoall_async, barrier, broadcast_async,
                            broadcast_async_, grouped_allgather_async, grouped_allreduce_async, grouped_allreduce_async_,
                            grouped_reducescatter_async, join, poll, reducescatter_async, sparse_allreduce_async,
                            synchronize)
from ._built import (ccl_built, cuda_built, ddl_built, gloo_built, gloo_enabled, mpi_built, mpi_enabled,
                     mpi_threads_supported, nccl_built, rocm_built)
from ._differentiable import (allgather, allreduce, allreduce_, alltoall, broadcast, broadcast_, grouped_allgather,
                              grouped_allreduce, grouped_allreduce_, grouped_reducescatter, reducescatter)
from ._errors import DuplicateNameError, HorovodInternalError
from ._objects import allgather_object, broadcast_object
from ._optimizer import DistributedOptimizer
from ._process_sets import ProcessSet, add_process_set, global_process_set, remove_process_set
from ._scaling import Reduction
from ._state import broadcast_optimizer_state, broadcast_parameters
from ._timeline import start_timeline, stop_timeline
from ._world import (cross_rank, cross_size, init, is_homogeneous, is_initialized, local_rank, local_size, rank, shutdown,
                     size)
from .compression import Compression

Average, Sum, Adasum, Min, Max, Product = Reduction

__all__ = ["Adasum", "Average", "Compression", "DistributedOptimizer", "DuplicateNameError", "HorovodInternalError", "Max",
           "Min", "ProcessSet", "Product", "Sum", "SyncBatchNorm", "add_process_set", "allgather", "allgather_async",
           "allgather_object", "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "alltoall",
           "alltoall_async", "barrier", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_",
           "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters", "ccl_built", "cross_rank",
           "cross_size", "cuda_built", "ddl_built", "elastic", "global_process_set", "gloo_built", "gloo_enabled",
           "grouped_allgather", "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_",
           "grouped_allreduce_async", "grouped_allreduce_async_", "grouped_reducescatter", "grouped_reducescatter_async",
           "init", "is_homogeneous", "is_initialized", "join", "local_rank", "local_size", "mpi_built", "mpi_enabled",
           "mpi_threads_supported", "nccl_built", "poll", "rank", "reducescatter", "reducescatter_async",
           "remove_process_set", "rocm_built", "shutdown", "size", "sparse_allreduce_async",
           "start_timeline", "stop_timeline", "synchronize"]

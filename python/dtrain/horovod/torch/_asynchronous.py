# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations that return a handle at once. poll() and synchronize() take it.

Ranks may start them in different orders: operations with the same name belong together. Those without one are matched by
how many of their kind a rank has started without a name."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence

import torch

from . import _negotiation, _operations
from ._process_sets import ProcessSet, global_process_set
from ._scaling import Reduction, reduction_of

Tensors = Sequence[torch.Tensor]


def _reduce(tensors: Tensors, average: Optional[bool], name: Optional[str], op: Any, before: float, after: float,
            process_set: ProcessSet, in_place: bool, is_group: bool) -> int:
    negotiation = process_set.negotiation()
    operation = _operations.AllReduce(tensors, reduction_of(op, average), (before, after), in_place, is_group)
    return _negotiation.start(negotiation, operation, name)


def allreduce_async(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None, op: Any = None,
                    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                    process_set: ProcessSet = global_process_set) -> int:
    """Reduces a tensor over the ranks; the result is a new one. @param op Average (what None means), Sum, Min, Max, Product"""
    return _reduce([tensor], average, name, op, prescale_factor, postscale_factor, process_set, False, False)


def allreduce_async_(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None, op: Any = None,
                     prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                     process_set: ProcessSet = global_process_set) -> int:
    """allreduce_async() in place."""
    return _reduce([tensor], average, name, op, prescale_factor, postscale_factor, process_set, True, False)


def grouped_allreduce_async(tensors: Tensors, average: Optional[bool] = None, name: Optional[str] = None, op: Any = None,
                            prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                            process_set: ProcessSet = global_process_set) -> int:
    """Reduces several tensors in one operation."""
    return _reduce(tensors, average, name, op, prescale_factor, postscale_factor, process_set, False, True)


def grouped_allreduce_async_(tensors: Tensors, average: Optional[bool] = None, name: Optional[str] = None, op: Any = None,
                             prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                             process_set: ProcessSet = global_process_set) -> int:
    """grouped_allreduce_async() in place."""
    return _reduce(tensors, average, name, op, prescale_factor, postscale_factor, process_set, True, True)


def sparse_allreduce_async(tensor: torch.Tensor, name: str, op: Any,
                           process_set: ProcessSet = global_process_set) -> Callable[[], torch.Tensor]:
    """Adds up sparse tensors, by gathering what they have. Returns a function that waits for the result."""
    reduction = reduction_of(op)
    if reduction not in (Reduction.Sum, Reduction.Average):
        raise ValueError(f"sparse_allreduce_async: op is {reduction.name}; sparse tensors have Sum and Average")
    indices = allgather_async(tensor._indices().t().contiguous(), f"{name}.indices", process_set)
    values = allgather_async(tensor._values(), f"{name}.values", process_set)

    def result() -> torch.Tensor:
        of_all, where = synchronize(values), synchronize(indices)
        if reduction is Reduction.Average:
            of_all = of_all / process_set.size()
        return torch.sparse_coo_tensor(where.t(), of_all, tensor.shape, check_invariants=False)

    return result


def _check_has_rows(tensors: Tensors, what: str) -> None:
    for tensor in tensors:
        if tensor.dim() == 0:
            raise ValueError(f"{what}: a tensor has no dimensions, and ranks share the first one: use tensor.reshape(1)")


def allgather_async(tensor: torch.Tensor, name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> int:
    """Joins the tensors of the ranks along the first dimension, in which they may differ."""
    _check_has_rows([tensor], "allgather")
    return _negotiation.start(process_set.negotiation(), _operations.AllGather([tensor], False), name)


def grouped_allgather_async(tensors: Tensors, name: Optional[str] = None,
                            process_set: ProcessSet = global_process_set) -> int:
    """Gathers several tensors in one operation."""
    _check_has_rows(tensors, "grouped_allgather")
    return _negotiation.start(process_set.negotiation(), _operations.AllGather(tensors, True), name)


def _broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str], process_set: ProcessSet, in_place: bool) -> int:
    negotiation = process_set.negotiation()
    if root_rank not in (process_set.ranks or ()):
        raise ValueError(f"broadcast: rank {root_rank} is not in {process_set}: root_rank is a rank of the job that is in it")
    return _negotiation.start(negotiation, _operations.Broadcast(tensor, root_rank, in_place), name)


def broadcast_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Sends root_rank's tensor to the others; the result is a new one."""
    return _broadcast(tensor, root_rank, name, process_set, False)


def broadcast_async_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> int:
    """broadcast_async() in place."""
    return _broadcast(tensor, root_rank, name, process_set, True)


def _rows_to_each(tensor: torch.Tensor, splits: Any, ranks: int) -> List[int]:
    rows = tensor.shape[0]
    if splits is None or len(splits) == 0:
        if rows % ranks:
            raise ValueError(f"alltoall: the first dimension is {rows}, which {ranks} ranks do not divide: pass splits")
        return [rows // ranks] * ranks
    if isinstance(splits, torch.Tensor) and splits.dtype is not torch.int32:
        raise ValueError(f"alltoall: splits has elements of {splits.dtype}: make it a tensor of torch.int32, or a list")
    to_each = [int(split) for split in splits]
    if len(to_each) != ranks or min(to_each) < 0 or sum(to_each) > rows:
        raise ValueError(f"alltoall: splits is {to_each}: {ranks} numbers from 0 are needed, which add up to at most {rows}, "
                         "the first dimension")
    return to_each


def alltoall_async(tensor: torch.Tensor, splits: Any = None, name: Optional[str] = None,
                   process_set: ProcessSet = global_process_set) -> int:
    """Sends splits[r] rows to rank r (None: equally many to each). The result is what was received, and how many rows came
    from each rank."""
    _check_has_rows([tensor], "alltoall")
    negotiation = process_set.negotiation()
    to_each = tuple(_rows_to_each(tensor, splits, negotiation.size))
    return _negotiation.start(negotiation, _operations.AllToAll([tensor], splits=to_each), name)


def _reduce_scatter(tensors: Tensors, name: Optional[str], op: Any, process_set: ProcessSet, before: float, after: float,
                    is_group: bool) -> int:
    _check_has_rows(tensors, "reducescatter")
    operation = _operations.ReduceScatter(tensors, reduction_of(op), (before, after), is_group)
    return _negotiation.start(process_set.negotiation(), operation, name)


def reducescatter_async(tensor: torch.Tensor, name: Optional[str] = None, op: Any = Reduction.Average,
                        process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                        postscale_factor: float = 1.0) -> int:
    """Reduces a tensor; each rank gets a part of its rows, the first ranks one more where they are not divisible."""
    return _reduce_scatter([tensor], name, op, process_set, prescale_factor, postscale_factor, False)


def grouped_reducescatter_async(tensors: Tensors, name: Optional[str] = None, op: Any = Reduction.Average,
                                process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                                postscale_factor: float = 1.0) -> int:
    """reducescatter_async() of several tensors in one operation."""
    return _reduce_scatter(tensors, name, op, process_set, prescale_factor, postscale_factor, True)


poll = _negotiation.poll
synchronize = _negotiation.synchronize


def join(device: int = -1) -> int:
    """For a rank that has no data left: takes part in allreduce operations of the others, with zeros, until all ranks have
    called join(). Returns the rank that did so last. @param device is not needed"""
    del device
    return global_process_set.negotiation().join()


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Returns when all ranks of the set have come."""
    synchronize(_negotiation.start(process_set.negotiation(), _operations.Barrier(), None))

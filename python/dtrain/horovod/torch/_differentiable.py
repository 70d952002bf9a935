# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations that wait, and through which gradients flow. The gradients are Horovod's: where results are on all ranks, the
average of theirs."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import torch

from . import _asynchronous as asynchronous
from ._asynchronous import synchronize
from ._process_sets import ProcessSet, global_process_set
from ._scaling import Reduction, reduction_of
from .compression import Compression

Tensors = Sequence[torch.Tensor]


class _AllReduce(torch.autograd.Function):  # type: ignore[misc]  # torch declares it without types
    @staticmethod
    def forward(ctx: Any, options: Any, name: Optional[str], *tensors: torch.Tensor) -> Any:
        ctx.options = options
        return tuple(synchronize(asynchronous.grouped_allreduce_async(tensors, name=name, **options)))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return (None, None, *grouped_allreduce(gradients, **ctx.options))


class _AllGather(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, process_set: ProcessSet, name: Optional[str], *tensors: torch.Tensor) -> Any:
        ctx.process_set = process_set
        gathered = synchronize(asynchronous.grouped_allgather_async(tensors, name, process_set))
        ctx.rows = [tensor.shape[0] for tensor in tensors]
        return tuple(gathered)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        process_set = ctx.process_set
        averages = grouped_allreduce(gradients, process_set=process_set)
        rows = allgather(torch.tensor([ctx.rows]), process_set=process_set)
        begins = rows[:process_set.rank()].sum(0).tolist()
        return (None, None, *(average.narrow(0, begin, count) for average, begin, count in zip(averages, begins, ctx.rows)))


class _Broadcast(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, root_rank: int, name: Optional[str], process_set: ProcessSet) -> Any:
        ctx.process_set = process_set
        ctx.is_root = process_set.ranks[process_set.rank()] == root_rank
        return synchronize(asynchronous.broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        average = allreduce(gradient, process_set=ctx.process_set)
        return average if ctx.is_root else torch.zeros_like(average), None, None, None


class _AllToAll(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, splits: Any, name: Optional[str], process_set: ProcessSet) -> Any:
        ctx.process_set = process_set
        output, received = synchronize(asynchronous.alltoall_async(tensor, splits, name, process_set))
        ctx.rows = tensor.shape[0]
        ctx.received = received
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, _received: Any) -> Any:
        back = alltoall(gradient, ctx.received, process_set=ctx.process_set)[0]
        unsent = ctx.rows - back.shape[0]
        if unsent:
            back = torch.cat([back, back.new_zeros((unsent, *back.shape[1:]))])
        return back, None, None, None


class _ReduceScatter(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, options: Any, name: Optional[str], *tensors: torch.Tensor) -> Any:
        ctx.options = options
        return tuple(synchronize(asynchronous.grouped_reducescatter_async(tensors, name, **options)))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        options = ctx.options
        process_set = options["process_set"]
        factor = options["prescale_factor"] * options["postscale_factor"]
        if reduction_of(options["op"]) is Reduction.Sum:
            factor *= process_set.size()
        return (None, None, *grouped_allgather([gradient * factor for gradient in gradients], process_set=process_set))


def _compressed(tensors: Tensors, compression: Any) -> Tuple[List[torch.Tensor], List[Any]]:
    pairs = [compression.compress(tensor) for tensor in tensors]
    return [tensor for tensor, _context in pairs], [context for _tensor, context in pairs]


def _decompressed(tensors: Tensors, contexts: Sequence[Any], compression: Any) -> List[torch.Tensor]:
    return [compression.decompress(tensor, context) for tensor, context in zip(tensors, contexts)]


def allreduce(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
              compression: Any = Compression.none, op: Any = None, prescale_factor: float = 1.0,
              postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Reduces a tensor over the ranks; the result is a new one. @param op Average (what None means), Sum, Min, Max, Product"""
    return grouped_allreduce([tensor], average, name, compression, op, prescale_factor, postscale_factor, process_set)[0]


def grouped_allreduce(tensors: Tensors, average: Optional[bool] = None, name: Optional[str] = None,
                      compression: Any = Compression.none, op: Any = None, prescale_factor: float = 1.0,
                      postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set) -> List[torch.Tensor]:
    """Reduces several tensors in one operation."""
    options = {"op": reduction_of(op, average), "prescale_factor": prescale_factor, "postscale_factor": postscale_factor,
               "process_set": process_set}
    sent, contexts = _compressed(tensors, compression)
    return _decompressed(_AllReduce.apply(options, name, *sent), contexts, compression)


def allreduce_(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None, op: Any = None,
               prescale_factor: float = 1.0, postscale_factor: float = 1.0,
               process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """allreduce() in place, without gradients."""
    reduced: torch.Tensor = synchronize(asynchronous.allreduce_async_(tensor, average, name, op, prescale_factor,
                                                                      postscale_factor, process_set))
    return reduced


def grouped_allreduce_(tensors: Tensors, average: Optional[bool] = None, name: Optional[str] = None, op: Any = None,
                       prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                       process_set: ProcessSet = global_process_set) -> List[torch.Tensor]:
    """grouped_allreduce() in place, without gradients."""
    reduced: List[torch.Tensor] = synchronize(asynchronous.grouped_allreduce_async_(
        tensors, average, name, op, prescale_factor, postscale_factor, process_set))
    return reduced


def allgather(tensor: torch.Tensor, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Joins the tensors of the ranks along the first dimension, in which they may differ."""
    return grouped_allgather([tensor], name, process_set)[0]


def grouped_allgather(tensors: Tensors, name: Optional[str] = None,
                      process_set: ProcessSet = global_process_set) -> List[torch.Tensor]:
    """Gathers several tensors in one operation."""
    return list(_AllGather.apply(process_set, name, *tensors))


def broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """root_rank's tensor, on all ranks."""
    received: torch.Tensor = _Broadcast.apply(tensor, root_rank, name, process_set)
    return received


def broadcast_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
               process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """broadcast() in place, without gradients."""
    received: torch.Tensor = synchronize(asynchronous.broadcast_async_(tensor, root_rank, name, process_set))
    return received


def alltoall(tensor: torch.Tensor, splits: Any = None, name: Optional[str] = None,
             process_set: ProcessSet = global_process_set) -> Any:
    """Sends splits[r] rows to rank r (None: equally many to each). Returns what was received, and with splits also how many
    rows came from each rank."""
    output, received = _AllToAll.apply(tensor, splits, name, process_set)
    return output if splits is None else (output, received)


def reducescatter(tensor: torch.Tensor, name: Optional[str] = None, compression: Any = Compression.none,
                  op: Any = Reduction.Average, process_set: ProcessSet = global_process_set,
                  prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> torch.Tensor:
    """Reduces a tensor; each rank gets a part of its rows, the first ranks one more where they are not divisible."""
    return grouped_reducescatter([tensor], name, compression, op, process_set, prescale_factor, postscale_factor)[0]


def grouped_reducescatter(tensors: Tensors, name: Optional[str] = None, compression: Any = Compression.none,
                          op: Any = Reduction.Average, process_set: ProcessSet = global_process_set,
                          prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> List[torch.Tensor]:
    """reducescatter() of several tensors in one operation."""
    options = {"op": op, "process_set": process_set, "prescale_factor": prescale_factor,
               "postscale_factor": postscale_factor}
    sent, contexts = _compressed(tensors, compression)
    return _decompressed(_ReduceScatter.apply(options, name, *sent), contexts, compression)

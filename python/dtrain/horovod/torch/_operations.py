# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How each kind of operation is carried out, once all ranks have asked for it."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist

from ...torch._tensors import joined, split
from .._requests import ALLGATHER, ALLREDUCE, ALLTOALL, BARRIER, BROADCAST, REDUCESCATTER, Request
from ._errors import HorovodInternalError
from ._scaling import Plan, Reduction, multiply_


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).rpartition(".")[2]


def rows_of_rank(rows: int, rank: int, ranks: int) -> int:
    """Rows of a result that is divided among ranks: the first ones have one more, where they are not divisible."""
    return rows // ranks + (rank < rows % ranks)


class Operation:
    """An operation of this rank. Its tensors stay as they are until it has begun."""

    kind = ""

    def __init__(self, tensors: Sequence[torch.Tensor] = (), **details: Any):
        self.tensors = [tensor.detach() for tensor in tensors]
        self.details = details
        self.has_begun = False
        self._works: List[Any] = []
        self._finish: List[Callable[[], None]] = []
        self._error: Optional[BaseException] = None
        self._result: Any = None

    def request(self, name: str) -> Request:
        """What the other ranks hear of it."""
        return Request(self.kind, name, tuple(_name_of(tensor.dtype) for tensor in self.tensors),
                       tuple(tuple(tensor.shape) for tensor in self.tensors),
                       self.tensors[0].device.type if self.tensors else "cpu", **self.details)

    def begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        """Starts it. @param rank of this process in the group @param requests of all ranks"""
        self.has_begun = True
        try:
            self._begin(group, rank, requests)
        except (RuntimeError, ValueError) as error:
            self._error = error

    def fail(self, problem: str) -> None:
        """It cannot be carried out."""
        self.has_begun = True
        self._error = HorovodInternalError(problem)

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        raise NotImplementedError

    def is_complete(self) -> bool:
        """True if wait() returns at once."""
        return self.has_begun and all(work.is_completed() for work in self._works)

    def wait(self) -> Any:
        """Waits for what begin() has started, and returns the result."""
        try:
            works, self._works = self._works, []
            for work in works:
                work.wait()
            finish, self._finish = self._finish, []
            for step in finish:
                step()
        except RuntimeError as error:
            self._error = self._error or error
        if self._error is not None:
            if isinstance(self._error, RuntimeError) and not isinstance(self._error, HorovodInternalError):
                raise HorovodInternalError(str(self._error)) from self._error
            raise self._error
        return self._result

    def _started(self, work: Any, finish: Optional[Callable[[], None]] = None) -> None:
        if work is not None:  # torch has none where this rank is not in the group
            self._works.append(work)
        if finish is not None:
            self._finish.append(finish)


class AllReduce(Operation):
    """Reduces tensors; those of one type in one go. In place: into the tensors themselves."""

    kind = ALLREDUCE

    def __init__(self, tensors: Sequence[torch.Tensor], reduction: Reduction, factors: Tuple[float, float], in_place: bool,
                 is_group: bool):
        targets = tensors if in_place else [tensor.detach().clone(memory_format=torch.contiguous_format) for tensor in tensors]
        super().__init__(targets, reduction=reduction.name, factors=factors)
        self._result = list(targets) if is_group else targets[0]

    @classmethod
    def of_zeros(cls, request: Request) -> "AllReduce":
        """What a rank without data contributes to an operation of the others."""
        zeros = [torch.zeros(shape, dtype=getattr(torch, dtype), device=request.device)
                 for shape, dtype in zip(request.shapes, request.types)]
        return cls(zeros, Reduction[request.reduction], request.factors, True, True)

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        alike: Dict[Any, List[torch.Tensor]] = {}
        for tensor in self.tensors:
            alike.setdefault((tensor.dtype, tensor.device), []).append(tensor)
        before, after = self.details["factors"]
        for (dtype, _device), tensors in alike.items():
            plan = Plan(Reduction[self.details["reduction"]], dtype, group)
            is_whole = len(tensors) == 1 and tensors[0].is_contiguous()
            buffer = tensors[0] if is_whole else joined(tensors)
            multiply_(buffer, before)

            def finish(buffer: torch.Tensor = buffer, plan: Plan = plan,
                       targets: Optional[List[torch.Tensor]] = None if is_whole else tensors) -> None:
                multiply_(buffer, after, plan.divisor)
                if targets is not None:
                    split(buffer, targets)

            self._started(dist.all_reduce(buffer, plan.operation, group, async_op=True), finish)


class AllGather(Operation):
    """Joins tensors along the first dimension, in the order of the ranks."""

    kind = ALLGATHER

    def __init__(self, tensors: Sequence[torch.Tensor], is_group: bool):
        super().__init__(tensors)
        self._is_group = is_group

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        outputs = []
        for number, tensor in enumerate(self.tensors):
            rows = [requests[other].shapes[number][0] for other in range(len(requests))]
            output = tensor.new_empty((sum(rows), *tensor.shape[1:]))
            self._started(dist.all_gather(list(output.split(rows)), tensor.contiguous(), group, async_op=True))
            outputs.append(output)
        self._result = outputs if self._is_group else outputs[0]


class Broadcast(Operation):
    """Sends the root's tensor. In place: into the tensor itself."""

    kind = BROADCAST

    def __init__(self, tensor: torch.Tensor, root: int, in_place: bool):
        target = tensor if in_place else tensor.detach().clone(memory_format=torch.contiguous_format)
        super().__init__([target], root=root)
        self._result = target

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        self._started(dist.broadcast(self.tensors[0], self.details["root"], group, async_op=True))


class AllToAll(Operation):
    """Sends rows to each rank. The result is a tensor and how many rows of it came from each rank."""

    kind = ALLTOALL

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        tensor = self.tensors[0]
        to_each = list(self.details["splits"])
        from_each = [(requests[other].splits or ())[rank] for other in range(len(requests))]
        output = tensor.new_empty((sum(from_each), *tensor.shape[1:]))
        rows = tensor[:sum(to_each)].contiguous()
        self._started(dist.all_to_all_single(output, rows, from_each, to_each, group, async_op=True))
        self._result = output, torch.tensor(from_each, dtype=torch.int32)


class ReduceScatter(Operation):
    """Reduces tensors; each rank has a part of the rows of the result."""

    kind = REDUCESCATTER

    def __init__(self, tensors: Sequence[torch.Tensor], reduction: Reduction, factors: Tuple[float, float], is_group: bool):
        super().__init__(tensors, reduction=reduction.name, factors=factors)
        self._is_group = is_group

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        ranks = dist.get_world_size(group)
        before, after = self.details["factors"]
        outputs = []
        for tensor in self.tensors:
            plan = Plan(Reduction[self.details["reduction"]], tensor.dtype, group)
            scaled = tensor.contiguous() if before == 1.0 else tensor.clone(memory_format=torch.contiguous_format)
            multiply_(scaled, before)
            rows = [rows_of_rank(tensor.shape[0], other, ranks) for other in range(ranks)]
            output = tensor.new_empty((rows[rank], *tensor.shape[1:]))
            blocks = list(scaled.split(rows))
            self._started(dist.reduce_scatter(output, blocks, plan.operation, group, async_op=True),
                          lambda output=output, plan=plan: multiply_(output, after, plan.divisor))
            outputs.append(output)
        self._result = outputs if self._is_group else outputs[0]


class Barrier(Operation):
    """Complete when all ranks have asked for it: nothing is exchanged."""

    kind = BARRIER

    def _begin(self, group: Any, rank: int, requests: Mapping[int, Request]) -> None:
        pass

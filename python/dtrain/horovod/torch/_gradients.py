# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that are reduced while the backward pass goes on.

They go in buckets that are the same on all ranks and in every step, so that a result does not depend on the order in which
gradients come. A bucket is asked for once its last gradient is there; what is missing at the end of the pass counts as 0."""
from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from ._asynchronous import grouped_allreduce_async_, sparse_allreduce_async, synchronize
from ._process_sets import ProcessSet
from ._scaling import Reduction


class _Bucket:
    def __init__(self, parameters: List[torch.Tensor]):
        self.parameters = parameters
        self.waits_for = len(parameters)
        self.handle = 0  #: of its operation; 0: not asked for
        self.sent: List[Tuple[torch.Tensor, torch.Tensor, Any]] = []  #: parameter, what is reduced, the compression's context


class GradientExchange:
    """The gradients of an optimizer."""

    def __init__(self, names: Dict[torch.Tensor, str], buckets: Sequence[List[torch.Tensor]], passes: int,
                 compression: Any, op: Reduction, factors: Tuple[float, float], sparse_as_dense: bool,
                 process_set: ProcessSet):
        """@param passes backward passes whose gradients are added up first"""
        self._number = process_set.next_optimizer()
        self._names = names
        self._buckets = [_Bucket(list(parameters)) for parameters in buckets]
        self._of = {parameter: bucket for bucket in self._buckets for parameter in bucket.parameters}
        self.passes = passes
        self._passes_left = dict.fromkeys(self._of, passes)
        self._compression = compression
        self._op = op
        self._factors = factors
        self._sparse_as_dense = sparse_as_dense
        self._process_set = process_set
        self._sparse: Dict[torch.Tensor, Callable[[], torch.Tensor]] = {}
        self.is_under_way = False  #: a gradient has come since finish()
        come = weakref.WeakMethod(self._come)  # parameters outlive their optimizer

        def hook(parameter: torch.Tensor) -> None:
            method = come()
            if method is not None:
                method(parameter)

        for parameter in self._of:
            parameter.register_post_accumulate_grad_hook(hook)

    def reset(self) -> None:
        """Nothing has come yet."""
        for bucket in self._buckets:
            bucket.waits_for, bucket.handle, bucket.sent = len(bucket.parameters), 0, []
        self._passes_left = dict.fromkeys(self._of, self.passes)
        self._sparse.clear()
        self.is_under_way = False

    def _come(self, parameter: torch.Tensor) -> None:
        left = self._passes_left[parameter]
        if left == 0:
            raise AssertionError(f"the gradient of {self._names[parameter]} was computed more often than "
                                 f"backward_passes_per_step ({self.passes}) before step(): call step() or synchronize() "
                                 "first, or make backward_passes_per_step larger")
        self._passes_left[parameter] = left - 1
        self.is_under_way = True
        if left == 1:
            bucket = self._of[parameter]
            bucket.waits_for -= 1
            if bucket.waits_for == 0:
                self._ask_for(bucket)
            self._process_set.negotiation().progress()

    def _ask_for(self, bucket: _Bucket) -> None:
        for parameter in bucket.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            gradient = parameter.grad
            if not gradient.is_sparse:
                bucket.sent.append((parameter, *self._compression.compress(gradient)))
            elif self._sparse_as_dense:
                bucket.sent.append((parameter, *self._compression.compress(gradient.to_dense())))
            else:
                name = f"optimizer.{self._number}.{self._names[parameter]}"
                self._sparse[parameter] = sparse_allreduce_async(gradient, name, self._op, self._process_set)
        bucket.handle = -1
        if bucket.sent:
            before, after = self._factors
            bucket.handle = grouped_allreduce_async_(
                [tensor for _parameter, tensor, _context in bucket.sent], None,
                f"optimizer.{self._number}.{self._buckets.index(bucket)}", self._op, before, after, self._process_set)

    def finish(self) -> None:
        """Gradients are what the ranks have computed together."""
        for bucket in self._buckets:
            if not bucket.handle:
                self._ask_for(bucket)
        for bucket in self._buckets:
            synchronize(bucket.handle)
            for parameter, tensor, context in bucket.sent:
                self._put(parameter, self._compression.decompress(tensor, context))
        for parameter, result in self._sparse.items():
            parameter.grad = result()
        self.reset()

    @staticmethod
    def _put(parameter: torch.Tensor, reduced: torch.Tensor) -> None:
        gradient = parameter.grad
        assert gradient is not None
        if gradient.is_sparse:
            parameter.grad = reduced.to_sparse(gradient.sparse_dim())
        elif reduced is not gradient:
            gradient.copy_(reduced)

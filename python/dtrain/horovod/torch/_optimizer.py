# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers whose step() takes the gradients of all ranks."""
from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

import torch

from ._buckets import buckets_of, check_groups
from ._gradients import GradientExchange
from ._process_sets import ProcessSet, global_process_set
from ._scaling import Reduction, reduction_of
from .compression import Compression


class _Distributed:
    """What a distributed optimizer has in addition to its own class."""

    backward_passes_per_step: int
    param_groups: List[Dict[str, Any]]
    _parameter_names: Dict[torch.Tensor, str]
    _exchange: Optional[GradientExchange]
    _synchronized = False
    _should_synchronize = True

    def synchronize(self) -> None:
        """Waits until the gradients are those of all ranks: before they are clipped, for example."""
        if self._exchange is not None:
            self._exchange.finish()
        self._synchronized = True

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """step() within it takes the gradients as they are, after synchronize()."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure: Any = None) -> Any:
        """Synchronizes, and updates the parameters."""
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn("optimizer.step() called without optimizer.skip_synchronize() after optimizer.synchronize(): "
                              "gradients are reduced twice: write 'with optimizer.skip_synchronize(): optimizer.step()'")
            self.synchronize()
        self._synchronized = False
        return super().step(closure)  # type: ignore[misc]  # of the optimizer's class

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """As the optimizer's, between step() and backward()."""
        if self._exchange is not None and self._exchange.is_under_way:
            raise AssertionError("optimizer.zero_grad() was called after backward() and before step() or synchronize(), while "
                                 "gradients are exchanged: call it after step()")
        super().zero_grad(*args, **kwargs)  # type: ignore[misc]

    def load_state_dict(self, *args: Any, **kwargs: Any) -> None:
        """As the optimizer's; gradients of an unfinished step are forgotten."""
        if self._exchange is not None:
            self._exchange.reset()
        self._synchronized, self._should_synchronize = False, True
        super().load_state_dict(*args, **kwargs)  # type: ignore[misc]

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Backward passes whose gradients are added up before the ranks reduce them."""
        self.backward_passes_per_step = passes
        if self._exchange is not None:
            self._exchange.passes = passes
            self._exchange.reset()


def _names_of(optimizer: torch.optim.Optimizer, named_parameters: Any) -> Dict[torch.Tensor, str]:
    """By parameter."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if named_parameters is None:
        return {parameter: f"noname.{number}.{position}" for number, group in enumerate(optimizer.param_groups)
                for position, parameter in enumerate(group["params"])}
    named = list(named_parameters)
    wrong = [each for each in named if not isinstance(each, tuple)]
    if wrong:
        raise ValueError(f"named_parameters has a {type(wrong[0]).__name__} where (name, parameter) is needed: pass "
                         "model.named_parameters()")
    names = [name for name, _parameter in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"named_parameters has names more than once: {', '.join(twice)}: put the module's name before them")
    of_parameter = {parameter: name for name, parameter in named}
    unnamed = [parameter for parameter in parameters if parameter not in of_parameter]
    if unnamed:
        raise ValueError(f"named_parameters lacks {len(unnamed)} of the optimizer's {len(parameters)} parameters, the first "
                         f"of shape {tuple(unnamed[0].shape)}: name all, or leave named_parameters out")
    return of_parameter


def DistributedOptimizer(optimizer: torch.optim.Optimizer,  # pylint: disable=invalid-name  # Horovod's name
                         named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
                         compression: Any = Compression.none, backward_passes_per_step: int = 1,
                         op: Any = Reduction.Average, gradient_predivide_factor: float = 1.0, num_groups: int = 0,
                         groups: Any = None, sparse_as_dense: bool = False,
                         process_set: ProcessSet = global_process_set) -> Any:
    """An optimizer of the same class, with the same parameters and state, whose step() takes the gradients of all ranks.
    @param gradient_predivide_factor divides gradients before they are added up, and the rest of the ranks' number after
    @param groups how many groups of parameters, or which, are reduced in one operation; None: by size
    @param sparse_as_dense sparse gradients are sent as dense ones, and become sparse again"""
    reduction = reduction_of(op)
    if gradient_predivide_factor != 1.0 and reduction is not Reduction.Average:
        raise ValueError(f"gradient_predivide_factor={gradient_predivide_factor} needs op=Average, and op is {reduction.name}")
    if backward_passes_per_step <= 0:
        raise ValueError(f"backward_passes_per_step={backward_passes_per_step}: pass a number from 1")
    if num_groups:
        warnings.warn("num_groups is deprecated: use groups", DeprecationWarning)
        groups = num_groups if groups is None else groups
    if groups is not None:
        check_groups(groups)
    names = _names_of(optimizer, named_parameters)
    kind = type(type(optimizer).__name__, (_Distributed, type(optimizer)), {})
    made: Any = kind.__new__(kind)
    made.__dict__.update(optimizer.__dict__)
    made.__dict__.pop("step", None)  # a scheduler's, for the other one
    made._parameter_names = names
    made.backward_passes_per_step = backward_passes_per_step
    made.process_set = process_set
    made._exchange = None
    if process_set.included() and process_set.size() != 1:
        trained = [parameter for group in optimizer.param_groups for parameter in group["params"] if parameter.requires_grad]
        made._exchange = GradientExchange(
            names, buckets_of(trained, groups), backward_passes_per_step, compression, reduction,
            (1.0 / gradient_predivide_factor, gradient_predivide_factor), sparse_as_dense, process_set)
    return made

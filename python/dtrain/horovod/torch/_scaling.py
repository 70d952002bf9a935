# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How torch.distributed carries out a reduction of Horovod, and what is multiplied before and after it."""
from __future__ import annotations

from enum import IntEnum
from typing import Any, Optional

import torch
import torch.distributed as dist


class Reduction(IntEnum):
    """How the elements of ranks become one. The numbers are Horovod's."""

    Average = 0  # pylint: disable=invalid-name  # Horovod's names
    Sum = 1  # pylint: disable=invalid-name
    Adasum = 2  # pylint: disable=invalid-name
    Min = 3  # pylint: disable=invalid-name
    Max = 4  # pylint: disable=invalid-name
    Product = 5  # pylint: disable=invalid-name


_OF_TORCH = {Reduction.Sum: dist.ReduceOp.SUM, Reduction.Min: dist.ReduceOp.MIN, Reduction.Max: dist.ReduceOp.MAX,
             Reduction.Product: dist.ReduceOp.PRODUCT}


def reduction_of(operation: Any, average: Optional[bool] = None) -> Reduction:
    """The reduction of the arguments op and average. Both None: Average."""
    if operation is None:
        return Reduction.Sum if average is False else Reduction.Average
    if average is not None:
        raise ValueError("op and average were both given: leave average out, op replaces it")
    try:
        reduction = Reduction(operation)
    except ValueError:
        raise ValueError(f"op={operation!r} is no reduction: use hvd.Average, Sum, Min, Max or Product") from None
    if reduction is Reduction.Adasum:
        raise NotImplementedError("hvd.Adasum is not done by dtrain: use op=hvd.Average, with the learning rate for it")
    return reduction


def multiply_(tensor: torch.Tensor, factor: float, divisor: int = 1) -> None:
    """tensor *= factor / divisor, in place: integers in double and then cut, halves in float."""
    if factor == 1.0 and divisor == 1:
        return
    if not tensor.dtype.is_floating_point:
        tensor.copy_((tensor.double() * factor).div(divisor).to(tensor.dtype))
    elif tensor.element_size() < 4:
        tensor.copy_(tensor.float() * (factor / divisor))
    else:
        tensor.mul_(factor / divisor)


class Plan:
    """What is done to the elements of one type."""

    def __init__(self, reduction: Reduction, dtype: torch.dtype, group: Any):
        ranks = dist.get_world_size(group)
        averages = reduction is Reduction.Average
        in_one = averages and dtype.is_floating_point and "gloo" not in dist.get_backend_config(group)
        self.operation = dist.ReduceOp.AVG if in_one else _OF_TORCH[Reduction.Sum if averages else reduction]
        self.divisor = ranks if averages and not in_one else 1

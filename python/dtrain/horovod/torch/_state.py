# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters and states of optimizers, as one rank has them, on all."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

import torch

from ._asynchronous import broadcast_async_, synchronize
from ._objects import broadcast_object
from ._world import rank


class _Shape(NamedTuple):
    """In place of a tensor that follows."""

    shape: Tuple[int, ...]
    dtype: torch.dtype


def broadcast_parameters(params: Any, root_rank: int) -> None:
    """Gives all ranks the tensors of root_rank, in place.
    @param params state_dict(), named_parameters(), or a list of tensors"""
    if isinstance(params, dict):
        named = sorted(params.items())
    elif isinstance(params, torch.Tensor):
        raise ValueError("broadcast_parameters: a tensor was passed: pass a list, or model.state_dict()")
    else:
        try:
            named = [param if isinstance(param, tuple) else (None, param) for param in params]
        except TypeError:
            raise ValueError(f"broadcast_parameters: {type(params).__name__} is neither a dict nor a list: pass "
                             "model.state_dict() or model.named_parameters()") from None
    handles = [broadcast_async_(tensor, root_rank, name) for name, tensor in named if isinstance(tensor, torch.Tensor)]
    for handle in handles:
        synchronize(handle)


def _without_tensors(value: Any, tensors: List[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Shape(tuple(value.shape), value.dtype)
    if isinstance(value, dict):
        return {key: _without_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_without_tensors(item, tensors) for item in value)
    return value


def _with_tensors(value: Any, tensors: List[torch.Tensor]) -> Any:
    if isinstance(value, _Shape):
        tensors.append(torch.empty(value.shape, dtype=value.dtype))
        return tensors[-1]
    if isinstance(value, dict):
        return {key: _with_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_with_tensors(item, tensors) for item in value)
    return value


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int, model: Any = None) -> None:
    """Gives all ranks the state and the options of root_rank's optimizer. @param model is not needed"""
    del model
    is_root = rank() == root_rank
    tensors: List[torch.Tensor] = []
    outline = broadcast_object(_without_tensors(optimizer.state_dict(), tensors) if is_root else None, root_rank)
    state: Dict[str, Any] = {} if is_root else _with_tensors(outline, tensors)
    # A state may lie on a GPU, and is received in host memory
    moved = [tensor.detach().cpu() for tensor in tensors]
    broadcast_parameters(moved, root_rank)
    if not is_root:
        optimizer.load_state_dict(state)

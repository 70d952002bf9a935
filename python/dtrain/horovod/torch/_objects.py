# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Objects that ranks send each other, by pickle; by cloudpickle where it is installed."""
from __future__ import annotations

import pickle
from typing import Any, List, Optional

import torch

from ._differentiable import allgather, broadcast_
from ._process_sets import ProcessSet, global_process_set
from ._world import rank

try:
    from cloudpickle import dumps as _dumps
except ImportError:
    from pickle import dumps as _dumps


def _tensor_of(value: Any) -> torch.Tensor:
    return torch.frombuffer(bytearray(_dumps(value)), dtype=torch.uint8)


def _object_of(tensor: torch.Tensor) -> Any:
    return pickle.loads(tensor.numpy().tobytes())


def _part(name: Optional[str], what: str) -> Optional[str]:
    return None if name is None else f"{name}.{what}"


def broadcast_object(obj: Any, root_rank: int = 0, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> Any:
    """The object of root_rank, on all ranks."""
    is_root = rank() == root_rank
    data = _tensor_of(obj) if is_root else torch.empty(0, dtype=torch.uint8)
    size = broadcast_(torch.tensor([data.numel()]), root_rank, _part(name, "size"), process_set)
    if not is_root:
        data = torch.empty(int(size.item()), dtype=torch.uint8)
    broadcast_(data, root_rank, _part(name, "data"), process_set)
    return obj if is_root else _object_of(data)


def allgather_object(obj: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> List[Any]:
    """The objects of all ranks, in order."""
    data = _tensor_of(obj)
    sizes = allgather(torch.tensor([data.numel()]), _part(name, "size"), process_set)
    return [_object_of(part) for part in allgather(data, _part(name, "data"), process_set).split(sizes.tolist())]

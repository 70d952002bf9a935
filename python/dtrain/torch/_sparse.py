# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Sums of sparse tensors (COO), as DDP forms them of the gradients of embeddings: each rank gets all ranks' entries."""
from __future__ import annotations

from typing import Any, Callable, List, Sequence

import torch

from .._errors import UsageError
from ._tensors import AVERAGE, SUM

#: Gives all ranks' tensors; their first dimensions may differ and are passed.
Gather = Callable[[torch.Tensor, List[int]], List[torch.Tensor]]


def all_reduce_sparse(tensors: Sequence[Any], reduction: int, ranks: int, gather: Gather, what: str) -> None:
    """In place. Collective. @param tensors one; several are summed, and each gets the result @param reduction dtrain_reduction"""
    if reduction != SUM and (reduction != AVERAGE or len(tensors) > 1):
        raise UsageError(f"{what}: unsupported reduction operation: a sparse tensor is reduced by SUM and AVG only, several of them by "
                         "SUM; use to_dense() for others")
    mine = sum(tensors[1:], tensors[0]).coalesce()
    entries = [int(count) for count in gather(torch.tensor([mine._nnz()]), [1] * ranks)]  # pylint: disable=protected-access
    indices = torch.cat(gather(mine.indices().t().contiguous(), entries))
    values = torch.cat(gather(mine.values().contiguous(), entries))
    total = torch.sparse_coo_tensor(indices.t(), values, mine.size()).coalesce()
    for tensor in tensors:
        tensor.copy_(total / ranks if reduction == AVERAGE else total)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Sums of sparse tensors (COO), as DDP forms them of the gradients of embeddings: each rank gets all ranks' entries."""
from __future__ import annotations

from typing import Any, Callable, List

import torch

from ._tensors import AVERAGE, SUM

#: Gives all ranks' tensors; their first dimensions may differ and are passed.
Gather = Callable[[torch.Tensor, List[int]], List[torch.Tensor]]


def all_reduce_sparse(tensor: Any, reduction: int, ranks: int, gather: Gather, what: str) -> None:
    """In place. Collective. @param reduction dtrain_reduction"""
    if reduction not in (SUM, AVERAGE):
        raise ValueError(f"{what}: sparse tensors are reduced by SUM and AVG only; use to_dense() for others")
    mine = tensor.coalesce()
    entries = [int(count) for count in gather(torch.tensor([mine._nnz()]), [1] * ranks)]  # pylint: disable=protected-access
    places = torch.cat(gather(mine.indices().t().contiguous(), entries))
    values = torch.cat(gather(mine.values().contiguous(), entries))
    total = torch.sparse_coo_tensor(places.t(), values, mine.size()).coalesce()
    tensor.copy_(total / ranks if reduction == AVERAGE else total)

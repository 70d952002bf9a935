# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Tensors as the memory that dtrain/c_api.h takes."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.distributed import ReduceOp

SUM, AVERAGE, MIN, MAX, PRODUCT, BIT_AND, BIT_OR, BIT_XOR = range(8)  # dtrain_reduction

#: dtrain_type by type of the elements; torch has unsigned types of several bytes since 2.3
REDUCIBLE: Dict[torch.dtype, int] = {
    getattr(torch, name): number
    for name, number in (("float32", 0), ("float64", 1), ("float16", 2), ("bfloat16", 3), ("int32", 4), ("int64", 5),
                         ("uint8", 6), ("int8", 7), ("int16", 8), ("uint16", 9), ("uint32", 10), ("uint64", 11))
    if hasattr(torch, name)}
_UINT8 = 6

_REDUCTIONS = {getattr(ReduceOp.RedOpType, name): number
               for name, number in (("SUM", SUM), ("AVG", AVERAGE), ("MIN", MIN), ("MAX", MAX), ("PRODUCT", PRODUCT),
                                    ("BAND", BIT_AND), ("BOR", BIT_OR), ("BXOR", BIT_XOR))}
#: A bool is a byte of 0 or 1: their sum is "any", their product "all".
_OF_BOOLS = {SUM: MAX, PRODUCT: MIN, MIN: MIN, MAX: MAX, BIT_AND: BIT_AND, BIT_OR: BIT_OR, BIT_XOR: BIT_XOR}


def reduction_of(operation: Any, what: str) -> int:
    """dtrain_reduction of a ReduceOp."""
    kind = getattr(operation, "op", operation)
    try:
        return _REDUCTIONS[kind]
    except KeyError:
        raise ValueError(f"{what}: the back end dtrain does not reduce by {kind}; it has SUM, AVG, MIN, MAX, PRODUCT, BAND, "
                         "BOR and BXOR") from None


def type_and_reduction(tensor: torch.Tensor, reduction: int, what: str) -> Tuple[int, int]:
    """dtrain_type, and how its elements are reduced."""
    dtype = tensor.dtype
    found = REDUCIBLE.get(dtype)
    if found is not None:
        if reduction >= BIT_AND and dtype.is_floating_point:
            raise ValueError(f"{what}: BAND, BOR and BXOR are for integers and bools, and the tensor has {dtype}")
        return found, reduction
    if dtype is torch.bool:
        if reduction not in _OF_BOOLS:
            raise ValueError(f"{what}: bools have no average; convert the tensor to float first")
        return _UINT8, _OF_BOOLS[reduction]
    raise ValueError(f"{what}: elements of {dtype} cannot be reduced by the back end dtrain; convert the tensor to a type of "
                     "float or int of at least 8 bits first")


def check_is_here(tensor: Any, what: str) -> None:
    """Only strided tensors in host memory."""
    if not tensor.is_cpu:
        raise ValueError(f"{what}: the tensor is on {tensor.device}, and the back end dtrain moves tensors in host memory: use "
                         "nccl for this group (new_group(backend=\"nccl\")), or tensor.cpu()")
    if tensor.layout is not torch.strided:
        raise ValueError(f"{what}: the tensor has the layout {tensor.layout}, and only strided tensors can be exchanged: use "
                         "to_dense(), or DDP with sparse=False of the embedding")


def in_memory(tensor: torch.Tensor, what: str) -> torch.Tensor:
    """The tensor, or a copy of it with elements that follow one another in memory; where that is written, copying_back()
    brings it into the tensor."""
    check_is_here(tensor, what)
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def copying_back(*pairs: Tuple[torch.Tensor, torch.Tensor]) -> Optional[Callable[[], None]]:
    """What brings results into tensors whose memory is another one; None: each tensor is its own memory.
    @param pairs a tensor, and the memory that was written"""
    copies = [(tensor, memory) for tensor, memory in pairs if tensor is not memory]
    if not copies:
        return None

    def copy() -> None:
        for tensor, memory in copies:
            tensor.copy_(memory)

    return copy


def bytes_of(tensor: torch.Tensor) -> int:
    """Bytes of the elements."""
    return tensor.numel() * tensor.element_size()


def overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """True if the memories of two tensors, each without gaps, have bytes in common."""
    first, second = one.data_ptr(), other.data_ptr()
    return first < second + bytes_of(other) and second < first + bytes_of(one)


def in_one_piece(tensors: Sequence[torch.Tensor]) -> Optional[int]:
    """Where the elements of all tensors begin, if they follow one another in memory without gaps, in this order."""
    begin = end = tensors[0].data_ptr()
    for tensor in tensors:
        if not tensor.is_contiguous() or (tensor.data_ptr() != end and tensor.numel()):
            return None
        end += bytes_of(tensor)
    return begin


def joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """The elements of all tensors, one after the other."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def check_same_type(tensors: Sequence[torch.Tensor], dtype: torch.dtype, what: str) -> None:
    """All tensors of an operation have elements of one type."""
    for tensor in tensors:
        if tensor.dtype is not dtype:
            raise ValueError(f"{what}: tensors of {dtype} and of {tensor.dtype}; all must have the same type of elements")


def only(tensors: Any, what: str) -> Any:
    """The tensor of a list of one, or the tensor itself: torch's interface is made for several GPUs in a process."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"{what}: {len(tensors)} tensors were passed, and a process has one in each operation")
    return tensors[0]


def split(buffer: torch.Tensor, into: List[torch.Tensor]) -> None:
    """Copies the elements of a buffer, in order, into the tensors."""
    place = 0
    for tensor in into:
        tensor.copy_(buffer[place:place + tensor.numel()].view(tensor.shape))
        place += tensor.numel()

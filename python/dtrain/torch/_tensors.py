# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Tensors as the memory that dtrain/c_api.h takes."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.distributed import ReduceOp

from .._errors import UsageError

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

_COMBINE: Dict[int, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    SUM: torch.add, PRODUCT: torch.mul, MIN: torch.minimum, MAX: torch.maximum, BIT_AND: torch.bitwise_and, BIT_OR: torch.bitwise_or,
    BIT_XOR: torch.bitwise_xor}


def reduction_of(operation: Any, what: str) -> int:
    """dtrain_reduction of a ReduceOp."""
    kind = getattr(operation, "op", operation)
    try:
        return _REDUCTIONS[kind]
    except KeyError:
        raise UsageError(f"{what}: unsupported reduction operation {kind}; the back end dtrain has SUM, AVG, MIN, MAX, PRODUCT, BAND, "
                         "BOR and BXOR") from None


def type_and_reduction(tensor: torch.Tensor, reduction: int, what: str) -> Tuple[int, int]:
    """dtrain_type, and how its elements are reduced."""
    dtype = tensor.dtype
    found = REDUCIBLE.get(dtype)
    if found is not None:
        if reduction >= BIT_AND and dtype.is_floating_point:
            raise UsageError(f"{what}: BAND, BOR and BXOR are for integers and bools, and the tensor has {dtype}")
        return found, reduction
    if dtype is torch.bool:
        if reduction not in _OF_BOOLS:
            raise UsageError(f"{what}: bools have no average; convert the tensor to float first")
        return _UINT8, _OF_BOOLS[reduction]
    raise UsageError(f"{what}: elements of {dtype} cannot be reduced by the back end dtrain; convert the tensor to a type of "
                     "float or int of at least 8 bits first")


def check_on_cpu(tensor: Any, what: str) -> None:
    """Only strided tensors in host memory."""
    if not tensor.is_cpu:
        raise UsageError(f"{what}: the tensor is on {tensor.device}, and the back end dtrain moves tensors in host memory: use "
                         "nccl for this group (new_group(backend=\"nccl\")), or tensor.cpu()")
    if tensor.layout is not torch.strided:
        raise UsageError(f"{what}: the tensor has the layout {tensor.layout}, and only strided tensors can be exchanged: use "
                         "to_dense(), or DDP with sparse=False of the embedding")


def in_memory(tensor: torch.Tensor, what: str) -> torch.Tensor:
    """The tensor, or a copy of it with elements that follow one another in memory; where that is written, copying_back()
    brings it into the tensor."""
    check_on_cpu(tensor, what)
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


def apart(tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """The tensors, each without gaps; of those that share memory one stays what it is, and the others are copies."""
    out, end = list(tensors), 0
    if len(out) > 1:
        for i in sorted(range(len(out)), key=lambda index: out[index].data_ptr()):
            first, after = out[i].data_ptr(), out[i].data_ptr() + bytes_of(out[i])
            if first < end:
                out[i] = out[i].clone()
            end = max(end, after)
    return out


def combined(tensors: Sequence[torch.Tensor], reduction: int, what: str) -> torch.Tensor:
    """Several tensors of a process, reduced to a new one."""
    if reduction not in _COMBINE:
        raise UsageError(f"{what}: {len(tensors)} tensors of a process have no average; stack them, and average that")
    total = tensors[0].clone(memory_format=torch.contiguous_format)
    for tensor in tensors[1:]:
        total = _COMBINE[reduction](total, tensor)
    return total


def check_root(root: int, ranks: int, what: str) -> None:
    """A rank of the group."""
    if not 0 <= root < ranks:
        raise UsageError(f"{what}: invalid root rank {root}; the group has {ranks} ranks, from 0 on")


def check_same_type(tensors: Sequence[torch.Tensor], dtype: torch.dtype, what: str) -> None:
    """All tensors of an operation have elements of one type."""
    for index, tensor in enumerate(tensors):
        if tensor.dtype is not dtype:
            raise UsageError(f"{what}: invalid tensor type at index {index}: {tensor.dtype} and {dtype}; all tensors must have "
                             "the same type of elements")


def check_same_layout(tensors: Sequence[torch.Tensor], what: str) -> None:
    """All tensors of an operation are dense, or all are sparse."""
    for index, tensor in enumerate(tensors):
        if tensor.layout is not tensors[0].layout:
            raise UsageError(f"{what}: invalid tensor layout at index {index}: {tensor.layout} and {tensors[0].layout}")


def check_alike(tensors: Sequence[torch.Tensor], what: str) -> None:
    """What is reduced to one tensor, or gets the same values."""
    if not tensors:
        raise UsageError(f"{what} requires non-empty tensor list: none was passed")
    first = tensors[0]
    check_same_layout(tensors, what)
    check_same_type(tensors, first.dtype, what)
    for index, tensor in enumerate(tensors):
        if tensor.shape != first.shape:
            raise UsageError(f"{what}: invalid tensor size at index {index}: {list(tensor.shape)} and {list(first.shape)}")


def only(tensors: Any, what: str, which: str = "") -> Any:
    """The tensor of a list of one, or the tensor itself: torch's interface is made for several GPUs in a process."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise UsageError(f"{what} requires a single-element {which}tensor list: {len(tensors)} tensors were passed")
    return tensors[0]


def split(buffer: torch.Tensor, into: List[torch.Tensor]) -> None:
    """Copies the elements of a buffer, in order, into the tensors."""
    offset = 0
    for tensor in into:
        tensor.copy_(buffer[offset:offset + tensor.numel()].view(tensor.shape))
        offset += tensor.numel()

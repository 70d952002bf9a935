# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What ranks that take part in an operation disagree about. Every rank comes to the same answer from the same requests."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from ._requests import ALLGATHER, ALLREDUCE, ALLTOALL, BARRIER, Request

#: Sums with the zeros of a rank that has joined are what the other ranks would have without it.
_WITH_ZEROS = ("Sum", "Average")


def _rows_after_first(request: Request) -> Any:
    return tuple(shape[1:] for shape in request.shapes)


def _compared(kind: str) -> "Sequence[tuple[str, Callable[[Request], Any]]]":
    whole = kind not in (ALLGATHER, ALLTOALL)
    return (
        ("number of tensors", lambda request: len(request.shapes)),
        ("type of elements", lambda request: request.types),
        ("shape", lambda request: request.shapes) if whole else ("dimensions after the first one", _rows_after_first),
        ("kind of device", lambda request: request.device),
        ("reduction", lambda request: request.reduction),
        ("factors", lambda request: request.factors),
        ("root rank", lambda request: request.root),
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return str(value)


def problem_of(requests: Mapping[int, Request], joined: Sequence[int]) -> str:
    """Why an operation cannot be carried out; "": it can.
    @param requests by rank of the process set @param joined ranks that have no data left"""
    ranks = sorted(requests)
    first = requests[ranks[0]]
    if first.kind == BARRIER:
        return ""
    for what, value_of in _compared(first.kind):
        wanted = value_of(first)
        for rank in ranks[1:]:
            other = value_of(requests[rank])
            if other != wanted:
                return (f"{first.key}: ranks differ in the {what}: {_shown(wanted)} on rank {ranks[0]}, {_shown(other)} on "
                        f"rank {rank}: pass the same on all ranks")
    absent = [rank for rank in joined if rank not in requests]
    if absent and first.kind != ALLREDUCE:
        return (f"{first.key}: rank {absent[0]} has joined, and only allreduce goes on without data of a rank: call join() "
                "after the last operation of another kind")
    if absent and first.reduction not in _WITH_ZEROS:
        return (f"{first.key}: rank {absent[0]} has joined, and the zeros in place of its data would change a result of "
                f"{first.reduction}: use Sum or Average until all ranks have joined")
    return ""

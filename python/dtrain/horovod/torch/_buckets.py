# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which gradients are reduced together."""
from __future__ import annotations

import os
from typing import Any, Iterable, List, Sequence

import torch

#: A bucket is closed once it has so many bytes; HOROVOD_FUSION_THRESHOLD says another number.
BUCKET_BYTES = 16 << 20

Parameters = List[torch.Tensor]


def bucket_bytes() -> int:
    """HOROVOD_FUSION_THRESHOLD, or BUCKET_BYTES."""
    text = os.environ.get("HOROVOD_FUSION_THRESHOLD", str(BUCKET_BYTES))
    if not text.isdigit():
        raise ValueError(f"HOROVOD_FUSION_THRESHOLD is {text!r}: write a number of bytes, or unset it")
    return int(text)


def by_size(parameters: Sequence[torch.Tensor], most: int) -> List[Parameters]:
    """From the last parameter, whose gradient comes first, to the first one."""
    buckets: List[Parameters] = []
    filled = most
    for parameter in reversed(parameters):
        if filled >= most:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += parameter.numel() * parameter.element_size()
    return buckets


def by_number(parameters: Sequence[torch.Tensor], number: int) -> List[Parameters]:
    """So many groups of about equally many parameters."""
    each, more = divmod(len(parameters), number)
    ends = [each * (group + 1) + min(group + 1, more) for group in range(number)]
    return [list(parameters[begin:end]) for begin, end in zip([0, *ends], ends) if end > begin]


def by_lists(parameters: Sequence[torch.Tensor], lists: Iterable[Iterable[torch.Tensor]]) -> List[Parameters]:
    """The given groups; parameters that are in none are alone."""
    groups = [[parameter for parameter in group if any(parameter is other for other in parameters)] for group in lists]
    grouped = {id(parameter) for group in groups for parameter in group}
    return [group for group in groups if group] + [[one] for one in parameters if id(one) not in grouped]


def check_groups(groups: Any) -> None:
    """@throws ValueError if groups is neither a number from 1 nor a list of lists of tensors without repetitions"""
    if isinstance(groups, int) and groups > 0:
        return
    if not isinstance(groups, (list, tuple)):
        raise ValueError(f"groups={groups!r}: pass a number from 1, or a list of lists of parameters")
    seen = set()
    for parameter in (parameter for group in groups for parameter in group):
        if not isinstance(parameter, torch.Tensor):
            raise ValueError(f"groups has a {type(parameter).__name__}: pass a list of lists of parameters")
        if id(parameter) in seen:
            raise ValueError(f"groups has a parameter of shape {tuple(parameter.shape)} twice: it can be in one group only")
        seen.add(id(parameter))


def buckets_of(parameters: Sequence[torch.Tensor], groups: Any) -> List[Parameters]:
    """@param groups how many, or which; None: by size"""
    if groups is None:
        return by_size(parameters, bucket_bytes())
    return by_number(parameters, groups) if isinstance(groups, int) else by_lists(parameters, groups)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What a rank wants: an operation as the other ranks hear of it."""
from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

ALLREDUCE, ALLGATHER, BROADCAST, ALLTOALL, REDUCESCATTER, BARRIER = (
    "allreduce", "allgather", "broadcast", "alltoall", "reducescatter", "barrier")


class Request(NamedTuple):
    """An operation of one rank. Ranks whose requests have the same key take part in the same operation."""

    kind: str
    name: str
    types: Tuple[str, ...] = ()  #: of the elements, for each tensor of the group
    shapes: Tuple[Tuple[int, ...], ...] = ()
    device: str = "cpu"
    reduction: str = ""
    factors: Tuple[float, float] = (1.0, 1.0)  #: before and after the reduction
    root: int = -1
    splits: Optional[Tuple[int, ...]] = None  #: rows for each rank

    @property
    def key(self) -> str:
        """ "allreduce.gradient" """
        return f"{self.kind}.{self.name}"


class Message(NamedTuple):
    """What a rank says in a round."""

    requests: Tuple[Request, ...] = ()  #: since the round before
    waits: bool = False  #: it does nothing else before an operation of this process set is complete
    joined: bool = False
    leaves: bool = False

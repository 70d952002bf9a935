# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Sets of ranks that carry out operations among themselves."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

import torch.distributed as dist

from ._negotiation import Negotiation

_NOT_INITIALIZED = "hvd is not initialized: call hvd.init() first"


class ProcessSet:
    """Some ranks of the job, in ascending order. It can be used once init() or add_process_set() has had it."""

    def __init__(self, ranks_or_comm: Iterable[int]):
        try:
            ranks = sorted(ranks_or_comm)
        except TypeError:
            raise ValueError(f"ProcessSet({ranks_or_comm!r}): pass a list of ranks; a communicator of mpi4py is not "
                             "taken") from None
        wrong = [rank for rank in ranks if not isinstance(rank, int)]
        if wrong:
            raise ValueError(f"ProcessSet: {wrong[0]!r} is no rank: pass a list of ints")
        self.process_set_id: Optional[int] = None
        self.ranks: Optional[List[int]] = ranks
        self.mpi_comm = None  # Horovod's; here always None
        self._negotiation: Optional[Negotiation] = None
        self._optimizers = 0

    def size(self) -> Optional[int]:
        """Number of ranks; None before the set can be used."""
        return None if self.process_set_id is None or self.ranks is None else len(self.ranks)

    def rank(self) -> Optional[int]:
        """Number of this process in the set; None before the set can be used."""
        if self.process_set_id is None:
            return None
        return self.negotiation().rank

    def included(self) -> Optional[bool]:
        """True if this process belongs to the set; None before the set can be used."""
        if self.process_set_id is None or self.ranks is None:
            return None
        return dist.get_rank() in self.ranks

    def negotiation(self) -> Negotiation:
        """For operations of this set."""
        if self.process_set_id is None:
            raise ValueError(_NOT_INITIALIZED if self is global_process_set else
                             f"{self} cannot be used yet: pass it to hvd.init(process_sets=[...]) or hvd.add_process_set()")
        if self._negotiation is None:
            raise ValueError(f"rank {dist.get_rank()} is not in {self}: only its ranks call operations for it")
        return self._negotiation

    def next_optimizer(self) -> int:
        """The number of a new optimizer of this set: the same on its ranks, which make them in the same order."""
        self._optimizers += 1
        return self._optimizers

    def __str__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks}, mpi_comm=None)"

    def _open(self, number: int, ranks: List[int], backend: Optional[str]) -> None:
        group = dist.new_group(ranks, backend=backend)
        self.process_set_id, self.ranks = number, ranks
        self._group = group
        if dist.get_rank() in ranks:
            self._negotiation = Negotiation(group, ranks.index(dist.get_rank()), len(ranks))

    def _close(self, leave: bool = True) -> None:
        negotiation, self._negotiation = self._negotiation, None
        self.process_set_id = None
        if negotiation is not None:
            if leave:
                negotiation.leave()
            dist.destroy_process_group(self._group)


#: All ranks
global_process_set = ProcessSet([])
_open: Dict[int, ProcessSet] = {}
_next = 0
_backend: Optional[str] = None


def open_global(backend: Optional[str]) -> None:
    """The set of all ranks of torch's default group. Collective.
    @param backend of all sets; None: that of the default group"""
    global _next, _backend  # pylint: disable=global-statement
    _next, _backend = 1, backend
    global_process_set._open(0, list(range(dist.get_world_size())), backend)
    _open[0] = global_process_set


def add_process_set(process_set: Any) -> ProcessSet:
    """Makes a set of ranks usable. Collective over all ranks. @param process_set a ProcessSet, or a list of ranks"""
    global _next  # pylint: disable=global-statement
    global_process_set.negotiation()
    wanted = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    ranks = list(wanted.ranks or [])
    size = dist.get_world_size()
    if not ranks or ranks[0] < 0 or ranks[-1] >= size or len(set(ranks)) < len(ranks):
        raise ValueError(f"add_process_set: {ranks}: name one or more of the ranks 0 to {size - 1}, each once")
    for other in _open.values():
        if other.ranks == ranks:
            raise ValueError(f"add_process_set: there is a set of the ranks {ranks} already: use that, {other}")
    wanted._open(_next, ranks, _backend)
    _open[_next] = wanted
    _next += 1
    return wanted


def remove_process_set(process_set: ProcessSet) -> bool:
    """Ends a set of ranks. Collective over all ranks. False: it was none, or that of all ranks."""
    if not process_set.process_set_id:
        return False
    del _open[process_set.process_set_id]
    process_set._close()
    return True


def close_all() -> None:
    """Collective over all ranks."""
    for number in sorted(_open, reverse=True):
        _open.pop(number)._close()
    global_process_set.ranks = []

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which operations all ranks have asked for. Every rank has a table of its own, puts the same messages into it, and so
carries out the same operations in the same order, in whichever order the ranks asked for them."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence

from ._agreement import problem_of
from ._requests import Message, Request


class Ready(NamedTuple):
    """An operation that is to be carried out."""

    key: str
    requests: Dict[int, Request]  #: by rank; those of ranks that have joined may be missing
    problem: str  #: why it cannot be; "": it can


class Matching:
    """Requests of the ranks of a process set."""

    def __init__(self, size: int):
        self._size = size
        self._open: Dict[str, Dict[int, Request]] = {}
        self.joined: List[int] = []  #: ranks that have joined, the last one at the end

    @property
    def all_joined(self) -> bool:
        """True if no rank has data left."""
        return len(self.joined) == self._size

    def end_join(self) -> int:
        """All ranks have data again. Returns the rank that joined last."""
        last = self.joined[-1]
        self.joined.clear()
        return last

    def take(self, messages: Sequence[Message]) -> List[Ready]:
        """Puts the messages of a round in, one of each rank, and takes out what can be carried out now, in order."""
        for rank, message in enumerate(messages):
            if message.joined and rank not in self.joined:
                self.joined.append(rank)
            for request in message.requests:
                self._open.setdefault(request.key, {})[rank] = request
        complete = [key for key, requests in self._open.items() if not self._missing(requests)]
        ready = [Ready(key, requests, problem_of(requests, self.joined))
                 for key, requests in ((key, self._open.pop(key)) for key in complete)]
        return ready or self._stuck(messages)

    def _missing(self, requests: Dict[int, Request]) -> List[int]:
        return [rank for rank in range(self._size) if rank not in requests and rank not in self.joined]

    def _stuck(self, messages: Sequence[Message]) -> List[Ready]:
        """All that is open, if every rank waits for something that another one has not asked for."""
        if (not self._open or any(message.requests for message in messages)
                or not all(message.waits or message.joined or message.leaves for message in messages)):
            return []
        listed = "; ".join(f"{key} waits for rank {', '.join(map(str, self._missing(requests)))}"
                           for key, requests in self._open.items())
        ended = [str(rank) for rank, message in enumerate(messages) if message.leaves]
        why = f"; rank {', '.join(ended)} has called shutdown()" if ended else ""
        problem = (f"no rank can go on: {listed}{why}: call the same operations, with the same names, on all ranks of the "
                   "process set")
        stuck = [Ready(key, requests, problem) for key, requests in self._open.items()]
        self._open.clear()
        return stuck

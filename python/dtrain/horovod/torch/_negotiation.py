# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The rounds in which the ranks of a process set tell each other what they want.

A round is an all-gather of messages. Ranks begin one when they wait for an operation that not all have asked for yet, and
whenever poll() or an optimizer's hook looks after what is under way. There is no thread for it: an operation begins when
the last rank waits for something, and not before.
"""
from __future__ import annotations

import pickle
import time
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist

from .._matching import Matching
from .._requests import Message, Request
from ._errors import DuplicateNameError, HorovodInternalError
from ._operations import AllReduce, Operation

_LENGTH_BYTES = 8
#: A message of at most so many bytes, with its length, needs one all-gather; a longer one a second.
_SHORT = 1024
#: Between rounds that change nothing
_PAUSE = 0.0005


def _as_bytes(message: Message) -> bytes:
    return pickle.dumps((tuple(tuple(request) for request in message.requests), *message[1:]), pickle.HIGHEST_PROTOCOL)


def _as_message(data: bytes) -> Message:
    requests, *flags = pickle.loads(data)
    return Message(tuple(Request(*request) for request in requests), *flags)


def _tensor_of(data: bytes, size: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(data.ljust(size, b"\0")), dtype=torch.uint8)


class _Round:
    """An all-gather of messages under way."""

    def __init__(self, group: Any, message: Message):
        self._group = group
        self._data = _as_bytes(message)
        self.leaves = message.leaves
        short = len(self._data).to_bytes(_LENGTH_BYTES, "little") + self._data
        self._mine = _tensor_of(short[:_SHORT], _SHORT)
        self._all = torch.empty(_SHORT * dist.get_world_size(group), dtype=torch.uint8)
        self._work = dist.all_gather_into_tensor(self._all, self._mine, group, async_op=True)

    def is_complete(self) -> bool:
        """True if messages() waits for nobody who has not begun the round."""
        return bool(self._work.is_completed())

    def messages(self) -> List[Message]:
        """Those of all ranks, in order."""
        self._work.wait()
        rows = [row.numpy().tobytes() for row in self._all.split(_SHORT)]
        lengths = [int.from_bytes(row[:_LENGTH_BYTES], "little") for row in rows]
        longest = max(lengths)
        if longest > _SHORT - _LENGTH_BYTES:
            whole = torch.empty(longest * len(rows), dtype=torch.uint8)
            dist.all_gather_into_tensor(whole, _tensor_of(self._data, longest), self._group)
            rows = [b"\0" * _LENGTH_BYTES + row.numpy().tobytes() for row in whole.split(longest)]
        return [_as_message(row[_LENGTH_BYTES:_LENGTH_BYTES + length]) for row, length in zip(rows, lengths)]


class Negotiation:
    """Operations of a process set to which this rank belongs."""

    def __init__(self, group: Any, rank: int, size: int):
        self.group = group
        self.rank = rank  #: of this process in the set
        self.size = size
        self._matching = Matching(size)
        self._unsaid: List[Request] = []
        self._mine: Dict[str, Operation] = {}  #: asked for, not begun
        self._counts: Dict[str, int] = {}
        self._round: Optional[_Round] = None
        self._has_joined = False
        self._all_leave = False
        _active.append(self)

    def ask(self, operation: Operation, name: Optional[str]) -> None:
        """Asks for an operation. It begins in progress(), wait_for(), join() or leave()."""
        number = self._counts.get(operation.kind, 0)
        request = operation.request(name if name is not None else f"noname.{number + 1}")
        if request.key in self._mine:
            raise DuplicateNameError(f"an operation {request.key} of this rank has not begun yet: call synchronize() for it "
                                     "first, or give the second one another name")
        if name is None:
            self._counts[operation.kind] = number + 1
        self._mine[request.key] = operation
        self._unsaid.append(request)

    def wait_for(self, operation: Operation) -> None:
        """Goes on until the operation has begun."""
        while not operation.has_begun:
            self._go_on()

    def progress(self) -> None:
        """Ends a round that is complete, and begins one if there is something to say. Never waits for other ranks."""
        if self._round is not None and self._round.is_complete():
            self._end_round()
        if self._mine:
            self._begin_round(waits=False)

    def join(self) -> int:
        """Takes part in the reductions of the others, with zeros, until all ranks have joined. Returns the last one."""
        self._has_joined = True
        while not self._matching.all_joined:
            self._go_on()
        self._has_joined = False
        self._counts.clear()  # ranks without data have counted less
        return self._matching.end_join()

    def leave(self) -> None:
        """Goes on until all ranks leave. What was asked for and not by all ranks fails."""
        while not self._all_leave:
            self._go_on(leaves=True)
        _active.remove(self)
        for operation in self._mine.values():
            operation.fail("the process set has ended, by shutdown() or remove_process_set(): call synchronize() before")
        self._mine.clear()

    def _go_on(self, leaves: bool = False) -> None:
        """A round. Ranks of other process sets, which may be what a rank of this one waits for, are answered meanwhile."""
        self._begin_round(waits=True, leaves=leaves)
        assert self._round is not None
        others = [other for other in _active if other is not self]
        while others and not self._round.is_complete():
            for other in others:
                other.answer()
            time.sleep(_PAUSE)
        if not self._end_round():
            time.sleep(_PAUSE)

    def answer(self) -> None:
        """Takes part in a round for the sake of others, while this rank waits in another process set."""
        if self._round is None:
            self._begin_round(waits=False)
        elif self._round.is_complete():
            self._end_round()

    def _begin_round(self, waits: bool, leaves: bool = False) -> None:
        if self._round is None:
            message = Message(tuple(self._unsaid), waits, self._has_joined, leaves)
            self._unsaid.clear()
            self._round = _Round(self.group, message)

    def _end_round(self) -> bool:
        """False: nothing has changed."""
        assert self._round is not None
        under_way, self._round = self._round, None
        messages = under_way.messages()
        self._all_leave = all(message.leaves for message in messages)
        ready = self._matching.take(messages)
        for key, requests, problem in ready:
            operation = self._mine.pop(key, None)
            if operation is None:  # of ranks that have not joined
                if not problem and self.rank in self._matching.joined:
                    AllReduce.of_zeros(next(iter(requests.values()))).begin(self.group, self.rank, requests)
            elif problem:
                operation.fail(problem)
            else:
                operation.begin(self.group, self.rank, requests)
        return bool(ready) or any(message.requests for message in messages)


#: Those of the process sets to which this rank belongs
_active: List[Negotiation] = []

Handle = Tuple[Negotiation, Operation]
_under_way: Dict[int, Handle] = {}
_last_handle = 0


def start(negotiation: Negotiation, operation: Operation, name: Optional[str]) -> int:
    """Asks for an operation. Returns its handle."""
    global _last_handle  # pylint: disable=global-statement
    negotiation.ask(operation, name)
    _last_handle += 1
    _under_way[_last_handle] = negotiation, operation
    return _last_handle


def poll(handle: int) -> bool:
    """True if synchronize() returns at once."""
    if handle not in _under_way:
        raise ValueError(f"poll: {handle!r} is no operation under way: it is complete, or was never started")
    negotiation, operation = _under_way[handle]
    if not operation.has_begun:
        negotiation.progress()
    return operation.is_complete()


def synchronize(handle: int) -> Any:
    """Waits for an operation, and returns its result. None: it was waited for before."""
    if handle not in _under_way:
        return None
    negotiation, operation = _under_way.pop(handle)
    try:
        negotiation.wait_for(operation)
    except RuntimeError as error:
        raise HorovodInternalError(str(error)) from error
    return operation.wait()


def forget_handles() -> None:
    """After shutdown()."""
    _under_way.clear()

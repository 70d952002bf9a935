# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations under way, as torch.distributed waits for them."""
from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from ctypes import addressof, c_int, c_uint64
from datetime import timedelta
from typing import Any, Callable, List, Optional, Sequence

import torch
from torch._C import _distributed_c10d
from torch._C._distributed_c10d import Work, _create_work_from_future

from .._errors import CommunicatorTimeout, DtrainError
from .._library import library

#: Only one thread at a time may be in libdtrain.
TURN = threading.Lock()
#: How long a thread waits in libdtrain before others have their turn.
_A_TURN = 0.02

#: True if a work in Python lasts as long as torch's C++ keeps it. In torch 2.6 it ends with its last name in Python, and a second wait() of
#: C++ has no end: functional collectives wait once for each tensor of an operation.
WORKS_LAST = hasattr(_distributed_c10d, "PythonCallbackWork")

#: Operations under way: their memory stays, whatever becomes of the objects that stand for them.
_under_way: "dict[int, UnderWay]" = {}


def _as_torch_says(error: Exception) -> Exception:
    """With the words by which programs tell a timeout of torch.distributed from other errors."""
    if isinstance(error, CommunicatorTimeout):
        error.args = (f"dtrain: Timed out waiting: {error.args[0]}",)
    return error


def completed(results: Sequence[torch.Tensor]) -> Work:
    """A work that has these results: one of torch's own, since a work in Python ends before torch's C++ asks it for a future
    (torch 2.6: DDP with sparse gradients)."""
    future = torch.futures.Future()
    future.set_result(list(results))
    return _create_work_from_future(future)


class UnderWay(Work):  # type: ignore[misc]  # torch declares it without types of its own
    """An operation of libdtrain. Its results are the tensors into which it writes."""

    _results: Sequence[torch.Tensor] = ()
    _future: Optional[Any] = None
    _error: Optional[BaseException] = None
    _finish: Optional[Callable[[], None]] = None
    _source: Optional[c_int] = None
    _rest: Sequence[c_uint64] = ()
    _keeps: Any = None
    is_message = False  #: from one rank, and the others do not wait for it

    def begin(self, communicator: int, request: c_uint64, results: Sequence[torch.Tensor], keeps: Any) -> UnderWay:
        """@param keeps what the operation uses. (Not __init__: that of Work costs as much again.)"""
        self._communicator = communicator
        self._request = request
        self._results = results
        self._keeps = keeps
        _under_way[id(self)] = self
        return self

    def with_more(self, rest: Sequence[c_uint64], finish: Optional[Callable[[], None]],
                  source: Optional[c_int] = None) -> UnderWay:
        """@param rest further requests @param finish is called when all are complete @param source gets the sender"""
        self._rest = rest
        self._finish = finish
        self._source = source
        return self

    def _end(self, error: Optional[BaseException]) -> None:
        _under_way.pop(id(self), None)
        finish, self._finish = self._finish, None
        if error is not None:
            keep_for_ever(self._keeps)
        self._keeps, self._error = None, error
        if error is not None:
            raise error
        if finish is not None:
            finish()

    def _advance(self, seconds: float) -> bool:
        """True once all requests are complete."""
        error = None
        with TURN:
            for request in (self._request, *self._rest):
                if request.value and library().wait_for(addressof(request), seconds, _ignored_address):
                    error = _as_torch_says(library().last_error())
                    break
                if request.value:
                    return False
        self._end(error)
        return True

    def wait(self, timeout: Any = None) -> bool:
        """Waits until it is complete. @throws dtrain.DtrainError"""
        if self._keeps is None:
            if self._error is not None:
                raise self._error
            return True
        limit = timeout.total_seconds() if isinstance(timeout, timedelta) else 0.0
        if limit <= 0:
            while not self._advance(_A_TURN):
                pass
            return True
        end = time.monotonic() + limit
        while not self._advance(max(0.0, min(_A_TURN, end - time.monotonic()))):
            if time.monotonic() >= end:
                raise RuntimeError(f"dtrain: Timed out waiting {limit:g} s for the operation to complete")
        return True

    def is_completed(self) -> bool:
        """True if it is complete."""
        return self._keeps is None or self._advance(0.0)

    def is_success(self) -> bool:
        """True if it is complete and did not fail."""
        return self._error is None and self.is_completed()

    def exception(self) -> Optional[BaseException]:
        """Why it failed."""
        return self._error

    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    def result(self) -> List[torch.Tensor]:
        """The tensors that have the result."""
        self.wait()
        return list(self._results)

    def get_future(self) -> Any:
        """A future of result(). Waits: an operation goes on in the thread that waits for it. @throws dtrain.DtrainError where
        wait() does: an error that Python gives to a future is a value for torch's C++, which DDP takes for tensors and crashes."""
        if self._future is None:
            self.wait()
            self._future = torch.futures.Future()
            self._future.set_result(list(self._results))
        return self._future

    @property
    def copies(self) -> bool:
        """True if a collective operation writes what comes elsewhere first."""
        return self._finish is not None and not self.is_message

    def source_rank(self) -> int:
        """The rank that sent the message."""
        self.wait()
        if self._source is None:
            raise RuntimeError("source_rank() is for messages that were received from any rank")
        return self._source.value

    _source_rank = source_rank


_ignored = c_int()  # the request itself says whether it is complete
_ignored_address = addressof(_ignored)


#: Memory of operations that failed: nobody can say when the other ranks have done with it.
_given_up: List[Any] = []


def keep_for_ever(keeps: Any) -> None:
    """Of an operation that failed."""
    _given_up.append(keeps)


@atexit.register
def _finish_at_exit() -> None:
    """A script may end without waiting for what it started; all ranks have started it."""
    if hasattr(sys, "last_value"):  # an exception ends the script
        return
    for work in list(_under_way.values()):
        with contextlib.suppress(DtrainError):
            work.wait()


def under_way(communicator: int) -> List[UnderWay]:
    """The operations of a communicator that are under way."""
    return [work for work in _under_way.values() if work._communicator == communicator]  # pylint: disable=protected-access


def finish_all(communicator: int) -> None:
    """Waits for all operations of a communicator. Those of others may wait for ranks that are not in this one."""
    for work in under_way(communicator):
        work.wait()

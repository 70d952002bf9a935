# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which calls of Paddle are recorded: the operations of process groups, new_group(), and backward() where gradients of DataParallel are
summed in it. On gloo each of them ends when its operation does. DTRAIN_PADDLE_RECORDS=0 prevents it."""
from __future__ import annotations

import functools
import os
import sys
import weakref
from types import ModuleType
from typing import Any, Callable, Dict, List, Tuple

from . import _paddle_records as records
from ._worker_answers import answer_with

#: Where the arguments have the root or the other rank, and by which names.
_PEERS = {"broadcast": (1, "src", "source_rank"), "reduce": (1, "dst"), "scatter": (2, "src"), "gather": (2, "dst"),
          "send": (1, "dst"), "recv": (1, "src")}
_MESSAGES = ("send", "recv")
_COLLECTIVES = ("all_reduce", "broadcast", "reduce", "all_gather", "all_to_all", "reduce_scatter", "scatter", "gather", "barrier")
_ENDINGS = ("_on_calc_stream", "_partial", "_into_tensor", "_tensor", "_single")
_OLD_NAMES = {"allreduce": "all_reduce", "allgather": "all_gather", "alltoall": "all_to_all", "_reduce_scatter_base": "reduce_scatter"}


def _operation_name(method: str) -> str:
    """Of "all_gather_into_tensor_on_calc_stream" "all_gather"; of what is none ""."""
    for ending in _ENDINGS:
        if method.endswith(ending):
            method = method[:-len(ending)]
    name = _OLD_NAMES.get(method, method)
    return name if name in _COLLECTIVES or name in _MESSAGES else ""


def _length(shape: List[int]) -> int:
    return functools.reduce(lambda product, length: product * length, shape, 1)


def _begin(group: Any, name: str, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
    """Nothing may disturb the program. Of tensors it has the smallest that is not in a list: what one rank gives, or gets of a scatter."""
    try:
        sequence = records.sequence_of(group)
        if sequence is None:
            return None
        tensor = shape = reduction = None
        for argument in (*arguments, *named.values()) if named else arguments:
            if hasattr(argument, "shape"):
                other = argument.shape
                if shape is None or _length(other) < _length(shape):
                    tensor, shape = argument, other
            elif type(argument).__name__ == "ReduceOp":
                reduction = argument
        peer = -1
        if name in _PEERS:
            position, *names = _PEERS[name]
            peer = arguments[position] if len(arguments) > position else next((named[each] for each in names if each in named), -1)
        return records.begin(sequence, name, name in _MESSAGES, shape, None if tensor is None else tensor.dtype, reduction, peer)
    except Exception:  # pylint: disable=broad-exception-caught
        return None


def _record_methods(process_group: Any) -> None:
    def recorded(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            operation = _begin(self, name, arguments, named)
            try:
                return call(self, *arguments, **named)
            finally:
                if operation is not None:
                    records.end(operation)
        return method

    for method in dir(process_group):
        if name := _operation_name(method):
            setattr(process_group, method, recorded(name, getattr(process_group, method)))


def _sequence_of_new(ranks: Any, backend: Any) -> Any:
    """Of the ranks that new_group() is called for; nothing if this is none of them: it does not wait for them."""
    try:
        group = sys.modules["paddle.distributed"].get_group(0)
        wanted = group.ranks if ranks is None else sorted(ranks)
        is_on_gloo = backend in (None, "gloo") and records.sequence_of(group.process_group) is not None
        own = group.ranks[group.rank]
        return records.sequence_of_ranks(list(wanted)) if is_on_gloo and len(wanted) > 1 and own in wanted else None
    except Exception:  # pylint: disable=broad-exception-caught
        return None


def _record_new_group(*modules: ModuleType) -> None:
    call = modules[0].new_group

    @functools.wraps(call)
    def new_group(ranks: Any = None, backend: Any = None, *arguments: Any, **named: Any) -> Any:
        sequence = _sequence_of_new(ranks, backend)
        operation = None if sequence is None else records.begin(sequence, "new_group")
        try:
            return call(ranks, backend, *arguments, **named)
        finally:
            if operation is not None:
                records.end(operation)

    for module in modules:
        module.new_group = new_group  # type: ignore[attr-defined]


def _record_backward(core: Any) -> None:
    """DataParallel sums gradients below Python, during the first backward() after its forward()."""
    groups: Dict[int, Any] = {}  # weak, by the identity of the reducer that sums in it
    due: List[Any] = []
    reducer = core.EagerReducer
    make, prepare, run = reducer.__init__, reducer.prepare_for_backward, core.eager.run_backward

    @functools.wraps(make)
    def init(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        for argument in (*arguments, *named.values()):
            if isinstance(argument, core.ProcessGroup):
                groups[id(self)] = weakref.ref(argument)

    @functools.wraps(prepare)
    def prepare_for_backward(self: Any, *arguments: Any, **named: Any) -> Any:
        group = groups[id(self)]() if id(self) in groups else None
        if group is not None and group not in due:
            due.append(group)
        return prepare(self, *arguments, **named)

    @functools.wraps(run)
    def run_backward(*arguments: Any, **named: Any) -> Any:
        if not due:
            return run(*arguments, **named)
        operations = [operation for operation in (_begin(group, "backward", (), {}) for group in due) if operation is not None]
        due.clear()
        try:
            return run(*arguments, **named)
        finally:
            for operation in operations:
                records.end(operation)

    reducer.__init__ = init
    reducer.prepare_for_backward = prepare_for_backward
    core.eager.run_backward = run_backward


def record_calls(distributed: ModuleType) -> None:
    """From now on. Called once, with paddle.distributed."""
    core: Any = sys.modules.get("paddle.base.core") or sys.modules["paddle.fluid.core"]
    if os.environ.get("DTRAIN_PADDLE_RECORDS") == "0":
        return
    _record_methods(core.ProcessGroup)
    _record_new_group(sys.modules[f"{distributed.__name__}.collective"], distributed)
    _record_backward(core)
    answer_with(records.answer_part)

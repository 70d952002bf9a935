# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The last operations that a program has called on Paddle's groups on gloo, for reports of hangs: in the form of torch's flight
recorder, with root and reduction."""
from __future__ import annotations

import collections
import os
import sys
import time
import weakref
import zlib
from types import CodeType, FrameType
from typing import Any, Deque, Dict, List, Optional, Tuple

from ._source import calling_line
from ._worker_answers import last_of_groups

_KEPT = 256  # all that an answer has
_DEFAULT = "default_pg"
_LONGEST_LIST = 16


class Sequence:
    """Counts the operations of a group. Groups are known by Paddle's object, or, before there is one, by their ranks."""

    __slots__ = ("group", "ranks", "collectives", "messages")

    def __init__(self, group: Any = None, ranks: Optional[List[int]] = None):
        self.group = None if group is None else weakref.ref(group)
        self.ranks = ranks
        self.collectives = 0
        self.messages = 0


class Operation:
    """A call. In place of its tensors it has what the report says of them."""

    __slots__ = ("sequence", "number", "is_message", "name", "shape", "type", "reduction", "peer", "line", "created", "ended")

    def __init__(self, sequence: Sequence, name: str, is_message: bool, shape: Optional[List[int]], element_type: Any, reduction: Any,
                 peer: int, line: Optional[Tuple[CodeType, int]]):
        self.sequence = sequence
        self.name = name
        self.is_message = is_message
        if is_message:
            number = sequence.messages = sequence.messages + 1
        else:
            number = sequence.collectives = sequence.collectives + 1
        self.number = number
        self.shape = shape
        self.type = element_type
        self.reduction = reduction
        self.peer = peer  # a rank of the group
        self.line = line
        self.created = time.time_ns()
        self.ended = 0


_sequences: Dict[Any, Sequence] = {}
_going_on: Dict[int, Operation] = {}
_ended: Deque[Operation] = collections.deque(maxlen=_KEPT)


def sequence_of(group: Any) -> Optional[Sequence]:
    """Of a process group of Paddle; nothing if its operations go on after the calls that start them (NCCL)."""
    known = _sequences.get(id(group))
    if known is None or known.group is None or known.group() is not group:
        if group.name() != "GLOO":
            return None
        known = _sequences[id(group)] = Sequence(group)
    return known


def sequence_of_ranks(ranks: List[int]) -> Sequence:
    """Of what ranks call to make a group."""
    key = tuple(ranks)
    return _sequences.setdefault(key, Sequence(ranks=ranks))


def begin(sequence: Sequence, name: str, is_message: bool = False, shape: Optional[List[int]] = None, element_type: Any = None,
          reduction: Any = None, peer: int = -1) -> Operation:
    operation = Operation(sequence, name, is_message, shape, element_type, reduction, peer, calling_line())
    _going_on[id(operation)] = operation
    return operation


def end(operation: Operation) -> None:
    operation.ended = time.time_ns()
    del _going_on[id(operation)]
    _ended.append(operation)


def _groups() -> Dict[int, Any]:
    """Paddle's groups, by the identity of their process groups."""
    module = sys.modules.get("paddle.distributed.communication.group")
    known = vars(getattr(module, "_GroupManager", object)).get("group_map_by_id")
    if known is None:
        module = sys.modules.get("paddle.distributed.collective")
        known = getattr(module, "_group_map", {})
    return {id(group.process_group): group for group in list(known.values()) if group.process_group is not None}


def _text_of(ranks: List[int]) -> str:
    """Short, and of other ranks another one."""
    if ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"of ranks {ranks[0]}-{ranks[-1]}"
    listed = ",".join(map(str, ranks))
    return f"of ranks {listed}" if len(listed) <= _LONGEST_LIST else f"of {len(ranks)} ranks {zlib.crc32(listed.encode()):08x}"


class _NamedGroup:
    """As "pg_config" of a dump has it."""

    def __init__(self, name: str, description: str, ranks: List[int], own: int):
        self.key = (name, description)
        self.ranks = ranks
        self.own = own  # this process's rank in it

    def config(self) -> Dict[str, str]:
        name, description = self.key
        return {"name": name, "desc": description, "ranks": str(self.ranks)}


def _name_group(sequence: Sequence, groups: Dict[int, Any]) -> Optional[_NamedGroup]:
    """Nothing of a group that is gone, or that Paddle has not listed yet."""
    if sequence.group is None:
        ranks = sequence.ranks or []
        return _NamedGroup(_text_of(ranks), "", ranks, 0)
    process_group = sequence.group()
    group = groups.get(id(process_group)) if process_group is not None else None
    if group is None:
        return None
    return _NamedGroup(str(group.id), _DEFAULT if group.id == 0 else "", [int(rank) for rank in group.ranks], int(group.rank))


def _entry(operation: Operation, group: _NamedGroup) -> Dict[str, Any]:
    name, peer = operation.name, operation.peer
    if operation.is_message:
        name += f" {group.own}->{peer}" if name == "send" else f" {group.own}<-{peer}"
    shapes = [] if operation.shape is None else [list(operation.shape)]
    types = [] if operation.type is None else [str(operation.type).rsplit(".", maxsplit=1)[-1]]
    frames = []
    if operation.line is not None:
        code, line = operation.line
        frames.append({"name": code.co_name, "filename": os.path.basename(code.co_filename), "line": line})
    entry = {"process_group": group.key, "collective_seq_id": 0 if operation.is_message else operation.number,
             "p2p_seq_id": operation.number if operation.is_message else 0, "is_p2p": operation.is_message,
             "profiling_name": f"gloo:{name}", "time_created_ns": operation.created, "input_sizes": shapes, "input_dtypes": types,
             "output_sizes": shapes, "output_dtypes": types, "state": "completed" if operation.ended else "started",
             "retired": bool(operation.ended),
             "reduction": "" if operation.reduction is None else operation.reduction.name.lower(), "frames": frames}
    if not operation.is_message and 0 <= peer < len(group.ranks):
        entry["root"] = group.ranks[peer]
    if operation.ended:
        entry["time_discovered_completed_ns"] = operation.ended
    return entry


def answer_part(_frames: Dict[int, FrameType]) -> Dict[str, Any]:
    """Of the answer to dtrain-worker."""
    operations = sorted([*list(_ended), *list(_going_on.values())], key=lambda operation: operation.created)
    groups = _groups()
    named = {id(sequence): _name_group(sequence, groups) for sequence in {operation.sequence for operation in operations}}
    entries = []
    for operation in operations:
        group = named[id(operation.sequence)]
        if group is not None:
            entries.append(_entry(operation, group))
    config = {group.key[0]: group.config() for group in named.values() if group is not None}
    return {"recorder": "dtrain", "dumps": [{"version": "2.10", "pg_config": config, "entries": last_of_groups(entries)}]} if entries else {}

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What torch has recorded of this process's operations, for reports of hangs.

torch calls answer_worker() at the end of "import torch" where dtrain is installed (entry point "torch.backends");
DTRAIN_TORCH_RECORDS=0 or TORCH_DEVICE_BACKEND_AUTOLOAD=0 prevents that.
"""
from __future__ import annotations

import functools
import operator
import os
import pickle
import sys
import threading
from types import FrameType
from typing import Any, Dict, List, Optional, Tuple

from ._thread_stacks import calls_of, file_of
from ._worker_answers import answer_with, last_of_groups

_MAX_FRAMES = 64
_WANTED = ("process_group", "collective_seq_id", "p2p_seq_id", "is_p2p", "profiling_name", "time_created_ns", "input_sizes",
           "input_dtypes", "output_sizes", "output_dtypes", "state", "retired")
#: torch records neither roots nor messages on gloo: of the call that is blocked, its arguments tell.
_ROOTS = {"broadcast": "src", "scatter": "src", "reduce": "dst", "gather": "dst"}
_MESSAGES = {"send": "dst", "recv": "src"}


def _peer(c10d: Any, group: Any, values: Dict[str, Any], side: str) -> int:
    """The root, destination or source as a rank of the job; -1: any."""
    of_group, of_job = values.get("group_" + side), values.get(side)
    if isinstance(of_group, int):
        return int(c10d.get_global_rank(group, of_group))
    return of_job if isinstance(of_job, int) else -1


def _waiting(c10d: Any, stack: List[FrameType]) -> Optional[Dict[str, Any]]:
    """The call that a thread is in, if what it waits for is not recorded, or not its root."""
    for frame in stack:
        name = frame.f_code.co_name
        side = _ROOTS.get(name) or _MESSAGES.get(name)
        if side is None or frame.f_code.co_filename != c10d.__file__:
            continue
        values = frame.f_locals
        group = values.get("group") or c10d._get_default_group()  # pylint: disable=protected-access
        if "gloo" not in str(c10d.get_backend_config(group)):
            return None
        tensor = values["tensor"]
        return {"name": name, "is_message": name in _MESSAGES, "process_group": _name_of(c10d, group),
                "peer": _peer(c10d, group, values, side), "tag": values.get("tag", 0), "count": tensor.numel(),
                "type": str(tensor.dtype).replace("torch.", "")}
    return None


def _name_of(c10d: Any, group: Any) -> Tuple[str, str]:
    return str(c10d._world.pg_names[group]), str(group.group_desc)  # pylint: disable=protected-access


def _groups(c10d: Any) -> Dict[str, Dict[str, str]]:
    """As "pg_config" of a dump, where torch has no names of gloo's groups."""
    out = {}
    for group in list(c10d._world.pg_names):  # pylint: disable=protected-access
        name, description = _name_of(c10d, group)
        out[name] = {"name": name, "desc": description, "ranks": str(c10d.get_process_group_ranks(group))}
    return out


def _without_rest(entry: Dict[str, Any]) -> Dict[str, Any]:
    frames = [{"name": frame["name"], "filename": file_of(frame["filename"]), "line": frame["line"]}
              for frame in entry.get("frames", ())[:_MAX_FRAMES]]
    return {**{key: entry[key] for key in _WANTED if key in entry}, "frames": frames}


def _dump(name: str) -> Any:
    """torch's, with the lines of the program. These it looks up in torch._inductor, which it would import for that, with all of
    the compiler: a second of processor time. So that no other thread sees what stands in its place, nothing here gives way."""
    import torch  # pylint: disable=import-outside-toplevel
    import torch._C._distributed_c10d as native  # pylint: disable=import-outside-toplevel

    dump = functools.partial(getattr(native, name), True, True, False)
    if "_inductor" in vars(torch):
        return pickle.loads(dump())
    steps = (functools.partial(setattr, torch, "_inductor", None), dump, functools.partial(delattr, torch, "_inductor"))
    try:
        return pickle.loads(list(map(operator.methodcaller("__call__"), steps))[1])
    finally:
        if vars(torch).get("_inductor", steps) is None:
            del torch._inductor


def _dumps(c10d: Any) -> List[Dict[str, Any]]:
    """torch's own, of each back end that it records."""
    import torch._C._distributed_c10d as native  # pylint: disable=import-outside-toplevel

    groups = _groups(c10d)
    back_ends = " ".join(str(c10d.get_backend_config(group)) for group in list(c10d._world.pg_names))  # pylint: disable=protected-access
    out = []
    for back_end, dump in (("gloo", "_dump_fr_trace"), ("nccl", "_dump_nccl_trace")):
        if back_end in back_ends and hasattr(native, dump):
            record = _dump(dump)
            out.append({"version": record["version"], "pg_config": groups,
                        "entries": [_without_rest(entry) for entry in last_of_groups(record.get("entries", []))]})
    return out


def _parts(frames: Dict[int, FrameType]) -> Dict[str, Any]:
    parts: Dict[str, Any] = {}
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is not None and c10d.is_initialized():
        # What torch does not have in this version, the stacks must do.
        for part, read in (("waiting", lambda: _waiting(c10d, calls_of(frames.get(threading.main_thread().ident or 0)))),
                           ("dumps", lambda: _dumps(c10d))):
            try:
                parts[part] = read()
            except Exception:  # pylint: disable=broad-exception-caught
                pass
    return parts


def answer_worker() -> None:
    """Starts the thread that answers dtrain-worker, in a program that it has started, once. Never raises."""
    if os.environ.get("DTRAIN_TORCH_RECORDS") != "0":
        answer_with(_parts)

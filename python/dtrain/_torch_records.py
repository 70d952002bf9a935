# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What torch has recorded of this process's operations, and where its threads are, for reports of hangs.

dtrain-worker asks when a rank seems to hang: it connects to a socket in the folder of DTRAIN_OPERATION_LOG and reads JSON. A
thread answers, since the main thread is blocked then. torch calls answer_worker() at the end of "import torch" where dtrain is
installed (entry point "torch.backends"); DTRAIN_TORCH_RECORDS=0 or TORCH_DEVICE_BACKEND_AUTOLOAD=0 prevents that.
"""
from __future__ import annotations

import functools
import json
import operator
import os
import pickle
import signal
import socket
import sys
import threading
from types import FrameType
from typing import Any, Dict, List, Optional, Tuple

from ._source import is_library

_FOLDER = "DTRAIN_OPERATION_LOG"
_SUFFIX = ".torch"
_SECONDS_FOR_READER = 10
_LAST_OF_A_GROUP = 32
_MAX_ENTRIES = 256
_MAX_FRAMES = 64
_WANTED = ("process_group", "collective_seq_id", "p2p_seq_id", "is_p2p", "profiling_name", "time_created_ns", "input_sizes",
           "input_dtypes", "output_sizes", "output_dtypes", "state", "retired")
#: torch records neither roots nor messages on gloo: of the call that is blocked, its arguments tell.
_ROOTS = {"broadcast": "src", "scatter": "src", "reduce": "dst", "gather": "dst"}
_MESSAGES = {"send": "dst", "recv": "src"}


@functools.lru_cache(maxsize=4096)
def _file(name: str) -> str:
    """The program's files without folders, those of libraries from "lib/python3.11/" on."""
    if not is_library(name):
        return os.path.basename(name)
    return name[max(name.rfind("lib/python3"), 0):]


def _calls(frame: Optional[FrameType]) -> List[FrameType]:
    """The innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _stacks(frames: Dict[int, FrameType]) -> str:
    """Of all threads but this one, as py-spy prints them."""
    main = threading.main_thread().ident
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for ident, frame in frames.items():
        if ident == threading.get_ident():
            continue
        name = "MainThread" if ident == main else names.get(ident, "")
        lines.append(f'Thread {ident}: "{name}"')
        lines += [f"    {call.f_code.co_name} ({_file(call.f_code.co_filename)}:{call.f_lineno})" for call in _calls(frame)]
    return "\n".join(lines) + "\n"


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


def _has_ended(entry: Dict[str, Any]) -> bool:
    return bool(entry["retired"]) or entry["state"] == "completed"


def _last(entries: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Those that go on, and the last of each group."""
    seen: Dict[Any, int] = {}
    out: List[Dict[str, Any]] = []
    for entry in reversed(entries):
        key = entry["process_group"]
        seen[key] = seen.get(key, 0) + 1
        if len(out) < _MAX_ENTRIES and (seen[key] <= _LAST_OF_A_GROUP or not _has_ended(entry)):
            out.append(entry)
    return out[::-1]


def _without_rest(entry: Dict[str, Any]) -> Dict[str, Any]:
    frames = [{"name": frame["name"], "filename": _file(frame["filename"]), "line": frame["line"]}
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
                        "entries": [_without_rest(entry) for entry in _last(record.get("entries", []))]})
    return out


def _record() -> bytes:
    frames = sys._current_frames()  # pylint: disable=protected-access
    record: Dict[str, Any] = {"stacks": _stacks(frames), "waiting": None, "dumps": []}
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is not None and c10d.is_initialized():
        # What torch does not have in this version, the stacks must tell.
        for part, read in (("waiting", lambda: _waiting(c10d, _calls(frames.get(threading.main_thread().ident or 0)))),
                           ("dumps", lambda: _dumps(c10d))):
            try:
                record[part] = read()
            except Exception:  # pylint: disable=broad-exception-caught
                pass
    return json.dumps(record).encode()


def _listen(folder: str) -> socket.socket:
    """The name has this thread's number, by which the worker tells its processor time from the program's."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(os.path.join(folder, f"{os.getpid()}-{threading.get_native_id()}{_SUFFIX}"))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _answer(folder: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the main thread
    try:
        with _listen(folder) as listener:
            while True:
                with listener.accept()[0] as connection:
                    connection.settimeout(_SECONDS_FOR_READER)
                    try:
                        connection.sendall(_record())
                    except Exception:  # pylint: disable=broad-exception-caught  # nothing may disturb the program
                        pass
    except OSError:
        pass


_answering: Optional[int] = None  # the process that has a thread for it


def answer_worker() -> None:
    """Starts the thread, in a program that dtrain-worker has started, once. Never raises."""
    global _answering  # pylint: disable=global-statement
    folder = os.environ.get(_FOLDER)
    if not folder or os.environ.get("DTRAIN_TORCH_RECORDS") == "0" or _answering == os.getpid():
        return
    _answering = os.getpid()
    try:
        threading.Thread(target=_answer, args=(folder,), name="dtrain-records", daemon=True).start()
    except RuntimeError:
        pass

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What dtrain-worker is told of this process when its rank seems to hang: where its threads are, and what has been recorded of its
operations, by torch or for Paddle.

The worker connects to a socket in the folder of DTRAIN_OPERATION_LOG and reads JSON. A thread answers, since the main thread is
blocked then."""
from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, List, Optional

from ._thread_stacks import stacks_of

_FOLDER = "DTRAIN_OPERATION_LOG"
_SUFFIX = ".torch"
_BOUND_SUFFIX = ".bound"  # no longer than the other: the path of a socket has 107 bytes at most
_SECONDS_FOR_READER = 10
_LAST_OF_A_GROUP = 32
_MAX_ENTRIES = 256

#: Of the frames of all threads: "dumps" and other parts of the answer.
Source = Callable[[Dict[int, FrameType]], Dict[str, Any]]


def last_of_groups(entries: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Those that go on, and the last of each group."""
    seen: Dict[Any, int] = {}
    out: List[Dict[str, Any]] = []
    for entry in reversed(entries):
        key = entry["process_group"]
        seen[key] = seen.get(key, 0) + 1
        if len(out) < _MAX_ENTRIES and (seen[key] <= _LAST_OF_A_GROUP or not _has_ended(entry)):
            out.append(entry)
    return out[::-1]


def _has_ended(entry: Dict[str, Any]) -> bool:
    return bool(entry["retired"]) or entry["state"] == "completed"


_sources: List[Source] = []


def _answer() -> bytes:
    frames = sys._current_frames()  # pylint: disable=protected-access
    answer: Dict[str, Any] = {"stacks": stacks_of(frames), "waiting": None, "dumps": []}
    for source in list(_sources):
        try:
            parts = source(frames)
        except Exception:  # pylint: disable=broad-exception-caught  # then the stacks must do
            continue
        answer.update({**parts, "dumps": answer["dumps"] + parts.get("dumps", [])})
    return json.dumps(answer).encode()


def _listen(folder: str) -> socket.socket:
    """The name has this thread's number, by which the worker tells its processor time from the program's. The socket has this name once
    it can be connected to."""
    path = os.path.join(folder, f"{os.getpid()}-{threading.get_native_id()}")
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path + _BOUND_SUFFIX)
        listener.listen()
        os.rename(path + _BOUND_SUFFIX, path + _SUFFIX)
    except OSError:
        listener.close()
        raise
    return listener


def _serve(folder: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the main thread
    try:
        with _listen(folder) as listener:
            while True:
                with listener.accept()[0] as connection:
                    connection.settimeout(_SECONDS_FOR_READER)
                    try:
                        connection.sendall(_answer())
                    except Exception:  # pylint: disable=broad-exception-caught  # nothing may disturb the program
                        pass
    except OSError:
        pass


_answering: Optional[int] = None  # the process that has a thread for it


def answer_with(source: Source) -> None:
    """From now on the answer has what this function returns. The thread starts, in a program that dtrain-worker has started, once. Never
    raises."""
    global _answering  # pylint: disable=global-statement
    folder = os.environ.get(_FOLDER)
    if not folder:
        return
    if source not in _sources:
        _sources.append(source)
    if _answering == os.getpid():
        return
    _answering = os.getpid()
    try:
        threading.Thread(target=_serve, args=(folder,), name="dtrain-records", daemon=True).start()
    except RuntimeError:
        pass

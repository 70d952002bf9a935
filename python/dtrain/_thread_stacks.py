# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the threads of this process are, for reports of hangs."""
from __future__ import annotations

import functools
import os
import threading
from types import FrameType
from typing import Dict, List, Optional

from ._source import is_library


@functools.lru_cache(maxsize=4096)
def file_of(name: str) -> str:
    """The program's files without folders, those of libraries from "lib/python3.11/" on."""
    if not is_library(name):
        return os.path.basename(name)
    return name[max(name.rfind("lib/python3"), 0):]


def calls_of(frame: Optional[FrameType]) -> List[FrameType]:
    """The innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def stacks_of(frames: Dict[int, FrameType]) -> str:
    """Of all threads but this one, as py-spy prints them."""
    main = threading.main_thread().ident
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for ident, frame in frames.items():
        if ident == threading.get_ident():
            continue
        name = "MainThread" if ident == main else names.get(ident, "")
        lines.append(f'Thread {ident}: "{name}"')
        lines += [f"    {call.f_code.co_name} ({file_of(call.f_code.co_filename)}:{call.f_lineno})" for call in calls_of(frame)]
    return "\n".join(lines) + "\n"

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which line of the program an operation comes from, for reports of hangs."""
from __future__ import annotations

import os
import sys
import sysconfig
import threading
from types import CodeType
from typing import Any, Dict, Tuple

#: Whose lines are not the program's own.
_LIBRARIES = tuple({os.path.join(os.path.realpath(folder), "") for folder in (
    os.path.dirname(__file__), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))})


class _OfThread(threading.local):
    last: Any = None  # what this thread has noted, as (code, line)


_of_thread = _OfThread()
_is_library: Dict[CodeType, bool] = {}
_texts: Dict[Tuple[CodeType, int], bytes] = {}


def is_library(file: str) -> bool:
    """Whether a file, as Python's code has its name, is not one of the program."""
    return file.startswith("<") or os.path.realpath(file).startswith(_LIBRARIES)


def _is_of_library(code: CodeType) -> bool:
    known = _is_library.get(code)
    if known is None:
        known = _is_library[code] = is_library(code.co_filename)
    return known


def note_source(native: Any) -> None:
    """Says which line of the program calls the caller of this function; of none, nothing."""
    frame = sys._getframe(2)  # pylint: disable=protected-access  # inspect would read files
    while frame is not None and _is_of_library(frame.f_code):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return
    place = (frame.f_code, frame.f_lineno)
    if place == _of_thread.last:
        return
    text = _texts.get(place)
    if text is None:
        text = _texts[place] = f"{os.path.basename(place[0].co_filename)}:{place[1]}".encode()
    native.note_source(text)
    _of_thread.last = place

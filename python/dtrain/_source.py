# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Which line of the program an operation comes from, for reports of hangs."""
from __future__ import annotations

import os
import sys
import sysconfig
import threading
from types import CodeType
from typing import Any, Dict, Optional, Tuple

#: Whose lines are not the program's own.
_LIBRARIES = tuple({os.path.join(os.path.realpath(folder), "") for folder in (
    os.path.dirname(__file__), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))})


class _OfThread(threading.local):
    last: Any = None  # what this thread has noted, as (code, line)


_of_thread = _OfThread()
_of_library: Dict[str, bool] = {}  # by file: code takes 20 times as long to hash
_texts: Dict[Tuple[str, int], bytes] = {}


def is_library(file: str) -> bool:
    """Whether a file, as Python's code has its name, is not one of the program."""
    is_installed = "/site-packages/" in file or "/dist-packages/" in file  # the user's, too
    return is_installed or file.startswith("<") or os.path.realpath(file).startswith(_LIBRARIES)


def calling_line() -> Optional[Tuple[CodeType, int]]:
    """The program's innermost line below the caller of this function, with its code."""
    frame = sys._getframe(2)  # pylint: disable=protected-access  # inspect would read files
    while frame is not None:
        code = frame.f_code
        known = _of_library.get(code.co_filename)
        if known is None:
            known = _of_library[code.co_filename] = is_library(code.co_filename)
        if not known:
            return code, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def note_source(native: Any) -> None:
    """Says which line of the program calls the caller of this function; of none, nothing."""
    caller = calling_line()
    if caller is None or caller == _of_thread.last:
        return
    line = (caller[0].co_filename, caller[1])
    text = _texts.get(line)
    if text is None:
        text = _texts[line] = f"{os.path.basename(line[0])}:{line[1]}".encode()
    native.note_source(text)
    _of_thread.last = caller

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Horovod's timeline is not written by dtrain."""
from __future__ import annotations

from typing import NoReturn

_INSTEAD = "dtrain writes no timeline: use torch.profiler.profile() and its export_chrome_trace()"


def start_timeline(file_path: str, mark_cycles: bool = False) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"start_timeline({file_path!r}, mark_cycles={mark_cycles}): {_INSTEAD}")


def stop_timeline() -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"stop_timeline: {_INSTEAD}")

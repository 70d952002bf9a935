# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""monitored_barrier(): a barrier that names the ranks that do not come. It goes through torch's store, so that a rank that hangs
in another operation does not disturb it, and what it says is what gloo says."""
from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, List

_PASSED = "passed"


def _came(store: Any, key: str, seconds: float) -> bool:
    """Whether another rank has written the key, or does so within so many seconds."""
    end = time.monotonic() + seconds
    if seconds > 0:
        try:
            store.wait([key], timedelta(seconds=seconds))
        except RuntimeError:  # stores have several types for the end of a wait
            if time.monotonic() < end:
                raise
    return bool(store.check([key]))


def _late_ranks(store: Any, prefix: str, size: int, limit: float, wait_all_ranks: bool) -> str:
    """On rank 0: "" once all have come, or what is wrong."""
    end = time.monotonic() + limit
    milliseconds = round(limit * 1000)
    late: List[int] = []
    for rank in range(1, size):
        left = end - time.monotonic()
        if left <= 0 and not wait_all_ranks:
            return f"Rank 0 timed out in monitoredBarrier after {milliseconds} ms; it had yet to wait for rank {rank}"
        if not _came(store, f"{prefix}/{rank}", left):
            late.append(rank)
            if not wait_all_ranks:
                break
    if not late:
        return ""
    names = f"Rank{'s' if len(late) > 1 else ''} {', '.join(map(str, late))}"
    return f"{names} failed to pass monitoredBarrier in {milliseconds} ms"


def monitored_barrier(store: Any, prefix: str, rank: int, size: int, timeout: timedelta, wait_all_ranks: bool) -> None:
    """Returns when all ranks have come. @param prefix what this barrier writes in the store is called, on all ranks the same
    @throws RuntimeError on rank 0 with the first rank that does not come in time, or with all of them; on others with what
    rank 0 said"""
    limit = timeout.total_seconds()
    answer = f"{prefix}/answer"
    if rank == 0:
        wrong = _late_ranks(store, prefix, size, limit, wait_all_ranks)
        store.set(answer, wrong or _PASSED)
        if wrong:
            raise RuntimeError(f"[Rank 0]: {wrong}")
        return
    store.set(f"{prefix}/{rank}", "")
    said = store.get(answer).decode() if _came(store, answer, limit) else "it did not answer in time"
    if said != _PASSED:
        raise RuntimeError(f"Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv "
                           f"from rank 0: {said}")

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A sparse table in one process, without MPI: keys a second, pauses while it grows, bytes a row.

Inserts and pauses are told in processor time, so that others' use of the machine is no pause of ours.

Peer: bare_table, one flat map from id to row and one vector of rows with plain loops and no other duty. 1 M rows;
DTRAIN_TABLE_ROWS names another number (100 M rows of 16 floats take 8.2 GB, and as much again and more in the peer),
--width other rows than of 16 and 64 floats.
Two threads beside one, both of ours, where this process may use two processors; DTRAIN_TABLE_THREADS names another
number than two.
"""

import os

from harness import Case, Missing, built, figure

AIM_OF_RATE = 1.0
AIM_OF_PAUSE = 1.0
AIM_OF_BYTES = 20
AIM_OF_TWO = 1.5
REPEATS = 3
LIMIT = 3600  # seconds; tables may be large


def cases(build, width=None):
    programs = [f"benchmarks/{name}" for name in ("sparse_table", "bare_table")]
    built(build, *programs)
    own, bare = (str(build / program) for program in programs)
    rows = int(os.environ.get("DTRAIN_TABLE_ROWS", 1_000_000))
    for floats in (16, 64) if width is None else (width,):
        for batch in (1024, 16384):
            for what in ("insert", "pull"):
                yield case(own, bare, what, "sgd", floats, batch, rows)
            for optimizer in ("sgd", "adam"):
                yield case(own, bare, "push", optimizer, floats, batch, rows)
    threads = int(os.environ.get("DTRAIN_TABLE_THREADS", 2))
    for batch in (4096, 16384):
        for what in ("pull", "push"):
            yield several(own, threads, what, batch, rows)
    yield Case(f"99% of the pulls of 1024 new ids, from 0 to {rows} rows, width 16, take at most", "us", "lower",
               lambda: number(own, "growth", "sgd", 16, 1024, rows), "bare table",
               lambda: number(bare, "growth", "sgd", 16, 1024, rows), AIM_OF_PAUSE, repeats=REPEATS)
    for floats, optimizer in ((8, "sgd"), (16, "sgd"), (64, "adam")):
        yield Case(f"memory of a row beyond weights and state, the most from {rows // 10} to {rows} rows, width {floats}, "
                   f"{optimizer}", "B", "lower", lambda: number(own, "memory", optimizer, floats, 64, rows),
                   "limit", lambda: AIM_OF_BYTES, 1.0, repeats=1)


def case(own, bare, what, optimizer, width, batch, rows):
    load = (what, optimizer, width, batch, rows)
    of_optimizer = f", {optimizer}" if what == "push" else ""
    return Case(f"{what} of {batch} ids, width {width}{of_optimizer}, {rows} rows", "M keys/s", "higher",
                lambda: number(own, *load), "bare table", lambda: number(bare, *load), AIM_OF_RATE, repeats=REPEATS)


def several(own, threads, what, batch, rows):
    words = f"{what} of {batch} ids by {threads} threads, width 16{', sgd' if what == 'push' else ''}, {rows} rows"
    if len(os.sched_getaffinity(0)) < threads:
        return Missing(words, f"needs {threads} processors")
    load = (what, "sgd", 16, batch, rows)
    return Case(words, "M keys/s", "higher", lambda: number(own, *load, threads), "one thread",
                lambda: number(own, *load), AIM_OF_TWO * threads / 2, repeats=REPEATS)


def number(program, *load):
    return figure([program, *load], float, limit=LIMIT)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A sparse table that is larger than its limit of memory: keys a second that are pulled and pushed, in one process.

Peer: the same table without a limit. Rows have 16 floats and Adagrad's state, batches 1024 ids, even ones or by
Zipf's law with exponent 1. DTRAIN_SPILL_MEMORY is the limit in bytes (128 MiB) and DTRAIN_SPILL_FOLDER a folder of
the disk (the temporary folder). Memory that the system has left is a cache of the disk's files: for the speed of the
disk itself, the table must be larger than that too.
"""

import os
import tempfile

from harness import Case, built
from ps_table import number

AIM_WHEN_ALL_FITS = 0.9
AIM_BEYOND = 0.05
REPEATS = 1  # each fills a table


def cases(build):
    built(build, "benchmarks/table_spill")
    program = str(build / "benchmarks" / "table_spill")
    memory = int(os.environ.get("DTRAIN_SPILL_MEMORY", 128 << 20))
    folder = os.environ.get("DTRAIN_SPILL_FOLDER", tempfile.gettempdir())
    for ids in ("uniform", "zipf"):
        for times in (1, 2, 4):
            yield case(program, (memory, times, ids, 16, 1024), folder)


def case(program, load, folder):
    memory, times, ids, *_ = load
    return Case(f"pull and push of 1024 {ids} ids, {times}x as many rows as fit into {memory >> 20} MiB", "M keys/s",
                "higher", lambda: number(program, *load, folder), "no limit", lambda: number(program, *load, "-"),
                AIM_WHEN_ALL_FITS if times == 1 else AIM_BEYOND, repeats=REPEATS)

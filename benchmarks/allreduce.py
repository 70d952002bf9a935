# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a sum over the ranks of one machine takes, float32, in place, 4 KB to 256 MB.

Peer: MPI_Allreduce of the same length, in turns with the library in the same processes (allreduce_rounds.cpp).
"""

import os
import shutil
import subprocess

import references
from harness import Case, Unavailable, mpi_environment

SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20]
ROUNDS = 9
AIMS = {"window": {2: 3.0, 4: 1.0}, "foreign": {2: 1.0, 4: 1.0}}  # MPI's time over ours, by ranks
WORDS = {"window": "a buffer of the library", "foreign": "any other buffer"}
LIMIT = 300  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    subprocess.run(["ninja", "-C", build, "benchmarks/allreduce_rounds"], check=True, stdout=subprocess.DEVNULL)
    for ranks in (2, 4):
        for size in SIZES:
            yield from compared(build / "benchmarks/allreduce_rounds", ranks, size)


def compared(program, ranks, size):
    times = rounds(program, ranks, size)
    for name in AIMS:
        yield Case(f"{WORDS[name]}, {in_words(size)} on {ranks} ranks", "calls/s", "higher", turns(times[name]),
                   "MPI_Allreduce", turns(times["mpi"]), AIMS[name][ranks], repeats=ROUNDS - 1,
                   peer_elsewhere=references.ALLREDUCE.get(size) if ranks == 2 else None)


def rounds(program, ranks, size):
    """Calls a second by contender, a value per round."""
    environment = mpi_environment()
    if ranks > len(os.sched_getaffinity(0)):
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # Open MPI collapses without it
    done = subprocess.run(["mpirun", "-np", str(ranks), program, str(size), str(ROUNDS)], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT)
    if done.returncode != 0:
        raise RuntimeError(f"allreduce_rounds {size}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    times = {}
    for line in done.stdout.splitlines():
        name, microseconds = line.split()
        times.setdefault(name, []).append(1e6 / float(microseconds))
    return times


def turns(values):
    left = iter(values)
    return lambda: next(left)


def in_words(size):
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"

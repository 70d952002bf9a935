# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a sum over the ranks of one machine takes, float32, in place, 4 KB to 256 MB.

Peer: MPI_Allreduce of the same length, in turns with the library in the same processes (allreduce_rounds.cpp).
"""

import functools
import os
import shutil
import subprocess

import references
from harness import Case, Unavailable, mpi_environment, turns

SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20]
ROUNDS = 9
PROGRAM = "benchmarks/allreduce_rounds"
AIMS = {"window": {2: 3.0, 4: 1.0}, "foreign": {2: 1.0, 4: 1.0}}  # MPI's time over ours, by ranks
WORDS = {"window": "a buffer of the library", "foreign": "any other buffer"}
LIMIT = 300  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    subprocess.run(["ninja", "-C", build, PROGRAM], check=True, stdout=subprocess.DEVNULL)
    for ranks in (2, 4):
        for size in SIZES:
            yield from compared(here(build / PROGRAM, ranks), size, f"{ranks} ranks",
                                {name: aims[ranks] for name, aims in AIMS.items()},
                                references.ALLREDUCE.get(size) if ranks == 2 else None)


def compared(run, size, where, aims, elsewhere=None):
    times = functools.cache(lambda: rounds(run, size))

    def of(name):
        return turns(lambda: times()[name], float)

    for name, aim in aims.items():
        yield Case(f"{WORDS[name]}, {in_words(size)} on {where}", "calls/s", "higher", of(name), "MPI_Allreduce", of("mpi"),
                   aim, repeats=ROUNDS - 1, peer_elsewhere=elsewhere)


def here(program, ranks):
    """Runs the program's words on that many ranks of this machine."""
    environment = mpi_environment()
    if ranks > len(os.sched_getaffinity(0)):
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # Open MPI collapses without it
    return lambda *words: subprocess.run(["mpirun", "-np", str(ranks), program, *words], env=environment, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=LIMIT)


def rounds(run, size):
    """Calls a second by contender, a value per round."""
    done = run(str(size), str(ROUNDS))
    if done.returncode != 0:
        raise RuntimeError(f"allreduce_rounds {size}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    times = {}
    for line in done.stdout.splitlines():
        name, microseconds = line.split()
        times.setdefault(name, []).append(1e6 / float(microseconds))
    return times


def in_words(size):
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"

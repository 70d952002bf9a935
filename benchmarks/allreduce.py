# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a sum over the ranks of one machine takes, float32, in place, 4 KB to 256 MB.

Peer: MPI_Allreduce of the same length, in turns with the library in the same processes (allreduce_rounds.cpp).
"""

import os
import shutil

import references
from harness import Case, Unavailable, built, mpi_environment, once, parsed, turns
from program_runs import run

SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20]
ROUNDS = 9
PROGRAM = "benchmarks/allreduce_rounds"
AIMS = {"window": {2: 3.0, 4: 1.0}, "foreign": {2: 1.0, 4: 1.0}}  # MPI's time over ours, by ranks
WORDS = {"window": "a buffer of the library", "foreign": "any other buffer"}
LIMIT = 300  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    built(build, PROGRAM)
    for ranks in (2, 4):
        for size in SIZES:
            yield from compared(on_this_machine(build / PROGRAM, ranks), size, f"{ranks} ranks",
                                {name: aims[ranks] for name, aims in AIMS.items()},
                                references.ALLREDUCE.get(size) if ranks == 2 else None)


def compared(start, size, where, aims, elsewhere=None):
    """@param start gives what the program prints"""
    times = once(lambda: parsed(start(size, ROUNDS), rates))

    def of(name):
        return turns(lambda: times()[name], float)

    for name, aim in aims.items():
        yield Case(f"{WORDS[name]}, {as_text(size)} on {where}", "calls/s", "higher", of(name), "MPI_Allreduce", of("mpi"),
                   aim, repeats=ROUNDS - 1, peer_elsewhere=elsewhere, foreign=True)


def on_this_machine(program, ranks):
    """Runs the program's words on that many ranks of this machine."""
    environment = mpi_environment()
    if ranks > len(os.sched_getaffinity(0)):
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # Open MPI collapses without it
    return lambda *words: run(["mpirun", "-np", ranks, program, *words], environment, limit=LIMIT).output


def rates(output):
    """Calls a second by contender, a value per round."""
    times = {}
    for line in output.splitlines():
        name, microseconds = line.split()
        times.setdefault(name, []).append(1e6 / float(microseconds))
    return times


def as_text(size):
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"

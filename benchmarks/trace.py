# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What it costs to record the calls of MPI of a program (--trace-mpi): of a call, of reductions over two ranks, and of them in
steps that compute for 1 ms.

Peer: the same function of the MPI library without the preloaded one in front of it, in turns in the same processes
(trace_rounds.cpp). What a step costs more is also told in percent, with the 95% interval of the mean of all rounds.
"""

import math
import shutil
import statistics
import tempfile

from harness import Case, Unavailable, built, mpi_environment, once, parsed, turns
from program_runs import run

PROGRAM = "benchmarks/trace_rounds"
LIBRARY = "src/trace_mpi/libdtrain_trace_mpi.so"
SIZES = {8: "8 bytes", 4 << 10: "4 KB", 1 << 20: "1 MB"}
ROUNDS = 61
STEP_COMPUTES = 1000  # microseconds
AIM, STEP_AIM = 1.3, 1.005  # our time over that of the MPI library alone
LIMIT = 300  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    built(build, PROGRAM, LIBRARY)
    yield cost_of_a_call(build, "a call that is recorded", True)
    yield cost_of_a_call(build, "a call when nothing is to be recorded", False)
    for size, text in SIZES.items():
        yield compared(build, f"{text} on 2 ranks", 2, size, AIM)
    yield compared(build, "a step of 1 ms and 8 bytes on one rank", 1, 8, STEP_AIM, computes=STEP_COMPUTES)
    for size, text in SIZES.items():
        yield compared(build, f"a step of 1 ms and {text} on 2 ranks", 2, size, STEP_AIM, computes=STEP_COMPUTES)


def cost_of_a_call(build, what, records):
    """On one rank, where the call itself does next to nothing."""
    def differences():
        times = parsed(rounds_of(build, 1, 8, 0, records), times_in)
        return [own - bare for own, bare in zip(times["recorded"], times["bare"])]

    return Case(what, "us", "lower", turns(once(differences), float), "0.5% of a step of 1 ms", lambda: 0.005 * STEP_COMPUTES, 1.0,
                repeats=ROUNDS - 1)


def compared(build, what, ranks, size, aim, computes=0, records=True):
    times = once(lambda: parsed(rounds_of(build, ranks, size, computes, records), times_in))

    def of(name):
        return turns(lambda: times()[name], float)

    return Case(what, "us", "lower", of("recorded"), "the MPI library alone", of("bare"), aim, repeats=ROUNDS - 1,
                note=lambda: percent_more(times()))


def rounds_of(build, ranks, size, computes, records):
    """What the program prints, with the library in front of MPI's in its ranks alone."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        variables = [f"LD_PRELOAD={build / LIBRARY}", *([f"DTRAIN_OPERATION_LOG={folder}"] if records else [])]
        return run(["mpirun", "-np", ranks, "env", *variables, build / PROGRAM, size, ROUNDS, computes], mpi_environment(),
                   limit=LIMIT).output


def times_in(output):
    """Microseconds by contender, a value per round."""
    times = {}
    for line in output.splitlines():
        name, microseconds = line.split()
        times.setdefault(name, []).append(float(microseconds))
    return times


def percent_more(times):
    """The mean of the rounds' differences, without the tenth of them at each end, in which something else ran."""
    differences = sorted(100 * (own - bare) / bare for own, bare in zip(times["recorded"], times["bare"]))
    cut = len(differences) // 10
    kept = differences[cut:len(differences) - cut]
    if len(kept) < 2:
        return ""
    # The error of a trimmed mean is that of the winsorised values (Tukey and McLaughlin, 1963).
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    error = 1.96 * statistics.stdev(winsorised) / ((1 - 2 * cut / len(differences)) * math.sqrt(len(differences)))
    return f"{statistics.mean(kept):+.2f}% +- {error:.2f}%"

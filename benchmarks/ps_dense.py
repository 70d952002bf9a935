# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What the copies cost when a parameter server has its dense parameters on a GPU: steps a second of one trainer that
computes nothing, pushes all gradients and gets all parameters back; Adam on the server, sync mode.

Peer: the same server on the CPU, one thread. A server on a GPU copies each gradient there and each parameter back; what
it can gain is the update's time.
"""

import shutil

from gpu import look_for_gpu
from harness import Case, Unavailable, built, figure, mpi_environment

REPEATS = 5
SIZES = {"1 M": 1 << 20, "16 M": 1 << 24, "64 M": 1 << 26}  # floats
AIM = 1.0
LIMIT = 240  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    names = ("gpu_step", "ps_dense")
    built(build, *(f"benchmarks/{name}" for name in names))
    looks_for_a_gpu, program = (str(build / "benchmarks" / name) for name in names)
    look_for_gpu(build, looks_for_a_gpu)
    for what, floats in SIZES.items():
        yield Case(f"push and pull of {what} floats, server on a GPU", "steps/s", "higher", rate(program, "gpu", floats),
                   "server on the CPU", rate(program, "cpu", floats), AIM, REPEATS)


def rate(program, device, floats):
    command = ["mpirun", "-np", "2", "--bind-to", "none", program, device, floats]
    return lambda: figure(command, float, environment=mpi_environment(), limit=LIMIT)

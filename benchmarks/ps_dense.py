# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What the copies cost when a parameter server has its dense parameters on a GPU: steps a second of one trainer that
computes nothing, pushes all gradients and gets all parameters back; Adam on the server, sync mode.

Peer: the same server on the CPU, one thread. A server on a GPU copies each gradient there and each parameter back; what
it can gain is the update's time.
"""

import shutil
import subprocess

from gpu import look_for_gpu
from harness import Case, Unavailable, mpi_environment

REPEATS = 5
SIZES = {"1 M": 1 << 20, "16 M": 1 << 24, "64 M": 1 << 26}  # floats
AIM = 1.0
LIMIT = 240  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    names = ("gpu_step", "ps_dense")
    subprocess.run(["ninja", "-C", build, *(f"benchmarks/{name}" for name in names)], check=True, stdout=subprocess.DEVNULL)
    looks_for_a_gpu, program = (str(build / "benchmarks" / name) for name in names)
    look_for_gpu(build, looks_for_a_gpu)
    for what, floats in SIZES.items():
        yield Case(f"push and pull of {what} floats, server on a GPU", "steps/s", "higher", rate(program, "gpu", floats),
                   "server on the CPU", rate(program, "cpu", floats), AIM, REPEATS)


def rate(program, device, floats):
    def measured():
        command = ["mpirun", "-np", "2", "--bind-to", "none", program, device, str(floats)]
        done = subprocess.run(command, env=mpi_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=LIMIT)
        if done.returncode != 0:
            raise RuntimeError(f"{command}: exit status {done.returncode}\n{done.stderr[-2000:]}")
        return float(done.stdout)
    return measured

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""All-reduce over NCCL between the GPUs of this machine, float32 in place, 64 KB to 1 GB, one process for each GPU.

Peer: all_reduce_perf of NVIDIA's nccl-tests, from PATH or DTRAIN_NCCL_TESTS (the program, or its folder), on the same GPUs
from one process. Both tell the mean of 20 sums in a row; the library's buffer is one that it has registered with NCCL.
"""

import os
import shutil
import subprocess
from pathlib import Path

from allreduce import as_text
from harness import Case, Failed, Unavailable, built, figure, mpi_environment, parsed
from program_runs import run, why

SIZES = [64 << 10, 1 << 20, 16 << 20, 128 << 20, 1 << 30]
AIM = 0.97
REPEATS = 5
NO_GPU = 77
TOOL = "all_reduce_perf"
LIMIT = 300  # seconds


def cases(build):
    built(build, "benchmarks/nccl_allreduce")
    yield from compared(build / "benchmarks/nccl_allreduce", os.environ)


def compared(program, environment):
    """@param program that does what nccl_allreduce does"""
    gpus, tool = gpus_of(program), find_tool(environment)
    for size in SIZES:
        yield Case(f"{as_text(size)} on {gpus} GPUs", "GB/s", "higher", own(program, gpus, size), "nccl-tests",
                   peer(tool, gpus, size), AIM, REPEATS, foreign=True)


def gpus_of(program):
    """@raise Unavailable when there are not several"""
    done = subprocess.run([program, "--gpus"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT)
    if done.returncode == NO_GPU:
        raise Unavailable(done.stderr.strip())
    if done.returncode != 0:
        raise Failed(f"{program} --gpus: {why(done.returncode, done.stderr)}")
    if (gpus := parsed(done.stdout, int)) < 2:
        raise Unavailable("NCCL's all-reduce is measured between two GPUs or more, and this process sees one")
    return gpus


def find_tool(environment):
    """@raise Unavailable when nccl-tests is not there"""
    setting = environment.get("DTRAIN_NCCL_TESTS", "")
    if not setting:
        found = shutil.which(TOOL, path=environment.get("PATH"))
        if found is None:
            raise Unavailable(f"needs nccl-tests: {TOOL} in PATH, or its folder in DTRAIN_NCCL_TESTS")
        return Path(found)
    tool = Path(setting) / TOOL if Path(setting).is_dir() else Path(setting)
    if not os.access(tool, os.X_OK):
        raise Unavailable(f"DTRAIN_NCCL_TESTS is '{setting}', where no {TOOL} can be run")
    return tool


def own(program, gpus, size):
    command = ["mpirun", "-np", gpus, program, size]
    return lambda: bandwidth(size, figure(command, float, environment=mpi_environment(), limit=LIMIT))


def peer(tool, gpus, size):
    words = [tool, "-b", size, "-e", size, "-g", gpus, "-w", "5", "-n", "20", "-c", "1"]

    def measure():
        output = run(words, mpi_environment(), limit=LIMIT).output
        return bandwidth(size, parsed(output, lambda text: in_place_times(text)[size]))
    return measure


def in_place_times(output):
    """Microseconds by bytes. @raise Failed for an output without times, or with wrong sums"""
    columns, times = [], {}
    for line in output.splitlines():
        words = line.split()
        if words[:2] == ["#", "size"]:
            columns = words[1:]
        elif columns and len(words) == len(columns) and words[0].isdigit():
            if words[-1] not in ("0", "N/A"):  # N/A: not looked at
                raise Failed(f"{TOOL}: {words[-1]} wrong values of {words[0]} bytes")
            last = len(columns) - 1 - columns[::-1].index("time")  # those out of place come first
            times[int(words[0])] = float(words[last])
    if not times:
        raise Failed(f"{TOOL} told no times", output)
    return times


def bandwidth(size, microseconds):
    """GB/s of what each rank adds, nccl-tests' algbw."""
    return size / microseconds / 1e3

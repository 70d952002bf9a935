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

from allreduce import in_words
from harness import Case, Unavailable, mpi_environment

SIZES = [64 << 10, 1 << 20, 16 << 20, 128 << 20, 1 << 30]
AIM = 0.97
REPEATS = 5
NO_GPU = 77
TOOL = "all_reduce_perf"
LIMIT = 300  # seconds


def cases(build):
    subprocess.run(["ninja", "-C", build, "benchmarks/nccl_allreduce"], check=True, stdout=subprocess.DEVNULL)
    yield from compared(build / "benchmarks/nccl_allreduce", os.environ)


def compared(program, environment):
    """@param program that does what nccl_allreduce does"""
    gpus, tool = gpus_of(program), find_tool(environment)
    for size in SIZES:
        yield Case(f"{in_words(size)} on {gpus} GPUs", "GB/s", "higher", own(program, gpus, size), "nccl-tests",
                   peer(tool, gpus, size), AIM, REPEATS)


def gpus_of(program):
    """@raise Unavailable when there are not several"""
    told = subprocess.run([program, "--gpus"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT)
    if told.returncode == NO_GPU:
        raise Unavailable(told.stderr.strip())
    if told.returncode != 0:
        raise RuntimeError(f"{program} --gpus: exit status {told.returncode}\n{told.stderr[-2000:]}")
    if int(told.stdout) < 2:
        raise Unavailable("NCCL's all-reduce is measured between two GPUs or more, and this process sees one")
    return int(told.stdout)


def find_tool(environment):
    """@raise Unavailable when nccl-tests is not there"""
    said = environment.get("DTRAIN_NCCL_TESTS", "")
    if not said:
        found = shutil.which(TOOL, path=environment.get("PATH"))
        if found is None:
            raise Unavailable(f"needs nccl-tests: {TOOL} in PATH, or its folder in DTRAIN_NCCL_TESTS")
        return Path(found)
    tool = Path(said) / TOOL if Path(said).is_dir() else Path(said)
    if not os.access(tool, os.X_OK):
        raise Unavailable(f"DTRAIN_NCCL_TESTS is '{said}', where no {TOOL} can be run")
    return tool


def own(program, gpus, size):
    return lambda: bandwidth(size, float(output_of(["mpirun", "-np", str(gpus), str(program), str(size)])))


def peer(tool, gpus, size):
    words = [str(tool), "-b", str(size), "-e", str(size), "-g", str(gpus), "-w", "5", "-n", "20", "-c", "1"]
    return lambda: bandwidth(size, in_place_times(output_of(words))[size])


def output_of(command):
    done = subprocess.run(command, env=mpi_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=LIMIT)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def in_place_times(output):
    """Microseconds by bytes. @raise RuntimeError for an output without times, or with wrong sums"""
    columns, times = [], {}
    for line in output.splitlines():
        words = line.split()
        if words[:2] == ["#", "size"]:
            columns = words[1:]
        elif columns and len(words) == len(columns) and words[0].isdigit():
            if words[-1] not in ("0", "N/A"):  # N/A: not looked at
                raise RuntimeError(f"{TOOL}: {words[-1]} wrong values of {words[0]} bytes")
            last = len(columns) - 1 - columns[::-1].index("time")  # those out of place come first
            times[int(words[0])] = float(words[last])
    if not times:
        raise RuntimeError(f"{TOOL} told no times:\n{output[-2000:]}")
    return times


def bandwidth(size, microseconds):
    """GB/s of what each rank adds, nccl-tests' algbw."""
    return size / microseconds / 1e3

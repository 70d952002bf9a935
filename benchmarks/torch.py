# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed on the back end dtrain: operations of tensors of torch's own memory, and DistributedDataParallel.

Peers: gloo in the same processes, in turns; the same training without any exchange; torchrun. Needs an interpreter with
torch, which DTRAIN_COMPAT_PYTHON names.
"""

import os
import tempfile
from pathlib import Path

import mlp
from harness import Case, Unavailable, built, mpi_environment, once, parsed, turns, wall_time
from program_runs import run, why_no_import

HERE = Path(__file__).resolve().parent
IN_ALL = False
ROUNDS, REPEATS = 7, 5
SIZES = [1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26]
LARGEST = SIZES[-1]
LIMIT = 900  # seconds
AIMS = {2: {"all_reduce": 8.0}, 4: {"all_reduce": 4.0}}
OTHERS = 4.0  # all_gather ..., from 64 KiB
DDP = {"small": (3.0, 0.9), "big": (1.0, 0.97)}  # of gloo's rate, and of the rate without an exchange


def interpreter(build):
    """One with torch; the library is built."""
    python = os.environ.get("DTRAIN_COMPAT_PYTHON")
    if python is None:
        raise Unavailable("DTRAIN_COMPAT_PYTHON names no interpreter")
    if reason := why_no_import(python, "torch"):
        raise Unavailable(f"{python} cannot import torch: {reason}")
    built(build, "src/libdtrain.so.0.2.0", "src/bin/dtrain-run")
    return python


def environment_of(build):
    return {"PYTHONPATH": str(HERE.parent / "python"), "DTRAIN_LIBRARY": str(build / "src/libdtrain.so.0")}


def cases(build):
    python = interpreter(build)
    os.environ.update(environment_of(build))
    for ranks in (2, 4):
        yield from operations(python, ranks)
    for model, (of_gloo, alone) in DDP.items():
        own = mlp.rate(2, [python, HERE / "peers/mlp.py", model, "torch-dtrain"])
        yield Case(f"{model} model by DistributedDataParallel on two ranks", "steps/s", "higher", own, "gloo",
                   mlp.rate(2, [python, HERE / "peers/mlp.py", model, "torch-ddp"]), of_gloo, REPEATS, foreign=True)
        yield Case(f"{model} model by DistributedDataParallel on two ranks", "steps/s", "higher", own, "without exchange",
                   mlp.rate(2, [python, HERE / "peers/mlp.py", model, "torch"]), alone, REPEATS, foreign=True)
    yield starting(python, build)


def operations(python, ranks):
    environment = {**mpi_environment(), "OMP_NUM_THREADS": "1"}
    if ranks > len(os.sched_getaffinity(0)):
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    start = 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE MASTER_ADDR=127.0.0.1 MASTER_PORT=29513 exec "$@"'
    command = ["mpirun", "-np", ranks, "--bind-to", "none", "sh", "-c", start, "sh", python,
               HERE / "peers/torch_operations.py", ROUNDS, LARGEST]
    times = once(lambda: parsed(run(command, environment, limit=LIMIT).output, rates))
    yield from cases_of(times, LARGEST, f"{ranks} ranks",
                        lambda name, size: AIMS[ranks].get(name, OTHERS if size >= 1 << 16 else 1.0))


def cases_of(times, largest, where, aim):
    """@param times a function with what rates() gives @param aim of an operation and bytes"""
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"):
        for size in (size for size in SIZES if size <= largest):
            def of(back_end, what=(name, size)):
                return turns(lambda: times()[(*what, back_end)], float)

            yield Case(f"{name} of {as_text(size)} on {where}", "calls/s", "higher", of("dtrain"), "gloo", of("gloo"),
                       aim(name, size), repeats=ROUNDS - 1, foreign=True)


def rates(output):
    """Calls a second by operation, bytes and back end, a value per round."""
    found = {}
    for line in output.splitlines():
        name, size, back_end, microseconds = line.split()
        found.setdefault((name, int(size), back_end), []).append(1e6 / float(microseconds))
    return found


def as_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def starting(python, build):
    """An empty script on two ranks."""
    environment = {**mpi_environment(), "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"}

    def seconds(*launcher):
        def measure():
            with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as folder:
                (Path(folder) / "empty.py").touch()
                return wall_time([*launcher, "--nproc-per-node", "2", Path(folder) / "empty.py"], environment, folder)
        return measure

    return Case("an empty script on 2 ranks", "s", "lower", seconds(build / "src/bin/dtrain-run"), "torchrun",
                seconds(python, "-m", "torch.distributed.run"), 0.1, REPEATS, foreign=True)

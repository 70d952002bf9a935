# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the click-through job of examples/ctr.toml trains with a parameter server, batches of 512 on each trainer.

Real jobs of dtrain-worker on a log that examples/make_clicks.py makes; the steps of all trainers count. Peer: one
process that trains without a server.
"""

import os
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from harness import Case, Failed, Unavailable, built, mpi_environment
from program_runs import run

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BATCH = 512
SAMPLES = 100_000
EPOCHS = 4
REPEATS = 3
AIMS = {1: 0.5, 2: 0.8}  # by trainers
LIMIT = 300  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    built(build, "src/bin/dtrain-worker", "src/libexec/dtrain/dtrain-native")
    with tempfile.TemporaryDirectory() as folder:
        run([sys.executable, EXAMPLES / "make_clicks.py", "--train", SAMPLES, "--test", SAMPLES // 50, Path(folder) / "clicks"])
        worker = build / "src/bin/dtrain-worker"
        alone = rate(worker, job_file(folder, None), 1)
        for mode in ("sync", "half_async", "async", "geo"):
            for trainers, aim in AIMS.items():
                yield Case(f"{mode}, one server, {trainers} trainer{'s' * (trainers > 1)}", "steps/s", "higher",
                           rate(worker, job_file(folder, mode), 1 + trainers), "one process without a server", alone, aim,
                           REPEATS)


def job_file(folder, mode):
    text = (EXAMPLES / "ctr.toml").read_text().partition("[checkpoint]")[0]
    for old, new in ((r"^global_batch = .*", f"batch = {BATCH}"), (r"^epochs = .*", f"epochs = {EPOCHS}")):
        text, found = re.subn(old, new, text, flags=re.MULTILINE)
        if found != 1:
            raise RuntimeError(f"ctr.toml has {found} lines like '{old}'")
    if mode:
        text += f'[servers]\ncount = 1\nmode = "{mode}"\n'
    path = Path(folder) / f"{mode or 'alone'}.toml"
    path.write_text(text)
    return path


def rate(worker, job, ranks):
    """Steps a second of the median epoch."""
    environment = {**mpi_environment(), "OMP_NUM_THREADS": "1"}
    if ranks > len(os.sched_getaffinity(0)):
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # Open MPI collapses without it

    def measure():
        output = run(["mpirun", "-np", ranks, "--bind-to", "none", worker, job], environment, job.parent, LIMIT).output
        epochs = re.findall(r"^ +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +(\d+) +[\d.]+$", output, flags=re.MULTILINE)
        if len(epochs) != EPOCHS:
            raise Failed(f"{job.name}: it told {len(epochs)} epochs of {EPOCHS}", output)
        return statistics.median(map(float, epochs)) / BATCH
    return measure

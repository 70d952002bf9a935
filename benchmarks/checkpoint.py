# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a state of 2 GB takes to disk, fsync included, and back; what checkpoints cost a job that trains meanwhile.

Peers: dd with 4 MiB blocks and conv=fsync; torch.load where the interpreter that DTRAIN_COMPAT_PYTHON names has torch;
a minute of the same job without the checkpoint in its middle.
--size MB takes another size; the files lie in a folder below TMPDIR, and are removed.
"""

import math
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import references
from harness import Case, Missing, Unavailable

AIM_TO_DD = 1.0
AIM_TO_TORCH = 2.0
AIM_OF_A_MINUTE = 1.05
REPEATS = 5
MINUTES = 3  # with a checkpoint, and as many without
# 34 million parameters and Adam: a state of 408 MB; 88 steps an epoch.
JOB = """
model = {{ hidden = [4096, 4096, 4096] }}
data = {{ train = {{ file = "{digits}", x = "train/x", y = "train/y" }}, scale = 0.0625 }}
train = {{ epochs = {epochs}, batch = 16 }}
checkpoint = {{ dir = "checkpoints", every_steps = {every_steps}, keep = 1 }}
"""
STEPS = 88
TORCH_SAVE = """
import sys, torch
rows = int(sys.argv[2]) * (1 << 20) // 4 // 16 // 1024
torch.save({f"w{i:02}": torch.arange(rows * 1024, dtype=torch.float32).reshape(rows, 1024) % 8191 + i for i in range(16)}, sys.argv[1])
"""
TORCH_LOAD = """
import sys, time, torch
start = time.perf_counter()
state = torch.load(sys.argv[1])
print(time.perf_counter() - start)
"""


def cases(build, megabytes=2048):
    subprocess.run(["ninja", "-C", build, "benchmarks/checkpoint_state"], check=True, stdout=subprocess.DEVNULL)
    state = str(build / "benchmarks/checkpoint_state")
    with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 4 * megabytes << 20:
            raise Unavailable(f"{folder.parent} has less free than 4 x {megabytes} MB; TMPDIR names another folder")
        size = f"{megabytes} MB"
        yield Case(f"{size} written and synced", "MB/s", "higher", lambda: rate(megabytes, save(state, folder, megabytes)),
                   "dd bs=4M conv=fsync", lambda: rate(megabytes, dd(folder, megabytes)), AIM_TO_DD, repeats=REPEATS,
                   peer_elsewhere=references.DD)
        yield from reload(state, folder, megabytes)
        yield minute(build, folder)


def rate(megabytes, seconds):
    return megabytes * (1 << 20) / 1e6 / seconds


def own(*command):
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def save(state, folder, megabytes):
    target = folder / "ours"
    target.mkdir()
    try:
        return own(state, "save", target, str(megabytes))
    finally:
        shutil.rmtree(target)


def dd(folder, megabytes):
    target = folder / "dd"
    try:
        told = subprocess.run(["dd", "if=/dev/zero", f"of={target}", "bs=4M", f"count={megabytes // 4}", "conv=fsync"],
                              check=True, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    finally:
        target.unlink(missing_ok=True)
    return float(re.search(r"copied, ([\d.e+-]+) s", told)[1])


def reload(state, folder, megabytes):
    what = f"{megabytes} MB read back"
    python = os.environ.get("DTRAIN_COMPAT_PYTHON")
    if python is None:
        yield Missing(f"{what} against torch.load", "DTRAIN_COMPAT_PYTHON names no interpreter")
        return
    if subprocess.run([python, "-c", "import torch"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        yield Missing(f"{what} against torch.load", f"{python} cannot import torch")
        return
    subprocess.run([python, "-c", TORCH_SAVE, folder / "state.pt", str(megabytes)], check=True)
    own(state, "save", folder, str(megabytes))
    for how, action in (("into a job's state", "restore"), ("into new memory", "load")):
        yield Case(f"{what} {how}", "MB/s", "higher", lambda: rate(megabytes, own(state, action, folder, str(megabytes))),
                   "torch.load", lambda: rate(megabytes, own(python, "-c", TORCH_LOAD, folder / "state.pt")), AIM_TO_TORCH,
                   repeats=REPEATS)


def minute(build, folder):
    subprocess.run(["ninja", "-C", build, "src/libexec/dtrain/dtrain-native"], check=True, stdout=subprocess.DEVNULL)
    native = str(build / "src/libexec/dtrain/dtrain-native")
    epochs = math.ceil(60 / train(native, folder, 1, 0))
    return Case("a minute of training with an asynchronous checkpoint of 408 MB", "s", "lower",
                lambda: train(native, folder, epochs, 1), "without it", lambda: train(native, folder, epochs, 0),
                AIM_OF_A_MINUTE, repeats=MINUTES)


def train(native, folder, epochs, checkpoints):
    """Seconds until the last epoch is done; the checkpoint after it, which every job writes, is not counted."""
    steps = epochs * STEPS
    digits = Path(__file__).resolve().parents[1] / "examples/digits.h5"
    job = folder / "job.toml"
    job.write_text(JOB.format(digits=digits, epochs=epochs, every_steps=steps // 2 + 1 if checkpoints else 2 * steps))
    told = subprocess.run([native, job], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    shutil.rmtree(folder / "checkpoints")
    rows = [line.split() for line in told.splitlines() if re.match(r" +\d+ ", line)]
    assert len(rows) == epochs, told
    return float(rows[-1][-1])

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
import tempfile
from pathlib import Path

import references
from harness import Case, Failed, Missing, Unavailable, built, figure, once, parsed
from program_runs import run, why_no_import

AIM_TO_DD = 1.0
AIM_TO_TORCH = 2.0
AIM_OF_A_MINUTE = 1.05
REPEATS = 5
MINUTES = 3  # with a checkpoint, and as many without
LIMIT = 600  # seconds
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
    built(build, "benchmarks/checkpoint_state")
    state = str(build / "benchmarks/checkpoint_state")
    with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 4 * megabytes << 20:
            raise Unavailable(f"{folder.parent} has less free than 4 x {megabytes} MB; TMPDIR names another folder")
        size = f"{megabytes} MB"
        yield Case(f"{size} written and synced", "MB/s", "higher", lambda: rate(megabytes, save(state, folder, megabytes)),
                   "dd bs=4M conv=fsync", lambda: rate(megabytes, dd(folder, megabytes)), AIM_TO_DD, repeats=REPEATS,
                   peer_elsewhere=references.DD, foreign=True)
        yield from reload(state, folder, megabytes)
        yield minute(build, folder)


def rate(megabytes, seconds):
    return megabytes * (1 << 20) / 1e6 / seconds


def own(*command):
    return figure(command, float, limit=LIMIT)


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
        return seconds_of_dd("if=/dev/zero", f"of={target}", "bs=4M", f"count={megabytes // 4}", "conv=fsync")
    finally:
        target.unlink(missing_ok=True)


def seconds_of_dd(*arguments):
    errors = run(["dd", *arguments], {**os.environ, "LC_ALL": "C"}, limit=LIMIT).errors
    return parsed(errors, lambda text: float(re.search(r"copied, ([\d.e+-]+) s", text)[1]))


def reload(state, folder, megabytes):
    what = f"{megabytes} MB read back"
    python = os.environ.get("DTRAIN_COMPAT_PYTHON")
    if python is None:
        yield Missing(f"{what} against torch.load", "DTRAIN_COMPAT_PYTHON names no interpreter")
        return
    if reason := why_no_import(python, "torch"):
        yield Missing(f"{what} against torch.load", f"{python} cannot import torch: {reason}")
        return
    saved = once(lambda: own(state, "save", folder, str(megabytes)))
    saved_by_torch = once(lambda: run([python, "-c", TORCH_SAVE, folder / "state.pt", megabytes], limit=LIMIT))

    def ours(action):
        saved()
        return rate(megabytes, own(state, action, folder, str(megabytes)))

    def torchs():
        saved_by_torch()
        return rate(megabytes, own(python, "-c", TORCH_LOAD, folder / "state.pt"))

    for how, action in (("into a job's state", "restore"), ("into new memory", "load")):
        yield Case(f"{what} {how}", "MB/s", "higher", lambda action=action: ours(action), "torch.load", torchs, AIM_TO_TORCH,
                   repeats=REPEATS, foreign=True)


def minute(build, folder):
    built(build, "src/libexec/dtrain/dtrain-native")
    native = str(build / "src/libexec/dtrain/dtrain-native")
    epochs = once(lambda: math.ceil(60 / train(native, folder, 1, 0)))
    return Case("a minute of training with an asynchronous checkpoint of 408 MB", "s", "lower",
                lambda: train(native, folder, epochs(), 1), "without it", lambda: train(native, folder, epochs(), 0),
                AIM_OF_A_MINUTE, repeats=MINUTES)


def train(native, folder, epochs, checkpoints):
    """Seconds until the last epoch is done; the checkpoint after it, which every job writes, is not counted."""
    steps = epochs * STEPS
    digits = Path(__file__).resolve().parents[1] / "examples/digits.h5"
    job = folder / "job.toml"
    job.write_text(JOB.format(digits=digits, epochs=epochs, every_steps=steps // 2 + 1 if checkpoints else 2 * steps))
    output = run([native, job], directory=folder, limit=LIMIT).output
    shutil.rmtree(folder / "checkpoints")
    rows = [line.split() for line in output.splitlines() if re.match(r" +\d+ ", line)]
    if len(rows) != epochs:
        raise Failed(f"{native} told {len(rows)} epochs of {epochs}", output)
    return parsed(rows, lambda lines: float(lines[-1][-1]))

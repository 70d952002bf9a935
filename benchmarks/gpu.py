# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the documents' MLP trains on a GPU, Adam, each step with a batch from memory of the host.

Peers: the step's bare matrix products by cuBLASLt in one CUDA graph; this very model on one core of the CPU; the most that
the documents tell of one GPU of theirs, which is a number and not measured beside.
"""

import os
import subprocess

from harness import Case, Unavailable, built
from mlp import rate

REPEATS = 5
NO_GPU = 77
DOCUMENTS = 1500.0  # steps/s, the most that their example prints on one GPU
AIMS = {"small": 0.1, "big": 0.8}  # of bare products: a small step is many small operators besides


def look_for_gpu(build, program):
    """@raise Unavailable when there is none for `program`, which is gpu_step"""
    module = build / "src/gpu/libdtrain_gpu.so"
    if "DTRAIN_GPU_MODULE" not in os.environ:
        if not module.exists():
            raise Unavailable("dtrain was built without CUDA")
        os.environ["DTRAIN_GPU_MODULE"] = str(module)
    tried = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600)
    if tried.returncode == NO_GPU:
        raise Unavailable(tried.stderr.strip())


def cases(build):
    names = ("gpu_step", "mlp_step")
    built(build, *(f"benchmarks/{name}" for name in names))
    own, on_cpu = (build / "benchmarks" / name for name in names)
    look_for_gpu(build, own)

    yield Case("small model", "steps/s", "higher", rate(None, [own, "small", "float32"]), "the documents' on one GPU",
               lambda: DOCUMENTS, 20, REPEATS)
    yield Case("small model", "steps/s", "higher", rate(None, [own, "small", "float32"]), "one core of the CPU",
               rate(1, [on_cpu, "small"]), 10, REPEATS)
    for model, aim in AIMS.items():
        for numbers in ("float32", "bfloat16", "float16"):
            yield Case(f"{model} model with products of {numbers}", "steps/s", "higher", rate(None, [own, model, numbers]),
                       "bare float32 products", rate(None, [own, model, "products"]), aim, REPEATS)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast a network of libtorch trains on two ranks: gradients averaged by dtrain.

Peers: one all-reduce a step by libtorch's own process group (gloo); the same network without any exchange. Needs Debian's
libtorch-dev, libgloo-dev and, for matrix products at full speed, libopenblas0-pthread.
"""

import os
from pathlib import Path

from harness import Case, Unavailable
from mlp import rate
from program_runs import run

HERE = Path(__file__).resolve().parent
REPEATS = 5
HEADERS = "/usr/include/torch/csrc/api/include"
NEEDED = (Path(HEADERS) / "torch/torch.h", Path("/usr/include/gloo/context.h"))


def cases(build):
    for header in NEEDED:
        if not header.exists():
            raise Unavailable(f"{header} is missing (Debian packages libtorch-dev and libgloo-dev)")
    program = compiled(build)
    for model in ("small", "big"):
        own = rate(2, [program, model, "averaging"])
        yield Case(f"{model} model on two ranks", "steps/s", "higher", own, "gloo", rate(2, [program, model, "gloo"]), 1.0, REPEATS,
                   foreign=True)
        yield Case(f"{model} model on two ranks, per rank", "steps/s", "higher", own, "without exchange",
                   rate(2, [program, model, "alone"]), 0.95, REPEATS)


def compiled(build):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    program = build / "benchmarks" / "libtorch_step"
    run(["g++", "-std=c++20", "-O2", HERE / "libtorch_step.cpp", "-o", program, f"-I{HERE}", f"-I{HERE.parent / 'include'}",
         f"-I{build / 'include'}", f"-I{HEADERS}", "-DUSE_C10D", "-DUSE_DISTRIBUTED", "-DUSE_C10D_GLOO",
         f"-L{build / 'src'}", "-ldtrain", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{build / 'src'}"])
    return program

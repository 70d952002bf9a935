# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the documents' MLP trains, one thread per rank, float32 (or with products of bfloat16), Adam.

Peers: the step's bare matrix products by oneDNN; this very program on one rank; PyTorch and Paddle where the
interpreter that DTRAIN_COMPAT_PYTHON names has them.
"""

import os
from pathlib import Path

import references
from harness import Case, Missing, built, figure, mpi_environment
from program_runs import why_no_import

HERE = Path(__file__).resolve().parent
REPEATS = 5
LIMIT = 600  # seconds
ONE_RANK = {"torch-fused": 2.5, "torch": 2.5, "torch-compile": 2.5, "paddle": 2.5, "paddle-static": 2.5}
# The big model's products alone take most of a step.
TWO_RANKS = {"small": {"torch-ddp": 9.0, "torch-mpi": 4.0, "paddle-ddp": 14.0},
             "big": {"torch-ddp": 2.5, "torch-mpi": 2.5, "paddle-ddp": 2.5}}
MODULES = {"torch-mpi": "torch, mpi4py"}  # that a way imports; else what its name begins with
OWN_COPIES = 0.9  # as jobs are that say nothing of one_copy
BFLOAT16 = 1.4  # times the rate with float32, of the model whose step is matrix products
VIRTUAL_REPEATS = 3
UNBOUND = 1 / 1.3  # of the rate with OMP_NUM_THREADS=1, where no rank is bound and nobody says how many threads it has
VIRTUAL_RANKS = {1: 0.6, 2: 0.6, 4: 0.5}  # of each rank, and what of the rate should be left


def cases(build):
    programs = {name: build / "benchmarks" / name for name in ("mlp_step", "bare_products")}
    built(build, *(f"benchmarks/{name}" for name in programs))
    own, products = programs["mlp_step"], programs["bare_products"]
    for model, aims in (("small", (None, 0.97)), ("big", (1 / 1.1, 0.95))):
        if aims[0]:
            yield Case(f"{model} model on one rank", "steps/s", "higher", rate(1, [own, model]),
                       "bare oneDNN products", rate(None, [products, model]), aims[0], REPEATS)
        yield Case(f"{model} model on two ranks, per rank", "steps/s", "higher", rate(2, [own, model]), "on one rank",
                   rate(1, [own, model]), aims[1], REPEATS)
        yield Case(f"{model} model on two ranks without one copy, per rank", "steps/s", "higher",
                   rate(2, [own, model, "overlap"]), "on one rank", rate(1, [own, model]), OWN_COPIES, REPEATS)
        if model == "big":
            for ranks in (1, 2):
                yield with_bfloat16(model, ranks, own)
        if model == "small":
            for ranks in (2, 3, 4):
                yield Case(f"{model} model on {of(ranks)} that are not bound", "steps/s", "higher",
                           unbound(ranks, [own, model, "own-threads"]), "OMP_NUM_THREADS=1",
                           unbound(ranks, [own, model, "own-threads"], OMP_NUM_THREADS="1"), UNBOUND, REPEATS)
        for ranks in (1, 2):
            for each, aim in VIRTUAL_RANKS.items():
                yield Case(f"{model} model on {of(ranks)} with {each * ranks} virtual ranks", "steps/s", "higher",
                           rate(ranks, [own, model, f"virtual-{each}"]), "without",
                           rate(ranks, [own, model, "overlap"]), aim, VIRTUAL_REPEATS)
        for way, aim in ONE_RANK.items():
            yield against(way, model, 1, own, aim)
        for way, aim in TWO_RANKS[model].items():
            yield against(way, model, 2, own, aim)


def of(ranks):
    return "one rank" if ranks == 1 else f"{ranks} ranks"


def with_bfloat16(model, ranks, own):
    what = f"{model} model on {of(ranks)} with products of bfloat16"
    if not {"avx512_bf16", "amx_bf16"} & set(Path("/proc/cpuinfo").read_text().split()):
        return Missing(what, "this CPU has neither AVX512-BF16 nor AMX")
    return Case(what, "steps/s", "higher", rate(ranks, [own, model, "bfloat16"]), "float32",
                rate(ranks, [own, model]), BFLOAT16, REPEATS)


def rate(ranks, command):
    environment = {**mpi_environment(), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    words = list(command)
    if ranks is not None:
        words = ["mpirun", "-np", ranks, "--bind-to", "core" if ranks <= os.cpu_count() else "none", *words]
    return lambda: figure(words, environment=environment, limit=LIMIT)


def unbound(ranks, command, **variables):
    environment = {**mpi_environment(), **variables}
    if not variables:
        environment.pop("OMP_NUM_THREADS", None)
    return lambda: figure(["mpirun", "-np", ranks, "--bind-to", "none", *command], environment=environment, limit=LIMIT)


def against(way, model, ranks, own, aim):
    what = f"{model} model on {of(ranks)} against {way}"
    python = os.environ.get("DTRAIN_COMPAT_PYTHON")
    if python is None:
        return Missing(what, "DTRAIN_COMPAT_PYTHON names no interpreter")
    modules = MODULES.get(way, way.split("-")[0])
    if reason := why_no_import(python, modules):
        return Missing(what, f"{python} cannot import {modules}: {reason}")
    return Case(what, "steps/s", "higher", rate(ranks, [own, model]), way,
                rate(ranks, [python, HERE / "peers" / "mlp.py", model, way]), aim, REPEATS,
                references.MLP.get((model, way)), foreign=True)

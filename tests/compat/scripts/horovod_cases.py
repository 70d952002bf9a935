# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs Horovod's own cases for torch, test/parallel/test_torch.py of its sources, with the import of a script that moves to
dtrain. argv: that file, and where each rank writes {case: [outcome, reason]} as FILE.RANK.json; then names of cases, or none
for all on CPUs.

Horovod's helpers need packages that are not needed here (mock, cloudpickle, its launcher): those that the cases call are below.
After each case the ranks begin anew, so that one that fails on a rank does not disturb the next.
"""
import contextlib
import faulthandler
import json
import os
import sys
import tempfile
import types
import unittest

import torch

import dtrain.horovod.torch as hvd

LIMIT_S = int(os.environ.get("HOROVOD_CASE_LIMIT", "120"))
#: Need GPUs, or what is not done: docs/python.md
LEFT_OUT = ("gpu", "model_parallelism", "delta_optimizer", "sync_batch_norm")


def rank_and_size():
    return int(os.environ.get("OMPI_COMM_WORLD_RANK", 0)), int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))


@contextlib.contextmanager
def temppath():
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "file")


def skip(case, message):
    case.skipTest(message)


def cases_of(path):
    """The test class of a file, over dtrain."""
    sys.modules["common"] = types.ModuleType("common")
    vars(sys.modules["common"]).update(mpi_env_rank_and_size=rank_and_size, temppath=temppath, skip_or_fail_gpu_test=skip)
    if hasattr(torch.optim, "Muon"):
        torch.optim.Muon.__module__ = "newer"  # cases try all optimizers that have torch's module; this one refuses biases
    if not hasattr(torch, "FatalError"):
        torch.FatalError = RuntimeError
    with open(path, encoding="utf-8") as file:
        text = file.read()
    changed = text.replace("import horovod.torch as hvd", "import dtrain.horovod.torch as hvd")
    assert changed != text, f"{path} does not import horovod.torch"
    module = types.ModuleType("cases")
    module.__file__ = path
    sys.modules["cases"] = module
    exec(compile(changed, path, "exec"), vars(module))
    return module.TorchTests


def outcome(case):
    result = unittest.TestResult()
    case.run(result)
    if result.skipped:
        return "skipped", result.skipped[0][1]
    wrong = result.errors + result.failures
    return ("failed", wrong[0][1]) if wrong else ("passed", "")


def main(path, report, *names):
    kind = cases_of(path)
    chosen = names or [name for name in unittest.defaultTestLoader.getTestCaseNames(kind)
                       if not any(part in name for part in LEFT_OUT)]
    rank = rank_and_size()[0]
    outcomes = {}
    for name in chosen:
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        outcomes[name] = ["unfinished", ""]
        with open(f"{report}.{rank}.json", "w", encoding="utf-8") as file:
            json.dump(outcomes, file)
        outcomes[name] = outcome(kind(name))
        hvd.shutdown()
    faulthandler.cancel_dump_traceback_later()
    with open(f"{report}.{rank}.json", "w", encoding="utf-8") as file:
        json.dump(outcomes, file)


main(*sys.argv[1:])

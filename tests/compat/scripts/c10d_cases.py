# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own cases of torch.distributed (DistributedTest of the installed torch) on CPUs: over gloo, and those that pass
there over dtrain, whose name then stands wherever the cases say "gloo".

    c10d_cases.py RANKS FOLDER [CASE...]    outcomes: FOLDER/gloo.json and FOLDER/dtrain.json

Each case has processes of its own; C10D_CASE_LIMIT (60) is how many seconds it may take."""
import importlib.util
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

CASES = "torch.testing._internal.distributed.distributed_test"
#: What DDP logs of gloo's own settings
OF_GLOO_ALONE = 'ddp_logging_data.get("backend_name") == "gloo"'


def loaded(backend):
    """PyTorch's module of cases, for a back end."""
    from torch.testing._internal import common_distributed
    for feature, names in common_distributed.DistTestCases.backend_feature.items():
        if "gloo" in names or feature == "plugin":
            names.add(backend)
    source = pathlib.Path(importlib.util.find_spec(CASES).origin)
    text = "\n".join(line if OF_GLOO_ALONE in line else line.replace('"gloo"', f'"{backend}"')
                     for line in source.read_text(encoding="utf-8").splitlines())
    module = types.ModuleType(CASES)
    module.__file__ = str(source)
    sys.modules[CASES] = module
    exec(compile(text, str(source), "exec"), vars(module))
    return module


def cases_over_forks(module):
    """The cases, whose processes need not import torch again."""
    class Cases(module.TestDistBackend, module.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(multiprocessing.get_context("fork").Process)

    return Cases


def outcome_of(case):
    """["passed" | "skipped" | "failed", why]"""
    result = unittest.TestResult()
    case.run(result)
    for _, why in result.errors + result.failures:
        return "failed", why
    for _, why in result.skipped:
        return "skipped", why
    return "passed", ""


def run_over(backend, path, names):
    """Cases of these names, or all. What they came to is in the file after each."""
    if backend == "dtrain":
        import dtrain.torch  # noqa: F401  # it registers the back end
    cases = cases_over_forks(loaded(backend))
    outcomes = {}
    for name in names or unittest.defaultTestLoader.getTestCaseNames(cases):
        outcomes[name] = outcome_of(cases(name))
        print(f"{backend} {name}: {outcomes[name][0]}", flush=True)
        path.write_text(json.dumps(outcomes, indent=1))


def outcomes_over(backend, ranks, folder, names):
    """run_over() in a process of its own: PyTorch's module reads the environment when it is imported."""
    path = folder / f"{backend}.json"
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "BACKEND": backend, "WORLD_SIZE": ranks, "TEMP_DIR": scratch, "OMP_NUM_THREADS": "1",
                       "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": os.environ.get("C10D_CASE_LIMIT", "60"), "CUDA_VISIBLE_DEVICES": ""}
        subprocess.run([sys.executable, __file__, "--over", backend, str(path), *names], env=environment, check=True)
    return json.loads(path.read_text())


def main():
    if sys.argv[1] == "--over":
        run_over(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4:])
        return
    ranks, folder, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    wanted = [name for name, (outcome, _) in outcomes_over("gloo", ranks, folder, names).items() if outcome == "passed"]
    ours = outcomes_over("dtrain", ranks, folder, wanted)
    different = [name for name in wanted if ours[name][0] != "passed"]
    print(f"{ranks} ranks: of {len(wanted)} cases that pass with gloo {len(wanted) - len(different)} pass with dtrain")
    for name in different:
        print(f"  {name}: {ours[name][0]}\n{ours[name][1]}")


if __name__ == "__main__":
    main()

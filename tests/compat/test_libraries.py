# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What torch's users build on: accelerate, Lightning, transformers' Trainer, and PyTorch's own cases of torch.distributed.
Oracle: the same script, or the same case, over gloo. What is not installed is skipped. DTRAIN_PYTORCH_TESTS names the folder
test/distributed of PyTorch's source tree, of the version that is installed."""
import json
import os
import re
import subprocess

import pytest

from conftest import SCRIPTS, jobs

RUN = jobs.BUILD / "src" / "bin" / "dtrain-run"
ENVIRONMENT = {"PYTHONPATH": jobs.ROOT / "python", "DTRAIN_LIBRARY": jobs.BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
               "OMP_NUM_THREADS": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "HF_HUB_OFFLINE": "1"}
#: Cases that pass over gloo alone; docs/python.md says why
OF_GLOO_ALONE = {"ProcessGroupGlooTest.test_allgather_checks", "GlooProcessGroupWithDispatchedCollectivesTests.test_all_to_all_single"}
#: torch 2.6 itself has monitored_barrier() for gloo alone
MONITORED = {"GlooProcessGroupWithDispatchedCollectivesTests.test_monitored_barrier", "test_monitored_barrier_gloo",
             "test_monitored_barrier_gloo_subgroup"}


def needs(torch, package):
    found = subprocess.run([torch.python, "-c", f"import {package}"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=False)
    if found.returncode != 0:
        pytest.skip(f"{torch.python} cannot import {package}: {(found.stderr.splitlines() or ['?'])[-1]}")


@pytest.fixture
def trained(torch, job):
    """trained(SCRIPT, BACKEND): what rank 0 of two says of the training, without the name of the back end."""
    def trained(script, backend):
        folder = os.path.dirname(os.path.abspath(torch.python))
        done = job.run(RUN, "--nproc-per-node", 2, SCRIPTS / script, backend, job.folder / backend,
                       env={**ENVIRONMENT, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}, timeout=240)
        # A thread of gloo may abort while Python ends: torch 2.15, Python 3.11
        assert backend == "gloo" or done.returncode == 0, done.stdout + done.stderr
        assert f"{backend} 2 ranks" in done.stdout, done.stdout + done.stderr
        losses, = re.findall(rf"^{backend} 2 ranks: (loss .*)$", done.stdout, re.M)
        return losses
    return trained


@pytest.mark.parametrize("library", ["accelerate", "lightning", "transformers"])
def test_a_script_trains_as_over_gloo(torch, job, trained, library):
    needs(torch, library)
    assert trained(f"library_{library}.py", "dtrain") == trained(f"library_{library}.py", "gloo")
    assert job.left_behind() == []


def has_monitored_barrier(torch, job):
    output = job.run(torch.python, "-c", "import inspect, torch.distributed as d; print('only implemented for GLOO' in "
                     "inspect.getsource(d.monitored_barrier))", env={"CUDA_VISIBLE_DEVICES": ""}).stdout.strip()
    assert output in ("True", "False"), output
    return output == "False"


def outcomes(folder):
    """Of all cases over gloo, and over dtrain of those that pass there."""
    with_gloo, with_dtrain = (json.loads((folder / f"{name}.json").read_text()) for name in ("gloo", "dtrain"))
    passed = {name for name, (outcome, _) in with_gloo.items() if outcome == "passed"}
    return passed, {name: with_dtrain[name][1] for name in passed if with_dtrain[name][0] != "passed"}


@pytest.mark.parametrize("ranks", [3, 4])
def test_cases_of_pytorch(torch, job, ranks):
    needs(torch, "torch.testing._internal.distributed.distributed_utils, expecttest")
    done = job.run(torch.python, SCRIPTS / "c10d_cases.py", ranks, job.folder, env=ENVIRONMENT, timeout=1200)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    passed, different = outcomes(job.folder)
    print(f"{ranks} ranks: of {len(passed)} cases that pass with gloo {len(passed) - len(different)} pass with dtrain")
    assert len(passed) > 80
    assert set(different) == (set() if has_monitored_barrier(torch, job) else MONITORED & passed), different


def test_cases_of_pytorch_for_gloo(torch, job):
    needs(torch, "torch.testing._internal.distributed.distributed_utils, expecttest, hypothesis")
    sources = os.environ.get("DTRAIN_PYTORCH_TESTS")
    if not sources:
        pytest.skip("DTRAIN_PYTORCH_TESTS does not name the folder test/distributed of PyTorch's source tree")
    done = job.run(torch.python, SCRIPTS / "c10d_gloo_cases.py", os.path.abspath(sources), job.folder, env=ENVIRONMENT, timeout=1800)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    passed, different = outcomes(job.folder)
    print(f"of {len(passed)} cases that pass with gloo {len(passed) - len(different)} pass with dtrain")
    assert len(passed) > 65
    expected = OF_GLOO_ALONE if has_monitored_barrier(torch, job) else OF_GLOO_ALONE | MONITORED
    assert set(different) == expected & passed, different

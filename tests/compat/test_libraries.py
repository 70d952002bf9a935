# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What torch's users build on: accelerate, Lightning, transformers' Trainer, and PyTorch's own cases of torch.distributed.
Oracle: the same script, or the same case, over gloo. What is not installed is skipped."""
import os
import re
import subprocess

import pytest

from conftest import SCRIPTS, jobs

RUN = jobs.BUILD / "src" / "bin" / "dtrain-run"
ENVIRONMENT = {"PYTHONPATH": jobs.ROOT / "python", "DTRAIN_LIBRARY": jobs.BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
               "OMP_NUM_THREADS": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "HF_HUB_OFFLINE": "1"}


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
        said, = re.findall(rf"^{backend} 2 ranks: (loss .*)$", done.stdout, re.M)
        return said
    return trained


@pytest.mark.parametrize("library", ["accelerate", "lightning", "transformers"])
def test_a_script_trains_as_over_gloo(torch, job, trained, library):
    needs(torch, library)
    assert trained(f"library_{library}.py", "dtrain") == trained(f"library_{library}.py", "gloo")
    assert job.left_behind() == []


@pytest.mark.parametrize("ranks", [3, 4])
def test_cases_of_pytorch(torch, job, ranks):
    needs(torch, "torch.testing._internal.distributed.distributed_utils, expecttest")
    done = job.run(torch.python, SCRIPTS / "c10d_cases.py", ranks, job.folder, env=ENVIRONMENT, timeout=1200)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    said, = re.findall(rf"^{ranks} ranks: of (\d+) cases that pass with gloo (\d+) pass with dtrain$", done.stdout, re.M)
    print(done.stdout[done.stdout.index(f"{ranks} ranks: of"):])
    with_gloo, with_dtrain = map(int, said)
    assert with_gloo > 80
    assert with_dtrain == with_gloo, done.stdout[done.stdout.index(f"{ranks} ranks: of"):]

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Scripts of Horovod with the one import changed. Oracles: in scripts/horovod_training.py (the same training in one process);
Horovod's own cases for torch, where DTRAIN_HOROVOD_TESTS names the folder test/parallel of its sources (Apache-2.0)."""
import json
import os
import pathlib

import pytest

from conftest import SCRIPTS, jobs

ENVIRONMENT = {"PYTHONPATH": jobs.ROOT / "python", "DTRAIN_LIBRARY": jobs.BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
               "OMP_NUM_THREADS": "1"}
ALONE = ["plain", "options", "clipped", "scheduled", "sparse", "uneven_data", "any_order", "many_at_once", "states", "gradients",
         "again"]
TOGETHER = ALONE + ["missing_gradients", "refused"]
CASES = {1: ALONE, 2: TOGETHER, 3: TOGETHER + ["sets"]}
#: docs/python.md says why
DIFFERENT = {"test_broadcast_state_no_grad", "test_timeline_api"}
#: Three times a float16 is no float16, and they allow no difference
ONLY_ON_TWO = {"test_horovod_allreduce_prescale", "test_horovod_reducescatter_prescale", "test_horovod_grouped_reducescatter_prescale"}
SKIPPED = {"test_horovod_reinit", "test_horovod_is_initialized"}  # only under Horovod's launcher


@pytest.fixture
def start(torch, job):
    """start(LAUNCHER, RANKS, SCRIPT, ...): the script on that many ranks."""
    def started(launcher, ranks, script, *arguments, timeout=240, **env):
        words = {"dtrain-run": [jobs.BUILD / "src/bin/dtrain-run", "--nproc-per-node", ranks],
                 "torchrun": [torch.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks],
                 "mpirun": ["mpirun", "--oversubscribe", "-np", ranks, "--bind-to", "none", torch.python],
                 "nothing": [torch.python]}[launcher]
        folder = os.path.dirname(os.path.abspath(torch.python))
        done = job.run(*words, script, *arguments, timeout=timeout,
                       env={**ENVIRONMENT, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **env})
        assert done.returncode == 0, done.stdout + done.stderr
        assert job.left_behind() == []
        return done
    return started


@pytest.mark.parametrize("launcher, ranks", [("mpirun", 2), ("dtrain-run", 2), ("torchrun", 2), ("mpirun", 3), ("nothing", 1)])
def test_a_script_trains_as_one_process(start, launcher, ranks):
    done = start(launcher, ranks, SCRIPTS / "horovod_training.py", *CASES[ranks])
    assert [case for case in CASES[ranks] if f"{case}: ok" not in done.stdout] == []


def test_small_buckets(start):
    start("mpirun", 2, SCRIPTS / "horovod_training.py", "plain", "missing_gradients", "uneven_data", HOROVOD_FUSION_THRESHOLD=1)


@pytest.mark.parametrize("ranks", [2, 3])
def test_cases_of_horovod(start, job, ranks):
    folder = os.environ.get("DTRAIN_HOROVOD_TESTS")
    if not folder:
        pytest.skip("DTRAIN_HOROVOD_TESTS does not name the folder test/parallel of Horovod's sources")
    path = pathlib.Path(folder).resolve() / "test_torch.py"
    start("mpirun", ranks, SCRIPTS / "horovod_cases.py", path, job.folder / "told", timeout=1200)
    of_ranks = [json.loads((job.folder / f"told.{rank}.json").read_text()) for rank in range(ranks)]
    outcomes = {name: {results[name][0] for results in of_ranks} for name in of_ranks[0]}
    different = DIFFERENT if ranks == 2 else DIFFERENT | ONLY_ON_TWO
    wrong = {name: [results[name][1] for results in of_ranks] for name, outcome in outcomes.items()
             if outcome != {"passed"} and name not in different | SKIPPED}
    assert wrong == {}
    assert {name for name, outcome in outcomes.items() if outcome == {"skipped"}} == SKIPPED
    passed = sum(outcome == {"passed"} for outcome in outcomes.values())
    print(f"Horovod's cases on {ranks} ranks: {passed} passed, {len(different)} differ")
    assert passed > 100 - len(different)

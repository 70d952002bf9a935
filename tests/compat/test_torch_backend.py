# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The back end "dtrain" of torch.distributed, under all launchers. Oracles: in the scripts (gloo, values by hand, the same
training in one process); here, how the jobs end.

DTRAIN_STRESS=1 compares 10,000 random operations with gloo."""
import os
import re
import signal

import pytest

from conftest import SCRIPTS, jobs

RUN = jobs.BUILD / "src" / "bin" / "dtrain-run"
ENVIRONMENT = {"PYTHONPATH": jobs.ROOT / "python", "DTRAIN_LIBRARY": jobs.BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
               "OMP_NUM_THREADS": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
OPERATIONS = ["averages", "all_types", "bools", "uneven", "in_place", "strided", "several", "works", "any_source", "coalesced", "groups",
              "sparse", "monitored", "refused"]
TRAININGS = ["ddp", "ddp_small_buckets", "ddp_static_graph", "ddp_gradient_as_bucket_view", "ddp_accumulates", "ddp_join",
             "ddp_compressed", "zero_optimizer", "fsdp2", "dtensor", "functional_collectives", "batch_norm", "checkpoint"]
COUNT = 2500 if os.environ.get("DTRAIN_STRESS") else 150
SEEDS = 4 if os.environ.get("DTRAIN_STRESS") else 1


@pytest.fixture
def start(torch, job):
    """start(LAUNCHER, RANKS, SCRIPT, ...): the script on that many ranks."""
    def started(launcher, ranks, script, *arguments, env=None, timeout=240):
        words = {"dtrain-run": [RUN, "--nproc-per-node", ranks],
                 "torchrun": [torch.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks],
                 "mpirun": ["mpirun", "-np", ranks, "--bind-to", "none", torch.python],
                 "spawn": [torch.python, SCRIPTS / "torch_spawned.py", ranks]}[launcher]
        folder = os.path.dirname(os.path.abspath(torch.python))
        return job.run(*words, script, *arguments, timeout=timeout,
                       env={**ENVIRONMENT, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **(env or {})})
    return started


def version_of(torch, job):
    version = job.run(torch.python, "-c", "import torch; print(torch.__version__)").stdout
    return tuple(int(part) for part in version.split(".")[:2])


def check(done, *cases):
    assert done.returncode == 0, done.stdout + done.stderr
    for case in cases:
        assert f"{case}: ok" in done.stdout, (case, done.stdout, done.stderr)


@pytest.mark.parametrize("launcher, ranks", [("dtrain-run", 2), ("torchrun", 2), ("torchrun", 4), ("mpirun", 2), ("mpirun", 4),
                                             ("spawn", 2)])
def test_operations(start, job, launcher, ranks):
    check(start(launcher, ranks, SCRIPTS / "torch_operations.py", "dtrain://" if launcher == "mpirun" else "env", *OPERATIONS),
          *OPERATIONS)
    assert job.left_behind() == []


@pytest.mark.parametrize("launcher", ["dtrain-run", "mpirun", "torchrun"])
def test_groups_are_made_anew(start, launcher):
    check(start(launcher, 2, SCRIPTS / "torch_operations.py", "dtrain://" if launcher == "mpirun" else "env", "again"), "again")


@pytest.mark.parametrize("launcher", ["dtrain-run", "mpirun", "torchrun"])
def test_what_nobody_waits_for_is_done_in_the_end(start, launcher):
    check(start(launcher, 2, SCRIPTS / "torch_operations.py", "dtrain://" if launcher == "mpirun" else "env", "left_to_the_end"),
          "left_to_the_end")


@pytest.mark.parametrize("launcher, ranks", [("dtrain-run", 2), ("torchrun", 3), ("dtrain-run", 4)])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_operations_do_what_gloo_does(start, launcher, ranks, seed):
    done = start(launcher, ranks, SCRIPTS / "torch_against_gloo.py", seed, COUNT, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{COUNT} operations on {ranks} ranks" in done.stdout


@pytest.mark.parametrize("launcher, ranks", [("dtrain-run", 2), ("torchrun", 2), ("torchrun", 4)])
def test_what_torch_builds_on_a_group_trains_as_one_process(start, torch, job, launcher, ranks):
    cases = TRAININGS + ["hsdp"]
    if version_of(torch, job) < (2, 8):
        cases = [case for case in cases if case not in ("fsdp2", "hsdp")]  # on CPUs it fails with gloo, too
    check(start(launcher, ranks, SCRIPTS / "torch_training.py", *cases), *cases)


@pytest.mark.parametrize("launcher", ["mpirun", "torchrun"])
def test_a_rank_that_does_not_come_is_named(start, launcher):
    done = start(launcher, 2, SCRIPTS / "torch_operations.py", "dtrain://" if launcher == "mpirun" else "env", "times_out")
    assert done.stdout.count("named") == 1, done.stdout + done.stderr


DIES = """import os, signal, sys, time
import torch, torch.distributed as dist
import dtrain.torch
dist.init_process_group("dtrain")
dist.barrier()
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    dist.all_reduce(torch.ones(3))
except RuntimeError as error:
    print("seen:", error, flush=True)
time.sleep(60)
"""


def test_a_rank_that_dies_under_torchrun_is_an_error_in_the_others(start, job):
    script = job.script("dies.py", DIES)
    done = start("torchrun", 2, script, env={"PET_MONITOR_INTERVAL": "10"})  # s until torchrun looks, and ends the other one
    assert done.returncode != 0
    seen, = re.findall("seen: (.*)", done.stdout)
    assert "rank 1" in seen and re.search(r"process|pid", seen), seen


def test_a_rank_that_dies_under_dtrain_run_is_the_cause(start, job):
    script = job.script("dies.py", DIES)
    done = start("dtrain-run", 2, script)
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    assert "rank 1" in done.stderr and "SIGKILL" in done.stderr


DIFFERS = """import sys
import torch, torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
import dtrain.torch
dist.init_process_group("dtrain")
rank, kind = dist.get_rank(), sys.argv[1]
unused = {"find_unused_parameters": True} if kind == "looks_for_unused" and rank == 1 else {}
layers = torch.nn.Sequential(*[torch.nn.Linear(300, 300) for _ in range(4)])
model = torch.nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.3, **unused)
if kind == "compresses" and rank == 1:
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
try:
    model(torch.ones(2, 300)).sum().backward()
except RuntimeError as error:
    sys.stdout.write(f"rank {rank} seen: {error}\\n")  # in one piece
"""


@pytest.mark.parametrize("launcher", ["torchrun", "dtrain-run"])
@pytest.mark.parametrize("kind, other", [("looks_for_unused", "300 float32"), ("compresses", "361200 float16")])
def test_ranks_that_differ_in_a_backward_pass_are_named(start, job, launcher, kind, other):
    done = start(launcher, 2, job.script("differs.py", DIFFERS), kind)
    for rank in range(2):
        assert re.search(rf"rank {rank} seen: ranks differ in operation \d+: rank 0 calls allreduce \(sum\) of 361200 float32, rank 1 "
                         rf"calls allreduce \(sum\) of {other}$", done.stdout, re.M), done.stdout + done.stderr
    assert "SIGSEGV" not in done.stderr, done.stderr


def test_several_nodes_under_torchrun_are_one_line(torch, job):
    done = job.run(torch.python, "-c", """import dtrain.torch._ranks as ranks
one = {"memory": "a", "node": "n1", "version": "1"}
print(ranks.answer_to([one, {**one, "memory": "b", "node": "n2"}], "x")["error"])
print(ranks.answer_to([one, {**one, "version": "2"}], "x")["error"])
print(ranks.answer_to([one, one], "x"))""", env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    several, versions, same = done.stdout.splitlines()
    assert "n1, n2" in several and "dtrain-run" in several
    assert "dtrain 1" in versions and "2" in versions
    assert same == "{'name': 'x'}"

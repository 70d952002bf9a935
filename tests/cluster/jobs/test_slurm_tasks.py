# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Plain `srun dtrain-worker -- program`, without dtrain-launch.

Oracles: the names of the nodes, Slurm's own numbers of ranks and GPUs, the shell's exit status convention.
"""
import json
import re
import time

import pytest

from whole_jobs import PYTHON, WORKER

SHOW = """
import json, os, socket
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PADDLE_TRAINER_ENDPOINTS",
         "PADDLE_CURRENT_ENDPOINT", "CUDA_VISIBLE_DEVICES", "FLAGS_selected_gpus", "SLURM_PROCID", "SLURM_STEP_GPUS")
values = {name: os.environ.get(name) for name in names} | {"host": socket.gethostname()}
json.dump(values, open("env." + os.environ["RANK"], "w"))
"""

STUBBORN_UNLESS_RANK_1 = """
import os, signal, subprocess, sys, time
subprocess.Popen(["setsid", "sleep", "1000"])
open("up." + os.environ["RANK"], "w").close()
if os.environ["RANK"] == "1":
    while not all(os.path.exists(f"up.{rank}") for rank in range(4)): time.sleep(0.02)
    sys.exit(7)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(1000)
"""

COUNTS_SIGNALS = """
import os, signal, sys, time
signal.signal(signal.SIGUSR1, lambda number, frame: print("got SIGUSR1", flush=True))
open("up." + os.environ["RANK"], "w").close()
while not os.path.exists("enough"): time.sleep(0.1)
"""


def srun(job, *words, **options):
    return job.cluster.control.run("srun", "--quiet", *words, cwd=job.folder, **options)


def seen(job, rank):
    return json.loads((job.folder / f"env.{rank}").read_text())


def wait_until(condition, timeout=30.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "condition not reached"
        time.sleep(0.02)


def test_ranks_of_two_nodes_find_each_other(job):
    job.script("show.py", SHOW)
    done = srun(job, "-N2", "--ntasks-per-node=2", "--gres=gpu:2", WORKER, "--", PYTHON, "show.py")
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        values = seen(job, rank)
        assert values["host"] == f"node{1 + rank // 2}" and values["SLURM_PROCID"] == values["RANK"] == str(rank)
        assert values["WORLD_SIZE"] == "4" and values["LOCAL_RANK"] == str(rank % 2) and values["LOCAL_WORLD_SIZE"] == "2"
        assert values["CUDA_VISIBLE_DEVICES"] == "0,1" and values["FLAGS_selected_gpus"] == str(rank % 2)
        assert values["MASTER_ADDR"] == "node1"
        endpoints = values["PADDLE_TRAINER_ENDPOINTS"].split(",")
        assert endpoints[rank] == values["PADDLE_CURRENT_ENDPOINT"] and len(set(endpoints)) == 4
    assert len({seen(job, rank)["MASTER_PORT"] for rank in range(4)}) == 1


def test_gpus_that_slurm_bound_to_tasks_are_not_bound_twice(job):
    job.script("show.py", SHOW)
    done = srun(job, "-N2", "-n4", "--gpus-per-task=1", WORKER, "--", PYTHON, "show.py")
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        values = seen(job, rank)
        assert values["CUDA_VISIBLE_DEVICES"] == values["SLURM_STEP_GPUS"] and "," not in values["CUDA_VISIBLE_DEVICES"]
        assert values["FLAGS_selected_gpus"] == "0"  # the only one that it sees
    assert sorted(seen(job, rank)["CUDA_VISIBLE_DEVICES"] for rank in range(4)) == ["0", "0", "1", "1"]


def test_a_failing_rank_ends_the_others_and_gives_the_status(job):
    job.script("train.py", STUBBORN_UNLESS_RANK_1)
    done = srun(job, "-N2", "-n4", WORKER, "--grace", 1, "--", PYTHON, "train.py", timeout=40)
    assert done.returncode == 7, done.stderr
    messages = [line for line in done.stderr.splitlines() if line.startswith("dtrain-worker:")]
    assert len(messages) == 1 and "rank 1 on node" in messages[0] and "exit code 7" in messages[0] and "workerlog.1" in messages[0]
    assert job.cluster.left_behind() == {}
    for rank in (0, 2, 3):
        assert job.log(rank).splitlines()[-1].startswith("stopped by dtrain-worker after another rank failed")


def test_a_failing_rank_ends_the_others_with_kill_on_bad_exit_too(job):
    job.script("train.py", STUBBORN_UNLESS_RANK_1)
    done = srun(job, "--kill-on-bad-exit=1", "-N2", "-n4", WORKER, "--grace", 1, "--", PYTHON, "train.py", timeout=40)
    assert done.returncode != 0 and "rank 1 on node" in done.stderr and "exit code 7" in done.stderr
    assert job.cluster.left_behind() == {}


def test_without_scancel_the_worker_says_what_to_do(job):
    job.script("train.py", "import os, sys\nsys.exit(7 if os.environ['RANK'] == '1' else 0)")
    done = srun(job, "-N2", "-n4", "sh", "-c", f"PATH=/nowhere exec {WORKER} -- {PYTHON} train.py")
    assert done.returncode == 7 and "use srun --kill-on-bad-exit=1" in done.stderr


def test_user_signals_of_slurm_arrive_once(job):
    job.script("train.py", COUNTS_SIGNALS)
    step = job.cluster.control.start("srun", "-N2", "-n4", "--job-name=count", WORKER, "--", PYTHON, "train.py",
                                     cwd=job.folder)
    wait_until(lambda: all((job.folder / f"up.{rank}").exists() for rank in range(4)))
    number = job.cluster.control.check("squeue", "--noheader", "--name=count", "--format=%i").strip()
    for times in (1, 2, 3):
        job.cluster.control.check("scancel", "--signal=USR1", number)
        wait_until(lambda: all(job.log(rank).count("got SIGUSR1") >= times for rank in range(4)))
    time.sleep(0.5)  # for one that is too many
    (job.folder / "enough").touch()
    out, err = step.communicate(timeout=30)
    assert step.returncode == 0, err
    assert [job.log(rank).count("got SIGUSR1") for rank in range(4)] == [3, 3, 3, 3]


def test_cores_that_slurm_bound_are_shared_out_among_the_ranks(job):
    job.script("cores.py", "import os\nprint(sorted(os.sched_getaffinity(0)))")
    done = srun(job, "-N1", "-n2", "--cpu-bind=cores", WORKER, "--", PYTHON, "cores.py")
    assert done.returncode == 0, done.stderr
    assert sorted(job.log(rank) for rank in range(2)) == ["[0]\n", "[1]\n"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_mpi_programs_under_pmix(job, ranks):
    job.script("mpi.py", "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1), 'of', MPI.COMM_WORLD.Get_size())")
    done = srun(job, "--mpi=pmix", "-N2", "-n", ranks, WORKER, "--", PYTHON, "mpi.py")
    assert done.returncode == 0, done.stderr
    # Open MPI 5.0 may warn of IPv6 addresses: docs/packages.md.
    logs = {re.sub(r"\[node\d\]\[\[.*?create_interface_graph\] Unable to find reachable pairing between local and remote interfaces\n",
                   "", job.log(rank)) for rank in range(ranks)}
    assert logs == {f"{ranks} of {ranks}\n"}

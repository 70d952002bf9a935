# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Machines that allow few processes: limits of containers, TasksMax of systemd, of a batch system's cgroup.

Oracle: pids.max of the cgroup that the test made, by name; nothing is left in it. The launcher and mpirun of Open MPI take
about ten processes and threads, each rank's worker, guard and program three and more."""
import subprocess

import pytest

from conftest import LAUNCH, PYTHON
from own_cgroup import OwnCgroup

THREADS = """import threading, time
for number in range(100): threading.Thread(target=time.sleep, args=(1,)).start()
"""
# All are there at once, however late one of them starts.
TOGETHER = """import os, pathlib, time
pathlib.Path(os.environ["PADDLE_TRAINER_ID"]).touch()
end = time.monotonic() + 20
while not (pathlib.Path("0").exists() and pathlib.Path("1").exists()) and time.monotonic() < end: time.sleep(0.01)
"""


@pytest.fixture
def cgroup():
    with OwnCgroup("pids") as cgroup:
        yield cgroup


def launch(job, cgroup, *words, ranks=2):
    child = job.start(LAUNCH, "--no-banner", "--nproc_per_node", ranks, *words, preexec_fn=cgroup.enter)
    try:
        _, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        cgroup.end_all()
        raise
    assert job.left_behind() == []
    return child.returncode, err


@pytest.mark.parametrize("limit", [4, 6, 8, 9, 10, 11, 12, 14])
def test_where_not_all_can_be_started_the_limit_is_named_before_what_mpirun_says(job, cgroup, limit):
    """The first ones stop mpirun itself, the last ones a worker, its guard or the program of a rank."""
    job.script("a.py", TOGETHER)
    cgroup.limit("pids.max", limit)
    status, err = launch(job, cgroup, PYTHON, "a.py")
    if limit > 9 and status == 0:
        pytest.skip("this MPI takes fewer processes")
    assert status != 0
    message = f"the limit of processes and threads of cgroup /{cgroup.name} (pids.max {limit}) was reached "
    assert message in err and "----" not in err[:err.index(message)], err
    assert "chmod" not in err, err


def test_a_program_that_wants_too_many_is_told_so(job, cgroup):
    job.script("a.py", THREADS)
    cgroup.limit("pids.max", 60)
    status, err = launch(job, cgroup, PYTHON, "a.py", ranks=1)
    assert status == 1 and "RuntimeError: can't start new thread" in err, err
    assert f"the limit of processes and threads of cgroup /{cgroup.name} (pids.max 60) was reached " in err, err


def test_a_limit_that_is_not_reached_is_not_mentioned(job, cgroup):
    job.script("a.py", "import sys\nsys.exit(3)\n")
    cgroup.limit("pids.max", 1000)
    status, err = launch(job, cgroup, PYTHON, "a.py")
    assert status == 3 and "pids.max" not in err, err

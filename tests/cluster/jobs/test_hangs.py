# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is to blame for a hang of a job on two nodes, however its ranks are started: the rank with its node, the operation and the
line of the program. Oracle: the script, in which rank 3 on the second node does not come to a barrier."""
import re

import pytest

from whole_jobs import BUILD, LAUNCH, ROOT, build_option

SCRIPT = """\
import time, dtrain
comm = dtrain.init()
for step in range(10):
    comm.sum(step)
    if step == 5 and comm.rank == 3:
        time.sleep(1000)
    comm.barrier()
"""
CULPRIT = (r"it hung: rank 3 on node2 has not called barrier 12 of ranks 0-3 at hang.py:7: it sleeps.*, after allreduce 11 "
           r"\(int64 x 1, sum\) of ranks 0-3 at hang.py:4; ranks \[0-2\] wait in it")


@pytest.fixture
def words(job):
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"Python has no {sanitizers} sanitizer to load libdtrain with")
    job.script("hang.py", SCRIPT)
    return ["--quiet", "--grace", 1, "--hang-timeout", 2, "--nproc_per_node", 2, "--env", f"PYTHONPATH={ROOT / 'python'}",
            "--env", f"DTRAIN_LIBRARY={BUILD / 'src/libdtrain.so'}"]


def test_by_ssh(job, words):
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), *words, "hang.py", timeout=90)
    assert done.returncode == 124 and re.search(CULPRIT, done.stderr), done.stderr
    assert job.cluster.left_behind() == {}


def test_with_a_launcher_on_each_node(job, words):
    children = [job.start_on(node, LAUNCH, "--ips", job.cluster.addresses(2), *words, "hang.py") for node in (1, 2)]
    errors = [child.communicate(timeout=90)[1] for child in children]
    assert [child.returncode for child in children] == [124, 124] and re.search(CULPRIT, errors[0]), errors
    assert job.cluster.left_behind() == {}


def test_by_srun(job, words):
    child = job.cluster.control.start("salloc", "--quiet", "-N2", LAUNCH, *words, "hang.py", cwd=job.folder)
    error = child.communicate(timeout=90)[1]
    assert child.returncode == 124 and re.search(CULPRIT, error), error
    assert job.cluster.left_behind() == {}

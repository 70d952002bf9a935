# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is to blame when a training of torch hangs, on dtrain's back end and on gloo. Oracle: scripts/torch_hangs.py, whose rank 2
does not come to the line that the others wait in."""
import os
import re

import pytest

from conftest import SCRIPTS, jobs

ENVIRONMENT = {"PYTHONPATH": jobs.ROOT / "python", "DTRAIN_LIBRARY": jobs.BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
               "OMP_NUM_THREADS": "1"}
LINE = r"allreduce \d+ \(float32 x \d+, sum\) of default_pg at torch_hangs.py:\d+"
RECORDED = {
    "evaluates": rf"rank 2 on \S+ has not called {LINE}: it (sleeps|evaluates)",
    "loader": rf"rank 2 on \S+ has not called {LINE}: it (sleeps|loads data)",
    "computes": rf"rank 2 on \S+ has not called {LINE}: it computes",
    "is_stopped": rf"rank 2 on \S+ is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\): it has not called {LINE}",
    "message": r"rank 2 on \S+ waits in receive from rank 0 .* at torch_hangs.py:\d+, where it called allreduce",
    "other_group": r"rank 2 on \S+ skipped allreduce .*: it called barrier 1 of pair at torch_hangs.py:\d+",
}
#: gloo's operations are not recorded: py-spy tells where ranks are, and who computes is not taken for one that hangs.
OF_STACKS = {
    "evaluates": r"rank 2 on \S+ is not in all_reduce at torch_hangs.py:\d+: it evaluates in evaluate \(torch_hangs.py:\d+\)",
    "loader": r"rank 2 on \S+ is not in (all_reduce|_engine_run_backward) at torch_hangs.py:\d+"
              r": it loads data in \S*__getitem__ \(torch_hangs.py:\d+\)",
    "is_stopped": r"rank 2 on \S+ is stopped by a signal",
    "message": r"rank 2 on \S+ is in recv at torch_hangs.py:\d+, where the others are not",
    "other_group": r"rank 2 on \S+ is in barrier at torch_hangs.py:\d+, where the others are not",
}


def check(job, torch, kind, back_end, expected):
    folder = os.path.dirname(os.path.abspath(torch.python))
    done = job.run(jobs.LAUNCH, "--quiet", "--nproc_per_node", 3, "--hang-timeout", 3, "--grace", 1, SCRIPTS / "torch_hangs.py", kind,
                   back_end, timeout=240, env={**ENVIRONMENT, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 124, done.stderr
    assert re.search(f"it hung: {expected}", done.stderr.splitlines()[0]), done.stderr
    assert job.left_behind() == []


@pytest.mark.parametrize("kind", RECORDED)
def test_on_the_back_end_of_dtrain(torch, job, kind):
    check(job, torch, kind, "dtrain", RECORDED[kind])


@pytest.mark.parametrize("kind", OF_STACKS)
def test_on_gloo(torch, job, kind):
    if not os.path.exists(os.path.join(os.path.dirname(os.path.abspath(torch.python)), "py-spy")):
        pytest.skip("py-spy (PyPI) is not beside that Python")
    check(job, torch, kind, "gloo", OF_STACKS[kind])

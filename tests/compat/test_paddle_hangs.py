# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is to blame when a training of Paddle hangs on gloo, by what dtrain records of its calls, without debuggers. Oracle:
tests/hang_matrix/kinds.py, of programs/on_paddle.py."""
import os
import re
import sys

import pytest

from conftest import jobs
from whole_jobs import as_installed

sys.path.insert(0, str(jobs.ROOT / "tests/hang_matrix"))
import cell  # noqa: E402
import kinds  # noqa: E402
from columns import columns  # noqa: E402

KINDS = ("sleeps", "evaluate", "skips", "other_root", "other_group", "order_of_groups", "makes_group", "receives", "sends", "circle",
         "does_not_reduce_gradients")


def column_of(paddle):
    return columns(None, None, paddle.python)["paddle"]


@pytest.mark.parametrize("kind", [kind for kind in kinds.KINDS if kind.name in KINDS], ids=lambda kind: kind.name)
def test_the_culprit_is_named(paddle, tmp_path, kind):
    tools = jobs.without_debuggers(tmp_path)["PATH"].split(os.pathsep, maxsplit=1)[0]
    result = cell.run(kind, column_of(paddle), tmp_path / "job", tools=tools)
    assert result.outcome in ("right", "late"), result


def test_healthy_runs_are_no_hangs(paddle, job):
    done = cell.run_healthy(column_of(paddle), job.folder / "job", 4)
    assert cell.is_healthy(done), done.stderr


def test_what_was_called_can_be_dumped(paddle, job, tmp_path):
    program = jobs.ROOT / "tests/hang_matrix/programs/on_paddle.py"
    child = job.start(jobs.LAUNCH, "--quiet", "--nproc_per_node", 3, "--hang-timeout", 3, "--on-hang", "dump", program, "sleeps",
                      env={"PATH": f"{os.path.dirname(paddle.python)}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
                           "PYTHONPATH": as_installed(tmp_path / "site")})
    files = [job.folder / f"log/workerlog.{rank}.operations" for rank in range(3)]
    job.wait_until(lambda: all(file.exists() and "of default_pg" in file.read_text() for file in files), timeout=120)
    child.terminate()
    child.communicate(timeout=60)
    for rank, file in enumerate(files):
        head, *lines = file.read_text().splitlines()
        assert re.fullmatch(r"process \d+, as dtrain has recorded it, at \S+ \S+:", head), head
        assert any(re.match(r"broadcast \d+ \(float32 x 1000, root 0\) of default_pg at on_paddle.py:\d+: began \S+ s ago, took", line)
                   for line in lines), lines
        last = r"all_gather \d+ .*, took" if rank == 2 else r"barrier \d+ of default_pg at on_paddle.py:\d+: began \S+ s ago, goes on"
        assert re.match(last, lines[-1]), lines[-1]

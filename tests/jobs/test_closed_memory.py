# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that may not read each other's memory, as in some containers. Oracle: what they print is all that is printed; Open MPI 4.1
adds a line for each long message ("Read -1, expected 100001, errno = 1") unless it is told."""
import pytest

from conftest import mpirun
from whole_jobs import BUILD, LAUNCH

CLOSED = BUILD / "tests/support/memory_closed"
MECHANISM = "OMPI_MCA_btl_vader_single_copy_mechanism"


def test_long_messages_add_no_lines(tmp_path):
    done = mpirun(2, [CLOSED, BUILD / "tests/comm/test_comm_mpi", "--gtest_filter=*/0.AllToAllOfDifferentLengths"], tmp_path,
                  DTRAIN_RANKS_PER_NODE=1, GTEST_COLOR="no")
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "[  PASSED  ] 1 test." in output
    assert "errno" not in output


@pytest.mark.parametrize("before, user, expected", [([CLOSED], None, "none"), ([CLOSED], "knem", "knem"), ([], None, "not set")])
def test_a_program_has_the_variable_where_it_helps(job, before, user, expected):
    script = job.folder / "said.py"
    script.write_text(f"import os\nprint('mechanism', os.environ.get('{MECHANISM}', 'not set'))\n")
    done = job.run(*before, LAUNCH, "--nproc_per_node", 2, script, env={MECHANISM: user} if user else {})
    assert done.returncode == 0, done.stderr
    said = [log.read_text() for log in sorted((job.folder / "log").glob("workerlog.*"))]
    assert said == [f"mechanism {expected}\n"] * 2

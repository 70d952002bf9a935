# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Lines of ranks on several nodes that write at the same time, as srun forwards them.

Oracle: the lines that the ranks wrote. The size is max_whole_line of src/protocol/event_lines.hpp.
"""
import re

from whole_jobs import ROOT

WRITE = """
import os, sys, time
for i in range(400):
    os.write(2, (os.environ["SLURM_PROCID"] * (int(sys.argv[1]) - 1) + "\\n").encode())
    if i % 5 == 4: time.sleep(0.01)
"""


def test_what_a_worker_writes_at_once_is_forwarded_as_a_whole(job):
    size = int(re.search(r"max_whole_line = (\d+);", (ROOT / "src/protocol/event_lines.hpp").read_text())[1])
    job.script("write.py", WRITE)
    done = job.on(3, "srun", "-N2", "--ntasks-per-node=2", "--nodelist=node1,node2", "python3", "write.py", size, timeout=120)
    assert sorted(done.stderr.splitlines()) == sorted(str(rank) * (size - 1) for rank in range(4) for _ in range(400))

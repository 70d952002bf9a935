# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of a job of 80,000 on two of its 10,000 nodes. The plan and the variables are the launcher's own (--dry-run=json);
the workers and their programs are real, and only the other ranks are missing.

Oracle: consecutive ports on every node in the order of the hostfile; the kernel, which hands no variable of 128 KiB to a
program."""
import json

import pytest

from whole_jobs import LAUNCH, PYTHON, WORKER

NODES, RANKS_OF_NODE, FIRST_PORT = 10_000, 8, 6170
SIZE = NODES * RANKS_OF_NODE

READS_THE_FILE = """
import os
assert "PADDLE_TRAINER_ENDPOINTS" not in os.environ and not any(n.startswith("DTRAIN_ENDPOINTS_") and n != "DTRAIN_ENDPOINTS_FILE"
                                                                for n in os.environ)
with open(os.environ["DTRAIN_ENDPOINTS_FILE"]) as file:
    title, *endpoints = file.read().splitlines()
rank = int(os.environ["RANK"])
print(title, len(endpoints), endpoints[rank] == os.environ["PADDLE_CURRENT_ENDPOINT"], endpoints[rank], endpoints[0],
      os.environ["WORLD_SIZE"], os.environ["PADDLE_NNODES"])
"""


def hosts():
    others = [f"10.{78 + number // 65536}.{number // 256 % 256}.{number % 256}" for number in range(NODES - 2)]
    return ["10.77.0.1", *others, "10.77.0.2"]


@pytest.fixture
def plan(job):
    (job.folder / "nodes").write_text("".join(f"{host} slots={RANKS_OF_NODE}\n" for host in hosts()))
    job.script("program.py", READS_THE_FILE)
    done = job.launch_on(1, "--hostfile", "nodes", "--nproc_per_node", RANKS_OF_NODE, "--start_port", FIRST_PORT, "--dry-run=json",
                         "program.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_programs_get_the_list_as_a_file(job, plan):
    environment = plan["environment"]
    longest = max(len(value) for value in environment.values())
    assert 100_000 < longest < 128 * 1024 and "DTRAIN_ENDPOINTS_2" in environment
    # Where the launcher does not say who is which rank these do. Each node has a /tmp of its own.
    for node, rank in ((1, 0), (2, SIZE - 1)):
        who = {"DTRAIN_RANK": rank, "DTRAIN_SIZE": SIZE, "DTRAIN_LOCAL_RANK": rank % RANKS_OF_NODE,
               "DTRAIN_LOCAL_SIZE": RANKS_OF_NODE, "DTRAIN_EVENTS": "0"}
        done = job.on(node, WORKER, "--log_dir", f"/tmp/{job.folder.name}", "--", PYTHON, "program.py", env=environment | who)
        assert done.returncode == 0, done.stderr
        logs = job.cluster[node].tmp(job.folder.name)
        log = (logs / f"workerlog.{rank}").read_text()
        own = f"10.77.0.{node}:{FIRST_PORT + rank % RANKS_OF_NODE}"
        assert log == f"PADDLE_TRAINER_ENDPOINTS: {SIZE} True {own} 10.77.0.1:{FIRST_PORT} {SIZE} {NODES}\n"
        assert (logs / "endpoints.log").read_text().count("\n") == SIZE + 1

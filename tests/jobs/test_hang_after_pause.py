# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A rank that was idle once, went on for a moment, and then hangs elsewhere. Oracle: the call that it hangs in, not the first one."""
import re

from conftest import LAUNCH, PYTHON

# Rank 0 keeps the job from hanging meanwhile: it prints. What rank 1 computes between is less than 1% of the limit.
PROGRAM = """import os, time
if os.environ["RANK"] == "0":
    for _ in range(45):
        time.sleep(0.2)
        print("works", flush=True)
    os.read(os.pipe()[0], 1)
time.sleep(8)
end = time.process_time() + 0.025
while time.process_time() < end:
    pass
os.read(os.pipe()[0], 1)
"""


def test_the_place_is_that_of_the_hang(job):
    script = job.script("t.py", PROGRAM)
    done = job.run(LAUNCH, "--quiet", "--nproc_per_node", 2, "--grace", 1, "--hang-timeout", 4, PYTHON, script, timeout=120)
    assert done.returncode == 124, done.stderr
    # Without a debugger the state of the process, sleeping, stands beside the call.
    locations = [line.replace("S (sleeping)", "") for line in done.stderr.splitlines() if re.match(r"ranks? \[", line)]
    assert locations and not any("sleep" in line.split("stacks:")[0] for line in locations), done.stderr

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that no signal ends. Oracle: the kernel's word that their process is still there while the lines are read; it can end only when
the test lets it go on."""
import os
import re
import sys
import time

import pytest

from conftest import LAUNCH, ROOT

sys.path.insert(0, str(ROOT / "tests/hang_matrix"))
import cell  # noqa: E402

PROGRAM = f"""
import os, subprocess, sys, time
sys.path.insert(0, {str(ROOT / "tests/hang_matrix/programs")!r})
import blocked
if os.environ["RANK"] == "1":
    blocked.begin()
    getattr(blocked, sys.argv[1])()
if sys.argv[2] == "fails":
    while not os.path.exists("held"):
        time.sleep(0.01)
    sys.exit(3)
blocked.sleeps()
"""
WAYS = {
    "frozen": (cell.Freezer, "works_until_held", r"it is frozen with its control group /dtrain-\w+"),
    "in the kernel": (cell.Disk, "write_to_frozen_disk", r"it waits for the system, for \S+/disk/checkpoint"),
}


def begun(folder):
    return [int(note.suffix[1:]) for note in folder.glob("began.*")]


def in_state(pid, states):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] in states


@pytest.mark.parametrize("others", ["hang", "fails"])
@pytest.mark.parametrize("way", WAYS)
def test_it_is_told_at_once(job, way, others):
    holder_of, program, why = WAYS[way]
    try:
        holder = holder_of(job.folder)
    except cell.CannotHold as error:
        pytest.skip(str(error))
    script = job.script("t.py", PROGRAM)
    limit = ("--hang-timeout", 2) if others == "hang" else ()
    # What dtrain-launch says of the end when it gives the rank up comes later than this, and reads otherwise.
    child = job.start(LAUNCH, "--quiet", "--nproc_per_node", 2, "--grace", 1, *limit, script, program, others, text=False)
    try:
        job.wait_until(lambda: begun(job.folder))
        pid, = begun(job.folder)
        holder.hold(pid)
        if way == "in the kernel":
            # A process that waits for vfork() is in state D as well.
            job.wait_until((job.folder / "frozen").exists)
            job.wait_until(lambda: in_state(pid, "D"))
        (job.folder / "held").write_text("")
        os.set_blocking(child.stderr.fileno(), False)
        output = b""

        def wait_for(pattern):
            nonlocal output
            deadline = time.monotonic() + 60
            while re.search(pattern, output.decode()) is None:
                assert time.monotonic() < deadline, output.decode()
                time.sleep(0.02)
                output += child.stderr.read() or b""

        host = os.uname().nodename.split(".")[0]
        wait_for(rf"\] rank 1 on {host}: process {pid} \(\S+\) has not ended 1 s after SIGKILL: {why}\n")
        if others == "hang":
            wait_for(rf"\] the job hangs: rank 1 on {host} {why.removeprefix('it ')}; the job is being stopped, and rank 1 has not ended yet\n")
        assert in_state(pid, "DSRT")
    finally:
        holder.let_go()
    os.set_blocking(child.stderr.fileno(), True)
    output += child.communicate(timeout=60)[1]
    assert child.returncode == (124 if others == "hang" else 3), output.decode()
    assert job.left_behind() == []

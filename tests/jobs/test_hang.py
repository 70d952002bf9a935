# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs that hang: found out, explained with the stacks of all ranks, ended.

Oracles: where the programs were told to wait; exit status 124, as timeout(1) has it; /proc for what still runs.
"""
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest

from conftest import LAUNCH, PYTHON, WORKER, own_mounts, without_debuggers

# Rank 0 waits for a child that waits, as a shell script around a training does; the other ranks wait by themselves.
HANG = """
import os, signal, subprocess, sys, time
print("before", flush=True)
if os.environ["RANK"] == "0":
    child = subprocess.Popen([sys.executable, "-c", "import os; os.read(os.pipe()[0], 1)"])
    with open("pids", "w") as file:
        print(child.pid, os.getpid(), file=file)
    child.wait()
time.sleep(1000)
"""


@pytest.fixture
def only_the_kernel(job):
    """An environment in which it alone tells where ranks are, and soon."""
    return without_debuggers(job.folder)


def stacks(job, rank):
    return job.folder / f"log/workerlog.{rank}.stacks"


def test_a_job_that_hangs_is_stopped_and_explained(job, only_the_kernel):
    job.script("a.py", HANG)
    done = job.launch("--nproc_per_node", 2, "--hang-timeout", "1.5", "--grace", 2, "a.py", env=only_the_kernel)
    assert done.returncode == 124, done.stderr
    assert "it hung: no rank that was left printed anything or used the processor for" in done.stderr
    for rank in (0, 1):
        assert re.search(rf"ranks? \[[01,]*{rank}[01,]*\]: since \d\d:\d\d:\d\d in .*of the kernel.*; stacks: "
                         rf"{job.folder}/log/workerlog.[01].stacks", done.stderr), done.stderr
        assert stat.S_IMODE(stacks(job, rank).stat().st_mode) == 0o600
        assert job.log(rank).startswith("before\n")
    # rank 0's whole tree, that process first which waits in the pipe
    text = stacks(job, 0).read_text()
    assert re.findall(r"^==== pid (\d+): ", text, re.M) == (job.folder / "pids").read_text().split(), text
    assert "pipe" in text.split("====")[1]
    assert job.left_behind() == []


def test_gdb_tells_where(job):
    if shutil.which("gdb") is None:
        pytest.skip("gdb (Debian package gdb) is not installed")
    done = job.launch("--hang-timeout", "1", "sleep", 1000)
    assert done.returncode == 124, done.stderr
    if "ptrace" in stacks(job, 0).read_text() or "thread " in stacks(job, 0).read_text().splitlines()[1]:
        pytest.skip("processes may not be traced here")
    assert "nanosleep" in done.stderr and "#0" in stacks(job, 0).read_text()


@pytest.mark.parametrize("imports", ["time", "time, threading"])
def test_py_spy_tells_where(job, imports):
    if shutil.which("py-spy") is None:
        pytest.skip("py-spy (PyPI) is not installed")
    job.script("a.py", f"import {imports}\ndef stuck_here():\n    time.sleep(1000)\nstuck_here()\n")
    done = job.launch("--hang-timeout", "1", "a.py")
    assert done.returncode == 124, done.stderr
    assert "in stuck_here (a.py:3)" in done.stderr and "<module> (a.py:4)" in stacks(job, 0).read_text()
    assert job.left_behind() == []


def test_a_tool_that_hangs_hangs_nothing(job, only_the_kernel):
    """The job is stopped by a person while gdb still thinks about its first rank."""
    (job.folder / "tools/gdb").write_text("#!/bin/sh\n: >gdb.up\nexec sleep 1000\n")
    job.script("a.py", HANG)
    child = job.start(LAUNCH, "--hang-timeout", "0.5", "--grace", 1, "a.py", env=only_the_kernel)
    job.wait_until(lambda: (job.folder / "gdb.up").exists())
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert child.returncode == 128 + signal.SIGTERM
    assert job.left_behind() == []


def test_one_rank_that_works_keeps_the_job(job, only_the_kernel):
    job.script("a.py", "import os, time\n"
                       "if os.environ['RANK'] == '0':\n"
                       "    end = time.monotonic() + 5\n"
                       "    while time.monotonic() < end: pass\n"
                       "    open('worked', 'w').close()\n"
                       "while not os.path.exists('worked'): time.sleep(0.5)\n")
    done = job.launch("--nproc_per_node", 2, "--hang-timeout", "2", "a.py", env=only_the_kernel)
    assert done.returncode == 0, done.stderr
    assert stacks(job, 1).exists()  # it did find that rank 1 was idle


def test_output_is_work(job, only_the_kernel):
    job.script("a.py", "import time\nfor _ in range(16): print('.', flush=True); time.sleep(0.3)")
    done = job.launch("--hang-timeout", "4", "a.py", env=only_the_kernel)
    assert done.returncode == 0, done.stderr
    assert not stacks(job, 0).exists()


def test_a_rank_that_hangs_after_the_others_are_done(job, only_the_kernel):
    job.script("a.py", "import os, time\nif os.environ['RANK'] == '1': time.sleep(1000)")
    done = job.launch("--nproc_per_node", 2, "--hang-timeout", "1", "a.py", env=only_the_kernel)
    assert done.returncode == 124, done.stderr
    assert "rank [1]: since" in done.stderr and "[0" not in done.stderr.split("rank [1]")[0]
    assert job.left_behind() == []


def test_without_the_option_a_job_may_wait(job):
    done = job.launch("sleep", 2)
    assert done.returncode == 0, done.stderr
    assert not stacks(job, 0).exists()


def test_an_error_of_a_gpu_is_told_at_once_and_with_the_hang(job, only_the_kernel):
    kernel_log = job.folder / "kmsg"
    os.mkfifo(kernel_log)
    log = os.open(kernel_log, os.O_RDWR)
    mounted = [*own_mounts(), "sh", "-c", 'mount --bind "$0" /dev/kmsg && exec "$@"', kernel_log]
    job.script("a.py", "import time\nprint('before', flush=True)\ntime.sleep(1000)\n")
    child = job.start(*mounted, LAUNCH, "--nproc_per_node", 1, "--hang-timeout", "1.5", "--grace", 2, "a.py",
                      env=only_the_kernel)
    job.wait_until(lambda: (job.folder / "log/workerlog.0").exists() and "before" in job.log(0))
    os.write(log, b"6,2,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python3, GPU has fallen off the bus.\n")
    _, err = child.communicate(timeout=60)
    os.close(log)
    assert child.returncode == 124, err
    message = r"the kernel logged Xid 79 of GPU 0000:3b:00: .*"
    warning = re.search(rf"rank 0 on \S+: {message}", err)
    report = re.search(rf"rank \[0\]: since \d\d:\d\d:\d\d in .*; {message}; stacks: ", err)
    assert warning and report and warning.start() < err.index("it hung") < report.start(), err


def test_under_mpirun_the_worker_tells_people_and_stops_nothing(job, only_the_kernel):
    done = job.mpirun(1, WORKER, "--hang-timeout", "0.5", "--", "sleep", 3, env=only_the_kernel)
    assert done.returncode == 0
    assert len(re.findall(r"dtrain-worker: rank 0 on .*: no output and no processor time for \d+ s", done.stderr)) == 1

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How jobs that dtrain-launch starts with srun end, whatever happens to whom.

Oracles: the shell's exit status convention; /proc of all nodes for what still runs; Slurm's own lists of steps.
"""
import os
import pathlib
import signal
import time

import pytest

from whole_jobs import LAUNCH

RANKS = 4

# Ranks that hold out: they ignore SIGTERM and have a child that left their session. Rank 3, on the second node, does
# what it is told.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["setsid", "sleep", "1000"])
open("up." + os.environ["RANK"], "w").close()
if os.environ["RANK"] == "3":
    while not all(os.path.exists(f"up.{rank}") for rank in range(4)): time.sleep(0.02)
    exec(sys.argv[1])
time.sleep(1000)
"""

# Ranks that stop at once when they are asked to, and say so.
OBEDIENT = """
import os, signal, sys, time
def stop(number, frame):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGUSR1, lambda number, frame: print("got SIGUSR1", flush=True))
open("up." + os.environ["RANK"], "w").close()
while True: time.sleep(0.1)
"""


@pytest.fixture
def running(job):
    """Starts a job of four ranks on two nodes, from salloc on the machine where people log in."""
    return Running(job)


class Running:
    def __init__(self, job):
        self.job, self.child = job, None

    def start(self, text, *words, grace=1):
        self.job.script("train.py", text)
        self.child = self.job.cluster.control.start("salloc", "--quiet", "-N2", LAUNCH, "--grace", grace, "--nproc_per_node",
                                                    2, "train.py", *words, cwd=self.job.folder)
        return self

    def wait_until_up(self):
        self.wait_until(lambda: all((self.job.folder / f"up.{rank}").exists() for rank in range(RANKS)))
        return self

    def wait_until(self, condition, timeout=30.0):
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.child.poll() is None, self.child.communicate()
            assert time.monotonic() < deadline, "condition not reached"
            time.sleep(0.02)

    def pids(self, program, node=None):
        """The processes of a program, on all machines or one; the guard of a worker is none of them."""
        found = []
        for name, processes in self.job.cluster.jobs_processes().items():
            for pid, command in processes.items():
                named = pathlib.Path(command.split(" ")[0]).name == program
                if named and node in (None, name) and pathlib.Path(f"/proc/{pid}/comm").read_text() != "dtrain-guard\n":
                    found.append(pid)
        return sorted(found)

    def kill(self, program, number, node=None):
        os.kill(self.pids(program, node)[0], number)

    def end(self, timeout=30):
        """(status, what the launcher said on stderr); nothing is left anywhere."""
        out, err = self.child.communicate(timeout=timeout)
        assert self.job.cluster.left_behind() == {}
        assert self.steps() == []
        return self.child.returncode, err

    def steps(self, timeout=10.0):
        """Steps that Slurm still has; it takes a moment to forget them."""
        deadline = time.monotonic() + timeout
        while True:
            steps = self.job.cluster.control.check("squeue", "--noheader", "--steps", "--format=%i %j").split("\n")
            left = [step for step in steps if " dtrain." in step]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.1)


@pytest.mark.parametrize("what, status, cause", [
    ("sys.exit(7)", 7, "exit code 7"),
    ("raise ValueError('bad batch')", 1, "exit code 1: ValueError: bad batch\n"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV"),
    ("os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
])
def test_a_failing_rank_ends_the_others(running, what, status, cause):
    code, err = running.start(STUBBORN, what).end()
    assert code == status, err
    assert "rank 3 on node2" in err and cause in err and "with rank=[3] was aborted" in err
    assert "then stopped by dtrain-launch: ranks [0,1,2]" in err
    assert "node2" in running.job.log(0).splitlines()[-1]  # who stopped it, and why


def test_a_program_that_is_missing_is_named(running):
    code, err = running.start("print(1)", grace=1).end()
    assert code == 0
    done = running.job.cluster.control.run("salloc", "--quiet", "-N2", LAUNCH, "sh", "-c", "exec /no/such/program",
                                           cwd=running.job.folder)
    assert done.returncode == 127 and "/no/such/program" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_stops_all_programs_gracefully(running, number):
    running.start(OBEDIENT, grace=20).wait_until_up()
    running.kill("dtrain-launch", number)
    code, err = running.end()
    assert code == 128 + number, err
    for rank in range(RANKS):
        assert "got SIGTERM" in running.job.log(rank)


def test_a_second_ctrl_c_kills_at_once(running):
    running.start(STUBBORN, "time.sleep(1000)", grace=600).wait_until_up()
    running.kill("dtrain-launch", signal.SIGINT)
    time.sleep(0.3)
    running.kill("dtrain-launch", signal.SIGINT)
    code, err = running.end()
    assert code == 130, err


def test_user_signals_reach_the_programs_and_nobody_else(running):
    running.start(OBEDIENT.replace("open(", "import subprocess; subprocess.Popen(['sleep', '1000'])\nopen("),
                  grace=20).wait_until_up()
    sleeps = running.pids("sleep")
    assert len(sleeps) == RANKS
    for times in (1, 2):
        running.kill("dtrain-launch", signal.SIGUSR1)
        running.wait_until(lambda: all(running.job.log(rank).count("got SIGUSR1") == times for rank in range(RANKS)))
    assert running.pids("sleep") == sleeps
    running.kill("dtrain-launch", signal.SIGTERM)
    assert running.end()[0] == 143


def test_a_killed_launcher_leaves_nothing_and_programs_their_grace(running):
    running.start(OBEDIENT, grace=20).wait_until_up()
    running.kill("dtrain-launch", signal.SIGKILL)
    running.end()
    for rank in range(RANKS):
        assert "got SIGTERM" in running.job.log(rank)


def test_a_killed_launcher_leaves_nothing_of_stubborn_programs(running):
    running.start(STUBBORN, "time.sleep(1000)").wait_until_up()
    running.kill("dtrain-launch", signal.SIGKILL)
    running.end()


def test_a_killed_srun_leaves_nothing_and_programs_their_grace(running):
    """Its child goes first: where srun's end is left to it, it has Slurm kill all processes of the step at once."""
    running.start(OBEDIENT, grace=20).wait_until_up()
    for pid in reversed(running.pids("srun")):
        os.kill(pid, signal.SIGKILL)
    code, err = running.end()
    assert code == 137 and "srun ended with signal SIGKILL" in err, err
    for rank in range(RANKS):
        assert "got SIGTERM" in running.job.log(rank)


def test_a_killed_srun_whose_child_ends_the_step_leaves_nothing(running):
    """Slurm gives no grace then: its SIGKILL comes before the launcher can ask for anything."""
    running.start(STUBBORN, "time.sleep(1000)", grace=20).wait_until_up()
    os.kill(running.pids("srun")[0], signal.SIGKILL)
    code, err = running.end()
    assert code == 137 and "srun ended with signal SIGKILL" in err, err


def test_a_killed_worker_is_named(running):
    running.start(STUBBORN, "time.sleep(1000)").wait_until_up()
    victim = running.pids("dtrain-worker", "node2")[0]
    rank = dict(word.split("=", 1) for word in pathlib.Path(f"/proc/{victim}/environ").read_text().split("\0")
                if "=" in word)["SLURM_PROCID"]
    os.kill(victim, signal.SIGKILL)
    code, err = running.end()
    assert code != 0
    assert f"rank [{rank}] ended without a word" in err and f"with rank=[{rank}] was aborted" in err, err


def test_scancel_of_the_job_leaves_nothing(running):
    running.start(STUBBORN, "time.sleep(1000)").wait_until_up()
    jobs = running.job.cluster.control.check("squeue", "--noheader", "--format=%i").split()
    running.job.cluster.control.check("scancel", *jobs)
    code, err = running.end()
    assert code != 0, err

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Slurm's daemon on a node is killed in the middle of a job that runs there.

Oracles: the steps of a job are processes of their own that need no slurmd; /proc of all nodes for what still runs; Slurm's
states of its nodes once the daemon is back.
"""
import os
import pathlib
import signal

import pytest

from test_slurm_endings import OBEDIENT, RANKS, STUBBORN, Running


class WithoutDaemon(Running):
    """A job whose second node loses its slurmd as soon as all ranks are up."""

    def start_and_kill_slurmd(self, text, *words, grace=1):
        self.start(text, *words, grace=grace).wait_until_up()
        for pid in self.daemons("slurmd"):
            os.kill(pid, signal.SIGKILL)
        return self

    def daemons(self, name):
        return [pid for pid, command in self.job.cluster[2].processes().items()
                if pathlib.Path(command.split(" ")[0].rstrip(":")).name == name]

    def end_and_bring_back(self, timeout=60):
        """(status, stderr); nothing is left anywhere, also before the daemon is back, and Slurm has all its nodes again."""
        _, err = self.child.communicate(timeout=timeout)
        assert self.job.cluster.left_behind(timeout=45) == {}
        self.bring_back()
        assert self.steps() == []
        self.job.cluster.wait_until(lambda: self.job.cluster.slurm_states() == {"idle"}, "Slurm's nodes", timeout=60)
        assert self.job.cluster.left_behind() == {}
        return self.child.returncode, err

    def bring_back(self):
        if not self.daemons("slurmd"):
            self.job.cluster.start_slurmd(self.job.cluster[2])


@pytest.fixture
def running(job):
    running = WithoutDaemon(job)
    yield running
    running.bring_back()
    job.cluster.control.run("scontrol", "update", "nodename=node2", "state=resume")


def test_the_job_goes_on_to_its_end(running):
    running.start_and_kill_slurmd("import os, time\nopen('up.' + os.environ['RANK'], 'w').close()\n"
                                  "while not os.path.exists('go'): time.sleep(0.1)\n")
    (running.job.folder / "go").touch()
    code, err = running.end_and_bring_back()
    assert code == 0, err


def test_a_rank_that_fails_there_is_named(running):
    running.start_and_kill_slurmd(STUBBORN, "exec('while not os.path.exists(\"go\"): time.sleep(0.1)'); sys.exit(7)")
    (running.job.folder / "go").touch()
    code, err = running.end_and_bring_back()
    assert code == 7 and "rank 3 on node2" in err and "exit code 7" in err, err


def test_a_signal_stops_all_programs_gracefully(running):
    running.start_and_kill_slurmd(OBEDIENT, grace=20)
    running.kill("dtrain-launch", signal.SIGTERM)
    code, err = running.end_and_bring_back()
    assert code == 143, err
    for rank in range(RANKS):
        assert "got SIGTERM" in running.job.log(rank)


def test_a_killed_launcher_leaves_nothing(running):
    """Slurm cannot end the ranks there; they notice that nobody speaks to them."""
    running.start_and_kill_slurmd(STUBBORN, "time.sleep(1000)")
    running.kill("dtrain-launch", signal.SIGKILL)
    running.end_and_bring_back()


def test_a_node_that_slurm_gives_up_is_named(running):
    """As Slurm does after SlurmdTimeout."""
    running.start_and_kill_slurmd(STUBBORN, "time.sleep(1000)")
    running.job.cluster.control.check("scontrol", "update", "nodename=node2", "state=down", "reason=test")
    _, err = running.child.communicate(timeout=60)
    assert running.child.returncode != 0 and "node node2 was lost with ranks [2,3]" in err, err
    assert running.job.cluster.left_behind(timeout=45) == {}


def test_ranks_that_die_with_the_daemons_are_named(running):
    """Nobody is left on the node who could tell Slurm."""
    running.start_and_kill_slurmd(STUBBORN, "time.sleep(1000)")
    for pid in running.daemons("slurmstepd"):
        os.kill(pid, signal.SIGKILL)
    code, err = running.end_and_bring_back()
    assert code != 0 and "node node2 was lost with ranks [2,3]" in err, err

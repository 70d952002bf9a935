# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Each row of docs/reliability.md, "On several nodes" and "In Slurm", made to happen.

Oracle: that page (the first line that is said, the exit status), what was done to nodes and programs, /proc, TMPDIR of each node and the
folder of records for what is left behind.
"""
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import time

import pytest

import reliability
from reliability import Seen
from test_agents import SLEEP, follow
from whole_jobs import BUILD, LAUNCH

SEVERAL_NODES = reliability.table("On several nodes")
IN_SLURM = reliability.table("In Slurm")
TIMEOUT = 120  # seconds; who waits for other nodes waits 600


class Sandbox:
    """Nodes where one of them happens, each with a TMPDIR of its own."""

    def __init__(self, follow):
        self.follow, self.job, self.cluster = follow, follow.job, follow.cluster
        self.folder = self.job.folder
        self.name = f"of-{self.folder.name}"
        self.temporary = [*(node.tmp(self.name) for node in self.cluster.nodes), pathlib.Path("/tmp", self.name)]  # ctl has no own
        for path in self.temporary:
            path.mkdir(exist_ok=True)
        follow.environment["TMPDIR"] = f"/tmp/{self.name}"
        self.values = {"HOST": "node1", "OTHER": "node2", "FOLDER": self.folder}
        self.job.script("train.py", SLEEP)
        self.ips = ("--ips", self.cluster.addresses(2), "--nproc_per_node", 1, "--grace", 2)

    def start(self, number, *words, program=LAUNCH, env=None):
        return self.cluster[number].start(program, "--no-banner", *words, cwd=self.folder,
                                          env={**self.follow.environment, **(env or {})})

    def both(self):
        launchers = {number: self.start(number, *self.ips, "train.py") for number in (1, 2)}
        for rank in (0, 1):
            self.follow.wait_for_log(rank, "up")
        return launchers

    def end(self, child, since, **values):
        _, err = child.communicate(timeout=TIMEOUT)
        seconds = time.time() - since
        err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("salloc: "))
        return Seen(child.returncode, err, seconds, self.values | values)

    def allocated(self, *options):
        """A job in an allocation of two nodes whose ranks are up."""
        child = self.cluster.control.start("salloc", "--quiet", "-N2", *options, LAUNCH, "--no-banner", "--grace", 2, "--nproc_per_node",
                                           1, "train.py", cwd=self.folder, env=self.follow.environment)
        for rank in (0, 1):
            self.follow.wait_for_log(rank, "up", timeout=60)
        return child

    def state(self, nodes, state):
        self.cluster.control.check("scontrol", "update", f"NodeName={nodes}", f"State={state}", "Reason=test")

    def is_clean(self):
        assert self.cluster.left_behind() == {}
        self.cluster.wait_until(lambda: not any(any(path.iterdir()) for path in self.temporary), "clean nodes", 10)
        records = self.cluster.home / ".local/state/dtrain/jobs"
        assert not records.exists() or list(records.iterdir()) == []

    def start_again(self):
        """The next start on each node."""
        for number in (1, 2):
            self.start(number, "/bin/true").communicate(timeout=TIMEOUT)


@pytest.fixture
def sandbox(follow):
    sandbox = Sandbox(follow)
    yield sandbox
    for path in sandbox.temporary:
        shutil.rmtree(path, ignore_errors=True)


def kill_launcher(sandbox, victim):
    launchers = sandbox.both()
    os.kill(launchers[victim].inner, signal.SIGKILL)
    since = time.time()
    launchers.pop(victim).communicate(timeout=TIMEOUT)
    (other,) = launchers.values()
    seen = sandbox.end(other, since)
    assert sandbox.cluster.left_behind() == {}
    sandbox.start_again()
    return seen


def launcher_killed(sandbox):
    return kill_launcher(sandbox, 2)


def head_killed(sandbox):
    return kill_launcher(sandbox, 1)


def cut_link(sandbox):
    launchers = sandbox.both()
    sandbox.cluster[2].cut()
    since = time.time()
    seen = sandbox.end(launchers[1], since)
    launchers[2].communicate(timeout=TIMEOUT)
    return seen


def refused(sandbox, of_node, words, **on_node_2):
    """Both nodes' launchers, of which one is looked at."""
    since = time.time()
    launchers = {1: sandbox.start(1, *sandbox.ips, "--start-timeout", 5, *words), 2: sandbox.start(2, *sandbox.ips, *words, **on_node_2)}
    seen = sandbox.end(launchers.pop(of_node), since)
    for other in launchers.values():
        other.communicate(timeout=TIMEOUT)
    return seen


def other_key(sandbox, of_node=2):
    return refused(sandbox, of_node, ["train.py"], env={"DTRAIN_KEY_FILE": sandbox.folder / "other"})


def other_key_on_node_1(sandbox):
    return other_key(sandbox, 1)


def missing_program(sandbox, of_node=2):
    program = sandbox.cluster[1].tmp("only-here.sh")  # as node 1 has a /tmp of its own
    program.write_text("#!/bin/sh\nsleep 1000\n")
    program.chmod(0o755)
    try:
        return refused(sandbox, of_node, ["/tmp/only-here.sh"])
    finally:
        program.unlink()


def missing_program_on_node_1(sandbox):
    return missing_program(sandbox, 1)


def other_version(sandbox, of_node=2):
    """A copy of dtrain-launch in which only the version is another."""
    bin_folder = sandbox.folder / "of_node_2" / "src/bin"
    bin_folder.mkdir(parents=True)
    (bin_folder.parent / "libexec").symlink_to(BUILD / "src/libexec")
    (bin_folder / "dtrain-worker").symlink_to(LAUNCH.parent / "dtrain-worker")
    version = sandbox.job.launch_on(1, "--version").stdout.split()[-1]
    other = version[:-1] + "~"
    content = LAUNCH.read_bytes()
    assert version.encode() + b"\0" in content
    program = bin_folder / "dtrain-launch"
    program.write_bytes(content.replace(version.encode() + b"\0", other.encode() + b"\0"))
    program.chmod(0o755)
    sandbox.values |= {"VERSION": version, "OTHER": other}
    return refused(sandbox, of_node, ["train.py"], program=program)


def other_version_on_node_1(sandbox):
    return other_version(sandbox, 1)


def scancel(sandbox):
    child = sandbox.allocated()
    jobs = sandbox.cluster.control.check("squeue", "--noheader", "--format=%i").split()
    since = time.time()
    sandbox.cluster.control.check("scancel", *jobs)
    return sandbox.end(child, since)


def time_limit(sandbox):
    if os.environ.get("DTRAIN_STRESS") != "1":
        pytest.skip("Slurm's shortest time limit is a minute: DTRAIN_STRESS=1")
    child = sandbox.allocated("--time=1")
    return sandbox.end(child, time.time())


def node_down(sandbox):
    child = sandbox.allocated()
    since = time.time()
    sandbox.state("node2", "DOWN")
    try:
        seen = sandbox.end(child, since)
    finally:
        sandbox.state("node2", "IDLE")
    # srun of Slurm 24.11 ends with 1 there: docs/packages.md.
    return seen if seen.status != 1 else dataclasses.replace(
        seen, status=143, output=seen.output.replace("srun ended with exit code 1\n", "srun ended with exit code 143\n"))


def drained(sandbox):
    sandbox.state("node[1-4]", "DRAIN")
    try:
        since = time.time()
        submitted = sandbox.job.launch_on(1, "submit", "--scheduler", "slurm", "--nodes", 2, "train.py", env=sandbox.follow.environment)
        assert submitted.returncode == 0, submitted.stderr
        number = submitted.stdout.split()[1]
        deadline = since + TIMEOUT
        while True:
            status = sandbox.job.launch_on(1, "status", env=sandbox.follow.environment)
            lines = [line for line in status.stdout.splitlines()
                     if re.fullmatch(reliability.pattern("JOB is pending: REASON", {"JOB": number}), line)]
            if lines or time.time() > deadline:
                break
            time.sleep(0.1)
        seen = Seen(status.returncode, "\n".join(lines), time.time() - since, sandbox.values | {"JOB": number})
        assert sandbox.job.launch_on(1, "cancel", number, env=sandbox.follow.environment).returncode == 0
        return seen
    finally:
        sandbox.state("node[1-4]", "RESUME")


ON_SEVERAL_NODES = {
    "dtrain-launch is killed (`kill -9`) on node 2; on node 1": launcher_killed,
    "dtrain-launch is killed (`kill -9`) on node 1; on node 2": head_killed,
    "the network of node 2 is cut; on node 1": cut_link,
    "node 2 has another key; there": other_key,
    "node 2 has another key; on node 1": other_key_on_node_1,
    "the program is not there on node 2; there": missing_program,
    "the program is not there on node 2; on node 1": missing_program_on_node_1,
    "node 2 has another version of dtrain; there": other_version,
    "node 2 has another version of dtrain; on node 1": other_version_on_node_1,
}
OF_SLURM = {
    "`scancel JOB`": scancel,
    "the time limit of the job": time_limit,
    "Slurm gives up node 2 (DOWN)": node_down,
    "the nodes are drained before the job starts; `dtrain-launch status`": drained,
}


def test_each_row_has_its_scenario():
    assert (list(SEVERAL_NODES), list(IN_SLURM)) == (list(ON_SEVERAL_NODES), list(OF_SLURM))


@pytest.mark.parametrize("what", ON_SEVERAL_NODES | OF_SLURM)
def test_it_happens_as_the_page_says(sandbox, what):
    row = (SEVERAL_NODES | IN_SLURM)[what]
    reliability.check(row, (ON_SEVERAL_NODES | OF_SLURM)[what](sandbox))
    assert row.left == ("nothing, after the next start" if (ON_SEVERAL_NODES | OF_SLURM)[what] in (launcher_killed, head_killed) else "nothing")
    sandbox.is_clean()

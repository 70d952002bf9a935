# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch status, logs, stacks and cancel on every engine and from every node: the same words.

Oracles: names of nodes, what programs print, Slurm's own tools, processes on the nodes.
"""
import json
import os
import re

import pytest

from whole_jobs import LAUNCH

WAIT = """
import os, socket, sys, time
print("rank", os.environ["RANK"], "on", socket.gethostname(), flush=True)
open("up." + os.environ["RANK"], "w").close()
while not os.path.exists("go"): time.sleep(0.1)
print("goes", flush=True)
if os.environ["RANK"] == "0": open("gone", "w").close()
while not os.path.exists("gone"): time.sleep(0.1)  # rank 1 fails, and then rank 0 is stopped
sys.exit(5 if os.environ["RANK"] == "1" else 0)
"""


def wait_for_ranks(job, count=2):
    job.cluster.wait_until(lambda: all((job.folder / f"up.{rank}").exists() for rank in range(count)), "the ranks")


def by_ssh(job):
    return job.start_on(1, LAUNCH, "--job_id", "mine", "--ips", job.cluster.addresses(2), "--nproc_per_node", 1, "--grace", 2,
                        "wait.py")


def by_srun(job):
    return job.start_on(3, "salloc", "--quiet", "--nodelist=node1,node2", "-N2", "--ntasks-per-node=1", LAUNCH, "--job_id",
                        "mine", "--grace", 2, "wait.py")


@pytest.fixture(params=[by_ssh, by_srun], ids=["mpirun", "srun"])
def running(job, request):
    job.script("wait.py", WAIT)
    child = request.param(job)
    wait_for_ranks(job)
    return child


def test_the_same_words_from_any_node(job, running):
    engine = "mpirun" if running.args[-1] == "wait.py" and "salloc" not in map(str, running.args) else "srun"
    head = "node1" if engine == "mpirun" else "node3"
    for node in (1, 3, 4):
        shown = job.launch_on(node, "status")
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.splitlines()[1].split()[:6] == ["mine", "running", engine, "2", "2/2", "0"], shown.stdout
    one = job.launch_on(4, "status", "mine")
    assert f" on {head}" in one.stdout
    for rank in (0, 1):
        assert re.search(rf"^{rank} +trainer +node{rank + 1} +\d+ +running", one.stdout, re.M), one.stdout
    logs = job.launch_on(4, "logs", "--rank", "all", "mine")
    assert logs.stdout == "[0] rank 0 on node1\n[1] rank 1 on node2\n", logs.stderr
    stacks = job.launch_on(4, "stacks", "mine", timeout=90)
    assert stacks.returncode == 0, stacks.stderr
    for rank in (0, 1):
        assert re.search(rf"^---- rank {rank} on node{rank + 1}\n==== pid \d+: ", stacks.stdout, re.M), stacks.stdout
    assert running.poll() is None
    follower = job.start_on(4, LAUNCH, "logs", "-f", "mine")
    assert follower.stdout.readline() == "rank 0 on node1\n"
    (job.folder / "go").touch()
    out, err = follower.communicate(timeout=30)
    assert out.startswith("goes\n") and follower.returncode == 5 == running.wait(30), err
    assert job.launch_on(4, "status").stdout == "no job of yours is running or in a queue\n"


def test_cancel_from_another_node(job, running):
    done = job.launch_on(4, "cancel", "mine")
    assert (done.returncode, done.stdout) == (0, "job mine has ended\n"), done.stderr
    assert running.wait(10) == 128 + 15
    assert job.cluster.left_behind(2) == {}


def test_logs_and_stacks_of_a_node_with_disks_of_its_own(job):
    job.script("wait.py", WAIT)
    own = f"/tmp/{job.folder.name}"
    words = [LAUNCH, "--job_id", "mine", "--ips", job.cluster.addresses(2), "--log_dir", own, "--nproc_per_node", 1,
             "--grace", 2, job.folder / "wait.py"]
    children = [job.start_on(node, *words) for node in (1, 2)]
    wait_for_ranks(job)
    assert job.launch_on(1, "logs", "mine").stdout == "rank 0 on node1\n"
    other = job.launch_on(1, "logs", "--rank", 1, "mine")
    assert other.returncode == 1 and f"the log of rank 1 is {own}/workerlog.1 on node2" in other.stderr, other.stderr
    stacks = job.launch_on(1, "stacks", "mine", timeout=90)
    assert re.search(r"^---- rank 1 on node2\n==== pid \d+: ", stacks.stdout, re.M), stacks.stdout + stacks.stderr
    assert job.launch_on(1, "cancel", "--now", "mine").returncode == 0
    assert [child.wait(20) for child in children] == [130, 130]


def test_a_job_that_waits_for_its_nodes_can_be_cancelled(job):
    job.script("wait.py", WAIT)
    child = job.start_on(1, LAUNCH, "--job_id", "mine", "--master", f"{job.cluster.address(1)}:7001", "--nnodes", 2, "wait.py")
    job.cluster.wait_until(lambda: "mine" in job.launch_on(1, "status").stdout, "its record")
    assert job.launch_on(1, "status").stdout.splitlines()[1].split()[:2] == ["mine", "waiting"]
    assert job.launch_on(2, "cancel", "mine").returncode == 0
    assert child.wait(5) != 0
    assert job.launch_on(1, "status").stdout == "no job of yours is running or in a queue\n"


def submit(job, *options):
    job.script("wait.py", WAIT)
    done = job.launch_on(1, "submit", "--nodes", 1, *options, "wait.py")
    assert done.returncode == 0, done.stderr
    return re.match(r"job (\d+)", done.stdout).group(1)


def test_a_submitted_job_from_queue_to_end(job):
    blocker = job.on(1, "sbatch", "--parsable", "-N4", "--exclusive", "--wrap", "sleep 1000").stdout.strip()
    job.cluster.wait_until(lambda: "R" in job.on(1, "squeue", "-h", "-j", blocker, "-o", "%t").stdout, "the blocker")
    number = submit(job, "--sbatch=--exclusive")
    shown = job.launch_on(2, "status", number)
    assert re.search(rf"^{number} +pending +slurm ", shown.stdout, re.M), shown.stdout + shown.stderr
    assert re.search(rf"^{number} is pending: \w+", shown.stdout, re.M)
    status, = json.loads(job.launch_on(2, "status", "--json").stdout)
    assert (status["state"], status["scheduler_job"]) == ("pending", number)
    early = job.launch_on(2, "logs", number)
    assert early.returncode == 1 and f"job {number} is pending" in early.stderr
    job.on(1, "scancel", blocker)
    wait_for_ranks(job, 1)
    state = job.launch_on(4, "status", number)
    assert re.search(rf"^{number} +running +srun ", state.stdout, re.M), state.stdout + state.stderr
    assert job.launch_on(4, "logs", number).stdout.startswith("rank 0 on node")
    (job.folder / "go").touch()
    job.cluster.wait_until(lambda: job.launch_on(4, "status").stdout.startswith("no job"), "its end")


def test_a_pending_job_is_taken_out_of_the_queue(job):
    number = submit(job, "--sbatch=--hold")
    done = job.launch_on(2, "cancel", number)
    assert (done.returncode, done.stdout) == (0, f"job {number} has ended\n"), done.stderr
    assert number not in job.on(1, "squeue", "-h", "-o", "%i").stdout.split()
    assert job.launch_on(2, "status").stdout == "no job of yours is running or in a queue\n"


def test_srun_where_ssh_does_not_work(job):
    job.script("wait.py", WAIT)
    number = submit(job)
    wait_for_ranks(job, 1)
    without = job.folder / "bin"
    without.mkdir()
    (without / "ssh").write_text("#!/bin/sh\necho no route >&2\nexit 255\n")
    (without / "ssh").chmod(0o755)
    head = json.loads(job.launch_on(1, "status", "--json", number).stdout)[0]["host"]
    other = 4 if head != "node4" else 3
    env = {"PATH": f"{without}:/usr/bin:/bin:/usr/sbin:/sbin"}
    shown = job.launch_on(other, "status", number, env=env)
    assert re.search(rf"^{number} +running +srun ", shown.stdout, re.M), shown.stdout + shown.stderr
    assert job.launch_on(other, "logs", number, env=env).stdout.startswith("rank 0 on node")
    cancelled = job.launch_on(other, "cancel", number, env=env)
    assert (cancelled.returncode, cancelled.stdout, cancelled.stderr) == (0, f"job {number} has ended\n", "")
    assert job.cluster.left_behind(10) == {}


def test_a_launcher_that_cannot_be_reached_is_named(job):
    job.script("wait.py", WAIT)
    child = job.start_on(1, LAUNCH, "--job_id", "mine", "wait.py")
    wait_for_ranks(job, 1)
    job.cluster[1].cut()
    shown = job.launch_on(2, "status")
    assert shown.stdout.splitlines()[1].split()[:2] == ["mine", "unreachable"], shown.stdout
    refused = job.launch_on(2, "cancel", "mine")
    assert refused.returncode == 1 and "node1" in refused.stderr and refused.stderr.count("\n") == 1
    job.cluster[1].heal()
    assert job.launch_on(2, "cancel", "mine").returncode == 0
    assert child.wait(10) == 143


def test_a_log_that_an_earlier_job_left_here_is_not_shown_for_another_nodes(job):
    job.script("wait.py", WAIT)
    left = job.cluster[1].tmp("left")
    left.mkdir()
    (left / "workerlog.1").write_text("of an earlier job\n")
    os.utime(left / "workerlog.1", (1e9, 1e9))
    child = job.start_on(1, LAUNCH, "--job_id", "mine", "--ips", job.cluster.addresses(2), "--nproc_per_node", 1, "--log_dir",
                         "/tmp/left", "wait.py")
    wait_for_ranks(job)
    shown = job.launch_on(1, "logs", "--rank", "all", "mine")
    assert (shown.returncode, shown.stdout) == (1, "[0] rank 0 on node1\n"), shown.stderr
    assert "workerlog.1 on node2, which cannot be seen from node1" in shown.stderr
    (job.folder / "go").touch()
    assert child.wait(30) == 5


def test_a_log_of_another_node_that_begins_late_is_followed(job):
    job.script("wait.py", WAIT)
    child = job.start_on(1, LAUNCH, "--job_id", "mine", "--ips", job.cluster.addresses(2), "--nproc_per_node", 1, "--log_dir",
                         "/tmp/late", "wait.py")
    wait_for_ranks(job)
    follower = job.start_on(1, LAUNCH, "logs", "-f", "--rank", "all", "mine")
    assert follower.stdout.readline() == "[0] rank 0 on node1\n"
    # As if the folder were shared and rank 1 had only just begun its log.
    (job.cluster[1].tmp("late") / "workerlog.1").write_text("late\n")
    assert follower.stdout.readline() == "[1] late\n"
    (job.folder / "go").touch()
    err = follower.communicate(timeout=30)[1]
    assert (child.wait(30), follower.returncode, err) == (5, 5, "")

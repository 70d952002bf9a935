# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A campaign of faults: jobs of two nodes, each with its own launcher, while the network, the clock or a process is bad.

Oracle: the job that was given: one that ends well ends with status 0 on both nodes and all of its output, one whose rank 1
exits with 7 ends with 7 on both and the cause is rank 1; where the fault ends the job, both launchers say which machine was
lost. Each ends within its deadline, nothing is left running on any node, and no file is half written.

A few of the runs are in the default suite; all of them, several times each, with DTRAIN_STRESS=1. DTRAIN_FAULTS_TABLE=FILE:
a line for each run, tab-separated: fault, job, outcome, seconds until the last launcher had ended."""
import contextlib
import json
import os
import pathlib
import signal
import time

import pytest

from test_agents import Follow, ends, outputs
from whole_jobs import BUILD, PYTHON

STRESS = os.environ.get("DTRAIN_STRESS") == "1"
FAULTY_CALLS = BUILD / "tests/support/libfaulty_calls.so"

# Ten lines a rank, over two seconds or until the file `go` is there.
STEPS = """import os, sys, time
rank = os.environ["PADDLE_TRAINER_ID"]
print("up", flush=True)
while WAITS and not os.path.exists("go"): time.sleep(0.05)
for step in range(10):
    print("rank", rank, "step", step, flush=True)
    time.sleep(0.2)
with open("new.clock." + rank, "w") as out: out.write(str(time.time()))
os.rename("new.clock." + rank, "clock." + rank)
while not (os.path.exists("clock.0") and os.path.exists("clock.1")): time.sleep(0.05)
if FAILS and rank == "1": sys.exit(7)
if FAILS: time.sleep(1000)
print("done", flush=True)
"""
MPI = """from mpi4py import MPI
import numpy
for step in range(10):
    total = numpy.empty(100)
    MPI.COMM_WORLD.Allreduce(numpy.full(100, MPI.COMM_WORLD.rank + step, float), total)
    assert (total == 2 * step + 1).all()
print("done")
"""


def steps(waits=False, fails=False):
    return STEPS.replace("WAITS", str(waits)).replace("FAILS", str(fails))


@pytest.fixture
def follow(job):
    follow = Follow(job)
    yield follow
    assert job.cluster.left_behind() == {}


def note(fault, job, outcome, begin):
    if path := os.environ.get("DTRAIN_FAULTS_TABLE"):
        with open(path, "a") as table:
            table.write(f"{fault}\t{job}\t{outcome}\t{time.monotonic() - begin:.1f}\n")


def launch(follow, *words, env=None):
    options = ("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "--grace", 1, "--log_dir", "log",
               "--report", "report.json", *words)
    return {number: follow.start(number, *options, env=(env or {}).get(number)) for number in (1, 2)}


def expect_whole_report(follow):
    report = json.loads((follow.job.folder / "report.json").read_text())
    assert not [path.name for path in follow.job.folder.iterdir() if ".tmp" in path.name]
    return report


def expect_done(follow, done):
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    for rank in (0, 1):
        lines = [f"rank {rank} step {step}\n" for step in range(10)]
        assert follow.job.log(rank).endswith("".join(["up\n", *lines, "done\n"]))
    assert "rank 0 step 9\ndone\n" in done[1][1], "all of rank 0's output is on node 0's console"
    expect_whole_report(follow)


def expect_rank_1(follow, done):
    assert [status for status, _, _ in done.values()] == [7, 7], outputs(done)
    for _, _, err in done.values():
        assert "rank 1" in err and "exit code 7" in err, outputs(done)
    assert follow.job.log(1).endswith("rank 1 step 9\n")
    expect_whole_report(follow)


def expect_lost(follow, done):
    assert all(status != 0 for status, _, _ in done.values()), outputs(done)
    assert "node 10.77.0.2 was lost with rank [1]" in done[1][2], outputs(done)
    assert "lost node 0 (10.77.0.1)" in done[2][2], outputs(done)
    expect_whole_report(follow)


def run_steps(follow, env=None):
    follow.job.script("train.py", steps())
    done = ends(launch(follow, "train.py", env=env), timeout=120)
    expect_done(follow, done)


def run_failing(follow, env=None):
    follow.job.script("train.py", steps(fails=True))
    expect_rank_1(follow, ends(launch(follow, "train.py", env=env), timeout=120))


def run_mpi(follow, env=None):
    follow.job.script("train.py", MPI)
    done = ends(launch(follow, PYTHON, "train.py", env=env), timeout=180)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert follow.job.log(0) == follow.job.log(1) == "done\n"
    expect_whole_report(follow)


JOBS = {"ends well": run_steps, "rank 1 exits with 7": run_failing, "MPI": run_mpi}
LINKS = {"1 % of frames lost": {"loss": 1}, "10 % of frames lost": {"loss": 10}, "200 ms late": {"delay": 200},
         "1 Mbit/s": {"rate": 1000}, "all three: 5 %, 200 ms, 1 Mbit/s": {"loss": 5, "delay": 200, "rate": 1000}}
SHORT_FORM = {("10 % of frames lost", "rank 1 exits with 7"), ("200 ms late", "ends well"), ("1 Mbit/s", "MPI")}


def repeated(cases, short_form, times=5):
    """All cases several times under stress, else those of the short form once."""
    return [pytest.param(*case, number, id="-".join([*case, str(number)])) for case in cases if STRESS or case in short_form
            for number in range(times if STRESS else 1)]


@pytest.mark.parametrize(("fault", "kind", "number"), repeated([(f, k) for f in LINKS for k in JOBS], SHORT_FORM))
def test_a_bad_network(follow, fault, kind, number):
    with follow.cluster[2].bad_link(**LINKS[fault], seed=number):
        begin = time.monotonic()
        JOBS[kind](follow)
        note(fault, kind, "as without the fault", begin)


def started(follow, text, **launch_options):
    """A job whose ranks have begun."""
    follow.job.script("train.py", text)
    launchers = launch(follow, "train.py", **launch_options)
    logs = [follow.job.folder / f"log/workerlog.{rank}" for rank in (0, 1)]
    follow.cluster.wait_until(lambda: launchers[1].poll() is not None or all(
        log.exists() and "up" in log.read_text() for log in logs), "ranks", timeout=60)
    assert launchers[1].poll() is None, outputs(ends(launchers))
    return launchers


@pytest.mark.parametrize("number", range(5 if STRESS else 1))
@pytest.mark.parametrize("seconds", [3, 30, 90] if STRESS else [3])
def test_a_partition(follow, seconds, number):
    """Of 3 s: nobody notices. Longer: each side says that the other is lost, before the network is back."""
    launchers = started(follow, steps(waits=True))
    begin = time.monotonic()
    follow.cluster[2].cut()
    if seconds <= 3:
        time.sleep(seconds)
        follow.cluster[2].heal()
        (follow.job.folder / "go").touch()
        done = ends(launchers)
        expect_done(follow, done)
        note(f"no network for {seconds} s", "ends well", "as without the fault", begin)
    else:
        done = ends(launchers, timeout=seconds)
        expect_lost(follow, done)
        note(f"no network for {seconds} s", "ends well", "both say who was lost", begin)
        assert follow.cluster.left_behind() == {}
        time.sleep(max(0.0, begin + seconds - time.monotonic()))
        follow.cluster[2].heal()


CLOCKS = [(node, hours, fails) for node in (1, 2) for hours in (1, -1) for fails in (False, True)]


@pytest.mark.parametrize("number", range(5 if STRESS else 1))
@pytest.mark.parametrize(("node", "hours", "fails"), CLOCKS if STRESS else [(1, 1, True), (1, -1, False), (2, 1, False), (2, -1, True)])
def test_a_clock_that_jumps(follow, node, hours, fails, number):
    clock = follow.job.folder / "clock"
    clock.write_text("0")
    launchers = started(follow, steps(waits=True, fails=fails), env={node: {"LD_PRELOAD": FAULTY_CALLS, "FAULTY_CLOCK": clock}})
    begin = time.monotonic()
    clock.write_text(str(3600 * hours))
    (follow.job.folder / "go").touch()
    (expect_rank_1 if fails else expect_done)(follow, ends(launchers))
    jump = float((follow.job.folder / f"clock.{node - 1}").read_text()) - time.time()
    assert abs(jump - 3600 * hours) < 60, "the rank there has seen it"
    note(f"clock of node {node} jumps by {hours:+d} h", "rank 1 exits with 7" if fails else "ends well", "as without the fault", begin)


def stopped(follow, node, program):
    """pids on the node of processes of this name, all of which there must be."""
    found = [pid for pid in follow.cluster[node].jobs_processes()
             if pathlib.Path(f"/proc/{pid}/comm").read_text().strip().startswith(program[:15])]
    assert found, follow.cluster[node].jobs_processes()
    return found


STOPS = [(node, program, fails) for node in (1, 2) for program in ("dtrain-launch", "dtrain-worker", "dtrain-guard")
         for fails in (False, True)]


@pytest.mark.parametrize("number", range(5 if STRESS else 1))
@pytest.mark.parametrize(("node", "program", "fails"), STOPS if STRESS else [stop for stop in STOPS if stop[2] == (stop[0] == 2)])
def test_a_process_that_is_stopped_for_a_while(follow, node, program, fails, number):
    """Nothing is lost, and what happens in the meantime is told afterwards."""
    launchers = started(follow, steps(waits=True, fails=fails))
    begin = time.monotonic()
    pids = stopped(follow, node, program)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    (follow.job.folder / "go").touch()
    follow.wait_for_log(0, "rank 0 step 9")
    follow.wait_for_log(1, "rank 1 step 9")
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    for launcher in launchers.values():
        launcher.send_signal(signal.SIGCONT)  # nsenter, which had stopped with what it had started
    (expect_rank_1 if fails else expect_done)(follow, ends(launchers))
    note(f"{program} of node {node} stopped for 2 s", "rank 1 exits with 7" if fails else "ends well", "as without the fault", begin)

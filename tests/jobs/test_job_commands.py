# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch status, logs, stacks and cancel for jobs on this machine.

Oracles: pids that programs tell of themselves, what they print, /proc, the exit statuses that the launcher itself has.
"""
import json
import os
import re
import signal
import socket
import stat

import pytest

from conftest import LAUNCH

WAIT = """
import os, signal, sys, time
print("rank", os.environ["RANK"], "is", os.getpid(), flush=True)
open("up." + os.environ["RANK"], "w").close()
def here_it_waits():
    while not os.path.exists("go"):
        time.sleep(0.05)
here_it_waits()
print("rank", os.environ["RANK"], "goes", flush=True)
if os.environ["RANK"] == "0":
    open("gone", "w").close()
while not os.path.exists("gone"):  # rank 1 fails, and then rank 0 is stopped
    time.sleep(0.05)
sys.exit(7 if os.environ["RANK"] == "1" else 0)
"""


@pytest.fixture
def records(job):
    return {"DTRAIN_JOBS_DIR": job.folder / "records"}


@pytest.fixture
def running(job, records):
    """Starts a job of two ranks that waits for a file "go"."""
    def start(*options, script=WAIT):
        job.script("wait.py", script)
        child = job.start(LAUNCH, "--nproc_per_node", 2, "--grace", 3, *options, "wait.py", env=records)
        job.wait_until(lambda: all((job.folder / f"up.{rank}").exists() for rank in (0, 1)))
        return child
    return start


@pytest.fixture
def ask(job, records):
    return lambda *words, **options: job.launch(*words, env=records | options.pop("env", {}), **options)


def printed_pids(job):
    return [int(re.search(r"is (\d+)", job.log(rank)).group(1)) for rank in (0, 1)]


def test_status_shows_jobs_and_ranks(job, running, ask, records):
    assert ask("status").stdout == "no job of yours is running or in a queue\n"
    child = running("--job_id", "mine")
    pids = printed_pids(job)
    shown = ask("status")
    assert shown.returncode == 0, shown.stderr
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert lines[0] == ["JOB", "STATE", "ENGINE", "NODES", "UP", "ENDED", "ELAPSED", "PROGRAM", "LOG_DIR"]
    assert len(lines) == 2
    assert lines[1][:6] == ["mine", "running", "mpirun", "1", "2/2", "0"]
    assert lines[1][7:] == ["wait.py", str(job.folder / "log")]
    one = ask("status", "mine")
    assert f"launcher: pid {child.pid} on {socket.gethostname()}" in one.stdout
    for rank in (0, 1):
        assert re.search(rf"^{rank} +trainer +{socket.gethostname()} +{pids[rank]} +running +- +{job.folder}/log/workerlog"
                         rf".{rank}$", one.stdout, re.M), one.stdout
    status, = json.loads(ask("status", "--json", "mine").stdout)
    assert (status["pid"], status["state"], status["up"], status["ended"]) == (child.pid, "running", 2, 0)
    assert [rank["pid"] for rank in status["ranks"]] == pids
    # another user could read neither the record nor ask
    record, = (job.folder / "records").iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600 and stat.S_IMODE(record.parent.stat().st_mode) == 0o700
    folder = os.path.dirname(status["socket"])
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    (job.folder / "go").touch()
    assert child.wait(20) == 7
    assert list((job.folder / "records").iterdir()) == [] and not os.path.exists(folder)


def test_jobs_of_one_name_have_full_names(job, records, ask):
    job.script("wait.py", WAIT)
    children = [job.start(LAUNCH, "--quiet", "--job_id", "twin", "--log_dir", f"log{n}", "wait.py", env=records) for n in (0, 1)]
    job.wait_until(lambda: ask("status").stdout.count(" running ") == 2)
    names = [f"twin@{socket.gethostname()}:{child.pid}" for child in children]
    ambiguous = ask("status", "twin")
    assert ambiguous.returncode == 2 and all(name in ambiguous.stderr for name in names)
    assert {line.split()[0] for line in ask("status").stdout.splitlines()[1:]} == set(names)
    assert ask("cancel", names[0]).returncode == 0
    assert children[0].wait(1) == 128 + signal.SIGTERM and children[1].poll() is None
    unknown = ask("logs", "twins")
    assert unknown.returncode == 2
    assert unknown.stderr == "dtrain-launch: no job of yours is called twins; known are twin\n"
    assert ask("cancel", "--now", "twin").returncode == 0
    assert job.left_behind() == []


def test_logs_of_ranks(job, running, ask):
    (job.folder / "log").mkdir()
    (job.folder / "log/workerlog.0").write_text("of an earlier run\n")
    child = running("--job_id", "mine")
    assert re.fullmatch(r"rank 0 is \d+\n", ask("logs", "mine").stdout)
    assert re.fullmatch(r"rank 1 is \d+\n", ask("logs", "--rank", 1, "mine").stdout)
    both = ask("logs", "--rank", "all", "mine")
    assert re.fullmatch(r"\[0\] rank 0 is \d+\n\[1\] rank 1 is \d+\n", both.stdout) and both.returncode == 0
    wrong = ask("logs", "--rank", "5", "mine")
    assert wrong.returncode == 2 and "--rank 5: the job has ranks 0 to 1" in wrong.stderr
    follower = job.start(LAUNCH, "logs", "-f", "--rank", "0-1", "mine", env={"DTRAIN_JOBS_DIR": job.folder / "records"})
    job.wait_until(lambda: "[1]" in (follower.stdout.readline()))
    (job.folder / "go").touch()
    out, err = follower.communicate(timeout=20)
    assert follower.returncode == 7 == child.wait(20), err
    assert "[1] rank 1 goes\n" in out


def test_stacks_of_ranks_and_the_job_goes_on(job, running, ask):
    child = running("--job_id", "mine")
    pids = printed_pids(job)
    shown = ask("stacks", "mine")
    assert shown.returncode == 0, shown.stderr
    for rank in (0, 1):
        assert re.search(rf"^---- rank {rank} on {socket.gethostname()}\n==== pid {pids[rank]}: ", shown.stdout, re.M), shown.stdout
    again = ask("stacks", "--rank", 1, "mine")
    assert f"pid {pids[1]}:" in again.stdout and f"pid {pids[0]}:" not in again.stdout
    assert child.poll() is None
    (job.folder / "go").touch()
    assert child.wait(20) == 7
    assert "rank 0 goes" in job.log(0) and "rank 1 goes" in job.log(1)


GOES_ON_AFTER_TERM = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: (print("asked to stop", flush=True)))
open("up." + os.environ["RANK"], "w").close()
while True: time.sleep(0.05)
"""


def test_cancel_asks_programs_and_waits(job, running, ask):
    child = running("--job_id", "mine", script=GOES_ON_AFTER_TERM)
    done = ask("cancel", "mine")
    assert (done.returncode, done.stdout) == (0, "job mine has ended\n"), done.stderr
    assert child.wait(1) == 128 + signal.SIGTERM
    assert job.log(0).startswith("asked to stop\n")
    assert job.left_behind(0) == []
    gone = ask("cancel", "mine")
    assert gone.returncode == 2 and gone.stderr == "dtrain-launch: no job of yours is called mine; none is running\n"


def test_cancel_now_asks_nobody(job, running, ask):
    child = running("--job_id", "mine", "--grace", 60, script=GOES_ON_AFTER_TERM)
    assert ask("cancel", "--now", "mine").returncode == 0
    assert child.wait(1) == 128 + signal.SIGINT
    assert job.left_behind() == []


def test_a_killed_launcher_is_lost(job, running, ask):
    child = running("--job_id", "mine")
    status, = json.loads(ask("status", "--json").stdout)
    child.kill()
    child.wait()
    shown = ask("status")
    assert shown.stdout.splitlines()[1].split()[:2] == ["mine", "lost"]
    assert ask("status").stdout == "no job of yours is running or in a queue\n", "its traces were taken away"
    assert not os.path.exists(os.path.dirname(status["socket"]))


def test_a_reused_pid_is_not_taken_for_the_launcher(job, running, ask):
    running("--job_id", "mine")
    record, = (job.folder / "records").iterdir()
    other = json.loads(record.read_text()) | {"started": 1, "pid": os.getpid(), "socket": ""}
    (job.folder / "records" / "other.json").write_text(json.dumps(other))
    states = {job["pid"]: job["state"] for job in json.loads(ask("status", "--json").stdout)}
    assert states[os.getpid()] == "lost" and sorted(states.values()) == ["lost", "running"]
    refused = ask("cancel", f"mine@{socket.gethostname()}:{os.getpid()}")
    assert refused.returncode in (1, 2)


def test_hostile_clients_do_not_disturb(job, running, ask):
    child = running("--job_id", "mine")
    status, = json.loads(ask("status", "--json").stdout)
    clients = []
    for number in range(200):
        client = socket.socket(socket.AF_UNIX)
        client.connect(status["socket"])
        client.setblocking(False)
        if number % 4 == 1:
            client.send(b"x" * 4096)
        elif number % 4 == 2:
            client.send(b"status\n" + b"y" * 1000)  # and never reads
        elif number % 4 == 3:
            client.send(b"no such question\n")
        clients.append(client)
    assert ask("status", "mine").stdout.count(" running ") == 3
    assert ask("stacks", "mine").returncode == 0
    (job.folder / "go").touch()
    assert child.wait(20) == 7


def test_a_job_without_a_place_for_its_record_runs(job):
    done = job.launch("--quiet", "--nproc_per_node", 1, "/bin/true", env={"DTRAIN_JOBS_DIR": "/proc/nowhere"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words, message", [
    (["logs"], "JOB is required"), (["cancel", "--soon", "x"], "--soon"), (["logs", "--rank", "x", "j"], "--rank"),
])
def test_wrong_words(ask, words, message):
    done = ask(*words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1

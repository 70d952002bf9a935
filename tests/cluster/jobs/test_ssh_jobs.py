# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch on one node, the others reached by mpirun over ssh. Each test says what a user types and what must
come out. Oracle: the plan that the user's command line means, Paddle's variables, what the nodes themselves say."""
import ast
import json
import os
import re
import signal
import subprocess
import time

import pytest

from whole_jobs import LAUNCH, NATIVE_JOB, PYTHON, ROOT

PRINT_VARIABLES = """
import os, socket
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "GROUP_RANK", "PADDLE_TRAINER_ID", "PADDLE_CURRENT_ENDPOINT", "TRAINING_ROLE",
         "MASTER_ADDR", "MINE", "PYTHONPATH", "HERE", "PADDLE_NNODES")
print("TOLD", {"host": socket.gethostname(), "cwd": os.getcwd()} | {n: os.environ[n] for n in names if n in os.environ})
"""
# Workers do not end, and so end the job, before both servers have told.
PS = """
import sys, time
sys.stdout.flush()
if os.environ["TRAINING_ROLE"] == "PSERVER":
    open("told." + os.environ["RANK"], "w").close()
    time.sleep(1000)
while len([name for name in os.listdir() if name.startswith("told.")]) < 2: time.sleep(0.05)
"""
WAIT = "import time\ntime.sleep(1000)\n"


def variables_of_ranks(text):
    """What the ranks printed, by rank."""
    ranks = [ast.literal_eval(line.partition("TOLD ")[2]) for line in text.splitlines() if "TOLD " in line]
    return sorted(ranks, key=lambda rank: int(rank["RANK"]) if "RANK" in rank else 0)


def waiting_job(job, nodes=2, *options):
    """A job of two ranks on each node that runs until it is ended."""
    job.script("wait.py", WAIT)
    child = job.start_on(1, LAUNCH, "--ips", job.cluster.addresses(nodes), "--nproc_per_node", 2, "--log_dir", "/tmp/log",
                         "--quiet", "--grace", 2, *options, "wait.py")

    def programs():
        commands = [command for node in job.cluster.jobs_processes().values() for command in node.values()]
        return sum(command.endswith("wait.py") and "python3" in command.split(" ")[0] for command in commands)

    job.cluster.wait_until(lambda: programs() == 2 * nodes or child.poll() is not None, "the programs", timeout=20)
    assert child.poll() is None, child.communicate()
    return child


def end_of(job, child, timeout):
    begin = time.monotonic()
    out, err = child.communicate(timeout=timeout)
    assert job.cluster.left_behind() == {}
    return child.returncode, err, time.monotonic() - begin


def test_a_job_on_three_nodes(job):
    job.script("tell.py", PRINT_VARIABLES)
    done = job.launch_on(1, "--ips", job.cluster.addresses(3), "--nproc_per_node", 2, "--tee", "all", "--log_dir", "/tmp/log",
                         "tell.py")
    assert done.returncode == 0, done.stderr
    ranks = variables_of_ranks(done.stdout)
    assert [(r["RANK"], r["LOCAL_RANK"], r["GROUP_RANK"], r["host"]) for r in ranks] == [
        (str(n), str(n % 2), str(n // 2), f"node{n // 2 + 1}") for n in range(6)]
    ports = {r["PADDLE_CURRENT_ENDPOINT"].partition(":")[2] for r in ranks}
    assert [r["PADDLE_CURRENT_ENDPOINT"].partition(":")[0] for r in ranks] == [
        job.cluster.address(n // 2 + 1) for n in range(6)] and len(ports) == 2, "the same two ports on every node"
    assert {r["MASTER_ADDR"] for r in ranks} == {"10.77.0.1"} and {r["PADDLE_NNODES"] for r in ranks} == {"3"}
    # Each node keeps the logs of its own ranks on its own disk.
    for number in (1, 2, 3):
        logs = {path.name for path in job.cluster[number].tmp("log").iterdir() if path.name.startswith("workerlog")}
        assert {f"workerlog.{2 * number - 2}", f"workerlog.{2 * number - 1}"} <= logs
    assert job.cluster.left_behind() == {}


def test_what_programs_need_reaches_every_node(job):
    job.script("tell.py", PRINT_VARIABLES)
    job.script("job.env", "MINE=from the file\n")
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--env-file", "job.env", "--env", "HERE", "--tee", "all", "tell.py",
                         env={"PYTHONPATH": "/opt/lib", "HERE": "a b;c"})
    assert done.returncode == 0, done.stderr
    assert [(r["MINE"], r["PYTHONPATH"], r["HERE"], r["cwd"]) for r in variables_of_ranks(done.stdout)] == [
        ("from the file", "/opt/lib", "a b;c", str(job.folder))] * 2


def test_setup_runs_before_the_program_on_every_node(job):
    job.script("tell.py", PRINT_VARIABLES)
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--setup", "export MINE=$(hostname)-ready", "--tee", "all", "tell.py")
    assert done.returncode == 0, done.stderr
    assert [r["MINE"] for r in variables_of_ranks(done.stdout)] == ["node1-ready", "node2-ready"]


def test_parameter_servers_whose_lists_interleave_the_nodes(job):
    job.script("ps.py", PRINT_VARIABLES + PS)
    done = job.launch_on(1, "--servers", "10.77.0.1:7000,10.77.0.2:7000", "--workers",
                         "10.77.0.1:8000,10.77.0.2:8000,10.77.0.1:8001,10.77.0.3:8000", "--tee", "all", "ps.py")
    assert done.returncode == 0, done.stderr
    ranks = variables_of_ranks(done.stdout)
    assert sorted(r["host"] for r in ranks if r["TRAINING_ROLE"] == "PSERVER") == ["node1", "node2"]
    workers = sorted((r["PADDLE_TRAINER_ID"], r["host"]) for r in ranks if r["TRAINING_ROLE"] == "TRAINER")
    assert workers == [("0", "node1"), ("1", "node2"), ("2", "node1"), ("3", "node3")]
    assert job.cluster.left_behind() == {}


@pytest.mark.parametrize("mode", ["sync", "geo"])
def test_a_native_job_with_parameter_servers_on_several_nodes(job, mode):
    """Oracle: the same job on one node; in sync mode the parameters are the same bit for bit, with as many threads a rank."""
    settings = f'[servers]\nmode = "{mode}"\n'
    job.script("job.toml", NATIVE_JOB.format(digits=ROOT / "examples/digits.h5", epochs=3, name="saved", optimizer="adam",
                                             hidden=64, every=1) + settings)

    def trained(*options):
        done = job.launch_on(1, *options, "--tee", "all", "job.toml", env={"OMP_NUM_THREADS": 1})
        assert done.returncode == 0, done.stderr
        assert "trainers with 2 parameter servers" in done.stdout, done.stdout
        return re.search(r"checksum (\w{16})", done.stdout)[1]

    spread = trained("--servers", "10.77.0.1:7000,10.77.0.2:7000", "--workers", "10.77.0.2:8000,10.77.0.3:8000")
    if mode == "sync":
        assert spread == trained("--server_num", 2, "--worker_num", 2)
    assert job.cluster.left_behind() == {}


CLICKS = """
[model]
kind = "click_through"
[data]
format = "criteo"
integers = 2
slots = 8
train = {{ file = "clicks/train.tsv" }}
test = {{ file = "clicks/test.tsv" }}
{more}
[train]
global_batch = 128
epochs = 2
"""


def test_each_node_or_all_together_make_the_caches_of_click_logs(job):
    """Oracle: the same job with its logs in memory; the folders."""
    subprocess.run([PYTHON, ROOT / "examples/make_clicks.py", job.folder / "clicks", "--train", "5000", "--test", "5000"],
                   check=True, capture_output=True)

    def trained(more):
        job.script("job.toml", CLICKS.format(more=more))
        done = job.launch_on(1, "--servers", "10.77.0.1:7000", "--workers", "10.77.0.2:8000,10.77.0.3:8000", "--tee", "all",
                             "job.toml")
        assert done.returncode == 0, done.stderr
        return re.search(r"checksum (\w{16})", done.stdout)[1], re.findall(r"cache     (\S+\.clicks): ", done.stdout)

    def caches(folder):
        return sorted(path.name.split("-")[0] for path in folder.glob("*.clicks"))

    expected, _ = trained("")
    for folder in ("shared", "/tmp/own"):
        found, paths = trained(f'cache = "{folder}"\nmemory = "100kB"')
        assert found == expected
        assert len(paths) == 2
    assert caches(job.folder / "shared") == ["test.tsv", "train.tsv"]
    for node in (2, 3):
        assert caches(job.cluster[node].tmp("own")) == ["test.tsv", "train.tsv"]
    assert not job.cluster[1].tmp("own").exists()
    assert job.cluster.left_behind() == {}


def test_a_program_that_fails_on_another_node_is_reported_with_its_log(job):
    job.script("bad.py", "import os, time\nif os.environ['RANK'] == '3': raise ValueError('three is bad')\ntime.sleep(1000)")
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--nproc_per_node", 2, "--log_dir", "/tmp/log", "--report",
                         "report.json", "bad.py")
    assert done.returncode == 1
    assert "rank 3 on node2: the program ended with exit code 1" in done.stderr
    assert "exit code 1: ValueError: three is bad\n" in done.stderr
    assert "log: /tmp/log/workerlog.3 on node2" in done.stderr
    assert "rank=[3] was aborted" in done.stderr
    report = json.loads((job.folder / "report.json").read_text())
    assert report["cause"]["host"] == "node2" and report["cause"]["last_lines"][-1] == "ValueError: three is bad"
    assert "stopped by SIGTERM after rank 3 failed on node2; see workerlog.3 there" in (
        job.cluster[1].tmp("log/workerlog.0").read_text())
    assert job.cluster.left_behind() == {}


RECORDED = """
import json, os, time
if os.environ["RANK"] == "3":
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": {"message": "ValueError: three is bad", "extraInfo": {"timestamp": "5"}}}, file)
    os._exit(1)
time.sleep(1000)
"""


def test_what_a_rank_of_another_node_left_in_its_error_file_is_reported(job):
    """Nodes have folders for temporary files of their own."""
    job.script("recorded.py", RECORDED)
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--nproc_per_node", 2, "--log_dir", "/tmp/log", "--report",
                         "report.json", "recorded.py")
    assert done.returncode == 1
    assert ": ValueError: three is bad\n" in done.stderr
    cause = json.loads((job.folder / "report.json").read_text())["cause"]
    assert (cause["host"], cause["rank"], cause["last_lines"]) == ("node2", 3, [])
    assert (cause["error_details"]["host"], cause["error_details"]["rank"]) == ("node2", 3)
    assert not list(job.cluster[2].tmp(".").glob("dtrain.*"))
    assert job.cluster.left_behind() == {}


def test_a_pulled_cable_ends_the_job_and_names_the_node(job):
    child = waiting_job(job, 3)
    job.cluster[2].cut()
    status, err, seconds = end_of(job, child, 60)
    assert status != 0 and seconds < 30
    assert "node 10.77.0.2 was lost with ranks [2,3]" in err


def test_what_a_cut_off_node_has_to_tell_does_not_keep_it_alive(job):
    """A rank fails there after the cut, so that data is on the way and keepalive is silent: without a limit the daemon and the other
    rank live on for the kernel's quarter of an hour."""
    child = waiting_job(job, 3)
    job.cluster[2].cut()
    programs = [pid for pid, command in job.cluster[2].processes().items()
                if command.endswith("wait.py") and "python3" in command.split(" ")[0]]
    os.kill(programs[0], signal.SIGKILL)
    err = child.communicate(timeout=60)[1]
    assert child.returncode != 0 and "node 10.77.0.2 was lost with ranks [2,3]" in err
    assert job.cluster.left_behind(timeout=40) == {}


def test_a_killed_daemon_is_a_lost_node(job):
    child = waiting_job(job)
    for pid, command in job.cluster[2].processes().items():
        if command.split(" ")[0].endswith(("orted", "prted")):
            os.kill(pid, signal.SIGKILL)
    status, err, _ = end_of(job, child, 30)
    assert status != 0 and "node 10.77.0.2 was lost with ranks [2,3]" in err


def test_a_killed_worker_on_another_node_is_named(job):
    child = waiting_job(job)
    worker = next(pid for pid, command in job.cluster[2].processes().items() if "dtrain-worker" in command.split(" ")[0])
    os.kill(worker, signal.SIGKILL)
    status, err, _ = end_of(job, child, 30)
    assert status == 137 and "ended without a word" in err and " on node2: " in err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_stops_all_nodes(job, name):
    child = waiting_job(job)
    os.kill(child.inner, getattr(signal, name))
    status, err, seconds = end_of(job, child, 30)
    assert status == 128 + getattr(signal, name) and f"stopped by {name}" in err and seconds < 20


@pytest.mark.parametrize("victim", ["dtrain-launch", "mpirun"])
def test_nothing_survives_the_death_of_the_head(job, victim):
    child = waiting_job(job)
    pid = child.inner if victim == "dtrain-launch" else next(
        pid for pid, command in job.cluster[1].processes().items() if command.startswith(("mpirun", "prterun")))
    os.kill(pid, signal.SIGKILL)
    status, _, _ = end_of(job, child, 30)
    assert status != 0


def test_a_node_that_is_not_there_is_named_and_nothing_starts(job):
    job.script("wait.py", WAIT)
    done = job.launch_on(1, "--ips", "10.77.0.1,10.77.0.99", "--start-timeout", 10, "--quiet", "wait.py")
    assert done.returncode == 2
    assert "node 1 (10.77.0.99) did not come within 10 s; start the same command there" in done.stderr
    assert "ssh: connect to host 10.77.0.99 port 22:" in done.stderr
    assert job.cluster.left_behind() == {}


def test_a_port_that_is_taken_on_another_node_is_planned_around(job):
    job.script("tell.py", PRINT_VARIABLES)
    plan = json.loads(job.launch_on(1, "--ips", job.cluster.addresses(2), "--dry-run=json", "tell.py").stdout)
    port = plan["nodes"][1]["ranks"][0]["endpoint"].partition(":")[2]
    holder = job.start_on(2, "python3", "-c", "import socket, time\ns = socket.socket()\n"
                          f"s.bind(('', {port}))\ns.listen()\nprint('up', flush=True)\ntime.sleep(1000)")
    assert holder.stdout.readline() == "up\n"
    try:
        done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--tee", "all", "tell.py")
        assert done.returncode == 0, done.stderr
        assert f"{port}" in done.stderr and "planning again" in done.stderr
        # Rank 0 looks at its own port only, and may have begun before rank 1 found its one taken.
        before = {rank["endpoint"] for node in plan["nodes"] for rank in node["ranks"]}
        ranks = [each["PADDLE_TRAINER_ID"] for each in variables_of_ranks(done.stdout) if each["PADDLE_CURRENT_ENDPOINT"] not in before]
        assert sorted(ranks) == ["0", "1"], done.stdout
        taken = job.launch_on(1, "--ips", job.cluster.addresses(2), "--start_port", port, "--quiet", "tell.py")
        assert taken.returncode == 2 and f"port {port}" in taken.stderr
    finally:
        os.kill(holder.inner, signal.SIGKILL)
        holder.communicate()


def test_an_error_of_a_gpu_on_another_node_is_told_with_the_failure(job):
    """Rank 0 gives up on node 1; what the kernel of node 2 had logged of its GPU stands beside that."""
    kernel_log = job.folder / "kmsg"
    os.mkfifo(kernel_log)
    log = os.open(kernel_log, os.O_RDWR)
    if job.cluster[2].run("mount", "--bind", kernel_log, "/dev/kmsg").returncode != 0:
        pytest.skip("a node cannot have a kernel log of its own here")
    try:
        job.script("a.py", "import os, time\n"
                           "open('up.' + os.environ['RANK'], 'w').close()\n"
                           "while os.environ['RANK'] == '1' or not os.path.exists('give up'): time.sleep(0.05)\n"
                           "raise RuntimeError('nobody came')\n")
        child = job.start_on(1, LAUNCH, "--ips", job.cluster.addresses(2), "--nproc_per_node", 1, "--log_dir", "/tmp/log",
                             "--grace", 2, "a.py")
        job.cluster.wait_until(lambda: (job.folder / "up.0").exists() and (job.folder / "up.1").exists(), "the programs", timeout=20)
        os.write(log, b"6,2,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python3, GPU has fallen off the bus.\n")
        time.sleep(1)
        (job.folder / "give up").touch()
        _, err = child.communicate(timeout=60)
    finally:
        os.close(log)
        job.cluster[2].run("umount", "/dev/kmsg")
    message = r"the kernel logged Xid 79 of GPU 0000:3b:00: .*GPU has fallen off the bus"
    assert child.returncode == 1, err
    assert len(re.findall(rf"rank 1 on node2: {message}", err)) == 1, err
    assert re.search(r"^dtrain-launch: rank 0 on node1: the program ended with exit code 1: RuntimeError: nobody came$", err, re.MULTILINE), err
    assert re.search(rf"^  hint: on node2, where rank 1 ran, {message}", err, re.MULTILINE), err

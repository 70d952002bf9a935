# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Hangs of programs over NCCL that record nothing: stand-ins of such programs, which need no GPU, map a library of NCCL's name and
sleep; in one of them a thread listens at NCCL_RAS_ADDR and answers as NCCL's RAS does, with the processes of the ranks. The answers
are written after the formats of NCCL's sources: JSON of 2.30.7, text of 2.26.2.

Oracle: the counts in the answers, of which that of rank 2 is the lowest; without an answer, that of no rank is known."""
import json
import re
import signal

import pytest

from conftest import LAUNCH, without_debuggers
from free_ports import free_ports

SCRIPT = """\
import json, mmap, os, pathlib, socket, sys, threading, time

kind, ranks = sys.argv[1], 3
rank = int(os.environ["RANK"])
pathlib.Path(f"pid.{rank}").write_text(str(os.getpid()))
with open("libnccl.so.2", "rb") as library:
    mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)


def pid_of(number):
    path = pathlib.Path(f"pid.{number}")
    while not path.exists() or not path.read_text():
        time.sleep(0.01)
    return int(path.read_text())


def as_json(pids):
    status = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
    return json.dumps({"nccl_version": "2.30.7", "communicators_count": 1, "communicators": [{
        "hash": "0xcf264af53edbe986", "secondary_hash": "0x1:0x2", "size": ranks, "ranks_count": ranks, "missing_ranks_count": 0,
        "ranks": [{"rank": each, "host": "127.0.0.1", "pid": pid, "cuda_dev": each, "nvml_dev": each, "status": status,
                   "collective_counts": {"Broadcast": 1, "AllReduce": 6649 if each == 2 else 6650}} for each, pid in enumerate(pids)],
        "missing_ranks": []}], "ras": {"collection_time_sec": 0.001, "timeouts_count": 0}}, indent=2) + "\\n"


def as_text(pids):
    return f'''NCCL version 2.26.2 compiled with CUDA 12.8
CUDA runtime version 12080, driver version 12080

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         3         3         3   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different AllReduce operation counts
  2 ranks have launched up to operation 6650
  Rank 2 has launched up to operation 6649 -- GPU 2 managed by process {pids[2]} on node 127.0.0.1

'''


def answer_to(connection):
    form = "text"
    for line in connection.makefile("r"):
        command = line.strip().lower()
        if kind == "silent":
            continue
        if command == "client protocol 2":
            connection.sendall(b"SERVER PROTOCOL 2\\n")
        elif command.startswith("timeout "):
            connection.sendall(b"OK\\n")
        elif command == "set format json" and kind != "text":
            form = "json"
            connection.sendall(b"OK\\n")
        elif command == "verbose status":
            break
        else:
            connection.sendall(f"ERROR: Unknown command {line}".encode())
    pids = [pid_of(each) for each in range(ranks)]
    if kind == "other job":
        pids = [pid + 1000000 for pid in pids]
    if kind == "rubbish":
        connection.sendall(bytes(range(256)) * 1000)
    elif kind == "too much":
        for _ in range(100):
            connection.sendall(b"{" * (1 << 20))
    elif kind == "without end":
        connection.sendall(as_json(pids)[:200].encode())
        time.sleep(1000)
    else:
        connection.sendall((as_json if form == "json" else as_text)(pids).encode())


def serve(connection):
    with connection:
        try:
            answer_to(connection)
        except OSError:
            pass


def listen(listener):
    while True:
        threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()


host, _, port = os.environ["NCCL_RAS_ADDR"].rpartition(":")
if rank == 0 and kind != "nobody":
    listener = socket.socket()
    listener.bind((host, int(port)))
    listener.listen()
    threading.Thread(target=listen, args=[listener], daemon=True).start()


def train():
    time.sleep(1000)


train()
"""

BEHIND = (r"rank 2 on \S+ has not called AllReduce 6650 of NCCL communicator 0xcf264af53edbe986: it sleeps.*; "
          r"ranks \[0,1\] wait in it")
WITHOUT_ANSWER = ["nobody", "silent", "rubbish", "too much", "without end", "other job"]


@pytest.fixture
def words(job):
    """words(KIND, *options): the stand-ins, whose RAS has a port that nobody else uses."""
    job.script("job.py", SCRIPT)
    job.script("libnccl.so.2", "stand-in")
    address = f"127.0.0.1:{free_ports(1)[0]}"

    def command(kind, *options):
        return ["--quiet", "--nproc_per_node", 3, "--grace", 1, *options, "job.py", kind]
    return command, {**without_debuggers(job.folder), "NCCL_RAS_ADDR": address}


@pytest.mark.parametrize("kind", ["json", "text"])
def test_the_rank_that_is_behind_comes_first(job, words, kind):
    command, env = words
    done = job.launch(*command(kind, "--hang-timeout", "1.5", "--report", "report.json"), env=env)
    assert done.returncode == 124, done.stderr
    assert re.search(f"it hung: {BEHIND}", done.stderr.splitlines()[0]), done.stderr
    assert json.loads((job.folder / "report.json").read_text())["hang"]["culprits"] == [2]
    assert job.left_behind() == []


@pytest.mark.parametrize("kind", WITHOUT_ANSWER)
def test_without_an_answer_the_judgement_goes_on(job, words, kind):
    command, env = words
    done = job.launch(*command(kind, "--hang-timeout", "1.5", "--report", "report.json"), env=env)
    assert done.returncode == 124, done.stderr
    assert "it hung: " in done.stderr and "NCCL communicator" not in done.stderr, done.stderr
    assert json.loads((job.folder / "report.json").read_text())["hang"]["culprits"] == []
    assert job.left_behind() == []


@pytest.mark.parametrize("change", [{"NCCL_RAS_ENABLE": "0"}, {"NCCL_RAS_ADDR": "192.0.2.1:28028"}, {"NCCL_RAS_ADDR": "nonsense"}])
def test_nobody_is_asked_where_ras_is_off_or_elsewhere(job, words, change):
    command, env = words
    # The script listens at the address that it had at first.
    script = job.folder / "job.py"
    script.write_text(script.read_text().replace('os.environ["NCCL_RAS_ADDR"]', repr(env["NCCL_RAS_ADDR"])))
    done = job.launch(*command("json", "--hang-timeout", "1.5"), env={**env, **change})
    assert done.returncode == 124, done.stderr
    assert "it hung: " in done.stderr and "NCCL communicator" not in done.stderr, done.stderr
    assert job.left_behind() == []


def test_only_programs_with_nccl_are_asked(job, words):
    command, env = words
    script = job.folder / "job.py"
    script.write_text(script.read_text().replace("libnccl.so.2", "libother.so.2"))
    job.script("libother.so.2", "stand-in")
    done = job.launch(*command("json", "--hang-timeout", "1.5"), env=env)
    assert done.returncode == 124, done.stderr
    assert "it hung: " in done.stderr and "NCCL communicator" not in done.stderr, done.stderr


def test_explain_asks_at_any_time(job, words):
    command, env = words
    child = job.start(LAUNCH, *command("json"), env=env)
    job.wait_until(lambda: re.search(BEHIND.split(";", maxsplit=1)[0],
                                     job.run(LAUNCH, "explain", str(child.pid), env=env).stdout))
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert job.left_behind() == []

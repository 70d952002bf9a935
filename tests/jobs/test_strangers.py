# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Others at the port where the nodes of a job meet: whoever has it already, and many who come to it. Two launchers on
this machine are the two nodes. Oracle: the exit status of both, what they say of the port, and the ranks' logs. No ssh is
called: a mark would tell."""
import os
import re
import socket
import time

import pytest

from conftest import LAUNCH, PYTHON
from whole_jobs import NoSsh

HELLO = "import os\nprint('rank', os.environ['PADDLE_TRAINER_ID'])\n"

# From many addresses, as many connections as it may have, those dropped at once made again.
FLOOD = """import itertools, resource, selectors, socket, sys
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
ready, made, reported = selectors.DefaultSelector(), 0, False
for number in itertools.count():
    s = socket.socket()
    s.setblocking(False)
    s.bind((f"127.0.{1 + number % 50}.1", 0))
    s.connect_ex(("127.0.0.1", int(sys.argv[1])))
    ready.register(s, selectors.EVENT_READ)
    if len(ready.get_map()) >= min(3000, limit - 100):
        if not reported:
            print("flooding", flush=True)
            reported = True
        gone = ready.select(0.01)
        for key, _ in gone or [(next(iter(ready.get_map().values())), 0)]:
            ready.unregister(key.fileobj)
            key.fileobj.close()
"""


@pytest.fixture
def port():
    """Below those that the kernel gives to clients, and free."""
    for number in range(7600 + os.getpid() % 1000, 9600):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", number))
                return number
            except OSError:
                pass


@pytest.fixture
def no_ssh(job):
    no_ssh = NoSsh(job.folder)
    yield no_ssh.environment | {"DTRAIN_KEY_FILE": job.folder / "key"}
    assert not no_ssh.mark.exists()


def nodes_at(port, *options):
    return LAUNCH, "--master", f"127.0.0.1:{port}", "--nnodes", 2, "--nproc_per_node", 1, *options


def test_a_port_that_somebody_has_and_says_nothing_at(job, port, no_ssh):
    """The holder's name is this process' own; its kernel accepts for it."""
    job.script("train.py", HELLO)
    with socket.create_server(("127.0.0.1", port)):
        begin = time.monotonic()
        done = job.run(*nodes_at(port, "--start-timeout", 5, "train.py"), env=no_ssh)
        took = time.monotonic() - begin
    assert done.returncode == 2 and done.stdout == "", done
    line = done.stderr.splitlines()[-1]
    assert f"node 0 (127.0.0.1 port {port}) is not there after 5 s" in line
    assert "it accepts connections and has not answered for 5 s" in line
    assert re.search(rf"another program may have the port \(pid {os.getpid()} \(.+\)\)", line), line
    assert "--link-port" in line and "--master" in line
    assert 5 <= took < 40


def test_a_port_of_another_kind_of_server(job, port, no_ssh):
    job.script("train.py", HELLO)
    server = ("import socket, sys\ns = socket.create_server(('127.0.0.1', int(sys.argv[1])))\nprint('up', flush=True)\n"
              "while True:\n    s.accept()[0].sendall(b'SSH-2.0-OpenSSH_9.2p1 Debian-2\\r\\n')\n")
    other = job.start(PYTHON, "-c", server, port)
    try:
        assert other.stdout.readline() == "up\n"
        done = job.run(*nodes_at(port, "--start-timeout", 1, "train.py"), env=no_ssh)
    finally:
        other.kill()
        other.communicate()
    assert done.returncode == 2, done
    line = done.stderr.splitlines()[-1]
    assert "it answers as no dtrain-launch of this version does" in line and f"pid {other.pid}" in line


def test_a_launcher_with_1024_descriptors_in_a_flood(job, port, no_ssh):
    job.script("train.py", HELLO)
    few = ("sh", "-c", 'ulimit -n 1024; exec "$@"', "sh")
    arguments = nodes_at(port, "--start-timeout", 50)
    coordinator = job.start(*few, *arguments, "--rank", 0, "--log_dir", "log0", "train.py", env=no_ssh)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    flood = job.start(PYTHON, "-c", FLOOD, port)
    try:
        assert flood.stdout.readline() == "flooding\n"
        agent = job.start(*arguments, "--log_dir", "log1", "train.py", env=no_ssh)
        outputs = [child.communicate(timeout=60) for child in (coordinator, agent)]
    finally:
        flood.kill()
        flood.communicate()
    assert (coordinator.returncode, agent.returncode) == (0, 0), outputs
    assert [(job.folder / f"log{rank}/workerlog.{rank}").read_text() for rank in (0, 1)] == ["rank 0\n", "rank 1\n"]

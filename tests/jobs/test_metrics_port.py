# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What `dtrain-launch --metrics-port` serves while a job runs.

Oracles: what the scripts of the jobs do and write into files; Prometheus' description of its text format, by the small
parser of test_server_metrics.py; the kernel's tables of processes and sockets.
"""
import contextlib
import functools
import os
import pathlib
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest

from conftest import LAUNCH, PYTHON
from test_install import version
from test_server_metrics import needs_module, parse

# Ranks that run until the test wants them to end: `go-N` of the start N, with what they exit with.
WAITS = """
import os, pathlib, sys, time
start, rank = os.environ.get("PADDLE_RESTART_COUNT", "0"), os.environ["PADDLE_TRAINER_ID"]
links = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")}
pathlib.Path(f"sockets-{start}-{rank}").write_text("".join(link for link in links.values() if link.startswith("socket:")))
print("rank", rank, "runs", flush=True)
go = pathlib.Path(f"go-{start}")
while not go.exists():
    time.sleep(0.02)
sys.exit(int(go.read_text() or 0) if rank == "1" else 0)
"""


def until(condition, what, timeout=60):
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def scrape(url):
    """{(name, labels): value}, or nothing while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            samples, types = parse(answer.read().decode())
    except (urllib.error.URLError, ConnectionError):
        return None
    assert all(name.startswith("dtrain_") and (kind == "counter") == name.endswith("_total") for name, kind in types.items())
    return samples


def labelled(samples, name):
    return {dict(labels).get("rank", dict(labels).get("state")): value for (each, labels), value in samples.items() if each == name}


class Running:
    """A job with the option, whose ranks wait for files."""

    def __init__(self, job, *options, port="0"):
        job.script("waits.py", WAITS)
        self.folder = job.folder
        self.child = job.start(LAUNCH, "--metrics-port", port, *options, "waits.py")
        lines = iter(self.child.stderr.readline, "")
        self.url = next(found[1] for found in map(re.compile(r"metrics at (http://\S+)").search, lines) if found)

    def when(self, condition, what):
        def found():
            samples = scrape(self.url)
            return samples if samples and condition(samples) else None
        return until(found, what)

    def when_up(self, ranks):
        return self.when(lambda samples: sum(labelled(samples, "dtrain_rank_up").values()) == ranks, "ranks are not up")

    def go(self, start=0, status=""):
        """Lets the ranks of a start end: rank 1 with this status."""
        complete = self.folder / "complete"
        complete.write_text(str(status))
        complete.rename(self.folder / f"go-{start}")

    def end(self):
        self.child.communicate(timeout=60)
        return self.child.returncode


@pytest.fixture
def start(job):
    return functools.partial(Running, job)


@needs_module
def test_an_operator_sees_the_job(start, tmp_path):
    before = time.time()
    running = start("--nproc_per_node", 2, "--job_id", "night", "--max_restart", 1)
    samples = running.when_up(2)
    info = next(dict(labels) for name, labels in samples if name == "dtrain_job_info")
    assert (info["name"], info["program"], info["engine"]) == ("night", "waits.py", "mpirun")
    assert (info["host"], info["version"]) == (os.uname().nodename.split(".")[0], version())
    assert labelled(samples, "dtrain_job_state") == dict.fromkeys(("waiting", "following", "starting", "stopping"), 0) | {"running": 1}
    assert labelled(samples, "dtrain_job_ranks") == dict.fromkeys(("starting", "idle", "done", "failed", "stopped"), 0) | {"running": 2}
    assert samples["dtrain_job_restarts_total", ()] == 0
    assert samples["dtrain_job_max_restarts", ()] == 1
    began = samples["dtrain_job_start_time_seconds", ()]
    assert before - 0.001 < began < time.time()
    assert 0 < samples["dtrain_job_attempt_uptime_seconds", ()] < samples["dtrain_job_uptime_seconds", ()] < time.time() - began
    for rank in ("0", "1"):
        assert began < labelled(samples, "dtrain_rank_start_time_seconds")[rank] < time.time()
        log = tmp_path / "log" / f"workerlog.{rank}"
        until(lambda: log.exists() and "runs" in log.read_text(), "the rank has said nothing")
        assert labelled(scrape(running.url), "dtrain_rank_log_written_time_seconds")[rank] == pytest.approx(log.stat().st_mtime, abs=1e-5)
    assert labelled(samples, "dtrain_rank_exit_status") == {}
    running.go()
    assert running.end() == 0
    assert scrape(running.url) is None, "the endpoint is gone"


@needs_module
def test_restarts_and_failures_are_counted_over_all_starts(start):
    running = start("--nproc_per_node", 2, "--max_restart", 2)
    for restart in (0, 1):
        running.when_up(2)
        running.go(restart, 7)
        samples = running.when(lambda now: now["dtrain_job_restarts_total", ()] == restart + 1, "it was not started again")
        assert labelled(samples, "dtrain_rank_failures_total") == {"1": restart + 1}
        assert samples["dtrain_job_attempt_uptime_seconds", ()] < samples["dtrain_job_uptime_seconds", ()]
    samples = running.when_up(2)
    assert samples["dtrain_job_restarts_total", ()] == 2
    assert labelled(samples, "dtrain_job_state")["running"] == 1
    running.go(2)
    assert running.end() == 0


@needs_module
def test_ranks_have_none_of_its_sockets(start, tmp_path):
    running = start("--nproc_per_node", 2)
    running.when_up(2)
    port = int(running.url.rsplit(":", 1)[1].split("/")[0])
    listening = {line.split()[9] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
                 if line.split()[3] == "0A" and int(line.split()[1].rsplit(":", 1)[1], 16) == port}
    assert len(listening) == 1
    own = f"socket:[{listening.pop()}]"
    holders = set()
    for fd in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(fd) == own:
                holders.add(int(fd.parts[2]))
    assert holders == {running.child.pid}
    for rank in (0, 1):
        log = tmp_path / "log" / f"workerlog.{rank}"
        until(lambda: log.exists() and "runs" in log.read_text(), "the rank has said nothing")
        assert (tmp_path / f"sockets-0-{rank}").read_text() == ""
    running.go()
    assert running.end() == 0


@needs_module
def test_clients_that_say_nothing_hold_nobody_up(start):
    running = start("--nproc_per_node", 1)
    host, port = re.fullmatch(r"http://([\d.]+):(\d+)/metrics", running.url).groups()
    assert host == "127.0.0.1"
    silent = [socket.create_connection((host, int(port))) for _ in range(20)]
    silent[0].sendall(b"GET /metrics HTTP/1.1\r\n")
    running.when_up(1)
    running.go()
    assert running.end() == 0
    for each in silent:
        each.close()


@needs_module
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_launcher_still_gets_its_signals(start, number):
    running = start("--nproc_per_node", 1, "--grace", 2)
    running.when_up(1)
    running.child.send_signal(number)
    assert running.end() == 128 + number
    assert scrape(running.url) is None


@needs_module
def test_other_machines_only_when_asked(start):
    running = start("--nproc_per_node", 1, port="0.0.0.0:0")
    assert running.url.startswith("http://0.0.0.0:")
    running.when_up(1)
    running.go()
    assert running.end() == 0


@needs_module
def test_a_taken_port_ends_in_one_line_before_anything_starts(job):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refused = job.launch("--metrics-port", port, PYTHON, "-c", "open('started', 'w')")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (f"dtrain-launch: --metrics-port 127.0.0.1:{port}: Address already in use, held by pid {os.getpid()} "
                              f"({pathlib.Path('/proc/self/comm').read_text().strip()}); choose another port, or 0 for any free one\n")
    assert not (job.folder / "started").exists() and not (job.folder / "log").exists()


@pytest.mark.parametrize("value", ["", "x", "-1", "65536", ":9400", "a:", "::1:9400", "http://a:1"])
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_what_is_no_port_is_refused(job, value, more):
    refused = job.launch("--metrics-port", value, *more, "true")
    assert (refused.returncode, refused.stdout) == (2, "")
    shown = value or '""'
    assert refused.stderr.startswith(f"dtrain-launch: --metrics-port {shown}: it must be a port in 0..65535 ")
    assert refused.stderr.count("\n") == 1


def test_without_prometheus_cpp_it_is_refused(job):
    refused = job.launch("--metrics-port", 0, PYTHON, "-c", "open('started', 'w')",
                         env={"DTRAIN_PROMETHEUS_MODULE": "/nowhere.so"})
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "prometheus-cpp-dev" in refused.stderr and refused.stderr.count("\n") == 1
    assert not (job.folder / "started").exists()
    assert job.launch("true", env={"DTRAIN_PROMETHEUS_MODULE": "/nowhere.so"}).returncode == 0, "who does not ask needs none"

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs of one node with a real etcd on the loopback.

Oracle: Paddle's elastic jobs (states, exit statuses 101 and 102, `action scale done`) and what the options promise; the
scripts write down what they see. Of a native job the undisturbed one, byte by byte."""
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request

import pytest

from conftest import LAUNCH
from free_ports import free_ports
from test_restart import EPOCHS, contents, native_job, native_ranks, resumed, trained

pytestmark = pytest.mark.skipif(shutil.which("etcd") is None, reason="needs etcd (Debian: etcd-server)")


class Etcd:
    def __init__(self, folder):
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        self.address = client.removeprefix("http://")
        self._command = ["etcd", "--data-dir", folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls",
                         client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
                         f"default={peer}"]
        self.start()

    def start(self):
        self._server = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                return urllib.request.urlopen(f"http://{self.address}/health", timeout=1).read()
            except OSError:
                assert time.monotonic() < deadline, "etcd does not come up"
                time.sleep(.05)

    def kill(self):
        self._server.kill()
        self._server.wait()


@pytest.fixture
def etcd(tmp_path):
    server = Etcd(tmp_path)
    yield server
    server.kill()


def elastic(etcd, *more, job_id="night", np=1):
    return ["--elastic_server", etcd.address, "--job_id", job_id, "--np", np, *more]


def test_a_job_of_one_node_runs_and_is_completed(job, etcd):
    job.script("a.py", "import os\nprint('hello', os.environ['RANK'], os.environ['WORLD_SIZE'])")
    done = job.launch(*elastic(etcd, "--nproc_per_node", 2, "a.py"))
    assert done.returncode == 0, done.stderr
    assert "ready with hosts [127.0.0.1]" in done.stderr
    assert (job.log(0), job.log(1)) == ("hello 0 2\n", "hello 1 2\n")
    again = job.launch(*elastic(etcd, "--nproc_per_node", 2, "a.py"))
    assert again.returncode == 0 and "completed already" in again.stderr
    assert job.log(0) == "hello 0 2\n", "nothing has run"
    assert job.launch(*elastic(etcd, "--force", "--nproc_per_node", 2, "a.py")).returncode == 0
    assert job.log(0) == "hello 0 2\n" * 2


def test_a_failed_node_asks_its_platform_to_be_started_again(job, etcd):
    job.script("a.py", "import os, sys\nsys.exit(7 if not os.path.exists('repaired') else 0)")
    failed = job.launch(*elastic(etcd, "a.py"))
    assert failed.returncode == 101, failed.stderr
    assert "exit code 7" in failed.stderr
    (job.folder / "repaired").touch()
    assert job.launch(*elastic(etcd, "a.py")).returncode == 0


def test_the_current_launchers_job_starts_again_by_itself_and_keeps_the_programs_status(job, etcd):
    job.script("a.py", "import os, sys\nsys.exit(5 + int(os.environ['PADDLE_RESTART_COUNT']))")
    master = ["--master", f"etcd://{etcd.address}", "--job_id", "night"]
    assert job.launch(*master, "a.py").returncode == 5, "level -1"
    assert job.launch(*master, "--elastic_level", 1, "--max_restart", 2, "a.py").returncode == 7


@pytest.mark.parametrize("first", ["--elastic_server", "--master"])
def test_level_1_starts_a_failed_program_again_three_times(job, etcd, first):
    job.script("a.py", "import os, sys\nprint('start', os.environ['PADDLE_RESTART_COUNT'])\nsys.exit(7)")
    nodes = elastic(etcd) if first == "--elastic_server" else ["--master", f"etcd://{etcd.address}", "--job_id", "night"]
    done = job.launch(*nodes, "--elastic_level", 1, "a.py")
    assert done.returncode == (101 if first == "--elastic_server" else 7), done.stderr
    assert job.log(0) == "".join(f"start {count}\n" for count in range(4))
    assert "starting it again, 3 of at most 3 times" in done.stderr


def test_a_program_may_ask_to_be_started_again(job, etcd):
    job.script("a.py", "import os, sys\nsys.exit(102 if os.environ['PADDLE_RESTART_COUNT'] != '3' else 0)")
    assert job.launch(*elastic(etcd, "a.py")).returncode == 0


def test_the_hook_runs_before_every_start(job, etcd):
    job.script("a.py", "import os, sys\nprint(open('hooks').read().count('x'))\n"
                       "sys.exit(102 if os.environ['PADDLE_RESTART_COUNT'] != '2' else 0)")
    done = job.launch(*elastic(etcd, "--elastic_pre_hook", "printf x >> hooks; exit 3", "a.py"))
    assert done.returncode == 0, done.stderr
    assert job.log(0).split() == ["1", "2", "3"]
    assert done.stderr.count("--elastic_pre_hook ended with exit code 3") == 3


def test_etcd_may_go_away_while_a_job_runs(job, etcd):
    job.script("a.py", "import os, time\nopen('up', 'w').close()\nwhile not os.path.exists('end'): time.sleep(.05)")
    child = job.start(LAUNCH, *map(str, elastic(etcd, "a.py")))
    job.wait_until(lambda: (job.folder / "up").exists())
    etcd.kill()
    time.sleep(3)
    etcd.start()
    (job.folder / "end").touch()
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert "stopped the job" not in err
    assert "completed already" in job.launch(*elastic(etcd, "a.py")).stderr


def test_a_job_whose_etcd_stays_away_is_stopped_and_starts_again_when_it_is_back(job, etcd):
    job.script("a.py", "import os, time\nopen('up.' + os.environ['PADDLE_RESTART_COUNT'], 'w').close()\n"
                       "while not os.path.exists('end'): time.sleep(.05)")
    child = job.start(LAUNCH, "--grace", "1", "--elastic-ttl", "1", *map(str, elastic(etcd, "a.py")))
    job.wait_until(lambda: (job.folder / "up.0").exists())
    etcd.kill()
    report = ""
    while "stopped the job" not in report:
        line = child.stderr.readline()
        assert line, report
        report += line
    assert "etcd does not answer, and another node may become coordinator" in report
    etcd.start()
    job.wait_until(lambda: (job.folder / "up.1").exists())
    (job.folder / "end").touch()
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, report + err
    assert job.left_behind() == []


@pytest.mark.parametrize("up", [False, True])
def test_a_signal_makes_the_node_leave(job, etcd, up):
    job.script("a.py", "import time\nopen('up', 'w').close()\ntime.sleep(1000)")
    child = job.start(LAUNCH, *map(str, elastic(etcd, "a.py", np=1 if up else 2)))
    if up:
        job.wait_until(lambda: (job.folder / "up").exists())
    else:
        while "not ready for np 2" not in child.stderr.readline():
            pass
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert child.returncode == 143
    assert job.left_behind() == []
    cleaned = job.launch("--elastic_server", etcd.address, "--job_id", "night", "clean")
    assert (cleaned.returncode, cleaned.stdout) == (0, "action clean done\n"), "nobody takes part any more"


def test_scale_and_clean(job, etcd):
    def command(*words):
        return job.launch("--elastic_server", etcd.address, "--job_id", "night", *words)

    unknown = command("--scale", "+1")
    assert unknown.returncode == 2 and "knows no such job" in unknown.stderr
    job.script("a.py", "import time\nopen('up', 'w').close()\ntime.sleep(1000)")
    child = job.start(LAUNCH, *map(str, elastic(etcd, "a.py", np=2)))
    while "not ready for np 2" not in child.stderr.readline():
        pass
    assert command("--scale", "+1").stdout == "action scale done\n"
    while "not ready for np 3" not in child.stderr.readline():
        pass
    assert command("--scale", "-2").returncode == 0
    job.wait_until(lambda: (job.folder / "up").exists())
    refused = command("clean")
    assert refused.returncode == 2 and "127.0.0.1" in refused.stderr
    assert command("--np", "3", "scale").stdout == "action scale done\n"
    assert command("--force", "clean").returncode == 0
    child.communicate(timeout=60)
    assert child.returncode == 1
    assert job.left_behind() == []


def test_an_etcd_that_says_no_ends_it_at_once(job, etcd):
    job.script("a.py", "")
    for path, body in (("role/add", {"name": "root"}), ("user/add", {"name": "root", "password": "secret"}),
                       ("user/grant", {"user": "root", "role": "root"}), ("enable", {})):
        urllib.request.urlopen(f"http://{etcd.address}/v3/auth/{path}", data=json.dumps(body).encode())
    nobody = job.launch(*elastic(etcd, "a.py"))
    assert nobody.returncode == 2 and "user name is empty" in nobody.stderr
    wrong = job.launch(*elastic(etcd, "a.py"), env={"ETCDCTL_USER": "root:wrong"})
    assert wrong.returncode == 2 and "user root" in wrong.stderr and "wrong" not in wrong.stderr
    assert job.launch(*elastic(etcd, "a.py"), env={"ETCDCTL_USER": "root:secret"}).returncode == 0


@pytest.mark.parametrize("starts_again", ["the job", "the node"])
def test_a_native_job_goes_on_from_its_own_checkpoints(native, job, etcd, starts_again):
    """Also when the launcher itself ended, as a platform starts it again. Its folder holds those of an older job."""
    trained(native, job, native_job(job, "whole", checkpoint="every = 10"))
    trained(native, job, native_job(job, "parts", EPOCHS + 1, learning_rate=0.1, checkpoint="every = 10"))
    path = native_job(job, "parts")
    words = elastic(etcd, *(["--max_restart", 2] if starts_again == "the job" else []), "--nproc_per_node", 2, path)
    child = job.start(LAUNCH, *words)
    job.wait_until(lambda: (job.folder / "parts/.dtrain-run").exists() or child.poll() is not None, timeout=60)
    os.kill(native_ranks(job)[-1], signal.SIGKILL)
    _, err = child.communicate(timeout=100)
    if starts_again == "the node":
        assert child.returncode == 101, err
        again = job.launch(*words, timeout=100)
        assert again.returncode == 0, again.stderr
    else:
        assert child.returncode == 0, err
    log = job.log(0)
    assert len(resumed(log)) == 1 and resumed(log)[0].startswith("parts/epoch-00"), log
    last = f"epoch-{EPOCHS:06}"
    assert contents(job.folder / "parts" / last) == contents(job.folder / "whole" / last)

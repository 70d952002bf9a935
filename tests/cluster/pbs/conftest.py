# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of an ordinary user on a real PBS server, OpenPBS on virtual nodes: DTRAIN_PBS names where tests/support/openpbs has
installed it. Each test begins with an empty queue and ends with nothing left on any node: no process of the user, nothing
in /tmp and /dev/shm, nothing in PBS' own folders."""
import json
import os
import pathlib
import shutil
import signal
import sys
import time
import uuid

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "cluster/jobs")]
from virtual_cluster import VirtualCluster, why_not  # noqa: E402
from whole_jobs import BUILD, LAUNCH, ROOT, clean_environment  # noqa: E402

USER = "trainee"
TIMEOUT = 120


def environment():
    """What a login leaves: more ranks than processors, so that waiting ranks must not spin, and no outer job."""
    environment = clean_environment(OMPI_MCA_mpi_yield_when_idle=1)
    for name in ("DTRAIN_JOBS_DIR", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "VIRTUAL_ENV", "TMPDIR"):
        environment.pop(name, None)
    return environment


def cluster_of(count):
    prefix = os.environ.get("DTRAIN_PBS")
    if not prefix:
        pytest.skip("DTRAIN_PBS does not name an OpenPBS: tests/support/openpbs SOURCE PREFIX builds one")
    if (reason := why_not(pbs=prefix)) is not None:
        pytest.skip(reason)
    return VirtualCluster(count, pbs=prefix, users=[USER], visible=[ROOT, BUILD, prefix], environment=environment)


@pytest.fixture(scope="session")
def three_nodes():
    with cluster_of(3) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def one_node():
    with cluster_of(1) as cluster:
        yield cluster


class PbsUser:
    """An ordinary user with a folder that all nodes share, and what is typed on the machine of the server."""

    def __init__(self, cluster):
        self.cluster, self.bin = cluster, cluster.pbs.prefix / "bin"
        self.folder = cluster.home_of(USER) / uuid.uuid4().hex[:8]
        self.folder.mkdir()
        number = cluster.users[USER]
        os.chown(self.folder, number, number)
        self.path = f"{BUILD}/src/bin:{self.bin}:/usr/bin:/bin"

    def script(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def profile(self, text):
        """What the shell of each of the user's jobs reads, after /etc/profile has set PATH anew."""
        (self.cluster.home_of(USER) / ".profile").write_text(text)

    def _options(self, env):
        return {"user": USER, "cwd": self.folder, "env": {"PATH": self.path, **(env or {})}}

    def run(self, *argv, env=None, node=0, timeout=TIMEOUT):
        """A command on the server's machine, or on node `node`."""
        machine = self.cluster[node] if node else self.cluster.control
        return machine.run(*argv, timeout=timeout, **self._options(env))

    def start(self, *argv, env=None, node=0, **popen):
        machine = self.cluster[node] if node else self.cluster.control
        return machine.start(*argv, **self._options(env), **popen)

    def check(self, *argv, **options):
        done = self.run(*argv, **options)
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def launch(self, *arguments, **options):
        return self.run(LAUNCH, *arguments, **options)

    def submit(self, *arguments, env=None):
        """qsub with these words; the name of the job. Its output is in job.out when it has ended, of an array's in 0.out, 1.out ..."""
        output = "^array_index^.out" if "-J" in arguments else "job.out"
        return self.check("qsub", "-o", self.folder / output, *arguments, env=env).strip()

    def info(self, number):
        """What PBS knows of a job, also of one that has ended: {attribute: value}."""
        shown = self.check("qstat", "-x", "-f", "-F", "json", number)
        return next(iter(json.loads(shown)["Jobs"].values()))

    def wait_for(self, condition, what, timeout=TIMEOUT):
        self.cluster.wait_until(condition, what, timeout=timeout)

    def wait_for_file(self, name):
        self.wait_for((self.folder / name).exists, f"file {name}")

    def wait_for_state(self, number, states):
        self.wait_for(lambda: self.info(number)["job_state"] in states, f"state {states} of job {number}")

    def wait_for_end(self, number):
        """The job's exit status, as PBS has it, and its output."""
        self.wait_for_state(number, ("F", "X"))
        info = self.info(number)
        file = self.folder / "job.out"
        return info.get("Exit_status"), file.read_text() if file.exists() else ""

    def left_behind(self, timeout=30.0):
        """What is on the nodes that was not there before; {} after at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            left = self._left()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.2)

    def _left(self):
        left = {}
        for node in [self.cluster.control, *self.cluster.nodes]:
            # qsub stays for a minute, to be faster the next time.
            processes = {pid: command for pid, command in node.processes_of(USER).items() if not command.startswith("qsub ")}
            files = [] if node is self.cluster.control else self._files_on(node)
            if processes or files:
                left[node.name] = (processes, files)
        return left

    def _files_on(self, node):
        own, pbs = self.cluster.users[USER], self.cluster.pbs.home(node.name)
        folders = (node.tmp(""), pathlib.Path(f"/proc/{node.init}/root/dev/shm"))
        files = [path for folder in folders for path in folder.rglob("*") if path.lstat().st_uid == own]
        files += [path for folder in ("aux", "spool", "undelivered", "mom_priv/jobs") for path in (pbs / folder).iterdir()]
        return [str(path) for path in files]

    def clear(self):
        """Ends whatever is left, so that the next test begins on empty nodes."""
        control, environment = self.cluster.control, {"PATH": self.path}
        jobs = control.run("qselect", env=environment).stdout.split()
        if jobs:
            control.run("qdel", "-W", "force", "-x", *jobs, env=environment)
        for node in [control, *self.cluster.nodes]:
            for pid in node.processes_of(USER):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        shutil.rmtree(self.cluster.home_of(USER) / ".local", ignore_errors=True)
        self.wait_for(lambda: self.cluster.pbs.states() == {"free"}, "PBS' nodes")


def user_of(cluster):
    user = PbsUser(cluster)
    user.clear()
    user.profile(f"PATH={BUILD}/src/bin:$PATH\n")
    yield user
    left = user.left_behind()
    user.clear()
    assert left == {}, "nothing is left on any node"


@pytest.fixture
def user(three_nodes):
    yield from user_of(three_nodes)


@pytest.fixture
def lone_user(one_node):
    yield from user_of(one_node)

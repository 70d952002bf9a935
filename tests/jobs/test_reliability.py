# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Each row of docs/reliability.md, "On one machine", made to happen.

Oracle: that page (the first line that is said, the exit status), what each program was made to do, /proc, TMPDIR and the folder of
records for what is left behind.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time

import pytest

import reliability
from conftest import LAUNCH, PYTHON, ROOT, own_mounts, without_debuggers
from reliability import Seen
from test_full_disk import PRINTS
from test_report import memory_cgroup
from whole_jobs import BUILD, NATIVE_JOB

ROWS = reliability.table("On one machine")
TIMEOUT = 60  # seconds; what hangs never ends

# When all ranks are up each does what the first argument says.
TOGETHER = """
import os, signal, sys, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
def happens(): open("happened", "w").close()
open(f"up.{rank}", "w").close()
while not all(os.path.exists(f"up.{each}") for each in range(size)): time.sleep(0.02)
exec(sys.argv[1])
time.sleep(1000)
"""

OF_MPI = """
from mpi4py import MPI
import os
MPI.COMM_WORLD.barrier()
if MPI.COMM_WORLD.rank == 1:
    open("happened", "w").close()
    os._exit(0)
MPI.COMM_WORLD.barrier()
"""


class Sandbox:
    """Where one of them happens: a folder, and folders of its own for all that a job may leave."""

    def __init__(self, job, own):
        self.job, self.folder = job, job.folder
        self.temporary, self.records = own / "tmp", own / "records"
        self.temporary.mkdir()
        self.records.mkdir()
        self.script = job.script("train.py", TOGETHER)
        self.environment = {"TMPDIR": self.temporary, "DTRAIN_JOBS_DIR": self.records}
        self.values = {"HOST": os.uname().nodename, "FOLDER": self.folder}

    def start(self, *words, before=(), env=None, **popen):
        return self.job.start(*before, LAUNCH, "--no-banner", "--grace", 2, *words, env=self.environment | (env or {}), **popen)

    def together(self, ranks, what, *options, **keywords):
        return self.start("--nproc_per_node", ranks, *options, "train.py", what, **keywords)

    def are_up(self, ranks):
        self.job.wait_until(lambda: all((self.folder / f"up.{rank}").exists() for rank in range(ranks)))

    def end(self, child, since=None, **values):
        """How it ends. It happens when the program says so, or at `since`."""
        out, err = child.communicate(timeout=TIMEOUT)
        ended = time.time()
        since = since or (self.folder / "happened").stat().st_mtime
        return Seen(child.returncode, err, ended - since, self.values | values)

    def refused(self, *words, before=(), **values):
        begin = time.time()
        seen = self.end(self.start(*words, before=before), begin, **values)
        assert len(seen.output.splitlines()) == 1, seen.output
        return seen

    def is_clean(self):
        assert self.job.left_behind() == []
        # mpirun 4.1 leaves an empty session folder when a rank removes its own files last: docs/failures.md.
        left = [str(path.relative_to(self.temporary)) for path in self.temporary.rglob("*")
                if not (path.match("ompi.*") and path.is_dir() and not any(path.iterdir()))]
        assert left == [], "\n".join(left)
        assert [path.name for path in self.records.iterdir()] == []


@pytest.fixture
def sandbox(job):
    own = pathlib.Path(tempfile.mkdtemp(prefix="dt."))  # sockets have short names
    yield Sandbox(job, own)
    shutil.rmtree(own)


def in_rank_1(what):
    return f"if rank == 1: happens(); {what}"


def segmentation_fault(sandbox, request):
    return sandbox.end(sandbox.together(2, in_rank_1("os.kill(os.getpid(), signal.SIGSEGV)")))


def out_of_memory(sandbox, request):
    group = request.getfixturevalue("memory_cgroup")
    what = "held = []\nif rank == 1: happens()\nwhile rank == 1: held.append(b'x' * (1 << 20))"
    return sandbox.end(sandbox.together(2, what, preexec_fn=group.enter), GROUP=group.folder.name)


def exception(sandbox, request):
    return sandbox.end(sandbox.together(4, "if rank == 3: happens(); raise ValueError('no batch')"))


def exit_0_with_mpi(sandbox, request):
    pytest.importorskip("mpi4py")
    sandbox.job.script("of_mpi.py", OF_MPI)
    return sandbox.end(sandbox.start("--nproc_per_node", 3, PYTHON, "of_mpi.py"))


def exit_0_without_mpi(sandbox, request):
    return sandbox.end(sandbox.together(3, in_rank_1("sys.exit(0)"), "--hang-timeout", 2, env=without_debuggers(sandbox.folder)))


def endless_loop(sandbox, request):
    begin = time.time()
    child = sandbox.start("--nproc_per_node", 2, BUILD / "tests/comm/early_end", "loops", env={"DTRAIN_COMM_TIMEOUT": 3})
    return sandbox.end(child, begin)


def stopped_in_dtrain(sandbox, request):
    begin = time.time()
    child = sandbox.start("--nproc_per_node", 2, BUILD / "tests/comm/early_end", "stopped", env={"DTRAIN_COMM_TIMEOUT": 3})
    return sandbox.end(child, begin)


def sleep(sandbox, request):
    return sandbox.end(sandbox.together(2, "if rank == 1: happens()", "--hang-timeout", 2, env=without_debuggers(sandbox.folder)))


def stopped(sandbox, request):
    return sandbox.end(sandbox.together(2, in_rank_1("os.kill(os.getpid(), signal.SIGSTOP)"), "--hang-timeout", 2,
                                        env=without_debuggers(sandbox.folder)))


def launcher_killed(sandbox, request):
    child = sandbox.together(2, "pass")
    sandbox.are_up(2)
    child.kill()
    since = time.time()
    child.communicate(timeout=TIMEOUT)
    assert sandbox.job.left_behind() == []
    seconds = time.time() - since
    status = sandbox.job.run(LAUNCH, "status", env=sandbox.environment)
    line = next(line for line in status.stdout.splitlines() if " is lost" in line)
    sandbox.job.run(LAUNCH, "--no-banner", "/bin/true", env=sandbox.environment)  # the next start
    return Seen(128 - child.returncode, line, seconds, sandbox.values | {"JOB": child.pid})


def missing_program(sandbox, request):
    return sandbox.refused("--nproc_per_node", 2, "./nothere", "--epochs", 3)


@contextlib.contextmanager
def small_disk(sandbox, size):
    """Words before a command that give it a disk of so many bytes at full/."""
    folder = sandbox.folder / "full"
    folder.mkdir()
    yield [*own_mounts(), "sh", "-c", f'mount -t tmpfs -o size={size} none "$0" && exec "$@"', folder]


def full_disk(sandbox, request):
    with small_disk(sandbox, "128k") as before:
        sandbox.job.script("prints.py", "open('happened', 'w').close()\n" + PRINTS)
        return sandbox.end(sandbox.start("--log_dir", "full/log", "prints.py", before=before))


def disk_that_was_full(sandbox, request):
    with small_disk(sandbox, "16k") as before:
        fill = ["sh", "-c", 'dd if=/dev/zero of=full/filler bs=4k >/dev/null 2>&1; exec "$@"', "sh"]
        return sandbox.refused("--log_dir", "full", "/bin/true", before=[*before, *fill])


def one_log_folder(sandbox, request):
    first = sandbox.together(1, "pass")
    sandbox.are_up(1)
    begin = time.time()
    seen = sandbox.end(sandbox.start("/bin/true"), begin)
    first.terminate()
    first.communicate(timeout=TIMEOUT)
    return seen


def taken_port(sandbox, request):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        return sandbox.refused("--nproc_per_node", 1, "--start_port", port, "train.py", PORT=port)


def no_libmpi(sandbox, request):
    """The folder of libraries without it, by an overlay in a mount namespace."""
    libraries = pathlib.Path("/usr/lib/x86_64-linux-gnu")
    if not (libraries / "libmpi.so.40").exists():
        pytest.skip(f"libmpi is not in {libraries}")
    layers = sandbox.folder / "layers"
    remove = ('mount -t tmpfs none "$0" && mkdir "$0/upper" "$0/work" && '
              f'mount -t overlay -o "lowerdir={libraries},upperdir=$0/upper,workdir=$0/work" none {libraries} && '
              f'rm {libraries}/libmpi.so.40 && exec "$@"')
    layers.mkdir()
    before = [*own_mounts(), "sh", "-c", remove, layers]
    if (probe := sandbox.job.run(*before, "true")).returncode != 0:
        pytest.skip(f"this machine has no overlay file system: {probe.stderr}")
    sandbox.job.script("job.toml", NATIVE_JOB.format(hidden=16, digits=ROOT / "examples/digits.h5", epochs=1, optimizer="sgd", name="kept",
                                                     every=1))
    begin = time.time()
    return sandbox.end(sandbox.start("--nproc_per_node", 1, "job.toml", before=before), begin)


def syntax_error(sandbox, request):
    sandbox.job.script("broken.py", "print('a'\n")
    begin = time.time()
    return sandbox.end(sandbox.start("--nproc_per_node", 2, "broken.py"), begin)


def ctrl_c(sandbox, request):
    child = sandbox.together(2, "pass")
    sandbox.are_up(2)
    since = time.time()
    child.send_signal(signal.SIGINT)
    return sandbox.end(child, since)


def ctrl_c_twice(sandbox, request):
    child = sandbox.together(2, "signal.signal(signal.SIGTERM, lambda *_: open(f'asked.{rank}', 'w').close())\n"
                                "open(f'ready.{rank}', 'w').close()\nwhile True: time.sleep(0.1)", "--grace", 600)
    both_wrote = lambda name: all((sandbox.folder / f"{name}.{rank}").exists() for rank in (0, 1))  # noqa: E731
    sandbox.job.wait_until(lambda: both_wrote("ready"))
    child.send_signal(signal.SIGINT)
    sandbox.job.wait_until(lambda: both_wrote("asked"))
    since = time.time()
    child.send_signal(signal.SIGINT)
    return sandbox.end(child, since)


def crash_loop(sandbox, request):
    seen = sandbox.end(sandbox.together(2, in_rank_1("raise ValueError('no batch')"), "--max_restart", 2))
    assert seen.output.count("rank 1 on ") == 3 and "the job had been started again 2 times before\n" in seen.output, seen.output
    return seen


def all_of_64(sandbox, request):
    sandbox.job.script("fails.sh", "#!/bin/sh\n: > up.$RANK\nwhile [ $(ls up.* | wc -l) -lt 64 ]; do sleep 0.3; done\n: > happened\n"
                                   "echo 'no batch' >&2\nexit 3\n").chmod(0o755)
    seen = sandbox.end(sandbox.start("--nproc_per_node", 64, "./fails.sh"))
    assert len(seen.output.splitlines()) < 40, seen.output  # and not 64 reports
    return seen


SCENARIOS = {
    "rank 1 has a segmentation fault": segmentation_fault,
    "rank 1 takes more memory than its cgroup may": out_of_memory,
    "rank 3 throws an exception": exception,
    "rank 1 exits with 0 while others wait for it in MPI": exit_0_with_mpi,
    "rank 1 exits with 0 while others wait for it, without MPI; `--hang-timeout 2`": exit_0_without_mpi,
    "rank 0 loops for ever while others wait for it in an operation of dtrain's; `DTRAIN_COMM_TIMEOUT=3`": endless_loop,
    "rank 0 is stopped (SIGSTOP) while others wait for it in an operation of dtrain's; `DTRAIN_COMM_TIMEOUT=3`": stopped_in_dtrain,
    "rank 1 is stopped (SIGSTOP) and rank 0 sleeps; `--hang-timeout 2`": stopped,
    "all ranks sleep for ever; `--hang-timeout 2`": sleep,
    "dtrain-launch is killed (`kill -9`); its place says nothing, `dtrain-launch status` does": launcher_killed,
    "the program is not there": missing_program,
    "the disk of the logs becomes full": full_disk,
    "the disk of the logs is full": disk_that_was_full,
    "two jobs write into one log folder": one_log_folder,
    "a rank's port is taken": taken_port,
    "libmpi is missing": no_libmpi,
    "the script has a syntax error": syntax_error,
    "Ctrl-C": ctrl_c,
    "Ctrl-C twice; the programs ignore SIGTERM": ctrl_c_twice,
    "rank 1 fails at every start; `--max_restart 2`": crash_loop,
    "64 ranks fail in the same second": all_of_64,
}


def test_each_row_has_its_scenario():
    assert list(ROWS) == list(SCENARIOS)


@pytest.mark.parametrize("what", SCENARIOS)
def test_it_happens_as_the_page_says(sandbox, request, what):
    row = ROWS[what]
    reliability.check(row, SCENARIOS[what](sandbox, request))
    assert row.left in ("nothing", "nothing, after the next start")
    sandbox.is_clean()

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What is left of jobs whose processes were all killed at once, and what the next start makes of it; TMPDIRs that are no good.

Oracle: the names in TMPDIR, /dev/shm and the folder of records before, between and after; jobs that live all the time go on.
"""
import contextlib
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import LAUNCH, PYTHON, WORKER, processes_with
from free_ports import free_ports

# Maps memory as MPI does; says so; then trains for ever.
TRAINS = "from mpi4py import MPI\nMPI.COMM_WORLD.barrier()\nprint('up', flush=True)\nimport time\ntime.sleep(1000)\n"


def segments_of(pids):
    """The shared memory that these processes map, and nobody else's."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
            found |= {word for word in maps.split() if word.startswith(("/dev/shm/vader_segment.", "/dev/shm/sm_segment."))}
    return found


def existing(paths):
    return {path for path in paths if os.path.exists(path)}


def sessions(folder):
    return {path.name for pattern in ("ompi.*/*", "prterun.*") for path in folder.glob(pattern)}


@pytest.fixture
def own_folders(job):
    temporary, records = job.folder / "tmp", job.folder / "records"
    temporary.mkdir()
    return {"TMPDIR": temporary, "DTRAIN_JOBS_DIR": records}


def start(job, own_folders, name, *argv):
    child = job.start(*argv, LAUNCH, "--nproc_per_node", 2, "--no-banner", "--log_dir", name, "--job_id", name, PYTHON, "a.py",
                      env=own_folders)
    logs = [job.folder / name / f"workerlog.{rank}" for rank in (0, 1)]
    job.wait_until(lambda: all(log.exists() and "up" in log.read_text() for log in logs))
    return child


def kill_all(job, living=()):
    """kill -9 of everything that the test has started, but for the processes of `living`."""
    for pid in processes_with(job.mark):
        if pid not in living:
            with contextlib.suppress(ProcessLookupError):  # it ends by itself when its parent does
                os.kill(pid, signal.SIGKILL)
    job.wait_until(lambda: set(processes_with(job.mark)) <= set(living))


def segments_left_by_a_dead_job(job, own_folders, living=frozenset()):
    """Started anew where another launcher of this machine has been so quick as to remove them already."""
    for attempt in range(10):
        dead = start(job, own_folders, f"dead-{attempt}")
        left = segments_of(set(processes_with(job.mark)) - living)
        kill_all(job, living)
        dead.communicate()
        assert left, "without shared memory there is nothing to see here"
        if existing(left) == left:
            return left
    pytest.fail("the shared memory of ten jobs was gone as soon as they were dead")


def test_the_next_start_removes_what_dead_jobs_have_left_and_leaves_the_living_alone(job, own_folders):
    pytest.importorskip("mpi4py")
    job.script("a.py", TRAINS)
    temporary, records = own_folders["TMPDIR"], own_folders["DTRAIN_JOBS_DIR"]
    living = start(job, own_folders, "living")
    of_living = set(processes_with(job.mark))
    segments_of_living, folders_of_living = segments_of(of_living), set(temporary.iterdir())
    sessions_of_living, records_of_living = sessions(temporary), set(records.iterdir())
    of_dead = segments_left_by_a_dead_job(job, own_folders, of_living)
    assert set(temporary.iterdir()) > folders_of_living
    assert sessions(temporary) > sessions_of_living
    assert set(records.iterdir()) > records_of_living

    done = job.launch("--no-banner", "/bin/true", env=own_folders)
    assert done.returncode == 0, done.stderr
    assert existing(of_dead) == set()
    assert existing(segments_of_living) == segments_of_living
    assert set(temporary.iterdir()) == folders_of_living
    assert sessions(temporary) == sessions_of_living
    assert set(records.iterdir()) == records_of_living
    status = job.run(LAUNCH, "status", env=own_folders)
    assert "living" in status.stdout and "dead" not in status.stdout and "running" in status.stdout, status.stdout + status.stderr
    assert living.poll() is None and set(processes_with(job.mark)) >= of_living
    living.terminate()
    living.communicate(timeout=30)
    assert set(temporary.glob("dtrain.*")) == set() and set(records.iterdir()) == set()


def test_a_worker_sweeps_its_node_too(job, own_folders):
    pytest.importorskip("mpi4py")
    job.script("a.py", TRAINS)
    left = segments_left_by_a_dead_job(job, own_folders)
    assert list(own_folders["TMPDIR"].glob("dtrain.*"))
    done = job.mpirun(1, WORKER, "--", "true", env=own_folders)
    assert done.returncode == 0, done.stderr
    assert existing(left) == set() and list(own_folders["TMPDIR"].glob("dtrain.*")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="acting as two users needs root")
def test_what_other_users_have_stays(job, own_folders):
    """Another user's folder is left although its owner is dead, and although root may remove it."""
    folder = own_folders["TMPDIR"] / "dtrain.others"
    segment = pathlib.Path("/dev/shm/vader_segment.others.54321.1.0")
    folder.mkdir()
    (folder / ".owner").touch()
    segment.touch()
    try:
        for path in (folder, folder / ".owner", segment):
            os.chown(path, 54321, 54321)
        assert job.launch("--no-banner", "/bin/true", env=own_folders).returncode == 0
        assert (folder / ".owner").exists() and segment.exists()
    finally:
        segment.unlink()


@pytest.mark.parametrize("command", [["--no-banner", "/bin/true"], ["--check", "/bin/true"]])
@pytest.mark.parametrize("value, reason", [("/no/such/folder", "No such file or directory"), ("a.txt", "Not a directory"),
                                           ("x" * 120, "at most 85")])
def test_a_bad_tmpdir_is_named_in_one_line(job, command, value, reason):
    job.script("a.txt", "")
    (job.folder / ("x" * 120)).mkdir()
    tmpdir = value if value.startswith("/") else f"{job.folder}/{value}"
    done = job.launch(*command, env={"TMPDIR": tmpdir})
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"dtrain-launch: TMPDIR={tmpdir}: ") and reason in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and done.stdout == ""
    assert not (job.folder / "log").exists()


def test_a_plan_needs_no_tmpdir(job):
    done = job.launch("--dry-run", "/bin/true", env={"TMPDIR": "/no/such/folder"})
    assert done.returncode == 0, done.stderr


def test_the_longest_tmpdir_holds_a_job_that_answers(job, own_folders):
    """85 letters, and the sockets below it can be asked."""
    base = pathlib.Path("/var/tmp") / f"dtrain-test.{os.getpid()}"
    tmpdir = base / ("x" * (85 - len(str(base)) - 1))
    tmpdir.mkdir(parents=True)
    try:
        job.script("a.py", "print('up', flush=True)\nimport time\ntime.sleep(1000)\n")
        child = start(job, {**own_folders, "TMPDIR": tmpdir}, "long")
        status = job.run(LAUNCH, "status", "long", env=own_folders)
        assert status.returncode == 0 and "running" in status.stdout, status.stdout + status.stderr
        child.terminate()
        child.communicate(timeout=30)
    finally:
        subprocess.run(["rm", "-rf", base], check=True)


def test_gloos_folder_cannot_be_guessed(job):
    """Ranks agree; two jobs of one name, user and folder do not, and neither name holds what others know."""
    job.script("a.py", "import os\nprint(os.environ['PADDLE_GLOO_FS_PATH'])\n")
    names = []
    for _ in range(2):
        assert job.mpirun(2, WORKER, "--log_overwrite", "--", PYTHON, "a.py").returncode == 0
        assert job.log(0) == job.log(1)
        names.append(job.log(0).strip())
    assert len(set(names)) == 2
    for name in names:
        mark = name.removeprefix("/tmp/dtrain-gloo.")
        assert len(mark) == 32 and int(mark, 16) >= 0


def test_gloos_folder_on_two_nodes_cannot_be_guessed(job):
    """Two launchers of this machine are two nodes, which share no /tmp as a rule."""
    job.script("a.py", "import os\nprint(os.environ['PADDLE_GLOO_FS_PATH'])\n")
    [port] = free_ports(1)
    arguments = ("--master", f"127.0.0.1:{port}", "--nnodes", 2, "--nproc_per_node", 1, "--no-banner", PYTHON, "a.py")
    launchers = [job.start(LAUNCH, "--log_dir", f"log{number}", *arguments, env={"DTRAIN_KEY_FILE": job.folder / "key"})
                 for number in (0, 1)]
    for launcher in launchers:
        _, err = launcher.communicate(timeout=60)
        assert launcher.returncode == 0, err
    names = [path.read_text().strip() for path in job.folder.glob("log?/workerlog.?")]
    assert len(names) == 2 and len(set(names)) == 1
    assert len(names[0].removeprefix("/tmp/dtrain-gloo.")) == 32

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What another user of the machine puts in a job's way: links, files and folders. Two users, one of them root: needs root.

Oracle: the content of the files that the links lead to, which nobody else may change; POSIX on who may change what in a folder.
It holds without the kernel's help, fs.protected_symlinks and the like, whatever these are here.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from conftest import LAUNCH, PYTHON, WORKER

STRANGER = 54321
SECRET = "secret\n"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acting as two users needs root")


def by_stranger(*argv):
    """Runs a command as another user without any right."""
    setpriv = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "--"]
    subprocess.run([*setpriv, *map(str, argv)], check=True, cwd="/")


class Shared:
    """A folder in which both users may make names, as /tmp is one, and a file that the stranger is after."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtrain-strangers.", dir="/tmp"))
        self.folder.chmod(0o1777)
        self.secret = self.folder / "authorized_keys"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o600)

    def plant_links(self, *names):
        by_stranger(PYTHON, "-c", "import os, sys\nfor name in sys.argv[2:]: os.symlink(sys.argv[1], name)", self.secret,
                    *(self.folder / name for name in names))


@pytest.fixture
def shared():
    made = Shared()
    yield made
    shutil.rmtree(made.folder)


def one_line(done):
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize("name", [".dtrain.lock", "workerlog.0", "workerlog.1"])
def test_a_planted_link_is_not_written_through(job, shared, name):
    shared.plant_links(name)
    done = job.launch("--nproc_per_node", 2, "--no-banner", "--log_dir", shared.folder, "echo", "hello")
    assert done.returncode == 2, done.stderr
    assert f"cannot write {shared.folder}/{name}: it is a link" in done.stderr
    assert shared.secret.read_text() == SECRET


def test_a_worker_without_a_launcher_refuses_it_too(job, shared):
    shared.plant_links("workerlog.0")
    for bound in ([], ["--log-max-size", "1M"], ["--log_overwrite"]):
        done = job.run(WORKER, "--log_dir", shared.folder, *bound, "--", "echo", "hello")
        assert done.returncode == 2
        assert f"cannot write {shared.folder}/workerlog.0: it is a link" in one_line(done)
    assert shared.secret.read_text() == SECRET


def test_a_strangers_log_is_not_appended_to(job, shared):
    by_stranger("sh", "-c", f"umask 0; : > {shared.folder}/workerlog.0")
    done = job.run(WORKER, "--log_dir", shared.folder, "--", "echo", "password")
    assert done.returncode == 2
    assert f"it belongs to user {STRANGER}" in one_line(done)
    assert (shared.folder / "workerlog.0").read_text() == ""


def test_no_name_of_a_temporary_file_can_be_planted(job, shared):
    """Names that held the launcher's number: those of the next thousand processes."""
    now = int(subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout)
    files = ["report.json", "hostfile", "endpoints.log"]
    shared.plant_links(*(f"{file}.tmp.{pid}" for file in files for pid in range(now, now + 1000)))
    done = job.launch("--no-banner", "--log_dir", shared.folder, "--report", shared.folder / "report.json", "echo", "hello")
    assert done.returncode == 0, done.stderr
    assert shared.secret.read_text() == SECRET
    for file in files:
        assert not (shared.folder / file).is_symlink() and (shared.folder / file).stat().st_uid == 0


def test_a_strangers_folder_is_refused_in_one_line(job, shared):
    folder = shared.folder / "log"
    by_stranger("mkdir", "-m", "777", folder)
    for command in ([LAUNCH, "--no-banner", "--log_dir", folder, "echo", "hello"],
                    [WORKER, "--log_dir", folder, "--", "echo", "hello"]):
        done = job.run(*command)
        assert done.returncode == 2
        assert f"{folder} belongs to user {STRANGER}" in one_line(done) and "--trust-log-dir" in one_line(done)
        assert list(folder.iterdir()) == []
    done = job.launch("--no-banner", "--trust-log-dir", "--log_dir", folder, "echo", "hello")
    assert (done.returncode, (folder / "workerlog.0").read_text()) == (0, "hello\n"), done.stderr
    done = job.run(WORKER, "--trust-log-dir", "--log_dir", folder, "--", "echo", "again")
    assert (done.returncode, (folder / "workerlog.0").read_text()) == (0, "hello\nagain\n"), done.stderr


def test_a_strangers_link_to_a_folder_is_refused(job, shared):
    own = job.folder / "own"
    own.mkdir()
    by_stranger("ln", "-s", own, shared.folder / "log")
    done = job.launch("--no-banner", "--log_dir", f"{shared.folder}/log/", "echo", "hello")
    assert done.returncode == 2
    assert f"{shared.folder}/log is a link that belongs to user {STRANGER}" in one_line(done)
    assert list(own.iterdir()) == []


def test_a_folder_that_all_may_change_is_refused_in_one_line(job):
    folder = job.folder / "log"
    folder.mkdir()
    folder.chmod(0o777)
    done = job.launch("--no-banner", "echo", "hello")
    assert done.returncode == 2
    assert f"--log_dir {folder} has mode 0777" in one_line(done)
    folder.chmod(0o1777)
    assert job.launch("--no-banner", "echo", "hello").returncode == 0


def test_a_job_of_an_ordinary_user_is_kept_from_roots_files_and_strangers(job, shared):
    """The user this time has no rights, and the stranger another number."""
    user = 54322
    home = pathlib.Path(tempfile.mkdtemp(prefix="dtrain-home.", dir="/tmp"))
    try:
        worker = home / "worker"
        shutil.copy2(WORKER, worker)
        if subprocess.run(["ldd", worker], capture_output=True, text=True, check=True).stdout.count(str(WORKER.parents[2])):
            pytest.skip("the program needs libraries of the build folder, which other users may not read")
        os.chown(home, user, user)
        keys = home / "keys"
        keys.write_text(SECRET)
        os.chown(keys, user, user)
        by_stranger("ln", "-s", keys, shared.folder / "workerlog.0")
        argv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", worker, "--log_dir", shared.folder,
                "--", "echo", "hello"]
        done = job.run(*argv)
        assert done.returncode == 2 and "it is a link" in done.stderr, done.stderr
        assert keys.read_text() == SECRET
        (shared.folder / "workerlog.0").unlink()
        assert job.run(*argv).returncode == 0
        assert (shared.folder / "workerlog.0").stat().st_uid == user
    finally:
        shutil.rmtree(home)

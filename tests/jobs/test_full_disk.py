# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Disks without room: a small tmpfs in a mount namespace of the test's own. Needs root, or namespaces.

Oracle: what ls says is left in the folder; the kernel's ENOSPC in the program's own words.
"""
import json
import re

import pytest

from conftest import LAUNCH, PYTHON, ROOT, WORKER, own_mounts
from whole_jobs import NATIVE_JOB

# The traceback has no room either.
PRINTS = "for i in range(200000): print(i)\n"


@pytest.fixture
def small_disk(job):
    """Words before a command that give it a disk of so many bytes at full/, and tell at the end what is left there."""
    folder = job.folder / "full"
    folder.mkdir()
    namespace = own_mounts()

    def words(size, before="true"):
        return [*namespace, "sh", "-c",
                f'mount -t tmpfs -o size={size} none "$0" && ({before}) && "$@"; status=$?; ls -A "$0" >&3; exit $status', folder]

    return words


def run(job, small_disk, size, *argv, before="true", env=None):
    """The command's end, and the names that are left on the disk."""
    listing = job.folder / "listing"
    done = job.run("sh", "-c", 'exec 3> "$0" && exec "$@"', listing, *small_disk(size, before), *argv, env=env)
    return done, sorted(listing.read_text().split())


def test_a_program_whose_log_has_no_room_is_told_so(job, small_disk):
    job.script("a.py", PRINTS)
    done, left = run(job, small_disk, "128k", LAUNCH, "--no-banner", "--log_dir", "full/log", "--report", "report.json", "a.py")
    assert done.returncode in (1, 120), done.stderr  # of Python: its output could not be written
    log = f"{job.folder}/full/log/workerlog.0"
    message = f"there is no room for its log {log} (No space left on device): its output is lost"
    assert message in done.stderr
    assert message in json.dumps(json.loads((job.folder / "report.json").read_text()))
    assert left == ["log"]


def test_so_is_one_without_a_launcher(job, small_disk):
    job.script("a.py", PRINTS)
    done, _ = run(job, small_disk, "64k", WORKER, "--log_dir", "full/log", "--", PYTHON, "a.py")
    assert done.returncode in (1, 120)
    assert re.search(r"^dtrain-worker: .*there is no room for its log .*No space left on device", done.stderr, re.M), done.stderr


def test_a_program_that_fails_beside_a_disk_with_room_is_not(job):
    job.script("a.py", "import sys\nsys.exit(3)\n")
    done = job.launch("--no-banner", "a.py")
    assert done.returncode == 3 and "no room" not in done.stderr


def test_no_temporary_file_stays_where_there_is_no_room(job, small_disk):
    """The disk is full before the launcher writes anything but its lock."""
    done, left = run(job, small_disk, "16k", LAUNCH, "--no-banner", "--log_dir", "full", "/bin/true",
                     before='dd if=/dev/zero of="$0"/filler bs=4k >/dev/null 2>&1; true')
    assert done.returncode != 0
    assert "No space left on device" in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert [name for name in left if ".tmp" in name] == []


@pytest.mark.parametrize("form", ["directory", "file"])
def test_a_checkpoint_that_has_no_room_leaves_nothing(job, small_disk, form):
    text = NATIVE_JOB.format(name="full/saved", epochs=1, optimizer="adam", digits=ROOT / "examples/digits.h5", hidden=256, every=1)
    (job.folder / "job.toml").write_text(text + f'format = "{form}"\n')
    done, _ = run(job, small_disk, "100k", "sh", "-c", '"$@"; status=$?; ls -A full/saved; exit $status', "sh", WORKER, "job.toml")
    assert done.returncode != 0
    assert "No space left on device" in done.stderr, done.stderr
    assert re.search(r"\.tmp|epoch-", done.stdout.splitlines()[-1]) is None, done.stdout

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the programs' output goes: logs and their permissions, sizes and full disks; the console of several ranks.

Oracles: the bytes that the programs were told to print; permissions and free space as the kernel gives them.
"""
import collections
import os
import re
import signal
import stat
import subprocess

import pytest

from conftest import PYTHON, WORKER, processes_with

MEBI = 1 << 20

NUMBERED_LINES = """
import os, sys
count, width = int(sys.argv[1]), int(sys.argv[2])
for number in range(count):
    print(f"{os.environ['RANK']} {number} ".ljust(width, "."))
"""


def numbered(rank, count, width):
    return [f"{rank} {number} ".ljust(width, ".") for number in range(count)]


def mode_of(path):
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_logs_are_private_unless_told_otherwise(job):
    assert job.run(WORKER, "--", "echo", "one").returncode == 0
    log = job.folder / "log/workerlog.0"
    assert mode_of(log) == "0o600"
    assert job.run(WORKER, "--log-mode", "0644", "--log-max-size", "4K", "--", "seq", "2000").returncode == 0
    assert mode_of(log) == mode_of(log.with_name("workerlog.0.1")) == "0o644"


def test_logs_are_appended_or_begun_anew(job):
    for _ in range(2):
        job.run(WORKER, "--", "echo", "again")
    assert job.log(0) == "again\nagain\n"
    job.run(WORKER, "--log_overwrite", "--", "echo", "new")
    assert job.log(0) == "new\n"


def test_a_bounded_log_keeps_the_last_lines_whole(job):
    job.script("a.py", NUMBERED_LINES)
    done = job.mpirun(2, WORKER, "--log-max-size", "1M", "--show", "none", "--", PYTHON, "a.py", 60000, 100)
    assert (done.returncode, done.stdout) == (0, "")
    for rank in (0, 1):
        log = job.folder / f"log/workerlog.{rank}"
        parts = [log.with_name(log.name + ".1").read_text(), log.read_text()]
        assert all(len(part) <= MEBI for part in parts) and len(parts[0]) > MEBI - 101
        kept = "".join(parts).splitlines()
        assert kept == numbered(rank, 60000, 100)[-len(kept):]
    assert sorted(p.name for p in (job.folder / "log").iterdir()) == \
        ["workerlog.0", "workerlog.0.1", "workerlog.1", "workerlog.1.1"]


@pytest.mark.parametrize("bound", [[], ["--log-max-size", "100M"]])
def test_lines_of_several_writers_stay_whole(job, bound):
    """Up to PIPE_BUF bytes a write are promised; without a bound, where each write is an append, any number."""
    width = 3000 if bound else 30000
    job.script("a.py", "import os, sys\n"
                       "for me in range(4):\n"
                       "    if os.fork() == 0:\n"
                       f"        for line in range(300): os.write(1, (f'{{me}} {{line}} '.ljust({width}, str(me)) + '\\n').encode())\n"
                       "        os._exit(0)\n"
                       "for me in range(4): os.wait()\n")
    assert job.run(WORKER, "--show", "none", *bound, "--", PYTHON, "a.py").returncode == 0
    lines = collections.Counter(job.log(0).splitlines())
    assert lines == collections.Counter(f"{me} {line} ".ljust(width, str(me)) for me in range(4) for line in range(300))


def test_the_program_ends_when_the_worker_that_writes_its_log_is_killed(job):
    job.script("a.py", "import signal, subprocess, time\n"
                       "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                       "subprocess.Popen(['setsid', 'sleep', '1000'])\n"
                       "open('up', 'w').close()\ntime.sleep(1000)\n")
    child = job.start(WORKER, "--grace", "0.3", "--log-max-size", "1M", "--", PYTHON, "a.py")
    job.wait_until(lambda: (job.folder / "up").exists())
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=30)
    assert job.left_behind() == []


# --- a full disk ----------------------------------------------------------------------------------------------

@pytest.fixture
def small_disk(job):
    """A file system of 256 KiB as the folder of the logs."""
    folder = job.folder / "log"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "dtrain-test", folder], capture_output=True,
                             text=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


FILL = """
import os, sys
line = b"x" * 999 + b"\\n"
try:
    for _ in range(2000): os.write(1, line)
except OSError as error:
    open("seen", "w").write(os.strerror(error.errno))
    sys.exit(9)
"""


def test_a_full_disk_is_the_programs_own_affair(job, small_disk):
    job.script("fill.py", FILL)
    done = job.mpirun(1, WORKER, "--show", "none", "--", PYTHON, "fill.py")
    assert done.returncode == 9 and "exit code 9" in done.stderr, done.stderr
    assert (job.folder / "seen").read_text() == "No space left on device"
    assert job.left_behind() == []


def test_a_full_disk_under_a_bounded_log_is_told_once(job, small_disk):
    job.script("fill.py", FILL)
    done = job.mpirun(1, WORKER, "--log-max-size", "10M", "--show", "none", "--", PYTHON, "fill.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("No space left on device") == 1 and "workerlog.0" in done.stderr, done.stderr
    assert not (job.folder / "seen").exists()


def test_a_log_that_fits_twice_never_fills_the_disk(job, small_disk):
    job.script("fill.py", FILL)
    done = job.mpirun(1, WORKER, "--log-max-size", "100K", "--", PYTHON, "fill.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("x" * 999 + "\n") == 2000


# --- the console ----------------------------------------------------------------------------------------------

def test_shown_ranks_have_their_number_before_each_line(job):
    job.script("a.py", NUMBERED_LINES)
    done = job.mpirun(3, WORKER, "--show", "0,2", "--", PYTHON, "a.py", 50, 70)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert {line[:4] for line in lines} == {"[0] ", "[2] "}
    for rank in (0, 2):
        assert [line[4:] for line in lines if line.startswith(f"[{rank}] ")] == numbered(rank, 50, 70)
    assert len(job.log(1).splitlines()) == 50


def test_one_shown_rank_is_shown_as_it_is(job):
    done = job.mpirun(2, WORKER, "--show", "1", "--", "sh", "-c", "printf \"no end $RANK\"")
    assert (done.returncode, done.stdout) == (0, "no end 1")


# --- wrappers -------------------------------------------------------------------------------------------------

def test_a_wrapper_stands_before_the_program_on_its_ranks(job):
    done = job.mpirun(3, WORKER, "--wrap", "env 'WRAPPED=%r on %h' nice -n 3", "--wrap-ranks", "1-2", "--show", "none",
                      "--", "sh", "-c", "echo \"$WRAPPED\"; nice")
    assert done.returncode == 0, done.stderr
    usual = subprocess.run(["nice"], capture_output=True, text=True).stdout
    host = os.uname().nodename
    assert [job.log(rank) for rank in range(3)] == \
        [f"\n{usual}"] + [f"{rank} on {host}\n{int(usual) + 3}\n" for rank in (1, 2)]


def test_a_wrapper_that_is_not_there_is_bad_input(job):
    done = job.run(WORKER, "--wrap", "nothere -x", "--", "touch", "started")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "--wrap" in done.stderr and "nothere" in done.stderr
    assert not (job.folder / "started").exists()

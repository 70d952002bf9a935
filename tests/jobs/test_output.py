# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the programs' output goes: logs and their permissions, sizes and full disks; the console of several ranks.

Oracles: the bytes that the programs were told to print; permissions and free space as the kernel gives them.
"""
import collections
import hashlib
import os
import pty
import re
import signal
import stat
import subprocess

import pytest

from conftest import LAUNCH, PYTHON, WORKER

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
        [".dtrain.gloo", "workerlog.0", "workerlog.0.1", "workerlog.1", "workerlog.1.1"]


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
        [f"\n{usual}"] + [f"{rank} on {host}\n{min(int(usual) + 3, 19)}\n" for rank in (1, 2)]


def test_a_wrapper_that_is_not_there_is_bad_input(job):
    done = job.run(WORKER, "--wrap", "nothere -x", "--", "touch", "started")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "--wrap" in done.stderr and "nothere" in done.stderr
    assert not (job.folder / "started").exists()


# --- under dtrain-launch --------------------------------------------------------------------------------------

def test_the_launcher_shows_rank_0_unless_told_otherwise(job):
    job.script("a.py", NUMBERED_LINES)
    ranks = ["--nproc_per_node", 2]
    one = "".join(line + "\n" for line in numbered(0, 20, 60))
    assert job.launch(*ranks, "a.py", 20, 60).stdout.endswith("\n" + one)
    assert job.launch(*ranks, "--tee", "1", "a.py", 20, 60).stdout.endswith("\n" + one.replace("0 ", "1 ", 1).replace(
        "\n0 ", "\n1 "))
    both = job.launch(*ranks, "--tee", "all", "a.py", 20, 60)
    lines = [line for line in both.stdout.splitlines() if line.startswith("[")]
    for rank in (0, 1):
        assert [line[4:] for line in lines if line.startswith(f"[{rank}] ")] == numbered(rank, 20, 60)
    quiet = job.launch(*ranks, "--quiet", "a.py", 20, 60)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert job.log(1).splitlines() == 4 * numbered(1, 20, 60)


def test_the_launchers_logs_follow_its_options(job):
    job.script("a.py", NUMBERED_LINES)
    for _ in range(2):
        done = job.launch("--log_overwrite", "--log-mode", "0640", "--log-max-size", "16K", "a.py", 300, 100)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("\n" + "".join(line + "\n" for line in numbered(0, 300, 100)))
        log = job.folder / "log/workerlog.0"
        parts = [log.with_name(log.name + ".1").read_text(), log.read_text()]
        assert mode_of(log) == "0o640" and all(len(part) <= 16 * 1024 for part in parts)
        kept = "".join(parts).splitlines()
        assert len(kept) > 160 and kept == numbered(0, 300, 100)[-len(kept):]


def test_a_loss_of_output_is_told_by_the_launcher(job, small_disk):
    job.script("fill.py", FILL)
    done = job.launch("--nproc_per_node", 2, "--quiet", "--log-max-size", "10M", "fill.py")
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        assert done.stderr.count(f"rank {rank} on ") == 1 and f"workerlog.{rank}: No space left" in done.stderr
    assert job.left_behind() == []


def test_a_full_disk_keeps_the_verdict(job, small_disk):
    job.script("fill.py", FILL)
    done = job.launch("--nproc_per_node", 2, "fill.py")
    assert done.returncode == 9, done.stderr
    assert "exit code 9" in done.stderr and "ABORT!!!" in done.stderr
    assert (job.folder / "seen").read_text() == "No space left on device"
    assert job.left_behind() == []


def test_wrappers_of_a_launched_job(job):
    done = job.launch("--nproc_per_node", 2, "--wrap", "env 'WRAPPED=rank %r'", "--wrap-ranks", "1", "sh", "-c",
                      "echo \"<$WRAPPED>\"")
    assert done.returncode == 0, done.stderr
    assert [job.log(rank) for rank in (0, 1)] == ["<>\n", "<rank 1>\n"]


@pytest.mark.parametrize("arguments, words", [
    (["--wrap", "nothere -x"], ["--wrap", "nothere"]),
    (["--wrap", "a 'b"], ["--wrap", "a 'b"]),
    (["--wrap-ranks", "x"], ["--wrap-ranks", "x"]),
    (["--tee", "2-1"], ["--tee", "2-1"]),
])
def test_bad_input(job, arguments, words):
    done = job.launch(*arguments, "touch", "started")
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and all(word in done.stderr for word in words), done.stderr
    assert list(job.folder.iterdir()) == []


def peak_memory_kb(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


FLOOD = """
import os, sys
block = b"".join(b"%015d\\n" % number for number in range(1 << 16))  # 1 MiB
for _ in range(int(sys.argv[1])): os.write(1, block)
open("flooded", "w").close()
while not os.path.exists("measured"): pass
"""


def test_much_output_is_neither_lost_nor_held_in_memory(job):
    """A rank that is shown prints a lot; with DTRAIN_STRESS=1 1 GiB."""
    mebibytes = 1024 if os.environ.get("DTRAIN_STRESS") else 50
    job.script("a.py", FLOOD)
    child = job.start(LAUNCH, "a.py", str(mebibytes), text=False)
    hashes = {"console": hashlib.sha256(), "log": hashlib.sha256(), "expected": hashlib.sha256()}
    block = b"".join(b"%015d\n" % number for number in range(1 << 16))
    for _ in range(mebibytes):
        hashes["expected"].update(block)
    head = b""
    while not head.endswith(b"%015d\n" % 0):
        head += child.stdout.read(1)
    hashes["console"].update(b"%015d\n" % 0)
    peak_before = peak_memory_kb(child.pid)
    left = mebibytes * MEBI - 16
    while left > 0:
        piece = child.stdout.read(min(left, MEBI))
        assert piece, "the console ended early"
        hashes["console"].update(piece)
        left -= len(piece)
    job.wait_until(lambda: (job.folder / "flooded").exists())
    peak_after = peak_memory_kb(child.pid)
    (job.folder / "measured").touch()
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, b""), err
    with open(job.folder / "log/workerlog.0", "rb") as log:
        while piece := log.read(MEBI):
            hashes["log"].update(piece)
    assert len({each.hexdigest() for each in hashes.values()}) == 1
    assert peak_after - peak_before < 2048, "kB more than before the flood"


# --- a reader that leaves -------------------------------------------------------------------------------------

@pytest.mark.parametrize("ending, status", [("", 0), ("sys.exit(7)", 7)])
def test_a_console_that_is_closed_changes_nothing(job, ending, status):
    """As `dtrain-launch ... | head -1`: the first line is read, then nobody reads any more."""
    job.script("a.py", "import os, sys, time\n"
                       "for i in range(200000): print('line', i)\n"
                       "open('finished.' + os.environ['RANK'], 'w').close()\n"
                       "while not (os.path.exists('finished.0') and os.path.exists('finished.1')): time.sleep(.02)\n"
                       f"{ending}")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "a.py")
    assert child.stdout.readline() == "-----------  Configuration Arguments -----------\n"
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(timeout=60) == status, err
    for rank in (0, 1):  # the one that ended later may have been stopped, and its log says so
        assert "\nline 199999\n" in job.log(rank)
    assert job.left_behind() == []


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_that_were_never_there(job, closed):
    """No file that is opened gets the number of a closed stream, and what is meant for that stream."""
    job.script("a.py", "print('line')")
    done = job.run("sh", "-c", f"exec {LAUNCH} a.py {closed}")
    assert done.returncode == 0, done.stderr
    assert job.log(0) == "line\n"
    endpoints = (job.folder / "log/endpoints.log").read_text()
    assert re.fullmatch(r"PADDLE_TRAINER_ENDPOINTS:\n127\.0\.0\.1:\d+\n", endpoints), endpoints
    assert (job.folder / "log/hostfile").read_text() == "localhost slots=1\n"


# --- a terminal -----------------------------------------------------------------------------------------------

def run_on_a_terminal(job, *arguments, stdout_too, until=None):
    """Runs dtrain-launch with stderr, or stdout too, on a terminal; returns its status and what that received."""
    outer, inner = pty.openpty()
    child = subprocess.Popen([str(a) for a in (LAUNCH, *arguments)], cwd=job.folder, env=job.environment(),
                             stdin=subprocess.DEVNULL, stdout=inner if stdout_too else subprocess.DEVNULL, stderr=inner)
    os.close(inner)
    received = b""
    while True:
        try:
            piece = os.read(outer, 4096)
        except OSError:  # the last writer is gone
            break
        if not piece:
            break
        received += piece
        if until and until[0] in received:
            (job.folder / until[1]).touch()
    os.close(outer)
    return child.wait(timeout=60), received.decode().replace("\r\n", "\n")


def screen(received):
    """What stays on a terminal that is wide enough: a carriage return goes back to the line's begin."""
    lines = []
    for line in received.split("\n"):
        columns = []
        for part in line.split("\r"):
            columns[:len(part)] = part
        lines.append("".join(columns).rstrip())
    return "\n".join(lines)


WAIT_FOR_RELEASE = """
import os, time
print("first line", flush=True)
while not os.path.exists("release"): time.sleep(0.05)
print("last line")
"""


def test_a_status_line_comes_and_goes_on_a_terminal(job):
    job.script("a.py", WAIT_FOR_RELEASE)
    status, received = run_on_a_terminal(job, "--nproc_per_node", 2, "a.py", stdout_too=True,
                                         until=(b"2 of 2 ranks up, 2 s, logs in log", "release"))
    assert status == 0
    assert "\r2 of 2 ranks up, 1 s, logs in log" in received
    left = screen(received)
    assert "ranks up" not in left
    assert "\nfirst line\n" in left and "\nlast line\n" in left


def test_no_status_line_where_it_would_disturb(job):
    job.script("a.py", "import time\nprint('no end', end='', flush=True)\ntime.sleep(2.5)\nprint()")
    status, received = run_on_a_terminal(job, "a.py", stdout_too=True)
    assert status == 0
    assert "ranks up" not in received.partition("no end")[2].partition("\n")[0] and "\nno end\n" in screen(received)
    job.script("b.py", "import time\ntime.sleep(1.5)")
    assert "ranks up" in run_on_a_terminal(job, "b.py", stdout_too=False)[1]
    assert run_on_a_terminal(job, "--quiet", "b.py", stdout_too=True) == (0, "")
    assert "ranks up" not in job.launch("b.py").stderr

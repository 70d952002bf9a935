# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/program_runs.py. Oracle: shell scripts that say what they do; what Open MPI 4.1 prints around the words of a rank that
died, copied from it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import program_runs
from program_runs import Failed, Late

OF_MPIRUN = """--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 1 with PID 0 on node node1 exited on signal 6 (Aborted).
--------------------------------------------------------------------------
"""
DIED = """terminate called without an active exception
[node1:27117] *** Process received signal ***
[node1:27117] Signal: Aborted (6)
[node1:27117] Signal code:  (-6)
[node1:27117] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f2f2c45b050]
[node1:27117] *** End of error message ***
"""


def sh(text, **options):
    return program_runs.run(["sh", "-c", text], **options)


def test_output_and_errors_of_a_program_that_ends_well():
    ended = sh("echo out; echo err >&2; sleep 0.05")
    assert (ended.output, ended.errors) == ("out\n", "err\n")
    assert ended.seconds >= 0.05


@pytest.mark.parametrize("text, why", [
    ("exit 3", "exit status 3"),
    ("echo why; exit 3", "exit status 3: why"),
    ("echo out; echo first >&2; echo last >&2; echo >&2; exit 1", "exit status 1: last"),
    ("kill -SEGV $$", "killed by SIGSEGV"),
    ("exit 134", "exit status 134 (SIGABRT)"),
    ("exit 255", "exit status 255"),
    (r"printf '\033[31mred\n' >&2; exit 1", "exit status 1: ?[31mred"),
    (r"printf '\377\n' >&2; exit 1", "exit status 1: \ufffd")])
def test_why_a_program_failed_is_one_line(text, why):
    with pytest.raises(Failed) as failure:
        sh(text)
    assert str(failure.value) == why


def test_a_long_line_is_cut():
    with pytest.raises(Failed) as failure:
        sh("printf '%9999d' 1 | tr ' ' x >&2; exit 1")
    assert str(failure.value) == "exit status 1: " + "x" * 300


@pytest.mark.parametrize("name, reason", [("no/such/program", "No such file or directory"), ("plain", "Permission denied")])
def test_a_program_that_cannot_be_started(tmp_path, name, reason):
    (tmp_path / "plain").write_text("")
    with pytest.raises(Failed) as failure:
        program_runs.run([tmp_path / name])
    assert str(failure.value) == f"{tmp_path / name} cannot be started: {reason}"


@pytest.mark.parametrize("output, line", [
    (DIED + OF_MPIRUN, "terminate called without an active exception"),
    (OF_MPIRUN, "mpirun noticed that process rank 1 with PID 0 on node node1 exited on signal 6 (Aborted)."),
    ("Traceback\nImportError: no torch\n" + OF_MPIRUN, "ImportError: no torch"),
    ("-" * 74 + "\n", ""), ("", ""), ("\n  \n", "")])
def test_the_last_line_is_the_programs_own_where_it_has_said_something(output, line):
    assert program_runs.last_line(output) == line


@pytest.mark.parametrize("output, why", [
    ("", "it printed nothing"), ("\n", "it printed nothing"),
    ("1.5\nslow\n", "no figure in its output, which ends with 'slow'")])
def test_output_without_a_figure(output, why):
    with pytest.raises(Failed) as failure:
        program_runs.parsed(output, program_runs.last_number)
    assert str(failure.value) == why


def test_a_figure_is_the_last_number():
    assert program_runs.figure(["sh", "-c", "echo 1 2; echo rate 3.5"]) == 3.5
    assert program_runs.figure(["sh", "-c", "echo '  7 '"], float) == 7


def test_whether_an_interpreter_can_import_is_looked_at_once(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\ncase $2 in *torch*) echo no torch >&2; exit 1 ;; esac\n')
    python.chmod(0o755)
    for _ in range(2):
        assert program_runs.why_no_import(str(python), "torch") == "exit status 1: no torch"
        assert program_runs.why_no_import(str(python), "paddle") == ""
    assert (tmp_path / "calls").read_text() == "-c import torch\n-c import paddle\n"


def alive(pid):
    """No zombie either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("child", [
    "sleep 1000",
    "setsid sleep 1000",  # as Open MPI and torchrun start their ranks: not in our process group
    "sh -c 'trap \"\" TERM; sleep 1000'"])
def test_what_does_not_end_is_stopped_with_all_that_it_started(tmp_path, monkeypatch, child):
    monkeypatch.setattr(program_runs, "GRACE", 0.5)
    begin = time.monotonic()
    with pytest.raises(Late) as failure:
        sh(f"echo waiting >&2; {child} & echo $! >{tmp_path}/pid; wait; sleep 1000", limit=1)
    assert time.monotonic() - begin < 60
    assert str(failure.value) == "no end after 1 s, stopped: waiting"
    assert not alive(int((tmp_path / "pid").read_text()))


def test_what_a_program_that_fails_leaves_behind_is_killed_and_holds_nothing_up(tmp_path):
    begin = time.monotonic()
    with pytest.raises(Failed, match="^exit status 3$"):
        sh(f"setsid sleep 1000 & echo $! >{tmp_path}/pid; exit 3")
    assert time.monotonic() - begin < 60
    end = time.monotonic() + 10
    while alive(int((tmp_path / "pid").read_text())) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_program_that_ends_in_time_is_not_said_to_be_late():
    for _ in range(20):
        sh("exit 0", limit=30)


def test_an_interrupt_ends_the_program_too(tmp_path):
    script = f"""import sys; sys.path.insert(0, {str(BENCHMARKS)!r})
import program_runs
program_runs.run(["sh", "-c", "echo $$ >{tmp_path}/pid; exec sleep 1000"])"""
    runner = subprocess.Popen([sys.executable, "-B", "-c", script], stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ignored in the background
    end = time.monotonic() + 30
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.02)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    assert not alive(int((tmp_path / "pid").read_text()))

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The line that says how far an epoch is.

Oracles: what a pseudo terminal shows, carriage returns carried out; the same job's output without a terminal.
"""
import os
import pty
import re
import select
import signal
import time

import pytest

from conftest import BUILD, mpirun, run
from test_clicks import clicks  # noqa: F401: a fixture
from test_servers import write_job

WORKER = BUILD / "src" / "bin" / "dtrain-worker"
LINE = re.compile(r"epoch (\d+)/\d+ \[(=*)>? *\] (\d+)/(\d+)  \d+ samples/s  loss \d+\.\d{4}(  (\d+:)?\d+:\d\d left)? *")
TIMES = re.compile(r" +\d+ +\d+\.\d\d$", re.MULTILINE)
SLOWEST = re.compile(r"^ +rank \d+ on \S+ was the slowest: .*\n", re.MULTILINE)  # of an epoch, if the machine is busy


def on_a_terminal(argv, cwd, kind="xterm"):
    """All that a terminal of its own gets from the command, and its status. The end of a session takes away what nobody has read of its
    terminal: a shell goes on until all was read."""
    (ended, tell_end), (all_read, tell_all_read) = os.pipe(), os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        os.environ.update(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TERM=kind)
        os.close(tell_all_read)
        for fd in (tell_end, all_read):
            os.set_inheritable(fd, True)
        then = f'"$@" {tell_end}>&- {all_read}<&-; status=$?; echo >&{tell_end}; read -r <&{all_read}; exit $status'
        os.execvp("bash", ["bash", "-c", then, "bash", *(str(part) for part in argv)])
    os.close(tell_end)
    os.close(all_read)
    signal.alarm(100)  # an end for a job that hangs
    text = b""
    try:
        while (ready := select.select([terminal, ended], [], [])[0]) != [ended] or select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536) if terminal in ready else b""
    except OSError:  # the other side is gone
        pass
    finally:
        signal.alarm(0)
        os.close(tell_all_read)
        os.close(ended)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return text.decode().replace("\r\n", "\n"), status


def left_on_the_screen(text):
    """Lines as a terminal shows them in the end: what comes behind a \\r is written over what was there."""
    lines = []
    for line in text.split("\n"):
        shown = []
        for part in line.split("\r"):
            shown[:len(part)] = part
        lines.append("".join(shown).rstrip())
    return "\n".join(lines)


def without_timestamps(text):
    return TIMES.sub("", SLOWEST.sub("", text))


@pytest.fixture
def job(tmp_path, clicks):
    return write_job(tmp_path, clicks, epochs=2, servers=None)


def slow(job, batch=2):
    """Steps of a few samples: an epoch is most of a second."""
    text = job.read_text().replace("global_batch = 128", f"global_batch = {batch}")
    job.write_text(text.replace("embedding = 8", "embedding = 64"))
    return job


@pytest.mark.parametrize("start", ["alone", "mpirun", "servers"])
def test_a_line_changes_on_a_terminal_and_leaves_nothing(native, tmp_path, job, start):
    batch = 8 if start == "servers" else 2
    slow(job, batch)
    if start == "servers":
        job.write_text(job.read_text() + "[servers]\ncount = 1\n")
    argv = {"alone": [WORKER, job], "mpirun": ["mpirun", "--oversubscribe", "-np", "2", native, job],
            "servers": ["mpirun", "--oversubscribe", "-np", "3", native, job]}[start]
    for epochs in (2, 40):  # a fast machine ends two before there is a line
        job.write_text(job.read_text().replace("epochs = 2\n", f"epochs = {epochs}\n"))
        text, status = on_a_terminal(argv, tmp_path)
        assert status == 0, text
        shown = [LINE.fullmatch(part) for part in text.replace("\n", "\r").split("\r") if part.startswith("epoch ")]
        if len(shown) >= 2:
            break
    assert len(shown) >= 2 and all(shown), text
    assert f"/{epochs} [" in shown[0][0]
    steps = [(int(line[1]), int(line[3])) for line in shown]
    assert steps == sorted(set(steps))
    assert all(" left" in line[0] for line, step in zip(shown, steps) if step != (1, 1)), text
    assert all(int(line[4]) == 20_000 // batch for line in shown)
    begin = time.monotonic()
    quiet = run(argv, tmp_path) if start == "alone" else mpirun({"mpirun": 2, "servers": 3}[start], [native, job], tmp_path)
    minutes = int((time.monotonic() - begin) / 60)
    assert quiet.returncode == 0
    of_minutes = [line for line in quiet.stdout.splitlines() if LINE.fullmatch(line)]
    assert "\r" not in quiet.stdout and len(of_minutes) <= minutes, "without a terminal it is a line a minute"
    others = "".join(line for line in quiet.stdout.splitlines(keepends=True) if line.strip("\n") not in of_minutes)
    assert without_timestamps(left_on_the_screen(text)) == without_timestamps(others)


@pytest.mark.parametrize("how", ["--no-progress", "dumb", "piped"])
def test_nothing_changes_where_nobody_wants_it_or_sees_it(native, tmp_path, job, how):
    """Open MPI gives each rank a terminal, also when mpirun writes to a pipe."""
    slow(job)
    argv = ["mpirun", "--oversubscribe", "-np", "1", native, job]
    if how == "--no-progress":
        text, status = on_a_terminal([*argv, how], tmp_path)
    elif how == "dumb":
        text, status = on_a_terminal(argv, tmp_path, kind="dumb")
    else:
        text, status = on_a_terminal(["sh", "-c", " ".join(map(str, argv)) + " | cat"], tmp_path)
    assert status == 0, text
    assert "samples/s  loss" not in text and "\r" not in text
    assert "test AUC" in text

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that benchmarks measure, each within a limit of time, and says in one line why one gave no figure."""

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

LIMIT = 600  # seconds, of a program for which nobody says another
GRACE = 5  # seconds between asking to stop and killing
MARK = "DTRAIN_BENCHMARK_PROGRAM"  # in the environment of all that a program starts
MOST_OUTPUT = 4 << 20  # bytes, the last ones of it
MAX_WORDS = 300  # characters of a line that is quoted
# What stands around the words of a program that died: lines of dashes, Open MPI's list of addresses, a shell's notice.
FRAME = re.compile(r"-{20,}|\[[^\]]*:\d+\] (\*\*\*|\[ *\d+\]|Signal).*|Aborted( \(core dumped\))?")
MPIRUNS = re.compile(r"^-{20,}\n(?:(?!-{20,}\n).*\n)*?-{20,}$", re.MULTILINE)


class Failed(RuntimeError):
    """A program gave no figure: says why in one line. `output` is the end of what it printed."""

    def __init__(self, why, output=""):
        super().__init__(why)
        self.output = output[-2000:]


class Late(Failed):
    """It did not end within its limit."""


@dataclass(frozen=True)
class Ended:
    """A program that ended well."""
    seconds: float
    output: str
    errors: str


def mpi_environment():
    """This process's environment, with what mpirun wants from root and on machines with few cores."""
    own = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    return {**os.environ, **own}


def run(command, environment=None, directory=None, limit=LIMIT):
    """A program from its start to its end. @raise Failed: it cannot be started, does not end well, or not within the limit"""
    words = [str(word) for word in command]
    mark = f"{MARK}={uuid.uuid4().hex}"
    own = {**(os.environ if environment is None else environment), MARK: mark.partition("=")[2]}
    # Files and not pipes: what is left of a program that was killed may hold a pipe open for ever.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        late = threading.Event()
        watch = threading.Timer(limit, lambda: (late.set(), stop(mark)))
        watch.daemon = True
        try:
            begin = time.monotonic()
            child = subprocess.Popen(words, env=own, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                     start_new_session=True)
            watch.start()
            child.wait()
            seconds = time.monotonic() - begin
            watch.cancel()
            watch.join()  # it may just be stopping what is left
        except OSError as error:
            raise Failed(f"{words[0]} cannot be started: {error.strerror}") from error
        except BaseException:  # Ctrl-C does not reach another session
            watch.cancel()
            stop(mark)
            raise
        printed, complaint = last_of(output), last_of(errors)
    if late.is_set():
        raise Late(with_last_line(f"no end after {limit:g} s, stopped", complaint), printed + complaint)
    if child.returncode != 0:
        kill_all(mark)
        raise Failed(why(child.returncode, complaint or printed), printed + complaint)
    return Ended(seconds, printed, complaint)


def wall_time(command, environment=None, directory=None, limit=120):
    """Seconds from the start of the command to its end, which has to be a good one and to come within the limit."""
    return run(command, environment, directory, limit).seconds


def figure(command, parse=None, **options):
    """What `parse` makes of the program's output; the last number in it unless said otherwise. @raise Failed"""
    return parsed(run(command, **options).output, parse or last_number)


def parsed(output, parse):
    """@raise Failed: `parse` finds no figure"""
    try:
        return parse(output)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        line = last_line(output if isinstance(output, str) else repr(output))
        raise Failed(f"no figure in its output, which ends with '{line}'" if line else "it printed nothing", str(output)) from error


def last_number(output):
    return float(output.split()[-1])


def built(build, *targets):
    """@raise Failed: ninja cannot make them"""
    run([shutil.which("ninja") or shutil.which("ninja-build") or "ninja", "-C", build, *targets], limit=3600)


@functools.cache
def why_no_import(python, modules):
    """Of an interpreter, looked at once; an empty text where it can."""
    try:
        run([python, "-c", f"import {modules}"])
    except Failed as error:
        return str(error)
    return ""


def why(status, output):
    """Of subprocess's returncode, in one line; 128 + n is what mpirun and shells make of signal n."""
    if status < 0:
        words = f"killed by {signal_name(-status)}"
    else:
        name = signal_name(status - 128) if status > 128 else ""
        words = f"exit status {status}" + (f" ({name})" if name.startswith("SIG") else "")
    return with_last_line(words, output)


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def with_last_line(words, output):
    line = last_line(output)
    return f"{words}: {line}" if line else words


def last_line(output):
    """The last one that says something: mpirun's own words count only where there are no others."""
    for text in (MPIRUNS.sub("", output), output):
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if line and not FRAME.fullmatch(line)]
        if lines:
            return "".join(letter if letter.isprintable() else "?" for letter in lines[-1][:MAX_WORDS])
    return ""


def last_of(file):
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_OUTPUT))
    return file.read().decode(errors="replace")


def stop(mark):
    """Asks a program and all that it started to stop, and kills what does not."""
    signal_all(mark, signal.SIGTERM)
    end = time.monotonic() + GRACE
    while processes_with(mark) and time.monotonic() < end:
        time.sleep(0.05)
    kill_all(mark)


def kill_all(mark):
    """One that is killed may just have started another, and one that is within exec() has no environment to be known by."""
    looks_in_vain = 0
    for _ in range(20):
        looks_in_vain = 0 if signal_all(mark, signal.SIGKILL) else looks_in_vain + 1
        if looks_in_vain == 4:
            return
        time.sleep(0.02)


def signal_all(mark, number):
    """How many they are."""
    found = processes_with(mark)
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
    return len(found)


def processes_with(mark):
    """Those of all processes that have it in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.name) != os.getpid() and mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Plays one kind of hang in one program under dtrain-launch, and compares what is said with what must be."""
import contextlib
import ctypes
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

from kinds import Kind
from whole_jobs import BUILD, LAUNCH, NATIVE_JOB, ROOT, as_installed, clean_environment, processes_with

FREEZERS = pathlib.Path("/sys/fs/cgroup/freezer")
LATEST = 15.0  # seconds after the limit
#: At once, or, where the ranks end soon, when they have.
HANG_LINE = re.compile(r"^.*(it hung|the job hangs): .*$", re.M)
HEALTHY = Kind("healthy", "", "", "")


@dataclasses.dataclass(frozen=True)
class Result:
    #: "right"; "late": right, but after more than 15 s; "wrong"; "silent": no hang was found; "refused": the library ended it, as it
    #: should; "ended"
    outcome: str
    seconds: float = 0.0  # after the limit
    message: str = ""


class CannotHold(Exception):
    """This machine does not let one stop a process in this way."""


class Signal:
    def __init__(self, _folder):
        pass

    def hold(self, pid):
        os.kill(pid, signal.SIGSTOP)

    def let_go(self):
        pass


class Debugger:
    """Stops a process as a debugger does, for as long as it lives."""

    def __init__(self, _folder):
        self.pid = 0

    def hold(self, pid):
        self.pid = os.fork()
        if self.pid == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
            seize, interrupt = 0x4206, 0x4207
            libc.ptrace(seize, pid, None, None)
            libc.ptrace(interrupt, pid, None, None)
            while True:
                time.sleep(1000)

    def let_go(self):
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
            self.pid = 0


class Freezer:
    """A control group that is frozen."""

    def __init__(self, _folder):
        if not os.access(FREEZERS / "cgroup.procs", os.W_OK):
            raise CannotHold(f"{FREEZERS} takes root and cgroups of version 1")
        self.group = FREEZERS / f"dtrain-{uuid.uuid4().hex[:8]}"
        self.group.mkdir()

    def hold(self, pid):
        (self.group / "cgroup.procs").write_text(str(pid))
        (self.group / "freezer.state").write_text("FROZEN")

    def let_go(self):
        if not self.group.exists():
            return
        (self.group / "freezer.state").write_text("THAWED")
        deadline = time.monotonic() + 30
        while (self.group / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.group.rmdir()


class Disk:
    """A file system of its own, on `disk` in the folder, that the program freezes."""

    def __init__(self, folder):
        self.mounted = folder / "disk"
        self.mounted.mkdir()
        image = folder / "image"
        with open(image, "wb") as file:
            file.truncate(16 << 20)
        for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, self.mounted]):
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError as error:
                raise CannotHold(f"{command[0]} is not installed (Debian packages e2fsprogs and mount)") from error
            if done.returncode != 0:
                raise CannotHold(f"{command[0]} takes root and loop devices: {done.stderr.strip()}")

    def hold(self, _pid):
        pass

    def let_go(self):
        if not os.path.ismount(self.mounted):
            return
        subprocess.run(["fsfreeze", "-u", self.mounted], stderr=subprocess.DEVNULL, check=False)
        deadline = time.monotonic() + 30
        while subprocess.run(["umount", self.mounted], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise CannotHold(f"{self.mounted} stays mounted")
            time.sleep(0.1)


class FrozenDisk(Disk):
    """For a program that does not freeze it itself."""

    def hold(self, _pid):
        subprocess.run(["fsfreeze", "-f", self.mounted], check=True)


class Link:
    """Of a network of its own, in which ranks are connected by TCP. (Messages of dtrain and mpirun on one node go through pipes.)"""

    def __init__(self, _folder):
        probe = subprocess.run(["unshare", "--net", "ip", "link"], capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            raise CannotHold(f"a network of one's own takes root: {probe.stderr.strip()}")

    @staticmethod
    def command(words):
        return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]

    def hold(self, pid):
        subprocess.run(["nsenter", "--target", str(pid), "--net", "ip", "link", "set", "lo", "down"], check=True)

    def let_go(self):
        pass


HOLDERS = {"signal": Signal, "debugger": Debugger, "freezer": Freezer, "disk": Disk, "frozen_disk": FrozenDisk,
           "link": Link}


def run(kind, column, folder, limit=None, tools=""):
    """@param tools a folder for PATH, with py-spy"""
    limit = limit or column.limit
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "fifo")
    mark = f"DTRAINTESTMARK={uuid.uuid4().hex}"
    with contextlib.ExitStack() as stack:
        held = open(folder / "lock", "w", encoding="ascii")  # pylint: disable=consider-using-with
        stack.enter_context(held)
        fcntl.flock(held, fcntl.LOCK_EX)
        holder = HOLDERS[kind.held_by](folder) if kind.held_by else None
        if holder:
            stack.callback(holder.let_go)
        stack.callback(end_all, mark)
        if holder:  # what is frozen does not end
            stack.callback(holder.let_go)
        if column.name == "native":
            write_native_job(folder, epochs=1000000)
        child = start(kind, column, folder, limit, tools, mark)
        if column.name == "native":
            note_native(child, folder, max(min(rank, column.ranks - 1) for rank in kind.culprits))
        return watch(child, kind, column, folder, limit, holder)


def run_healthy(column, folder, limit):
    """To its end: it is no hang."""
    folder.mkdir()
    if column.name == "native":
        write_native_job(folder, epochs=60)
    child = start(HEALTHY, column, folder, limit, "", f"DTRAINTESTMARK={uuid.uuid4().hex}")
    try:
        errors = child.communicate(timeout=300)[1]
    finally:
        child.kill()
    return subprocess.CompletedProcess(child.args, child.returncode, None, errors)


def is_healthy(done):
    """Of a run_healthy(): nobody spoke of a hang."""
    return done.returncode == 0 and re.search(r"\bh(ang|ung)", done.stderr) is None


def write_native_job(folder, epochs):
    (folder / "job.toml").write_text(NATIVE_JOB.format(hidden=64, digits=ROOT / "examples/digits.h5", epochs=epochs, optimizer="adam",
                                                       name="disk", every=1))


def start(kind, column, folder, limit, tools, mark):
    name, value = mark.split("=")
    path = os.pathsep.join(filter(None, (os.path.dirname(column.program[0]) if "python" in column.program[0] else "", tools,
                                         os.environ["PATH"])))
    python_path = as_installed(folder / "site") if column.is_installed else ROOT / "python"
    env = clean_environment(PYTHONPATH=python_path, DTRAIN_LIBRARY=BUILD / "src/libdtrain.so", CUDA_VISIBLE_DEVICES="",
                            OMP_NUM_THREADS=1, PATH=path, PYTHONDONTWRITEBYTECODE=1, **{name: value})
    if not column.is_installed:  # nor where it is, indeed
        env["DTRAIN_PADDLE_RECORDS"] = "0"
    command = [LAUNCH, "--quiet", "--nproc_per_node", column.ranks, "--grace", 1, "--hang-timeout", limit, "--report", "report.json",
               *column.options, *column.program, *(() if column.name == "native" else (kind.name, *column.after))]
    if kind.held_by == "link":
        command = Link.command(command)
        env.update(OMPI_MCA_btl="tcp,self", OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_pml="ob1", GLOO_SOCKET_IFNAME="lo")
    return subprocess.Popen([str(word) for word in command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def note_native(child, folder, rank):
    """The rank hangs from when it has trained for a while: blocked.begin() in its place."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        status = subprocess.run([LAUNCH, "status", "--json", str(child.pid)], env=clean_environment(), capture_output=True, text=True,
                                check=False)
        with contextlib.suppress(ValueError, LookupError):
            ranks = json.loads(status.stdout)[0]["ranks"]
            if all(each.get("pid") for each in ranks) and any(folder.glob("disk/*")):
                time.sleep(1)
                (folder / "new").write_text(f"{time.time()}")
                (folder / "new").rename(folder / f"began.{ranks[rank]['pid']}")
                return
        time.sleep(0.1)


def began(folder):
    """When each process that hangs began to."""
    return {int(note.suffix[1:]): float(note.read_text()) for note in folder.glob("began.*") if note.suffix != ".new"}


def watch(child, kind, column, folder, limit, holder):
    os.set_blocking(child.stderr.fileno(), False)
    message, at, text = "", 0.0, ""
    deadline = time.time() + 180
    is_held = False
    while time.time() < deadline:
        text += read_now(child.stderr)
        if not message and (found := HANG_LINE.search(text)):
            message, at = found[0], time.time()
            if holder:
                holder.let_go()
        if holder and not is_held and (times := began(folder)):
            holder.hold(next(iter(times)))
            is_held = True
        if times := began(folder):
            deadline = min(deadline, max(times.values()) + kind.limits_in.get(column.name, kind.limits) * limit + 4 * LATEST)
        if child.poll() is not None:
            text += read_now(child.stderr)
            break
        time.sleep(0.02)
    (folder / "stderr").write_text(text)
    if not message and (found := HANG_LINE.search(text)):
        message, at = found[0], time.time()
    if not message:
        outcome = "silent" if child.poll() is None else "refused" if column.name in kind.refused_in else "ended"
        return Result(outcome, message=" | ".join(text.splitlines()[:3]))
    times = began(folder)
    seconds = at - max(times.values(), default=at) - kind.limits_in.get(column.name, kind.limits) * limit
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(30)
    right = is_right(kind, column, folder, message)
    return Result("wrong" if not right else "right" if seconds <= LATEST else "late", seconds, message)


def read_now(stream):
    with contextlib.suppress(BlockingIOError, TypeError):
        return stream.read() or ""
    return ""


def is_right(kind, column, folder, message):
    with contextlib.suppress(OSError, ValueError, KeyError):
        report = json.loads((folder / "report.json").read_text())
        pattern = column.expected(kind.message_in(column.name), os.uname().nodename.split(".")[0])
        culprits = set(report["hang"]["culprits"])
        right = kind.culprits is None or culprits == {min(rank, column.ranks - 1) for rank in kind.culprits}
        return right and re.search(f"(it hung|the job hangs): {pattern}", message) is not None
    return False


def end_all(mark):
    for _ in range(50):
        left = processes_with(mark)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        time.sleep(0.1)

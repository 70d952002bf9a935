# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What the whole-job tests share: the real programs of a build, real mpirun, and a look at what is left behind."""
import contextlib
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import mount_namespace  # noqa: E402
from whole_jobs import BUILD, LAUNCH, PYTHON, ROOT, WORKER, build_option, clean_environment, processes_with  # noqa: E402,F401


# A file's tests share what it prepares and stay in one process; those of the longest files do not need to.
OF_EXAMPLES = {"test_examples", "test_losses"}  # compile the same programs
SPREAD = {"test_servers", "test_checkpoints", "test_native", "test_failing_ranks", "test_launch"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Groups for pytest-xdist's --dist loadgroup, which looks for them in the same hook."""
    for item in items:
        if item.path.stem not in SPREAD and item.get_closest_marker("xdist_group") is None:
            group = "examples" if item.path.stem in OF_EXAMPLES else item.path.stem
            item.add_marker(pytest.mark.xdist_group(group))


class Job:
    """Runs commands in a folder of their own and can tell what they left running."""

    def __init__(self, folder):
        self.folder = folder
        self.mark = f"DTRAINTESTMARK={uuid.uuid4().hex}"

    def environment(self, **extra):
        env = clean_environment(**extra)
        name, value = self.mark.split("=")
        env[name] = value
        return env

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *argv, env=None, text=True, **popen):
        return subprocess.Popen([str(a) for a in argv], cwd=self.folder, env=self.environment(**(env or {})),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                                **popen)

    def pids_of_ranks(self, launcher, env=None):
        """Of the programs that a launcher says are there, by rank."""
        status = self.run(LAUNCH, "status", "--json", str(launcher.pid), env=env)
        jobs = json.loads(status.stdout) if status.returncode == 0 else []
        return [rank["pid"] for each in jobs for rank in each.get("ranks", []) if rank.get("pid")]

    def run(self, *argv, env=None, timeout=60):
        child = self.start(*argv, env=env)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            for pid in processes_with(self.mark):  # whatever still holds the pipes
                os.kill(pid, 9)
            out, err = child.communicate()
            raise AssertionError(f"no end after {timeout} s: {argv}\n{out}\n{err}")
        return subprocess.CompletedProcess(argv, child.returncode, out, err)

    def launch(self, *arguments, env=None, timeout=60):
        return self.run(LAUNCH, *arguments, env=env, timeout=timeout)

    def mpirun(self, ranks, *argv, env=None, timeout=60):
        return self.run("mpirun", "--oversubscribe", "-np", ranks, *argv, env=env, timeout=timeout)

    def log(self, rank):
        return (self.folder / "log" / f"workerlog.{rank}").read_text()

    def left_behind(self, timeout=6.0):
        """Processes of this test that still live after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            left = processes_with(self.mark)
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.05)

    def wait_until(self, condition, timeout=60.0):
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, "condition not reached"
            time.sleep(0.02)


def own_mounts():
    """Words before a command that give it mounts of its own; skips the test where nobody may have them."""
    try:
        return mount_namespace.unshare()
    except RuntimeError as error:
        pytest.skip(f"mounts of one's own take root and a mount namespace: {error}")


def without_debuggers(folder):
    """An environment in which no gdb and no py-spy work."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("gdb", "py-spy"):
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
        (tools / name).chmod(0o755)
    return {"PATH": f"{tools}:{os.environ['PATH']}"}


@pytest.fixture
def job(tmp_path):
    job = Job(tmp_path)
    yield job
    for pid in processes_with(job.mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)


def run(argv, cwd, timeout=300, **changes):
    """Runs a command to its end; output as text. None as a variable's value unsets it."""
    environment = clean_environment(OMP_NUM_THREADS=1)
    del environment["OMPI_MCA_mpi_yield_when_idle"]
    for name, value in changes.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = str(value)
    return subprocess.run([str(part) for part in argv], cwd=cwd, env=environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)


def mpirun(ranks, argv, cwd, timeout=300, **changes):
    """The command on that many ranks, also with fewer cores than ranks. Without the PCI bus, which mpirun reads for 15 ms in a virtual machine."""
    return run(command_of_programs((ranks, *argv)), cwd, timeout, **{"HWLOC_COMPONENTS": "-pci,-linuxio"} | changes)


@functools.cache
def takes_several_programs():
    """Open MPI 5.0.7's mpirun, as Debian 13 has it, crashes."""
    return run(command_of_programs((1, "true"), (1, "true")), "/").returncode >= 0


def command_of_programs(*programs):
    each = [["-np", str(ranks), *map(str, words)] for ranks, *words in programs]
    return ["mpirun", "--oversubscribe", *each[0], *(word for words in each[1:] for word in (":", *words))]


def skip_unless_several_programs():
    if not takes_several_programs():
        pytest.skip("mpirun itself crashes on a command of several programs: Open MPI's issue 13303")


def mpirun_of(*programs):
    """mpirun's command of several programs, each (ranks, word, ...)."""
    skip_unless_several_programs()
    return command_of_programs(*programs)


def build_program(program, source, compile_and_link, link):
    """In two steps: the compiler's cache does not know programs that are compiled and linked at once."""
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"a program outside the build has no {sanitizers} sanitizer to link libdtrain with")
    cache = ["ccache"] if shutil.which("ccache") else []
    # Names below the folder of both are made relative, so that the cache knows them again wherever that is.
    objects = [*cache, "g++", "-std=c++20", "-c", source.name, "-o", program.name + ".o", *compile_and_link]
    for command in (objects, ["g++", program.name + ".o", "-o", program, *compile_and_link, *link]):
        built = run(command, source.parent, timeout=400, CCACHE_BASEDIR=source.parent.parent)
        assert built.returncode == 0, built.stderr


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """A prefix that is not where the build was told that it would be installed."""
    destination = tmp_path_factory.mktemp("destination")
    done = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", destination], ROOT, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    moved = tmp_path_factory.mktemp("moved") / "some where else"
    shutil.move(destination / pathlib.Path(build_option("prefix")).relative_to("/"), moved)
    return moved


@pytest.fixture(scope="session")
def torch_program(prefix, tmp_path_factory):
    """examples/libtorch as examples/README.md compiles it, with an installed dtrain: a minute of the compiler's."""
    include = "-I/usr/include/torch/csrc/api/include"
    if subprocess.run(["g++", "-E", "-x", "c++", include, "-"], input="#include <torch/torch.h>", text=True, capture_output=True,
                      check=False).returncode != 0:
        pytest.skip("libtorch-dev is not installed")
    libraries = prefix / build_option("libdir")
    source = tmp_path_factory.mktemp("torch") / "train.cpp"
    shutil.copy(ROOT / "examples/libtorch/train.cpp", source)
    flags = run(["pkg-config", "--cflags", "--libs", "dtrain"], ROOT, PKG_CONFIG_PATH=libraries / "pkgconfig").stdout
    build_program(source.with_suffix(""), source, shlex.split(flags) + [include],
                  ["-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{libraries}"])
    return source.with_suffix("")


@pytest.fixture(scope="session")
def native():
    """The program of the native job."""
    return BUILD / "src" / "libexec" / "dtrain" / "dtrain-native"


@pytest.fixture(scope="session")
def hydra():
    """The launcher of MPICH and Intel MPI."""
    program = shutil.which("mpiexec.hydra")
    if program is None:
        pytest.skip("mpiexec.hydra (Debian package mpich) is not installed")
    return program


@pytest.fixture
def ill_gpus(tmp_path):
    """An environment in which tests/topology/fake_nvml.cpp is NVIDIA's library, and nothing computes on its GPUs."""
    stand_in = BUILD / "tests/topology/libfake_nvml.so"
    if not stand_in.exists():
        pytest.skip(f"{stand_in} was not built")
    (tmp_path / "libnvidia-ml.so.1").symlink_to(stand_in)
    return {"LD_LIBRARY_PATH": tmp_path, "CUDA_VISIBLE_DEVICES": "0,1", "DTRAIN_DEVICE": "cpu"}

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What whole-job tests share: the built programs and a way to run them.

The environment variable DTRAIN_BUILD names the build folder (meson's); without it, ./build is used.
"""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def job_environment(**changes):
    """The environment for a job on a machine with few cores, also as root; None as a value unsets."""
    environment = dict(os.environ)
    # A job that is started from inside another one must not take itself for a part of it.
    for name in list(environment):
        if name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_", "DTRAIN_")):
            del environment[name]
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    for name, value in changes.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def run(argv, cwd, timeout=120, **environment):
    """Runs a command to its end; output as text."""
    return subprocess.run([str(part) for part in argv], cwd=cwd, env=job_environment(**environment), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)


def mpirun(ranks, argv, cwd, timeout=120, **environment):
    """The command on that many ranks, also with fewer cores than ranks."""
    return run(["mpirun", "--oversubscribe", "-np", ranks, *argv], cwd, timeout, **environment)


@pytest.fixture(scope="session")
def build():
    folder = pathlib.Path(os.environ.get("DTRAIN_BUILD", ROOT / "build")).resolve()
    if not folder.is_dir():
        pytest.fail(f"there is no build folder {folder}; set DTRAIN_BUILD")
    return folder


@pytest.fixture(scope="session")
def native(build):
    """The program of the native job."""
    program = build / "src" / "libexec" / "dtrain" / "dtrain-native"
    if not program.exists():
        pytest.fail(f"{program} is not built")
    return program


@pytest.fixture(scope="session")
def hydra():
    """The launcher of MPICH and Intel MPI."""
    program = shutil.which("mpiexec.hydra")
    if program is None:
        pytest.skip("mpiexec.hydra (Debian package mpich) is not installed")
    return program

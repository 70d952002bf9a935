# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""--trace-mpi: the calls of MPI of programs that know nothing of dtrain.

Oracle: what the program calls; the texts of a log, which are in its file as they are (src/trace/operation_log_format.hpp).
What a log has in whole, tests/trace_mpi finds out.
"""

import re
import subprocess

import pytest
from conftest import BUILD, PYTHON, WORKER

LIBRARY = BUILD / "src/trace_mpi/libdtrain_trace_mpi.so"
# Each rank leaves its log, as it was before the end of the job, and what was loaded into it.
PROGRAM = """import os, pathlib, shutil
from mpi4py import MPI
import numpy
world = MPI.COMM_WORLD
total = numpy.zeros(3)
world.Allreduce(numpy.ones(3), total)
assert total[0] == world.size
half = world.Split(world.rank % 2)
half.bcast({"rank": world.rank})
own = pathlib.Path(os.environ["DTRAIN_OPERATION_LOG"]) / f"{os.getpid()}.operations"
if own.exists():
    shutil.copy(own, f"rank-{world.rank}.operations")
pathlib.Path(f"rank-{world.rank}.preload").write_text(os.environ.get("LD_PRELOAD", ""))
"""

needs_mpi4py = pytest.mark.skipif(
    subprocess.run([PYTHON, "-c", "import mpi4py, numpy"], stderr=subprocess.DEVNULL, check=False).returncode != 0,
    reason=f"{PYTHON} has no mpi4py or no NumPy (Debian: python3-mpi4py)")


@pytest.fixture
def log_folder(job):
    """For a worker that sets none of its own."""
    folder = job.folder / "operations"
    folder.mkdir()
    return {"DTRAIN_OPERATION_LOG": folder}


@needs_mpi4py
def test_calls_of_python_are_recorded(job, log_folder):
    job.script("a.py", PROGRAM)
    done = job.launch("--nproc_per_node", 2, "--trace-mpi", PYTHON, "a.py", env={**log_folder, "LD_PRELOAD": "libm.so.6"})
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        texts = set(re.findall(rb"[ -~]{3,}", (job.folder / f"rank-{rank}.operations").read_bytes()))
        assert {b"MPI_Init", b"MPI_Allreduce", b"MPI_Comm_split", b"MPI_Bcast", b"double", b"sum", b"MPI_COMM_WORLD"} <= texts
        # mpi4py's lower-case functions use a copy of the communicator
        assert any(text.startswith(b"MPI_COMM_WORLD/1@%d" % rank) for text in texts), texts
        assert (job.folder / f"rank-{rank}.preload").read_text() == f"{LIBRARY}:libm.so.6"


@needs_mpi4py
def test_nothing_is_loaded_without_the_option(job, log_folder):
    job.script("a.py", PROGRAM)
    done = job.launch("--nproc_per_node", 1, PYTHON, "a.py", env=log_folder)
    assert done.returncode == 0, done.stderr
    assert not (job.folder / "rank-0.operations").exists()
    assert (job.folder / "rank-0.preload").read_text() == ""


def test_programs_without_mpi_run_as_before(job, log_folder):
    done = job.launch("--nproc_per_node", 1, "--trace-mpi", "sh", "-c", "echo $((6 * 7))", env=log_folder)
    assert (done.returncode, "42" in done.stdout) == (0, True), done.stderr


def test_a_missing_library_is_said_before_anything_starts(job):
    nowhere = {"DTRAIN_TRACE_MPI_MODULE": "/nowhere/libdtrain_trace_mpi.so"}
    done = job.launch("--trace-mpi", "/bin/true", env=nowhere)
    said = "--trace-mpi: DTRAIN_TRACE_MPI_MODULE=/nowhere/libdtrain_trace_mpi.so: there is no such file"
    assert done.returncode == 2 and said in done.stderr, done.stderr
    done = job.mpirun(1, WORKER, "--trace-mpi", "--", "true", env=nowhere)
    assert done.returncode == 2 and said in done.stderr, done.stderr

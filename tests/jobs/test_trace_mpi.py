# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""--trace-mpi: the calls of MPI of programs that know nothing of dtrain.

Oracle: what the program calls; the texts of a log, which are in its file as they are (src/trace/operation_log_format.hpp).
What a log has in whole, tests/trace_mpi finds out.
"""

import re
import shutil
import subprocess

import pytest
from conftest import BUILD, LAUNCH, PYTHON, WORKER

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

#: {0} and {1}: how it knows MPI; {2} and {3}: types of handles there
FORTRAN = """program calls
  {0}
  implicit none
  {1}
  {2} :: half
  {3} :: requests(2)
  integer :: rank, ierror, sent(3), received(3)
  real :: values(1000)
  double precision :: sums(4)
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  sums = rank
  call mpi_allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierror)
  if (sums(4) /= 1) stop 4
  call mpi_comm_split(MPI_COMM_WORLD, rank, 0, half, ierror)
  call mpi_bcast(values, 1000, MPI_REAL, 0, half, ierror)
  call mpi_comm_free(half, ierror)
  sent = rank
  call mpi_irecv(received, 3, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, requests(1), ierror)
  call mpi_isend(sent, 3, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, requests(2), ierror)
  call mpi_waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (received(3) /= 1 - rank) stop 5
  if (rank == 1) call sleep(1000)
  call mpi_barrier(MPI_COMM_WORLD, ierror)
end program
"""
INTERFACES = {"mpif.h": ("", "include 'mpif.h'", "integer", "integer"), "mpi": ("use mpi", "", "integer", "integer"),
              "mpi_f08": ("use mpi_f08", "", "type(MPI_Comm)", "type(MPI_Request)")}

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


@pytest.mark.parametrize("interface", INTERFACES)
def test_calls_of_fortran_are_recorded(job, interface):
    if shutil.which("mpif90") is None:
        pytest.skip("mpif90 is not installed (Debian: libopenmpi-dev, gfortran)")
    source = job.script("calls.f90", FORTRAN.format(*INTERFACES[interface]))
    compiled = job.run("mpif90", "-g", source, "-o", "calls")
    if compiled.returncode != 0 and ("gfortran" in compiled.stderr or "Cannot open module file" in compiled.stderr):
        pytest.skip(f"this MPI does not compile it: {compiled.stderr.splitlines()[0]}")
    assert compiled.returncode == 0, compiled.stderr
    child = job.start(LAUNCH, "--quiet", "--nproc_per_node", 2, "--trace-mpi", "--hang-timeout", 2, "--on-hang", "dump", "--grace", 1,
                      "./calls")
    files = [job.folder / f"log/workerlog.{rank}.operations" for rank in range(2)]
    line = next(line for line in iter(child.stderr.readline, "") if "the job hangs" in line)
    child.terminate()
    child.communicate(timeout=60)
    waited = re.search(r"rank 1 on \S+ has not called MPI_Barrier 4 of MPI_COMM_WORLD at calls\+(0x[0-9a-f]+): it sleeps", line)
    assert waited, line
    location = job.run("addr2line", "-e", "calls", waited[1]).stdout.strip()
    number = next(number for number, text in enumerate(source.read_text().splitlines(), 1) if "mpi_barrier" in text)
    assert location == f"{source}:{number}"
    for rank, file in enumerate(files):
        calls = [re.sub(r"calls\+0x[0-9a-f]+: .*", "calls", text) for text in file.read_text().splitlines()[1:]]
        half = f"MPI_COMM_WORLD/1@{rank}"
        assert calls == ["MPI_Init 1 of MPI_COMM_WORLD at calls",
                         "MPI_Allreduce 2 (double precision x 4, max) of MPI_COMM_WORLD at calls",
                         "MPI_Comm_split 3 of MPI_COMM_WORLD at calls",
                         f"MPI_Bcast 1 (real x 1000, root {rank}) of {half} at calls",
                         f"MPI_Comm_free 2 of {half} at calls",
                         f"MPI_Irecv from rank {1 - rank} (integer x 3, tag 7) of MPI_COMM_WORLD at calls",
                         f"MPI_Isend to rank {1 - rank} (integer x 3, tag 7) of MPI_COMM_WORLD at calls",
                         *(["MPI_Barrier 4 of MPI_COMM_WORLD at calls"] if rank == 0 else [])]


def test_programs_without_mpi_run_as_before(job, log_folder):
    done = job.launch("--nproc_per_node", 1, "--trace-mpi", "sh", "-c", "echo $((6 * 7))", env=log_folder)
    assert (done.returncode, "42" in done.stdout) == (0, True), done.stderr


def test_a_missing_library_is_said_before_anything_starts(job):
    nowhere = {"DTRAIN_TRACE_MPI_MODULE": "/nowhere/libdtrain_trace_mpi.so"}
    done = job.launch("--trace-mpi", "/bin/true", env=nowhere)
    message = "--trace-mpi: DTRAIN_TRACE_MPI_MODULE=/nowhere/libdtrain_trace_mpi.so: there is no such file"
    assert done.returncode == 2 and message in done.stderr, done.stderr
    done = job.mpirun(1, WORKER, "--trace-mpi", "--", "true", env=nowhere)
    assert done.returncode == 2 and message in done.stderr, done.stderr

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is to blame for a hang: cells of the matrix of docs/hangs.md, and healthy runs, which are no hangs.

Oracle: tests/hang_matrix/kinds.py says of each kind who hangs and what must be said. Here a few cells of programs that need no framework
are played; with DTRAIN_STRESS=1 all. tests/hang_matrix/matrix plays those of torch and Paddle, too."""
import os
import shutil
import subprocess
import sys

import pytest

from conftest import PYTHON, ROOT, build_option

sys.path.insert(0, str(ROOT / "tests/hang_matrix"))
import cell  # noqa: E402
import kinds  # noqa: E402
from columns import build_program, columns  # noqa: E402

STRESS = bool(os.environ.get("DTRAIN_STRESS"))
COLUMNS = ("native", "dtrain", "nccl", "mpi", "mpi4py")
IN_CPP = "nccl", "mpi"
SHORT = {("native", "works_until_held:signal"), ("dtrain", "works_until_held:debugger"), ("dtrain", "comes_not"), ("dtrain", "circle"),
         ("nccl", "skips"), ("nccl", "ends_not"), ("nccl", "gpu_computes"), ("mpi", "lock"),
         ("mpi", "fork_with_lock"), ("mpi", "does_not_fence"), ("mpi", "receives"), ("mpi4py", "skips"), ("mpi4py", "ends_not")}
CELLS = [(name, kind) for name in COLUMNS for kind in kinds.KINDS
         if name in kind.columns and (STRESS or (name, kinds.title_of(kind)) in SHORT)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"Python has no {sanitizers} sanitizer to load libdtrain with")
    if subprocess.run([PYTHON, "-c", "import mpi4py, numpy"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        pytest.skip(f"{PYTHON} has no mpi4py or no NumPy (Debian: python3-mpi4py)")
    return columns(build_program(tmp_path_factory.mktemp("program")), None, None)


@pytest.mark.parametrize("name, kind", [pytest.param(name, kind, id=f"{name}-{kinds.title_of(kind)}") for name, kind in CELLS])
def test_the_culprit_is_named(programs, tmp_path, name, kind):
    if name not in programs:
        pytest.skip("built without CUDA")
    tool = "gdb" if name in IN_CPP else "py-spy"
    if (name in IN_CPP or (name, kinds.title_of(kind)) not in SHORT) and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed: it tells in which function a rank is")
    try:
        result = cell.run(kind, programs[name], tmp_path / "job")
    except cell.CannotHold as error:
        pytest.skip(str(error))
    assert result.outcome in ("right", "late", "refused"), result


@pytest.mark.parametrize("limit", [os.environ.get("DTRAIN_TEST_HANG_TIMEOUT", "4"), "auto:4"])
@pytest.mark.parametrize("name", COLUMNS if STRESS else ["dtrain", "mpi"])
def test_healthy_runs_are_no_hangs(programs, tmp_path, name, limit):
    """Evaluation, a checkpoint, a slow loader and a compiler, each for a quarter of the limit, beside two processes that compute."""
    if name not in programs:
        pytest.skip("built without CUDA")
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(2)]
    try:
        for number in range(50 if STRESS else 1):
            done = cell.run_healthy(programs[name], tmp_path / str(number), limit)
            assert cell.is_healthy(done), done.stderr
    finally:
        for process in busy:
            process.kill()
            process.wait()

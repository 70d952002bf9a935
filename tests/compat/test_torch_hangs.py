# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is to blame when a training of torch hangs, on dtrain's back end and on gloo. Oracle: scripts/torch_hangs.py, whose rank 2
does not come to the line that the others wait in, or calls something else there."""
import os
import re
import subprocess
import sys

import pytest

from conftest import SCRIPTS, jobs
from whole_jobs import ENTRY_POINTS, as_installed

sys.path.insert(0, str(jobs.ROOT / "tests/hang_matrix"))
import cell  # noqa: E402
from columns import columns  # noqa: E402

ENVIRONMENT = {"PYTHONPATH": jobs.ROOT / "python", "DTRAIN_LIBRARY": jobs.BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
               "OMP_NUM_THREADS": "1"}
LINE = r"allreduce \d+ \(float32 x \d+, sum\) of default_pg at torch_hangs.py:\d+"
RECORDED = {
    "evaluates": rf"rank 2 on \S+ has not called {LINE}: it (sleeps|evaluates)",
    "loader": rf"rank 2 on \S+ has not called {LINE}: it (sleeps|loads data)",
    "computes": rf"rank 2 on \S+ has not called {LINE}: it computes",
    "is_stopped": rf"rank 2 on \S+ is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\): it has not called {LINE}",
    "message": r"rank 2 on \S+ waits in receive from rank 0 .* at torch_hangs.py:\d+, where it called allreduce",
    "other_group": r"rank 2 on \S+ skipped allreduce .*: it called barrier 1 of pair at torch_hangs.py:\d+",
}
#: torch's flight recorder has gloo's operations, but neither reductions nor, once they have ended, roots.
SUM = r"all_reduce \d+ \(float32 x 1000\) of default_pg at torch_hangs.py:\d+"
OTHERS = rf"where ranks \[0,1\] called {SUM}"
OF_FLIGHT_RECORDER = {
    "evaluates": rf"rank 2 on \S+ has not called {SUM}: it evaluates in evaluate \(torch_hangs.py:\d+\), after all_reduce \d+ "
                 r"\(float32 x \d+\) of default_pg at torch_hangs.py:\d+; ranks \[0,1\] wait in it",
    "loader": r"rank 2 on \S+ has not called all_reduce \d+ \(float32 x \d+\) of default_pg at torch_hangs.py:\d+"
              r": it loads data in __getitem__ \(torch_hangs.py:\d+\)",
    "is_stopped": rf"rank 2 on \S+ is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\): it has not called {SUM}",
    "message": r"rank 2 on \S+ waits in recv from rank 0 \(float32 x 1000\) of default_pg at torch_hangs.py:\d+, where it called "
               r"all_reduce",
    "other_group": r"rank 2 on \S+ skipped all_reduce .*: it called barrier 1 of pair \(group 1\) at torch_hangs.py:\d+",
    "skipped": rf"rank 2 on \S+ skipped {SUM}: it called broadcast \d+ \(float32 x 1000, root 0\)",
    "reordered": rf"rank 2 on \S+ called broadcast \d+ \(float32 x 1000, root 0\) of default_pg at torch_hangs.py:\d+ {OTHERS}",
    "other_length": rf"rank 2 on \S+ called all_reduce \d+ \(float32 x 0\) of default_pg at torch_hangs.py:\d+ {OTHERS}",
    "other_type": rf"rank 2 on \S+ called all_reduce \d+ \(float64 x 0\) of default_pg at torch_hangs.py:\d+ {OTHERS}",
    "other_operation": rf"rank 2 on \S+ called barrier \d+ of default_pg at torch_hangs.py:\d+ {OTHERS}",
    "other_root": r"rank 2 on \S+ (called|waits in) broadcast \d+ \(float32 x 1000, root 1\) of default_pg at torch_hangs.py:\d+",
}
#: Without it py-spy tells where ranks are.
OF_STACKS = {
    "evaluates": r"rank 2 on \S+ is not in all_reduce at torch_hangs.py:\d+: it evaluates in evaluate \(torch_hangs.py:\d+\)",
    "loader": r"rank 2 on \S+ is not in (all_reduce|_engine_run_backward) at torch_hangs.py:\d+"
              r": it loads data in \S*__getitem__ \(torch_hangs.py:\d+\)",
    "is_stopped": r"rank 2 on \S+ is stopped by a signal",
    "message": r"rank 2 on \S+ is in recv at torch_hangs.py:\d+, where the others are not",
    "other_group": r"rank 2 on \S+ is in barrier at torch_hangs.py:\d+, where the others are not",
}


def check(job, torch, kind, back_end, expected, *, tools="", **environment):
    folder = f"{tools}{os.pathsep if tools else ''}{os.path.dirname(os.path.abspath(torch.python))}"
    done = job.run(jobs.LAUNCH, "--quiet", "--nproc_per_node", 3, "--hang-timeout", 3, "--grace", 1, SCRIPTS / "torch_hangs.py", kind,
                   back_end, timeout=240, env={**ENVIRONMENT, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **environment})
    assert done.returncode == 124, done.stderr
    assert re.search(f"it hung: {expected}", done.stderr.splitlines()[0]), done.stderr
    assert job.left_behind() == []


def records_gloo(torch):
    code = "import torch._C._distributed_c10d as c; print(hasattr(c, '_dump_fr_trace'))"
    return subprocess.run([torch.python, "-c", code], capture_output=True, text=True, check=False).stdout.strip() == "True"


@pytest.mark.parametrize("kind", RECORDED)
def test_on_the_back_end_of_dtrain(torch, job, kind):
    check(job, torch, kind, "dtrain", RECORDED[kind])


@pytest.mark.parametrize("kind", OF_FLIGHT_RECORDER)
def test_on_gloo_without_debuggers(torch, job, tmp_path, kind):
    if not records_gloo(torch):
        pytest.skip("this torch does not record gloo's operations")
    tools = jobs.without_debuggers(job.folder)["PATH"].split(os.pathsep, maxsplit=1)[0]
    check(job, torch, kind, "gloo", OF_FLIGHT_RECORDER[kind], tools=tools, PYTHONPATH=as_installed(tmp_path / "site"))


def test_what_gloo_was_called_for_can_be_dumped(torch, job, tmp_path):
    if not records_gloo(torch):
        pytest.skip("this torch does not record gloo's operations")
    child = job.start(jobs.LAUNCH, "--quiet", "--nproc_per_node", 3, "--hang-timeout", 3, "--on-hang", "dump", SCRIPTS / "torch_hangs.py",
                      "evaluates", "gloo", env={**ENVIRONMENT, "PATH": f"{os.path.dirname(torch.python)}{os.pathsep}{os.environ['PATH']}",
                                                "PYTHONPATH": as_installed(tmp_path / "site")})
    files = [job.folder / f"log/workerlog.{rank}.operations" for rank in range(3)]
    job.wait_until(lambda: all(file.exists() and "of default_pg" in file.read_text() for file in files), timeout=120)
    child.terminate()
    child.communicate(timeout=60)
    line = r"all_reduce \d+ \(float32 x \d+\) of default_pg at torch_hangs.py:\d+: began \S+ s ago, "
    for file in files:
        head, *lines = file.read_text().splitlines()
        assert re.fullmatch(r"process \d+, as torch has recorded it, at \S+ \S+:", head), head
        assert re.match(line + ("has ended" if file == files[2] else "goes on, waited for since"), lines[-1]), lines


def test_two_pauses_of_gloo_are_not_one(torch, job, monkeypatch):
    """Each is shorter than the limit, both are longer; so little is computed between them that it cannot be seen."""
    if not records_gloo(torch):
        pytest.skip("this torch does not record gloo's operations")
    monkeypatch.setenv("PHASE_SECONDS", "3")
    done = cell.run_healthy(columns(None, torch.python, None)["torch_gloo"], job.folder / "job", 4)
    assert cell.is_healthy(done), done.stderr


@pytest.mark.parametrize("kind", OF_STACKS)
def test_on_gloo_by_stacks(torch, job, tmp_path, kind):
    if not os.path.exists(os.path.join(os.path.dirname(os.path.abspath(torch.python)), "py-spy")):
        pytest.skip("py-spy (PyPI) is not beside that Python")
    check(job, torch, kind, "gloo", OF_STACKS[kind], PYTHONPATH=as_installed(tmp_path / "site"), DTRAIN_TORCH_RECORDS="0")


def test_the_wheel_says_what_torch_calls():
    assert ENTRY_POINTS in (jobs.ROOT / "python/wheel_backend.py").read_text()

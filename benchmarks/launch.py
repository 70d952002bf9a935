# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a job takes that does nothing, or nothing but to start MPI.

Peers: bare mpirun, the least that a launch can cost here; torchrun and paddle.distributed.launch where the
interpreter that DTRAIN_COMPAT_PYTHON names has them.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from harness import Case, Failed, Missing, Unavailable, mpi_environment, wall_time
from program_runs import Late, run

RANKS = (2, 4, 16, 64)
AIMS_FOR_TRUE = {2: 2.0}  # ratio to bare mpirun; more ranks shall not be worse than two
AIM_FOR_PYTHON = 1.4
AIM_FOR_MPI = 1.0
MPIRUN_HANGS = 4  # seconds; many times what it needs
TRIES = 20
AIM_FOR_LAUNCHERS = 1 / 20
FRAMEWORKS = {  # module to look for: its launcher's name and command
    "torch": ("torchrun", ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]),
    "paddle": ("paddle.distributed.launch", ["-m", "paddle.distributed.launch", "--nproc_per_node"]),
}


def cases(build):
    launcher = build / "src/bin/dtrain-launch"
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as name:
        directory = Path(name)
        # Both sides find the interpreter itself under the name python3, not a wrapper that chooses one.
        (directory / "python3").symlink_to(os.path.realpath(sys.executable))
        environment = mpi_environment()
        environment["PATH"] = f"{directory}{os.pathsep}{environment['PATH']}"
        script = directory / "nothing.py"
        script.write_text("pass\n")
        for ranks in RANKS:
            yield against_mpirun("/bin/true", ranks, launcher, ["/bin/true"], ["/bin/true"],
                                 AIMS_FOR_TRUE.get(ranks, AIMS_FOR_TRUE[2]), environment)
        for ranks in RANKS[:2]:
            yield against_mpirun("python3 -c pass", ranks, launcher, [str(script)], ["python3", "-c", "pass"],
                                 AIM_FOR_PYTHON, environment)
        starts_mpi = directory / "starts_mpi.py"
        starts_mpi.write_text("from mpi4py import MPI\n")
        for ranks in RANKS[:2]:
            yield of_mpi4py(ranks, launcher, starts_mpi, environment)
        for module in FRAMEWORKS:
            for ranks in RANKS:
                yield against_launcher(module, ranks, launcher, script, environment)


def measured(launcher, ranks, program, environment):
    def measure():
        with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as logs:
            return wall_time([str(launcher), "--nproc_per_node", str(ranks), "--log_dir", logs, *program], environment)
    return measure


def against_mpirun(what, ranks, launcher, program, peer_program, aim, environment):
    def measure_peer():
        for _ in range(TRIES):
            try:
                return wall_time(["mpirun", "-np", str(ranks), *peer_program], environment, limit=MPIRUN_HANGS)
            except Late:
                pass  # mpirun 4.1 may wait for ever for ranks that ended at once: measured again
        raise Failed(f"no end after {MPIRUN_HANGS} s, {TRIES} times")

    return Case(f"{what} on {ranks} ranks", "s", "lower", measured(launcher, ranks, program, environment), "mpirun",
                measure_peer, aim, repeats=15 if ranks <= 4 else 7, foreign=True)


def without(python, module):
    """What to say where this interpreter does not have the module; else None."""
    try:
        run([python, "-c", f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{module}'))"])
    except Failed as error:
        return f"{python} has no {module}: {error}"
    return None


def of_mpi4py(ranks, launcher, script, environment):
    what = "MPI_Init of mpi4py"
    if missing := without(sys.executable, "mpi4py"):
        return Missing(f"{what} on {ranks} ranks", missing)
    return against_mpirun(what, ranks, launcher, [str(script)], ["python3", str(script)], AIM_FOR_MPI, environment)


def against_launcher(module, ranks, launcher, script, environment):
    peer, command = FRAMEWORKS[module]
    what = f"an empty script on {ranks} ranks against {peer}"
    python = os.environ.get("DTRAIN_COMPAT_PYTHON")
    if python is None:
        return Missing(what, "DTRAIN_COMPAT_PYTHON names no interpreter")
    if missing := without(python, module):
        return Missing(what, missing)

    def measure_peer():
        with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as folder:
            return wall_time([python, *command, str(ranks), str(script)], environment, folder)

    return Case(what, "s", "lower", measured(launcher, ranks, [str(script)], environment), peer, measure_peer,
                AIM_FOR_LAUNCHERS, repeats=5 if ranks <= 4 else 3, foreign=True)

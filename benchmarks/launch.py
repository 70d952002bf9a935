# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a job of two ranks takes that does nothing. Peer: bare mpirun, the least that a launch can cost here."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from harness import Case, Unavailable, mpi_environment, wall_time


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
        yield launch_case("/bin/true on 2 ranks", launcher, ["/bin/true"], ["/bin/true"], 2.0, environment)
        yield launch_case("python3 -c pass on 2 ranks", launcher, [str(script)], ["python3", "-c", "pass"], 1.4,
                          environment)


def launch_case(what, launcher, program, peer_program, aim, environment):
    def measure():
        with tempfile.TemporaryDirectory(prefix="dtrain-benchmark-") as logs:
            return wall_time([str(launcher), "--nproc_per_node", "2", "--log_dir", logs, *program], environment)

    def measure_peer():
        return wall_time(["mpirun", "-np", "2", *peer_program], environment)

    return Case(what, "s", "lower", measure, "mpirun", measure_peer, aim)

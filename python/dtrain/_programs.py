# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain's programs as commands of a Python environment: they lie in the package, below tree/."""
from __future__ import annotations

import os
import sys
from typing import NoReturn, Optional

from ._library import TREE, use_mpi_of_wheel


def _run(name: str, own_name: Optional[str] = None) -> NoReturn:
    """@param own_name what the program takes for its name, if it is several"""
    program = os.path.join(TREE, "bin", name)
    if not os.path.exists(program):
        print(f"{own_name or name}: this package of dtrain has no programs ({program} is not there): install the wheel of dtrain, or "
              "build dtrain", file=sys.stderr)
        sys.exit(2)
    if sys.prefix != sys.base_prefix:  # scripts are started by this environment's Python, activated or not
        os.environ["PATH"] = f"{os.path.join(sys.prefix, 'bin')}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    mpi = use_mpi_of_wheel()
    if mpi is not None:  # for what dtrain-worker starts
        named = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = os.path.join(mpi, "lib") + (f":{named}" if named else "")
    os.execv(program, [own_name or program, *sys.argv[1:]])


def launch() -> NoReturn:
    """dtrain-launch, and fleetrun."""
    _run("dtrain-launch")


def run() -> NoReturn:
    """dtrain-run, which starts this Python."""
    os.environ.setdefault("PYTHON_EXEC", sys.executable)
    _run("dtrain-launch", "dtrain-run")


def worker() -> NoReturn:
    """dtrain-worker"""
    _run("dtrain-worker")

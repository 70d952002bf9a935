# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Tests with real frameworks. They are not installed by anybody but the user: DTRAIN_COMPAT_PYTHON names the
interpreter that has them (a virtual environment's bin/python3); without it, the first python3 in PATH is asked.
"""
import importlib.util
import os
import pathlib
import shutil
import subprocess

import pytest

_spec = importlib.util.spec_from_file_location("dtrain_jobs",
                                               pathlib.Path(__file__).resolve().parents[1] / "jobs" / "conftest.py")
jobs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(jobs)
job = jobs.job

SCRIPTS = pathlib.Path(__file__).parent / "scripts"


class Framework:
    """An interpreter that has a framework, first in PATH as in an activated virtual environment."""

    def __init__(self, python, job):
        self.python = python
        self.job = job

    def run(self, *argv, timeout=240):
        folder = os.path.dirname(os.path.abspath(self.python))
        return self.job.run(*argv, env={"PATH": folder + os.pathsep + os.environ["PATH"], "OMP_NUM_THREADS": 1},
                            timeout=timeout)

    def launch(self, *arguments):
        return self.run(jobs.LAUNCH, *arguments)


def _framework(name, job):
    python = os.environ.get("DTRAIN_COMPAT_PYTHON") or shutil.which("python3")
    if python is None:
        pytest.skip(f"needs python3 with {name}; DTRAIN_COMPAT_PYTHON names one")
    found = subprocess.run([python, "-c", f"import importlib.util as u, sys; sys.exit(not u.find_spec('{name}'))"],
                           stdin=subprocess.DEVNULL, check=False)
    if found.returncode != 0:
        pytest.skip(f"{python} has no package {name}; DTRAIN_COMPAT_PYTHON names an interpreter that has")
    return Framework(python, job)


@pytest.fixture
def paddle(job):
    return _framework("paddle", job)


@pytest.fixture
def torch(job):
    return _framework("torch", job)

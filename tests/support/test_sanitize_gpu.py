# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""tests/run --sanitize-gpu with a compute-sanitizer that writes down how it was called. Oracle: its options as NVIDIA's guide
names them, the tests of suite cuda that meson lists, and 86, the status that it is told to end with after an error."""
import json
import os
import subprocess

import pytest

from whole_jobs import BUILD, ROOT

STAND_IN = """#!/bin/sh
printf '%s\\n' "$*" >>"$(dirname "$0")/calls"
case $*: in *tests/gpu/test_gpu*) [ -z "$FAILS" ] || { echo '========= Invalid __global__ write of size 4 bytes'; exit "$4"; } ;; esac
echo 'skipped: by the stand-in'
exit 77
"""
pytestmark = pytest.mark.xdist_group("the build folder")  # where only one meson at a time may write its log
TESTS = json.loads((BUILD / "meson-info/intro-tests.json").read_text())
ON_GPU = [test for test in TESTS if "dtrain:cuda" in test["suite"]]


def options_of_the_build():
    """With others it would be configured anew, while other tests use it."""
    stamp = BUILD / ".setup"
    return stamp.read_text().splitlines()[0].split() if stamp.exists() else []


def run_tests(*arguments, **environment):
    return subprocess.run([ROOT / "tests/run", *arguments, *options_of_the_build()], text=True, capture_output=True, timeout=300,
                          check=False, env={**os.environ, "DTRAIN_BUILD": str(BUILD), "DTRAIN_PACKAGES": "ignore", **environment})


@pytest.fixture
def sanitizer(tmp_path):
    """A folder for PATH."""
    if not ON_GPU:
        pytest.skip("built without a module for GPUs")
    (tmp_path / "compute-sanitizer").write_text(STAND_IN)
    (tmp_path / "compute-sanitizer").chmod(0o755)
    return tmp_path


def in_front(folder):
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("argument, tool", [("--sanitize-gpu", "memcheck"), ("--sanitize-gpu=racecheck", "racecheck")])
def test_all_tests_that_need_a_gpu_run_under_it(sanitizer, argument, tool):
    done = run_tests(argument, PATH=in_front(sanitizer))
    assert done.returncode == 0, done.stdout + done.stderr
    calls = (sanitizer / "calls").read_text().splitlines()
    begin = (f"--tool {tool} --error-exitcode 86 --target-processes all --report-api-errors no --require-cuda-init no ")
    assert all(call.startswith(begin) for call in calls)
    programs = [call.removeprefix(begin).split(" --gtest_output")[0] for call in calls]
    assert sorted(programs) == sorted(" ".join(test["cmd"]) for test in ON_GPU)
    assert "    gpu (CUDA): by the stand-in" in done.stdout.splitlines()
    assert done.stdout.endswith(f"\n0 passed, 0 failed, {len(ON_GPU)} skipped\n")


def test_an_error_that_it_finds_fails_the_run(sanitizer):
    done = run_tests("--sanitize-gpu", PATH=in_front(sanitizer), FAILS="1")
    assert done.returncode == 1
    assert "FAILED gpu (CUDA) (exit status 86)\n    ========= Invalid __global__ write of size 4 bytes\n" in done.stdout
    assert done.stdout.endswith(f"\n0 passed, 1 failed, {len(ON_GPU) - 1} skipped\n")


def test_without_it_all_is_skipped_and_why_is_said():
    done = run_tests("--sanitize-gpu")
    if "under compute-sanitizer, memcheck" in done.stdout:
        pytest.skip("this machine has compute-sanitizer")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "    tests on a GPU under compute-sanitizer: needs compute-sanitizer, of the CUDA Toolkit: none in PATH and in " in done.stdout
    assert done.stdout.endswith("\n0 passed, 0 failed, 1 skipped\n")


@pytest.mark.parametrize("arguments, complaint", [
    (["--sanitize-gpu=leaks"], "--sanitize-gpu is memcheck, racecheck, initcheck or synccheck, not 'leaks'"),
    (["--sanitize-gpu", "--only", "unit"], "--sanitize-gpu goes with neither --only nor another sanitizer"),
    (["--sanitize", "--sanitize-gpu"], "--sanitize-gpu goes with neither --only nor another sanitizer"),
    (["--suite", "cuda"], "--suite goes with --only unit")])
def test_what_cannot_be_is_one_line(arguments, complaint):
    done = run_tests(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tests/run: {complaint}\n")


def test_a_suite_that_the_build_has_not_is_named():
    done = run_tests("--only", "unit", "--suite", "cdua")
    assert (done.returncode, done.stderr) == (2, "tests/run: this build has no tests of suite 'cdua'\n"), done.stdout

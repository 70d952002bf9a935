# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/, built as their README says.

Oracle: what they print; the loss of several ranks falls as it does on one.
"""
import re
import subprocess

import pytest

from conftest import BUILD, ROOT, mpirun, run

TORCH = ["-I/usr/include/torch/csrc/api/include", "-ltorch", "-ltorch_cpu", "-lc10"]


@pytest.fixture(scope="module")
def torch_program(tmp_path_factory):
    if subprocess.run(["g++", "-E", "-x", "c++", TORCH[0], "-"], input="#include <torch/torch.h>", text=True, capture_output=True,
                      check=False).returncode != 0:
        pytest.skip("libtorch-dev is not installed")
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "dtrain"], capture_output=True, text=True, check=True,
                           env={"PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"), "PATH": "/usr/bin:/bin"})
    program = tmp_path_factory.mktemp("torch") / "train"
    built = run(["g++", "-std=c++20", ROOT / "examples/libtorch/train.cpp", "-o", program, *found.stdout.split(), *TORCH,
                 f"-Wl,-rpath,{BUILD / 'src'}"], ROOT, timeout=400)
    assert built.returncode == 0, built.stderr
    return program


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_network_of_libtorch_is_trained_by_all_ranks(torch_program, tmp_path, ranks):
    done = mpirun(ranks, [torch_program], tmp_path)
    losses = [float(each) for each in re.findall(r"^step \d+ loss (\d\.\d+)$", done.stdout, re.M)]
    assert len(losses) == 4 and losses[-1] < losses[0] - .05, done.stdout + done.stderr
    assert done.stdout.endswith(f"ranks {ranks}, parameters identical\n")

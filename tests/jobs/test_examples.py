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


def compiled(source, folder, *more):
    """As somebody compiles it who has an installed dtrain."""
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "dtrain"], capture_output=True, text=True, check=True,
                           env={"PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"), "PATH": "/usr/bin:/bin"})
    program = folder / source.stem
    built = run(["g++", "-std=c++20", source, "-o", program, *found.stdout.split(), *more, f"-Wl,-rpath,{BUILD / 'src'}"],
                ROOT, timeout=400)
    assert built.returncode == 0, built.stderr
    return program


@pytest.fixture(scope="module")
def regression(tmp_path_factory):
    return compiled(ROOT / "examples/spawn/regression.cpp", tmp_path_factory.mktemp("spawn"))


@pytest.mark.parametrize("form, gpus, losses", [(1, "", 0), (3, "", 2), (2, "2,3,4", 3), (3, "6,7", 2), (4, "4,5,6", 2)])
def test_the_four_forms_of_spawn(regression, tmp_path, form, gpus, losses):
    """Oracle: a loss of each rank; the program itself compares the ranks' parameters."""
    done = run([regression, form], tmp_path, CUDA_VISIBLE_DEVICES=gpus)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^\[\d\] loss: \d\.\d{4}$", done.stdout, re.M)) == losses, done.stdout
    assert done.stdout.count("\n") == losses


def test_gpus_of_spawn_that_are_not_visible_are_named(regression, tmp_path):
    done = run([regression, 4], tmp_path, CUDA_VISIBLE_DEVICES="0,1")
    assert "there is no GPU 4 here; visible are 0,1" in done.stderr and done.stdout == ""


@pytest.fixture(scope="module")
def torch_program(tmp_path_factory):
    if subprocess.run(["g++", "-E", "-x", "c++", TORCH[0], "-"], input="#include <torch/torch.h>", text=True, capture_output=True,
                      check=False).returncode != 0:
        pytest.skip("libtorch-dev is not installed")
    return compiled(ROOT / "examples/libtorch/train.cpp", tmp_path_factory.mktemp("torch"), *TORCH)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_network_of_libtorch_is_trained_by_all_ranks(torch_program, tmp_path, ranks):
    done = mpirun(ranks, [torch_program], tmp_path)
    losses = [float(each) for each in re.findall(r"^step \d+ loss (\d\.\d+)$", done.stdout, re.M)]
    assert len(losses) == 4 and losses[-1] < losses[0] - .05, done.stdout + done.stderr
    assert done.stdout.endswith(f"ranks {ranks}, parameters identical\n")

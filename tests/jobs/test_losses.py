# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The losses of small examples, for 200 steps on one rank and on several.

Oracle: the same models in numpy with float64, their gradients written out here, from the random numbers and first values that
tests/support/numpy_mlp.py makes by itself: within 1e-4.
"""
import re

import pytest

from conftest import ROOT, mpirun, run
from test_examples import compiled

numpy = pytest.importorskip("numpy", reason="numpy (Debian package python3-numpy) is not installed")
from numpy_mlp import Adam, Mt19937, initial_weight  # noqa: E402

STEPS = 200


def regression_losses(ranks):
    """Two linear layers, mean square error, Adam; of each rank, which has samples of its own."""
    w1, w2 = (initial_weight(1, f"fc_{i}.weight", (10, out)).astype(float) for i, out in ((0, 10), (1, 1)))
    b1, b2 = numpy.zeros(10), numpy.zeros(1)
    adam = Adam([w1, b1, w2, b2], 0.001)
    generators = [Mt19937(rank) for rank in range(ranks)]
    losses = []
    for _ in range(STEPS):
        gradients, of_step = [], []
        for each in generators:
            x = numpy.array([[each.normal() for _ in range(10)] for _ in range(10)], float)
            labels = numpy.array([[each.normal()] for _ in range(10)], float)
            h = x @ w1 + b1
            error = h @ w2 + b2 - labels
            of_step.append((error**2).mean())
            slope = 2 * error / error.size
            below = slope @ w2.T
            gradients.append([x.T @ below, below.sum(0), h.T @ slope, slope.sum(0)])
        adam.step([sum(parts) / ranks for parts in zip(*gradients)])
        losses.append(of_step)
    return numpy.array(losses)


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_regression_that_spawn_starts(tmp_path, tmp_path_factory, ranks):
    program = compiled(ROOT / "examples/spawn/regression.cpp", tmp_path_factory.mktemp("spawn"))
    if ranks == 2:
        done = run([program, 3, STEPS], tmp_path, CUDA_VISIBLE_DEVICES="")
    else:
        done = run([program, 4, STEPS], tmp_path, CUDA_VISIBLE_DEVICES="4,5,6")
        ranks = 2
    assert done.returncode == 0, done.stderr
    expected = regression_losses(ranks)
    for rank in range(ranks):
        losses = [float(each) for each in re.findall(rf"^\[{rank}\] loss: (\d+\.\d{{6}})$", done.stdout, re.M)]
        assert len(losses) == STEPS
        assert numpy.abs(losses - expected[:, rank]).max() < 1e-4


def own_kernels_losses(ranks):
    """y = v tanh(x W + b) and gradient descent; the mean over all ranks' samples."""
    inputs, hidden, batch = 4, 16, 32
    generators = [Mt19937(rank) for rank in range(ranks)]

    def uniform(generator, *shape):
        return (generator.bits(shape).astype(numpy.float32) * numpy.float32(2.0**-31) - numpy.float32(1)).astype(float)

    first = [[uniform(each, inputs, hidden) / 2, uniform(each, hidden) / 2, uniform(each, hidden) / 2] for each in generators]
    w, b, v = first[0]
    losses = []
    for _ in range(STEPS):
        x = numpy.concatenate([uniform(each, batch, inputs) for each in generators])
        h = numpy.tanh(x @ w + b)
        error = h @ v - x[:, 0] * x[:, 1]
        losses.append((error**2).mean())
        slope = 2 * error / len(x)
        below = numpy.outer(slope, v) * (1 - h**2)
        w -= 0.2 * x.T @ below
        b -= 0.2 * below.sum(0)
        v -= 0.2 * h.T @ slope
    return losses


def test_kernels_of_ones_own_that_all_ranks_train(tmp_path, tmp_path_factory):
    program = compiled(ROOT / "examples/own_kernels/train.cpp", tmp_path_factory.mktemp("own"))
    for ranks in (1, 2, 3):
        done = mpirun(ranks, [program], tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"ranks {ranks}, parameters identical\n")
        losses = [float(each) for each in re.findall(r"^step \d+ loss (\d+\.\d{6})$", done.stdout, re.M)]
        assert len(losses) == STEPS and losses[-1] < losses[0] / 2, "it learns nothing"
        assert numpy.abs(numpy.subtract(losses, own_kernels_losses(ranks))).max() < 1e-4

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The losses of small examples, for 200 steps on one rank and on several.

Oracle: the same models in numpy with float64, their gradients written out here or in tests/support/numpy_layers.py, from the
random numbers and first values that tests/support/numpy_mlp.py makes by itself: within 1e-4.
"""
import json
import re

import pytest

from conftest import ROOT, mpirun, run
from example_programs import compiled

numpy = pytest.importorskip("numpy", reason="numpy (Debian package python3-numpy) is not installed")
from numpy_layers import Classifier, Conv3x3, Flatten, Linear, MaxPool2x2, Relu  # noqa: E402
from numpy_mlp import Adam, Mt19937, initial_weight, shuffled_order, units  # noqa: E402

STEPS = 200


def regression_losses(samples_of_ranks):
    """Two linear layers, mean square error, Adam; of each rank, which has samples of its own: a function for each."""
    w1, w2 = (initial_weight(1, f"fc_{i}.weight", (10, out)).astype(float) for i, out in ((0, 10), (1, 1)))
    b1, b2 = numpy.zeros(10), numpy.zeros(1)
    adam = Adam([w1, b1, w2, b2], 0.001)
    ranks = len(samples_of_ranks)
    losses = []
    for _ in range(STEPS):
        gradients, of_step = [], []
        for samples in samples_of_ranks:
            x, labels = samples()
            h = x @ w1 + b1
            error = h @ w2 + b2 - labels
            of_step.append((error**2).mean())
            slope = 2 * error / error.size
            below = slope @ w2.T
            gradients.append([x.T @ below, below.sum(0), h.T @ slope, slope.sum(0)])
        adam.step([sum(parts) / ranks for parts in zip(*gradients)])
        losses.append(of_step)
    return numpy.array(losses)


def polar_samples(rank):
    """Of the generator and distribution of the C++ library."""
    generator = Mt19937(rank)

    def samples():
        x = numpy.array([[generator.normal() for _ in range(10)] for _ in range(10)], float)
        return x, numpy.array([[generator.normal()] for _ in range(10)], float)

    return samples


def counted_samples(rank):
    """Of nn::randn(), by Box and Muller: from the seed, the number of the tensor and the rank alone."""
    made = 0

    def normal(*shape):
        nonlocal made
        count = int(numpy.prod(shape))
        pairs = units(1, f"randn {made} {rank}", 2 * count)
        made += 1
        values = numpy.sqrt(-2 * numpy.log1p(-pairs[::2])) * numpy.cos(2 * numpy.pi * pairs[1::2])
        return values.astype(numpy.float32).astype(float).reshape(shape)

    return lambda: (normal(10, 10), normal(10, 1))


def assert_each_rank_prints(expected, text, decimals):
    for rank, of_rank in enumerate(expected.T):
        losses = [float(each) for each in re.findall(rf"^\[{rank}\] loss: (\d+\.\d{{{decimals}}})$", text, re.M)]
        assert len(losses) == STEPS
        assert numpy.abs(losses - of_rank).max() < 1e-4


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_regression_that_spawn_starts(tmp_path, ranks):
    program = compiled(ROOT / "examples/spawn/regression.cpp")
    if ranks == 2:
        done = run([program, 3, STEPS], tmp_path, CUDA_VISIBLE_DEVICES="")
    else:
        done = run([program, 4, STEPS], tmp_path, CUDA_VISIBLE_DEVICES="4,5,6", DTRAIN_DEVICE="cpu")
        ranks = 2
    assert done.returncode == 0, done.stderr
    expected = regression_losses([polar_samples(rank) for rank in range(ranks)])
    assert_each_rank_prints(expected, done.stdout, decimals=6)


@pytest.mark.parametrize("form, gpus, ranks", [(3, "", 2), (2, "2,3,4", 3)])
def test_the_network_of_ones_own_that_spawn_starts(tmp_path, form, gpus, ranks):
    program = compiled(ROOT / "examples/layer/linear_net.cpp")
    done = run([program, form, STEPS], tmp_path, CUDA_VISIBLE_DEVICES=gpus, DTRAIN_DEVICE="cpu")
    assert done.returncode == 0, done.stderr
    expected = regression_losses([counted_samples(rank) for rank in range(ranks)])
    assert_each_rank_prints(expected, done.stdout, decimals=4)


def handwritten_digits(part):
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    with h5py.File(ROOT / "examples/digits.h5") as file:
        return file[f"{part}/x"][:].astype(float) / 16, file[f"{part}/y"][:]


def batches_of_epochs(x, labels, size):
    """Endless; an epoch's last batch may be smaller."""
    epoch = 0
    while True:
        order = shuffled_order(len(x), 1, epoch)
        for first in range(0, len(x), size):
            samples = order[first:first + size]
            yield x[samples], labels[samples]
        epoch += 1


def changed(example, folder, old, new):
    """A copy of the program that tells of every step."""
    text = (ROOT / "examples" / example).read_text()
    assert text.count(old) == 1, f"{example} has no {old!r}"
    copy = folder / example.split("/")[-1]
    copy.write_text(text.replace(old, new))
    return copy


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_model_of_digits(tmp_path, ranks):
    source = changed("model/digits.cpp", tmp_path, "{lines, stop}",
                     '{lines, stop, std::make_shared<JsonLines>("steps.jsonl", RowOptions{.every_steps = 1})}')
    done = mpirun(ranks, [compiled(source), ROOT / "examples/digits.h5"], tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    steps = {row["step"]: row["loss"] for row in rows if row["event"] == "step"}  # but the last one of each epoch
    epochs = {row["step"]: row["train_loss"] for row in rows if row["event"] == "epoch"}
    x, labels = handwritten_digits("train")
    reference = Classifier([Linear("fc_0", 64, 128), Relu(), Linear("fc_1", 128, 10)], 0.002)
    batches = batches_of_epochs(x, labels, 64)
    expected = []
    for step in range(1, STEPS + 1):
        batch = next(batches)
        of_first = reference.loss(*(values[:64 // ranks] for values in batch))
        expected.append(reference.step(*batch))
        if step % 22:
            assert steps[step] == pytest.approx(of_first, abs=1e-4), step
        else:
            assert epochs[step] == pytest.approx(sum(expected[-22:]) / 22, abs=1e-4), step
    assert epochs[198] < epochs[22] / 5, "it learns nothing"


@pytest.mark.parametrize("name, ranks", [("lenet", 1), ("lenet_ranks", 2)])
def test_the_convolutions_of_lenet(tmp_path, name, ranks):
    source = changed(f"layer/{name}.cpp", tmp_path, "if ((batch_id + 1) % 22 == 0)", "")
    # mpirun may cut the long output of two ranks in the middle of a line.
    to_its_file = 'exec "$0" "$1" >printed.$OMPI_COMM_WORLD_RANK'
    done = mpirun(ranks, ["sh", "-c", to_its_file, compiled(source), ROOT / "examples/digits.h5"], tmp_path)
    assert done.returncode == 0, done.stderr
    printed = {}
    for rank in range(ranks):
        text = (tmp_path / f"printed.{rank}").read_text()
        for epoch, batch, loss in re.findall(r"^epoch: (\d+), batch_id: (\d+), loss is: (\S+), ", text, re.M):
            printed.setdefault(int(epoch) * 44 + int(batch), []).append(float(loss))
    x, labels = handwritten_digits("train")
    assert len(x) == 44 * 32
    reference = Classifier([Conv3x3("conv2d_0", 1, 6), Relu(), MaxPool2x2(), Conv3x3("conv2d_1", 6, 16), Relu(), MaxPool2x2(),
                            Flatten(), Linear("fc_0", 64, 120), Relu(), Linear("fc_1", 120, 84), Relu(), Linear("fc_2", 84, 10)],
                           0.003)
    batches = batches_of_epochs(x.reshape(-1, 1, 8, 8), labels, 32)
    losses = []
    for step in range(STEPS):
        assert len(printed[step]) == ranks
        losses.append(sum(printed[step]) / ranks)
        assert losses[step] == pytest.approx(reference.step(*next(batches)), abs=1e-4), step
    assert sum(losses[-20:]) / 20 < losses[0] / 5, "it learns nothing"


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


def test_kernels_of_ones_own_that_all_ranks_train(tmp_path):
    program = compiled(ROOT / "examples/own_kernels/train.cpp")
    for ranks in (1, 2, 3):
        done = mpirun(ranks, [program], tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"ranks {ranks}, parameters identical\n")
        losses = [float(each) for each in re.findall(r"^step \d+ loss (\d+\.\d{6})$", done.stdout, re.M)]
        assert len(losses) == STEPS and losses[-1] < losses[0] / 2, "it learns nothing"
        assert numpy.abs(numpy.subtract(losses, own_kernels_losses(ranks))).max() < 1e-4

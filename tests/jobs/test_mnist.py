# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The MNIST network of the documents (examples/mnist), started in each of its ways.

Oracle: tests/support/numpy_mlp.py, which computes in float64 from the first parameters that the program saves (read by
h5py) and from the same files: losses within 1e-4 for 200 steps. The line of the documents' log.
"""
import os
import re

import pytest

from conftest import LAUNCH, PYTHON, ROOT, WORKER, mpirun, run
from example_programs import compiled

numpy = pytest.importorskip("numpy", reason="numpy (Debian package python3-numpy) is not installed")
h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
from numpy_mlp import Mlp, read_idx, shuffled_order  # noqa: E402

LINE = re.compile(r"^epoch: (\d+), step:(\d+), train_loss: (\d+\.\d{6}), total time cost = (\d+\.\d{6}), "
                  r"speed: (\d+\.\d{6})$", re.M)
BATCH = 64
STEPS = 200


@pytest.fixture(scope="module")
def mnist():
    return compiled(ROOT / "examples/mnist/mnist.cpp")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "digits-idx"
    made = run([PYTHON, ROOT / "examples/mnist/digits_as_idx.py", folder], folder.parent)
    assert made.returncode == 0, made.stderr
    return folder


def succeeded(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reference_losses(initial, folder, ranks):
    """Rank 0's loss of each step: the mean over the first 64 of the step's samples."""
    images = read_idx(folder / "train-images-idx3-ubyte.gz")
    labels = read_idx(folder / "train-labels-idx1-ubyte.gz")
    x = images.reshape(len(images), -1) / 255.0
    with h5py.File(initial) as saved:
        layers = [[saved[f"parameters/fc_{layer}.{part}"][:] for part in ("weight", "bias")] for layer in range(3)]
    mlp = Mlp(layers, learning_rate=0.01)
    losses = []
    epoch = 0
    while len(losses) < STEPS:
        order = shuffled_order(len(x), 1, epoch)
        for first in range(0, len(x) - ranks * BATCH + 1, ranks * BATCH):
            samples = order[first:first + ranks * BATCH]
            losses.append(mlp.step(x[samples], labels[samples])[:BATCH].mean())
        epoch += 1
    return losses[:STEPS]


@pytest.mark.parametrize("ranks", [1, 2])
def test_losses_are_those_of_numpy(mnist, digits, tmp_path, ranks):
    succeeded(run([mnist, digits, "--steps", 0, "--save", "initial.h5"], tmp_path))
    printed = succeeded(mpirun(ranks, [mnist, digits, "--epochs", 100, "--steps", STEPS, "--every", 1], tmp_path))
    losses = [float(line[2]) for line in LINE.findall(printed)]
    assert len(losses) == STEPS, printed
    expected = reference_losses(tmp_path / "initial.h5", digits, ranks)
    assert abs(losses[0] - 2.3) < 1 and sum(losses[-20:]) / 20 < .2, "it learns nothing"
    assert numpy.abs(numpy.subtract(losses, expected)).max() < 1e-4


def test_the_log_is_that_of_the_documents(mnist, digits, tmp_path):
    printed = succeeded(run([mnist, digits, "--epochs", 3, "--every", 11], tmp_path))
    lines = LINE.findall(printed)
    assert [line[:2] for line in lines] == [(str(epoch), str(step)) for epoch in range(3) for step in (11, 22)]
    for first, second in zip(lines[::2], lines[1::2]):
        times = float(first[3]), float(second[3]) - float(first[3])
        assert [11 / time for time in times] == pytest.approx([float(first[4]), float(second[4])], rel=1e-2)
    assert re.search(r"^ranks: 1, steps: 66, test accuracy: 0\.9\d{3}$", printed, re.M), printed


def test_epochs_shorter_than_a_line_have_one_line(mnist, digits, tmp_path):
    assert len(LINE.findall(succeeded(run([mnist, digits, "--epochs", 2], tmp_path)))) == 2


def test_the_launcher_starts_the_same_program(mnist, digits, tmp_path):
    gpus = {"CUDA_VISIBLE_DEVICES": "0,1", "DTRAIN_DEVICE": "cpu"}  # wherever this runs
    printed = succeeded(run([LAUNCH, "--gpus", "0,1", mnist, digits, "--epochs", 2], tmp_path, **gpus))
    assert len(LINE.findall(printed)) == 2 and "ranks: 2, steps: 22, test accuracy: " in printed
    assert printed.splitlines()[-1] == (tmp_path / "log/workerlog.0").read_text().splitlines()[-1]


def test_files_without_gz_are_read_and_what_is_saved_can_be_inspected(mnist, digits, tmp_path):
    import gzip
    for file in digits.iterdir():
        (tmp_path / "plain").mkdir(exist_ok=True)
        (tmp_path / "plain" / file.stem).write_bytes(gzip.decompress(file.read_bytes()))
    words = ["--epochs", 1, "--save"]
    plain = succeeded(run([mnist, tmp_path / "plain", *words, "plain.h5"], tmp_path))
    packed = succeeded(run([mnist, digits, *words, "packed.h5"], tmp_path))
    assert plain.splitlines()[-1] == packed.splitlines()[-1]
    assert (tmp_path / "plain.h5").read_bytes() == (tmp_path / "packed.h5").read_bytes()
    assert "/parameters/fc_2.bias" in succeeded(run([WORKER, "--inspect", "plain.h5"], tmp_path))


@pytest.mark.parametrize("words, message", [
    (["nowhere"], "cannot read nowhere/train-images-idx3-ubyte: No such file or directory"),
    (["--epoch", "3"], "--epoch: no such option; there are --epochs, --every, --save, --steps"),
    (["--epochs", "3x"], "--epochs 3x: it takes a whole number"),
    (["--every", "0"], "--every 0: it takes 1 or more"),
    (["--save"], "--save needs a value behind it"),
])
def test_bad_input_is_one_line(mnist, tmp_path, words, message):
    done = run([mnist, *words], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"mnist: {message}\n")
    assert os.listdir(tmp_path) == []

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Native jobs on data files of every format.

Oracle: h5py, numpy and gzip write the same samples in another way, and a job must end with the same bytes as on the
HDF5 file that comes with dtrain.
"""
import gzip
import re

import pytest

from conftest import ROOT, mpirun, run

h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
numpy = pytest.importorskip("numpy", reason="numpy is not installed")

DIGITS = ROOT / "examples" / "digits.h5"
JOB = """
[data]
scale = 0.0625
memory = "{memory}"
train = {{ {train} }}
test = {{ {test} }}
[train]
epochs = 2
global_batch = {batch}
last_batch = "{last_batch}"
[checkpoint]
dir = "{name}"
"""


def train(native, folder, name, sources, ranks=1, memory="1GiB", batch=100, last_batch="repeat"):
    job = folder / f"{name}.toml"
    job.write_text(JOB.format(name=name, memory=memory, batch=batch, last_batch=last_batch, train=sources[0], test=sources[1]))
    result = mpirun(ranks, [native, job], folder) if ranks > 1 else run([native, job], folder)
    assert result.returncode == 0, result.stderr
    return result


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rows(result):
    return [line.split()[:4] for line in result.stdout.splitlines() if re.match(r"^ +\d+  ", line)]


def hdf5_sources(path, names=("train", "test")):
    return [f'file = "{path}", x = "{part}/x", y = "{part}/y"' for part in names]


@pytest.fixture(scope="module")
def samples():
    with h5py.File(DIGITS) as file:
        return {part: (file[f"{part}/x"][()], file[f"{part}/y"][()]) for part in ("train", "test")}


def as_csv(folder, part, x, y):
    path = folder / f"{part}.csv"
    numpy.savetxt(path, numpy.column_stack([y, x]), fmt="%d", delimiter="\t", comments="",
                  header="\t".join(["digit"] + [f"p{i}" for i in range(x.shape[1])]))
    return f'file = "{path}", label = "digit", separator = "tab"'


def as_svmlight(folder, part, x, y):
    path = folder / f"{part}.svm.gz"
    with gzip.open(path, "wt") as file:
        for values, label in zip(x, y):
            pairs = " ".join(f"{i + 1}:{value}" for i, value in enumerate(values) if value)
            file.write(f"{label} {pairs} # a digit\n")
    return f'file = "{path}", features = {x.shape[1]}'


def as_idx(folder, part, x, y):
    path = folder / f"{part}-images-idx3-ubyte.gz"
    images = x.reshape(-1, 8, 8).astype(">u1")
    with gzip.open(path, "wb") as file:
        file.write(bytes([0, 0, 8, 3]) + numpy.array(images.shape, ">u4").tobytes() + images.tobytes())
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
        file.write(bytes([0, 0, 8, 1]) + numpy.array(y.shape, ">u4").tobytes() + y.astype(">u1").tobytes())
    return f'file = "{path}"'


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("write", [as_csv, as_svmlight, as_idx])
def test_formats(native, tmp_path, samples, write, ranks):
    sources = [write(tmp_path, part, *samples[part]) for part in ("train", "test")]
    expected = train(native, tmp_path, "expected", hdf5_sources(DIGITS), ranks)
    found = train(native, tmp_path, "found", sources, ranks)
    assert rows(found) == rows(expected) and len(rows(found)) == 2
    assert contents(tmp_path / "found" / "epoch-000002") == contents(tmp_path / "expected" / "epoch-000002")


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("memory", ["1000B", "20kB", "100KiB"])
@pytest.mark.parametrize("layout", [{}, {"chunks": (100, 64), "compression": "gzip"}, {"chunks": (7, 5)}],
                         ids=["contiguous", "compressed", "odd chunks"])
def test_larger_than_memory(native, tmp_path, samples, memory, layout, ranks):
    """The training samples are 360 kB as float32."""
    with h5py.File(tmp_path / "large.h5", "w") as file:
        for part in samples:
            file.create_dataset(f"{part}/x", data=samples[part][0], **layout)
            file.create_dataset(f"{part}/y", data=samples[part][1])
    expected = train(native, tmp_path, "expected", hdf5_sources(DIGITS), ranks)
    found = train(native, tmp_path, "found", hdf5_sources(tmp_path / "large.h5"), ranks, memory)
    assert rows(found) == rows(expected) and len(rows(found)) == 2
    # The fingerprint of what stays on disk is another one.
    assert contents(tmp_path / "found" / "epoch-000002")["shard-0000.h5"] == (
        tmp_path / "expected" / "epoch-000002" / "shard-0000.h5").read_bytes()


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("last_batch", ["repeat", "random", "drop"])
def test_incomplete_last_batch(native, tmp_path, last_batch, ranks):
    """1408 samples are 14 batches of 100, and 8."""
    result = train(native, tmp_path, last_batch, hdf5_sources(DIGITS), ranks, last_batch=last_batch)
    steps = 14 if last_batch == "drop" else 15
    assert f"{steps} steps an epoch" in result.stdout
    with h5py.File(tmp_path / last_batch / "epoch-000002" / "index.h5") as file:
        assert file.attrs["step"] == 2 * steps
    counted = 1400 if last_batch == "drop" else 1408
    # Accuracies are fractions of the samples that count.
    for _, _, accuracy, test in rows(result):
        assert abs(float(accuracy) * counted - round(float(accuracy) * counted)) <= 0.08
        assert abs(float(test) * 389 - round(float(test) * 389)) <= 0.03


def test_a_damaged_sample_file_is_one_line(native, tmp_path):
    (tmp_path / "d.csv").write_text("1,2,0\n3,4,1\n5,oops,1\n")
    job = tmp_path / "job.toml"
    job.write_text('[data]\ntrain = { file = "d.csv" }\n')
    result = run([native, job], tmp_path)
    assert result.returncode == 2
    assert result.stderr == f"dtrain-native: {tmp_path}/d.csv:3: 'oops' is no number\n"

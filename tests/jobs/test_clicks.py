# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Click-through jobs on the logs of examples/make_clicks.py.

Oracles: the best possible AUC, which the generator knows; numpy, which computes the model of a checkpoint on the test
log by itself; an uninterrupted run and a one-rank run, byte by byte; the job on Criteo's format, of a log that Python writes
down in another format.
"""
import collections
import gzip
import importlib.util
import json
import re

import pytest

from conftest import PYTHON, ROOT, mpirun, run
from test_native import complaints

GENERATOR = ROOT / "examples" / "make_clicks.py"
JOB = """
[model]
kind = "click_through"
[data]
{data}
[train]
epochs = 2
global_batch = {batch}
{train}
seed = 1
[checkpoint]
dir = "{name}"
keep = 100
{checkpoint}
"""


CRITEO = """format = "criteo"
integers = 2
slots = 8
train = {{ file = "{folder}/train.tsv" }}
test = {{ file = "{folder}/test.tsv" }}"""


def make_clicks(folder, *options):
    made = run([PYTHON, GENERATOR, folder, "--train", "20000", "--test", "20000", *options], ROOT)
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clicks")
    make_clicks(folder)
    return folder


def train(native, cwd, clicks, ranks=1, name="job", batch=128, train="", checkpoint="", options=(), data=CRITEO,
          **environment):
    job = cwd / f"{name}.toml"
    job.write_text(JOB.format(data=data.format(folder=clicks), name=name, batch=batch, train=train, checkpoint=checkpoint))
    result = mpirun(ranks, [native, job, *options], cwd, **environment)
    assert result.returncode == 0, result.stderr
    return result


def rows(result):
    """train loss, test loss, test AUC of each epoch."""
    found = re.findall(r"^ +\d+ +(\d\.\d{4}) +(\d\.\d{4}) +(\d\.\d{4}) ", result.stdout, re.MULTILINE)
    return [tuple(map(float, row)) for row in found]


def auc_and_best(result):
    found = re.search(r"^test AUC (\d\.\d{4}) \(best possible (\d\.\d{4})\)$", result.stdout, re.MULTILINE)
    return float(found[1]), float(found[2])


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_auc_is_near_the_best_possible(native, tmp_path, clicks, ranks):
    """Within 0.04 on 20,000 samples; most of that is in ids that the training log has not, or once."""
    result = train(native, tmp_path, clicks, ranks)
    auc, best = auc_and_best(result)
    assert best == round(json.loads((clicks / "test.tsv.json").read_text())["best_auc"], 4)
    assert best - 0.04 < auc < best
    assert len(rows(result)) == 2 and rows(result)[-1][2] == auc
    assert f"the same on {ranks} rank" in result.stdout
    assert "20,000 samples to train on, 20,000 to test on; 8 ids and 2 numbers each" in result.stdout


def test_ranks_compute_what_one_rank_computes(native, tmp_path, clicks):
    one, two, three = (rows(train(native, tmp_path, clicks, ranks, f"on{ranks}")) for ranks in (1, 2, 3))
    for epoch in range(2):
        assert two[epoch] == pytest.approx(one[epoch], abs=3e-4)
        assert three[epoch] == pytest.approx(one[epoch], abs=0.02)  # 129 samples in its gradients, one of them twice


def test_virtual_ranks_give_the_same_bits_on_any_number_of_ranks(native, tmp_path, clicks):
    """20,000 samples are 66 batches of 300, and 200: 4 parts of it are padded."""
    reported, files = set(), []
    for ranks in (1, 2, 3):
        result = train(native, tmp_path, clicks, ranks, f"on{ranks}", batch=300, train="virtual_ranks = 4",
                       checkpoint='format = "file"')
        reported.add((auc_and_best(result), tuple(auc for _, _, auc in rows(result)),
                      re.search(r"checksum (\w{16})", result.stdout)[1]))
        files.append((tmp_path / f"on{ranks}" / "epoch-000002.h5").read_bytes())
    assert len(reported) == 1
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_resumed_run_is_the_undisturbed_run(native, tmp_path, clicks, ranks):
    whole = train(native, tmp_path, clicks, ranks, "whole", checkpoint="every_steps = 100")
    for moment in ("epoch-000000-step-000100", "epoch-000001-step-000043"):
        resumed = train(native, tmp_path, clicks, ranks, moment, checkpoint="every_steps = 100",
                        options=["--resume", tmp_path / "whole" / moment])
        assert rows(resumed) == rows(whole)[-len(rows(resumed)):]
        assert auc_and_best(resumed) == auc_and_best(whole)
        assert contents(tmp_path / moment / "epoch-000002") == contents(tmp_path / "whole" / "epoch-000002")


def test_one_copy_of_the_table_for_all_ranks(native, tmp_path, clicks):
    shared = train(native, tmp_path, clicks, 2, "shared", train="one_copy = true")
    assert rows(shared)[-1] == pytest.approx(rows(train(native, tmp_path, clicks, 2, "own"))[-1], abs=3e-4)


def test_local_sgd_averages_the_table_of_ids(native, tmp_path, clicks):
    result = train(native, tmp_path, clicks, 2, train="local_sgd = 8")
    auc, best = auc_and_best(result)
    assert best - 0.05 < auc < best
    assert "the same on 2 ranks" in result.stdout


MASK = (1 << 64) - 1


def output(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mixed(x):
    return output((x + 0x9E3779B97F4A7C15) & MASK)


def read_log(path):
    """Labels, counts, ids as the header click_log.hpp describes them."""
    labels, counts, ids = [], [], []
    for line in path.read_text().splitlines():
        label, *columns = line.split("\t")
        labels.append(int(label))
        counts.append([int(text or 0) for text in columns[:2]])
        ids.append([output(int(text, 16) ^ mixed(slot)) if text else output(mixed(slot + (1 << 32)))
                    for slot, text in enumerate(columns[2:])])
    return labels, counts, ids


def computed(parameters, number_of, table, log):
    """Loss and AUC of a model on a log.

    number_of: the row of `table` of each id; others have the last one.
    """
    import numpy
    labels, counts, ids = read_log(log)
    labels, counts = numpy.array(labels), numpy.array(counts)
    found = numpy.array([[number_of.get(each, len(table) - 1) for each in sample] for sample in ids])
    assert (found == len(table) - 1).any()
    x = numpy.hstack([table[found].reshape(len(labels), -1), numpy.sign(counts) * numpy.log1p(numpy.abs(counts))])
    for layer in range(3):
        x = x @ parameters[f"fc_{layer}.weight"] + parameters[f"fc_{layer}.bias"]
        x = numpy.maximum(x, 0) if layer < 2 else x
    logits = x[:, 0]
    loss = numpy.mean(numpy.logaddexp(0, logits) - labels * logits)
    _, ranks, tied = numpy.unique(logits, return_inverse=True, return_counts=True)
    positions = (numpy.cumsum(tied) - (tied - 1) / 2)[ranks]  # of the rows in the order of the logits, ties in the middle
    positives = labels.sum()
    return loss, (positions[labels == 1].sum() - positives * (positives + 1) / 2) / (positives * (len(labels) - positives))


def test_numpy_computes_the_same_metrics_from_the_checkpoint(native, tmp_path, clicks):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    result = train(native, tmp_path, clicks, 2)
    with h5py.File(tmp_path / "job" / "epoch-000002" / "index.h5") as file:
        parameters = {name: array[()].astype("float64") for name, array in file["parameters"].items()}

    numbers = {}
    for sample in read_log(clicks / "train.tsv")[2]:
        for each in sample:
            numbers.setdefault(each, len(numbers))
    assert parameters["embedding.weight"].shape == (len(numbers), 16)
    table = numpy.vstack([parameters["embedding.weight"], numpy.zeros((1, 16))])
    assert rows(result)[-1][1:] == pytest.approx(computed(parameters, numbers, table, clicks / "test.tsv"), abs=1e-4)


def test_compressed_logs_without_a_best_auc(native, tmp_path, clicks):
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_bytes(gzip.compress((clicks / name).read_bytes()))  # told by its first bytes
    result = train(native, tmp_path, tmp_path)
    auc = re.search(r"^test AUC (\d\.\d{4})$", result.stdout, re.MULTILINE)[1]
    assert float(auc) == auc_and_best(train(native, tmp_path, clicks, name="plain"))[0]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_damaged_log_is_one_line(native, tmp_path, ranks):
    (tmp_path / "train.tsv").write_text("1\t1\t2" + "\tff" * 8 + "\n0\t1\t2" + "\tfg" * 8 + "\n")
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(data=CRITEO.format(folder=tmp_path), name="none", batch=1, train="", checkpoint=""))
    result = mpirun(ranks, [native, job], tmp_path)
    assert result.returncode == 2
    lines = complaints(result)
    assert lines == [f"dtrain-native: {tmp_path}/train.tsv:2: 'fg' in column 4 is no category: "
                     "a hexadecimal number of up to 16 digits"]
    assert not (tmp_path / "none").exists()


def columns_of(path):
    """label, whole numbers, categories of each line, as the log has them."""
    for line in path.read_text().splitlines():
        label, *columns = line.split("\t")
        yield label, columns[:2], columns[2:]


def write_csv(clicks, folder, category):
    """With a column that nobody reads, and the test log's columns the other way round."""
    for part, order in (("train", 1), ("test", -1)):
        with gzip.open(folder / f"{part}.csv.gz", "wt") as out:
            names = ["id", "clicked", "n0", "n1"] + [f"c{slot}" for slot in range(8)]
            out.write(",".join(names[::order]) + "\n")
            for number, (label, counts, categories) in enumerate(columns_of(clicks / f"{part}.tsv")):
                fields = [str(number), label, *counts, *(category(text) if text else "" for text in categories)]
                out.write(",".join(fields[::order]) + "\n")
    return f"""label = "clicked"
numbers = ["n0", "n1"]
categories = {json.dumps([f"c{slot}" for slot in range(8)])}
train = {{{{ file = "{folder}/train.csv.gz" }}}}
test = {{{{ file = "{folder}/test.csv.gz" }}}}"""


def write_svmlight(clicks, folder):
    """Ids 1 and 2 are the numbers; each slot counts its categories from a multiple of a million on."""
    known = [{} for _ in range(8)]
    for part in ("train", "test"):
        with (folder / f"{part}.svm").open("w") as out:
            for label, counts, categories in columns_of(clicks / f"{part}.tsv"):
                pairs = [f"{i + 1}:{count}" for i, count in enumerate(counts) if count]
                pairs += [f"{(slot + 1) * 1_000_000 + known[slot].setdefault(text, len(known[slot]))}:1"
                          for slot, text in enumerate(categories) if text]
                out.write(" ".join(["+1" if label == "1" else "-1"] + pairs) + "\n")
    return f"""numbers = 2
slots = {[(slot + 1) * 1_000_000 for slot in range(8)]}
train = {{{{ file = "{folder}/train.svm" }}}}
test = {{{{ file = "{folder}/test.svm" }}}}"""


FORMATS = {"csv of decimal numbers": lambda *where: write_csv(*where, lambda text: str(int(text, 16))),
           "csv of words": lambda *where: write_csv(*where, lambda text: f'"site ""{text}"", new"'),
           "svmlight": write_svmlight}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("written", FORMATS)
def test_other_formats_of_the_log_train_the_same_model(native, tmp_path, clicks, written, ranks):
    expected = train(native, tmp_path, clicks, ranks, "expected")
    found = train(native, tmp_path, clicks, ranks, "found", data=FORMATS[written](clicks, tmp_path))
    assert rows(found) == rows(expected) and len(rows(found)) == 2
    assert "20,000 samples to train on, 20,000 to test on; 8 ids and 2 numbers each" in found.stdout
    checksums = [re.search(r"checksum (\w{16})", result.stdout)[1] for result in (found, expected)]
    assert checksums[0] == checksums[1]
    saved = [contents(tmp_path / name / "epoch-000002") for name in ("found", "expected")]
    if written == "csv of decimal numbers":  # the ids are the same, too, which the checkpoint tells by a fingerprint
        assert saved[0] == saved[1]
    assert saved[0]["shard-0000.h5"] == saved[1]["shard-0000.h5"]


@pytest.mark.parametrize("file, data, text, complaint", [
    ("c.csv", "", "click,age,site\n1,2,a\n2,2,a\n",
     "{0}/c.csv:3: '2' in column 1, 'click', is no label: 1 for a click, or 0"),
    ("c.csv", 'numbers = ["age"]', "click,age,site\n1,2,a\n1,many,a\n",
     "{0}/c.csv:3: 'many' in column 2, 'age', is no finite number"),
    ("c.csv", 'numbers = ["price"]', "click,age,site\n1,2,a\n", "{0}/c.csv:1: there is no column 'price' among 3 columns"),
    ("c.csv", "", "day,site\n1,a\n",
     "{0}/c.csv:1: no column is called 'label' or 'click'; say which one is the label"),
    ("c.csv", "integers = 2", "click,site\n1,a\n",
     "{0}/job.toml:4: [data] 'integers' is a setting of format = \"criteo\", but it is \"csv\" by the name of the "
     "training log"),
    ("c.svm", "", "1 3:1 9:1\n-1 3:1\n",
     "{0}/c.svm:2: 1 category instead of 2: lines may leave categories out only where the first id of each slot is told"),
    ("c.svm", "numbers = 1", "1 1:3 9:2\n",
     "{0}/c.svm:1: '9:2': the value of a category is 1; ids of numbers are 1 to 1"),
    ("c.svm", "slots = [1, 8]", "1 1:1 9:1\n-1 8:1 9:1\n",
     "{0}/c.svm:2: '9:1': a second category in the slot of the ids from 8"),
    ("c.txt", 'format = "hdf5"', "1 1:1\n",
     "{0}/job.toml:4: [data] format = \"hdf5\": it must be one of \"criteo\", \"csv\", \"svmlight\""),
])
def test_a_log_that_does_not_fit_is_one_line(native, tmp_path, file, data, text, complaint):
    (tmp_path / file).write_text(text)
    job = tmp_path / "job.toml"
    job.write_text(f'[model]\nkind = "click_through"\n[data]\n{data}\ntrain = {{ file = "{file}" }}\n'
                   '[checkpoint]\ndir = "none"\n')
    result = run([native, job], tmp_path)
    assert result.returncode == 2
    assert result.stderr == f"dtrain-native: {complaint.format(tmp_path)}\n"
    assert not (tmp_path / "none").exists()


def test_the_generator_repeats_itself(tmp_path, clicks):
    make_clicks(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(clicks)
    make_clicks(tmp_path / "zipped", "--gzip")
    assert gzip.decompress((tmp_path / "zipped" / "train.tsv.gz").read_bytes()) == (clicks / "train.tsv").read_bytes()
    assert (tmp_path / "zipped" / "test.tsv.gz.json").read_bytes() == (clicks / "test.tsv.json").read_bytes()
    make_clicks(tmp_path / "other", "--seed", "2")
    assert (tmp_path / "other" / "train.tsv").read_bytes() != (clicks / "train.tsv").read_bytes()


def test_generated_ids_have_a_heavy_tail_over_all_of_int64(clicks):
    lines = [line.split("\t") for line in (clicks / "train.tsv").read_text().splitlines()]
    assert {len(line) for line in lines} == {11}
    for column in range(3, 11):
        ids = collections.Counter(line[column] for line in lines)
        assert {"", "f" * 16, "8" + "0" * 15, "7" + "f" * 15, "0"} <= ids.keys()
        assert ids.most_common(1)[0][1] > len(lines) / 8
    once = collections.Counter(line[7] for line in lines)  # of 100,000 categories
    assert sum(1 for count in once.values() if count == 1) > len(once) / 2
    assert {each[0] for each in once if len(each) == 16} == set("123456789abcdef")


def test_the_generators_area_is_the_fraction_of_pairs():
    spec = importlib.util.spec_from_file_location("make_clicks", GENERATOR)
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    scored = [(number * 7 % 10 / 10, int(number * 5 % 13 < 4 + number % 3)) for number in range(60)]
    pairs = [(one > other) + (one == other) / 2
             for one, click in scored if click for other, none in scored if not none]
    assert generator.area_under_curve(scored) == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)

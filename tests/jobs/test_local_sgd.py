# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Native jobs of local SGD, [train] local_sgd = STEPS.

Oracles: the accuracy that any sound training of this network on this data reaches; the job that averages gradients, where
both are the same mathematics; an undisturbed run, byte by byte; one file that rank 0 alone writes, against shards of which
each rank writes one; and for bad input the promise "one line, status 2, nothing written".
"""
import pathlib
import re
import signal
import time

import pytest

from conftest import mpirun
from test_checkpoints import start
from test_native import DIGITS, accuracy, arrays, checkpoint_of, complaints, contents, write_job


def local_job(folder, name="job", every=4, epochs=4, optimizer="adam", **replaced):
    line = f'optimizer = "{optimizer}"'
    return write_job(folder, name, epochs, optimizer, **{line: f"{line}\nlocal_sgd = {every}"}, **replaced)


FASTER = {"seed = 3": "seed = 3\nlearning_rate = 0.005"}


def checksum(result):
    return re.search(r"^parameters +checksum ([0-9a-f]{16}), the same on", result.stdout, re.MULTILINE)[1]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("every", [1, 4, 1000])
def test_it_learns(native, tmp_path, ranks, every):
    """Of 22 steps an epoch; 1000 steps: at the end of each epoch alone."""
    result = mpirun(ranks, [native, local_job(tmp_path, every=every, epochs=12, **FASTER)], tmp_path)
    assert result.returncode == 0, result.stderr
    assert accuracy(result) >= 0.94
    assert f"the same on {ranks} rank" in result.stdout
    steps = "step" if every == 1 else f"{every} steps"
    assert f"adam, learning rate 0.005, seed 3, local SGD: parameters averaged every {steps}\n" in result.stdout


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum"])
def test_every_step_of_a_linear_update_is_the_job_that_averages_gradients(native, tmp_path, ranks, optimizer):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    by_gradients = mpirun(ranks, [native, write_job(tmp_path, "gradients", 3, optimizer)], tmp_path)
    by_parameters = mpirun(ranks, [native, local_job(tmp_path, "parameters", 1, 3, optimizer)], tmp_path)
    assert by_gradients.returncode == by_parameters.returncode == 0, by_parameters.stderr
    expected, found = (arrays(checkpoint_of(result, tmp_path)) for result in (by_gradients, by_parameters))
    assert expected.keys() == found.keys()
    for name in expected:
        numpy.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-5)


def test_steps_alone_change_what_is_trained(native, tmp_path):
    results = [mpirun(2, [native, local_job(tmp_path, f"every{every}", every, 2)], tmp_path) for every in (1, 2, 22, 1000)]
    checksums = [checksum(result) for result in results]
    assert len(set(checksums[:3])) == 3
    assert checksums[3] == checksums[2], "an epoch has 22 steps, and ends with an average anyhow"


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
def test_a_resumed_run_is_the_undisturbed_run(native, tmp_path, ranks, optimizer):
    """With checkpoints every 5 steps and averages every 3, also where neither is due with the other."""
    within = {"every = 3": "every_steps = 5"}
    job = local_job(tmp_path, "whole", 3, 2, optimizer, **within)
    whole = mpirun(ranks, [native, job], tmp_path)
    assert whole.returncode == 0, whole.stderr
    for moment in ("epoch-000000-step-000005", "epoch-000000-step-000010", "epoch-000001-step-000013", "epoch-000001-step-000018"):
        resumed = mpirun(ranks, [native, job, "--checkpoint-dir", moment, "--resume", tmp_path / "whole" / moment], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert contents(checkpoint_of(resumed, tmp_path)) == contents(checkpoint_of(whole, tmp_path)), moment
        assert checksum(resumed) == checksum(whole)


def test_a_checkpoint_is_one_model(native, tmp_path):
    """Each rank writes a part of the shards: of what it has."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    found = {}
    for name, settings in (("file", 'format = "file"'), ("shards", "shards = 2")):
        job = local_job(tmp_path, name, 3, 1, "adam", **{"every = 3": f"every_steps = 5\n{settings}"})
        result = mpirun(2, [native, job], tmp_path)
        assert result.returncode == 0, result.stderr
        found[name] = {path.name.removesuffix(".h5"): arrays(path) for path in (tmp_path / name).glob("epoch-*")}
    assert found["file"].keys() == found["shards"].keys() and len(found["file"]) == 5
    for moment, tensors in found["file"].items():
        assert any(name.startswith("optimizer/") for name in tensors)
        for name in tensors:
            numpy.testing.assert_array_equal(found["shards"][moment][name], tensors[name], err_msg=f"{moment} {name}")


def test_other_numbers_of_ranks_and_other_ways_go_on(native, tmp_path):
    job = local_job(tmp_path, "job", 4, 12, **FASTER)
    plain = write_job(tmp_path, "plain", 12, **FASTER)
    for ranks, file, epochs in ((2, job, 2), (4, job, 5), (1, job, 7), (2, plain, 9), (3, job, 12)):
        result = mpirun(ranks, [native, file, "--epochs", epochs, "--resume", "auto", "--checkpoint-dir", "shared"], tmp_path)
        assert result.returncode == 0, result.stderr
    assert accuracy(result) >= 0.94


@pytest.mark.parametrize("ranks", [1, 2])
def test_stopped_by_a_signal_it_leaves_one_model_and_goes_on(native, tmp_path, ranks):
    job = local_job(tmp_path, "job", 7, 10_000_000, **{"every = 3": "every_steps = 1000000000"})
    child = start(ranks, [native, job], tmp_path)
    deadline = time.monotonic() + 30
    for line in child.stdout:
        assert time.monotonic() < deadline
        if line.split()[:1] == ["1"]:
            break
    child.send_signal(signal.SIGUSR1)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 75, err
    epochs = int(re.search(r"^not finished  stopped in time after (\d+) epochs", out, re.MULTILINE)[1])
    resumed = mpirun(ranks, [native, job, "--resume", "--epochs", epochs + 1], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert f"the same on {ranks} rank" in resumed.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_profile_counts_averages(native, tmp_path, ranks):
    """After 4, 8, ... 20 of 22 steps, and at the end of the epoch."""
    result = mpirun(ranks, [native, local_job(tmp_path, epochs=1), "--profile"], tmp_path)
    assert result.returncode == 0, result.stderr
    rows = result.stdout.split("profile of rank 0: ")[1].splitlines()[2:]
    calls = {row.split()[0]: int(row.split()[2]) for row in rows}
    assert "allreduce_start" not in calls
    assert calls.get("average_parameters") == (6 if ranks == 2 else None)


def test_metrics_and_the_page_are_those_of_other_jobs(native, tmp_path):
    result = mpirun(2, [native, local_job(tmp_path, epochs=2), "--metrics", "m.jsonl", "--report", "p.html"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "m.jsonl").read_text().count('"train_loss"') == 2
    assert "parameters averaged every 4 steps" in (tmp_path / "p.html").read_text()


REFUSED = {
    "none": ("local_sgd = 0", "[train] local_sgd = 0: it must be a whole number, 1 or more"),
    "word": ('local_sgd = "auto"', "[train] local_sgd = \"auto\": it must be a whole number"),
    "one copy": ("local_sgd = 4\none_copy = true", "'local_sgd' and 'one_copy' exclude each other"),
    "virtual ranks": ("local_sgd = 4\nvirtual_ranks = 4", "'local_sgd' and 'virtual_ranks' exclude each other"),
    "scaled loss": ('local_sgd = 4\nmatmul = "float16"', "'local_sgd' and matmul = \"float16\" exclude each other"),
    "servers": ("local_sgd = 4\n[servers]\ncount = 1", "[train] 'local_sgd' and [servers] exclude each other"),
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("case", REFUSED)
def test_what_it_does_not_go_with_is_refused_in_one_line(native, tmp_path, case, ranks):
    text, message = REFUSED[case]
    line = 'optimizer = "adam"'
    result = mpirun(ranks, [native, write_job(tmp_path, **{line: f"{line}\n{text}"})], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1 and message in complaints(result)[0]
    assert [path.name for path in tmp_path.iterdir()] == ["job.toml"]


def test_ftrl_is_refused(native, tmp_path):
    result = mpirun(2, [native, local_job(tmp_path, optimizer="ftrl")], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1 and "'local_sgd' and optimizer = \"ftrl\" exclude each other" in complaints(result)[0]


def test_a_loss_that_is_no_number_ends_all_ranks(native, tmp_path):
    training = {'optimizer = "sgd"': 'optimizer = "sgd"\nlearning_rate = 1e20\nlocal_sgd = 4'}
    result = mpirun(2, [native, write_job(tmp_path, epochs=2, optimizer="sgd", **training)], tmp_path)
    assert result.returncode == 1
    assert len(complaints(result)) == 1 and "a smaller learning_rate may help" in complaints(result)[0]

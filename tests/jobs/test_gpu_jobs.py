# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Native jobs on a GPU: on the stand-in, which runs the kernels for GPUs on the processor.

Oracles: the accuracy that the same job reaches on the CPU, of which 1 in 50 test samples may be missing; an uninterrupted run,
bit by bit; with virtual ranks, one rank, byte by byte; and for what cannot be the promise "one line, status 2, nothing written".
"""
import pathlib
import re

import pytest

from conftest import ROOT, WORKER, mpirun, mpirun_of, run
from test_clicks import clicks, rows, train as train_clicks  # noqa: F401: a fixture
from example_programs import compiled
from test_examples import LINE
from test_native import VIRTUALLY, accuracy, checkpoint_of, complaints, contents, write_job
from whole_jobs import BUILD, LAUNCH

STAND_IN = {"DTRAIN_GPU_MODULE": str(BUILD / "src" / "gpu" / "libdtrain_gpu_stand_in.so")}
NO_BLOCK_RUNS = {"DTRAIN_GPU_STAND_IN_THREADS": "none"}  # a computation on the stand-in ends with that, one on the CPU does not read it
ON_GPU = {"[checkpoint]": 'device = "gpu"\n[checkpoint]'}


def checksum(result):
    return re.search(r"checksum ([0-9a-f]+)", result.stdout)[1]


def trained(native, folder, ranks, job, *options, **environment):
    result = mpirun(ranks, [native, job, *options], folder, **STAND_IN, **environment)
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_job_learns_as_on_the_cpu(native, tmp_path, ranks):
    on_cpu = trained(native, tmp_path, ranks, write_job(tmp_path, "here", 12))
    on_gpu = trained(native, tmp_path, ranks, write_job(tmp_path, "there", 12, **ON_GPU))
    by_environment = trained(native, tmp_path, ranks, write_job(tmp_path, "told", 12), DTRAIN_DEVICE="gpu:0")
    assert ", on GPU 0, this processor\n" in on_gpu.stdout
    assert ", on " not in on_cpu.stdout
    assert accuracy(on_gpu) >= accuracy(on_cpu) - 0.02
    assert checksum(on_gpu) == checksum(by_environment) != checksum(on_cpu)
    assert f"the same on {ranks} rank" in on_gpu.stdout


def test_a_job_goes_on_from_what_it_saved(native, tmp_path):
    straight = trained(native, tmp_path, 2, write_job(tmp_path, "straight", 6, **ON_GPU))
    job = write_job(tmp_path, "stopped", 6, **ON_GPU)
    trained(native, tmp_path, 2, job, "--epochs", 3)
    resumed = trained(native, tmp_path, 2, job, "--resume")
    assert checksum(resumed) == checksum(straight)


def test_virtual_ranks_give_the_same_file_on_any_number_of_ranks(native, tmp_path):
    job = {**VIRTUALLY, **ON_GPU}
    on_cpu = trained(native, tmp_path, 2, write_job(tmp_path, "here", 12, **VIRTUALLY))
    whole = trained(native, tmp_path, 1, write_job(tmp_path, "on1", 12, **job))
    assert accuracy(whole) >= accuracy(on_cpu) - 0.02
    assert checksum(whole) != checksum(on_cpu)
    for ranks in (2, 3, 4):
        parts = write_job(tmp_path, f"on{ranks}", 12, **job)
        trained(native, tmp_path, 1, parts, "--epochs", 1)
        resumed = trained(native, tmp_path, ranks, parts, "--resume")
        assert contents(checkpoint_of(resumed, tmp_path)) == contents(checkpoint_of(whole, tmp_path))


def test_click_jobs_learn_as_on_the_cpu(native, tmp_path, clicks):
    """To four digits, with the same rounding in another order."""
    on_cpu = rows(train_clicks(native, tmp_path, clicks, 2, "here"))
    files = []
    for name, ranks, settings in (("on1", 1, ""), ("on2", 2, ""), ("v1", 1, "virtual_ranks = 2"), ("v2", 2, "virtual_ranks = 2")):
        on_gpu = train_clicks(native, tmp_path, clicks, ranks, name, train=f'device = "gpu"\n{settings}',
                              checkpoint='format = "file"', **STAND_IN)
        assert ", on GPU 0, this processor\n" in on_gpu.stdout
        for epoch in range(2):
            assert rows(on_gpu)[epoch] == pytest.approx(on_cpu[epoch], abs=3e-4)
        files.append(contents(checkpoint_of(on_gpu, tmp_path)))
    assert files[2] == files[3]


def test_products_of_float16_teach_and_their_scale_is_saved(native, tmp_path):
    half = {"[checkpoint]": 'device = "gpu"\nmatmul = "float16"\n[checkpoint]'}
    exact = trained(native, tmp_path, 2, write_job(tmp_path, "exact", 12, **ON_GPU))
    straight = trained(native, tmp_path, 2, write_job(tmp_path, "straight", 12, **half))
    assert ", products of float16, on GPU 0" in straight.stdout
    assert accuracy(straight) >= accuracy(exact) - 0.02
    job = write_job(tmp_path, "stopped", 12, **half)
    trained(native, tmp_path, 2, job, "--epochs", 3)
    resumed = trained(native, tmp_path, 2, job, "--resume")
    assert checksum(resumed) == checksum(straight) != checksum(exact)


def test_the_scale_of_the_loss_is_the_jobs(native, tmp_path):
    """Oracle: powers of two round nothing, and one so large that every gradient is infinite teaches nothing."""
    def job(name, table):
        added = f'device = "gpu"\nmatmul = "float16"\n[train.loss_scale]\n{table}\n[checkpoint]'
        return trained(native, tmp_path, 1, write_job(tmp_path, name, 2, **{"[checkpoint]": added}))
    low, high = job("low", "first = 1024\ngrowth = 1"), job("high", "first = 2048\ngrowth = 1")
    assert checksum(low) == checksum(high)
    deaf = job("deaf", f"first = {2.0**126}\ngrowth = 1\nbackoff = 1")
    assert accuracy(deaf) < 0.3 < accuracy(low)


def test_the_profile_is_of_the_operators_one_by_one(native, tmp_path):
    result = trained(native, tmp_path, 1, write_job(tmp_path, "job", 1, **ON_GPU), "--profile")
    assert re.search(r"^fc +\S+ +\d+ +[\d.]+ +[\d.]+%$", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("added, environment, message", [
    ("one_copy = true\n", {"DTRAIN_DEVICE": "gpu"},
     "a GPU does not do one copy of the parameters for the ranks of a node (one_copy) yet: compute on the CPU "
     '(device "cpu", or DTRAIN_DEVICE=cpu)'),
    ("", {"DTRAIN_DEVICE": "cuda"}, "DTRAIN_DEVICE is 'cuda', expected cpu, gpu or gpu:NUMBER"),
    ('device = "gpu:5"\n', {}, "there is no GPU 5: the stand-in for GPUs has one, number 0"),
])
def test_what_cannot_be_is_one_line(native, tmp_path, added, environment, message):
    job = write_job(tmp_path, **{"[checkpoint]": added + "[checkpoint]"})
    result = mpirun(1, [native, job], tmp_path, **STAND_IN, **environment)
    assert result.returncode == 2
    assert complaints(result) == ["dtrain-native: " + message]
    assert not list(tmp_path.glob("**/epoch-*"))


GIVEN = "dtrain: this rank was given GPU 0 (FLAGS_selected_gpus) and computes on the CPU: "


@pytest.mark.parametrize("ranks", [1, 2])
def test_gpus_that_a_launcher_gives_are_used(native, tmp_path, ranks):
    """Oracle: the job that asks for the GPU."""
    requested = trained(native, tmp_path, ranks, write_job(tmp_path, "asked", 2, **ON_GPU))
    given = trained(native, tmp_path, ranks, write_job(tmp_path, "given", 2), FLAGS_selected_gpus=0)
    assert ", on GPU 0, this processor\n" in given.stdout
    assert checksum(given) == checksum(requested) and given.stderr == requested.stderr


def test_the_launchers_gpus_are_used(tmp_path):
    job = write_job(tmp_path, "given", 1)
    done = run([LAUNCH, "--gpus", "5", job], tmp_path, CUDA_VISIBLE_DEVICES="5", **STAND_IN)
    assert done.returncode == 0, done.stderr
    assert ", on GPU 0, this processor\n" in (tmp_path / "log/workerlog.0").read_text()


@pytest.mark.parametrize("added, module, why", [
    ("", "/nowhere.so", "dtrain cannot compute on GPUs here: /nowhere.so: "),
    ("one_copy = true\n", None, "a GPU does not do one copy of the parameters for the ranks of a node (one_copy) yet\n"),
])
def test_why_gpus_that_were_given_are_not_used_is_one_line(native, tmp_path, added, module, why):
    """Oracle: the job without GPUs; and no line where the CPU was asked for."""
    module = {"DTRAIN_GPU_MODULE": module} if module else STAND_IN
    alone = mpirun(2, [native, write_job(tmp_path, "alone", 1, **{"[checkpoint]": added + "[checkpoint]"})], tmp_path)
    given = mpirun(2, [native, tmp_path / "alone.toml"], tmp_path, FLAGS_selected_gpus=0, **module)
    assert given.returncode == 0, given.stderr
    assert given.stderr.count("dtrain: ") == 1 and GIVEN + why in given.stderr, given.stderr
    assert checksum(given) == checksum(alone)
    meant = write_job(tmp_path, "meant", 1, **{"[checkpoint]": f'{added}device = "cpu"\n[checkpoint]'})
    for job, environment in ((meant, {}), (tmp_path / "alone.toml", {"DTRAIN_DEVICE": "cpu"})):
        quiet = mpirun(2, [native, job], tmp_path, FLAGS_selected_gpus=0, **environment, **module)
        assert quiet.returncode == 0 and "GPU" not in quiet.stderr, quiet.stderr


def test_a_gpu_that_was_given_and_is_not_there_is_one_line(native, tmp_path):
    result = mpirun(1, [native, write_job(tmp_path)], tmp_path, FLAGS_selected_gpus=4, **STAND_IN)
    assert result.returncode == 2
    assert complaints(result) == ["dtrain-native: there is no GPU 4: the stand-in for GPUs has one, number 0"]


def test_nccl_of_ranks_of_which_one_has_no_gpu_is_refused(native, tmp_path):
    job = write_job(tmp_path, **{"[checkpoint]": "nccl = true\n[checkpoint]"})
    mixed = [(1, "env", f"DTRAIN_DEVICE={device}", native, job) for device in ("gpu", "cpu")]
    result = run(mpirun_of(*mixed), tmp_path, **STAND_IN)
    assert result.returncode == 2
    (line,) = complaints(result)
    assert "nccl adds the gradients of ranks on GPUs, and this one computes on the CPU, unlike others" in line


def test_nccl_without_a_driver_is_one_line(native, tmp_path):
    """The stand-in for GPUs needs no driver, NCCL does."""
    if pathlib.Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has NVIDIA's driver")
    job = write_job(tmp_path, **{"[checkpoint]": 'device = "gpu"\nnccl = true\n[checkpoint]'})
    result = mpirun(2, [native, job], tmp_path, **STAND_IN)
    assert result.returncode == 2
    (line,) = complaints(result)
    assert line.startswith("dtrain-native: NCCL cannot add the gradients here: "), line
    assert line.endswith("; leave nccl out, and MPI adds them, or see what dtrain-launch --check says")
    assert not list(tmp_path.glob("**/epoch-*"))


@pytest.fixture(scope="module")
def digits_line_by_line():
    return compiled(ROOT / "examples/layer/digits_ranks.cpp")


def check_computes_on_the_stand_in(command, folder, **environment):
    done = run(command, folder, **STAND_IN, **NO_BLOCK_RUNS, **environment)
    message = "digits: DTRAIN_GPU_STAND_IN_THREADS is 'none', expected a number above 0\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def metrics(text):
    """Loss and accuracy by epoch and batch."""
    return {(epoch, batch): (float(loss), float(acc)) for epoch, batch, loss, acc in LINE.findall(text)}


@pytest.mark.parametrize("ranks", [1, 2])
def test_layers_learn_as_on_the_cpu(digits_line_by_line, tmp_path, ranks):
    """Oracle: one rank on the CPU; the ranks' means are those of the batch. What only the stand-in reads ends the job."""
    digits = ROOT / "examples/digits.h5"
    on_cpu = run([digits_line_by_line, digits], tmp_path)
    assert on_cpu.returncode == 0, on_cpu.stderr
    on_gpu = run([LAUNCH, "--nproc_per_node", ranks, digits_line_by_line, digits], tmp_path, DTRAIN_DEVICE="gpu", **STAND_IN)
    assert on_gpu.returncode == 0, on_gpu.stderr
    logs = [(tmp_path / f"log/workerlog.{rank}").read_text() for rank in range(ranks)]
    expected, found = metrics(on_cpu.stdout), [metrics(log) for log in logs]
    assert len(expected) == 10 and all(each.keys() == expected.keys() for each in found), logs
    for step, whole in expected.items():
        for mean, value in zip((sum(each) / ranks for each in zip(*(each[step] for each in found))), whole):
            assert mean == pytest.approx(value, abs=1e-3), step
    check_computes_on_the_stand_in([digits_line_by_line, digits], tmp_path, DTRAIN_DEVICE="gpu")
    accuracies = [float(re.search(r"test acc is: (\S+)", text)[1]) for text in (on_cpu.stdout, *logs)]
    assert accuracies == pytest.approx([accuracies[0]] * len(accuracies), abs=0.01)


def check_computes_on_what_a_launcher_gives(command, tmp_path):
    """Oracle: the same program that is told by DTRAIN_DEVICE, or that was given nothing; what only the stand-in reads."""
    requested = run(command, tmp_path, DTRAIN_DEVICE="gpu", **STAND_IN)
    given = run(command, tmp_path, FLAGS_selected_gpus=0, **STAND_IN)
    assert (given.returncode, given.stdout, given.stderr) == (0, requested.stdout, "")
    for environment in ({"DTRAIN_DEVICE": "gpu"}, {"FLAGS_selected_gpus": 0}):
        check_computes_on_the_stand_in(command, tmp_path, **environment)
    without = run(command, tmp_path, FLAGS_selected_gpus=0, DTRAIN_GPU_MODULE="/nowhere.so", **NO_BLOCK_RUNS)
    on_cpu = run(command, tmp_path)
    assert (without.returncode, without.stdout) == (0, on_cpu.stdout)
    assert without.stderr.startswith(GIVEN) and without.stderr.count("\n") == 1, without.stderr


def test_a_model_computes_on_what_a_launcher_gives(tmp_path):
    check_computes_on_what_a_launcher_gives([compiled(ROOT / "examples/model/digits.cpp"), ROOT / "examples/digits.h5"], tmp_path)


def test_layers_compute_on_what_a_launcher_gives(digits_line_by_line, tmp_path):
    check_computes_on_what_a_launcher_gives([digits_line_by_line, ROOT / "examples/digits.h5"], tmp_path)


@pytest.mark.parametrize("environment, message", [
    ({"DTRAIN_DEVICE": "gpu:3"}, "there is no GPU 3: the stand-in for GPUs has one, number 0"),
    ({"DTRAIN_DEVICE": "gpu", "FLAGS_selected_gpus": "2"}, "there is no GPU 2: the stand-in for GPUs has one, number 0"),
    ({"DTRAIN_DEVICE": "tpu"}, "DTRAIN_DEVICE is 'tpu', expected cpu, gpu or gpu:NUMBER"),
])
def test_layers_without_their_gpu_say_so(digits_line_by_line, tmp_path, environment, message):
    done = run([digits_line_by_line, ROOT / "examples/digits.h5"], tmp_path, **STAND_IN, **environment)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"digits: {message}\n")


@pytest.mark.parametrize("nccl, begin", [
    ("", "this machine has no GPU to compute on: "),
    ("nccl = true\n", r"NCCL cannot add the gradients here: \S+ has no GPU for NCCL: ")])
def test_a_driver_that_is_too_old_is_one_line(native, tmp_path, nccl, begin):
    """Oracle: what tests/gpu/old_driver.cpp says of itself, and the CUDA that --info says is built in."""
    built = re.search(r"CUDA runtime +(\d+)(\.\d+)", run([WORKER, "--info"], tmp_path).stdout)
    if not built:
        pytest.skip("built without CUDA")
    job = write_job(tmp_path, **{"[checkpoint]": f'device = "gpu"\n{nccl}[checkpoint]'})
    module = STAND_IN if nccl else {"DTRAIN_GPU_MODULE": BUILD / "src/gpu/libdtrain_gpu.so"}
    result = mpirun(2, [native, job], tmp_path, **module, LD_LIBRARY_PATH=BUILD / "tests/gpu")
    assert result.returncode == 2
    (line,) = complaints(result)
    assert re.match(f"dtrain-native: {begin}its GPU driver supports CUDA 10.2, but dtrain was built with "
                    rf"{built[1]}{re.escape(built[2])}; install .* there, or build dtrain with a CUDA Toolkit 10; ", line), line
    assert not list(tmp_path.glob("**/epoch-*"))


def test_without_the_module_there_is_one_line(native, tmp_path):
    result = mpirun(1, [native, write_job(tmp_path, **ON_GPU)], tmp_path, DTRAIN_GPU_MODULE="/nowhere.so")
    assert result.returncode == 2
    (line,) = complaints(result)
    assert line.startswith("dtrain-native: dtrain cannot compute on GPUs here: /nowhere.so: ")

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs with parameter servers whose trainers, or servers, compute on a GPU: on the stand-in for GPUs.

Oracles: the same job on CPUs, by its accuracy or AUC; in sync mode the same job once more and an undisturbed one, byte by byte;
what the messages promise.
"""
import re

import pytest

from conftest import mpirun, run
from test_clicks import auc_and_best, clicks  # noqa: F401: a fixture
from test_gpu_jobs import STAND_IN
from test_native import complaints
from test_servers import (LAUNCH, checksum, expect_a_hung_server_is_named, expect_a_killed_server_starts_it_again,
                          write_digits, write_job)
from test_uneven_steps import TRAINERS, UNEVEN, uneven_job

ON_GPU = 'device = "gpu"'


def digits(folder, name, servers, train=ON_GPU, epochs=8):
    (folder / name).mkdir()
    job = write_digits(folder / name, servers)
    job.write_text(job.read_text().replace("epochs = 20", f"epochs = {epochs}\n{train}"))
    return job


def accuracy(text):
    return float(re.search(r"test accuracy (\d\.\d+)", text)[1])


def launched(folder, job):
    result = run([LAUNCH, "--server_num", "2", "--worker_num", "2", job], folder, **STAND_IN)
    assert result.returncode == 0, result.stderr
    return (folder / "log" / "workerlog.0").read_text()


def trained(native, folder, ranks, job, *options, **environment):
    result = mpirun(ranks, [native, job, *options], folder, **STAND_IN, **environment)
    assert result.returncode == 0, result.stderr
    return result


def test_the_digits_by_the_launcher(native, tmp_path):
    on_cpu = trained(native, tmp_path, 4, digits(tmp_path, "here", "count = 2", ""))
    job = digits(tmp_path, "there", "")
    on_gpu = launched(tmp_path, job)
    assert "2 trainers with 2 parameter servers (sync)" in on_gpu
    assert ", on GPU 0, this processor\n" in on_gpu and ", on " not in on_cpu.stdout
    assert accuracy(on_gpu) == pytest.approx(accuracy(on_cpu.stdout), abs=0.01)
    assert "the same on 2 ranks" in on_gpu
    sums = re.findall(r"checksum (\w{16})", on_gpu + launched(tmp_path, job))
    assert sums[0] == sums[1] != checksum(on_cpu)


def test_clicks_by_the_launcher(native, tmp_path, clicks):
    on_cpu = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "here", servers="count = 2"))
    job = write_job(tmp_path, clicks, "there", more=ON_GPU)
    on_gpu = launched(tmp_path, job)
    auc = re.compile(r"^test AUC (\d\.\d{4})", re.MULTILINE)
    assert float(auc.search(on_gpu)[1]) == pytest.approx(auc_and_best(on_cpu)[0], abs=0.001)
    once_more = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "more", servers="count = 2", more=ON_GPU))
    assert checksum(once_more) in on_gpu


@pytest.mark.parametrize("mode", ["sync", "half_async", "geo"])
def test_trainers_may_make_different_numbers_of_steps(native, tmp_path, clicks, mode):
    """The last step has batches of 110, 90 and none, as in test_uneven_steps.py."""
    settings = f'count = 1\nmode = "{mode}"'
    jobs = [uneven_job(tmp_path, clicks, name, settings, more=f"{UNEVEN}\n{more}")
            for name, more in (("here", ""), ("there", ON_GPU))]
    on_cpu, on_gpu = (trained(native, tmp_path, 1 + TRAINERS, job) for job in jobs)
    assert "61 steps an epoch" in on_gpu.stdout and ", on GPU" in on_gpu.stdout
    assert auc_and_best(on_gpu)[0] == pytest.approx(auc_and_best(on_cpu)[0], abs=0.001 if mode == "sync" else 0.01)
    if mode == "sync":
        assert checksum(trained(native, tmp_path, 1 + TRAINERS, jobs[1])) == checksum(on_gpu)


@pytest.mark.parametrize("mode, more", [("async", ""), ("async", "most_merged = 2"), ("half_async", "staleness = 4"),
                                        ("geo", "push_every = 20")])
def test_the_other_modes_reach_nearly_the_same(native, tmp_path, clicks, mode, more):
    """With the bounds of the same tests on CPUs. What async with most_merged = 2 reaches on the digits has no bound there."""
    settings = f'count = 2\nmode = "{mode}"\n{more}'
    found = trained(native, tmp_path, 4, write_job(tmp_path, clicks, servers=settings, more=ON_GPU))
    sync = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "sync", servers="count = 2"))
    assert auc_and_best(found)[0] == pytest.approx(auc_and_best(sync)[0], abs=0.01)
    if "most_merged" in more:
        return
    learned = trained(native, tmp_path, 4, digits(tmp_path, "digits", settings, epochs=20))
    assert accuracy(learned.stdout) == pytest.approx(0.9769, abs=0.03)


def test_a_resumed_job_is_the_undisturbed_one(native, tmp_path, clicks):
    settings = {"epochs": 4, "servers": "count = 2", "checkpoint": "every = 1", "more": ON_GPU}
    whole = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "whole", **settings))
    job = write_job(tmp_path, clicks, "parts", **settings)
    trained(native, tmp_path, 4, job, "--epochs", 2)
    resumed = trained(native, tmp_path, 4, job, "--resume")
    assert "resumed" in resumed.stdout
    assert checksum(resumed) == checksum(whole)
    on_cpu = write_job(tmp_path, clicks, "parts", **settings | {"more": ""})
    assert checksum(trained(native, tmp_path, 4, on_cpu, "--resume")) == checksum(whole), "what was saved, read on CPUs"


def test_the_environment_says_it_too_and_servers_stay_on_cpus(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers="count = 1")
    by_environment = trained(native, tmp_path, 2, job, DTRAIN_DEVICE="gpu")
    assert ", on GPU 0, this processor\n" in by_environment.stdout
    advised = write_job(tmp_path, clicks, servers="count = 1", more=ON_GPU)
    assert checksum(by_environment) == checksum(trained(native, tmp_path, 2, advised))


def test_a_killed_server_lets_the_launcher_start_again(native, tmp_path, clicks):
    settings = {"epochs": 3, "checkpoint": "every_steps = 25", "more": ON_GPU}
    whole = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "whole", servers="count = 2", **settings))
    job = write_job(tmp_path, clicks, "parts", **settings)
    expect_a_killed_server_starts_it_again(tmp_path, job, timeout=200, **STAND_IN)
    assert checksum(whole) in (tmp_path / "log" / "workerlog.0").read_text()


def test_a_hung_server_is_named(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=10_000, servers="count = 1", more=ON_GPU)
    expect_a_hung_server_is_named(native, tmp_path, job, **STAND_IN)


@pytest.mark.parametrize("more, environment, message", [
    (ON_GPU, {"DTRAIN_GPU_MODULE": "/nowhere.so"}, "dtrain cannot compute on GPUs here: /nowhere.so: "),
    ('device = "gpu:5"', STAND_IN, "there is no GPU 5: the stand-in for GPUs has one, number 0"),
    ("", {"DTRAIN_DEVICE": "cuda"}, "DTRAIN_DEVICE is 'cuda', expected cpu, gpu or gpu:NUMBER"),
    (f'{ON_GPU}\nmatmul = "float16"', STAND_IN,
     '[train] matmul = "float16" scales the loss, and parameter servers leave out no steps: use "float32" or "bfloat16"'),
])
def test_what_cannot_be_is_one_line(native, tmp_path, clicks, more, environment, message):
    result = mpirun(3, [native, write_job(tmp_path, clicks, servers="count = 1", more=more)], tmp_path, **environment)
    assert result.returncode == 2
    (line,) = complaints(result)
    assert line.startswith("dtrain-native: " + message)


def test_digits_of_servers_on_gpus_by_the_launcher(native, tmp_path):
    on_cpu = trained(native, tmp_path, 4, digits(tmp_path, "here", "count = 2", ""))
    job = digits(tmp_path, "there", ON_GPU, "")
    on_gpu = launched(tmp_path, job)
    assert "2 trainers with 2 parameter servers (sync, on GPUs)" in on_gpu
    assert accuracy(on_gpu) == pytest.approx(accuracy(on_cpu.stdout), abs=0.01)
    sums = re.findall(r"checksum (\w{16})", on_gpu + launched(tmp_path, job))
    assert sums[0] == sums[1]


@pytest.mark.parametrize("first, then", [(ON_GPU, ""), ("", ON_GPU)])
def test_servers_go_on_from_the_checkpoint_of_the_other_kind(native, tmp_path, first, then):
    """What was saved is the same on both: a job without a step more has the very parameters; one that trains on, the accuracy."""
    saved = '[checkpoint]\ndir = "saved"'
    job = digits(tmp_path, "job", f"count = 2\n{first}\n{saved}", "", 4)
    begun = trained(native, tmp_path, 4, job, "--epochs", 2)
    job.write_text(job.read_text().replace(f"count = 2\n{first}\n", f"count = 2\n{then}\n"))
    nothing_more = trained(native, tmp_path, 4, job, "--resume", "--epochs", 2)
    assert checksum(nothing_more) == checksum(begun)
    resumed = trained(native, tmp_path, 4, job, "--resume")
    assert "resumed" in resumed.stdout
    whole = trained(native, tmp_path, 4, digits(tmp_path, "whole", "count = 2", "", 4))
    assert accuracy(resumed.stdout) == pytest.approx(accuracy(whole.stdout), abs=0.01)
    shown = run([native, "--inspect", max((tmp_path / "saved").glob("epoch-*"))], tmp_path)
    assert shown.returncode == 0, shown.stderr


def test_clicks_of_servers_on_gpus(native, tmp_path, clicks):
    """Tables stay on the CPU: their rows differ by what differs in the dense parameters."""
    on_cpu = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "here", epochs=1, servers="count = 2"))
    on_gpu = trained(native, tmp_path, 4, write_job(tmp_path, clicks, "there", epochs=1, servers=f"count = 2\n{ON_GPU}"))
    assert auc_and_best(on_gpu)[0] == pytest.approx(auc_and_best(on_cpu)[0], abs=0.001)


def servers_refuse(native, folder, servers, **environment):
    result = mpirun(3, [native, digits(folder, "job", servers, "")], folder, **environment)
    assert result.returncode == 2
    (line,) = complaints(result)
    return line


def test_a_server_without_a_gpu_is_named(native, tmp_path):
    line = servers_refuse(native, tmp_path, f"count = 2\n{ON_GPU}", DTRAIN_GPU_MODULE="/nowhere.so")
    assert re.match(r"dtrain-native: parameter server 0 on \S+: dtrain cannot compute on GPUs here: /nowhere.so: ", line)
    assert re.search(r" \(rank 0 on \S+\)$", line)


def test_a_server_without_this_gpu_is_named(native, tmp_path):
    line = servers_refuse(native, tmp_path, 'count = 2\ndevice = "gpu:5"', **STAND_IN)
    assert re.match(r"dtrain-native: parameter server 0 on \S+: there is no GPU 5: the stand-in for GPUs has one, number 0",
                    line)


def test_bad_devices_of_servers(native, tmp_path):
    line = servers_refuse(native, tmp_path, 'count = 2\ndevice = "cuda"', **STAND_IN)
    assert line.endswith('[servers] device = "cuda": it must be "cpu", "gpu" or a GPU\'s number such as "gpu:0"')


def test_the_launcher_says_how_servers_get_gpus(tmp_path):
    job = digits(tmp_path, "job", ON_GPU, "")
    result = run([LAUNCH, "--server_num", "1", "--worker_num", "1", job], tmp_path, DTRAIN_GPU_MODULE="/nowhere.so")
    assert result.returncode == 2
    log = (tmp_path / "log" / "serverlog.0").read_text() + (tmp_path / "log" / "workerlog.0").read_text()
    assert "; dtrain-launch shows GPUs to workers alone, and to servers with --server_device gpu" in log

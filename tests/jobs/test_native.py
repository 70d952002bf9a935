# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole native jobs, as a user starts them.

Oracles: the accuracy that any sound training of this network on this data reaches; a one-rank run of the same
global batches; an uninterrupted run, byte by byte; and for bad input the promise "one line, status 2, nothing
written".
"""
import os
import pathlib
import re
import subprocess

import pytest

from conftest import LAUNCH, ROOT, WORKER, clean_environment, mpirun, run
from whole_jobs import NATIVE_JOB, processes_with

DIGITS = ROOT / "examples" / "digits.h5"


def write_job(folder, name="job", epochs=1, optimizer="adam", digits=DIGITS, **replaced):
    text = NATIVE_JOB.format(name=name, epochs=epochs, optimizer=optimizer, digits=digits, hidden=32, every=3)
    for old, new in replaced.items():
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def accuracy(result):
    return float(re.search(r"^test accuracy (\d\.\d{4})$", result.stdout, re.MULTILINE)[1])


def checkpoint_of(result, cwd):
    return pathlib.Path(cwd) / re.search(r"^checkpoint +(\S+)$", result.stdout, re.MULTILINE)[1]


def contents(checkpoint):
    """The bytes of a checkpoint: of its file, or of all files of its directory."""
    if checkpoint.is_file():
        return checkpoint.read_bytes()
    return {path.name: path.read_bytes() for path in checkpoint.iterdir()}


def arrays(path):
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    found = {}
    with h5py.File(path / "index.h5" if path.is_dir() else path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def complaints(result):
    """What dtrain itself said; mpirun adds a banner of its own about the exit status, and 5.0 a zero behind it."""
    return [line for line in result.stderr.replace("\0", "").splitlines() if line.startswith("dtrain-native: ")]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_built_in_job_learns(native, tmp_path, ranks):
    result = mpirun(ranks, [native], tmp_path)
    assert result.returncode == 0, result.stderr
    assert accuracy(result) >= 0.96
    assert f"the same on {ranks} rank" in result.stdout
    rows = re.findall(r"^ +\d+ +\d+\.\d{4} +[01]\.\d{4} +[01]\.\d{4} +\d+ +\d+\.\d\d$", result.stdout, re.MULTILINE)
    assert len(rows) == 20
    assert "--resume" in result.stdout
    assert checkpoint_of(result, tmp_path).exists()
    assert sorted(path.name for path in (tmp_path / "checkpoints" / "digits").iterdir()) == [
        "epoch-000015", "epoch-000020", "latest"]


def test_without_a_launcher(native, tmp_path):
    result = run([native, "--epochs", "1"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "1 rank," in result.stdout


def test_without_a_launcher_no_daemon_is_left(native, tmp_path):
    """Oracle: the processes that have the variable which this program was given."""
    given = dict(clean_environment(), STARTED_BY=tmp_path.name)
    with subprocess.Popen([native, "--epochs", "1000000"], cwd=tmp_path, env=given, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            if line.split()[:1] == ["1"]:
                break
        found = processes_with(f"STARTED_BY={tmp_path.name}\0")
        child.kill()
    assert found == [child.pid]


def test_without_a_launcher_jobs_have_nothing_in_common(native, tmp_path):
    """Without its daemon, Open MPI 4.1 gives the same session folder to all of them: one job ended while another began, and
    that did not find the folder it had just made. Oracle: a temporary folder in which it cannot be made, and what is there."""
    session = tmp_path / "tmp" / f"ompi.{os.uname().nodename}.{os.geteuid()}"
    session.mkdir(parents=True)
    (session / "jf.0").write_text("a file")
    config = write_job(tmp_path, epochs=1)
    config.write_text(config.read_text() + 'format = "file"\ncollective = true\n')
    result = run([native, config], tmp_path, TMPDIR=tmp_path / "tmp")
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    assert sorted(path.name for path in (tmp_path / "tmp").rglob("*")) == ["jf.0", session.name]
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["epoch-000001.h5", "latest"]


def test_more_ranks_than_cores(native, tmp_path):
    result = mpirun(8, [native], tmp_path)
    assert result.returncode == 0, result.stderr
    assert accuracy(result) >= 0.96


def test_ranks_that_do_not_divide_the_batch(native, tmp_path):
    result = mpirun(3, [native], tmp_path)
    assert result.returncode == 0, result.stderr
    assert accuracy(result) >= 0.96
    assert "global batch 64 (22 per rank), 22 steps an epoch" in result.stdout


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "momentum"])
def test_ranks_compute_what_one_rank_computes(native, tmp_path, optimizer):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    states = {}
    for ranks in (1, 2, 4):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        result = mpirun(ranks, [native, write_job(folder, optimizer=optimizer)], folder)
        assert result.returncode == 0, result.stderr
        assert f"the same on {ranks} rank" in result.stdout
        states[ranks] = arrays(checkpoint_of(result, folder))
    parameters = [name for name in states[1] if name.startswith("parameters/")]
    assert len(parameters) == 4
    for ranks in (2, 4):
        assert states[ranks].keys() == states[1].keys()
        for name in parameters:
            numpy.testing.assert_allclose(states[ranks][name], states[1][name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
def test_resumed_run_is_the_undisturbed_run(native, tmp_path, ranks, optimizer):
    whole = mpirun(ranks, [native, write_job(tmp_path, "whole", 6, optimizer)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    job = write_job(tmp_path, "parts", 6, optimizer)
    first = mpirun(ranks, [native, job, "--epochs", "3"], tmp_path)
    assert first.returncode == 0, first.stderr
    assert checkpoint_of(first, tmp_path).name == "epoch-000003"
    second = mpirun(ranks, [native, job, "--resume"], tmp_path)
    assert second.returncode == 0, second.stderr
    assert "3 epochs, 66 steps" in second.stdout
    assert checkpoint_of(second, tmp_path).name == "epoch-000006"
    assert contents(tmp_path / "parts" / "epoch-000003") == contents(tmp_path / "whole" / "epoch-000003")
    assert contents(checkpoint_of(second, tmp_path)) == contents(checkpoint_of(whole, tmp_path))


TRAINING = {
    "adagrad": 'optimizer = "adagrad"\nlearning_rate = 0.05\ninitial = 0.1\n[train.schedule]\nkind = "exponential"\n'
               'decay_steps = 30\ndecay_rate = 0.8\nstaircase = true\n[train.clip]\nby = "global_norm"\nnorm = 0.5',
    "adamw": 'optimizer = "adamw"\nlearning_rate = 0.002\nweight_decay = 0.1\n[train.schedule]\nkind = "cosine"\n'
             'warmup_steps = 30\n[train.clip]\nby = "norm"\nnorm = 0.5',
    "ftrl": 'optimizer = "ftrl"\nbeta = 1\nl2 = 0.001\n[train.schedule]\nkind = "piecewise"\n'
            'boundaries = [40, 100]\nvalues = [0.1, 0.05, 0.02]',
    "momentum": 'optimizer = "momentum"\nnesterov = true\nlearning_rate = 0.02\n[train.schedule]\nkind = "polynomial"\n'
                'decay_steps = 120\n[train.clip]\nby = "value"\nmin = -0.05\nmax = 0.05\n'
                '[train.decay]\nkind = "l2"\ncoefficient = 0.0001',
    "sgd": 'optimizer = "sgd"\nlearning_rate = 0.1\n[train.schedule]\nkind = "inverse_time"\ndecay_steps = 20\n'
           '[train.decay]\nkind = "l1"\ncoefficient = 0.00001',
}


def job_with(folder, name, training, epochs=6):
    linear = {"hidden = [32]": "hidden = []"} if "ftrl" in training else {}  # it forgets the first weights
    return write_job(folder, name, epochs, **{'optimizer = "adam"': training}, **linear)


@pytest.mark.parametrize("way", TRAINING)
def test_schedules_clipping_and_decay_go_on_where_they_were(native, tmp_path, way):
    whole = mpirun(2, [native, job_with(tmp_path, "whole", TRAINING[way])], tmp_path)
    assert whole.returncode == 0, whole.stderr
    assert accuracy(whole) >= 0.7
    job = job_with(tmp_path, "parts", TRAINING[way])
    first = mpirun(2, [native, job, "--epochs", "3"], tmp_path)
    assert first.returncode == 0, first.stderr
    second = mpirun(2, [native, job, "--resume"], tmp_path)
    assert second.returncode == 0, second.stderr
    assert "3 epochs, 66 steps" in second.stdout
    assert contents(checkpoint_of(second, tmp_path)) == contents(checkpoint_of(whole, tmp_path))


def test_a_schedule_changes_what_is_trained(native, tmp_path):
    plain = mpirun(1, [native, job_with(tmp_path, "plain", TRAINING["sgd"].split("[train.schedule]")[0], 3)], tmp_path)
    constant = 'optimizer = "sgd"\nlearning_rate = 0.1\n[train.schedule]\nkind = "{}"\n{}'
    same = mpirun(1, [native, job_with(tmp_path, "same", constant.format("constant", ""), 3)], tmp_path)
    other = mpirun(1, [native, job_with(tmp_path, "other", constant.format("noam", "noam_steps = 10"), 3)], tmp_path)
    checksums = [re.search(r"checksum ([0-9a-f]+)", result.stdout)[1] for result in (plain, same, other)]
    assert checksums[0] == checksums[1] != checksums[2]
    assert "sgd, learning rate 0.1 noam, seed 3" in other.stdout


@pytest.mark.parametrize("optimizer", ["adam", "momentum", "sgd"])
def test_one_copy_of_the_parameters_gives_the_same_file(native, tmp_path, optimizer):
    for ranks in (1, 2, 4):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        own = mpirun(ranks, [native, write_job(folder, "own", 3, optimizer)], folder)
        assert own.returncode == 0, own.stderr
        line = f'optimizer = "{optimizer}"'
        job = write_job(folder, "shared", 3, optimizer, **{line: f"{line}\none_copy = true"})
        shared = mpirun(ranks, [native, job], folder)
        assert shared.returncode == 0, shared.stderr
        assert contents(checkpoint_of(shared, folder)) == contents(checkpoint_of(own, folder))
        first = mpirun(ranks, [native, job, "--epochs", "2", "--checkpoint-dir", "parts"], folder)
        assert first.returncode == 0, first.stderr
        second = mpirun(ranks, [native, job, "--resume", "--checkpoint-dir", "parts"], folder)
        assert second.returncode == 0, second.stderr
        assert contents(checkpoint_of(second, folder)) == contents(checkpoint_of(own, folder))


@pytest.mark.parametrize("ranks, also", [(1, ""), (2, ""), (2, "one_copy = true"), (2, "virtual_ranks = 4")])
def test_shared_memory_of_variables_gives_the_same_file(native, tmp_path, ranks, also):
    """The same bits, and a step's memory, which --profile tells, is less."""
    memory = []
    files = []
    for name, optimized in (("own", "false"), ("shared", "true")):
        line = 'optimizer = "adam"'
        job = write_job(tmp_path, name, 2, **{line: f"{line}\n{also}\nmemory_optimize = {optimized}"})
        done = mpirun(ranks, [native, job, "--profile"], tmp_path)
        assert done.returncode == 0, done.stderr
        files.append(contents(checkpoint_of(done, tmp_path)))
        amount, unit = re.search(r"a step's memory is ([0-9.]+) (B|KiB|MiB);", done.stdout).groups()
        memory.append(float(amount) * {"B": 1, "KiB": 1024, "MiB": 1024 ** 2}[unit])
    assert files[0] == files[1]
    assert memory[1] < memory[0]


@pytest.mark.parametrize("text, message", [
    ('optimizer = "adamax"', 'optimizer = "adamax": it must be one of "adagrad", "adam", "adamw", "ftrl", "momentum", "sgd"'),
    ('optimizer = "adam"\n[train.schedule]\nkind = "cosine"\nepochs = 0', "[train.schedule] epochs = 0: it must be"),
    ('optimizer = "adam"\none_copy = true\n[train.clip]\nby = "norm"', "'one_copy' and 'clip' exclude each other"),
])
def test_training_that_cannot_be_is_refused_in_one_line(native, tmp_path, text, message):
    result = mpirun(2, [native, job_with(tmp_path, "bad", text)], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1 and message in complaints(result)[0]
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_resume_auto_begins_and_goes_on(native, tmp_path, ranks):
    whole = mpirun(ranks, [native, write_job(tmp_path, "whole", 6)], tmp_path)
    job = write_job(tmp_path, "parts", 6)
    first = mpirun(ranks, [native, job, "--epochs", "3", "--resume", "auto"], tmp_path)
    assert first.returncode == 0 and "resumed" not in first.stdout, first.stderr
    second = mpirun(ranks, [native, job, "--resume", "auto"], tmp_path)
    assert second.returncode == 0 and "resumed" in second.stdout, second.stderr
    assert contents(checkpoint_of(second, tmp_path)) == contents(checkpoint_of(whole, tmp_path))


@pytest.mark.parametrize("ranks", [1, 2])
def test_profile_names_every_operator_of_a_step(native, tmp_path, ranks):
    result = mpirun(ranks, [native, write_job(tmp_path), "--profile"], tmp_path)
    assert result.returncode == 0, result.stderr
    rows = result.stdout.split("profile of rank 0: ")[1].splitlines()[2:]
    calls = {row.split()[0]: int(row.split()[2]) for row in rows}
    assert {"fc", "adam", "softmax_with_cross_entropy", "fc_grad_weight"} <= calls.keys() and set(calls.values()) == {22}
    assert ("allreduce_start" in calls) == (ranks == 2)


def test_same_run_twice_same_file(native, tmp_path):
    files = []
    for name in ("one", "two"):
        result = mpirun(2, [native, write_job(tmp_path, name, 2)], tmp_path)
        assert result.returncode == 0, result.stderr
        files.append(contents(checkpoint_of(result, tmp_path)))
    assert files[0] == files[1]


VIRTUALLY = {"global_batch = 64": "global_batch = 64\nvirtual_ranks = 4", "every = 3": 'every = 3\nformat = "file"'}


def test_virtual_ranks_give_the_same_file_on_any_number_of_ranks(native, tmp_path):
    files, losses = {}, set()
    for ranks in (1, 2, 3, 4):
        result = mpirun(ranks, [native, write_job(tmp_path, f"on{ranks}", 2, **VIRTUALLY)], tmp_path)
        assert result.returncode == 0, result.stderr
        files[ranks] = contents(checkpoint_of(result, tmp_path))
        assert "global batch 64 (16 for each of 4 virtual ranks), 22 steps an epoch" in result.stdout
        losses.add(tuple(re.findall(r"^ +\d+ +(\d+\.\d{3})", result.stdout, re.M)))
    assert all(file == files[1] for file in files.values()) and len(losses) == 1


def test_virtual_ranks_go_on_with_the_same_bits_on_other_numbers_of_ranks(native, tmp_path):
    whole = run([native, write_job(tmp_path, "whole", 4, **VIRTUALLY)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    job = write_job(tmp_path, "parts", 4, **VIRTUALLY)
    for ranks, epochs in ((4, 1), (1, 2), (3, 3), (2, 4)):
        assert mpirun(ranks, [native, job, "--epochs", epochs, "--resume", "auto"], tmp_path).returncode == 0
    assert contents(tmp_path / "parts/epoch-000004.h5") == contents(checkpoint_of(whole, tmp_path))


def test_virtual_ranks_are_enough_for_all(native, tmp_path):
    job = write_job(tmp_path, **VIRTUALLY)
    few = mpirun(5, [native, job], tmp_path)
    assert few.returncode == 2
    assert complaints(few) == ["dtrain-native: [train] virtual_ranks 4 are fewer than the job's 5 ranks; every rank needs one at least"]


def test_resume_on_another_number_of_ranks(native, tmp_path):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    whole = run([native, write_job(tmp_path, "whole", 2)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    job = write_job(tmp_path, "parts", 2)
    assert mpirun(2, [native, job, "--epochs", "1"], tmp_path).returncode == 0
    resumed = mpirun(4, [native, job, "--resume", tmp_path / "parts" / "epoch-000001"], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    expected = arrays(checkpoint_of(whole, tmp_path))
    found = arrays(checkpoint_of(resumed, tmp_path))
    for name in expected:
        numpy.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-4)


def test_resume_with_another_batch_is_refused(native, tmp_path):
    job = write_job(tmp_path, epochs=1)
    assert run([native, job], tmp_path).returncode == 0
    other = write_job(tmp_path, "other", 2, **{"global_batch = 64": "batch = 64"})
    result = mpirun(2, [native, other, "--resume", tmp_path / "job" / "epoch-000001"], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1
    assert "made with global_batch 64, but this job has 128" in complaints(result)[0]
    assert not (tmp_path / "other").exists()


def test_a_complete_job_resumed_is_complete(native, tmp_path):
    job = write_job(tmp_path, epochs=1)
    first = run([native, job], tmp_path)
    again = run([native, job, "--resume"], tmp_path)
    assert again.returncode == 0, again.stderr
    assert accuracy(again) == accuracy(first)


def damaged_digits(folder, bytes_kept):
    path = folder / "damaged.h5"
    path.write_bytes(DIGITS.read_bytes()[:bytes_kept])
    return path


BAD_INPUTS = {
    "wrong key": (lambda f: [write_job(f, epochs=1, **{"epochs =": "epoch ="})],
                  r"job\.toml:\d+: unknown key 'epoch' in \[train\]; did you mean 'epochs'\?"),
    "wrong value": (lambda f: [write_job(f, **{"[32]": "[0]"})], r"job\.toml:\d+: \[model\] hidden = 0: "),
    "no job file": (lambda f: [f / "none.toml"], r"cannot read the job file .*none\.toml: No such file"),
    "no data file": (lambda f: [write_job(f, digits=f / "none.h5")], r"cannot read .*none\.h5: No such file"),
    "no dataset": (lambda f: [write_job(f, **{'"test/y"': '"test/labels"'})],
                   r"digits\.h5: there is no dataset 'test/labels'"),
    "data file cut off": (lambda f: [write_job(f, digits=damaged_digits(f, 50000))], r"damaged\.h5: .*cut off"),
    "data file cut to its head": (lambda f: [write_job(f, digits=damaged_digits(f, 100))], r"damaged\.h5: .*cut off"),
    "data file empty": (lambda f: [write_job(f, digits=damaged_digits(f, 0))], r"damaged\.h5: this is no HDF5 file"),
    "unknown option": (lambda f: ["--epoch", "3"], r"unknown option --epoch; did you mean --epochs\?"),
    "nothing to resume": (lambda f: [write_job(f), "--resume"], r"--resume: there is no checkpoint in job"),
    "no such checkpoint": (lambda f: [write_job(f), "--resume", f / "none.h5"], r"cannot read .*none\.h5: No such"),
    "no checkpoint": (lambda f: [write_job(f), "--resume", DIGITS], r"digits\.h5: .* no checkpoint of dtrain"),
}


@pytest.mark.parametrize("ranks", [0, 2], ids=["alone", "2 ranks"])
@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_one_line_and_status_2(native, tmp_path, case, ranks):
    arguments_of, expected = BAD_INPUTS[case]
    arguments = arguments_of(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = mpirun(ranks, [native, *arguments], tmp_path) if ranks else run([native, *arguments], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1
    assert re.search(expected, complaints(result)[0])
    if ranks:  # mpirun adds a banner about the exit status
        assert "train loss" not in result.stdout
    else:
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_input_that_only_one_rank_cannot_read(native, tmp_path):
    """Every rank gets its own folder, and one of them lacks the data; all ranks must stop, not hang."""
    for rank, length in enumerate((None, 1000)):
        folder = tmp_path / str(rank)
        folder.mkdir()
        (folder / "digits.h5").write_bytes(DIGITS.read_bytes()[:length])
        write_job(folder, digits="digits.h5")
    script = f'cd {tmp_path}/$OMPI_COMM_WORLD_RANK && exec "{native}" job.toml'
    result = mpirun(2, ["sh", "-c", script], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1
    assert "(rank 1 on " in complaints(result)[0]


def test_checkpoint_folder_that_cannot_be_made(native, tmp_path):
    (tmp_path / "file").write_text("")
    result = mpirun(2, [native, write_job(tmp_path), "--checkpoint-dir", "file/inside"], tmp_path)
    assert result.returncode == 2
    assert len(complaints(result)) == 1
    assert "cannot write checkpoints into file/inside" in complaints(result)[0]


@pytest.mark.parametrize("damaged", ["epoch-000001/index.h5", "epoch-000001/shard-0000.h5", "epoch-000001.h5"])
def test_damaged_checkpoint_is_refused(native, tmp_path, damaged):
    form = "directory" if "/" in damaged else "file"
    job = write_job(tmp_path, epochs=1, **{"keep = 10": f'keep = 10\nformat = "{form}"'})
    assert run([native, job], tmp_path).returncode == 0
    path = tmp_path / "job" / damaged
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:len(whole) // 2], whole[:40], whole[:-9] + b"\x55" + whole[-8:]):
        path.write_bytes(content)
        result = run([native, job, "--resume", "--epochs", "2"], tmp_path)
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) == 1
        assert damaged in result.stderr


def test_resume_auto_takes_the_one_before_a_damaged_one(native, tmp_path):
    whole = mpirun(2, [native, write_job(tmp_path, "whole", 6)], tmp_path)
    job = write_job(tmp_path, "parts", 6)
    assert mpirun(2, [native, job], tmp_path).returncode == 0
    newest = tmp_path / "parts" / "epoch-000006"
    (newest / "shard-0000.h5").unlink()
    result = mpirun(2, [native, job, "--resume", "auto"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert len(complaints(result)) == 1
    assert "epoch-000006/shard-0000.h5" in complaints(result)[0] and "trying parts/epoch-000003" in complaints(result)[0]
    assert "parts/epoch-000003: 3 epochs" in result.stdout
    assert contents(newest) == contents(checkpoint_of(whole, tmp_path))
    for path in (tmp_path / "parts").glob("epoch-*/index.h5"):
        path.write_bytes(b"")
    result = mpirun(2, [native, job, "--resume", "auto"], tmp_path)
    assert result.returncode == 2, result.stdout
    assert "epoch-000003/index.h5" in complaints(result)[-1]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("named", [[], ["parts"]], ids=["of the job", "of a folder"])
def test_of_a_folder_the_newest_whole_checkpoint_is_taken(native, tmp_path, ranks, named):
    whole = mpirun(ranks, [native, write_job(tmp_path, "whole", 3, **{"every = 3": "every = 1"})], tmp_path)
    job = write_job(tmp_path, "parts", 3, **{"every = 3": "every = 1"})
    assert mpirun(ranks, [native, job], tmp_path).returncode == 0
    for epoch in (3, 2):
        path = tmp_path / f"parts/epoch-00000{epoch}/shard-0000.h5"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes(content)
    itself = mpirun(ranks, [native, job, "--resume", "parts/epoch-000003"], tmp_path)
    assert itself.returncode == 2, "who names a checkpoint means that one"
    assert len(complaints(itself)) == 1 and "parts/epoch-000003/shard-0000.h5: the checkpoint is damaged" in complaints(itself)[0]
    result = mpirun(ranks, [native, job, "--resume", *named], tmp_path)
    assert result.returncode == 0, result.stderr
    for line, damaged, next_one in zip(complaints(result), (3, 2), (2, 1), strict=True):
        assert line.startswith(f"dtrain-native: parts/epoch-00000{damaged}/shard-0000.h5: the checkpoint is damaged")
        assert line.endswith(f"; trying parts/epoch-00000{next_one}")
    assert "resumed   parts/epoch-000001: 1 epochs" in result.stdout
    assert contents(tmp_path / "parts/epoch-000003") == contents(checkpoint_of(whole, tmp_path))
    for path in (tmp_path / "parts").glob("epoch-*/index.h5"):
        path.unlink()
    refused = mpirun(ranks, [native, job, "--resume", *named], tmp_path)
    assert refused.returncode == 2
    assert complaints(refused)[-1].startswith("dtrain-native: cannot read parts/epoch-000001/index.h5: ")


def test_a_training_that_explodes_says_so(native, tmp_path):
    job = write_job(tmp_path, epochs=5, optimizer="sgd", **{'"sgd"': '"sgd"\nlearning_rate = 1e29', "0.0625": "1e20"})
    result = mpirun(2, [native, job], tmp_path)
    assert result.returncode == 1
    assert len(complaints(result)) == 1
    assert "smaller learning_rate" in complaints(result)[0]


def test_gpus_that_are_ill_are_told_once_a_node(native, tmp_path, ill_gpus):
    """By the job itself where nobody supervises it. Oracle: what tests/topology/fake_nvml.cpp always says."""
    job = write_job(tmp_path, epochs=300)
    alone = mpirun(2, [WORKER, job], tmp_path, **ill_gpus)
    assert alone.returncode == 0, alone.stderr
    broken = "GPU 0000:5f:00.0: a broken row of its memory could not be replaced; take it out of service"
    assert re.findall(rf"^(\S+): rank 0 on \S+: {broken}", alone.stderr, re.MULTILINE) == ["dtrain-worker"]
    supervised = run([LAUNCH, "--gpus", "0,1", job], tmp_path, **ill_gpus)
    assert supervised.returncode == 0, supervised.stderr
    assert supervised.stderr.count(broken) == 1 and "dtrain-worker: " not in supervised.stderr


def test_launcher_of_another_mpi(native, hydra, tmp_path):
    result = run([hydra, "-np", "2", "sh", "-c", f'"{native}"; echo status $?'], tmp_path)
    assert result.stdout.split() == ["status", "2", "status", "2"]
    assert len(complaints(result)) == 1
    assert "started 2 ranks" in complaints(result)[0]
    assert "mpirun -np 2 dtrain-worker" in complaints(result)[0]
    assert list(tmp_path.iterdir()) == []


def slurm_step(rank, size):
    """What srun --mpi=none sets in a step on this node."""
    return {"SLURM_JOB_ID": "7", "SLURM_JOBID": "7", "SLURM_STEP_ID": "0", "SLURM_STEPID": "0",
            "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NODEID": "0",
            "SLURM_NTASKS": str(size), "SLURM_NPROCS": str(size), "SLURM_STEP_NUM_TASKS": str(size),
            "SLURM_NNODES": "1", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_TASKS_PER_NODE": str(size),
            "SLURM_NODELIST": "localhost", "SLURM_JOB_NODELIST": "localhost", "SLURM_STEP_NODELIST": "localhost"}


def test_srun_without_pmix(native, tmp_path):
    speaking = run([native], tmp_path, **slurm_step(0, 2))
    assert speaking.returncode == 2
    assert len(speaking.stderr.splitlines()) == 1
    assert "srun --mpi=pmix -n 2 dtrain-worker" in speaking.stderr
    silent = run([native], tmp_path, **slurm_step(1, 2))
    assert silent.returncode == 2
    assert silent.stderr == silent.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_shell_in_a_slurm_step_trains_alone(native, tmp_path):
    result = run([native, "--epochs", "1"], tmp_path, **slurm_step(0, 1))
    assert result.returncode == 0, result.stderr
    assert "1 rank," in result.stdout


def test_help_is_printed_once(native, tmp_path):
    result = mpirun(2, [native, "--help"], tmp_path)
    assert result.returncode == 0
    assert result.stdout.count("Examples:") == 1

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of native jobs within epochs, of several ranks, and of jobs that are ended.

Oracles: an undisturbed run of the same job, byte by byte; h5py and numpy, which know nothing of dtrain.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT, WORKER, clean_environment, mpirun, run
from test_native import complaints
from whole_jobs import NATIVE_JOB, natives, printed_by

DIGITS = ROOT / "examples" / "digits.h5"
COLLECTIVE = {"format": '"file"', "collective": "true", "hints": "{ striping_factor = 4, cb_nodes = 1 }"}


def write_job(folder, name, epochs, **checkpoint):
    settings = {"every_steps": 5, "keep": 10, **checkpoint}
    text = NATIVE_JOB.format(name=name, epochs=epochs, optimizer="adam", digits=DIGITS, hidden=32, every=1)
    text = text[:text.index("every = 1")] + "".join(f"{key} = {value}\n" for key, value in settings.items())
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def start(ranks, argv, cwd):
    environment = clean_environment(OMP_NUM_THREADS=1)
    command = ["mpirun", "--oversubscribe", "-np", ranks, *argv] if ranks > 1 else argv
    return subprocess.Popen([str(word) for word in command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def table(text):
    """Loss and accuracies by epoch; the times differ from run to run."""
    return {int(row[0]): row[1:4] for row in (line.split() for line in text.splitlines())
            if len(row) == 6 and row[0].isdigit()}


def newest(folder):
    """The last checkpoint that a job has acknowledged: the one that "latest" names."""
    latest = folder / "latest"
    named = latest.read_text().strip() if latest.exists() else ""
    return named if (folder / named).exists() else ""


def went_on_from(text):
    """None: it was killed before it told."""
    match = re.search(r"^resumed +\S+/(epoch-\S+):", text, re.MULTILINE)
    return match and match[1]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("settings", [{"async": "true"}, {"async": "false"}, {"shards": 2}, {"format": '"file"'},
                                      COLLECTIVE], ids=["async", "sync", "shards", "file", "collective"])
def test_within_epochs(native, tmp_path, ranks, settings):
    result = mpirun(ranks, [native, write_job(tmp_path, "job", 2, keep=4, **settings)], tmp_path)
    assert result.returncode == 0, result.stderr
    suffix = ".h5" if "format" in settings else ""
    # Steps 30, 35 and 40 of all are 8, 13 and 18 of the second epoch.
    assert names(tmp_path / "job") == [f"epoch-000001-step-{step:06}{suffix}" for step in (8, 13, 18)] + [
        f"epoch-000002{suffix}", "latest"]
    whole = (tmp_path / "job" / f"epoch-000002{suffix}")
    expected = whole.read_bytes() if suffix else contents(whole)
    resumed = mpirun(ranks, [native, tmp_path / "job.toml", "--checkpoint-dir", "other", "--resume",
                             tmp_path / "job" / f"epoch-000001-step-000013{suffix}"], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    again = (tmp_path / "other" / f"epoch-000002{suffix}")
    assert (again.read_bytes() if suffix else contents(again)) == expected
    assert table(resumed.stdout) == {2: table(result.stdout)[2]}
    if not suffix:
        shards = min(ranks, settings.get("shards", 1))
        assert names(whole) == ["index.h5"] + [f"shard-{shard:04}.h5" for shard in range(shards)]


ALWAYS_DUE = {"every_steps": 1_000_000_000, "every_minutes": "1e-9", "keep": 1000}


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("settings", [{"async": "true"}, {"async": "false"}, {"format": '"file"'}, COLLECTIVE],
                         ids=["async", "sync", "file", "collective"])
def test_when_its_minutes_are_over(native, tmp_path, ranks, settings):
    """They always are: after every second step at the latest, and after every epoch of 22."""
    mpirun(ranks, [native, write_job(tmp_path, "whole", 2, **settings)], tmp_path)
    job = write_job(tmp_path, "job", 2, **ALWAYS_DUE, **settings)
    result = mpirun(ranks, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    suffix = ".h5" if "format" in settings else ""
    found = names(tmp_path / "job")
    for epoch in (0, 1):
        steps = [int(name.split("-")[3].removesuffix(".h5")) for name in found if name.startswith(f"epoch-{epoch:06}-step-")]
        assert len(steps) >= 10
        assert all(0 < later - step <= 2 for step, later in zip([0, *steps], [*steps, 22]))
        assert f"epoch-{epoch + 1:06}{suffix}" in found
    expected, last = (tmp_path / name / f"epoch-000002{suffix}" for name in ("whole", "job"))
    read = pathlib.Path.read_bytes if suffix else contents
    assert read(last) == read(expected), "writing changes nothing"
    within = next(name for name in found if name.startswith("epoch-000001-step-"))
    resumed = mpirun(ranks, [native, job, "--checkpoint-dir", "other", "--resume", tmp_path / "job" / within], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert read(tmp_path / "other" / f"epoch-000002{suffix}") == read(expected)


@pytest.mark.parametrize("ranks", [1, 2])
def test_minutes_that_are_not_over(native, tmp_path, ranks):
    job = write_job(tmp_path, "job", 3, **ALWAYS_DUE)
    job.write_text(job.read_text().replace("1e-9", "10_000").replace("every_steps = 1000000000\n", ""))
    result = mpirun(ranks, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    assert names(tmp_path / "job") == ["epoch-000003", "latest"], "the last one is always saved"


@pytest.mark.parametrize("ranks", [1, 2])
def test_epochs_of_one_step_are_saved_when_the_minutes_are_over(native, tmp_path, ranks):
    job = write_job(tmp_path, "job", 4, **ALWAYS_DUE)
    job.write_text(job.read_text().replace("global_batch = 64", "global_batch = 1408"))
    result = mpirun(ranks, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    assert names(tmp_path / "job") == [f"epoch-{epoch:06}" for epoch in (1, 2, 3, 4)] + ["latest"]


def test_on_another_number_of_ranks_the_line_of_the_epoch_is_that_of_all_its_samples(native, tmp_path):
    job = write_job(tmp_path, "job", 1)
    whole = mpirun(2, [native, job], tmp_path)
    resumed = run([native, job, "--checkpoint-dir", "other", "--resume", tmp_path / "job/epoch-000000-step-000020"], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    for one, other in zip(table(whole.stdout)[1], table(resumed.stdout)[1]):
        assert abs(float(one) - float(other)) <= 0.003


def test_h5py_reads_shards_as_one_file(native, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    for name, settings in (("directory", {"shards": 2}), ("file", {"format": '"file"'}), ("collective", COLLECTIVE)):
        assert mpirun(2, [native, write_job(tmp_path, name, 1, **settings)], tmp_path).returncode == 0
    where = os.getcwd()
    os.chdir("/")  # shards are found from the index, wherever the reader runs
    try:
        with h5py.File(tmp_path / "directory/epoch-000001/index.h5") as index, h5py.File(
                tmp_path / "file/epoch-000001.h5") as one, h5py.File(tmp_path / "collective/epoch-000001.h5") as together:
            for group in ("parameters", "optimizer"):
                assert set(index[group]) == set(one[group])
                for tensor in one[group]:
                    for other in (index, together):
                        numpy.testing.assert_array_equal(other[group][tensor][()], one[group][tensor][()])
            assert any(index["optimizer"][name].is_virtual for name in index["optimizer"])
            assert dict(index["job"].attrs) == dict(one["job"].attrs)
            assert {key: index.attrs[key] for key in ("epoch", "step", "seed")} == {
                key: one.attrs[key] for key in ("epoch", "step", "seed")}
    finally:
        os.chdir(where)


def test_ranks_write_one_file_together_and_any_number_goes_on(native, tmp_path):
    job = write_job(tmp_path, "job", 2, **COLLECTIVE)
    job.write_text(job.read_text().replace("[checkpoint]", "virtual_ranks = 4\n[checkpoint]"))
    assert mpirun(2, [native, job], tmp_path).returncode == 0
    expected = (tmp_path / "job/epoch-000002.h5").read_bytes()
    for ranks in (1, 4):
        resumed = mpirun(ranks, [native, job, "--checkpoint-dir", f"on{ranks}", "--resume",
                                 tmp_path / "job/epoch-000001-step-000018.h5"], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert (tmp_path / f"on{ranks}/epoch-000002.h5").read_bytes() == expected


def listed(folder, cwd):
    """What --inspect says of each checkpoint, by its name; the last column may have blanks."""
    shown = run([WORKER, "--inspect", folder], cwd)
    assert shown.returncode == 0, shown.stderr
    head, *lines = shown.stdout.split("\n\n")[0].splitlines()
    assert re.split("  +", head) == ["checkpoint", "epochs", "and steps", "steps in all", "written", "ranks", "servers",
                                     "bytes", "state"]
    return {line.split("  ")[0]: re.split("  +", line)[1:] for line in lines}


def bytes_of(checkpoint):
    return sum(path.stat().st_size for path in ([checkpoint] if checkpoint.is_file() else checkpoint.iterdir()))


@pytest.mark.parametrize("settings", [{}, {"shards": 2}, {"format": '"file"'}, COLLECTIVE],
                         ids=["directory", "shards", "file", "collective"])
def test_inspect_lists_the_checkpoints_of_a_folder(native, tmp_path, settings):
    """Oracle: the job file (22 steps an epoch, 2 ranks), and what the file system says."""
    assert mpirun(2, [native, write_job(tmp_path, "job", 2, every_steps=15, **settings)], tmp_path).returncode == 0
    suffix = ".h5" if "format" in settings else ""
    folder = tmp_path / "job"
    first, second, last = (f"{name}{suffix}" for name in ("epoch-000000-step-000015", "epoch-000001-step-000008",
                                                          "epoch-000002"))

    def expected(name, *stands, ranks, state):
        info = (folder / name).stat()
        written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(info.st_mtime))
        return [*stands, written, ranks, "-", str(bytes_of(folder / name)), state]

    assert listed("job", tmp_path) == {
        first: expected(first, "0", "15", "15", ranks="2", state="intact"),
        second: expected(second, "1", "8", "30", ranks="2", state="intact"),
        last: expected(last, "2", "0", "44", ranks="-", state="intact, latest")}
    chance = random.Random(7)
    for part in [folder / first] if suffix else (folder / first).iterdir():
        content = bytearray(part.read_bytes())
        content[chance.randrange(len(content))] ^= 1
        original = part.read_bytes()
        part.write_bytes(content)
        state = listed(folder, tmp_path)[first][-1]
        assert state.startswith(f"{part}: "), state
        part.write_bytes(original)
    assert listed("job", tmp_path)[first][-1] == "intact"
    (folder / "latest").unlink()
    listing = run([WORKER, "--inspect", "job"], tmp_path).stdout
    assert listing.endswith(f"\n\njob/latest names none of them; --resume takes {last}\n") and ", latest" not in listing


def test_inspect_of_a_folder_without_checkpoints(tmp_path):
    (tmp_path / "empty").mkdir()
    refused = run([WORKER, "--inspect", "empty"], tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "dtrain-worker: empty: this folder is no checkpoint, and there is none in it\n"


@pytest.mark.parametrize("ranks", [(1,), (2,), (1, 2, 4)], ids=["1", "2", "any"])
def test_killed_at_any_moment_it_ends_as_if_undisturbed(native, tmp_path, ranks):
    """After each kill the job goes on, on any of these numbers of ranks: with virtual ranks where they differ."""
    epochs = 20

    def write(name):
        path = write_job(tmp_path, name, epochs, every_steps=3)
        if len(ranks) > 1:
            path.write_text(path.read_text().replace("[checkpoint]", "virtual_ranks = 4\n[checkpoint]"))
        return path

    undisturbed = mpirun(ranks[0], [native, write("whole")], tmp_path)
    assert undisturbed.returncode == 0, undisturbed.stderr
    job = write("parts")
    chance = random.Random(sum(ranks))
    lines = {}
    seconds = 1.5
    kills = 0
    while kills < (50 if os.environ.get("DTRAIN_STRESS") else 3):
        begin = time.monotonic()
        before = newest(tmp_path / "parts")
        shown = ""
        child = start(chance.choice(ranks), [native, job, "--resume", "auto"], tmp_path)
        try:
            child.wait(timeout=chance.uniform(0.1, seconds))
            for path in (tmp_path / "parts").glob("epoch-*"):  # complete: everything once more
                subprocess.run(["rm", "-r", path], check=True)
        except subprocess.TimeoutExpired:
            shown = newest(tmp_path / "parts")
            os.kill(chance.choice(natives(child.pid) or [child.pid]), signal.SIGKILL)
            kills += 1
        out = printed_by(child)
        assert newest(tmp_path / "parts") >= shown, "an acknowledged checkpoint is gone"
        assert went_on_from(out) in (None, before or went_on_from(out))
        lines.update(table(out))
        seconds = max(seconds, time.monotonic() - begin)
    last = mpirun(ranks[-1], [native, job, "--resume", "auto"], tmp_path)
    assert last.returncode == 0, last.stderr
    lines.update(table(last.stdout))
    assert contents(tmp_path / "parts" / f"epoch-{epochs:06}") == contents(tmp_path / "whole" / f"epoch-{epochs:06}")
    if len(ranks) == 1:  # else sums of losses are rounded otherwise
        assert lines == {epoch: row for epoch, row in table(undisturbed.stdout).items() if epoch in lines}
    assert not [name for name in names(tmp_path / "parts") if name.startswith(".tmp")]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("way", ["SIGUSR1", "time limit"])
def test_stopped_in_time_it_leaves_a_checkpoint_and_goes_on(native, tmp_path, ranks, way):
    epochs = 10_000_000
    job = write_job(tmp_path, "job", epochs, every_steps=1_000_000_000)
    limit = ["--time-limit", "1.5"] if way == "time limit" else []
    child = start(ranks, [native, job, *limit], tmp_path)
    if way == "SIGUSR1":
        deadline = time.monotonic() + 30
        for line in child.stdout:
            assert time.monotonic() < deadline
            if line.split()[:1] == ["1"]:
                break
        child.send_signal(signal.SIGUSR1)  # mpirun hands it on
    out, err = child.communicate(timeout=60)
    assert child.returncode == 75, err
    stopped = re.search(r"^not finished  stopped in time after (\d+) epochs and (\d+) steps; go on with --resume$", out, re.MULTILINE)
    assert stopped, out
    saved = tmp_path / re.search(r"^checkpoint +(\S+)$", out, re.MULTILINE)[1]
    assert saved.name == f"epoch-{int(stopped[1]):06}-step-{int(stopped[2]):06}"
    resumed = mpirun(ranks, [native, job, "--resume", "auto", "--epochs", int(stopped[1]) + 1], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    whole = mpirun(ranks, [native, job, "--checkpoint-dir", "whole", "--epochs", int(stopped[1]) + 1], tmp_path)
    name = f"epoch-{int(stopped[1]) + 1:06}"
    assert contents(tmp_path / "job" / name) == contents(tmp_path / "whole" / name), whole.stderr


@pytest.mark.parametrize("kilobytes", [20, 64, 96])
@pytest.mark.parametrize("settings", [{"async": "true"}, {"async": "false"}, {"format": '"file"'}, COLLECTIVE],
                         ids=["async", "sync", "file", "collective"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_disk_that_is_full_is_told_once(native, small_disk, tmp_path, settings, ranks, kilobytes):
    folder = small_disk(kilobytes)  # one to three checkpoints have room
    job = write_job(tmp_path, "job", 2, every_steps=1, **settings)
    result = mpirun(ranks, [native, job, "--checkpoint-dir", folder / "job"], tmp_path)
    assert result.returncode == 1, result.stdout
    lines = complaints(result)
    assert len(lines) == 1 and "cannot write" in lines[0] and "No space left" in lines[0], result.stderr
    assert [path.name for path in folder.rglob("*.tmp*")] == []


@pytest.fixture
def small_disk(tmp_path):
    """Makes a folder with that many kB of its own; as root only."""
    mounted = []

    def mount(kilobytes):
        folder = tmp_path / "disk"
        folder.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", folder],
                                               capture_output=True, check=False).returncode != 0:
            pytest.skip("mounting a small disk takes root")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=True)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Click-through jobs whose logs stay on disk, by [data] cache.

Oracles: the same job with its logs in memory, byte by byte; the kernel, which counts the most memory that a process had.
"""
import fcntl
import os
import re
import subprocess
import threading
import time

import pytest

from conftest import BUILD, Job, mpirun, run
from test_checkpoints import small_disk  # noqa: F401: a fixture
from test_clicks import CRITEO, FORMATS, JOB, clicks, contents, rows, train  # noqa: F401: a fixture
from test_native import complaints

LAUNCH = BUILD / "src" / "bin" / "dtrain-launch"
CACHED = '\ncache = "cache"\nmemory = "200kB"'


def checksum(result):
    return re.search(r"checksum (\w{16})", result.stdout)[1]


def caches(folder):
    return sorted(path for path in (folder / "cache").iterdir() if path.suffix == ".clicks")


def test_the_results_are_those_of_logs_in_memory(native, tmp_path, clicks):
    """The logs are 1.5 MB each in memory."""
    for ranks, more in ((1, ""), (2, ""), (3, "virtual_ranks = 8"), (2, 'last_batch = "random"')):
        expected = train(native, tmp_path, clicks, ranks, "expected", batch=300, train=more)
        found = train(native, tmp_path, clicks, ranks, "found", batch=300, train=more, data=CRITEO + CACHED)
        assert rows(found) == rows(expected) and len(rows(found)) == 2
        assert checksum(found) == checksum(expected)
        assert contents(tmp_path / "found" / "epoch-000002") == contents(tmp_path / "expected" / "epoch-000002")
        assert found.stdout.count("\ncache ") + found.stdout.startswith("cache ") == (2 if ranks == 1 else 0)
    assert [path.name.rsplit("-", 1)[0] for path in caches(tmp_path)] == ["test.tsv", "train.tsv"]


@pytest.mark.parametrize("written", FORMATS)
def test_logs_of_every_format(native, tmp_path, clicks, written):
    data = FORMATS[written](clicks, tmp_path)
    expected = train(native, tmp_path, clicks, 1, "expected", data=data)
    found = train(native, tmp_path, clicks, 1, "found", data=data + CACHED)
    assert contents(tmp_path / "found" / "epoch-000002") == contents(tmp_path / "expected" / "epoch-000002")
    assert rows(found) == rows(expected)


def test_with_parameter_servers(tmp_path, clicks):
    job = Job(tmp_path)
    results = []
    for name, more in (("expected", ""), ("found", CACHED)):
        (tmp_path / f"{name}.toml").write_text(JOB.format(data=CRITEO.format(folder=clicks) + more, name=name, batch=128, train="",
                                                          checkpoint="every_steps = 100"))
        results.append(job.launch("--server_num", 2, "--worker_num", 2, f"{name}.toml", timeout=120))
        assert results[-1].returncode == 0, results[-1].stderr
    expected, found = results
    assert rows(found) == rows(expected) and len(rows(found)) == 2
    assert checksum(found) == checksum(expected)
    resumed = job.launch("--server_num", 2, "--worker_num", 2, "found.toml", "--resume", "found/epoch-000001-step-000043", timeout=120)
    assert resumed.returncode == 0, resumed.stderr
    assert checksum(resumed) == checksum(expected) and rows(resumed) == rows(expected)[1:]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_resumed_run_is_the_undisturbed_run(native, tmp_path, clicks, ranks):
    """From the checkpoint of a job with its logs in memory, too."""
    train(native, tmp_path, clicks, ranks, "whole", checkpoint="every_steps = 100")
    for moment in ("epoch-000000-step-000100", "epoch-000001-step-000043"):
        train(native, tmp_path, clicks, ranks, moment, checkpoint="every_steps = 100", data=CRITEO + CACHED,
              options=["--resume", tmp_path / "whole" / moment])
        assert contents(tmp_path / moment / "epoch-000002") == contents(tmp_path / "whole" / "epoch-000002")


def peak_memory(native, cwd, name, data):
    """In bytes, of a run of one rank."""
    job = cwd / f"{name}.toml"
    job.write_text(JOB.format(data=data, name=name, batch=4096, train="", checkpoint="").replace("epochs = 2", "epochs = 1"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen([native, job, "--no-progress"], cwd=cwd, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    output = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    assert child.returncode == 0, output
    return used.ru_maxrss * 1024


def test_memory_is_bounded(native, tmp_path):
    """250,000 samples of Criteo's columns are 66 MB in memory; here 2 MB of them are, and the order of an epoch, 1 MB."""
    lines = "".join(f"{i % 2}" + "".join(f"\t{(i * k) % 97}" for k in range(13)) + "".join(f"\t{i % (k + 5):x}" for k in range(26))
                    + "\n" for i in range(1000))
    (tmp_path / "few.tsv").write_text(lines)
    with (tmp_path / "many.tsv").open("w") as out:
        for _ in range(250):
            out.write(lines)
    in_memory = 250_000 * (26 * 8 + 13 * 4 + 4)
    peaks = {}
    for name, more in (("few", CACHED), ("many", '\ncache = "cache"\nmemory = "2MB"'), ("whole", "")):
        log = tmp_path / ("few.tsv" if name == "few" else "many.tsv")
        peaks[name] = peak_memory(native, tmp_path, name, f'format = "criteo"\ntrain = {{ file = "{log}" }}{more}')
    # Where MPI itself has needed more before the log is read, the peak of a few samples is that.
    assert peaks["whole"] - peaks["few"] > in_memory / 2
    assert peaks["many"] - peaks["few"] < 8e6
    assert in_memory / 2e6 > 30


def test_a_cache_is_made_once_for_each_state_of_its_log(native, tmp_path, clicks):
    data = CRITEO + CACHED
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_bytes((clicks / name).read_bytes())
    first = train(native, tmp_path, tmp_path, 2, data=data)
    before = {path: path.stat().st_ino for path in caches(tmp_path)}
    again = train(native, tmp_path, tmp_path, 2, data=data)
    assert {path: path.stat().st_ino for path in caches(tmp_path)} == before
    assert "cache  " in first.stdout and "cache  " not in again.stdout
    assert checksum(first) == checksum(again)

    lines = (tmp_path / "train.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "train.tsv").write_text("".join(lines[100:]))
    changed = train(native, tmp_path, tmp_path, 2, data=data)
    messages = [line for line in changed.stdout.splitlines() if line.startswith("cache  ")]
    assert len(messages) == 1 and messages[0].endswith("train.tsv; the log has changed"), messages
    assert "19,900 samples to train on" in changed.stdout
    assert checksum(changed) == checksum(train(native, tmp_path, tmp_path, 2, "memory"))
    assert {path: path.stat().st_ino for path in caches(tmp_path)}[caches(tmp_path)[0]] == before[caches(tmp_path)[0]]


@pytest.mark.parametrize("damage, message", [("cut off", "it has 1000000 bytes instead of "),
                                             ("flipped", "samples 19827 to 20000 are damaged")])
def test_a_damaged_cache_is_told_and_made_anew(native, tmp_path, clicks, damage, message):
    expected = train(native, tmp_path, clicks, 2, data=CRITEO + CACHED)
    cache = caches(tmp_path)[1]
    whole = cache.read_bytes()
    if damage == "cut off":
        os.truncate(cache, 1_000_000)
    else:
        cache.write_bytes(whole[:-5] + bytes([whole[-5] ^ 4]) + whole[-4:])
    found = train(native, tmp_path, clicks, 2, data=CRITEO + CACHED)
    lines = complaints(found)
    assert len(lines) == 1
    assert lines[0].startswith(f"dtrain-native: cache/{cache.name}: {message}") and lines[0].endswith("; it is made anew")
    assert checksum(found) == checksum(expected)
    assert cache.read_bytes() == whole


def test_ranks_wait_for_the_cache_longer_than_for_each_other(native, tmp_path, clicks):
    """Another process makes it, which takes 3 s; the ranks wait 1 s for each other."""
    first = train(native, tmp_path, clicks, 1, data=CRITEO + CACHED)
    for cache in caches(tmp_path):
        cache.unlink()
    with (tmp_path / "cache" / f"{sorted(path.name for path in (tmp_path / 'cache').iterdir())[0]}").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(3, lambda: fcntl.flock(lock, fcntl.LOCK_UN)).start()
        begun = time.monotonic()
        result = train(native, tmp_path, clicks, 2, data=CRITEO + CACHED, DTRAIN_COMM_TIMEOUT=1)
        assert time.monotonic() - begun > 3
    assert rows(result)[0] == pytest.approx(rows(first)[0], abs=3e-4)


def test_a_job_that_is_killed_while_it_makes_a_cache_leaves_none(native, tmp_path):
    """It reads a pipe that somebody else fills, which is never a whole log."""
    os.mkfifo(tmp_path / "train.tsv")
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(data=f'format = "criteo"\ntrain = {{ file = "train.tsv" }}{CACHED}', name="none", batch=1, train="",
                              checkpoint=""))
    line = "1" + "\t5" * 39 + "\n"
    with subprocess.Popen([native, job], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        with (tmp_path / "train.tsv").open("w") as pipe:
            pipe.write(line * 5000)
            pipe.flush()
            deadline = time.monotonic() + 30
            while not list(tmp_path.glob("cache/*.tmp")):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            child.kill()
    assert caches(tmp_path) == []
    (tmp_path / "train.tsv").unlink()
    (tmp_path / "train.tsv").write_text(line * 10)
    assert run([native, job], tmp_path).returncode == 0
    assert sorted(path.suffix for path in (tmp_path / "cache").iterdir()) == [".clicks", ".lock"]


def refused(native, cwd, data, ranks=2):
    job = cwd / "job.toml"
    job.write_text(JOB.format(data=data, name="none", batch=128, train="", checkpoint=""))
    result = mpirun(ranks, [native, job], cwd)
    assert result.returncode == 2, result.stderr
    assert not (cwd / "none").exists()
    lines = complaints(result)
    assert len(lines) == 1, result.stderr
    return lines[0].removeprefix("dtrain-native: ")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_folder_that_cannot_be_written_is_one_line(native, tmp_path, clicks, ranks):
    data = CRITEO.format(folder=clicks)
    (tmp_path / "file").write_text("")
    assert refused(native, tmp_path, f'{data}\ncache = "file/cache"', ranks) == (
        "[data] cache: cannot write into file/cache: Not a directory")
    assert refused(native, tmp_path, f'{data}\ncache = ""', ranks).endswith(
        '[data] cache = "": it must be a text in quotes that is not empty')


def test_a_disk_that_is_full_is_one_line(native, small_disk, tmp_path, clicks):  # noqa: F811
    disk = small_disk(700)
    assert refused(native, tmp_path, f'{CRITEO.format(folder=clicks)}\ncache = "{disk}/cache"').endswith("No space left on device")
    assert [path.suffix for path in (disk / "cache").iterdir()] == [".lock"]


def test_a_bad_line_names_its_place(native, tmp_path, clicks):
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_bytes((clicks / name).read_bytes())
    with (tmp_path / "train.tsv").open("a") as out:
        out.write("1\t1\t2" + "\tfg" * 8 + "\n")
    assert refused(native, tmp_path, CRITEO.format(folder=tmp_path) + CACHED) == (
        f"{tmp_path}/train.tsv:20001: 'fg' in column 4 is no category: a hexadecimal number of up to 16 digits")
    assert caches(tmp_path) == []


def test_classifiers_have_no_cache(native, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text('[data]\ncache = "c"\ntrain = { file = "a.h5" }\n')
    result = run([native, job], tmp_path)
    assert result.returncode == 2
    assert result.stderr == f'dtrain-native: {job}:2: [data] \'cache\' is for [model] kind = "click_through"\n'

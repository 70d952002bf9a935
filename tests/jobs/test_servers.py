# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Native jobs with parameter servers, from all command lines.

Oracles: with sync the job of any number of servers, and an undisturbed one, byte by byte; the job without servers, by
its AUC; what the messages promise.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import h5py
import pytest

from conftest import BUILD, mpirun, mpirun_of, run, without_debuggers
from test_checkpoints import listed, newest, small_disk, went_on_from  # noqa: F401: a fixture
from test_clicks import MASK, auc_and_best, clicks, computed, contents, rows  # noqa: F401: a fixture
from test_native import complaints
from whole_jobs import natives, printed_by

WORKER = BUILD / "src" / "bin" / "dtrain-worker"
LAUNCH = BUILD / "src" / "bin" / "dtrain-launch"
CLICKS = """
[model]
kind = "click_through"
embedding = 8
[data]
format = "criteo"
integers = 2
slots = 8
train = {{ file = "{folder}/train.tsv" }}
test = {{ file = "{folder}/test.tsv" }}
[train]
epochs = {epochs}
global_batch = 128
seed = 1
{more}
"""


def write_job(cwd, clicks, name="job", epochs=2, servers="", checkpoint="", more=""):
    path = cwd / f"{name}.toml"
    text = CLICKS.format(folder=clicks, epochs=epochs, more=more)
    if servers is not None:
        text += f"[servers]\n{servers}\n"
    if checkpoint:
        text += f'[checkpoint]\ndir = "{name}"\n{checkpoint}\n'
    path.write_text(text)
    return path


def table_rows(content):
    """Of a table's file of one block: rows are inserted in the order in which pulls arrive, so their order is no matter."""
    first = content.split(b"\n", 1)[0]
    begin = int(first.split()[4])
    header = json.loads(content[len(first):begin].rstrip(b"\0"))
    size, count = header["row_bytes"], header["rows"]
    assert count * size <= header["block_bytes"]
    return header["step"], sorted(content[begin + i * size:begin + (i + 1) * size] for i in range(count))


def needs(folder):
    """The checkpoints that this one goes on from."""
    text = (folder / "servers.json").read_text().split("\n", 1)[1]
    return [folder.parent / name for name in json.loads(text)["needs"]]


def merged(saves):
    """All rows of a table's file, by those of the saves before."""
    rows = {}
    for save in saves:
        step, changed = table_rows(save)
        rows |= {row[:8]: row for row in changed}
    return step, sorted(rows.values())


def saved(folder):
    """What servers have saved; servers.json has sums of the rest."""
    return {name: merged([(before / name).read_bytes() for before in needs(folder)] + [content])
            if name.endswith(".rows") else content
            for name, content in contents(folder).items() if name != "servers.json"}


def checksum(result):
    return re.search(r"checksum (\w{16})", result.stdout)[1]


def test_sync_servers_train_as_ranks_do_without_them(native, tmp_path, clicks):
    """The same batches; only the rows' first values differ, which go by the ids here and by places there."""
    alone = mpirun(2, [native, write_job(tmp_path, clicks, "alone", servers=None)], tmp_path)
    job = write_job(tmp_path, clicks, servers="count = 1")
    one = mpirun(3, [native, job], tmp_path)
    assert one.returncode == 0, one.stderr
    assert "2 trainers with 1 parameter server (sync), global batch 128 (64 per rank)" in one.stdout
    assert auc_and_best(one)[0] == pytest.approx(auc_and_best(alone)[0], abs=0.004)
    two = mpirun(4, [native, write_job(tmp_path, clicks, servers="count = 2")], tmp_path)
    by_name = mpirun(5, [native, write_job(tmp_path, clicks, servers='count = 3\nsplit_method = "hash_name"')], tmp_path)
    assert rows(one) == rows(two) == rows(by_name)
    assert checksum(one) == checksum(two) == checksum(by_name)


@pytest.mark.parametrize("who", ["server", "trainer"])
def test_the_rank_that_a_hang_waits_for(job, clicks, who):
    """Ranks that wait for messages poll, so that they use the processor: what they wait for is in their operation logs."""
    file = write_job(job.folder, clicks, epochs=1_000_000)
    child = job.start(LAUNCH, "--quiet", "--server_num", 1, "--worker_num", 2, "--grace", 1, "--hang-timeout", 5, file,
                      env=without_debuggers(job.folder))

    def trains():
        log = job.folder / "log/workerlog.0"
        return log.exists() and re.search(r"^ +1 ", log.read_text(), re.M)
    job.wait_until(lambda: trains() and len(job.pids_of_ranks(child)) == 3)
    pids = job.pids_of_ranks(child)
    server = next(rank for rank, pid in enumerate(pids) if is_rank(pathlib.Path(f"/proc/{pid}"), job.folder, True))
    culprit = server if who == "server" else (server + 1) % 3
    os.kill(pids[culprit], signal.SIGSTOP)
    err = child.communicate(timeout=60)[1]
    assert child.returncode == 124, err
    assert re.search(rf"it hung: rank {culprit} on \S+ is stopped by a signal", err), err
    if who == "server":
        assert re.search(rf"it has not sent what is waited for in answer to \w+ from rank {server} of servers and trainers", err), err
    assert job.left_behind() == []


@pytest.mark.parametrize("mode", ["async", "half_async", "half_async\"\nstaleness = \"4", "geo", "sync\"\nwire = \"bfloat16"])
def test_the_other_modes_reach_nearly_the_same(native, tmp_path, clicks, mode):
    """Within 0.01 of sync on 20,000 samples, with two trainers and two servers."""
    settings = f'count = 2\nmode = "{mode}"'.replace('staleness = "4"', "staleness = 4")
    found = mpirun(4, [native, write_job(tmp_path, clicks, servers=settings)], tmp_path)
    assert found.returncode == 0, found.stderr
    sync = mpirun(4, [native, write_job(tmp_path, clicks, servers="count = 2")], tmp_path)
    assert auc_and_best(found)[0] == pytest.approx(auc_and_best(sync)[0], abs=0.01)


def write_digits(folder, servers, more=""):
    examples = pathlib.Path(__file__).parents[2] / "examples"
    text = (examples / "digits.toml").read_text().replace('"digits.h5"', f'"{examples}/digits.h5"')
    job = folder / "digits.toml"
    table = "" if servers is None else f"[servers]\n{servers}\n"
    job.write_text(f'{text.split("[checkpoint]")[0]}\n{table}{more}\n')
    return job


@pytest.mark.parametrize("mode, bound", [("sync", 0.01), ("async", 0.03), ("half_async", 0.03), ("geo", 0.03)])
def test_dense_models_have_servers_too(native, tmp_path, mode, bound):
    """The digits: within these bounds of the accuracy that ranks reach without servers, 0.9769."""
    result = mpirun(4, [native, write_digits(tmp_path, f'mode = "{mode}"\ncount = 2')], tmp_path)
    assert result.returncode == 0, result.stderr
    assert float(re.search(r"test accuracy (\d\.\d+)", result.stdout)[1]) == pytest.approx(0.9769, abs=bound)


def test_a_resumed_geo_job_goes_on_with_the_state_of_the_optimizer(native, tmp_path):
    """Losses are those of the undisturbed job; with Adam's moments from zero on again they are up to 0.005 away."""
    job = write_digits(tmp_path, 'mode = "geo"\npush_every = 10\ncount = 1', '[checkpoint]\ndir = "saved"\nkeep = 100')
    whole = mpirun(2, [native, job], tmp_path)
    assert whole.returncode == 0, whole.stderr
    losses = re.findall(r"^ +\d+ +(\d\.\d{4}) ", whole.stdout, re.MULTILINE)
    saved = sorted((tmp_path / "saved").glob("*-*"))[2]
    resumed = mpirun(2, [native, job, "--resume", saved], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    again = re.findall(r"^ +\d+ +(\d\.\d{4}) ", resumed.stdout, re.MULTILINE)
    assert [float(loss) for loss in again] == pytest.approx([float(loss) for loss in losses[3:]], abs=0.0003)


@pytest.mark.parametrize("servers", [1, 2])
def test_a_resumed_geo_job_of_one_trainer_has_the_bits_of_the_undisturbed_one(native, tmp_path, clicks, servers):
    """With Adam's moments of the rows. Changes are sent at each step: else it depends on time when their sums are
    rounded."""
    settings = {"servers": f'mode = "geo"\npush_every = 1\ncount = {servers}', "checkpoint": "every_steps = 100\nkeep = 100"}
    whole = mpirun(servers + 1, [native, write_job(tmp_path, clicks, "whole", **settings)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    expected = saved(tmp_path / "whole" / "epoch-000002")
    assert "trainer-0000-of-0001.h5" in expected
    for middle in ("epoch-000000-step-000100", "epoch-000001-step-000043"):
        job = write_job(tmp_path, clicks, f"from-{middle}", **settings)
        resumed = mpirun(servers + 1, [native, job, "--resume", tmp_path / "whole" / middle], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert checksum(resumed) == checksum(whole)
        assert saved(tmp_path / f"from-{middle}" / "epoch-000002") == expected


def test_another_number_of_geo_trainers_begins_the_rows_state_anew(native, tmp_path, clicks):
    settings = 'mode = "geo"\npush_every = 10\ncount = 1'
    job = write_job(tmp_path, clicks, epochs=1, servers=settings, checkpoint="every_steps = 40\nkeep = 100")
    assert mpirun(3, [native, job], tmp_path).returncode == 0
    folder = tmp_path / "job" / "epoch-000000-step-000080"
    assert {"trainer-0000-of-0002.h5", "trainer-0001-of-0002.h5"} < set(contents(folder))
    for trainers in (1, 2):
        again = write_job(tmp_path, clicks, f"on{trainers}", epochs=1, servers=settings, checkpoint="every = 1")
        resumed = mpirun(1 + trainers, [native, again, "--resume", folder], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        anew = f"{folder}: it has no optimizer state of rows by 1 trainer: that begins anew"
        assert (anew in resumed.stderr) == (trainers == 1), resumed.stderr
    damaged = folder / "trainer-0001-of-0002.h5"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 4
    damaged.write_bytes(content)
    refused = mpirun(3, [native, write_job(tmp_path, clicks, "on2", epochs=1, servers=settings), "--resume", folder], tmp_path)
    assert refused.returncode == 2 and f"{damaged}: it is damaged" in refused.stderr, refused.stderr


def test_servers_by_the_launcher_and_by_two_programs_of_mpirun(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks)
    programs = run(mpirun_of((2, native, job), (2, native, job)), tmp_path)
    assert programs.returncode == 0, programs.stderr
    assert "2 trainers with 2 parameter servers (sync)" in programs.stdout
    job = write_job(tmp_path, clicks, servers=None)
    launched = run([LAUNCH, "--server_num", "2", "--worker_num", "2", job], tmp_path)
    assert launched.returncode == 0, launched.stderr
    log = (tmp_path / "log" / "workerlog.0").read_text()
    assert "2 trainers with 2 parameter servers (sync)" in log
    assert checksum(programs) in log
    # On a busy machine the launcher may be sooner than the server's own end.
    output = (tmp_path / "log" / "serverlog.1").read_text()
    assert re.fullmatch(r"((\[SignalInfo: \*\*\* SIGTERM .*\]\n)?dtrain: stopped by SIGTERM because the others are done\n)?", output)


def two_programs(native, job, cwd, first, second):
    return run(mpirun_of((first, native, job), (second, native, job)), cwd)


def test_two_programs_of_a_click_through_job_are_servers_and_trainers(native, tmp_path, clicks):
    """Oracle: the same job as one program, whose file has the count; and that of two ranks without servers has other bits."""
    programs = two_programs(native, write_job(tmp_path, clicks, "two", servers=None), tmp_path, 1, 2)
    assert programs.returncode == 0, programs.stderr
    assert "2 trainers with 1 parameter server (sync)" in programs.stdout
    counted = mpirun(3, [native, write_job(tmp_path, clicks, servers="count = 1")], tmp_path)
    assert checksum(programs) == checksum(counted)
    assert rows(programs) == rows(counted)
    alone = mpirun(3, [native, write_job(tmp_path, clicks, "alone", servers=None)], tmp_path)
    assert "training  3 ranks," in alone.stdout and checksum(alone) != checksum(programs)


def test_two_programs_of_a_classifier_are_ranks(native, tmp_path):
    """Oracle: the same job as one program."""
    job = write_digits(tmp_path, None)
    programs = two_programs(native, job, tmp_path, 1, 2)
    assert programs.returncode == 0, programs.stderr
    assert "training  3 ranks," in programs.stdout and "server" not in programs.stdout
    assert checksum(programs) == checksum(mpirun(3, [native, job], tmp_path))


def test_three_programs_of_a_click_through_job_are_ranks(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers=None, epochs=1)
    programs = run(mpirun_of(*[(1, native, job)] * 3), tmp_path)
    assert programs.returncode == 0, programs.stderr
    assert "training  3 ranks," in programs.stdout


@pytest.mark.parametrize("setting", ["virtual_ranks = 4", "one_copy = true", "local_sgd = 4"])
def test_two_programs_refuse_what_servers_cannot_do(native, tmp_path, clicks, setting):
    job = write_job(tmp_path, clicks, servers=None, more=setting)
    refused = two_programs(native, job, tmp_path, 1, 2)
    assert refused.returncode == 2
    name = setting.split()[0]
    assert refused.stderr.splitlines()[0] == (
        f"dtrain-native: [train] '{name}' and parameter servers exclude each other: servers add the gradients; "
        "leave it out, or start all ranks as one program without servers")
    assert refused.stdout == ""


def test_a_resumed_job_is_the_undisturbed_one_with_any_number_of_servers(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, "whole", epochs=2, servers="count = 2", checkpoint="every_steps = 100\nkeep = 100")
    whole = mpirun(4, [native, job], tmp_path)
    assert whole.returncode == 0, whole.stderr
    expected = saved(tmp_path / "whole" / "epoch-000002")
    middle = tmp_path / "whole" / "epoch-000001-step-000043"
    assert middle.exists()
    for servers in (1, 2, 3):
        name = f"on{servers}"
        job = write_job(tmp_path, clicks, name, epochs=2, servers=f"count = {servers}", checkpoint="every = 2")
        resumed = mpirun(servers + 2, [native, job, "--resume", middle], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert f"resumed   {middle}: 1 epochs, 200 steps" in resumed.stdout
        assert checksum(resumed) == checksum(whole)
        found = saved(tmp_path / name / "epoch-000002")
        assert found["trainer.h5"] == expected["trainer.h5"]
        if servers == 2:
            assert found == expected


def saved_number(folder, name):
    """Of the first server's optimizer."""
    with h5py.File(folder / "dense-0000-of-0001.h5") as file:
        return int(file[f"optimizer/{name}"][0])


@pytest.mark.parametrize("most_merged", [1, 8])
def test_schedules_count_all_steps_of_asynchronous_trainers(native, tmp_path, clicks, most_merged):
    """However many go in one push: 157 steps of each trainer. Adam counts pushes, as its moments decay once in each.
    With layers as large as these a server is slower than four trainers, so that steps are added up."""
    schedule = '[train.schedule]\nkind = "exponential"\ndecay_steps = 100\ndecay_rate = 0.9'
    servers = f'count = 1\nmode = "async"\nmost_merged = {most_merged}'
    job = write_job(tmp_path, clicks, epochs=1, servers=servers, checkpoint="every = 1", more=schedule)
    job.write_text(job.read_text().replace("embedding = 8", "embedding = 8\nhidden = [512, 256]"))
    done = mpirun(5, [native, job], tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "job" / "epoch-000001"
    steps = 4 * 157
    assert saved_number(folder, "learning_rate.step") == steps
    pushes = saved_number(folder, "adam.step")
    assert pushes == steps if most_merged == 1 else steps / 8 <= pushes <= steps


def saved_floats(folder):
    """Of dense parameters, by server."""
    servers = json.loads((folder / "servers.json").read_text().split("\n", 1)[1])["servers"]
    with_parameters = [{tensor["name"] for tensor in server["dense"]["tensors"] if tensor["parameter"]} for server in servers]
    found = []
    for server, names in zip(servers, with_parameters):
        with h5py.File(folder / server["dense"]["file"]) as file:
            sizes = []
            file.visititems(lambda path, entry: sizes.append(entry.size) if path.split("/")[-1] in names else None)
            found.append(sum(sizes))
    return found


def test_where_parameters_are_changes_neither_bits_nor_checkpoints(native, tmp_path, clicks):
    """The largest parameter has two thirds of the elements. By size one server has that one and the other all else; by
    name, one has all biases and the other all weights."""
    how = {"by_size": "slice = false", "by_name": 'slice = false\nsplit_method = "round_robin_by_name"'}
    jobs = {name: write_job(tmp_path, clicks, name, servers=f"count = 2\n{settings}", checkpoint="every = 1\nkeep = 9")
            for name, settings in how.items()}
    found = {name: mpirun(3, [native, job], tmp_path) for name, job in jobs.items()}
    assert [each.returncode for each in found.values()] == [0, 0], found["by_name"].stderr
    assert checksum(found["by_size"]) == checksum(found["by_name"])
    floats = {name: saved_floats(tmp_path / name / "epoch-000001") for name in how}
    assert sum(floats["by_size"]) == sum(floats["by_name"]) and max(floats["by_size"]) < max(floats["by_name"]), floats
    for name, other in ("by_size", "by_name"), ("by_name", "by_size"):
        resumed = mpirun(3, [native, jobs[name], "--resume", tmp_path / other / "epoch-000001"], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert checksum(resumed) == checksum(found[name])


def test_saves_in_the_background_are_those_that_training_waits_for(native, tmp_path, clicks):
    """Of sync mode, every one of them, byte by byte."""
    folders = []
    for name, wait in (("background", "true"), ("waits", "false")):
        job = write_job(tmp_path, clicks, name, epochs=1, servers="count = 2",
                        checkpoint=f"every_steps = 20\nkeep = 100\nasync = {wait}")
        assert mpirun(4, [native, job], tmp_path).returncode == 0
        folders.append({path.name: saved(path) for path in (tmp_path / name).iterdir() if path.is_dir()})
    assert len(folders[0]) == 8 and folders[0] == folders[1]


@pytest.mark.parametrize("mode", ["async", "half_async"])
def test_saves_in_the_background_of_the_other_modes_can_be_loaded(native, tmp_path, clicks, mode):
    settings = f'count = 2\nmode = "{mode}"'
    job = write_job(tmp_path, clicks, epochs=1, servers=settings, checkpoint="every_steps = 40\nkeep = 100")
    whole = mpirun(4, [native, job], tmp_path)
    assert whole.returncode == 0, whole.stderr
    resumed = mpirun(3, [native, write_job(tmp_path, clicks, "again", epochs=1, servers=settings.replace("2", "1")),
                         "--resume", "job/epoch-000000-step-000080"], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert auc_and_best(resumed)[0] == pytest.approx(auc_and_best(whole)[0], abs=0.01)


@pytest.mark.parametrize("wait", ["true", "false"])
def test_a_server_that_cannot_write_is_named(native, small_disk, tmp_path, clicks, wait):
    folder = small_disk(2500)
    job = write_job(tmp_path, clicks, epochs=2, servers="count = 2",
                    checkpoint=f"every_steps = 10\nkeep = 100\nasync = {wait}")
    result = mpirun(4, [native, job, "--checkpoint-dir", folder / "job"], tmp_path)
    assert result.returncode == 1, result.stdout
    lines = complaints(result)
    assert len(lines) == 1, result.stderr
    assert re.fullmatch(rf"dtrain-native: (parameter server \d: )?cannot write (the checkpoint )?{folder}/job/\S+: "
                        "No space left on device", lines[0]), lines
    kept = sorted(path for path in (folder / "job").iterdir() if path.is_dir() and path.name.startswith("epoch"))
    assert kept
    for path in kept:
        assert run([WORKER, "--inspect", path], tmp_path).returncode == 0
    again = mpirun(4, [native, job, "--resume", kept[-1]], tmp_path)
    assert again.returncode == 0, again.stderr


def test_the_report_names_the_server_that_cannot_write(native, small_disk, tmp_path, clicks):
    """Ranks end together, in whatever order; the server's own log says what it failed at."""
    folder = small_disk(2500)
    job = write_job(tmp_path, clicks, epochs=2, checkpoint="every_steps = 10\nkeep = 100")
    result = run([LAUNCH, "--server_num", "2", "--worker_num", "2", "--report", "report.json", job, "--checkpoint-dir",
                  folder / "job"], tmp_path)
    assert result.returncode == 1, result.stdout
    cause = json.loads((tmp_path / "report.json").read_text())["cause"]
    number = cause["number"]
    assert cause["role"] == "server" and cause["rank"] == number
    assert re.fullmatch(rf"parameter server {number}: cannot write (the checkpoint )?{folder}/job/\S+: "
                        "No space left on device", cause["error"]), cause
    log = tmp_path / "log" / f"serverlog.{number}"
    first_line, _, after_it = log.read_text().partition("\n")
    assert first_line == f"dtrain: {cause['error']}"
    if after_it:
        assert cause["how"] == "stopped_by_dtrain" and after_it.startswith("[SignalInfo: *** SIGTERM"), after_it
    assert f"dtrain-launch: server {number} (rank {number}) on " in result.stderr
    assert f": {cause['error']}\n" in result.stderr, result.stderr
    assert f"  log: {log}\n" in result.stderr, result.stderr
    assert f"the server process with rank=[{number}] was aborted" in result.stderr


def test_the_report_names_the_rank_that_says_what_all_refuse(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers='memory = "300 kB"\nspill = "job.toml"')
    result = run([LAUNCH, "--server_num", "2", "--worker_num", "2", job], tmp_path)
    assert result.returncode == 2, result.stdout
    assert "dtrain-launch: server 0 (rank 0) on " in result.stderr, result.stderr
    assert ": rows of sparse tables cannot be put on disk in job.toml: Not a directory" in result.stderr


@pytest.mark.parametrize("checkpoint", ["", "full_every = 3"])
def test_a_time_limit_waits_for_the_last_save(native, tmp_path, clicks, checkpoint):
    settings = {"servers": "count = 2", "checkpoint": f"every_steps = 3\n{checkpoint}"}
    job = write_job(tmp_path, clicks, epochs=1000, **settings)
    stopped = mpirun(4, [native, job, "--time-limit", "2"], tmp_path)
    assert stopped.returncode == 75, stopped.stderr
    epochs, steps = map(int, re.search(r"stopped in time after (\d+) epochs and (\d+) steps", stopped.stdout).groups())
    last = tmp_path / re.search(r"^checkpoint +(\S+)$", stopped.stdout, re.MULTILINE)[1]
    assert last.name == f"epoch-{epochs:06}-step-{steps:06}" and not list((tmp_path / "job").glob(".tmp*"))
    resumed = mpirun(4, [native, job, "--resume", last, "--epochs", epochs + 1], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    whole = mpirun(4, [native, write_job(tmp_path, clicks, "whole", epochs=epochs + 1, **settings)], tmp_path)
    assert checksum(resumed) == checksum(whole)
    name = f"epoch-{epochs + 1:06}"
    assert saved(tmp_path / "job" / name) == saved(tmp_path / "whole" / name)


CHANGES = "every_steps = 20\nfull_every = 3\nkeep = 100"


def checkpoints(folder):
    return sorted(path for path in folder.iterdir() if path.is_dir())


def test_a_job_goes_on_from_saves_of_changes(native, tmp_path, clicks):
    whole = mpirun(4, [native, write_job(tmp_path, clicks, "whole", epochs=1, servers="count = 2",
                                         checkpoint="every_steps = 20\nkeep = 100")], tmp_path)
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 2", checkpoint=CHANGES)
    result = mpirun(4, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    assert checksum(result) == checksum(whole)
    every = checkpoints(tmp_path / "job")
    assert [len(needs(path)) for path in every] == [0, 1, 2, 0, 1, 2, 0, 1]  # after 20, ..., 140 and all steps
    assert [saved(path) for path in every] == [saved(path) for path in checkpoints(tmp_path / "whole")]
    # 157 x 128 rows are trained, of few ids: most come again in 20 steps.
    assert len(table_rows((every[3] / "embedding.weight-0000-of-0002.rows").read_bytes())[1]) > len(
        table_rows((every[4] / "embedding.weight-0000-of-0002.rows").read_bytes())[1])
    for servers in (1, 2, 3):
        job = write_job(tmp_path, clicks, f"on{servers}", epochs=1, servers=f"count = {servers}", checkpoint=CHANGES)
        resumed = mpirun(servers + 2, [native, job, "--resume", every[5]], tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert checksum(resumed) == checksum(whole)
        assert not needs(checkpoints(tmp_path / f"on{servers}")[0])
        if servers == 2:
            assert saved(tmp_path / "on2" / "epoch-000001") == saved(tmp_path / "whole" / "epoch-000001")


def test_what_a_save_of_changes_needs_is_kept_and_can_be_moved(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 2",
                    checkpoint="every_steps = 20\nfull_every = 3\nkeep = 1")
    result = mpirun(4, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    full, last = (tmp_path / "job" / name for name in ("epoch-000000-step-000140", "epoch-000001"))
    assert checkpoints(tmp_path / "job") == [full, last] and needs(last) == [full]
    shown = run([WORKER, "--inspect", last], tmp_path)
    assert re.search("^needs +epoch-000000-step-000140$", shown.stdout, re.MULTILINE), shown.stdout
    assert re.search(r"^table embedding.weight: \d+ rows \(those changed since \w{16}, and 0 erased\)", shown.stdout,
                     re.MULTILINE), shown.stdout
    assert "needs" not in run([WORKER, "--inspect", full], tmp_path).stdout
    elsewhere = tmp_path / "elsewhere" / "deep"
    elsewhere.parent.mkdir()
    (tmp_path / "job").rename(elsewhere)
    (tmp_path / "a link").symlink_to(elsewhere / last.name)
    for path in (f"{elsewhere / last.name}/", tmp_path / "a link"):
        again = mpirun(3, [native, job, "--resume", path], tmp_path)
        assert again.returncode == 0, again.stderr
        assert checksum(again) == checksum(result)
    (elsewhere / full.name).rename(tmp_path / "away")
    shown = run([WORKER, "--inspect", elsewhere / last.name], tmp_path)
    assert re.search("^needs +epoch-000000-step-000140, which is not beside it$", shown.stdout, re.MULTILINE)
    refused = mpirun(3, [native, job, "--resume", elsewhere / last.name], tmp_path)
    assert refused.returncode == 2
    wrong = f"dtrain-native: {elsewhere / full.name}/servers.json: it cannot be read"
    assert refused.stderr.startswith(wrong), refused.stderr


def test_damage_of_what_a_save_needs_lets_an_earlier_one_be_used(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 2", checkpoint=CHANGES)
    whole = mpirun(4, [native, job], tmp_path)
    every = checkpoints(tmp_path / "job")
    damaged = every[6] / "embedding.weight-0001-of-0002.rows"
    content = bytearray(damaged.read_bytes())
    content[-100] ^= 1
    damaged.write_bytes(content)
    again = mpirun(4, [native, job, "--resume", "auto"], tmp_path)
    assert again.returncode == 0, again.stderr
    warnings = again.stderr.splitlines()
    assert len(warnings) == 2 and all(str(damaged) in line for line in warnings)
    assert warnings[1].endswith("; trying job/epoch-000000-step-000120")
    assert checksum(again) == checksum(whole)


def test_checkpoints_when_the_minutes_are_over(native, tmp_path, clicks):
    whole = mpirun(3, [native, write_job(tmp_path, clicks, "whole", epochs=1, servers="count = 1")], tmp_path)
    minutes = "every_minutes = 1e-9\nkeep = 1000"
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 1", checkpoint=minutes)
    result = mpirun(3, [native, job], tmp_path)
    assert result.returncode == 0, result.stderr
    found = checkpoints(tmp_path / "job")
    assert len(found) > 10
    assert checksum(result) == checksum(whole)
    resumed = mpirun(3, [native, job, "--checkpoint-dir", "other", "--resume", found[4]], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert checksum(resumed) == checksum(whole)


def test_a_damaged_checkpoint_is_noticed_and_the_one_before_used(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=2, servers="count = 2", checkpoint="every = 1")
    whole = mpirun(3, [native, job], tmp_path)
    assert whole.returncode == 0, whole.stderr
    newest = tmp_path / "job" / "epoch-000002"
    chance = random.Random(3)
    for name, content in contents(newest).items():
        position = chance.randrange(len(content))
        damaged = bytearray(content)
        damaged[position] ^= 1 << chance.randrange(8)
        (newest / name).write_bytes(damaged)
        refused = mpirun(3, [native, job, "--resume", newest], tmp_path)
        assert refused.returncode == 2, f"{name} at {position}: {refused.stdout}"
        assert refused.stderr.startswith(f"dtrain-native: {newest}/"), refused.stderr
        (newest / name).write_bytes(content)
    (newest / "servers.json").unlink()
    again = mpirun(3, [native, job, "--resume", "auto"], tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stderr.endswith("servers.json: it cannot be read: No such file or directory; trying job/epoch-000001\n")
    assert checksum(again) == checksum(whole)


@pytest.mark.parametrize("settings", ["", 'format = "file"'])
def test_a_checkpoint_with_servers_is_not_one_without(native, tmp_path, clicks, settings):
    alone = write_job(tmp_path, clicks, "alone", epochs=1, servers=None, checkpoint=f"every = 1\n{settings}")
    assert run([native, alone], tmp_path).returncode == 0
    served = write_job(tmp_path, clicks, "served", epochs=1, servers="count = 2", checkpoint="every = 1")
    assert mpirun(3, [native, served], tmp_path).returncode == 0
    suffix = ".h5" if settings else ""
    refused = mpirun(3, [native, served, "--resume", f"alone/epoch-000001{suffix}"], tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        f"dtrain-native: {tmp_path}/alone/epoch-000001{suffix}: a job without parameter servers has written it, and this "
        "job has 2, which cannot go on from it; start the job without servers, or begin without this checkpoint\n")
    refused = mpirun(2, [native, alone, "--resume", "served/epoch-000001"], tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "dtrain-native: served/epoch-000001: parameter servers have saved it, and a job without them cannot go on from it; "
        "start it with any number of servers (dtrain-launch --server_num N --worker_num M, or [servers])\n")
    refused = mpirun(3, [native, served, "--resume", "nowhere"], tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"dtrain-native: cannot read {tmp_path}/nowhere: No such file or directory")


def test_inspect_says_what_is_inside(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 2", checkpoint="every = 1")
    assert mpirun(3, [native, job], tmp_path).returncode == 0
    shown = run([WORKER, "--inspect", "job/epoch-000001"], tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "stands at     1 epochs; 157 steps in all" in shown.stdout
    assert re.search(r"^/parameters/fc_0.weight +float32 +\[66, 64\] +16896$", shown.stdout, re.MULTILINE)
    assert re.search(r"^table embedding.weight: \d+ rows \(all there are\), \d+ bytes$", shown.stdout, re.MULTILINE)
    assert "saved      epoch-000001, step 157, day 0" in shown.stdout
    refused = run([WORKER, "--inspect", "elsewhere"], tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == "dtrain-worker: cannot read elsewhere: No such file or directory\n"


@pytest.mark.parametrize("content, expected", [
    (lambda whole: whole[:len(whole) // 2], "it is damaged"),
    (lambda whole: b"", "it is damaged"),
    (lambda whole: None, "it cannot be read: No such file or directory")], ids=["truncated", "empty", "missing"])
def test_inspect_refuses_what_servers_have_not_finished(native, tmp_path, small_save, content, expected):
    """servers.json says which files belong together: without it nothing is known of the rows."""
    folder = tmp_path / "epoch-000001"
    shutil.copytree(small_save / "epoch-000001", folder)
    manifest = folder / "servers.json"
    text = content(manifest.read_bytes())
    manifest.unlink()
    if text is not None:
        manifest.write_bytes(text)
    refused = run([WORKER, "--inspect", folder], tmp_path)
    assert refused.returncode == 2, refused.stdout
    assert refused.stdout == ""
    assert refused.stderr == f"dtrain-worker: {manifest}: {expected}\n"


def test_inspect_lists_the_checkpoints_of_servers(native, tmp_path, clicks):
    """Two servers and one trainer; 157 steps an epoch. Every file of a save of changes and of what it needs counts."""
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 2", checkpoint="every_steps = 60\nfull_every = 3")
    assert mpirun(3, [native, job], tmp_path).returncode == 0
    first, second, last = checkpoints(tmp_path / "job")
    info = listed("job", tmp_path)
    assert [row[:3] + row[4:6] + row[7:] for row in info.values()] == [
        ["0", "60", "60", "1", "2", "intact"], ["0", "120", "120", "1", "2", "intact"],
        ["1", "0", "157", "-", "2", "intact, latest"]]
    assert list(info) == [first.name, second.name, last.name]
    chance = random.Random(3)
    for part in sorted(first.iterdir()):
        original = part.read_bytes()
        damaged = bytearray(original)
        damaged[chance.randrange(len(damaged))] ^= 4
        part.write_bytes(damaged)
        states = [row[-1] for row in listed("job", tmp_path).values()]
        assert states[0].startswith(f"job/{first.name}/{part.name}: "), states
        needed = part.suffix == ".rows" or part.name == "servers.json"
        assert all(state.startswith(f"{part}: ") == needed for state in states[1:]), states
        assert needed or states[1:] == ["intact", "intact, latest"]
        part.write_bytes(original)


def test_exported_rows_serve_the_model(native, tmp_path, clicks):
    """Oracle: numpy, which computes the model of what was exported; of a save of all rows and two of changes."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    h5py = pytest.importorskip("h5py", reason="h5py (Debian package python3-h5py) is not installed")
    job = write_job(tmp_path, clicks, epochs=1, servers="count = 2", checkpoint="every_steps = 60\nfull_every = 3")
    trained = mpirun(4, [native, job], tmp_path)
    assert trained.returncode == 0, trained.stderr
    newest = tmp_path / "job" / "epoch-000001"
    assert len(needs(newest)) == 2
    for name in ("rows.csv", "rows.h5"):
        exported = run([WORKER, "--inspect", newest, "--export", name], tmp_path)
        assert exported.returncode == 0, exported.stderr
        assert re.fullmatch(rf"{name}: table embedding.weight, \d+ rows of 8 numbers\n", exported.stdout)
    lines = [line.split(",") for line in (tmp_path / "rows.csv").read_text().splitlines()]
    assert lines[0] == ["id"] + [f"w{i}" for i in range(8)]
    with h5py.File(tmp_path / "rows.h5") as file:
        ids, weights = file["ids"][()], file["weights"][()]
    assert [int(line[0]) for line in lines[1:]] == list(ids) == sorted(merged_ids(newest))
    assert numpy.array_equal(numpy.array([line[1:] for line in lines[1:]], dtype="float32"), weights)

    with h5py.File(newest / "trainer.h5") as file:
        parameters = {name: array[()].astype("float64") for name, array in file["parameters"].items()}
    table = numpy.vstack([weights.astype("float64"), numpy.zeros((1, 8))])
    number_of = {int(each) & MASK: number for number, each in enumerate(ids)}
    assert rows(trained)[-1][1:] == pytest.approx(computed(parameters, number_of, table, clicks / "test.tsv"), abs=1e-4)


def merged_ids(folder):
    return {int.from_bytes(row[:8], "little", signed=True)
            for name, found in saved(folder).items() if name.endswith(".rows") for row in found[1]}


@pytest.mark.parametrize("options, expected", [
    (["--inspect", "job/epoch-000001", "--export", "rows.txt"], "--export rows.txt: its name must end in .csv or .h5"),
    (["--inspect", "job/epoch-000001", "--export", "rows.csv", "--table", "words"],
     "--table words: job/epoch-000001 has the tables embedding.weight"),
    (["--export", "rows.csv"], "--export requires --inspect; see dtrain-worker --help"),
    (["--inspect", "job/epoch-000009", "--export", "rows.csv"],
     "job/epoch-000009 is no checkpoint of parameter servers: all of its tensors are HDF5 already, --inspect lists them"),
])
def test_a_bad_export_ends_in_one_line(native, tmp_path, small_save, options, expected):
    (tmp_path / "job").symlink_to(small_save)
    refused = run([WORKER, *options], tmp_path)
    assert (refused.returncode, refused.stderr) == (2, f"dtrain-worker: {expected}\n")
    assert not list(tmp_path.glob("rows*"))


@pytest.fixture(scope="module")
def small_save(native, tmp_path_factory, clicks):
    folder = tmp_path_factory.mktemp("small")
    job = write_job(folder, clicks, epochs=1, servers="count = 1", checkpoint="every = 1")
    assert mpirun(2, [native, job], folder).returncode == 0
    return folder / "job"


def in_a_save(folder, seconds):
    """Waits until a checkpoint is being written; not for ever."""
    end_of_wait = time.monotonic() + seconds
    while time.monotonic() < end_of_wait and not any(folder.glob(".tmp-epoch-*")):
        time.sleep(0.001)


@pytest.mark.parametrize("checkpoint", ["", "full_every = 3", "async = false"])
def test_killed_at_any_moment_it_ends_as_if_undisturbed(native, tmp_path, clicks, checkpoint):
    """A server or a trainer, any time, every other time within a checkpoint; 3 kills here, 70 with DTRAIN_STRESS."""
    settings = {"epochs": 4, "servers": "count = 2", "checkpoint": f"every_steps = 25\n{checkpoint}"}
    whole = mpirun(4, [native, write_job(tmp_path, clicks, "whole", **settings)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    job = write_job(tmp_path, clicks, "parts", **settings)
    chance = random.Random(5)
    kills = 0
    seconds = 3.0
    while kills < (70 if os.environ.get("DTRAIN_STRESS") else 3):
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        before = newest(tmp_path / "parts")
        shown = ""
        child = subprocess.Popen(["mpirun", "--oversubscribe", "-np", "4", native, job, "--resume", "auto"],
                                 cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True, text=True)
        try:
            assert child.wait(timeout=chance.uniform(0.3, seconds)) == 0, child.communicate()[1]
            subprocess.run(["rm", "-r", tmp_path / "parts"], check=True)  # complete: once more
        except subprocess.TimeoutExpired:
            if kills % 2 == 0:
                in_a_save(tmp_path / "parts", 1)
                time.sleep(chance.uniform(0, 0.01))
            shown = newest(tmp_path / "parts")
            os.kill(chance.choice(natives(child.pid) or [child.pid]), signal.SIGKILL)
            kills += 1
        out = printed_by(child)
        assert newest(tmp_path / "parts") >= shown, "an acknowledged checkpoint is gone"
        assert went_on_from(out) in (None, before or went_on_from(out))
    last = mpirun(4, [native, job, "--resume", "auto"], tmp_path)
    assert last.returncode == 0, last.stderr
    assert saved(tmp_path / "parts" / "epoch-000004") == saved(tmp_path / "whole" / "epoch-000004")
    assert checksum(last) == checksum(whole)


def test_the_launcher_starts_a_killed_job_again(native, tmp_path, clicks):
    settings = {"epochs": 3, "checkpoint": "every_steps = 25"}
    whole = write_job(tmp_path, clicks, "whole", servers="count = 2", **settings)
    undisturbed = mpirun(4, [native, whole], tmp_path)
    assert undisturbed.returncode == 0, undisturbed.stderr
    job = write_job(tmp_path, clicks, "parts", **settings)
    expect_a_killed_server_starts_it_again(tmp_path, job, timeout=100)
    assert saved(tmp_path / "parts" / "epoch-000003") == saved(tmp_path / "whole" / "epoch-000003")


@pytest.mark.parametrize("checkpoint", ["", "full_every = 3", "async = false"])
@pytest.mark.parametrize("serves", [True, False], ids=["server", "trainer"])
def test_a_killed_job_goes_on_from_its_own_checkpoints(native, tmp_path, clicks, checkpoint, serves):
    """Its folder holds those of an older job, with more steps and other bits."""
    settings = {"epochs": 3, "checkpoint": f"every_steps = 25\n{checkpoint}"}
    undisturbed = mpirun(4, [native, write_job(tmp_path, clicks, "whole", servers="count = 2", **settings)], tmp_path)
    assert undisturbed.returncode == 0, undisturbed.stderr
    older = {**settings, "epochs": 4, "more": "learning_rate = 0.1"}
    trained = mpirun(4, [native, write_job(tmp_path, clicks, "parts", servers="count = 2", **older)], tmp_path)
    assert trained.returncode == 0, trained.stderr
    folder = tmp_path / "parts"
    job = write_job(tmp_path, clicks, "parts", servers="", **settings)
    err = kill_one_of_a_launched_job(tmp_path, job, (folder / ".dtrain-run").exists, serves=serves)
    assert err.count("starting it again") == 1
    log = (tmp_path / "log" / "workerlog.0").read_text()
    assert re.findall("^resumed   parts/epoch-00000[0-2]", log, re.MULTILINE), log
    assert saved(folder / "epoch-000003") == saved(tmp_path / "whole" / "epoch-000003")


def test_killed_before_its_first_checkpoint_a_job_with_servers_begins_anew(native, tmp_path, clicks):
    settings = {"epochs": 3, "checkpoint": "every = 3"}
    undisturbed = mpirun(4, [native, write_job(tmp_path, clicks, "whole", servers="count = 2", **settings)], tmp_path)
    assert undisturbed.returncode == 0, undisturbed.stderr
    older = {"epochs": 1, "checkpoint": "every = 1", "more": "learning_rate = 0.1"}
    trained = mpirun(4, [native, write_job(tmp_path, clicks, "parts", servers="count = 2", **older)], tmp_path)
    assert trained.returncode == 0, trained.stderr
    job = write_job(tmp_path, clicks, "parts", **settings)
    log = tmp_path / "log" / "workerlog.0"
    kill_one_of_a_launched_job(tmp_path, job,
                               lambda: log.exists() and re.search("^ +1 ", log.read_text(), re.MULTILINE), serves=True)
    output = log.read_text()
    assert "restart   1 begins anew: in parts is no checkpoint of this job" in output and "resumed" not in output
    assert saved(tmp_path / "parts" / "epoch-000003") == saved(tmp_path / "whole" / "epoch-000003")


def test_servers_forget_what_they_loaded_of_a_damaged_checkpoint(native, tmp_path, clicks):
    """A restarted job whose only checkpoint the first of two servers can read, as its ranks see it."""
    settings = {"epochs": 1, "servers": "count = 2", "checkpoint": "every = 1"}
    job = write_job(tmp_path, clicks, "job", **settings)
    first = mpirun(3, [native, job], tmp_path, DTRAIN_RUN_ID="aa", PADDLE_RESTART_COUNT=0)
    assert first.returncode == 0, first.stderr
    once = saved(tmp_path / "job" / "epoch-000001")
    damaged = tmp_path / "job" / "epoch-000001" / "embedding.weight-0001-of-0002.rows"
    content = bytearray(damaged.read_bytes())
    content[-100] ^= 1
    damaged.write_bytes(content)
    again = mpirun(3, [native, job], tmp_path, DTRAIN_RUN_ID="aa", PADDLE_RESTART_COUNT=1)
    assert again.returncode == 0, again.stderr
    assert str(damaged) in again.stderr
    assert "restart   1 begins anew: in job is no checkpoint of this job" in again.stdout
    assert saved(tmp_path / "job" / "epoch-000001") == once


def kill_one_of_a_launched_job(cwd, job, when, serves, *arguments, timeout=100, **variables):
    """A job of 2 servers and 2 trainers, one of which is killed as soon as that is so; what the launcher says."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       **variables)
    child = subprocess.Popen([LAUNCH, "--server_num", "2", "--worker_num", "2", "--max_restart", "3", job, *arguments],
                             cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not when():
        assert child.poll() is None, child.communicate()[1]
    ranks = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if is_rank(path, cwd, serves)]
    os.kill(ranks[0], signal.SIGKILL)
    _, err = child.communicate(timeout=timeout)
    assert child.returncode == 0, err
    assert "starting it again, 1 of at most 3 times" in err
    return err


def expect_a_killed_server_starts_it_again(cwd, job, timeout, **variables):
    kill_one_of_a_launched_job(cwd, job, (cwd / job.stem / "latest").exists, True, "--resume", "auto", timeout=timeout,
                               **variables)


def is_rank(process, cwd, serves):
    role = b"TRAINING_ROLE=" + (b"PSERVER" if serves else b"TRAINER")
    try:
        return (os.readlink(process / "cwd") == str(cwd) and "dtrain-native" in os.readlink(process / "exe")
                and role in (process / "environ").read_bytes())
    except OSError:
        return False


def test_a_hung_server_is_named(native, tmp_path, clicks):
    expect_a_hung_server_is_named(native, tmp_path, write_job(tmp_path, clicks, epochs=10_000, servers="count = 1"))


def expect_a_hung_server_is_named(native, cwd, job, **variables):
    """A job of a server and a trainer that does not end by itself."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", DTRAIN_COMM_TIMEOUT="2", **variables)
    child = subprocess.Popen(mpirun_of((1, native, job), (1, native, job)), cwd=cwd, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    line = ""
    while not line.startswith("     1"):
        line = child.stdout.readline()
        assert line, child.communicate()
    server = natives(child.pid)[0]
    os.kill(server, signal.SIGSTOP)
    try:
        _, err = child.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        os.kill(server, signal.SIGKILL)
        _, err = child.communicate(timeout=40)
    assert child.returncode != 0
    assert re.search(r"no answer of parameter server 0 \(rank 0\) to '\w+' within \d+ s", err), err


@pytest.mark.parametrize("servers, more, ranks, expected", [
    ("", "", 2, "[servers] needs its 'count': how many of the 2 ranks are servers"),
    ("count = 2", "", 2, "2 parameter servers in a job of 2 ranks; there must be one at least, and one rank that trains"),
    ("count = 1", "virtual_ranks = 2", 2, "[train] 'virtual_ranks' and [servers] exclude each other"),
    ("count = 1", "local_sgd = 2", 2, "[train] 'local_sgd' and [servers] exclude each other"),
    ("mode = \"geos\"", "", 2, "\"geos\""),
    ("mode = \"geo\"\npush_every = 0", "", 2, "0"),
    ("mode = \"geo\"\n[servers.rows]\nstatistics = true", "", 2, "'rows' is for the other modes than \"geo\""),
    ("wire = \"float8\"", "", 2, "\"float8\""),
    ("wire = \"float16\"\n[servers.rows]\nstatistics = true", "", 2, "'statistics' and wire = \"float16\" exclude each other"),
    ("push_every = 10", "", 2, "'push_every' is a setting of mode = \"geo\", but it is \"sync\""),
    ("staleness = 3", "", 2, "'staleness' is a setting of mode = \"half_async\", but it is \"sync\""),
    ("min_block_size = 100", "", 2, "100"),
    ("counts = 1", "", 2, "count"),
    ("count = 1\n[checkpoint]\nfull_every = 0", "", 2, "full_every"),
    ("count = 1", "nccl = true", 2, "[train] nccl = true lets NCCL add the gradients of ranks, and this job's parameter servers"),
    (None, "[checkpoint]\nfull_every = 2", 2, "[checkpoint] full_every is 2, and this job has no parameter servers"),
])
def test_bad_settings_end_in_one_line(native, tmp_path, clicks, servers, more, ranks, expected):
    job = write_job(tmp_path, clicks, servers=servers, more=more)
    refused = mpirun(ranks, [native, job], tmp_path)
    assert refused.returncode == 2
    line = refused.stderr.splitlines()[0]
    assert expected in line, line


def test_several_threads_of_a_server_have_the_bits_of_one(native, tmp_path, clicks):
    """Batches of 8192 samples have some thousand different ids, which is enough for several threads."""
    found = {}
    for threads in (1, 3):
        servers = f'count = 1\nthreads = {threads}\nmetrics = "told"'
        job = write_job(tmp_path, clicks, f"by-{threads}", servers=servers, checkpoint="every = 1")
        job.write_text(job.read_text().replace("global_batch = 128", "global_batch = 8192"))
        result = mpirun(3, [native, job], tmp_path)
        assert result.returncode == 0, result.stderr
        lines = (tmp_path / "told" / "server-0.jsonl").read_text().splitlines()
        assert json.loads(lines[-1])["table_threads"] == threads
        keys_of_a_push = json.loads(lines[-1])["keys_pushed"] / json.loads(lines[-1])["pushes"]
        assert keys_of_a_push > 2048
        found[threads] = checksum(result), saved(tmp_path / f"by-{threads}" / "epoch-000002")
    assert found[1] == found[3]


@pytest.mark.parametrize("servers, expected", [
    ("threads = 0", "[servers] threads = 0"),
    ("threads = 1000", "[servers] threads = 1000"),
    ('threads = "many"', '[servers] threads = "many"'),
])
def test_bad_threads_end_in_one_line(native, tmp_path, clicks, servers, expected):
    refused = mpirun(3, [native, write_job(tmp_path, clicks, servers=f"count = 1\n{servers}")], tmp_path)
    assert refused.returncode == 2
    assert expected in refused.stderr.splitlines()[0], refused.stderr


@pytest.fixture(scope="session")
def rocksdb(native):
    linked = subprocess.run(["ldd", native], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "rocksdb" not in linked:
        pytest.skip("dtrain was built without RocksDB")


def test_tables_larger_than_memory_train_as_those_in_memory(native, rocksdb, tmp_path, clicks):
    """300 kB hold some 1700 of each server's rows; the job goes on from a checkpoint, too."""
    settings = {"servers": "count = 2", "checkpoint": "every = 1\nkeep = 2"}
    whole = mpirun(4, [native, write_job(tmp_path, clicks, "whole", **settings)], tmp_path)
    assert whole.returncode == 0, whole.stderr
    settings["servers"] += '\nmemory = "300 kB"\nspill = "disk"'
    job = write_job(tmp_path, clicks, "small", **settings)
    small = mpirun(4, [native, job], tmp_path)
    assert small.returncode == 0, small.stderr
    assert not list((tmp_path / "disk").iterdir())
    assert checksum(small) == checksum(whole)
    expected = saved(tmp_path / "whole" / "epoch-000002")
    assert all(len(expected[f"embedding.weight-{n:04}-of-0002.rows"][1]) > 4000 for n in range(2))
    assert saved(tmp_path / "small" / "epoch-000002") == expected
    resumed = mpirun(4, [native, job, "--resume", "small/epoch-000001"], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert checksum(resumed) == checksum(whole)
    assert saved(tmp_path / "small" / "epoch-000002") == expected


@pytest.mark.parametrize("servers, expected", [
    ('memory = "300 kB"\nspill = "job.toml"', "cannot be put on disk in job.toml: Not a directory; name another folder"),
    ("memory = 1000", "table 'embedding.weight': a limit of 1000 bytes of memory is too small: "),
    ('spill = "disk"', "'spill' is where rows go that 'memory' has no room for: set 'memory' too"),
])
def test_a_bad_limit_of_memory_ends_in_one_line(native, rocksdb, tmp_path, clicks, servers, expected):
    refused = mpirun(3, [native, write_job(tmp_path, clicks, servers=f"count = 1\n{servers}")], tmp_path)
    assert refused.returncode == 2
    assert expected in refused.stderr.splitlines()[0], refused.stderr


def test_a_limit_of_memory_without_rocksdb_ends_in_one_line(native, tmp_path, clicks):
    linked = subprocess.run(["ldd", native], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "rocksdb" in linked:
        pytest.skip("dtrain was built with RocksDB")
    refused = mpirun(3, [native, write_job(tmp_path, clicks, servers='count = 1\nmemory = "1 GiB"')], tmp_path)
    assert refused.returncode == 2
    assert "needs RocksDB, and this dtrain was built without" in refused.stderr.splitlines()[0]


def test_what_all_trainers_refuse_ends_the_servers_too(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers="count = 1")
    refused = mpirun(3, [native, job, "--checkpoint-dir", "/proc/nowhere"], tmp_path)
    assert refused.returncode == 2
    lines = complaints(refused)
    assert len(lines) == 1 and "cannot write checkpoints into /proc/nowhere" in lines[0], refused.stderr


def test_what_all_trainers_run_into_ends_servers_that_save(native, tmp_path, clicks):
    job = write_job(tmp_path, clicks, servers="count = 2", checkpoint="every_steps = 10\nfull_every = 100",
                    more="learning_rate = 1e29")
    failed = mpirun(4, [native, job], tmp_path)
    assert failed.returncode == 1
    lines = complaints(failed)
    assert len(lines) == 1 and "in epoch 1; a smaller learning_rate may help" in lines[0], failed.stderr


def with_dict_size(job, size):
    job.write_text(job.read_text().replace("embedding = 8", f"embedding = 8\ndict_size = {size}"))
    return job


def rows_of_servers(result):
    return int(re.search(r"^servers +([\d,]+) rows", result.stdout, re.MULTILINE)[1].replace(",", ""))


@pytest.mark.parametrize("trainers", [1, 2])
def test_more_ids_than_dict_size_are_refused_by_one_server(native, tmp_path, clicks, trainers):
    job = with_dict_size(write_job(tmp_path, clicks, servers="count = 1"), 1000)
    refused = mpirun(1 + trainers, [native, job], tmp_path)
    assert refused.returncode == 1
    assert len(complaints(refused)) == 1, refused.stderr
    assert "parameter server 0: table 'embedding.weight' has rows for " in complaints(refused)[0]
    assert "which is its dict_size, and none for id " in complaints(refused)[0]


@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
def test_dict_size_is_exact_over_several_servers(native, tmp_path, clicks, mode):
    """The job has N distinct ids: N is enough, N - 1 is not, and one line says so."""
    settings = f'count = 2\nmode = "{mode}"'
    whole = mpirun(4, [native, write_job(tmp_path, clicks, epochs=1, servers=settings, checkpoint="every = 1")], tmp_path)
    assert whole.returncode == 0, whole.stderr
    ids = rows_of_servers(whole)
    enough = write_job(tmp_path, clicks, epochs=1, servers=settings, checkpoint="every = 1")
    enough = mpirun(4, [native, with_dict_size(enough, ids)], tmp_path)
    assert enough.returncode == 0, enough.stderr
    assert rows_of_servers(enough) == ids
    for trainers in (1, 2):
        few = write_job(tmp_path, clicks, "few", epochs=1, servers=settings, checkpoint="every = 1")
        refused = mpirun(2 + trainers, [native, with_dict_size(few, ids - 1)], tmp_path)
        assert refused.returncode == 1
        assert len(complaints(refused)) == 1, refused.stderr
        assert (f"table 'embedding.weight' has rows for {ids} distinct ids on all servers together, and its dict_size is "
                f"{ids - 1}: use a larger one (dict_size of [model] in a job file") in complaints(refused)[0]
        assert not (tmp_path / "few" / "epoch-000001").exists()
    again = with_dict_size(write_job(tmp_path, clicks, servers=settings, checkpoint="every = 1"), ids - 1)
    refused = mpirun(4, [native, again, "--resume", "job/epoch-000001"], tmp_path)
    assert refused.returncode == 2
    assert len(complaints(refused)) == 1, refused.stderr
    assert f"job/epoch-000001: table 'embedding.weight' has rows for {ids} distinct ids" in complaints(refused)[0]
    assert f"its dict_size is {ids - 1}: " in complaints(refused)[0]
    more = with_dict_size(write_job(tmp_path, clicks, servers=settings, checkpoint="every = 1"), ids + 1)
    resumed = mpirun(4, [native, more, "--resume", "job/epoch-000001"], tmp_path)
    assert resumed.returncode == 0 and rows_of_servers(resumed) == ids, resumed.stderr

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are started again, job ids in log folders, two jobs in one folder.

Oracle: what the options promise; the scripts write down what they see. Of native jobs the undisturbed one, byte by byte.
"""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import time

import pytest

from conftest import LAUNCH, ROOT, mpirun, processes_with
from whole_jobs import NATIVE_JOB, is_native


def test_a_failed_job_starts_again_with_a_count_until_it_succeeds(job):
    job.script("a.py", "import os, sys, time\n"
                       "count = os.environ['PADDLE_RESTART_COUNT']\n"
                       "assert count == os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                       "print('start', count, flush=True)\n"
                       "if os.environ['RANK'] == '0': open('up.' + count, 'w').close()\n"
                       "while not os.path.exists('up.' + count): time.sleep(.02)\n"
                       "sys.exit(5 if count != '2' and os.environ['RANK'] == '1' else 0)")
    done = job.launch("--nproc_per_node", 2, "--max_restart", 3, "a.py")
    assert done.returncode == 0, done.stderr
    assert job.log(0).split("\n")[0] == "start 0"
    assert [line for line in job.log(1).splitlines() if line.startswith("start")] == ["start 0", "start 1", "start 2"]
    assert done.stderr.count("exit code 5") == 2
    assert "starting it again, 1 of at most 3 times" in done.stderr
    assert "starting it again, 2 of at most 3 times" in done.stderr
    assert done.stdout.count("Configuration Arguments") == 1
    assert job.left_behind() == []


def test_the_last_failure_is_the_jobs(job):
    job.script("a.py", "import os, sys\nsys.exit(5 + int(os.environ['PADDLE_RESTART_COUNT']))")
    done = job.launch("--max_restart", 1, "a.py")
    assert done.returncode == 6
    assert "exit code 5" in done.stderr and "exit code 6" in done.stderr


def test_what_has_stopped_in_time_is_not_started_again_here(job):
    job.script("a.py", "import sys\nprint('start')\nsys.exit(75)")
    done = job.launch("--max_restart", 3, "a.py")
    assert done.returncode == 75
    assert "started again later it goes on" in done.stderr and "starting it again" not in done.stderr
    assert job.log(0).count("start\n") == 1


def test_no_restart_unless_asked_and_none_after_a_signal(job):
    job.script("a.py", "import os, sys, time\n"
                       "assert 'PADDLE_RESTART_COUNT' not in os.environ\n"
                       "sys.exit(5)")
    done = job.launch("a.py")
    assert done.returncode == 5 and "starting it again" not in done.stderr
    job.script("b.py", "import time\nopen('up', 'w').close()\ntime.sleep(1000)")
    child = job.start(LAUNCH, "--max_restart", 5, "b.py")
    job.wait_until(lambda: (job.folder / "up").exists())
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130 and "starting it again" not in err
    assert job.left_behind() == []


def test_job_id_in_the_log_folder(job):
    job.script("a.py", "print('hello')")
    assert job.launch("--job_id", "night", "--log_dir", "logs/%j", "a.py").returncode == 0
    assert (job.folder / "logs/night/workerlog.0").read_text() == "hello\n"
    assert job.launch("--log_dir", "logs/%j", "a.py", env={"PBS_JOBID": "7.head"}).returncode == 0
    assert (job.folder / "logs/7.head/workerlog.0").read_text() == "hello\n"


def test_two_live_jobs_in_one_folder_are_noticed(job):
    job.script("a.py", "import time\nopen('up', 'w').close()\ntime.sleep(1000)")
    job.script("b.py", "print('hello')")
    first = job.start(LAUNCH, "--job_id", "night", "a.py")
    job.wait_until(lambda: (job.folder / "up").exists())
    second = job.launch("b.py")
    assert second.returncode == 0
    assert f"another job writes into {job.folder}/log (pid {first.pid}, job night)" in second.stderr
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=30)
    assert "another job" not in job.launch("b.py").stderr


def test_settings_come_from_files_variables_and_the_command_line(job):
    config = job.folder / "config"
    config.mkdir()
    (config / "dtrain.toml").write_text("grace = 2.5\nlog_dir = 'elsewhere'\nbind = 'none'\n")
    env = {"XDG_CONFIG_HOME": config, "DTRAIN_GRACE": "3"}
    shown = job.launch("--bind", "auto", "--info", env=env)
    assert shown.returncode == 0
    rows = {line.split()[0]: line.split()[1:] for line in shown.stdout.splitlines()}
    assert rows["grace"] == ["3", "DTRAIN_GRACE"]
    assert rows["log_dir"] == ["elsewhere", str(config / "dtrain.toml")]
    assert rows["bind"] == ["auto", "command", "line"]
    assert rows["job_id"] == ["default", "default"]
    job.script("a.py", "")
    plan = json.loads(job.launch("--dry-run=json", "a.py", env=env).stdout)
    assert plan["log_dir"] == str(job.folder / "elsewhere") and plan["bind"] is False

    (config / "dtrain.toml").write_text("graze = 2\n")
    refused = job.launch("a.py", env=env)
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        f"dtrain-launch: {config}/dtrain.toml: unknown setting \"graze\" (did you mean grace?); known are log_dir, ")
    assert refused.stderr.count("\n") == 1
    (config / "dtrain.toml").write_text("grace = [1]\n")
    assert f"{config}/dtrain.toml:1: grace must be" in job.launch("a.py", env=env).stderr


def test_run_check_trains_the_built_in_example(job):
    done = job.launch("--nproc_per_node", 2, "run_check", "--help")
    assert done.returncode == 0, done.stderr
    assert "--epochs" in done.stdout


def test_all_starts_of_a_job_have_one_mark(job):
    job.script("a.py", "import os, sys\n"
                       "with open('marks', 'a') as marks: print(os.environ.get('DTRAIN_RUN_ID'), file=marks)\n"
                       "sys.exit(5)")
    for _ in range(2):
        assert job.launch("--max_restart", 2, "a.py").returncode == 5
    marks = (job.folder / "marks").read_text().split()
    assert len(marks) == 6 and marks == 3 * [marks[0]] + 3 * [marks[3]] and marks[0] != marks[3], marks
    assert all(re.fullmatch("[0-9a-f]{32}", mark) for mark in marks)
    assert job.launch("a.py").returncode == 5
    assert job.launch("a.py", env={"DTRAIN_RUN_ID": "of another job"}).returncode == 5
    assert (job.folder / "marks").read_text().split("\n")[6:] == ["None", "", ""]


EPOCHS = 20
LONG = 3000  # without checkpoints: most of a second


def native_job(job, name, epochs=EPOCHS, learning_rate=0.001, checkpoint="every_steps = 5"):
    """Any learning rate can go on from the checkpoints of any other, and has other bits."""
    text = NATIVE_JOB.format(name=name, epochs=epochs, optimizer="adam", digits=ROOT / "examples/digits.h5", hidden=32,
                             every=1)
    text = text.replace("seed = 3", f"seed = 3\nlearning_rate = {learning_rate}").replace("every = 1", checkpoint)
    return job.script(f"{name}.toml", text)


def trained(native, job, *arguments, **variables):
    done = mpirun(2, [native, *arguments], job.folder, **variables)
    assert done.returncode == 0, done.stderr
    return done


def contents(checkpoint):
    return {path.name: path.read_bytes() for path in ([checkpoint] if checkpoint.is_file() else checkpoint.iterdir())}


def native_ranks(job):
    return [pid for pid in processes_with(job.mark) if is_native(pid)]


def killed_once(job, when, *arguments):
    """Starts the job with --max_restart and kills one of its two ranks as soon as that is so; the log of the first."""
    child = job.start(LAUNCH, "--nproc_per_node", 2, "--max_restart", 3, *arguments)
    job.wait_until(lambda: when() or child.poll() is not None)
    assert child.poll() is None, child.communicate()
    os.kill(native_ranks(job)[-1], signal.SIGKILL)
    _, err = child.communicate(timeout=100)
    assert child.returncode == 0, err + job.log(0)
    assert err.count("starting it again") == 1, err
    return job.log(0)


def resumed(log):
    return re.findall("^resumed   (.*): [0-9]+ epochs", log, re.MULTILINE)


@pytest.mark.parametrize("settings", ["", 'format = "file"', 'format = "file"\ncollective = true', "async = false"])
def test_a_killed_native_job_goes_on_from_its_own_checkpoints(native, job, settings):
    """Its folder holds those of an older job, with more steps."""
    suffix = ".h5" if "file" in settings else ""
    rarely = f"every = 10\n{settings}"
    trained(native, job, native_job(job, "whole", checkpoint=rarely))
    trained(native, job, native_job(job, "parts", EPOCHS + 1, learning_rate=0.1, checkpoint=rarely))
    folder = job.folder / "parts"
    theirs = contents(folder / f"epoch-{EPOCHS:06}{suffix}")
    path = native_job(job, "parts", checkpoint=f"every_steps = 5\n{settings}")
    log = killed_once(job, (folder / ".dtrain-run").exists, path)
    assert len(resumed(log)) == 1 and resumed(log)[0].startswith("parts/epoch-00"), log
    ours = contents(folder / f"epoch-{EPOCHS:06}{suffix}")
    assert ours == contents(job.folder / f"whole/epoch-{EPOCHS:06}{suffix}") != theirs


def test_killed_before_its_first_checkpoint_it_begins_anew(native, job):
    trained(native, job, native_job(job, "parts", 2, learning_rate=0.1))
    only_the_last = f"every = {LONG}"
    path = native_job(job, "parts", LONG, checkpoint=only_the_last)
    log_file = job.folder / "log/workerlog.0"
    log = killed_once(job, lambda: log_file.exists() and re.search("^ +1 ", log_file.read_text(), re.MULTILINE), path)
    assert "restart   1 begins anew: in parts is no checkpoint of this job that it could go on from\n" in log
    assert not resumed(log)
    trained(native, job, native_job(job, "whole", LONG, checkpoint=only_the_last))
    last = f"epoch-{LONG:06}"
    assert contents(job.folder / "parts" / last) == contents(job.folder / "whole" / last)


@pytest.mark.parametrize("words, servers", [(["--nproc_per_node", 2], ""),
                                            (["--server_num", 2, "--worker_num", 2], "[servers]\n")],
                         ids=["ranks", "servers"])
def test_killed_at_any_moment_a_job_ends_as_if_undisturbed(job, words, servers):
    """Any rank, also while a job begins or saves; the first one when a checkpoint is begun, so that the job is not over
    before. 3 kills here, 60 with DTRAIN_STRESS."""
    most, epochs = (60, 600) if os.environ.get("DTRAIN_STRESS") else (3, 150)

    def written(name, checkpoint):
        path = native_job(job, name, epochs, checkpoint=checkpoint)
        path.write_text(path.read_text() + servers)
        return path

    begin = time.monotonic()
    whole = job.launch(*words, written("whole", f"every = {epochs}"), timeout=300)
    took = time.monotonic() - begin
    assert whole.returncode == 0, whole.stderr
    expected = re.findall("^parameters    checksum (.*)$", job.log(0), re.MULTILINE)
    chance = random.Random(11)
    kills = 0
    child = job.start(LAUNCH, *words, "--max_restart", 2 * most, written("parts", "every_steps = 20"))
    job.wait_until(lambda: (job.folder / "parts").exists(), timeout=100)
    while child.poll() is None and kills < most:
        if ranks := native_ranks(job):
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(ranks), signal.SIGKILL)
                kills += 1
        time.sleep(chance.uniform(0.05, 0.7) * took)
    _, err = child.communicate(timeout=300)
    assert child.returncode == 0, err
    assert kills > 0 and err.count("starting it again") >= 1
    # The first is the undisturbed job's; a rank that is killed after its job's last line makes it say it again.
    checksums = re.findall("^parameters    checksum (.*)$", job.log(0), re.MULTILINE)
    assert len(checksums) >= 2 and checksums == expected * len(checksums)


@pytest.mark.parametrize("resume_from", ["auto", "older/epoch-000002"])
def test_its_own_checkpoints_win_over_what_it_first_went_on_from(native, job, resume_from):
    trained(native, job, native_job(job, "older", 2, learning_rate=0.1))
    for name in ("whole", "parts"):
        shutil.copytree(job.folder / "older", job.folder / name)
    trained(native, job, native_job(job, "whole", checkpoint="every = 10"), "--resume", resume_from)
    log = killed_once(job, (job.folder / "parts/.dtrain-run").exists, native_job(job, "parts"), "--resume", resume_from)
    first, second = resumed(log)
    assert first == resume_from.replace("auto", "parts/epoch-000002")
    assert second.startswith("parts/epoch-") and second > first
    last = f"epoch-{EPOCHS:06}"
    assert contents(job.folder / "parts" / last) == contents(job.folder / "whole" / last)


def test_without_a_checkpoint_that_fits_a_job_that_is_started_again_begins_anew(native, job):
    """As the ranks of a restarted job see it: the mark of its first start, and a count."""
    path = native_job(job, "job", 2, checkpoint="every = 1")
    trained(native, job, path, DTRAIN_RUN_ID="aa", PADDLE_RESTART_COUNT=0)
    once = contents(job.folder / "job/epoch-000002")

    def again(*arguments, count=1, **variables):
        return trained(native, job, path, *arguments, PADDLE_RESTART_COUNT=count, **variables)

    assert resumed(again(DTRAIN_RUN_ID="aa").stdout) == ["job/epoch-000002"]
    for other in ({"DTRAIN_RUN_ID": "aa", "count": 0}, {"DTRAIN_RUN_ID": "bb"}, {}):
        assert not resumed(again("--checkpoint-dir", "job", "--epochs", 1, **other).stdout), "another job, or none"
        trained(native, job, path, DTRAIN_RUN_ID="aa", PADDLE_RESTART_COUNT=0)

    native_job(job, "job", 2, checkpoint="every = 1").write_text(path.read_text().replace("global_batch = 64", "batch = 16"))
    anew = again(DTRAIN_RUN_ID="aa")
    assert "epoch-000002: made with global_batch 64, but this job has 32; set global_batch = 64\n" in anew.stderr
    assert "restart   1 begins anew: in job is no checkpoint of this job" in anew.stdout

    native_job(job, "job", 2, checkpoint="every = 1")
    trained(native, job, path, DTRAIN_RUN_ID="aa", PADDLE_RESTART_COUNT=0)
    for checkpoint in (job.folder / "job").glob("epoch-*"):
        shard = checkpoint / "shard-0000.h5"
        content = bytearray(shard.read_bytes())
        content[-1] ^= 1
        shard.write_bytes(content)
    anew = again(DTRAIN_RUN_ID="aa")
    assert anew.stderr.count("damaged") == 2 and "trying job/epoch-000001" in anew.stderr
    assert "restart   1 begins anew" in anew.stdout and not resumed(anew.stdout)
    assert contents(job.folder / "job/epoch-000002") == once


def test_the_mark_is_for_restarts_alone(native, job):
    path = native_job(job, "job", 1)
    assert job.launch("--max_restart", 1, path).returncode == 0
    assert (job.folder / "job/.dtrain-run").exists()
    assert job.launch(path).returncode == 0
    assert not (job.folder / "job/.dtrain-run").exists(), "of another job"
    keeps_none = job.script("none.toml", path.read_text().split("[checkpoint]")[0])
    output = trained(native, job, keeps_none, DTRAIN_RUN_ID="aa", PADDLE_RESTART_COUNT=2).stdout
    assert "restart   2 begins anew: this job keeps no checkpoints\n" in output

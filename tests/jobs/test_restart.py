# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are started again, job ids in log folders, two jobs in one folder.

Oracle: what the options promise; the scripts write down what they see."""
import json
import signal

from conftest import LAUNCH


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

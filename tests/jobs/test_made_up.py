# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler and a launch backend that only these tests have: each is a folder of tests/ and a call that registers it.

Oracle: what such jobs do under mpirun, and what `submit`, `status` and `cancel` do with Slurm and PBS.
"""
import json
import shutil
import signal
import socket

import pytest

from conftest import BUILD, ROOT, WORKER


def executable(job, name, text):
    path = job.script(name, "#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture
def made_up(job):
    """The launcher in an installation of its own."""
    for folder in ("bin", "spool"):
        (job.folder / folder).mkdir()
    job.made_up = job.folder / "bin" / "launch_with_made_up"
    shutil.copy(BUILD / "tests" / "launch" / "launch_with_made_up", job.made_up)
    (job.folder / "bin" / "dtrain-worker").symlink_to(WORKER)
    (job.folder / "bin" / "spool-submit").write_text("#!/bin/sh\n")
    (job.folder / "bin" / "spool-submit").chmod(0o755)
    job.spool = {"SPOOL_DIR": str(job.folder / "spool"), "DTRAIN_JOBS_DIR": str(job.folder / "records")}
    executable(job, "show.sh", "echo rank $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM\n")
    return job


def forks(job, *words, env=None):
    return job.run(job.made_up, "--engine", "forks", "--nproc_per_node", "2", "--report", "report.json", *words,
                   env={**job.spool, **(env or {})})


def test_neither_has_a_word_in_the_sources():
    for folder in ("src", "include"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                text = path.read_text(errors="ignore")
                assert "spool-submit" not in text and "forks" not in text.split('"'), path


def test_the_backend_starts_ranks(made_up):
    done = forks(made_up, "show.sh")
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        assert f"rank {rank} of 2\n" in (made_up.folder / "log" / f"workerlog.{rank}").read_text()
    report = json.loads((made_up.folder / "report.json").read_text())
    assert report["outcome"] == "done" and report["ranks"] == {"trainer": 2}, report


def test_a_rank_that_fails_ends_the_others(made_up):
    executable(made_up, "fail.sh", "[ $PADDLE_TRAINER_ID = 0 ] && exit 7\nsleep 1000\n")
    failed = forks(made_up, "fail.sh")
    assert failed.returncode == 7, failed.stderr
    assert "rank 0" in failed.stderr and "exit code 7" in failed.stderr, failed.stderr


def test_a_worker_that_is_killed_is_named(made_up):
    executable(made_up, "kill.sh", f"""
[ $PADDLE_TRAINER_ID = 0 ] && sleep 1000
export DTRAIN_JOBS_DIR={made_up.spool["DTRAIN_JOBS_DIR"]}
until {made_up.made_up} status | grep -q ' 2/2 '; do sleep 0.1; done  # before, nobody knows that it runs
kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)
sleep 1000
""")
    failed = forks(made_up, "--grace", "1", "kill.sh")
    assert failed.returncode == 128 + signal.SIGKILL, failed.stderr
    assert "rank 1" in failed.stderr, failed.stderr


def test_a_wrong_name_lists_all(made_up):
    for option, names in (("--engine", "auto, forks, mpirun, srun"), ("--scheduler", "auto, slurm, pbs, spool")):
        refused = made_up.run(made_up.made_up, option, "other", "show.sh")
        assert refused.returncode == 2 and f"one of {names}" in refused.stderr, refused.stderr


def test_the_scheduler_names_the_job_and_its_nodes(made_up):
    env = {"SPOOL_JOB": "77", "SPOOL_NODES": socket.gethostname()}
    done = made_up.run(made_up.made_up, "--engine", "forks", "--log_dir", "log-%j", "show.sh",
                       env={**made_up.spool, **env})
    assert done.returncode == 0, done.stderr
    logs = sorted(path.name for path in (made_up.folder / "log-77").glob("workerlog.*"))
    assert logs == ["workerlog.0", "workerlog.1"], "two slots of the node"
    refused = made_up.run(made_up.made_up, "--engine", "forks", "show.sh",
                          env={**made_up.spool, **env, "SPOOL_NODES": "a b"})
    assert refused.returncode == 2 and "forks starts ranks on one node only" in refused.stderr, refused.stderr


def test_a_job_waits_in_the_queue_and_leaves_it(made_up):
    path = {**made_up.spool, "PATH": f"{made_up.folder / 'bin'}:/usr/bin:/bin"}
    submitted = made_up.run(made_up.made_up, "submit", "--scheduler", "spool", "--nodes", "3", "show.sh", env=path)
    assert submitted.returncode == 0 and "show.spool1" in submitted.stdout, (submitted.stdout, submitted.stderr)
    script = (made_up.folder / "spool" / "1.sh").read_text()
    assert "# nodes: 3\n" in script and script.endswith("show.sh\n"), script

    shown = made_up.run(made_up.made_up, "status", "1", env=path)
    assert "pending" in shown.stdout and "Lazy" in shown.stdout, (shown.stdout, shown.stderr)
    cancelled = made_up.run(made_up.made_up, "cancel", "1", env=path)
    assert cancelled.returncode == 0 and "job 1 has ended" in cancelled.stdout, (cancelled.stdout, cancelled.stderr)
    assert not (made_up.folder / "spool" / "1.sh").exists()


def test_options_of_other_schedulers_are_refused(made_up):
    refused = made_up.run(made_up.made_up, "submit", "--scheduler", "spool", "--sbatch=--exclusive", "show.sh",
                          env=made_up.spool)
    assert refused.returncode == 2 and "is for another scheduler than spool" in refused.stderr, refused.stderr

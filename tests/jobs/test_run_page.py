# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The page that dtrain-launch writes of a job.

Oracles: Python's html.parser; what the programs of the job do; the report on stderr.
"""
import json
import os
import pathlib
import signal

import pytest

from conftest import ROOT
from test_metrics import page_of
from whole_jobs import NATIVE_JOB


def test_a_done_job_has_every_rank(job):
    script = job.script("a.py", "import time\ntime.sleep(0.3)\n")
    done = job.launch("--nproc_per_node", 3, "--report", "run.html", script)
    assert done.returncode == 0, done.stderr
    page = page_of(job.folder / "run.html")
    assert page.headings[0] == "a.py" and page.run["outcome"] == "done" and page.run["failure"] is None
    assert [(span["rank"], span["state"]) for span in page.run["spans"]] == [(0, "done"), (1, "done"), (2, "done")]
    assert all(0 <= span["begin"] <= span["end"] - 0.3 <= page.run["seconds"] for span in page.run["spans"])
    for rank in range(3):
        assert f"rank {rank}" in page.sections["timeline"]
    assert [location["host"] for location in page.run["places"]] == [os.uname().nodename] * 3
    assert all(location["cpus"] for location in page.run["places"])
    assert (job.folder / "run.html").stat().st_mode & 0o777 == 0o600


def test_a_failed_job_names_rank_node_and_reason_first(job):
    script = job.script("a.py", "import os\nif os.environ['PADDLE_TRAINER_ID'] == '1':\n"
                                "    raise ValueError('<script>no</script> --api_key=hunter2')\nimport time\ntime.sleep(60)\n")
    done = job.launch("--nproc_per_node", 2, "--report", "run.html", script)
    assert done.returncode == 1
    page = page_of(job.folder / "run.html")
    host = os.uname().nodename
    assert page.headings[1] == f"rank 1 on {host}: the program ended with exit code 1: ValueError: <script>no</script> --api_key=***"
    assert list(page.sections)[0] == "failure"
    for text in (host, "ValueError: <script>no</script>", "workerlog.1", "ABORT!!!"):
        assert text in page.sections["failure"], text
    assert "hunter2" not in (job.folder / "run.html").read_text()
    assert {span["rank"]: span["state"] for span in page.run["spans"]} == {0: "stopped", 1: "failed"}
    assert page.run["failure"]["text"] in done.stderr


def test_starts_after_a_failure_are_on_one_page(job):
    script = job.script("a.py", "import os, signal\nif os.environ['PADDLE_RESTART_COUNT'] == '0':\n"
                                "    os.kill(os.getpid(), signal.SIGKILL)\n")
    done = job.launch("--max_restart", 1, "--nproc_per_node", 1, "--report", "run.html", script)
    assert done.returncode == 0, done.stderr
    page = page_of(job.folder / "run.html")
    assert [(span["start"], span["state"]) for span in page.run["spans"]] == [(1, "failed"), (2, "done")]
    assert "SIGKILL" in page.sections["timeline"] and "started again" in page.sections["events"]
    assert page.run["outcome"] == "done" and "failure" not in page.sections


def test_there_is_a_page_while_the_job_runs_and_when_the_launcher_is_killed(job):
    script = job.script("a.py", "import time\ntime.sleep(60)\n")
    from whole_jobs import LAUNCH
    child = job.start(LAUNCH, "--nproc_per_node", 1, "--report", "run.html", script)
    job.wait_until(lambda: (job.folder / "run.html").exists())
    assert page_of(job.folder / "run.html").run["outcome"] == "running"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert page_of(job.folder / "run.html").run["outcome"] == "running"


def test_a_native_job_shows_its_curves(job):
    toml = job.script("digits.toml", NATIVE_JOB.format(hidden=16, digits=ROOT / "examples" / "digits.h5", epochs=3,
                                                       optimizer="adam", name="kept", every=3))
    done = job.launch("--nproc_per_node", 2, "--report", "run.html", toml, "--metrics", "m.jsonl")
    assert done.returncode == 0, done.stderr
    page = page_of(job.folder / "run.html")
    lines = [json.loads(line) for line in (job.folder / "m.jsonl").read_text().splitlines()]
    values = [row["values"] for row in page.run["rows"] if row["event"] == "epoch"]
    assert values == [{name: line[name] for name in values[0]} for line in lines if line["event"] == "epoch"]
    assert len(values) == 3 and len(page.run["times"]) == 2 and len(page.run["spans"]) == 2
    assert set(page.sections) >= {"curves", "phases", "timeline", "placement", "events"}
    assert sorted(path.name for path in (job.folder / "log").glob("*.json")) == []


def test_times_of_a_job_with_servers_are_of_its_workers(job):
    """Oracle: the roles in the job's placement, which are the launcher's."""
    toml = job.script("digits.toml", NATIVE_JOB.format(hidden=16, digits=ROOT / "examples" / "digits.h5", epochs=3,
                                                       optimizer="adam", name="kept", every=3))
    done = job.launch("--server_num", 1, "--worker_num", 2, "--report", "run.html", toml)
    assert done.returncode == 0, done.stderr
    page = page_of(job.folder / "run.html")
    assert [(location["rank"], location["role"]) for location in page.run["places"]] == [(0, "server"), (1, "worker"), (2, "worker")]
    assert [times["rank"] for times in page.run["times"]] == [1, 2]
    assert all(times["wait"] is None and times["communicate"] > 0 for times in page.run["times"])
    assert "rank 2" in page.sections["phases"] and "rank 0" not in page.sections["phases"]


def test_a_native_job_whose_rank_is_killed_keeps_its_curves(job):
    toml = job.script("digits.toml", NATIVE_JOB.format(hidden=64, digits=ROOT / "examples" / "digits.h5", epochs=1000000,
                                                       optimizer="adam", name="kept", every=1000000))
    from whole_jobs import LAUNCH, processes_with
    child = job.start(LAUNCH, "--nproc_per_node", 2, "--report", "run.html", toml, "--metrics", "m.jsonl")
    # The page's data are written every five seconds.
    record = job.folder / "log" / "run-record.json"
    job.wait_until(lambda: record.exists() and len(json.loads(record.read_text())["rows"]) > 3, timeout=40)
    for pid in processes_with(job.mark):
        try:
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_text()
            environment = pathlib.Path(f"/proc/{pid}/environ").read_text()
        except OSError:
            continue
        if "dtrain-native" in line and "PADDLE_TRAINER_ID=1\0" in environment and not line.startswith("mpirun"):
            os.kill(pid, signal.SIGKILL)
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGKILL
    page = page_of(job.folder / "run.html")
    assert page.headings[1].startswith("rank 1 on ") and "SIGKILL" in page.headings[1]
    assert page.run["rows"] and "Loss" in page.sections["curves"]


@pytest.mark.parametrize("file", ["none/run.html", "."])
def test_a_page_that_cannot_be_written_is_refused_before_anything_starts(job, file):
    done = job.launch("--nproc_per_node", 1, "--report", file, job.script("a.py", "open('started', 'w')\n"))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and f"{file}" in done.stderr
    assert not (job.folder / "started").exists() and not (job.folder / "log").exists()

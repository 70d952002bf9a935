# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Files in which programs leave why a rank fails. Oracle: the report says what the program left, and what it did not leave stays away.

torch is not installed: RECORD writes its file as record_exception() of torch/distributed/elastic/multiprocessing/errors does."""
import json
import re

import pytest

from conftest import LAUNCH
from example_programs import program_of
from whole_jobs import NATIVE_JOB, PYTHON, WORKER

RECORD = r"""
import json, os, sys, time
rank = int(os.environ["RANK"])


def record(message):
    data = {"message": {"message": message, "extraInfo": {"py_callstack": "Traceback ...", "timestamp": str(int(time.time()))}}}
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump(data, file)


"""


def report_of(job):
    return json.loads((job.folder / "report.json").read_text())


def failed_with(job, script, *options, env=None, ranks=2, status=1):
    """The report of a job with this script, which leaves nothing in the folder for temporary files."""
    job.script("a.py", RECORD + script)
    temporary = job.folder / "temporary"
    temporary.mkdir(exist_ok=True)
    done = job.launch("--nproc_per_node", ranks, "--report", "report.json", *options, "a.py",
                      env={"TMPDIR": temporary, **(env or {})})
    assert done.returncode == status, done.stderr
    assert not list(temporary.glob("dtrain*"))
    return report_of(job), done


def test_what_torchs_record_keeps_is_the_exception(job):
    report, done = failed_with(job, "if rank == 1:\n    record('ValueError: my own words')\n    os._exit(1)\ntime.sleep(1000)")
    cause = report["cause"]
    assert (cause["rank"], cause["exception"], cause["error"]) == (1, "ValueError: my own words", None)
    assert cause["error_details"]["source"] == "torch" and cause["error_details"]["time_us"] > 1e15
    assert cause["last_lines"] == [], "the log has nothing of it"
    assert ": ValueError: my own words\n" in done.stderr
    assert report["stopped"][0]["error_details"] is None


def test_the_page_has_it_too(job):
    job.script("a.py", RECORD + "record('ValueError: my own words')\nos._exit(1)")
    assert job.launch("--nproc_per_node", 1, "--report", "report.html", "a.py").returncode == 1
    assert "ValueError: my own words" in (job.folder / "report.html").read_text()


def test_each_rank_has_a_file_of_its_own(job):
    report, _ = failed_with(job, "record(f'ValueError: of rank {rank}')\n"
                                 "open(f'up.{rank}', 'w')\n"
                                 "while not all(os.path.exists(f'up.{other}') for other in range(4)):\n    time.sleep(0.01)\n"
                                 "os._exit(1)", ranks=4)
    ends = report["failed"] + report["stopped"]
    assert sorted(end["rank"] for end in ends) == [0, 1, 2, 3]
    for end in ends:
        assert end["exception"] == f"ValueError: of rank {end['rank']}", end


def test_what_an_earlier_start_left_is_not_told_again(job):
    report, done = failed_with(job, "if os.environ['PADDLE_RESTART_COUNT'] == '0':\n    record('ValueError: of the first start')\n"
                                    "os._exit(3)", "--max_restart", "1", ranks=1, status=3)
    assert report["restarts"] == 1
    assert (report["cause"]["exception"], report["cause"]["error_details"]) == (None, None)
    assert done.stderr.count("ValueError: of the first start") == 1


def test_a_program_that_goes_on_and_ends_well_has_not_failed(job):
    report, done = failed_with(job, "record('ValueError: handled')", status=0)
    assert report["outcome"] == "done" and "ValueError" not in done.stderr


@pytest.mark.parametrize("makes_it, reason", [
    ("os.mkfifo(path)", "it is a FIFO, not a regular file"),
    ("os.symlink('/etc/passwd', path)", "it is a symbolic link, which is not followed here"),
    ("os.truncate(open(path, 'w').name, 1 << 40)", f"it has {1 << 40} bytes, more than {1 << 20}"),
    ("open(path, 'w').write('{\"message\": {\"mess')", "it has neither dtrain's form nor that of torch's @record"),
])
def test_what_is_in_its_place_is_named_and_does_no_harm(job, makes_it, reason):
    report, done = failed_with(job, f"path = os.environ['DTRAIN_ERROR_FILE']\n{makes_it}\nos._exit(5)", ranks=1, status=5)
    assert report["cause"]["hints"] == [f"its error file cannot be read: {reason}"]
    assert (report["cause"]["exception"], report["cause"]["error"]) == (None, None)


def test_the_users_file_for_torch_is_kept(job):
    mine = job.folder / "mine.json"
    report, _ = failed_with(job, "assert os.environ['TORCHELASTIC_ERROR_FILE'] != os.environ['DTRAIN_ERROR_FILE']\n"
                                 "record('ValueError: mine')\nos._exit(1)", env={"TORCHELASTIC_ERROR_FILE": mine}, ranks=1)
    assert json.loads(mine.read_text())["message"]["message"] == "ValueError: mine"
    assert report["cause"]["exception"] is None


def test_a_job_inside_a_rank_has_files_of_its_own(job):
    job.script("inner.py", RECORD + "record('ValueError: of the inner job')\nos._exit(1)")
    report, _ = failed_with(job, "alone = {name: value for name, value in os.environ.items() if name[:4] not in ('OMPI', 'PMIX')}\n"
                                 f"os.execve('{LAUNCH}', ['dtrain-launch', '--nproc_per_node', '1', '--log_dir', 'inner', 'inner.py'], alone)",
                            ranks=1)
    assert ": ValueError: of the inner job\n" in job.log(0)
    assert report["cause"]["exception"] is None, report["cause"]


def test_without_a_place_for_temporary_files_it_is_beside_the_log(job):
    job.script("a.py", RECORD + "record(os.environ['DTRAIN_ERROR_FILE'])\nos._exit(1)")
    done = job.run(WORKER, "--", PYTHON, "a.py", env={"TMPDIR": "/no/such/folder"})
    assert done.returncode == 1
    assert re.search(rf"ended with exit code 1; its error: {job.folder}/log/dtrain\.\w+/error\.json; log: ", done.stderr), done.stderr
    assert [path.name for path in (job.folder / "log").iterdir() if path.name.startswith("dtrain.")] == []


def test_secrets_in_it_are_hidden(job):
    report, done = failed_with(job, "record('ValueError: http://me:hunter2@example.org and hf_xyz123')\nos._exit(1)",
                               env={"HF_TOKEN": "hf_xyz123"})
    assert "hunter2" not in json.dumps(report) + done.stderr and "hf_xyz123" not in json.dumps(report) + done.stderr
    assert report["cause"]["exception"] == "ValueError: http://me:***@example.org and ***"


def test_a_long_error_arrives_with_begin_and_end(job):
    report, _ = failed_with(job, "record('ValueError: begin ' + 'ö' * 100000 + ' end')\nos._exit(1)", ranks=1)
    message = report["cause"]["error_details"]["message"]
    assert message.startswith("ValueError: begin ö") and message.endswith("ö end") and len(message) < 1000


def test_the_error_of_a_native_job(job):
    (job.folder / "job.toml").write_text(NATIVE_JOB.format(hidden=16, digits="nowhere.h5", epochs=1, optimizer="sgd", name="kept",
                                                           every=1))
    done = job.launch("--nproc_per_node", 2, "--report", "report.json", "job.toml")
    assert done.returncode == 2, done.stderr
    cause = report_of(job)["cause"]
    assert cause["rank"] == 0, "which speaks for all"
    assert job.log(0).startswith(f"dtrain-native: {cause['error']}\n")
    details = cause["error_details"]
    assert details["kind"] == "dtrain::UsageError" and details["for_all"] is True and details["message"] == cause["error"]


SPAWNS = r"""
#include <stdexcept>
#include <dtrain/spawn.hpp>

int main() {
    try {
        dtrain::spawn([] { throw std::out_of_range("no such row"); return 0; }, dtrain::SpawnOptions{.nprocs = 1, .backend = "gloo"});
    } catch (const dtrain::SpawnError& failed) {
        return 4;
    }
}
"""


def test_the_error_of_a_function_in_spawn(job):
    job.script("launch", f"""#!/bin/sh
{LAUNCH} "$@"
status=$?
while [ "$1" != --report ]; do shift; done
cp "$2" {job.folder}/report.json
exit $status
""").chmod(0o755)
    assert job.run(program_of("spawns", SPAWNS), env={"DTRAIN_LAUNCH": job.folder / "launch"}).returncode == 4
    details = report_of(job)["cause"]["error_details"]
    assert (details["kind"], details["message"]) == ("std::out_of_range", "no such row")

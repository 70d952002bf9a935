# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole jobs of dtrain-run, which takes torchrun's command line. Oracle: torchrun's documentation; torch is not needed."""
import json
import re
import shutil
import subprocess

import pytest

from conftest import BUILD

RUN = BUILD / "src" / "bin" / "dtrain-run"
PRINT_VARIABLES = r"""
import json, os, sys
names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK",
         "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS",
         "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_USE_AGENT_STORE", "CUDA_VISIBLE_DEVICES"]
print(json.dumps({**{name: os.environ.get(name) for name in names}, "argv": sys.argv, "cwd": os.getcwd(),
                  "name": __name__, "package": __package__, "unbuffered": sys.stdout.write_through}))
"""
SPEAKING = r"""
import os, sys, time
print("out", os.environ["RANK"])
print("err", os.environ["RANK"], file=sys.stderr)
"""
FAILING = SPEAKING + r"""
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    raise ValueError("the rate is lost")
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    time.sleep(1000)
"""


@pytest.fixture
def run(job):
    """Runs dtrain-run; its folder for temporary files is job.folder / "temporary"."""
    temporary = job.folder / "temporary"
    temporary.mkdir()

    def runs(*words, status=0, **env):
        done = job.run(RUN, *words, env={"TMPDIR": temporary, "CUDA_VISIBLE_DEVICES": "", **env})
        assert done.returncode == status, (done.stdout, done.stderr)
        assert job.left_behind() == []
        return done
    return runs


def ranks_of(done):
    """What PRINT_VARIABLES printed, by rank."""
    return sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda each: int(each["RANK"]))


def test_ranks_have_torchruns_variables(run, job):
    job.script("a.py", PRINT_VARIABLES)
    ranks = ranks_of(run("--nproc-per-node", 2, "--role", "trainer", "--max-restarts", 3, "--rdzv-id", 77, "a.py", "--lr", "0.1", ""))
    assert [each["RANK"] for each in ranks] == ["0", "1"]
    for rank, each in enumerate(ranks):
        assert each["LOCAL_RANK"] == each["ROLE_RANK"] == str(rank)
        assert each["WORLD_SIZE"] == each["LOCAL_WORLD_SIZE"] == each["ROLE_WORLD_SIZE"] == "2"
        assert (each["GROUP_RANK"], each["GROUP_WORLD_SIZE"], each["ROLE_NAME"]) == ("0", "1", "trainer")
        assert each["MASTER_ADDR"] == "127.0.0.1" and int(each["MASTER_PORT"]) == int(ranks[0]["MASTER_PORT"]) > 0
        assert (each["TORCHELASTIC_RUN_ID"], each["TORCHELASTIC_MAX_RESTARTS"]) == ("77", "3")
        assert (each["TORCHELASTIC_RESTART_COUNT"], each["TORCHELASTIC_USE_AGENT_STORE"]) == ("0", "False")
        assert each["argv"] == ["a.py", "--lr", "0.1", ""] and each["cwd"] == str(job.folder)
        assert each["name"] == "__main__" and each["unbuffered"]


def test_a_module_a_program_and_the_given_port(run, job):
    (job.folder / "package").mkdir()
    (job.folder / "package" / "train.py").write_text(PRINT_VARIABLES)
    rank, = ranks_of(run("--standalone", "-m", "package.train", "-x"))
    assert rank["package"] == "package" and rank["argv"][1:] == ["-x"]
    rank, = ranks_of(run("--master_port", 29731, "-m", "package.train"))
    assert rank["MASTER_PORT"] == "29731"
    assert run("--no-python", "--nproc_per_node=2", "echo", "-n", "a").stdout == "aa"
    assert ranks_of(run("--run-path", job.script("b.py", PRINT_VARIABLES), PET_NPROC_PER_NODE=3))[2]["RANK"] == "2"


def test_all_ranks_are_on_the_console_as_torchrun_shows_them(run, job):
    job.script("a.py", SPEAKING)
    done = run("--nproc-per-node", 3, "a.py")
    assert sorted(done.stdout.splitlines()) == ["out 0", "out 1", "out 2"]
    assert sorted(done.stderr.splitlines()) == ["err 0", "err 1", "err 2"]
    assert list((job.folder / "temporary").iterdir()) == [], "logs of a job that succeeded without --log-dir"
    assert {path.name for path in job.folder.iterdir()} == {"a.py", "temporary"}


def test_redirects_tee_and_filter(run, job):
    job.script("a.py", SPEAKING)
    done = run("--nproc-per-node", 3, "--log-dir", "logs", "--rdzv-id", "x", "-r", "0:3,1:2", "-t", "2:1", "a.py")
    assert sorted(done.stdout.splitlines()) == ["[default2]:out 2", "out 1"]
    assert done.stderr.splitlines() == ["err 2"]
    folder, = (job.folder / "logs").glob("x_*")
    for rank in range(3):
        assert (folder / "attempt_0" / str(rank) / "stdout.log").read_text() == f"out {rank}\n"
        assert (folder / "attempt_0" / str(rank) / "stderr.log").read_text() == f"err {rank}\n"
    done = run("--nproc-per-node", 3, "--local-ranks-filter", "1", "--tee", "3", "--log-line-prefix-template", "${rank}> ", "a.py")
    assert (done.stdout, done.stderr) == ("1> out 1\n", "1> err 1\n")


def test_the_report_names_the_rank_that_failed_first(run, job):
    job.script("a.py", FAILING)
    done = run("--nproc-per-node", 2, "a.py", status=1)
    assert "dtrain-run: rank 1 on " in done.stderr and ": ValueError: the rate is lost\n" in done.stderr
    assert "then stopped by dtrain-run: rank [0]" in done.stderr and "ABORT!!!" not in done.stderr
    log, = re.findall("^  log: (.*)$", done.stderr, re.MULTILINE)
    with open(log, encoding="utf-8") as file:
        assert file.read().splitlines()[0] == "err 1", "the logs of a job that failed stay"


def test_a_failed_job_is_started_again(run, job):
    job.script("a.py", FAILING)
    done = run("--nproc-per-node", 2, "--max-restarts", 1, "--log-dir", "logs", "a.py")
    assert "starting it again, 1 of at most 1 times" in done.stderr
    folder, = (job.folder / "logs").iterdir()
    assert {path.name for path in folder.glob("attempt_*")} == {"attempt_0", "attempt_1"}
    assert (folder / "attempt_1" / "1" / "stdout.log").read_text() == "out 1\n"


def test_what_torchs_record_keeps_stays_with_the_logs(run, job):
    job.script("a.py", r"""
import json, os, sys
data = {"message": {"message": "ValueError: my own words", "extraInfo": {"py_callstack": "", "timestamp": "1"}}}
with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
    json.dump(data, file)
sys.exit(4)
""")
    done = run("--log-dir", "logs", "a.py", status=4)
    assert ": ValueError: my own words\n" in done.stderr
    file, = (job.folder / "logs").glob("*/attempt_0/0/error.json")
    assert json.loads(file.read_text())["message"]["message"] == "ValueError: my own words"


def test_gpus_are_one_for_each_rank(run, job):
    job.script("a.py", PRINT_VARIABLES)
    ranks = ranks_of(run("--nproc-per-node", 2, "a.py", CUDA_VISIBLE_DEVICES="4,5,6"))
    assert [each["CUDA_VISIBLE_DEVICES"] for each in ranks] == ["4,5,6"] * 2
    assert len(ranks_of(run("--nproc-per-node", "gpu", "a.py", CUDA_VISIBLE_DEVICES="4,5,6"))) == 3
    ranks = ranks_of(run("--nproc-per-node", 2, "--virtual-local-rank", "a.py", CUDA_VISIBLE_DEVICES="4,5,6"))
    assert [(each["CUDA_VISIBLE_DEVICES"], each["LOCAL_RANK"]) for each in ranks] == [("4", "0"), ("5", "0")]


@pytest.mark.parametrize("words, message", [
    (["--nnodes", 2, "a.py"], "--nnodes 2: the nodes have no place to meet; give --master-addr HOST, or"),
    (["--nproc-per-node", "gpu", "a.py"], "--nproc-per-node gpu: no GPU is visible here"),
    (["gone.py"], 'training script "gone.py" not found'),
    (["--nproc-per-node", 0, "a.py"], "--nproc-per-node 0: it must be auto, gpu, cpu or a whole number"),
    (["--tee", "5", "a.py"], '--tee: "5" names no streams'),
    ([], "no training script; write dtrain-run [options] script.py"),
])
def test_bad_input_is_one_line_and_nothing_starts(run, job, words, message):
    job.script("a.py", "open('was-here', 'w')")
    done = run(*words, status=2)
    assert done.stdout == "" and done.stderr.startswith("dtrain-run: " + message), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (job.folder / "was-here").exists() and list((job.folder / "temporary").iterdir()) == []


def test_stderr_comes_while_a_program_runs(job):
    """A progress bar, which ends no line."""
    job.script("a.py", "import sys, time\nsys.stderr.write('\\r 10 %')\nsys.stderr.flush()\ntime.sleep(1000)")
    child = job.start(RUN, "a.py", text=False)
    assert child.stderr.read(6) == b"\r 10 %"
    child.terminate()
    child.communicate(timeout=30)
    assert child.returncode == 143 and job.left_behind() == []


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_its_completion_is_a_script(run, job):
    script = job.script("c.sh", run("--print-completion", "bash").stdout)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0

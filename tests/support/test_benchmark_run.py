# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/run as a command, in a folder of its own with benchmarks made up here and an examples/setup that does nothing. Oracle:
the exit statuses and files that its help promises."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import harness
import record

MADE_UP = '''
from harness import Case, Failed, Missing, figure
from pathlib import Path

HERE = Path(__file__).parent


def seconds():
    return float((HERE / "seconds").read_text())


def crashing():
    return figure(["sh", "-c", "echo no gloo >&2; kill -ABRT $$"])


def cases(build):
    yield Case("a sum", "s", "lower", seconds, "MPI", lambda: 2.0, 1.0, 3, foreign=True)
    yield Case("a sum", "s", "lower", seconds, "gloo", crashing, 1.0, 3, foreign=True)
    yield Missing("a sum on GPUs", "no GPU")
'''
BROKEN = '''
from harness import Case, figure


def cases(build):
    yield Case("a step", "s", "lower", lambda: figure(["sh", "-c", "echo first; echo out of memory >&2; exit 7"]), "limit", lambda: 1, 1.0, 3)
    yield Case("another", "s", "lower", lambda: 1, "limit", lambda: 1, 1.0, 3)
'''
ENDLESS = '''
from harness import Case, figure


def cases(build):
    yield Case("a step", "s", "lower", lambda: 1, "limit", lambda: 1, 1.0, 3)
    yield Case("no end", "s", "lower", lambda: figure(["sh", "-c", f"echo $$ >{build}.pid; exec sleep 1000"]), "limit", lambda: 1, 1.0, 3)
'''


class Folder:
    def __init__(self, path):
        self.path = path
        (path / "benchmarks").mkdir()
        (path / "examples").mkdir()
        shutil.copy(ROOT / "meson.build", path)
        shutil.copy(ROOT / "benchmarks/run", path / "benchmarks")
        helpers = {"compare", "harness", "machine", "program_runs", "record"}
        for name in helpers:
            shutil.copy(ROOT / f"benchmarks/{name}.py", path / "benchmarks")
        (path / "examples/setup").write_text("#!/bin/sh\necho built\n: >built\n")
        (path / "examples/setup").chmod(0o755)
        self.benchmark("made_up", MADE_UP)
        self.takes(3)

    def benchmark(self, name, text):
        (self.path / f"benchmarks/{name}.py").write_text(text)

    def takes(self, seconds):
        (self.path / "benchmarks/seconds").write_text(str(seconds))

    def start(self, *words):
        return subprocess.Popen([self.path / "benchmarks/run", *map(str, words)], cwd=self.path, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background
                                env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(self.path.parent)})

    def run(self, *words):
        child = self.start(*words)
        out, err = child.communicate(timeout=120)
        return subprocess.CompletedProcess(words, child.returncode, out, err)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


LINES = ["made_up: a sum: 3 s; MPI: 2 s; ratio 1.50, aim <= 1",
         "made_up: a sum: 3 s; gloo: not measured: killed by SIGABRT: no gloo",
         "made_up: a sum on GPUs: not measured: no GPU"]


@pytest.mark.parametrize("words", [[], ["all"], ["made_up"], ["made_up", "all"]])
def test_a_line_above_and_one_per_case(folder, words):
    done = folder.run(*words)
    assert (done.returncode, done.stderr) == (0, "built\n")
    first, *lines = done.stdout.splitlines()
    assert lines == LINES
    assert " cores of " in first and first.endswith("; no git checkout")


def test_what_failed_of_ours_stops_nothing_and_is_told_at_the_end(folder):
    folder.benchmark("broken", BROKEN)
    folder.benchmark("no_python", "import nowhere\ndef cases(build):\n    pass\n")
    done = folder.run("all")
    assert done.returncode == 1
    lines = done.stdout.splitlines()[1:]
    assert lines == ["broken: a step: not measured: exit status 7: out of memory", "broken: another: 1 s; limit: 1 s; ratio 1.00, aim <= 1", *LINES,
                     "no_python: not measured: ModuleNotFoundError: No module named 'nowhere'"]
    assert done.stderr.splitlines() == [
        "built", "benchmarks/run: 2 could not be measured, as something of dtrain's failed:", lines[0], "    first", "    out of memory", lines[-1]]


def test_the_file_of_a_run(folder):
    done = folder.run("all", "--json", "new.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == LINES
    content = record.read(folder.path / "new.json")
    assert (content["complete"], content["command"], content["commit"], content["dirty"]) == (True, ["all", "--json", "new.json"], "", None)
    assert [(case["case"], case["peer"], case["value"], case["n"], case["ratio"], case["not_measured"]) for case in content["cases"]] == [
        ("a sum", "MPI", 3, 3, 1.5, ""), ("a sum", "gloo", 3, 3, None, "killed by SIGABRT: no gloo"), ("a sum on GPUs", "", None, 0, None, "no GPU")]


def test_the_file_on_standard_output(folder):
    done = folder.run("--json", "-")
    assert done.returncode == 0
    assert record.what_is_wrong(json.loads(done.stdout)) == ""
    assert done.stderr.splitlines()[2:] == LINES


def test_only_cases_with_a_text(folder):
    done = folder.run("--case", "GPU")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, LINES[2:])
    done = folder.run("--case", "TPU")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "made_up: no case has 'TPU' in its description")


def test_a_run_beside_an_older_one(folder):
    assert folder.run("--json", "old.json").returncode == 0
    same = folder.run("--json", "new.json", "--compare", "old.json")
    assert same.returncode == 0
    assert same.stdout.splitlines()[-2].startswith("2 cases compared, 0 worse by more than noise; ")
    folder.takes(4)
    worse = folder.run("--json", "new.json", "--compare", "old.json")
    assert worse.returncode == 3
    summary = [line for line in worse.stdout.splitlines() if line.startswith("worse by more than noise: ")]
    assert summary == [f"worse by more than noise: made_up: a sum: 4 s (median of 3, 4 to 4), was 3 s (median of 3, 3 to 3){ratio}: "
                       "worse by 33%, noise 5%" for ratio in ("; ratio to MPI 2.00, was 1.50", "")]
    again = folder.run("compare", "old.json", "new.json")
    assert (again.returncode, again.stderr) == (3, "")
    assert again.stdout.splitlines()[:2] == summary
    assert folder.run("compare", "new.json", "old.json").returncode == 0


def test_what_failed_of_ours_is_the_status_also_where_other_cases_are_worse(folder):
    folder.run("--json", "old.json")
    folder.benchmark("broken", BROKEN)
    folder.takes(4)
    done = folder.run("--compare", "old.json")
    assert done.returncode == 1 and "worse by more than noise: made_up: a sum" in done.stdout


@pytest.mark.parametrize("words, complaint", [
    (["made"], "unknown benchmark 'made'; the nearest is 'made_up'"),
    (["--json", "no/new.json"], "'no/new.json' cannot be written: there is no folder 'no'; make it first"),
    (["--json", "examples"], "'examples' is no regular file; name a file that is to be written"),
    (["--compare", "old.json"], "'old.json' cannot be read: No such file or directory; name a file that benchmarks/run --json has written"),
    (["--compare", "meson.build"], "'meson.build' is no JSON (Expecting value: line 1 column 1 (char 0)); "
                                   "name a file that benchmarks/run --json has written"),
    (["compare", "a.json"], "compare takes two files, OLD and NEW, not 1; see benchmarks/run --help"),
    (["compare", "a.json", "b.json"], "'a.json' cannot be read: No such file or directory; name a file that benchmarks/run --json has written"),
    (["--json"], "argument --json: expected one argument; see benchmarks/run --help"),
    (["--jso", "a"], "unrecognized arguments: --jso; see benchmarks/run --help")])
def test_wrong_words_and_files_are_one_line_and_nothing_starts(folder, words, complaint):
    done = folder.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.replace(" --jso a;", " --jso;") == f"benchmarks/run: {complaint}\n"
    assert not (folder.path / "built").exists()


def test_a_build_that_fails_measures_nothing(folder):
    (folder.path / "examples/setup").write_text("#!/bin/sh\necho why >&2\nexit 5\n")
    done = folder.run("--json", "new.json")
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "why\n")
    assert not (folder.path / "new.json").exists()


def test_a_benchmark_that_builds_for_itself_runs_only_when_it_is_named_and_needs_no_build(folder):
    folder.benchmark("alone", MADE_UP.replace("a sum", "a build") + "\nIN_ALL = False\nNEEDS_BUILD = False\n")
    assert "a build" not in folder.run("all").stdout
    (folder.path / "built").unlink()
    done = folder.run("alone")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, [line.replace("made_up: a sum", "alone: a build") for line in LINES])
    assert not (folder.path / "built").exists()


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_its_figures_and_no_program(folder, number, status):
    folder.benchmark("endless", ENDLESS)
    child = folder.start("endless", "--json", "new.json")
    pid = folder.path / "build.pid"
    end = time.monotonic() + 60
    while not (pid.exists() and pid.read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.02)
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == status
    content = record.read(folder.path / "new.json")
    assert content["complete"] is False and [case["case"] for case in content["cases"]] == ["a step"]
    left = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not left.exists() or left.read_text().rpartition(")")[2].split()[0] == "Z"


def test_the_help_names_all_benchmarks_and_statuses():
    done = subprocess.run([ROOT / "benchmarks/run", "--help"], text=True, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    assert all(name in words for name in harness.names(ROOT / "benchmarks"))
    assert "only when named, as they take many minutes: build" in words
    assert all(f" {status} " in words for status in range(4))

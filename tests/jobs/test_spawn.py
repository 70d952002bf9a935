# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Plain C++ programs that start their ranks themselves (tests/spawn/spawn_scenarios.cpp).

Oracle: the four forms and the errors of spawn() in Paddle's documents; sums worked out by hand. That nothing was started
before a refusal is told by a stand-in for the launcher, which leaves a mark, and by spawn()'s temporary folder.
"""
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import BUILD, LAUNCH, ROOT

PROGRAM = BUILD / "tests" / "spawn" / "spawn_scenarios"


def spawning(job, *words, status=0, **env):
    done = job.run(PROGRAM, *words, env={"CUDA_VISIBLE_DEVICES": "", **env})
    assert done.returncode == status, (done.stdout, done.stderr)
    assert job.left_behind() == []
    return done


def lines_of(done):
    return sorted(done.stdout.splitlines())


def test_the_function_alone_runs_on_every_core(job):
    cores = len(os.sched_getaffinity(0))
    ranks = [f"rank {rank} of {cores}" for rank in range(cores)]
    expected = sorted(f"[{rank}] {line}" for rank, line in enumerate(ranks)) if cores > 1 else ranks
    assert lines_of(spawning(job, "cores")) == expected


def test_as_many_ranks_as_asked_for_are_one_world(job):
    done = spawning(job, "two")
    assert lines_of(done) == ["[0] rank 0 of 2", "[1] rank 1 of 2"]
    assert done.stderr == ""
    assert list(job.folder.iterdir()) == [], "nothing is left in the current folder"


def test_arguments_arrive_as_they_were_passed(job):
    assert spawning(job, "arguments").stdout == "true 'a b\n c' 2 0.1\n"


DEFAULTS = """
#include <tuple>
#include <dtrain/spawn.hpp>
void function(int epochs = 3);
void start() {
    const auto lambda = [](int epochs = 3) { function(epochs); };
    CALL;
}
"""


@pytest.mark.parametrize("call, compiles", [
    ("dtrain::spawn(function)", False),
    ("dtrain::spawn(function, {.nprocs = 2})", False),
    ("dtrain::spawn(function, std::tuple())", False),
    ("dtrain::spawn(lambda)", False),
    ("dtrain::spawn(lambda, {.nprocs = 2})", False),
    ("dtrain::spawn(function, std::tuple(3), {.nprocs = 2})", True),
    ("dtrain::spawn(lambda, std::tuple(3))", True),
    ("dtrain::spawn([] { function(); }, {.nprocs = 2})", True),
])
def test_a_function_with_defaults_is_told_of_in_words(call, compiles):
    done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{ROOT / 'include'}", "-"],
                          input=DEFAULTS.replace("CALL", call), text=True, capture_output=True, check=False)
    assert (done.returncode == 0) == compiles, done.stderr
    assert ("static assertion failed: dtrain::spawn: the function has another number of parameters than values were "
            "passed; pass one for each as std::tuple(...): defaults of parameters do not count" in done.stderr) != compiles


def test_results_come_back_by_rank(job):
    assert lines_of(spawning(job, "results")) == ["result 600", "result 601", "result 602"]


@pytest.mark.parametrize("scenario, expected", [
    ("all gpus", ["[0] sees 4,5,6,7, uses 0", "[1] sees 4,5,6,7, uses 1", "[2] sees 4,5,6,7, uses 2",
                  "[3] sees 4,5,6,7, uses 3"]),
    ("first gpus", ["[0] sees 4,5, uses 0", "[1] sees 4,5, uses 1"]),
    ("gpus", ["[0] sees 6,5, uses 0", "[1] sees 6,5, uses 1"]),
    ("no gpus", ["sees , uses -"]),
])
def test_gpus_are_chosen_as_the_documents_say(job, scenario, expected):
    assert lines_of(spawning(job, scenario, CUDA_VISIBLE_DEVICES="4,5,6,7")) == expected


@pytest.mark.parametrize("how, message", [
    ("throws", "caught: rank 1: rank 1 of 2: the learning rate is lost"),
    ("throws in a world", "caught: rank 1: rank 1 of 2: the learning rate is lost"),
    ("throws a number", "caught: rank 1: rank 1 of 2: an exception that is no std::exception"),
    ("is killed", "caught: rank 1: rank 1 of 2 was killed by SIGSEGV"),
    ("exits", "caught: rank 1: rank 1 of 2 ended with exit code 5"),
])
def test_a_failing_rank_comes_back_with_its_number_and_words(job, how, message):
    assert spawning(job, how, status=3).stderr == message + "\n"


def test_gpus_that_are_not_there_are_refused_before_anything_starts(job):
    done = spawning(job, "gpus", status=2, CUDA_VISIBLE_DEVICES="4,5")
    assert (done.stdout, done.stderr) == ("", "refused: spawn: gpus 6,5: there is no GPU 6 here; visible are 4,5\n")
    assert "nprocs is 9, but of the GPUs only 4,5 are visible" in spawning(
        job, "too many", status=2, CUDA_VISIBLE_DEVICES="4,5").stderr


def test_spawn_within_the_function_is_refused(job):
    assert spawning(job, "nested", status=3).stderr == (
        "caught: rank 0: rank 0 of 1: spawn: this process is a rank of spawn() already; its function cannot spawn\n")


@pytest.mark.parametrize("launcher", ["dtrain-launch", "mpirun"])
def test_spawn_in_a_launched_job_is_refused(job, launcher):
    if launcher == "mpirun":
        done = job.mpirun(1, PROGRAM, "two")
    else:
        done = job.launch("--quiet", PROGRAM, "two")
    assert done.returncode == 2
    assert "refused: spawn: this process is a rank of a job already" in done.stderr


@pytest.fixture
def watched(job):
    """Variables with which a start of ranks leaves a mark, and what there is of such marks."""
    folder = job.folder / "temporary"
    folder.mkdir()
    launcher = job.script("launcher", f"#!/bin/sh\ntouch {job.folder}/started\nls -d {folder}/dtrain* > {job.folder}/folders\n")
    launcher.chmod(0o755)

    def marks():
        return [path.name for path in (job.folder / "started", *folder.glob("dtrain*")) if path.exists()]
    return {"DTRAIN_LAUNCH": launcher, "TMPDIR": folder}, marks


def test_the_marks_of_a_start_are_seen(job, watched):
    variables, marks = watched
    spawning(job, "two", status=3, **variables)
    assert marks() == ["started"]
    assert len((job.folder / "folders").read_text().splitlines()) == 1


IN_A_WORLD = ("refused: spawn: a ParallelEnv or MpiSession lives in this process, and the ranks, which run main() up to here, "
              "would have it too, and could make no other; call spawn() before it, or make it in the function\n")


@pytest.mark.parametrize("scenario", ["in an env", "in a session"])
def test_spawn_while_the_program_is_a_world_is_refused_before_anything_starts(job, watched, scenario):
    variables, marks = watched
    done = spawning(job, scenario, status=2, **variables)
    assert (done.stdout, done.stderr) == ("", IN_A_WORLD)
    assert marks() == []


@pytest.mark.parametrize("scenario", ["in an env", "in a session"])
def test_a_launched_job_is_told_so_in_a_world_too(job, scenario):
    done = job.mpirun(1, PROGRAM, scenario)
    assert done.returncode == 2
    assert "refused: spawn: this process is a rank of a job already" in done.stderr


def test_spawn_behind_an_env_that_the_ranks_do_not_make_is_a_spawn(job):
    done = spawning(job, "in and behind an env")
    assert lines_of(done) == ["[0] rank 0 of 2", "[0] refused", "[1] rank 1 of 2", "[1] refused", "refused"]


def test_spawn_behind_an_env_that_the_ranks_make_too_fails_there(job):
    assert " of 2: MPI was initialised already" in spawning(job, "behind an env", status=3).stderr


def test_a_rank_that_does_not_come_to_the_call_is_told_of(job):
    assert "ended without running the function" in spawning(job, "unreached", status=3).stderr


def test_calls_before_return_there_what_they_returned(job):
    # 1 * (1 + 2) + rank 1, and the failed rank 1 of the second call, and 10.
    done = spawning(job, "calls")
    assert (done.stdout, done.stderr) == ("results 15\n", "")


def test_a_handle_joins_later(job):
    done = spawning(job, "handle")
    assert done.stdout.splitlines() == ["2 ranks, joined at once: 0", "joined: 1, results 0 10"]


def test_ranks_whose_handle_goes_are_stopped(job):
    assert spawning(job, "dropped").stdout == "gone\n"


def test_ranks_end_with_the_program(job):
    child = job.start(PROGRAM, "sleeps")
    job.wait_until(lambda: len(job.left_behind(0)) >= 4)  # the program, its launcher, two ranks
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert job.left_behind(15) == []
    child.communicate()


def test_the_folder_of_a_killed_program_stays_as_long_as_its_launcher(job):
    """Another start removes what is abandoned: not under a launcher that still writes there."""
    folder = job.folder / "temporary"
    folder.mkdir()
    child = job.start(PROGRAM, "sleeps", env={"TMPDIR": folder})
    job.wait_until(lambda: len(job.left_behind(0)) >= 4)
    launcher, = [int(pid) for thread in pathlib.Path(f"/proc/{child.pid}/task").iterdir()
                 for pid in (thread / "children").read_text().split()]
    os.kill(launcher, signal.SIGSTOP)
    child.send_signal(signal.SIGKILL)
    child.wait()
    others = job.run(LAUNCH, "--quiet", "/bin/true", env={"TMPDIR": folder})
    assert others.returncode == 0, others.stderr
    assert any((path / "arguments").exists() for path in folder.glob("dtrain.*"))
    os.kill(launcher, signal.SIGCONT)
    child.communicate(timeout=15)
    assert job.left_behind(15) == []
    assert job.run(LAUNCH, "--quiet", "/bin/true", env={"TMPDIR": folder}).returncode == 0
    assert list(folder.iterdir()) == []


def test_logs_are_kept_where_asked_for(job):
    spawning(job, "logs")
    assert [(job.folder / "ranks" / f"workerlog.{rank}").read_text() for rank in (0, 1)] == [
        "rank 0 of 2\n", "rank 1 of 2\n"]


def test_without_a_launcher_spawn_says_what_is_missing(job):
    done = spawning(job, "two", status=3, DTRAIN_LAUNCH="/nowhere/dtrain-launch")
    assert "/nowhere/dtrain-launch" in done.stderr

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""C++ programs of which one rank fails while others wait for it. Oracle: all end, soon, and somebody says which and why."""
import json
import os
import re
import signal

import pytest

from conftest import mpirun
from example_programs import program_of
from whole_jobs import BUILD, LAUNCH, NATIVE_JOB, ROOT, is_native, processes_with

SOON = 30  # seconds; who waits for an answer has 1800


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_test_that_throws_on_one_rank_ends_on_all(tmp_path, ranks):
    result = mpirun(ranks, [BUILD / "tests" / "support" / "throws_on_one_rank"], tmp_path, timeout=SOON)
    assert result.returncode != 0
    output = result.stderr + result.stdout
    assert f"rank {ranks - 1}: OneRank.Throws failed" in output and "its own words" in output, output


@pytest.mark.parametrize("how, message", [
    ("uncaught", "its own words"),
    ("caught", "<2> its own words"),
    ("handled", "trainer 1 (rank 2) has ended without leave(): it failed, or forgot it"),
])
def test_a_trainer_that_throws_ends_the_servers(tmp_path, how, message):
    """`caught`: around the MPI session; `handled`: within it, so that MPI's end waits for the others."""
    result = mpirun(3, [BUILD / "tests" / "ps" / "failing_trainer", how], tmp_path, timeout=SOON)
    assert result.returncode != 0
    assert message in result.stderr + result.stdout, result.stderr + result.stdout
    if how == "handled":
        assert f"<0> {message}" in result.stdout and f"<1> parameter server 0: {message}" in result.stdout, result.stdout


def test_the_report_names_the_rank_that_others_waited_for(job):
    text = NATIVE_JOB.format(hidden=16, digits=ROOT / "examples/digits.h5", epochs=1_000_000, optimizer="sgd", name="kept",
                             every=1_000_000)
    (job.folder / "job.toml").write_text(text)
    launcher = job.start(LAUNCH, "--nproc_per_node", "2", "--report", "report.json", "job.toml",
                         env={"DTRAIN_COMM_TIMEOUT": "3"})
    job.wait_until(lambda: (job.folder / "log/workerlog.0").exists() and re.search("^ +2 ", job.log(0), re.MULTILINE))
    of_job = set(processes_with(job.mark))
    still, = (pid for pid in processes_with("OMPI_COMM_WORLD_RANK=1") if pid in of_job and is_native(pid))
    os.kill(still, signal.SIGSTOP)
    _, err = launcher.communicate(timeout=90)
    assert launcher.returncode == 1, err
    assert re.search(rf"  error: \w+ number \d+ waited [\d.]+ s for rank 1 \(.*\)\n"
                     rf"  it waited for rank 1 on \S+: local rank 1, pid {still}, .*log: {job.folder}/log/workerlog.1\n", err), err
    report = json.loads((job.folder / "report.json").read_text())
    assert report["cause"]["rank"] == 0 and [end["rank"] for end in report["waited_for"]] == [1]
    details = report["cause"]["error_details"]
    assert details["kind"] == "dtrain::CommunicatorTimeout" and details["operation"]["seconds"] > 2.9, details
    assert f" number {details['operation']['number']} waited " in details["message"]


RUN_MAIN = r"""
#include <stdexcept>
#include <dtrain/parallel_env.hpp>
#include <dtrain/run_main.hpp>

int main(int argc, char** argv) {
    return dtrain::run_main(argv[0], [&] {
        const dtrain::ParallelEnv env(argc, argv);
        const bool all = argc > 1;
        if (all || env.rank() == 1) throw std::runtime_error("rank " + std::to_string(env.rank()) + " has no data");
        env.communicator().barrier();
        return 0;
    });
}
"""


@pytest.mark.parametrize("words, failing", [([], {1}), (["all"], {0, 1})])
def test_what_nobody_catches_in_run_main_is_a_line_of_each_rank(job, words, failing):
    """Without it: "terminate called after throwing an instance of ...", SIGABRT and a core dump.

    The launcher may stop a rank that has written its line and not yet ended, and says so there."""
    program = program_of("runs_main", RUN_MAIN)
    done = job.launch("--nproc_per_node", 2, "--report", "report.json", program, *words)
    assert done.returncode == 1, done.stderr
    cause = json.loads((job.folder / "report.json").read_text())["cause"]
    assert cause["rank"] in failing and cause["exit_code"] == 1, cause
    assert cause["error"] == f"rank {cause['rank']} has no data" and cause["error_details"]["kind"] == "std::runtime_error"
    assert f"the program ended with exit code 1: {cause['error']}\n" in done.stderr
    assert f"---- last lines of workerlog.{cause['rank']} ----\nruns_main: rank {cause['rank']} has no data\n" in done.stderr
    for rank in failing:
        log = job.log(rank)
        stopped = "" if rank == cause["rank"] else f"(dtrain: stopped by SIGTERM after rank {cause['rank']} failed on .*\n)?"
        assert re.fullmatch(f"runs_main: rank {rank} has no data\n{stopped}", log), log


# Rank 0 reads the memory of rank 1, which has been killed with its part of the second allgather announced: of the first the ranks
# put theirs into shared memory (faster_way.hpp).
KILLED_WHILE_READ = r"""
#include <csignal>
#include <poll.h>
#include <span>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>
#include <dtrain/parallel_env.hpp>
#include <dtrain/run_main.hpp>

int main(int argc, char** argv) {
    return dtrain::run_main(argv[0], [&] {
        std::signal(SIGTERM, SIG_IGN);
        ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // where Yama forbids reading (kernel.yama.ptrace_scope)
        const dtrain::ParallelEnv env(argc, argv);
        const auto ranks = env.communicator();
        const int pid = ::getpid();
        std::vector<int> pids(2);
        ranks.all_gather(std::span(&pid, 1), std::span(pids));
        std::vector<float> own(1 << 20), all(2 << 20);
        ranks.all_gather(std::span<const float>(own), std::span(all));
        pollfd other{static_cast<int>(::syscall(SYS_pidfd_open, pids[1 - env.rank()], 0)), POLLIN, 0};
        ranks.barrier();
        if (env.rank() == 1) {
            const auto request = ranks.start_all_gather(std::span<const float>(own), std::span(all));
            std::raise(SIGKILL);
        }
        ::poll(&other, 1, -1);
        ranks.all_gather(std::span<const float>(own), std::span(all));
        return 0;
    });
}
"""


def test_a_rank_that_reads_the_memory_of_a_killed_one_says_which(job):
    """Not: "the memory of process 4711 cannot be read: No such process"."""
    program = program_of("killed_while_read", KILLED_WHILE_READ)
    done = job.launch("--nproc_per_node", 2, "--report", "report.json", program)
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    report = json.loads((job.folder / "report.json").read_text())
    assert report["cause"]["rank"] == 1, report
    error = f"all_gather number 4 waited 0.0 s for rank 1 (its process, {report['cause']['pid']}, has ended)"
    assert f"killed_while_read: {error}\n" in job.log(0), job.log(0)
    # before the launcher has told it to stop, or after that
    assert re.search(r"^(failed too:|  of them) rank 0 on .* ended with exit code 1; error: "
                     rf"{re.escape(error)}; log: ", done.stderr, re.MULTILINE), done.stderr


EARLY_END = BUILD / "tests" / "comm" / "early_end"
# A busy machine wakes it up somewhat after its 3 s.
NEVER_SPOKE = r"allreduce number 1 waited [3-9]\.\d s for rank 0 \(in no operation; it has called none yet\)"


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_first_rank_that_is_stopped_before_it_spoke_is_named(tmp_path, ranks):
    result = mpirun(ranks, [EARLY_END, "stopped"], tmp_path, timeout=SOON, DTRAIN_COMM_TIMEOUT="3")
    assert result.returncode == 1
    assert re.search(f"early_end: {NEVER_SPOKE}\n", result.stderr + result.stdout), result
    assert "early_end: barrier" not in result.stderr + result.stdout


def test_the_launcher_names_a_first_rank_that_is_stopped_before_it_spoke(job):
    launcher = job.start(LAUNCH, "--nproc_per_node", "3", "--report", "report.json", EARLY_END, "stopped",
                         env={"DTRAIN_COMM_TIMEOUT": "3"})
    _, err = launcher.communicate(timeout=SOON)
    assert launcher.returncode == 1, err
    report = json.loads((job.folder / "report.json").read_text())
    cause = report["cause"]["rank"]
    assert cause in (1, 2) and [end["rank"] for end in report["waited_for"]] == [0]
    operation = report["cause"]["error_details"]["operation"]
    assert (operation["name"], operation["number"]) == ("allreduce", 1)
    assert operation["missing"] == [{"rank": 0, "why": "in no operation; it has called none yet"}]
    assert re.search(rf"  error: {NEVER_SPOKE}\n  it waited for rank 0 on \S+: local rank 0, pid \d+, "
                     rf".*log: {job.folder}/log/workerlog.0\n", err), err
    assert re.search(rf"the trainer process with rank=\[{cause}[],]", err), err


@pytest.mark.parametrize("how, status, message", [
    ("killed", 137, "the program ended with signal SIGKILL (9)"),
    ("fails", 3, "the program ended with exit code 3"),
    ("leaves", 1, "the program ended with exit code 0"),
])
def test_the_launcher_names_a_first_rank_that_ends_before_it_spoke(job, how, status, message):
    launcher = job.start(LAUNCH, "--nproc_per_node", "3", "--report", "report.json", EARLY_END, how,
                         env={"DTRAIN_COMM_TIMEOUT": "30"})
    _, err = launcher.communicate(timeout=SOON)
    assert launcher.returncode == status, err
    assert json.loads((job.folder / "report.json").read_text())["cause"]["rank"] == 0
    assert re.search(rf"dtrain-launch: rank 0 on \S+: {re.escape(message)}\n", err), err
    assert ("  hint: it ended before MPI_Init or without MPI_Finalize" in err) == (how == "leaves"), err
    assert "the trainer process with rank=[0] was aborted" in err, err


def test_a_first_rank_that_does_not_come_to_mpis_start_is_named(job):
    launcher = job.start(LAUNCH, "--nproc_per_node", "3", "--report", "report.json", EARLY_END, "unborn",
                         env={"DTRAIN_MPI_START_TIMEOUT": "4"})
    _, err = launcher.communicate(timeout=SOON)
    assert launcher.returncode == 1, err
    report = json.loads((job.folder / "report.json").read_text())
    assert report["cause"]["rank"] in (1, 2) and [end["rank"] for end in report["waited_for"]] == [0], err
    assert re.search(r"  error: MPI_Init number 1 waited 4.0 s for rank 0 \(has not come to it\)\n"
                     r"  it waited for rank 0 on \S+: local rank 0, pid \d+, ", err), err

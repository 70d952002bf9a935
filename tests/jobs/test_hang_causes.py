# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Who is to blame for a hang: jobs in which one rank does what its script says, while the others wait for it.

Oracle: the rank, the operation and the line of the script at which each kind makes the job hang."""
import json
import os
import re
import shutil
import signal

import pytest

from conftest import BUILD, LAUNCH, ROOT, build_option, without_debuggers

SCRIPT = """\
import os, signal, sys, threading, time
import dtrain

comm = dtrain.init()
kind = sys.argv[1]
pair = comm.subset([1, 2]) if kind == "other_group" and comm.rank > 0 else None


def evaluate():
    time.sleep(1000)


for step in range(1, 1000000):
    comm.sum(step)
    if step == 20:
        if comm.rank == 2:
            if kind == "sleeps": evaluate()
            if kind == "computes":
                while True: pass
            if kind == "is_stopped": os.kill(os.getpid(), signal.SIGSTOP)
            if kind == "lock": lock = threading.Lock(); lock.acquire(); lock.acquire()
            if kind == "reads": os.read(os.pipe()[0], 1)
            if kind == "child": os.waitpid(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000"), 0)
            if kind == "message": comm.receive(bytearray(8), 0, tag=7)
            if kind == "loop_ends": break
        if kind == "circle" and comm.rank < 2: comm.receive(bytearray(8), 1 - comm.rank)
        if kind == "other_group" and comm.rank == 1: pair.barrier()
        if kind == "two_late" and comm.rank > 0: time.sleep(1000)
    comm.barrier()
while kind == "loop_ends": time.sleep(1)
"""

#: Kind: the ranks that are to blame, and what is said of them.
KINDS = {
    "sleeps": ([2], r"rank 2 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it sleeps.*, after allreduce 39 "
                    r"\(int64 x 1, sum\) of ranks 0-2 at job.py:14; ranks \[0,1\] wait in it for"),
    "computes": ([2], r"rank 2 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it computes"),
    "is_stopped": ([2], r"rank 2 on \S+ is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\): it has not called "
                        r"barrier 40 of ranks 0-2 at job.py:29"),
    "lock": ([2], r"rank 2 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it sleeps"),
    "reads": ([2], r"rank 2 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it sleeps"),
    "child": ([2], r"rank 2 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it sleeps"),
    "message": ([2], r"rank 2 on \S+ waits in receive from rank 0 \(uint8 x 8, tag 7\) of ranks 0-2 at job.py:24, where it called "
                     r"barrier of ranks 0-2 at job.py:29 before"),
    "loop_ends": ([2], r"rank 2 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it sleeps"),
    "circle": ([0, 1], r"ranks wait for each other: rank 0 on \S+ waits in receive from rank 1 \(uint8 x 8\) of ranks 0-2 at "
                       r"job.py:26 for rank 1; rank 1 on \S+ waits in receive from rank 0 \(uint8 x 8\) of ranks 0-2 at job.py:26 "
                       r"for rank 0; rank 2 waits in barrier 40 of ranks 0-2 at job.py:29"),
    "other_group": ([1], r"rank 1 on \S+ skipped barrier of ranks 0-2 at job.py:29: it called barrier 1 of ranks 1-2 at job.py:27"),
    "two_late": ([1, 2], r"rank 1 on \S+ has not called barrier 40 of ranks 0-2 at job.py:29: it sleeps.*; rank 2 on \S+ has not "
                         r"called barrier 40"),
}


@pytest.fixture
def hang(job):
    """hang(KIND, *options): the script under dtrain-launch, in which only the kernel tells where ranks are."""
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"Python has no {sanitizers} sanitizer to load libdtrain with")
    job.script("job.py", SCRIPT)
    env = {"PYTHONPATH": ROOT / "python", "DTRAIN_LIBRARY": BUILD / "src/libdtrain.so", "CUDA_VISIBLE_DEVICES": "",
           **without_debuggers(job.folder)}

    def words(kind, *options):
        return ["--quiet", "--nproc_per_node", 3, "--grace", 1, *options, "job.py", kind]
    return words, env


@pytest.mark.parametrize("kind", KINDS)
def test_the_culprit_comes_first(job, hang, kind):
    words, env = hang
    done = job.launch(*words(kind, "--hang-timeout", "1.5", "--report", "report.json"), env=env)
    assert done.returncode == 124, done.stderr
    culprits, sentence = KINDS[kind]
    assert re.search(f"it hung: {sentence}", done.stderr.splitlines()[0]), done.stderr
    report = json.loads((job.folder / "report.json").read_text())
    assert report["hang"]["culprits"] == culprits, report["hang"]
    assert re.search(sentence.split("; rank")[0], report["hang"]["culprit"])
    assert re.search(sentence, report["stop_reason"])
    assert job.left_behind() == []


@pytest.mark.parametrize("kind", ["sleeps", "computes", "circle"])
def test_explain_tells_it_of_a_job_that_goes_on(job, hang, kind):
    words, env = hang
    child = job.start(LAUNCH, *words(kind), env=env)

    def explained():
        done = job.run(LAUNCH, "explain", str(child.pid), env=env)
        return done.stdout if done.returncode == 0 and "goes on" not in done.stdout else ""
    explanations = []
    job.wait_until(lambda: explanations.append(explained()) or re.search(KINDS[kind][1].split(";")[0], explanations[-1]))
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert job.left_behind() == []


def test_explain_of_a_job_that_trains(job, hang):
    words, env = hang
    child = job.start(LAUNCH, *words("trains"), env=env)
    job.wait_until(lambda: "the job goes on: no rank has waited for a second in its operation" in
                   job.run(LAUNCH, "explain", str(child.pid), env=env).stdout)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)


def test_a_rank_that_evaluates_longer_than_the_others_may_wait_is_no_hang(job, hang):
    """It computes: four times as long as the limit is what it has."""
    words, env = hang
    job.script("job.py", "import time, dtrain\ncomm = dtrain.init()\nfor step in range(3):\n"
                         "    comm.barrier()\n    end = time.monotonic() + 3\n"
                         "    while comm.rank == 0 and time.monotonic() < end: pass\n")
    done = job.launch(*words("", "--hang-timeout", "1.5"), env=env)
    assert done.returncode == 0, done.stderr


def test_a_hang_can_be_reported_only(job, hang):
    words, env = hang
    child = job.start(LAUNCH, *words("sleeps", "--hang-timeout", "1", "--on-hang", "report"), env=env)
    line = next(line for line in child.stderr if "the job hangs" in line)
    assert re.search(f"the job hangs: {KINDS['sleeps'][1]}", line)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    rest = child.communicate(timeout=30)[1]
    assert "the job hangs" not in rest, "once"


def test_a_hang_is_restarted(job, hang):
    words, env = hang
    job.script("job.py", "import os, time, dtrain\ncomm = dtrain.init()\n"
                         "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0' and comm.rank == 1: time.sleep(1000)\ncomm.barrier()\n")
    done = job.launch(*words("", "--hang-timeout", "1.5", "--max_restart", 1), env=env)
    assert done.returncode == 0, done.stderr
    assert re.search(r"it hung: rank 1 on \S+ has not called barrier 1 of ranks 0-2 at job.py:4", done.stderr)


def test_on_hang_restart_needs_a_number_of_restarts(job, hang):
    words, env = hang
    done = job.launch(*words("sleeps", "--hang-timeout", "1", "--on-hang", "restart"), env=env)
    assert done.returncode == 2
    assert done.stderr == "dtrain-launch: --on-hang restart needs --max_restart: how often the job may be started again\n"
    done = job.launch(*words("sleeps", "--hang-timeout", "1", "--on-hang", "restart", "--max_restart", 1), env=env)
    assert done.returncode == 124
    assert done.stderr.count("it hung: rank 2 on ") == 2, done.stderr


def test_a_job_that_goes_on_after_all_says_so(job, hang):
    words, env = hang
    job.script("job.py", "import time, dtrain\ncomm = dtrain.init()\n"
                         "if comm.rank == 2: time.sleep(8)\ncomm.barrier()\ntime.sleep(2)\n")
    done = job.launch(*words("", "--hang-timeout", "1", "--on-hang", "report", "--report", "report.json"), env=env)
    assert done.returncode == 0, done.stderr
    entry = json.loads((job.folder / "report.json").read_text())["reported_hangs"][0]
    assert entry["culprits"] == [2] and entry["cause"] == "absent" and 1 < entry["seconds"] < 8 and entry["text"] in done.stderr, entry
    hangs, goes_on = (done.stderr.index(text) for text in ("the job hangs: rank 2 on ", "the job goes on, "))
    assert hangs < goes_on, done.stderr


def test_all_operations_can_be_dumped(job, hang):
    words, env = hang
    child = job.start(LAUNCH, *words("sleeps", "--hang-timeout", "1", "--on-hang", "dump"), env=env)
    assert any("the job hangs: rank 2 on " in line for line in child.stderr)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    of_rank = [(job.folder / f"log/workerlog.{rank}.operations").read_text().splitlines() for rank in range(3)]
    for rank, lines in enumerate(of_rank):
        assert re.fullmatch(r"process \d+, at [\d-]+ [\d:]+:", lines[0]), lines[0]
        assert len(lines) - 2 == (39 if rank == 2 else 40)
        assert re.fullmatch(r"init 1 of the job( at \S+)?: began [\d.]+ s ago, took [\d.]+ ms", lines[1])
        assert re.fullmatch(r"allreduce 1 \(int64 x 1, sum\) of ranks 0-2 at job.py:14: began [\d.]+ s ago, took [\d.]+ ms", lines[2])
    assert "allreduce 39 " in of_rank[2][-1] and " took " in of_rank[2][-1]
    assert re.search(r"^barrier 40 of ranks 0-2 at job.py:29: began .* ago, goes on, waited for since", of_rank[0][-1])


def test_a_limit_that_is_learned(job, hang):
    """At first nothing is known, and ten times as long is waited; 200 operations later less is enough: ten times the longest
    time between two of them, as the ranks have measured it. The time after init, in which data are loaded, does not count."""
    words, env = hang
    job.script("job.py", "import time, dtrain\ncomm = dtrain.init()\ntime.sleep(9)\nends = []\n"
                         "for step in range(200): comm.barrier(); ends.append(time.monotonic()); time.sleep(0.02)\n"
                         "longest = max(after - before for before, after in zip(ends, ends[1:]))\n"
                         "open(f'longest.{comm.rank}', 'w').write(str(longest))\n"
                         "if comm.rank == 1: time.sleep(1000)\ncomm.barrier()\n")
    done = job.launch(*words("", "--hang-timeout", "auto:3"), env=env)
    assert done.returncode == 124, done.stderr
    assert re.search(r"it hung: rank 1 on \S+ has not called barrier 201 of ranks 0-2 at job.py:9: .* for \d+ s", done.stderr)
    longest = max(float((job.folder / f"longest.{rank}").read_text()) for rank in range(3))
    waited = float(re.search(r"no rank that was left printed anything or \D+ for ([\d.]+) s", done.stderr)[1])
    assert 3 <= waited <= 10 + 10 * longest, done.stderr


def test_who_writes_a_checkpoint_is_active(job, hang):
    """Three megabytes a second, and hardly any processor time."""
    words, env = hang
    job.script("job.py", "import time, dtrain\ncomm = dtrain.init()\n"
                         "for part in range(50 if comm.rank == 0 else 0):\n"
                         "    open('checkpoint', 'ab').write(bytes(300_000)); time.sleep(0.1)\ncomm.barrier()\n")
    done = job.launch(*words("", "--hang-timeout", "1.5"), env=env)
    assert done.returncode == 0, done.stderr


def test_nccl(job, hang):
    """On the stand-in for NCCL. Its first operation is the start of the communicator, then the program calls three sums."""
    program = BUILD / "tests/comm/nccl_scenarios"
    if not program.exists():
        pytest.skip("built without CUDA")
    done = job.launch("--quiet", "--nproc_per_node", 2, "--grace", 1, "--hang-timeout", 2, program, "sleeps", env=hang[1])
    assert done.returncode == 124, done.stderr
    assert re.search(r"it hung: rank 1 on \S+ has not called allreduce 5 \(float32 x 1000, sum\) of ranks 0-1 \(\d\) over NCCL: it "
                     r"sleeps.*; rank 0 waits in it", done.stderr), done.stderr


def test_a_native_job(job, hang):
    """A rank that a signal stops, and the operation of the training that it does not come to."""
    _, env = hang
    text = (ROOT / "examples/digits.toml").read_text()
    job.script("digits.toml", re.sub(r"^epochs = .*$", "epochs = 1000000", text, flags=re.M))
    shutil.copy(ROOT / "examples/digits.h5", job.folder)
    child = job.start(LAUNCH, "--quiet", "--nproc_per_node", 2, "--grace", 1, "--hang-timeout", 2, "digits.toml", env=env)
    job.wait_until(lambda: len(job.pids_of_ranks(child, env)) == 2)
    job.wait_until(lambda: "the job goes on" in job.run(LAUNCH, "explain", str(child.pid), env=env).stdout)
    os.kill(job.pids_of_ranks(child, env)[1], signal.SIGSTOP)
    err = child.communicate(timeout=60)[1]
    # It may have been stopped within the operation: then nothing is missing.
    assert child.returncode == 124 and re.search(
        r"it hung: rank 1 on \S+ is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\)(; |$|: it has not called "
        r"[a-z_]+ \d+ \(.*\) of ranks 0-1; rank 0 waits in it)", err, re.M), err
    assert job.left_behind() == []

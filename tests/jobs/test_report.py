# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The failure report of real jobs: the cause, what is known of it, who else failed and who was stopped.

Oracles: the way each program is made to end; Paddle's ABORT line; the kernel's own counters for the OOM killer.
"""
import json
import os
import re
import signal
import stat
import time

import pytest

from conftest import LAUNCH, ROOT
from own_cgroup import OwnCgroup

# Rank 0 waits for its end; what follows is for rank 1, once both are up.
RANK_1 = """
import os, signal, sys, time
open("up." + os.environ["RANK"], "w").close()
while not os.path.exists("up.0") or not os.path.exists("up.1"): time.sleep(.02)
if os.environ["RANK"] == "0": time.sleep(1000)
"""

ABORT_1 = "ABORT!!! Out of all 2 trainers, the trainer process with rank=[1] was aborted. Please check its log.\n"


def fail(job, ending, *arguments, **keywords):
    """Two ranks, of which rank 1 ends as told; the report with numbers that nobody can know replaced by #."""
    job.script("a.py", RANK_1 + ending)
    done = job.launch("--nproc_per_node", 2, "a.py", *arguments, **keywords)
    begin = done.stderr.index("dtrain-launch: rank")
    done.report = re.sub(r"pid \d+, \d+\.\d s", "pid #, # s", done.stderr[begin:])
    return done


def host():
    return os.uname().nodename


def expected(job, how, *info, last_lines=""):
    tail = f"---- last lines of workerlog.1 ----\n{last_lines}----\n" if last_lines else ""
    return (f"dtrain-launch: rank 1 on {host()}: the program ended with {how}\n"
            "  local rank 1, pid #, # s after its start\n"
            + "".join(f"  {fact}\n" for fact in info)
            + f"  log: {job.folder}/log/workerlog.1\n{tail}then stopped by dtrain-launch: rank [0]\n{ABORT_1}")


def test_exit_code(job):
    done = fail(job, "sys.exit(7)")
    assert done.returncode == 7
    assert done.report == expected(job, "exit code 7")


def test_exception(job):
    done = fail(job, "\ndef f():\n    try:\n        {}['x']\n    except KeyError:\n        raise ValueError('my own words')\nf()")
    assert done.returncode == 1
    assert ": ValueError: my own words\n" in done.report
    assert "KeyError: 'x'\n\nDuring handling of the above exception" in done.report
    assert done.report.endswith("ValueError: my own words\n----\nthen stopped by dtrain-launch: rank [0]\n" + ABORT_1)


def test_only_the_last_20_lines_are_shown(job):
    done = fail(job, "print('\\n'.join(f'line {i}' for i in range(100)), flush=True); sys.exit(1)")
    assert done.report == expected(job, "exit code 1", last_lines="".join(f"line {i}\n" for i in range(80, 100)))


@pytest.mark.parametrize("name, status, words", [
    ("SIGSEGV", 139, "an access to memory that is not the program's"),
    ("SIGILL", 132, "an instruction that this CPU does not have"),
    ("SIGFPE", 136, "a whole number divided by zero"),
    ("SIGTERM", 143, "asked to end, and not by dtrain-launch"),
])
def test_signal(job, name, status, words):
    done = fail(job, f"os.kill(os.getpid(), signal.{name})")
    assert done.returncode == status
    assert f"the program ended with signal {name} ({status - 128})\n" in done.report
    assert f"\n  hint: {words}" in done.report


@pytest.mark.xdist_group("oom")  # its counter is also the machine's
def test_sigkill_without_the_oom_killer(job):
    done = fail(job, "os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == 137
    assert "  hint: killed from outside: look for the OOM killer, a scheduler's limit, or a person\n" in done.report
    assert "OOM killer ended" not in done.report


def test_sigbus_tells_of_shared_memory(job):
    done = fail(job, "os.kill(os.getpid(), signal.SIGBUS)")
    assert done.returncode == 135
    assert re.search(r"hint: .*is /dev/shm full", done.report)
    total = os.statvfs("/dev/shm").f_blocks
    assert total == 0 or re.search(r"hint: /dev/shm holds \d+(\.\d)? [KMGT]iB, ", done.report)


def test_statuses_of_a_shell(job):
    done = job.launch("sh", "-c", "nothere --at all")
    assert done.returncode == 127
    assert "the program ended with exit code 127" in done.stderr and "was not found\n" in done.stderr
    job.script("notexec", "")
    done = job.launch("sh", "-c", "./notexec")
    assert done.returncode == 126
    assert "the program ended with exit code 126" in done.stderr and "chmod +x" in done.stderr
    done = job.launch("sh", "-c", "sh -c 'kill -SEGV $$'; exit $?")
    assert done.returncode == 139
    assert "how a shell tells that its command was ended by SIGSEGV: " in done.stderr


@pytest.mark.parametrize("content, status, words", [
    ("#!/nothere/python\n", 127, ["cannot execute the program: No such file or directory", "interpreter of its #! line"]),
    ("no program at all\n", 126, ["cannot execute the program: Exec format error", "could not be executed"]),
])
def test_programs_that_cannot_start(job, content, status, words):
    job.script("a.sh", content).chmod(0o755)
    done = job.launch("--nproc_per_node", 2, "./a.sh")
    assert done.returncode == status, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert re.search(r"rank=\[(0|1|0,1|1,0)\] was aborted", done.stderr)


# --- the OOM killer -------------------------------------------------------------------------------------------------

LIMIT = 256 << 20


@pytest.fixture
def memory_cgroup():
    with OwnCgroup("memory") as group:
        group.limit("memory.limit_in_bytes" if group.version == 1 else "memory.max", LIMIT)
        if (group.folder / "memory.swap.max").exists():
            group.limit("memory.swap.max", 0)
        yield group


@pytest.mark.xdist_group("oom")
def test_oom_kill_is_told_as_such(job, memory_cgroup):
    job.script("a.py", RANK_1 + "held = []\nwhile True: held.append(b'x' * (1 << 20))")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "a.py", preexec_fn=memory_cgroup.enter)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 137, err
    assert f"rank 1 on {host()}: the program ended with signal SIGKILL (9)\n" in err
    assert f"  hint: the kernel's OOM killer ended 1 process of memory cgroup /{memory_cgroup.folder.name} " \
           "(limit 256 MiB)\n" in err
    assert job.left_behind() == []


# --- ranks that did not fail ----------------------------------------------------------------------------------------

def test_a_stopped_ranks_log_says_why_it_ends(job):
    job.script("a.py", "print('from another run')")
    job.launch("--nproc_per_node", 2, "a.py")
    fail(job, "sys.exit(7)")
    assert job.log(0) == ("from another run\n"
                          f"dtrain: stopped by SIGTERM after rank 1 failed on {host()}; see {job.folder}/log/workerlog.1\n")
    assert job.log(1) == "from another run\n"


def test_the_line_begins_a_line(job):
    job.script("a.py", "import os, sys, time\nif os.environ['RANK'] == '1':\n"
                       "    while not os.path.exists('said'): time.sleep(.02)\n    sys.exit(7)\n"
                       "print('half a line', end='', flush=True)\nopen('said', 'w').close()\ntime.sleep(1000)")
    job.launch("--nproc_per_node", 2, "a.py")
    assert job.log(0).startswith("half a line\ndtrain: stopped by SIGTERM after rank 1")


def test_logs_after_a_signal_to_the_launcher(job):
    job.script("a.py", RANK_1 + "time.sleep(1000)")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "a.py")
    job.wait_until(lambda: (job.folder / "up.0").exists() and (job.folder / "up.1").exists())
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "ABORT" not in err and "last lines" not in err
    for rank in (0, 1):
        assert job.log(rank) == "dtrain: stopped by SIGTERM because dtrain-launch got SIGINT\n"


def test_a_rank_that_had_to_be_killed_is_told_from_one_that_ended(job):
    job.script("a.py", "import os, signal, sys, time\nrank = os.environ['RANK']\n"
                       "if rank == '0': signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                       "if rank == '1': signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
                       "open('up.' + rank, 'w').close()\n"
                       "while rank == '2' and not (os.path.exists('up.0') and os.path.exists('up.1')): time.sleep(.02)\n"
                       "if rank == '2': sys.exit(7)\n"
                       "time.sleep(1000)")
    done = job.launch("--nproc_per_node", 3, "--grace", ".5", "a.py")
    assert done.returncode == 7
    assert "then stopped by dtrain-launch: ranks [0,1]\n" in done.stderr
    assert f"  of them rank 1 on {host()} ended with exit code 5\n" in done.stderr
    assert job.log(0).startswith("dtrain: stopped by SIGKILL, as SIGTERM was not enough, after rank 2 failed on ")
    assert job.log(1).startswith("dtrain: ended with exit code 5 when stopped by SIGTERM after rank 2 failed on ")


def test_a_sigterm_that_a_log_tells_of_is_a_consequence(job):
    """Both end before dtrain-launch hears of either: rank 0 first, by SIGTERM as Paddle tells it; rank 1 by itself."""
    job.script("a.py", """
import os, signal, time
rank = os.environ["RANK"]
with open("up.part" + rank, "w") as up: up.write(str(os.getpid()))
os.rename("up.part" + rank, "up." + rank)
while not os.path.exists("go." + rank): time.sleep(.02)
if rank == "0":
    print("[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6c) from PID 1022 ***]", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
print("out of paper", flush=True)
os._exit(3)
""")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "a.py")
    job.wait_until(lambda: all((job.folder / f"up.{rank}").exists() for rank in (0, 1)))
    child.send_signal(signal.SIGSTOP)
    for rank in (0, 1):
        pid = (job.folder / f"up.{rank}").read_text()
        job.script(f"go.{rank}", "")
        job.wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    time.sleep(1)  # a program that is gone is not yet one whose worker has told
    child.send_signal(signal.SIGCONT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 3, err
    assert f"dtrain-launch: rank 1 on {host()}: the program ended with exit code 3\n" in err
    assert f"ended by SIGTERM, as its log says: rank 0 on {host()}: the program ended with signal SIGTERM (15)\n" in err
    assert "rank=[1,0] was aborted" in err


def test_native_ranks_tell_of_sigterm_themselves(job):
    digits = ROOT / "examples" / "digits.h5"
    job.script("long.toml", f"""
[model]
hidden = [512, 512]
[data]
train = {{ file = "{digits}", x = "train/x", y = "train/y" }}
[train]
epochs = 100000
global_batch = 64
""")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "long.toml")
    job.wait_until(lambda: (job.folder / "log/workerlog.0").exists() and "\n" in job.log(0).strip(), timeout=40)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 143, err
    for rank in (0, 1):
        *_, signal_info, stopped = job.log(rank).splitlines()
        assert re.fullmatch(r"\[SignalInfo: \*\*\* SIGTERM \(@0x[0-9a-f]+\) received by PID \d+ \(TID 0x[0-9a-f]+\) "
                            r"from PID \d+ \*\*\*\]", signal_info)
        assert stopped == "dtrain: stopped by SIGTERM because dtrain-launch got SIGTERM"


def test_a_killed_worker_is_named_with_its_rank_and_program(job):
    """The parent of rank 1's guard is its worker."""
    done = fail(job, """
def parent(pid): return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
os.kill(parent(os.getppid()), signal.SIGKILL)
time.sleep(1000)""")
    assert done.returncode == 137
    assert "rank [1] ended without a word: dtrain-worker was killed" in done.report
    assert re.search(rf"\n  rank 1 on {host()}: local rank 1, pid \d+\n", done.report)
    assert "then stopped with the job by others: rank [0]\n" + ABORT_1 in done.report
    assert "dtrain:" not in job.log(0), "mpirun stopped this rank, not dtrain-launch"
    assert job.left_behind() == []


# --- secrets --------------------------------------------------------------------------------------------------------

def test_secrets_are_not_shown(job):
    done = fail(job, "print('login', sys.argv, os.environ['WANDB_API_KEY'], 'db_password=letmein', flush=True)\n"
                     "raise ValueError('server refused ' + sys.argv[2] + ' for --max_tokens 5')",
                "--token", "hf_very_secret", "--api_key=abcdefgh", env={"WANDB_API_KEY": "0123456789abcdef"})
    for secret in ("hf_very_secret", "abcdefgh", "0123456789abcdef", "letmein"):
        assert secret not in done.report
    assert ": ValueError: server refused *** for --max_tokens 5\n" in done.report
    assert "login ['a.py', '--token', '***', '--api_key=***'] *** db_password=***\n" in done.report


@pytest.mark.parametrize("text, hidden", [
    ("postgresql://me:hun/ter2@db/x", "postgresql://me:***@db/x"),
    ("https://a.blob.core.windows.net/c?se=2026&sig=hunter2%3D", "https://a.blob.core.windows.net/c?se=2026&sig=***"),
    ("GET /k?X-Amz-Signature=hunter2", "GET /k?X-Amz-Signature=***"),
    ("ghp_hunter2" + 40 * "x", "***"),
    ("hf_hunter2A" + 30 * "x", "***"),
    ("sk-proj-hunter2A" + 30 * "x", "***"),
    ("AKIAHUNTER2HUNTER200", "***"),
    ("curl -u me:hunter2 https://host", "curl -u me:*** https://host"),
    ("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
     "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"),
])
def test_secrets_that_their_form_tells(job, text, hidden):
    """In the report, in its form for programs, in the banner and in the command that --dry-run shows. The secrets say hunter."""
    job.script("a.py", RANK_1 + f"print({text!r}, flush=True)\nsys.exit(3)")
    done = job.launch("--nproc_per_node", 2, "--report", "report.json", "a.py", "--note=" + text)
    shown = job.launch("--dry-run=json", "a.py", text)
    assert done.returncode == 3 and shown.returncode == 0
    for shown_text in (done.stderr, done.stdout, (job.folder / "report.json").read_text(), shown.stdout):
        assert "hun" not in shown_text.lower()
    assert f"---- last lines of workerlog.1 ----\n{hidden}\n----" in done.stderr
    assert hidden in json.loads(shown.stdout)["program"]


def test_messages_hide_secrets(job):
    job.script("a.py", "")
    done = job.launch("--master", "etcd://root:hunter2@10.0.0.1:2379", "--nnodes", 2, "a.py")
    assert done.returncode == 2 and "***@10.0.0.1:2379: an etcd's address has no user" in done.stderr
    assert "hunter2" not in done.stderr
    done = job.launch("--ips", "10.0.0.1,https://me:hunter2@10.0.0.2", "a.py")
    assert done.returncode == 2 and "https://me:***@10.0.0.2" in done.stderr and "hunter2" not in done.stderr


# --- --report FILE --------------------------------------------------------------------------------------------------

def read_report(job, name="report.json"):
    return json.loads((job.folder / name).read_text())


def test_report_for_programs(job):
    job.script("a.py", RANK_1 + "print('one\\n\\nkey', flush=True)\nraise OSError('my own words')")
    done = job.launch("--nproc_per_node", 2, "--report", "report.json", "a.py", "--password", "letmein")
    report = read_report(job)
    assert {name: report[name] for name in ("outcome", "status", "ranks", "restarts", "stopped_by", "stop_reason", "silent")} == {
        "outcome": "failed", "status": 1, "ranks": {"trainer": 2}, "restarts": 0, "stopped_by": None, "stop_reason": None, "silent": []}
    assert done.returncode == 1
    assert [end["rank"] for end in report["failed"]] == [1]
    cause = report["cause"]
    last_lines = cause.pop("last_lines")
    assert last_lines[:3] == ["one", "", "key"] and last_lines[-1] == "OSError: my own words"
    pid, seconds = cause.pop("pid"), cause.pop("seconds")
    assert pid > 1 and 0 < seconds < 60
    assert cause == {"rank": 1, "role": "trainer", "number": 1, "host": host(), "local_rank": 1, "gpus": [],
                     "how": "exited", "exit_code": 1, "signal": None, "log": f"{job.folder}/log/workerlog.1",
                     "detail": "", "exception": "OSError: my own words", "error": None, "error_details": None,
                     "followed": False, "consequence": False, "hints": []}
    (stopped,) = report["stopped"]
    assert (stopped["rank"], stopped["how"], stopped["signal"]) == (0, "stopped_by_dtrain", "SIGTERM")
    assert "letmein" not in json.dumps(report)


def test_report_of_success_and_of_a_signal(job):
    job.script("a.py", "")
    assert job.launch("--nproc_per_node", 2, "--report", "report.json", "a.py").returncode == 0
    report = read_report(job)
    assert (report["outcome"], report["status"], report["cause"], report["failed"]) == ("done", 0, None, [])
    job.script("a.py", RANK_1 + "time.sleep(1000)")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "--report", "report.json", "a.py")
    job.wait_until(lambda: (job.folder / "up.0").exists() and (job.folder / "up.1").exists())
    child.send_signal(signal.SIGHUP)
    child.communicate(timeout=30)
    report = read_report(job)
    assert (report["outcome"], report["status"], report["stopped_by"]) == ("stopped", 129, "SIGHUP")
    assert [end["rank"] for end in report["stopped"]] == [0, 1]


def test_report_of_the_last_of_several_starts(job):
    job.script("a.py", "import os, sys\nprint('start', os.environ['PADDLE_RESTART_COUNT'])\nsys.exit(7)")
    done = job.launch("--max_restart", 1, "--log_overwrite", "--report", "report.json", "a.py")
    assert done.returncode == 7
    assert done.stderr.count("the program ended with exit code 7") == 2
    assert "the job had been started again 1 time before\nABORT!!!" in done.stderr
    report = read_report(job)
    assert report["restarts"] == 1 and report["cause"]["last_lines"] == ["start 1"]


@pytest.mark.parametrize("arguments, mode", [([], 0o600), (["--log-mode", "0644"], 0o644)])
def test_report_files_are_private(job, arguments, mode):
    job.script("a.py", "")
    for umask in (0o000, 0o077):
        child = job.start(LAUNCH, "--report", "report.json", *arguments, "a.py", umask=umask)
        child.communicate(timeout=60)
        assert child.returncode == 0
        assert stat.S_IMODE((job.folder / "report.json").stat().st_mode) == mode


@pytest.mark.parametrize("file, words", [
    ("nothere/report.json", "cannot be written: No such file or directory"), ("/proc/report.json", "cannot be written"),
    (".", "no regular file"), ("folder/", "no regular file"), ("/dev/null", "no regular file"), ("", "no regular file"),
])
def test_a_report_that_cannot_be_written_is_refused_before_the_start(job, file, words):
    job.script("a.py", "open('started', 'w')")
    done = job.launch("--report", file, "a.py")
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "--report" in done.stderr and file in done.stderr, done.stderr
    assert words in done.stderr
    assert sorted(path.name for path in job.folder.iterdir()) == ["a.py"]


# --- parameter-server jobs ------------------------------------------------------------------------------------------

PS = """
import os, sys, time
role = os.environ["TRAINING_ROLE"]
open("up." + role + os.environ.get("PADDLE_TRAINER_ID", ""), "w").close()
if role == "PSERVER": time.sleep(1000)
while not os.path.exists("up.PSERVER"): time.sleep(.02)
"""


def test_a_worker_of_a_parameter_server_job_fails(job):
    job.script("a.py", PS + "if os.environ['PADDLE_TRAINER_ID'] == '1': sys.exit(7)\ntime.sleep(1000)")
    done = job.launch("--server_num", 1, "--worker_num", 2, "--report", "report.json", "a.py")
    assert done.returncode == 7, done.stderr
    assert f"dtrain-launch: worker 1 (rank 2) on {host()}: the program ended with exit code 7\n" in done.stderr
    assert "ABORT!!! Out of all 2 workers, the worker process with rank=[1] was aborted. Please check its log.\n" \
        in done.stderr
    message = f"dtrain: stopped by SIGTERM after worker 1 (rank 2) failed on {host()}; see {job.folder}/log/workerlog.1\n"
    assert (job.folder / "log/serverlog.0").read_text() == message
    report = read_report(job)
    assert report["ranks"] == {"server": 1, "worker": 2}
    assert [(end["role"], end["number"], end["rank"]) for end in report["failed"]] == [("worker", 1, 2)]


def test_servers_of_a_job_that_is_done(job):
    job.script("a.py", PS)
    done = job.launch("--server_num", 1, "--worker_num", 2, "a.py")
    assert done.returncode == 0, done.stderr
    assert "ABORT" not in done.stderr
    assert (job.folder / "log/serverlog.0").read_text() == "dtrain: stopped by SIGTERM because the others are done\n"
    assert (job.folder / "log/workerlog.0").read_text() == ""


def test_secrets_are_in_no_banner_and_no_dry_run(job):
    job.script("a.py", "")
    arguments = ["a.py", "--api_key=hunter2", "--token", "hunter3", "--max_tokens", "5"]
    shown = [job.launch(*arguments), job.launch("--dry-run", *arguments), job.launch("--dry-run=json", *arguments)]
    for done in shown:
        assert done.returncode == 0
        assert "hunter" not in done.stdout + done.stderr
    assert "'--api_key=***', '--token', '***', '--max_tokens', '5'" in shown[0].stdout

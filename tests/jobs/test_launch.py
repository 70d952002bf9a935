# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch as a user meets it: what programs see, how jobs end, what is left behind.

Oracles: Paddle's documented variables and formats; the shell's exit status convention; /proc for what still runs.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import time

import pytest

from conftest import BUILD, LAUNCH, PYTHON

SHOW_ENVIRONMENT = """
import json, os, sys
json.dump({"env": dict(os.environ), "argv": sys.argv[1:], "cpus": sorted(os.sched_getaffinity(0))},
          open(f"env.{os.environ['PADDLE_TRAINER_ID']}.json", "w"))
print("rank", os.environ["PADDLE_TRAINER_ID"])
"""

# Ranks that hold out: they ignore SIGTERM and have a child that left their session.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["setsid", "sleep", "1000"])
open("up." + os.environ["RANK"], "w").close()
time.sleep(1000)
"""

EIGHT_GPUS = pathlib.Path(__file__).parent / "data" / "two_sockets_eight_gpus.xml"


def seen(job, rank):
    return json.loads((job.folder / f"env.{rank}.json").read_text())


def test_programs_see_the_variables_of_both_paddle_generations_and_torch(job):
    job.script("show.py", SHOW_ENVIRONMENT)
    done = job.launch("--nproc_per_node", 2, "show.py", "--batch_size=64", "two words", "$HOME;`id`")
    assert done.returncode == 0, done.stderr
    endpoints = [seen(job, r)["env"]["PADDLE_CURRENT_ENDPOINT"] for r in (0, 1)]
    for rank in (0, 1):
        env = seen(job, rank)["env"]
        expected = {
            # Paddle 2.0-2.3
            "PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": "2", "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_RANK_IN_NODE": str(rank), "PADDLE_LOCAL_DEVICE_IDS": "", "PADDLE_WORLD_DEVICE_IDS": ",",
            "PADDLE_WITH_GLOO": "0", "PADDLE_GLOO_RENDEZVOUS": "3", "PADDLE_DISTRI_BACKEND": "gloo",
            # Paddle 2.4-3.x
            "PADDLE_GLOBAL_SIZE": "2", "PADDLE_LOCAL_SIZE": "2", "PADDLE_GLOBAL_RANK": str(rank),
            "PADDLE_LOCAL_RANK": str(rank), "PADDLE_NNODES": "1", "PADDLE_LOG_DIR": str(job.folder / "log"),
            # torch
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
        }
        assert {name: env.get(name) for name in expected} == expected
        assert re.fullmatch("[a-z]{6}", env["POD_NAME"])
        assert int(env["OMP_NUM_THREADS"]) >= 1
        assert not any(name.startswith("FLAGS_selected") for name in env)
        assert os.path.isabs(env["PADDLE_GLOO_FS_PATH"]) and not os.path.exists(env["PADDLE_GLOO_FS_PATH"])
        ports = {int(e.rsplit(":")[1]) for e in endpoints + [env["PADDLE_MASTER"]]} | {int(env["MASTER_PORT"])}
        assert len(ports) == 4
        assert seen(job, rank)["argv"] == ["--batch_size=64", "two words", "$HOME;`id`"]
    assert "rank 0\n" in done.stdout and "rank 1" not in done.stdout
    assert job.log(1) == "rank 1\n"
    assert (job.folder / "log/endpoints.log").read_text() == "PADDLE_TRAINER_ENDPOINTS:\n" + "\n".join(endpoints) + "\n"
    assert job.left_behind() == []


def test_ranks_are_pinned_to_cores_of_their_own(job):
    cores = os.cpu_count()
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip(f"needs 2 usable cores, has {len(os.sched_getaffinity(0))} of {cores}")
    job.script("show.py", SHOW_ENVIRONMENT)
    assert job.launch("--nproc_per_node", 2, "show.py").returncode == 0
    masks = [set(seen(job, r)["cpus"]) for r in (0, 1)]
    assert masks[0] and masks[1] and not masks[0] & masks[1]


def test_inherited_variables_pass_and_proxies_do_not(job):
    job.script("show.py", SHOW_ENVIRONMENT)
    done = job.launch("show.py", env={"http_proxy": "http://p", "https_proxy": "http://p", "MY_OWN": "a b;c",
                                      "OMP_NUM_THREADS": "7"})
    assert done.returncode == 0
    env = seen(job, 0)["env"]
    assert "http_proxy" not in env and "https_proxy" not in env
    assert env["MY_OWN"] == "a b;c" and env["OMP_NUM_THREADS"] == "7"


OF_HWLOC = """
import json, os, pathlib
def environment(pid):
    return dict(each.split("=", 1) for each in pathlib.Path(f"/proc/{pid}/environ").read_text().split("\\0") if "=" in each)
pid = os.getpid()
while pathlib.Path(f"/proc/{pid}/comm").read_text().strip() not in ("mpirun", "prterun"):
    pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
print(json.dumps([each.get("HWLOC_COMPONENTS") for each in (environment(pid), os.environ)]))
"""


def test_what_hwloc_is_told_in_mpirun_does_not_reach_the_programs(job):
    """mpirun leaves out the PCI bus where no rank has a choice of devices (src/launch/backend/mpirun); the user's wish is for all."""
    job.script("of_hwloc.py", OF_HWLOC)
    done = job.launch("--nproc_per_node", 1, "of_hwloc.py")
    assert done.returncode == 0, done.stderr
    of_mpirun, of_program = json.loads(job.log(0).splitlines()[-1])
    assert of_mpirun in (None, "-pci,-linuxio") and of_program is None
    done = job.launch("--nproc_per_node", 1, "of_hwloc.py", env={"HWLOC_COMPONENTS": "-gl"})
    assert done.returncode == 0, done.stderr
    assert json.loads(job.log(0).splitlines()[-1]) == ["-gl", "-gl"]


def test_logs_are_appended(job):
    job.script("a.py", "print('again')")
    for _ in range(2):
        assert job.launch("a.py").returncode == 0
    assert job.log(0) == "again\nagain\n"


def test_rank_0_console_is_byte_exact(job):
    job.script("a.py", "import os, sys\n"
                       "for i in range(3000): sys.stdout.buffer.write(bytes([i % 256]) * 100 + b'\\n')")
    child = job.start(LAUNCH, "a.py", text=False)
    out, _ = child.communicate(timeout=60)
    expected = b"".join(bytes([i % 256]) * 100 + b"\n" for i in range(3000))
    assert child.returncode == 0 and out.endswith(expected)


def test_unread_console_does_not_stop_the_job(job):
    job.script("a.py", "for i in range(200000): print('line', i)\nopen('finished', 'w').close()")
    child = job.start(LAUNCH, "a.py")
    job.wait_until(lambda: (job.folder / "finished").exists())  # nobody has read a byte so far
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and out.endswith("line 199999\n")


@pytest.mark.parametrize("program", ["sh", "here.sh", "./here.sh"])
def test_anything_executable_is_a_script(job, program):
    if program != "sh":
        job.script("here.sh", "#!/bin/sh\necho \"$@\" >out.$RANK\n").chmod(0o755)
        assert job.launch("--nproc_per_node", 2, program, "x y").returncode == 0
    else:
        assert job.launch("--nproc_per_node", 2, "sh", "-c", 'echo "$1" >out.$RANK', "sh", "x y").returncode == 0
    assert (job.folder / "out.1").read_text() == "x y\n"


def test_gpus_of_cuda_visible_devices_are_one_rank_each(job):
    """Cards that the machine does not show (WSL2) are used as named, with a warning."""
    job.script("show.py", SHOW_ENVIRONMENT)
    done = job.launch("--gpus", "6,4", "show.py", env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"})
    assert done.returncode == 0, done.stderr
    assert "WARNING" in done.stderr and "6,4" in done.stderr
    for rank in (0, 1):
        env = seen(job, rank)["env"]
        assert env["CUDA_VISIBLE_DEVICES"] == "6,4" and env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
        assert env["FLAGS_selected_gpus"] == env["FLAGS_selected_accelerators"] == str(rank)
        assert env["PADDLE_LOCAL_DEVICE_IDS"] == str(rank) and env["PADDLE_WORLD_DEVICE_IDS"] == "0,1"
        assert env["PADDLE_DISTRI_BACKEND"] == "nccl"


def test_a_job_for_another_machine_runs_unbound(job):
    """HWLOC_XMLFILE: masks of the other machine are computed and exported, not applied."""
    job.script("show.py", SHOW_ENVIRONMENT)
    done = job.launch("--gpus", "0,7", "show.py", env={"HWLOC_XMLFILE": EIGHT_GPUS})
    assert done.returncode == 0, done.stderr
    masks = [seen(job, r)["env"]["DTRAIN_RANK_CPUS"] for r in (0, 1)]
    assert masks == ["0-3", "4-7"]  # the file's GPU 0 is near package 0, GPU 7 near package 1
    assert all(set(seen(job, r)["cpus"]) == os.sched_getaffinity(0) for r in (0, 1))


def test_dry_run_plans_and_starts_nothing(job):
    job.script("train.py", "open('started', 'w')")
    table = job.launch("--dry-run", "--gpus", "0,7", "train.py", env={"HWLOC_XMLFILE": EIGHT_GPUS})
    assert table.returncode == 0 and "mpirun" in table.stdout
    plan = json.loads(job.launch("--dry-run=json", "--nproc_per_node", 4, "--start_port", 21000, "train.py",
                                 env={"HWLOC_XMLFILE": EIGHT_GPUS}).stdout)
    ranks = plan["nodes"][0]["ranks"]
    assert [r["gpus"] for r in ranks] == [["0", "1"], ["2", "3"], ["4", "5"], ["6", "7"]]
    assert [r["cpus"] for r in ranks] == ["0-1", "2-3", "4-5", "6-7"]
    assert [r["endpoint"] for r in ranks] == [f"127.0.0.1:{21000 + i}" for i in range(4)]
    assert plan["command"][0] == "mpirun" and plan["program"] == ["python3", "-u", "train.py"]
    assert sorted(p.name for p in job.folder.iterdir()) == ["train.py"]


def test_banner_of_the_documents(job):
    job.script("a.py", "")
    out = job.launch("--nproc_per_node", 2, "a.py").stdout.splitlines()
    assert out[0] == "-----------  Configuration Arguments -----------"
    assert "training_script: a.py" in out and "-" * 48 in out
    assert out.count("=" * 87) == 2 and "            Distributed Envs              Value" in out
    assert "PADDLE_TRAINERS_NUM                       2" in out


# --- failures -------------------------------------------------------------------------------------------------

WAIT_FOR_PEER = "import os, sys, time, signal\nif os.environ['RANK'] == '0': time.sleep(1000)\ntime.sleep(.2)\n"


@pytest.mark.parametrize("ending, status, words", [
    ("sys.exit(7)", 7, "exit code 7"),
    ("raise ValueError('my own words')", 1, "my own words"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV"),
    ("os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
    ("os.abort()", 134, "SIGABRT"),
])
def test_first_failure_gives_cause_and_status(job, ending, status, words):
    job.script("a.py", "print('from another run')")
    job.launch("--nproc_per_node", 2, "a.py")
    job.script("a.py", WAIT_FOR_PEER + ending)
    begin = time.monotonic()
    done = job.launch("--nproc_per_node", 2, "a.py")
    assert time.monotonic() - begin < 30
    assert done.returncode == status, done.stderr
    assert words in done.stderr and "rank 1 on " in done.stderr and f"{job.folder}/log/workerlog.1" in done.stderr
    assert "ABORT!!! Out of all 2 trainers, the trainer process with rank=[1] was aborted. Please check its log." \
        in done.stderr
    assert "then stopped by dtrain-launch: rank [0]" in done.stderr
    assert "from another run" not in done.stderr
    assert job.left_behind() == []


def start_stubborn(job, ranks=2):
    job.script("stubborn.py", STUBBORN)
    child = job.start(LAUNCH, "--nproc_per_node", ranks, "--grace", "0.5", "stubborn.py")
    job.wait_until(lambda: all((job.folder / f"up.{r}").exists() for r in range(ranks)))
    return child


def pids_of(job, name):
    from conftest import processes_with
    names = {name, {"mpirun": "prterun"}.get(name, name)}  # what mpirun of Open MPI 5 becomes
    for pid in processes_with(job.mark):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() in names:
                yield pid


def pid_of(job, name):
    pid = next(pids_of(job, name), None)
    assert pid, f"no {name} runs"
    return pid


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_signal_to_the_launcher_ends_everything(job, name):
    child = start_stubborn(job)
    child.send_signal(getattr(signal, name))
    _, err = child.communicate(timeout=30)
    assert child.returncode == 128 + getattr(signal, name)
    assert name in err
    assert job.left_behind() == []


@pytest.mark.parametrize("victim, status", [("dtrain-launch", -9), ("mpirun", 137), ("dtrain-worker", 137),
                                            ("dtrain-guard", 137)])
def test_kill_9_leaves_nothing_behind(job, victim, status):
    child = start_stubborn(job)
    os.kill(child.pid if victim == "dtrain-launch" else pid_of(job, victim), signal.SIGKILL)
    _, err = child.communicate(timeout=30)
    assert child.returncode == status, err
    assert job.left_behind() == []
    if victim != "dtrain-launch":
        assert "ABORT!!! Out of all 2 trainers" in err
    if victim == "dtrain-worker":
        assert re.search(r"rank \[[01]\] ended without a word", err), err


def test_worker_and_guard_killed_together(job):
    """Nobody of ours is left to end the program: the launcher finds it by its mark."""
    child = start_stubborn(job, ranks=1)
    guard, worker = pid_of(job, "dtrain-guard"), pid_of(job, "dtrain-worker")
    os.kill(guard, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    os.kill(guard, signal.SIGKILL)
    child.communicate(timeout=30)
    assert child.returncode == 137
    assert job.left_behind() == []


def test_a_rank_that_starts_late_tells_how_it_ended(job):
    """Oracle: both ranks fail by themselves; an order to stop would kill the worker that is not ready for it."""
    late = BUILD / "tests/launch/liblate_rank.so"
    job.script("a.py", "import sys\nsys.exit(2)")
    done = job.launch("--nproc_per_node", 2, "a.py", env={"LD_PRELOAD": late})
    assert done.returncode == 2, done.stderr
    assert "never told" not in done.stderr and "rank 1 on " in done.stderr, done.stderr
    assert re.search(r"then stopped by dtrain-launch: rank \[0\]|also failed: rank \[0\]|failed too: rank 0 on ", done.stderr), done.stderr
    assert job.left_behind() == []


def test_ctrl_c_reaches_a_rank_that_is_just_starting(job):
    """Oracle: docs/design/launch.md, "Two-phase stop"; the grace is longer than the test waits."""
    late = BUILD / "tests/launch/liblate_rank.so"
    child = job.start(LAUNCH, "--nproc_per_node", 1, "--grace", 600, "sleep", 1000, env={"LD_PRELOAD": late})
    job.wait_until(lambda: any(pids_of(job, "dtrain-worker")))
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGINT, err
    assert job.log(0) == "dtrain: stopped by SIGTERM because dtrain-launch got SIGINT\n"
    assert job.left_behind() == []


def test_an_mpirun_that_starts_no_rank_is_ended_on_ctrl_c(job):
    """Oracle: the grace, for programs, is longer than the test waits."""
    hangs = job.folder / "bin" / "mpirun"
    hangs.parent.mkdir()
    hangs.write_text(f"""#!/bin/sh
case "$*" in *--version*) exec {shutil.which("mpirun")} "$@" ;; esac
trap '' ABRT ALRM HUP INT QUIT TERM
: > {job.folder}/hangs
while :; do sleep 0.1; done
""")
    hangs.chmod(0o755)
    child = job.start(LAUNCH, "--nproc_per_node", 2, "--grace", 600, "sleep", 1000,
                      env={"PATH": f"{hangs.parent}:{os.environ['PATH']}"})
    job.wait_until((job.folder / "hangs").exists)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGINT, err
    assert job.left_behind() == []


def test_usr1_reaches_the_programs(job):
    job.script("a.py", "import os, signal, time\n"
                       "def got(*_): open('got.' + os.environ['RANK'], 'w').close()\n"
                       "signal.signal(signal.SIGUSR1, got)\n"
                       "open('up.' + os.environ['RANK'], 'w').close()\n"
                       "while not os.path.exists('got.0') or not os.path.exists('got.1'): time.sleep(.05)\n")
    child = job.start(LAUNCH, "--nproc_per_node", 2, "a.py")
    job.wait_until(lambda: (job.folder / "up.0").exists() and (job.folder / "up.1").exists())
    child.send_signal(signal.SIGUSR1)
    child.communicate(timeout=30)
    assert child.returncode == 0


def test_what_a_finished_program_left_running_is_ended(job):
    job.script("a.py", "import subprocess\nsubprocess.Popen(['setsid', 'sleep', '1000'])")
    assert job.launch("--grace", 1, "a.py").returncode == 0
    assert job.left_behind() == []


def test_the_launcher_leaves_after_the_last_process(job):
    """A failed program left a process that ignores SIGTERM, and --grace is longer than any margin of the launcher."""
    job.script("stubborn.py", "import os, signal, time\n"
                              "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                              "open('child.up', 'w').close()\n"
                              "time.sleep(1000)")
    job.script("a.py", "import os, subprocess, sys, time\n"
                       "if os.environ['RANK'] == '1': time.sleep(1000)\n"
                       f"subprocess.Popen([{PYTHON!r}, 'stubborn.py'], start_new_session=True)\n"
                       "while not os.path.exists('child.up'): time.sleep(.02)\n"
                       "sys.exit(7)")
    done = job.launch("--nproc_per_node", 2, "--grace", 9, "a.py")
    assert job.left_behind(timeout=0) == []
    assert done.returncode == 7
    assert "then stopped by dtrain-launch: rank [1]" in done.stderr


# --- bad input: one clear line, status 2, nothing started --------------------------------------------------------

@pytest.mark.parametrize("arguments, env, words", [
    (["--gpus", "0,9", "a.py"], {}, ["--gpus 0,9", "no GPU 0"]),
    (["--gpus", "0,9", "a.py"], {"HWLOC_XMLFILE": EIGHT_GPUS}, ["no GPU 9", "0,1,2,3,4,5,6,7"]),
    (["--gpus", "1", "a.py"], {"CUDA_VISIBLE_DEVICES": "4,5"}, ["no GPU 1", "4,5"]),
    (["--gpus", "0,0", "a.py"], {"CUDA_VISIBLE_DEVICES": "0,1"}, ["GPU 0 is named twice"]),
    (["--nproc_per_node", "3", "a.py"], {"CUDA_VISIBLE_DEVICES": "0,1"}, ["--nproc_per_node 3", "2 GPUs"]),
    (["--nproc_per_node", "0", "a.py"], {}, ["--nproc_per_node 0"]),
    (["--nproc_per_node", "two", "a.py"], {}, ["two"]),
    (["--nproc_per_nod", "2", "a.py"], {}, ["--nproc_per_nod", "--nproc_per_node"]),
    (["nothere.py"], {}, ["nothere.py", "not found"]),
    (["nothere"], {}, ["nothere", "not found"]),
    (["notexec"], {}, ["notexec", "not executable"]),
    ([], {}, ["no training script"]),
    (["--log_dir", "/proc/nothere", "a.py"], {}, ["/proc/nothere", "cannot be written"]),
    (["--run_mode", "ps", "--server_num", "1", "a.py"], {}, ["--run_mode ps", "--worker_num"]),
    (["a.py"], {"PATH": "/nowhere"}, ["mpirun", "PATH"]),
    (["a.py"], {"HWLOC_XMLFILE": "/nothere.xml"}, ["/nothere.xml"]),
])
def test_bad_input(job, arguments, env, words):
    job.script("a.py", "open('started', 'w')")
    job.script("notexec", "")
    done = job.launch(*arguments, env=env)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("dtrain-launch: "), done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert sorted(p.name for p in job.folder.iterdir()) == ["a.py", "notexec"]


def test_a_taken_port_is_named_with_its_holder(job):
    job.script("a.py", "open('started', 'w')")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = job.launch("--start_port", port, "a.py")
    assert done.returncode == 2 and str(port) in done.stderr and f"pid {os.getpid()}" in done.stderr
    assert not (job.folder / "started").exists()

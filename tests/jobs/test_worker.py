# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-worker under real launchers, supervising programs that know nothing of dtrain.

Oracles: the launchers' own documented behaviour; the shell's exit status convention; /proc for what still runs.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

from conftest import BUILD, PYTHON, WORKER, clean_environment


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_under_mpirun_with_a_program_without_mpi(job, ranks):
    job.script("a.py", "import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['PADDLE_TRAINER_ENDPOINTS'].count(':'))")
    done = job.mpirun(ranks, WORKER, "--", PYTHON, "a.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"0 {ranks} {ranks}\n"
    assert [job.log(r) for r in range(ranks)] == [f"{r} {ranks} {ranks}\n" for r in range(ranks)]
    assert job.left_behind() == []


def test_a_taken_port_is_no_reason_to_fail_without_a_launcher(job):
    """Of two jobs of the same number the first tells the usual ports."""
    script = "echo $PADDLE_TRAINER_ENDPOINTS $PADDLE_MASTER $MASTER_PORT"

    def ports():
        done = job.mpirun(3, WORKER, "--log_overwrite", "--", "sh", "-c", script, env={"DTRAIN_JOB_ID": str(job.folder)})
        assert done.returncode == 0, done.stderr
        of_ranks = {job.log(rank) for rank in range(3)}
        assert len(of_ranks) == 1, of_ranks
        return [int(number) for number in re.findall(r"\b\d{4,5}\b", of_ranks.pop())]

    usual = ports()
    assert usual == list(range(usual[0], usual[0] + 5))
    for taken in (usual[0], usual[2], usual[4]):
        with socket.create_server(("", taken)):
            others = ports()
        assert others == list(range(others[0], others[0] + 5)) and taken not in others
    assert job.left_behind() == []
    assert not [name for name in os.listdir("/dev/shm") if job.folder.name in name]


def test_under_mpirun_with_a_program_that_uses_mpi(job):
    if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode != 0:
        pytest.skip(f"{PYTHON} has no mpi4py")
    job.script("a.py", "from mpi4py import MPI\nc = MPI.COMM_WORLD\nprint(c.rank, c.allreduce(c.rank + 1))")
    done = job.mpirun(2, WORKER, "--", PYTHON, "a.py")
    assert done.returncode == 0, done.stderr
    assert [job.log(r) for r in (0, 1)] == ["0 3\n", "1 3\n"]


def test_under_hydra(job, hydra):
    done = job.run(hydra, "-np", 2, WORKER, "--", "sh", "-c", "echo $RANK of $WORLD_SIZE at $LOCAL_RANK")
    assert done.returncode == 0, done.stderr
    assert [job.log(r) for r in (0, 1)] == ["0 of 2 at 0\n", "1 of 2 at 1\n"]


def test_gpus_that_are_ill_are_told_once_a_node(job, ill_gpus):
    done = job.mpirun(2, WORKER, "--", "sh", "-c", "sleep 1", env=ill_gpus)
    assert done.returncode == 0, done.stderr
    broken = "GPU 0000:5f:00.0: a broken row of its memory could not be replaced; take it out of service"
    assert done.stderr.count(broken) == 1, done.stderr
    assert "GPU 0000:4e:00.0: process 4242 computes on it and has 3 GiB of its memory" in done.stderr


def test_check_finds_gpus_that_are_ill(job, ill_gpus):
    """Oracle: what tests/topology/fake_nvml.cpp always says; its GPUs are on no bus of this machine."""
    done = job.launch("--check", env=ill_gpus)
    assert done.returncode == 1
    assert re.findall(r"^fault: node 0 \(\S+\): (.*)\n    remedy: (.*)$", done.stdout, re.MULTILINE) == [
        ("GPU 0000:5f:00.0: a broken row of its memory could not be replaced",
         "take it out of service; it has to be exchanged"),
        ("GPU 0000:5f:00.0: 2 errors of its memory that could not be corrected since the driver was loaded",
         "reset it (nvidia-smi --gpu-reset -i 0000:5f:00.0) or reboot; exchange it when they come back")]
    assert "GPU 0000:9a:00.0" not in done.stdout
    assert done.stdout.endswith("1 node checked: 2 faults, 7 warnings\n")


def test_check_finds_software_that_does_not_fit_together(job, ill_gpus):
    """A driver of CUDA 9.0 by NVML, and an NCCL that says that it is 2.18.5 for CUDA 12.2 (tests/comm/nccl/old_nccl.cpp)."""
    built = re.search(r"CUDA runtime +(\d+)\.(\d+)", job.run(WORKER, "--info").stdout)
    if not built:
        pytest.skip("built without CUDA")
    found = {**ill_gpus, "FAKE_NVML_CUDA": "9000",
             "LD_LIBRARY_PATH": f"{ill_gpus['LD_LIBRARY_PATH']}:{BUILD / 'tests/comm'}"}
    done = job.launch("--check", env=found)
    assert done.returncode == 1
    driver = f"its GPU driver 550.54.15 supports CUDA 9.0, but dtrain was built with {built[1]}.{built[2]}"
    assert re.search(rf"^fault: node 0 \(\S+\): {driver}\n    remedy: install driver .* there, or build dtrain", done.stdout, re.MULTILINE)
    assert re.search(r"^0 .* 2\.18\.5 ", done.stdout, re.MULTILINE), done.stdout
    info = job.run(WORKER, "--info", env=found).stdout
    assert f"fault: {driver}; install driver " in info
    assert re.search(r"^ +NCCL +2\.18\.5, compiled for CUDA 12\.2; built with \S+$", info, re.MULTILINE)
    if "names in its log" in info:  # what NCCL 2.27.3 brought
        assert "NCCL 2.18.5 is loaded, but dtrain was built with " in done.stdout


def test_gpus_that_are_ill_hold_no_short_program_up(job, ill_gpus):
    done = job.run(WORKER, "--", "true", env=ill_gpus)
    assert done.returncode == 0, done.stderr


def test_gpus_are_left_alone_by_a_job_that_uses_none(job, ill_gpus):
    done = job.run(WORKER, "--", "sh", "-c", "sleep 1", env={**ill_gpus, "CUDA_VISIBLE_DEVICES": ""})
    assert (done.returncode, done.stderr) == (0, "")


def test_alone_it_is_a_job_of_one_rank(job):
    done = job.run(WORKER, "--", "sh", "-c", "echo $RANK of $WORLD_SIZE")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 of 1\n", "")


def test_slurm_variables_are_understood(job):
    """What a task of `srun -n 4` on 2 nodes gets; the endpoints name the nodes of the list."""
    env = {"SLURM_JOB_ID": 77, "SLURM_STEP_ID": 0, "SLURM_PROCID": 3, "SLURM_NTASKS": 4, "SLURM_STEP_NUM_TASKS": 4,
           "SLURM_LOCALID": 1, "SLURM_NODEID": 1, "SLURM_NNODES": 2, "SLURM_STEP_NUM_NODES": 2,
           "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_STEP_NODELIST": "n[07-08]"}
    done = job.run(WORKER, "--", "sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $PADDLE_NNODES $MASTER_ADDR; "
                                             "echo $PADDLE_TRAINER_ENDPOINTS | tr , '\\n' | cut -d: -f1", env=env)
    assert done.returncode == 0, done.stderr
    assert job.log(3) == "3 4 1 2 n07\nn07\nn07\nn08\nn08\n"
    assert done.stdout == ""  # only rank 0 speaks on the console


def test_hosts_come_from_the_pbs_nodefile(job):
    """What rank 2 of `mpirun -np 4` gets on the second of 2 PBS nodes, with an mpirun that does not know PBS."""
    host = os.uname().nodename
    job.script("nodes", f"elsewhere\nelsewhere\n{host}\n{host}\n")
    env = {"OMPI_COMM_WORLD_RANK": 2, "OMPI_COMM_WORLD_SIZE": 4, "OMPI_COMM_WORLD_LOCAL_RANK": 0,
           "OMPI_COMM_WORLD_LOCAL_SIZE": 2, "PMIX_NAMESPACE": "77", "PBS_JOBID": "5.head",
           "PBS_NODEFILE": job.folder / "nodes"}
    done = job.run(WORKER, "--", "sh", "-c", "echo $PADDLE_TRAINER_ENDPOINTS | tr , '\\n' | cut -d: -f1", env=env)
    assert done.returncode == 0, done.stderr
    assert job.log(2) == f"elsewhere\nelsewhere\n{host}\n{host}\n"


@pytest.mark.parametrize("script, status", [("exit 7", 7), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)])
def test_exit_status_is_the_programs(job, script, status):
    done = job.run(WORKER, "--", "sh", "-c", script)
    assert done.returncode == status
    assert "rank 0 on" in done.stderr and "workerlog.0" in done.stderr


@pytest.mark.parametrize("name, status", [("SIGTERM", 143), ("SIGINT", 130)])
def test_signals_stop_the_program_and_its_tree(job, name, status):
    job.script("a.py", "import subprocess, time\nsubprocess.Popen(['setsid', 'sleep', '1000'])\n"
                       "open('up', 'w').close()\ntime.sleep(1000)\n")
    child = job.start(WORKER, "--grace", 1, "--", PYTHON, "a.py")
    job.wait_until(lambda: (job.folder / "up").exists())
    child.send_signal(getattr(signal, name))
    child.communicate(timeout=20)
    assert child.returncode == status
    assert job.left_behind() == []


def test_a_program_that_handles_sigterm_ends_in_its_own_way(job):
    job.script("a.py", "import signal, sys, time\n"
                       "def end(*_): print('saved'); sys.exit(0)\n"
                       "signal.signal(signal.SIGTERM, end)\nopen('up', 'w').close()\ntime.sleep(1000)")
    child = job.start(WORKER, "--", PYTHON, "a.py")
    job.wait_until(lambda: (job.folder / "up").exists())
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=20)
    assert job.log(0) == "saved\n"


def test_kill_9_of_a_worker_under_mpirun(job):
    job.script("a.py", "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                       "open('up.' + os.environ['RANK'], 'w').close()\ntime.sleep(1000)")
    child = job.start("mpirun", "--oversubscribe", "-np", 2, WORKER, "--grace", "0.5", "--", PYTHON, "a.py")
    job.wait_until(lambda: (job.folder / "up.0").exists() and (job.folder / "up.1").exists())
    from conftest import processes_with
    worker = next(p for p in processes_with(job.mark)
                  if pathlib.Path(f"/proc/{p}/comm").read_text().strip() == "dtrain-worker")
    os.kill(worker, signal.SIGKILL)
    child.communicate(timeout=30)
    assert child.returncode == 137
    assert job.left_behind() == []


@pytest.mark.parametrize("arguments, words", [
    (["--", "nothere"], ["nothere", "no such program"]),
    (["--"], ["no program after --"]),
    (["python3", "a.py"], ["python3", "dtrain-worker -- python3"]),
    (["--bind", "often", "--", "true"], ["often"]),
    (["--wrong", "--", "true"], ["--wrong"]),
    (["--log_dir", "/proc/nothere", "--", "true"], ["/proc/nothere"]),
])
def test_bad_input(job, arguments, words):
    done = job.run(WORKER, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and all(word in done.stderr for word in words), done.stderr


def test_bad_input_under_mpirun_is_said_once(job):
    done = job.mpirun(4, WORKER, "--", "nothere")
    assert done.returncode == 2
    assert done.stderr.count("dtrain-worker: ") == 1

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs under PBS. There is no PBS server here: the files of pbs/ are submitted with the qsub that stands in front of a
Slurm cluster (Debian's slurm-wlm-torque), and OpenPBS' remote shell has a stand-in, pbs_tmrsh beside this file, with its
contract. Oracles: the node file, the cards that each node was given, programs that say what they saw."""
import pathlib
import shutil
import time

import pytest

from whole_jobs import BUILD, LAUNCH, ROOT

HERE = pathlib.Path(__file__).resolve().parent
SHOW = """
import os, socket
print("rank", os.environ["RANK"], "local", os.environ["LOCAL_RANK"], "on", socket.gethostname(), "sees",
      os.environ.get("CUDA_VISIBLE_DEVICES", "-"), "uses", os.environ.get("FLAGS_selected_gpus", "-"), flush=True)
"""


@pytest.fixture
def pbs(job):
    """Runs a command on node1 as the first node of a PBS job with these lines in its node file."""
    job.script("show.py", SHOW)
    commands = job.folder / "pbs-bin"
    commands.mkdir()
    shutil.copy(HERE / "pbs_tmrsh", commands)

    def run(nodefile, *options, gpus=None):
        (job.folder / "nodefile").write_text("".join(f"{node}\n" for node in nodefile))
        env = {"PBS_JOBID": "12.ctl", "PBS_NODEFILE": job.folder / "nodefile", "PBS_ENVIRONMENT": "PBS_BATCH",
               "PATH": f"{commands}:/usr/bin:/bin"}
        if gpus:
            (job.folder / "gpus.of.nodes").write_text("".join(f"{node} {cards}\n" for node, cards in gpus.items()))
            env["CUDA_VISIBLE_DEVICES"] = gpus[nodefile[0]]
        return job.on(1, LAUNCH, "--tee", "all", *options, "show.py", env=env)

    return run


def ranks_of(done):
    assert done.returncode == 0, done.stderr
    return sorted(line.partition("rank ")[2] for line in done.stdout.splitlines() if "] rank " in line)


def test_a_rank_for_each_line_of_the_node_file(job, pbs):
    done = pbs(["node1", "node1", "node2", "node2"])
    assert ranks_of(done) == [f"{n} local {n % 2} on node{n // 2 + 1} sees - uses -" for n in range(4)]
    assert (job.folder / "tmrsh.hosts").read_text() == "node2\n", "the other node was reached through PBS"
    assert job.cluster.left_behind() == {}


def test_each_node_uses_the_cards_that_pbs_gave_it(pbs):
    done = pbs(["node1", "node2"], gpus={"node1": "GPU-aaaa,GPU-bbbb", "node2": "GPU-cccc,GPU-dddd"})
    assert ranks_of(done) == ["0 local 0 on node1 sees GPU-aaaa,GPU-bbbb uses 0", "1 local 1 on node1 sees GPU-aaaa,GPU-bbbb uses 1",
                              "2 local 0 on node2 sees GPU-cccc,GPU-dddd uses 0", "3 local 1 on node2 sees GPU-cccc,GPU-dddd uses 1"]


def test_options_count_as_everywhere(pbs):
    assert len(ranks_of(pbs(["node1", "node2"], "--nproc_per_node", 3))) == 6


def test_a_node_file_that_names_no_node_is_refused(pbs):
    done = pbs(["two words", "node2"])
    assert done.returncode == 2 and "PBS_NODEFILE=" in done.stderr and "two words" in done.stderr


def submit(job, file, **variables):
    """qsub and the job's output, when it is done."""
    if shutil.which("qsub") is None:
        pytest.skip("qsub (Debian package slurm-wlm-torque) is not installed")
    job.script("show.py", SHOW)
    # This qsub cannot take blanks in -v, so the variables go with all others (-V).
    done = job.on(1, "qsub", "-l", "select=2:ncpus=1:mpiprocs=1", "-o", "job.out", "-V", ROOT / "pbs" / file,
                  env={"PATH": f"{BUILD}/src/bin:/usr/bin:/bin:/usr/sbin:/sbin", **variables})
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip().partition(".")[0]
    deadline = time.monotonic() + 40
    state = ""
    while not state.startswith(("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")):
        assert time.monotonic() < deadline, state
        time.sleep(0.2)
        shown = job.on(1, "scontrol", "show", "job", number).stdout
        state = shown.partition("JobState=")[2].split(" ")[0].strip()
    return state, (job.folder / "job.out").read_text()


def test_the_collective_file(job):
    state, output = submit(job, "collective.pbs", PROGRAM="--nproc_per_node 2 --tee all show.py")
    assert state == "COMPLETED", output
    hosts = sorted(line.split(" on ")[1].split(" ")[0] for line in output.splitlines() if "] rank " in line)
    assert len(hosts) == 4 and hosts[0] == hosts[1] != hosts[2] == hosts[3]


def test_the_parameter_server_file(job):
    job.script("ps.py", "import os, time\nif os.environ['TRAINING_ROLE'] == 'PSERVER': time.sleep(1000)\n"
               "print('worker', os.environ['PADDLE_TRAINER_ID'], 'of', os.environ['PADDLE_TRAINERS_NUM'])\n")
    state, output = submit(job, "ps.pbs", PROGRAM="ps.py", SERVERS=1, WORKERS=2)
    assert state == "COMPLETED", output
    assert "worker 0 of 2" in output


def test_submit_makes_a_job_of_pbs_that_the_usual_words_follow(job):
    if shutil.which("qsub") is None:
        pytest.skip("qsub (Debian package slurm-wlm-torque) is not installed")
    job.script("show.py", SHOW + "\nimport time\nwhile not os.path.exists('go'): time.sleep(0.1)\n")
    # All that this machine has but Slurm's own commands; this qsub finds sbatch beside itself.
    commands = job.folder / "only-pbs"
    commands.mkdir()
    for program in pathlib.Path("/usr/bin").iterdir():
        if program.name in ("qsub", "qstat", "qdel"):
            (commands / program.name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            (commands / program.name).chmod(0o755)
        elif program.name != "sbatch":
            (commands / program.name).symlink_to(program)
    done = job.on(1, "env", f"PATH={commands}:/usr/sbin", LAUNCH, "submit", "--nodes", 2, "--time", 5, "show.py")
    assert done.returncode == 0, done.stderr
    number = done.stdout.splitlines()[0].removeprefix("job ")
    assert f"dtrain-launch logs -f {number} " in done.stdout
    job.cluster.wait_until(lambda: " running " in job.launch_on(1, "status", number).stdout, "its launcher")
    follower = job.start_on(1, LAUNCH, "logs", "-f", "--rank", "all", number)
    out = follower.stdout.readline()  # else the job may be over before it follows
    (job.folder / "go").touch()
    out += follower.stdout.read()  # communicate() would lose what came together with the first line
    assert follower.wait(30) == 0, follower.stderr.read()
    assert sorted(line.split()[2] for line in out.splitlines() if "] rank " in line) == ["0", "1"]
    assert {line.split()[6] for line in out.splitlines() if "] rank " in line} == {"node1", "node2"}


def test_a_job_in_the_queue_of_pbs_is_pending_and_taken_out(job):
    if shutil.which("qsub") is None:
        pytest.skip("qsub (Debian package slurm-wlm-torque) is not installed")
    job.script("show.py", SHOW)
    done = job.launch_on(1, "submit", "--scheduler", "pbs", "--qsub=-h", "show.py")
    assert done.returncode == 0, done.stderr
    number = done.stdout.splitlines()[0].removeprefix("job ")
    shown = job.launch_on(1, "status", number)
    assert f"{number} is pending: " in shown.stdout, shown.stdout + shown.stderr
    assert job.launch_on(1, "cancel", number).returncode == 0
    assert job.launch_on(1, "status").stdout == "no job of yours is running or in a queue\n"

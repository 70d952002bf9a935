# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The batch files of slurm/, and those that dtrain-launch makes, submitted as a user would.

Oracles: Slurm's own word on how a job ended; programs that say what they saw.
"""
import os
import time

import pytest

from whole_jobs import BUILD, LAUNCH, NATIVE_JOB, ROOT, clean_environment, epochs_trained

SHOW = """
import os, socket
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "on", socket.gethostname(), "with GPU",
      os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[int(os.environ["FLAGS_selected_gpus"])], "and cores",
      os.environ["DTRAIN_RANK_CPUS"])
"""

# Servers wait to be stopped; workers check that they and the servers are who the others think they are.
SERVERS_AND_WORKERS = """
import os, socket, sys, time
role, servers = os.environ["TRAINING_ROLE"], os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
if role == "PSERVER":
    listener = socket.create_server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"])))
    open(f"server.{servers.index(os.environ['POD_IP'] + ':' + os.environ['PADDLE_PORT'])}", "w").close()
    while True:
        listener.accept()[0].sendall(socket.gethostname().encode())
hosts = []
for number, server in enumerate(servers):
    while not os.path.exists(f"server.{number}"): time.sleep(0.05)
    host, port = server.rsplit(":", 1)
    hosts.append(socket.create_connection((host, int(port))).recv(100).decode())
    assert hosts[-1] == host
print("worker", os.environ["PADDLE_TRAINER_ID"], "of", os.environ["PADDLE_TRAINERS_NUM"], "on", socket.gethostname(),
      "with servers on", " ".join(hosts))
"""

# Ten steps in all; each run says with which it begins.
RESUMES = """
import os, signal, sys, time
def stop(number, frame):
    print("checkpoint at", step, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
checkpoint = "checkpoint." + os.environ["RANK"]
step = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0
print("run", os.environ.get("SLURM_RESTART_COUNT", "0"), "begins at", step, flush=True)
while step < 10:
    step += 1
    with open(checkpoint, "w") as file: file.write(str(step))
    while step == 5 and "SLURM_RESTART_COUNT" not in os.environ: time.sleep(0.1)
print("done", flush=True)
"""

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")


@pytest.fixture
def slurm(job):
    return Slurm(job)


class Slurm:
    def __init__(self, job):
        self.job, self.control = job, job.cluster.control
        self.path = f"{BUILD}/src/bin:{clean_environment()['PATH']}"

    def submit(self, *words, **variables):
        """The number of the job."""
        answer = self.control.check("sbatch", "--parsable", *words, cwd=self.job.folder, env={"PATH": self.path, **variables})
        return answer.strip()

    def field(self, number, name):
        for word in self.control.check("scontrol", "show", "job", number).split():
            if word.startswith(name + "="):
                return word.split("=", 1)[1]
        raise AssertionError(f"job {number} has no {name}")

    def wait_for(self, number, state, timeout=60.0):
        deadline = time.monotonic() + timeout
        while (now := self.field(number, "JobState")) != state:
            ended = now in ENDED and state not in (now, "PENDING")
            assert not ended and time.monotonic() < deadline, f"job {number} is {now}, not {state}:\n{self.output('*.out')}"
            time.sleep(0.1)

    def output(self, pattern):
        return "".join(path.read_text() for path in sorted(self.job.folder.glob(pattern)))


def test_collective(slurm):
    slurm.job.script("show.py", SHOW)
    number = slurm.submit(ROOT / "slurm/collective.sbatch", "show.py")
    slurm.wait_for(number, "COMPLETED")
    assert "rank 0 of 4 on node1 with GPU 0" in slurm.output("dtrain-*.out")
    assert [slurm.job.log(rank, f"log/{number}") for rank in range(4)] == [
        f"rank {rank} of 4 on node{1 + rank // 2} with GPU {rank % 2} and cores {rank % 2}\n" for rank in range(4)]
    assert slurm.job.cluster.left_behind() == {}


def test_collective_with_a_failing_rank_has_its_status(slurm):
    slurm.job.script("fail.py", "import os, sys, time\nif os.environ['RANK'] == '2': sys.exit(7)\ntime.sleep(1000)")
    number = slurm.submit(ROOT / "slurm/collective.sbatch", "--quiet", "fail.py")
    slurm.wait_for(number, "FAILED")
    assert slurm.field(number, "ExitCode") == "7:0"
    assert "rank 2 on node2: the program ended with exit code 7" in slurm.output("dtrain-*.out")
    assert slurm.job.cluster.left_behind() == {}


def test_the_warning_before_the_time_limit_stops_programs_gracefully(slurm):
    slurm.job.script("wait.py", "import signal, sys, time\n"
                                "def stop(*_): print('checkpoint', flush=True); sys.exit(0)\n"
                                "signal.signal(signal.SIGTERM, stop)\nprint('up', flush=True)\ntime.sleep(1000)")
    number = slurm.submit(ROOT / "slurm/collective.sbatch", "wait.py")
    logs = [slurm.job.folder / f"log/{number}/workerlog.{rank}" for rank in range(4)]
    deadline = time.monotonic() + 60
    while not all(log.exists() and log.read_text() == "up\n" for log in logs):
        assert time.monotonic() < deadline, slurm.output("dtrain-*.out")
        time.sleep(0.1)
    slurm.control.check("scancel", "--batch", "--signal=TERM", number)  # what --signal=B:TERM@60 does
    slurm.wait_for(number, "FAILED")
    assert slurm.field(number, "ExitCode") == "143:0"
    assert all(log.read_text().startswith("up\ncheckpoint\n") for log in logs)
    assert slurm.job.cluster.left_behind() == {}


def test_without_a_program_it_says_how_to_use_it(slurm):
    for file in ("collective", "ps", "requeue", "container"):
        number = slurm.submit(ROOT / f"slurm/{file}.sbatch")
        slurm.wait_for(number, "FAILED")
        assert slurm.field(number, "ExitCode") == "2:0"
    assert slurm.output("*.out").count("usage: ") == 4


def test_ps(slurm):
    slurm.job.script("train.py", SERVERS_AND_WORKERS)
    number = slurm.submit(ROOT / "slurm/ps.sbatch", "train.py", WORKERS=3)
    slurm.wait_for(number, "COMPLETED")
    assert [slurm.job.log(worker, f"log/{number}") for worker in range(3)] == [
        f"worker {worker} of 3 on node{1 + worker % 2} with servers on node1 node2\n" for worker in range(3)]
    assert slurm.job.cluster.left_behind() == {}


def test_requeue_goes_on_from_the_checkpoint(slurm):
    slurm.job.script("train.py", RESUMES)
    number = slurm.submit(ROOT / "slurm/requeue.sbatch", "train.py")
    log = slurm.job.folder / f"log/{number}/workerlog.3"
    deadline = time.monotonic() + 60
    while not all((slurm.job.folder / f"checkpoint.{rank}").exists() and
                  (slurm.job.folder / f"checkpoint.{rank}").read_text() == "5" for rank in range(4)):
        assert time.monotonic() < deadline, slurm.output("dtrain-*.out")
        time.sleep(0.1)
    slurm.control.check("scancel", "--batch", "--signal=USR1", number)  # what --signal=B:USR1@120 does
    slurm.wait_for(number, "PENDING")
    # Instead of after two minutes; nodes refuse what seems to belong to the second in which the job was ended.
    slurm.control.check("scontrol", "update", f"JobId={number}", "StartTime=now+3")
    slurm.wait_for(number, "COMPLETED")
    assert log.read_text().split("\n")[:2] == ["run 0 begins at 0", "checkpoint at 5"]
    assert log.read_text().endswith("run 1 begins at 5\ndone\n")
    assert f"out of time: job {number} goes back to the queue" in slurm.output("dtrain-requeue-*.out")
    assert slurm.job.cluster.left_behind() == {}


def test_requeue_of_a_native_job(slurm):
    """Oracle: it goes on where it was stopped, and after that trains to the end."""
    def write_job(epochs):
        slurm.job.script("job.toml", NATIVE_JOB.format(digits=ROOT / "examples/digits.h5", epochs=epochs, name="checkpoints",
                                                       optimizer="sgd", hidden=64, every=1))

    write_job(10_000_000)
    number = slurm.submit(ROOT / "slurm/requeue.sbatch", "job.toml", "--resume", "auto")
    slurm.job.cluster.wait_until(lambda: epochs_trained(slurm.job.folder / "checkpoints") > 0, "a checkpoint", timeout=60)
    slurm.control.check("scancel", "--batch", "--signal=USR1", number)  # what --signal=B:USR1@120 does
    slurm.wait_for(number, "PENDING")
    stopped_after = epochs_trained(slurm.job.folder / "checkpoints")
    write_job(stopped_after + 2)
    slurm.control.check("scontrol", "update", f"JobId={number}", "StartTime=now+3")
    slurm.wait_for(number, "COMPLETED")
    log = (slurm.job.folder / f"log/{number}/workerlog.0").read_text()
    assert "stopped in time after" in log and "resumed" in log
    assert epochs_trained(slurm.job.folder / "checkpoints") == stopped_after + 2
    assert slurm.job.cluster.left_behind() == {}


def test_submit_makes_the_file_itself(slurm):
    slurm.job.script("show.py", SHOW)
    slurm.job.script("dtrain.toml", "partition = 'p'\n")
    words = ("submit", "--nodes", 2, "--gpus", 2, "--time", 5, "--quiet", "show.py")
    settings = {"XDG_CONFIG_HOME": slurm.job.folder}
    shown = slurm.control.check(LAUNCH, "submit", "--dry-run", *words[1:], cwd=slurm.job.folder, env=settings)
    assert "#SBATCH --partition=p\n" in shown and "#SBATCH --gres=gpu:2\n" in shown
    lines = slurm.control.check(LAUNCH, *words, cwd=slurm.job.folder, env=settings).splitlines()
    number = lines[0].removeprefix("job ")
    slurm.wait_for(number, "COMPLETED")
    assert slurm.field(number, "TimeLimit") == "00:05:00" and slurm.field(number, "JobName") == "show"
    assert [slurm.job.log(rank, f"log/{number}") for rank in range(4)] == [
        f"rank {rank} of 4 on node{1 + rank // 2} with GPU {rank % 2} and cores {rank % 2}\n" for rank in range(4)]
    assert f"  output  show-{number}.out" in lines and (slurm.job.folder / f"show-{number}.out").exists()


def test_submit_passes_on_what_slurm_refuses(slurm):
    slurm.job.script("show.py", SHOW)
    done = slurm.control.run(LAUNCH, "submit", "--partition", "nowhere", "show.py", cwd=slurm.job.folder)
    assert done.returncode == 2 and "sbatch refuses the job" in done.stderr and "partition" in done.stderr
    done = slurm.control.run(LAUNCH, "submit", "missing.py", cwd=slurm.job.folder)
    assert done.returncode == 2 and "missing.py" in done.stderr


def test_a_heterogeneous_job_is_told_which_nodes_are_used(slurm):
    slurm.job.script("where.py", "import os, socket\nprint(os.environ['WORLD_SIZE'], socket.gethostname())\n")
    script = slurm.job.script("het.sbatch", "#!/bin/sh\n#SBATCH --nodes=1 --output=het.out\n#SBATCH hetjob\n#SBATCH --nodes=2\n"
                              "exec dtrain-launch --quiet where.py\n")
    slurm.wait_for(slurm.submit(script), "COMPLETED")
    output = slurm.output("het.out")
    assert "has 2 components; only node1 is used, and node[2-3] is left to other programs" in output, output
    assert slurm.job.log(0) == "1 node1\n"


WAITS_FOR_USR1 = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda number, frame: (print("out of time", flush=True), sys.exit(0)))
print("up", flush=True)
time.sleep(1000)
"""


@pytest.mark.skipif(not os.environ.get("DTRAIN_STRESS"), reason="waits for a time limit of two minutes: DTRAIN_STRESS=1")
def test_slurm_itself_tells_of_the_time_limit(slurm):
    slurm.job.script("train.py", RESUMES)
    slurm.job.script("usr1.py", WAITS_FOR_USR1)
    script = slurm.job.script("usr1.sbatch", "#!/bin/sh\nexec dtrain-launch --quiet --log_dir usr1 usr1.py\n")
    requeued = slurm.submit("--time=2", "--signal=B:USR1@100", ROOT / "slurm/requeue.sbatch", "train.py")
    signalled = slurm.submit("--nodes=2", "--time=2", "--signal=USR1@100", script)
    slurm.wait_for(signalled, "COMPLETED", timeout=150)
    assert [slurm.job.log(rank, "usr1") for rank in (0, 1)] == ["up\nout of time\n"] * 2
    slurm.wait_for(requeued, "PENDING", timeout=150)
    assert f"out of time: job {requeued} goes back to the queue" in slurm.output("dtrain-requeue-*.out")

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The Paddle way inside of an allocation: srun starts dtrain-launch on every node, node 0 of --ips drives the job.

Oracles: the names of the nodes, Slurm's own numbers of GPUs and processors, the shell's exit status convention, /proc of
all nodes for what still runs.
"""
import ast
import os
import signal

import pytest

from programs import OBEDIENT, STUBBORN
from whole_jobs import LAUNCH, PYTHON

PRINT_VARIABLES = """
import os, socket
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "GROUP_RANK", "CUDA_VISIBLE_DEVICES", "FLAGS_selected_gpus", "SLURM_STEP_GPUS")
print({name: os.environ.get(name) for name in names} | {"host": socket.gethostname(), "cores": sorted(os.sched_getaffinity(0))})
"""


class Launchers:
    """Launchers that srun starts, one on each of two nodes: by name, since the last job may not have left them all yet."""

    def __init__(self, job):
        self.job, self.cluster = job, job.cluster
        self.environment = {"DTRAIN_KEY_FILE": job.folder / "key", "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def start(self, *words, of_slurm=(), where=("--ips", "node1,node2")):
        return self.cluster.control.start("srun", "--quiet", "--nodelist=node1,node2", "--ntasks-per-node=1", *of_slurm, LAUNCH, "--quiet",
                                          "--grace", 1, *where, *words, cwd=self.job.folder, env=self.environment)

    def run(self, *words, timeout=60, **options):
        """(status, stderr)"""
        child = self.start(*words, **options)
        _, err = child.communicate(timeout=timeout)
        return child.returncode, err

    def start_stubborn(self, what="time.sleep(1000)", program=STUBBORN):
        self.job.script("train.py", program)
        child = self.start("train.py", what)
        self.wait_until_up(child)
        return child

    def wait_until_up(self, child):
        up = [self.job.folder / f"up.{rank}" for rank in (0, 1)]
        self.cluster.wait_until(lambda: all(path.exists() for path in up) or child.poll() is not None, "the ranks")
        assert child.poll() is None, child.communicate()

    def variables(self, count):
        return [ast.literal_eval(self.job.log(rank)) for rank in range(count)]

    def steps(self):
        """Steps that Slurm has; it takes a moment to forget those that ended."""
        return self.cluster.control.check("squeue", "--noheader", "--steps", "--format=%i").split()

    def end(self, child, timeout=40):
        """(status, stderr); nothing is left anywhere."""
        _, err = child.communicate(timeout=timeout)
        assert self.cluster.left_behind() == {}
        self.cluster.wait_until(lambda: self.steps() == [], "the end of the step")
        return child.returncode, err


@pytest.fixture
def launchers(job):
    launchers = Launchers(job)
    yield launchers
    assert job.cluster.left_behind() == {}


def test_one_launcher_a_node(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("--nproc_per_node", 2, "tell.py")
    assert status == 0 and "node 1 of 2: ranks 2-3" in err, err
    for rank, values in enumerate(launchers.variables(4)):
        assert values["host"] == f"node{1 + rank // 2}" and values["RANK"] == str(rank) and values["WORLD_SIZE"] == "4"
        assert values["LOCAL_RANK"] == str(rank % 2) and values["GROUP_RANK"] == str(rank // 2)


def test_launchers_that_meet_at_a_master(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("tell.py", where=("--master", "node1:36700", "--nnodes", 2))
    assert status == 0, err
    assert [(values["host"], values["WORLD_SIZE"]) for values in launchers.variables(2)] == [("node1", "2"), ("node2", "2")]


def test_several_launchers_on_a_node_that_meet_at_a_master(launchers):
    """Each is a node of its own, as with containers."""
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("--log_dir", "log", "tell.py", of_slurm=("--ntasks-per-node=2", "-n4"),
                                where=("--master", "node1:36700", "--nnodes", 4))
    assert status == 0, err
    assert sorted(values["host"] for values in launchers.variables(4)) == ["node1", "node1", "node2", "node2"]


def test_in_a_batch_script(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    launchers.job.script("job.sbatch", f"""#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=1 --output=job.out
srun {LAUNCH} --ips $(scontrol show hostnames | paste -sd,) --nproc_per_node 2 tell.py
""")
    done = launchers.cluster.control.run("sbatch", "--wait", "job.sbatch", cwd=launchers.job.folder, env=launchers.environment)
    output = (launchers.job.folder / "job.out").read_text()
    assert done.returncode == 0, output
    assert "node 1 of 2: ranks 2-3" in output and "PADDLE_TRAINERS_NUM                       4" in output
    assert [values["host"] for values in launchers.variables(4)] == ["node1", "node1", "node2", "node2"]


def test_only_node_0_in_a_batch_script_and_ssh_for_the_other(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    launchers.job.script("job.sbatch", f"#!/bin/sh\n#SBATCH --nodes=2 --output=job.out\n{LAUNCH} --ips node1,node2 tell.py\n")
    done = launchers.cluster.control.run("sbatch", "--wait", "job.sbatch", cwd=launchers.job.folder, env=launchers.environment)
    output = (launchers.job.folder / "job.out").read_text()
    assert done.returncode == 0 and "node 1 (node2) reached by ssh" in output, output
    assert [values["host"] for values in launchers.variables(2)] == ["node1", "node2"]


def test_two_such_jobs_on_the_same_nodes_do_not_meet(launchers):
    launchers.job.script("wait.py", "import os, time\nopen('up.' + os.environ['MINE'], 'w').close()\n"
                         "while not all(os.path.exists('up.' + mine) for mine in 'ab'): time.sleep(0.1)\n")
    children = [launchers.start("--log_dir", mine, "--env", f"MINE={mine}", "wait.py") for mine in "ab"]
    assert [launchers.end(child)[0] for child in children] == [0, 0]


@pytest.mark.parametrize("gpu_options", [("--gpus-per-task=1",), ("--gres=gpu:1",)])
def test_gpus_that_slurm_bound_are_the_ranks(launchers, gpu_options):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("tell.py", of_slurm=gpu_options)
    assert status == 0, err
    for values in launchers.variables(2):
        assert values["CUDA_VISIBLE_DEVICES"] == values["SLURM_STEP_GPUS"] == "0" and values["FLAGS_selected_gpus"] == "0"


def test_all_gpus_of_the_nodes_are_a_rank_each(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("tell.py", of_slurm=("--gpus-per-task=2",))
    assert status == 0, err
    for rank, values in enumerate(launchers.variables(4)):
        assert values["host"] == f"node{1 + rank // 2}" and values["CUDA_VISIBLE_DEVICES"] == "0,1"
        assert values["FLAGS_selected_gpus"] == str(rank % 2)


@pytest.mark.parametrize("cores, expected", [(1, [1, 1]), (2, [2, 2])])
def test_ranks_stay_within_the_cores_that_slurm_gave(launchers, cores, expected):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("tell.py", of_slurm=(f"--cpus-per-task={cores}", "--cpu-bind=cores"))
    assert status == 0, err
    assert [len(values["cores"]) for values in launchers.variables(2)] == expected


def test_two_ranks_of_a_node_share_the_cores_that_slurm_gave(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("--nproc_per_node", 2, "tell.py", of_slurm=("--cpus-per-task=2", "--cpu-bind=cores"))
    assert status == 0, err
    ranks = launchers.variables(4)
    for first, second in (ranks[:2], ranks[2:]):
        assert len(first["cores"]) == len(second["cores"]) == 1 and first["cores"] != second["cores"]


@pytest.mark.parametrize("pmi", ["pmix", "none"])
def test_mpi_programs(launchers, pmi):
    launchers.job.script("mpi.py", "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1), 'of', MPI.COMM_WORLD.Get_size())")
    status, err = launchers.run("--nproc_per_node", 2, PYTHON, "mpi.py", of_slurm=(f"--mpi={pmi}",))
    assert status == 0, err
    assert {launchers.job.log(rank) for rank in range(4)} == {"4 of 4\n"}


@pytest.mark.parametrize("what, status, cause", [
    ("sys.exit(7)", 7, "exit code 7"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV"),
])
def test_a_failing_rank_is_named_and_gives_the_status(launchers, what, status, cause):
    launchers.job.script("train.py", STUBBORN)
    code, err = launchers.end(launchers.start("train.py", what))
    assert code == status, err
    assert "rank 1 on node2" in err and cause in err


def test_scancel_leaves_nothing(launchers):
    child = launchers.start_stubborn()
    launchers.cluster.control.check("scancel", *{step.partition(".")[0] for step in launchers.steps()})
    assert launchers.end(child)[0] != 0


def test_scancel_of_a_batch_script_leaves_nothing(launchers):
    launchers.job.script("train.py", STUBBORN)
    launchers.job.script("job.sbatch", "#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=1 --output=job.out\n"
                         f"srun {LAUNCH} --ips node1,node2 --grace 1 train.py 'time.sleep(1000)'\n")
    number = launchers.cluster.control.check("sbatch", "--parsable", "job.sbatch", cwd=launchers.job.folder,
                                             env=launchers.environment).strip()
    launchers.cluster.wait_until(lambda: (launchers.job.folder / "up.1").exists(), "the ranks")
    launchers.cluster.control.check("scancel", number)
    assert launchers.cluster.left_behind(timeout=20) == {}


def test_a_signal_of_slurm_lets_programs_end_in_peace(launchers):
    """scancel's SIGTERM reaches every process of the step; the launchers give the programs their grace all the same."""
    child = launchers.start_stubborn(program=OBEDIENT)
    launchers.cluster.control.check("scancel", "--signal=TERM", *[step for step in launchers.steps() if step.endswith(".0")])
    status, err = launchers.end(child)
    assert status == 143, err
    for rank in (0, 1):
        assert "got SIGTERM" in launchers.job.log(rank), err


@pytest.mark.parametrize("victim", [1, 2])
def test_a_killed_launcher_ends_the_job(launchers, victim):
    child = launchers.start_stubborn()
    pid = next(pid for pid, command in launchers.cluster[victim].processes().items()
               if command.split(" ")[0] == str(LAUNCH) and "srun" not in command)
    os.kill(pid, signal.SIGKILL)
    status, err = launchers.end(child)
    assert status != 0
    assert ("lost node 0 (node1)" if victim == 1 else "node node2 was lost with rank [1]") in err, err


def test_a_node_that_srun_did_not_start_on_is_named(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("--start-timeout", 3, "tell.py", where=("--ips", "node1,node2,node3"))
    assert status == 2 and "node 2 (node3) did not come within 3 s" in err, err


def test_a_list_without_this_node_is_refused(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("--start-timeout", 2, "tell.py", where=("--ips", "node1,node3"))
    assert status == 2 and "none of this machine's addresses is in --ips node1,node3" in err


def test_launchers_that_know_nothing_of_each_other_are_warned_of_once(launchers):
    launchers.job.script("tell.py", PRINT_VARIABLES)
    status, err = launchers.run("--log_dir", "/tmp/of-slurm", "tell.py", where=())
    assert status == 0 and err.count("srun started 2 launchers") == 1 and "--ips" in err, err
    status, err = launchers.run("tell.py")
    assert status == 0 and "srun started" not in err, err


RUN = LAUNCH.parent / "dtrain-run"


@pytest.mark.parametrize("words", [
    ["--rdzv-backend", "c10d", "--rdzv-endpoint", "node1:36700", "--rdzv-id", "77"],
    ["--rdzv-endpoint", "node1:36700", "--rdzv-backend=c10d", "--max-restarts", "2"],
], ids=["with a name", "restarts"])
def test_dtrain_run_with_torchruns_options_on_every_node(launchers, words):
    """As torchrun is used: srun starts one on each node, with the same command line."""
    launchers.job.script("tell.py", PRINT_VARIABLES)
    child = launchers.cluster.control.start("srun", "--quiet", "--nodelist=node1,node2", "--ntasks-per-node=1", RUN, "--nnodes", "2",
                                            "--nproc-per-node", "2", *words, "tell.py", cwd=launchers.job.folder,
                                            env=launchers.environment)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    ranks = sorted((ast.literal_eval(line) for line in out.splitlines()), key=lambda each: int(each["RANK"]))
    assert [(each["RANK"], each["LOCAL_RANK"], each["GROUP_RANK"], each["WORLD_SIZE"], each["host"]) for each in ranks] == [
        ("0", "0", "0", "4", "node1"), ("1", "1", "0", "4", "node1"), ("2", "0", "1", "4", "node2"), ("3", "1", "1", "4", "node2")]


def test_dtrain_run_with_numbered_nodes_names_the_rank_that_fails(launchers):
    launchers.job.script("fail.py", "import os, sys, time\nif os.environ['RANK'] == '3':\n    sys.exit(7)\ntime.sleep(1000)\n")
    nodes = [launchers.cluster[number].start(RUN, "--nnodes", "2", "--node-rank", number - 1, "--master-addr", "node1", "--master-port",
                                             "36701", "--nproc-per-node", "2", "fail.py", cwd=launchers.job.folder,
                                             env=launchers.environment) for number in (2, 1)]
    ends = [node.communicate(timeout=60) for node in nodes]
    assert [node.returncode for node in nodes] == [7, 7], ends
    assert "rank 3 on node2: the program ended with exit code 7" in ends[1][1]

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs with Open MPI 5.0 where DTRAIN_OMPI5 names its mpirun: on one node, over ssh, through agents, in a batch job.

Oracles: the plan that the user's command line means, the shell's exit status convention, /proc of all nodes for what still
runs. Programs are without MPI: mpi4py of the packages belongs to the other Open MPI.
"""
import os
import pathlib
import signal

import pytest

from programs import OBEDIENT, STUBBORN
from whole_jobs import LAUNCH, OMPI5

pytestmark = pytest.mark.skipif(OMPI5 is None, reason="DTRAIN_OMPI5 names no mpirun of an Open MPI 5.0")

PRINT_VARIABLES = """
import os, socket
print(os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"], socket.gethostname(), os.environ.get("MINE"))
"""

ON_ONE_NODE = ((1,), ("--nproc_per_node", 2))
OVER_SSH = ((1,), ("--ips", "10.77.0.1,10.77.0.2", "--nproc_per_node", 1))
AGENTS = ((1, 2), ("--ips", "10.77.0.1,10.77.0.2", "--nproc_per_node", 1))
ways = pytest.mark.parametrize("way", [ON_ONE_NODE, OVER_SSH, AGENTS], ids=["one node", "over ssh", "agents"])
ways_to_others = pytest.mark.parametrize("way", [OVER_SSH, AGENTS], ids=["over ssh", "agents"])


class Five:
    """Launchers whose mpirun is 5.0, the first one node 0's."""

    def __init__(self, job):
        self.job, self.cluster = job, job.cluster
        self.environment = {"DTRAIN_KEY_FILE": job.folder / "key", "PATH": f"{pathlib.Path(OMPI5).parent}:{os.environ['PATH']}"}
        self.children = []

    def start(self, number, *words):
        child = self.cluster[number].start(LAUNCH, "--quiet", "--grace", 1, *words, cwd=self.job.folder, env=self.environment)
        self.children.append(child)
        return child

    def start_all(self, way, text, *words):
        self.job.script("train.py", text)
        nodes, options = way
        for number in nodes:
            self.start(number, *options, "train.py", *words)
        return self

    def start_until_up(self, way, text=STUBBORN):
        self.start_all(way, text, "time.sleep(1000)")
        self.cluster.wait_until(lambda: all((self.job.folder / f"up.{rank}").exists() for rank in (0, 1)) or
                                any(child.poll() is not None for child in self.children), "the ranks")
        assert all(child.poll() is None for child in self.children), [child.communicate() for child in self.children]
        return self

    def ends(self, timeout=40):
        """[(status, stderr)] of the launchers; nothing is left anywhere."""
        done = []
        for child in self.children:
            _, err = child.communicate(timeout=timeout)
            done.append((child.returncode, err))
        assert self.cluster.left_behind() == {}
        return done

    @staticmethod
    def outputs(done):
        return "\n".join(f"status {status}\n{err}" for status, err in done)

    def pid(self, program, node=None):
        for name, processes in self.cluster.jobs_processes().items():
            for pid, command in processes.items():
                if node in (None, name) and pathlib.Path(command.split(" ")[0]).name == program:
                    return pid
        raise AssertionError(f"no {program} on {node}: {self.cluster.jobs_processes()}")


@pytest.fixture
def five(job):
    five = Five(job)
    yield five
    assert job.cluster.left_behind() == {}


def test_it_is_this_one(five):
    done = five.job.on(1, "mpirun", "--version", env=five.environment)
    assert done.stdout.startswith("mpirun (Open MPI) 5.0"), done.stdout + done.stderr


@ways
def test_ranks_and_their_variables(five, way):
    nodes, options = way
    five.job.script("tell.py", PRINT_VARIABLES)
    for number in nodes:
        five.start(number, *options, "--env", "MINE=a b;c", "tell.py")
    done = five.ends()
    assert [status for status, _ in done] == [0] * len(nodes), five.outputs(done)
    second = ("0", "node2") if len(options) > 2 else ("1", "node1")
    assert five.job.log(0) == "0 0 2 node1 a b;c\n" and five.job.log(1) == f"1 {second[0]} 2 {second[1]} a b;c\n"


@ways
@pytest.mark.parametrize("what, status, cause", [("sys.exit(7)", 7, "exit code 7"),
                                                 ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV")])
def test_a_failing_rank_is_named_and_gives_the_status(five, way, what, status, cause):
    done = five.start_all(way, STUBBORN, what).ends()
    assert [code for code, _ in done] == [status] * len(done), five.outputs(done)
    assert "rank 1 on " in done[0][1] and cause in done[0][1]


@ways
def test_a_signal_stops_all_programs_in_peace(five, way):
    five.start_until_up(way, OBEDIENT)
    os.kill(five.children[0].inner, signal.SIGTERM)
    done = five.ends()
    assert [code for code, _ in done] == [143] * len(done), five.outputs(done)
    for rank in (0, 1):
        assert "got SIGTERM" in five.job.log(rank)


@ways
def test_a_killed_coordinator_leaves_nothing(five, way):
    five.start_until_up(way)
    os.kill(five.children[0].inner, signal.SIGKILL)
    done = five.ends()
    assert all(status == 1 and "lost node 0 (10.77.0.1)" in err for status, err in done[1:]), five.outputs(done)


@ways
def test_a_killed_mpirun_leaves_nothing(five, way):
    five.start_until_up(way)
    os.kill(five.pid("prterun"), signal.SIGKILL)  # what mpirun becomes
    done = five.ends()
    assert done[0][0] == 137 and "mpirun ended with signal SIGKILL" in done[0][1], five.outputs(done)


@ways_to_others
def test_a_killed_daemon_names_the_node(five, way):
    """mpirun itself may return 0 then."""
    five.start_until_up(way)
    os.kill(five.pid("prted", "node2"), signal.SIGKILL)
    done = five.ends()
    assert all(status != 0 for status, _ in done) and "rank [1]" in done[0][1] and "10.77.0.2" in done[0][1], five.outputs(done)


@ways_to_others
def test_a_cut_cable_names_the_node(five, way):
    five.start_until_up(way)
    five.cluster[2].cut()
    for child in five.children:
        child.wait(40)
    five.cluster[2].heal()
    done = five.ends()
    assert all(status != 0 for status, _ in done) and "10.77.0.2" in done[0][1] and "rank [1]" in done[0][1], five.outputs(done)


def test_a_killed_agent_names_the_node(five):
    five.start_until_up(AGENTS)
    os.kill(five.children[1].inner, signal.SIGKILL)
    status, err = five.ends()[0]
    assert status != 0 and "node 10.77.0.2 was lost with rank [1]: its launcher: " in err, err


def test_each_node_runs_its_own_command_in_its_own_folder(five):
    """mpirun itself need not find node 0's folder on the others."""
    nodes, options = AGENTS
    for number in nodes:
        folder = five.cluster[number].tmp(f"own.{five.job.folder.name}.{number}")
        folder.mkdir()
        (folder / f"{number}.py").write_text("import os, sys\nprint(sys.argv[1:], os.getcwd())\n")
        five.children.append(five.cluster[number].start(
            "/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", f"/tmp/{folder.name}", LAUNCH, "--quiet", *options, "--log_dir",
            five.job.folder / "log", f"{number}.py", f"of {number}", env=five.environment))
    done = five.ends()
    assert [status for status, _ in done] == [0, 0], five.outputs(done)
    assert [five.job.log(rank) for rank in (0, 1)] == [
        f"['of {number}'] /tmp/own.{five.job.folder.name}.{number}\n" for number in nodes]


def test_nodes_that_meet_at_a_master_and_are_unequal(five):
    five.job.script("tell.py", PRINT_VARIABLES)
    for number, ranks in ((1, 1), (2, 3)):
        five.start(number, "--nproc_per_node", ranks, "--master", "10.77.0.1:36700", "--nnodes", 2, "tell.py")
    done = five.ends()
    assert [status for status, _ in done] == [0, 0], five.outputs(done)
    assert [five.job.log(rank).split()[3] for rank in range(4)] == ["node1", "node2", "node2", "node2"]


def test_several_launchers_on_one_machine(five):
    five.job.script("tell.py", PRINT_VARIABLES)
    for number in (1, 2):
        five.start(1, "--master", "node1:36700", "--nnodes", 2, "--nproc_per_node", 2, "--log_dir", f"log{number}", "tell.py")
    done = five.ends()
    assert [status for status, _ in done] == [0, 0], five.outputs(done)
    logs = sorted(path.name for path in five.job.folder.glob("log*/workerlog.*"))
    assert logs == [f"workerlog.{rank}" for rank in range(4)]


def test_a_job_that_is_started_again(five):
    five.job.script("train.py", "import os, sys\nprint('try', os.environ['PADDLE_RESTART_COUNT'], flush=True)\n"
                    "sys.exit(os.environ['PADDLE_RESTART_COUNT'] == '0')\n")
    nodes, options = AGENTS
    for number in nodes:
        five.start(number, *options, "--max_restart", 1, "train.py")
    done = five.ends()
    assert [status for status, _ in done] == [0, 0] and "try 1" in five.job.log(1), five.outputs(done)


def test_launchers_that_srun_starts(five):
    five.job.script("tell.py", PRINT_VARIABLES)
    done = five.cluster.control.run("srun", "--quiet", "-N2", "--ntasks-per-node=1", LAUNCH, "--quiet", "--ips", "node1,node2",
                                    "tell.py", cwd=five.job.folder, env=five.environment)
    assert done.returncode == 0, done.stderr
    assert [five.job.log(rank).split()[3] for rank in (0, 1)] == ["node1", "node2"]


def test_mpirun_inside_of_an_allocation(five):
    five.job.script("tell.py", PRINT_VARIABLES)
    done = five.job.on(1, "salloc", "--quiet", "-N2", LAUNCH, "--engine", "mpirun", "--nproc_per_node", 1, "tell.py",
                       env=five.environment)
    assert done.returncode == 0, done.stderr
    assert [five.job.log(rank).split()[3] for rank in (0, 1)] == ["node1", "node2"]

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The same command on every node, without ssh. Oracle: what each node's launcher is to print, the exit status of all of
them, the logs of the ranks, and that no process of the job is left on any node. ssh is replaced by a program that only
leaves a mark, but for the test of ssh."""
import os
import pathlib
import shutil
import signal
import socket
import time

import pytest

from whole_jobs import LAUNCH, PYTHON, NoSsh

HELLO = "import os, socket; print('rank', os.environ['PADDLE_TRAINER_ID'], 'on', socket.gethostname(), flush=True)\n"
SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(1000)\n"


class Follow:
    """Launchers of one job on several nodes."""

    def __init__(self, job):
        self.job, self.cluster = job, job.cluster
        no_ssh = NoSsh(job.folder)
        self.bin, self.mark = no_ssh.folder, no_ssh.mark
        self.environment = no_ssh.environment | {"DTRAIN_KEY_FILE": job.folder / "key"}

    def start(self, number, *arguments, env=None, folder=None):
        cwd = folder or self.job.folder
        return self.cluster[number].start(LAUNCH, *arguments, cwd=cwd, env={**self.environment, **(env or {})})

    def launch(self, *arguments, nodes=(1, 2), env=None):
        """The same command on these nodes, started in this order; {node: launcher}."""
        return {number: self.start(number, *arguments, env=env) for number in nodes}

    def wait_for_log(self, rank, text, folder="log", timeout=30):
        path = self.job.folder / folder / f"workerlog.{rank}"
        self.cluster.wait_until(lambda: path.exists() and text in path.read_text(), f"{text} in {path}", timeout)


def ends(launchers, timeout=60):
    """{node: (status, stdout, stderr)} of launchers that must end."""
    out = {}
    deadline = time.monotonic() + timeout
    for number, child in launchers.items():
        stdout, stderr = child.communicate(timeout=max(0.1, deadline - time.monotonic()))
        out[number] = (child.returncode, stdout, stderr)
    return out


def outputs(done):
    """All that launchers said, for people."""
    return "\n".join(f"node {number}, status {status}:\n{out}{err}" for number, (status, out, err) in done.items())


@pytest.fixture
def follow(job):
    follow = Follow(job)
    yield follow
    assert job.cluster.left_behind() == {}


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 1, 3)])
def test_any_start_order(follow, order):
    follow.job.script("train.py", HELLO)
    ips = follow.cluster.addresses(3)
    launchers = follow.launch("--ips", ips, "--nproc_per_node", 2, "train.py", nodes=order)
    done = ends(launchers)
    assert {number: status for number, (status, _, _) in done.items()} == {1: 0, 2: 0, 3: 0}, outputs(done)
    for rank in range(6):
        assert follow.job.log(rank).endswith(f"rank {rank} on node{rank // 2 + 1}\n")
    assert "node 1 of 3: ranks 2-3" in done[2][2] and "node 2 of 3: ranks 4-5" in done[3][2]
    assert not follow.mark.exists()


def test_logs_stay_on_each_nodes_own_disk(follow):
    follow.job.script("train.py", HELLO)
    launchers = follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 2, "--log_dir",
                              f"/tmp/{follow.job.folder.name}", "train.py")
    assert [status for status, _, _ in ends(launchers).values()] == [0, 0]
    own = {number: follow.cluster[number].tmp(follow.job.folder.name) for number in (1, 2)}
    logs = {number: sorted(path.name for path in folder.glob("workerlog.*")) for number, folder in own.items()}
    assert logs == {1: ["workerlog.0", "workerlog.1"], 2: ["workerlog.2", "workerlog.3"]}


def test_each_node_may_name_its_own_log_folder(follow):
    follow.job.script("train.py", HELLO)
    ips = follow.cluster.addresses(2)
    launchers = {number: follow.start(number, "--ips", ips, "--nproc_per_node", 1, "--log_dir", f"of{number}", "train.py")
                 for number in (1, 2)}
    assert [status for status, _, _ in ends(launchers).values()] == [0, 0]
    assert follow.job.log(0, "of1") == "rank 0 on node1\n" and follow.job.log(1, "of2") == "rank 1 on node2\n"


SHOW = "import os, sys\nprint(os.path.basename(__file__), sys.argv[1:], os.getcwd(), os.environ['PWD'], flush=True)\n"


@pytest.mark.parametrize("where", ["--ips", "--master"])
def test_each_node_runs_the_script_and_the_arguments_that_it_was_given(follow, where):
    for name in ("a.py", "b.py"):
        follow.job.script(name, SHOW)
    nodes = ("--ips", follow.cluster.addresses(2)) if where == "--ips" else ("--master", "10.77.0.1:7500", "--nnodes", 2)
    odd = ["--data=/mnt/b", "", "it's; $HOME\n\"*\""]
    launchers = {1: follow.start(1, *nodes, "--nproc_per_node", 2, "a.py", "--data=/mnt/a", "--token", "T0p5ecret"),
                 2: follow.start(2, *nodes, "--nproc_per_node", 2, "b.py", *odd, "--token", "m1ne")}
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    paths = f"{follow.job.folder} {follow.job.folder}\n"
    assert [follow.job.log(rank) for rank in range(4)] == (
        2 * [f"a.py {['--data=/mnt/a', '--token', 'T0p5ecret']} {paths}"] + 2 * [f"b.py {[*odd, '--token', 'm1ne']} {paths}"])
    assert 'node 1 (10.77.0.2) runs its own command, with "b.py" in place of node 0\'s "a.py"' in done[1][2]
    assert not any(secret in err for _, _, err in done.values() for secret in ("T0p5ecret", "m1ne"))


def test_each_node_runs_in_the_folder_that_it_was_started_in(follow):
    """Neither node has the other's."""
    launchers = {}
    for number in (1, 2):
        folder = follow.cluster[number].tmp(f"own.{follow.job.folder.name}.{number}")
        folder.mkdir()
        (folder / "train.py").write_text(SHOW + f"print('of node {number}')\n")
        launchers[number] = follow.cluster[number].start(
            "/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", f"/tmp/{folder.name}", LAUNCH, "--ips", follow.cluster.addresses(2),
            "--nproc_per_node", 1, "--log_dir", follow.job.folder / "log", "train.py", env=follow.environment)
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    folders = [f"/tmp/own.{follow.job.folder.name}.{number}" for number in (1, 2)]
    assert [follow.job.log(rank) for rank in (0, 1)] == [
        f"train.py [] {folder} {folder}\nof node {number}\n" for number, folder in enumerate(folders, 1)]
    assert f'node 1 (10.77.0.2) runs its own command, in "{folders[1]}", node 0 in "{folders[0]}"' in done[1][2]


def test_a_node_without_a_launcher_runs_node_0s_command_beside_those_that_have_their_own(follow):
    follow.job.script("a.py", SHOW)
    follow.job.script("b.py", SHOW)
    (follow.bin / "ssh").unlink()
    nodes = ("--ips", follow.cluster.addresses(3), "--nproc_per_node", 1)
    done = ends({1: follow.start(1, *nodes, "a.py", "of 0"), 3: follow.start(3, *nodes, "b.py", "of 2")})
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    paths = f"{follow.job.folder} {follow.job.folder}\n"
    assert [follow.job.log(rank) for rank in range(3)] == [f"a.py ['of 0'] {paths}", f"a.py ['of 0'] {paths}", f"b.py ['of 2'] {paths}"]


def test_a_node_without_a_launcher_needs_node_0s_folder(follow):
    (follow.bin / "ssh").unlink()
    folder = follow.cluster[1].tmp(f"own.{follow.job.folder.name}")
    folder.mkdir()
    follow.job.script("a.py", HELLO)
    nodes = ("--ips", follow.cluster.addresses(3), "--nproc_per_node", 1, "--log_dir", follow.job.folder / "log")
    done = ends({1: follow.cluster[1].start("/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", f"/tmp/{folder.name}", LAUNCH, *nodes,
                                            follow.job.folder / "a.py", env=follow.environment),
                 3: follow.start(3, *nodes, "a.py")})
    assert [status for status, _, _ in done.values()] == [2, 2], outputs(done)
    assert f"rank 1 on node2: cannot go to the working folder /tmp/{folder.name}: No such file or directory" in done[1][2], outputs(done)


def test_a_job_that_is_started_again_runs_each_nodes_own_command_again(follow):
    follow.job.script("a.py", "import os, sys\nsys.exit(os.environ['PADDLE_RESTART_COUNT'] == '0')\n")
    follow.job.script("b.py", "import os\nprint('b', os.environ['PADDLE_RESTART_COUNT'], flush=True)\n")
    nodes = ("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "--max_restart", 1)
    done = ends({number: follow.start(number, *nodes, script) for number, script in ((1, "a.py"), (2, "b.py"))})
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert "b 1\n" in follow.job.log(1)


def test_servers_and_workers_run_their_nodes_own_script(follow):
    text = """
import os, sys, time
print(os.path.basename(__file__), os.environ["TRAINING_ROLE"], flush=True)
if os.environ["TRAINING_ROLE"] == "PSERVER":
    open("up." + os.environ["RANK"], "w").close()
    time.sleep(1000)
while not (os.path.exists("up.0") and os.path.exists("up.1")): time.sleep(0.05)
"""
    follow.job.script("a.py", text)
    follow.job.script("b.py", text)
    lists = ("--servers", "10.77.0.1:7000,10.77.0.2:7000", "--workers", "10.77.0.1:8000,10.77.0.2:8000")
    done = ends({1: follow.start(1, *lists, "a.py"), 2: follow.start(2, *lists, "b.py")})
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    logs = {path.name: path.read_text().splitlines()[0] for path in follow.job.folder.glob("log/*log.[0-9]")}
    assert logs == {"serverlog.0": "a.py PSERVER", "serverlog.1": "b.py PSERVER", "workerlog.0": "a.py TRAINER",
                    "workerlog.1": "b.py TRAINER"}


@pytest.mark.parametrize("where", ["--ips", "--master"])
def test_a_script_that_is_missing_on_one_node_is_an_error_on_both_sides(follow, where):
    """Oracle: node 0 does not wait for its --start-timeout of ten minutes."""
    follow.job.script("a.py", HELLO)
    nodes = ("--ips", follow.cluster.addresses(2)) if where == "--ips" else ("--master", "10.77.0.1:29511", "--nnodes", 2)
    done = ends({1: follow.start(1, *nodes, "a.py"), 2: follow.start(2, *nodes, "none.py")})
    assert [status for status, _, _ in done.values()] == [2, 2], outputs(done)
    missing = 'training script "none.py" not found\n'
    assert done[2][2].endswith("dtrain-launch: " + missing)
    assert done[1][2].endswith("dtrain-launch: a node cannot take part: node2 (10.77.0.2): " + missing)


def test_modes_that_differ_are_an_error_on_both_sides(follow):
    follow.job.script("train.py", HELLO)
    ips = follow.cluster.addresses(2)
    done = ends({1: follow.start(1, "--ips", ips, "train.py"), 2: follow.start(2, "--ips", ips, "--run_mode", "rpc", "train.py")})
    for status, _, err in done.values():
        assert status == 2 and "its --run_mode is rpc, node 0's collective; give all nodes the same" in err, outputs(done)


def test_a_failure_names_the_log_in_the_folder_of_its_node(follow):
    follow.job.script("train.py", "import os, sys\nif os.environ['RANK'] == '1': sys.exit('of my own')\n")
    ips = follow.cluster.addresses(2)
    launchers = {number: follow.start(number, "--ips", ips, "--nproc_per_node", 1, "--log_dir", f"of{number}", "train.py")
                 for number in (1, 2)}
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [1, 1], outputs(done)
    assert f"log: {follow.job.folder}/of2/workerlog.1" in done[1][2] and "of my own" in done[1][2], outputs(done)


def test_a_log_on_another_disk_says_where_to_look_for_the_cause(follow):
    follow.job.script("train.py", "import os, sys, time\nprint('up', flush=True)\n"
                                  "while not os.path.exists('up.1'): open('up.' + os.environ['RANK'], 'w'); time.sleep(0.05)\n"
                                  "if os.environ['RANK'] == '0': sys.exit(7)\ntime.sleep(1000)\n")
    done = ends(follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "--log_dir", "/tmp/words", "train.py"))
    assert [status for status, _, _ in done.values()] == [7, 7], outputs(done)
    assert follow.cluster[1].tmp("words/workerlog.0").read_text() == "up\n"
    assert follow.cluster[2].tmp("words/workerlog.1").read_text() == (
        "up\ndtrain: stopped by SIGTERM after rank 0 failed on node1; see workerlog.0 there\n")


def test_parameter_servers_whose_lists_interleave_the_nodes(follow):
    follow.job.script("train.py", """
import os, socket, time
role = os.environ["TRAINING_ROLE"]
print(role, "on", socket.gethostname(), flush=True)
if role == "PSERVER":
    open("up." + os.environ["RANK"], "w").close()
    time.sleep(1000)
while not (os.path.exists("up.0") and os.path.exists("up.1")): time.sleep(0.05)
""")
    done = ends(follow.launch("--servers", "10.77.0.1:7000,10.77.0.2:7000", "--workers",
                              "10.77.0.2:8000,10.77.0.1:8000,10.77.0.2:8001", "train.py"))
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    logs = {path.name: path.read_text().splitlines()[0] for path in follow.job.folder.glob("log/*log.[0-9]")}
    assert logs == {"serverlog.0": "PSERVER on node1", "serverlog.1": "PSERVER on node2", "workerlog.0": "TRAINER on node2",
                    "workerlog.1": "TRAINER on node1", "workerlog.2": "TRAINER on node2"}
    assert not follow.mark.exists()


def test_mpi_runs_across_the_nodes(follow):
    follow.job.script("train.py", "from mpi4py import MPI\nprint('sum', MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1))\n")
    launchers = follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, PYTHON, "train.py")
    assert [status for status, _, _ in ends(launchers).values()] == [0, 0]
    assert follow.job.log(1) == "sum 3\n"


def test_every_launcher_exits_with_the_jobs_status(follow):
    follow.job.script("train.py", "import os, sys, time\nif os.environ['PADDLE_TRAINER_ID'] == '1': sys.exit(7)\ntime.sleep(1000)\n")
    done = ends(follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "train.py"))
    assert [status for status, _, _ in done.values()] == [7, 7]
    assert "rank 1" in done[1][2] and "rank 1" in done[2][2]


def test_a_node_that_never_comes_is_named_and_ends_the_job(follow):
    follow.job.script("train.py", HELLO)
    done = ends(follow.launch("--ips", follow.cluster.addresses(3), "--start-timeout", 17, "train.py"))
    assert [status for status, _, _ in done.values()] == [2, 2]
    assert "waiting for node 2 (10.77.0.3)" in done[1][2]
    for _, _, err in done.values():
        assert "node 2 (10.77.0.3) did not come within 17 s; start the same command there" in err


def test_a_coordinator_that_never_comes_is_named(follow):
    follow.job.script("train.py", HELLO)
    done = ends(follow.launch("--ips", follow.cluster.addresses(2), "--start-timeout", 1, "train.py", nodes=(2,)))
    assert done[2][0] == 2 and "node 0 (10.77.0.1 port " in done[2][2] and "start the same command there" in done[2][2]


SILENT = "import socket, sys, time\ns = socket.create_server(('10.77.0.1', int(sys.argv[1])))\nprint('up', flush=True)\ntime.sleep(100)\n"


def test_a_port_that_says_nothing_is_not_waited_for_for_ever(follow):
    follow.job.script("train.py", HELLO)
    squatter = follow.cluster[1].start(PYTHON, "-c", SILENT, PORT)
    try:
        assert squatter.stdout.readline() == "up\n"
        begin = time.monotonic()
        done = ends(follow.launch("--ips", follow.cluster.addresses(2), "--link-port", PORT, "--start-timeout", 5, "train.py",
                                  nodes=(2, 1)))
        took = time.monotonic() - begin
    finally:
        os.kill(squatter.inner, signal.SIGKILL)
        squatter.communicate()
    assert [status for status, _, _ in done.values()] == [2, 2], outputs(done)
    assert f"TCP port {PORT}, where the nodes of the job meet, cannot be used" in done[1][2]
    assert "held by pid" in done[1][2]
    assert f"node 0 (10.77.0.1 port {PORT}) is not there after 5 s: it accepts connections and has not answered" in done[2][2]
    assert f'on 10.77.0.1 "ss -ltnp sport = :{PORT}" tells which' in done[2][2]
    assert 5 <= took < 40


def test_lists_that_differ_are_an_error_on_both_sides(follow):
    follow.job.script("train.py", HELLO)
    a, b, c = follow.cluster.addresses(3).split(",")
    done = ends({1: follow.start(1, "--ips", f"{a},{b}", "train.py"), 2: follow.start(2, "--ips", f"{a},{b},{c}", "train.py")})
    for status, _, err in done.values():
        assert status == 2 and f"{a},{b},{c}" in err and "the same list" in err


def test_lists_in_opposite_order_are_an_error_on_both_sides(follow):
    """Each takes itself for node 0."""
    follow.job.script("train.py", HELLO)
    a, b = follow.cluster.addresses(2).split(",")
    begin = time.monotonic()
    done = ends({1: follow.start(1, "--ips", f"{a},{b}", "train.py"), 2: follow.start(2, "--ips", f"{b},{a}", "train.py")})
    for status, _, err in done.values():
        assert status == 2 and "give all nodes the same list, in the same order" in err, outputs(done)
        assert f"{a},{b}" in err and f"{b},{a}" in err
    assert time.monotonic() - begin < 60, "not only after --start-timeout"


def test_another_job_with_the_nodes_in_opposite_order_is_let_be(follow):
    follow.job.script("train.py", HELLO)
    a, b = follow.cluster.addresses(2).split(",")
    first = ("--ips", f"{a},{b}", "--job_id", "one", "--link-port", PORT, "--log_dir", "one", "train.py")
    second = ("--ips", f"{b},{a}", "--job_id", "two", "--link-port", PORT, "--log_dir", "two", "train.py")
    coordinators = {1: follow.start(1, *first), 2: follow.start(2, *second)}
    time.sleep(8)  # in which each has asked the other
    assert all(child.poll() is None for child in coordinators.values()), [child.communicate() for child in coordinators.values()]
    agents = {1: follow.start(2, *first), 2: follow.start(1, *second)}
    done = list(ends(coordinators).values()) + list(ends(agents).values())
    assert [status for status, _, _ in done] == [0, 0, 0, 0], done


def test_an_agent_is_told_its_servers_and_workers(follow):
    follow.job.script("train.py", "print('up')\n")
    a, b = follow.cluster.addresses(2).split(",")
    done = ends(follow.launch("--servers", f"{a}:6270,{b}:6270", "--workers", f"{a}:6271,{b}:6271,{a}:6272,{b}:6272", "train.py"))
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert "node 1 of 2: server 1, workers 1,3;" in done[2][2]


def test_endpoints_are_in_the_log_folder_of_every_node(follow):
    follow.job.script("train.py", "import os\nprint(os.environ['PADDLE_TRAINER_ENDPOINTS'])\n")
    launchers = {number: follow.start(number, "--ips", follow.cluster.addresses(2), "--nproc_per_node", 2, "--log_dir",
                                      f"log{number}", "train.py") for number in (1, 2)}
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    for number in (1, 2):
        endpoints = (follow.job.folder / f"log{number}/workerlog.{2 * number - 2}").read_text().strip()
        assert (follow.job.folder / f"log{number}/endpoints.log").read_text() == (
            "PADDLE_TRAINER_ENDPOINTS:\n" + endpoints.replace(",", "\n") + "\n")


def test_servers_at_this_machines_own_address_and_a_number_of_workers(follow):
    """One machine, whatever it is called: nobody is waited for."""
    follow.job.script("train.py", """
import os, time
print(os.environ["TRAINING_ROLE"], os.environ["POD_IP"], flush=True)
if os.environ["TRAINING_ROLE"] == "PSERVER":
    open("server.up", "w").close()
    time.sleep(1000)
while not os.path.exists("server.up"): time.sleep(0.05)
""")
    done = ends({1: follow.start(1, "--servers", "10.77.0.1:6270", "--worker_num", 2, "train.py")})
    assert done[1][0] == 0, outputs(done)
    assert [(follow.job.folder / "log" / name).read_text() for name in ("serverlog.0", "workerlog.0", "workerlog.1")] == [
        "PSERVER 10.77.0.1\ndtrain: stopped by SIGTERM because the others are done\n", "TRAINER 10.77.0.1\n", "TRAINER 10.77.0.1\n"]


def test_different_numbers_of_ranks_are_an_error_on_both_sides(follow):
    follow.job.script("train.py", HELLO)
    ips = follow.cluster.addresses(2)
    done = ends({number: follow.start(number, "--ips", ips, "--nproc_per_node", number, "train.py") for number in (1, 2)})
    for status, _, err in done.values():
        assert status == 2 and "it has 2 ranks, and 1 rank would be its part" in err


@pytest.mark.parametrize("nodes", [(3,), (1, 3)], ids=["alone", "node 0 waits"])
def test_a_machine_that_is_not_in_the_list(follow, nodes):
    follow.job.script("train.py", HELLO)
    done = ends(follow.launch("--ips", follow.cluster.addresses(2), "train.py", nodes=nodes))
    assert done[3][0] == 2 and "none of this machine's addresses is in --ips 10.77.0.1,10.77.0.2" in done[3][2]
    if 1 in nodes:
        assert done[1][0] == 2 and "node3 (10.77.0.3): its own address is none of the nodes 10.77.0.1,10.77.0.2" in done[1][2]


def test_another_key_is_refused_with_the_command_that_copies_it(follow):
    follow.job.script("train.py", HELLO)
    ips = follow.cluster.addresses(2)
    launchers = {1: follow.start(1, "--ips", ips, "--start-timeout", 20, "train.py"),
                 2: follow.start(2, "--ips", ips, "train.py", env={"DTRAIN_KEY_FILE": follow.job.folder / "other"})}
    status, _, err = ends({2: launchers.pop(2)})[2]
    assert status == 2 and 'run "dtrain-launch key show" on 10.77.0.1 and the command that it prints on this node' in err
    shown = follow.job.on(1, LAUNCH, "key", "show", env=follow.environment).stdout
    assert shown.startswith("echo ") and shown.endswith(" | dtrain-launch key install\n")
    assert shown.split()[1] not in err
    key = {"DTRAIN_KEY_FILE": follow.job.folder / "other"}
    on_path = {"PATH": f"{LAUNCH.parent}:{os.environ['PATH']}"}
    assert follow.job.on(2, "sh", "-c", shown, env=key | on_path).returncode == 0
    launchers[2] = follow.start(2, "--ips", ips, "train.py", env=key)
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0]
    assert "a launcher on 10.77.0.2 has another key and was refused" in done[1][2]


def test_a_key_that_others_can_read_is_refused(follow):
    follow.job.script("train.py", HELLO)
    key = follow.job.folder / "key"
    follow.job.on(1, LAUNCH, "key", "show", env=follow.environment)
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    done = ends(follow.launch("--ips", follow.cluster.addresses(2), "train.py"))
    for status, _, err in done.values():
        assert status == 2 and f"chmod 600 {key}" in err


def test_a_signal_to_an_agent_stops_the_job_in_peace(follow):
    follow.job.script("train.py", "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), "
                      "sys.exit(0)))\nprint('up', flush=True)\ntime.sleep(1000)\n")
    launchers = follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "train.py")
    for rank in (0, 1):
        follow.wait_for_log(rank, "up")
    os.kill(launchers[2].inner, signal.SIGINT)
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [130, 130], outputs(done)
    for rank in (0, 1):
        assert "bye" in follow.job.log(rank)


def test_an_agent_that_is_killed_ends_the_job(follow):
    follow.job.script("train.py", SLEEP)
    launchers = follow.launch("--ips", follow.cluster.addresses(3), "--nproc_per_node", 1, "--grace", 1, "train.py",
                              nodes=(1, 2, 3))
    for rank in range(3):
        follow.wait_for_log(rank, "up")
    os.kill(launchers[2].inner, signal.SIGKILL)
    launchers.pop(2).communicate()
    done = ends(launchers, timeout=30)
    for status, _, err in done.values():
        assert status != 0 and "node 10.77.0.2 was lost with rank [1]: its launcher: " in err, err


def test_a_coordinator_that_is_killed_ends_the_job(follow):
    follow.job.script("train.py", SLEEP)
    launchers = follow.launch("--ips", follow.cluster.addresses(3), "--nproc_per_node", 1, "--grace", 1, "train.py",
                              nodes=(1, 2, 3))
    for rank in range(3):
        follow.wait_for_log(rank, "up")
    os.kill(launchers[1].inner, signal.SIGKILL)
    launchers.pop(1).communicate()
    for status, _, err in ends(launchers, timeout=30).values():
        assert status == 1 and "lost node 0 (10.77.0.1)" in err


def test_a_cut_cable_names_the_node_and_ends_the_job(follow):
    follow.job.script("train.py", SLEEP)
    launchers = follow.launch("--ips", follow.cluster.addresses(3), "--nproc_per_node", 1, "--grace", 1, "train.py",
                              nodes=(1, 2, 3))
    for rank in range(3):
        follow.wait_for_log(rank, "up")
    follow.cluster[2].cut()
    done = ends(launchers, timeout=30)
    for number in (1, 3):
        assert done[number][0] != 0
        assert "node 10.77.0.2 was lost with rank [1]: its launcher: its machine does not answer any more" in done[number][2]
    assert done[2][0] == 1 and "lost node 0 (10.77.0.1): its machine does not answer any more" in done[2][2]


def test_a_node_without_a_launcher_is_reached_by_ssh(follow):
    follow.job.script("train.py", HELLO)
    (follow.bin / "ssh").unlink()
    done = ends(follow.launch("--ips", follow.cluster.addresses(3), "--nproc_per_node", 1, "train.py", nodes=(1, 3)))
    assert [status for status, _, _ in done.values()] == [0, 0]
    assert "node 1 (10.77.0.2) reached by ssh" in done[1][2]
    for rank in range(3):
        assert follow.job.log(rank) == f"rank {rank} on node{rank + 1}\n"


def test_a_launcher_that_comes_late_to_a_job_started_by_ssh_follows_it(follow):
    follow.job.script("train.py", "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.1)\n")
    (follow.bin / "ssh").unlink()
    arguments = ("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "train.py")
    launchers = {1: follow.start(1, *arguments)}
    follow.wait_for_log(1, "up")
    launchers[2] = follow.start(2, *arguments)
    time.sleep(1)
    (follow.job.folder / "go").touch()
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert "started over ssh before this launcher came" in done[2][2]


def test_a_launcher_that_comes_too_late_for_its_own_command_is_told(follow):
    wait = "import os, time\nprint(__file__, flush=True)\nwhile not os.path.exists('go'): time.sleep(0.1)\n"
    follow.job.script("a.py", wait)
    follow.job.script("b.py", wait)
    (follow.bin / "ssh").unlink()
    nodes = ("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1)
    launchers = {1: follow.start(1, *nodes, "a.py")}
    follow.wait_for_log(1, "a.py")
    launchers[2] = follow.start(2, *nodes, "b.py")
    part = launchers[2].stderr.readline()
    while "node 1 of 2" not in part:
        assert launchers[2].poll() is None
        part = launchers[2].stderr.readline()
    (follow.job.folder / "go").touch()
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert "started over ssh before this launcher came, with node 0's command and folder" in part
    assert ("node 1 (10.77.0.2) runs node 0's command: it was started over ssh before its launcher came, "
            'with "b.py" in place of node 0\'s "a.py"') in done[1][2]


def test_a_job_that_is_started_again_uses_the_same_agents(follow):
    follow.job.script("train.py", "import os, sys\nprint('try', os.environ['PADDLE_RESTART_COUNT'], flush=True)\n"
                      "sys.exit(os.environ['PADDLE_RESTART_COUNT'] == '0')\n")
    done = ends(follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "--max_restart", 1, "train.py"))
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert "try 1" in follow.job.log(1)


def test_nodes_meet_at_a_master_and_may_be_unequal(follow):
    follow.job.script("train.py", HELLO)
    arguments = ("--master", "10.77.0.1:7500", "--nnodes", 3, "train.py")
    launchers = {2: follow.start(2, "--nproc_per_node", 3, *arguments)}
    launchers[1] = follow.start(1, "--nproc_per_node", 1, *arguments)
    time.sleep(1)
    launchers[3] = follow.start(3, "--nproc_per_node", 2, *arguments)
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0, 0], outputs(done)
    assert "node 1 of 3: ranks 1-3" in done[2][2] and "node 2 of 3: ranks 4-5" in done[3][2]
    assert [follow.job.log(rank).split()[-1] for rank in range(6)] == ["node1", "node2", "node2", "node2", "node3", "node3"]


def test_servers_and_workers_meet_at_a_master_and_may_be_unequal(follow):
    follow.job.script("train.py", """
import os, socket, time
env = os.environ
endpoints = env["PADDLE_PSERVERS_IP_PORT_LIST"] + " " + env["PADDLE_TRAINER_ENDPOINTS"]
print(env["TRAINING_ROLE"], env["POD_IP"] + ":" + env["PADDLE_PORT"], "on", socket.gethostname(), endpoints, flush=True)
if env["TRAINING_ROLE"] == "PSERVER":
    open("up." + env["PADDLE_PORT"], "w").close()
    time.sleep(1000)
while sum(name.startswith("up.") for name in os.listdir(".")) < 3:
    time.sleep(0.01)
""")
    arguments = ("--master", "10.77.0.1:7500", "--nnodes", 2, "train.py")
    launchers = {2: follow.start(2, "--server_num", 2, "--trainer_num", 1, *arguments)}
    launchers[1] = follow.start(1, "--server_num", 1, "--trainer_num", 2, *arguments)
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert "node 1 of 2: servers 1-2, worker 2" in done[2][2]
    lines = [(follow.job.folder / "log" / name).read_text().splitlines()[0].split() for name in
             ("serverlog.0", "serverlog.1", "serverlog.2", "workerlog.0", "workerlog.1", "workerlog.2")]
    assert [(line[0], line[3]) for line in lines] == [("PSERVER", "node1"), ("PSERVER", "node2"), ("PSERVER", "node2"),
                                                      ("TRAINER", "node1"), ("TRAINER", "node1"), ("TRAINER", "node2")]
    assert {tuple(line[4:]) for line in lines} == {(",".join(line[1] for line in lines[:3]), ",".join(line[1] for line in lines[3:]))}


def test_nodes_at_a_master_get_the_ranks_that_they_ask_for(follow):
    follow.job.script("train.py", HELLO)
    arguments = ("--master", "10.77.0.1:7500", "--nnodes", 3, "--nproc_per_node", 1)
    launchers = {1: follow.start(1, *arguments, "--rank", 0, "train.py")}
    launchers[2] = follow.start(2, *arguments, "--rank", 2, "train.py")
    time.sleep(1)
    launchers[3] = follow.start(3, *arguments, "--rank", 1, "train.py")
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0, 0], outputs(done)
    assert [follow.job.log(rank).split()[-1] for rank in range(3)] == ["node1", "node3", "node2"]


def test_several_launchers_on_one_machine_are_several_nodes(follow):
    follow.job.script("train.py", "import os\nprint(os.environ['PADDLE_TRAINER_ID'], os.environ['PADDLE_TRAINER_ENDPOINTS'])\n")
    launchers = {number: follow.start(1, "--master", "127.0.0.1:7500", "--nnodes", 3, "--nproc_per_node", 2, "--log_dir",
                                      f"log{number}", "train.py") for number in (1, 2, 3)}
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0, 0], outputs(done)
    logs = {path.name: path.read_text() for path in follow.job.folder.glob("log*/workerlog.*")}
    assert len(list(follow.job.folder.glob("log*/workerlog.*"))) == 6 and len(logs) == 6
    for rank in range(6):
        number, endpoints = logs[f"workerlog.{rank}"].split()
        assert int(number) == rank and len(set(endpoints.split(","))) == 6


PORT = 7512  # no port that the kernel gives to clients


class Attacker:
    """Somebody on the network of the nodes who does not have the key."""

    def __init__(self, follow, text):
        script = follow.job.script("attack.py", text)
        self.child = follow.cluster[4].start(PYTHON, script, "10.77.0.1", PORT)

    def words(self):
        out, err = self.child.communicate(timeout=60)
        assert self.child.returncode == 0, err
        return out.split()


# Whether the other side has closed a connection.
CLOSED = """import os, socket, sys
def closed(s):
    s.settimeout(20)
    try:
        while s.recv(4096):
            pass
    except ConnectionError:
        pass
    return True
"""

GARBAGE = CLOSED + """
count = 0
for text in [b"GET / HTTP/1.1\\r\\n\\r\\n", b"\\0" * 4096, os.urandom(65536), b"\\xff\\xff\\xff\\xff" + b"x" * 1000,
             b"\\0\\0\\0\\x6edtrain-link/1\\n" + os.urandom(96), b"\\0\\0\\0\\x10" + b'{"is":"run_on"}', b"\\x7f\\xff\\xff\\xff"]:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as s:
        try:
            s.sendall(text)
        except ConnectionError:
            pass
        count += closed(s)
print("closed", count)
"""

SLOW_LORIS = CLOSED + """
sockets = [socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) for _ in range(200)]
for s in sockets:
    s.sendall(b"\\0")
print("closed", sum(closed(s) for s in sockets))
"""

FLOOD = """import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
sockets, failed = [], 0
for _ in range(10000):
    s = socket.socket()
    s.settimeout(5)
    try:
        s.connect((sys.argv[1], int(sys.argv[2])))
        s.sendall(b"\\0\\0\\0\\x6edtrain-link/1\\n")
        sockets.append(s)
    except OSError:
        failed += 1
print("made", len(sockets) + failed)
"""


@pytest.mark.parametrize("attack", ["GARBAGE", "SLOW_LORIS", "FLOOD"])
def test_an_attacker_without_the_key_disturbs_nothing(follow, attack):
    """While node 0 waits for its agent, and while the job runs."""
    follow.job.script("train.py", "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.1)\n")
    arguments = ("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "--link-port", PORT, "train.py")
    launchers = {1: follow.start(1, *arguments)}
    wait_for_port(follow)
    first = Attacker(follow, globals()[attack])
    launchers[2] = follow.start(2, *arguments)
    for rank in (0, 1):
        follow.wait_for_log(rank, "up", timeout=40)
    second = Attacker(follow, globals()[attack])
    expected = {"GARBAGE": ["closed", "7"], "SLOW_LORIS": ["closed", "200"], "FLOOD": ["made", "10000"]}[attack]
    assert first.words() == expected and second.words() == expected
    (follow.job.folder / "go").touch()
    done = ends(launchers)
    assert [status for status, _, _ in done.values()] == [0, 0], outputs(done)
    assert follow.job.log(1) == "up\n"


def wait_for_port(follow):
    probe = f"import socket; socket.create_connection(('10.77.0.1', {PORT}), 0.5)"
    follow.cluster.wait_until(lambda: follow.cluster[4].run(PYTHON, "-c", probe).returncode == 0, "node 0's port")


RELAY = """import pathlib, socket, sys, threading
listener = socket.create_server(("10.77.0.4", int(sys.argv[2])))
print("listening", flush=True)
agent, _ = listener.accept()
coordinator = socket.create_connection((sys.argv[1], int(sys.argv[2])))
recording = open("said", "wb")

def carry(source, target, record):
    try:
        while piece := source.recv(65536):
            if record:
                recording.write(piece)
                recording.flush()
            target.sendall(piece)
    except OSError:
        pass
    for each in (source, target):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

threads = [threading.Thread(target=carry, args=arguments) for arguments in ((agent, coordinator, True), (coordinator, agent, False))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

REPLAY = """import socket, sys
recorded = open("said", "rb").read()
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as s:
    s.settimeout(20)
    answer = b""
    try:
        s.sendall(recorded)
        while piece := s.recv(4096):
            answer += piece
    except ConnectionError:
        pass
print("said", len(recorded) > 400, "answered", len(answer))
"""


def test_a_replayed_conversation_starts_nothing(follow):
    """The attacker records what an agent says in one job, through a relay, and says it again to the next job's coordinator."""
    follow.job.script("train.py", HELLO)
    relay = follow.cluster[4].start(PYTHON, follow.job.script("relay.py", RELAY), "10.77.0.1", PORT, cwd=follow.job.folder)
    assert relay.stdout.readline() == "listening\n", relay.stderr.read()
    arguments = ("--nnodes", 2, "--nproc_per_node", 1, "train.py")
    launchers = {1: follow.start(1, "--master", f"10.77.0.1:{PORT}", *arguments)}
    wait_for_port(follow)
    launchers[2] = follow.start(2, "--master", f"10.77.0.4:{PORT}", "--host", "10.77.0.2", *arguments)
    assert [status for status, _, _ in ends(launchers).values()] == [0, 0]
    relay.wait(10)

    waiting = {1: follow.start(1, "--master", f"10.77.0.1:{PORT}", "--start-timeout", 8, *arguments)}
    wait_for_port(follow)
    follow.job.script("attack.py", REPLAY)
    done = follow.cluster[4].run(PYTHON, "attack.py", "10.77.0.1", PORT, cwd=follow.job.folder)
    # Version, key and nonce are answered with the coordinator's own, fresh ones; what follows is refused.
    assert done.stdout == "said True answered 100\n", done.stdout + done.stderr
    status, _, err = ends(waiting)[1]
    assert status == 2 and "did not come within 8 s" in err


def test_a_killed_daemon_names_the_node(follow):
    follow.job.script("train.py", SLEEP)
    launchers = follow.launch("--ips", follow.cluster.addresses(2), "--nproc_per_node", 1, "--grace", 1, "train.py")
    for rank in (0, 1):
        follow.wait_for_log(rank, "up")
    daemon = next(pid for pid, command in follow.cluster[2].processes().items() if command.split(" ")[0].endswith(("orted", "prted")))
    os.kill(daemon, signal.SIGKILL)
    done = ends(launchers, timeout=30)
    assert all(status != 0 for status, _, _ in done.values()), outputs(done)
    assert "rank [1]" in done[1][2] and "10.77.0.2" in done[1][2]

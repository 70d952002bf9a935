# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""dtrain-launch --check on virtual nodes, each test with one thing broken. Oracle: what was broken, by its name; a row for
every node; status 0 for healthy nodes and 1 for others; nothing is left running and no log is made."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from whole_jobs import BUILD, LAUNCH, ROOT, NoSsh

HERE = pathlib.Path(__file__).resolve().parent
CHECK = BUILD / "src/libexec/dtrain/dtrain-check"


def rows(done):
    """{node number: cells of its row}; the heading's cells by "node"."""
    table = done.stdout.partition("\n\n")[0].splitlines()
    return {line.split()[0]: line for line in table}


def check(job, *options, node=1, nodes=3, **run):
    done = job.launch_on(node, "--check", *(["--ips", job.cluster.addresses(nodes)] if nodes else []), *options, **run)
    assert job.cluster.left_behind() == {}
    assert not (job.folder / "log").exists(), "nothing is started or written"
    return done


def sshd_of(node):
    """The listening sshd of a node, as seen from outside. One that serves a connection looks alike for a moment, and is younger."""
    return min(pid for pid, command in node.processes().items() if command.startswith(("/usr/sbin/sshd", "sshd: /usr/sbin/sshd")))


@contextlib.contextmanager
def open_files_of(pid, limit):
    """A soft limit of a process and of those that it will start."""
    subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={limit}:"], check=True)
    yield
    subprocess.run(["prlimit", "--pid", str(pid), "--nofile=4096:"], check=True)


@contextlib.contextmanager
def host_is_elsewhere(job, node, name):
    """On this node a name means an address that nobody has."""
    number = name.removeprefix("node")
    hosts = job.script("hosts.of.node", (job.cluster.folder / "hosts").read_text().replace(f"10.77.0.{number} {name}", f"10.77.0.99 {name}"))
    node.check("mount", "--bind", hosts, "/etc/hosts")
    yield
    node.check("umount", "/etc/hosts")


def test_healthy_nodes(job):
    done = check(job)
    assert done.returncode == 0, done.stdout + done.stderr
    table = rows(done)
    assert list(table) == ["node", "0", "1", "2"]
    for number, way in ((0, "here"), (1, "ssh"), (2, "ssh")):
        cells = table[str(number)].split()
        assert cells[1:4] == [f"10.77.0.{number + 1}", f"node{number + 1}", way]
        assert re.search(r"Open MPI [45]\.\d", table[str(number)]) and "2/2" in cells and cells[-1] == "ok"
    assert done.stdout.endswith("\n3 nodes checked: no fault\n")


def test_one_node_needs_no_list(job):
    done = check(job, nodes=None)
    assert done.returncode == 0 and "\n1 node checked: no fault\n" in done.stdout


def test_nodes_of_a_hostfile_from_a_machine_that_is_none_of_them(job):
    (job.folder / "hosts").write_text("node2 slots=2\nnode3\n")
    done = check(job, "--hostfile", "hosts", nodes=None)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " node2  ssh " in rows(done)["0"] and " node3  ssh " in rows(done)["1"]


def test_a_program_may_be_named_and_is_not_run(job):
    job.script("a.py", "open('ran', 'w')")
    assert check(job, "a.py").returncode == 0 and not (job.folder / "ran").exists()
    assert check(job, "missing.py").returncode == 2


def test_bad_input_is_refused_before_anything(job):
    assert check(job, "--hostfile", "nowhere", nodes=None).returncode == 2
    done = check(job, "--master", "10.77.0.1:4000", "--nnodes", 2, "--start-timeout", 1, nodes=None)
    assert done.returncode == 2 and "1 of 2 nodes did not come within 1 s" in done.stderr
    done = check(job, "--master", "etcd://10.77.0.1:4000", "--nnodes", 2, nodes=None)
    assert done.returncode == 2 and "--ips or --hostfile" in done.stderr


class Launchers:
    """--check on several nodes at once, where ssh does nothing but leave a mark."""

    def __init__(self, job):
        self.job, no_ssh = job, NoSsh(job.folder)
        self.environment = no_ssh.environment | {"DTRAIN_KEY_FILE": job.folder / "key"}

    def start(self, node, *words):
        return self.job.cluster[node].start(LAUNCH, *words, cwd=self.job.folder, env=self.environment)

    def done(self, launchers):
        """{node: (status, stdout, stderr)}"""
        ends = {node: child.communicate(timeout=90) for node, child in launchers.items()}
        assert self.job.cluster.left_behind() == {}
        return {node: (launchers[node].returncode, *output) for node, output in ends.items()}


@pytest.fixture
def launchers(job):
    return Launchers(job)


def ways(stdout):
    return [line.split()[3] for line in stdout.partition("\n\n")[0].splitlines()[1:]]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1)])
def test_nodes_that_all_run_it_need_no_ssh(launchers, order):
    ips = launchers.job.cluster.addresses(3)
    done = launchers.done({node: launchers.start(node, "--check", "--ips", ips) for node in order})
    assert {node: status for node, (status, _, _) in done.items()} == {1: 0, 2: 0, 3: 0}, done
    _, table, _ = done[1]
    assert ways(table) == ["here", "launcher", "launcher"] and table.endswith("\n3 nodes checked: no fault\n"), table
    assert [line.split()[2] for line in table.splitlines()[1:4]] == ["node1", "node2", "node3"]
    assert all("2/2" in line.split() for line in table.splitlines()[1:4]), "each connects to the others"
    assert done[2][1] == done[3][1] == "" and "node 1 of 3; node 0 (10.77.0.1) prints what is found" in done[2][2]
    assert not (launchers.job.folder / "log").exists()


def test_each_node_is_asked_about_the_log_folder_that_it_names(launchers):
    ips = ("--check", "--ips", launchers.job.cluster.addresses(2), "--log_dir")
    done = launchers.done({1: launchers.start(1, *ips, "/tmp/of1"), 2: launchers.start(2, *ips, "/proc/of2")})
    _, table, _ = done[1]
    assert done[1][0] == 1 and "fault: node 1 (10.77.0.2): logs cannot be written into /proc/of2: " in table, done
    assert table.splitlines()[1].split()[-1] == "ok", table


def test_a_node_that_neither_comes_nor_is_reached_is_the_fault(launchers):
    words = ("--check", "--ips", launchers.job.cluster.addresses(3), "--start-timeout", 3)
    done = launchers.done({node: launchers.start(node, *words) for node in (1, 2)})
    assert {node: status for node, (status, _, _) in done.items()} == {1: 1, 2: 1}, done
    _, table, errors = done[1]
    assert ways(table) == ["here", "launcher", "ssh:"] and "fault: node 2 (10.77.0.3): " in table
    assert table.endswith("\n3 nodes checked: 1 fault\n")
    assert "waiting for node 2 (10.77.0.3), not reached by ssh; start the same command there, within 3 s" in errors
    assert "the check found faults; node 0 shows them" in done[2][2]


def test_a_node_with_other_options_is_told_of(launchers):
    ips = ("--check", "--ips", launchers.job.cluster.addresses(2))
    done = launchers.done({1: launchers.start(1, *ips, "--nproc_per_node", 1), 2: launchers.start(2, *ips, "--nproc_per_node", 2)})
    assert {node: status for node, (status, _, _) in done.items()} == {1: 2, 2: 2}, done
    assert all("it has 2 ranks, and 1 rank would be its part" in errors for _, _, errors in done.values()), done


def test_nodes_that_meet_at_a_master(launchers):
    words = ("--check", "--master", "10.77.0.1:7500", "--nnodes", 2)
    done = launchers.done({node: launchers.start(node, *words) for node in (2, 1)})
    assert {node: status for node, (status, _, _) in done.items()} == {1: 0, 2: 0}, done
    assert ways(done[1][1]) == ["here", "launcher"] and done[1][1].endswith("\n2 nodes checked: no fault\n")


def test_a_check_does_not_disturb_a_job_that_waits(launchers):
    launchers.job.script("train.py", "print('trained')")
    ips = ("--ips", launchers.job.cluster.addresses(2))
    waiting = launchers.start(1, *ips, "train.py")
    launchers.job.cluster.wait_until(lambda: any("dtrain-launch" in command for command in
                                                 launchers.job.cluster[1].processes().values()), "node 0's launcher")
    check = launchers.start(2, "--check", *ips, "--start-timeout", 2)
    check.communicate(timeout=60)
    assert check.returncode == 1, "no ssh, and node 0 is there for a job"
    done = launchers.done({1: waiting, 2: launchers.start(2, *ips, "train.py")})
    assert {node: status for node, (status, _, _) in done.items()} == {1: 0, 2: 0}, done


def test_a_cut_cable_is_named_and_the_others_are_checked(job):
    job.cluster[2].cut()
    done = check(job)
    assert done.returncode == 1
    assert "ssh: no" in rows(done)["1"] and "1/1" in rows(done)["2"].split()
    assert "fault: node 1 (10.77.0.2): ssh: connect to host 10.77.0.2 port 22:" in done.stdout
    assert "\n3 nodes checked: 1 fault\n" in done.stdout


def test_one_direction_that_is_blocked(job):
    # What node 2 begins comes from an address that node 3 drops, as a firewall there would; answers come from the other.
    caller, called = job.cluster[2], job.cluster[3]
    caller.check("sh", "-c", "ip addr add 10.77.0.202/24 dev eth0 && ip route add 10.77.0.3/32 dev eth0 src 10.77.0.202")
    called.check("ip", "route", "add", "blackhole", "10.77.0.202/32")
    try:
        done = check(job)
    finally:
        called.check("ip", "route", "del", "blackhole", "10.77.0.202/32")
        caller.check("sh", "-c", "ip route del 10.77.0.3/32 && ip addr del 10.77.0.202/24 dev eth0")
    assert done.returncode == 1
    assert "fault: node 1 (10.77.0.2): cannot connect to node 2 (10.77.0.3): Connection timed out (the other direction works)" in done.stdout
    assert "1/2" in rows(done)["1"].split() and "2/2" in rows(done)["2"].split() and "\n3 nodes checked: 1 fault\n" in done.stdout


def test_a_name_that_means_another_address_on_one_node(job):
    with host_is_elsewhere(job, job.cluster[2], "node3"):
        done = check(job, "--ips", "node1,node2,node3", nodes=None)
    assert done.returncode == 1 and "\n3 nodes checked: 1 fault\n" in done.stdout
    assert "fault: node 1 (node2): cannot connect to node 2 (node3): " in done.stdout and "(the other direction works)" in done.stdout


def test_both_directions_that_are_blocked(job):
    job.cluster[2].check("ip", "route", "add", "blackhole", "10.77.0.3/32")
    try:
        done = check(job)
    finally:
        job.cluster[2].check("ip", "route", "del", "blackhole", "10.77.0.3/32")
    assert done.returncode == 1 and "\n3 nodes checked: 2 faults\n" in done.stdout
    assert "fault: node 1 (10.77.0.2): cannot connect to node 2 (10.77.0.3)" in done.stdout
    assert "fault: node 2 (10.77.0.3): cannot connect to node 1 (10.77.0.2)" in done.stdout


def ssh_by(job, text):
    """A variable that puts this in front of ssh: shell, with the command line in "$@"."""
    (job.folder / "bin").mkdir()
    wrapper = job.folder / "bin" / "ssh"
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *10.77.0.3*) {text};; esac\nexec /usr/bin/ssh "$@"\n')
    wrapper.chmod(0o755)
    return {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}


def test_a_node_without_sshd(job):
    done = check(job, env=ssh_by(job, 'exec /usr/bin/ssh -p 2222 "$@"'))  # where nobody listens
    assert done.returncode == 1
    assert "fault: node 2 (10.77.0.3): ssh: connect to host 10.77.0.3 port 2222: Connection refused\n    remedy: start sshd there" in done.stdout


def test_an_ssh_that_hangs_is_given_up(job):
    done = check(job, "--start-timeout", 5, env=ssh_by(job, "exec sleep 1000"))
    assert done.returncode == 1 and "fault: node 2 (10.77.0.3): no answer through ssh" in done.stdout
    assert "1/1" in rows(done)["1"].split()


def test_what_login_scripts_print_does_not_matter(job):
    assert check(job, env=ssh_by(job, "echo Welcome; echo quota: 5 >&2")).returncode == 0


def test_a_node_without_dtrain(job):
    # An empty folder over the programs of this node.
    job.cluster[2].check("mount", "-t", "tmpfs", "tmpfs", CHECK.parent)
    try:
        done = check(job)
    finally:
        job.cluster[2].check("umount", CHECK.parent)
    assert done.returncode == 1
    assert f"fault: node 1 (10.77.0.2): {CHECK} does not run there: " in done.stdout and "install the same dtrain" in done.stdout


def test_a_worker_that_misses_a_library(job):
    # The check itself needs no MPI; what the ranks are needs it.
    native = BUILD / "src/libexec/dtrain/dtrain-native"
    broken = job.script("native", "#!/bin/sh\necho 'dtrain-native: error while loading shared libraries: libmpi.so.40' >&2\nexit 127\n")
    broken.chmod(0o755)
    job.cluster[3].check("mount", "--bind", broken, native)
    try:
        done = check(job)
    finally:
        job.cluster[3].check("umount", native)
    assert done.returncode == 1 and "fault: node 2 (10.77.0.3): dtrain-worker does not run there: " in done.stdout
    assert "libmpi.so.40" in done.stdout and "\n3 nodes checked: 1 fault\n" in done.stdout


def test_a_tiny_dev_shm(job):
    job.cluster[2].check("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm")
    try:
        done = check(job)
    finally:
        job.cluster[2].check("umount", "/dev/shm")
    assert done.returncode == 1
    assert "fault: node 1 (10.77.0.2): /dev/shm has only 64 MiB\n    remedy: mount -o remount,size=50% /dev/shm" in done.stdout


def test_few_open_files(job):
    with open_files_of(sshd_of(job.cluster[3]), 256):
        done = check(job)
    assert done.returncode == 1
    assert "fault: node 2 (10.77.0.3): a process may have 256 files open" in done.stdout and " 256 " in rows(done)["2"]


def test_a_log_folder_that_cannot_be_written(job):
    job.cluster[2].check("sh", "-c", "mkdir -p /tmp/logs && mount -t tmpfs -o ro tmpfs /tmp/logs")
    try:
        done = check(job, "--log_dir", "/tmp/logs")
    finally:
        job.cluster[2].check("umount", "/tmp/logs")
    assert done.returncode == 1
    assert "fault: node 1 (10.77.0.2): logs cannot be written into /tmp/logs: Read-only file system" in done.stdout
    assert rows(done)["1"].split()[-1] == "no" and rows(done)["2"].split()[-1] == "ok"


def test_a_folder_that_only_this_node_has(job):
    job.cluster[1].check("mkdir", "-p", "/tmp/mine")
    done = job.cluster[1].run(LAUNCH, "--check", "--ips", job.cluster.addresses(2), "--log_dir", "/tmp/log", cwd="/")
    assert done.returncode == 0, done.stdout
    done = job.cluster[1].run("sh", "-c", f"cd /tmp/mine && exec {LAUNCH} --check --ips {job.cluster.addresses(2)} --log_dir /tmp/log")
    assert done.returncode == 1 and "fault: node 1 (10.77.0.2): the folder /tmp/mine of this command: No such file" in done.stdout


def test_other_numbers_of_gpus(job):
    on_node_3 = 'for last; do :; done; exec /usr/bin/ssh 10.77.0.3 "CUDA_VISIBLE_DEVICES=0,1 $last"'
    done = check(job, env=ssh_by(job, on_node_3))
    assert done.returncode == 1
    assert "fault: node 2 (10.77.0.3): GPUs: 2, but 0 on 2 of 3 nodes" in done.stdout


def test_gpus_that_this_shell_chose_are_meant_for_all_nodes(job):
    assert check(job, env={"CUDA_VISIBLE_DEVICES": "0,1"}).returncode == 0


def test_in_an_allocation_of_slurm(job):
    done = job.cluster.control.run("salloc", "--quiet", "-N3", "--gres=gpu:2", LAUNCH, "--check", cwd=job.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    for number in range(3):
        cells = rows(done)[str(number)].split()
        assert cells[2:4] == [f"node{number + 1}", "srun"] and "2/2" in cells
    assert job.cluster.left_behind() == {}


def test_a_fault_in_an_allocation_of_slurm(job):
    job.cluster[2].check("mount", "-t", "tmpfs", "tmpfs", CHECK.parent)
    try:
        done = job.cluster.control.run("salloc", "--quiet", "-N2", LAUNCH, "--check", cwd=job.folder)
    finally:
        job.cluster[2].check("umount", CHECK.parent)
    assert done.returncode == 1
    assert f"fault: node 1 (node2): {CHECK} does not run there: " in done.stdout and "No such file" in done.stdout
    assert job.cluster.left_behind() == {}


@pytest.fixture
def pbs(job):
    """An environment like that of a PBS job on the first two nodes."""
    commands = job.folder / "pbs-bin"
    commands.mkdir()
    shutil.copy(HERE / "pbs_tmrsh", commands)
    (job.folder / "nodefile").write_text("node1\nnode2\n")
    return {"PBS_JOBID": "12.ctl", "PBS_NODEFILE": job.folder / "nodefile", "PBS_ENVIRONMENT": "PBS_BATCH",
            "PATH": f"{commands}:/usr/bin:/bin"}


def test_in_a_job_of_pbs_nodes_call_back(job, pbs):
    done = check(job, nodes=None, env=pbs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " node2  pbs_tmrsh " in rows(done)["1"] and (job.folder / "tmrsh.hosts").read_text() == "node2\n"


def test_a_node_of_pbs_that_cannot_call_back(job, pbs):
    (job.folder / "nodefile").write_text("node1\nnode2\nnode3\n")
    with host_is_elsewhere(job, job.cluster[2], "node1"):
        done = check(job, nodes=None, env=pbs)
    assert done.returncode == 1 and "fault: node 1 (node2): pbs_tmrsh ended with status 1" in done.stdout
    assert "1/1" in rows(done)["2"].split()
    assert "cannot connect to node1 port" in (job.folder / "tmrsh.out").read_text(), "where the remedy says"

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes named by IPv6 addresses, or by names that lead to IPv6 addresses only.

Oracles: the addresses that the nodes were given; RFC 3986's brackets around an address before a port, torch's and Gloo's
bare addresses.
"""
import ast
import subprocess

import pytest

from whole_jobs import LAUNCH, PYTHON

A, B = "fd00:77::1", "fd00:77::2"
PRINT_VARIABLES = """
import os, socket
names = ("RANK", "PADDLE_CURRENT_ENDPOINT", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_MASTER", "MASTER_ADDR", "GROUP_RANK",
         "GLOO_SOCKET_IFNAME")
print({name: os.environ.get(name) for name in names} | {"host": socket.gethostname()})
"""
MPI = """
from mpi4py import MPI
import numpy
mine = numpy.full(1 << 20, MPI.COMM_WORLD.rank + 1.0)
total = numpy.empty_like(mine)
MPI.COMM_WORLD.Allreduce(mine, total)
print(total.min(), total.max())
"""


KILLS_ITS_DAEMON = """
import os, pathlib, signal, time
while os.environ["RANK"] == "1":
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().split(b"\\0")[0].endswith((b"orted", b"prted")): os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.1)
time.sleep(1000)
"""


class Launchers:
    def __init__(self, job):
        self.job, self.cluster = job, job.cluster
        self.environment = {"DTRAIN_KEY_FILE": job.folder / "key"}
        job.script("tell.py", PRINT_VARIABLES)

    def run(self, *words, nodes=(1, 2), env=None):
        """[(status, stderr)] of the same command on these nodes."""
        children = [self.cluster[number].start(LAUNCH, "--quiet", "--grace", 1, *words, cwd=self.job.folder,
                                               env=self.environment | (env or {})) for number in nodes]
        return [(child.returncode, err) for child in children for _, err in [child.communicate(timeout=60)]]

    def variables(self, count=2):
        return [ast.literal_eval(self.job.log(rank)) for rank in range(count)]


@pytest.fixture
def launchers(job):
    yield Launchers(job)
    assert job.cluster.left_behind() == {}


@pytest.fixture
def no_ipv4(job):
    version = subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "(Open MPI) 5" in version:
        pytest.skip("mpirun 5.0.7 crashes where it starts daemons on nodes without an IPv4 address")
    nodes = job.cluster.nodes[:2]
    for node in nodes:
        node.check("ip", "-4", "addr", "flush", "dev", "eth0")
    yield
    for number, node in enumerate(nodes, 1):
        node.check("sh", "-c", f"ip addr add {job.cluster.address(number)}/24 dev eth0; ip route replace default dev eth0")


@pytest.mark.parametrize("where", [("--ips", f"{A},{B}"), ("--ips", f"[{A}],[{B}]"), ("--master", f"[{A}]:36700", "--nnodes", 2)],
                         ids=["ips", "brackets", "master"])
def test_addresses(launchers, where):
    done = launchers.run(*where, "--start_port", 6170, "tell.py")
    assert [status for status, _ in done] == [0, 0], done
    for rank, values in enumerate(launchers.variables()):
        assert values["host"] == f"node{rank + 1}" and values["GROUP_RANK"] == str(rank)
        assert values["PADDLE_TRAINER_ENDPOINTS"] == f"[{A}]:6170,[{B}]:6170"
        assert values["PADDLE_CURRENT_ENDPOINT"] == f"[{(A, B)[rank]}]:6170"
        assert values["MASTER_ADDR"] == A and values["PADDLE_MASTER"].startswith(f"[{A}]:")
        assert values["GLOO_SOCKET_IFNAME"] == "eth0"


def test_names_that_lead_to_ipv6_only(launchers):
    done = launchers.run("--ips", "node1-v6,node2-v6", "tell.py")
    assert [status for status, _ in done] == [0, 0], done
    for rank, values in enumerate(launchers.variables()):
        assert values["host"] == f"node{rank + 1}" and values["PADDLE_CURRENT_ENDPOINT"].startswith(f"node{rank + 1}-v6:")


def test_a_name_that_leads_elsewhere_is_not_this_machine(launchers):
    (status, err), = launchers.run("--ips", "node2-v6,node3-v6", "tell.py", nodes=(1,))
    assert status == 2 and "none of this machine's addresses is in --ips node2-v6,node3-v6" in err


def test_several_ranks_a_node(launchers):
    done = launchers.run("--ips", f"{A},{B}", "--nproc_per_node", 2, "tell.py")
    assert [status for status, _ in done] == [0, 0], done
    assert [values["host"] for values in launchers.variables(4)] == ["node1", "node1", "node2", "node2"]


def test_servers_and_workers(launchers):
    done = launchers.run("--servers", f"[{A}]:6170", "--workers", f"[{A}]:6171,[{B}]:6171", "tell.py", nodes=(1,))
    assert [status for status, _ in done] == [0], done
    assert "'host': 'node2'" in launchers.job.log(1)


def test_mpi_programs(launchers):
    launchers.job.script("mpi.py", MPI)
    done = launchers.run("--ips", f"{A},{B}", PYTHON, "mpi.py")
    assert [status for status, _ in done] == [0, 0] and launchers.job.log(1) == "3.0 3.0\n", done


@pytest.mark.parametrize("names", [f"{A},{B}", "node1-v6,node2-v6"])
def test_over_ssh(launchers, names):
    (status, err), = launchers.run("--ips", names, "tell.py", nodes=(1,))
    assert status == 0 and f"node 1 ({names.split(',')[1]}) reached by ssh" in err, err
    assert [values["host"] for values in launchers.variables()] == ["node1", "node2"]


@pytest.mark.parametrize("nodes", [(1, 2), (1,)], ids=["agents", "over ssh"])
def test_a_lost_node_is_named_as_the_user_named_it(launchers, nodes):
    launchers.job.script("fail.py", KILLS_ITS_DAEMON)
    done = launchers.run("--ips", f"{A},{B}", "fail.py", nodes=nodes)
    assert all(status != 0 for status, _ in done) and f"node {B} was lost with rank [1]" in done[0][1], done


@pytest.mark.parametrize("program", [("tell.py",), (PYTHON, "mpi.py")], ids=["no MPI", "MPI"])
def test_a_network_without_ipv4(launchers, no_ipv4, program):
    launchers.job.script("mpi.py", MPI)
    done = launchers.run("--ips", f"{A},{B}", *program)
    assert [status for status, _ in done] == [0, 0], done

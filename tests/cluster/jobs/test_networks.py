# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes with several networks. Oracle: the interfaces that the nodes were given here: eth0 leads to the others, docker0
has the same address on every node, as the bridge for containers has."""
import pytest

from whole_jobs import PYTHON


@pytest.fixture
def bridges(job):
    for node in job.cluster.nodes[:2]:
        node.check("sh", "-c", "ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up")
    yield
    for node in job.cluster.nodes[:2]:
        node.check("ip", "link", "del", "docker0")


def test_programs_are_told_the_interface_that_leads_to_the_others(job, bridges):
    job.script("a.py", "import os; print(os.environ['NCCL_SOCKET_IFNAME'], os.environ['GLOO_SOCKET_IFNAME'], "
               "os.environ.get('OMPI_MCA_btl_tcp_if_include'))")
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--tee", "all", "a.py")
    assert done.returncode == 0, done.stderr
    assert "[0] eth0 eth0 10.77.0.0/24\n" in done.stdout and "[1] eth0 eth0 10.77.0.0/24\n" in done.stdout
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--network_interface", "docker0", "--tee", "all", "a.py",
                         env={"GLOO_SOCKET_IFNAME": "lo"})
    assert "[1] docker0 lo None\n" in done.stdout, "the user's word"


def test_mpi_programs_talk_over_it(job, bridges):
    job.script("sum.py", "from mpi4py import MPI\nimport numpy\nmine = numpy.full(1 << 20, MPI.COMM_WORLD.rank + 1.0)\n"
               "total = numpy.empty_like(mine)\nMPI.COMM_WORLD.Allreduce(mine, total)\nprint(total.min(), total.max())")
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), PYTHON, "sum.py", env={"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_pml": "ob1"})
    assert done.returncode == 0 and "3.0 3.0" in done.stdout, done.stderr


def test_an_interface_that_is_not_there_is_refused(job):
    job.script("a.py", "")
    done = job.launch_on(1, "--ips", job.cluster.addresses(2), "--network_interface", "ib0", "a.py")
    assert done.returncode == 2 and "--network_interface ib0" in done.stderr and "it has eth0" in done.stderr

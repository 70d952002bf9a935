# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a job takes that does nothing, on two virtual nodes: the same command on both, without ssh.

Peer: mpirun over ssh between the same nodes, in the same run.
"""

import contextlib
import subprocess
import tempfile
import time

from harness import Case, Failed, Unavailable, mpi_environment
from program_runs import why
from virtual_nodes import ROOT, VirtualCluster, why_not

AIM = 1.0
LIMIT = 20  # seconds
MPIRUN_HANGS = 4
TRIES = 20


def cases(build):
    if (reason := why_not()) is not None:
        raise Unavailable(reason)
    with VirtualCluster(2, visible=[ROOT, build], environment=mpi_environment) as cluster:
        yield Case("/bin/true on 2 ranks of 2 nodes", "s", "lower", followers(cluster, build), "mpirun over ssh",
                   over_ssh(cluster), AIM, foreign=True)


def followers(cluster, build):
    launcher = build / "src/bin/dtrain-launch"

    def measure():
        with tempfile.TemporaryDirectory(dir=cluster.shared) as folder:
            command = [launcher, "--quiet", "--ips", cluster.addresses(), "--nproc_per_node", 1, "/bin/true"]
            begin = time.monotonic()
            launchers = [node.start(*command, cwd=folder) for node in cluster.nodes]
            try:
                ends = [child.communicate(timeout=LIMIT) for child in launchers]
            except subprocess.TimeoutExpired:
                stop(cluster, launchers)
                raise Failed(f"dtrain-launch: no end after {LIMIT} s, stopped") from None
            seconds = time.monotonic() - begin
            for child, (out, err) in zip(launchers, ends):
                if child.returncode != 0:
                    raise Failed(f"dtrain-launch: {why(child.returncode, err or out)}", out + err)
            return seconds
    return measure


def over_ssh(cluster):
    hosts = ",".join(f"{cluster.address(number)}:1" for number in (1, 2))

    def measure():
        for _ in range(TRIES):
            begin = time.monotonic()
            child = cluster[1].start("mpirun", "--host", hosts, "-np", 2, "/bin/true")
            try:
                out, err = child.communicate(timeout=MPIRUN_HANGS)
            except subprocess.TimeoutExpired:  # mpirun 4.1 may wait for ever for ranks that ended at once
                stop(cluster, [child])
                continue
            seconds = time.monotonic() - begin
            if child.returncode != 0:
                raise Failed(why(child.returncode, err or out), out + err)
            return seconds
        raise Failed(f"no end after {MPIRUN_HANGS} s, {TRIES} times")
    return measure


def stop(cluster, children):
    for child in children:
        child.kill()
    cluster.clear()  # whatever they have started and that holds their pipes
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=LIMIT)

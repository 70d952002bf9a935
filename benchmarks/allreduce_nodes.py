# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a sum over the ranks of 2 virtual nodes takes, float32, in place: on a link as fast as this machine's, and on one of
1 Gbit/s each way, where it counts how often a number crosses it. Each node has a processor of its own, which its ranks share.

Peer: MPI_Allreduce of the same length, in turns with the library in the same processes (allreduce_rounds.cpp).
"""

import os

from allreduce import LIMIT, PROGRAM, compared
from harness import Unavailable, built, mpi_environment
from virtual_nodes import ROOT, VirtualCluster, limit_links, output_on, why_not

SIZES = {"": [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20], " at 1 Gbit/s": [64 << 10, 1 << 20, 16 << 20]}
AIMS = {"window": 1.0, "foreign": 1.0}
LIMIT_OF_LINK = 1e9  # bits a second


def cases(build):
    if (reason := why_not()) is not None:
        raise Unavailable(reason)
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("needs 2 processors")
    built(build, PROGRAM)
    with VirtualCluster(2, visible=[ROOT, build], environment=mpi_environment) as cluster:
        for link, sizes in SIZES.items():
            if link:
                limit_links(cluster, LIMIT_OF_LINK)
            for ranks in (1, 2):
                for size in sizes:
                    yield from compared(on_nodes(cluster, build / PROGRAM, ranks), size,
                                        f"2 nodes, {ranks} rank{'s' * (ranks > 1)} each{link}", AIMS)


def on_nodes(cluster, program, ranks):
    processors = sorted(os.sched_getaffinity(0))

    def start(*words):
        of_nodes = []
        for number in (1, 2):
            of_nodes += [":"] * (number > 1) + ["--host", f"{cluster.address(number)}:{ranks}", "-np", ranks, "taskset", "-c",
                                                processors[number - 1], program, *words]
        return output_on(cluster[1], "mpirun", "--bind-to", "none", "--mca", "mpi_yield_when_idle", 1, *of_nodes, limit=LIMIT)
    return start

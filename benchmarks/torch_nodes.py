# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed on the back end dtrain over 2 virtual nodes and TCP, each node with a processor of its own.

Peer: gloo in the same processes, in turns. Needs an interpreter with torch, which DTRAIN_COMPAT_PYTHON names.
"""

import os
from pathlib import Path

from harness import Unavailable, mpi_environment, once, parsed
from torch import LIMIT, ROUNDS, cases_of, environment_of, interpreter, rates  # benchmarks/torch.py
from virtual_nodes import ROOT, VirtualCluster, output_on, why_not

HERE = Path(__file__).resolve().parent
IN_ALL = False
LARGEST = 1 << 24
MASTER_PORT = 29514


def cases(build):
    if (reason := why_not()) is not None:
        raise Unavailable(reason)
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("needs 2 processors")
    python = interpreter(build)
    visible = [ROOT, build, Path(python).absolute().parents[1]]
    with VirtualCluster(2, visible=visible, environment=mpi_environment) as cluster:
        for ranks in (1, 2):
            times = once(lambda ranks=ranks: parsed(on_nodes(cluster, build, python, ranks), rates))
            yield from cases_of(times, LARGEST, f"2 nodes, {ranks} rank{'s' * (ranks > 1)} each",
                                lambda _name, size, ranks=ranks: 1.3 if ranks > 1 and size >= 1 << 20 else 1.0)


def on_nodes(cluster, build, python, ranks):
    variables = [f"{name}={value}" for name, value in environment_of(build).items()]
    start = (f"RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE MASTER_ADDR={cluster.address(1)} MASTER_PORT={MASTER_PORT} "
             'GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1 exec "$@"')
    of_nodes = []
    for number, processor in zip((1, 2), sorted(os.sched_getaffinity(0))):
        of_nodes += [":"] * (number > 1) + ["--host", f"{cluster.address(number)}:{ranks}", "-np", ranks, "taskset", "-c", processor,
                                            "env", *variables, "sh", "-c", start, "sh", python, HERE / "peers/torch_operations.py", ROUNDS, LARGEST]
    return output_on(cluster[1], "mpirun", "--bind-to", "none", "--mca", "mpi_yield_when_idle", 1, *of_nodes, limit=LIMIT)

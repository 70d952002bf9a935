# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What overlapping the exchange of gradients with the backward pass gains between two nodes whose link is so slow that the
exchange takes about as long as a step computes. The model has layers alike, so that gradients are there early.

Peers: the same step without overlap; the longer one of computing and communicating, which no overlap can beat.
"""

from harness import Case, Unavailable, built, mpi_environment, parsed
from program_runs import last_number
from virtual_nodes import ROOT, VirtualCluster, limit_links, output_on, why_not

MODEL = "deep"
BYTES = 4 * (784 * 768 + 5 * 768 * 768 + 6 * 768 + 768 * 10 + 10)  # of gradients: each rank sends as many
REPEATS = 3


def cases(build):
    if (reason := why_not()) is not None:
        raise Unavailable(reason)
    built(build, "benchmarks/mlp_step")
    with VirtualCluster(2, visible=[ROOT, build], environment=mpi_environment) as cluster:
        def rate(way):
            return lambda: steps_per_second(cluster, build, way)

        computing = rate("compute")()
        limit = BYTES * computing * 8
        for _ in range(3):  # protocols take their part of a link
            limit_links(cluster, limit)
            limit *= computing / rate("communicate")()
        yield Case("a step with overlap", "steps/s", "higher", rate("overlap"), "without overlap", rate("blocking"), 1.3, REPEATS)
        yield Case("a step with overlap", "steps/s", "higher", rate("overlap"), "the longer of computing and communicating",
                   lambda: min(rate("compute")(), rate("communicate")()), 0.9, REPEATS)


def steps_per_second(cluster, build, way):
    hosts = ",".join(f"{cluster.address(number)}:1" for number in (1, 2))
    output = output_on(cluster[1], "mpirun", "--host", hosts, "-np", "2", "--bind-to", "core", "-x", "OMP_NUM_THREADS=1",
                       build / "benchmarks/mlp_step", MODEL, way, limit=300)
    return parsed(output, last_number)

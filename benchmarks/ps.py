# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""How many rows a second trainers pull from parameter servers and push to them, 1 M rows, each id once in a batch.

In async mode, one request after the other: a push ends when the server has said that it is in the table. Rates beside
the bare server and EmbeddingBag are those of the median request.

Peers: bare_ps, one server and one client of nothing but MPI and bare_table; one server with one trainer; as many pulls as
there are tables; PyTorch's EmbeddingBag in one process without a server, where the interpreter that DTRAIN_COMPAT_PYTHON names has it.
"""

import os
import shutil
from pathlib import Path

import references
from harness import Case, Missing, Unavailable, built, figure, mpi_environment, once, parsed, taken_in_turns, turns
from program_runs import run, why_no_import

HERE = Path(__file__).resolve().parent
ROWS = 1_000_000
ROUNDS = 6
AIM_OF_RATE = 0.6
AIM_OF_SPREAD = 3.0  # p99 over p50
AIM_OF_SHARDS = 0.8  # 2 servers and 2 trainers together, over 1 and 1
AIM_OF_CROWD = 0.5  # more ranks than processors: far from the hundredth part that spinning leaves
AIM_OF_TORCH = 1.0
AIM_OF_TABLES = 1.0
IDLE_PERCENT = 3.0
LIMIT = 120  # seconds


def cases(build):
    if shutil.which("mpirun") is None:
        raise Unavailable("mpirun is not in PATH")
    programs = ("ps_rate", "bare_ps")
    built(build, *(f"benchmarks/{name}" for name in programs))
    own, bare = (str(build / "benchmarks" / name) for name in programs)
    for width in (16, 64):
        for optimizer in ("sgd", "adam"):
            for batch in (1024, 16384):
                yield from against_bare(own, bare, (optimizer, width, batch))
                yield against_torch(own, (optimizer, width, batch))
    for batch in (1024, 16384):
        for servers, trainers in ((2, 2), (1, 2), (2, 3)):
            yield from against_pair(own, servers, trainers, ("sgd", 16, batch))
    for batch in (256, 1024, 16384):
        yield from against_turns(own, batch)
    yield Case("of a processor takes a server without requests", "%", "lower", idle(own), "limit", lambda: IDLE_PERCENT,
               1.0, repeats=1)


def ranks(count, program, *arguments):
    """The figures that a program prints, by name: M keys/s, p50 and p99 in microseconds."""
    environment = mpi_environment()
    crowded = count > len(os.sched_getaffinity(0))
    if crowded:
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # Open MPI collapses without it
    output = run(["mpirun", "-np", count, "--bind-to", "none", program, *arguments], environment, limit=LIMIT).output
    return parsed(output, figures_by_name)


def figures_by_name(output):
    return {name: [float(number) for number in numbers] for name, *numbers in map(str.split, output.splitlines())}


def servers_and_trainers(own, servers, trainers, load):
    return ranks(servers + trainers, own, "load", *load, ROWS, servers)


def numbers(figures, name, number=0):
    return turns(figures, lambda each: each[name][number])


def rates_of_half(figures, what, batch):
    """Of the median request: on a machine that others use as well, their turns on the processors are not in it."""
    return turns(figures, lambda each: batch / each[what][1])


def words(what, load):
    optimizer, width, batch = load
    return f"{what} of {batch} ids, width {width}, {optimizer}"


def against_bare(own, bare, load):
    figures, peer = taken_in_turns(lambda: servers_and_trainers(own, 1, 1, load), lambda: ranks(2, bare, *load, ROWS),
                                   ROUNDS)
    for what in ("pull", "push"):
        yield Case(words(what, load), "M keys/s", "higher", rates_of_half(figures, what, load[2]), "bare server",
                   rates_of_half(peer, what, load[2]), AIM_OF_RATE, ROUNDS - 1,
                   references.BARE_SERVER.get((*load, what)))
        yield Case(f"{words(what, load)}: 99% take at most", "us", "lower", numbers(figures, what, 2), "half of them",
                   numbers(figures, what, 1), AIM_OF_SPREAD, ROUNDS - 1)
        yield Case(f"{words(what, load)}, of the bare server: 99% take at most", "us", "lower", numbers(peer, what, 2),
                   "half of them", numbers(peer, what, 1), AIM_OF_SPREAD, ROUNDS - 1)


def against_pair(own, servers, trainers, load):
    figures, peer = taken_in_turns(lambda: servers_and_trainers(own, servers, trainers, load),
                                   lambda: servers_and_trainers(own, 1, 1, load), ROUNDS)
    aim = AIM_OF_SHARDS if servers == trainers else AIM_OF_CROWD
    for what in ("pull", "push"):
        yield Case(f"{words(what, load)}: {servers} servers, {trainers} trainers together", "M keys/s", "higher",
                   numbers(figures, what), "1 server, 1 trainer", numbers(peer, what), aim, ROUNDS - 1)


def against_turns(own, batch):
    """Each run has both."""
    figures = once(lambda: [ranks(2, own, "tables", "sgd", 16, batch, ROWS, 1) for _ in range(ROUNDS)])
    yield Case(f"pull of {batch} ids from 8 tables, width 16, sgd", "M keys/s", "higher",
               rates_of_half(figures, "together", batch), "one table after the other",
               rates_of_half(figures, "in_turn", batch), AIM_OF_TABLES, ROUNDS - 1)


def against_torch(own, load):
    batch = load[2]
    what = words("pull and push", load)
    python = os.environ.get("DTRAIN_COMPAT_PYTHON")
    if python is None:
        return Missing(what, "DTRAIN_COMPAT_PYTHON names no interpreter")
    if reason := why_no_import(python, "torch"):
        return Missing(what, f"{python} cannot import torch: {reason}")
    return Case(what, "M keys/s", "higher", lambda: parsed(servers_and_trainers(own, 1, 1, load), lambda each: batch / each["both"][1]),
                "EmbeddingBag without a server", lambda: embedding_bag(python, load), AIM_OF_TORCH, ROUNDS - 1,
                references.EMBEDDING_BAG.get(load), foreign=True)


def embedding_bag(python, load):
    return figure([python, HERE / "peers" / "embedding.py", *load, ROWS], float, limit=LIMIT)


def idle(own):
    return lambda: parsed(ranks(2, own, "idle", "sgd", 16, 1024, ROWS, 1), lambda each: each["idle"][0])

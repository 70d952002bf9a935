# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What it gains that element-wise operators run together, block by block, on one thread.

Peer: the same operators one after the other, each over all of its tensor.
"""

from harness import Case, built, figure

ELEMENTS = {"64 KiB": 1 << 14, "4 MiB": 1 << 20, "64 MiB": 1 << 24}
AIMS = {"cheap": 1.0, "tanh": 1.0}
REPEATS = 5


def cases(build):
    program = build / "benchmarks" / "element_chain"
    built(build, "benchmarks/element_chain")
    for kind, aim in AIMS.items():
        for size, elements in ELEMENTS.items():
            yield Case(f"chain of {kind} operators on {size}", "steps/s", "higher",
                       rate([program, kind, elements, "together"]), "one by one",
                       rate([program, kind, elements, "apart"]), aim, REPEATS)


def rate(command):
    return lambda: figure(command, limit=120)

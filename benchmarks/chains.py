# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What it gains that element-wise operators run together, block by block, on one thread.

Peer: the same operators one after the other, each over all of its tensor.
"""

import subprocess

from harness import Case

ELEMENTS = {"64 KiB": 1 << 14, "4 MiB": 1 << 20, "64 MiB": 1 << 24}
AIMS = {"cheap": 1.0, "tanh": 1.0}
REPEATS = 5


def cases(build):
    program = build / "benchmarks" / "element_chain"
    subprocess.run(["ninja", "-C", build, "benchmarks/element_chain"], check=True, stdout=subprocess.DEVNULL)
    for kind, aim in AIMS.items():
        for size, elements in ELEMENTS.items():
            yield Case(f"chain of {kind} operators on {size}", "steps/s", "higher",
                       rate([program, kind, elements, "together"]), "one by one",
                       rate([program, kind, elements, "apart"]), aim, REPEATS)


def rate(command):
    words = [str(word) for word in command]

    def measure():
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=120)
        return float(done.stdout.split()[-1])
    return measure

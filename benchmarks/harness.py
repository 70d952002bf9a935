# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What every benchmark shares: a case is measured in turns with its peer, and told as a ratio of medians.

A benchmark is a file here that defines `cases(build)`: it yields the `Case`s for the programs in that build
directory, and may raise `Unavailable`.
"""

import functools
import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional


class Unavailable(Exception):
    """A case that cannot be measured on this machine: says what is missing."""


@dataclass(frozen=True)
class Case:
    what: str
    unit: str
    better: str  # "higher" or "lower": of the value, and of the ratio
    measure: Callable[[], float]  # one measurement, in `unit`
    peer: str
    measure_peer: Callable[[], float]
    aim: float  # what the ratio value / peer_value should reach
    repeats: int = 15
    peer_elsewhere: Optional[float] = None  # what the peer made on the machine of references.py


@dataclass(frozen=True)
class Missing:
    """A case among others that cannot be measured on this machine."""
    what: str
    why: str


@dataclass(frozen=True)
class Result:
    benchmark: str
    case: str
    value: float
    unit: str
    peer: str
    peer_value: float
    ratio: float
    aim: float
    better: str
    peer_elsewhere: Optional[float] = None

    def as_json(self):
        return json.dumps(self.__dict__)

    def as_line(self):
        sign = "<=" if self.better == "lower" else ">="
        elsewhere = "" if self.peer_elsewhere is None else f" ({self.peer_elsewhere:.4g} elsewhere)"
        return (f"{self.benchmark}: {self.case}: {self.value:.4g} {self.unit}; {self.peer}: {self.peer_value:.4g} "
                f"{self.unit}{elsewhere}; ratio {self.ratio:.2f}, aim {sign} {self.aim:g}")


def paired(measure, measure_peer, repeats):
    """Two lists of measurements, taken in turns so that a change of the machine's load meets both."""
    measure()  # the first run reads programs and libraries from disk
    measure_peer()
    pairs = [(measure(), measure_peer()) for _ in range(repeats)]
    return [own for own, _ in pairs], [peer for _, peer in pairs]


def taken_in_turns(measure, measure_peer, rounds):
    """For programs that make the figures of several cases: two functions that give what each of both told, round by round. They run when
    a case first asks for figures."""
    @functools.cache
    def taken():
        return [(measure(), measure_peer()) for _ in range(rounds)]
    return lambda: [own for own, _ in taken()], lambda: [peer for _, peer in taken()]


def turns(rounds, figure):
    """A measurement that gives the figure of one round after the other; `rounds()` runs them, not before it is first called."""
    def each():
        yield from map(figure, rounds())
    left = each()
    return lambda: next(left)


def chosen(cases, text):
    """Those whose description contains a text. @raise Unavailable: none does"""
    found = False
    for case in cases:
        if text in case.what:
            found = True
            yield case
    if not found:
        raise Unavailable(f"no case has '{text}' in its description")


def run_case(benchmark, case):
    own, peer = paired(case.measure, case.measure_peer, case.repeats)
    value, peer_value = statistics.median(own), statistics.median(peer)
    return Result(benchmark, case.what, value, case.unit, case.peer, peer_value, value / peer_value, case.aim,
                  case.better, case.peer_elsewhere)


def mpi_environment():
    """This process's environment, with what mpirun wants from root and on machines with few cores."""
    own = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    return {**os.environ, **own}


def wall_time(command, environment=None, directory=None, limit=120):
    """Seconds from the start of the command to its end, which has to be a good one and to come within the limit."""
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=limit)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    return seconds


def names(directory):
    """The benchmarks that lie in a directory."""
    return sorted(path.stem for path in Path(directory).glob("*.py") if "\ndef cases(" in path.read_text())

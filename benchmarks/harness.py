# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What every benchmark shares: a case is measured in turns with its peer, and told as a ratio of medians.

A benchmark is a file here that defines `cases(build)`: it yields the `Case`s for the programs in that build
directory, and may raise `Unavailable`. With a line `IN_ALL = False` it runs only where it is named.

What a peer cannot tell is "not measured" and stops nothing. It is an error, at the end, where the program is ours.
"""

import dataclasses
import functools
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from program_runs import Failed, built, figure, mpi_environment, parsed, wall_time  # noqa: F401  for the benchmarks


LEAST, MOST = 1e-100, 1e100  # beyond them no figure is a measurement, and ratios would leave the numbers


class Unavailable(Exception):
    """A case that cannot be measured on this machine: says what is missing."""


class NoSuchCase(Unavailable):
    """No case was asked for."""


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
    foreign: bool = False  # the peer is others' program: no error where it fails, and what slows it is not our doing
    warm_up: bool = True  # a first measurement of each that does not count
    note: Callable[[], str] = lambda: ""  # what else there is to say when it has been measured


@dataclass(frozen=True)
class Missing:
    """A case among others that cannot be measured on this machine."""
    what: str
    why: str


@dataclass(frozen=True)
class Result:
    """A row. Figures are None where they were not measured, and then `not_measured` says why."""
    benchmark: str
    case: str
    unit: str = ""
    better: str = ""
    value: Optional[float] = None  # the median of `n` measurements
    min: Optional[float] = None
    max: Optional[float] = None
    n: int = 0
    peer: str = ""
    foreign: bool = False
    peer_value: Optional[float] = None
    peer_min: Optional[float] = None
    peer_max: Optional[float] = None
    ratio: Optional[float] = None
    aim: Optional[float] = None
    peer_elsewhere: Optional[float] = None
    note: str = ""
    not_measured: str = ""
    error: bool = False  # a program of ours is why
    output: str = dataclasses.field(default="", compare=False)  # the end of what the one that failed printed

    def as_object(self):
        """For JSON."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "output"}

    def as_json(self):
        return json.dumps(self.as_object())

    def as_line(self):
        begin = ": ".join(part for part in (self.benchmark, self.case) if part)
        if self.value is None:
            return f"{begin}: not measured: {self.not_measured}"
        note = f" ({self.note})" if self.note else ""
        own = f"{begin}: {self.value:.4g} {self.unit}{note}"
        if self.peer_value is None:
            return f"{own}; {self.peer}: not measured: {self.not_measured}"
        sign = "<=" if self.better == "lower" else ">="
        elsewhere = "" if self.peer_elsewhere is None else f" ({self.peer_elsewhere:.4g} elsewhere)"
        return (f"{own}; {self.peer}: {self.peer_value:.4g} {self.unit}{elsewhere}; ratio {self.ratio:.2f}, "
                f"aim {sign} {self.aim:g}")


def paired(measure, measure_peer, repeats, warm_up=True):
    """Two lists of measurements, taken in turns so that a change of the machine's load meets both."""
    if warm_up:
        measure()  # the first run reads programs and libraries from disk
        measure_peer()
    pairs = [(measure(), measure_peer()) for _ in range(repeats)]
    return [own for own, _ in pairs], [peer for _, peer in pairs]


class Peer:
    """A peer's measurement, that gives None when it has failed, and is not called again then."""

    def __init__(self, measure):
        self.measure, self.error = measure, None

    def __call__(self):
        if self.error is None:
            try:
                return self.measure()
            except (Failed, OSError, ArithmeticError) as error:  # a time of 0 s makes no rate
                self.error = error
        return None


def taken_in_turns(measure, measure_peer, rounds):
    """For programs that make the figures of several cases: two functions that give what each of both told, round by round. They run when
    a case first asks for figures."""
    @once
    def taken():
        peer = Peer(measure_peer)
        pairs = [(measure(), peer()) for _ in range(rounds)]
        return [own for own, _ in pairs], [other for _, other in pairs], peer.error

    def of_peer():
        _, figures, error = taken()
        if error is not None:
            raise error
        return figures
    return lambda: taken()[0], of_peer


def once(measure):
    """Called once, for all that ask: what it gives, or how it fails."""
    @functools.cache
    def outcome():
        try:
            return measure(), None
        except (Failed, OSError) as error:
            return None, error

    def result():
        value, error = outcome()
        if error is not None:
            raise error
        return value
    return result


def turns(rounds, figure_of):
    """A measurement that gives the figure of one round after the other; `rounds()` runs them, not before it is first called."""
    def each():
        yield from map(figure_of, rounds())
    left = each()

    def measure():
        try:
            return next(left)
        except StopIteration:
            raise Failed("it told fewer rounds than it was asked for") from None
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            raise Failed(f"no figure in its output: {type(error).__name__} {error}") from error
    return measure


def chosen(cases, text):
    """Those whose description contains a text. @raise NoSuchCase: none does"""
    found = False
    for case in cases:
        if text in case.what:
            found = True
            yield case
    if not found:
        raise NoSuchCase(f"no case has '{text}' in its description")


def run_case(benchmark, case):
    """The row of a case; whatever goes wrong is told in it."""
    if isinstance(case, Missing):
        return Result(benchmark, case.what, not_measured=case.why)
    row = Result(benchmark, case.what, case.unit, case.better, peer=case.peer, foreign=case.foreign, aim=case.aim,
                 peer_elsewhere=case.peer_elsewhere)
    peer = Peer(case.measure_peer)
    try:
        own, peers = paired(case.measure, peer, case.repeats, case.warm_up)
        own = [a_figure(value) for value in own]
    except Exception as error:  # pylint: disable=broad-except  # a bug of one benchmark is no reason not to run others
        return dataclasses.replace(row, not_measured=in_a_line(error), error=True, output=output_of(error))
    value = statistics.median(own)
    row = dataclasses.replace(row, value=value, min=min(own), max=max(own), n=len(own), note=case.note())
    try:
        if peer.error is not None:
            raise peer.error
        peers = [a_figure(each, more_than_zero=True) for each in peers]
    except (Failed, OSError, ArithmeticError) as error:
        return dataclasses.replace(row, not_measured=in_a_line(error), error=not case.foreign, output=output_of(error))
    peer_value = statistics.median(peers)
    return dataclasses.replace(row, peer_value=peer_value, peer_min=min(peers), peer_max=max(peers), ratio=value / peer_value)


def run_benchmark(name, make_cases, text=""):
    """The rows of a benchmark, one as soon as it is measured. @raise NoSuchCase"""
    try:
        for case in chosen(make_cases(), text):
            yield run_case(name, case)
    except NoSuchCase:
        raise
    except Unavailable as reason:
        yield Result(name, "", not_measured=str(reason))
    except Exception as error:  # pylint: disable=broad-except
        yield Result(name, "", not_measured=in_a_line(error), error=True, output=output_of(error))


def a_figure(value, more_than_zero=False):
    """@raise Failed: it is not a number that a measurement can give"""
    if isinstance(value, (int, float)) and (LEAST <= value <= MOST or value == 0 and not more_than_zero):
        return float(value)
    raise Failed(f"it told {value!r}, which is no measurement")


def in_a_line(error):
    words = " ".join(str(error).split())
    if isinstance(error, Failed):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def output_of(error):
    return error.output if isinstance(error, Failed) else ""


def names(directory):
    """The benchmarks that lie in a directory."""
    return sorted(path.stem for path in Path(directory).glob("*.py") if "\ndef cases(" in path.read_text())


def names_of_all(directory):
    """Those of them that `all` means."""
    return [name for name in names(directory) if "\nIN_ALL = False" not in (Path(directory) / f"{name}.py").read_text()]

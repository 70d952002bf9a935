# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether a run of benchmarks is worse than an older one by more than noise. Works on the cases of record.py's files."""

from collections import defaultdict
from dataclasses import dataclass

import machine

FLOOR = 0.05
FLOOR_OF_FEW = 0.25
FEW = 3
RULE = (f"noise of a case: {FLOOR:.0%} of the old median ({FLOOR_OF_FEW:.0%} where one of both has fewer than {FEW} measurements), "
        "or more where measurements lie further apart: from the old median to the worst old one, from the new median to the best "
        "new one; with a peer that is not dtrain's, the change is the smaller one of median and ratio")


@dataclass(frozen=True)
class Change:
    """Parts of the old median: 0.1 is worse by 10 %, less than 0 better."""
    worse_by: float
    noise: float

    @property
    def is_worse(self):
        return self.worse_by > self.noise


def change_of(old, new):
    """Of two measured cases, see RULE; None where the old median is 0, which has no parts."""
    if old["value"] == 0:
        return None
    worse_by = worsening(old["better"], old["value"], new["value"])
    if old["foreign"] and new["foreign"] and old["ratio"] and new["ratio"] is not None:
        # What slowed the peer, too, was the machine.
        worse_by = min(worse_by, worsening(old["better"], old["ratio"], new["ratio"]))
    worst, best = ("max", "min") if old["better"] == "lower" else ("min", "max")
    spread = max(abs(old[worst] - old["value"]), abs(new[best] - new["value"])) / old["value"]
    return Change(worse_by, max(FLOOR if min(old["n"], new["n"]) >= FEW else FLOOR_OF_FEW, spread))


def worsening(better, old, new):
    return (new - old if better == "lower" else old - new) / old


@dataclass(frozen=True)
class Comparison:
    lines: list
    is_worse: bool


def compared(old, new):
    """Two files' contents, in words: a line for each case that is worse or cannot be compared, then the sum and the rule."""
    lines, worse, together, gone = [], 0, 0, 0
    if not machine.same(old["machine"], new["machine"]):
        lines.append(f"not the same machine, so that figures differ for other reasons, too: {of_machine(old)}; now {of_machine(new)}")
    rows = Rows(new["cases"])
    for case in old["cases"]:
        if case["value"] is None:
            continue  # nothing that could get worse
        other = rows.partner_of(case)
        if other is None:
            gone += 1
        elif other["value"] is None:
            worse += other["error"]
            lines.append(f"{'worse' if other['error'] else 'not compared'}: {name_of(case)}: was {figure(case)}, now not measured: "
                         f"{other['not_measured']}")
        elif other["unit"] != case["unit"] or other["better"] != case["better"]:
            lines.append(f"not compared: {name_of(case)}: was {figure(case)}, now {figure(other)}, {other['better']} is better")
        elif (change := change_of(case, other)) is None:
            lines.append(f"not compared: {name_of(case)}: was {figure(case)}, now {figure(other)}: no part of 0")
        else:
            together += 1
            if change.is_worse:
                worse += 1
                lines.append(f"worse by more than noise: {name_of(case)}: {figure(other)}, was {figure(case)}{ratios(case, other)}: "
                             f"worse by {change.worse_by:.0%}, noise {change.noise:.0%}")
    lines.append(f"{together} cases compared, {worse} worse by more than noise; {gone} only in the older file, "
                 f"{rows.left()} only in the newer")
    lines.append(RULE)
    return Comparison(lines, worse > 0)


class Rows:
    """Finds rows of a file by their names, each once: where several have the same one, in their order."""

    def __init__(self, cases):
        self.rows = defaultdict(list)
        for case in cases:
            self.rows[case["benchmark"], case["case"], case["peer"]].append(case)

    def partner_of(self, case):
        """The row of the same case and peer; else one that says why that has not been measured; else None."""
        same = self.rows[case["benchmark"], case["case"], case["peer"]]
        if same:
            return same.pop(0)
        for name in (case["case"], ""):  # a case that is missing knows no peer, a benchmark that cannot run no cases
            if self.rows[case["benchmark"], name, ""]:
                return self.rows[case["benchmark"], name, ""][0]
        return None

    def left(self):
        return sum(case["value"] is not None for cases in self.rows.values() for case in cases)


def name_of(case):
    return f"{case['benchmark']}: {case['case']}"


def figure(case):
    return f"{case['value']:.4g} {case['unit']} (median of {case['n']}, {case['min']:.4g} to {case['max']:.4g})"


def ratios(old, new):
    if old["ratio"] is None or new["ratio"] is None:
        return ""
    return f"; ratio to {new['peer']} {new['ratio']:.2f}, was {old['ratio']:.2f}"


def of_machine(content):
    its = content["machine"]
    return f"{its['cores']} cores of {its['cpu']}, {its['memory_bytes'] / 2**30:.0f} GiB"

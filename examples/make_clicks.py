#!/usr/bin/env python3
# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Makes the click logs that ctr.toml trains on: train.tsv and test.tsv in Criteo's format. Needs nothing but Python.

A line is one display of an advertisement, columns between tabs: the label (1 for a click), whole numbers, and
categories as hexadecimal numbers of up to 16 digits; a column may be empty.

Where clicks come from is known here, so the best that any model can do is known, too. A slot has a vocabulary of
10 to 1,000,000 categories, of which few are frequent and most rare: the r-th is drawn with a density of r^-1.2. Each
category has a hidden weight, and so has a missing one; numbers are counts with a heavy tail, which weigh by the logarithm.
The click is drawn with p = (1 - noise) sigmoid(bias + weights) + noise RATE: with the chance `noise` somebody clicks
blindly. Categories are any 64 bits; the second to fifth of a slot are -1, the least and the greatest int64, and 0.

test.tsv.json, beside test.tsv, says best_auc: the area under the curve of the true p against the labels of test.tsv, which
no model exceeds but by luck. The same options make the same files.
"""
import argparse
import gzip
import json
import math
import pathlib
import random
import statistics

MASK = (1 << 64) - 1
LIMITS = {2: MASK, 3: 1 << 63, 4: MASK >> 1, 5: 0}  # by rank in a vocabulary: -1, least, greatest int64, 0
VOCABULARIES = (10, 100, 1000, 10_000, 100_000, 1_000_000)
EXPONENT = 1.2
BIAS = -1.8
RATE = 0.25
MISSING = 0.05


def mixed(x):
    """SplitMix64's first number from the state x (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def normal(key):
    """A standard normal number that belongs to a 64-bit key."""
    return statistics.NormalDist().inv_cdf(((mixed(key) >> 11) + 0.5) / (1 << 53))


class Slot:
    """Categories with their hidden weights, by rank; rank 0 is a missing one."""

    def __init__(self, key, number, slots):
        self.key = key
        self.size = VOCABULARIES[number % len(VOCABULARIES)]
        self.least = (self.size + 1) ** (1 - EXPONENT)
        self.spread = 1.5 / math.sqrt(slots)
        self.known = {}

    def draw(self, source):
        """(column, weight)"""
        rank = 0
        if source.random() >= MISSING:
            rank = int((1 - source.random() * (1 - self.least)) ** (1 / (1 - EXPONENT)))
        if rank not in self.known:
            category = LIMITS.get(rank, mixed(self.key ^ rank))
            weight = self.spread * normal(mixed(self.key) ^ rank)
            self.known[rank] = (f"{category:x}" if rank > 0 else "", weight)
        return self.known[rank]


class Count:
    """Whole numbers from -1, now and then missing."""

    def __init__(self, key, counts):
        self.weight = normal(key) / (2 * math.sqrt(counts))

    def draw(self, source):
        """(column, weight)"""
        if source.random() < MISSING:
            return "", 0.0
        count = int(source.random() ** -1.5) - 2
        return str(count), self.weight * math.copysign(math.log1p(abs(count)), count)


def area_under_curve(scored):
    """The chance that a click has a higher score than what is none, equal scores count half; of (score, label)."""
    scored = sorted(scored)
    below = area = clicks = first = 0
    while first < len(scored):
        last = first
        while last < len(scored) and scored[last][0] == scored[first][0]:
            last += 1
        equal_clicks = sum(label for _, label in scored[first:last])
        equal_others = last - first - equal_clicks
        area += equal_clicks * (below + equal_others / 2)
        below += equal_others
        clicks += equal_clicks
        first = last
    return area / (clicks * below)


def write(path, samples, columns, noise, source):
    """Writes a log, returns (p, label) of each line."""
    scored = []
    opened = gzip.GzipFile(path, "wb", mtime=0) if path.suffix == ".gz" else path.open("wb")
    with opened as out:
        for _ in range(samples):
            drawn = [column.draw(source) for column in columns]
            score = BIAS + sum(weight for _, weight in drawn)
            p = (1 - noise) / (1 + math.exp(-score)) + noise * RATE
            label = int(source.random() < p)
            out.write("\t".join([str(label)] + [text for text, _ in drawn]).encode() + b"\n")
            scored.append((p, label))
    return scored


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", nargs="?", default="clicks", type=pathlib.Path, help="default: clicks")
    parser.add_argument("--train", type=int, default=200_000, help="samples to train on (200000)")
    parser.add_argument("--test", type=int, default=50_000, help="samples to test on (50000)")
    parser.add_argument("--integers", type=int, default=2, help="columns of whole numbers (2)")
    parser.add_argument("--slots", type=int, default=8, help="columns of categories (8)")
    parser.add_argument("--noise", type=float, default=0.1, help="share of displays that are clicked on blindly (0.1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gzip", action="store_true", help="write train.tsv.gz and test.tsv.gz")
    chosen = parser.parse_args()

    key = mixed(chosen.seed & MASK)
    columns = [Count(mixed(key ^ number), chosen.integers) for number in range(chosen.integers)]
    columns += [Slot(mixed(~key & MASK ^ number), number, chosen.slots) for number in range(chosen.slots)]
    chosen.folder.mkdir(parents=True, exist_ok=True)
    ending = ".tsv.gz" if chosen.gzip else ".tsv"
    for number, (name, samples) in enumerate((("train", chosen.train), ("test", chosen.test))):
        path = chosen.folder / (name + ending)
        scored = write(path, samples, columns, chosen.noise, random.Random(2 * chosen.seed + number))
        clicks = sum(label for _, label in scored)
        print(f"{path}: {samples} samples, {clicks} clicks")
        if name == "test":
            best = area_under_curve(scored)
            info = {"samples": samples, "clicks": clicks, "best_auc": best}
            pathlib.Path(f"{path}.json").write_text(json.dumps(info) + "\n", encoding="utf-8")
            print(f"best possible AUC of {path}: {best:.4f}")


if __name__ == "__main__":
    main()

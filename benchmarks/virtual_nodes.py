# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of one machine, those of the tests, for benchmarks."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests/cluster/jobs"))
from program_runs import Failed, Late, last_line, why  # noqa: E402
from virtual_cluster import VirtualCluster, why_not  # noqa: E402,F401

BURST = 256 << 10


def output_on(node, *command, limit):
    """What it prints on a node. @raise Failed: it does not end well, or not within the limit of seconds"""
    try:
        done = node.run(*command, timeout=limit)
    except AssertionError as error:
        raise Late(f"no end after {limit} s, stopped: {last_line(str(error))}") from None
    if done.returncode != 0:
        raise Failed(why(done.returncode, done.stderr or done.stdout), done.stdout + done.stderr)
    return done.stdout


def limit_links(cluster, bits_per_second):
    """Each way, between nodes 1 and 2."""
    for number in (1, 2):
        cluster[number].check("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", str(int(bits_per_second)), "burst",
                              str(BURST), "latency", "50ms")

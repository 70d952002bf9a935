# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What dtrain-launch itself does for 10,000 nodes with 8 ranks each: plan, environment, events, report; nothing is started.

The peers are not programs but the aims: 1 s and 200 MB for everything but the events, which come one by one.
"""

import json
import subprocess

from harness import Case

SECONDS = 1.0
MEGABYTES = 200.0


def cases(build):
    subprocess.run(["ninja", "-C", build, "benchmarks/plan_scale"], check=True, stdout=subprocess.DEVNULL)

    def steps():
        lines = subprocess.run([build / "benchmarks/plan_scale"], check=True, stdout=subprocess.PIPE, text=True).stdout
        return [step for step in map(json.loads, lines.splitlines()) if "seconds" in step]

    def seconds():
        return sum(step["seconds"] for step in steps() if not step["step"].startswith("events"))

    yield Case("10,000 nodes x 8 ranks", "s", "lower", seconds, "the aim", lambda: SECONDS, 1.0, repeats=3)
    yield Case("10,000 nodes x 8 ranks, peak memory", "MB", "lower", lambda: max(step["peak_mb"] for step in steps()),
               "the aim", lambda: MEGABYTES, 1.0, repeats=3)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What dtrain-launch itself does for 10,000 nodes with 8 ranks each: plan, environment, events, report; nothing is started.

The peers are not programs but the aims: 1 s and 200 MB for everything but the events, which come one by one.
"""

import json

from harness import Case, built, parsed
from program_runs import run

SECONDS = 1.0
MEGABYTES = 200.0
LIMIT = 300  # seconds


def cases(build):
    built(build, "benchmarks/plan_scale")

    def steps():
        output = run([build / "benchmarks/plan_scale"], limit=LIMIT).output
        return parsed(output, lambda text: [step for step in map(json.loads, text.splitlines()) if "seconds" in step])

    def seconds():
        return parsed(steps(), lambda all_steps: sum(step["seconds"] for step in all_steps if not step["step"].startswith("events")))

    yield Case("10,000 nodes x 8 ranks", "s", "lower", seconds, "the aim", lambda: SECONDS, 1.0, repeats=3)

    def megabytes():
        return parsed(steps(), lambda all_steps: max(step["peak_mb"] for step in all_steps))

    yield Case("10,000 nodes x 8 ranks, peak memory", "MB", "lower", megabytes, "the aim", lambda: MEGABYTES, 1.0, repeats=3)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What a rank does for a while as the others wait for it, and a hang it is not. PHASE_SECONDS says for how long."""
import os
import subprocess
import sys
import time

SECONDS = float(os.environ.get("PHASE_SECONDS", "2"))


def compute_until(end):
    number = 1
    while time.monotonic() < end:
        number = number * 3 % 1000003


def evaluate():
    compute_until(time.monotonic() + SECONDS)


def save_checkpoint():
    """As on a slow disk."""
    end = time.monotonic() + SECONDS
    with open("checkpoint", "wb", buffering=0) as file:
        while time.monotonic() < end:
            file.write(bytes(1 << 16))
            os.fsync(file.fileno())
            time.sleep(0.2)


def next_batch():
    time.sleep(SECONDS)


def compiler():
    subprocess.run([sys.executable, "-S", "-c", "import sys, time\nend = time.monotonic() + float(sys.argv[1])\n"
                    "while time.monotonic() < end: pass", str(SECONDS)], check=True)

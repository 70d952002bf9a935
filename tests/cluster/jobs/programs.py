# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of jobs with two ranks."""

# Ranks that ignore SIGTERM and have a child that left their session; rank 1 does what it is told.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["setsid", "sleep", "1000"])
open("up." + os.environ["RANK"], "w").close()
if os.environ["RANK"] == "1":
    while not os.path.exists("up.0"): time.sleep(0.02)
    exec(sys.argv[1])
time.sleep(1000)
"""

OBEDIENT = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: (print("got SIGTERM", flush=True), sys.exit(0)))
open("up." + os.environ["RANK"], "w").close()
while True: time.sleep(0.1)
"""

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Hangs of ranks that torch records: stand-ins of programs on NCCL, which need neither torch nor a GPU, answer dtrain-worker as
python/dtrain/_torch_records.py does, with dumps in the format of torch's flight recorder. tests/compat has torch itself, on gloo.

Oracle: what the stand-ins' entries say that rank 2 has called, and the others wait in."""
import re
import signal

import pytest

from conftest import LAUNCH, without_debuggers

SCRIPT = """\
import json, os, socket, sys, threading, time

kind = sys.argv[1]
rank = int(os.environ["RANK"])
culprit = rank == 2


def entry(number, name, state, line, sizes=[[1024]]):
    return {"process_group": ["0", "default_pg"], "collective_seq_id": number, "p2p_seq_id": 0, "is_p2p": False,
            "profiling_name": "nccl:" + name, "time_created_ns": time.time_ns(), "input_sizes": sizes, "input_dtypes": ["BFloat16"],
            "output_sizes": sizes, "output_dtypes": ["BFloat16"], "state": state, "retired": state == "completed",
            "frames": [{"name": name, "filename": "lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 4174},
                       {"name": "train", "filename": "train.py", "line": line}]}


entries = [entry(1, "all_reduce", "completed", 87)]
if not culprit or kind == "silent":
    entries.append(entry(2, "all_reduce", "started", 88))
if culprit and kind == "other_operation":
    entries.append(entry(2, "broadcast", "scheduled", 90))
if culprit and kind == "other_length":
    entries.append(entry(2, "all_reduce", "scheduled", 88, [[1000]]))
answer = json.dumps({
    "stacks": 'Thread 1: "MainThread"\\n    load (train.py:70)\\n' if culprit else 'Thread 1: "MainThread"\\n    train (train.py:91)\\n',
    "waiting": None,
    "dumps": [{"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}, "entries": entries}]})


def serve():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{os.environ['DTRAIN_OPERATION_LOG']}/{os.getpid()}-{threading.get_native_id()}.torch")
    listener.listen()
    while True:
        connection = listener.accept()[0]
        if culprit and kind == "silent":
            time.sleep(1000)
        text = answer[:-20] if culprit and kind == "damaged" else answer
        connection.sendall(text.encode())
        connection.close()


threading.Thread(target=serve, daemon=True).start()
time.sleep(1000)
"""

SUM = r"all_reduce 2 \(bfloat16 x 1024\) of default_pg at train.py:88"
KINDS = {
    "behind": rf"rank 2 on \S+ has not called {SUM}: it sleeps in load \(train.py:70\), after all_reduce 1 \(bfloat16 x 1024\) of "
              r"default_pg at train.py:87; ranks \[0,1\] wait in it",
    "other_operation": r"rank 2 on \S+ called broadcast 2 \(bfloat16 x 1024\) of default_pg at train.py:90 where ranks \[0,1\] "
                       rf"called {SUM}",
    "other_length": r"rank 2 on \S+ called all_reduce 2 \(bfloat16 x 1000\) of default_pg at train.py:88 where ranks \[0,1\] "
                    rf"called {SUM}",
    "silent": rf"rank 2 on \S+ has not called {SUM}: it sleeps",
    "damaged": rf"rank 2 on \S+ has not called {SUM}: it sleeps",
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_culprit_comes_first(job, kind):
    job.script("job.py", SCRIPT)
    done = job.launch("--quiet", "--nproc_per_node", 3, "--hang-timeout", "1.5", "--grace", 1, "job.py", kind,
                      env=without_debuggers(job.folder))
    assert done.returncode == 124, done.stderr
    lines = [line for line in done.stderr.splitlines() if "planning again with other ports" not in line]  # another test's job had them
    assert re.search(f"it hung: {KINDS[kind]}", lines[0]), done.stderr
    assert job.left_behind() == []


def test_explain_asks_at_any_time(job):
    job.script("job.py", SCRIPT)
    env = without_debuggers(job.folder)
    child = job.start(LAUNCH, "--quiet", "--nproc_per_node", 3, "--grace", 1, "job.py", "behind", env=env)
    job.wait_until(lambda: re.search(KINDS["behind"].split(";", maxsplit=1)[0],
                                     job.run(LAUNCH, "explain", str(child.pid), env=env).stdout))
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert job.left_behind() == []

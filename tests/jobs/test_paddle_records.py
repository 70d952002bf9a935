# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What dtrain records of Paddle's operations on gloo. A stand-in for the package `paddle` has its classes, and waits as long as it is told
to; tests/compat has Paddle itself.

Oracle: what the programs call on the stand-in."""
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
import zipfile

import pytest

from conftest import clean_environment, without_debuggers
from whole_jobs import ROOT, as_installed

PADDLE = {
    "__init__.py": "from . import base, distributed\n",
    "base/__init__.py": "",
    "base/core.py": '''\
import enum
import os
import time
import types


class ReduceOp(enum.Enum):
    SUM = 0
    MAX = 1


class Task:
    def wait(self):
        return True


class ProcessGroup:
    """Waits for ever where the program says so."""
    waits_in = ""

    def __init__(self, rank, size, back_end="GLOO"):
        self.own, self.members, self.back_end = rank, size, back_end

    def rank(self):
        return self.own

    def size(self):
        return self.members

    def name(self):
        return self.back_end

    def _run(self, name):
        if ProcessGroup.waits_in == name:
            time.sleep(1000)
        if ProcessGroup.waits_in == "fails in " + name:
            raise ValueError("gloo")
        return Task()

    def all_reduce(self, tensor, op, sync_op):
        return self._run("all_reduce")

    def broadcast(self, tensor, src, sync_op):
        return self._run("broadcast")

    def all_gather_into_tensor_on_calc_stream(self, out, into):
        return self._run("all_gather")

    def scatter(self, out, lists, src, sync_op):
        return self._run("scatter")

    def send(self, tensor, dst, sync_op):
        return self._run("send")

    def recv(self, tensor, src, sync_op):
        return self._run("recv")

    def barrier(self, device_id=-1):
        return self._run("barrier")


class EagerReducer:
    def __init__(self, parameters, group, limits):
        self.group = group

    def prepare_for_backward(self, outputs):
        pass


eager = types.SimpleNamespace(run_backward=lambda *arguments: ProcessGroup._run(None, "backward"))
''',
    "distributed/__init__.py": "from .collective import all_reduce, barrier, broadcast, get_group, new_group, recv, send\n",
    "distributed/communication/__init__.py": "",
    "distributed/communication/group.py": '''\
class Group:
    def __init__(self, rank, id, ranks, process_group):
        self.rank, self.id, self.ranks, self.process_group = rank, id, ranks, process_group


class _GroupManager:
    group_map_by_id = {}
''',
    "distributed/collective.py": '''\
from ..base import core
from .communication.group import Group, _GroupManager

known = _GroupManager.group_map_by_id


def get_group(id=0):
    return known[id]


def init(rank, size, back_end="GLOO"):
    known[0] = Group(rank, 0, list(range(size)), core.ProcessGroup(rank, size, back_end))


def new_group(ranks=None, backend=None):
    ranks = sorted(ranks or known[0].ranks)
    rank = ranks.index(known[0].rank) if known[0].rank in ranks else -1
    core.ProcessGroup._run(None, "new_group")
    known[9 + len(known)] = made = Group(rank, 9 + len(known), ranks, core.ProcessGroup(rank, len(ranks)) if rank >= 0 else None)
    return made


def all_reduce(tensor, op=core.ReduceOp.SUM, group=None):
    return (group or known[0]).process_group.all_reduce(tensor, op, True).wait()


def broadcast(tensor, src, group=None):
    group = group or known[0]
    return group.process_group.broadcast(tensor, group.ranks.index(src), True).wait()


def send(tensor, dst, group=None):
    group = group or known[0]
    return group.process_group.send(tensor, group.ranks.index(dst), True).wait()


def recv(tensor, src, group=None):
    group = group or known[0]
    return group.process_group.recv(tensor, src=group.ranks.index(src), sync_op=True).wait()


def barrier(group=None):
    return (group or known[0]).process_group.barrier().wait()
''',
}
BEGINNING = """\
import collections, os, sys
import paddle, paddle.distributed as dist
from paddle.base import core
from paddle.distributed import collective

Tensor = collections.namedtuple("Tensor", "shape dtype")
tensor = Tensor([10, 100], "paddle.float32")
"""
#: Of rank 2 of 4, which hangs in the last one.
CALLS = """\
collective.init(2, 4)
dist.all_reduce(tensor)
pair = dist.new_group([2, 1])
dist.new_group([0, 1])
dist.broadcast(tensor, 1, pair)
dist.broadcast(tensor, 2, pair)
dist.send(tensor, 3)
dist.recv(tensor, 1, pair)
pair.process_group.all_gather_into_tensor_on_calc_stream(Tensor([20, 100], "int64"), Tensor([10, 100], "int64"))
pair.process_group.scatter(Tensor([5], "int8"), [Tensor([5], "int8")] * 2, 0, True)
core.ProcessGroup.waits_in = "fails in barrier"
try:
    dist.barrier()
except ValueError:
    pass
reducer = core.EagerReducer([], dist.get_group().process_group, [25])
core.eager.run_backward([])
reducer.prepare_for_backward([])
reducer.prepare_for_backward([])
core.eager.run_backward([])
core.eager.run_backward([])
core.ProcessGroup.waits_in = ""
core.ProcessGroup(0, 4, "NCCL").barrier()
core.ProcessGroup.waits_in = "all_reduce"
print("ready", flush=True)
dist.all_reduce(tensor, core.ReduceOp.MAX)
"""


@pytest.fixture
def site(tmp_path):
    """PYTHONPATH, in which both are as if they were installed."""
    folder = tmp_path / "site-packages"
    for name, text in PADDLE.items():
        (folder / "paddle" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "paddle" / name).write_text(text)
    return f"{as_installed(tmp_path / 'site')}{os.pathsep}{folder}"


class Program:
    """Runs without dtrain-worker, in whose place the test asks it."""

    def __init__(self, tmp_path, site, calls, **variables):
        self.folder = tmp_path / "operations"
        self.folder.mkdir()
        (tmp_path / "train.py").write_text(BEGINNING + calls)
        self.child = subprocess.Popen([sys.executable, tmp_path / "train.py"], stdout=subprocess.PIPE, text=True, env=clean_environment(
            PYTHONPATH=site, **{"DTRAIN_OPERATION_LOG": self.folder, **variables}))

    def __enter__(self):
        assert self.child.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *error):
        self.child.kill()
        self.child.communicate()

    def sockets(self):
        return [path for path in self.folder.iterdir() if path.suffix == ".torch"]

    def answer(self):
        """When it hangs in the operation, which is recorded before it is called."""
        deadline = time.monotonic() + 60
        while True:
            if paths := self.sockets():
                with socket.socket(socket.AF_UNIX) as asking:
                    asking.connect(str(paths[0]))
                    answer = json.loads(b"".join(iter(lambda: asking.recv(65536), b"")))
                entries = [entry for dump in answer["dumps"] for entry in dump["entries"]]
                hangs = entries and entries[-1]["state"] == "started" and " _run (" in answer["stacks"]
                if hangs or time.monotonic() > deadline:
                    return answer, entries
            assert time.monotonic() < deadline, "the program does not listen"
            time.sleep(0.05)


def line_of(call):
    return (BEGINNING + CALLS).splitlines().index(call) + 1


def test_each_operation_is_recorded_with_its_group_number_and_root(tmp_path, site):
    with Program(tmp_path, site, CALLS) as program:
        answer, entries = program.answer()
    assert [(entry["profiling_name"], *entry["process_group"], entry["collective_seq_id"], entry["p2p_seq_id"], entry.get("root"))
            for entry in entries] == [
        ("gloo:all_reduce", "0", "default_pg", 1, 0, None),
        ("gloo:new_group", "of ranks 1-2", "", 1, 0, None),
        ("gloo:broadcast", "10", "", 1, 0, 1),
        ("gloo:broadcast", "10", "", 2, 0, 2),
        ("gloo:send 2->3", "0", "default_pg", 0, 1, None),
        ("gloo:recv 1<-0", "10", "", 0, 1, None),
        ("gloo:all_gather", "10", "", 3, 0, None),
        ("gloo:scatter", "10", "", 4, 0, 1),
        ("gloo:barrier", "0", "default_pg", 2, 0, None),
        ("gloo:backward", "0", "default_pg", 3, 0, None),
        ("gloo:all_reduce", "0", "default_pg", 4, 0, None)]
    assert answer["recorder"] == "dtrain"
    assert [entry["state"] for entry in entries] == ["completed"] * 10 + ["started"]
    assert all(entry["time_created_ns"] <= entry["time_discovered_completed_ns"] for entry in entries[:-1])
    assert [(entry["input_sizes"], entry["output_dtypes"], entry["reduction"]) for entry in entries] == [
        ([[10, 100]], ["float32"], "sum"), ([], [], ""), *[([[10, 100]], ["float32"], "")] * 4, ([[10, 100]], ["int64"], ""),
        ([[5]], ["int8"], ""), ([], [], ""), ([], [], ""), ([[10, 100]], ["float32"], "max")]
    assert entries[3]["frames"] == [{"name": "<module>", "filename": "train.py", "line": line_of("dist.broadcast(tensor, 2, pair)")}]
    assert answer["dumps"][0]["pg_config"]["10"] == {"name": "10", "desc": "", "ranks": "[1, 2]"}
    assert re.search(rf'"MainThread"\n.*\n    <module> \(train.py:{line_of("dist.all_reduce(tensor, core.ReduceOp.MAX)")}\)',
                     answer["stacks"], re.S)


LISTENS = """\
import os, socket, time
from dtrain import _worker_answers

folder = os.environ["DTRAIN_OPERATION_LOG"]
listen = socket.socket.listen


def watched_listen(listener):
    print([name for name in os.listdir(folder) if name.endswith(".torch")])
    listen(listener)


socket.socket.listen = watched_listen
_worker_answers.answer_with(lambda frames: {"dumps": []})
while not (names := [name for name in os.listdir(folder) if name.endswith(".torch")]):
    time.sleep(0.01)
socket.socket(socket.AF_UNIX).connect(os.path.join(folder, names[0]))
print(os.listdir(folder) == names)
"""


def test_a_socket_has_its_name_once_it_can_be_connected_to(tmp_path, site):
    folder = tmp_path / "operations"
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", LISTENS], env=clean_environment(PYTHONPATH=site, DTRAIN_OPERATION_LOG=folder),
                          cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[]\nTrue\n", done.stderr


def test_memory_is_bounded(tmp_path, site):
    calls = """\
from dtrain import _paddle_records
collective.init(0, 2)
for _ in range(5000):
    dist.barrier()
assert len(_paddle_records._ended) == 256 and not _paddle_records._going_on
core.ProcessGroup.waits_in = "all_reduce"
print("ready", flush=True)
dist.all_reduce(tensor)
"""
    with Program(tmp_path, site, calls) as program:
        entries = program.answer()[1]
    assert [entry["collective_seq_id"] for entry in entries] == list(range(4970, 5002))


def test_a_group_that_is_gone_and_another_one_count_on_their_own(tmp_path, site):
    calls = """\
collective.init(0, 2)
for _ in range(20):
    made = dist.new_group()
    dist.barrier(made)
    del collective.known[made.id], made
made = dist.new_group()
core.ProcessGroup.waits_in = "all_reduce"
print("ready", flush=True)
dist.all_reduce(tensor, group=made)
"""
    with Program(tmp_path, site, calls) as program:
        entries = program.answer()[1]
    assert [(entry["profiling_name"], entry["collective_seq_id"]) for entry in entries] == [
        *[("gloo:new_group", number) for number in range(1, 22)], ("gloo:all_reduce", 1)]


@pytest.mark.parametrize("variables", [{"DTRAIN_PADDLE_RECORDS": "0"}, {"DTRAIN_OPERATION_LOG": ""}])
def test_nothing_is_loaded_or_wrapped_where_nothing_is_recorded(tmp_path, site, variables):
    calls = """\
assert not [name for name in sys.modules if name.startswith("dtrain")], "loaded"
assert core.ProcessGroup.barrier.__module__ == "paddle.base.core" and not hasattr(core.ProcessGroup.barrier, "__wrapped__")
print("ready", flush=True)
sys.stdin.read()
"""
    with Program(tmp_path, site, calls, **variables) as program:
        assert program.sockets() == []


def test_the_program_loads_paddle_as_if_nothing_were_between(tmp_path, site):
    calls = """\
assert type(dist.__loader__).__module__ == dist.__spec__.loader.__class__.__module__ == type(paddle.__loader__).__module__
assert not [finder for finder in sys.meta_path if "dtrain" in type(finder).__module__]
assert hasattr(core.ProcessGroup.barrier, "__wrapped__")
print("ready", flush=True)
"""
    with Program(tmp_path, site, calls):
        pass


#: What the main thread of each of three ranks does at the end, and what is said.
HANGS = {
    "other_root": ("dist.broadcast(tensor, 1 if rank == 2 else 0)",
                   r"rank 2 on \S+ called broadcast 3 \(float32 x 1000, root 1\) of default_pg at train.py:\d+ where ranks \[0,1\] called "
                   r"broadcast 3 \(float32 x 1000, root 0\) of default_pg at train.py:\d+"),
    "late": ("dist.barrier() if rank != 2 else time.sleep(1000)",
             r"rank 2 on \S+ has not called barrier 3 of default_pg at train.py:\d+: it sleeps in <module> \(train.py:\d+\), after "
             r"all_reduce 2 \(float32 x 1000, sum\) of default_pg at train.py:\d+; ranks \[0,1\] wait in it"),
    "circle": ("dist.recv(tensor, (rank + 1) % 3)",
               r"ranks wait for each other: rank 0 on \S+ waits in recv from rank 1 \(float32 x 1000\) of default_pg at train.py:\d+ for "
               "rank 1; rank 1"),
    "no_backward": ("dist.barrier() if rank == 2 else core.eager.run_backward([])",
                    r"rank 2 on \S+ called barrier 3 of default_pg at train.py:\d+ where ranks \[0,1\] called backward 3 of default_pg"),
}


@pytest.mark.parametrize("kind", HANGS)
def test_who_is_to_blame(job, site, kind):
    call, message = HANGS[kind]
    job.script("train.py", BEGINNING + f"""\
import time

rank = int(os.environ["RANK"])
collective.init(rank, 3)
reducer = core.EagerReducer([], dist.get_group().process_group, [25])
for step in range(2):
    dist.all_reduce(tensor)
reducer.prepare_for_backward([])
class All:
    def __eq__(self, name):
        return not name.startswith("fails")
core.ProcessGroup.waits_in = All()
{call}
""")
    done = job.launch("--quiet", "--nproc_per_node", 3, "--hang-timeout", "1.5", "--grace", 1, "train.py",
                      env={**without_debuggers(job.folder), "PYTHONPATH": site})
    assert done.returncode == 124, done.stderr
    assert re.search(f"it hung: {message}", done.stderr.splitlines()[0]), done.stderr
    assert job.left_behind() == []


def test_the_wheel_has_what_comes_before_paddle(tmp_path):
    spec = importlib.util.spec_from_file_location("wheel_backend", ROOT / "python/wheel_backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    with zipfile.ZipFile(tmp_path / backend.write_wheel(tmp_path, tmp_path / "tree")) as wheel:
        for name in ("dtrain_paddle_hook.py", "dtrain_paddle_hook.pth"):
            assert wheel.read(name) == (ROOT / "python" / name).read_bytes()

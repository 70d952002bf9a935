# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Stages for benchmarks: stand-ins for all programs that a benchmark starts, ours and its peers. A peer does what the test
wants of it: where a script says PEER."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

# Every option has one word behind it, but --mca two.
MPIRUN = 'while :; do case $1 in --mca) shift 3 ;; -*) shift 2 ;; *) break ;; esac; done; exec "$@"'


@dataclass
class Stage:
    """How a benchmark is set up, and which of its rows the peer stands in."""
    setup: Callable[["Scene"], None]
    hit: Callable[[object], bool]  # of a row
    ours: bool = False  # the peer is a program of ours: it is an error that it fails
    own_too: bool = False  # our own figure comes from the same program
    parsed: bool = True  # the peer's output matters
    arguments: tuple = ()  # of cases(): name and value


class Scene:
    """Folders of stand-ins, and what is different in the benchmark's module."""

    def __init__(self, folder, module, peer, monkeypatch):
        self.folder, self.module, self.peer, self.monkeypatch = folder, module, peer, monkeypatch
        self.build, self.tools = folder / "build", folder / "bin"
        self.tool("ninja", "echo '[1/2] one'; echo '[2/2] two'")
        self.tool("mpirun", MPIRUN)
        self.tool("taskset", 'shift 2; exec "$@"')
        monkeypatch.setenv("PATH", f"{self.tools}:{os.environ['PATH']}")
        monkeypatch.delenv("DTRAIN_COMPAT_PYTHON", raising=False)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text.replace("PEER", self.peer) + "\n")
        path.chmod(0o755)
        return path

    def tool(self, name, text):
        self.script(self.tools / name, text)

    def own(self, name, text):
        return self.script(self.build / name, text)

    def benchmark(self, name, text):
        return self.own(f"benchmarks/{name}", text)

    def python(self, text):
        self.monkeypatch.setenv("DTRAIN_COMPAT_PYTHON", str(self.script(self.folder / "python", text)))

    def has(self, **attributes):
        for name, value in attributes.items():
            self.monkeypatch.setattr(self.module, name, value)

    def nodes(self):
        self.has(VirtualCluster=lambda *_, **__: Cluster(self.folder), why_not=lambda: None)
        if hasattr(self.module, "limit_links"):
            self.has(limit_links=lambda *_: None)


class Cluster:
    """Nodes that are this machine."""

    def __init__(self, folder):
        self.shared, self.nodes = folder, [Node(folder), Node(folder)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __getitem__(self, number):
        return self.nodes[number - 1]

    def address(self, number):
        return f"127.0.0.{number}"

    def addresses(self):
        return "127.0.0.1,127.0.0.2"

    def clear(self):
        pass


class Node:
    def __init__(self, folder):
        self.folder = folder

    def start(self, *argv, cwd=None):
        return subprocess.Popen([str(word) for word in argv], cwd=cwd or self.folder, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *argv, timeout=60):
        child = self.start(*argv)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            raise AssertionError(f"no end after {timeout} s: {argv}\n{out}\n{err}") from None
        return subprocess.CompletedProcess(argv, child.returncode, out, err)


ROUNDS = """[ "$1" != 1048576 ] || { PEER; exit; }
for i in $(seq "$2"); do echo "mpi 10"; echo "window 5"; echo "foreign 8"; done"""
REQUESTS = 'for name in pull push both together in_turn saving_pull saving_both; do echo "$name 1 2 3"; done; echo "idle 0.5"'


def allreduce(scene):
    scene.benchmark("allreduce_rounds", ROUNDS)


def allreduce_nodes(scene):
    scene.benchmark("allreduce_rounds", ROUNDS)
    scene.nodes()


def build(scene):
    source = scene.folder / "source"
    for name in ("src/launch/plan/plan.cpp", "src/comm/node/backoff.cpp"):
        scene.script(source / name, "")
    scene.script(source / "examples/setup", """mkdir -p "$DTRAIN_BUILD/meson-info"
echo "[7/7] linking" >"$DTRAIN_BUILD/setup.log"
: >"$DTRAIN_BUILD/build.ninja"
echo '[{"name": "launch", "depends": ["a"]}, {"name": "comm (1 of 4)", "depends": ["b"]}, {"name": "comm (2 of 4)", "depends": ["b"]},
    {"name": "comm (3 of 4)", "depends": ["b"]}, {"name": "comm (4 of 4)", "depends": ["b"]}, {"name": "comm on 2 ranks", "depends": ["b"]}]' \\
    >"$DTRAIN_BUILD/meson-info/intro-tests.json"
echo "[{\\"id\\": \\"a\\", \\"filename\\": [\\"$DTRAIN_BUILD/a\\"]}, {\\"id\\": \\"b\\", \\"filename\\": [\\"$DTRAIN_BUILD/b\\"]}]" \\
    >"$DTRAIN_BUILD/meson-info/intro-targets.json\"""")
    scene.tool("meson", "exit 0")
    scene.has(SOURCE=source)


def chains(scene):
    scene.benchmark("element_chain", '[ "$1 $3" != "tanh apart" ] || { PEER; exit; }; echo 50')


def checkpoint(scene):
    scene.benchmark("checkpoint_state", "echo 0.5")
    scene.own("src/libexec/dtrain/dtrain-native", r"""mkdir -p checkpoints
for i in $(seq "$(sed -n 's/.*epochs = \([0-9]*\),.*/\1/p' "$1")"); do echo "  $i 0.5 0.5 30.0"; done""")
    scene.tool("dd", "PEER")
    scene.python('case "$2" in *torch.load*) PEER ;; esac')


def ctr(scene):
    scene.own("src/bin/dtrain-worker", """case $1 in *alone.toml) PEER; exit ;; esac
for i in 1 2 3 4; do echo "   $i  0.5  0.6  0.7  51200  1.5"; done""")
    scene.has(SAMPLES=200)


def gpu(scene):
    scene.benchmark("gpu_step", '[ $# -eq 0 ] || echo 100')
    scene.benchmark("mlp_step", "PEER")
    scene.monkeypatch.setenv("DTRAIN_GPU_MODULE", "none")


def launch(scene):
    scene.own("src/bin/dtrain-launch", "exit 0")
    scene.tool("mpirun", "PEER")
    scene.python("case $* in *torch.distributed.run*) PEER ;; esac")


def libtorch(scene):
    scene.benchmark("made", 'case $2 in gloo) PEER ;; *) echo 20 ;; esac')
    scene.tool("g++", f'while [ "$1" != -o ]; do shift; done; cp {scene.build}/benchmarks/made "$2"')
    scene.has(NEEDED=())


def mlp(scene):
    scene.benchmark("mlp_step", "echo 20")
    scene.benchmark("bare_products", "echo 25")
    scene.python('case "$*" in *mlp.py*torch-ddp) PEER ;; *mlp.py*) echo 10 ;; esac')


def nccl(scene):
    scene.benchmark("nccl_allreduce", 'case $1 in --gpus) echo 4 ;; *) echo 100.0 ;; esac')
    scene.tool("all_reduce_perf", "PEER")
    scene.monkeypatch.delenv("DTRAIN_NCCL_TESTS", raising=False)


def nodes(scene):
    scene.own("src/bin/dtrain-launch", "exit 0")
    scene.tool("mpirun", "PEER")
    scene.nodes()


def overlap(scene):
    scene.benchmark("mlp_step", 'case $2 in blocking) PEER ;; *) echo 20 ;; esac')
    scene.nodes()


def ps(scene):
    scene.benchmark("ps_rate", REQUESTS)
    scene.benchmark("bare_ps", REQUESTS)
    scene.python('case "$*" in *embedding.py*) PEER ;; esac')


def ps_bare(scene):
    ps(scene)
    scene.python('case "$*" in *embedding.py*) echo 3 ;; esac')
    scene.benchmark("bare_ps", "PEER")


def ps_dense(scene):
    scene.benchmark("gpu_step", "exit 0")
    scene.benchmark("ps_dense", 'case $1 in cpu) PEER ;; *) echo 10 ;; esac')
    scene.monkeypatch.setenv("DTRAIN_GPU_MODULE", "none")


def ps_spill(scene):
    scene.benchmark("table_spill", 'for last; do :; done; [ "$last" != - ] || { PEER; exit; }; echo 5')


def ps_store(scene):
    scene.benchmark("ps_rate", REQUESTS)
    scene.benchmark("table_store", '[ "$1" != save ] || echo rows >"$2/table.rows"; echo 0.5')
    scene.tool("dd", "PEER")
    scene.has(REST=0)


def ps_table(scene):
    scene.benchmark("sparse_table", "echo 5")
    scene.benchmark("bare_table", "PEER")


def scale(scene):
    scene.benchmark("plan_scale", """echo '{"step": "plan", "seconds": 0.5, "peak_mb": 20}'""")


TORCH_OPERATIONS = """
    for operation in all_reduce all_gather reduce_scatter all_to_all broadcast; do for size in 4096 65536 1048576 16777216 67108864; do
    for round in 1 2 3 4 5 6 7; do echo $operation $size dtrain 10; echo $operation $size gloo 40; done; done; done ;;
"""


def torch_nodes(scene):
    scene.own("src/bin/dtrain-run", "exit 0")
    scene.python('case "$*" in *torch_operations.py*"-np 2 "*) PEER ;; *torch_operations.py*)' + TORCH_OPERATIONS + "esac")
    scene.nodes()


def torch(scene):
    scene.own("src/bin/dtrain-run", "exit 0")
    scene.python("""case "$*" in
*torch_operations.py*)""" + TORCH_OPERATIONS + """
*torch-ddp) PEER ;;
*mlp.py*) echo 10 ;;
*torch.distributed.run*) exit 0 ;;
esac""")


def trace(scene):
    scene.benchmark("trace_rounds", '''[ "$1 $3" != "1048576 0" ] || { PEER; exit; }
for i in $(seq "$2"); do echo "recorded 11"; echo "bare 10"; done''')


def peer_is(*names):
    return lambda row: row.peer in names


def case_has(text):
    return lambda row: text in row.case


def nothing(_row):
    """The peers are numbers."""
    return False


# Each benchmark stands here, with each kind of peer that it has.
STAGES = {
    "allreduce": [Stage(allreduce, case_has(" 1 MB "), ours=True, own_too=True)],
    "allreduce_nodes": [Stage(allreduce_nodes, case_has(" 1 MB "), ours=True, own_too=True)],
    "build": [Stage(build, nothing)],
    "chains": [Stage(chains, case_has("tanh"), ours=True)],
    "checkpoint": [Stage(checkpoint, peer_is("dd bs=4M conv=fsync", "torch.load"), arguments=(("megabytes", 4),))],
    "ctr": [Stage(ctr, peer_is("one process without a server"), ours=True)],
    "gpu": [Stage(gpu, peer_is("one core of the CPU"), ours=True)],
    "launch": [Stage(launch, peer_is("mpirun", "torchrun"), parsed=False)],
    "libtorch": [Stage(libtorch, peer_is("gloo"))],
    "mlp": [Stage(mlp, peer_is("torch-ddp"))],
    "nccl": [Stage(nccl, peer_is("nccl-tests"))],
    "nodes": [Stage(nodes, peer_is("mpirun over ssh"), parsed=False)],
    "overlap": [Stage(overlap, peer_is("without overlap"), ours=True)],
    "ps": [Stage(ps, peer_is("EmbeddingBag without a server")),
           Stage(ps_bare, lambda row: row.peer == "bare server" or "of the bare server" in row.case, ours=True, own_too=True)],
    "ps_dense": [Stage(ps_dense, peer_is("server on the CPU"), ours=True)],
    "ps_spill": [Stage(ps_spill, peer_is("no limit"), ours=True)],
    "ps_store": [Stage(ps_store, lambda row: row.peer.startswith("dd "), arguments=(("megabytes", 4),))],
    "ps_table": [Stage(ps_table, peer_is("bare table"), ours=True)],
    "scale": [Stage(scale, nothing)],
    "torch": [Stage(torch, lambda row: row.peer == "gloo" and "DistributedDataParallel" in row.case)],
    "torch_nodes": [Stage(torch_nodes, case_has("2 ranks each"), ours=True, own_too=True)],
    "trace": [Stage(trace, lambda row: row.case == "1 MB on 2 ranks", ours=True, own_too=True)],
}

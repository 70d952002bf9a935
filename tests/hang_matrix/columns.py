# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The programs of the matrix: how each is started, and how its operations are named in what dtrain says."""
import dataclasses
import os
import pathlib
import re
import subprocess

from whole_jobs import BUILD, PYTHON

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
NCCL_PROGRAM = BUILD / "tests/hang_matrix/play_nccl"

#: Operation: its name in each vocabulary, and what stands between its number and its group.
OF_DTRAIN = {
    "start": ("init", "", "the job"),
    "barrier": ("barrier", ""),
    "any_barrier": ("barrier", ""),
    "sum": ("allreduce", r"\(float32 x 1000, sum\)"),
    "sum500": ("allreduce", r"\(float32 x 500, sum\)"),
    "sum64": ("allreduce", r"\(float64 x 1000, sum\)"),
    "gather": ("all_gather", r"\(.*?\)"),
    "broadcast": ("broadcast", r"\(.*?root 0\)"),
    "broadcast1": ("broadcast", r"\(.*?root 1\)"),
    "reduce": ("reduce", r"\(.*?\)"),
    "make_group": ("split", ""),
    "receive": ("receive from rank 0", r"\(.*?\)"),
    "irecv": ("receive from rank 0", r"\(.*?\)"),
    "receive_from_0": ("receive from rank 0", r"\(.*?\)"),
    "receive_from_1": ("receive from rank 1", r"\(.*?\)"),
    "receive_any": ("receive_any from any rank", r"\(.*?\)"),
    "send": (r"send to rank \d", r"\(.*?\)"),
}
OF_NCCL = {
    **OF_DTRAIN,
    "end": ("free", "", r"ranks [01]-2 \(\d\) over NCCL"),  # of its communicators
    "reduce": ("reduce_scatter", r"\(float32 x 1000, sum\)"),
    "make_group": ("barrier", "", r"ranks 0-2 \(\d\)"),  # with which split() begins
    "make_communicator": ("barrier", "", "ranks 0-2"),
}
OF_MPI = {
    "start": ("MPI_Init(_thread)?", ""),
    "end": ("MPI_Finalize", ""),
    "barrier": ("MPI_Barrier", ""),
    "any_barrier": ("MPI_Barrier", ""),
    "sum": ("MPI_Allreduce", r"\(float x 1000, sum\)"),
    "sum500": ("MPI_Allreduce", r"\(float x 500, sum\)"),
    "sum64": ("MPI_Allreduce", r"\(double x 1000, sum\)"),
    "isum": ("MPI_Iallreduce", r"\(float x 1000, sum\)"),
    "gather": ("MPI_Allgather", r"\(.*?\)"),
    "broadcast": ("MPI_Bcast", r"\(.*?root 0\)"),
    "broadcast1": ("MPI_Bcast", r"\(.*?root 1\)"),
    "reduce": ("MPI_Reduce", r"\(.*?\)"),
    "make_group": ("MPI_Comm_dup", ""),
    "receive": ("MPI_Recv from rank 0", r"\(.*?\)"),
    "receive_of_1": ("MPI_Recv from rank 2", r"\(.*?\)"),
    "receive_from_0": ("MPI_Recv from rank 0", r"\(.*?\)"),
    "receive_from_1": ("MPI_Recv from rank 1", r"\(.*?\)"),
    "receive_any": ("MPI_Recv from any rank", r"\(.*?\)"),
    "irecv": ("MPI_Irecv from rank 0", r"\(.*?\)"),
    "probe": ("MPI_Probe from rank 0", r"\(.*?\)"),
    "send": (r"MPI_Ssend to rank \d", r"\(.*?\)"),
    "fence": ("MPI_Win_fence", "", r"MPI_COMM_WORLD/window \d+"),
    "write": ("MPI_File_write_at_all", r"\(.*?\)", r"MPI_COMM_WORLD/file shared \d+"),
}
#: As stacks have them.
OF_TORCH_STACKS = {"barrier": "barrier", "any_barrier": "barrier", "sum": "all_reduce", "gather": "all_gather", "reduce": "reduce",
                   "receive": "recv", "receive_any": "recv", "send": "send", "wait": "wait", "start": "init_process_group|init_parallel_env",
                   "make_group": "barrier|new_group|_store_based_barrier", "pair_barrier": "barrier", "twin_barrier": "barrier"}

#: What torch's flight recorder and the call that the main thread is in tell; of the rest stacks.
OF_TORCH_RECORDS = {
    **OF_TORCH_STACKS,
    "barrier": ("barrier", ""),
    "any_barrier": ("barrier", ""),
    "sum": ("all_reduce", r"\(float32 x 1000\)"),
    "gather": ("all_gather", r"\(float32 x 1000\)"),
    "broadcast": ("broadcast", r"\(float32 x 1000(, root 0)?\)"),
    "broadcast1": ("broadcast", r"\(float32 x 1000, root 1\)"),
    "reduce": ("reduce", r"\(float32 x 1000(, root 0)?\)"),
    "receive": ("recv from rank 0", r"\(.*?\)"),
    "irecv": ("recv from rank 0", r"\(.*?\)"),
    "receive_from_0": ("recv from rank 0", r"\(.*?\)"),
    "receive_from_1": ("recv from rank 1", r"\(.*?\)"),
    "receive_any": ("recv from any rank", r"\(.*?\)"),
    "send": (r"send to rank \d", r"\(.*?\)"),
}
#: What dtrain records of Paddle's calls.
OF_PADDLE_RECORDS = {
    **OF_TORCH_RECORDS,
    "sum": ("all_reduce", r"\(float32 x 1000, sum\)"),
    "broadcast": ("broadcast", r"\(float32 x 1000, root 0\)"),
    "reduce": ("reduce", r"\(float32 x 1000, sum, root 0\)"),
    "make_group": ("new_group", "", "group of ranks 0-2"),
    "backward": ("backward", ""),
}


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    title: str
    program: tuple      # its command line, before the kind
    after: tuple = ()   # and after it
    options: tuple = ()
    operations: dict = dataclasses.field(default_factory=dict)
    group: str = ""
    other_groups: str = ""
    source: str = ""
    limit: float = 2.0  # seconds, of --hang-timeout
    lacks: str = "has not called"
    ranks: int = 3
    is_installed: bool = False  # dtrain is, as by pip: what torch has recorded is told, and Paddle's operations are recorded

    def pattern(self, name):
        """What is said of an operation."""
        group, key = self.group, name
        if name in ("pair_barrier", "twin_barrier"):
            group, key = self.other_groups, "barrier"
        if not self.group or isinstance(self.operations[key], str):
            return rf"(?:{self.operations[key]}) at {self.source}"
        operation, arguments, *own_group = self.operations[key]
        group = own_group[0] if own_group else group
        between = rf" {arguments}" if arguments else ""
        return rf"{operation}(?: \d+)?{between} of {group}(?: at {self.source})?"

    def expected(self, message, node):
        """The regular expression, of kinds.py's."""
        def stands_for(match):
            word = match[1]
            if word.isdigit():
                culprit = min(int(word), self.ranks - 1)
                return f"rank {culprit} on {re.escape(node)}"
            if word == "maybe_lacks":
                return f"(: it {self.lacks} {self.pattern('barrier')}|; |$)"
            return self.lacks if word == "lacks" else self.pattern(word)
        return re.sub(r"<(\w+)>", stands_for, message)


def build_program(folder):
    """play_mpi.cpp, by the compiler of the MPI in PATH."""
    program = folder / "play_mpi"
    subprocess.run([os.environ.get("MPICXX", "mpicxx"), "-std=c++20", "-g", "-O1", "-pthread", PROGRAMS / "play_mpi.cpp", "-o", program],
                   check=True)
    return program


def columns(mpi_program, torch_python, paddle_python):
    """By name; those whose interpreter is None are left out, and NCCL's of a build without CUDA."""
    def script(name, python):
        return (python, str(PROGRAMS / name))

    def of_torch(python):
        return {
            "torch_dtrain": Column("torch_dtrain", "torch, dtrain", script("on_torch.py", python), ("dtrain",), limit=3,
                                   operations=OF_DTRAIN, group="default_pg",
                                   other_groups="(pair|twin)", source=r"on_torch.py:\d+"),
            "torch_gloo": Column("torch_gloo", "torch, gloo", script("on_torch.py", python), ("gloo",), limit=3, operations=OF_TORCH_RECORDS,
                                 group="default_pg", other_groups=r"(pair|twin) \(group \d\)", source=r"on_torch.py:\d+",
                                 lacks="(is not in|has not called)", is_installed=True),
            "gloo_stacks": Column("gloo_stacks", "torch, gloo by stacks", script("on_torch.py", python), ("gloo",), limit=3,
                                  operations=OF_TORCH_STACKS, source=r"on_torch.py:\d+", lacks="(is not in|has not called)"),
        }

    def of_paddle(python):
        return {
            "paddle": Column("paddle", "Paddle, gloo", script("on_paddle.py", python), limit=3, operations=OF_PADDLE_RECORDS,
                             group="default_pg", other_groups=r"group \d+", source=r"on_paddle.py:\d+",
                             lacks="(is not in|has not called)", is_installed=True),
            "paddle_stacks": Column("paddle_stacks", "Paddle, gloo by stacks", script("on_paddle.py", python), limit=3,
                                    operations=OF_TORCH_STACKS, source=r"on_paddle.py:\d+", lacks="(is not in|has not called)"),
        }

    return {
        "native": Column("native", "native job", ("job.toml",), operations={"barrier": (r"[a-z_]+ \d+", r"\(.*?\)")},
                         group="ranks 0-1", ranks=2),
        "dtrain": Column("dtrain", "Python, dtrain's communicator", script("on_dtrain.py", PYTHON), operations=OF_DTRAIN, group="ranks 0-2",
                         other_groups=r"ranks 1-2(?: \(2\))?", source=r"on_dtrain.py:\d+"),
        **({"nccl": Column("nccl", "C++, dtrain's communicator over a stand-in for NCCL", (str(NCCL_PROGRAM),), operations=OF_NCCL,
                           group=r"ranks 0-2 \(\d\) over NCCL", other_groups=r"ranks 1-2 \(\d\) over NCCL")}
           if NCCL_PROGRAM.exists() else {}),
        "mpi": Column("mpi", "C++ with MPI", (str(mpi_program),), options=("--trace-mpi",), operations=OF_MPI, group="MPI_COMM_WORLD",
                      other_groups=r"MPI_COMM_WORLD/\d[@/\d]*", source=r"play_mpi\+0x[0-9a-f]+"),
        "mpi4py": Column("mpi4py", "mpi4py", script("on_mpi4py.py", PYTHON), options=("--trace-mpi",), operations=OF_MPI, group="MPI_COMM_WORLD",
                         other_groups=r"MPI_COMM_WORLD/\d[@/\d]*", source=r"(?:\S+\.so\+0x[0-9a-f]+|(?:on_mpi4py|play).py:\d+)"),
        **(of_torch(torch_python) if torch_python else {}),
        **(of_paddle(paddle_python) if paddle_python else {}),
    }

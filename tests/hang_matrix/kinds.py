# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of hang that the programs of programs/ play, and what must be said of each.

What is said is a regular expression in which these stand for what the program's column has (columns.py):

  <2>         "rank 2 on NODE"
  <maybe_lacks>  that it has not called <barrier>, if it was not within an operation; of native jobs any operation
  <lacks>     "has not called", or of a program whose operations nobody records "is not in"
  <barrier>   the operation in full, with its number and the program's line: also <sum>, <gather>, <broadcast>, <receive>, <send> and
              others of columns.OPERATIONS
"""
import dataclasses

EVERYWHERE = "dtrain", "nccl", "mpi", "mpi4py", "torch_dtrain", "torch_gloo", "gloo_stacks", "paddle", "paddle_stacks"
OF_PYTHON = tuple(name for name in EVERYWHERE if name not in ("nccl", "mpi"))
OF_MPI = "mpi", "mpi4py"
OF_TORCH = "torch_dtrain", "torch_gloo", "gloo_stacks"
OF_PADDLE = "paddle", "paddle_stacks"
#: Paddle receives from a rank that is named, and its request is not one that waits.
BUT_PADDLE = tuple(name for name in EVERYWHERE if name not in OF_PADDLE)
#: It plays nothing by itself: what stops it comes from outside.
NATIVE = "native",
#: Whose operations are known: without that a rank that computes is not taken for one that hangs.
RECORDED = "dtrain", "nccl", "mpi", "mpi4py", "torch_dtrain"
#: Where ranks are known by their stacks alone.
OF_STACKS = "gloo_stacks", "paddle_stacks"

LATE = "<2> <lacks> <barrier>: it "
#: Whether it will call the other one later nobody can know yet.
UNLIKE = (r"<2> (called <gather> (before <sum>, the others after it|where ranks \[0,1\] called <sum>)|"
          "skipped <sum>: it called <gather>)")
OF_DTRAIN = "dtrain", "torch_dtrain"
BUT_NCCL = tuple(name for name in EVERYWHERE if name != "nccl")


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str        # what the program is told to play
    text: str        # for the table
    chinese: str
    message: str
    culprits: tuple | None = (2,)  # None: whoever the network leaves behind
    columns: tuple = EVERYWHERE
    limits: int = 1  # limits after which it counts as a hang: four where the rank computes
    limits_in: dict = dataclasses.field(default_factory=dict)  # column: limits there, ten where ranks wait busily for the start
    message_by_stacks: str = ""   # in OF_STACKS; "": the same
    refused_in: tuple = ()     # columns whose library finds it itself, at once, and ends the program
    held_by: str = ""          # what stops it from outside: "debugger", "freezer", or what it needs: "disk"
    except_in: dict = dataclasses.field(default_factory=dict)  # column: what is said there

    def message_in(self, column):
        if column in self.except_in:
            return self.except_in[column]
        return self.message_by_stacks if self.message_by_stacks and column in OF_STACKS else self.message


def in_another(operation):
    """Of stacks: rank 2 is in one call, the others in another one."""
    return f"<2> is in <{operation}>, where the others are not"


KINDS = [
    # The rank is somewhere else.
    Kind("sleeps", "sleeps", "睡眠", LATE + "sleeps in (blocked::)?sleeps "),
    Kind("computes", "computes without end", "无休止地计算", LATE + "computes in (blocked::)?computes ", columns=RECORDED, limits=4),
    Kind("is_stopped", "stopped by a signal (SIGSTOP)", "被信号停住（SIGSTOP）",
         r"<2> is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\): it <lacks> <barrier>"),
    Kind("works_until_held", "stopped by a signal (SIGSTOP)", "被信号停住（SIGSTOP）",
         r"<2> is stopped by a signal \(\"kill -CONT \d+\" there lets it go on\)<maybe_lacks>", columns=NATIVE, held_by="signal"),
    Kind("works_until_held", "held by a debugger", "被调试器停住", r"<2> is held by a debugger \(.*?\)<maybe_lacks>",
         columns=EVERYWHERE + NATIVE, held_by="debugger"),
    Kind("works_until_held", "frozen with its control group (a container that is paused)", "随其控制组被冻结（容器被暂停）",
         r"<2> is frozen with its control group /[\w-]+<maybe_lacks>", columns=EVERYWHERE + NATIVE, held_by="freezer"),
    Kind("lock", "deadlock of two threads", "两个线程死锁", LATE + "sleeps in (blocked::)?lock "),
    Kind("pipe", "reads from a pipe that nobody writes to", "读没人写的管道", LATE + "sleeps in "),
    Kind("server", "waits for the answer of a server", "等服务器的回答", LATE + "sleeps in "),
    Kind("file_lock", "waits for the lock of a file", "等文件锁", LATE + "sleeps in "),
    Kind("child", "waits for a child that waits", "等一个在等待的子进程", LATE + "sleeps"),
    Kind("fork_with_lock", "waits for a forked process that waits for a lock", "等一个在等锁的 fork 子进程", LATE + "sleeps"),
    Kind("compiler", "waits for a compiler that computes without end", "等一个不停计算的编译器",
         LATE + "computes", columns=RECORDED, limits=4),
    Kind("vfork", "its child does not start the program (vfork)", "子进程没有启动程序（vfork）",
         "(<2> <lacks> <barrier>: it|<2> waits for the system)", columns=("nccl", "mpi")),
    Kind("evaluate", "rank 0 evaluates, without end", "rank 0 在评估，没有结束", "<0> <lacks> <barrier>: it evaluates in ",
         culprits=(0,)),
    Kind("save_checkpoint", "rank 0 writes a checkpoint into a pipe that nobody reads", "rank 0 把检查点写进没人读的管道",
         "<0> <lacks> <barrier>: it writes a checkpoint in (blocked::)?save_checkpoint ", culprits=(0,)),
    Kind("write_to_frozen_disk", "rank 0 writes to a file system that does not answer", "rank 0 写不回答的文件系统",
         "<0> waits for the system, for /.*/disk/checkpoint: it <lacks> <barrier>", culprits=(0,), held_by="disk"),
    Kind("checkpoint_on_frozen_disk", "rank 0 writes to a file system that does not answer", "rank 0 写不回答的文件系统",
         "<0> waits for the system(, for /.*/disk/.*)?<maybe_lacks>", culprits=(0,), columns=NATIVE, held_by="frozen_disk"),
    Kind("next_batch", "waits for data of a thread that waits", "等一个在等待的线程的数据", LATE + "sleeps in next_batch ",
         columns=OF_PYTHON),
    Kind("loader_process", "waits for a process of the DataLoader", "等 DataLoader 的进程", LATE + "loads data in ",
         columns=OF_TORCH + OF_PADDLE),
    Kind("handler", "in a handler of a signal that does not return", "在不返回的信号处理函数里", LATE + "sleeps in "),
    Kind("flag", "spins on a flag that nobody sets", "自旋等没人设的标志", LATE + "computes in (blocked::)?flag ", columns=RECORDED, limits=4),
    Kind("interpreter_lock", "C code that holds Python's lock", "持有 Python 锁的 C 代码", LATE + "sleeps in interpreter_lock ",
         columns=OF_PYTHON),
    Kind("two_are_late", "two ranks sleep", "两个 rank 睡眠",
         "<1> <lacks> <barrier>: it sleeps in .*<2> <lacks> <barrier>: it sleeps in ", culprits=(1, 2)),
    # It comes too late, or leaves too early.
    Kind("comes_not", "does not come to the start (init, MPI_Init)", "没有来到开头（init、MPI_Init）", "<2> <lacks> <start>: it sleeps",
         limits_in={"dtrain": 10, "nccl": 10}),
    Kind("leaves", "leaves early with exit status 0", "提前以状态 0 退出", "<2> has ended: it <lacks> <barrier>",
         refused_in=EVERYWHERE),
    Kind("loop_ends", "leaves the loop early and waits", "提前离开循环并等待", LATE + "sleeps in "),
    Kind("loop_ends_early", "leaves the loop early and calls what comes after it", "提前离开循环并调用其后的操作",
         "<2> called <reduce> where ranks \\[0,1\\] called <barrier>", message_by_stacks=in_another("reduce"), refused_in=OF_DTRAIN),
    Kind("ends_not", "does not come to the end (MPI_Finalize)", "没有来到结尾（MPI_Finalize）", "<2> <lacks> <end>: it sleeps", columns=("nccl", *OF_MPI)),
    # Its operations are not those of the others.
    Kind("exception", "catches an exception and so skips an operation", "捕获异常，因而漏掉一个操作",
         "<2> skipped <gather>: it called <barrier>", message_by_stacks=in_another("barrier"), refused_in=OF_DTRAIN),
    Kind("skips", "skips an operation", "漏掉一个操作", UNLIKE, message_by_stacks=in_another("gather"), refused_in=OF_DTRAIN),
    Kind("reorders", "calls two operations in another order", "两个操作次序不同", UNLIKE, message_by_stacks=in_another("gather"),
         refused_in=OF_DTRAIN),
    Kind("other_operation", "calls another operation", "调用别的操作", UNLIKE, message_by_stacks=in_another("gather"), refused_in=OF_DTRAIN),
    Kind("other_count", "calls it with another length", "长度不同", r"<2> called <sum500> where ranks \[0,1\] called <sum>", refused_in=BUT_NCCL),
    Kind("other_type", "calls it with another type", "类型不同", r"<2> called <sum64> where ranks \[0,1\] called <sum>", refused_in=BUT_NCCL),
    Kind("other_root", "calls it with another root", "root 不同", r"<2> called <broadcast1> where ranks \[0,1\] called <broadcast>",
         refused_in=OF_DTRAIN),
    Kind("makes_group", "makes a group, alone", "独自建组", r"<2> called <make_group> where ranks \[0,1\] called <barrier>",
         message_by_stacks="<2> is in <make_group>, where the others are not",
         # It begins with a barrier, which is the one that the others call.
         except_in={"dtrain": r"<2> has not called <broadcast>: it \w+ in Ranks.make_group .*, after <barrier>",
                    "nccl": "<2> skipped <any_barrier>: it called <make_group>", "paddle": "<2> skipped <any_barrier>: it called <make_group>",
                    "torch_dtrain": LATE + r"\w+ in Ranks.make_group ", "torch_gloo": LATE + r"\w+ in Ranks.make_group "}),
    Kind("other_group", "calls it in another group", "在别的组里调用", "<1> skipped <any_barrier>: it called <pair_barrier>", culprits=(1,),
         message_by_stacks="<1> is in <barrier>, where the others are not"),
    Kind("order_of_groups", "two ranks use two groups in another order", "两个 rank 以不同次序使用两个组",
         "ranks wait for each other: <1> waits in <pair_barrier> for rank 2; <2> waits in <twin_barrier> for rank 1", culprits=(1, 2)),
    # Messages.
    Kind("receives", "waits for a message that nobody sends", "等没人发的消息", "<2> waits in <receive>, where it called <barrier> before",
         message_by_stacks=in_another("receive")),
    Kind("receives_from_any", "the same from any rank", "同上，来自任意 rank", "<2> waits in <receive_any>, where it called <barrier> before",
         message_by_stacks=in_another("receive"), columns=BUT_PADDLE, refused_in=("nccl",)),
    Kind("sends", "sends what nobody receives", "发送没人接收的消息", "<2> waits in <send>, where it called <barrier> before",
         message_by_stacks=in_another("send")),
    Kind("waits_for_request", "waits for a request that nobody serves", "等没人应答的请求",
         "<2> waits in <irecv>, where it called <barrier> before", message_by_stacks=LATE + r"sleeps in Ranks.wait_for_request",
         columns=BUT_PADDLE,
         except_in={"torch_gloo": LATE + r"sleeps in Ranks.wait_for_request"}),  # torch does not record it
    Kind("waits_in_thread", "the same in a thread that the main one waits for", "同上，在主线程所等的线程里",
         "<2> waits in <receive>, where it called <barrier> before", columns=("dtrain", "nccl", "mpi")),
    Kind("probes", "probes for a message that nobody sends", "探测没人发的消息", "<2> waits in <probe>, where it called <barrier> before",
         columns=OF_MPI),
    Kind("polls", "polls for it (MPI_Iprobe)", "轮询它（MPI_Iprobe）", LATE + "computes in ", columns=OF_MPI, limits=4),
    Kind("does_not_start", "does not start a persistent request that another rank waits for", "没有启动另一 rank 在等的持久请求",
         "<2> (has not sent what is waited for in <receive_of_1>|<lacks> <barrier>): it sleeps", columns=OF_MPI),
    Kind("circle", "two ranks receive from each other", "两个 rank 互相接收",
         "ranks wait for each other: <0> waits in <receive_from_1> for rank 1; <1> waits in <receive_from_0> for rank 0", culprits=(0, 1),
         message_by_stacks="ranks .0,1. are in <receive>, where the others are not"),
    Kind("ring_of_sends", "a ring of sends that nobody receives", "没人接收的一圈发送",
         "ranks wait for each other: <0> waits in <send> for rank 1; <1> waits in <send> for rank 2; <2> waits in <send> for rank 0",
         culprits=(0, 1, 2), message_by_stacks=r"ranks wait for each other: ranks \[0-2\] wait in <send>"),
    Kind("link", "the network between the ranks is lost", "rank 之间的网络断了",
         r"(every rank has called \w+ \d+ .*, and it does not end|rank \d on \S+ waits in \w+ \d+ .*, which the others have left)",
         culprits=None, columns=("nccl", *OF_MPI, "torch_gloo", "gloo_stacks"), held_by="link",
         message_by_stacks=r"every rank is in \w+ at on_torch.py:\d+, and it does not end"),
    # Of some libraries only.
    Kind("makes_no_communicator", "does not come to nccl_communicator()", "没有来到 nccl_communicator()",
         "<2> <lacks> <make_communicator>: it sleeps in (blocked::)?sleeps", columns=("nccl",)),
    Kind("gpu_computes", "its GPU computes without end", "它的 GPU 不停地计算",
         "<2> has not come to <barrier>: it waits for its GPU, which does not end what it computes",
         columns=("nccl",)),
    Kind("does_not_start_sum", "does not start a sum that the others wait for later", "没有启动其他 rank 稍后等待的求和", "<2> <lacks> <isum>: it sleeps",
         columns=("mpi",)),
    Kind("does_not_fence", "does not come to a window's fence", "没有来到窗口的 fence", "<2> <lacks> <fence>: it sleeps", columns=OF_MPI),
    Kind("keeps_window_lock", "keeps the lock of a window", "不释放窗口的锁", "<2> .*sleeps", columns=OF_MPI),
    Kind("does_not_write", "does not come to a write of all ranks into a file", "没有来到所有 rank 一起写文件", "<2> <lacks> <write>: it sleeps",
         columns=OF_MPI),
    Kind("waits_for_key", "waits for a key of the store that nobody sets", "等 store 里没人设的键", "<2> <lacks> <barrier>: it sleeps",
         columns=OF_TORCH),
    Kind("does_not_reduce_gradients", "skips a backward pass (DistributedDataParallel)", "漏掉一次反向传播（DistributedDataParallel）",
         "<2> (skipped|called|<lacks>|is in <barrier>)", columns=OF_TORCH + OF_PADDLE, refused_in=OF_DTRAIN,
         except_in={"paddle": r"<2> called <any_barrier> where ranks \[0,1\] called <backward>"}),
]


def title_of(kind):
    """By which one kind is told from the others."""
    return f"{kind.name}:{kind.held_by}" if kind.held_by else kind.name

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps per second of the documents' MLP with PyTorch or Paddle, one thread per rank.

mlp.py small|big WAY     rank 0 prints steps per second
WAY: torch, torch-fused, torch-compile, paddle, paddle-static; on several ranks of mpirun torch-ddp (gloo), torch-dtrain
(DistributedDataParallel, too, on the back end dtrain), torch-mpi: one
MPI_Allreduce (mpi4py) of all gradients, paddle-ddp: DataParallel (gloo).
"""

import os
import statistics
import sys
import time

RANK = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
RANKS = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
SIZES = {"small": (64, 784, (128, 128), 10, "tanh"), "big": (256, 784, (1024, 1024), 10, "relu")}


def steady_rate(step, agree=lambda value: value, blocks=10):
    def seconds_of(calls):
        begin = time.perf_counter()
        for _ in range(calls):
            step()
        return time.perf_counter() - begin

    seconds_of(20)
    calls = max(1, int(agree(0.15 / (seconds_of(20) / 20))))
    return statistics.median(calls / seconds_of(calls) for _ in range(blocks))


def torch_step(model_name, way):
    import torch
    torch.set_num_threads(1)
    batch, features, hidden, classes, activation = SIZES[model_name]
    torch.manual_seed(1)
    layers, width = [], features
    for size in hidden:
        layers += [torch.nn.Linear(width, size), torch.nn.Tanh() if activation == "tanh" else torch.nn.ReLU()]
        width = size
    model = torch.nn.Sequential(*layers, torch.nn.Linear(width, classes))
    agree, exchange = (lambda value: value), (lambda: None)
    if way in ("torch-ddp", "torch-dtrain"):
        if way == "torch-dtrain":
            import dtrain.torch  # noqa: F401  # it registers the back end
        torch.distributed.init_process_group("gloo" if way == "torch-ddp" else "dtrain", rank=RANK, world_size=RANKS)
        model = torch.nn.parallel.DistributedDataParallel(model)

        def agree(value):
            largest = torch.tensor([value])
            torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX)
            return largest.item()
    elif way == "torch-mpi":
        agree, exchange = flat_gradients(torch, model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True if way == "torch-fused" else None)
    loss_of = torch.nn.CrossEntropyLoss()
    x, label = torch.rand(batch, features) - 0.5, torch.arange(batch) % classes

    def step():
        optimizer.zero_grad(set_to_none=way != "torch-mpi")
        loss_of(model(x), label).backward()
        exchange()
        optimizer.step()

    return (torch.compile(step) if way == "torch-compile" else step), agree


def flat_gradients(torch, model):
    """All gradients side by side in one buffer, which MPI adds and this rank divides."""
    from mpi4py import MPI
    flat = torch.zeros(sum(each.numel() for each in model.parameters()))
    begin = 0
    for each in model.parameters():
        each.grad = flat[begin:begin + each.numel()].view_as(each)
        begin += each.numel()
    buffer = flat.numpy()

    def exchange():
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, buffer)
        flat.div_(RANKS)

    return (lambda value: MPI.COMM_WORLD.allreduce(value, MPI.MAX)), exchange


def paddle_step(model_name, is_parallel=False):
    if is_parallel:
        become_paddles_rank()
    import paddle
    batch, features, hidden, classes, activation = SIZES[model_name]
    paddle.seed(1)
    layers, width = [], features
    for size in hidden:
        layers += [paddle.nn.Linear(width, size), paddle.nn.Tanh() if activation == "tanh" else paddle.nn.ReLU()]
        width = size
    model = paddle.nn.Sequential(*layers, paddle.nn.Linear(width, classes))
    if is_parallel:
        paddle.distributed.init_parallel_env()
        model = paddle.DataParallel(model)

    def agree(value):
        if not is_parallel:
            return value
        largest = paddle.to_tensor([value], dtype="float32")
        paddle.distributed.all_reduce(largest, paddle.distributed.ReduceOp.MAX)
        return largest.item()

    optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
    loss_of = paddle.nn.CrossEntropyLoss()
    x, label = paddle.rand([batch, features]) - 0.5, paddle.arange(batch) % classes

    def step():
        loss_of(model(x), label).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step, agree


def become_paddles_rank():
    """What paddle.distributed.launch would say in the environment, of ranks that mpirun has started."""
    port = int(os.environ["MASTER_PORT"])
    endpoints = [f"127.0.0.1:{port + 1 + rank}" for rank in range(RANKS)]
    os.environ.update({"PADDLE_TRAINER_ID": str(RANK), "PADDLE_TRAINERS_NUM": str(RANKS),
                       "PADDLE_CURRENT_ENDPOINT": endpoints[RANK], "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
                       "PADDLE_MASTER": f"127.0.0.1:{port}", "PADDLE_DISTRI_BACKEND": "gloo"})


def paddle_static_step(model_name):
    import numpy
    import paddle
    batch, features, hidden, classes, activation = SIZES[model_name]
    paddle.seed(1)
    paddle.enable_static()
    x = paddle.static.data("x", [batch, features])
    label = paddle.static.data("label", [batch, 1], dtype="int64")
    out = x
    for size in hidden:
        out = paddle.static.nn.fc(out, size, activation=activation)
    loss = paddle.nn.functional.cross_entropy(paddle.static.nn.fc(out, classes), label)
    paddle.optimizer.Adam(1e-3).minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    fed = {"x": numpy.random.rand(batch, features).astype("float32") - 0.5,
           "label": (numpy.arange(batch) % classes).reshape(batch, 1)}
    program = paddle.static.default_main_program()
    return (lambda: executor.run(program, feed=fed, fetch_list=[])), lambda value: value


def main():
    model_name, way = sys.argv[1:3]
    step, agree = (paddle_static_step(model_name) if way == "paddle-static" else
                   paddle_step(model_name, way == "paddle-ddp") if way in ("paddle", "paddle-ddp") else
                   torch_step(model_name, way))
    rate = steady_rate(step, agree)
    if RANK == 0:
        print(f"{rate:.1f}", flush=True)
    if way == "torch-ddp":
        import torch
        torch.distributed.destroy_process_group()  # its threads must have ended before the interpreter does


main()

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations of torch.distributed on the back ends dtrain and gloo, in turns in the same ranks of mpirun.

torch_operations.py ROUNDS MAX_BYTES     rank 0 prints "all_reduce 4096 gloo 123.4" for each round: microseconds of a call
"""

import sys
import time

import torch
import torch.distributed as dist

import dtrain.torch  # noqa: F401  # it registers the back end

SIZES = [1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26]
SECONDS = 0.1  # of one measurement


def of_operation(name, size, ranks):
    """A function that runs the operation on a group. `size`: bytes of what the longer side of a rank has."""
    count = size // 4
    whole, part = torch.zeros(count), torch.zeros(count // ranks)
    turned = torch.zeros(count)
    return {"all_reduce": lambda group: dist.all_reduce(whole, group=group),
            "all_gather": lambda group: dist.all_gather_into_tensor(whole, part, group=group),
            "reduce_scatter": lambda group: dist.reduce_scatter_tensor(part, whole, group=group),
            "all_to_all": lambda group: dist.all_to_all_single(turned, whole, group=group),
            "broadcast": lambda group: dist.broadcast(whole, 0, group=group)}[name]


def main():
    rounds, most = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    groups = {name: dist.new_group(backend=name) for name in ("dtrain", "gloo")}

    def seconds_of(call, group, calls):
        dist.barrier(group=groups["dtrain"])
        begin = time.perf_counter()
        for _ in range(calls):
            call(group)
        return (time.perf_counter() - begin) / calls

    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"):
        for size in (each for each in SIZES if each <= most):
            call, calls = of_operation(name, size, ranks), {}
            for back_end, group in groups.items():
                seconds_of(call, group, 3)
                agreed = torch.tensor([seconds_of(call, group, 5)])
                dist.all_reduce(agreed, dist.ReduceOp.MAX, groups["gloo"])
                calls[back_end] = max(3, int(SECONDS / agreed.item()))
            for _ in range(rounds):
                for back_end, group in groups.items():
                    seconds = seconds_of(call, group, calls[back_end])
                    if rank == 0:
                        print(name, size, back_end, f"{seconds * 1e6:.2f}", flush=True)
    dist.destroy_process_group()


main()

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Random operations of torch.distributed on a group of dtrain and on one of gloo over the same ranks.
Oracle: gloo's results, bit for bit; of reductions of floating-point numbers to rounding, and the same bits on every rank.

    torch_against_gloo.py SEED COUNT"""
import random
import sys

import torch
import torch.distributed as dist

import dtrain.torch  # noqa: F401  # it registers the back end

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int8, torch.uint8, torch.int32, torch.int64]
MOVED = FLOATS + INTEGERS + [torch.bool]
ARITHMETIC = [dist.ReduceOp.SUM, dist.ReduceOp.MIN, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT]
BITS = [dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR]
LENGTHS = [0, 1, 3, 7, 64, 1000, 4096, 65537, 300000]


class Case:
    """One operation; all ranks draw the same."""

    def __init__(self, draw, group):
        self.draw = draw
        self.size = dist.get_world_size(group)
        self.rank = dist.get_rank(group)
        self.root = draw.randrange(self.size)
        self.global_root = dist.get_global_rank(group, self.root)
        self.seed = draw.randrange(1 << 30)
        self.length = draw.choice(LENGTHS)
        self.strided = draw.random() < 0.2
        self.asynchronous = draw.random() < 0.5
        reduces = draw.random() < 0.5
        self.dtype = draw.choice(FLOATS + INTEGERS if reduces else MOVED)
        operations = ARITHMETIC + (BITS if not self.dtype.is_floating_point else [])
        self.op = draw.choice(operations)
        self.name = draw.choice(REDUCING if reduces else MOVING)
        self.splits = [[draw.randrange(4) for _ in range(self.size)] for _ in range(self.size)]

    def __str__(self):
        return (f"{self.name} of {self.length} {self.dtype} by {self.op}, root {self.root} of {self.size}, strided "
                f"{self.strided}, asynchronous {self.asynchronous}, splits {self.splits}")

    def tensor(self, length, salt=0):
        """Elements that differ between ranks."""
        generator = torch.Generator().manual_seed(self.seed + 1000003 * self.rank + salt)
        if self.dtype is torch.bool:
            out = torch.randint(0, 2, (length,), generator=generator).bool()
        elif self.dtype.is_floating_point:
            out = (torch.rand(length, generator=generator) + 0.5).to(self.dtype)
        else:
            out = torch.randint(0, 100, (length,), generator=generator).to(self.dtype)
        if not self.strided or length == 0:
            return out
        wide = torch.zeros(length, 2, dtype=self.dtype)
        wide[:, 0] = out
        return wide[:, 0]

    def empty(self, length):
        return torch.zeros(length, dtype=self.dtype)


def finished(case, started):
    if case.asynchronous:
        started.wait()


def all_reduce(case, group):
    tensor = case.tensor(case.length)
    finished(case, dist.all_reduce(tensor, case.op, group=group, async_op=case.asynchronous))
    return [tensor]


def reduce(case, group):
    tensor = case.tensor(case.length)
    finished(case, dist.reduce(tensor, case.global_root, case.op, group=group, async_op=case.asynchronous))
    return [tensor] if case.rank == case.root else []


def reduce_scatter(case, group):
    out = case.empty(case.length)
    blocks = [case.tensor(case.length, salt) for salt in range(case.size)]
    finished(case, dist.reduce_scatter(out, blocks, case.op, group=group, async_op=case.asynchronous))
    return [out]


def reduce_scatter_tensor(case, group):
    out = case.empty(case.length)  # gloo of torch 2.6 sums, whatever the operation
    finished(case, dist.reduce_scatter_tensor(out, case.tensor(case.length * case.size), dist.ReduceOp.SUM, group=group,
                                              async_op=case.asynchronous))
    return [out]


def broadcast(case, group):
    tensor = case.tensor(case.length)
    finished(case, dist.broadcast(tensor, case.global_root, group=group, async_op=case.asynchronous))
    return [tensor]


def all_gather(case, group):
    outs = [case.empty(case.length) for _ in range(case.size)]
    finished(case, dist.all_gather(outs, case.tensor(case.length), group=group, async_op=case.asynchronous))
    return outs


def all_gather_into_tensor(case, group):
    out = case.empty(case.length * case.size)
    finished(case, dist.all_gather_into_tensor(out, case.tensor(case.length), group=group, async_op=case.asynchronous))
    return [out]


def gather(case, group):
    outs = [case.empty(case.length) for _ in range(case.size)] if case.rank == case.root else None
    finished(case, dist.gather(case.tensor(case.length), outs, case.global_root, group=group, async_op=case.asynchronous))
    return outs or []


def scatter(case, group):
    blocks = [case.tensor(case.length, salt) for salt in range(case.size)] if case.rank == case.root else None
    out = case.empty(case.length)
    finished(case, dist.scatter(out, blocks, case.global_root, group=group, async_op=case.asynchronous))
    return [out]


def all_to_all_single(case, group):
    sent, received = case.splits[case.rank], [row[case.rank] for row in case.splits]
    out = case.empty(sum(received))
    finished(case, dist.all_to_all_single(out, case.tensor(sum(sent)).contiguous(), received, sent, group=group,
                                          async_op=case.asynchronous))
    return [out]


def ring(case, group):
    """Each rank sends to the next one."""
    after = dist.get_global_rank(group, (case.rank + 1) % case.size)
    before = dist.get_global_rank(group, (case.rank - 1) % case.size)
    tensor, out = case.tensor(case.length).contiguous(), case.empty(case.length)
    if case.size == 1:
        return [tensor]
    works = [dist.isend(tensor, after, group=group, tag=3), dist.irecv(out, before, group=group, tag=3)]
    for work in works:
        work.wait()
    return [out]


def objects(case, group):
    out = [None] * case.size
    dist.all_gather_object(out, {"rank": case.rank, "text": "x" * case.length}, group=group)
    return [torch.tensor([entry["rank"], len(entry["text"])]) for entry in out]


def barrier(_case, group):
    dist.barrier(group=group)
    return []


REDUCING = [all_reduce, reduce, reduce_scatter, reduce_scatter_tensor]
MOVING = [broadcast, all_gather, all_gather_into_tensor, gather, scatter, all_to_all_single, ring, objects, barrier]
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 4e-2}


def forget_what_gloo_has_not():
    """gloo of torch 2.6 has no reduce_scatter()."""
    ranks = dist.get_world_size()
    try:
        dist.reduce_scatter(torch.zeros(1), [torch.zeros(1)] * ranks)
    except RuntimeError:
        REDUCING.remove(reduce_scatter)


def compare(case, ours, theirs):
    assert len(ours) == len(theirs), case
    for one, other in zip(ours, theirs):
        assert one.dtype == other.dtype and one.shape == other.shape, case
        if case.name in REDUCING and one.dtype.is_floating_point:
            torch.testing.assert_close(one, other, rtol=TOLERANCE.get(one.dtype, 1e-5), atol=TOLERANCE.get(one.dtype, 1e-5),
                                       msg=lambda text: f"{case}: {text}")
        else:
            assert torch.equal(one, other), f"{case}: {one} and {other}"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    forget_what_gloo_has_not()
    size = dist.get_world_size()
    draw = random.Random(seed)
    subsets = [list(range(size))] + [sorted(draw.sample(range(size), draw.randrange(1, size + 1))) for _ in range(3)]
    pairs = [(dist.new_group(ranks, backend="dtrain"), dist.new_group(ranks, backend="gloo"), ranks) for ranks in subsets]
    for number in range(count):
        ours, theirs, ranks = draw.choice(pairs)
        shape = random.Random(draw.randrange(1 << 30))
        if dist.get_rank() not in ranks:
            continue
        case = Case(shape, ours)
        try:
            of_dtrain = case.name(case, ours)
            case.strided = False  # gloo takes the memory of strided tensors as if they were not
            compare(case, of_dtrain, case.name(case, theirs))
        except Exception as error:
            raise AssertionError(f"operation {number} of seed {seed}: {case.name.__name__}: {case}") from error
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"{count} operations on {size} ranks, torch {torch.__version__}", flush=True)
    dist.destroy_process_group()


main()

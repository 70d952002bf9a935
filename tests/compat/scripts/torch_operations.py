# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What the back end dtrain does that gloo does not, or that a comparison does not see, as cases by name.
Oracle: values worked out by hand from the ranks' numbers.

    torch_operations.py INIT_METHOD CASE..."""
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import dtrain
import dtrain.torch  # noqa: F401  # it registers the back end


def raises(kind, text, call, *arguments, **options):
    """The exception has this text."""
    try:
        call(*arguments, **options)
    except kind as error:
        assert text in str(error), f"{error!r} does not say {text!r}"
        return error
    raise AssertionError(f"no {kind.__name__} that says {text!r}")


def me():
    return dist.get_rank(), dist.get_world_size()


def averages():
    rank, size = me()
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        tensor = torch.full((5,), float(rank), dtype=dtype)
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        assert tensor.tolist() == [(size - 1) / 2] * 5, tensor


def all_types():
    """Types that gloo does not know: reduced where they are numbers, moved in any case."""
    rank, size = me()
    for dtype in (torch.int16, torch.uint16, torch.uint32, torch.uint64):
        tensor = torch.tensor([rank + 1, 7], dtype=torch.int64).to(dtype)
        dist.all_reduce(tensor)
        assert tensor.to(torch.int64).tolist() == [size * (size + 1) // 2, 7 * size], tensor
    for dtype in (torch.int16, torch.complex64, torch.complex128, torch.bool, torch.uint16, torch.float8_e4m3fn):
        mine = torch.tensor([rank % 2, 1, 0]).to(dtype)
        outs = [torch.zeros(3).to(dtype) for _ in range(size)]
        dist.all_gather(outs, mine)
        assert [out.to(torch.float32).real.tolist() for out in outs] == [[r % 2, 1, 0] for r in range(size)]
    tensor = torch.tensor([complex(rank, 1)])
    dist.all_reduce(tensor)
    assert tensor.tolist() == [complex(size * (size - 1) / 2, size)]


def bools():
    rank, size = me()
    for operation, wanted in ((dist.ReduceOp.SUM, [True, True, False]), (dist.ReduceOp.PRODUCT, [False, True, False]),
                              (dist.ReduceOp.MAX, [True, True, False]), (dist.ReduceOp.MIN, [False, True, False]),
                              (dist.ReduceOp.BOR, [True, True, False]), (dist.ReduceOp.BAND, [False, True, False])):
        tensor = torch.tensor([rank == 0, True, False])
        dist.all_reduce(tensor, operation)
        assert tensor.tolist() == (wanted if size > 1 else [True, True, False]), (operation, tensor)
        assert set(tensor.view(torch.uint8).tolist()) <= {0, 1}
    raises(ValueError, "no average", dist.all_reduce, torch.tensor([True]), dist.ReduceOp.AVG)


def uneven():
    """Tensors of different lengths in the lists."""
    rank, size = me()
    outs = [torch.zeros(r + 1) for r in range(size)]
    dist.all_gather(outs, torch.full((rank + 1,), float(rank)))
    assert [out.tolist() for out in outs] == [[float(r)] * (r + 1) for r in range(size)]
    out = torch.zeros(rank + 1)
    dist.reduce_scatter(out, [torch.full((r + 1,), float(rank + r)) for r in range(size)])
    assert out.tolist() == [size * (size - 1) / 2 + size * rank] * (rank + 1)
    outs = [torch.zeros(r + 1) for r in range(size)]
    dist.all_to_all(outs, [torch.full((rank + 1,), 10.0 * rank + r) for r in range(size)])
    assert [out.tolist() for out in outs] == [[10.0 * r + rank] * (r + 1) for r in range(size)]


def in_place():
    """Inputs that are part of the output, as sharded training has them."""
    rank, size = me()
    whole = torch.zeros(3 * size)
    mine = whole[3 * rank:3 * rank + 3]
    mine.fill_(rank + 1)
    dist.all_gather_into_tensor(whole, mine)
    assert whole.tolist() == [float(r + 1) for r in range(size) for _ in range(3)]
    dist.reduce_scatter_tensor(whole[3 * rank:3 * rank + 3], whole)
    assert whole[3 * rank:3 * rank + 3].tolist() == [float(size * (rank + 1))] * 3


def strided():
    rank, size = me()
    wide = torch.zeros(4, 3)
    wide[:, 1] = rank + 1
    dist.all_reduce(wide[:, 1])
    assert wide.tolist() == [[0, size * (size + 1) / 2, 0]] * 4
    turned = torch.arange(6.0).reshape(2, 3).t() + rank
    dist.broadcast(turned, 0)
    assert turned.tolist() == [[0, 3], [1, 4], [2, 5]]
    wide = torch.ones(4, 3)
    dist.all_reduce(wide[:, 1], async_op=True)
    dist.barrier()  # what was started before is complete, copies included
    assert wide.tolist() == [[1, size, 1]] * 4


def several():
    """Several tensors of a process in one operation, as torch's groups take them; and a tensor twice in a list."""
    rank, size = me()
    world = dist.group.WORLD
    total = size * (size + 1) // 2
    pair = [torch.full((3, 2), rank + 1.0).t(), torch.full((2, 3), 10.0)]
    world.allreduce(pair).wait()
    assert [tensor.tolist() for tensor in pair] == [[[total + 10.0 * size] * 3] * 2] * 2, pair
    for operation, wanted in ((dist.ReduceOp.MAX, size + 1), (dist.ReduceOp.MIN, 1), (dist.ReduceOp.BOR, 2 ** (size + 1).bit_length() - 1)):
        options = dist.AllreduceOptions()
        options.reduceOp = operation
        pair = [torch.tensor([rank + 1]), torch.tensor([rank + 2])]
        assert world.allreduce(pair, options).get_future().wait() == pair == [torch.tensor([wanted])] * 2, (operation, pair)
    rows = [torch.sparse_coo_tensor([[rank]], [1.0 + i], (size,)) for i in range(2)]
    world.allreduce(rows).wait()
    assert [row.to_dense().tolist() for row in rows] == [[3.0] * size] * 2, rows
    options = dist.BroadcastOptions()
    options.rootRank, options.rootTensor = size - 1, 1
    pair = [torch.tensor([2 * rank]), torch.tensor([2 * rank + 1])]
    world.broadcast(pair, options).wait()
    assert pair == [torch.tensor([2 * size - 1])] * 2, pair
    lists = [[torch.zeros(1) for _ in range(2 * size)] for _ in range(2)]
    world.allgather(lists, [torch.tensor([2.0 * rank]), torch.tensor([2.0 * rank + 1])]).wait()
    assert lists == [[torch.tensor([float(i)]) for i in range(2 * size)]] * 2, lists
    same = torch.tensor([rank + 1])
    longer = torch.arange(4) + rank
    world.allreduce_coalesced([same, same, longer[:3], longer[1:]]).wait()
    assert same.item() == total and longer.tolist() == [i * size + total - size for i in range(4)], (same, longer)
    assert world.options._timeout == timedelta(seconds=60)


def works():
    """What the works of asynchronous operations tell."""
    rank, size = me()
    tensor = torch.full((1000,), 1.0)
    work = dist.all_reduce(tensor, async_op=True)
    assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert (work.result()[0] == size).all()
    assert (dist.all_reduce(tensor, async_op=True).get_future().wait()[0] == size * size).all()
    for _ in range(100):  # nobody waits for these; their memory stays until they are complete
        dist.all_reduce(torch.full((100000,), float(rank)), async_op=True)
    last = torch.tensor([1])
    dist.all_reduce(last)
    assert last.item() == size
    waiting = dist.irecv(torch.zeros(1), (rank + 1) % size, tag=9) if size > 1 else None
    if waiting is not None:
        assert not waiting.is_completed()
        raises(RuntimeError, "Timed out waiting 0.1 s", waiting.wait, timedelta(seconds=0.1))
        dist.barrier()
        dist.send(torch.ones(1), (rank - 1) % size, tag=9)
        waiting.wait()


def any_source():
    rank, size = me()
    if rank == 0:
        found = []
        for _ in range(size - 1):
            tensor = torch.zeros(2)
            source = dist.recv(tensor)
            assert tensor.tolist() == [source, source]
            found.append(source)
        assert sorted(found) == list(range(1, size))
    else:
        dist.send(torch.full((2,), float(rank)), 0)


def coalesced():
    rank, size = me()
    ones, twos = torch.ones(3), torch.full((4,), 2.0)
    with dist._coalescing_manager():
        dist.all_reduce(ones)
        dist.all_reduce(twos)
    assert (ones == size).all() and (twos == 2 * size).all()
    operations = []
    if size > 1:
        got = torch.zeros(1)
        operations = [dist.P2POp(dist.isend, torch.full((1,), float(rank)), (rank + 1) % size),
                      dist.P2POp(dist.irecv, got, (rank - 1) % size)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        assert got.item() == (rank - 1) % size


def groups():
    rank, size = me()
    pairs, _ = dist.new_subgroups(2)
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor, group=pairs)
    assert tensor.item() == (rank // 2 * 2) * 2 + 1
    backwards = dist.new_group(list(reversed(range(size))))
    tensor = torch.tensor([rank])
    dist.broadcast(tensor, 0, group=backwards)
    assert tensor.item() == 0
    for _ in range(5):
        group = dist.new_group([size - 1])
        if rank == size - 1:
            dist.all_reduce(torch.ones(1), group=group)
            dist.destroy_process_group(group)


def again():
    """The group is destroyed and made anew, and does not take what the one before left in torch's store for its own."""
    rank, size = me()
    for number in range(3):
        if number == 0:
            dist.group.WORLD.monitored_barrier(timedelta(seconds=20))
        elif rank == 0 and size > 1:
            raises(RuntimeError, "Rank 1 failed to pass", dist.group.WORLD.monitored_barrier, timedelta(seconds=0.1))
        tensor = torch.ones(10)
        dist.all_reduce(tensor)
        assert (tensor == dist.get_world_size()).all()
        dist.destroy_process_group()
        dist.init_process_group("dtrain", init_method=method())


def refused():
    """Mistakes are found before anything is sent."""
    rank, size = me()
    raises(ValueError, "sparse", dist.all_reduce, torch.ones(3).to_sparse(), dist.ReduceOp.MAX)
    raises(ValueError, "sparse", dist.broadcast, torch.ones(3).to_sparse(), 0)
    raises(ValueError, "integers and bools", dist.all_reduce, torch.ones(3), dist.ReduceOp.BAND)
    raises(ValueError, "tags of the back end dtrain are 0 to 32767", dist.send, torch.ones(1), (rank + 1) % max(size, 2), tag=1 << 20)
    raises(Exception, "", dist.all_gather, [torch.zeros(2)] * size, torch.zeros(3))
    raises(Exception, "split sizes", dist.all_to_all_single, torch.zeros(size), torch.zeros(size), [size + 1] + [0] * (size - 1),
           [1] * size)
    world = dist.group.WORLD
    raises(ValueError, "complex", world.allreduce, [torch.zeros(2, dtype=torch.complex64)])
    ones = torch.ones(2)
    for kind in (ValueError, RuntimeError):  # some programs catch the one, some the other
        raises(kind, f"invalid root rank {size}; the group has {size} ranks", world.broadcast, ones, root=size)
        raises(kind, "requires non-empty tensor list", world.allreduce, [])
        raises(kind, "invalid tensor type at index 1: torch.int64 and torch.float32", world.allreduce, [ones, torch.ones(2, dtype=torch.int64)])
        raises(kind, "invalid tensor size at index 1: [3] and [2]", world.allreduce, [ones, torch.ones(3)])
        raises(kind, f"expected length {size}, got {size + 1}", world.allgather, [[ones] * (size + 1)], [ones])
        raises(kind, "unsupported layout", world.allreduce_coalesced, [ones.to_sparse()])
        raises(kind, "same type: torch.float32, torch.float64", world.allreduce_coalesced, [ones, ones.double()])
        raises(kind, "no average", world.allreduce, [ones, ones], dist.ReduceOp.AVG)
        raises(kind, f"Incorrect input list size {size + 1}", world.scatter, [ones], [[ones] * (size + 1)], root=rank)
        raises(kind, "invalid tensor size", world.gather, [[torch.ones(3)] * size], [ones], root=rank)


def sparse():
    """Sums and averages of sparse tensors: those of dense ones. Rank 0 has no entries."""
    rank, size = me()
    for operation in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
        tensor = torch.sparse_coo_tensor([[rank, size, rank]] if rank else torch.zeros(1, 0, dtype=torch.int64),
                                         torch.arange(6.0).reshape(3, 2) + rank if rank else torch.zeros(0, 2), (size + 1, 2))
        dense = tensor.to_dense()
        dist.all_reduce(tensor, operation)
        dist.all_reduce(dense, operation)
        assert torch.equal(tensor.to_dense(), dense), (tensor, dense)
    torch.manual_seed(3)
    tables = [torch.nn.parallel.DistributedDataParallel(torch.nn.Embedding.from_pretrained(torch.ones(5, 2), False, sparse=rows))
              for rows in (True, False)]
    for table in tables:
        table(torch.tensor([rank, 4, 4])).pow(2).sum().backward()
    assert torch.equal(tables[0].module.weight.grad.to_dense(), tables[1].module.weight.grad)


def monitored():
    """monitored_barrier() names who does not come. (That of torch's module is for gloo alone in torch 2.6.)"""
    rank, size = me()
    world = dist.group.WORLD
    world.monitored_barrier(timedelta(seconds=20))
    names = ", ".join(map(str, range(1, size)))
    if rank == 0:
        raises(RuntimeError, f"Rank{'s' if size > 2 else ''} {names} failed to pass monitoredBarrier in 200 ms",
               world.monitored_barrier, timedelta(seconds=0.2), wait_all_ranks=True)
    dist.barrier()
    group = dist.new_group()
    if rank == 0:
        raises(RuntimeError, "Rank 1 failed to pass", group.monitored_barrier, timedelta(seconds=1))
    elif rank > 1:
        raises(RuntimeError, "from rank 0: Rank 1 failed to pass", group.monitored_barrier, timedelta(seconds=20))


def left_to_the_end():
    """The script ends without waiting, and without destroying the group."""
    for _ in range(10):
        dist.all_reduce(torch.ones(100000), async_op=True)
    print("left_to_the_end: ok", flush=True)
    sys.exit(0)


def times_out():
    """A rank that does not come is named."""
    rank, size = me()
    group = dist.new_group(timeout=timedelta(seconds=1))
    if rank == 0:
        begin = time.monotonic()
        error = raises(dtrain.CommunicatorTimeout, f"rank {size - 1}", dist.all_reduce, torch.ones(3), group=group)
        assert 0.9 < time.monotonic() - begin < 20
        assert [missing.rank for missing in error.missing] == list(range(1, size)), error.missing
        print("named", flush=True)
    else:
        time.sleep(3)
    os._exit(0)


def method():
    return sys.argv[1] if "://" in sys.argv[1] else None


def main():
    torch.set_num_threads(1)
    dist.init_process_group("dtrain", init_method=method(), timeout=timedelta(seconds=60))
    for name in sys.argv[2:]:
        globals()[name]()
        dist.barrier()
        if dist.get_rank() == 0:
            print(f"{name}: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

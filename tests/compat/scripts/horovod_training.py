# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Cases of a script of Horovod, over dtrain; argv names them. Oracles: the same training in one process with the batches of all
ranks joined, and values worked out by hand."""
import sys
import warnings

import torch
from torch.nn.functional import mse_loss

import dtrain.horovod.torch as hvd

hvd.init()
rank, ranks = hvd.rank(), hvd.size()
STEPS = 4


def model_of(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(8 * ranks, 6, generator=generator), torch.randn(8 * ranks, 1, generator=generator)


def alone(steps=STEPS, times=1.0):
    """The parameters after steps on whole batches."""
    model = model_of(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x, y = batch(step)
        optimizer.zero_grad()
        (mse_loss(model(x), y) * times).backward()
        optimizer.step()
    return list(model.parameters())


def same(one, other, tolerance=1e-6):
    for a, b in zip(one, other):
        assert torch.allclose(a, b, atol=tolerance), (a, b)


def trained(passes=1, **options):
    """The parameters after the same steps, of which each rank has a part."""
    model = model_of(rank)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if options.get("groups") == "lists":
        some = list(model.parameters())
        options["groups"] = [[some[0], some[5]], [some[2], some[1]]]
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), backward_passes_per_step=passes,
                                         **options)
    assert isinstance(optimizer, torch.optim.SGD)
    for step in range(STEPS):
        x, y = (part[rank::ranks] for part in batch(step))
        optimizer.zero_grad()
        for part in range(passes):
            (mse_loss(model(x[part::passes]), y[part::passes]) / passes).backward()
        optimizer.step()
    return list(model.parameters())


def plain():
    same(trained(), alone())


def options():
    same(trained(groups=2), alone())
    same(trained(groups="lists"), alone())
    same(trained(gradient_predivide_factor=2.0), alone())
    same(trained(op=hvd.Sum), alone(times=ranks))
    same(trained(passes=2), alone())
    same(trained(compression=hvd.Compression.fp16), alone(), 1e-2)


def clipped():
    whole, mine = model_of(0), model_of(0)
    plain_sgd = torch.optim.SGD(whole.parameters(), lr=0.1)
    sgd = hvd.DistributedOptimizer(torch.optim.SGD(mine.parameters(), lr=0.1), mine.named_parameters())
    for step in range(STEPS):
        x, y = batch(step)
        mse_loss(whole(x), y).backward()
        torch.nn.utils.clip_grad_norm_(whole.parameters(), 0.05)
        mse_loss(mine(x[rank::ranks]), y[rank::ranks]).backward()
        sgd.synchronize()
        torch.nn.utils.clip_grad_norm_(mine.parameters(), 0.05)
        with sgd.skip_synchronize():
            sgd.step()
        plain_sgd.step()
        plain_sgd.zero_grad()
        sgd.zero_grad()
    same(mine.parameters(), whole.parameters())


def scheduled():
    """A scheduler of the optimizer before it was wrapped goes on to set the rate of both."""
    model = model_of(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    wrapped = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    before = [parameter.clone() for parameter in model.parameters()]
    mse_loss(model(batch(0)[0]), batch(0)[1]).backward()
    wrapped.step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler.step()
    assert wrapped.param_groups[0]["lr"] == 0.05
    same(model.parameters(), [one - 0.1 * parameter.grad for one, parameter in zip(before, model.parameters())])


def missing_gradients():
    """A rank whose pass leaves a layer out contributes zeros; two optimizers share a backward pass."""
    torch.manual_seed(0)
    heads = [torch.nn.Linear(3, 1, bias=False) for _ in range(ranks + 1)]
    one = hvd.DistributedOptimizer(torch.optim.SGD([head.weight for head in heads[:ranks]], lr=1.0))
    other = hvd.DistributedOptimizer(torch.optim.SGD(heads[ranks].parameters(), lr=1.0))
    before = [head.weight.clone() for head in heads]
    x = torch.ones(1, 3) * (rank + 1)
    (heads[rank](x) + heads[ranks](x)).sum().backward()
    for optimizer in (one, other) if rank % 2 else (other, one):
        optimizer.step()
    for number in range(ranks):
        same([heads[number].weight], [before[number] - (number + 1) / ranks])
    same([heads[ranks].weight], [before[ranks] - (ranks + 1) / 2])


def sparse():
    """Gradients of an embedding, sparse and not."""
    for as_dense in (False, True):
        tables = [torch.nn.Embedding(7, 2, sparse=is_sparse) for is_sparse in (True, False)]
        for table in tables:
            torch.nn.init.ones_(table.weight)
        words = torch.tensor([[r, r + 1, 3] for r in range(ranks)])
        whole = torch.optim.SGD(tables[1].parameters(), lr=0.5)
        part = hvd.DistributedOptimizer(torch.optim.SGD(tables[0].parameters(), lr=0.5), sparse_as_dense=as_dense)
        for _ in range(STEPS):
            tables[1](words).pow(2).sum().div(ranks).backward()
            tables[0](words[rank]).pow(2).sum().backward()
            assert tables[0].weight.grad.is_sparse
            for optimizer in (whole, part):
                optimizer.step()
                optimizer.zero_grad()
        same([tables[0].weight], [tables[1].weight])


def uneven_data():
    """Rank r has r + 1 batches; those without data contribute zeros."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model.named_parameters())
    for _ in range(rank + 1):
        optimizer.zero_grad()
        model(torch.ones(1, 1)).sum().backward()
        optimizer.step()
    assert hvd.join() == ranks - 1
    if rank == ranks - 1:
        expected = -sum((ranks - step) / ranks for step in range(ranks))
        same([model.weight], [torch.tensor([[expected]])])
    hvd.barrier()


def any_order():
    """Ranks start named operations in different orders, and look after them in others."""
    names = [f"n{number}" for number in range(12)]
    order = names[rank:] + names[:rank]
    handles = {name: hvd.allreduce_async(torch.full((5,), float(names.index(name) + rank)), name=name, op=hvd.Sum) for name in order}
    gathered = hvd.allgather_async(torch.full((rank + 1,), rank), name="n0")
    for name in sorted(names, key=lambda name: hash((name, rank))):
        while rank == 0 and not hvd.poll(handles[name]):
            pass
        total = ranks * names.index(name) + ranks * (ranks - 1) / 2
        assert torch.equal(hvd.synchronize(handles[name]), torch.full((5,), total))
    assert hvd.synchronize(gathered).tolist() == [r for r in range(ranks) for _ in range(r + 1)]


def many_at_once():
    """A message of a round that is longer than one buffer."""
    handles = [hvd.allreduce_async(torch.ones(2), name=f"a rather long name of operation {number}", op=hvd.Sum)
               for number in range(100)]
    assert all(hvd.synchronize(handle).tolist() == [ranks, ranks] for handle in handles)


def optimizer_of(process_set, members):
    weight = torch.zeros(1, requires_grad=True)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), process_set=process_set)
    (weight * rank).sum().backward()
    optimizer.step()
    same([weight], [torch.tensor([-sum(members) / len(members)])])


def sets():
    """A rank that waits in one process set answers those of others."""
    everyone, pair = hvd.global_process_set, hvd.add_process_set([0, 1])
    if rank == 0:
        handle = hvd.allreduce_async(torch.ones(1), name="all", op=hvd.Sum)
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=pair).item() == 2
        assert hvd.synchronize(handle).item() == ranks
    else:
        assert hvd.allreduce(torch.ones(1), name="all", op=hvd.Sum, process_set=everyone).item() == ranks
        if pair.included():
            assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=pair).item() == 2
    if pair.included():
        optimizer_of(pair, [0, 1])
    optimizer_of(everyone, range(ranks))
    assert hvd.remove_process_set(pair) and not hvd.remove_process_set(everyone)
    try:
        hvd.barrier(pair)
        raise AssertionError("a removed set was used")
    except ValueError as error:
        assert "add_process_set()" in str(error)


def states():
    """An optimizer's state, as rank 0 has it, on all ranks: also one that the others have not begun."""
    for kind in (torch.optim.Adam, torch.optim.SGD):
        model = model_of(0)
        optimizer = kind(model.parameters(), lr=0.5 if rank else 0.25)
        if rank == 0:
            mse_loss(model(batch(0)[0]), batch(0)[1]).backward()
            optimizer.step()
        hvd.broadcast_parameters(model.named_parameters(), 0)
        hvd.broadcast_optimizer_state(optimizer, 0)
        states_of_all = hvd.allgather_object([tensor.sum().item() for state in optimizer.state.values()
                                              for tensor in state.values() if isinstance(tensor, torch.Tensor)])
        assert all(state == states_of_all[0] for state in states_of_all) and optimizer.param_groups[0]["lr"] == 0.25


def gradients():
    x = torch.full((2, 3), float(rank + 1), requires_grad=True)
    hvd.allreduce(x, op=hvd.Sum, prescale_factor=0.5).sum().backward()
    same([x.grad], [torch.full((2, 3), 0.5 * ranks)])
    x.grad = None
    (hvd.broadcast(x, 0) * (rank + 1)).sum().backward()
    same([x.grad], [torch.full((2, 3), (ranks + 1) / 2 if rank == 0 else 0.0)])
    x.grad = None
    received, splits = hvd.alltoall(x, [1] + [0] * (ranks - 1))
    assert splits.dtype is torch.int32 and received.shape[0] == (ranks if rank == 0 else 0)
    received.sum().backward()
    same([x.grad], [torch.tensor([[1.0] * 3, [0.0] * 3])])


def refused():
    """Every rank is told, and goes on."""
    def assert_raises(kind, words, function, *arguments, **more):
        try:
            function(*arguments, **more)
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{words}: not refused")

    assert_raises(hvd.HorovodInternalError, "ranks differ in the shape", hvd.allreduce, torch.ones(rank + 1))
    assert_raises(hvd.HorovodInternalError, "no rank can go on", hvd.allreduce, torch.ones(1), name=str(rank))
    assert_raises(NotImplementedError, "Adasum", hvd.allreduce, torch.ones(1), op=hvd.Adasum)
    assert_raises(NotImplementedError, "--max_restart", hvd.elastic.run, refused)
    assert_raises(ValueError, "pass splits", hvd.alltoall, torch.ones(ranks + 1))
    assert_raises(ValueError, "reshape(1)", hvd.allgather, torch.ones(()))
    assert_raises(ValueError, "process_sets", hvd.init.__globals__["_check_is_everyone"], [0])
    handle = hvd.allreduce_async(torch.ones(1), name="twice", op=hvd.Sum)
    assert_raises(hvd.DuplicateNameError, "has not begun", hvd.allreduce_async, torch.ones(1), name="twice")
    assert hvd.synchronize(handle).item() == ranks and hvd.synchronize(handle) is None
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == ranks


def again():
    """init() after shutdown()."""
    hvd.shutdown()
    assert not hvd.is_initialized()
    hvd.init()
    assert (hvd.rank(), hvd.size()) == (rank, ranks) and hvd.local_size() == ranks and hvd.cross_size() == 1
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == ranks


for case in sys.argv[1:]:
    globals()[case]()
    hvd.barrier()
    if rank == 0:
        print(f"{case}: ok", flush=True)
hvd.shutdown()

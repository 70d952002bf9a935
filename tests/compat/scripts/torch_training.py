# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""What torch builds on a process group, trained on the back end dtrain, as cases by name.
Oracle: the same training in this process alone, with all ranks' data.

    torch_training.py CASE..."""
import contextlib
import copy
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import dtrain.torch  # noqa: F401  # it registers the back end

STEPS, BATCH = 6, 8


def new_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 3))


def batches(step, size):
    """All ranks' data of a step."""
    generator = torch.Generator().manual_seed(1000 + step)
    return (torch.randn(size * BATCH, 12, generator=generator), torch.randint(0, 3, (size * BATCH,), generator=generator))


def own(tensor, rank):
    return tensor[rank * BATCH:(rank + 1) * BATCH]


def loss_of(model, step, rank=None):
    inputs, labels = batches(step, dist.get_world_size())
    if rank is not None:
        inputs, labels = own(inputs, rank), own(labels, rank)
    return nn.functional.cross_entropy(model(inputs), labels)


def trained_alone(optimizer=torch.optim.SGD, steps=STEPS, **options):
    model = new_model()
    updates = optimizer(model.parameters(), **options)
    for step in range(steps):
        updates.zero_grad()
        loss_of(model, step).backward()
        updates.step()
    return model.state_dict()


def same(ours, theirs, tolerance=1e-5):
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=tolerance, atol=tolerance, msg=lambda text: f"{name}: {text}")


def ddp(**options):
    model = DistributedDataParallel(new_model(), **options)
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        updates.zero_grad()
        loss_of(model, step, dist.get_rank()).backward()
        updates.step()
    same(model.module.state_dict(), trained_alone(lr=0.1))


def ddp_small_buckets():
    ddp(bucket_cap_mb=0.001)


def ddp_static_graph():
    ddp(static_graph=True)


def ddp_gradient_as_bucket_view():
    ddp(gradient_as_bucket_view=True)


def ddp_accumulates():
    """Two batches for each update."""
    model = DistributedDataParallel(new_model())
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    alone = new_model()
    their_updates = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step in range(0, STEPS, 2):
        updates.zero_grad()
        with model.no_sync():
            loss_of(model, step, dist.get_rank()).backward()
        loss_of(model, step + 1, dist.get_rank()).backward()
        updates.step()
        their_updates.zero_grad()
        (loss_of(alone, step) + loss_of(alone, step + 1)).backward()
        their_updates.step()
    same(model.module.state_dict(), alone.state_dict())


def ddp_join():
    """Ranks with different numbers of batches."""
    model = DistributedDataParallel(new_model())
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for step in range(2 + dist.get_rank()):
            updates.zero_grad()
            loss_of(model, step, dist.get_rank()).backward()
            updates.step()
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, {name: value.tolist() for name, value in model.module.state_dict().items()})
    assert all(one == everyone[0] for one in everyone)


def ddp_compressed():
    """torch's own hook that sends float16."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    model = DistributedDataParallel(new_model())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        updates.zero_grad()
        loss_of(model, step, dist.get_rank()).backward()
        updates.step()
    same(model.module.state_dict(), trained_alone(lr=0.1), tolerance=1e-2)


def zero_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = DistributedDataParallel(new_model())
    updates = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    for step in range(STEPS):
        updates.zero_grad()
        loss_of(model, step, dist.get_rank()).backward()
        updates.step()
    same(model.module.state_dict(), trained_alone(torch.optim.Adam, lr=0.01))


def _fully_sharded(mesh):
    from torch.distributed.fsdp import fully_shard
    model = new_model()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        updates.zero_grad()
        loss_of(model, step, dist.get_rank()).backward()
        updates.step()
    same({name: value.full_tensor() for name, value in model.state_dict().items()}, trained_alone(lr=0.1))


def fsdp2():
    from torch.distributed.device_mesh import init_device_mesh
    _fully_sharded(init_device_mesh("cpu", (dist.get_world_size(),)))


def hsdp():
    """Sharded within pairs, replicated over them."""
    from torch.distributed.device_mesh import init_device_mesh
    size = dist.get_world_size()
    _fully_sharded(init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("replicate", "shard")))


def dtensor():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    size = dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(3)
    left, right = torch.randn(4 * size + 1, 8), torch.randn(8, 5)
    for placement in (Shard(0), Shard(1), Replicate()):
        product = distribute_tensor(left, mesh, [placement]) @ distribute_tensor(right, mesh, [Replicate()])
        torch.testing.assert_close(product.full_tensor(), left @ right)
        moved = distribute_tensor(left, mesh, [placement]).redistribute(mesh, [Shard(1)])
        torch.testing.assert_close(moved.full_tensor(), left)
    torch.testing.assert_close(distribute_tensor(left, mesh, [Shard(0)]).sum().full_tensor(), left.sum())


def functional_collectives():
    import torch.distributed._functional_collectives as functional
    size, rank = dist.get_world_size(), dist.get_rank()
    group = dist.group.WORLD
    mine = torch.full((4,), float(rank + 1))
    total = size * (size + 1) / 2
    assert (functional.all_reduce(mine, "sum", group) == total).all()
    assert functional.all_gather_tensor(mine, 0, group).tolist() == [r + 1.0 for r in range(size) for _ in range(4)]
    wide = torch.arange(4.0 * size)
    assert functional.reduce_scatter_tensor(wide, "sum", 0, group).tolist() == (wide[4 * rank:4 * rank + 4] * size).tolist()
    assert functional.broadcast(mine, 0, group).tolist() == [1.0] * 4
    turned = functional.all_to_all_single(torch.arange(2.0 * size) + 100 * rank, None, None, group)
    assert turned.tolist() == [100.0 * r + 2 * rank + i for r in range(size) for i in (0, 1)]
    outs = functional.all_reduce_coalesced([mine, wide], "sum", group)
    assert (outs[0] == total).all() and (outs[1] == wide * size).all()


def batch_norm():
    """SyncBatchNorm needs GPUs in torch; buffers of BatchNorm are broadcast by DDP."""
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4)))
    loss = model(own(batches(0, dist.get_world_size())[0], dist.get_rank())).sum()
    loss.backward()
    with contextlib.suppress(StopIteration):
        model(own(batches(1, dist.get_world_size())[0], dist.get_rank()))
    mine = copy.deepcopy(model.module[1].running_mean)
    dist.broadcast(mine, 0)
    model(own(batches(1, dist.get_world_size())[0], dist.get_rank()))


def checkpoint():
    """torch's distributed checkpoint, which exchanges its plans as objects."""
    import tempfile

    import torch.distributed.checkpoint as dcp
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, 0)
    model = new_model()
    dcp.save(model.state_dict(), checkpoint_id=folder[0])
    loaded = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    dcp.load(loaded, checkpoint_id=folder[0])
    same(loaded, model.state_dict(), 0)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("dtrain")
    for name in sys.argv[1:]:
        globals()[name]()
        dist.barrier()
        if dist.get_rank() == 0:
            print(f"{name}: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

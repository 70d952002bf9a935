# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""The second argument is the back end."""
import sys
import time

import play

play.before_start()

import torch  # noqa: E402  pylint: disable=wrong-import-position
import torch.distributed as dist  # noqa: E402  pylint: disable=wrong-import-position

if sys.argv[2] == "dtrain":
    import dtrain.torch  # noqa: F401  pylint: disable=unused-import


class Stuck(torch.utils.data.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index > 4:
            time.sleep(1000)
        return torch.ones(10)


class Ranks:
    def __init__(self):
        play.arrive()
        dist.init_process_group(sys.argv[2])
        self.rank = dist.get_rank()
        self.groups = {name: dist.new_group([1, 2], group_desc=name) for name in ("pair", "twin")}
        self.some, self.many = torch.zeros(1000), torch.zeros(1 << 20)

    def sum(self, count=1000, type_name="float32"):
        dist.all_reduce(torch.zeros(count, dtype=getattr(torch, type_name)))

    def broadcast(self, root=0):
        dist.broadcast(self.some, root)

    def reduce(self):
        dist.reduce(self.some, 0)

    def all_gather(self):
        dist.all_gather([torch.zeros(1000) for _ in range(3)], self.some)

    def barrier(self):
        dist.barrier()

    def barrier_of(self, group):
        dist.barrier(group=self.groups[group])

    def make_group(self):
        dist.new_group([0, 1, 2])

    def receive(self, source):
        dist.recv(self.some, source, tag=7)

    def receive_from_any(self):
        dist.recv(self.some, tag=7)

    def send(self, to):
        dist.send(self.many, to, tag=7)

    def wait_for_request(self):
        dist.irecv(self.some, 0, tag=7).wait()

    def alone(self):
        return {"loader_process": self.load, "waits_for_key": self.wait_for_key, "does_not_reduce_gradients": self.no_backward}

    def others(self):
        return {"does_not_reduce_gradients": self.backward}

    def load(self):
        for _ in torch.utils.data.DataLoader(Stuck(), num_workers=1):
            pass

    def wait_for_key(self):
        dist.distributed_c10d._get_default_store().wait(["never set"])  # pylint: disable=protected-access

    def no_backward(self):
        """The model skips this batch: its gradients are not summed."""
        self.backward(skips=True)

    def backward(self, skips=False):
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))
        loss = model(torch.ones(1, 10)).sum()
        if not skips:
            loss.backward()


play.play(Ranks())
if play.kind == "healthy":
    dist.destroy_process_group()  # else torch 2.15 may end with "terminate called" on a busy machine

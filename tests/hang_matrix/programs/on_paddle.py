# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
import play

play.before_start()

import paddle  # noqa: E402  pylint: disable=wrong-import-position
import paddle.distributed as dist  # noqa: E402  pylint: disable=wrong-import-position

import blocked  # noqa: E402  pylint: disable=wrong-import-position


class Stuck(paddle.io.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index > 4:
            blocked.sleeps()
        return paddle.ones([10])


class Ranks:
    def __init__(self):
        play.arrive()
        dist.init_parallel_env()
        self.rank = dist.get_rank()
        self.groups = {name: dist.new_group([1, 2]) for name in ("pair", "twin")}
        self.some, self.many = paddle.zeros([1000]), paddle.zeros([1 << 20])

    def sum(self, count=1000, type_name="float32"):
        dist.all_reduce(paddle.zeros([count], dtype=type_name))

    def broadcast(self, root=0):
        dist.broadcast(self.some, root)

    def reduce(self):
        dist.reduce(self.some, 0)

    def all_gather(self):
        dist.all_gather([], self.some)

    def barrier(self):
        dist.barrier()

    def barrier_of(self, group):
        dist.barrier(group=self.groups[group])

    def make_group(self):
        dist.new_group([0, 1, 2])

    def receive(self, source):
        dist.recv(self.some, source)

    def receive_from_any(self):
        raise NotImplementedError

    def send(self, to):
        dist.send(self.many, to)

    def wait_for_request(self):
        dist.irecv(self.some, 0).wait()

    def alone(self):
        return {"loader_process": self.load, "does_not_reduce_gradients": self.no_backward}

    def others(self):
        return {"does_not_reduce_gradients": self.backward}

    def load(self):
        for _ in paddle.io.DataLoader(Stuck(), num_workers=1):
            pass

    def no_backward(self):
        """The model skips this batch: its gradients are not summed."""
        self.backward(skips=True)

    def backward(self, skips=False):
        model = paddle.DataParallel(paddle.nn.Linear(10, 10))
        loss = model(paddle.ones([1, 10])).sum()
        if not skips:
            loss.backward()


play.play(Ranks())

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A training in which rank 2 hangs as the first argument says, on the back end that the second one names."""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

if sys.argv[2] == "dtrain":
    import dtrain.torch  # noqa: F401  # pylint: disable=unused-import


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index == 6 and kind == "loader" and rank == 2:
            time.sleep(1000)
        return torch.ones(10)


def evaluate():
    time.sleep(1000)


kind = sys.argv[1]
dist.init_process_group(sys.argv[2])
rank = dist.get_rank()
pair = dist.new_group([1, 2], group_desc="pair")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))
total = torch.ones(1000)
for step, batch in enumerate(torch.utils.data.DataLoader(Slow(), num_workers=0)):
    model(batch).sum().backward()
    if step == 5 and rank == 2:
        if kind == "evaluates":
            evaluate()
        if kind == "computes":
            while True:
                step += 1
        if kind == "is_stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if kind == "message":
            dist.recv(total, 0)
        if kind == "other_group":
            dist.barrier(group=pair)
    if kind not in ("skipped", "reordered", "other_length", "other_type", "other_operation", "other_root"):
        dist.all_reduce(total)
        continue
    wrong = step == 5 and rank == 2
    if wrong and kind == "reordered":
        dist.broadcast(total, 0)
        dist.all_reduce(total)
        continue
    if wrong and kind == "other_length":
        dist.all_reduce(total[:0])  # of one that is not empty gloo says so itself
    elif wrong and kind == "other_type":
        dist.all_reduce(total[:0].double())
    elif wrong and kind == "other_operation":
        dist.barrier()
    elif not (wrong and kind == "skipped"):
        dist.all_reduce(total)
    dist.broadcast(total, 1 if wrong and kind == "other_root" else 0)

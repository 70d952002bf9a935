# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A data-parallel script that knows torch only: init_method is env://."""
import json
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
x = torch.sin(torch.arange(32, dtype=torch.float32)).reshape(8, 4)
y = torch.cos(torch.arange(8, dtype=torch.float32)).reshape(8, 1)
layer = torch.nn.Linear(4, 1)
torch.nn.init.constant_(layer.weight, 0.5)
torch.nn.init.constant_(layer.bias, 0.25)
model = torch.nn.parallel.DistributedDataParallel(layer)
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    sgd.zero_grad()
    torch.nn.functional.mse_loss(model(x[rank::ranks]), y[rank::ranks]).backward()
    sgd.step()
total = torch.tensor([float(rank + 1)])
dist.all_reduce(total)
with open(f"seen.{rank}.json", "w", encoding="utf-8") as out:
    json.dump({"ranks": ranks, "total": float(total[0]), "arguments": sys.argv[1:],
               "parameters": layer.weight.detach().ravel().tolist() + layer.bias.detach().tolist()}, out)
dist.destroy_process_group()

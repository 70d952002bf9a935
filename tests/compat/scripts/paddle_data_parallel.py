# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A data-parallel script that knows Paddle only."""
import json
import sys

import numpy
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
rank, ranks = dist.get_rank(), dist.get_world_size()
x = numpy.sin(numpy.arange(32, dtype="float32")).reshape(8, 4)
y = numpy.cos(numpy.arange(8, dtype="float32")).reshape(8, 1)
layer = paddle.nn.Linear(4, 1, weight_attr=paddle.nn.initializer.Constant(0.5),
                         bias_attr=paddle.nn.initializer.Constant(0.25))
model = paddle.DataParallel(layer)
sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for _ in range(5):
    prediction = model(paddle.to_tensor(x[rank::ranks]))
    loss = paddle.nn.functional.mse_loss(prediction, paddle.to_tensor(y[rank::ranks]))
    loss.backward()
    sgd.step()
    sgd.clear_grad()
total = paddle.to_tensor([float(rank + 1)])
if ranks > 1:  # Paddle makes no group for one process
    dist.all_reduce(total)
with open(f"seen.{rank}.json", "w", encoding="utf-8") as out:
    json.dump({"ranks": ranks, "total": float(total[0]), "arguments": sys.argv[1:],
               "parameters": layer.weight.numpy().ravel().tolist() + layer.bias.numpy().tolist()}, out)

# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A fleet script in collective mode: fleet finds its role in the environment."""
import json
import sys

import numpy
import paddle
from paddle.distributed import fleet

fleet.init(is_collective=True)
rank, ranks = fleet.worker_index(), fleet.worker_num()
x = numpy.sin(numpy.arange(32, dtype="float32")).reshape(8, 4)
y = numpy.cos(numpy.arange(8, dtype="float32")).reshape(8, 1)
layer = paddle.nn.Linear(4, 1, weight_attr=paddle.nn.initializer.Constant(0.5),
                         bias_attr=paddle.nn.initializer.Constant(0.25))
sgd = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
model = fleet.distributed_model(layer)
for _ in range(5):
    prediction = model(paddle.to_tensor(x[rank::ranks]))
    loss = paddle.nn.functional.mse_loss(prediction, paddle.to_tensor(y[rank::ranks]))
    loss.backward()
    sgd.step()
    sgd.clear_grad()
total = paddle.to_tensor([float(rank + 1)])
paddle.distributed.all_reduce(total)
with open(f"seen.{rank}.json", "w", encoding="utf-8") as out:
    json.dump({"ranks": ranks, "total": float(total[0]), "arguments": sys.argv[1:],
               "parameters": layer.weight.numpy().ravel().tolist() + layer.bias.numpy().tolist()}, out)

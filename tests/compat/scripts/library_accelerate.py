# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A script of accelerate over the back end of argv[1]. Prints the loss, as both back ends must have it.

On CPUs accelerate knows no back end but gloo; it takes the process group that is there."""
import sys

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch.utils.data import DataLoader, TensorDataset

import dtrain.torch  # noqa: F401  # it registers the back end

dist.init_process_group(sys.argv[1])
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
set_seed(7)
inputs = torch.randn(250, 16)
data = TensorDataset(inputs, (inputs.sum(1) > 0).long())
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.8)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8, shuffle=True), schedule)
for _ in range(3):
    for features, classes in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(features), classes)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    schedule.step()
model.eval()
right, losses = [], []
with torch.no_grad():
    for features, classes in loader:
        scores = model(features)
        losses.append(accelerator.reduce(torch.nn.functional.cross_entropy(scores, classes), "mean"))
        scores, classes = accelerator.gather_for_metrics((scores, classes))
        right.append(scores.argmax(1) == classes)
right = torch.cat(right)
accelerator.wait_for_everyone()
received, = broadcast_object_list([f"of rank {accelerator.process_index}"])
assert received == "of rank 0", received
assert len(right) == len(data), len(right)
accelerator.print(f"{dist.get_backend()} {accelerator.num_processes} ranks: loss {torch.stack(losses).mean():.6f}, "
                  f"accuracy {right.float().mean():.4f}")
accelerator.end_training()

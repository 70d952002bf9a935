# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of PyTorch's EmbeddingBag(sparse=True) that one thread looks up and updates by SGD, in M keys/s.

embedding.py WIDTH BATCH ROWS     each id once in a batch, 64 batches in turn, all rows touched before
"""

import statistics
import sys
import time

import torch

BLOCK = 0.05  # seconds
BLOCKS = 11


def main():
    width, batch, rows = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    table = torch.nn.EmbeddingBag(rows, width, sparse=True, mode="sum")
    optimizer = torch.optim.SGD(table.parameters(), 0.01)
    batches = [torch.randperm(rows)[:batch].clone() for _ in range(64)]
    bags = torch.arange(batch)
    gradient = torch.full((batch, width), 0.001)

    def step(number):
        optimizer.zero_grad()
        table(batches[number % len(batches)], bags).backward(gradient)
        optimizer.step()

    print(statistics.median(rates(step, batch)))


def rates(step, batch):
    number = 0
    for block in range(-1, BLOCKS):  # the first one warms up
        begin, first = time.perf_counter(), number
        while time.perf_counter() - begin < BLOCK:
            step(number)
            number += 1
        if block >= 0:
            yield 1e-6 * (number - first) * batch / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()

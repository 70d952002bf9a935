# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of PyTorch's EmbeddingBag(sparse=True) that one thread looks up and updates, in M keys/s of the median batch.

embedding.py sgd|adam WIDTH BATCH ROWS     each id once in a batch, 64 batches in turn, all rows touched before
"""

import itertools
import statistics
import sys
import time

import torch

MEASURED = 0.6  # seconds


def main():
    width, batch, rows = map(int, sys.argv[2:])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    table = torch.nn.EmbeddingBag(rows, width, sparse=True, mode="sum")
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.SparseAdam}[sys.argv[1]]
    optimizer = make(list(table.parameters()), 0.01)
    batches = [torch.randperm(rows)[:batch].clone() for _ in range(64)]
    bags = torch.arange(batch)
    gradient = torch.full((batch, width), 0.001)

    def step(number):
        optimizer.zero_grad()
        table(batches[number % len(batches)], bags).backward(gradient)
        optimizer.step()

    step(0)  # makes the optimizer's state, of all rows
    print(1e-6 * batch / statistics.median(seconds_of(step)))


def seconds_of(step):
    begin = time.perf_counter()
    seconds = []
    for number in itertools.count():
        before = time.perf_counter()
        if before - begin > MEASURED:
            return seconds[len(seconds) // 10:]  # the first ones warm up
        step(number)
        seconds.append(time.perf_counter() - before)


if __name__ == "__main__":
    main()
